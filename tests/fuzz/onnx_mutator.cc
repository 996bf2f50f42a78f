// SPDX-License-Identifier: Apache-2.0
#include "onnx_mutator.h"

#include <onnx/onnx_pb.h>

#include <array>
#include <limits>
#include <random>
#include <string>
#include <vector>

namespace weir::fuzz {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

constexpr std::array kOperators = {"Abs",
                                   "Add",
                                   "And",
                                   "AveragePool",
                                   "BatchNormalization",
                                   "Cast",
                                   "CastLike",
                                   "Ceil",
                                   "Clip",
                                   "Concat",
                                   "Constant",
                                   "ConstantOfShape",
                                   "Conv",
                                   "ConvTranspose",
                                   "DepthToSpace",
                                   "Div",
                                   "Dropout",
                                   "Einsum",
                                   "Elu",
                                   "Equal",
                                   "Erf",
                                   "Exp",
                                   "Expand",
                                   "Flatten",
                                   "Floor",
                                   "Gather",
                                   "Gelu",
                                   "Gemm",
                                   "GlobalAveragePool",
                                   "Greater",
                                   "GroupNormalization",
                                   "HardSwish",
                                   "Identity",
                                   "If",
                                   "InstanceNormalization",
                                   "LSTM",
                                   "LayerNormalization",
                                   "Less",
                                   "LogSoftmax",
                                   "MatMul",
                                   "Max",
                                   "MaxPool",
                                   "Mean",
                                   "Min",
                                   "Mod",
                                   "Mul",
                                   "Neg",
                                   "Not",
                                   "Or",
                                   "PRelu",
                                   "Pad",
                                   "Pow",
                                   "Range",
                                   "Reciprocal",
                                   "ReduceL2",
                                   "ReduceMax",
                                   "ReduceMean",
                                   "ReduceProd",
                                   "ReduceSum",
                                   "Relu",
                                   "Reshape",
                                   "Resize",
                                   "Round",
                                   "Shape",
                                   "Sigmoid",
                                   "Size",
                                   "Slice",
                                   "Softmax",
                                   "SpaceToDepth",
                                   "Split",
                                   "Sqrt",
                                   "Squeeze",
                                   "Sub",
                                   "Sum",
                                   "Tanh",
                                   "Tile",
                                   "Transpose",
                                   "Unsqueeze",
                                   "Upsample",
                                   "Where",
                                   "Xor"};

constexpr std::array kAttributes = {"activations",
                                    "allowzero",
                                    "alpha",
                                    "auto_pad",
                                    "axes",
                                    "axis",
                                    "beta",
                                    "blocksize",
                                    "ceil_mode",
                                    "clip",
                                    "dilations",
                                    "direction",
                                    "end",
                                    "epsilon",
                                    "exclude_outside",
                                    "fmod",
                                    "group",
                                    "hidden_size",
                                    "input_forget",
                                    "keepdims",
                                    "kernel_shape",
                                    "layout",
                                    "mode",
                                    "nearest_mode",
                                    "noop_with_empty_axes",
                                    "num_groups",
                                    "num_outputs",
                                    "output_padding",
                                    "output_shape",
                                    "pads",
                                    "perm",
                                    "scales",
                                    "split",
                                    "start",
                                    "strides",
                                    "to",
                                    "transA",
                                    "transB",
                                    "value",
                                    "value_int",
                                    "value_ints",
                                    "coordinate_transformation_mode",
                                    "count_include_pad",
                                    "else_branch",
                                    "then_branch"};

constexpr std::array kTexts = {"SAME_UPPER", "SAME_LOWER",    "VALID",      "NOTSET", "linear",
                               "cubic",      "nearest",       "constant",   "edge",   "reflect",
                               "asymmetric", "align_corners", "half_pixel", "DCR",    "CRD",
                               "reverse",    "bidirectional"};

class Mutator {
 public:
  Mutator(onnx::ModelProto& model, unsigned int seed) : model_(model), random_(seed) {}

  void run() {
    const uint32_t changes = 1 + below(3);
    for (uint32_t i = 0; i < changes; ++i) {
      change();
    }
  }

 private:
  struct Place {
    Message* message;
    const FieldDescriptor* field;
  };

  uint32_t below(size_t bound) { return bound == 0 ? 0 : random_() % static_cast<uint32_t>(bound); }
  template <typename List>
  std::string pick(const List& list) {
    return std::string(list[below(list.size())]);
  }

