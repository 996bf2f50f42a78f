// SPDX-License-Identifier: Apache-2.0
//
// RequestStates: what a request keeps from run to run. Two buffers a state: a run reads one and writes the
// other, and they change places when it has completed. Nothing is copied, and a run that fails or is
// cancelled leaves the state as it was.
//
//   WEIR_TRY(states.prepare(specs, lock));             // zero where the extents changed
//   WEIR_TRY(states.bind(commands, slots.states));     // before each run: updates slots, allocates nothing
//   states.advance();                                  // the run has completed
//
// Used by the thread that uses the request, or between runs.
#pragma once

#include <cstdint>
#include <span>

#include "hal/device.h"
#include "program/program.h"
#include "tensor/tensor.h"

namespace weir {

class RequestStates {
 public:
  // The two buffers of a state.
  struct Pair {
    Ref<Buffer> before;
    Ref<Buffer> after;
    TensorSpec spec;
    bool ready = false;
  };

  RequestStates() = default;
  // One pair a state. `queue` is used where the host does not see the device's memory. All outlive this.
  RequestStates(const Program& program, Device& device, Queue& queue, std::span<Pair> pairs)
      : program_(&program), device_(&device), queue_(&queue), pairs_(pairs) {}

  // Where the host sees no Private memory, states are Private and everything below goes through staging.
  static StorageMode mode(const Device& device);

  // One spec a state. A state whose extents differ from those before becomes zero, the others stay. After an
  // error the states that were not reached are zero after the next prepare.
  Result<void> prepare(std::span<const TensorSpec> specs, bool lock);
  // After a prepare that failed: a state that has grown beyond `planned` (bytes of one buffer), or has lost a
  // buffer, begins anew.
  void forget_growth(std::span<int64_t> planned);
  Result<void> bind(CommandBuffer& commands, int32_t first_slot);
  void advance();

  Result<void> reset();
  // Header and contents.
  int64_t saved_bytes() const;
  Result<void> save(std::span<std::byte> target);
  // Refuses bytes of another size, and of states of other names, types or extents; then nothing has changed.
  Result<void> restore(std::span<const std::byte> source);

  // What the device charges for the buffers.
  int64_t counted() const;

 private:
  Result<void> clear(Buffer& buffer);
  Result<void> write(Buffer& buffer, std::span<const std::byte> bytes);
  Result<void> read(Buffer& buffer, std::span<std::byte> bytes);
  // Moves bytes between the host and a buffer that it does not see.
  Result<void> stage(Buffer& buffer, std::span<const std::byte> in, std::span<std::byte> out);
  Result<void> submit(CommandBuffer& commands);
  // Of names, types and extents.
  uint64_t layout_hash() const;

  const Program* program_ = nullptr;
  Device* device_ = nullptr;
  Queue* queue_ = nullptr;
  std::span<Pair> pairs_;
};

}  // namespace weir
