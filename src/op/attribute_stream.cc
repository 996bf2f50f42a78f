// SPDX-License-Identifier: Apache-2.0
//
// Writing and reading attributes as flat streams, from the one listing of fields.
//
// A vector is its length, then its elements; a Dim is a position in the table; a tile program is its input
// types, then its instructions with their values among the reals.
#include "op/attribute_stream.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/checked.h"
#include "op/attribute_fields.h"
#include "op/custom_operator.h"

namespace weir {
namespace {

class Writer {
 public:
  Writer(AttributeStream& stream, const std::function<int32_t(const Dim&)>& add_dim)
      : stream_(stream), add_dim_(add_dim) {}

  template <typename T>
  void operator()(std::string_view, const T& field) {
    write(field);
  }

 private:
  void write(int64_t value) { stream_.integers.push_back(value); }
  void write(bool value) { stream_.integers.push_back(value ? 1 : 0); }
  void write(double value) { stream_.reals.push_back(value); }
  void write(const Dim& value) { stream_.dims.push_back(add_dim_(value)); }
  void write(const std::string& value) { stream_.strings.push_back(value); }
  void write(const CustomAttribute& value) {
    write(value.name);
    write(value.kind);
    write(value.integers);
    write(value.reals);
    write(value.text);
    write(static_cast<int64_t>(value.element_type));
  }
  template <typename E>
    requires std::is_enum_v<E>
  void write(E value) {
    stream_.integers.push_back(static_cast<int64_t>(value));
  }
  template <typename T>
  void write(const std::vector<T>& values) {
    write(static_cast<int64_t>(values.size()));
    for (const T& value : values) {
      write(value);
    }
  }
  void write(const TileProgram& program) {
    write(static_cast<int64_t>(program.input_types().size()));
    for (ElementType type : program.input_types()) {
      write(type);
    }
    write(static_cast<int64_t>(program.instructions().size()));
    for (const TileInstruction& instruction : program.instructions()) {
      write(instruction.op);
      write(instruction.type);
      for (uint8_t operand : instruction.operands) {
        write(int64_t{operand});
      }
      for (double value : instruction.value) {
        write(value);
      }
    }
  }

  AttributeStream& stream_;
  const std::function<int32_t(const Dim&)>& add_dim_;
};

// Remembers the first error and leaves the remaining fields at their defaults.
class Reader {
 public:
  Reader(const AttributeStream& stream, std::span<const Dim> dims) : stream_(stream), table_(dims) {}

  template <typename T>
  void operator()(std::string_view name, T& field) {
    if (!result_) {
      return;
    }
    if (auto read_field = read(field); !read_field) {
      result_ = std::unexpected(std::move(read_field).error());
      result_.error().add_context(fmt::format("while reading attribute '{}'", name));
    }
  }

  Result<void> finish() {
    WEIR_TRY(result_);
    if (integer_ != stream_.integers.size() || real_ != stream_.reals.size() || dim_ != stream_.dims.size()) {
      return fail(StatusCode::kDataLoss,
                  "An attribute stream has ({}) integers, ({}) reals and ({}) dimensions, and its operator "
                  "takes ({}), ({}) and ({}).",
                  stream_.integers.size(), stream_.reals.size(), stream_.dims.size(), integer_, real_, dim_);
    }
    if (string_ != stream_.strings.size()) {
      return fail(StatusCode::kDataLoss, "An attribute stream has ({}) texts, and its operator takes ({}).",
                  stream_.strings.size(), string_);
    }
    return {};
  }

 private:
  template <typename T>
  static Result<T> next(const std::vector<T>& values, size_t& position, std::string_view what) {
    if (position >= values.size()) {
      return fail(StatusCode::kDataLoss, "An attribute stream ends after ({}) {}, and one more is needed.",
                  values.size(), what);
    }
    return values[position++];
  }

