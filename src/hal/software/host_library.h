// SPDX-License-Identifier: Apache-2.0
//
// A library of plain functions.
#pragma once

#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "hal/device.h"
#include "hal/library.h"

namespace weir {

class HostLibrary;

class HostKernel final : public Kernel {
 public:
  HostKernel(Ref<HostLibrary> library, const CpuKernelEntry& entry);
  ~HostKernel() override;

  CpuKernelFunction function() const { return function_; }
  void* user() const { return user_; }

 private:
  Ref<HostLibrary> library_;
  CpuKernelFunction function_;
  void* user_;
};

class HostLibrary final : public Library {
 public:
  static Result<Ref<HostLibrary>> create(const LibraryDescriptor& descriptor, const DeviceLimits& limits);

  Result<Ref<Kernel>> kernel(std::string_view name) const override;
  std::vector<std::string> kernel_names() const override;

 private:
  explicit HostLibrary(const LibraryDescriptor& descriptor);

  std::deque<std::string> names_;  // addresses stay
  std::vector<CpuKernelEntry> entries_;
  std::unordered_map<std::string_view, size_t> by_name_;
  Ref<RefCounted> keep_alive_;
};

}  // namespace weir
