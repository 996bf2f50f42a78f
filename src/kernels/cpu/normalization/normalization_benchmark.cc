// SPDX-License-Identifier: Apache-2.0
//
// What reads its input a few times: softmax, layer normalization, reductions and pools, against one pass of
// an addition over the same bytes (see elementwise_benchmark for memcpy).
#include <benchmark/benchmark.h>

#include "kernels/cpu/kernel_benchmark.h"

namespace weir {
namespace {

constexpr ElementType kF32 = ElementType::kFloat32;

TensorSpec dense(std::vector<int64_t> shape) {
  return TensorSpec::dense(kF32, shape);
}

TensorSpec image(int64_t channels, int64_t height, int64_t width, bool channels_last = true) {
  TensorSpec spec = dense({1, channels, height, width});
  if (channels_last) spec.strides = {channels * height * width, 1, width * channels, channels};
  return spec;
}

// Arguments: rows, length.
void add(benchmark::State& state) {
  TileProgram program({kF32, kF32});
  program.append(ScalarOp::kAdd, {0, 1});
  const TensorSpec spec = dense({state.range(0), state.range(1)});
  BenchmarkStep(Op::kElementwise, ElementwiseAttributes{program}, {spec, spec}, {spec}).run(state);
}

void softmax(benchmark::State& state, int64_t axis) {
  const TensorSpec spec = dense({state.range(0), state.range(1)});
  BenchmarkStep(Op::kSoftmax, SoftmaxAttributes{axis}, {spec}, {spec}).run(state);
}

void layer_normalization(benchmark::State& state) {
  const TensorSpec spec = dense({state.range(0), state.range(1)});
  const TensorSpec row = dense({state.range(1)});
  BenchmarkStep(Op::kLayerNormalization, LayerNormalizationAttributes{1, 1e-5}, {spec, row, row}, {spec})
      .run(state);
}

// Arguments: channels, side.
void spatial_mean(benchmark::State& state, bool channels_last) {
  BenchmarkStep(Op::kReduce, ReduceAttributes{ReduceKind::kMean, {2, 3}, true},
                {image(state.range(0), state.range(1), state.range(1), channels_last)},
                {image(state.range(0), 1, 1)})
      .run(state);
}

void max_pool(benchmark::State& state, int64_t kernel, int64_t step) {
  const int64_t side = state.range(1);
  const int64_t pad = kernel / 2;
  const int64_t output = (side + 2 * pad - kernel) / step + 1;
  BenchmarkStep(Op::kMaxPool,
                PoolAttributes{{kernel, kernel}, {step, step}, {1, 1}, {pad, pad}, {pad, pad}, false},
                {image(state.range(0), side, side)}, {image(state.range(0), output, output)})
      .run(state);
}

BENCHMARK(add)->Args({197, 192})->Args({128, 384});
BENCHMARK_CAPTURE(softmax, last_axis, 1)->Args({3 * 197, 197})->Args({12 * 128, 128})->Args({1, 1000});
BENCHMARK_CAPTURE(softmax, first_axis, 0)->Args({16, 8400});
BENCHMARK(layer_normalization)->Args({197, 192})->Args({197, 768})->Args({128, 384});
BENCHMARK_CAPTURE(spatial_mean, channels_last, true)
    ->Args({2048, 7})
    ->Args({1280, 7})
    ->Args({16, 112})
    ->Args({72, 28});
BENCHMARK_CAPTURE(spatial_mean, row_major, false)->Args({2048, 7});
BENCHMARK_CAPTURE(max_pool, 3_by_2, 3, 2)->Args({64, 112});
BENCHMARK_CAPTURE(max_pool, 5_by_1, 5, 1)->Args({128, 20});

}  // namespace
}  // namespace weir
