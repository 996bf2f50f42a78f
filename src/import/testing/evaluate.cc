// SPDX-License-Identifier: Apache-2.0
#include "import/testing/evaluate.h"

#include <algorithm>
#include <map>

#include "kernels/run_reference.h"
#include "op/attribute_fields.h"

namespace weir::testing {
namespace {

// Replaces every Dim of an attribute struct by its value.
class Concretiser {
 public:
  explicit Concretiser(std::span<const int64_t> symbols) : symbols_(symbols) {}

  void operator()(std::string_view, Dim& dim) {
    Result<int64_t> value = dim.evaluate(symbols_);
    if (value) {
      dim = *value;
    } else if (!error) {
      error = std::move(value).error();
    }
  }
  void operator()(std::string_view name, Dims& dims) {
    for (Dim& dim : dims) {
      (*this)(name, dim);
    }
  }
  template <typename T>
  void operator()(std::string_view, T&) {}

  std::optional<Status> error;

 private:
  std::span<const int64_t> symbols_;
};

Result<TensorSpec> concrete(const TensorType& type, std::span<const int64_t> symbols) {
  std::vector<int64_t> shape;
  for (const Dim& dim : type.shape) {
    WEIR_ASSIGN(shape.emplace_back(), dim.evaluate(symbols));
    if (shape.back() < 0) {
      return fail(StatusCode::kInternal, "Dimension ({}) is negative: ({}).", dim.to_string(), shape.back());
    }
  }
  return TensorSpec::dense(type.element_type, shape);
}

Result<std::vector<int64_t>> bind_symbols(const Graph& graph, std::span<const Array> inputs) {
  std::vector<int64_t> values;
  for (const auto& symbol : graph.symbols.symbols()) {
    const SymbolSource& source = symbol->source;
    const Array& input = inputs[static_cast<size_t>(source.input)];
    if (source.kind == SymbolSource::Kind::kDimension) {
      values.push_back(input.spec.shape[static_cast<size_t>(source.index)]);
    } else if (input.spec.type == ElementType::kInt64) {
      values.push_back(input.elements<int64_t>()[static_cast<size_t>(source.index)]);
    } else {
      values.push_back(input.elements<int32_t>()[static_cast<size_t>(source.index)]);
    }
    if (values.back() < symbol->range.min || values.back() > symbol->range.max) {
      return fail(StatusCode::kOutOfRange, "Dimension '{}' is ({}), and takes ({}..{}).", symbol->name,
                  values.back(), symbol->range.min, symbol->range.max);
    }
  }
  for (const Constraint& constraint : graph.constraints) {
    WEIR_TRY(check(constraint, values));
  }
  return values;
}

Result<void> run_node(const Graph& graph, const Node& node, std::span<const int64_t> symbols,
                      std::map<ValueId, Array>& arrays) {
  Attributes attributes = node.attributes;
  Concretiser concretise(symbols);
  std::visit([&](auto& fields) { internal::fields(concretise, fields); }, attributes);
  if (concretise.error) {
    return std::unexpected(*concretise.error);
  }
  std::vector<TensorSpec> input_specs;
  std::vector<TensorView> inputs;
  for (ValueId id : node.inputs) {
    input_specs.push_back(id == kNoValue ? absent_operand() : arrays[id].spec);
    inputs.push_back(id == kNoValue ? TensorView{} : arrays[id].spec.at(arrays[id].bytes.data()));
  }
  std::vector<TensorSpec> output_specs;
  std::vector<TensorView> outputs;
  for (ValueId id : node.outputs) {
    if (id == kNoValue) {
      output_specs.push_back(absent_operand());
      outputs.emplace_back();
      continue;
    }
    WEIR_ASSIGN(const TensorSpec spec, concrete(graph.value(id).type, symbols));
    arrays[id] = Array::zeros(spec.type, std::span(spec.shape).first(static_cast<size_t>(spec.rank)));
    output_specs.push_back(spec);
    outputs.push_back(spec.at(arrays[id].bytes.data()));
  }
  const ConcreteOp op{node.op, &attributes, input_specs, output_specs};
  return run_reference(op, inputs, outputs);
}

}  // namespace

Array Array::zeros(ElementType type, std::span<const int64_t> shape) {
  Array array;
  array.spec = TensorSpec::dense(type, shape);
  array.bytes.resize(static_cast<size_t>(byte_size(type, array.spec.element_count())));
  return array;
}

Result<std::vector<Array>> evaluate(const Graph& graph, std::span<const Array> inputs) {
  if (inputs.size() != graph.inputs().size()) {
    return fail(StatusCode::kInvalidArgument, "The graph has ({}) inputs, and ({}) arrays are given.",
                graph.inputs().size(), inputs.size());
  }
  WEIR_ASSIGN(const std::vector<int64_t> symbols, bind_symbols(graph, inputs));
  std::map<ValueId, Array> arrays;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const ValueId id = graph.inputs()[i];
    WEIR_ASSIGN(const TensorSpec spec, concrete(graph.value(id).type, symbols));
    if (spec != inputs[i].spec) {
      return fail(StatusCode::kInvalidArgument, "Input '{}' is ({}), and takes ({}).", graph.value(id).name,
                  inputs[i].spec.to_string(), spec.to_string());
    }
    arrays[id] = inputs[i];
  }
  for (ValueId id = 0; id < graph.value_count(); ++id) {
    const Value& value = graph.value(id);
    if (!value.dead && value.constant) {
      Array array;
      WEIR_ASSIGN(array.spec, concrete(value.type, symbols));
      array.bytes.assign(value.constant->bytes().begin(), value.constant->bytes().end());
      arrays[id] = std::move(array);
    }
  }
  for (NodeId id : graph.order()) {
    WEIR_TRY(run_node(graph, graph.node(id), symbols, arrays), "while evaluating node '{}' ({})",
             graph.node(id).name, to_string(graph.node(id).op));
  }
  std::vector<Array> outputs;
  for (const NamedValue& output : graph.outputs()) {
    outputs.push_back(arrays[output.value]);
  }
  return outputs;
}

}  // namespace weir::testing
