// SPDX-License-Identifier: Apache-2.0
//
// What a stage costs beside its work.
#include <benchmark/benchmark.h>

#include "base/thread_pool.h"
#include "base/wait_word.h"

namespace weir {
namespace {

class StagesJob : public TeamJob {
 public:
  StagesJob(int32_t stages, int32_t pieces, int32_t shares, int32_t spin)
      : stages_(stages), pieces_(pieces), spin_(spin) {
    participants = shares;
  }
  int32_t pieces(int32_t, int32_t) const override { return pieces_; }
  void run_piece(int32_t, int32_t, int32_t, int32_t) override {
    for (int32_t i = 0; i < spin_; ++i) {
      benchmark::DoNotOptimize(i);
    }
  }
  int32_t next_stage(int32_t stage) override { return stage + 1 < stages_ ? stage + 1 : -1; }

 private:
  int32_t stages_;
  int32_t pieces_;
  int32_t spin_;
};

void stage(benchmark::State& state) {
  const int32_t threads = static_cast<int32_t>(state.range(0));
  const Ref<ThreadPool> pool = *ThreadPool::create({.threads = threads});
  StagesJob job(1000, static_cast<int32_t>(state.range(1)), threads, static_cast<int32_t>(state.range(2)));
  for (auto _ : state) {
    pool->run(job);
  }
  state.SetItemsProcessed(1000 * state.iterations());  // stages
}
BENCHMARK(stage)
    ->ArgNames({"threads", "pieces", "work"})
    ->ArgsProduct({{1, 2}, {1, 4}, {0, 2000}})
    ->UseRealTime();

}  // namespace
}  // namespace weir
