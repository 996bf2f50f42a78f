// SPDX-License-Identifier: Apache-2.0
//
// A sealed command buffer of the CPU: one block that holds, one after another,
//   commands     what to call and where its operands lie
//   bindings     pointers, patched when a slot is bound
//   slot uses    which binding to patch, and the offset to add, grouped by slot
//   stages       ranges of commands between barriers
//   pieces       for each command and share, how many pieces of its stage's share come before; and a row for
//                each stage's totals
//   constants    of all commands, 64-byte aligned each
//   references   to buffers and kernels
//   profile      timestamps
//
// A dispatch's tiles are dealt to `participants` shares of contiguous tiles, a share to pieces that halve (½,
// ¼, ⅛, ⅛): few calls, and little left to wait for at the end.
#pragma once

#include <span>
#include <vector>

#include "base/thread_pool.h"
#include "hal/software/software_command_buffer.h"

namespace weir {

class CpuDevice;

class CpuCommandBuffer final : public SoftwareCommandBuffer, private TeamJob {
 public:
  CpuCommandBuffer(CpuDevice& device, const CommandBufferDescriptor& descriptor, int32_t participants);
  ~CpuCommandBuffer() override;

  // Bytes of a sealed command buffer.
  static int64_t bytes(const CommandBufferCounts& counts);

  std::span<const CommandProfile> profile() const override { return profile_; }
  std::span<const ParticipantProfile> participant_profile() const override { return participant_profile_; }

 private:
  struct Command {
    CpuKernelFunction function = nullptr;
    void* user = nullptr;
    const std::byte* constants = nullptr;
    std::byte* const* bindings = nullptr;
    int64_t tiles = 0;
    int64_t parameter_offset = 0;
    int32_t binding_count = 0;
    int32_t step = 0;
    int32_t recorded = 0;  // position in the recording
  };
  struct SlotUse {
    std::byte** binding = nullptr;
    int64_t offset = 0;
  };
  struct Stage {
    int32_t first = 0;
    int32_t count = 0;
  };
  struct Layout;

  Result<void> seal_commands(const Recorder& recording, std::span<std::byte> storage) override;
  void place_commands(const Recorder& recording, std::span<std::byte* const> bindings,
                      const std::byte* constants, std::byte* blit_constants);
  void place_bindings(const Recorder& recording, std::span<std::byte*> bindings, std::span<SlotUse> uses);
  void place_stages(const Recorder& recording);
  void shuffle(uint64_t seed);
  void slot_bound(int32_t slot, std::byte* bytes) override;
  void scratch_bound(std::byte* bytes) override { scratch_ = bytes; }
  void parameters_bound(std::byte* bytes) override { parameters_ = bytes; }
  Result<void> execute(StatusRecord& record) override;

  int32_t pieces(int32_t stage, int32_t participant) const override;
  void run_piece(int32_t stage, int32_t participant, int32_t piece, int32_t member) override;
  void run_stage(int32_t stage) override;
  int32_t next_stage(int32_t stage) override;
  void call(const Command& command, int64_t begin, int64_t end, int32_t member);
  void clear_profile();
  void sum_profile();

  CpuDevice* device_;
  std::byte* scratch_ = nullptr;
  std::byte* parameters_ = nullptr;
  StatusRecord* record_ = nullptr;
  std::span<Command> commands_;
  std::span<SlotUse> slot_uses_;
  std::span<int32_t> slot_ends_;  // slot i's uses end at [i], and begin at [i − 1]
  std::span<Stage> stages_;
  std::span<uint16_t> before_;  // [command · participants + share]
  std::span<uint16_t> totals_;  // [stage · participants + share]
  std::span<Buffer*> buffers_;
  std::span<Kernel*> kernels_;
  std::span<CommandProfile> profile_;
  std::span<ParticipantProfile> participant_profile_;  // [recorded command · participants + member]
  std::atomic<bool> stopped_{false};                   // cancelled on the way: something was left out
};

}  // namespace weir
