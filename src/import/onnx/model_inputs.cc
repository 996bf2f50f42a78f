// SPDX-License-Identifier: Apache-2.0
#include "import/onnx/model_inputs.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/checked.h"
#include "graph/infer.h"

namespace weir::onnx_import {
namespace {

using ShapeOverride = std::vector<std::optional<Range>>;

// A name that says the same dimension wherever it stands. '?' and a number below 0 say nothing.
bool is_name(const std::string& name) {
  return !name.empty() && name != "?" && name[0] != '-';
}

class Inputs {
 public:
  Inputs(const onnx::GraphProto& proto, const ImportOptions& options, Lowering& lowering)
      : proto_(proto), options_(options), lowering_(lowering) {}

  Result<void> run() {
    std::unordered_set<std::string_view> constants;
    for (const onnx::TensorProto& initializer : proto_.initializer()) {
      constants.insert(initializer.name());
    }
    for (const onnx::SparseTensorProto& initializer : proto_.sparse_initializer()) {
      constants.insert(initializer.values().name());
    }
    for (const auto& [name, range] : options_.dims) {
      WEIR_TRY(bind(name, range));
    }
    std::vector<const onnx::ValueInfoProto*> inputs;
    for (const onnx::ValueInfoProto& input : proto_.input()) {
      if (!constants.contains(input.name())) {
        inputs.push_back(&input);
      }
    }
    WEIR_TRY(name_shapes(inputs));
    WEIR_TRY(bind_shapes(inputs));
    for (const onnx::ValueInfoProto* input : inputs) {
      for (const auto& dim : input->type().tensor_type().shape().dim()) {
        model_names_.insert(dim.dim_param());
      }
    }
    for (const onnx::ValueInfoProto* input : inputs) {
      WEIR_TRY(add(*input), "while importing input '{}'", input->name());
    }
    return check_names(inputs);
  }

 private:
  Result<void> bind(const std::string& name, Range range) {
    if (range.min < 0 || range.max > kDimMax || range.min > range.max) {
      return fail(StatusCode::kInvalidArgument,
                  "Dimension '{}' is given range ({}..{}), and takes one from (0) to ({}).", name, range.min,
                  range.max, kDimMax);
    }
    const auto [place, added] = bound_.emplace(name, range);
    if (!added && place->second != range) {
      return fail(StatusCode::kInvalidArgument, "Dimension '{}' is given ({}..{}) and ({}..{}).", name,
                  place->second.min, place->second.max, range.min, range.max);
    }
    return {};
  }

  const ShapeOverride* shape_override(const std::string& name) const {
    for (const auto& [input, shape] : shapes_) {
      if (input == name) {
        return &shape;
      }
    }
    return nullptr;
  }

  // A shape without a name is that of the only input.
  Result<void> name_shapes(std::span<const onnx::ValueInfoProto* const> inputs) {
    shapes_ = options_.shapes;
    for (auto& [name, shape] : shapes_) {
      if (!name.empty()) {
        continue;
      }
      if (inputs.size() != 1) {
        std::vector<std::string_view> names;
        for (const onnx::ValueInfoProto* input : inputs) {
          names.push_back(input->name());
        }
        return fail(StatusCode::kInvalidArgument,
                    "A shape without a name is for models of one input, and this has ({}): {}.",
                    inputs.size(), fmt::join(names, ", "));
      }
      name = inputs[0]->name();
    }
    return {};
  }

  // A shape that is given for an input gives its named dimensions everywhere.
  Result<void> bind_shapes(std::span<const onnx::ValueInfoProto* const> inputs) {
    for (const onnx::ValueInfoProto* input : inputs) {
      const onnx::TypeProto_Tensor& type = input->type().tensor_type();
      const ShapeOverride* shape = shape_override(input->name());
      if (shape == nullptr || !type.has_shape()) {
        continue;
      }
      if (static_cast<int>(shape->size()) != type.shape().dim_size()) {
        return fail(StatusCode::kInvalidArgument, "Input '{}' is given a shape of ({}) axes, and has ({}).",
                    input->name(), shape->size(), type.shape().dim_size());
      }
      for (int i = 0; i < type.shape().dim_size(); ++i) {
        const std::optional<Range>& range = (*shape)[static_cast<size_t>(i)];
        if (range && is_name(type.shape().dim(i).dim_param())) {
          WEIR_TRY(bind(type.shape().dim(i).dim_param(), *range));
        }
      }
    }
    return {};
  }

