// SPDX-License-Identifier: Apache-2.0
//
// ProgramReport: the memory and the steps of a program for one shape, line by line, read without running it.
//
//   WEIR_ASSIGN(ProgramReport r, report(program, {}));             // a static program
//   WEIR_ASSIGN(ProgramReport s, report(program, shape, memory));  // a dynamic one, as a session placed it
//   r.totals.activation + r.totals.workspace == r.peak_bytes       // bytes of the arena
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "program/program.h"

namespace weir {

// One value, or one workspace.
struct TensorReport {
  std::string name;  // a workspace: "workspace of <step>"
  StorageKind kind = StorageKind::kActivation;
  int32_t storage = -1;
  int64_t offset = -1;     // bytes in the arena or in the constants section; −1: it has a buffer of its own
  int64_t bytes = 0;       // of the storage where `alias_of` is −1, else what this view of it spans
  int32_t first_step = 0;  // of the storage
  int32_t last_step = 0;
  int32_t alias_of = -1;  // position of the line that stands for the storage, where this is another
};

struct StepReport {
  std::string name;
  std::string origin;
  std::string op;
  std::vector<int32_t> reads;  // positions in `tensors`; an absent operand is left out
  std::vector<int32_t> writes;
  std::vector<std::string> implementations;  // acceptable, best first
  std::vector<Refusal> refused;
  bool reference = false;
  int64_t workspace_bytes = 0;
};

// A pair: what a run reads of it and what the run leaves.
struct StateReport {
  std::string name;
  std::string output;
  int64_t bytes = 0;   // of one of the two
  int32_t before = 0;  // positions in `tensors`
  int32_t after = 0;
};

struct NoticeReport {
  NoticeKind kind = NoticeKind::kInfo;
  std::string what;
  std::string reason;
  int64_t bytes = -1;  // −1 where it has none
};

struct KindTotals {      // bytes
  int64_t constant = 0;  // of the constants section
  int64_t packed = 0;    // these five: each storage rounded up to kStorageAlignment
  int64_t prepared = 0;
  int64_t input = 0;
  int64_t output = 0;
  int64_t state = 0;       // both tensors of every pair
  int64_t activation = 0;  // the peak of the activations alone
  int64_t workspace = 0;   // what the arena has beyond that
};

struct ProgramReport {
  std::string name;
  std::string target;
  std::vector<TensorReport> tensors;  // by storage, in order of the program; each storage's own line first
  std::vector<StepReport> prepare_steps;
  std::vector<StepReport> steps;
  std::vector<StateReport> states;
  std::vector<NoticeReport> notices;
  KindTotals totals;
  // Of all storages of the arena, as if none shared memory, each rounded up to kStorageAlignment as the arena
  // has them: no peak is larger.
  int64_t sum_bytes = 0;
  int64_t peak_bytes = 0;            // of the arena
  int64_t lower_bound_bytes = 0;     // no placement of this order of steps is smaller
  int64_t unfused_bound_bytes = -1;  // the same before fusion and in-place; −1 where it depends on the shape
  bool workspaces_known = true;  // false: a workspace is sized by its implementation and counts as none here
};

// What a session knows of one shape and the program does not say.
struct ShapeMemory {
  std::span<const int64_t> storage_bytes;   // one a storage, or none; only workspaces sized later are taken
  std::span<const int64_t> storage_offset;  // one a storage, or none: placed here in the program's order
  int64_t arena_bytes = -1;                 // with storage_offset
};

// `symbols` has one value a symbol. The program is verified; a shape that it does not take is an error.
Result<ProgramReport> report(const Program& program, std::span<const int64_t> symbols,
                             const ShapeMemory& memory = {});

}  // namespace weir
