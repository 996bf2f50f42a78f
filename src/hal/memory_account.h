// SPDX-License-Identifier: Apache-2.0
//
// Who holds how many bytes of a device, and the limit on them. Everything that Weir allocates on a device,
// and every host structure that the plan lists, is charged here; a charge that would pass the limit is an
// error that lists the holders.
//
//   WEIR_ASSIGN(MemoryCharge charge, device.memory().charge(MemoryCategory::kHost, bytes, "request 3"));
//   …                                            // counted until `charge` is destroyed
//
// Thread-safe. Charging allocates a record; reading a counter does not. An account lives as long as anything
// is charged to it.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <limits>
#include <list>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/ref.h"
#include "base/status.h"

namespace weir {

// The lines of the ledger.
enum class MemoryCategory : uint8_t {
  kConstants,    // weights, mapped or read, packed or plain
  kActivations,  // the arena: activations and workspace
  kScratch,      // per participant
  kIo,           // inputs and outputs
  kState,        // recurrent state, variables, caches
  kHost,         // host structures: sessions, requests, recorded commands
  kOther,
};
inline constexpr int kMemoryCategoryCount = 7;
std::string_view to_string(MemoryCategory category);  // "constants"

struct MemoryHolder {
  std::string label;
  MemoryCategory category = MemoryCategory::kOther;
  int64_t bytes = 0;
};

struct MemoryUse {
  int64_t current = 0;  // bytes
  int64_t peak = 0;     // the most since the account began or reset_peaks
};

class MemoryAccount;

// Bytes held; gives them back when it is destroyed.
class MemoryCharge {
 public:
  MemoryCharge() = default;
  MemoryCharge(MemoryCharge&& other) noexcept;
  MemoryCharge& operator=(MemoryCharge&& other) noexcept;
  ~MemoryCharge() { reset(); }

  int64_t bytes() const { return account_ ? node_->bytes : 0; }
  void reset();

 private:
  friend class MemoryAccount;
  Ref<MemoryAccount> account_;
  std::list<MemoryHolder>::iterator node_;
};

class MemoryAccount : public RefCounted {
 public:
  static constexpr int64_t kNoLimit = std::numeric_limits<int64_t>::max();

  // `owner` names the device in errors.
  explicit MemoryAccount(std::string owner, int64_t limit = kNoLimit);

  // kResourceExhausted past the limit; its message lists the largest holders.
  Result<MemoryCharge> charge(MemoryCategory category, int64_t bytes, std::string_view label);

  MemoryUse total() const;
  MemoryUse use(MemoryCategory category) const;
  int64_t limit() const { return limit_.load(std::memory_order_relaxed); }
  // May be lower than what is held; then nothing more is granted until enough is given back.
  void set_limit(int64_t bytes) { limit_.store(bytes, std::memory_order_relaxed); }
  // Every peak becomes what is held now.
  void reset_peaks();
  // Largest first. Allocates.
  std::vector<MemoryHolder> holders() const;

 private:
  friend class MemoryCharge;
  void uncharge(std::list<MemoryHolder>::iterator node);

  std::string owner_;
  std::atomic<int64_t> limit_;
  mutable std::mutex mutex_;
  std::list<MemoryHolder> holders_;                         // guarded by mutex_
  MemoryUse total_;                                         // guarded by mutex_
  std::array<MemoryUse, kMemoryCategoryCount> categories_;  // guarded by mutex_
};

}  // namespace weir
