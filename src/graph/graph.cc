// SPDX-License-Identifier: Apache-2.0
#include "graph/graph.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

#include "base/checked.h"

namespace weir {

Constant Constant::view(std::span<const std::byte> bytes, std::shared_ptr<const void> owner) {
  Constant constant;
  constant.bytes_ = bytes;
  constant.owner_ = std::move(owner);
  return constant;
}

Constant Constant::copy(std::span<const std::byte> bytes) {
  std::byte* target = nullptr;
  Result<Constant> constant = allocate(static_cast<int64_t>(bytes.size()), target);
  if (!constant) {
    throw std::bad_alloc();  // as every container does: see base/out_of_memory.h
  }
  if (!bytes.empty()) {
    std::memcpy(target, bytes.data(), bytes.size());
  }
  return *std::move(constant);
}

Result<Constant> Constant::allocate(int64_t bytes, std::byte*& writable) {
  constexpr int64_t kAlignment = 64;
  const auto rounded = static_cast<size_t>(std::max(align_up(bytes, kAlignment), kAlignment));
  writable = static_cast<std::byte*>(std::aligned_alloc(static_cast<size_t>(kAlignment), rounded));
  if (writable == nullptr) {
    return fail(StatusCode::kResourceExhausted, "There is no memory for a constant of ({}) bytes.", bytes);
  }
  Constant constant;
  std::memset(writable, 0, rounded);
  constant.bytes_ = {writable, static_cast<size_t>(bytes)};
  constant.owner_ = std::shared_ptr<void>(writable, std::free);
  return constant;
}

ValueId Graph::add_input(std::string_view value_name, TensorType type) {
  Value added;
  added.name = value_name;
  added.type = std::move(type);
  added.input = static_cast<int32_t>(inputs_.size());
  const auto id = static_cast<ValueId>(values_.size());
  values_.push_back(std::move(added));
  inputs_.push_back(id);
  return id;
}

ValueId Graph::add_constant(std::string_view value_name, TensorType type, Constant constant) {
  Value added;
  added.name = value_name;
  added.type = std::move(type);
  added.constant = std::move(constant);
  values_.push_back(std::move(added));
  return static_cast<ValueId>(values_.size()) - 1;
}

NodeId Graph::add_node(Op op, std::string_view node_name, Attributes attributes, std::vector<ValueId> inputs,
                       std::vector<std::optional<NewValue>> outputs, NodeId before) {
  const auto id = static_cast<NodeId>(nodes_.size());
  Node added;
  added.op = op;
  added.name = node_name;
  added.attributes = std::move(attributes);
  added.inputs = std::move(inputs);
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (!outputs[i]) {
      added.outputs.push_back(kNoValue);
      continue;
    }
    Value output;
    output.name = std::move(outputs[i]->name);
    output.type = std::move(outputs[i]->type);
    output.producer = id;
    output.producer_output = static_cast<int32_t>(i);
    added.outputs.push_back(static_cast<ValueId>(values_.size()));
    values_.push_back(std::move(output));
  }
  nodes_.push_back(std::move(added));
  const auto position = before == kNoNode ? order_.end() : std::find(order_.begin(), order_.end(), before);
  order_.insert(position, id);
  return id;
}

std::vector<Graph::Use> Graph::uses(ValueId id) const {
  std::vector<Use> found;
  for (NodeId reader : order_) {
    const std::vector<ValueId>& operands = node(reader).inputs;
    for (size_t i = 0; i < operands.size(); ++i) {
      if (operands[i] == id) {
        found.push_back({reader, static_cast<int32_t>(i)});
      }
    }
  }
  return found;
}

std::vector<std::vector<Graph::Use>> Graph::all_uses() const {
  std::vector<std::vector<Use>> found(values_.size());
  for (NodeId reader : order_) {
    const std::vector<ValueId>& operands = node(reader).inputs;
    for (size_t i = 0; i < operands.size(); ++i) {
      if (operands[i] != kNoValue) {
        found[static_cast<size_t>(operands[i])].push_back({reader, static_cast<int32_t>(i)});
      }
    }
  }
  return found;
}

bool Graph::is_output(ValueId id) const {
  return std::ranges::any_of(outputs_, [id](const NamedValue& output) { return output.value == id; });
}

void Graph::replace_uses(ValueId from, ValueId to) {
  for (NodeId reader : order_) {
    std::ranges::replace(node(reader).inputs, from, to);
  }
  for (NamedValue& output : outputs_) {
    if (output.value == from) {
      output.value = to;
    }
  }
}

void Graph::remove_node(NodeId id) {
  Node& removed = node(id);
  removed.dead = true;
  for (ValueId output : removed.outputs) {
    if (output != kNoValue) {
      value(output).dead = true;
    }
  }
  std::erase(order_, id);
}

void Graph::remove_unused() {
  std::vector<bool> needed(values_.size(), false);
  for (const NamedValue& output : outputs_) {
    if (output.value != kNoValue) {
      needed[static_cast<size_t>(output.value)] = true;
    }
  }
  const auto is_needed = [&needed](ValueId id) { return id != kNoValue && needed[static_cast<size_t>(id)]; };
  for (size_t i = order_.size(); i-- > 0;) {
    Node& candidate = node(order_[i]);
    if (std::ranges::none_of(candidate.outputs, is_needed)) {
      candidate.dead = true;
      continue;
    }
    for (ValueId operand : candidate.inputs) {
      if (operand != kNoValue) {
        needed[static_cast<size_t>(operand)] = true;
      }
    }
  }
  std::erase_if(order_, [this](NodeId id) { return node(id).dead; });
  for (ValueId input : inputs_) {
    needed[static_cast<size_t>(input)] = true;
  }
  for (size_t i = 0; i < values_.size(); ++i) {
    Value& candidate = values_[i];
    if (needed[i] || candidate.dead) {
      continue;
    }
    candidate.dead = true;
    candidate.constant.reset();
    if (candidate.producer != kNoNode && !node(candidate.producer).dead) {
      node(candidate.producer).outputs[static_cast<size_t>(candidate.producer_output)] = kNoValue;
    }
  }
}

OpDesc Graph::desc(NodeId id) const {
  const Node& described = node(id);
  OpDesc desc;
  desc.op = described.op;
  desc.attributes = &described.attributes;
  for (ValueId operand : described.inputs) {
    desc.inputs.push_back(operand == kNoValue ? nullptr : &value(operand).type);
    desc.constant.push_back(operand != kNoValue && value(operand).constant.has_value());
  }
  for (ValueId output : described.outputs) {
    desc.outputs.push_back(output == kNoValue ? nullptr : &value(output).type);
  }
  return desc;
}

}  // namespace weir