  void change() {
    onnx::GraphProto& graph = *model_.mutable_graph();
    switch (below(10)) {
      case 0:
        return add_node(graph);
      case 1:
        if (graph.node_size() > 0) {
          return add_attribute(
              *graph.mutable_node(static_cast<int>(below(static_cast<size_t>(graph.node_size())))));
        }
        return add_node(graph);
      case 2:
        if (graph.node_size() > 0) {
          onnx::NodeProto& node =
              *graph.mutable_node(static_cast<int>(below(static_cast<size_t>(graph.node_size()))));
          node.set_op_type(pick(kOperators));
          return;
        }
        return add_node(graph);
      default:
        break;
    }
    places_.clear();
    collect(model_, 0);
    const Place place = places_[below(places_.size())];
    place.field->is_repeated() ? change_list(place) : change_single(place);
  }

  void collect(Message& message, int depth) {
    if (depth > 12 || places_.size() > 4096) {
      return;
    }
    const Reflection& reflection = *message.GetReflection();
    const google::protobuf::Descriptor& descriptor = *message.GetDescriptor();
    for (int i = 0; i < descriptor.field_count(); ++i) {
      const FieldDescriptor* field = descriptor.field(i);
      const bool is_message = field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE;
      if (field->is_repeated()) {
        const int size = reflection.FieldSize(message, field);
        if (size > 0) {
          places_.push_back({&message, field});
        }
        for (int k = 0; is_message && k < size; ++k) {
          collect(*reflection.MutableRepeatedMessage(&message, field, k), depth + 1);
        }
      } else if (reflection.HasField(message, field)) {
        if (is_message) {
          collect(*reflection.MutableMessage(&message, field), depth + 1);
        } else {
          places_.push_back({&message, field});
        }
      }
    }
  }

  // Names that the model has already, mostly, so that nodes hang together.
  std::string name() {
    std::vector<std::string> names;
    const onnx::GraphProto& graph = model_.graph();
    for (const onnx::NodeProto& node : graph.node()) {
      names.insert(names.end(), node.output().begin(), node.output().end());
    }
    for (const onnx::ValueInfoProto& input : graph.input()) {
      names.push_back(input.name());
    }
    for (const onnx::TensorProto& initializer : graph.initializer()) {
      names.push_back(initializer.name());
    }
    if (names.empty() || below(16) == 0) {
      return below(2) == 0 ? std::string() : "new" + std::to_string(below(8));
    }
    return names[below(names.size())];
  }

  int64_t number() {
    static constexpr std::array<int64_t, 14> kEnds{-1,        0,         1,           INT64_MAX, INT64_MIN,
                                                   INT32_MAX, INT32_MIN, 1LL << 48,   1LL << 40, 1LL << 31,
                                                   -2,        255,       (1LL << 24), 4097};
    return below(3) == 0 ? kEnds[below(kEnds.size())] : static_cast<int64_t>(below(9));
  }

  double real() {
    static constexpr std::array<double, 8> kEnds{0,
                                                 -1,
                                                 0.5,
                                                 1e30,
                                                 -1e-30,
                                                 std::numeric_limits<double>::infinity(),
                                                 std::numeric_limits<double>::quiet_NaN(),
                                                 3};
    return kEnds[below(kEnds.size())];
  }

  std::string text(const FieldDescriptor& field, std::string old) {
    if (field.type() == FieldDescriptor::TYPE_BYTES) {
      if (below(4) == 0) {
        return pick(kTexts);
      }
      if (below(4) == 0) {
        old.resize(below(3) * 4 + (below(8) == 0 ? 1 : 0) + old.size() / 2);
      } else if (!old.empty()) {
        old[below(old.size())] = static_cast<char>(below(2) == 0 ? random_() : below(4));
      }
      return old;
    }
    if (field.name() == "op_type") {
      return pick(kOperators);
    }
    return below(8) == 0 ? std::string() : name();
  }

  void change_single(const Place& place) {
    const Reflection& reflection = *place.message->GetReflection();
    const FieldDescriptor* field = place.field;
    if (below(12) == 0) {
      return reflection.ClearField(place.message, field);
    }
    switch (field->cpp_type()) {
      case FieldDescriptor::CPPTYPE_INT32:
        return reflection.SetInt32(
            place.message, field,
            below(2) == 0 ? static_cast<int32_t>(1 + below(23)) : static_cast<int32_t>(number()));
      case FieldDescriptor::CPPTYPE_INT64:
        return reflection.SetInt64(place.message, field, number());
      case FieldDescriptor::CPPTYPE_UINT64:
        return reflection.SetUInt64(place.message, field, static_cast<uint64_t>(number()));
      case FieldDescriptor::CPPTYPE_FLOAT:
        return reflection.SetFloat(place.message, field, static_cast<float>(real()));
      case FieldDescriptor::CPPTYPE_DOUBLE:
        return reflection.SetDouble(place.message, field, real());
      case FieldDescriptor::CPPTYPE_ENUM:
        return reflection.SetEnumValue(place.message, field, static_cast<int>(below(16)));
      case FieldDescriptor::CPPTYPE_STRING:
        return reflection.SetString(place.message, field,
                                    text(*field, reflection.GetString(*place.message, field)));
      default:
        return;
    }
  }

