// SPDX-License-Identifier: Apache-2.0
//
// What is said where the system refuses memory, pages or threads, word by word. That every refusal is an
// error and leaves nothing behind is faults_test.cc.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <new>
#include <string>
#include <vector>

#include "base/build_id.h"
#include "base/start_thread.h"
#include "base/testing/results.h"
#include "compile/pass.h"
#include "hal/software/host_memory.h"
#include "kernels/run_reference.h"
#include "program/testing/sample_programs.h"
#include "tests/faults/injector.h"

namespace weir::faults {
namespace {

// The text of an action that fails for want of memory.
template <typename Action>
std::string refused(const Action& action) {
  const auto result = action();
  const FaultReport report = disarm();
  if (result) {
    return std::string("no error; refused: ") + (report.failed == nullptr ? "nothing" : report.failed);
  }
  EXPECT_EQ(result.error().code(), StatusCode::kResourceExhausted);
  return result.error().to_string();
}

TEST(Refusals, OfThreads) {
  arm(FaultKind::kThread, 0);
  EXPECT_EQ(refused([] { return start_thread("weir-queue", [] {}); }),
            "The system starts no thread 'weir-queue': Resource temporarily unavailable.");
}

// An exception that left a function which the C library has called would end the process here.
TEST(Refusals, OfAllMemoryWhileTheBuildIsIdentified) {
  bool refused_all = false;
  arm(FaultKind::kAllocate, 0, true);
  try {
    (void)build_id();
  } catch (const std::bad_alloc&) {
    refused_all = true;
  }
  disarm();
  EXPECT_TRUE(refused_all);
}

TEST(Refusals, OfHostMemory) {
  const auto allocating = [](HostMemory::Options options) {
    options.label = "input";
    return refused([&] { return HostMemory::allocate(options); });
  };
  arm(FaultKind::kAllocate, 0);
  EXPECT_EQ(allocating({.size = 1000}),
            "The system refuses to allocate (1000) bytes for 'input': Cannot allocate memory.");
  arm(FaultKind::kMap, 0);
  EXPECT_EQ(allocating({.size = 1 << 20}),
            "The system refuses to map (1048576) bytes for 'input': Cannot allocate memory.");
  arm(FaultKind::kMap, 1);
  EXPECT_EQ(
      allocating({.size = 5000, .lock = true}),
      "The system refuses to lock (5000) bytes for 'input': Cannot allocate memory. The most that a process "
      "may lock is shown by `ulimit -l`.");
}

TEST(Refusals, OfThePartsOfAProgramFile) {
  Program program = samples::static_program();
  const std::vector<ConstantBlock> blocks = samples::blocks_of(program);
  arm_bytes(FaultKind::kAllocate, blocks[0].bytes);
  EXPECT_EQ(refused([&] { return program_image(program, blocks); }),
            "There is no memory for a constant block of (256) bytes.\n  - while writing program 'sample'");

  // Read from an address that fits neither the metadata nor the constants.
  const std::vector<std::byte> image = must(program_image(program, blocks));
  std::vector<std::byte> shifted(image.size() + 1);
  std::ranges::copy(image, shifted.begin() + 1);
  const auto reading = [&] { return read_program(std::span(shifted).subspan(1), nullptr); };
  const auto metadata = static_cast<int64_t>(image.size()) - 4096 - 320;
  arm_bytes(FaultKind::kAllocate, metadata);
  EXPECT_EQ(refused(reading), fmt::format("There is no memory for the metadata of ({}) bytes.", metadata));
  arm_bytes(FaultKind::kAllocate, program.constant_bytes);
  EXPECT_EQ(refused(reading), "There is no memory for the constants of (288) bytes.");
}

TEST(Refusals, OfReferenceImplementations) {
  // Nothing is read or written before there is memory for the rest.
  alignas(64) static std::byte operand[64];
  constexpr int64_t kHidden = 1000;
  const auto spec = [](std::vector<int64_t> shape) {
    return TensorSpec::dense(ElementType::kFloat32, shape);
  };
  const TensorSpec x = spec({1, 1, 1});
  const TensorSpec w = spec({1, 4 * kHidden, 1});
  const TensorSpec r = spec({1, 4 * kHidden, kHidden});
  const TensorSpec y = spec({1, 1, 1, kHidden});
  const Attributes attributes = LstmAttributes{.hidden_size = kHidden};
  const std::vector<TensorSpec> inputs = {x, w, r};
  const std::vector<TensorSpec> outputs = {y};
  const ConcreteOp op{Op::kLstm, &attributes, inputs, outputs};
  arm_bytes(FaultKind::kAllocate, 6 * kHidden * 8);
  EXPECT_EQ(
      refused([&] {
        const std::vector<TensorView> from = {x.at(operand), w.at(operand), r.at(operand)};
        const std::vector<TensorView> to = {y.at(operand)};
        return run_reference(op, from, to);
      }),
      "There is no memory for the workspace (0), scratch (48000) and constants (4096) in bytes that the "
      "reference implementation of Lstm needs.");
}

TEST(Refusals, OfConstants) {
  std::byte* data = nullptr;
  arm(FaultKind::kAllocate, 0);
  EXPECT_EQ(refused([&] { return Constant::allocate(96, data); }),
            "There is no memory for a constant of (96) bytes.");
  const Constant made = must(Constant::allocate(96, data));
  EXPECT_EQ(made.bytes().size(), 96u);
  EXPECT_EQ(made.data(), data);
}

TEST(Refusals, OfFoldedConstants) {
  Graph graph;
  const std::vector<float> ones(1000, 1);
  const TensorType type{ElementType::kFloat32, {Dim(1000)}, {}};
  const ValueId a = graph.add_constant("a", type, Constant::copy(std::as_bytes(std::span(ones))));
  const NodeId sum = graph.add_node(Op::kElementwise, "twice", ElementwiseAttributes{samples::sum()}, {a, a},
                                    {NewValue{"b", type}});
  graph.set_outputs({{"b", graph.node(sum).outputs[0]}});
  PassContext context;
  arm_bytes(FaultKind::kAllocate, 4032);
  EXPECT_EQ(refused([&] { return fold_constants(graph, context); }),
            "There is no memory for the (4000) bytes that 'twice' folds to.");
}

}  // namespace
}  // namespace weir::faults
