// SPDX-License-Identifier: Apache-2.0
//
// What a Dim that is no number points to. Only for src/shape.
//
// A Node is an atom (a symbol, or an operation that does not simplify) or a polynomial over atoms. A Dim that
// is one atom points to the atom itself, so that each normal form has one representation.
//
// Expressions come from model files, so they may be deep, and shared subexpressions may make the tree that
// they spell exponentially larger than the graph. Whatever walks them is iterative or bounded, and visits a
// shared Node once.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <memory>
#include <vector>

#include "shape/dim.h"
#include "shape/polynomial.h"

namespace weir {

struct Dim::Node {
  bool is_polynomial = false;
  DimOp op = DimOp::kSymbol;             // of an atom; kAdd and kMul are those whose coefficients overflow
  std::shared_ptr<const Symbol> symbol;  // kSymbol
  std::array<Dim, 3> operands;           // of an operation, as many as operand_count(op)
  double scale = 0;                      // kFloorScale
  Polynomial polynomial;                 // at least one term; never just 1 · atom

  // Derived when it is made.
  Range range;
  uint64_t hash = 0;   // of the structure: equal in every process
  int32_t depth = 1;   // of the longest path down
  int64_t weight = 1;  // nodes of the tree it spells, saturating

  Node() = default;
  Node(Node&&) = default;
  ~Node();

  bool is_symbol() const { return !is_polynomial && op == DimOp::kSymbol; }
  bool is_operation(DimOp which) const { return !is_polynomial && op == which; }
};

// A total order that depends on structure alone: symbols by id, then operations, then polynomials.
std::strong_ordering compare(const Dim::Node& a, const Dim::Node& b);
std::strong_ordering compare(const Dim& a, const Dim& b);

// Calls visit(const NodeRef&) for every child, in order.
template <typename Visit>
void for_each_child(const Dim::Node& node, Visit visit);

// Makes Dims in normal form.
class DimBuilder {
 public:
  static Dim symbol(std::shared_ptr<const Symbol> symbol);
  static Dim atom(NodeRef node);
  static Dim polynomial(Polynomial polynomial);
  // An operation that stays one: no rule applies to it any more, but a range that leaves one value folds it.
  static Dim operation(DimOp op, const Dim& a, const Dim& b = {}, const Dim& c = {}, double scale = 0);
  // The operation by its number, simplified: what rebuilding an expression needs.
  static Dim apply(DimOp op, const Dim& a, const Dim& b, const Dim& c, double scale);

  static const NodeRef& node(const Dim& dim) { return dim.node_; }
  // The Dim as a polynomial; `storage` holds it where the Dim does not.
  static const Polynomial& view(const Dim& dim, Polynomial& storage);
};

template <typename Visit>
void for_each_child(const Dim::Node& node, Visit visit) {
  for (const Term& term : node.polynomial.terms) {
    for (const NodeRef& factor : term.atoms) {
      visit(factor);
    }
  }
  for (const Dim& operand : node.operands) {
    if (!operand.is_constant()) {
      visit(DimBuilder::node(operand));
    }
  }
}

}  // namespace weir
