// SPDX-License-Identifier: Apache-2.0
//
// The C interface: custom operators, from a weir_operator_desc to what the layers below ask.
#include <dlfcn.h>

#include <algorithm>
#include <array>

#include "api_runtime/operator_node.h"
#include "kernels/custom/custom.h"

using namespace weir::api;
using weir::ConcreteOp;
using weir::CustomAttributes;
using weir::CustomCall;
using weir::CustomDescription;
using weir::CustomExtent;
using weir::CustomOperator;
using weir::CustomOperators;
using weir::CustomPlan;
using weir::Result;
using weir::Status;
using weir::StatusCode;
using weir::TensorSpec;
using weir::TensorType;
using weir::TensorView;

static_assert(WEIR_OPERATOR_MAX_TENSORS == weir::kMaxCustomTensors &&
              WEIR_OPERATOR_MAX_PARAMETER_BYTES == weir::kMaxCustomParameterBytes);
static_assert(WEIR_LAYOUT_ROW_MAJOR == static_cast<int>(weir::CustomLayout::kRowMajor) &&
              WEIR_LAYOUT_INNER_DENSE == static_cast<int>(weir::CustomLayout::kInnerDense) &&
              WEIR_LAYOUT_ANY == static_cast<int>(weir::CustomLayout::kAny));

namespace {

// Tensors of one node as the caller reads them: on the stack, so that a run allocates nothing.
class Tensors {
 public:
  template <typename T>  // TensorSpec or TensorView
  Tensors(std::span<const T> inputs, std::span<const T> outputs) {
    for (const std::span<const T> list : {inputs, outputs}) {
      for (const T& from : list) {
        pointers_[count_] = from.rank < 0 ? nullptr : &write(tensors_[count_], from);
        ++count_;
      }
    }
    outputs_ = inputs.size();
  }
  const weir_tensor* const* inputs() const { return pointers_.data(); }
  const weir_tensor* const* outputs() const { return pointers_.data() + outputs_; }

 private:
  static void* data_of(const TensorSpec&) { return nullptr; }
  static void* data_of(const TensorView& view) { return view.data; }

  template <typename T>
  static const weir_tensor& write(weir_tensor& to, const T& from) {
    to.struct_size = sizeof(weir_tensor);
    to.data = data_of(from);
    to.type = static_cast<weir_element_type>(from.type);
    to.rank = from.rank;
    std::ranges::copy(from.shape, to.shape);
    std::ranges::copy(from.strides, to.strides);
    return to;
  }

  std::array<weir_tensor, weir::kMaxCustomTensors> tensors_;
  std::array<const weir_tensor*, weir::kMaxCustomTensors> pointers_{};
  size_t count_ = 0;
  size_t outputs_ = 0;
};

class COperator final : public CustomOperator {
 public:
  COperator(CustomDescription description, const weir_operator_desc& functions)
      : CustomOperator(std::move(description)),
        c_(functions),
        implementation_(weir::custom_implementation(*this)) {}
  ~COperator() override {
    if (owns_user_ && c_.release != nullptr) {
      c_.release(c_.user);
    }
  }
  // Before it, what `user` is belongs to the caller, also where there is no memory to register it.
  void own_user() { owns_user_ = true; }

  const weir::Implementation& implementation() const override { return implementation_; }

  void run(const CustomCall& from) const override {
    const Tensors tensors(from.inputs, from.outputs);
    weir_operator_call call;
    call.struct_size = sizeof(call);
    call.inputs = tensors.inputs();
    call.outputs = tensors.outputs();
    call.input_count = static_cast<int32_t>(from.inputs.size());
    call.output_count = static_cast<int32_t>(from.outputs.size());
    call.parameters = from.parameters;
    call.workspace = from.workspace;
    call.workspace_bytes = from.workspace_bytes;
    call.scratch = from.scratch;
    call.scratch_bytes = from.scratch_bytes;
    call.tile_begin = from.tile_begin;
    call.tile_end = from.tile_end;
    call.participant = from.participant;
    call.step = from.step;
    call.user = c_.user;
    call.status = from.status;
    c_.run(&call);
  }

 protected:
  Result<std::vector<TensorType>> shape(const CustomAttributes& attributes,
                                        std::span<const TensorType* const> inputs, std::string_view name,
                                        std::vector<weir::Constraint>& constraints) const override {
    weir_node node = node_of(attributes, name);
    node.asks_shape = true;
    node.inputs = inputs;
    node.outputs.resize(static_cast<size_t>(attributes.outputs));
    c_.shape(c_.user, &node);
    WEIR_TRY(answer(node));
    std::vector<TensorType> types;
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      if (!node.outputs[i]) {
        return weir::fail(StatusCode::kInvalidArgument,
                          "The shape function leaves output ({}) unset, and the node has ({}).", i,
                          node.outputs.size());
      }
      types.push_back(*std::move(node.outputs[i]));
    }
    constraints = std::move(node.constraints);
    return types;
  }