  Result<int64_t> next_up_to(int64_t greatest) {
    WEIR_ASSIGN(const int64_t value, next(stream_.integers, integer_, "integers"));
    if (value < 0 || value > greatest) {
      return fail(StatusCode::kDataLoss,
                  "Integer ({}) of an attribute stream has the value ({}), and only (0) to ({}) are allowed.",
                  integer_ - 1, value, greatest);
    }
    return value;
  }

  Result<void> read(int64_t& value) {
    WEIR_ASSIGN(value, next(stream_.integers, integer_, "integers"));
    return {};
  }
  Result<void> read(bool& value) {
    WEIR_ASSIGN(value, next_up_to(1));
    return {};
  }
  Result<void> read(double& value) {
    WEIR_ASSIGN(value, next(stream_.reals, real_, "reals"));
    return {};
  }
  Result<void> read(Dim& value) {
    WEIR_ASSIGN(const int32_t position, next(stream_.dims, dim_, "dimensions"));
    if (position < 0 || static_cast<size_t>(position) >= table_.size()) {
      return fail(StatusCode::kDataLoss,
                  "An attribute stream names dimension ({}) of a table, which has ({}) entries.", position,
                  table_.size());
    }
    value = table_[position];
    return {};
  }
  Result<void> read(std::string& value) {
    WEIR_ASSIGN(value, next(stream_.strings, string_, "texts"));
    return {};
  }
  Result<void> read(CustomAttribute& value) {
    WEIR_TRY(read(value.name));
    WEIR_TRY(read(value.kind));
    WEIR_TRY(read(value.integers));
    WEIR_TRY(read(value.reals));
    WEIR_TRY(read(value.text));
    WEIR_ASSIGN(const int64_t type, next_up_to(UINT8_MAX));
    value.element_type = static_cast<ElementType>(type);
    return {};
  }
  template <typename E>
    requires std::is_enum_v<E>
  Result<void> read(E& value) {
    WEIR_ASSIGN(const int64_t number,
                next_up_to(static_cast<int64_t>(internal::enumerators(value).size()) - 1));
    value = static_cast<E>(number);
    return {};
  }
  template <typename T>
  Result<void> read(std::vector<T>& values) {
    WEIR_ASSIGN(const int64_t count, next(stream_.integers, integer_, "integers"));
    // No more than the elements left, so that a false length allocates nothing.
    const size_t left = std::is_same_v<T, double>            ? stream_.reals.size() - real_
                        : std::is_same_v<T, int64_t>         ? stream_.integers.size() - integer_
                        : std::is_same_v<T, CustomAttribute> ? stream_.strings.size() - string_
                                                             : stream_.dims.size() - dim_;
    if (count < 0 || static_cast<size_t>(count) > left) {
      return fail(StatusCode::kDataLoss,
                  "Integer ({}) of an attribute stream has the value ({}), and only (0) to ({}) are allowed.",
                  integer_ - 1, count, left);
    }
    values.resize(static_cast<size_t>(count));
    for (T& value : values) {
      WEIR_TRY(read(value));
    }
    return {};
  }
  Result<void> read(TileProgram& program) {
    WEIR_ASSIGN(const int64_t inputs, next_up_to(kMaxTileInputs));
    std::vector<ElementType> types(static_cast<size_t>(inputs));
    for (ElementType& type : types) {
      WEIR_ASSIGN(const int64_t number, next_up_to(UINT8_MAX));
      type = static_cast<ElementType>(number);
    }
    WEIR_ASSIGN(const int64_t count, next_up_to(kMaxTileInstructions));
    std::vector<TileInstruction> instructions(static_cast<size_t>(count));
    for (TileInstruction& instruction : instructions) {
      WEIR_ASSIGN(const int64_t op, next_up_to(UINT8_MAX));
      instruction.op = static_cast<ScalarOp>(op);
      WEIR_ASSIGN(const int64_t type, next_up_to(UINT8_MAX));
      instruction.type = static_cast<ElementType>(type);
      for (uint8_t& operand : instruction.operands) {
        WEIR_ASSIGN(operand, next_up_to(UINT8_MAX));
      }
      for (double& value : instruction.value) {
        WEIR_TRY(read(value));
      }
    }
    WEIR_ASSIGN(program, TileProgram::from_parts(std::move(types), std::move(instructions)));
    return {};
  }

