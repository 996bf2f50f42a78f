// SPDX-License-Identifier: Apache-2.0
//
// What the emitter refuses to write.
#include "compile/emit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compile/compile.h"
#include "hal/cpu/cpu_device.h"
#include "program/program_file.h"
#include "runtime/session.h"
#include "shape/dim_size.h"

namespace weir {
namespace {

// An expression that doubles `doublings` times, and 2^doublings operations when it is written out.
Dim nested(const Dim& a, const Dim& b, int doublings) {
  Dim dim = a;
  for (int i = 0; i < doublings; ++i) {
    dim = mod(dim * dim, b);
  }
  return dim;
}

// x of shape [a, b] in, its ReLU in `shape` out.
Graph network(int doublings) {
  Graph graph;
  graph.name = "network";
  const Dim a = graph.symbols.add("a", {1, 9}, {SymbolSource::Kind::kDimension, 0, 0});
  const Dim b = graph.symbols.add("b", {1, 9}, {SymbolSource::Kind::kDimension, 0, 1});
  const TensorType type{ElementType::kFloat32, {a, b}, {}};
  const ValueId x = graph.add_input("x", type);
  ElementwiseAttributes relu{TileProgram({ElementType::kFloat32})};
  relu.program.append(ScalarOp::kRelu, {0});
  const NodeId node = graph.add_node(Op::kElementwise, "relu", relu, {x}, {NewValue{"y", type}});
  const Dim far = nested(a, b, doublings);
  graph.constraints.push_back({Constraint::Kind::kAtMost, far, 100, "the remainder of 'x'"});
  graph.set_outputs({{"y", graph.node(node).outputs[0]}});
  return graph;
}

TEST(Emit, WhatIsCompiledHasNoLargerExpressionThanASessionTakes) {
  int compiled = 0;
  int refused = 0;
  for (int doublings = 4; doublings < 20; ++doublings) {
    const Graph graph = network(doublings);
    const int64_t size = size_of(graph.constraints.front().a);
    Result<Compiled> result = compile(network(doublings), {});
    if (size > kMaxTableExpression) {
      ++refused;
      ASSERT_FALSE(result);
      EXPECT_EQ(result.error().code(), StatusCode::kResourceExhausted);
      EXPECT_EQ(
          result.error().message(),
          fmt::format(
              "Condition 'the remainder of 'x'' takes an expression of ({}) operations over dimensions, and "
              "({}) is the most that a program holds.",
              size, kMaxTableExpression));
      continue;
    }
    ++compiled;
    ASSERT_TRUE(result) << result.error().to_string();
    const Result<std::vector<std::byte>> image = program_image(result->program, result->blocks);
    ASSERT_TRUE(image) << image.error().to_string();
    Result<LoadedProgram> loaded =
        read_program(*image, std::make_shared<const std::vector<std::byte>>(*image));
    ASSERT_TRUE(loaded) << loaded.error().to_string();
    const auto session = Session::create(*std::move(loaded), *create_cpu_device({.threads = 1}), {});
    EXPECT_TRUE(session) << session.error().to_string();
  }
  EXPECT_GE(compiled, 4);
  EXPECT_GE(refused, 4);
}

}  // namespace
}  // namespace weir
