// SPDX-License-Identifier: Apache-2.0
//
// Charges are list nodes, so that giving one back is one unlinking whatever the number of holders.
#include "hal/memory_account.h"

#include <algorithm>
#include <iterator>

namespace weir {
namespace {

constexpr size_t kHoldersInError = 8;

void add(MemoryUse& use, int64_t bytes) {
  use.current += bytes;
  use.peak = std::max(use.peak, use.current);
}

}  // namespace

MemoryCharge::MemoryCharge(MemoryCharge&& other) noexcept
    : account_(std::move(other.account_)), node_(other.node_) {}

MemoryCharge& MemoryCharge::operator=(MemoryCharge&& other) noexcept {
  if (this != &other) {
    reset();
    account_ = std::move(other.account_);
    node_ = other.node_;
  }
  return *this;
}

void MemoryCharge::reset() {
  if (account_) {
    account_->uncharge(node_);
    account_ = nullptr;
  }
}

MemoryAccount::MemoryAccount(std::string owner, int64_t limit) : owner_(std::move(owner)), limit_(limit) {}

Result<MemoryCharge> MemoryAccount::charge(MemoryCategory category, int64_t bytes, std::string_view label) {
  if (bytes < 0) {
    return fail(StatusCode::kInvalidArgument, "'{}' asks device '{}' for ({}) bytes, and 0 is the least.",
                label, owner_, bytes);
  }
  std::list<MemoryHolder> node;
  node.push_back({.label = std::string(label), .category = category, .bytes = bytes});
  {
    const std::lock_guard lock(mutex_);
    if (bytes <= limit() && total_.current <= limit() - bytes) {
      add(total_, bytes);
      add(categories_[static_cast<size_t>(category)], bytes);
      holders_.splice(holders_.end(), node);
      MemoryCharge charge;
      charge.account_ = Ref<MemoryAccount>(this);
      charge.node_ = std::prev(holders_.end());
      return charge;
    }
  }
  std::string account;
  const std::vector<MemoryHolder> all = holders();
  for (size_t i = 0; i < std::min(all.size(), kHoldersInError); ++i) {
    account +=
        fmt::format("\n  {:>15}  {:<11}  '{}'", all[i].bytes, to_string(all[i].category), all[i].label);
  }
  if (all.size() > kHoldersInError) {
    account += fmt::format("\n  and {} more", all.size() - kHoldersInError);
  }
  return fail(
      StatusCode::kResourceExhausted,
      "Device '{}' has a memory limit of ({}) bytes, of which ({}) are held, and '{}' asks for ({}) more. "
      "The holders, in bytes:{}",
      owner_, limit(), total().current, label, bytes, account.empty() ? " none" : account);
}

MemoryUse MemoryAccount::total() const {
  const std::lock_guard lock(mutex_);
  return total_;
}

MemoryUse MemoryAccount::use(MemoryCategory category) const {
  const std::lock_guard lock(mutex_);
  return categories_[static_cast<size_t>(category)];
}

void MemoryAccount::reset_peaks() {
  const std::lock_guard lock(mutex_);
  total_.peak = total_.current;
  for (MemoryUse& use : categories_) {
    use.peak = use.current;
  }
}

std::vector<MemoryHolder> MemoryAccount::holders() const {
  std::vector<MemoryHolder> all;
  {
    const std::lock_guard lock(mutex_);
    all.assign(holders_.begin(), holders_.end());
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const MemoryHolder& a, const MemoryHolder& b) { return a.bytes > b.bytes; });
  return all;
}

void MemoryAccount::uncharge(std::list<MemoryHolder>::iterator node) {
  std::list<MemoryHolder> removed;
  const std::lock_guard lock(mutex_);
  total_.current -= node->bytes;
  categories_[static_cast<size_t>(node->category)].current -= node->bytes;
  removed.splice(removed.end(), holders_, node);
}

}  // namespace weir
