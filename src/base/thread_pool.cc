// SPDX-License-Identifier: Apache-2.0
//
// A team runs a job by an epoch, a number that is odd while a stage runs and changes when a stage ends. Each
// share has a cursor, one word {epoch, next piece, end}, from which members claim pieces with
// compare-and-swap; a cursor of another epoch has nothing to give. A member that has claimed a piece holds
// the stage open, because `remaining` counts pieces not yet reported done; who reports the last one sets up
// the next stage. So a member that was held up between two looks at the team can do no harm, and nobody waits
// for it.
//
// A team's job, participants and members change only while no worker is leased to it.
#include "base/thread_pool.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <latch>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/cpu_count.h"
#include "base/float_environment.h"
#include "base/start_thread.h"
#include "base/wait_word.h"

namespace weir {
namespace {

constexpr int32_t kLeastMaxParticipants = 64;

struct alignas(64) Cursor {
  std::atomic<uint64_t> word{0};

  void set(uint32_t epoch, uint32_t end) { word.store(pack(epoch, 0, end), std::memory_order_release); }

  // The piece claimed, or −1.
  int32_t claim(uint32_t epoch) {
    uint64_t seen = word.load(std::memory_order_acquire);
    while (true) {
      const uint32_t next = static_cast<uint32_t>(seen >> 16) & 0xFFFF;
      const uint32_t end = static_cast<uint32_t>(seen) & 0xFFFF;
      if (static_cast<uint32_t>(seen >> 32) != epoch || next >= end) {
        return -1;
      }
      if (word.compare_exchange_weak(seen, pack(epoch, next + 1, end), std::memory_order_acq_rel,
                                     std::memory_order_acquire)) {
        return static_cast<int32_t>(next);
      }
    }
  }

  static uint64_t pack(uint32_t epoch, uint32_t next, uint32_t end) {
    return uint64_t{epoch} << 32 | uint64_t{next} << 16 | end;
  }
};

struct alignas(64) Team {
  WaitWord epoch;
  alignas(64) std::atomic<int32_t> remaining{0};
  TeamJob* job = nullptr;
  int32_t participants = 0;
  uint64_t disorder = 0;  // 0: none
  int32_t stage = 0;      // written between epochs, read by those who hold a piece
  std::vector<Cursor> cursors;
  int32_t leased = 0;    // workers; guarded by the pool's mutex
  bool finished = true;  // guarded by the pool's mutex
};

struct alignas(64) Worker {
  WaitWord ticket;
  Team* team = nullptr;
  int32_t member = 0;
  std::thread thread;
};

// Sets up the first stage after `stage` that has pieces; false at the end of the job.
bool open_stage(Team& team, int32_t stage, uint32_t epoch) {
  while ((stage = team.job->next_stage(stage)) >= 0) {
    int32_t total = 0;
    for (int32_t p = 0; p < team.participants; ++p) {
      total += team.job->pieces(stage, p);
    }
    if (total == 0) {
      continue;
    }
    team.stage = stage;
    team.remaining.store(total, std::memory_order_relaxed);
    for (int32_t p = 0; p < team.participants; ++p) {
      const int32_t count = team.job->pieces(stage, p);
      if (count > 0) {
        team.cursors[static_cast<size_t>(p)].set(epoch, static_cast<uint32_t>(count));
      }
    }
    return true;
  }
  return false;
}

// Runs what it can claim; returns the number of pieces.
int32_t work(Team& team, uint32_t epoch, int32_t member) {
  int32_t done = 0;
  int32_t share = member;
  for (int32_t k = 0; k < team.participants; ++k) {
    Cursor& cursor = team.cursors[static_cast<size_t>(share)];
    for (int32_t piece = cursor.claim(epoch); piece >= 0; piece = cursor.claim(epoch)) {
      team.job->run_piece(team.stage, share, piece, member);
      ++done;
    }
    share = share + 1 == team.participants ? 0 : share + 1;
  }
  return done;
}

// SplitMix64.
uint64_t draw(uint64_t& state) {
  uint64_t z = state += 0x9E3779B97F4A7C15;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
  return z ^ (z >> 31);
}

// Comes late every second time.
void dawdle(uint64_t& state) {
  const uint64_t drawn = draw(state);
  if ((drawn & 1) != 0) {
    std::this_thread::sleep_for(std::chrono::microseconds(drawn >> 57));
  }
}

// As `work`, a piece at a time from any share.
int32_t work_in_disorder(Team& team, uint32_t epoch, int32_t member) {
  uint64_t state = team.disorder + (uint64_t{epoch} << 32) + static_cast<uint64_t>(member);
  dawdle(state);
  int32_t done = 0;
  while (true) {
    auto share = static_cast<int32_t>(draw(state) % static_cast<uint64_t>(team.participants));
    int32_t piece = -1;
    for (int32_t k = 0; k < team.participants && piece < 0; ++k) {
      share = share + 1 == team.participants ? 0 : share + 1;
      piece = team.cursors[static_cast<size_t>(share)].claim(epoch);
    }
    if (piece < 0) {
      return done;
    }
    team.job->run_piece(team.stage, share, piece, member);
    ++done;
  }
}

void take_part(Team& team, int32_t member, std::chrono::nanoseconds spin) {
  uint32_t epoch = team.epoch.load();
  while ((epoch & 1) != 0) {
    const int32_t done =
        team.disorder == 0 ? work(team, epoch, member) : work_in_disorder(team, epoch, member);
    if (done > 0 && team.remaining.fetch_sub(done, std::memory_order_acq_rel) == done) {
      const uint32_t next = epoch + 2;
      epoch = open_stage(team, team.stage, next) ? next : epoch + 1;
      team.epoch.store(epoch);
    } else {
      epoch = team.epoch.wait_while(epoch, spin);
    }
  }
}

void run_alone(TeamJob& job) {
  for (int32_t stage = job.next_stage(-1); stage >= 0; stage = job.next_stage(stage)) {
    job.run_stage(stage);
  }
}

}  // namespace

class ThreadPool::Impl {
 public:
  explicit Impl(const ThreadPoolOptions& options)
      : threads_(std::max(1, options.threads > 0 ? options.threads : default_thread_count())),
        spin_(std::chrono::microseconds(options.spin_us)),
        idle_spin_(std::chrono::microseconds(options.idle_spin_us)),
        disorder_(options.disorder_seed),
        started_(threads_ - 1),
        workers_(static_cast<size_t>(threads_ - 1)),
        teams_(workers_.size()) {
    idle_.reserve(workers_.size());
    free_teams_.reserve(teams_.size());
    for (Team& team : teams_) {
      team.cursors = std::vector<Cursor>(static_cast<size_t>(max_participants()));
      free_teams_.push_back(&team);
    }
    for (Worker& worker : workers_) {
      idle_.push_back(&worker);
    }
  }

