// SPDX-License-Identifier: Apache-2.0
//
// LSTM layers: a voice detector's, and those of a recurrent net. Bytes per second are those of operands once.
#include <benchmark/benchmark.h>

#include "kernels/cpu/kernel_benchmark.h"

namespace weir {
namespace {

constexpr ElementType kF32 = ElementType::kFloat32;

TensorSpec dense(std::vector<int64_t> shape) {
  return TensorSpec::dense(kF32, shape);
}

// Arguments: steps, batch, features, hidden.
void lstm(benchmark::State& state) {
  const int64_t t = state.range(0);
  const int64_t b = state.range(1);
  const int64_t i = state.range(2);
  const int64_t h = state.range(3);
  const TensorSpec s = dense({1, b, h});
  BenchmarkStep step(Op::kLstm, LstmAttributes{LstmDirection::kForward, h},
                     {dense({t, b, i}), dense({1, 4 * h, i}), dense({1, 4 * h, h}), dense({1, 8 * h}),
                      absent_operand(), s, s},
                     {dense({t, 1, b, h}), s, s});
  step.run(state);
  state.counters["GFLOP/s"] = benchmark::Counter(
      static_cast<double>(state.iterations() * t * b * 8 * h * (i + h)) * 1e-9, benchmark::Counter::kIsRate);
}

BENCHMARK(lstm)
    ->Args({1, 1, 128, 128})
    ->Args({32, 1, 128, 128})
    ->Args({100, 1, 80, 256})
    ->Args({100, 1, 256, 256})
    ->Args({100, 4, 256, 256})
    ->Args({50, 16, 128, 128});

}  // namespace
}  // namespace weir
