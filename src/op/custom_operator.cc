// SPDX-License-Identifier: Apache-2.0
#include "op/custom_operator.h"

#include <algorithm>

#include "base/checked.h"

namespace weir {
namespace {

constexpr std::string_view kOwnDomain = "ai.onnx";

std::string_view domain_name(std::string_view domain) {
  return domain.empty() ? kOwnDomain : domain;
}

TensorType type_of(const TensorSpec& spec) {
  TensorType type;
  type.element_type = spec.type;
  for (int32_t i = 0; i < spec.rank; ++i) {
    type.shape.emplace_back(spec.shape[static_cast<size_t>(i)]);
  }
  return type;
}

bool has_elements(std::span<const TensorSpec> specs) {
  return std::ranges::any_of(
      specs, [](const TensorSpec& spec) { return spec.rank >= 0 && spec.element_count() > 0; });
}

}  // namespace

CustomOperator::CustomOperator(CustomDescription description)
    : description_(std::move(description)),
      full_name_(fmt::format("{}.{}", domain_name(description_.domain), description_.name)),
      implementation_name_("custom:" + full_name_) {
  description_.domain = domain_name(description_.domain);
}

std::string CustomOperator::where(std::string_view node) const {
  return fmt::format("while asking custom operator {} about node '{}'", full_name_, node);
}

Result<void> CustomOperator::check_operands(const CustomAttributes& attributes,
                                            std::span<const TensorType* const> inputs) const {
  const auto& d = description_;
  const auto count = static_cast<int64_t>(inputs.size());
  if (count < d.min_inputs || count > d.max_inputs) {
    return fail(StatusCode::kInvalidArgument, "The node has ({}) inputs, and {} takes from ({}) to ({}).",
                count, full_name_, d.min_inputs, d.max_inputs);
  }
  for (int32_t i = 0; i < d.min_inputs; ++i) {
    if (inputs[static_cast<size_t>(i)] == nullptr) {
      return fail(StatusCode::kInvalidArgument, "The node lacks input ({}), and {} needs its first ({}).", i,
                  full_name_, d.min_inputs);
    }
  }
  if (attributes.outputs < d.min_outputs || attributes.outputs > d.max_outputs) {
    return fail(StatusCode::kInvalidArgument, "The node has ({}) outputs, and {} gives from ({}) to ({}).",
                attributes.outputs, full_name_, d.min_outputs, d.max_outputs);
  }
  return {};
}

Result<void> CustomOperator::check_output(const TensorType& type, size_t position) const {
  if (!is_valid(type.element_type) || bit_width(type.element_type) % 8 != 0) {
    return fail(StatusCode::kInvalidArgument,
                "The shape function gives output ({}) element type ({}), and takes one of whole bytes.",
                position,
                is_valid(type.element_type) ? to_string(type.element_type)
                                            : std::to_string(static_cast<int>(type.element_type)));
  }
  if (type.rank() > kMaxRank) {
    return fail(StatusCode::kInvalidArgument,
                "The shape function gives output ({}) rank ({}), and ({}) is the most.", position,
                type.rank(), kMaxRank);
  }
  std::vector<int64_t> numbers;
  for (size_t axis = 0; axis < type.shape.size(); ++axis) {
    const Range range = type.shape[axis].range();
    if (range.max < 0 || range.min > kDimMax) {
      return fail(
          StatusCode::kInvalidArgument,
          "The shape function gives axis ({}) of output ({}) the extent ({}), and (0 to {}) are allowed.",
          axis, position, type.shape[axis].to_string(), kDimMax);
    }
    if (type.shape[axis].is_constant()) {
      numbers.push_back(type.shape[axis].constant());
    }
  }
  if (numbers.size() == type.shape.size()) {
    const Result<int64_t> count = checked_product(numbers);
    if (!count || *count > kDimMax) {
      return fail(StatusCode::kInvalidArgument,
                  "The shape function gives output ({}) the type ({}), and (2^48) elements are the most.",
                  position, type.to_string());
    }
  }
  return {};
}

Result<std::vector<TensorType>> CustomOperator::infer(const CustomAttributes& attributes,
                                                      std::span<const TensorType* const> inputs,
                                                      std::string_view node,
                                                      std::vector<Constraint>* constraints) const {
  WEIR_TRY(check_operands(attributes, inputs), "{}", where(node));
  std::vector<Constraint> unproved;
  WEIR_ASSIGN(std::vector<TensorType> types, shape(attributes, inputs, node, unproved), "{}", where(node));
  if (static_cast<int64_t>(types.size()) != attributes.outputs) {
    return std::unexpected(internal::with_context(
        Status(StatusCode::kInvalidArgument,
               fmt::format("The shape function gives ({}) outputs, and the node has ({}).", types.size(),
                           attributes.outputs)),
        "{}", where(node)));
  }
  for (size_t i = 0; i < types.size(); ++i) {
    WEIR_TRY(check_output(types[i], i), "{}", where(node));
  }
  for (Constraint& constraint : unproved) {
    constraint.what = fmt::format("{} '{}' needs {}", full_name_, node, constraint.what);
    if (constraints != nullptr) {
      constraints->push_back(std::move(constraint));
    }
  }
  return types;
}

Result<void> CustomOperator::check_same_outputs(const ConcreteOp& op, std::string_view node) const {
  std::vector<TensorType> types;
  types.reserve(op.inputs.size());
  std::vector<const TensorType*> inputs;
  for (const TensorSpec& spec : op.inputs) {
    inputs.push_back(spec.rank < 0 ? nullptr : &types.emplace_back(type_of(spec)));
  }
  WEIR_ASSIGN(const std::vector<TensorType> outputs,
              infer(op.get<CustomAttributes>(), inputs, node, nullptr));
  if (op.outputs.size() != outputs.size()) {
    return fail(StatusCode::kFailedPrecondition, "The step has ({}) outputs, and {} gives it ({}).",
                op.outputs.size(), full_name_, outputs.size());
  }
  for (size_t i = 0; i < op.outputs.size(); ++i) {
    const TensorType planned = type_of(op.outputs[i]);
    if (op.outputs[i].rank < 0 || outputs[i].element_type != planned.element_type ||
        outputs[i].shape != planned.shape) {
      return fail(
          StatusCode::kFailedPrecondition,
          "Output ({}) has the type ({}) in the program, and for this shape {} gives ({}); its shape "
          "function answers by inputs and attributes alone, and its version changes when the answer does.",
          i, planned.to_string(), full_name_, outputs[i].to_string());
    }
  }
  return {};
}

Result<void> CustomOperator::check_extent(const CustomExtent& extent, const ConcreteOp& op) const {
  constexpr int64_t kMostTiles = int64_t{1} << 40;
  if (extent.tiles < 0 || extent.tiles > kMostTiles) {
    return fail(StatusCode::kInvalidArgument,
                "The extent function asks for ({}) tiles, and (0 to {}) are allowed.", extent.tiles,
                kMostTiles);
  }
  if (extent.tiles == 0 && has_elements(op.outputs)) {
    return fail(
        StatusCode::kInvalidArgument,
        "The extent function asks for (0) tiles, and there are outputs to write, so (1) is the least.");
  }
  if (extent.parameter_bytes < 0 || extent.parameter_bytes > kMaxCustomParameterBytes) {
    return fail(StatusCode::kInvalidArgument,
                "The extent function gives ({}) bytes of parameters, and (0 to {}) are allowed.",
                extent.parameter_bytes, kMaxCustomParameterBytes);
  }
  return {};
}

Result<CustomPrepared> CustomOperator::prepare(const ConcreteOp& op, std::string_view node) const {
  WEIR_TRY(check_same_outputs(op, node));
  CustomPrepared prepared;
  WEIR_ASSIGN(prepared.plan, plan(op, node), "{}", where(node));
  CustomPlan& needs = prepared.plan;
  if (needs.workspace_bytes < 0 || needs.workspace_bytes > kDimMax || needs.scratch_bytes < 0 ||
      needs.scratch_bytes > kDimMax) {
    return std::unexpected(internal::with_context(
        Status(StatusCode::kInvalidArgument,
               fmt::format(
                   "The plan function asks for a workspace of ({}) and a scratch of ({}) bytes, and (0 to "
                   "{}) are allowed.",
                   needs.workspace_bytes, needs.scratch_bytes, kDimMax)),
        "{}", where(node)));
  }
  const int64_t alignment = needs.workspace_alignment == 0 ? 64 : needs.workspace_alignment;
  if (alignment < 1 || alignment > kMaxCustomAlignment || (alignment & (alignment - 1)) != 0) {
    return std::unexpected(internal::with_context(
        Status(StatusCode::kInvalidArgument,
               fmt::format(
                   "The plan function asks for a workspace aligned to ({}) bytes, and powers of two up to "
                   "({}) are allowed.",
                   alignment, kMaxCustomAlignment)),
        "{}", where(node)));
  }
  needs.workspace_alignment = std::max<int64_t>(alignment, 64);
  WEIR_ASSIGN(prepared.extent, extent(op, node), "{}", where(node));
  WEIR_TRY(check_extent(prepared.extent, op), "{}", where(node));
  return prepared;
}

Result<std::shared_ptr<const CustomOperators>> CustomOperators::with(
    const CustomOperators* list, std::shared_ptr<const CustomOperator> added) {
  auto made = std::make_shared<CustomOperators>();
  if (list != nullptr) {
    made->all_ = list->all_;
  }
  const auto place = std::ranges::lower_bound(made->all_, added->full_name(), {},
                                              [](const auto& one) { return one->full_name(); });
  if (place != made->all_.end() && (*place)->full_name() == added->full_name()) {
    return fail(StatusCode::kAlreadyExists,
                "Custom operator {} is registered already (version {}), and a name is registered once.",
                added->full_name(), (*place)->description().version);
  }
  made->all_.insert(place, std::move(added));
  return std::shared_ptr<const CustomOperators>(std::move(made));
}

std::shared_ptr<const CustomOperator> CustomOperators::find(std::string_view domain,
                                                            std::string_view name) const {
  for (const auto& one : all_) {
    if (one->description().name == name && one->description().domain == domain_name(domain)) {
      return one;
    }
  }
  return nullptr;
}

std::string CustomOperators::text() const {
  std::string text;
  for (const auto& one : all_) {
    const CustomDescription& d = one->description();
    text += fmt::format(" operator {}.{} version {} opset {}..{}", d.domain, d.name, d.version, d.first_opset,
                        d.last_opset);
  }
  return text;
}

Result<std::shared_ptr<const CustomOperator>> resolve(const CustomOperators* operators,
                                                      const CustomAttributes& attributes) {
  std::shared_ptr<const CustomOperator> found =
      operators == nullptr ? nullptr : operators->find(attributes.domain, attributes.name);
  if (found == nullptr) {
    return fail(
        StatusCode::kFailedPrecondition,
        "The program needs custom operator {} (version {}), and this runtime has none of that name; register "
        "it with weir_runtime_register_operator before the program is opened, or name its library with "
        "--operators.",
        attributes.full_name(), attributes.version);
  }
  const CustomDescription& d = found->description();
  if (d.version != attributes.version) {
    return fail(
        StatusCode::kFailedPrecondition,
        "The program was compiled with version ({}) of custom operator {}, and version ({}) is registered; "
        "compile the model again, or register the other version.",
        attributes.version, attributes.full_name(), d.version);
  }
  if (attributes.opset < d.first_opset || attributes.opset > d.last_opset) {
    return fail(StatusCode::kFailedPrecondition,
                "The program has a node of version ({}) of operator set '{}', and custom operator {} takes "
                "({} to {}).",
                attributes.opset, attributes.domain, attributes.full_name(), d.first_opset, d.last_opset);
  }
  return found;
}

}  // namespace weir
