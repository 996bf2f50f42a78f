// SPDX-License-Identifier: Apache-2.0
//
// Every field of a program file that can lie, by its name in src/program/program.fbs: a sound program with
// that field changed is refused with this error, by the verifier, or by the session where only kernels can
// tell. A field that is new in the schema fails here until it has a case, or is named as text that nothing
// relies on.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <regex>
#include <set>
#include <string>

#include "hal/cpu/cpu_device.h"
#include "program/program_file.h"
#include "program/testing/sample_programs.h"
#include "runtime/session.h"
#include "seeds.h"

namespace weir {
namespace {

struct Lie {
  std::string field;  // "Storage.offset"
  std::function<void(Program&)> tell;
  std::string error;  // how its first sentence begins: up to counts of the sample's own
};

int32_t add_number(Program& p, int64_t value) {
  p.dims.push_back({.op = DimOp::kConstant, .value = value});
  return static_cast<int32_t>(p.dims.size()) - 1;
}

// Of samples::static_program(); see there.
enum StaticStorage { kX, kPacked, kBias, kA, kWorkspace, kB, kY, kZ, kState, kOne, kC };
enum StaticTensor {
  kXTensor,
  kW,
  kBiasTensor,
  kATensor,
  kSTensor,
  kYTensor,
  kZTensor,
  kStateTensor,
  kOneTensor
};
constexpr int64_t kHuge = std::numeric_limits<int64_t>::max();

// Told to the static sample.
std::vector<Lie> static_lies() {
  return {
      {"Tensor.strides", [](Program& p) { p.tensors[kXTensor].strides[1] = add_number(p, 0); },
       "Tensor (0) 'x' is an input or output, and its strides are not row-major."},
      {"Storage.kind", [](Program& p) { p.storages[kA].kind = static_cast<StorageKind>(255); },
       "Storage (3) has the unknown kind (255)."},
      {"Storage.kind", [](Program& p) { p.storages[kA].kind = StorageKind::kConstant; },
       "The storage takes (1152) bytes at offset (0), and it lies at a multiple of (64) within (288) bytes "
       "of the constants."},
      {"Storage.bytes", [](Program& p) { p.storages[kA].bytes = INT32_MAX; },
       "Dimension (2147483647) is named, and the program has"},
      {"Storage.bytes", [](Program& p) { p.storages[kA].bytes = add_number(p, INT64_MIN); },
       "Storage (3), activation, has (-9223372036854775808) bytes, and (0) is the least."},
      {"Storage.bytes", [](Program& p) { p.storages[kB].bytes = add_number(p, kHuge); },
       "The storage takes (9223372036854775807) bytes at offset (1280)"},
      {"Storage.first_step", [](Program& p) { p.storages[kA].first_step = INT32_MIN; },
       "Storage (3), activation, lives from step (-2147483648) to (2)"},
      {"Storage.last_step", [](Program& p) { p.storages[kA].last_step = INT32_MAX; },
       "Storage (3), activation, lives from step (0) to (2147483647)"},
      {"Storage.offset", [](Program& p) { p.storages[kB].offset = kHuge - 63; },
       "The storage takes (1152) bytes at offset (9223372036854775744)"},
      {"Storage.offset", [](Program& p) { p.storages[kBias].offset = INT64_MIN; },
       "The storage takes (32) bytes at offset (-9223372036854775808)"},
      {"Storage.offset", [](Program& p) { p.storages[kB].offset = 0; },
       "Storages (3) and (5) overlap in the arena: (1152) bytes at (0) in steps (0) to (2), and (1152) bytes "
       "at (0)"},
      {"Storage.index", [](Program& p) { p.storages[kY].index = 2; },
       "The output (0) 'y' lies in storage (6), which is not that of output (0)."},
      {"Storage.pack_id", [](Program& p) { p.storages[kBias].pack_id = "f32.panel16.k4.n8"; },
       "The tensor lies in storage (2), whose bytes are packed as 'f32.panel16.k4.n8'."},
      {"Storage.pack_id", [](Program& p) { p.storages[kPacked].pack_id = ""; },
       "Packed operand (0) lies in storage (1), which is no packed constant."},
      {"Tensor.element_type",
       [](Program& p) { p.tensors[kATensor].element_type = static_cast<ElementType>(250); },
       "The tensor has the unknown element type (250)."},
      {"Tensor.shape", [](Program& p) { p.tensors[kATensor].shape[0] = INT32_MIN; },
       "Dimension (-2147483648) is named, and the program has"},
      {"Tensor.shape", [](Program& p) { p.tensors[kATensor].shape[3] = add_number(p, 7); },
       "The tensor reaches from element (0) to (288) of storage (3), which has (288)."},
      {"Tensor.strides", [](Program& p) { p.tensors[kATensor].strides[0] = INT32_MAX; },
       "Dimension (2147483647) is named, and the program has"},
      {"Tensor.strides", [](Program& p) { p.tensors[kSTensor].strides[3] = add_number(p, -kDimMax - 1); },
       "Axis (3) has the stride (-281474976710657), and (-281474976710656) to (281474976710656) are "
       "allowed."},
      {"Tensor.offset", [](Program& p) { p.tensors[kATensor].offset = -1; },
       "Dimension (-1) is named, and the program has"},
      {"Tensor.offset", [](Program& p) { p.tensors[kXTensor].offset = add_number(p, INT64_MIN); },
       "The tensor reaches from element (-9223372036854775808) to (-9223372036854775665) of storage (0), "
       "which has (144)."},
      {"Tensor.storage", [](Program& p) { p.tensors[kATensor].storage = INT32_MAX; },
       "The tensor lies in storage (2147483647), and the program has"},
      {"Tensor.storage", [](Program& p) { p.tensors[kATensor].storage = kWorkspace; },
       "The tensor lies in storage (4), which is a workspace."},
      {"PackedOperand.input", [](Program& p) { p.steps[0].packed[0].input = INT32_MIN; },
       "Packed operand (0) is input (-2147483648), which the step does not have."},
      {"PackedOperand.input", [](Program& p) { p.steps[0].packed.push_back(p.steps[0].packed[0]); },
       "Input (1) is packed twice."},
      {"PackedOperand.storage", [](Program& p) { p.steps[0].packed[0].storage = INT32_MAX; },
       "Packed operand (0) lies in storage (2147483647), which is no packed constant."},
      {"PackedOperand.storage", [](Program& p) { p.steps[0].packed[0].storage = kBias; },
       "Packed operand (0) lies in storage (2), which is no packed constant."},
      {"Name.text", [](Program& p) { p.steps[0].implementations[1] = ""; },
       "The step names (2) implementations, and it names (1) to (64), none of them ''."},
      {"Step.op", [](Program& p) { p.steps[0].op = static_cast<Op>(0); },
       "The step has the unknown operator (0)."},
      {"Step.op", [](Program& p) { p.steps[0].op = Op::kLstm; },
       "An attribute stream has (17) integers, (2) reals and (4) dimensions, and its operator takes (2), (0) "
       "and (0)."},
      {"Step.integers", [](Program& p) { p.steps[0].attributes.integers[0] = kHuge; },
       "Integer (0) of an attribute stream has the value (9223372036854775807), and only (0) to (16) are "
       "allowed."},
      {"Step.integers", [](Program& p) { p.steps[0].attributes.integers.assign(3, INT64_MIN); },
       "Integer (0) of an attribute stream has the value (-9223372036854775808), and only (0) to (2) are "
       "allowed."},
      {"Step.reals", [](Program& p) { p.steps[3].attributes.reals.clear(); },
       "An attribute stream ends after (0) reals, and one more is needed."},
      {"Step.dims", [](Program& p) { p.steps[0].attributes.dims[0] = INT32_MAX; },
       "An attribute stream names dimension (2147483647) of a table, which has"},
      {"Step.dims", [](Program& p) { p.steps[3].attributes.dims.pop_back(); },
       "Integer (2) of an attribute stream has the value (4), and only (0) to (3) are allowed."},
      {"Step.inputs", [](Program& p) { p.steps[1].inputs[0] = INT32_MAX; },
       "The step reads tensor (2147483647), and the program has"},
      {"Step.inputs", [](Program& p) { p.steps[1].inputs[0] = kZTensor; },
       "The step reads tensor (6) 'z', whose storage (7) no step before it writes."},
      {"Step.outputs", [](Program& p) { p.steps[1].outputs[0] = INT32_MIN; },
       "The step writes tensor (-2147483648), and the program has"},
      {"Step.outputs", [](Program& p) { p.steps[1].outputs[0] = kXTensor; },
       "The step writes tensor (0) 'x' of kind input, which a step may not write."},
      {"Step.packed", [](Program& p) { p.steps[0].packed.clear(); },
       "The step reads tensor (1) 'w', which has no storage and is not packed."},
      {"Step.implementations", [](Program& p) { p.steps[0].implementations.clear(); },
       "The step names (0) implementations, and it names (1) to (64), none of them ''."},
      {"Step.workspace", [](Program& p) { p.steps[0].workspace = INT32_MAX; },
       "The step has the workspace (2147483647), which is no storage of that kind."},
      {"Step.workspace", [](Program& p) { p.steps[0].workspace = kA; },
       "The step has the workspace (3), which is no storage of that kind."},
      {"Step.workspace", [](Program& p) { p.steps[3].workspace = kWorkspace; },
       "Storage (4), workspace, is used in step (3), and it lives from (0) to (0)."},
      {"State.name", [](Program& p) { p.states[0].name = ""; }, "State (0) has the name ''"},
      {"State.before", [](Program& p) { p.states[0].before = INT32_MAX; },
       "State (0) 'state' is tensor (2147483647) before a run, and the program has"},
      {"State.before", [](Program& p) { p.states[0].before = kATensor; },
       "State (0) 'state' lies in storage (3) before a run, which is not the state storage (0)."},
      {"State.after", [](Program& p) { p.states[0].after = INT32_MIN; },
       "State (0) 'state' is tensor (-2147483648) after a run, and the program has"},
      {"State.after", [](Program& p) { p.states[0].after = p.states[0].before; },
       "State (0) 'state' lies in storage (8) after a run, which is not the state storage (1)."},
      {"Program.states", [](Program& p) { p.states.clear(); },
       "Storage (8), state, has the index (0), and each of (0) to (-1) is used once."},
      {"Notice.kind", [](Program& p) { p.notices[0].kind = static_cast<NoticeKind>(255); },
       "Notice (0) 'copy' has the unknown kind (255)."},
      {"Notice.bytes", [](Program& p) { p.notices[0].bytes = INT32_MAX; },
       "Dimension (2147483647) is named, and the program has"},
      {"Port.name", [](Program& p) { p.outputs[1].name = p.outputs[0].name; },
       "The output (1) has the name 'y', which another one has too."},
      {"Port.tensor", [](Program& p) { p.outputs[0].tensor = INT32_MAX; },
       "The output (0) 'y' is tensor (2147483647), and the program has"},
      {"Port.tensor", [](Program& p) { p.inputs[0].tensor = kBiasTensor; },
       "The input (0) 'x' lies in storage (2), which is not that of input (0)."},
      {"Program.dims", [](Program& p) { p.dims.clear(); },
       "Dimension (0) is named, and the program has (0) dimensions."},
      {"Program.storages", [](Program& p) { p.storages.pop_back(); },
       "The tensor lies in storage (11), and the program has (11) storages."},
      {"Program.tensors", [](Program& p) { p.tensors.pop_back(); },
       "State (0) 'state' is tensor (12) after a run, and the program has (12) tensors."},
      {"Program.prepare_steps", [](Program& p) { p.prepare_steps.clear(); },
       "The step reads tensor (9) 'ones', whose storage (9) no step before it writes."},
      {"Program.steps", [](Program& p) { p.steps.pop_back(); }, "Storage (8), state, lives from step ("},
      {"Program.inputs", [](Program& p) { p.inputs.clear(); }, "Storage (0), input, has the index (0)"},
      {"Program.outputs", [](Program& p) { p.outputs.push_back(p.outputs[0]); },
       "The output (2) has the name 'y', which another one has too."},
      {"Program.placement_order", [](Program& p) { p.placement_order[0] = INT32_MIN; },
       "The placement order names storage (-2147483648), and it names each storage of the arena once."},
      {"Program.placement_order", [](Program& p) { p.placement_order.push_back(p.placement_order[0]); },
       "The placement order names storage (3), and it names each storage of the arena once."},
      {"Program.arena_bytes", [](Program& p) { p.arena_bytes = 64; },
       "The storage takes (1152) bytes at offset (0), and it lies at a multiple of (64) within (64) bytes of "
       "the arena."},
      {"Program.arena_bytes", [](Program& p) { p.arena_bytes = -1; },
       "The storage takes (1152) bytes at offset (0), and it lies at a multiple of (64) within (-1) bytes of "
       "the arena."},
      {"Program.activation_bytes", [](Program& p) { p.activation_bytes = kHuge; },
       "The program has an arena of (2432) bytes and activations of (9223372036854775807)"},
      {"Program.unfused_bound_bytes", [](Program& p) { p.unfused_bound_bytes = INT64_MIN; },
       "The program has (288) bytes of constants and an unfused bound of (-9223372036854775808), and neither "
       "is negative."},
      {"Program.constant_bytes", [](Program& p) { p.constant_bytes = 0; },
       "The storage takes (256) bytes at offset (0), and it lies at a multiple of (64) within (0) bytes of "
       "the constants."},
  };
}

// Told to the dynamic sample.
std::vector<Lie> dynamic_lies() {
  return {
      {"Symbol.min", [](Program& p) { p.symbols[0].range.min = kHuge; },
       "Symbol (0) 'batch' has the range (9223372036854775807) to (64), which is empty."},
      {"Symbol.max", [](Program& p) { p.symbols[0].range.max = INT64_MIN; },
       "Symbol (0) 'batch' has the range (1) to (-9223372036854775808), which is empty."},
      {"Symbol.source_kind",
       [](Program& p) { p.symbols[0].source.kind = static_cast<SymbolSource::Kind>(255); },
       "Symbol (0) 'batch' has a source of unknown kind (255)."},
      {"Symbol.source_input", [](Program& p) { p.symbols[0].source.input = INT32_MIN; },
       "Symbol (0) 'batch' comes from input (-2147483648), and the program has (2) inputs."},
      {"Symbol.source_index", [](Program& p) { p.symbols[1].source.index = INT32_MAX; },
       "Symbol (1) 'n' is element (2147483647) of input (1), which has (2) elements."},
      {"DimEntry.op", [](Program& p) { p.dims[3].op = static_cast<DimOp>(255); },
       "Dimension (3) has the unknown operation (255)."},
      {"DimEntry.a", [](Program& p) { p.dims[3].a = INT32_MAX; },
       "Dimension (3) has the operand (2147483647), and operands lie before it."},
      {"DimEntry.b", [](Program& p) { p.dims[3].b = INT32_MIN; },
       "Dimension (3) has the operand (-2147483648), and operands lie before it."},
      {"DimEntry.c", [](Program& p) { p.dims[4].c = 4; },
       "Dimension (4) has the operand (4), and operands lie before it."},
      {"DimEntry.value", [](Program& p) { p.dims[1].value = kHuge; },
       "Dimension (1) names symbol (9223372036854775807), and the program has (2) symbols."},
      {"DimEntry.scale", [](Program& p) { p.dims[2].scale = std::numeric_limits<double>::infinity(); },
       "Dimension (2) has the scale (inf), and it is a finite number."},
      {"Constraint.kind", [](Program& p) { p.constraints[0].kind = static_cast<Constraint::Kind>(255); },
       "Constraint (0) has the unknown kind (255)."},
      {"Constraint.a", [](Program& p) { p.constraints[0].a = INT32_MIN; },
       "Dimension (-2147483648) is named, and the program has"},
      {"Constraint.b", [](Program& p) { p.constraints[0].b = INT32_MAX; },
       "Dimension (2147483647) is named, and the program has"},
      {"Storage.offset", [](Program& p) { p.storages[3].offset = 64; },
       "The storage has the offset (64), and only (-1) is possible: it is placed later."},
      {"Program.symbols", [](Program& p) { p.symbols.pop_back(); },
       "Dimension (1) names symbol (1), and the program has (1) symbols."},
      {"Program.arena_bytes", [](Program& p) { p.arena_bytes = kHuge; },
       "The program has an arena of (9223372036854775807) bytes and activations of (-1)"},
  };
}

// Names and words for people, numbers that only reports show, and the hash of the model that caches compare.
const std::set<std::string> kTexts = {
    "Symbol.name",         "Constraint.what",     "Tensor.name",     "Refusal.implementation",
    "Refusal.reason",      "Step.name",           "Step.origin",     "Step.refused",
    "Step.reference",      "Notice.what",         "Notice.reason",   "Pair.key",
    "Pair.value",          "Program.name",        "Program.target",  "Program.metadata",
    "Program.source_hash", "Program.constraints", "Program.notices", "State.output"};

void expect_refused(const Program& sound, const std::vector<Lie>& lies) {
  for (const Lie& lie : lies) {
    Program program = sound;
    lie.tell(program);
    const Result<void> verified = verify(program);
    ASSERT_FALSE(verified) << lie.field << " is believed: " << lie.error;
    EXPECT_THAT(verified.error().message(), ::testing::StartsWith(lie.error)) << lie.field;
  }
}

TEST(LyingProgram, IsRefusedByTheVerifier) {
  expect_refused(samples::static_program(), static_lies());
  expect_refused(samples::dynamic_program(), dynamic_lies());
}

// Programs that verify, and lie about kernels: the session asks the kernels.
class LyingSession : public ::testing::Test {
 protected:
  // The seed of this name.
  Program compiled(const std::string& name) {
    for (const fuzz::Seed& seed : fuzz::program_seeds()) {
      if (seed.name == name) {
        Result<LoadedProgram> loaded = read_program(seed.bytes, nullptr);
        EXPECT_TRUE(loaded) << loaded.error().to_string();
        constants_.assign(loaded->constants.begin(), loaded->constants.end());
        return loaded->program;
      }
    }
    ADD_FAILURE() << name;
    return {};
  }

