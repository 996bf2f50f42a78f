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
#include <span>
#include <string>
#include <string_view>
#include <utility>
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
  kState = 6,       // kept from run to run, see ProgramState
  kPacked = 7,      // made when a session is opened, from the plain constant that a step names beside it
};
std::string_view to_string(StorageKind kind);

struct ProgramSymbol {
  std::string name;
  Range range;
  SymbolSource source;
  friend bool operator==(const ProgramSymbol&, const ProgramSymbol&) = default;
};

struct ProgramConstraint {
  Constraint::Kind kind = Constraint::Kind::kEqual;
  int32_t a = 0;  // positions in dims
  int32_t b = 0;
  std::string what;
  friend bool operator==(const ProgramConstraint&, const ProgramConstraint&) = default;
};

struct Storage {
  StorageKind kind = StorageKind::kActivation;
  // Position in dims of the size in bytes. −1 for a workspace whose size follows from the shapes
  // (Implementation::plan).
  int32_t bytes = -1;
  // The first and last step that touches it, inclusive; 0 and 0 where none does. Of no meaning for kConstant
  // and kPrepared, nor for the workspace of a prepare step: no run is under way while those lie in the arena.
  int32_t first_step = 0;
  int32_t last_step = 0;
  // kConstant: byte offset in the constants section. kActivation and kWorkspace of a static program: byte
  // offset in the arena. Otherwise −1.
  int64_t offset = -1;
  // kInput, kOutput: which. kState: 2·i where it holds state i as a run begins, 2·i + 1 where it takes what
  // the run leaves.
  int32_t index = -1;
  // kConstant: what names the layout of packed bytes, "" where they are plain. kPacked: the layout that the
  // session is to make.
  std::string pack_id;
  // kConstant: XXH3-64 of the bytes, checked on request.
  uint64_t hash = 0;
  friend bool operator==(const Storage&, const Storage&) = default;
};

struct ProgramTensor {
  std::string name;  // the model's name for the value
  ElementType element_type = ElementType::kFloat32;
  std::vector<int32_t> shape;    // positions in dims
  std::vector<int32_t> strides;  // positions in dims; in elements
  int32_t offset = 0;            // position in dims; in elements from the start of the storage
  int32_t storage = -1;          // −1: a constant that only its packed form represents
  friend bool operator==(const ProgramTensor&, const ProgramTensor&) = default;
};

struct PackedOperand {
  int32_t input = 0;
  // kConstant: the program holds it so. kPacked: the step's tensor is the plain constant, which an
  // implementation that wants it packed packs when a session is opened, and another one reads as it is.
  int32_t storage = -1;
  friend bool operator==(const PackedOperand&, const PackedOperand&) = default;
};

struct Refusal {
  std::string implementation;
  std::string reason;
  friend bool operator==(const Refusal&, const Refusal&) = default;
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
  friend bool operator==(const Step&, const Step&) = default;
};

// The numbers are stored: append, never renumber.
enum class NoticeKind : uint8_t { kInfo = 0, kCost = 1 };

struct ProgramNotice {
  NoticeKind kind = NoticeKind::kInfo;
  std::string what;  // "copy", "layout", "reference", "prepared shape", …
  std::string reason;
  int32_t bytes = -1;  // position in dims, or −1
  friend bool operator==(const ProgramNotice&, const ProgramNotice&) = default;
};

// What became of a constant of the model. The numbers are stored: append, never renumber.
enum class ConstantFate : uint8_t {
  kPlain = 0,       // a session may be given another value for it
  kPackedOnly = 1,  // the program holds its bytes only as kernels read them
  kFolded = 2,      // others were computed from it when the program was compiled
  kImported = 3,    // the importer read its elements: a shape, an axis, a number
  kUnused = 4,      // no step reads it
};
std::string_view to_string(ConstantFate fate);

struct ProgramConstant {
  std::string name;
  ConstantFate fate = ConstantFate::kPlain;
  int32_t tensor = -1;  // kPlain: all of its storage, row-major; every step that depends on it reads that
  friend bool operator==(const ProgramConstant&, const ProgramConstant&) = default;
};

struct ProgramPort {  // an input or an output
  std::string name;
  int32_t tensor = -1;
  friend bool operator==(const ProgramPort&, const ProgramPort&) = default;
};

// What a request keeps from run to run. Steps read `before` and write `after`, dense tensors of one type and
// shape in storages of their own; when a run has completed the two change places, and when it failed or was
// cancelled they do not, so a state is always that of the last completed run.
struct ProgramState {
  std::string name;    // of the model's input
  std::string output;  // of the model's output that it is fed from
  int32_t before = -1;
  int32_t after = -1;
  friend bool operator==(const ProgramState&, const ProgramState&) = default;
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
  std::vector<ProgramState> states;
  std::vector<ProgramNotice> notices;
  std::vector<ProgramConstant> constants;  // by the names that the model gives them, each once
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
  friend bool operator==(const Program&, const Program&) = default;
};

// The program's symbols, in their order: what to_dims() makes expressions of its dims over.
SymbolTable symbol_table(const Program& program);

// Everything that a loader relies on: positions in range, operands before their use, lifetimes, storages that
// overlap in the arena while both live, constants inside their section, attributes that fit, at least one
// implementation a step, and verify_shape for a static program. A program from a file is verified before
// anything else looks at it.
Result<void> verify(const Program& program);

// What depends on the shape: no extent or size is negative, every tensor lies inside its storage, states are
// dense, and no step writes an element twice. `dims` are the values of the program's dims. Whoever prepares a
// request of a dynamic program calls it with the numbers of the shape. Allocates for errors only. The program
// is verified.
Result<void> verify_shape(const Program& program, std::span<const int64_t> dims);

// The values of the program's dims for one value a symbol: what preparing a shape begins with. Symbols
// outside their ranges, constraints that do not hold and what verify_shape finds are errors. `dims` has one
// place a dimension; allocates for errors only.
Result<void> evaluate_shape(const Program& program, std::span<const int64_t> symbols,
                            std::span<int64_t> dims);

}  // namespace weir
