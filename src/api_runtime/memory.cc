// SPDX-License-Identifier: Apache-2.0
//
// The C interface: buffers, imports, heaps.
#include "api_runtime/handles.h"

using namespace weir::api;
using weir::Buffer;
using weir::BufferUsage;
using weir::Heap;
using weir::MemoryCategory;
using weir::Ref;
using weir::RefCounted;
using weir::Result;
using weir::Status;
using weir::StatusCode;
using weir::StorageMode;

namespace {

// Enumerations arrive as numbers, so they are checked.
weir_status* check(const char* label, weir_storage_mode mode, weir_usage usage, weir_category category) {
  const auto wrong = [&](std::string_view what, int64_t given, int64_t most) {
    return failed(Status(StatusCode::kInvalidArgument,
                         fmt::format("'{}' has the {} ({}), and the known ones are (0 to {}).", text(label),
                                     what, given, most)));
  };
  if (mode < WEIR_SHARED || mode > WEIR_MANAGED) {
    return wrong("storage mode", mode, WEIR_MANAGED);
  }
  if (usage > static_cast<weir_usage>(BufferUsage::kAll)) {
    return wrong("usage", usage, static_cast<int64_t>(BufferUsage::kAll));
  }
  if (category < 0 || category > WEIR_OTHER) {
    return wrong("category", category, WEIR_OTHER);
  }
  return nullptr;
}

BufferUsage usage_of(weir_usage usage) {
  return usage == 0 ? BufferUsage::kAll : static_cast<BufferUsage>(usage);
}

// Runs the caller's release function when the last reference is dropped.
class Release final : public RefCounted {
 public:
  Release(void (*function)(void*), void* user) : function_(function), user_(user) {}
  ~Release() override {
    if (armed) {
      function_(user_);
    }
  }
  bool armed = false;  // set once the import has succeeded

 private:
  void (*function_)(void*);
  void* user_;
};

}  // namespace

