// SPDX-License-Identifier: Apache-2.0
//
// Elementwise programs against a plain copy of the same bytes in the same run.
#include <benchmark/benchmark.h>

#include "kernels/cpu/kernel_benchmark.h"

namespace weir {
namespace {

constexpr ElementType kF32 = ElementType::kFloat32;

TileProgram unary(ScalarOp op) {
  TileProgram program({kF32});
  program.append(op, {0}, 0, 6);
  return program;
}

void run(benchmark::State& state, TileProgram program, std::vector<TensorSpec> inputs, TensorSpec output) {
  BenchmarkStep step(Op::kElementwise, ElementwiseAttributes{std::move(program)}, std::move(inputs),
                     {output});
  step.run(state);
}

// Arguments: elements.
void copy(benchmark::State& state) {
  std::vector<float> a(static_cast<size_t>(state.range(0)), 1.0f);
  std::vector<float> b(a.size());
  for (auto _ : state) {
    std::memcpy(b.data(), a.data(), a.size() * 4);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * state.range(0) * 8);
}

void one(benchmark::State& state, ScalarOp op) {
  const TensorSpec spec = TensorSpec::dense(kF32, std::vector<int64_t>{state.range(0)});
  run(state, unary(op), {spec}, spec);
}

void add(benchmark::State& state) {
  TileProgram program({kF32, kF32});
  program.append(ScalarOp::kAdd, {0, 1});
  const TensorSpec spec = TensorSpec::dense(kF32, std::vector<int64_t>{state.range(0)});
  run(state, program, {spec, spec}, spec);
}

void add_relu(benchmark::State& state) {
  TileProgram program({kF32, kF32});
  program.append(ScalarOp::kRelu, {program.append(ScalarOp::kAdd, {0, 1})});
  const TensorSpec spec = TensorSpec::dense(kF32, std::vector<int64_t>{state.range(0)});
  run(state, program, {spec, spec}, spec);
}

// A squeeze-and-excitation scale: channels last, range(0) pixels of range(1) channels.
void scale_channels(benchmark::State& state) {
  TileProgram program({kF32, kF32});
  program.append(ScalarOp::kMul, {0, 1});
  const int64_t pixels = state.range(0);
  const int64_t channels = state.range(1);
  TensorSpec image = TensorSpec::dense(kF32, std::vector<int64_t>{1, channels, pixels, 1});
  image.strides = {channels * pixels, 1, channels, channels};
  run(state, program, {image, TensorSpec::dense(kF32, std::vector<int64_t>{1, channels, 1, 1})}, image);
}

// (x − mean) · scale of an image of three colours, into or out of channels last.
void normalize_image(benchmark::State& state, bool from_last) {
  TileProgram program({kF32, kF32, kF32});
  program.append(ScalarOp::kMul, {program.append(ScalarOp::kSub, {0, 1}), 2});
  const int64_t pixels = state.range(0);
  const TensorSpec row_major = TensorSpec::dense(kF32, std::vector<int64_t>{1, 3, pixels});
  TensorSpec last = row_major;
  last.strides = {3 * pixels, 1, 3};
  const TensorSpec colour = TensorSpec::dense(kF32, std::vector<int64_t>{3, 1});
  run(state, program, {from_last ? last : row_major, colour, colour}, from_last ? row_major : last);
}

void exported_gelu(benchmark::State& state) {
  TileProgram program({kF32});
  const int scaled = program.append(ScalarOp::kDiv, {0, program.immediate(1.41421356)});
  const int error = program.append(ScalarOp::kErf, {scaled});
  const int plus = program.append(ScalarOp::kAdd, {error, program.immediate(1)});
  const int product = program.append(ScalarOp::kMul, {0, plus});
  program.append(ScalarOp::kMul, {product, program.immediate(0.5)});
  const TensorSpec spec = TensorSpec::dense(kF32, std::vector<int64_t>{state.range(0)});
  run(state, program, {spec}, spec);
}

BENCHMARK(copy)->Arg(8 << 10)->Arg(100 << 10)->Arg(4 << 20);
BENCHMARK_CAPTURE(one, relu, ScalarOp::kRelu)->Arg(8 << 10)->Arg(100 << 10)->Arg(4 << 20);
BENCHMARK_CAPTURE(one, clip, ScalarOp::kClip)->Arg(100 << 10);
BENCHMARK_CAPTURE(one, sigmoid, ScalarOp::kSigmoid)->Arg(100 << 10);
BENCHMARK_CAPTURE(one, silu, ScalarOp::kSilu)->Arg(100 << 10);
BENCHMARK_CAPTURE(one, gelu, ScalarOp::kGelu)->Arg(100 << 10);
BENCHMARK_CAPTURE(one, tanh, ScalarOp::kTanh)->Arg(100 << 10);
BENCHMARK_CAPTURE(one, exp, ScalarOp::kExp)->Arg(100 << 10);
BENCHMARK_CAPTURE(one, log, ScalarOp::kLog)->Arg(100 << 10);
BENCHMARK(add)->Arg(1 << 10)->Arg(8 << 10)->Arg(100 << 10)->Arg(4 << 20);
BENCHMARK(add_relu)->Arg(8 << 10)->Arg(100 << 10)->Arg(4 << 20);
BENCHMARK_CAPTURE(normalize_image, to_channels_last, false)->Arg(224 * 224);
BENCHMARK_CAPTURE(normalize_image, from_channels_last, true)->Arg(224 * 224);
BENCHMARK(exported_gelu)->Arg(100 << 10);
BENCHMARK(scale_channels)
    ->Args({112 * 112, 16})
    ->Args({56 * 56, 72})
    ->Args({14 * 14, 480})
    ->Args({7 * 7, 960});

}  // namespace
}  // namespace weir
