// SPDX-License-Identifier: Apache-2.0
//
// Graph: the compiler's intermediate representation. Nodes in static single assignment over typed values.
//
//   Graph graph;
//   ValueId x = graph.add_input("x", {ElementType::kFloat32, {n, 3, 224, 224}, {}});
//   ValueId w = graph.add_constant("w", type, Constant::view(mapped_bytes, keep_alive));
//   NodeId conv = graph.add_node(Op::kConv, "conv1", attributes, {x, w, kNoValue}, {{"y", y_type}});
//   graph.set_outputs({{"y", graph.node(conv).outputs[0]}});
//   WEIR_TRY(verify(graph));
//
// Ids are positions and stay valid; a removed node or value is marked dead and skipped by the iterators.
// Nodes are kept in execution order: a node may only read what earlier nodes write. A Graph is used by one
// thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "op/op.h"
#include "shape/dim.h"
#include "tensor/tensor.h"

namespace weir {

using ValueId = int32_t;
using NodeId = int32_t;
inline constexpr ValueId kNoValue = -1;  // an absent optional operand
inline constexpr NodeId kNoNode = -1;

// The bytes of a constant, dense in row-major order: in a mapped model file or in memory of their own.
class Constant {
 public:
  Constant() = default;
  // Bytes that lie elsewhere; `owner` keeps them alive and unchanged.
  static Constant view(std::span<const std::byte> bytes, std::shared_ptr<const void> owner);
  static Constant copy(std::span<const std::byte> bytes);
  // `bytes` zero bytes, 64-byte aligned, and where to write them.
  static Result<Constant> allocate(int64_t bytes, std::byte*& writable);

  std::span<const std::byte> bytes() const { return bytes_; }
  // May be unaligned when they lie in a model file.
  const std::byte* data() const { return bytes_.data(); }

 private:
  std::span<const std::byte> bytes_;
  std::shared_ptr<const void> owner_;
};

struct Value {
  std::string name;  // the model's name for it; unique among values that the model names
  TensorType type;
  NodeId producer = kNoNode;         // none for inputs and constants
  int32_t producer_output = 0;       // which output of the producer
  int32_t input = -1;                // position among the graph's inputs
  std::optional<Constant> constant;  // known at compile time
  // A constant that a session may give another value: what looks at its elements does not see them.
  bool swappable = false;
  bool consumed = false;  // a constant from whose elements a pass computed something
  // What is known of the elements of a small integer tensor: shape arithmetic as expressions, in row-major
  // order.
  std::optional<Dims> elements;
  bool dead = false;
};

struct Node {
  Op op = Op::kCopy;
  std::string name;    // as in the model, or made from it
  std::string origin;  // the operator as the model spells it, "BatchNormalization", for messages
  Attributes attributes;
  std::vector<ValueId> inputs;
  std::vector<ValueId> outputs;  // kNoValue where an optional output is not wanted
  bool dead = false;
};

struct NamedValue {
  std::string name;
  ValueId value = kNoValue;
};

struct NewValue {
  std::string name;
  TensorType type;
};

// An input that is fed from an output, run after run. Positions among inputs and outputs.
struct GraphState {
  int32_t input = -1;
  int32_t output = -1;
};

class Graph {
 public:
  Graph() = default;
  Graph(Graph&&) = default;
  Graph& operator=(Graph&&) = default;

  std::string name;
  // From the model, for example the character set of a text recogniser. In the order of the file.
  std::vector<std::pair<std::string, std::string>> metadata;
  // Constants lie in other files than the model's own, which may change without it.
  bool reads_other_files = false;
  // Names of constants whose elements the importer read: another value of theirs would not reach all that
  // follows from them.
  std::vector<std::string> read_constants;
  SymbolTable symbols;
  std::vector<Constraint> constraints;
  std::vector<GraphState> states;

  ValueId add_input(std::string_view value_name, TensorType type);
  ValueId add_constant(std::string_view value_name, TensorType type, Constant constant);
  // Appends a node, or puts it before `before`, with fresh output values. An output with an empty name and no
  // shape is absent only when `outputs[i].name` is "" and rank 0 is not meant: pass std::nullopt for absent.
  NodeId add_node(Op op, std::string_view node_name, Attributes attributes, std::vector<ValueId> inputs,
                  std::vector<std::optional<NewValue>> outputs, NodeId before = kNoNode);

  void set_outputs(std::vector<NamedValue> outputs) { outputs_ = std::move(outputs); }
  std::vector<NamedValue>& outputs() { return outputs_; }
  std::span<const NamedValue> outputs() const { return outputs_; }
  std::span<const ValueId> inputs() const { return inputs_; }

  Node& node(NodeId id) { return nodes_[static_cast<size_t>(id)]; }
  const Node& node(NodeId id) const { return nodes_[static_cast<size_t>(id)]; }
  Value& value(ValueId id) { return values_[static_cast<size_t>(id)]; }
  const Value& value(ValueId id) const { return values_[static_cast<size_t>(id)]; }
  int32_t node_count() const { return static_cast<int32_t>(nodes_.size()); }
  int32_t value_count() const { return static_cast<int32_t>(values_.size()); }

  // Live nodes in execution order.
  const std::vector<NodeId>& order() const { return order_; }
  // Replaces the execution order: a permutation of the live nodes that keeps producers before consumers.
  void set_order(std::vector<NodeId> order) { order_ = std::move(order); }

  // All uses of a value by live nodes, as (node, operand position), in execution order. Linear in the graph.
  struct Use {
    NodeId node;
    int32_t operand;
  };
  std::vector<Use> uses(ValueId id) const;
  // One list of uses a value, in one pass: for passes that ask often.
  std::vector<std::vector<Use>> all_uses() const;
  bool is_output(ValueId id) const;

  // Every reader of `from`, graph outputs included, reads `to` instead.
  void replace_uses(ValueId from, ValueId to);
  void remove_node(NodeId id);  // its outputs become dead too
  // Removes nodes and values that no output needs. Inputs stay.
  void remove_unused();

  OpDesc desc(NodeId id) const;

 private:
  std::vector<Node> nodes_;
  std::vector<Value> values_;
  std::vector<NodeId> order_;
  std::vector<ValueId> inputs_;
  std::vector<NamedValue> outputs_;
};

// Structure, operand counts and types, attribute consistency, shapes against inference. The error names the
// node.
Result<void> verify(const Graph& graph);

// One line a node: what `weir inspect` and `--dump-after` print.
std::string to_string(const Graph& graph);

}  // namespace weir
