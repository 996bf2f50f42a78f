// SPDX-License-Identifier: Apache-2.0
//
// The names of the resource model's enumerations, as messages and reports spell them.
#include "hal/device.h"

namespace weir {

std::string_view to_string(MemoryCategory category) {
  switch (category) {
    case MemoryCategory::kConstants:
      return "constants";
    case MemoryCategory::kActivations:
      return "activations";
    case MemoryCategory::kScratch:
      return "scratch";
    case MemoryCategory::kIo:
      return "io";
    case MemoryCategory::kState:
      return "state";
    case MemoryCategory::kHost:
      return "host";
    case MemoryCategory::kOther:
      break;
  }
  return "other";
}

std::string_view to_string(StorageMode mode) {
  switch (mode) {
    case StorageMode::kShared:
      return "Shared";
    case StorageMode::kPrivate:
      return "Private";
    case StorageMode::kManaged:
      break;
  }
  return "Managed";
}

std::string_view to_string(ImportVerdict verdict) {
  switch (verdict) {
    case ImportVerdict::kUsable:
      return "usable in place";
    case ImportVerdict::kMemoryNotShared:
      return "the device does not share the host's memory";
    case ImportVerdict::kAlignment:
      break;
  }
  return "the address is not aligned as the device asks";
}

std::string_view to_string(CommandBufferState state) {
  switch (state) {
    case CommandBufferState::kRecording:
      return "recording";
    case CommandBufferState::kIdle:
      return "idle";
    case CommandBufferState::kPending:
      return "pending";
    case CommandBufferState::kRunning:
      break;
  }
  return "running";
}

std::string_view to_string(DeviceKind kind) {
  switch (kind) {
    case DeviceKind::kCpu:
      return "cpu";
    case DeviceKind::kIntegratedGpu:
      return "integrated gpu";
    case DeviceKind::kDiscreteGpu:
      return "discrete gpu";
    case DeviceKind::kNull:
      break;
  }
  return "null";
}

}  // namespace weir
