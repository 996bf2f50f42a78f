// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "compile/pass.h"
#include "compile/rewrite.h"
#include "kernels/run_reference.h"
#include "op/check_shapes.h"
#include "op/work.h"

namespace weir {
namespace {

// Larger results are computed at run time. So is what follows once all results together pass the sum of this
// and twice the bytes of the model's constants, so that a program file is never much larger than its model.
constexpr int64_t kMaxFoldedBytes = int64_t{64} << 20;
// The work of all that is folded, and for each byte of the model's constants: folding takes seconds at most.
// A few bytes of a model can ask for a product of matrices of any size.
constexpr double kMaxFoldedWork = 0x1p28;
constexpr double kMaxFoldedWorkPerByte = 64;
// What the reference kernels take, in moved bytes: for an element of a result, for a product or sum of the
// operators that are sums of products, and for an operation of the others.
constexpr double kElementWork = 16;
constexpr double kProductWork = 4;
constexpr double kOperationWork = 16;
// Views of constants up to this size are folded too, since packing and kernels like plain constants better.
constexpr int64_t kMaxCopiedViewBytes = 64 << 10;

bool all_constant(std::span<const Dim> dims) {
  return std::ranges::all_of(dims, [](const Dim& dim) { return dim.is_constant(); });
}

bool has_constant_attributes(const Attributes& attributes) {
  if (const auto* range = std::get_if<RangeAttributes>(&attributes)) {
    return range->start.is_constant() && range->delta.is_constant();
  }
  if (const auto* elements = std::get_if<DimTensorAttributes>(&attributes)) {
    return all_constant(elements->elements);
  }
  if (const auto* slice = std::get_if<SliceAttributes>(&attributes)) {
    return all_constant(slice->starts);
  }
  if (const auto* pad = std::get_if<PadAttributes>(&attributes)) {
    return all_constant(pad->begin) && all_constant(pad->end);
  }
  if (const auto* conv = std::get_if<ConvAttributes>(&attributes)) {
    return all_constant(conv->pads_begin) && all_constant(conv->pads_end);
  }
  if (const auto* pool = std::get_if<PoolAttributes>(&attributes)) {
    return all_constant(pool->pads_begin) && all_constant(pool->pads_end);
  }
  return true;
}

// A constant as an operand of a reference kernel.
struct Operand {
  TensorSpec spec = absent_operand();
  TensorView view;
  std::vector<std::byte> aligned;  // a copy, where the payload of a model file lies at an odd address
};

Operand constant_operand(const Value& value) {
  Operand operand;
  operand.spec = concrete_spec(value.type);
  const std::span<const std::byte> bytes = value.constant->bytes();
  const std::byte* data = bytes.data();
  if (reinterpret_cast<uintptr_t>(data) % alignof(int64_t) != 0) {
    operand.aligned.assign(bytes.begin(), bytes.end());
    data = operand.aligned.data();
  }
  operand.view = operand.spec.at(const_cast<std::byte*>(data));  // kernels do not write to inputs
  return operand;
}

bool can_fold(const Graph& graph, const Node& node) {
  if (node.op == Op::kCustom || !has_constant_attributes(node.attributes)) {
    return false;
  }
  for (ValueId input : node.inputs) {
    if (input != kNoValue && (!graph.value(input).constant || graph.value(input).swappable)) {
      return false;
    }
  }
  for (ValueId output : node.outputs) {
    if (output == kNoValue) {
      continue;
    }
    const std::optional<int64_t> bytes = static_bytes(graph.value(output).type);
    if (!bytes || *bytes > kMaxFoldedBytes || (is_view_op(node.op) && *bytes > kMaxCopiedViewBytes)) {
      return false;
    }
  }
  return true;
}

// Arithmetic, elements and bytes of the operator; nothing where its shapes do not fit. Sizes are numbers.
std::optional<double> steps_of(const Graph& graph, const Node& node) {
  std::vector<TensorSpec> inputs;
  std::vector<TensorSpec> outputs;
  for (ValueId input : node.inputs) {
    inputs.push_back(input == kNoValue ? absent_operand() : concrete_spec(graph.value(input).type));
  }
  for (ValueId output : node.outputs) {
    outputs.push_back(output == kNoValue ? absent_operand() : concrete_spec(graph.value(output).type));
  }
  const ConcreteOp op{node.op, &node.attributes, inputs, outputs};
  if (!check_shapes(op)) {
    return std::nullopt;
  }
  const Work work = work_of(op);
  double elements = 0;
  for (const TensorSpec& output : outputs) {
    elements += static_cast<double>(output.element_count());
  }
  const bool products =
      node.op == Op::kMatMul || node.op == Op::kConv || node.op == Op::kConvTranspose || node.op == Op::kLstm;
  const double operations = static_cast<double>(work.flops) * (products ? kProductWork : kOperationWork);
  return operations + kElementWork * elements + static_cast<double>(work.bytes_read) +
         static_cast<double>(work.bytes_written);
}

// What may still be folded.
struct Budget {
  double bytes = static_cast<double>(kMaxFoldedBytes);
  double work = kMaxFoldedWork;