  Result<Dim> make(std::string_view name, Range range, int32_t input, int32_t axis) {
    if (range.min < 0 || range.max > kDimMax || range.min > range.max) {
      return fail(StatusCode::kInvalidArgument,
                  "Axis ({}) is given range ({}..{}), and takes one from (0) to ({}).", axis, range.min,
                  range.max, kDimMax);
    }
    if (range.min == range.max) {
      return Dim(range.min);
    }
    return lowering_.graph().symbols.add(name, range, {SymbolSource::Kind::kDimension, input, axis});
  }

  Result<Dim> dimension(const onnx::TensorShapeProto_Dimension& proto, const std::optional<Range>& given,
                        int32_t input, int32_t axis) {
    const std::string& name = proto.dim_param();
    if (is_name(name)) {
      names_.insert(name);
      if (const auto known = named_.find(name); known != named_.end()) {
        return known->second;
      }
      ++open_;
      const auto range = bound_.find(name);
      WEIR_ASSIGN(Dim dim, make(name, range == bound_.end() ? kOpenDim : range->second, input, axis));
      named_.emplace(name, dim);
      return dim;
    }
    if (proto.has_dim_value() && proto.dim_value() >= 0) {
      if (proto.dim_value() > kDimMax) {
        return fail(StatusCode::kInvalidArgument, "Axis ({}) has dimension ({}), and ({}) is the most.", axis,
                    proto.dim_value(), kDimMax);
      }
      return given ? make("", *given, input, axis) : Dim(proto.dim_value());
    }
    const std::string own = name_of_open();
    names_.insert(own);
    if (given) {
      WEIR_TRY(bind(own, *given));
    }
    const auto range = bound_.find(own);
    return make(own, range == bound_.end() ? kOpenDim : range->second, input, axis);
  }

  // Dimensions that the model does not name are numbered among all that it leaves open, whatever is given a
  // value: the name that is shown is the one to give.
  std::string name_of_open() {
    std::string name;
    do {
      name = fmt::format("dim{}", open_++);
    } while (model_names_.contains(name));
    return name;
  }

  Result<void> add(const onnx::ValueInfoProto& input) {
    if (input.name().empty()) {
      return fail(StatusCode::kInvalidArgument, "The model's input ({}) has no name.",
                  lowering_.graph().inputs().size());
    }
    if (!input.type().has_tensor_type()) {
      return fail(StatusCode::kUnimplemented, "The input is no tensor, and only tensors are supported.");
    }
    const onnx::TypeProto_Tensor& proto = input.type().tensor_type();
    const std::optional<ElementType> element_type = element_type_of(proto.elem_type());
    if (!element_type) {
      return fail(StatusCode::kUnimplemented,
                  "The input has element type ({}), and numbers and bool are supported.",
                  onnx_type_name(proto.elem_type()));
    }
    const ShapeOverride* given = shape_override(input.name());
    const int rank = proto.has_shape()  ? proto.shape().dim_size()
                     : given == nullptr ? 0
                                        : static_cast<int>(given->size());
    if (!proto.has_shape() && given == nullptr) {
      return fail(StatusCode::kFailedPrecondition,
                  "The model says no shape for the input; a shape override ('{}=…') gives one.",
                  input.name());
    }
    if (rank > kMaxRank) {
      return fail(StatusCode::kUnimplemented, "The input has rank ({}), and ({}) is the most.", rank,
                  kMaxRank);
    }
    const auto position = static_cast<int32_t>(lowering_.graph().inputs().size());
    TensorType type{*element_type, {}, {}};
    static const onnx::TensorShapeProto_Dimension kOpen;
    for (int axis = 0; axis < rank; ++axis) {
      const std::optional<Range> range =
          given == nullptr ? std::nullopt : (*given)[static_cast<size_t>(axis)];
      WEIR_ASSIGN(type.shape.emplace_back(),
                  dimension(proto.has_shape() ? proto.shape().dim(axis) : kOpen, range, position, axis));
    }
    if (!has_possible_size(type)) {
      return fail(
          StatusCode::kInvalidArgument,
          "The input has type ({}), and extents of (0) to ({}) with a product within that are the most.",
          type.to_string(), kDimMax);
    }
    ImportedValue value;
    value.name = input.name();
    value.producer = "the model's input";
    value.type = type;
    value.id = lowering_.graph().add_input(input.name(), std::move(type));
    if (std::ranges::find(options_.shape_inputs, input.name()) != options_.shape_inputs.end()) {
      WEIR_TRY(make_shape_input(value, position));
    }
    return lowering_.define(input.name(), std::move(value));
  }

