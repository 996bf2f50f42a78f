// SPDX-License-Identifier: Apache-2.0
//
// The C interface: what a custom operator may ask and say of a node.
#include "api_runtime/operator_node.h"

#include <algorithm>
#include <array>

using namespace weir::api;
using weir::Constraint;
using weir::CustomAttribute;
using weir::Dim;
using weir::ElementType;
using weir::TensorType;

namespace {

const CustomAttribute* find(const weir_node* node, const char* name) {
  if (node == nullptr || name == nullptr) {
    return nullptr;
  }
  const auto found =
      std::ranges::find(node->attributes->attributes, std::string_view(name), &CustomAttribute::name);
  return found == node->attributes->attributes.end() ? nullptr : &*found;
}

std::string_view kind_name(CustomAttribute::Kind kind) {
  static constexpr std::array<std::string_view, 6> kNames = {
      "an integer", "a real number", "a text", "a list of integers", "a list of real numbers", "a tensor"};
  return kNames[static_cast<size_t>(kind)];
}

// The attribute where it is of this kind; null where it is absent or of another.
const CustomAttribute* find(weir_node* node, const char* name, CustomAttribute::Kind kind) {
  const CustomAttribute* found = find(node, name);
  if (found != nullptr && found->kind != kind) {
    node->wrong("Attribute '{}' is {}, and the operator takes {}.", name, kind_name(found->kind),
                kind_name(kind));
    return nullptr;
  }
  return found;
}

// Whether a function that belongs to the shape function may go on.
bool in_shape(weir_node* node, const char* function) {
  if (node == nullptr) {
    return false;
  }
  if (!node->asks_shape) {
    node->wrong("Function '{}' is called outside the shape function, where it has no meaning.", function);
  }
  return node->asks_shape;
}

const TensorType* input(const weir_node* node, int32_t position) {
  const bool exists = node != nullptr && position >= 0 && static_cast<size_t>(position) < node->inputs.size();
  return exists ? node->inputs[static_cast<size_t>(position)] : nullptr;
}

const weir_dim* combine(weir_node* node, const char* function, const weir_dim* a, const weir_dim* b,
                        Dim (*operation)(const Dim& a, const Dim& b)) {
  if (!in_shape(node, function)) {
    return nullptr;
  }
  if (a == nullptr || b == nullptr) {
    node->wrong("Function '{}' was given no dimension where it needs one.", function);
    return nullptr;
  }
  return guarded<const weir_dim*>(
      node, nullptr, [&] { return dim_handle(&node->dims.emplace_back(operation(*dim_of(a), *dim_of(b)))); });
}

// Divisors are positive: a model's dimensions are, and an operator that divides by others has not thought of
// it.
const weir_dim* divide(weir_node* node, const char* function, const weir_dim* a, const weir_dim* b,
                       Dim (*operation)(const Dim& a, const Dim& b)) {
  if (in_shape(node, function) && b != nullptr && dim_of(b)->range().min < 1) {
    guarded(node, false, [&] {
      node->wrong("Function '{}' divides by ({}), which may be less than (1).", function,
                  dim_of(b)->to_string());
      return true;
    });
    return nullptr;
  }
  return combine(node, function, a, b, operation);
}

void require(weir_node* node, const char* function, Constraint::Kind kind, const weir_dim* a,
             const weir_dim* b, const char* what) {
  if (!in_shape(node, function)) {
    return;
  }
  if (a == nullptr || b == nullptr || what == nullptr) {
    node->wrong("Function '{}' was given a null argument where it needs a dimension or a text.", function);
    return;
  }
  guarded(node, false, [&] {
    const Dim& left = *dim_of(a);
    const Dim& right = *dim_of(b);
    std::optional<bool> holds;
    if (kind == Constraint::Kind::kEqual) {
      holds = weir::proves_equal(left, right);
    } else if (const std::optional<bool> less = weir::proves_less(left, right)) {
      holds = !*less;
    }
    if (holds == false) {
      node->wrong("The operator needs {}, and has ({}) and ({}).", what, left.to_string(), right.to_string());
    } else if (!holds) {
      node->constraints.push_back({kind, left, right, what});
    }
    return true;
  });
}

// Where output `position` goes; null where there is none.
std::optional<TensorType>* output(weir_node* node, const char* function, int32_t position) {
  if (!in_shape(node, function)) {
    return nullptr;
  }
  if (position < 0 || static_cast<size_t>(position) >= node->outputs.size()) {
    node->wrong("The shape function sets output ({}), and the node has ({}).", position,
                node->outputs.size());
    return nullptr;
  }
  return &node->outputs[static_cast<size_t>(position)];
}

}  // namespace