  Result<void> start() {
    int32_t index = 0;
    for (Worker& worker : workers_) {
      WEIR_ASSIGN(worker.thread, start_thread("weir-worker-" + std::to_string(++index), [this, &worker] {
                    started_.count_down();
                    serve(worker);
                  }));
    }
    started_.wait();  // what a thread needs to start is not left to the first inference
    return {};
  }

  ~Impl() {
    stop_.store(true, std::memory_order_release);
    for (Worker& worker : workers_) {
      worker.ticket.store(worker.ticket.load() + 1);
    }
    for (Worker& worker : workers_) {
      if (worker.thread.joinable()) {  // not where start failed before it
        worker.thread.join();
      }
    }
  }

  int32_t threads() const { return threads_; }
  int32_t max_participants() const { return std::max(threads_, kLeastMaxParticipants); }

  void run(TeamJob& job) {
    FloatEnvironment environment;
    Team* team = nullptr;
    if (job.wants_team && job.participants > 1) {
      team = lease(job);
    }
    if (team == nullptr) {
      run_alone(job);
      return;
    }
    take_part(*team, 0, spin_);
    const std::lock_guard lock(mutex_);
    team->finished = true;
    if (team->leased == 0) {
      free_teams_.push_back(team);
    }
  }

 private:
  // Null when no worker is idle, or when there is nothing to do.
  Team* lease(TeamJob& job) {
    Team* team = nullptr;
    std::unique_lock lock(mutex_);
    if (free_teams_.empty() || idle_.empty()) {
      return nullptr;
    }
    team = free_teams_.back();
    team->job = &job;
    team->participants = job.participants;
    team->disorder = disorder_ == 0 ? 0 : draw(disorder_) | 1;
    const uint32_t epoch = team->epoch.load() + 1;
    if (!open_stage(*team, -1, epoch)) {
      return nullptr;
    }
    free_teams_.pop_back();
    team->finished = false;
    team->epoch.store(epoch);
    for (int32_t member = 1; member < job.participants && !idle_.empty(); ++member) {
      Worker& worker = *idle_.back();
      idle_.pop_back();
      ++team->leased;
      worker.team = team;
      worker.member = member;
      worker.ticket.store(worker.ticket.load() + 1);
    }
    return team;
  }

  void serve(Worker& worker) {
    uint32_t ticket = 0;
    while (true) {
      ticket = worker.ticket.wait_while(ticket, idle_spin_);
      if (stop_.load(std::memory_order_acquire)) {
        return;  // perhaps with a lease on a team whose job is over
      }
      Team* team = worker.team;
      {
        FloatEnvironment environment;
        take_part(*team, worker.member, spin_);
      }
      const std::lock_guard lock(mutex_);
      --team->leased;
      if (team->leased == 0 && team->finished) {
        free_teams_.push_back(team);
      }
      idle_.push_back(&worker);
    }
  }

  int32_t threads_;
  std::chrono::nanoseconds spin_;
  std::chrono::nanoseconds idle_spin_;
  uint64_t disorder_;  // guarded by mutex_
  std::atomic<bool> stop_{false};
  std::latch started_;
  std::mutex mutex_;
  std::vector<Worker> workers_;
  std::vector<Team> teams_;        // a team has at least one worker, so there are never more
  std::vector<Worker*> idle_;      // guarded by mutex_; the last to become idle is taken first
  std::vector<Team*> free_teams_;  // guarded by mutex_
};

int32_t default_thread_count() {
  return thread_count(read_cpu_snapshot());
}

Result<Ref<ThreadPool>> ThreadPool::create(const ThreadPoolOptions& options) {
  auto impl = std::make_unique<Impl>(options);
  WEIR_TRY(impl->start(), "while starting a pool of ({}) threads", impl->threads());
  return Ref<ThreadPool>::adopt(new ThreadPool(std::move(impl)));
}

ThreadPool::ThreadPool(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
ThreadPool::~ThreadPool() = default;

int32_t ThreadPool::threads() const {
  return impl_->threads();
}
int32_t ThreadPool::max_participants() const {
  return impl_->max_participants();
}
void ThreadPool::run(TeamJob& job) {
  impl_->run(job);
}

}  // namespace weir