  // The elements of the input become symbols.
  Result<void> make_shape_input(ImportedValue& value, int32_t position) {
    Known known;
    for (const Dim& dim : value.type.shape) {
      known.shape.push_back(dim.as_constant().value_or(-1));
    }
    const Result<int64_t> count = checked_product(known.shape);
    const bool integers =
        value.type.element_type == ElementType::kInt64 || value.type.element_type == ElementType::kInt32;
    if (!integers || std::ranges::find(known.shape, -1) != known.shape.end() || !count ||
        *count > kMaxKnownElements) {
      return fail(
          StatusCode::kInvalidArgument,
          "The input has type ({}), and a shape input takes int32 or int64, a static shape and up to ({}) "
          "elements.",
          value.type.to_string(), kMaxKnownElements);
    }
    Dims elements;
    for (int32_t i = 0; i < static_cast<int32_t>(*count); ++i) {
      elements.push_back(lowering_.graph().symbols.add(fmt::format("{}[{}]", value.name, i), {0, kDimMax},
                                                       {SymbolSource::Kind::kElement, position, i}));
      known.elements.push_back(Scalar::of(elements.back()));
    }
    lowering_.graph().value(value.id).elements = std::move(elements);
    value.known = std::move(known);
    value.derived = true;
    return {};
  }

  Result<void> check_names(std::span<const onnx::ValueInfoProto* const> inputs) const {
    std::vector<std::string_view> input_names;
    for (const onnx::ValueInfoProto* input : inputs) {
      input_names.push_back(input->name());
    }
    const auto is_input = [&input_names](const std::string& name) {
      return std::ranges::find(input_names, name) != input_names.end();
    };
    for (const auto& [name, range] : options_.dims) {
      if (!names_.contains(name)) {
        return fail(StatusCode::kNotFound, "A dimension '{}' is given, and the model's inputs name ({}).",
                    name, fmt::join(names_, ", "));
      }
    }
    for (const auto& [name, shape] : shapes_) {
      if (!is_input(name)) {
        return fail(StatusCode::kNotFound, "A shape is given for '{}', and the model has inputs ({}).", name,
                    fmt::join(input_names, ", "));
      }
    }
    for (const std::string& name : options_.shape_inputs) {
      if (!is_input(name)) {
        return fail(StatusCode::kNotFound, "'{}' is named as shape input, and the model has inputs ({}).",
                    name, fmt::join(input_names, ", "));
      }
    }
    return {};
  }

  const onnx::GraphProto& proto_;
  const ImportOptions& options_;
  Lowering& lowering_;
  std::vector<std::pair<std::string, ShapeOverride>> shapes_;  // those of the options, all with a name
  std::map<std::string, Range> bound_;
  std::map<std::string, Dim> named_;
  std::set<std::string> names_;        // that may be given
  std::set<std::string> model_names_;  // of all dimensions of inputs
  int32_t open_ = 0;                   // dimensions that the model leaves open, so far
};

}  // namespace

Result<void> add_inputs(const onnx::GraphProto& proto, const ImportOptions& options, Lowering& lowering) {
  return Inputs(proto, options, lowering).run();
}

}  // namespace weir::onnx_import
