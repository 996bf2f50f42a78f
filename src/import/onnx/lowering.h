// SPDX-License-Identifier: Apache-2.0
//
// What the converters of ONNX operators stand on. A Lowering holds the graph that is being built and the
// values of the model; a NodeLowering is one ONNX node in its hands.
//
//   Result<void> convert_global_max_pool(NodeLowering& node) {
//     WEIR_TRY(node.require_inputs(1, 1));
//     WEIR_ASSIGN(const ValueId x, node.value(0));
//     …
//     WEIR_ASSIGN(const ValueId y, node.emit(Op::kReduce, attributes, {x}));
//     node.set_output(0, y);
//     return {};
//   }
//
// A value is known (its elements are expressions, nothing is in the graph yet), in the graph, or both: a
// converter asks for `known` where an attribute of Weir takes it, and for `value` where a tensor is to be
// read.
#pragma once

#include <onnx/onnx_pb.h>

#include <deque>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/status.h"
#include "graph/graph.h"
#include "import/onnx/known.h"
#include "import/onnx/tensor_reader.h"

namespace weir::onnx_import {

// A value of the model. It has a place in the graph, a constant or known elements, unless it is unsupported.
struct ImportedValue {
  std::string name;
  TensorType type;
  std::string producer;              // "Conv 'conv1'", "an initialiser", for messages
  std::optional<Known> known;        // with the shape of `type`
  bool derived = false;              // known from shapes, not stored in the model
  bool examined = false;             // `known` was looked for in the constant
  std::optional<Constant> constant;  // of an initialiser
  bool swappable = false;            // its elements are not to be looked at
  bool read = false;                 // they were
  ValueId id = kNoValue;             // in the graph, where it has been asked for
  bool unsupported = false;          // written by a node that can't be imported; the type is void
};

class NodeLowering;

class Lowering {
 public:
  Lowering(Graph& graph, TensorReader& reader, std::span<const std::string> swappable)
      : graph_(graph), reader_(reader), swappable_(swappable.begin(), swappable.end()) {}

  Graph& graph() { return graph_; }
  TensorReader& reader() { return reader_; }

  // Names are looked up from the innermost scope (a subgraph) outwards.
  void push_scope() { scopes_.emplace_back(); }
  void pop_scope() { scopes_.pop_back(); }
  ImportedValue* find(std::string_view name);
  // Defines a name in the innermost scope; an error where it has it already.
  Result<void> define(std::string_view name, ImportedValue value);
  Result<void> define_alias(std::string_view name, ImportedValue* value);
  // An initialiser or the value of a Constant node.
  Result<ImportedValue> constant_value(const onnx::TensorProto& tensor, std::string_view name);

  // Tells the graph which constants were read; an error for a swappable name that is none.
  Result<void> finish_constants();

  // The known elements of a value, also where it is a small constant; null where there are none.
  const Known* known(ImportedValue& value);
  // The value in the graph: constants and known elements are added when they are first asked for.
  Result<ValueId> materialise(ImportedValue& value);

 private:
  Result<ValueId> materialise_known(const ImportedValue& value, const Known& known);
  // Whether the expressions of a value are within limits.h, together with all before.
  Result<void> take_expressions(std::string_view name, const ImportedValue& value);

  Graph& graph_;
  TensorReader& reader_;
  std::vector<std::string> swappable_;
  int64_t expression_work_ = 0;
  std::deque<ImportedValue> values_;  // stable addresses
  std::vector<std::unordered_map<std::string, ImportedValue*>> scopes_;
};

class NodeLowering {
 public:
  // `inputs[i]` is null where operand i is absent; `wanted[i]` says whether anything reads output i.
  NodeLowering(Lowering& lowering, const onnx::NodeProto& proto, std::string name, int64_t version,
               std::vector<ImportedValue*> inputs, std::vector<bool> wanted);

  Lowering& lowering() { return lowering_; }
  const onnx::NodeProto& proto() const { return proto_; }
  const std::string& name() const { return name_; }
  // Of the operator set that the node belongs to.
  int64_t version() const { return version_; }

  // Operands. A converter states which ones it needs (require_inputs); one that it asks about before that and
  // that is absent has an empty type, no elements and no value.
  size_t input_count() const { return inputs_.size(); }
  bool has(size_t i) const { return i < inputs_.size() && inputs_[i] != nullptr; }
  Result<void> require_inputs(size_t least, size_t most) const;
  const TensorType& type(size_t i) const { return has(i) ? inputs_[i]->type : absent_type_; }
  const Dims& shape(size_t i) const { return type(i).shape; }
  int64_t rank(size_t i) const { return type(i).rank(); }
  ElementType element_type(size_t i) const { return type(i).element_type; }
  const Known* known(size_t i) { return has(i) ? lowering_.known(*inputs_[i]) : nullptr; }
  // The known elements of what may be shape arithmetic: derived from shapes, or small integers.
  // Floating-point constants of the network are left to the compiler.
  const Known* shape_elements(size_t i);
  bool derived(size_t i) const { return has(i) && inputs_[i]->derived; }
  bool is_constant(size_t i) const {
    return has(i) && inputs_[i]->constant.has_value() && !inputs_[i]->swappable;
  }
  // Of an operand for which is_constant holds.
  const Constant& constant(size_t i) const {
    inputs_[i]->read = true;
    return *inputs_[i]->constant;
  }
  Result<ValueId> value(size_t i);
  // The operand's elements as Dims, or an error that it is data; `what` names it ("shape", "axes").
  Result<Dims> dims(size_t i, std::string_view what);
  // The same, all of them numbers.
  Result<std::vector<int64_t>> integers(size_t i, std::string_view what);
  // The only element of the operand as a number; nothing where it is no known number or no scalar.
  std::optional<double> scalar(size_t i);
  // All these operands have one element type.
  Result<void> require_same_type(std::span<const size_t> operands) const;
  Result<void> require_floating_point(size_t i) const;
  Result<void> require_numbers(size_t i) const;  // any type but bool
  Result<void> require_bool(size_t i) const;
  // Operand i broadcasts to `shape` and does not enlarge it; what is not proved becomes a constraint.
  Result<void> require_broadcast(size_t i, const Dims& shape) const;