  Result<CustomPlan> plan(const ConcreteOp& op, std::string_view name) const override {
    CustomPlan needs;
    if (c_.plan == nullptr) {
      return needs;
    }
    weir_node node = node_of(op.get<CustomAttributes>(), name);
    const Tensors tensors(op.inputs, op.outputs);
    const weir_operator_shapes shapes = shapes_of(op, tensors);
    weir_operator_plan given = WEIR_INIT(weir_operator_plan);
    c_.plan(c_.user, &node, &shapes, &given);
    WEIR_TRY(answer(node));
    needs.workspace_bytes = given.workspace_bytes;
    needs.workspace_alignment = given.workspace_alignment;
    needs.scratch_bytes = given.scratch_bytes;
    return needs;
  }

  Result<CustomExtent> extent(const ConcreteOp& op, std::string_view name) const override {
    CustomExtent extent;
    if (c_.extent == nullptr) {
      return extent;
    }
    weir_node node = node_of(op.get<CustomAttributes>(), name);
    const Tensors tensors(op.inputs, op.outputs);
    const weir_operator_shapes shapes = shapes_of(op, tensors);
    weir_operator_extent given = WEIR_INIT(weir_operator_extent);
    given.tiles = 1;
    given.parameters = extent.parameters.data();
    c_.extent(c_.user, &node, &shapes, &given);
    WEIR_TRY(answer(node));
    extent.tiles = given.tiles;
    extent.parameter_bytes = given.parameter_bytes;
    return extent;
  }

 private:
  static weir_node node_of(const CustomAttributes& attributes, std::string_view name) {
    weir_node node;
    node.attributes = &attributes;
    node.name = name;
    return node;
  }

  static weir_operator_shapes shapes_of(const ConcreteOp& op, const Tensors& tensors) {
    weir_operator_shapes shapes = WEIR_INIT(weir_operator_shapes);
    shapes.inputs = tensors.inputs();
    shapes.outputs = tensors.outputs();
    shapes.input_count = static_cast<int32_t>(op.inputs.size());
    shapes.output_count = static_cast<int32_t>(op.outputs.size());
    return shapes;
  }

  static Result<void> answer(weir_node& node) {
    if (node.memory_ran_out) {
      return std::unexpected(weir::out_of_memory());
    }
    if (node.mistake) {
      return std::unexpected(*std::move(node.mistake));
    }
    return {};
  }

  weir_operator_desc c_;
  bool owns_user_ = false;
  weir::Implementation implementation_;
};

template <typename... Args>
std::unexpected<Status> refuse(std::string_view name, fmt::format_string<Args...> format, Args&&... args) {
  return std::unexpected(
      Status(StatusCode::kInvalidArgument,
             fmt::format("Custom operator '{}' {}", name, fmt::format(format, std::forward<Args>(args)...))));
}