  explicit Budget(const Graph& graph) {
    for (ValueId id = 0; id < graph.value_count(); ++id) {
      const Value& value = graph.value(id);
      if (!value.dead && value.constant) {
        bytes += 2 * static_cast<double>(value.constant->bytes().size());
        work += kMaxFoldedWorkPerByte * static_cast<double>(value.constant->bytes().size());
      }
    }
  }
  bool take(const Graph& graph, const Node& node) {
    double needed = 0;
    for (ValueId output : node.outputs) {
      needed += output == kNoValue ? 0 : static_cast<double>(*static_bytes(graph.value(output).type));
    }
    const std::optional<double> steps = steps_of(graph, node);
    if (!steps || needed > bytes || *steps > work) {
      return false;
    }
    bytes -= needed;
    work -= *steps;
    return true;
  }
};

Result<void> fold(Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  std::vector<Operand> operands;
  std::vector<TensorSpec> input_specs;
  std::vector<TensorView> inputs;
  operands.reserve(node.inputs.size());
  for (ValueId input : node.inputs) {
    operands.push_back(input == kNoValue ? Operand{} : constant_operand(graph.value(input)));
    input_specs.push_back(operands.back().spec);
    inputs.push_back(operands.back().view);
  }
  std::vector<TensorSpec> output_specs;
  std::vector<TensorView> outputs;
  std::vector<Constant> results;
  for (ValueId output : node.outputs) {
    if (output == kNoValue) {
      output_specs.push_back(absent_operand());
      outputs.emplace_back();
      results.emplace_back();
      continue;
    }
    const TensorType& type = graph.value(output).type;
    std::byte* data = nullptr;
    Result<Constant> result = Constant::allocate(*static_bytes(type), data);
    if (!result) {
      return fail(StatusCode::kResourceExhausted, "There is no memory for the ({}) bytes that '{}' folds to.",
                  *static_bytes(type), node.name);
    }
    results.push_back(*std::move(result));
    output_specs.push_back(concrete_spec(type));
    outputs.push_back(output_specs.back().at(data));
  }
  const ConcreteOp op{node.op, &node.attributes, input_specs, output_specs};
  WEIR_TRY(run_reference(op, inputs, outputs), "while evaluating constant node '{}' ({})", node.name,
           node.origin);
  for (ValueId input : node.inputs) {
    if (input != kNoValue) {
      graph.value(input).consumed = true;
    }
  }
  const std::vector<ValueId> folded = node.outputs;
  for (size_t i = 0; i < folded.size(); ++i) {
    if (folded[i] != kNoValue) {
      const Value value = graph.value(folded[i]);  // a copy: adding a constant moves the values
      graph.replace_uses(folded[i], graph.add_constant(value.name, value.type, results[i]));
    }
  }
  graph.remove_node(id);
  return {};
}

}  // namespace

Result<void> fold_constants(Graph& graph, PassContext&) {
  const std::vector<NodeId> order = graph.order();
  Budget budget(graph);
  for (NodeId id : order) {
    if (!graph.node(id).dead && can_fold(graph, graph.node(id)) && budget.take(graph, graph.node(id))) {
      WEIR_TRY(fold(graph, id));
    }
  }
  graph.remove_unused();
  return {};
}

}  // namespace weir
