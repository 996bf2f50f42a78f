// SPDX-License-Identifier: Apache-2.0
#include "shape/dim_table.h"

#include <algorithm>
#include <bit>

#include "shape/dim_arithmetic.h"
#include "shape/dim_node.h"
#include "shape/dim_size.h"

namespace weir {
namespace {

// The operands that an entry has lie before it.
bool operands_precede(const DimTableEntry& entry, int count, uint32_t position) {
  return (count < 1 || static_cast<uint32_t>(entry.a) < position) &&
         (count < 2 || static_cast<uint32_t>(entry.b) < position) &&
         (count < 3 || static_cast<uint32_t>(entry.c) < position);
}

Status structure_status(const DimTableEntry& entry, size_t position) {
  int count = operand_count(entry.op);
  if (count < 0) {
    return {StatusCode::kInvalidArgument,
            fmt::format("Entry ({}) of the dimension table has an operation ({}) that does not exist.",
                        position, static_cast<int>(entry.op))};
  }
  int32_t operand = entry.a;
  for (int i = 0; i < count; ++i) {
    operand = i == 0 ? entry.a : i == 1 ? entry.b : entry.c;
    if (operand < 0 || static_cast<size_t>(operand) >= position) {
      break;
    }
  }
  return {StatusCode::kInvalidArgument,
          fmt::format("Entry ({}) of the dimension table has operand ({}), which does not lie before it.",
                      position, operand)};
}

}  // namespace

size_t DimTable::EntryHash::operator()(const DimTableEntry& entry) const {
  uint64_t hash = static_cast<uint64_t>(entry.op);
  auto mix = [&hash](uint64_t value) {
    hash = (hash ^ value) * 0x9e3779b97f4a7c15;
    hash ^= hash >> 32;
  };
  mix(static_cast<uint32_t>(entry.a));
  mix(static_cast<uint32_t>(entry.b));
  mix(static_cast<uint32_t>(entry.c));
  mix(static_cast<uint64_t>(entry.value));
  mix(std::bit_cast<uint64_t>(entry.scale));
  return static_cast<size_t>(hash);
}

bool DimTable::EntryEqual::operator()(const DimTableEntry& a, const DimTableEntry& b) const {
  return a.op == b.op && a.a == b.a && a.b == b.b && a.c == b.c && a.value == b.value &&
         std::bit_cast<uint64_t>(a.scale) == std::bit_cast<uint64_t>(b.scale);  // a NaN equals itself
}

int32_t DimTable::intern(const DimTableEntry& entry) {
  auto [found, is_new] = positions_.try_emplace(entry, size());
  if (is_new) {
    entries_.push_back(entry);
  }
  return found->second;
}

int32_t DimTable::operand(const Dim& dim) {
  return dim.is_constant() ? intern({.op = DimOp::kConstant, .value = dim.constant()})
                           : lowered_.at(dim.node());
}

// The entry of `node`, whose children are lowered.
int32_t DimTable::lower(const Dim::Node& node) {
  if (node.is_symbol()) {
    return intern({.op = DimOp::kSymbol, .value = node.symbol->id});
  }
  if (!node.is_polynomial) {
    DimTableEntry entry{.op = node.op, .scale = node.scale};
    int count = operand_count(node.op);
    entry.a = operand(node.operands[0]);
    entry.b = count > 1 ? operand(node.operands[1]) : 0;
    entry.c = count > 2 ? operand(node.operands[2]) : 0;
    return intern(entry);
  }
  int32_t sum = -1;
  for (const Term& term : node.polynomial.terms) {
    int32_t product = -1;
    for (const NodeRef& atom : term.atoms) {
      int32_t factor = lowered_.at(atom.get());
      product = product < 0 ? factor : intern({.op = DimOp::kMul, .a = product, .b = factor});
    }
    if (term.coefficient != 1) {
      product = intern({.op = DimOp::kMul, .a = product, .b = operand(term.coefficient)});
    }
    sum = sum < 0 ? product : intern({.op = DimOp::kAdd, .a = sum, .b = product});
  }
  if (node.polynomial.constant != 0) {
    sum = intern({.op = DimOp::kAdd, .a = sum, .b = operand(node.polynomial.constant)});
  }
  return sum;
}

int32_t DimTable::add(const Dim& dim) {
  if (dim.is_constant()) {
    return operand(dim);
  }
  if (auto known = lowered_.find(dim.node()); known != lowered_.end()) {
    return known->second;
  }
  roots_.push_back(dim);
  std::vector<const Dim::Node*> pending{dim.node()};
  while (!pending.empty()) {
    const Dim::Node* node = pending.back();
    if (lowered_.contains(node)) {
      pending.pop_back();
      continue;
    }
    size_t before = pending.size();
    for_each_child(*node, [&](const NodeRef& child) {
      if (!lowered_.contains(child.get())) {
        pending.push_back(child.get());
      }
    });
    std::reverse(pending.begin() + static_cast<ptrdiff_t>(before), pending.end());  // the first child first
    if (pending.size() == before) {
      pending.pop_back();
      lowered_.emplace(node, lower(*node));
    }
  }
  return lowered_.at(dim.node());
}

Result<void> evaluate(std::span<const DimTableEntry> entries, std::span<const int64_t> symbols,
                      std::span<int64_t> values) {
  if (values.size() != entries.size() || entries.size() > INT32_MAX) {
    return fail(StatusCode::kInvalidArgument,
                "The dimension table has ({}) entries, and there is room for ({}) values.", entries.size(),
                values.size());
  }
  for (size_t i = 0; i < entries.size(); ++i) {
    const DimTableEntry& entry = entries[i];
    if (entry.op == DimOp::kConstant) {
      values[i] = entry.value;
      continue;
    }
    DimFault fault = DimFault::kNoSymbol;
    int64_t a = entry.value;
    auto b = static_cast<int64_t>(symbols.size());
    if (entry.op == DimOp::kSymbol) {
      if (static_cast<uint64_t>(entry.value) < symbols.size()) {
        values[i] = symbols[static_cast<size_t>(entry.value)];
        continue;
      }
    } else {
      int count = operand_count(entry.op);
      if (count < 0 || !operands_precede(entry, count, static_cast<uint32_t>(i))) [[unlikely]] {
        return std::unexpected(structure_status(entry, i));
      }
      a = values[static_cast<size_t>(entry.a)];
      b = count > 1 ? values[static_cast<size_t>(entry.b)] : 0;
      int64_t c = count > 2 ? values[static_cast<size_t>(entry.c)] : 0;
      fault = apply(entry.op, a, b, c, entry.scale, values[i]);
    }
    if (fault != DimFault::kNone) [[unlikely]] {
      return std::unexpected(
          fault_status(fault, entry.op, fmt::format("Entry ({}) of the dimension table", i), a, b));
    }
  }
  return {};
}

Result<std::vector<Dim>> to_dims(std::span<const DimTableEntry> entries, const SymbolTable& symbols) {
  std::vector<Dim> dims;
  dims.reserve(entries.size());
  int64_t work = 0;
  for (size_t i = 0; i < entries.size(); ++i) {
    const DimTableEntry& entry = entries[i];
    if (entry.op == DimOp::kConstant) {
      dims.emplace_back(entry.value);
      continue;
    }
    if (entry.op == DimOp::kSymbol) {
      if (static_cast<uint64_t>(entry.value) >= symbols.size()) {
        return std::unexpected(fault_status(DimFault::kNoSymbol, entry.op,
                                            fmt::format("Entry ({}) of the dimension table", i), entry.value,
                                            static_cast<int64_t>(symbols.size())));
      }
      dims.push_back(DimBuilder::symbol(symbols.symbols()[static_cast<size_t>(entry.value)]));
      continue;
    }
    int count = operand_count(entry.op);
    if (count < 0 || !operands_precede(entry, count, static_cast<uint32_t>(i))) {
      return std::unexpected(structure_status(entry, i));
    }
    auto operand = [&](int index, int32_t position) {
      return index < count ? dims[static_cast<size_t>(position)] : Dim();
    };
    dims.push_back(DimBuilder::apply(entry.op, operand(0, entry.a), operand(1, entry.b), operand(2, entry.c),
                                     entry.scale));
    const int64_t size = size_of(dims.back());
    if (size > kMaxTableExpression || size > kMaxTableExpressions - work) {
      return fail(StatusCode::kResourceExhausted,
                  "Entry ({}) of the dimension table is an expression of ({}) operations, and ({}) for one "
                  "and ({}) for "
                  "all are the most.",
                  i, size, kMaxTableExpression, kMaxTableExpressions);
    }
    work += size;
  }
  return dims;
}

}  // namespace weir