  std::string error_of(Program program, bool verify_hashes = false) {
    if (const Result<void> verified = verify(program); !verified) {
      return verified.error().message();
    }
    if (!device_) {
      device_ = *create_cpu_device({.threads = 1, .memory_limit = int64_t{64} << 20});
    }
    LoadedProgram loaded;
    loaded.program = std::move(program);
    loaded.constants = constants_;
    const Result<Ref<Session>> session =
        Session::create(std::move(loaded), device_, {.verify_constants = verify_hashes});
    return session ? "believed" : session.error().message();
  }

  static Step& step_of(Program& program, Op op) {
    for (Step& step : program.steps) {
      if (step.op == op) {
        return step;
      }
    }
    ADD_FAILURE() << "no such step";
    return program.steps[0];
  }

  std::vector<std::byte> constants_;
  Ref<Device> device_;
};

TEST_F(LyingSession, IsRefusedForASecondKernelThatDoesNotFit) {
  Program p = compiled("convolution.fixed.program");
  step_of(p, Op::kConv).implementations.emplace_back("reference.softmax");
  EXPECT_EQ(error_of(p), "Implementation 'reference.softmax' runs operator Softmax, and the step is Conv.");
}

TEST_F(LyingSession, IsRefusedForKernelsThatAreNotThere) {
  Program p = compiled("convolution.fixed.program");
  EXPECT_EQ(error_of(p), "believed");
  step_of(p, Op::kConv).implementations = {"conv.of.my.own"};
  EXPECT_THAT(error_of(p), ::testing::StartsWith(
                               "Step 'c' runs on none of its implementations here (first: conv.of.my.own;"));
}

TEST_F(LyingSession, IsRefusedForAKernelOfAnotherOperator) {
  Program p = compiled("convolution.fixed.program");
  step_of(p, Op::kConv).implementations = {"reference.softmax"};
  EXPECT_EQ(error_of(p), "Implementation 'reference.softmax' runs operator Softmax, and the step is Conv.");
}

TEST_F(LyingSession, IsRefusedForOperandsThatAreNotPackedAsTheKernelReadsThem) {
  Program p = compiled("sequence.fixed.program");
  EXPECT_EQ(error_of(p), "believed");
  Step& step = step_of(p, Op::kMatMul);
  step.implementations = {"matmul.packed.sse4"};
  EXPECT_EQ(error_of(p),
            "Implementation 'matmul.packed.sse4' packs (1) operands, and the step has (0) packed.");
}

TEST_F(LyingSession, IsRefusedForPackedBytesOfAnotherLayout) {
  Program p = compiled("sequence.open.program");  // packed for the kernels of this machine
  Step& step = step_of(p, Op::kMatMul);
  ASSERT_EQ(step.packed.size(), 1U);
  step.implementations = {"matmul.packed.sse4"};
  Storage& storage = p.storages[static_cast<size_t>(step.packed[0].storage)];
  storage.pack_id = "f32.rows";
  const int64_t bytes = p.dims[static_cast<size_t>(storage.bytes)].value;
  EXPECT_EQ(error_of(p),
            fmt::format("Operand (1) is packed as 'f32.rows' ({} bytes), and implementation "
                        "'matmul.packed.sse4' wants it as 'f32.panel16.matmul.b1.k3.n2' (192 bytes).",
                        bytes));
}

TEST_F(LyingSession, IsRefusedForConstantsThatWereChanged) {
  Program p = compiled("convolution.fixed.program");
  EXPECT_EQ(error_of(p, true), "believed");
  for (Storage& storage : p.storages) {
    storage.hash ^= 1;
  }
  EXPECT_EQ(error_of(p, true).substr(0, 18), "Constant storage (");
}

// "Table.field" of the schema.
std::set<std::string> schema_fields() {
  std::set<std::string> fields;
  std::ifstream file("src/program/program.fbs");
  std::string table;
  for (std::string line; std::getline(file, line);) {
    std::smatch match;
    if (std::regex_search(line, match, std::regex(R"(^(?:table|struct) (\w+))"))) {
      table = match[1];
    } else if (std::regex_search(line, match, std::regex(R"(^  (\w+):)"))) {
      fields.insert(table + "." + match[1].str());
    }
  }
  return fields;
}

TEST(LyingProgram, EveryFieldOfTheSchemaHasACase) {
  std::set<std::string> covered = kTexts;
  covered.insert("Storage.hash");  // IsRefusedForConstantsThatWereChanged
  // src/program/verify_constants_test.cc
  covered.insert({"Program.constants", "Constant.name", "Constant.fate", "Constant.tensor"});
  covered.insert("Step.strings");  // src/op/attribute_stream_test.cc, tests/custom/custom_errors_test.cc
  for (const std::vector<Lie>& lies : {static_lies(), dynamic_lies()}) {
    for (const Lie& lie : lies) {
      covered.insert(lie.field);
    }
  }
  EXPECT_EQ(covered, schema_fields());
}

}  // namespace
}  // namespace weir
