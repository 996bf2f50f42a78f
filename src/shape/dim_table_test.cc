// SPDX-License-Identifier: Apache-2.0
#include "shape/dim_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <random>

#include "base/testing/results.h"
#include "shape/dim_size.h"

namespace weir {
namespace {

using ::testing::HasSubstr;

class DimTableTest : public ::testing::Test {
 protected:
  DimTableTest()
      : height_(symbols_.add("height", {1, kDimMax}, {SymbolSource::Kind::kDimension, 0, 0})),
        width_(symbols_.add("width", {1, kDimMax}, {SymbolSource::Kind::kDimension, 0, 1})) {}

  static std::string error(const std::vector<DimTableEntry>& entries, std::vector<int64_t> symbols) {
    std::vector<int64_t> values(entries.size());
    Result<void> result = evaluate(entries, symbols, values);
    EXPECT_FALSE(result.has_value());
    return result ? "" : result.error().message();
  }

  SymbolTable symbols_;
  Dim height_;
  Dim width_;
};

TEST_F(DimTableTest, EqualDimsShareAnEntry) {
  DimTable table;
  int32_t area = table.add(height_ * width_ * 3 + 1);
  int32_t size = table.size();
  EXPECT_EQ(table.add(3 * width_ * height_ + 1), area);
  EXPECT_EQ(table.add(height_ * width_), 2);
  EXPECT_EQ(table.size(), size);
  EXPECT_EQ(table.add(7), size);
  EXPECT_EQ(table.add(7), size);
}

TEST_F(DimTableTest, ValuesAreThoseOfTheDims) {
  std::vector<Dim> dims{5,
                        height_,
                        floor_div(height_ + 1, 2),
                        4 * height_ * width_ - 2 * width_ + 9,
                        ceil_div(height_, width_),
                        exact_div(height_, width_),
                        mod(height_, width_),
                        min(height_, width_),
                        max(height_, 20),
                        select(less(height_, width_), height_, -1),
                        logical_not(equal(height_, width_)),
                        floor_scale(height_, 0.3),
                        height_ * height_};
  DimTable table;
  std::vector<int32_t> positions;
  for (const Dim& dim : dims) {
    positions.push_back(table.add(dim));
  }
  std::vector<int64_t> values(static_cast<size_t>(table.size()));
  ASSERT_TRUE(evaluate(table.entries(), std::vector<int64_t>{12, 4}, values).has_value());
  std::vector<int64_t> actual;
  for (int32_t position : positions) {
    actual.push_back(values[static_cast<size_t>(position)]);
  }
  EXPECT_EQ(actual, (std::vector<int64_t>{5, 12, 6, 193, 3, 3, 0, 4, 20, -1, 1, 3, 144}));
}

TEST_F(DimTableTest, TheOrderDependsOnTheDimsAlone) {
  auto build = [] {
    SymbolTable symbols;
    Dim a = symbols.add("a", {1, kDimMax}, {});
    Dim b = symbols.add("b", {1, kDimMax}, {});
    DimTable table;
    table.add(floor_div(a * b + min(a, b), 7) + max(a, 9) * ceil_div(b, a));
    table.add(a * 3 + b);
    return std::vector<DimTableEntry>(table.entries().begin(), table.entries().end());
  };
  EXPECT_EQ(build(), build());
}

TEST_F(DimTableTest, CopiesStandAlone) {
  DimTable copy;
  {
    DimTable table;
    table.add(floor_div(height_ + 3, 7));
    copy = table;
  }
  int32_t size = copy.size();
  copy.add(floor_div(height_ + 3, 7));
  EXPECT_EQ(copy.size(), size);
}

TEST_F(DimTableTest, RoundTripsToDims) {
  std::vector<Dim> dims{floor_div(height_ + 1, 2) * width_ - 4, select(equal(height_, width_), 3, height_),
                        floor_scale(width_, 0.7), exact_div(height_ * width_, 6)};
  DimTable table;
  std::vector<int32_t> positions;
  for (const Dim& dim : dims) {
    positions.push_back(table.add(dim));
  }
  Result<std::vector<Dim>> back = to_dims(table.entries(), symbols_);
  ASSERT_TRUE(back.has_value());
  for (size_t i = 0; i < dims.size(); ++i) {
    EXPECT_EQ((*back)[static_cast<size_t>(positions[i])], dims[i]) << dims[i].to_string();
  }
  DimTable again;
  for (const Dim& dim : dims) {
    again.add(dim);
  }
  EXPECT_TRUE(std::ranges::equal(again.entries(), table.entries()));
}

// What to_dims says to entries whose expressions pass a limit, each shared part counted each time.
class TooLarge : public DimTableTest {
 protected:
  // The remainder of the square of the last one, again and again, as long as it is no larger than `most`.
  void grow(int64_t most) {
    DimTable table;
    table.add(height_);
    table.add(width_);
    Dim last = height_;
    for (;;) {
      const Dim square = last * last;
      const Dim rest = mod(square, width_);
      if (size_of(rest) > most) {
        next_ = square;
        break;
      }
      table.add(square);
      table.add(rest);
      last = rest;
    }
    last_ = last;
    entries_.assign(table.entries().begin(), table.entries().end());
  }
  std::string refusal() const {
    const Result<std::vector<Dim>> dims = to_dims(entries_, symbols_);
    return dims ? "" : dims.error().to_string();
  }
  std::string expected(int64_t size) const {
    return fmt::format(
        "Entry ({}) of the dimension table is an expression of ({}) operations, and (16384) for one and "
        "(67108864) for all are the most.",
        entries_.size() - 1, size);
  }
  void square(int32_t of) { entries_.push_back({.op = DimOp::kMul, .a = of, .b = of}); }
  std::vector<DimTableEntry> entries_;
  Dim last_;
  Dim next_;
};

TEST_F(TooLarge, OneExpression) {
  grow(kMaxTableExpression);
  EXPECT_EQ(refusal(), "");
  square(static_cast<int32_t>(entries_.size()) - 1);
  if (size_of(next_) <= kMaxTableExpression) {
    EXPECT_EQ(refusal(), "");
    entries_.push_back({.op = DimOp::kMod, .a = static_cast<int32_t>(entries_.size()) - 1, .b = 1});
    next_ = mod(next_, width_);
  }
  EXPECT_EQ(refusal(), expected(size_of(next_)));
}

TEST_F(TooLarge, AllExpressionsTogether) {
  grow(kMaxTableExpression);
  const auto large = static_cast<int32_t>(entries_.size()) - 1;
  int64_t work = 0;
  for (const Dim& dim : must(to_dims(entries_, symbols_))) {
    work += size_of(dim);
  }
  const int64_t size = size_of(floor_div(last_, width_));
  ASSERT_LE(size, kMaxTableExpression);
  for (; work <= kMaxTableExpressions; work += size) {
    entries_.push_back({.op = DimOp::kFloorDiv, .a = large, .b = 1});
  }
  EXPECT_EQ(refusal(), expected(size));
  entries_.pop_back();
  EXPECT_EQ(refusal(), "");
}

TEST_F(DimTableTest, ErrorsNameTheEntry) {
  DimTableEntry zero{};
  DimTableEntry five{.value = 5};
  DimTableEntry most{.value = INT64_MAX};
  EXPECT_EQ(error({five, zero, {.op = DimOp::kFloorDiv, .a = 0, .b = 1}}, {}),
            "Entry (2) of the dimension table divides (5) by zero.");
  EXPECT_EQ(
      error({five, most, {.op = DimOp::kAdd, .a = 0, .b = 1}}, {}),
      "Entry (2) of the dimension table needs the sum of (5) and (9223372036854775807), which does not fit "
      "in 64 bits.");
  EXPECT_EQ(error({five, {.value = 2}, {.op = DimOp::kExactDiv, .a = 0, .b = 1}}, {}),
            "Entry (2) of the dimension table divides (5) by (2), and the remainder (1) must be 0.");
  EXPECT_EQ(error({{.op = DimOp::kSymbol, .value = 2}}, {4, 5}),
            "Entry (0) of the dimension table needs symbol (2), and the values of (2) symbols are given.");
  EXPECT_THAT(error({{.op = DimOp::kSymbol, .value = -1}}, {4, 5}), HasSubstr("symbol (-1)"));
  EXPECT_EQ(error({five, {.op = DimOp::kAdd, .a = 0, .b = 1}}, {}),
            "Entry (1) of the dimension table has operand (1), which does not lie before it.");
  EXPECT_THAT(error({five, {.op = DimOp::kNot, .a = -1}}, {}), HasSubstr("operand (-1)"));
  EXPECT_THAT(error({five, {.op = DimOp::kSelect, .a = 0, .b = 0, .c = 7}}, {}), HasSubstr("operand (7)"));
  EXPECT_EQ(error({{.op = static_cast<DimOp>(99)}}, {}),
            "Entry (0) of the dimension table has an operation (99) that does not exist.");
  EXPECT_THAT(
      error({five, {.op = DimOp::kFloorScale, .a = 0, .scale = std::numeric_limits<double>::infinity()}}, {}),
      HasSubstr("does not fit in 64 bits"));
  std::vector<int64_t> values(1);
  Result<void> short_room = evaluate(std::vector<DimTableEntry>{five, five}, {}, values);
  ASSERT_FALSE(short_room.has_value());
  EXPECT_EQ(short_room.error().message(),
            "The dimension table has (2) entries, and there is room for (1) values.");
  EXPECT_FALSE(to_dims(std::vector<DimTableEntry>{{.op = DimOp::kSymbol, .value = 9}}, symbols_).has_value());
  EXPECT_FALSE(to_dims(std::vector<DimTableEntry>{{.op = DimOp::kNot, .a = 0}}, symbols_).has_value());
  EXPECT_FALSE(to_dims(std::vector<DimTableEntry>{{.op = static_cast<DimOp>(77)}}, symbols_).has_value());
}

// Entries as a damaged or hostile file would have them: whatever they say, there is a value or an error, and
// where both the entries and the Dims made of them have values, these agree.
TEST_F(DimTableTest, HostileEntries) {
  std::mt19937_64 random(20240611);
  auto below = [&random](int64_t bound) {
    return static_cast<int64_t>(random() % static_cast<uint64_t>(bound));
  };
  const std::vector<int64_t> assignment{6, 35};
  int compared = 0;
  for (int round = 0; round < 300; ++round) {
    bool is_valid = round % 4 != 0;
    std::vector<DimTableEntry> entries;
    for (int64_t i = 0; i < 40; ++i) {
      DimTableEntry entry;
      entry.op = static_cast<DimOp>(below(is_valid ? 15 : 18));
      int64_t reach = is_valid ? i : i + 3;
      if (i == 0 && is_valid) {
        entry.op = DimOp::kSymbol;
      }
      if (reach > 0) {
        entry.a = static_cast<int32_t>(below(reach));
        entry.b = static_cast<int32_t>(below(reach));
        entry.c = static_cast<int32_t>(below(reach));
      }
      entry.value = entry.op == DimOp::kSymbol ? below(is_valid ? 2 : 4) : below(9) - 3;
      if (below(20) == 0 && entry.op == DimOp::kConstant) {
        entry.value = below(2) == 0 ? INT64_MAX : INT64_MIN;
      }
      entry.scale = static_cast<double>(below(1000)) / 250 - 1;
      entries.push_back(entry);
    }
    Result<std::vector<Dim>> dims = to_dims(entries, symbols_);
    ASSERT_TRUE(dims.has_value() || !is_valid);
    for (size_t count = 1; count <= entries.size() && dims; ++count) {
      std::vector<int64_t> values(count);
      if (!evaluate(std::span(entries).first(count), assignment, values)) {
        break;
      }
      Result<int64_t> value = (*dims)[count - 1].evaluate(assignment);
      // Expanding a product may overflow where the product itself does not.
      ASSERT_TRUE(value.has_value() || value.error().code() == StatusCode::kOutOfRange);
      if (value) {
        EXPECT_EQ(*value, values[count - 1]) << (*dims)[count - 1].to_string();
        ++compared;
      }
    }
  }
  EXPECT_GT(compared, 1000);
}

}  // namespace
}  // namespace weir
