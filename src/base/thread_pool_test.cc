// SPDX-License-Identifier: Apache-2.0
#include "base/thread_pool.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <limits>
#include <thread>
#include <vector>

#include "base/float_environment.h"

namespace weir {
namespace {

// Counts how often each piece ran, and checks that no piece of a stage runs before the one before it is
// complete.
class CountingJob : public TeamJob {
 public:
  CountingJob(std::vector<std::vector<int32_t>> stages, int32_t shares) : stages_(std::move(stages)) {
    participants = shares;
    for (const std::vector<int32_t>& stage : stages_) {
      int32_t total = 0;
      for (const int32_t count : stage) {
        total += count;
      }
      done_.emplace_back(0);
      totals_.push_back(total);
    }
    members_ = std::vector<std::atomic<int32_t>>(static_cast<size_t>(shares));
  }
  int32_t pieces(int32_t stage, int32_t participant) const override {
    return stages_[static_cast<size_t>(stage)][static_cast<size_t>(participant)];
  }
  void run_piece(int32_t stage, int32_t, int32_t, int32_t member) override {
    // Two that run at the same time never have the same member number.
    if (members_[static_cast<size_t>(member)].fetch_add(1) != 0) {
      clashes.fetch_add(1);
    }
    if (stage != current_) {
      disorder.fetch_add(1);
    }
    done_[static_cast<size_t>(stage)].fetch_add(1);
    ran.fetch_add(1);
    members_[static_cast<size_t>(member)].fetch_sub(1);
  }
  int32_t next_stage(int32_t stage) override {
    if (stage >= 0 && done_[static_cast<size_t>(stage)].exchange(0) != totals_[static_cast<size_t>(stage)]) {
      disorder.fetch_add(1);
    }
    current_ = stage + 1 < static_cast<int32_t>(stages_.size()) ? stage + 1 : -1;
    return current_;
  }
  std::atomic<int32_t> ran{0};
  std::atomic<int32_t> disorder{0};
  std::atomic<int32_t> clashes{0};