  void change_list(const Place& place) {
    const Reflection& reflection = *place.message->GetReflection();
    const FieldDescriptor* field = place.field;
    Message* message = place.message;
    const int size = reflection.FieldSize(*message, field);
    if (size == 0) {
      return;
    }
    const int at = static_cast<int>(below(static_cast<size_t>(size)));
    const uint32_t kind = below(5);
    if (kind == 0) {
      reflection.SwapElements(message, field, at, size - 1);
      return reflection.RemoveLast(message, field);
    }
    if (kind == 1) {
      return reflection.SwapElements(message, field, at, static_cast<int>(below(static_cast<size_t>(size))));
    }
    const bool add = kind == 2;
    switch (field->cpp_type()) {
      case FieldDescriptor::CPPTYPE_INT64:
        return add ? reflection.AddInt64(message, field, number())
                   : reflection.SetRepeatedInt64(message, field, at, number());
      case FieldDescriptor::CPPTYPE_INT32:
        return add ? reflection.AddInt32(message, field, static_cast<int32_t>(number()))
                   : reflection.SetRepeatedInt32(message, field, at, static_cast<int32_t>(number()));
      case FieldDescriptor::CPPTYPE_FLOAT:
        return add ? reflection.AddFloat(message, field, static_cast<float>(real()))
                   : reflection.SetRepeatedFloat(message, field, at, static_cast<float>(real()));
      case FieldDescriptor::CPPTYPE_STRING: {
        const std::string changed = text(*field, reflection.GetRepeatedString(*message, field, at));
        return add ? reflection.AddString(message, field, changed)
                   : reflection.SetRepeatedString(message, field, at, changed);
      }
      case FieldDescriptor::CPPTYPE_MESSAGE:
        if (add) {
          reflection.AddMessage(message, field)->CopyFrom(reflection.GetRepeatedMessage(*message, field, at));
        } else {
          places_.clear();
          collect(*reflection.MutableRepeatedMessage(message, field, at), 0);
          std::erase_if(places_, [](const Place& inner) { return inner.field->is_repeated(); });
          if (!places_.empty()) {
            change_single(places_[below(places_.size())]);
          }
        }
        return;
      default:
        return;
    }
  }

  // A node of what is there, whose result may become an output.
  void add_node(onnx::GraphProto& graph) {
    onnx::NodeProto& node = *graph.add_node();
    node.set_op_type(pick(kOperators));
    const uint32_t inputs = below(4);
    std::string output = "n" + std::to_string(graph.node_size());
    for (uint32_t i = 0; i < inputs; ++i) {
      const std::string input = name();
      node.add_input(input == output ? std::string() : input);
    }
    node.add_output(output);
    if (below(3) == 0) {
      add_attribute(node);
    }
    if (below(2) == 0 && graph.output_size() > 0) {
      graph.mutable_output(0)->set_name(output);
    }
  }

  void add_attribute(onnx::NodeProto& node) {
    onnx::AttributeProto& attribute = *node.add_attribute();
    attribute.set_name(pick(kAttributes));
    switch (below(6)) {
      case 0:
        attribute.set_type(onnx::AttributeProto::INT);
        return attribute.set_i(number());
      case 1:
        attribute.set_type(onnx::AttributeProto::STRING);
        return attribute.set_s(pick(kTexts));
      case 2:
        attribute.set_type(onnx::AttributeProto::FLOAT);
        return attribute.set_f(static_cast<float>(real()));
      case 3:
        attribute.set_type(onnx::AttributeProto::TENSOR);
        if (model_.graph().initializer_size() > 0) {
          const auto count = static_cast<size_t>(model_.graph().initializer_size());
          *attribute.mutable_t() = model_.graph().initializer(static_cast<int>(below(count)));
        }
        return;
      default:
        attribute.set_type(onnx::AttributeProto::INTS);
        for (uint32_t i = below(5); i > 0; --i) {
          attribute.add_ints(number());
        }
    }
  }

  onnx::ModelProto& model_;
  std::mt19937 random_;
  std::vector<Place> places_;
};

}  // namespace

size_t mutate(uint8_t* data, size_t size, size_t max_size, unsigned int seed) {
  onnx::ModelProto model;
  if (!model.ParseFromArray(data, static_cast<int>(size)) || model.opset_import_size() == 0) {
    model.Clear();
    model.add_opset_import()->set_version(17);
  }
  Mutator(model, seed).run();
  std::string bytes;
  if (!model.SerializeToString(&bytes) || bytes.size() > max_size) {
    return size;
  }
  std::copy(bytes.begin(), bytes.end(), data);
  return bytes.size();
}

}  // namespace weir::fuzz