extern "C" {

const char* weir_node_name(const weir_node* node) {
  return node == nullptr ? "" : node->name.c_str();
}

int64_t weir_node_opset(const weir_node* node) {
  return node == nullptr ? 0 : node->attributes->opset;
}

void weir_node_fail(weir_node* node, const char* message) {
  if (node != nullptr) {
    node->wrong("{}", message == nullptr || *message == '\0' ? "The operator gives no reason." : message);
  }
}

bool weir_node_has_attribute(const weir_node* node, const char* name) {
  return find(node, name) != nullptr;
}

int64_t weir_node_integer(weir_node* node, const char* name, int64_t otherwise) {
  const CustomAttribute* found = find(node, name, CustomAttribute::Kind::kInteger);
  return found == nullptr ? otherwise : found->integers[0];
}

double weir_node_real(weir_node* node, const char* name, double otherwise) {
  const CustomAttribute* found = find(node, name, CustomAttribute::Kind::kReal);
  return found == nullptr ? otherwise : found->reals[0];
}

const char* weir_node_text(weir_node* node, const char* name, const char* otherwise) {
  const CustomAttribute* found = find(node, name, CustomAttribute::Kind::kText);
  return found == nullptr ? otherwise : found->text.c_str();
}

const int64_t* weir_node_integers(weir_node* node, const char* name, int64_t* count) {
  const CustomAttribute* found = find(node, name, CustomAttribute::Kind::kIntegers);
  if (count != nullptr) {
    *count = found == nullptr ? 0 : static_cast<int64_t>(found->integers.size());
  }
  return found == nullptr ? nullptr : found->integers.data();
}

const double* weir_node_reals(weir_node* node, const char* name, int64_t* count) {
  const CustomAttribute* found = find(node, name, CustomAttribute::Kind::kReals);
  if (count != nullptr) {
    *count = found == nullptr ? 0 : static_cast<int64_t>(found->reals.size());
  }
  return found == nullptr ? nullptr : found->reals.data();
}

bool weir_node_tensor(weir_node* node, const char* name, weir_tensor* tensor) {
  const CustomAttribute* found = find(node, name, CustomAttribute::Kind::kTensor);
  if (found == nullptr || tensor == nullptr) {
    return false;
  }
  weir_tensor own = read_struct<weir_tensor>(nullptr);
  own.data = const_cast<char*>(found->text.data());
  own.type = static_cast<weir_element_type>(found->element_type);
  own.rank = static_cast<int32_t>(found->integers.size());
  std::ranges::copy(found->integers, own.shape);
  weir_tensor_set_dense(&own);
  write_struct(own, tensor);
  return true;
}

int32_t weir_node_input_count(const weir_node* node) {
  return node == nullptr ? 0 : static_cast<int32_t>(node->inputs.size());
}

int32_t weir_node_output_count(const weir_node* node) {
  return node == nullptr ? 0 : static_cast<int32_t>(node->attributes->outputs);
}

weir_element_type weir_node_input_type(const weir_node* node, int32_t position) {
  const TensorType* type = input(node, position);
  return type == nullptr ? 0 : static_cast<weir_element_type>(type->element_type);
}

int32_t weir_node_input_rank(const weir_node* node, int32_t position) {
  const TensorType* type = input(node, position);
  return type == nullptr ? -1 : type->rank();
}

const weir_dim* weir_node_input_dim(weir_node* node, int32_t position, int32_t axis) {
  if (!in_shape(node, __func__)) {
    return nullptr;
  }
  const TensorType* type = input(node, position);
  if (type == nullptr || axis < 0 || axis >= type->rank()) {
    if (type == nullptr) {
      node->wrong("The shape function asks for axis ({}) of input ({}), which is absent.", axis, position);
    } else {
      node->wrong("The shape function asks for axis ({}) of input ({}), which has rank ({}).", axis, position,
                  type->rank());
    }
    return nullptr;
  }
  return dim_handle(&type->shape[static_cast<size_t>(axis)]);
}

const weir_dim* weir_dim_number(weir_node* node, int64_t value) {
  if (!in_shape(node, __func__)) {
    return nullptr;
  }
  return guarded<const weir_dim*>(node, nullptr, [&] { return dim_handle(&node->dims.emplace_back(value)); });
}

const weir_dim* weir_dim_add(weir_node* node, const weir_dim* a, const weir_dim* b) {
  return combine(node, __func__, a, b, [](const Dim& x, const Dim& y) { return x + y; });
}

const weir_dim* weir_dim_subtract(weir_node* node, const weir_dim* a, const weir_dim* b) {
  return combine(node, __func__, a, b, [](const Dim& x, const Dim& y) { return x - y; });
}

const weir_dim* weir_dim_multiply(weir_node* node, const weir_dim* a, const weir_dim* b) {
  return combine(node, __func__, a, b, [](const Dim& x, const Dim& y) { return x * y; });
}

const weir_dim* weir_dim_floor_divide(weir_node* node, const weir_dim* a, const weir_dim* b) {
  return divide(node, __func__, a, b, [](const Dim& x, const Dim& y) { return weir::floor_div(x, y); });
}

const weir_dim* weir_dim_ceil_divide(weir_node* node, const weir_dim* a, const weir_dim* b) {
  return divide(node, __func__, a, b, [](const Dim& x, const Dim& y) { return weir::ceil_div(x, y); });
}

const weir_dim* weir_dim_modulo(weir_node* node, const weir_dim* a, const weir_dim* b) {
  return divide(node, __func__, a, b, [](const Dim& x, const Dim& y) { return weir::mod(x, y); });
}

const weir_dim* weir_dim_min(weir_node* node, const weir_dim* a, const weir_dim* b) {
  return combine(node, __func__, a, b, [](const Dim& x, const Dim& y) { return weir::min(x, y); });
}

const weir_dim* weir_dim_max(weir_node* node, const weir_dim* a, const weir_dim* b) {
  return combine(node, __func__, a, b, [](const Dim& x, const Dim& y) { return weir::max(x, y); });
}

bool weir_dim_value(const weir_dim* dim, int64_t* value) {
  if (dim == nullptr || !dim_of(dim)->is_constant()) {
    return false;
  }
  if (value != nullptr) {
    *value = dim_of(dim)->constant();
  }
  return true;
}

void weir_dim_range(const weir_dim* dim, int64_t* min, int64_t* max) {
  const weir::Range range = dim == nullptr ? weir::Range{} : dim_of(dim)->range();
  if (min != nullptr) {
    *min = range.min;
  }
  if (max != nullptr) {
    *max = range.max;
  }
}

void weir_node_require_equal(weir_node* node, const weir_dim* a, const weir_dim* b, const char* what) {
  require(node, __func__, Constraint::Kind::kEqual, a, b, what);
}

void weir_node_require_at_least(weir_node* node, const weir_dim* a, const weir_dim* b, const char* what) {
  require(node, __func__, Constraint::Kind::kAtLeast, a, b, what);
}

void weir_node_set_output(weir_node* node, int32_t position, weir_element_type type, int32_t rank,
                          const weir_dim* const* dims) {
  std::optional<TensorType>* place = output(node, __func__, position);
  if (place == nullptr) {
    return;
  }
  const bool is_type = type > 0 && type <= UINT8_MAX && weir::is_valid(static_cast<ElementType>(type));
  if (!is_type || rank < 0 || rank > WEIR_MAX_RANK || (rank > 0 && dims == nullptr)) {
    node->wrong(
        "The shape function gives output ({}) the element type ({}) and the rank ({}), and takes a valid "
        "type, "
        "and a rank from (0) to ({}) with an array of dimensions.",
        position, type, rank, WEIR_MAX_RANK);
    return;
  }
  guarded(node, false, [&] {
    TensorType made{static_cast<ElementType>(type), {}, {}};
    for (int32_t axis = 0; axis < rank; ++axis) {
      if (dims[axis] == nullptr) {
        node->wrong("The shape function gives axis ({}) of output ({}) no dimension.", axis, position);
        return false;
      }
      made.shape.push_back(*dim_of(dims[axis]));
    }
    *place = std::move(made);
    return true;
  });
}

void weir_node_set_output_like(weir_node* node, int32_t position, int32_t like) {
  std::optional<TensorType>* place = output(node, __func__, position);
  if (place == nullptr) {
    return;
  }
  const TensorType* type = input(node, like);
  if (type == nullptr) {
    node->wrong("The shape function gives output ({}) the type of input ({}), which is absent.", position,
                like);
    return;
  }
  guarded(node, false, [&] {
    *place = TensorType{type->element_type, type->shape, {}};
    return true;
  });
}

}  // extern "C"
