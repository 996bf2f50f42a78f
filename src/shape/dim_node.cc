// SPDX-License-Identifier: Apache-2.0
#include "shape/dim_node.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <set>

#include "shape/dim_arithmetic.h"
#include "shape/interval.h"

namespace weir {
namespace {

// Above this weight a comparison remembers the pairs that it has seen, so that shared parts count once.
constexpr int64_t kLargeTree = 512;

// The finaliser of SplitMix64 over a running state.
uint64_t mix(uint64_t state, uint64_t value) {
  state += value + 0x9e3779b97f4a7c15;
  state = (state ^ (state >> 30)) * 0xbf58476d1ce4e5b9;
  state = (state ^ (state >> 27)) * 0x94d049bb133111eb;
  return state ^ (state >> 31);
}

int kind_rank(const Dim::Node& node) {
  return node.is_polynomial ? 2 : node.is_symbol() ? 0 : 1;
}

// Everything but the children that are nodes.
std::strong_ordering compare_own(const Dim::Node& a, const Dim::Node& b) {
  if (auto order = kind_rank(a) <=> kind_rank(b); order != 0) {
    return order;
  }
  if (a.is_symbol()) {
    return a.symbol->id <=> b.symbol->id;
  }
  if (a.is_polynomial) {
    if (auto order = a.polynomial.terms.size() <=> b.polynomial.terms.size(); order != 0) {
      return order;
    }
    for (size_t i = 0; i < a.polynomial.terms.size(); ++i) {
      const Term& x = a.polynomial.terms[i];
      const Term& y = b.polynomial.terms[i];
      if (auto order = y.atoms.size() <=> x.atoms.size(); order != 0) {
        return order;
      }
      if (auto order = x.coefficient <=> y.coefficient; order != 0) {
        return order;
      }
    }
    return a.polynomial.constant <=> b.polynomial.constant;
  }
  if (auto order = a.op <=> b.op; order != 0) {
    return order;
  }
  for (size_t i = 0; i < a.operands.size(); ++i) {
    const Dim& x = a.operands[i];
    const Dim& y = b.operands[i];
    if (auto order = y.is_constant() <=> x.is_constant(); order != 0) {
      return order;
    }
    if (auto order = x.constant() <=> y.constant(); x.is_constant() && order != 0) {
      return order;
    }
  }
  return std::bit_cast<int64_t>(a.scale) <=> std::bit_cast<int64_t>(b.scale);
}

// Fills what is derived from the children.
NodeRef finish(Dim::Node node) {
  uint64_t hash = mix(static_cast<uint64_t>(kind_rank(node)), static_cast<uint64_t>(node.op));
  hash = mix(hash, std::bit_cast<uint64_t>(node.scale));
  if (node.symbol) {
    hash = mix(hash, static_cast<uint64_t>(node.symbol->id));
  }
  for (const Dim& operand : node.operands) {
    hash =
        mix(hash, operand.is_constant() ? static_cast<uint64_t>(operand.constant()) : operand.node()->hash);
  }
  hash = mix(hash, static_cast<uint64_t>(node.polynomial.constant));
  for (const Term& term : node.polynomial.terms) {
    hash = mix(hash, static_cast<uint64_t>(term.coefficient));
    for (const NodeRef& atom : term.atoms) {
      hash = mix(hash, atom->hash);
    }
  }
  node.hash = hash;
  for_each_child(node, [&node](const NodeRef& child) {
    node.depth = std::max(node.depth, child->depth == INT32_MAX ? INT32_MAX : child->depth + 1);
    if (__builtin_add_overflow(node.weight, child->weight, &node.weight)) {
      node.weight = INT64_MAX;
    }
  });
  return std::make_shared<Dim::Node>(std::move(node));
}

Range operation_range(const Dim::Node& node) {
  Range a = node.operands[0].range();
  Range b = node.operands[1].range();
  Range c = node.operands[2].range();
  switch (node.op) {
    case DimOp::kAdd:
      return interval::add(a, b);
    case DimOp::kMul:
      return interval::mul(a, b);
    case DimOp::kFloorDiv:
      return interval::floor_div(a, b);
    case DimOp::kCeilDiv:
      return interval::ceil_div(a, b);
    case DimOp::kExactDiv:
      return interval::exact_div(a, b);
    case DimOp::kMod:
      return interval::mod(a, b);
    case DimOp::kMin:
      return interval::min(a, b);
    case DimOp::kMax:
      return interval::max(a, b);
    case DimOp::kEqual:
    case DimOp::kLess:
    case DimOp::kNot:
      return interval::kBoolean;
    case DimOp::kSelect:
      return interval::hull(b, c);
    case DimOp::kFloorScale:
      return interval::floor_scale(a, node.scale);
    case DimOp::kConstant:
    case DimOp::kSymbol:
      break;
  }
  return interval::kEverything;
}

bool operands_are_numbers(const Dim::Node& node) {
  return std::all_of(node.operands.begin(), node.operands.end(),
                     [](const Dim& operand) { return operand.is_constant(); });
}

// k·(x / d)·rest with d = c·m: (k / c)·x·(rest / m), and what k leaves over c. True where a term was
// rewritten.
bool cancel_one_quotient(Polynomial& polynomial) {
  for (size_t i = 0; i < polynomial.terms.size(); ++i) {
    const Term& term = polynomial.terms[i];
    for (size_t j = 0; j < term.atoms.size(); ++j) {
      const Dim::Node& atom = *term.atoms[j];
      if (!atom.is_operation(DimOp::kExactDiv)) {
        continue;
      }
      Polynomial divisor_storage;
      const Polynomial& divisor = DimBuilder::view(atom.operands[1], divisor_storage);
      int64_t cut = divisor.leading() > 0 && divisor.is_product() ? term.coefficient / divisor.leading() : 0;
      if (cut == 0 || cut * divisor.leading() == std::numeric_limits<int64_t>::min()) {
        continue;  // nothing to take away, or no number to take it away with
      }
      Monomial others = term.atoms;
      others.erase(others.begin() + static_cast<ptrdiff_t>(j));
      Monomial rest;
      if (!divide(others, divisor.is_constant() ? Monomial{} : divisor.terms[0].atoms, rest)) {
        continue;
      }
      Polynomial factor;
      if (rest.empty()) {
        factor.constant = cut;
      } else {
        factor.terms.push_back({cut, std::move(rest)});
      }
      Polynomial dividend_storage;
      Polynomial gained;
      Polynomial reduced;
      Polynomial removed{0, {{1, term.atoms}}};
      Polynomial result;
      if (!multiply(factor, DimBuilder::view(atom.operands[0], dividend_storage), gained) ||
          !add_scaled(polynomial, removed, -(cut * divisor.leading()), reduced) ||
          !add_scaled(reduced, gained, 1, result)) {
        continue;
      }
      polynomial = std::move(result);
      return true;
    }
  }
  return false;
}

}  // namespace

Dim::Node::~Node() {
  // A chain of any length is released without recursion: before the last reference to a child goes, its own
  // children are held here too, so that its destructor finds nothing to destroy.
  std::vector<NodeRef> pending;
  try {
    for (Term& term : polynomial.terms) {
      for (NodeRef& atom : term.atoms) {
        pending.push_back(std::move(atom));
      }
    }
    for (Dim& operand : operands) {
      if (operand.node_) {
        pending.push_back(std::move(operand.node_));
      }
    }
    while (!pending.empty()) {
      NodeRef node = std::move(pending.back());
      pending.pop_back();
      if (node && node.use_count() == 1) {
        for_each_child(*node, [&pending](const NodeRef& child) { pending.push_back(child); });
      }
    }
  } catch (const std::bad_alloc&) {  // NOLINT(bugprone-empty-catch)
    // Then by recursion: what is left is destroyed with its owners.
  }
}

std::strong_ordering compare(const Dim::Node& a, const Dim::Node& b) {
  if (&a == &b) {
    return std::strong_ordering::equal;
  }
  if (auto order = compare_own(a, b); order != 0 || a.is_symbol()) {
    return order;
  }
  // The first difference decides, so a pair seen before needs no second look: it was equal, or is still to
  // come and decides then.
  using Pair = std::pair<const Dim::Node*, const Dim::Node*>;
  bool is_large = std::min(a.weight, b.weight) > kLargeTree;
  std::set<Pair> seen;
  std::vector<Pair> pending;
  auto push_children = [&](const Dim::Node& x, const Dim::Node& y) {
    size_t first = pending.size();
    for_each_child(x, [&pending](const NodeRef& child) { pending.emplace_back(child.get(), nullptr); });
    size_t next = first;
    for_each_child(y, [&](const NodeRef& child) { pending[next++].second = child.get(); });
    std::reverse(pending.begin() + static_cast<ptrdiff_t>(first), pending.end());
  };
  push_children(a, b);
  while (!pending.empty()) {
    auto [x, y] = pending.back();
    pending.pop_back();
    if (x == y || (is_large && !seen.insert({x, y}).second)) {
      continue;
    }
    if (auto order = compare_own(*x, *y); order != 0) {
      return order;
    }
    push_children(*x, *y);
  }
  return std::strong_ordering::equal;
}

std::strong_ordering compare(const Dim& a, const Dim& b) {
  if (a.is_constant() != b.is_constant()) {
    return a.is_constant() ? std::strong_ordering::less : std::strong_ordering::greater;
  }
  return a.is_constant() ? a.constant() <=> b.constant() : compare(*a.node(), *b.node());
}

Dim DimBuilder::symbol(std::shared_ptr<const Symbol> symbol) {
  if (interval::is_single(symbol->range)) {
    return symbol->range.min;
  }
  Dim::Node node;
  node.range = symbol->range;
  node.symbol = std::move(symbol);
  return atom(finish(std::move(node)));
}

Dim DimBuilder::atom(NodeRef node) {
  Dim dim;
  dim.node_ = std::move(node);
  return dim;
}

Dim DimBuilder::polynomial(Polynomial polynomial) {
  // Each rewriting takes a quotient out of a term, and puts in no more than its dividend had.
  for (size_t i = 0; i < kMaxTerms && cancel_one_quotient(polynomial); ++i) {
  }
  if (polynomial.terms.empty()) {
    return polynomial.constant;
  }
  const Term& first = polynomial.terms[0];
  if (polynomial.is_product() && first.coefficient == 1 && first.atoms.size() == 1) {
    return atom(first.atoms[0]);
  }
  Dim::Node node;
  node.is_polynomial = true;
  node.op = DimOp::kAdd;
  // A range of one value does not make a sum that number, or begin + (total − begin) would no longer be
  // total.
  node.range = range_of(polynomial);
  node.polynomial = std::move(polynomial);
  return atom(finish(std::move(node)));
}

Dim DimBuilder::operation(DimOp op, const Dim& a, const Dim& b, const Dim& c, double scale) {
  Dim::Node node;
  node.op = op;
  node.operands = {a, b, c};
  node.scale = scale;
  node.range = operation_range(node);
  // What has only numbers and still is an operation is an error, which must stay.
  if (interval::is_single(node.range) && !operands_are_numbers(node)) {
    return node.range.min;
  }
  return atom(finish(std::move(node)));
}

const Polynomial& DimBuilder::view(const Dim& dim, Polynomial& storage) {
  if (dim.is_constant()) {
    storage = Polynomial{dim.value_, {}};
    return storage;
  }
  if (dim.node_->is_polynomial) {
    return dim.node_->polynomial;
  }
  storage = Polynomial{0, {{1, {dim.node_}}}};
  return storage;
}

}  // namespace weir
