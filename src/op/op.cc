// SPDX-License-Identifier: Apache-2.0
//
// Names and defaults of the operators, and their attributes as text.
#include "op/op.h"

#include <fmt/format.h>

#include <utility>

#include "op/attribute_fields.h"

namespace weir {
namespace {

constexpr std::string_view kOpNames[] = {"invalid",
                                         "Elementwise",
                                         "Conv",
                                         "ConvTranspose",
                                         "MatMul",
                                         "Lstm",
                                         "MaxPool",
                                         "AveragePool",
                                         "Reduce",
                                         "Softmax",
                                         "LayerNormalization",
                                         "Resize",
                                         "Pad",
                                         "Gather",
                                         "Reshape",
                                         "Transpose",
                                         "Slice",
                                         "Concat",
                                         "Expand",
                                         "Copy",
                                         "Fill",
                                         "Range",
                                         "DimTensor",
                                         "Custom"};
static_assert(std::size(kOpNames) == static_cast<size_t>(Op::kCustom) + 1);

std::string text_of(int64_t value) {
  return fmt::format("{}", value);
}
std::string text_of(double value) {
  return fmt::format("{}", value);
}
std::string text_of(bool value) {
  return value ? "true" : "false";
}
std::string text_of(const Dim& value) {
  return value.to_string();
}
std::string text_of(const TileProgram& value) {
  return fmt::format("\"{}\"", value.to_string());
}
std::string text_of(const std::string& value) {
  return value;
}
template <typename T>
std::string text_of(const std::vector<T>& values);
std::string text_of(const CustomAttribute& value) {
  std::string text = value.name + "=";
  switch (value.kind) {
    case CustomAttribute::Kind::kInteger:
      return text + (value.integers.empty() ? "" : text_of(value.integers[0]));
    case CustomAttribute::Kind::kReal:
      return text + (value.reals.empty() ? "" : text_of(value.reals[0]));
    case CustomAttribute::Kind::kText:
      return text + "\"" + value.text + "\"";
    case CustomAttribute::Kind::kIntegers:
      return text + text_of(value.integers);
    case CustomAttribute::Kind::kReals:
      return text + text_of(value.reals);
    case CustomAttribute::Kind::kTensor:
      return text + std::string(to_string(value.element_type)) + text_of(value.integers);
  }
  return text;
}
template <typename E>
  requires std::is_enum_v<E>
std::string text_of(E value) {
  const auto names = internal::enumerators(value);
  const auto index = static_cast<size_t>(value);
  return std::string(index < names.size() ? names[index] : "invalid");
}
template <typename T>
std::string text_of(const std::vector<T>& values) {
  std::string text = "[";
  for (const T& value : values) {
    text += text.size() > 1 ? "," : "";
    text += text_of(value);
  }
  return text + "]";
}

struct TextOfFields {
  std::vector<std::pair<std::string_view, std::string>> entries;
  template <typename T>
  void operator()(std::string_view name, const T& field) {
    entries.emplace_back(name, text_of(field));
  }
};

}  // namespace

std::string_view to_string(Op op) {
  return is_valid(op) ? kOpNames[static_cast<size_t>(op)] : kOpNames[0];
}

bool is_valid(Op op) {
  return op >= Op::kElementwise && op <= Op::kCustom;
}

Attributes default_attributes(Op op) {
  switch (op) {
    case Op::kElementwise:
      return ElementwiseAttributes{};
    case Op::kConv:
    case Op::kConvTranspose:
      return ConvAttributes{};
    case Op::kMatMul:
      return MatMulAttributes{};
    case Op::kLstm:
      return LstmAttributes{};
    case Op::kMaxPool:
    case Op::kAveragePool:
      return PoolAttributes{};
    case Op::kReduce:
      return ReduceAttributes{};
    case Op::kSoftmax:
      return SoftmaxAttributes{};
    case Op::kLayerNormalization:
      return LayerNormalizationAttributes{};
    case Op::kResize:
      return ResizeAttributes{};
    case Op::kPad:
      return PadAttributes{};
    case Op::kGather:
      return GatherAttributes{};
    case Op::kTranspose:
      return TransposeAttributes{};
    case Op::kSlice:
      return SliceAttributes{};
    case Op::kConcat:
      return ConcatAttributes{};
    case Op::kFill:
      return FillAttributes{};
    case Op::kRange:
      return RangeAttributes{};
    case Op::kDimTensor:
      return DimTensorAttributes{};
    case Op::kCustom:
      return CustomAttributes{};
    case Op::kReshape:
    case Op::kExpand:
    case Op::kCopy:
      return NoAttributes{};
  }
  return NoAttributes{};
}

const Epilogue* epilogue_of(const Attributes& attributes) {
  if (const auto* conv = std::get_if<ConvAttributes>(&attributes)) {
    return &conv->epilogue;
  }
  if (const auto* matmul = std::get_if<MatMulAttributes>(&attributes)) {
    return &matmul->epilogue;
  }
  return nullptr;
}

std::string to_string(const Attributes& attributes) {
  return std::visit(
      [](const auto& known) {
        TextOfFields given;
        internal::fields(given, known);
        TextOfFields defaults;
        const std::remove_cvref_t<decltype(known)> untouched;
        internal::fields(defaults, untouched);
        std::string text;
        for (size_t i = 0; i < given.entries.size(); ++i) {
          if (given.entries[i].second != defaults.entries[i].second) {
            text += text.empty() ? "" : " ";
            text += fmt::format("{}={}", given.entries[i].first, given.entries[i].second);
          }
        }
        return text;
      },
      attributes);
}

}  // namespace weir
