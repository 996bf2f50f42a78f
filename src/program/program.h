// SPDX-License-Identifier: Apache-2.0
//
// Program: the compiled artefact, as plain structures. program_file.h writes it to and reads it from a .weir
// file.
//
// Every number that can depend on a shape is a position in `dims`, a flat table of expressions over the
// symbols: one pass over the table evaluates the whole program for a shape. In a static program every entry
// is a constant.
//
// A *tensor* is a typed view of a *storage*: a run of bytes with a lifetime in steps. Slices, transposes and
// the parts of a concatenation are tensors that share one storage.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/alignment.h"
#include "op/attribute_stream.h"
#include "op/op.h"
#include "shape/dim_table.h"
#include "tensor/tensor.h"

namespace weir {

// The numbers are stored: append, never renumber.
enum class StorageKind : uint8_t {
  kConstant = 0,    // in the program file
  kPrepared = 1,    // written once by the prepare steps, whenever a request takes a new shape
  kActivation = 2,  // in the arena
  kWorkspace = 3,   // in the arena; lives for one step
  kInput = 4,       // a buffer of its own, or the caller's
  kOutput = 5,      // likewise
  kState = 6,       // kept from run to run
};
std::string_view to_string(StorageKind kind);

struct ProgramSymbol {
  std::string name;
  Range range;
  SymbolSource source;
};

struct ProgramConstraint {
  Constraint::Kind kind = Constraint::Kind::kEqual;
  int32_t a = 0;  // positions in dims
  int32_t b = 0;
  std::string what;
};

struct Storage {
  StorageKind kind = StorageKind::kActivation;
  // Position in dims of the size in bytes. −1 for a workspace whose size follows from the shapes
  // (Implementation::plan).
  int32_t bytes = -1;
  int32_t first_step = 0;  // the first and last step that touches it, inclusive
  int32_t last_step = 0;
  // kConstant: byte offset in the constants section. kActivation and kWorkspace of a static program: byte
  // offset in the arena. Otherwise −1.
  int64_t offset = -1;
  int32_t index = -1;  // kInput, kOutput, kState: which
  // kConstant: what names the layout of packed bytes, "" where they are plain.
  std::string pack_id;
  // kConstant: XXH3-64 of the bytes, checked on request.
  uint64_t hash = 0;
};

struct ProgramTensor {
  std::string name;  // the model's name for the value
  ElementType element_type = ElementType::kFloat32;
  std::vector<int32_t> shape;    // positions in dims
  std::vector<int32_t> strides;  // positions in dims; in elements
  int32_t offset = 0;            // position in dims; in elements from the start of the storage
  int32_t storage = -1;          // −1: a constant that only its packed form represents
};

struct PackedOperand {
  int32_t input = 0;
  int32_t storage = -1;  // kConstant
};

struct Refusal {
  std::string implementation;
  std::string reason;
};

struct Step {
  std::string name;
  std::string origin;  // the model's operators that it does, "Conv+Sigmoid+Mul"
  Op op = Op::kCopy;
  AttributeStream attributes;
  std::vector<int32_t> inputs;  // tensors; −1 absent
  std::vector<int32_t> outputs;
  std::vector<PackedOperand> packed;
  // Acceptable implementations, best first; all share layouts, pack ids and in-place pairs.
  std::vector<std::string> implementations;
  std::vector<Refusal> refused;
  int32_t workspace = -1;  // storage
  bool reference = false;  // only reference implementations are acceptable
};

// The numbers are stored: append, never renumber.
enum class NoticeKind : uint8_t { kInfo = 0, kCost = 1 };

struct ProgramNotice {
  NoticeKind kind = NoticeKind::kInfo;
  std::string what;  // "copy", "layout", "reference", "prepared shape", …
  std::string reason;
  int32_t bytes = -1;  // position in dims, or −1
};

struct ProgramPort {  // an input or an output
  std::string name;
  int32_t tensor = -1;
};

struct Program {
  std::string name;
  std::string target;  // "x86-64"
  std::vector<std::pair<std::string, std::string>> metadata;
  std::vector<ProgramSymbol> symbols;
  std::vector<DimTableEntry> dims;
  std::vector<ProgramConstraint> constraints;
  std::vector<Storage> storages;
  std::vector<ProgramTensor> tensors;
  std::vector<Step> prepare_steps;  // run when a shape is prepared; read constants and prepared storages only
  std::vector<Step> steps;
  std::vector<ProgramPort> inputs;
  std::vector<ProgramPort> outputs;
  std::vector<ProgramNotice> notices;
  // Activation and workspace storages in the order in which a first-fit pass places them well.
  std::vector<int32_t> placement_order;
  // Static programs: bytes of the arena, and of the activations alone. −1 in dynamic ones.
  int64_t arena_bytes = -1;
  int64_t activation_bytes = -1;
  // Lower bound of the arena before fusion and in-place, for the report; −1 where it depends on shapes.
  int64_t unfused_bound_bytes = -1;
  int64_t constant_bytes = 0;  // of the constants section
  uint64_t source_hash = 0;    // of the model's content

  bool is_static() const { return symbols.empty(); }
};

// Everything that a loader relies on: positions in range, operands before their use, lifetimes, storages that
// overlap in the arena while both live, constants inside their section, attributes that fit, at least one
// implementation a step. A program from a file is verified before anything else looks at it.
Result<void> verify(const Program& program);

}  // namespace weir
