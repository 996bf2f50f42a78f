// SPDX-License-Identifier: Apache-2.0
//
// Programs that lie about the constants that a session packs or may replace: the verifier says which.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "program/program_file.h"
#include "program/testing/sample_programs.h"

namespace weir {
namespace {

constexpr size_t kPackedStorage = 1;  // of samples::portable_program(); see there
constexpr size_t kBiasStorage = 2;
constexpr size_t kWeights = 1;  // tensors

int32_t add_number(Program& p, int64_t value) {
  p.dims.push_back({.op = DimOp::kConstant, .value = value});
  return static_cast<int32_t>(p.dims.size()) - 1;
}

TEST(VerifyConstants, AcceptsAndKeepsSoundOnes) {
  Program program = samples::portable_program();
  const auto sound = verify(program);
  ASSERT_TRUE(sound) << sound.error().to_string();
  const auto image = program_image(program, samples::blocks_of(program));
  ASSERT_TRUE(image) << image.error().to_string();
  const auto kept = std::make_shared<const std::vector<std::byte>>(*image);
  const auto loaded = read_program(*kept, kept);
  ASSERT_TRUE(loaded) << loaded.error().to_string();
  EXPECT_EQ(loaded->program, program);
}

TEST(VerifyConstants, RefusesThoseThatLie) {
  struct Lie {
    std::string name;
    std::function<void(Program&)> tell;
    std::string error;
  };
  const std::vector<Lie> lies = {
      {"no id", [](Program& p) { p.storages[kPackedStorage].pack_id.clear(); },
       "it names the layout to make"},
      {"placed", [](Program& p) { p.storages[kPackedStorage].offset = 0; }, "it is placed later"},
      {"negative size", [](Program& p) { p.storages[kPackedStorage].bytes = add_number(p, -1); },
       "has (-1) bytes"},
      {"size by shape",
       [](Program& p) {
         p.dims.push_back({.op = DimOp::kAdd, .a = 0, .b = 0});
         p.storages[kPackedStorage].bytes = static_cast<int32_t>(p.dims.size()) - 1;
       },
       "depends on the shape, and it is a number"},
      {"no source", [](Program& p) { p.tensors[kWeights].storage = -1; },
       "which is no plain constant of the program"},
      {"source is an input", [](Program& p) { p.tensors[kWeights].storage = 0; },
       "which is no plain constant of the program"},
      {"source too small", [](Program& p) { p.tensors[kWeights].storage = kBiasStorage; },
       "reaches from element (0) to (31) of storage (2), which has (8)"},
      {"source not in numbers",
       [](Program& p) {
         p.dims.push_back(
             {.op = DimOp::kAdd, .a = p.tensors[kWeights].offset, .b = p.tensors[kWeights].offset});
         p.tensors[kWeights].offset = static_cast<int32_t>(p.dims.size()) - 1;
       },
       "its shape, strides and offset are not all numbers"},
      {"nobody reads it", [](Program& p) { p.steps[0].packed.clear(); }, "and no step reads it"},
      {"two sources",
       [](Program& p) {
         p.steps.push_back(p.steps[0]);
         Storage other = p.storages.back();
         p.tensors.push_back(p.tensors[kWeights]);
         p.tensors.back().storage = static_cast<int32_t>(p.storages.size());
         p.storages.push_back(other);
         p.steps.back().inputs[1] = static_cast<int32_t>(p.tensors.size()) - 1;
         p.steps.back().workspace = -1;
         for (Storage& storage : p.storages) {  // they live throughout
           storage.first_step = 0;
           storage.last_step = static_cast<int32_t>(p.steps.size()) - 1;
         }
       },
       "Storage (1) is packed from tensor (1) 'w' and from tensor (13) 'w', which differ."},
      {"same name", [](Program& p) { p.constants[1].name = "w"; },
       "Constant (1) has the name 'w', and each has one of its own."},
      {"no name", [](Program& p) { p.constants[1].name = ""; },
       "Constant (1) has the name '', and each has one of its own."},
      {"fate", [](Program& p) { p.constants[2].fate = static_cast<ConstantFate>(9); },
       "Constant (2) 'running_mean' has the unknown fate (9)."},
      {"folded, and there", [](Program& p) { p.constants[2].tensor = 0; },
       "The constant is folded, and tensor (0) is named for it."},
      {"plain, and not there", [](Program& p) { p.constants[0].tensor = -1; },
       "The constant is tensor (-1), and the program has (13) tensors."},
      {"an input", [](Program& p) { p.constants[0].tensor = 0; }, "which is no plain constant"},
      {"a part", [](Program& p) { p.storages.back().bytes = add_number(p, 192); },
       "Tensor (1) is not all of storage (12) in row-major order."},
  };
  for (const Lie& lie : lies) {
    Program program = samples::portable_program();
    lie.tell(program);
    const Result<void> verified = verify(program);
    ASSERT_FALSE(verified) << lie.name;
    EXPECT_THAT(verified.error().to_string(), testing::HasSubstr(lie.error)) << lie.name;
  }
}

}  // namespace
}  // namespace weir
