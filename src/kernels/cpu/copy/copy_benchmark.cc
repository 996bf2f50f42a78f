// SPDX-License-Identifier: Apache-2.0
//
// Strided copies against memcpy of the same bytes in the same run.
#include <benchmark/benchmark.h>

#include "kernels/cpu/kernel_benchmark.h"

namespace weir {
namespace {

constexpr ElementType kF32 = ElementType::kFloat32;

TensorSpec image(ElementType type, int64_t channels, int64_t pixels, bool channels_last) {
  TensorSpec spec = TensorSpec::dense(type, std::vector<int64_t>{1, channels, pixels, 1});
  if (channels_last) spec.strides = {channels * pixels, 1, channels, channels};
  return spec;
}

// Arguments: channels, pixels.
void plain_memcpy(benchmark::State& state) {
  const size_t count = static_cast<size_t>(state.range(0) * state.range(1));
  std::vector<float> a(count, 1.0f);
  std::vector<float> b(count);
  for (auto _ : state) {
    std::memcpy(b.data(), a.data(), count * 4);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(count) * 8);
}

void copy(benchmark::State& state, ElementType type, bool from_last, bool to_last) {
  BenchmarkStep step(Op::kCopy, NoAttributes{}, {image(type, state.range(0), state.range(1), from_last)},
                     {image(type, state.range(0), state.range(1), to_last)});
  step.run(state);
}

// Heads of an attention: [tokens, heads, 64] → [heads, tokens, 64].
void heads(benchmark::State& state) {
  const int64_t tokens = state.range(0);
  const int64_t count = state.range(1);
  BenchmarkStep step(Op::kTranspose, TransposeAttributes{{1, 0, 2}},
                     {TensorSpec::dense(kF32, std::vector<int64_t>{tokens, count, 64})},
                     {TensorSpec::dense(kF32, std::vector<int64_t>{count, tokens, 64})});
  step.run(state);
}

void concat(benchmark::State& state) {
  const TensorSpec half = image(kF32, state.range(0) / 2, state.range(1), true);
  BenchmarkStep step(Op::kConcat, ConcatAttributes{1}, {half, half},
                     {image(kF32, state.range(0), state.range(1), true)});
  step.run(state);
}

#define WEIR_SIZES ->Args({3, 224 * 224})->Args({64, 56 * 56})->Args({256, 14 * 14})->Args({512, 49})
BENCHMARK(plain_memcpy) WEIR_SIZES;
BENCHMARK_CAPTURE(copy, dense, kF32, false, false) WEIR_SIZES;
BENCHMARK_CAPTURE(copy, to_channels_last, kF32, false, true) WEIR_SIZES;
BENCHMARK_CAPTURE(copy, from_channels_last, kF32, true, false) WEIR_SIZES;
BENCHMARK_CAPTURE(copy, bytes_to_channels_last, ElementType::kUint8, false, true) WEIR_SIZES;
BENCHMARK_CAPTURE(copy, bytes_from_channels_last, ElementType::kUint8, true, false) WEIR_SIZES;
BENCHMARK(heads)->Args({197, 12});
BENCHMARK(concat)->Args({64, 56 * 56})->Args({256, 14 * 14});

}  // namespace
}  // namespace weir