  // Attributes; an absent one gives `otherwise`, one of another type is an error.
  Result<void> require_attribute(std::string_view attribute_name) const;
  const onnx::AttributeProto* attribute(std::string_view attribute_name) const;
  Result<int64_t> integer(std::string_view attribute_name, int64_t otherwise) const;
  // The same between `least` and `most`.
  Result<int64_t> integer(std::string_view attribute_name, int64_t otherwise, int64_t least,
                          int64_t most) const;
  Result<double> real(std::string_view attribute_name, double otherwise) const;
  // The same, neither infinite nor NaN.
  Result<double> finite(std::string_view attribute_name, double otherwise) const;
  Result<std::string> text(std::string_view attribute_name, std::string_view otherwise) const;
  Result<std::optional<std::vector<float>>> reals(std::string_view attribute_name) const;
  Result<std::optional<std::vector<int64_t>>> integers(std::string_view attribute_name) const;
  Result<std::vector<int64_t>> integers(std::string_view attribute_name, size_t count,
                                        int64_t otherwise) const;
  // Whether each of the attribute's elements lies between `least` and `most`.
  Result<void> require_elements(std::string_view attribute_name, std::span<const int64_t> elements,
                                int64_t least, int64_t most) const;
  // The same with each between `least` and `most`.
  Result<std::vector<int64_t>> integers(std::string_view attribute_name, size_t count, int64_t otherwise,
                                        int64_t least, int64_t most) const;
  // −rank … rank − 1 to 0 … rank − 1.
  Result<int64_t> normal_axis(int64_t axis, int64_t rank) const;
  // The same for a list; sorted, without repetition.
  Result<std::vector<int64_t>> normal_axes(std::span<const int64_t> axes, int64_t rank) const;

  // Results.
  bool wants(size_t i) const { return i < wanted_.size() && wanted_[i]; }
  // A node of the graph with one output. `part` names one of several nodes: "conv1/transpose".
  Result<ValueId> emit(Op op, Attributes attributes, std::vector<ValueId> inputs, std::string_view part = "");
  // The same for operators whose result type is asked for.
  Result<ValueId> emit_as(Op op, Attributes attributes, std::vector<ValueId> inputs, TensorType wanted,
                          std::string_view part = "");
  // All outputs of the operator; for Lstm and custom operators.
  Result<std::vector<ValueId>> emit_all(Op op, Attributes attributes, std::vector<ValueId> inputs);
  // `x` itself where it has the shape already.
  Result<ValueId> emit_reshape(ValueId x, Dims shape, std::string_view part = "");
  Result<ValueId> emit_transpose(ValueId x, std::vector<int64_t> permutation, std::string_view part = "");
  const TensorType& type_of(ValueId id) { return lowering_.graph().value(id).type; }

  void set_output(size_t i, ValueId id);
  // The operator as the model spells it, where that says more than its type.
  void set_origin(ValueId output, std::string origin);
  void set_known(size_t i, ElementType element_type, Known known);
  void set_value(size_t i, ImportedValue value);
  void set_alias(size_t i, ImportedValue* value);
  void alias_input(size_t output, size_t input) { set_alias(output, has(input) ? inputs_[input] : nullptr); }

  // Defines the outputs' names; an error where a wanted one was not set.
  Result<void> finish();

  template <typename... Args>
  [[nodiscard]] std::unexpected<Status> unsupported(fmt::format_string<Args...> format,
                                                    Args&&... args) const {
    return fail(StatusCode::kUnimplemented, format, std::forward<Args>(args)...);
  }
  template <typename... Args>
  [[nodiscard]] std::unexpected<Status> wrong(fmt::format_string<Args...> format, Args&&... args) const {
    return fail(StatusCode::kInvalidArgument, format, std::forward<Args>(args)...);
  }

 private:
  Result<std::vector<ValueId>> emit_node(Op op, Attributes attributes, std::vector<ValueId> inputs,
                                         std::span<const TensorType> wanted, std::string_view part);

  struct Output {
    std::optional<ImportedValue> value;
    ImportedValue* alias = nullptr;
  };

  Lowering& lowering_;
  const onnx::NodeProto& proto_;
  std::string name_;
  int64_t version_;
  std::vector<ImportedValue*> inputs_;
  std::vector<bool> wanted_;
  std::vector<Output> outputs_;
  TensorType absent_type_;
};

// Adds a constraint that is not there yet; more than kMaxConstraints are refused when the node is finished.
void add_constraint(Graph& graph, Constraint constraint);

}  // namespace weir::onnx_import
