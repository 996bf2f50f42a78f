// SPDX-License-Identifier: Apache-2.0
//
// Lowering: from a graph of values to steps over views of storages. Here it is decided which movements of
// data are views, where a tensor of another layout is needed, and which copies remain (each a Notice).
#pragma once

#include <string>
#include <vector>

#include "compile/compile.h"
#include "compile/select.h"
#include "graph/graph.h"
#include "program/program.h"

namespace weir {

struct LoweredStorage {
  StorageKind kind = StorageKind::kActivation;
  Dim bytes;
  int32_t first_step = -1;
  int32_t last_step = -1;
  int32_t index = -1;           // as Storage::index
  ValueId constant = kNoValue;  // kConstant: whose bytes
  std::string pack_id;          // kPacked, or kConstant that is packed
  PackRequest pack;             // likewise
  int32_t pack_source = -1;     // likewise: the view that is packed
};

struct LoweredView {
  std::string name;
  ElementType type = ElementType::kFloat32;
  Dims shape;
  Dims strides;
  Dim offset;  // in elements
  int32_t storage = -1;
};

struct LoweredStep {
  std::string name;
  std::string origin;
  Op op = Op::kCopy;
  Attributes attributes;
  std::vector<int32_t> inputs;  // views; −1 absent
  std::vector<int32_t> outputs;
  std::vector<PackedOperand> packed;
  Selection selection;
};

// A constant that the model names.
struct LoweredConstant {
  std::string name;
  ValueId value = kNoValue;                  // none where the importer alone read it
  ConstantFate fate = ConstantFate::kPlain;  // kPlain: all its uses are still there
};

struct Lowered {
  std::vector<LoweredStorage> storages;
  std::vector<LoweredView> views;
  std::vector<LoweredStep> prepare_steps;
  std::vector<LoweredStep> steps;
  struct Notice {
    NoticeKind kind;
    std::string what;
    std::string reason;
    Dim bytes;
  };
  std::vector<Notice> notices;
  std::vector<int32_t> outputs;  // views
  std::vector<LoweredConstant> constants;
};

Result<Lowered> lower(const Graph& graph, const CompileOptions& options);

// Lets a step's output take the memory of an operand that dies there, where the implementation allows it.
void alias_in_place(Lowered& lowered);

// First and last step of every storage.
void compute_lifetimes(Lowered& lowered);

// Strides that show `view` with another shape without moving an element; nothing where there are none.
// `sample` gives the symbols values that tell which of two products is larger.
std::optional<Dims> reshape_view(std::span<const Dim> shape, std::span<const Dim> strides,
                                 std::span<const Dim> target, std::span<const int64_t> sample);

// Values for the symbols: those of `typical`, else 1 for a leading dimension and a few hundred for others.
std::vector<int64_t> sample_symbols(const SymbolTable& symbols, std::span<const int64_t> typical);

}  // namespace weir
