// SPDX-License-Identifier: Apache-2.0
//
// Encoder: records commands into a command buffer.
//
//   Encoder& encoder = commands->encoder();
//   encoder.set_step(12);
//   encoder.set_kernel(*kernel);                            // clears bindings, constants and scratch
//   encoder.set_buffer(0, at(*arena, 4096, 1024), Access::kRead);
//   encoder.set_buffer(1, at_slot(0, 0, 1024), Access::kWrite);
//   encoder.set_constants(bytes);
//   encoder.dispatch(tiles);
//   encoder.barrier();                                      // what follows sees what came before
//   WEIR_TRY(commands->seal());
//
// Commands with no barrier between them may run in any order and at the same time. A mistake does not fail
// the call: the first is kept, with its step, and CommandBuffer::seal returns it. Not thread-safe; it belongs
// to its command buffer and ends with seal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "hal/buffer.h"
#include "hal/fence.h"
#include "hal/library.h"

namespace weir {

// kWrite: what was there before is lost, and bytes that the command does not write are undefined afterwards.
enum class Access : uint8_t { kRead = 1, kWrite = 2, kReadWrite = 3 };

// A range of bytes of a buffer, or of whatever is bound to a slot when the command buffer is submitted.
struct BufferRange {
  Buffer* buffer = nullptr;
  int32_t slot = -1;  // used when `buffer` is null
  int64_t offset = 0;
  int64_t size = -1;  // −1: to the end
  // For validation: the range holds blocks of `block` bytes, one every `stride` bytes, and the bytes between
  // belong to others (a channel range of a channels-last tensor). 0: all bytes; −1: some bytes of it, in no
  // such pattern.
  int64_t block = 0;
  int64_t stride = 0;
};
inline BufferRange at(Buffer& buffer, int64_t offset = 0, int64_t size = -1) {
  return {.buffer = &buffer, .offset = offset, .size = size};
}
inline BufferRange at_slot(int32_t slot, int64_t offset = 0, int64_t size = -1) {
  return {.slot = slot, .offset = offset, .size = size};
}

// Called on the thread that executes, between other commands.
using HostCall = void (*)(void* user);

class Encoder {
 public:
  virtual ~Encoder() = default;

  // The program step that the commands which follow belong to: for status records, profiles and messages.
  virtual void set_step(int32_t step) = 0;
  virtual void set_kernel(Kernel& kernel) = 0;
  // Every index below the kernel's count must be set, null included.
  virtual void set_buffer(int32_t index, const BufferRange& range, Access access) = 0;
  virtual void set_null(int32_t index) = 0;
  // Copied; the kernel finds them 64-byte aligned. At most DeviceLimits::constant_bytes.
  virtual void set_constants(std::span<const std::byte> bytes) = 0;
  // Bytes of scratch for each participant, if more than the kernel's own.
  virtual void set_scratch(int64_t bytes) = 0;
  // Where in the bound parameter block this dispatch finds its parameters.
  virtual void set_parameters(int64_t offset) = 0;
  // x · y · z tiles, numbered with x fastest. None is no work, and legal.
  virtual void dispatch(int64_t x, int64_t y = 1, int64_t z = 1) = 0;

  // Everything before is complete and visible before anything after starts.
  virtual void barrier() = 0;
  virtual void update_fence(Fence& fence) = 0;
  virtual void wait_fence(Fence& fence) = 0;

  virtual void fill(const BufferRange& target, uint8_t value) = 0;
  // The same size on both sides; they may not overlap.
  virtual void copy(const BufferRange& source, const BufferRange& target) = 0;
  // Only where DeviceCapabilities::host_calls. `user` must live as long as the command buffer.
  virtual void host_call(HostCall call, void* user) = 0;

  // A mistake that the caller has found: seal returns it, if it is the first.
  virtual void refuse(Status status) = 0;
};

}  // namespace weir
