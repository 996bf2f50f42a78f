// SPDX-License-Identifier: Apache-2.0
#include "hal/cpu/cpu_device.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>

#include "base/control_group.h"
#include "hal/cpu/cpu_command_buffer.h"
#include "hal/cpu/cpu_device_impl.h"
#include "hal/memory_limit.h"
#include "hal/validation/validation_device.h"

namespace weir {
namespace {

constexpr int64_t kMostBufferBytes = int64_t{1} << 46;
constexpr int64_t kMostTiles = int64_t{1} << 40;
constexpr int32_t kMostBindings = 4096;
constexpr int64_t kMostConstantBytes = 64 << 10;
constexpr int32_t kMostSlots = 65536;

std::string processor_name() {
  std::ifstream file("/proc/cpuinfo");
  std::string line;
  while (std::getline(file, line)) {
    const size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) {
      return line.substr(colon + 2);
    }
  }
  return "unknown processor";
}

std::string_view instruction_set() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512vl")) {
    return "avx512";
  }
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? "avx2" : "sse4";
#else
  return "neon";
#endif
}

int64_t physical_bytes() {
  return static_cast<int64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE);
}

int64_t line_bytes() {
#if defined(_SC_LEVEL1_DCACHE_LINESIZE)
  const int64_t bytes = sysconf(_SC_LEVEL1_DCACHE_LINESIZE);
  if (bytes > 0) {
    return bytes;
  }
#endif
  return 64;
}

}  // namespace

int64_t CpuDevice::command_buffer_bytes(const CommandBufferCounts& counts) const {
  return CpuCommandBuffer::bytes(counts);
}

Result<Ref<CommandBuffer>> CpuDevice::create_command_buffer(const CommandBufferDescriptor& descriptor) {
  WEIR_ASSIGN(const int32_t participants, check_command_buffer(descriptor));
  return Ref<CommandBuffer>(make_ref<CpuCommandBuffer>(*this, descriptor, participants));
}

Result<Ref<Device>> create_cpu_device(const CpuDeviceOptions& options) {
  if (options.threads < 0 || options.memory_limit < 0) {
    return fail(StatusCode::kInvalidArgument,
                "The CPU device is asked for ({}) threads and a memory limit of ({}) bytes, and 0 is the "
                "least of both.",
                options.threads, options.memory_limit);
  }
  Ref<ThreadPool> pool = options.pool;
  if (!pool) {
    WEIR_ASSIGN(pool, ThreadPool::create({.threads = options.threads}));
  }
  const int32_t participants = options.threads > 0 ? options.threads : pool->threads();
  if (participants > pool->max_participants()) {
    return fail(StatusCode::kInvalidArgument,
                "The CPU device is asked for ({}) threads, and its pool allows ({}).", participants,
                pool->max_participants());
  }
  const bool far = options.toggles.simulate_discrete;
  DeviceInfo info;
  info.name = "cpu";
  info.description = processor_name();
  info.isa = options.isa.empty() ? instruction_set() : options.isa;
  info.kind = DeviceKind::kCpu;
  info.unified_memory = !far;
  info.cache_line_bytes = line_bytes();
  info.page_bytes = host_page_bytes();
  info.participants = participants;
  info.memory_bytes = memory_within_control_groups(physical_bytes());
  info.limits = {.buffer_bytes = kMostBufferBytes,
                 .bindings = kMostBindings,
                 .constant_bytes = kMostConstantBytes,
                 .tiles = kMostTiles,
                 .participants = pool->max_participants(),
                 .slots = kMostSlots};
  info.capabilities = {.cpu_kernels = true,
                       .host_calls = true,
                       .inline_execution = !far,
                       .import_host_memory = !far,
                       .lock_pages = true,
                       .huge_pages = true,
                       .timestamps = true};
  info.toggles = {
      {"simulate_discrete",
       "Behaves as a far device: Private memory is out of the host's reach, Managed is two copies, nothing "
       "is "
       "imported, completion is late and independent commands are shuffled.",
       far},
      {"validation", "Checks hazards, use before write, usage and guard bands, and poisons scratch.",
       options.toggles.validation}};
  WEIR_ASSIGN(const int64_t limit, memory_limit(options.memory_limit, info.memory_bytes));
  Ref<MemoryAccount> memory = make_ref<MemoryAccount>(info.name, limit);
  Ref<Device> device =
      make_ref<CpuDevice>(std::move(info), std::move(memory), std::move(pool), options.toggles);
  return options.toggles.validation ? create_validation_device(std::move(device)) : device;
}

}  // namespace weir
