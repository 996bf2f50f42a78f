// SPDX-License-Identifier: Apache-2.0
//
// An encoder that keeps commands as a list, checked, for a backend to turn into its own form when the command
// buffer is sealed.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "hal/device.h"
#include "hal/encoder.h"

namespace weir {

struct RecordedBinding {
  bool set = false;
  bool null = false;
  BufferRange range;  // its buffer, if any, is kept alive by the recorder
  Access access = Access::kRead;
};

struct RecordedCommand {
  enum class Kind : uint8_t { kDispatch, kFill, kCopy, kHostCall };
  Kind kind = Kind::kDispatch;
  uint8_t value = 0;  // kFill
  int32_t step = 0;
  int32_t group = 0;         // commands of one group are not ordered among each other
  Kernel* kernel = nullptr;  // kDispatch
  int64_t tiles = 0;         // kDispatch
  size_t first_binding = 0;  // kFill: one, kCopy: source, target
  size_t binding_count = 0;
  size_t first_constant = 0;  // byte offset, a multiple of 64
  size_t constant_bytes = 0;
  int64_t scratch_bytes = 0;
  int64_t parameter_offset = 0;
  HostCall call = nullptr;
  void* user = nullptr;
};

class Recorder final : public Encoder {
 public:
  Recorder(Device& device, const CommandBufferDescriptor& descriptor, int32_t participants);

  void set_step(int32_t step) override { step_ = step; }
  void set_kernel(Kernel& kernel) override;
  void set_buffer(int32_t index, const BufferRange& range, Access access) override;
  void set_null(int32_t index) override;
  void set_constants(std::span<const std::byte> bytes) override;
  void set_scratch(int64_t bytes) override;
  void set_parameters(int64_t offset) override;
  void dispatch(int64_t x, int64_t y, int64_t z) override;
  void barrier() override;
  void update_fence(Fence& fence) override;
  void wait_fence(Fence& fence) override;
  void fill(const BufferRange& target, uint8_t value) override;
  void copy(const BufferRange& source, const BufferRange& target) override;
  void host_call(HostCall call, void* user) override;
  void refuse(Status status) override;

  // Null when there was no mistake.
  const Status* mistake() const { return mistake_ ? &*mistake_ : nullptr; }
  const CommandBufferCounts& counts() const { return counts_; }
  const std::vector<RecordedCommand>& commands() const { return commands_; }
  const std::vector<RecordedBinding>& bindings() const { return bindings_; }
  const std::vector<std::byte>& constants() const { return constants_; }
  const std::vector<Ref<Buffer>>& buffers() const { return buffers_; }
  const std::vector<Ref<Kernel>>& kernels() const { return kernels_; }
  int64_t scratch_bytes() const { return scratch_bytes_; }  // the largest, of one participant
  // Bytes that each slot must at least have behind the offset that is bound; −1: not used.
  const std::vector<int64_t>& slot_bytes() const { return slot_bytes_; }
  const std::vector<uint8_t>& slot_written() const { return slot_written_; }

 private:
  template <typename... Args>
  void refuse(StatusCode code, fmt::format_string<Args...> format, Args&&... args);
  std::optional<BufferRange> checked(std::string_view what, const BufferRange& range, Access access);
  void count_slot(const BufferRange& range, Access access);
  void push_binding(const RecordedBinding& binding);
  void add(RecordedCommand command);

  Device& device_;
  std::string label_;
  int64_t parameter_bytes_;
  CommandBufferCounts counts_;
  std::optional<Status> mistake_;
  std::vector<RecordedCommand> commands_;
  std::vector<RecordedBinding> bindings_;
  std::vector<std::byte> constants_;
  std::vector<Ref<Buffer>> buffers_;
  std::vector<Ref<Kernel>> kernels_;
  std::unordered_map<const void*, size_t> kept_;      // buffers and kernels
  std::unordered_map<const Fence*, int32_t> fences_;  // the group of the last update
  std::vector<int64_t> slot_bytes_;
  std::vector<uint8_t> slot_written_;
  int64_t scratch_bytes_ = 0;

  int32_t step_ = 0;
  int32_t group_ = 0;
  int32_t group_commands_ = 0;
  // Of the next dispatch.
  Kernel* kernel_ = nullptr;
  std::vector<RecordedBinding> current_;
  std::vector<std::byte> current_constants_;
  int64_t current_scratch_ = 0;
  int64_t current_parameters_ = 0;
};

}  // namespace weir
