// SPDX-License-Identifier: Apache-2.0
//
// The C interface: statuses, the runtime handle, devices and their memory accounts.
#include <cstdlib>
#include <new>

#include "api_runtime/handles.h"
#include "hal/cpu/cpu_device.h"
#include "hal/null/null_device.h"

using namespace weir::api;
using weir::Device;
using weir::DeviceInfo;
using weir::Ref;
using weir::Result;
using weir::Status;
using weir::StatusCode;

namespace {

constinit const weir_status no_memory = {
    .code = StatusCode::kResourceExhausted,
    .text = "The host has no memory left for the structures of this call, and the call was not carried out."};

weir_status* with_reason(const char* function, const char* reason) noexcept try {
  return failed(Status(StatusCode::kInternal,
                       fmt::format("Function '{}' ended with an exception ({}).", function, reason)));
} catch (const std::bad_alloc&) {
  return out_of_memory_status();
}

}  // namespace

weir_status* weir::api::out_of_memory_status() noexcept {
  return const_cast<weir_status*>(&no_memory);  // a caller can do nothing with it but read and free
}

weir_status* weir::api::failed(const Status& status) noexcept try {
  const std::string text = status.to_string();
  void* block = std::malloc(sizeof(weir_status) + text.size() + 1);
  if (block == nullptr) {
    return out_of_memory_status();
  }
  char* copy = static_cast<char*>(block) + sizeof(weir_status);
  std::memcpy(copy, text.c_str(), text.size() + 1);
  return new (block) weir_status{.code = status.code(), .text = copy};
} catch (const std::bad_alloc&) {
  return out_of_memory_status();
}

weir_status* weir::api::null_argument(const char* function) noexcept try {
  return failed(
      Status(StatusCode::kInvalidArgument,
             fmt::format("Function '{}' was given a null argument where it needs an object.", function)));
} catch (const std::bad_alloc&) {
  return out_of_memory_status();
}

weir_status* weir::api::unset_size(const char* function) noexcept try {
  return failed(
      Status(StatusCode::kInvalidArgument,
             fmt::format("Function '{}' was given a struct without a struct_size, so that none of its "
                         "fields counts; make it with WEIR_INIT.",
                         function)));
} catch (const std::bad_alloc&) {
  return out_of_memory_status();
}

weir_status* weir::api::caught(const char* function) noexcept {
  try {
    throw;
  } catch (const std::bad_alloc&) {
    return out_of_memory_status();
  } catch (const std::exception& exception) {
    return with_reason(function, exception.what());
  } catch (...) {
    return with_reason(function, "of no standard type");
  }
}

