// SPDX-License-Identifier: Apache-2.0
//
// Programs that lie: each is a sound one with one thing changed, and the verifier says which.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <string>

#include "base/testing/results.h"
#include "program/program.h"
#include "program/testing/sample_programs.h"

namespace weir {
namespace {

using testing::HasSubstr;

struct Lie {
  std::string name;
  std::function<void(Program&)> tell;
  std::string error;  // part of the error, context included
};

int32_t add_number(Program& p, int64_t value) {
  p.dims.push_back({.op = DimOp::kConstant, .value = value});
  return static_cast<int32_t>(p.dims.size()) - 1;
}

void expect_refused(const Program& sound, const std::vector<Lie>& lies) {
  for (const Lie& lie : lies) {
    Program program = sound;
    lie.tell(program);
    const Result<void> verified = verify(program);
    ASSERT_FALSE(verified) << lie.name;
    EXPECT_EQ(verified.error().code() == StatusCode::kInvalidArgument ||
                  verified.error().code() == StatusCode::kDataLoss ||
                  verified.error().code() == StatusCode::kOutOfRange,
              true)
        << lie.name;
    EXPECT_THAT(verified.error().to_string(), HasSubstr(lie.error)) << lie.name;
  }
}

// Of samples::static_program(); see there.
enum StaticStorage { kX, kPacked, kBias, kA, kWorkspace, kB, kY, kZ, kState, kOne, kC, kNext };
enum StaticTensor {
  kXTensor,
  kW,
  kBiasTensor,
  kATensor,
  kSTensor,
  kYTensor,
  kZTensor,
  kStateTensor,
  kOneTensor,
  kOnes,
  kCTensor,
  kFlipped,
  kNextTensor
};
constexpr int32_t kNone = 99;

TEST(Verify, AcceptsSoundPrograms) {
  const Result<void> a = verify(samples::static_program());
  EXPECT_TRUE(a) << a.error().to_string();
  const Result<void> b = verify(samples::dynamic_program());
  EXPECT_TRUE(b) << b.error().to_string();
}

TEST(Verify, RefusesStoragesThatLie) {
  expect_refused(
      samples::static_program(),
      {
          {"kind", [](Program& p) { p.storages[kA].kind = static_cast<StorageKind>(8); },
           "Storage (3) has the unknown kind (8)."},
          {"size", [](Program& p) { p.storages[kA].bytes = -1; },
           "Dimension (-1) is named, and the program has"},
          {"size of a workspace", [](Program& p) { p.storages[kWorkspace].bytes = -1; },
           "while verifying the size of storage (4), workspace"},
          {"negative size", [](Program& p) { p.storages[kA].bytes = add_number(p, -5); },
           "Storage (3), activation, has (-5) bytes, and (0) is the least."},
          {"born before the start", [](Program& p) { p.storages[kA].first_step = -1; },
           "Storage (3), activation, lives from step (-1) to (2), and the program has (6) steps."},
          {"dies after the end", [](Program& p) { p.storages[kB].last_step = 6; },
           "lives from step (1) to (6)"},
          {"dies before its birth", [](Program& p) { p.storages[kA].last_step = -1; },
           "lives from step (0) to (-1)"},
          {"constant outside", [](Program& p) { p.storages[kBias].offset = 320; },
           "takes (32) bytes at offset (320), and it lies at a multiple of (64) within (288) bytes of the "
           "constants."},
          {"constant reaches out", [](Program& p) { p.storages[kBias].bytes = add_number(p, 33); },
           "takes (33) bytes at offset (256)"},
          {"constant of a size that overflows",
           [](Program& p) { p.storages[kBias].bytes = add_number(p, std::numeric_limits<int64_t>::max()); },
           "takes (9223372036854775807) bytes at offset (256)"},
          {"constant not aligned", [](Program& p) { p.storages[kBias].offset = 250; },
           "at a multiple of (64)"},
          {"constant at a negative offset", [](Program& p) { p.storages[kBias].offset = -64; },
           "offset (-64)"},
          {"outside the arena", [](Program& p) { p.arena_bytes = 2431; },
           "takes (1152) bytes at offset (1280), and it lies at a multiple of (64) within (2431) bytes of "
           "the arena."},
          {"arena offset not aligned", [](Program& p) { p.storages[kB].offset = 1281; }, "at offset (1281)"},
          {"placed input", [](Program& p) { p.storages[kX].offset = 0; },
           "The storage has the offset (0), and only (-1) is possible"},
          {"packed activation", [](Program& p) { p.storages[kA].pack_id = "x"; },
           "Storage (3), activation, has the pack id 'x', and only constants are packed."},
          {"overlap", [](Program& p) { p.storages[kB].offset = 1024; },
           "Storages (3) and (5) overlap in the arena: (1152) bytes at (0) in steps (0) to (2), and (1152) "
           "bytes at "
           "(1024) in steps (1) to (4)."},
          {"overlap with a workspace", [](Program& p) { p.storages[kWorkspace].offset = 1088; },
           "Storages (3) and (4) overlap"},
          {"index of an activation", [](Program& p) { p.storages[kA].index = 0; },
           "Storage (3), activation, has the index (0), and only inputs, outputs and states have one."},
          {"index of a state", [](Program& p) { p.storages[kState].index = 1; },
           "State (0) 'state' lies in storage (8) before a run, which is not the state storage (0)."},
          {"a second storage of a state", [](Program& p) { p.storages.push_back(p.storages[kState]); },
           "Storage (12), state, has the index (0), and each of (0) to (1) is used once."},
          {"index of an output", [](Program& p) { p.storages[kZ].index = 0; },
           "output (1) 'z' lies in storage (7)"},
          {"a second storage of an input", [](Program& p) { p.storages.push_back(p.storages[kX]); },
           "Storage (12), input, has the index (0)"},
          {"negative constants", [](Program& p) { p.constant_bytes = -1; },
           "within (-1) bytes of the constants"},
          {"activations larger than the arena", [](Program& p) { p.activation_bytes = 2433; },
           "an arena of (2432) bytes and activations of (2433)"},
          {"unfused bound", [](Program& p) { p.unfused_bound_bytes = -2; }, "an unfused bound of (-2)"},
          {"order names a constant", [](Program& p) { p.placement_order[0] = kBias; },
           "The placement order names storage (2)"},
          {"order names one twice", [](Program& p) { p.placement_order[0] = kB; }, "names storage (5)"},
          {"order is short", [](Program& p) { p.placement_order.pop_back(); },
           "The placement order names (3) storages, and the arena holds (4)."},
      });
}

TEST(Verify, RefusesTensorsThatLie) {
  const int64_t huge = std::numeric_limits<int64_t>::max();
  expect_refused(
      samples::static_program(),
      {
          {"element type", [](Program& p) { p.tensors[kATensor].element_type = static_cast<ElementType>(0); },
           "The tensor has the unknown element type (0).\n  - while verifying tensor (3) 'a'"},
          {"rank",
           [](Program& p) {
             p.tensors[kW].shape.assign(9, 0);
             p.tensors[kW].strides.assign(9, 0);
           },
           "The tensor has rank (9), and (8) is the most."},
          {"strides", [](Program& p) { p.tensors[kATensor].strides.pop_back(); },
           "The tensor has (3) strides, and its rank is (4)."},
          {"shape position", [](Program& p) { p.tensors[kATensor].shape[1] = 1000; },
           "Dimension (1000) is named, and the program has"},
          {"stride position", [](Program& p) { p.tensors[kATensor].strides[1] = -1; },
           "Dimension (-1) is named"},
          {"offset position", [](Program& p) { p.tensors[kATensor].offset = 1000; },
           "while verifying the offset\n  - while verifying tensor (3) 'a'"},
          {"storage", [](Program& p) { p.tensors[kATensor].storage = 12; },
           "The tensor lies in storage (12), and the program has (12) storages."},
          {"storage -2", [](Program& p) { p.tensors[kATensor].storage = -2; },
           "The tensor lies in storage (-2)"},
          {"in a workspace", [](Program& p) { p.tensors[kATensor].storage = kWorkspace; },
           "which is a workspace"},
          {"in packed bytes", [](Program& p) { p.tensors[kBiasTensor].storage = kPacked; },
           "whose bytes are packed as 'f32.panel16.k4.n8'"},
          {"extent", [](Program& p) { p.tensors[kATensor].shape[1] = add_number(p, -8); },
           "Axis (1) has the extent (-8), and (0) to (281474976710656) are allowed."},
          {"extent too large", [](Program& p) { p.tensors[kATensor].shape[1] = add_number(p, kDimMax + 1); },
           "Axis (1) has the extent (281474976710657), and (0) to (281474976710656) are allowed."},
          {"one element too far", [](Program& p) { p.tensors[kATensor].offset = add_number(p, 1); },
           "The tensor reaches from element (1) to (288) of storage (3), which has (288)."},
          {"below the start", [](Program& p) { p.tensors[kFlipped].offset = add_number(p, 29); },
           "The tensor reaches from element (-1) to (286) of storage (5), which has (288)."},
          {"negative offset", [](Program& p) { p.tensors[kATensor].offset = add_number(p, -1); },
           "reaches from element (-1)"},
          {"wide stride", [](Program& p) { p.tensors[kATensor].strides[1] = add_number(p, 37); },
           "reaches from element (0) to (294)"},
          {"stride too large",
           [](Program& p) { p.tensors[kATensor].strides[1] = add_number(p, kDimMax + 1); },
           "Axis (1) has the stride (281474976710657)"},
          {"stride of an axis of one too small",
           [](Program& p) {
             p.tensors[kATensor].strides[0] = add_number(p, std::numeric_limits<int64_t>::min());
           },
           "Axis (0) has the stride (-9223372036854775808)"},
          {"product overflows",
           [](Program& p) {
             p.tensors[kOnes].shape[0] = add_number(p, 1 << 16);
             p.tensors[kOnes].strides[0] = add_number(p, kDimMax);
           },
           "does not fit in 64 bits.\n  - while measuring axis (0)"},
          {"offset overflows", [=](Program& p) { p.tensors[kATensor].offset = add_number(p, huge); },
           "does not fit in 64 bits."},
          {"more elements than 64 bits count",
           [](Program& p) {
             for (int axis = 0; axis < 4; ++axis) {
               p.tensors[kOnes].shape[static_cast<size_t>(axis)] = add_number(p, kDimMax);
             }
           },
           "The tensor has more than (281474976710656) elements"},
          {"more elements than 64 bits count beside an empty axis",
           [](Program& p) {
             for (int axis = 0; axis < 4; ++axis) {
               p.tensors[kOnes].shape[static_cast<size_t>(axis)] = add_number(p, axis == 3 ? 0 : kDimMax);
             }
           },
           "The tensor has more than (281474976710656) elements"},
          {"more repeats of one element than bytes count",
           [](Program& p) {
             for (int axis = 0; axis < 4; ++axis) {
               p.tensors[kOnes].shape[static_cast<size_t>(axis)] = add_number(p, 1 << 15);
               p.tensors[kOnes].strides[static_cast<size_t>(axis)] = add_number(p, 0);
             }
           },
           "The tensor has more than (281474976710656) elements"},
          {"wider elements", [](Program& p) { p.tensors[kBiasTensor].element_type = ElementType::kFloat64; },
           "The tensor reaches from element (0) to (7) of storage (2), which has (4)."},
          {"empty far away",
           [](Program& p) {
             p.tensors[kBiasTensor].shape[0] = add_number(p, 0);
             p.tensors[kBiasTensor].offset = add_number(p, kDimMax + 1);
           },
           "The tensor, which is empty, begins at element (281474976710657), and (0) to (281474976710656) "
           "are "
           "allowed."},
      });
}

TEST(VerifyShape, CountsElementsNarrowerThanAByte) {
  Program p = samples::static_program();
  p.tensors[kBiasTensor].element_type = ElementType::kInt4;
  p.tensors[kBiasTensor].shape[0] = add_number(p, 64);
  std::vector<int64_t> values(p.dims.size());
  ASSERT_TRUE(evaluate(p.dims, {}, values));
  EXPECT_TRUE(verify_shape(p, values));
  values.back() = 65;
  const Result<void> verified = verify_shape(p, values);
  ASSERT_FALSE(verified);
  EXPECT_THAT(verified.error().message(), HasSubstr("to (64) of storage (2), which has (64)"));
}

TEST(Verify, RefusesStepsThatLie) {
  expect_refused(
      samples::static_program(),
      {
          {"operator", [](Program& p) { p.steps[1].op = static_cast<Op>(200); },
           "The step has the unknown operator (200).\n  - while verifying step (1) 'silu'"},
          {"attributes missing", [](Program& p) { p.steps[0].attributes.integers.pop_back(); },
           "while reading the attributes of Conv"},
          {"attributes left over", [](Program& p) { p.steps[3].attributes.reals.push_back(1); },
           "while reading the attributes of Pad"},
          {"attribute position", [](Program& p) { p.steps[0].attributes.dims[0] = 1000; },
           "names dimension (1000) of a table"},
          {"no input", [](Program& p) { p.steps[1].inputs.clear(); },
           "The step has (0) inputs, and Elementwise takes (1) to (1)."},
          {"too many inputs", [](Program& p) { p.steps[0].inputs.push_back(kATensor); },
           "The step has (4) inputs, and Conv takes (2) to (3)."},
          {"absent input", [](Program& p) { p.steps[0].inputs[0] = -1; },
           "The step lacks input (0), and Conv needs it."},
          {"absent part", [](Program& p) { p.steps[2].inputs[1] = -1; },
           "The step lacks input (1), and Concat needs it."},
          {"no output", [](Program& p) { p.steps[1].outputs.clear(); },
           "The step has (0) outputs, and Elementwise gives (1) to (1)."},
          {"absent output", [](Program& p) { p.steps[1].outputs[0] = -1; },
           "The step lacks an output, and Elementwise needs it."},
          {"input position", [](Program& p) { p.steps[1].inputs[0] = kNone; },
           "The step reads tensor (99), and the program has (13) tensors.\n  - while verifying input (0)\n  "
           "- while "
           "verifying step (1) 'silu'"},
          {"input position -2", [](Program& p) { p.steps[1].inputs[0] = -2; }, "The step reads tensor (-2)"},
          {"output position", [](Program& p) { p.steps[1].outputs[0] = kNone; },
           "The step writes tensor (99), and the program has (13) tensors."},
          {"no implementation", [](Program& p) { p.steps[1].implementations.clear(); },
           "The step names (0) implementations"},
          {"nameless implementation", [](Program& p) { p.steps[1].implementations[0] = ""; },
           "none of them ''"},
          {"too many implementations", [](Program& p) { p.steps[1].implementations.assign(65, "x"); },
           "The step names (65) implementations"},
          {"read before it is written", [](Program& p) { std::swap(p.steps[0], p.steps[1]); },
           "The step reads tensor (3) 'a', whose storage (3) no step before it writes."},
          {"used after its death", [](Program& p) { p.storages[kA].last_step = 1; },
           "Storage (3), activation, is used in step (2), and it lives from (0) to (1)."},
          {"output outside its life",
           [](Program& p) { p.storages[kZ].first_step = p.storages[kZ].last_step = 5; },
           "Storage (7), output, is used in step (3), and it lives from (5) to (5)."},
          {"writes a constant", [](Program& p) { p.steps[1].outputs[0] = kBiasTensor; },
           "The step writes tensor (2) 'bias' of kind constant, which a step may not write."},
          {"writes an input", [](Program& p) { p.steps[1].outputs[0] = kXTensor; }, "of kind input"},
          {"writes a prepared constant", [](Program& p) { p.steps[1].outputs[0] = kOneTensor; },
           "of kind prepared"},
          {"writes what has no storage", [](Program& p) { p.steps[1].outputs[0] = kW; },
           "The step writes tensor (1) 'w', which has no storage."},
          {"reads what has no storage", [](Program& p) { p.steps[0].packed.clear(); },
           "The step reads tensor (1) 'w', which has no storage and is not packed."},
          {"packs an absent operand", [](Program& p) { p.steps[0].packed[0].input = 7; },
           "Packed operand (0) is input (7), which the step does not have."},
          {"packed in an activation", [](Program& p) { p.steps[0].packed[0].storage = kA; },
           "Packed operand (0) lies in storage (3), which is no packed constant."},
          {"packed in plain bytes", [](Program& p) { p.steps[0].packed[0].storage = kBias; },
           "which is no packed constant"},
          {"packed nowhere", [](Program& p) { p.steps[0].packed[0].storage = kNone; },
           "lies in storage (99)"},
          {"packed twice", [](Program& p) { p.steps[0].packed.push_back(p.steps[0].packed[0]); },
           "Input (1) is packed twice."},
          {"workspace of another kind", [](Program& p) { p.steps[0].workspace = kA; },
           "The step has the workspace (3), which is no storage of that kind."},
          {"workspace nowhere", [](Program& p) { p.steps[0].workspace = kNone; }, "has the workspace (99)"},
          {"another step's workspace", [](Program& p) { p.steps[1].workspace = kWorkspace; },
           "Storage (4), workspace, is used in step (1), and it lives from (0) to (0)."},
          {"prepare step reads an input",
           [](Program& p) {
             p.prepare_steps[0] = p.steps[1];
             p.prepare_steps[0].inputs[0] = kXTensor;
           },
           "The prepare step reads tensor (0) 'x' of kind input"},
          {"prepare step writes an activation", [](Program& p) { p.prepare_steps[0].outputs[0] = kATensor; },
           "of kind activation, which a prepare step may not write.\n  - while verifying output (0)\n  - "
           "while "
           "verifying prepare step (0) 'make_one'"},
          {"prepared constant that nobody prepares", [](Program& p) { p.prepare_steps.clear(); },
           "whose storage (9) no step before it writes"},
          {"output that nobody writes",
           [](Program& p) {
             p.steps.erase(p.steps.begin() + 3);
             for (const int storage : {kState, kNext, kC, kB}) {
               p.storages[static_cast<size_t>(storage)].first_step -= 1;
               p.storages[static_cast<size_t>(storage)].last_step -= 1;
             }
             p.storages[kB].first_step = 1;
             p.storages[kB].last_step = 3;
           },
           "Output (1) 'z' lies in storage (7), which no step writes."},
          {"shapes that do not fit", [](Program& p) { p.tensors[kBiasTensor].shape[0] = add_number(p, 4); },
           "A Conv takes a bias of its type, as long as its channels"},
          {"writes one element again and again",
           [](Program& p) {
             p.tensors[kCTensor].strides[0] = p.tensors[kCTensor].strides[1] = add_number(p, 0);
           },
           "Step (4) 'mix' writes tensor (10) 'c', whose strides reach an element more than once."},
          {"rows that overlap", [](Program& p) { p.tensors[kCTensor].strides[2] = add_number(p, 5); },
           "writes tensor (10) 'c', whose strides reach an element more than once."},
      });
}

TEST(Verify, RefusesStatesThatLie) {
  expect_refused(
      samples::static_program(),
      {
          {"no declaration", [](Program& p) { p.states.clear(); },
           "Storage (8), state, has the index (0), and each of (0) to (-1) is used once."},
          {"tensor", [](Program& p) { p.states[0].after = kNone; },
           "State (0) 'state' is tensor (99) after a run, and the program has (13) tensors."},
          {"kind", [](Program& p) { p.states[0].before = kATensor; },
           "State (0) 'state' lies in storage (3) before a run, which is not the state storage (0)."},
          {"one for both", [](Program& p) { p.states[0].after = kStateTensor; },
           "State (0) 'state' lies in storage (8) after a run, which is not the state storage (1)."},
          {"turned round", [](Program& p) { std::swap(p.states[0].before, p.states[0].after); },
           "State (0) 'state' lies in storage (11) before a run"},
          {"declared twice", [](Program& p) { p.states.push_back(p.states[0]); },
           "State (1) 'state' lies in storage (8) before a run, which is not the state storage (2)."},
          {"no name", [](Program& p) { p.states[0].name = ""; },
           "State (0) has the name '', which is empty or another one's too."},
          {"type", [](Program& p) { p.tensors[kNextTensor].element_type = ElementType::kInt32; },
           "State (0) 'state' is fed from 'next', and their types or shapes are not the same."},
          {"rank",
           [](Program& p) {
             p.tensors[kNextTensor].shape.clear();
             p.tensors[kNextTensor].strides.clear();
           },
           "their types or shapes are not the same"},
          {"extent", [](Program& p) { p.tensors[kNextTensor].shape[0] = add_number(p, 0); },
           "their types or shapes are not the same"},
          {"not the whole storage", [](Program& p) { p.storages[kNext].bytes = add_number(p, 8); },
           "State (0) 'state' is tensor (12) of (4) bytes in a storage of (8), and a state is dense and "
           "fills "
           "its storage."},
          {"a step writes what the run began with", [](Program& p) { p.steps[5].outputs[0] = kStateTensor; },
           "The step writes tensor (7) 'state', which holds a state as the run begins, and a run that fails "
           "must leave that as it is."},
          {"a step reads what none has written", [](Program& p) { p.steps[5].inputs[0] = kNextTensor; },
           "The step reads tensor (12) 'next', whose storage (11) no step before it writes."},
          {"nobody writes it",
           [](Program& p) {
             p.steps[5].outputs[0] = kCTensor;
             p.storages[kC].last_step = 5;
           },
           "State (0) 'state' is fed from storage (11), which no step writes."},
      });
}

TEST(Verify, RefusesPortsAndNoticesThatLie) {
  expect_refused(samples::static_program(),
                 {
                     {"tensor", [](Program& p) { p.inputs[0].tensor = -1; },
                      "The input (0) 'x' is tensor (-1), and the program has (13) tensors."},
                     {"kind", [](Program& p) { p.inputs[0].tensor = kATensor; },
                      "The input (0) 'x' lies in storage (3), which is not that of input (0)."},
                     {"no storage", [](Program& p) { p.inputs[0].tensor = kW; }, "lies in storage (-1)"},
                     {"swapped", [](Program& p) { std::swap(p.outputs[0].tensor, p.outputs[1].tensor); },
                      "The output (0) 'y' lies in storage (7)"},
                     {"names", [](Program& p) { p.outputs[1].name = "y"; },
                      "The output (1) has the name 'y', which another one has too."},
                     {"notice", [](Program& p) { p.notices[0].kind = static_cast<NoticeKind>(2); },
                      "Notice (0) 'copy' has the unknown kind (2)."},
                     {"notice's bytes", [](Program& p) { p.notices[0].bytes = -2; },
                      "while verifying notice (0) 'copy'"},
                 });
}

TEST(Verify, RefusesDynamicProgramsThatLie) {
  expect_refused(
      samples::dynamic_program(),
      {
          {"operation", [](Program& p) { p.dims[3].op = static_cast<DimOp>(15); },
           "Dimension (3) has the unknown operation (15)."},
          {"symbol", [](Program& p) { p.dims[1].value = 2; },
           "Dimension (1) names symbol (2), and the program has (2) symbols."},
          {"negative symbol", [](Program& p) { p.dims[1].value = -1; }, "names symbol (-1)"},
          {"operand after its use", [](Program& p) { p.dims[3].b = 3; },
           "Dimension (3) has the operand (3), and operands lie before it."},
          {"negative operand", [](Program& p) { p.dims[4].c = -1; }, "Dimension (4) has the operand (-1)"},
          {"scale", [](Program& p) { p.dims[2].scale = std::numeric_limits<double>::quiet_NaN(); },
           "Dimension (2) has the scale (nan), and it is a finite number."},
          {"range", [](Program& p) { p.symbols[0].range = {2, 1}; },
           "Symbol (0) 'batch' has the range (2) to (1), which is empty."},
          {"source", [](Program& p) { p.symbols[0].source.kind = static_cast<SymbolSource::Kind>(2); },
           "a source of unknown kind (2)"},
          {"source input", [](Program& p) { p.symbols[0].source.input = 2; },
           "Symbol (0) 'batch' comes from input (2), and the program has (2) inputs."},
          {"source axis", [](Program& p) { p.symbols[0].source.index = 2; },
           "Symbol (0) 'batch' is axis (2) of input (0), which has rank (2)."},
          {"source element", [](Program& p) { p.symbols[1].source.index = 2; },
           "Symbol (1) 'n' is element (2) of input (1), which has (2) elements."},
          {"source type", [](Program& p) { p.tensors[1].element_type = ElementType::kFloat64; },
           "Symbol (1) 'n' is an element of input (1) of type (float64), and only int32 and int64 hold "
           "shapes."},
          {"source rank",
           [](Program& p) {
             p.symbols[1].source.input = 0;
             p.tensors[0].element_type = ElementType::kInt32;
           },
           "which has rank (2), and a shape has at most (1)"},
          {"constraint kind", [](Program& p) { p.constraints[0].kind = static_cast<Constraint::Kind>(4); },
           "Constraint (0) has the unknown kind (4)."},
          {"constraint operand", [](Program& p) { p.constraints[0].a = 1000; },
           "Dimension (1000) is named, and the program has"},
          {"constant that depends on a symbol", [](Program& p) { p.storages[2].bytes = 0; },
           "The size of a constant depends on the shape, and it is a number."},
          {"placed already", [](Program& p) { p.storages[3].offset = 0; }, "it is placed later"},
          {"arena", [](Program& p) { p.arena_bytes = 5; }, "a dynamic one neither (-1)"},
          {"no order", [](Program& p) { p.placement_order.clear(); },
           "The placement order names (0) storages, and the arena holds (2)."},
      });
}

TEST(Verify, EvaluatesStaticPrograms) {
  Program p = samples::static_program();
  p.dims.push_back({.op = DimOp::kFloorDiv, .a = add_number(p, 1), .b = 0});
  p.dims.back().b = static_cast<int32_t>(p.dims.size()) - 2;
  EXPECT_TRUE(verify(p));
  p.dims[static_cast<size_t>(p.dims.back().b)].value = 0;
  const Result<void> verified = verify(p);
  ASSERT_FALSE(verified);
  EXPECT_THAT(verified.error().to_string(), HasSubstr("while evaluating the dimensions of a static program"));
}

TEST(VerifyShape, ChecksTheNumbersOfAShape) {
  const Program p = samples::dynamic_program();
  std::vector<int64_t> values(p.dims.size());
  ASSERT_TRUE(evaluate(p.dims, std::vector<int64_t>{3, 5}, values));
  EXPECT_TRUE(verify_shape(p, values));
  ASSERT_TRUE(evaluate(p.dims, std::vector<int64_t>{0, 5}, values));
  EXPECT_TRUE(verify_shape(p, values));  // empty
  ASSERT_TRUE(evaluate(p.dims, std::vector<int64_t>{-1, 5}, values));
  Result<void> verified = verify_shape(p, values);
  ASSERT_FALSE(verified);
  EXPECT_EQ(verified.error().message(), "Storage (0), input, has (-16) bytes, and (0) is the least.");
  ASSERT_TRUE(evaluate(p.dims, std::vector<int64_t>{3, 5}, values));
  values[static_cast<size_t>(p.storages[0].bytes)] = kDimMax + 1;
  verified = verify_shape(p, values);
  ASSERT_FALSE(verified);
  EXPECT_EQ(verified.error().message(),
            "Storage (0), input, has (281474976710657) bytes, and (281474976710656) is the most.");
  ASSERT_TRUE(evaluate(p.dims, std::vector<int64_t>{3, 5}, values));
  values[0] = 4;  // the batch, but not what was computed from it
  verified = verify_shape(p, values);
  ASSERT_FALSE(verified);
  EXPECT_THAT(verified.error().to_string(),
              HasSubstr("The tensor reaches from element (0) to (15) of storage (0), which has (12)."));
  EXPECT_ERROR(verify_shape(p, std::span(values).first(3)), StatusCode::kInvalidArgument,
               fmt::format("There are (3) values of dimensions, and the program has ({}).", p.dims.size()));
}

TEST(EvaluateShape, GivesTheNumbersOfAShape) {
  const Program p = samples::dynamic_program();
  std::vector<int64_t> values(p.dims.size());
  ASSERT_TRUE(evaluate_shape(p, std::vector<int64_t>{3, 5}, values));
  EXPECT_EQ(values[static_cast<size_t>(p.storages[0].bytes)], 48);
  EXPECT_EQ(values[static_cast<size_t>(p.storages[5].bytes)], 3 * 5 * 32);
}

TEST(EvaluateShape, SaysWhyAShapeIsRefused) {
  Program p = samples::dynamic_program();
  std::vector<int64_t> values(p.dims.size());
  const auto error = [&](std::vector<int64_t> symbols) {
    const Result<void> evaluated = evaluate_shape(p, symbols, values);
    return evaluated ? "" : evaluated.error().to_string();
  };
  EXPECT_EQ(error({3}), "There are (1) values of symbols, and the program has (2).");
  EXPECT_EQ(error({65, 5}), "Symbol 'batch' has the value (65), and (1) to (64) are allowed.");
  p.symbols[1].range.min = 0;
  EXPECT_EQ(
      error({3, 1}),
      "Expand 'repeat' needs at least (2) copies: the program holds only where (1) is at least (2); here "
      "'batch' is (3), 'n' is (1).");
  p.symbols[1].range.max = std::numeric_limits<int64_t>::max();
  EXPECT_THAT(error({64, std::numeric_limits<int64_t>::max()}),
              HasSubstr("while evaluating a shape where 'batch' is (64), 'n' is (9223372036854775807)"));
}

}  // namespace
}  // namespace weir
