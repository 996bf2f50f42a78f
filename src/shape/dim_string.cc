// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <iterator>

#include "shape/dim.h"
#include "shape/dim_node.h"

namespace weir {
namespace {

// What an expression of a hostile model could exceed; the rest becomes "…".
constexpr size_t kMaxLength = 2000;
constexpr int kMaxDepth = 32;

// How tightly an expression binds, loosest first.
enum Binding : int { kAnything, kComparison, kSum, kProduct, kWhole };

class Printer {
 public:
  std::string take() { return std::move(text_); }

  void print(const Dim& dim, int least) {
    if (dim.is_constant()) {
      bool bare = dim.constant() >= 0 || least <= kSum;
      text_ += bare ? fmt::format("{}", dim.constant()) : fmt::format("({})", dim.constant());
    } else {
      print(*dim.node(), least);
    }
  }

 private:
  void print(const Dim::Node& node, int least) {
    if (text_.size() > kMaxLength || depth_ == kMaxDepth) {
      text_ += "…";
      return;
    }
    ++depth_;
    int own = binding(node);
    if (own < least) {
      text_ += '(';
    }
    if (node.is_polynomial) {
      print_sum(node.polynomial);
    } else {
      print_atom(node);
    }
    if (own < least) {
      text_ += ')';
    }
    --depth_;
  }

  static int binding(const Dim::Node& node) {
    if (node.is_polynomial) {
      return node.polynomial.is_product() && node.polynomial.leading() > 0 ? kProduct : kSum;
    }
    switch (node.op) {
      case DimOp::kAdd:
        return kSum;
      case DimOp::kMul:
        return kProduct;
      case DimOp::kExactDiv:
      case DimOp::kMod:
        return kProduct - 1;  // in brackets beside a factor: (a / b)·c
      case DimOp::kEqual:
      case DimOp::kLess:
      case DimOp::kNot:
        return kComparison;
      default:
        return kWhole;
    }
  }

  void print_sum(const Polynomial& polynomial) {
    bool first = true;
    auto sign = [&](int64_t value) {
      text_ += first ? (value < 0 ? "-" : "") : (value < 0 ? " - " : " + ");
      first = false;
      return value < 0 ? uint64_t{0} - static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
    };
    for (const Term& term : polynomial.terms) {
      uint64_t magnitude = sign(term.coefficient);
      if (magnitude != 1) {
        fmt::format_to(std::back_inserter(text_), "{}·", magnitude);
      }
      for (size_t i = 0; i < term.atoms.size(); ++i) {
        text_ += i == 0 ? "" : "·";
        print(*term.atoms[i], kProduct);
      }
      if (text_.size() > kMaxLength) {
        text_ += " …";
        return;
      }
    }
    if (polynomial.constant != 0) {
      fmt::format_to(std::back_inserter(text_), "{}", sign(polynomial.constant));
    }
  }

  void print_pair(const Dim& a, std::string_view between, const Dim& b, int least_a, int least_b) {
    print(a, least_a);
    text_ += between;
    print(b, least_b);
  }

  void print_call(std::string_view name, const Dim& a, const Dim& b, const Dim* c) {
    text_ += name;
    text_ += '(';
    print_pair(a, ", ", b, kAnything, kAnything);
    if (c != nullptr) {
      text_ += ", ";
      print(*c, kAnything);
    }
    text_ += ')';
  }

  void print_atom(const Dim::Node& node) {
    const auto& [a, b, c] = node.operands;
    switch (node.op) {
      case DimOp::kSymbol:
        text_ += node.symbol->name;
        break;
      case DimOp::kConstant:
        break;
      case DimOp::kAdd:
        print_pair(a, " + ", b, kSum, kSum + 1);
        break;
      case DimOp::kMul:
        print_pair(a, "·", b, kProduct, kProduct);
        break;
      case DimOp::kFloorDiv:
        text_ += "⌊";
        print_pair(a, " / ", b, kProduct, kWhole);
        text_ += "⌋";
        break;
      case DimOp::kCeilDiv:
        text_ += "⌈";
        print_pair(a, " / ", b, kProduct, kWhole);
        text_ += "⌉";
        break;
      case DimOp::kExactDiv:
        print_pair(a, " / ", b, kProduct, kWhole);
        break;
      case DimOp::kMod:
        print_pair(a, " mod ", b, kProduct, kWhole);
        break;
      case DimOp::kMin:
        print_call("min", a, b, nullptr);
        break;
      case DimOp::kMax:
        print_call("max", a, b, nullptr);
        break;
      case DimOp::kEqual:
        print_pair(a, " = ", b, kSum, kSum);
        break;
      case DimOp::kLess:
        print_pair(a, " < ", b, kSum, kSum);
        break;
      case DimOp::kNot:
        text_ += "not ";
        print(a, kProduct);
        break;
      case DimOp::kSelect:
        print_call("select", a, b, &c);
        break;
      case DimOp::kFloorScale:
        text_ += "⌊";
        print(a, kProduct);
        fmt::format_to(std::back_inserter(text_), " · {}⌋", node.scale);
        break;
    }
  }

  std::string text_;
  int depth_ = 0;
};

}  // namespace

std::string Dim::to_string() const {
  Printer printer;
  printer.print(*this, kAnything);
  return printer.take();
}

}  // namespace weir
