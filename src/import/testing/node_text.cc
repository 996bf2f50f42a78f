// SPDX-License-Identifier: Apache-2.0
#include "import/testing/node_text.h"

#include <algorithm>
#include <cctype>
#include <stdexcept>

namespace weir::testing {
namespace {

// A test that is written wrongly ends with what is wrong.
[[noreturn]] void refuse(std::string_view text) {
  throw std::invalid_argument("no node text: " + std::string(text));
}

std::string_view trimmed(std::string_view text) {
  while (text.starts_with(' ')) {
    text.remove_prefix(1);
  }
  while (text.ends_with(' ')) {
    text.remove_suffix(1);
  }
  return text;
}

// The parts between commas that are in no brackets; one empty part for an empty text.
std::vector<std::string> split(std::string_view text) {
  std::vector<std::string> parts(1);
  int depth = 0;
  for (char c : text) {
    depth += c == '[' || c == '{' || c == '(' ? 1 : c == ']' || c == '}' || c == ')' ? -1 : 0;
    if (c == ',' && depth == 0) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  for (std::string& part : parts) {
    part = trimmed(part);
  }
  return parts;
}

// What lies in the brackets that the text ends with.
std::string_view inside(std::string_view text, size_t open) {
  return text.substr(open + 1, text.size() - open - 2);
}

std::vector<std::string> elements_of(std::string_view list) {
  return list.empty() ? std::vector<std::string>() : split(list);
}

int32_t type_named(std::string_view name) {
  std::string upper(name);
  std::ranges::transform(upper, upper.begin(), [](unsigned char c) { return std::toupper(c); });
  onnx::TensorProto::DataType type = onnx::TensorProto::UNDEFINED;
  if (!onnx::TensorProto::DataType_Parse(upper, &type)) {
    refuse(name);
  }
  return type;
}

// "int64{1,2}", "bool(1)", "float*[2,3]".
onnx::TensorProto tensor_of(std::string_view text) {
  const size_t open = text.find_first_of("{([*");
  onnx::TensorProto tensor;
  tensor.set_data_type(type_named(text.substr(0, open)));
  std::vector<std::string> elements;
  if (text[open] == '*') {
    int64_t count = 1;
    for (const std::string& dim : elements_of(inside(text, open + 1))) {
      tensor.add_dims(std::stoll(dim));
      count *= std::stoll(dim);
    }
    elements.assign(static_cast<size_t>(count), "1");
  } else {
    elements = elements_of(inside(text, open));
    if (text[open] == '{') {
      tensor.add_dims(static_cast<int64_t>(elements.size()));
    }
  }
  for (const std::string& element : elements) {
    switch (tensor.data_type()) {
      case onnx::TensorProto::FLOAT:
        tensor.add_float_data(std::stof(element));
        break;
      case onnx::TensorProto::DOUBLE:
        tensor.add_double_data(std::stod(element));
        break;
      case onnx::TensorProto::INT64:
        tensor.add_int64_data(std::stoll(element));
        break;
      default:
        tensor.add_int32_data(std::stoi(element));
    }
  }
  return tensor;
}

void add_attribute(onnx::NodeProto& node, const std::string& name, std::string_view value) {
  onnx::AttributeProto& attribute = *node.add_attribute();
  attribute.set_name(name);
  const auto is_real = [](std::string_view number) {
    return number.find_first_of(".ni") != std::string_view::npos;  // inf and nan too
  };
  if (value.starts_with('"')) {
    attribute.set_type(onnx::AttributeProto::STRING);
    attribute.set_s(std::string(inside(value, 0)));
  } else if (value.starts_with("[\"")) {
    attribute.set_type(onnx::AttributeProto::STRINGS);
    for (const std::string& element : elements_of(inside(value, 0))) {
      attribute.add_strings(std::string(inside(element, 0)));
    }
  } else if (value.starts_with('[')) {
    attribute.set_type(is_real(value) ? onnx::AttributeProto::FLOATS : onnx::AttributeProto::INTS);
    for (const std::string& element : elements_of(inside(value, 0))) {
      if (is_real(value)) {
        attribute.add_floats(std::stof(element));
      } else {
        attribute.add_ints(std::stoll(element));
      }
    }
  } else if (std::isalpha(static_cast<unsigned char>(value[0])) != 0 && value.back() != 'f') {
    attribute.set_type(onnx::AttributeProto::TENSOR);
    *attribute.mutable_t() = tensor_of(value);
  } else if (is_real(value)) {
    attribute.set_type(onnx::AttributeProto::FLOAT);
    attribute.set_f(std::stof(std::string(value)));
  } else {
    attribute.set_type(onnx::AttributeProto::INT);
    attribute.set_i(std::stoll(std::string(value)));
  }
}

// Defines the operand in the model.
void add_operand(ModelBuilder& model, const std::string& name, std::string_view text) {
  const size_t open = text.find_first_of("{([*");
  if (open == std::string_view::npos) {
    refuse(text);
  }
  if (text[open] != '[') {
    *model.graph().add_initializer() = tensor_of(text);
    model.graph().mutable_initializer()->rbegin()->set_name(name);
    return;
  }
  const bool is_shape = text.starts_with("shape[");
  const std::string input = is_shape ? "of_" + name : name;
  model.input(input, is_shape ? onnx::TensorProto::FLOAT : type_named(text.substr(0, open)),
              elements_of(inside(text, open)));
  if (is_shape) {
    model.node("Shape", {input}, {name});
  }
}

}  // namespace

ModelBuilder model_of(std::string_view text) {
  const size_t space = text.find(' ');
  const size_t open = text.find('(');
  const size_t close = text.rfind(')');
  if (space >= open || close == std::string_view::npos) {
    refuse(text);
  }
  ModelBuilder model(std::stoll(std::string(text.substr(0, space))));
  onnx::NodeProto node;
  node.set_name("node");
  node.set_op_type(std::string(text.substr(space + 1, open - space - 1)));
  for (const std::string& part : elements_of(text.substr(open + 1, close - open - 1))) {
    if (const size_t equals = part.find('='); equals != std::string::npos) {
      add_attribute(node, part.substr(0, equals), part.substr(equals + 1));
      continue;
    }
    std::string name;
    if (!part.empty()) {
      name = std::string(1, static_cast<char>('a' + node.input_size()));
      add_operand(model, name, part);
    }
    node.add_input(name);
  }
  const size_t arrow = text.find("->", close);
  for (const std::string& output :
       arrow == std::string_view::npos ? std::vector<std::string>{"y"} : split(text.substr(arrow + 2))) {
    node.add_output(output);
    if (!output.empty()) {
      model.output(output);
    }
  }
  *model.graph().add_node() = node;
  return model;
}

}  // namespace weir::testing
