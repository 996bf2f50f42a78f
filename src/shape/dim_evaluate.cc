// SPDX-License-Identifier: Apache-2.0
//
// The value of a Dim, and a Dim with symbols replaced.
#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "shape/dim.h"
#include "shape/dim_arithmetic.h"
#include "shape/dim_node.h"
#include "shape/dim_table.h"

namespace weir {
namespace {

// Expressions within these bounds are evaluated where they lie; larger ones go through a table, which visits
// shared parts once and needs no stack. Both do the same steps, so they fail for the same values;
// where several steps fail, they may name another one.
constexpr int32_t kMaxDepth = 64;
constexpr int64_t kMaxWeight = 512;

struct Fault {
  DimFault fault = DimFault::kNone;
  DimOp op = DimOp::kConstant;
  int64_t a = 0;
  int64_t b = 0;
};

class Evaluator {
 public:
  explicit Evaluator(std::span<const int64_t> symbols) : symbols_(symbols) {}

  const Fault& fault() const { return fault_; }

  bool value_of(const Dim& dim, int64_t& value) {
    if (dim.is_constant()) {
      value = dim.constant();
      return true;
    }
    return value_of(*dim.node(), value);
  }

 private:
  bool step(DimOp op, int64_t a, int64_t b, int64_t c, double scale, int64_t& value) {
    fault_ = {apply(op, a, b, c, scale, value), op, a, b};
    return fault_.fault == DimFault::kNone;
  }

  bool value_of(const Dim::Node& node, int64_t& value) {
    if (node.is_polynomial) {
      return sum(node.polynomial, value);
    }
    if (node.is_symbol()) {
      int64_t id = node.symbol->id;
      if (id < 0 || static_cast<size_t>(id) >= symbols_.size()) {
        fault_ = {DimFault::kNoSymbol, DimOp::kSymbol, id, static_cast<int64_t>(symbols_.size())};
        return false;
      }
      value = symbols_[static_cast<size_t>(id)];
      return true;
    }
    int64_t a = 0;
    int64_t b = 0;
    int64_t c = 0;
    return value_of(node.operands[0], a) && value_of(node.operands[1], b) && value_of(node.operands[2], c) &&
           step(node.op, a, b, c, node.scale, value);
  }

  // In the order in which DimTable::lower() writes its entries.
  bool sum(const Polynomial& polynomial, int64_t& value) {
    for (size_t i = 0; i < polynomial.terms.size(); ++i) {
      const Term& term = polynomial.terms[i];
      int64_t product = 0;
      for (size_t j = 0; j < term.atoms.size(); ++j) {
        int64_t factor = 0;
        if (!value_of(*term.atoms[j], factor)) {
          return false;
        }
        if (j == 0) {
          product = factor;
        } else if (!step(DimOp::kMul, product, factor, 0, 0, product)) {
          return false;
        }
      }
      if (term.coefficient != 1 && !step(DimOp::kMul, product, term.coefficient, 0, 0, product)) {
        return false;
      }
      if (i == 0) {
        value = product;
      } else if (!step(DimOp::kAdd, value, product, 0, 0, value)) {
        return false;
      }
    }
    return polynomial.constant == 0 || step(DimOp::kAdd, value, polynomial.constant, 0, 0, value);
  }