  const AttributeStream& stream_;
  std::span<const Dim> table_;
  Result<void> result_;
  size_t integer_ = 0;
  size_t real_ = 0;
  size_t dim_ = 0;
  size_t string_ = 0;
};

// What no single field shows: lengths that must agree, numbers that kernels divide by or index with.

Result<void> require(bool holds, std::string_view what) {
  if (!holds) {
    return fail(StatusCode::kDataLoss, "An attribute stream holds attributes in which {}.", what);
  }
  return {};
}

// Spatial axes are few, and steps along them small enough that an index computed from them cannot overflow.
bool are_steps(const std::vector<int64_t>& values) {
  return values.size() <= kMaxRank &&
         std::ranges::all_of(values, [](int64_t value) { return value >= 1 && value <= INT32_MAX; });
}

// So that adding them to an extent cannot overflow. An expression is looked at when it has become a number.
bool are_pads(const Dims& values) {
  return values.size() <= kMaxRank && std::ranges::all_of(values, [](const Dim& value) {
           return !value.is_constant() || (value.constant() >= -kDimMax && value.constant() <= kDimMax);
         });
}

bool is_axis(int64_t axis) {
  return axis >= 0 && axis < kMaxRank;
}

template <typename A>
Result<void> verify(const A&) {
  return {};
}

Result<void> verify(const ConvAttributes& a) {
  const size_t axes = a.strides.size();
  WEIR_TRY(require(a.dilations.size() == axes && a.pads_begin.size() == axes && a.pads_end.size() == axes,
                   "strides, dilations and pads differ in number"));
  WEIR_TRY(require(are_steps(a.strides) && are_steps(a.dilations), "a stride or dilation is out of range"));
  WEIR_TRY(require(are_pads(a.pads_begin) && are_pads(a.pads_end), "a pad is out of range"));
  return require(a.group >= 1 && a.group <= kDimMax, "the number of groups is less than 1 or too large");
}

Result<void> verify(const PoolAttributes& a) {
  const size_t axes = a.kernel.size();
  WEIR_TRY(require(a.strides.size() == axes && a.dilations.size() == axes && a.pads_begin.size() == axes &&
                       a.pads_end.size() == axes,
                   "kernel, strides, dilations and pads differ in number"));
  WEIR_TRY(require(are_pads(a.pads_begin) && are_pads(a.pads_end), "a pad is out of range"));
  return require(are_steps(a.kernel) && are_steps(a.strides) && are_steps(a.dilations),
                 "a kernel extent, stride or dilation is out of range");
}

Result<void> verify(const LstmAttributes& a) {
  return require(a.hidden_size >= 0 && a.hidden_size <= INT32_MAX, "the hidden size is out of range");
}

Result<void> verify(const ReduceAttributes& a) {
  return require(std::ranges::all_of(a.axes, is_axis) &&
                     std::ranges::adjacent_find(a.axes, std::greater_equal<>()) == a.axes.end(),
                 "the axes are out of range, out of order or not distinct");
}

Result<void> verify(const SoftmaxAttributes& a) {
  return require(is_axis(a.axis), "the axis is out of range");
}

Result<void> verify(const LayerNormalizationAttributes& a) {
  WEIR_TRY(require(is_axis(a.axis), "the axis is out of range"));
  return require(std::isfinite(a.epsilon) && a.epsilon >= 0, "the epsilon is negative or not finite");
}

Result<void> verify(const ResizeAttributes& a) {
  WEIR_TRY(require(a.scales.size() <= kMaxRank &&
                       std::ranges::all_of(a.scales, [](double s) { return std::isfinite(s) && s > 0; }),
                   "a scale is not a positive number"));
  return require(std::isfinite(a.cubic_coefficient), "the cubic coefficient is not finite");
}

Result<void> verify(const PadAttributes& a) {
  WEIR_TRY(require(a.begin.size() == a.end.size(), "the pads differ in number"));
  return require(are_pads(a.begin) && are_pads(a.end), "a pad is out of range");
}

Result<void> verify(const GatherAttributes& a) {
  return require(is_axis(a.axis), "the axis is out of range");
}

Result<void> verify(const TransposeAttributes& a) {
  std::vector<int64_t> sorted = a.permutation;
  std::ranges::sort(sorted);
  bool complete = sorted.size() <= kMaxRank;
  for (size_t i = 0; i < sorted.size(); ++i) {
    complete = complete && sorted[i] == static_cast<int64_t>(i);
  }
  return require(complete, "the permutation does not name every axis once");
}

Result<void> verify(const SliceAttributes& a) {
  WEIR_TRY(require(a.starts.size() == a.steps.size() && a.steps.size() <= kMaxRank,
                   "starts and steps differ in number"));
  return require(
      std::ranges::all_of(a.steps, [](int64_t s) { return s != 0 && s >= -kDimMax && s <= kDimMax; }),
      "a step is zero or out of range");
}

Result<void> verify(const ConcatAttributes& a) {
  return require(is_axis(a.axis), "the axis is out of range");
}

bool is_sound(const CustomAttribute& a) {
  switch (a.kind) {
    case CustomAttribute::Kind::kInteger:
      return a.integers.size() == 1;
    case CustomAttribute::Kind::kReal:
      return a.reals.size() == 1;
    case CustomAttribute::Kind::kText:
    case CustomAttribute::Kind::kIntegers:
    case CustomAttribute::Kind::kReals:
      return true;
    case CustomAttribute::Kind::kTensor:
      break;
  }
  if (a.integers.size() > kMaxRank || !is_valid(a.element_type) ||
      std::ranges::any_of(a.integers, [](int64_t extent) { return extent < 0; })) {
    return false;
  }
  const Result<int64_t> count = checked_product(a.integers);
  return count && *count <= kDimMax &&
         byte_size(a.element_type, *count) == static_cast<int64_t>(a.text.size());
}

Result<void> verify(const CustomAttributes& a) {
  constexpr size_t kLongest = 256;
  WEIR_TRY(require(
      !a.domain.empty() && !a.name.empty() && a.domain.size() <= kLongest && a.name.size() <= kLongest,
      "the name of the operator or of its domain is empty or too long"));
  WEIR_TRY(require(a.opset >= 1 && a.version >= 0, "the version of the operator is out of range"));
  WEIR_TRY(require(a.outputs >= 1 && a.outputs <= static_cast<int64_t>(kMaxCustomTensors),
                   "the number of outputs is out of range"));
  return require(std::ranges::all_of(a.attributes, is_sound),
                 "an attribute of the custom operator holds other elements than its kind");
}

}  // namespace

AttributeStream write_attributes(const Attributes& attributes,
                                 const std::function<int32_t(const Dim&)>& add_dim) {
  AttributeStream stream;
  Writer writer(stream, add_dim);
  std::visit([&](const auto& known) { internal::fields(writer, known); }, attributes);
  return stream;
}

Result<Attributes> read_attributes(Op op, const AttributeStream& stream, std::span<const Dim> dims) {
  if (!is_valid(op)) {
    return fail(StatusCode::kDataLoss, "An attribute stream belongs to an unknown operator ({}).",
                static_cast<int>(op));
  }
  Attributes attributes = default_attributes(op);
  Reader reader(stream, dims);
  std::visit([&](auto& known) { internal::fields(reader, known); }, attributes);
  WEIR_TRY(reader.finish(), "while reading the attributes of {}", to_string(op));
  WEIR_TRY(std::visit([](const auto& known) { return verify(known); }, attributes),
           "while reading the attributes of {}", to_string(op));
  return attributes;
}

}  // namespace weir