 private:
  struct Counter : std::atomic<int32_t> {
    Counter(int32_t value) : std::atomic<int32_t>(value) {}
    Counter(const Counter& other) : std::atomic<int32_t>(other.load()) {}
  };
  std::vector<std::vector<int32_t>> stages_;
  std::vector<Counter> done_;
  std::vector<int32_t> totals_;
  std::vector<std::atomic<int32_t>> members_;
  int32_t current_ = -1;
};

TEST(ThreadPool, RunsEveryPieceOnceAndStagesInOrder) {
  for (const int32_t threads : {1, 2, 4}) {
    const Ref<ThreadPool> pool = *ThreadPool::create({.threads = threads});
    for (int repeat = 0; repeat < 300; ++repeat) {
      CountingJob job({{3, 1}, {0, 0}, {1, 0}, {7, 7}, {0, 5}}, 2);
      pool->run(job);
      ASSERT_EQ(job.ran.load(), 3 + 1 + 1 + 14 + 5);
      ASSERT_EQ(job.disorder.load(), 0);
      ASSERT_EQ(job.clashes.load(), 0);
    }
  }
}

TEST(ThreadPool, RunsEveryPieceOnceInAnyDisorder) {
  for (const uint64_t seed : {1, 2, 3}) {
    for (const int32_t threads : {2, 4}) {
      const Ref<ThreadPool> pool = *ThreadPool::create({.threads = threads, .disorder_seed = seed});
      for (int repeat = 0; repeat < 30; ++repeat) {
        CountingJob job({{3, 1, 2, 0, 5}, {0, 0, 0, 0, 0}, {1, 0, 0, 0, 0}, {7, 7, 1, 1, 1}}, 5);
        pool->run(job);
        ASSERT_EQ(job.ran.load(), 11 + 1 + 17);
        ASSERT_EQ(job.disorder.load(), 0);
        ASSERT_EQ(job.clashes.load(), 0);
      }
    }
  }
}

TEST(ThreadPool, RunsAJobWithoutStagesAndOneWithoutPieces) {
  const Ref<ThreadPool> pool = *ThreadPool::create({.threads = 2});
  CountingJob none({}, 2);
  pool->run(none);
  EXPECT_EQ(none.ran.load(), 0);
  CountingJob empty({{0, 0}, {0, 0}}, 2);
  pool->run(empty);
  EXPECT_EQ(empty.ran.load(), 0);
  CountingJob after({{1, 1}}, 2);
  pool->run(after);
  EXPECT_EQ(after.ran.load(), 2);
}

TEST(ThreadPool, RunsMoreSharesThanThreads) {
  const Ref<ThreadPool> pool = *ThreadPool::create({.threads = 2});
  CountingJob job({{1, 2, 3, 4, 5, 6, 7, 8}, {8, 7, 6, 5, 4, 3, 2, 1}}, 8);
  pool->run(job);
  EXPECT_EQ(job.ran.load(), 72);
  EXPECT_EQ(job.disorder.load(), 0);
  EXPECT_EQ(job.clashes.load(), 0);
}

TEST(ThreadPool, ServesManyCallersAtOnceWithoutMakingOneWait) {
  const Ref<ThreadPool> pool = *ThreadPool::create({.threads = 3});
  std::vector<std::thread> callers;
  std::atomic<int32_t> wrong{0};
  for (int t = 0; t < 4; ++t) {
    callers.emplace_back([&] {
      for (int repeat = 0; repeat < 300; ++repeat) {
        CountingJob job({{2, 2, 2}, {1, 1, 1}, {4, 0, 4}}, 3);
        pool->run(job);
        if (job.ran.load() != 17 || job.disorder.load() != 0 || job.clashes.load() != 0) {
          wrong.fetch_add(1);
        }
      }
    });
  }
  for (std::thread& caller : callers) {
    caller.join();
  }
  EXPECT_EQ(wrong.load(), 0);
}

class DenormalJob : public TeamJob {
 public:
  DenormalJob() { participants = 2; }
  int32_t pieces(int32_t, int32_t) const override { return 4; }
  void run_piece(int32_t, int32_t, int32_t, int32_t) override {
    volatile float least = std::numeric_limits<float>::min();
    volatile float half = least * 0.5F;
    if (half != 0.0F) {
      kept.fetch_add(1);
    }
  }
  int32_t next_stage(int32_t stage) override { return stage < 0 ? 0 : -1; }
  std::atomic<int32_t> kept{0};
};

TEST(ThreadPool, FlushesDenormalsAndRestoresTheCallersState) {
  const Ref<ThreadPool> pool = *ThreadPool::create({.threads = 2});
  const uint64_t before = FloatEnvironment::read();
  for (int repeat = 0; repeat < 50; ++repeat) {
    DenormalJob job;
    pool->run(job);
    EXPECT_EQ(job.kept.load(), 0);
  }
  // The low six bits are flags of exceptions that have happened.
  EXPECT_EQ(FloatEnvironment::read() & ~uint64_t{0x3F}, before & ~uint64_t{0x3F});
  volatile float least = std::numeric_limits<float>::min();
  volatile float half = least * 0.5F;
  EXPECT_NE(half, 0.0F);
}

// Two pieces, and neither ends before both have begun, or some time has passed: a worker runs one of them.
class SharedDenormalJob final : public DenormalJob {
 public:
  int32_t pieces(int32_t, int32_t) const override { return 1; }
  void run_piece(int32_t stage, int32_t share, int32_t piece, int32_t member) override {
    begun.fetch_add(1);
    const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(200);
    while (begun.load() < 2 && std::chrono::steady_clock::now() < end) {
      std::this_thread::yield();
    }
    if (std::this_thread::get_id() != caller) {
      by_worker.fetch_add(1);
      DenormalJob::run_piece(stage, share, piece, member);
    }
  }
  const std::thread::id caller = std::this_thread::get_id();
  std::atomic<int32_t> begun{0};
  std::atomic<int32_t> by_worker{0};
};

TEST(ThreadPool, FlushesDenormalsOnItsWorkers) {
  const Ref<ThreadPool> pool = *ThreadPool::create({.threads = 2});
  int32_t by_worker = 0;
  for (int repeat = 0; repeat < 20 && by_worker == 0; ++repeat) {
    SharedDenormalJob job;
    pool->run(job);
    EXPECT_EQ(job.kept.load(), 0);
    by_worker += job.by_worker.load();
  }
  EXPECT_GT(by_worker, 0);
}

double processor_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

TEST(ThreadPool, UsesNoProcessorTimeWhenIdle) {
  const Ref<ThreadPool> pool = *ThreadPool::create({.threads = 4});
  CountingJob job({{3, 3, 3, 3}}, 4);
  pool->run(job);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  const double before = processor_seconds();
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  EXPECT_LT(processor_seconds() - before, 0.005);
}

}  // namespace
}  // namespace weir