  std::span<const int64_t> symbols_;
  Fault fault_;
};

Dim rebuilt(const Dim::Node& node, const std::unordered_map<const Dim::Node*, Dim>& done) {
  if (node.is_polynomial) {
    Dim sum = node.polynomial.constant;
    for (const Term& term : node.polynomial.terms) {
      Dim product = term.coefficient;
      for (const NodeRef& atom : term.atoms) {
        product *= done.at(atom.get());
      }
      sum += product;
    }
    return sum;
  }
  auto operand = [&](size_t i) {
    const Dim& dim = node.operands[i];
    return dim.is_constant() ? dim : done.at(dim.node());
  };
  return DimBuilder::apply(node.op, operand(0), operand(1), operand(2), node.scale);
}

}  // namespace

Status fault_status(DimFault fault, DimOp op, std::string_view subject, int64_t a, int64_t b) {
  switch (fault) {
    case DimFault::kOverflow:
      if (op == DimOp::kAdd || op == DimOp::kMul) {
        return {StatusCode::kOutOfRange,
                fmt::format("{} needs the {} of ({}) and ({}), which does not fit in 64 bits.", subject,
                            op == DimOp::kAdd ? "sum" : "product", a, b)};
      }
      return {StatusCode::kOutOfRange,
              fmt::format("{} has a value that does not fit in 64 bits, at operand ({}).", subject, a)};
    case DimFault::kZeroDivisor:
      return {StatusCode::kInvalidArgument, fmt::format("{} divides ({}) by zero.", subject, a)};
    case DimFault::kInexact:
      return {
          StatusCode::kInvalidArgument,
          fmt::format("{} divides ({}) by ({}), and the remainder ({}) must be 0.", subject, a, b, a % b)};
    case DimFault::kNoSymbol:
      return {StatusCode::kInvalidArgument,
              fmt::format("{} needs symbol ({}), and the values of ({}) symbols are given.", subject, a, b)};
    case DimFault::kNone:
      break;
  }
  return {StatusCode::kInternal, fmt::format("{} has no value.", subject)};
}

Result<int64_t> Dim::evaluate(std::span<const int64_t> symbols) const {
  if (is_constant()) {
    return value_;
  }
  if (node_->depth > kMaxDepth || node_->weight > kMaxWeight) {
    DimTable table;
    int32_t position = table.add(*this);
    std::vector<int64_t> values(static_cast<size_t>(table.size()));
    WEIR_TRY(weir::evaluate(table.entries(), symbols, values), "while evaluating dimension '{}'",
             to_string());
    return values[static_cast<size_t>(position)];
  }
  Evaluator evaluator(symbols);
  int64_t value = 0;
  if (!evaluator.value_of(*this, value)) {
    const Fault& fault = evaluator.fault();
    return std::unexpected(
        fault_status(fault.fault, fault.op, fmt::format("Dimension '{}'", to_string()), fault.a, fault.b));
  }
  return value;
}

Dim substitute(const Dim& dim, std::span<const std::optional<Dim>> replacements) {
  if (dim.is_constant()) {
    return dim;
  }
  std::unordered_map<const Dim::Node*, Dim> done;
  std::vector<NodeRef> pending{DimBuilder::node(dim)};
  while (!pending.empty()) {
    NodeRef node = pending.back();
    if (done.contains(node.get())) {
      pending.pop_back();
      continue;
    }
    if (node->is_symbol()) {
      auto id = static_cast<size_t>(node->symbol->id);
      bool is_replaced = id < replacements.size() && replacements[id].has_value();
      done.emplace(node.get(), is_replaced ? *replacements[id] : DimBuilder::atom(node));
      pending.pop_back();
      continue;
    }
    size_t before = pending.size();
    for_each_child(*node, [&](const NodeRef& child) {
      if (!done.contains(child.get())) {
        pending.push_back(child);
      }
    });
    if (pending.size() == before) {
      done.emplace(node.get(), rebuilt(*node, done));
      pending.pop_back();
    }
  }
  return done.at(dim.node());
}

bool holds(Constraint::Kind kind, int64_t a, int64_t b) {
  switch (kind) {
    case Constraint::Kind::kEqual:
      return a == b;
    case Constraint::Kind::kDivides:
      return b != 0 && (b == -1 || a % b == 0);  // a % −1 traps for INT64_MIN
    case Constraint::Kind::kAtLeast:
      return a >= b;
    case Constraint::Kind::kAtMost:
      return a <= b;
  }
  return false;
}

std::string_view relation(Constraint::Kind kind) {
  switch (kind) {
    case Constraint::Kind::kEqual:
      return "equals";
    case Constraint::Kind::kDivides:
      return "is a multiple of";
    case Constraint::Kind::kAtLeast:
      return "is at least";
    case Constraint::Kind::kAtMost:
      return "is at most";
  }
  return "?";
}

Result<void> check(const Constraint& constraint, std::span<const int64_t> symbols) {
  WEIR_ASSIGN(int64_t a, constraint.a.evaluate(symbols), "while checking that {}", constraint.what);
  WEIR_ASSIGN(int64_t b, constraint.b.evaluate(symbols), "while checking that {}", constraint.what);
  if (holds(constraint.kind, a, b)) {
    return {};
  }
  auto shown = [](const Dim& dim, int64_t value) {
    return dim.is_constant() ? fmt::format("({})", value) : fmt::format("'{}' ({})", dim.to_string(), value);
  };
  return fail(StatusCode::kFailedPrecondition, "{}: the program holds only where {} {} {}.", constraint.what,
              shown(constraint.a, a), relation(constraint.kind), shown(constraint.b, b));
}

Dim SymbolTable::add(std::string_view name, Range range, SymbolSource source) {
  auto symbol = std::make_shared<Symbol>();
  symbol->id = static_cast<int32_t>(symbols_.size());
  symbol->name = name.empty() || name == "?" ? fmt::format("dim{}", symbol->id) : std::string(name);
  symbol->range = range.min <= range.max ? range : Range{range.max, range.min};
  symbol->source = source;
  symbols_.push_back(symbol);
  return DimBuilder::symbol(std::move(symbol));
}

}  // namespace weir
