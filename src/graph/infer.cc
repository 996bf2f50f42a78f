// SPDX-License-Identifier: Apache-2.0
#include "graph/infer.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <optional>

#include "base/checked.h"
#include "graph/inference.h"
#include "op/custom_operator.h"

namespace weir {
namespace {

Result<TensorType> infer_elementwise(const Inference& inference) {
  const TileProgram& program = inference.get<ElementwiseAttributes>().program;
  const auto count = static_cast<size_t>(program.input_count());
  WEIR_TRY(inference.operands(count, static_cast<int64_t>(count), count));
  WEIR_TRY(inference.check_program(program));
  std::vector<Dims> shapes;
  for (size_t i = 0; i < count; ++i) {
    if (inference.input(i).element_type != program.input_types()[i]) {
      return inference.wrong("has operand ({}) of type ({}), and its program reads ({}).", i,
                             inference.input(i).to_string(), to_string(program.input_types()[i]));
    }
    shapes.push_back(inference.input(i).shape);
  }
  WEIR_ASSIGN(Dims shape, broadcast(shapes, inference.context));
  return TensorType{program.result_type(), std::move(shape), {}};
}

Result<TensorType> infer_reduce(const Inference& inference) {
  WEIR_TRY(inference.operands(1, 1, 1));
  const ReduceAttributes& attributes = inference.get<ReduceAttributes>();
  const TensorType& x = inference.input(0);
  TensorType y{x.element_type, {}, {}};
  size_t next = 0;
  for (int axis = 0; axis < x.rank(); ++axis) {
    if (next < attributes.axes.size() && attributes.axes[next] == axis) {
      ++next;
      if (attributes.keep_dims) {
        y.shape.emplace_back(1);
      }
    } else {
      y.shape.push_back(x.shape[static_cast<size_t>(axis)]);
    }
  }
  if (next != attributes.axes.size()) {
    return inference.wrong("has axes ({}), and takes ascending ones below the rank ({}) of its input.",
                           fmt::join(attributes.axes, ", "), x.rank());
  }
  return y;
}

Result<TensorType> infer_layer_normalization(const Inference& inference) {
  WEIR_TRY(inference.operands(2, 3, 2));
  const auto& attributes = inference.get<LayerNormalizationAttributes>();
  const TensorType& x = inference.input(0);
  WEIR_TRY(inference.axis_in_range(attributes.axis, x.rank()));
  const Dims normalised(x.shape.begin() + attributes.axis, x.shape.end());
  for (size_t operand = 1; operand < 3; ++operand) {
    if (!inference.has(operand)) {
      continue;
    }
    const Dims& shape = inference.input(operand).shape;
    const std::array<Dims, 2> shapes = {normalised, shape};
    WEIR_ASSIGN(const Dims joined, broadcast(shapes, inference.context));
    if (joined.size() != normalised.size()) {
      return inference.wrong("has operand ({}) of shape {}, and it normalises over {}.", operand,
                             shape_text(shape), shape_text(normalised));
    }
    for (size_t i = 0; i < joined.size(); ++i) {
      WEIR_TRY(inference.require_equal(joined[i], normalised[i],
                                       "a scale and a bias that broadcast to what it normalises over"));
    }
  }
  return TensorType{x.element_type, x.shape, {}};
}

Result<TensorType> infer_pad(const Inference& inference) {
  WEIR_TRY(inference.operands(1, 1, 1));
  const PadAttributes& attributes = inference.get<PadAttributes>();
  const TensorType& x = inference.input(0);
  if (attributes.begin.size() != x.shape.size() || attributes.end.size() != x.shape.size()) {
    return inference.wrong("has ({}) pads before and ({}) behind, and its input has rank ({}).",
                           attributes.begin.size(), attributes.end.size(), x.rank());
  }
  TensorType y{x.element_type, {}, {}};
  for (size_t i = 0; i < x.shape.size(); ++i) {
    y.shape.push_back(x.shape[i] + attributes.begin[i] + attributes.end[i]);
    WEIR_TRY(inference.require_at_least(y.shape.back(), 0, "a result of at least 0 elements an axis"));
    for (const Dim& pad : {attributes.begin[i], attributes.end[i]}) {
      if (attributes.mode == PadMode::kConstant || !pad.is_constant() || pad.constant() <= 0 ||
          y.shape.back().is_constant(0)) {
        continue;
      }
      if (attributes.mode == PadMode::kReflect) {
        WEIR_TRY(
            inference.require_at_least(x.shape[i], pad + 1, "an input that is longer than what it reflects"));
      } else {
        WEIR_TRY(inference.require_at_least(x.shape[i], 1, "an input that has elements to repeat"));
      }
    }
  }
  return y;
}

Result<TensorType> infer_gather(const Inference& inference) {
  WEIR_TRY(inference.operands(2, 2, 2));
  const int64_t axis = inference.get<GatherAttributes>().axis;
  const TensorType& data = inference.input(0);
  const TensorType& indices = inference.input(1);
  WEIR_TRY(inference.axis_in_range(axis, data.rank()));
  if (indices.element_type != ElementType::kInt64 && indices.element_type != ElementType::kInt32) {
    return inference.wrong("has indices of type ({}), and takes int32 or int64.", indices.to_string());
  }
  TensorType y{data.element_type, Dims(data.shape.begin(), data.shape.begin() + axis), {}};
  y.shape.insert(y.shape.end(), indices.shape.begin(), indices.shape.end());
  y.shape.insert(y.shape.end(), data.shape.begin() + axis + 1, data.shape.end());
  return y;
}

Result<TensorType> infer_transpose(const Inference& inference) {
  WEIR_TRY(inference.operands(1, 1, 1));
  const std::vector<int64_t>& permutation = inference.get<TransposeAttributes>().permutation;
  const TensorType& x = inference.input(0);
  if (permutation.size() != x.shape.size()) {
    return inference.wrong("permutes ({}) axes, and its input has rank ({}).", permutation.size(), x.rank());
  }
  std::vector<bool> seen(permutation.size(), false);
  TensorType y{x.element_type, {}, {}};
  for (int64_t axis : permutation) {
    WEIR_TRY(inference.axis_in_range(axis, x.rank()));
    if (seen[static_cast<size_t>(axis)]) {
      return inference.wrong("names axis ({}) twice in its permutation.", axis);
    }
    seen[static_cast<size_t>(axis)] = true;
    y.shape.push_back(x.shape[static_cast<size_t>(axis)]);
  }
  return y;
}

Result<TensorType> infer_slice(const Inference& inference) {
  WEIR_TRY(inference.operands(1, 1, 1));
  const SliceAttributes& attributes = inference.get<SliceAttributes>();
  const TensorType& x = inference.input(0);
  WEIR_ASSIGN(const TensorType* wanted, inference.only_wanted());
  const size_t rank = x.shape.size();
  if (attributes.starts.size() != rank || attributes.steps.size() != rank || wanted->shape.size() != rank) {
    return inference.wrong(
        "has ({}) starts, ({}) steps and a result of rank ({}), and its input has rank ({}).",
        attributes.starts.size(), attributes.steps.size(), wanted->rank(), rank);
  }
  for (size_t i = 0; i < rank; ++i) {
    const int64_t step = attributes.steps[i];
    if (step == 0) {
      return inference.wrong("has a step of (0) on axis ({}).", i);
    }
    const auto size = x.shape[i].as_constant();
    const auto start = attributes.starts[i].as_constant();
    const auto count = wanted->shape[i].as_constant();
    if (size && start && count && *count > 0) {
      WEIR_ASSIGN(const int64_t reach, checked_mul(*count - 1, step));
      WEIR_ASSIGN(const int64_t last, checked_add(*start, reach));
      if (*start < 0 || *start >= *size || last < 0 || last >= *size) {
        return inference.wrong("takes ({}) elements from ({}) by ({}) on axis ({}), which has ({}).", *count,
                               *start, step, i, *size);
      }
    }
  }
  return TensorType{x.element_type, wanted->shape, {}};
}

Result<TensorType> infer_concat(const Inference& inference) {
  WEIR_TRY(inference.operands(1, -1, inference.inputs.size()));
  const int64_t axis = inference.get<ConcatAttributes>().axis;
  const TensorType& first = inference.input(0);
  WEIR_TRY(inference.axis_in_range(axis, first.rank()));
  TensorType y{first.element_type, first.shape, {}};
  for (size_t operand = 1; operand < inference.inputs.size(); ++operand) {
    const TensorType& other = inference.input(operand);
    if (other.element_type != first.element_type || other.rank() != first.rank()) {
      return inference.wrong("joins ({}) and ({}), and it takes one element type and one rank.",
                             first.to_string(), other.to_string());
    }
    for (size_t i = 0; i < y.shape.size(); ++i) {
      if (static_cast<int64_t>(i) == axis) {
        y.shape[i] += other.shape[i];
        continue;
      }
      WEIR_TRY(inference.require_equal(y.shape[i], other.shape[i], "operands of one shape off its axis"));
      if (other.shape[i].is_constant()) {
        y.shape[i] = other.shape[i];
      }
    }
  }
  return y;
}

Result<TensorType> infer_reshape(const Inference& inference) {
  WEIR_TRY(inference.operands(1, 1, 1));
  WEIR_ASSIGN(const TensorType* wanted, inference.only_wanted());
  WEIR_TRY(inference.require_equal(inference.input(0).element_count(), wanted->element_count(),
                                   "a result with as many elements as its input"));
  return TensorType{inference.input(0).element_type, wanted->shape, {}};
}

Result<TensorType> infer_expand(const Inference& inference) {
  WEIR_TRY(inference.operands(1, 1, 1));
  WEIR_ASSIGN(const TensorType* wanted, inference.only_wanted());
  const TensorType& x = inference.input(0);
  const std::array<Dims, 2> shapes = {x.shape, wanted->shape};
  WEIR_ASSIGN(const Dims joined, broadcast(shapes, inference.context));
  if (joined.size() != wanted->shape.size()) {
    return inference.wrong("takes ({}) to ({}), which has fewer axes.", x.to_string(), wanted->to_string());
  }
  for (size_t i = 0; i < joined.size(); ++i) {
    WEIR_TRY(inference.require_equal(joined[i], wanted->shape[i], "a shape that its input broadcasts to"));
  }
  return TensorType{x.element_type, wanted->shape, {}};
}

Result<TensorType> infer_resize(const Inference& inference) {
  WEIR_TRY(inference.operands(1, 1, 1));
  WEIR_ASSIGN(const TensorType* wanted, inference.only_wanted());
  const std::vector<double>& scales = inference.get<ResizeAttributes>().scales;
  const TensorType& x = inference.input(0);
  if (wanted->rank() != x.rank() || (!scales.empty() && scales.size() != x.shape.size())) {
    return inference.wrong("takes ({}) to ({}) with ({}) scales, and the ranks are to be equal.",
                           x.to_string(), wanted->to_string(), scales.size());
  }
  for (size_t i = 0; i < x.shape.size(); ++i) {
    if (x.shape[i].is_constant(0) && wanted->shape[i].range().min > 0) {
      return inference.wrong("takes ({}) to ({}), which makes something of no elements on axis ({}).",
                             x.to_string(), wanted->to_string(), i);
    }
  }
  // Formats round the product in several ways, which differ by one where it is close to a whole number.
  for (size_t i = 0; i < scales.size(); ++i) {
    const auto given = wanted->shape[i].as_constant();
    const auto scaled = floor_scale(x.shape[i], scales[i]).as_constant();
    if (given && scaled && (*given < *scaled - 1 || *given > *scaled + 1)) {
      return inference.wrong("scales ({}) by ({}) on axis ({}), and ({}) is asked for.",
                             x.shape[i].to_string(), scales[i], i, *given);
    }
  }
  return TensorType{x.element_type, wanted->shape, {}};
}

Result<TensorType> infer_source(const Inference& inference) {
  WEIR_TRY(inference.operands(0, 0, 0));
  WEIR_ASSIGN(const TensorType* wanted, inference.only_wanted());
  if (inference.op == Op::kRange && wanted->rank() != 1) {
    return inference.wrong("gives a result of rank 1, and ({}) is asked for.", wanted->to_string());
  }
  if (inference.op == Op::kDimTensor) {
    const Dim count = static_cast<int64_t>(inference.get<DimTensorAttributes>().elements.size());
    if (wanted->element_type != ElementType::kInt64 || wanted->element_count() != count) {
      return inference.wrong("holds ({}) int64 elements, and ({}) is asked for.", count.to_string(),
                             wanted->to_string());
    }
  }
  return TensorType{wanted->element_type, wanted->shape, {}};
}

Result<TensorType> infer_same(const Inference& inference) {
  WEIR_TRY(inference.operands(1, 1, 1));
  if (inference.op == Op::kSoftmax) {
    WEIR_TRY(inference.axis_in_range(inference.get<SoftmaxAttributes>().axis, inference.input(0).rank()));
  }
  return TensorType{inference.input(0).element_type, inference.input(0).shape, {}};
}

Result<std::vector<TensorType>> infer_custom(const Inference& inference) {
  const CustomAttributes& attributes = inference.get<CustomAttributes>();
  if (attributes.definition == nullptr) {
    return inference.wrong("is of custom operator '{}', which is not registered.", attributes.full_name());
  }
  return attributes.definition->infer(attributes, inference.inputs, inference.context.node,
                                      inference.context.constraints);
}

Result<std::vector<TensorType>> only(Result<TensorType> type) {
  WEIR_TRY(type);
  return std::vector<TensorType>{*std::move(type)};
}

Result<std::vector<TensorType>> infer_all(const Inference& inference) {
  switch (inference.op) {
    case Op::kElementwise:
      return only(infer_elementwise(inference));
    case Op::kConv:
      return only(infer_conv(inference));
    case Op::kConvTranspose:
      return only(infer_conv_transpose(inference));
    case Op::kMatMul:
      return only(infer_matmul(inference));
    case Op::kMaxPool:
    case Op::kAveragePool:
      return only(infer_pool(inference));
    case Op::kReduce:
      return only(infer_reduce(inference));
    case Op::kLayerNormalization:
      return only(infer_layer_normalization(inference));
    case Op::kResize:
      return only(infer_resize(inference));
    case Op::kPad:
      return only(infer_pad(inference));
    case Op::kGather:
      return only(infer_gather(inference));
    case Op::kReshape:
      return only(infer_reshape(inference));
    case Op::kTranspose:
      return only(infer_transpose(inference));
    case Op::kSlice:
      return only(infer_slice(inference));
    case Op::kConcat:
      return only(infer_concat(inference));
    case Op::kExpand:
      return only(infer_expand(inference));
    case Op::kSoftmax:
    case Op::kCopy:
      return only(infer_same(inference));
    case Op::kFill:
    case Op::kRange:
    case Op::kDimTensor:
      return only(infer_source(inference));
    case Op::kCustom:
      return infer_custom(inference);
    case Op::kLstm:
      break;
  }
  return infer_lstm(inference);
}

}  // namespace

std::string shape_text(const Dims& shape) {
  return TensorType{ElementType::kFloat32, shape, {}}.to_string().substr(
      to_string(ElementType::kFloat32).size());
}

Result<void> Inference::require_equal(const Dim& a, const Dim& b, std::string_view what) const {
  const std::optional<bool> equal_dims = proves_equal(a, b);
  if (equal_dims == true) {
    return {};
  }
  if (equal_dims == false) {
    return wrong("needs {}, and has ({}) and ({}).", what, a.to_string(), b.to_string());
  }
  if (context.constraints != nullptr) {
    context.constraints->push_back(
        {Constraint::Kind::kEqual, a, b, fmt::format("{} '{}' needs {}", to_string(op), context.node, what)});
  }
  return {};
}

Result<void> Inference::require_at_least(const Dim& a, const Dim& b, std::string_view what) const {
  const std::optional<bool> less_dims = proves_less(a, b);
  if (less_dims == false) {
    return {};
  }
  if (less_dims == true) {
    return wrong("needs {}, and has ({}), where ({}) is the least.", what, a.to_string(), b.to_string());
  }
  if (context.constraints != nullptr) {
    context.constraints->push_back({Constraint::Kind::kAtLeast, a, b,
                                    fmt::format("{} '{}' needs {}", to_string(op), context.node, what)});
  }
  return {};
}

Result<void> Inference::operands(size_t least, int64_t most, size_t required) const {
  if (inputs.size() < least || (most >= 0 && inputs.size() > static_cast<size_t>(most))) {
    return wrong("has ({}) operands, and takes {}.", inputs.size(),
                 most < 0                             ? fmt::format("({}) or more", least)
                 : static_cast<size_t>(most) == least ? fmt::format("({})", least)
                                                      : fmt::format("({}) to ({})", least, most));
  }
  for (size_t i = 0; i < required; ++i) {
    if (inputs[i] == nullptr) {
      return wrong("lacks operand ({}), which it needs.", i);
    }
  }
  return {};
}

Result<void> Inference::check_program(const TileProgram& program) const {
  const std::span<const ElementType> types = program.input_types();
  const std::span<const TileInstruction> instructions = program.instructions();
  if (auto checked =
          TileProgram::from_parts({types.begin(), types.end()}, {instructions.begin(), instructions.end()});
      !checked) {
    return wrong("has a program that is not valid: {}", checked.error().message());
  }
  return {};
}

Result<void> Inference::axis_in_range(int64_t axis, int rank) const {
  if (axis < 0 || axis >= rank) {
    return wrong("has axis ({}), and its input has rank ({}).", axis, rank);
  }
  return {};
}

Result<const TensorType*> Inference::only_wanted() const {
  if (wanted.size() != 1) {
    return wrong("is asked for ({}) results, and it gives one, whose shape the caller names.", wanted.size());
  }
  return &wanted[0];
}

Result<Dim> broadcast(const Dim& a, const Dim& b, InferContext& context) {
  if (a.is_constant(1)) {
    return b;
  }
  if (b.is_constant(1)) {
    return a;
  }
  const std::optional<bool> equal_dims = proves_equal(a, b);
  if (equal_dims == true) {
    return a.is_constant() ? a : b.is_constant() ? b : a;
  }
  if (equal_dims == false) {
    return fail(StatusCode::kInvalidArgument,
                "Node '{}' joins dimensions ({}) and ({}), which are neither equal nor 1.", context.node,
                a.to_string(), b.to_string());
  }
  if (context.constraints != nullptr) {
    context.constraints->push_back(
        {Constraint::Kind::kEqual, a, b,
         fmt::format("Node '{}' joins two dimensions, which are to be equal", context.node)});
  }
  return b.is_constant() ? b : a;
}

Result<Dims> broadcast(std::span<const Dims> shapes, InferContext& context) {
  size_t rank = 0;
  for (const Dims& shape : shapes) {
    rank = std::max(rank, shape.size());
  }
  Dims result(rank, Dim(1));
  for (const Dims& shape : shapes) {
    const size_t offset = rank - shape.size();
    for (size_t i = 0; i < shape.size(); ++i) {
      WEIR_ASSIGN(result[offset + i], broadcast(result[offset + i], shape[i], context),
                  "while joining shapes on axis ({})", offset + i);
    }
  }
  return result;
}

Result<std::vector<TensorType>> infer_types(Op op, const Attributes& attributes,
                                            std::span<const TensorType* const> inputs,
                                            std::span<const TensorType> wanted, InferContext& context) {
  const Inference inference{op, attributes, inputs, wanted, context};
  if (!is_valid(op) || attributes.index() != default_attributes(op).index()) {
    return fail(StatusCode::kInvalidArgument, "Node '{}' has attributes that operator ({}) does not take.",
                context.node, is_valid(op) ? to_string(op) : std::to_string(static_cast<int>(op)));
  }
  WEIR_ASSIGN(std::vector<TensorType> types, infer_all(inference));
  for (const TensorType& type : types) {
    if (type.rank() > kMaxRank) {
      return inference.wrong("gives a result of rank ({}), and ({}) is the most.", type.rank(), kMaxRank);
    }
    if (!has_possible_size(type)) {
      return inference.wrong(
          "gives a result of type ({}), and extents of (0) to ({}) with a product within that are "
          "the most.",
          type.to_string(), kDimMax);
    }
  }
  return types;
}

bool has_possible_size(const TensorType& type) {
  int64_t count = 1;
  for (const Dim& dim : type.shape) {
    if (dim.range().max < 0 || dim.range().min > kDimMax) {
      return false;
    }
    const int64_t extent = dim.as_constant().value_or(1);
    if (extent < 0 || extent > kDimMax ||
        __builtin_mul_overflow(count, std::max<int64_t>(extent, 1), &count) || count > kDimMax) {
      return false;
    }
  }
  return true;
}

}  // namespace weir