Result<CustomDescription> read_description(const weir_operator_desc& desc) {
  CustomDescription own;
  own.domain = text(desc.domain);
  own.name = text(desc.name);
  constexpr size_t kLongest = 256;
  if (own.name.empty() || own.name.size() > kLongest || own.domain.size() > kLongest) {
    return refuse(
        own.name,
        "has a name of ({}) and a domain of ({}) bytes, and a name has (1 to {}), a domain (0 to {}).",
        own.name.size(), own.domain.size(), kLongest, kLongest);
  }
  if (desc.shape == nullptr || desc.run == nullptr) {
    return refuse(own.name, "has no {} function, and it needs shape and run.",
                  desc.shape == nullptr ? "shape" : "run");
  }
  own.version = desc.version;
  own.first_opset = desc.first_opset == 0 ? 1 : desc.first_opset;
  own.last_opset = desc.last_opset == 0 ? INT64_MAX : desc.last_opset;
  if (own.version < 0 || own.first_opset < 1 || own.last_opset < own.first_opset) {
    return refuse(
        own.name,
        "has version ({}) and takes operator sets ({} to {}), and a version of at least (0) and ascending "
        "operator sets from (1) are allowed.",
        desc.version, desc.first_opset, desc.last_opset);
  }
  own.min_inputs = desc.min_inputs;
  own.max_inputs = desc.max_inputs == 0 ? desc.min_inputs : desc.max_inputs;
  own.min_outputs = desc.min_outputs == 0 ? 1 : desc.min_outputs;
  own.max_outputs = desc.max_outputs == 0 ? own.min_outputs : desc.max_outputs;
  constexpr int32_t kMost = WEIR_OPERATOR_MAX_TENSORS;
  if (own.min_inputs < 0 || own.max_inputs < own.min_inputs || own.min_outputs < 1 ||
      own.max_outputs < own.min_outputs || own.max_inputs > kMost ||
      own.max_outputs > kMost - own.max_inputs) {
    return refuse(
        own.name,
        "takes ({} to {}) inputs and gives ({} to {}) outputs, and ascending numbers, at least one output "
        "and at most ({}) of both together are allowed.",
        own.min_inputs, own.max_inputs, own.min_outputs, own.max_outputs, kMost);
  }
  if (desc.layout < WEIR_LAYOUT_ROW_MAJOR || desc.layout > WEIR_LAYOUT_ANY) {
    return refuse(own.name, "asks for layout ({}), and the layouts are ({} to {}).", desc.layout,
                  int{WEIR_LAYOUT_ROW_MAJOR}, int{WEIR_LAYOUT_ANY});
  }
  own.layout = static_cast<weir::CustomLayout>(desc.layout);
  if (desc.in_place_count < 0 || (desc.in_place_count > 0 && desc.in_place == nullptr)) {
    return refuse(own.name, "counts ({}) in-place pairs and gives none.", desc.in_place_count);
  }
  for (int32_t i = 0; i < desc.in_place_count; ++i) {
    const weir_operator_in_place& pair = desc.in_place[i];
    if (pair.output < 0 || pair.output >= own.max_outputs || pair.input < 0 || pair.input >= own.max_inputs) {
      return refuse(own.name,
                    "pairs output ({}) with input ({}) in place, and has ({}) outputs and ({}) inputs.",
                    pair.output, pair.input, own.max_outputs, own.max_inputs);
    }
    own.in_place.push_back({pair.output, pair.input});
  }
  return own;
}

Result<void> register_operator(weir_runtime& runtime, const weir_operator_desc& desc) {
  WEIR_ASSIGN(CustomDescription description, read_description(desc));
  auto added = std::make_shared<COperator>(std::move(description), desc);
  const std::lock_guard lock(runtime.mutex);
  Result<std::shared_ptr<const CustomOperators>> list =
      CustomOperators::with(runtime.registered.get(), added);
  if (!list) {
    return std::unexpected(std::move(list).error());
  }
  added->own_user();
  runtime.registered = *std::move(list);
  return {};
}

weir_status* load_operators(weir_runtime* runtime, const std::string& path) {
  // A name without a folder would be looked for in the system's folders.
  const std::string file = path.find('/') == std::string::npos ? "./" + path : path;
  void* library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* reason = dlerror();
    return failed(
        Status(StatusCode::kNotFound, fmt::format("Library '{}' of custom operators cannot be opened: {}.",
                                                  path, reason == nullptr ? "no reason" : reason)));
  }
  using Register = weir_status* (*)(weir_runtime*);
  const auto enter = reinterpret_cast<Register>(dlsym(library, "weir_register_operators"));
  if (enter == nullptr) {
    dlclose(library);
    return failed(
        Status(StatusCode::kInvalidArgument,
               fmt::format("Library '{}' has no function 'weir_register_operators', which registers the "
                           "operators of a library.",
                           path)));
  }
  weir_status* status = enter(runtime);
  if (status == nullptr) {
    return nullptr;
  }
  Status own(static_cast<StatusCode>(weir_status_code(status)), weir_status_text(status));
  weir_status_free(status);
  own.add_context(fmt::format("while registering the operators of '{}'", path));
  return failed(own);
}

}  // namespace

extern "C" {

weir_status* weir_runtime_register_operator(weir_runtime* runtime, const weir_operator_desc* desc) try {
  if (runtime == nullptr || desc == nullptr) {
    return null_argument(__func__);
  }
  if (weir_status* unset = unset_size(__func__, desc)) {
    return unset;
  }
  Result<void> registered = register_operator(*runtime, read_struct(desc));
  return registered ? nullptr : failed(registered);
} catch (...) {
  return caught(__func__);
}

weir_status* weir_runtime_load_operators(weir_runtime* runtime, const char* path) try {
  return runtime == nullptr || path == nullptr ? null_argument(__func__) : load_operators(runtime, path);
} catch (...) {
  return caught(__func__);
}

void weir_operator_call_fail(const weir_operator_call* call, weir_code code, const char* message) {
  if (call != nullptr && call->status != nullptr) {
    static_cast<weir::StatusRecord*>(call->status)
        ->report(call->step, code,
                 message == nullptr || *message == '\0' ? "The operator gives no reason." : message);
  }
}

}  // extern "C"
