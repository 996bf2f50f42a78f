// SPDX-License-Identifier: Apache-2.0
//
// The devices that the conformance suite runs on, and the kernels that it runs.
#include <algorithm>

#include "conformance.h"
#include "hal/cpu/cpu_device.h"
#include "hal/null/null_device.h"
#include "serial_device.h"

namespace weir::conformance {
namespace {

template <typename T>
T* bound(const CpuInvocation& invocation, size_t index) {
  return reinterpret_cast<T*>(invocation.bindings[index]);
}

void add(const CpuInvocation& invocation) {
  const auto* a = bound<const int32_t>(invocation, 0);
  const auto* b = bound<const int32_t>(invocation, 1);
  auto* c = bound<int32_t>(invocation, 2);
  const int32_t k = invocation.constants_as<AddConstants>().k;
  for (int64_t i = invocation.tile_begin; i < invocation.tile_end; ++i) {
    // As unsigned: sums may wrap.
    c[i] = static_cast<int32_t>(static_cast<uint32_t>(a[i]) + static_cast<uint32_t>(b[i]) +
                                static_cast<uint32_t>(k));
  }
}

void bump(const CpuInvocation& invocation) {
  auto* a = bound<int32_t>(invocation, 0);
  for (int64_t i = invocation.tile_begin; i < invocation.tile_end; ++i) {
    a[i] += 1;
  }
}

void gather(const CpuInvocation& invocation) {
  const auto* a = bound<const int32_t>(invocation, 0);
  const auto* b = bound<const int32_t>(invocation, 1);
  auto* c = bound<int32_t>(invocation, 2);
  const int32_t extent = invocation.constants_as<AddConstants>().k;
  for (int64_t i = invocation.tile_begin; i < invocation.tile_end; ++i) {
    int32_t index = b[i];
    if (index < 0 || index >= extent) {
      invocation.status->set(invocation.step, StatusRecord::Code::kIndexOutOfRange, index, extent);
      index = std::clamp(index, 0, extent - 1);
    }
    c[i] = a[index];
  }
}

void scratch(const CpuInvocation& invocation) {
  auto* a = bound<int32_t>(invocation, 0);
  auto* own = reinterpret_cast<int64_t*>(invocation.scratch);
  for (int64_t i = invocation.tile_begin; i < invocation.tile_end; ++i) {
    own[i % 16] = i;
    a[i] = static_cast<int32_t>(own[i % 16]);
  }
}

void parameter(const CpuInvocation& invocation) {
  auto* c = bound<int32_t>(invocation, 0);
  for (int64_t i = invocation.tile_begin; i < invocation.tile_end; ++i) {
    c[i] = *reinterpret_cast<const int32_t*>(invocation.parameters);
  }
}

void optional(const CpuInvocation& invocation) {
  const auto* b = bound<const int32_t>(invocation, 0);
  auto* c = bound<int32_t>(invocation, 1);
  for (int64_t i = invocation.tile_begin; i < invocation.tile_end; ++i) {
    c[i] = b == nullptr ? -1 : b[i];
  }
}

Backend cpu(std::string name, int32_t threads, DeviceToggles toggles) {
  return {.name = std::move(name), .validation = toggles.validation, .create = [=](int64_t limit) {
            return create_cpu_device({.threads = threads, .memory_limit = limit, .toggles = toggles});
          }};
}

Backend null(std::string name, bool validation) {
  return {.name = std::move(name), .validation = validation, .create = [=](int64_t limit) {
            return create_null_device({.memory_limit = limit, .participants = 2, .validation = validation});
          }};
}

Backend serial(std::string name, bool validation) {
  return {.name = std::move(name), .validation = validation, .create = [=](int64_t limit) {
            return create_serial_device({.memory_limit = limit, .validation = validation});
          }};
}

}  // namespace

std::vector<Backend> backends() {
  std::vector<Backend> all;
  for (const bool validation : {false, true}) {
    const std::string suffix = validation ? "_validation" : "";
    all.push_back(cpu("cpu" + suffix, 0, {.validation = validation}));
    all.push_back(cpu("cpu_1_thread" + suffix, 1, {.validation = validation}));
    all.push_back(cpu("cpu_2_threads" + suffix, 2, {.validation = validation}));
    all.push_back(cpu("cpu_4_threads" + suffix, 4, {.validation = validation}));
    all.push_back(cpu("cpu_discrete" + suffix, 2, {.simulate_discrete = true, .validation = validation}));
    all.push_back(null("null" + suffix, validation));
    all.push_back(serial("serial" + suffix, validation));
  }
  return all;
}

Ref<Library> test_library(Device& device) {
  const CpuKernelEntry table[] = {
      {.name = "add", .function = add, .bindings = 3, .constant_bytes = sizeof(AddConstants)},
      {.name = "bump", .function = bump, .bindings = 1},
      {.name = "gather", .function = gather, .bindings = 3, .constant_bytes = sizeof(AddConstants)},
      {.name = "scratch", .function = scratch, .bindings = 1, .scratch_bytes = 16 * sizeof(int64_t)},
      {.name = "parameter", .function = parameter, .bindings = 1},
      {.name = "optional", .function = optional},
  };
  auto library = device.create_library({.label = "conformance", .cpu = table});
  EXPECT_TRUE(library) << library.error().to_string();
  return library ? *std::move(library) : nullptr;
}

}  // namespace weir::conformance