extern "C" {

weir_code weir_status_code(const weir_status* status) {
  return status == nullptr ? WEIR_OK : static_cast<weir_code>(status->code);
}

const char* weir_status_text(const weir_status* status) {
  return status == nullptr ? "" : status->text;
}

void weir_status_free(weir_status* status) {
  if (status != out_of_memory_status()) {
    std::free(status);
  }
}

const char* weir_version(void) {
  return WEIR_VERSION;
}

weir_status* weir_runtime_create(const weir_runtime_options* options, weir_runtime** runtime) try {
  if (runtime == nullptr) {
    return null_argument(__func__);
  }
  if (weir_status* unset = unset_size(__func__, options)) {
    return unset;
  }
  const weir_runtime_options own = read_struct(options);
  constexpr int32_t kMostThreads = 4096;
  if (own.threads < 0 || own.threads > kMostThreads) {
    return failed(
        Status(StatusCode::kInvalidArgument,
               fmt::format("The runtime is asked for ({}) threads, and the allowed numbers are (0 to {}).",
                           own.threads, kMostThreads)));
  }
  Result<Ref<weir::ThreadPool>> pool = weir::ThreadPool::create({.threads = own.threads});
  if (!pool) {
    return failed(pool);
  }
  Ref<weir_runtime> created = weir::make_ref<weir_runtime>();
  created->pool = *std::move(pool);
  *runtime = created.detach();
  return nullptr;
} catch (...) {
  return caught(__func__);
}

weir_runtime* weir_runtime_retain(weir_runtime* runtime) {
  if (runtime != nullptr) {
    runtime->retain();
  }
  return runtime;
}

void weir_runtime_release(weir_runtime* runtime) {
  if (runtime != nullptr) {
    runtime->release();
  }
}

int32_t weir_runtime_threads(const weir_runtime* runtime) {
  return runtime == nullptr ? 0 : runtime->pool->threads();
}

weir_status* weir_device_create_cpu(weir_runtime* runtime, const weir_device_options* options,
                                    weir_device** device) try {
  if (runtime == nullptr || device == nullptr) {
    return null_argument(__func__);
  }
  if (weir_status* unset = unset_size(__func__, options)) {
    return unset;
  }
  const weir_device_options own = read_struct(options);
  Result<Ref<Device>> created =
      weir::create_cpu_device({.pool = runtime->pool,
                               .threads = own.threads,
                               .memory_limit = own.memory_limit,
                               .toggles = {.simulate_discrete = own.simulate_discrete,
                                           .shuffle_seed = own.shuffle_seed,
                                           .validation = own.validation}});
  if (!created) {
    return failed(created);
  }
  *device = handle(*std::move(created));
  return nullptr;
} catch (...) {
  return caught(__func__);
}

weir_status* weir_device_create_null(weir_runtime* runtime, const weir_device_options* options,
                                     weir_device** device) try {
  if (runtime == nullptr || device == nullptr) {
    return null_argument(__func__);
  }
  if (weir_status* unset = unset_size(__func__, options)) {
    return unset;
  }
  const weir_device_options own = read_struct(options);
  Result<Ref<Device>> created =
      weir::create_null_device({.memory_limit = own.memory_limit,
                                .participants = own.threads == 0 ? runtime->pool->threads() : own.threads,
                                .validation = own.validation});
  if (!created) {
    return failed(created);
  }
  *device = handle(*std::move(created));
  return nullptr;
} catch (...) {
  return caught(__func__);
}

weir_device* weir_device_retain(weir_device* device) {
  return retain(device);
}

void weir_device_release(weir_device* device) {
  release(device);
}

weir_status* weir_device_get_info(const weir_device* device, weir_device_info* info) try {
  if (device == nullptr || info == nullptr) {
    return null_argument(__func__);
  }
  if (weir_status* unset = unset_size(__func__, info)) {
    return unset;
  }
  const DeviceInfo& from = object(device)->info();
  weir_device_info own = read_struct<weir_device_info>(nullptr);
  own.name = from.name.c_str();
  own.description = from.description.c_str();
  own.isa = from.isa.c_str();
  own.kind = static_cast<weir_device_kind>(from.kind);
  own.participants = from.participants;
  own.executes = from.executes;
  own.unified_memory = from.unified_memory;
  own.import_host_memory = from.capabilities.import_host_memory;
  own.inline_execution = from.capabilities.inline_execution;
  own.host_calls = from.capabilities.host_calls;
  own.timestamps = from.capabilities.timestamps;
  own.buffer_alignment = from.buffer_alignment;
  own.binding_alignment = from.binding_alignment;
  own.cache_line_bytes = from.cache_line_bytes;
  own.page_bytes = from.page_bytes;
  own.memory_bytes = from.memory_bytes;
  own.max_buffer_bytes = from.limits.buffer_bytes;
  own.max_constant_bytes = from.limits.constant_bytes;
  own.max_tiles = from.limits.tiles;
  own.max_bindings = from.limits.bindings;
  own.max_slots = from.limits.slots;
  own.max_participants = from.limits.participants;
  write_struct(own, info);
  return nullptr;
} catch (...) {
  return caught(__func__);
}

bool weir_device_toggle(const weir_device* device, int32_t index, const char** name, const char** description,
                        bool* on) {
  if (device == nullptr || index < 0 || static_cast<size_t>(index) >= object(device)->info().toggles.size()) {
    return false;
  }
  const weir::DeviceToggle& toggle = object(device)->info().toggles[static_cast<size_t>(index)];
  // Toggles are string literals, so these end with a zero.
  if (name != nullptr) {
    *name = toggle.name.data();
  }
  if (description != nullptr) {
    *description = toggle.description.data();
  }
  if (on != nullptr) {
    *on = toggle.on;
  }
  return true;
}

weir_status* weir_device_memory(const weir_device* device, weir_category category, int64_t* current,
                                int64_t* peak) try {
  if (device == nullptr) {
    return null_argument(__func__);
  }
  if (category < WEIR_ALL_CATEGORIES || category > WEIR_OTHER) {
    return failed(
        Status(StatusCode::kInvalidArgument,
               fmt::format("Memory is asked for by category ({}), and the categories are ({} to {}).",
                           category, int{WEIR_ALL_CATEGORIES}, int{WEIR_OTHER})));
  }
  const weir::MemoryAccount& account = object(device)->memory();
  const weir::MemoryUse use = category == WEIR_ALL_CATEGORIES
                                  ? account.total()
                                  : account.use(static_cast<weir::MemoryCategory>(category));
  if (current != nullptr) {
    *current = use.current;
  }
  if (peak != nullptr) {
    *peak = use.peak;
  }
  return nullptr;
} catch (...) {
  return caught(__func__);
}

int64_t weir_device_memory_limit(const weir_device* device) {
  return device == nullptr ? 0 : object(device)->memory().limit();
}

void weir_device_set_memory_limit(weir_device* device, int64_t bytes) {
  if (device != nullptr) {
    object(device)->memory().set_limit(bytes);
  }
}

void weir_device_visit_holders(const weir_device* device,
                               void (*visit)(void* user, const char* label, weir_category category,
                                             int64_t bytes),
                               void* user) {
  if (device == nullptr || visit == nullptr) {
    return;
  }
  std::vector<weir::MemoryHolder> holders;
  try {
    holders = object(device)->memory().holders();
  } catch (const std::bad_alloc&) {
    visit(user, "(no memory for the list)", WEIR_OTHER, object(device)->memory().total().current);
    return;
  }
  for (const weir::MemoryHolder& holder : holders) {
    visit(user, holder.label.c_str(), static_cast<weir_category>(holder.category), holder.bytes);
  }
}

}  // extern "C"
