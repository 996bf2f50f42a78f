// SPDX-License-Identifier: Apache-2.0
//
// Networks of a few blocks that bring in what the compiler fuses and the kernels specialise for.
#pragma once

#include "compile/testing/networks.h"

namespace weir::testing {

// A residual block, a squeeze-and-excite, a concatenation of branches, pooling and a classifier.
inline Graph convolutional_network(bool dynamic) {
  NetworkBuilder b;
  const Dim n = dynamic ? b.graph.symbols.add("n", {1, 64}, {SymbolSource::Kind::kDimension, 0, 0}) : Dim(1);
  const Dim h =
      dynamic ? b.graph.symbols.add("h", {4, 4096}, {SymbolSource::Kind::kDimension, 0, 2}) : Dim(18);
  const ValueId x = b.input("x", {n, 3, h, 23});
  const ValueId stem = b.unary(ScalarOp::kRelu, b.conv(x, 16, 3, 2));
  const ValueId scaled =
      b.binary(ScalarOp::kAdd, b.binary(ScalarOp::kMul, b.conv(stem, 16, 3, 1, 16), b.weights({16, 1, 1})),
               b.weights({16, 1, 1}));
  const ValueId silu = b.binary(ScalarOp::kMul, scaled, b.unary(ScalarOp::kSigmoid, scaled));
  const ValueId residual = b.unary(ScalarOp::kRelu, b.binary(ScalarOp::kAdd, b.conv(silu, 16, 1, 1), stem));
  ReduceAttributes spatial;
  spatial.axes = {2, 3};
  const ValueId squeezed = b.node(Op::kReduce, spatial, {residual});
  const ValueId gate =
      b.unary(ScalarOp::kSigmoid, b.conv(b.unary(ScalarOp::kRelu, b.conv(squeezed, 5, 1, 1)), 16, 1, 1));
  const ValueId excited = b.binary(ScalarOp::kMul, residual, gate);
  const ValueId left = b.conv(excited, 7, 3, 1);
  const ValueId right = b.unary(ScalarOp::kTanh, b.conv(excited, 9, 1, 1));
  const ValueId joined = b.node(Op::kConcat, ConcatAttributes{1}, {left, right, excited});
  const ValueId pooled = b.node(Op::kReduce, spatial, {joined});
  const ValueId flat = b.node(Op::kReshape, NoAttributes{}, {pooled}, {{kF32, {n, 32}, {}}});
  const ValueId logits = b.binary(
      ScalarOp::kAdd, b.node(Op::kMatMul, MatMulAttributes{}, {flat, b.weights({32, 10})}), b.weights({10}));
  const ValueId scores = b.node(Op::kSoftmax, SoftmaxAttributes{1}, {logits});
  return b.finish({{"map", joined}, {"scores", scores}});
}

// Attention with heads split by reshape and transpose, and layer normalisation spelled out.
inline Graph attention_network() {
  NetworkBuilder b;
  const Dim batch = b.graph.symbols.add("batch", {1, 16}, {SymbolSource::Kind::kDimension, 0, 0});
  const Dim seq = b.graph.symbols.add("seq", {1, 512}, {SymbolSource::Kind::kDimension, 0, 1});
  const ValueId x = b.input("x", {batch, seq, 24});
  ReduceAttributes last;
  last.axes = {2};
  const ValueId d = b.binary(ScalarOp::kSub, x, b.node(Op::kReduce, last, {x}));
  const ValueId variance = b.node(Op::kReduce, last, {b.binary(ScalarOp::kMul, d, d)});
  ElementwiseAttributes plus{TileProgram({kF32})};
  plus.program.append(ScalarOp::kAdd, {0, plus.program.immediate(1e-5)});
  const ValueId root = b.unary(ScalarOp::kSqrt, b.node(Op::kElementwise, plus, {variance}));
  const ValueId normal =
      b.binary(ScalarOp::kAdd, b.binary(ScalarOp::kMul, b.binary(ScalarOp::kDiv, d, root), b.weights({24})),
               b.weights({24}));
  const auto heads = [&](ValueId value) {
    const ValueId split = b.node(Op::kReshape, NoAttributes{}, {value}, {{kF32, {batch, seq, 3, 8}, {}}});
    return b.node(Op::kTranspose, TransposeAttributes{{0, 2, 1, 3}}, {split});
  };
  const auto project = [&](ValueId value) {
    return b.binary(ScalarOp::kAdd, b.node(Op::kMatMul, MatMulAttributes{}, {value, b.weights({24, 24})}),
                    b.weights({24}));
  };
  const auto scaled = [&](ScalarOp op, ValueId value, double number) {
    ElementwiseAttributes scale{TileProgram({kF32})};
    scale.program.append(op, {0, scale.program.immediate(number)});
    return b.node(Op::kElementwise, scale, {value});
  };
  const ValueId q = scaled(ScalarOp::kMul, heads(project(normal)), 0.6);
  const ValueId k =
      scaled(ScalarOp::kDiv,
             b.node(Op::kTranspose, TransposeAttributes{{0, 1, 3, 2}}, {heads(project(normal))}), 2.5);
  const ValueId v = heads(project(normal));
  const ValueId weights =
      b.node(Op::kSoftmax, SoftmaxAttributes{3}, {b.node(Op::kMatMul, MatMulAttributes{}, {q, k})});
  const ValueId context = b.node(Op::kTranspose, TransposeAttributes{{0, 2, 1, 3}},
                                 {b.node(Op::kMatMul, MatMulAttributes{}, {weights, v})});
  const ValueId merged = b.node(Op::kReshape, NoAttributes{}, {context}, {{kF32, {batch, seq, 24}, {}}});
  return b.finish({{"y", b.binary(ScalarOp::kAdd, project(merged), x)}});
}

// Two convolutions whose weights are faster, and larger, when they are transformed.
inline Graph transformable_network() {
  NetworkBuilder b;
  const ValueId x = b.input("x", {1, 64, 40, 40});
  return b.finish({{"y", b.unary(ScalarOp::kRelu, b.conv(b.conv(x, 64, 3, 1), 64, 3, 1))}});
}

// Convolutions wide enough for transformed weights, strided depthwise ones, pooling, and activations that are
// no polynomials; for an input of 1 × 3 × 40 × 36.
inline Graph wide_network() {
  NetworkBuilder b;
  const ValueId x = b.input("x", {1, 3, 40, 36});
  const ValueId stem = b.unary(ScalarOp::kHardSwish, b.conv(x, 32, 3, 1));
  const ValueId wide = b.unary(ScalarOp::kGelu, b.conv(stem, 48, 3, 1));
  const ValueId strided = b.unary(ScalarOp::kRelu, b.conv(wide, 48, 5, 2, 48));
  PoolAttributes pool;
  pool.kernel = {3, 3};
  pool.strides = {2, 2};
  pool.dilations = {1, 1};
  pool.pads_begin = {1, 1};
  pool.pads_end = {1, 1};
  const ValueId pooled = b.node(Op::kMaxPool, pool, {strided});
  const ValueId grouped = b.unary(ScalarOp::kTanh, b.conv(pooled, 64, 3, 1, 4));
  return b.finish({{"y", b.binary(ScalarOp::kMul, grouped, b.unary(ScalarOp::kErf, grouped))}});
}

// An LSTM in both directions and the projection of its states, for an input of 9 × 2 × 13.
inline Graph recurrent_network() {
  constexpr int64_t kHidden = 20;
  NetworkBuilder b;
  const ValueId x = b.input("x", {9, 2, 13});
  const LstmAttributes both{LstmDirection::kBidirectional, kHidden};
  const ValueId states =
      b.node(Op::kLstm, both, {x, b.weights({2, 4 * kHidden, 13}), b.weights({2, 4 * kHidden, kHidden})});
  const ValueId flat = b.node(Op::kReshape, NoAttributes{}, {states}, {{kF32, {36, kHidden}, {}}});
  return b.finish({{"y", b.node(Op::kMatMul, MatMulAttributes{}, {flat, b.weights({kHidden, 33})})}});
}

}  // namespace weir::testing
