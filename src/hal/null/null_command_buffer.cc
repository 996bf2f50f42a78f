// SPDX-License-Identifier: Apache-2.0
#include "hal/null/null_command_buffer.h"

#include "base/checked.h"

namespace weir {

int64_t NullCommandBuffer::bytes(const CommandBufferCounts& counts) {
  return align_up((counts.buffers + counts.kernels) * static_cast<int64_t>(sizeof(RefCounted*)), 64);
}

NullCommandBuffer::Kept::~Kept() {
  for (RefCounted* object : objects) {
    object->release();
  }
}

Result<void> NullCommandBuffer::seal_commands(const Recorder& recording, std::span<std::byte> storage) {
  auto* next = reinterpret_cast<RefCounted**>(storage.data());
  RefCounted** first = next;
  for (const Ref<Buffer>& buffer : recording.buffers()) {
    *next++ = Ref<RefCounted>(buffer).detach();
  }
  for (const Ref<Kernel>& kernel : recording.kernels()) {
    *next++ = Ref<RefCounted>(kernel).detach();
  }
  kept_.objects = {first, next};
  return {};
}

Result<void> NullCommandBuffer::execute(StatusRecord&) {
  if (cancelled()) {
    return fail(StatusCode::kCancelled, "Command buffer '{}' was cancelled while it ran.", label());
  }
  return {};
}

}  // namespace weir