extern "C" {

weir_status* weir_buffer_create(weir_device* device, const weir_buffer_desc* desc, weir_buffer** buffer) try {
  if (device == nullptr || desc == nullptr || buffer == nullptr) {
    return null_argument(__func__);
  }
  if (weir_status* unset = unset_size(__func__, desc)) {
    return unset;
  }
  const weir_buffer_desc own = read_struct(desc);
  if (weir_status* status = check(own.label, own.mode, own.usage, own.category)) {
    return status;
  }
  Result<Ref<Buffer>> created =
      object(device)->create_buffer({.size = own.size,
                                     .mode = static_cast<StorageMode>(own.mode),
                                     .usage = usage_of(own.usage),
                                     .category = static_cast<MemoryCategory>(own.category),
                                     .alignment = own.alignment,
                                     .prefault = !own.lazy_pages,
                                     .lock = own.lock_pages,
                                     .huge_pages = own.huge_pages,
                                     .label = text(own.label)});
  if (!created) {
    return failed(created);
  }
  *buffer = handle(*std::move(created));
  return nullptr;
} catch (...) {
  return caught(__func__);
}

weir_buffer* weir_buffer_retain(weir_buffer* buffer) {
  return retain(buffer);
}

void weir_buffer_release(weir_buffer* buffer) {
  release(buffer);
}

int64_t weir_buffer_size(const weir_buffer* buffer) {
  return buffer == nullptr ? 0 : object(buffer)->size();
}

weir_storage_mode weir_buffer_storage_mode(const weir_buffer* buffer) {
  return buffer == nullptr ? WEIR_SHARED : static_cast<weir_storage_mode>(object(buffer)->mode());
}

const char* weir_buffer_label(const weir_buffer* buffer) {
  return buffer == nullptr ? "" : object(buffer)->label().c_str();
}

weir_status* weir_buffer_contents(weir_buffer* buffer, void** bytes) try {
  if (buffer == nullptr || bytes == nullptr) {
    return null_argument(__func__);
  }
  Result<std::span<std::byte>> contents = object(buffer)->contents();
  if (!contents) {
    return failed(contents);
  }
  *bytes = contents->data();
  return nullptr;
} catch (...) {
  return caught(__func__);
}

weir_status* weir_buffer_read_contents(const weir_buffer* buffer, const void** bytes) try {
  if (buffer == nullptr || bytes == nullptr) {
    return null_argument(__func__);
  }
  Result<std::span<const std::byte>> contents = object(buffer)->read_contents();
  if (!contents) {
    return failed(contents);
  }
  *bytes = contents->data();
  return nullptr;
} catch (...) {
  return caught(__func__);
}

weir_status* weir_buffer_did_modify(weir_buffer* buffer, int64_t offset, int64_t size) try {
  if (buffer == nullptr) {
    return null_argument(__func__);
  }
  Result<void> result = object(buffer)->did_modify(offset, size);
  return result ? nullptr : failed(result);
} catch (...) {
  return caught(__func__);
}

weir_status* weir_buffer_synchronize(weir_buffer* buffer, int64_t offset, int64_t size) try {
  if (buffer == nullptr) {
    return null_argument(__func__);
  }
  Result<void> result = object(buffer)->synchronize(offset, size);
  return result ? nullptr : failed(result);
} catch (...) {
  return caught(__func__);
}

weir_import_verdict weir_device_import_verdict(const weir_device* device, const void* pointer, int64_t size) {
  return device == nullptr ? WEIR_IMPORT_MEMORY_NOT_SHARED
                           : static_cast<weir_import_verdict>(object(device)->import_verdict(pointer, size));
}

const char* weir_import_verdict_text(weir_import_verdict verdict) {
  return verdict < WEIR_IMPORT_USABLE || verdict > WEIR_IMPORT_ALIGNMENT
             ? ""
             : to_string(static_cast<weir::ImportVerdict>(verdict)).data();
}

weir_status* weir_buffer_import(weir_device* device, const weir_import_desc* desc, weir_buffer** buffer) try {
  if (device == nullptr || desc == nullptr || buffer == nullptr) {
    return null_argument(__func__);
  }
  if (weir_status* unset = unset_size(__func__, desc)) {
    return unset;
  }
  const weir_import_desc own = read_struct(desc);
  if (weir_status* status = check(own.label, WEIR_SHARED, own.usage, WEIR_OTHER)) {
    return status;
  }
  Ref<Release> release;
  if (own.release != nullptr) {
    release = weir::make_ref<Release>(own.release, own.user);
  }
  Result<Ref<Buffer>> created = object(device)->import_buffer({.pointer = own.pointer,
                                                               .size = own.size,
                                                               .read_only = own.read_only,
                                                               .usage = usage_of(own.usage),
                                                               .label = text(own.label),
                                                               .keep_alive = release});
  if (!created) {
    return failed(created);
  }
  if (release) {
    release->armed = true;
  }
  *buffer = handle(*std::move(created));
  return nullptr;
} catch (...) {
  return caught(__func__);
}

weir_status* weir_heap_create(weir_device* device, const weir_heap_desc* desc, weir_heap** heap) try {
  if (device == nullptr || desc == nullptr || heap == nullptr) {
    return null_argument(__func__);
  }
  if (weir_status* unset = unset_size(__func__, desc)) {
    return unset;
  }
  const weir_heap_desc own = read_struct(desc);
  if (weir_status* status = check(own.label, own.mode, 0, own.category)) {
    return status;
  }
  Result<Ref<Heap>> created =
      object(device)->create_heap({.size = own.size,
                                   .mode = static_cast<StorageMode>(own.mode),
                                   .category = static_cast<MemoryCategory>(own.category),
                                   .prefault = !own.lazy_pages,
                                   .lock = own.lock_pages,
                                   .huge_pages = own.huge_pages,
                                   .label = text(own.label)});
  if (!created) {
    return failed(created);
  }
  *heap = handle(*std::move(created));
  return nullptr;
} catch (...) {
  return caught(__func__);
}

weir_heap* weir_heap_retain(weir_heap* heap) {
  return retain(heap);
}

void weir_heap_release(weir_heap* heap) {
  release(heap);
}

int64_t weir_heap_size(const weir_heap* heap) {
  return heap == nullptr ? 0 : object(heap)->size();
}

weir_status* weir_heap_create_buffer(weir_heap* heap, int64_t offset, int64_t size, weir_usage usage,
                                     const char* label, weir_buffer** buffer) try {
  if (heap == nullptr || buffer == nullptr) {
    return null_argument(__func__);
  }
  if (weir_status* status = check(label, WEIR_SHARED, usage, WEIR_OTHER)) {
    return status;
  }
  Result<Ref<Buffer>> created = object(heap)->create_buffer(
      {.offset = offset, .size = size, .usage = usage_of(usage), .mode = std::nullopt, .label = text(label)});
  if (!created) {
    return failed(created);
  }
  *buffer = handle(*std::move(created));
  return nullptr;
} catch (...) {
  return caught(__func__);
}

}  // extern "C"
