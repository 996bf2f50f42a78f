// SPDX-License-Identifier: Apache-2.0
//
// One shape of a request: what is known of it, and the work recorded for it.
#pragma once

#include "runtime/measure.h"
#include "runtime/session.h"

namespace weir {

struct Request::PreparedShape {
  struct Tables {
    HostArray<int64_t> symbols;
    HostArray<TensorSpec> inputs;
    HostArray<TensorSpec> outputs;
    HostArray<TensorSpec> states;

    template <typename Memory>
    void place(Memory& memory, const Program& program) {
      memory.place(symbols, program.symbols.size());
      memory.place(inputs, program.inputs.size());
      memory.place(outputs, program.outputs.size());
      memory.place(states, program.states.size());
    }
  };

  // Of the tables and of the recording, which is a block of its own: a queue may hold it a little longer.
  static int64_t host_bytes(const Program& program, const Device& device, const CommandBufferCounts& counts) {
    return weir::host_bytes<Tables>(program) + device.command_buffer_bytes(counts);
  }
  int64_t host_bytes() const { return block.bytes() + commands->host_bytes(); }

  HostBlock block;
  Tables tables;
  Session::PlannedBytes planned;
  int64_t arena_bytes = 0;
  int64_t activation_bytes = 0;
  int64_t scratch_bytes = 0;  // of all participants
  int64_t prepared_bytes = 0;
  Ref<CommandBuffer> commands;
  Ref<Buffer> prepared;                  // null where the program has no prepared constants
  std::vector<TracedStep> traced_steps;  // empty where nothing is traced, and outside the plan like the trace
};

}  // namespace weir
