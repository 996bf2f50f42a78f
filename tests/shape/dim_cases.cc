// SPDX-License-Identifier: Apache-2.0
//
// Writes cases for dim_oracle.py to the file it is given, one JSON object a line:
//
//   name     of the formula, or "random"
//   expr     as it was written: a number, ["symbol", id] or [operation, operands…] (floor_scale: operand,
//   scale) symbols  the assignment value    or error ("range" for overflow, "argument" for the rest): what
//   Dim::evaluate says range    [min, max] of the Dim, null where unbounded table    [[operation, a, b, c,
//   value, scale], …], the Dim's DimTable, and `position`, its entry there entries  the values that
//   evaluating the table gives, absent where it fails
#include <fmt/format.h>
#include <fmt/os.h>
#include <fmt/ranges.h>

#include <cstdio>

#include "expression.h"
#include "shape/dim_table.h"

namespace weir {
namespace {

class Writer {
 public:
  Writer(std::FILE* file, std::span<const Range> ranges) : file_(file) {
    for (const Range& range : ranges) {
      dims_.push_back(symbols_.add("", range, {}));
    }
  }

  void write(std::string_view name, const Expression& expression, std::span<const int64_t> assignment) {
    Dim dim = expression.to_dim(dims_);
    Result<int64_t> value = dim.evaluate(assignment);
    DimTable table;
    int32_t position = table.add(dim);
    std::vector<int64_t> values(static_cast<size_t>(table.size()));
    bool has_values = evaluate(table.entries(), assignment, values).has_value();

    std::string outcome =
        value ? fmt::format("\"value\": {}", *value)
              : fmt::format("\"error\": \"{}\"",
                            value.error().code() == StatusCode::kOutOfRange ? "range" : "argument");
    Range range = dim.range();
    auto bound = [](int64_t end, int64_t unbounded) {
      return end == unbounded ? std::string("null") : fmt::format("{}", end);
    };
    std::vector<std::string> entries;
    for (const DimTableEntry& entry : table.entries()) {
      entries.push_back(fmt::format("[\"{}\", {}, {}, {}, {}, {}]", name_of(entry.op), entry.a, entry.b,
                                    entry.c, entry.value, entry.scale));
    }
    fmt::print(
        file_,
        "{{\"name\": \"{}\", \"expr\": {}, \"symbols\": [{}], {}, \"range\": [{}, {}], \"table\": [{}], "
        "\"position\": {}{}}}\n",
        name, expression.to_json(), fmt::join(assignment, ", "), outcome, bound(range.min, INT64_MIN),
        bound(range.max, INT64_MAX), fmt::join(entries, ", "), position,
        has_values ? fmt::format(", \"entries\": [{}]", fmt::join(values, ", ")) : "");
  }

