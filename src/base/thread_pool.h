// SPDX-License-Identifier: Apache-2.0
//
// ThreadPool: the threads of a process, and teams of them that run a job together.
//
//   WEIR_ASSIGN(Ref<ThreadPool> pool, ThreadPool::create());  // one for the process
//   pool->run(job);  // the caller takes part, returns when all is done
//
// A job is a list of stages; a stage is a set of pieces that may run at the same time, and the next begins
// when all of them are done. Each stage's pieces are dealt to `participants` shares. The caller and up to
// participants − 1 idle workers make a team: a member takes pieces of its own share first, then of others',
// so a worker that comes late, or never, costs nothing but its help. No member ever waits for one to arrive.
//
// Waiting spins for a bounded time, then sleeps; an idle pool uses no processor time. run() allocates nothing
// and may be called from any number of threads at once. Rounding is to nearest and denormals are flushed
// while a job runs.
#pragma once

#include <cstdint>
#include <memory>

#include "base/ref.h"
#include "base/status.h"

namespace weir {

// min(processors that this thread may run on, the control group's quota, physical cores), at least 1.
int32_t default_thread_count();

class TeamJob {
 public:
  virtual ~TeamJob() = default;

  int32_t participants = 1;  // shares; at most ThreadPool::max_participants()
  bool wants_team = true;    // false: the caller runs it alone

  // How many pieces share `participant` has in `stage`: at most 65,535.
  virtual int32_t pieces(int32_t stage, int32_t participant) const = 0;
  // `member` < participants tells apart those who run at the same time; 0 is the caller.
  virtual void run_piece(int32_t stage, int32_t participant, int32_t piece, int32_t member) = 0;
  // All pieces of a stage, by one who is alone, as member 0. Override where that is cheaper than piece by
  // piece.
  virtual void run_stage(int32_t stage) {
    for (int32_t p = 0; p < participants; ++p) {
      const int32_t count = pieces(stage, p);
      for (int32_t piece = 0; piece < count; ++piece) {
        run_piece(stage, p, piece, 0);
      }
    }
  }
  // The stage to run after `stage` (−1: before the first), or −1 at the end. Called by one member when all
  // pieces of `stage` are done. A stage without pieces is skipped.
  virtual int32_t next_stage(int32_t stage) = 0;
};

struct ThreadPoolOptions {
  int32_t threads = 0;        // the caller counts as one; 0: default_thread_count()
  int32_t spin_us = 30;       // how long a member waits for a stage before it sleeps
  int32_t idle_spin_us = 50;  // how long a worker waits for the next job before it sleeps
  // For tests, that nothing depends on who does what: not 0 makes members take pieces one at a time from
  // shares drawn from it, and come late now and then.
  uint64_t disorder_seed = 0;
};

class ThreadPool : public RefCounted {
 public:
  // An error where the system does not start as many threads.
  static Result<Ref<ThreadPool>> create(const ThreadPoolOptions& options = {});
  ~ThreadPool() override;

  int32_t threads() const;
  int32_t max_participants() const;
  void run(TeamJob& job);

  class Impl;

 private:
  explicit ThreadPool(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace weir
