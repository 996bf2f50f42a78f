// SPDX-License-Identifier: Apache-2.0
//
// Small networks through compiler, program image, session and request: fused and fast against unfused and
// reference.
#include "compile/compile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "compile/testing/networks.h"
#include "compile/testing/sample_networks.h"
#include "program/report.h"
#include "runtime/session.h"

namespace weir {
namespace {

using testing::attention_network;
using testing::convolutional_network;
using testing::cpu;
using testing::load;
using testing::loaded_program;
using testing::Outputs;
using testing::run;
using testing::transformable_network;

void expect_close(const Outputs& actual, const Outputs& expected) {
  ASSERT_EQ(actual.values.size(), expected.values.size());
  for (size_t i = 0; i < actual.values.size(); ++i) {
    ASSERT_EQ(actual.values[i].size(), expected.values[i].size());
    float range = 0;
    for (float value : expected.values[i]) {
      range = std::max(range, std::abs(value));
    }
    for (size_t k = 0; k < actual.values[i].size(); ++k) {
      // Sums of a few hundred products in another order: 1e-5 of the range is far above rounding.
      ASSERT_NEAR(actual.values[i][k], expected.values[i][k], 1e-5F * range)
          << "output " << i << " element " << k;
    }
  }
}

CompileOptions reference_options() {
  CompileOptions options;
  options.fuse = false;
  options.reference_only = true;
  options.verify_passes = true;
  return options;
}

CompileOptions fast_options() {
  CompileOptions options;
  options.verify_passes = true;
  return options;
}

TEST(Compile, StaticConvolutionsAgreeWithReference) {
  const Outputs expected =
      run(*load(convolutional_network(false), reference_options(), cpu(1)), {1, 3, 18, 23});
  for (int32_t threads : {1, 2}) {
    expect_close(run(*load(convolutional_network(false), fast_options(), cpu(threads)), {1, 3, 18, 23}),
                 expected);
  }
}

TEST(Compile, DynamicConvolutionsAgreeWithReference) {
  const Ref<Session> reference = load(convolutional_network(true), reference_options(), cpu(1));
  const Ref<Session> fast = load(convolutional_network(true), fast_options(), cpu(2));
  for (const std::vector<int64_t>& shape :
       {std::vector<int64_t>{1, 3, 18, 23}, std::vector<int64_t>{3, 3, 7, 23},
        std::vector<int64_t>{2, 3, 64, 23}}) {
    expect_close(run(*fast, shape), run(*reference, shape));
  }
}

TEST(Compile, AttentionAgreesWithReference) {
  const Ref<Session> reference = load(attention_network(), reference_options(), cpu(1));
  const Ref<Session> fast = load(attention_network(), fast_options(), cpu(2));
  for (const std::vector<int64_t>& shape :
       {std::vector<int64_t>{1, 5, 24}, std::vector<int64_t>{2, 33, 24}}) {
    expect_close(run(*fast, shape), run(*reference, shape));
  }
}

TEST(Compile, ScalesOfQueriesAndKeysGoBehindTheirProduct) {
  auto compiled = compile(attention_network(), {});
  ASSERT_TRUE(compiled);
  std::vector<std::string> origins;
  for (const Step& step : compiled->program.steps) {
    EXPECT_NE(step.op, Op::kElementwise) << step.name;
    origins.push_back(step.origin);
  }
  EXPECT_THAT(origins, ::testing::Contains("Elementwise+Elementwise+MatMul+Mul"));
}

TEST(Compile, EveryInstructionSetAgreesUnderValidationAndDiscreteMemory) {
  const Outputs expected =
      run(*load(convolutional_network(false), reference_options(), cpu(1)), {1, 3, 18, 23});
  for (int isa = 0; isa <= static_cast<int>(detect_isa()); ++isa) {
    for (bool discrete : {false, true}) {
      expect_close(run(*load(convolutional_network(false), fast_options(), cpu(2, true, discrete),
                             static_cast<Isa>(isa)),
                       {1, 3, 18, 23}),
                   expected);
    }
  }
}

TEST(Compile, FusesIntoFewSteps) {
  auto compiled = compile(convolutional_network(false), {});
  ASSERT_TRUE(compiled);
  std::vector<std::string> origins;
  for (const Step& step : compiled->program.steps) {
    origins.push_back(step.origin);
  }
  // stem, depthwise, pointwise + residual, squeeze, two gates, excite, two branches, one copy of the operand
  // that an output's layout needs …: no step is left for an activation or a bias.
  EXPECT_THAT(origins, ::testing::Contains("Conv+Elementwise+Elementwise").Times(::testing::Ge(1)));
  EXPECT_THAT(origins, ::testing::Not(::testing::Contains("Reshape")));
  EXPECT_LE(compiled->program.steps.size(), 16u);
}

TEST(Compile, CompilingTwiceGivesTheSameBytes) {
  auto first = compile(convolutional_network(true), {});
  auto second = compile(convolutional_network(true), {});
  ASSERT_TRUE(first && second);
  EXPECT_EQ(*program_image(first->program, first->blocks), *program_image(second->program, second->blocks));
}

TEST(Compile, PreferringMemoryKeepsWeightsAsLargeAsInTheModel) {
  CompileOptions memory;
  memory.prefer_memory = true;
  auto fast = compile(transformable_network(), {});
  auto small = compile(transformable_network(), memory);
  ASSERT_TRUE(fast && small);
  constexpr int64_t kPlainBytes = 2 * 64 * (64 * 9 + 1) * 4;
  EXPECT_LE(small->program.constant_bytes, kPlainBytes + kPlainBytes / 4);
  EXPECT_GT(fast->program.constant_bytes, 2 * kPlainBytes);  // transformed for the Cook-Toom method
  EXPECT_THAT(fast->program.notices,
              ::testing::Contains(::testing::Field(&ProgramNotice::what, "weights")).Times(2));
  EXPECT_THAT(small->program.notices,
              ::testing::Not(::testing::Contains(::testing::Field(&ProgramNotice::what, "weights"))));
  const auto conv = std::ranges::find(small->program.steps, Op::kConv, &Step::op);
  ASSERT_NE(conv, small->program.steps.end());
  EXPECT_THAT(conv->refused, ::testing::Contains(::testing::Field(
                                 &Refusal::reason, ::testing::HasSubstr("memory is preferred"))));
  const std::vector<int64_t> shape = {1, 64, 40, 40};
  expect_close(run(*load(transformable_network(), memory, cpu(1)), shape),
               run(*load(transformable_network(), {}, cpu(1)), shape));
}

// What a session answers to a program that was changed after it was compiled.
std::string refusal_of(const std::function<void(Program&)>& change) {
  auto compiled = compile(convolutional_network(false), {});
  change(compiled->program);
  auto image = program_image(compiled->program, compiled->blocks);
  EXPECT_TRUE(image) << (image ? "" : image.error().to_string());
  auto kept = std::make_shared<std::vector<std::byte>>(std::move(*image));
  auto loaded = read_program(*kept, kept);
  EXPECT_TRUE(loaded) << (loaded ? "" : loaded.error().to_string());
  auto session = Session::create(std::move(*loaded), cpu(1), {});
  return session ? "" : session.error().to_string();
}

Step& packed_step(Program& program) {
  return *std::ranges::find_if(program.steps, [](const Step& step) { return !step.packed.empty(); });
}

TEST(Session, RefusesStepsThatTheirImplementationDoesNotTake) {
  EXPECT_EQ(refusal_of([](Program&) {}), "");
  EXPECT_THAT(refusal_of([](Program& program) {
                program.storages[static_cast<size_t>(packed_step(program).packed[0].storage)].pack_id =
                    "other";
              }),
              ::testing::HasSubstr("wants it as"));
  EXPECT_THAT(
      refusal_of([](Program& program) { packed_step(program).implementations = {"softmax.rows.sse4"}; }),
      ::testing::AnyOf(::testing::HasSubstr("runs operator Softmax"), ::testing::HasSubstr("runs on none")));
  EXPECT_THAT(refusal_of([](Program& program) { packed_step(program).implementations = {"reference.conv"}; }),
              ::testing::HasSubstr("packs (0) operands"));
}

TEST(Portable, GivesTheBitsOfThePackedProgram) {
  CompileOptions portable;
  portable.portable = true;
  const std::vector<int64_t> image = {2, 3, 21, 23};
  const std::vector<int64_t> text = {2, 13, 24};
  for (int i = 0; i <= static_cast<int>(detect_isa()); ++i) {
    const auto isa = static_cast<Isa>(i);
    for (const bool discrete : {false, true}) {
      const auto device = [&] { return cpu(2, true, discrete); };
      EXPECT_EQ(run(*load(convolutional_network(true), portable, device(), isa), image).values,
                run(*load(convolutional_network(true), {}, device(), isa), image).values)
          << to_string(isa);
      EXPECT_EQ(run(*load(attention_network(), portable, device(), isa), text).values,
                run(*load(attention_network(), {}, device(), isa), text).values)
          << to_string(isa);
    }
  }
}

TEST(Portable, PacksInMemoryThatIsPlannedAndListed) {
  CompileOptions portable;
  portable.portable = true;
  const Ref<Session> session = load(convolutional_network(false), portable, cpu(1));
  const Ref<Session> packed = load(convolutional_network(false), {}, cpu(1));
  int64_t bytes = 0;
  for (const Storage& storage : session->program().storages) {
    if (storage.kind == StorageKind::kPacked) {
      bytes += session->program().dims[static_cast<size_t>(storage.bytes)].value;
    }
    EXPECT_TRUE(storage.kind != StorageKind::kConstant || storage.pack_id.empty());
  }
  EXPECT_GT(bytes, 0);
  ASSERT_EQ(session->load_notices().size(), 1);
  EXPECT_EQ(session->load_notices()[0].kind, NoticeKind::kCost);
  EXPECT_EQ(session->load_notices()[0].what, "packing");
  EXPECT_EQ(session->load_notices()[0].bytes, bytes);
  EXPECT_EQ(session->program().arena_bytes, packed->program().arena_bytes);  // a residual in place, in both
  EXPECT_TRUE(packed->load_notices().empty());
  EXPECT_EQ(packed->own_constants(), nullptr);
  // Compiled in memory: the plain constants stay beside the packed ones. `run` compares plan and count.
  EXPECT_GE(session->planned({})->constants, session->program().constant_bytes + bytes);
  run(*session, {1, 3, 18, 23});
}

TEST(Portable, RunsOnReference) {
  CompileOptions portable;
  portable.portable = true;
  for (const bool discrete : {false, true}) {
    const Ref<Session> session =
        load(convolutional_network(true), portable, cpu(2, true, discrete), detect_isa(), true);
    for (const StepKernel& kernel : session->kernels()) {
      EXPECT_TRUE(kernel.implementation->reference) << kernel.implementation->name;
    }
    EXPECT_EQ(session->own_constants(), nullptr);  // nothing is packed
    const std::vector<int64_t> shape = {2, 3, 21, 23};
    expect_close(run(*session, shape), run(*load(convolutional_network(true), {}, cpu(1)), shape));
  }
  const Ref<Session> text = load(attention_network(), portable, cpu(1), detect_isa(), true);
  expect_close(run(*text, {2, 13, 24}), run(*load(attention_network(), {}, cpu(1)), {2, 13, 24}));
}

TEST(Portable, AProgramThatHoldsPackedConstantsHasNoReference) {
  SessionOptions options;
  options.reference_only = true;
  auto session = Session::create(loaded_program(convolutional_network(false), {}), cpu(1), options);
  ASSERT_FALSE(session);
  EXPECT_EQ(session.error().code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(session.error().message(), ::testing::HasSubstr("compile the model again with --portable"));
}

TEST(Portable, ASessionRefusesPackingsThatLie) {
  const auto refusal = [](const std::function<void(Program&, Storage&)>& change, bool sound = true) {
    CompileOptions portable;
    portable.portable = true;
    LoadedProgram loaded = loaded_program(convolutional_network(false), portable);
    const int32_t storage = packed_step(loaded.program).packed[0].storage;
    change(loaded.program, loaded.program.storages[static_cast<size_t>(storage)]);
    EXPECT_EQ(bool(verify(loaded.program)), sound);
    auto session = Session::create(std::move(loaded), cpu(1), {});
    return session ? "" : session.error().to_string();
  };
  EXPECT_EQ(refusal([](Program&, Storage&) {}), "");
  EXPECT_THAT(refusal([](Program&, Storage& storage) { storage.pack_id = "f32.unknown"; }),
              ::testing::HasSubstr("is packed as 'f32.unknown'"));
  EXPECT_THAT(refusal([](Program& program, Storage& storage) {
                program.dims.push_back({.op = DimOp::kConstant, .value = 64});
                storage.bytes = static_cast<int32_t>(program.dims.size()) - 1;
              }),
              ::testing::HasSubstr("(64 bytes), and implementation"));
  EXPECT_THAT(refusal([](Program& program, Storage&) { packed_step(program).packed.clear(); },
                      /*sound=*/false),  // the verifier misses a reader; the session asks again
              ::testing::HasSubstr("packs (1) operands, and the step has (0) packed"));
}

}  // namespace
}  // namespace weir
