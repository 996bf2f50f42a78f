// SPDX-License-Identifier: Apache-2.0
//
// DimTable: many Dims as one flat list of operations, which a program stores and evaluates in one pass.
//
//   DimTable table;
//   int32_t height = table.add(value.type.shape[2]);        // while compiling; equal Dims share an entry
//   std::vector<int64_t> values(static_cast<size_t>(table.size()));
//   WEIR_TRY(evaluate(table.entries(), symbols, values));   // once a shape; allocates for errors only
//   int64_t h = values[height];
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "shape/dim.h"

namespace weir {

// One operation; operands are positions before its own. `value` is the constant or the symbol id.
struct DimTableEntry {
  DimOp op = DimOp::kConstant;
  int32_t a = 0;
  int32_t b = 0;
  int32_t c = 0;
  int64_t value = 0;
  double scale = 0;  // kFloorScale
  friend bool operator==(const DimTableEntry&, const DimTableEntry&) = default;
};

class DimTable {
 public:
  // The position of `dim`, adding what is not there yet. Deterministic.
  int32_t add(const Dim& dim);
  int32_t size() const { return static_cast<int32_t>(entries_.size()); }
  std::span<const DimTableEntry> entries() const { return entries_; }

 private:
  // Equal entries share a position, so equal Dims do, however they were built.
  struct EntryHash {
    size_t operator()(const DimTableEntry& entry) const;
  };
  struct EntryEqual {
    bool operator()(const DimTableEntry& a, const DimTableEntry& b) const;
  };
  int32_t intern(const DimTableEntry& entry);
  int32_t operand(const Dim& dim);
  int32_t lower(const Dim::Node& node);

  std::vector<DimTableEntry> entries_;
  std::unordered_map<DimTableEntry, int32_t, EntryHash, EntryEqual> positions_;
  // Expressions already lowered, only to be quick: they are found by address, and `roots_` keeps them alive.
  std::unordered_map<const Dim::Node*, int32_t> lowered_;
  std::vector<Dim> roots_;
};

// Values of all entries, in order. `values` has one place an entry. An operand that does not lie before its
// entry, a symbol out of range, overflow, a zero divisor and an inexact quotient are errors that name the
// entry.
Result<void> evaluate(std::span<const DimTableEntry> entries, std::span<const int64_t> symbols,
                      std::span<int64_t> values);

// The expression that the entries describe, for printing and for re-compiling: entry i over `symbols`.
Result<std::vector<Dim>> to_dims(std::span<const DimTableEntry> entries, const SymbolTable& symbols);

}  // namespace weir
