// SPDX-License-Identifier: Apache-2.0
//
// The micro-kernels and whole products of each instruction set, as shares of the multiplier peak that is
// measured in the same run: counter "peak" is the share (1 is all of it), "GFLOPS" the rate.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <array>

#include "kernels/cpu/each_isa.h"
#include "kernels/cpu/gemm/gemm.h"
#include "kernels/cpu/kernel_benchmark.h"
#include "kernels/cpu/peak/peak_kernels.h"

namespace weir {
namespace {

// FLOP a second of one core; the best of several tries, measured at the first call.
double peak(Isa isa) {
  static const std::array<double, 3> kPeaks = [] {
    std::array<double, 3> peaks{};
    for (const Isa each : {Isa::kBaseline, Isa::kAvx2, Isa::kAvx512}) {
      for (int i = 0; i < 30 && each <= detect_isa(); ++i) {
        double& best = peaks[static_cast<size_t>(each)];
        best = std::max(best, fma_peak(each) * 1e9);
      }
    }
    return peaks;
  }();
  return kPeaks[static_cast<size_t>(isa)];
}

void report(benchmark::State& state, Isa isa, double operations) {
  using benchmark::Counter;
  const double all = operations * static_cast<double>(state.iterations());
  state.counters["GFLOPS"] = Counter(all * 1e-9, Counter::kIsRate);
  state.counters["peak"] = Counter(all / peak(isa), Counter::kIsRate);
}

// Arguments: instruction set, rows, vectors, K, panels of B that take turns.
void micro_kernel(benchmark::State& state) {
  const Isa isa = static_cast<Isa>(state.range(0));
  if (isa > detect_isa()) {
    state.SkipWithError("This machine does not have the instruction set.");
    return;
  }
  const int64_t rows = state.range(1);
  const auto vectors = static_cast<int>(state.range(2));
  const int64_t k = state.range(3);
  const int64_t turns = state.range(4);
  const int64_t columns = vectors * traits_of(isa).lanes;
  const int64_t panels = (columns + 15) / 16;
  const int64_t a_step = k + 16;
  std::vector<float> a(static_cast<size_t>(rows * a_step), 0.001f);
  std::vector<float> b(static_cast<size_t>(turns * panels * 16 * k), 0.001f);
  std::vector<float> c(static_cast<size_t>(rows * columns));
  GemmRun run;
  GemmTile tile;
  tile.runs = &run;
  tile.run_count = 1;
  tile.run_length = k;
  tile.a = a.data();
  tile.a_step = a_step;
  tile.panel_stride = 16 * k;
  tile.c.base = c.data();
  tile.c.step = columns;
  tile.columns = columns;
  const GemmTileFunction function = isa == Isa::kAvx512 ? N_AVX3::gemm_tile_function_of(rows, vectors)
                                    : isa == Isa::kAvx2 ? N_AVX2::gemm_tile_function_of(rows, vectors)
                                                        : N_SSE4::gemm_tile_function_of(rows, vectors);
  int64_t turn = 0;
  for (auto _ : state) {
    tile.b = b.data() + turn * panels * 16 * k;
    turn = turn + 1 == turns ? 0 : turn + 1;
    function(tile);
    benchmark::ClobberMemory();
  }
  report(state, isa, 2.0 * static_cast<double>(rows * columns * k));
}

void micro_kernels(benchmark::internal::Benchmark* each) {
  each->ArgNames({"isa", "rows", "vectors", "k", "turns"});
  for (const int64_t k : {32, 64, 144, 576}) {
    for (const int64_t turns : {1, 8}) {
      for (const int64_t rows : {1, 5, 10}) each->Args({2, rows, 2, k, turns});
      each->Args({2, 10, 1, k, turns});
      each->Args({2, 8, 3, k, turns});
      each->Args({1, 6, 2, k, turns});
      each->Args({0, 4, 2, k, turns});
    }
  }
}

// Arguments: M, K, N. B is constant.
void product(benchmark::State& state) {
  const int64_t m = state.range(0);
  const int64_t k = state.range(1);
  const int64_t n = state.range(2);
  const auto spec = [](std::vector<int64_t> shape) {
    return TensorSpec::dense(ElementType::kFloat32, shape);
  };
  BenchmarkStep step(Op::kMatMul, MatMulAttributes{}, {spec({m, k}), spec({k, n}), spec({n})},
                     {spec({m, n})});
  step.run(state);
  report(state, step.isa(), 2.0 * static_cast<double>(m * k * n));
}

// Arguments: channels, height and width, output channels, kernel, stride.
void convolution(benchmark::State& state) {
  const int64_t c = state.range(0);
  const int64_t size = state.range(1);
  const int64_t m = state.range(2);
  const int64_t kernel = state.range(3);
  const int64_t stride = state.range(4);
  const int64_t pad = kernel / 2;
  const int64_t out = (size + 2 * pad - kernel) / stride + 1;
  const auto image = [](int64_t channels, int64_t extent) {
    TensorSpec spec =
        TensorSpec::dense(ElementType::kFloat32, std::vector<int64_t>{1, channels, extent, extent});
    spec.strides = {channels * extent * extent, 1, channels * extent, channels};
    return spec;
  };
  ConvAttributes attributes;
  attributes.strides = {stride, stride};
  attributes.dilations = {1, 1};
  attributes.pads_begin = {pad, pad};
  attributes.pads_end = {pad, pad};
  const auto spec = [](std::vector<int64_t> shape) {
    return TensorSpec::dense(ElementType::kFloat32, shape);
  };
  BenchmarkStep step(Op::kConv, attributes, {image(c, size), spec({m, c, kernel, kernel}), spec({m})},
                     {image(m, out)});
  step.run(state);
  report(state, step.isa(), 2.0 * static_cast<double>(m * out * out * c * kernel * kernel));
}

BENCHMARK(micro_kernel)->Apply(micro_kernels);
BENCHMARK(product)
    ->ArgNames({"m", "k", "n"})
    ->Args({128, 384, 1536})
    ->Args({197, 768, 3072})
    ->Args({196, 1024, 256})
    ->Args({1, 2048, 1000})
    ->Args({3136, 64, 256});
BENCHMARK(convolution)
    ->ArgNames({"c", "size", "m", "kernel", "stride"})
    ->Args({64, 56, 256, 1, 1})
    ->Args({64, 56, 64, 3, 1})
    ->Args({128, 56, 128, 3, 2})
    ->Args({256, 14, 256, 3, 1})
    ->Args({512, 7, 512, 3, 1})
    ->Args({3, 224, 64, 7, 2})
    ->Args({16, 112, 96, 1, 1});

}  // namespace
}  // namespace weir