 private:
  std::FILE* file_;
  SymbolTable symbols_;
  std::vector<Dim> dims_;
};

struct Formula {
  std::string_view name;
  Expression expression;
};

// What the operators of real models ask of their dimensions.
std::vector<Formula> formulas() {
  const Expression batch = Expression::symbol(0);
  const Expression height = Expression::symbol(1);
  const Expression width = Expression::symbol(2);
  const Expression sequence = Expression::symbol(3);
  std::vector<Formula> list;

  auto window = [](const Expression& side, int64_t pads, int64_t kernel, int64_t stride, int64_t dilation) {
    return floor_div(side + pads - (dilation * (kernel - 1) + 1), stride) + 1;
  };
  list.push_back({"conv 7x7 stride 2 pad 3", window(height, 6, 7, 2, 1)});
  list.push_back({"conv 3x3 dilation 2", window(height, 4, 3, 1, 2)});
  list.push_back({"pool 3x3 stride 2 ceil mode", ceil_div(height + 1 - 3, 2) + 1});
  list.push_back({"transposed conv 4x4 stride 2", (height - 1) * 2 + 4 - 2});
  for (int64_t stride = 1; stride <= 3; ++stride) {
    for (int64_t kernel = 1; kernel <= 5; ++kernel) {
      Expression output = ceil_div(width, stride);
      Expression total = max((output - 1) * stride + kernel - width, 0);
      Expression begin = floor_div(total, 2);
      list.push_back({"SAME_UPPER begin", begin});
      list.push_back({"SAME_UPPER end", total - begin});
      list.push_back({"SAME_UPPER output", floor_div(width + begin + (total - begin) - kernel, stride) + 1});
    }
  }
  list.push_back({"resize 2", floor_scale(height, 2.0)});
  list.push_back({"resize 0.5", floor_scale(height, 0.5)});
  list.push_back({"resize 1.7", floor_scale(height, 1.7)});
  list.push_back({"resize third", floor_scale(height, 1.0 / 3.0)});
  list.push_back({"reshape batch·seq to heads", exact_div(batch * sequence * 768, batch * sequence * 12)});
  list.push_back({"reshape -1 over batch·seq", exact_div(batch * sequence * 384, batch * sequence)});
  list.push_back({"reshape -1 of pairs", exact_div(batch * sequence, 2)});
  list.push_back({"reshape -1 times its factor", exact_div(batch * sequence, 2) * 2});
  list.push_back({"slice from the end", max(sequence - max(sequence + -5, 0), 0)});
  list.push_back({"slice to the end", max(min(INT64_MAX, sequence) - min(2, sequence), 0)});
  list.push_back({"slice by 3", max(ceil_div(min(sequence, 100) - 1, 3), 0)});
  list.push_back({"range of positions", max(ceil_div(sequence * 2 - 3, 2), 0)});
  list.push_back({"where shape is -1", select(equal(sequence, -1), batch, sequence)});
  list.push_back({"crop to the lesser side", select(less(height, width), height, width)});
  list.push_back({"letterbox pad", floor_div(max(height, width) - height, 2)});

  // A feature pyramid over sides of multiples of 32, and its boxes.
  Expression tall = height * 32;
  Expression wide = width * 32;
  std::vector<Expression> levels{tall};
  for (int level = 1; level <= 5; ++level) {
    levels.push_back(window(levels.back(), 2, 3, 2, 1));
    list.push_back({"pyramid level", levels.back()});
    list.push_back(
        {"upsampled level fits", equal(floor_scale(levels.back(), 2.0), levels[levels.size() - 2])});
  }
  Expression boxes = 0;
  for (int64_t level = 3; level <= 5; ++level) {
    boxes = boxes + levels[static_cast<size_t>(level)] * floor_div(wide, int64_t{1} << level) * 3;
  }
  list.push_back({"boxes of three levels", boxes});
  return list;
}

int run(const char* path) {
  std::FILE* file = std::fopen(path, "w");
  if (file == nullptr) {
    fmt::print(stderr, "The file of cases ('{}') can't be written.\n", path);
    return 1;
  }
  const std::vector<Range> sides{{1, kDimMax}, {1, kDimMax}, {1, kDimMax}, {1, kDimMax}};
  Writer models(file, sides);
  ExpressionSource sizes(5, ExpressionSource::Magnitude::kSmall, sides);
  for (const Formula& formula : formulas()) {
    for (int i = 0; i < 12; ++i) {
      models.write(formula.name, formula.expression, sizes.assignment());
    }
    std::vector<int64_t> photo{1 + sizes.below(64), 1 + sizes.below(4000), 1 + sizes.below(4000),
                               1 + sizes.below(8192)};
    models.write(formula.name, formula.expression, photo);
  }
  const std::vector<Range> ranges{{1, kDimMax}, {0, 37}, {-20, 20}, {}};
  Writer random(file, ranges);
  for (auto magnitude : {ExpressionSource::Magnitude::kSmall, ExpressionSource::Magnitude::kLarge}) {
    ExpressionSource source(6, magnitude, ranges);
    for (int i = 0; i < 4000; ++i) {
      random.write("random", source.expression(1 + i % 6), source.assignment());
    }
  }
  return std::fclose(file) == 0 ? 0 : 1;
}

}  // namespace
}  // namespace weir

int main(int argc, char** argv) {
  if (argc != 2) {
    fmt::print(stderr, "Usage: {} FILE\n", argv[0]);
    return 2;
  }
  return weir::run(argv[1]);
}
