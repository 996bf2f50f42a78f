// SPDX-License-Identifier: Apache-2.0
//
// Resize, Pad and Gather against the copy of the output's bytes (copy_benchmark).
#include <benchmark/benchmark.h>

#include "kernels/cpu/kernel_benchmark.h"

namespace weir {
namespace {

constexpr ElementType kF32 = ElementType::kFloat32;

TensorSpec image(int64_t channels, int64_t side, bool channels_last) {
  TensorSpec spec = TensorSpec::dense(kF32, std::vector<int64_t>{1, channels, side, side});
  if (channels_last) spec.strides = {channels * side * side, 1, side * channels, channels};
  return spec;
}

// Arguments: channels, side of the input.
void resize(benchmark::State& state, ResizeMode mode, bool channels_last) {
  ResizeAttributes attributes;
  attributes.mode = mode;
  attributes.coordinates = CoordinateMode::kAsymmetric;
  attributes.nearest = NearestMode::kFloor;
  BenchmarkStep(Op::kResize, attributes, {image(state.range(0), state.range(1), channels_last)},
                {image(state.range(0), 2 * state.range(1), channels_last)})
      .run(state);
}

void pad(benchmark::State& state) {
  BenchmarkStep(Op::kPad, PadAttributes{PadMode::kConstant, {0, 0, 1, 1}, {0, 0, 1, 1}, 0},
                {image(state.range(0), state.range(1), true)},
                {image(state.range(0), state.range(1) + 2, true)})
      .run(state);
}

// Arguments: tokens, width.
void embedding(benchmark::State& state) {
  BenchmarkStep(Op::kGather, GatherAttributes{0},
                {TensorSpec::dense(kF32, std::vector<int64_t>{1000, state.range(1)}),
                 TensorSpec::dense(ElementType::kInt64, std::vector<int64_t>{state.range(0)})},
                {TensorSpec::dense(kF32, std::vector<int64_t>{state.range(0), state.range(1)})})
      .run(state);
}

BENCHMARK_CAPTURE(resize, nearest_channels_last, ResizeMode::kNearest, true)
    ->Args({256, 20})
    ->Args({128, 40});
BENCHMARK_CAPTURE(resize, nearest_row_major, ResizeMode::kNearest, false)->Args({256, 20})->Args({128, 40});
BENCHMARK_CAPTURE(resize, linear_channels_last, ResizeMode::kLinear, true)->Args({256, 20})->Args({3, 224});
BENCHMARK_CAPTURE(resize, linear_row_major, ResizeMode::kLinear, false)->Args({256, 20})->Args({3, 224});
BENCHMARK(pad)->Args({64, 56});
BENCHMARK(embedding)->Args({128, 384});

}  // namespace
}  // namespace weir
