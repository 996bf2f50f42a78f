// SPDX-License-Identifier: Apache-2.0
//
// Part of weir.hpp: operators of one's own, as a class.
//
//   class Scale final : public weir::Operator {
//     weir::OperatorInfo info() const override { return {"com.example", "Scale"}; }
//     void shape(weir::OperatorNode& node) const override { node.set_output_like(0, 0); }
//     void run(const weir::OperatorCall& call) const override { … }
//   };
//   weir::register_operator(runtime, std::make_shared<Scale>());
//
// What shape, plan, extent and run throw becomes the error of the node or of the request; nothing passes
// through C.
#ifndef WEIR_CUSTOM_OPERATOR_HPP_
#define WEIR_CUSTOM_OPERATOR_HPP_

#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "weir/base.hpp"
#include "weir/custom_operator.h"
#include "weir/tensor.hpp"

namespace weir {
inline namespace abi1 {

// A dimension inside a shape function: a number, or an expression over the model's open dimensions.
class OperatorDim {
 public:
  OperatorDim(weir_node* node, const weir_dim* dim) : node_(node), dim_(dim) {}

  const weir_dim* get() const { return dim_; }
  bool is_number() const { return weir_dim_value(dim_, nullptr); }
  // 0 where it is no number.
  int64_t number() const {
    int64_t value = 0;
    weir_dim_value(dim_, &value);
    return value;
  }

  friend OperatorDim operator+(OperatorDim a, OperatorDim b) { return a.with(weir_dim_add, b); }
  friend OperatorDim operator-(OperatorDim a, OperatorDim b) { return a.with(weir_dim_subtract, b); }
  friend OperatorDim operator*(OperatorDim a, OperatorDim b) { return a.with(weir_dim_multiply, b); }
  friend OperatorDim operator%(OperatorDim a, OperatorDim b) { return a.with(weir_dim_modulo, b); }
  friend OperatorDim floor_divide(OperatorDim a, OperatorDim b) { return a.with(weir_dim_floor_divide, b); }
  friend OperatorDim ceil_divide(OperatorDim a, OperatorDim b) { return a.with(weir_dim_ceil_divide, b); }
  friend OperatorDim min(OperatorDim a, OperatorDim b) { return a.with(weir_dim_min, b); }
  friend OperatorDim max(OperatorDim a, OperatorDim b) { return a.with(weir_dim_max, b); }
  friend OperatorDim operator+(OperatorDim a, int64_t b) { return a + a.of(b); }
  friend OperatorDim operator-(OperatorDim a, int64_t b) { return a - a.of(b); }
  friend OperatorDim operator*(OperatorDim a, int64_t b) { return a * a.of(b); }
  friend OperatorDim operator%(OperatorDim a, int64_t b) { return a % a.of(b); }
  friend OperatorDim floor_divide(OperatorDim a, int64_t b) { return floor_divide(a, a.of(b)); }
  friend OperatorDim ceil_divide(OperatorDim a, int64_t b) { return ceil_divide(a, a.of(b)); }

 private:
  using Combine = const weir_dim* (*)(weir_node*, const weir_dim*, const weir_dim*);
  OperatorDim with(Combine combine, const OperatorDim& other) const {
    return OperatorDim(node_, combine(node_, dim_, other.dim_));
  }
  OperatorDim of(int64_t value) const { return OperatorDim(node_, weir_dim_number(node_, value)); }

  weir_node* node_;
  const weir_dim* dim_;
};

// A node of the model: its attributes, and in the shape function its inputs and outputs.
class OperatorNode {
 public:
  explicit OperatorNode(weir_node* node) : node_(node) {}

  std::string name() const { return weir_node_name(node_); }
  int64_t opset() const { return weir_node_opset(node_); }
  bool has(const char* attribute) const { return weir_node_has_attribute(node_, attribute); }
  int64_t integer(const char* attribute, int64_t otherwise) const {
    return weir_node_integer(node_, attribute, otherwise);
  }
  double real(const char* attribute, double otherwise) const {
    return weir_node_real(node_, attribute, otherwise);
  }
  std::string text(const char* attribute, const std::string& otherwise) const {
    return weir_node_text(node_, attribute, otherwise.c_str());
  }
  std::vector<int64_t> integers(const char* attribute) const {
    int64_t count = 0;
    const int64_t* first = weir_node_integers(node_, attribute, &count);
    return std::vector<int64_t>(first, first + count);
  }
  std::vector<double> reals(const char* attribute) const {
    int64_t count = 0;
    const double* first = weir_node_reals(node_, attribute, &count);
    return std::vector<double>(first, first + count);
  }
  // Rank 0 and no data where it is absent. Valid as long as the node.
  TensorView tensor(const char* attribute) const {
    weir_tensor tensor = WEIR_INIT(weir_tensor);
    weir_node_tensor(node_, attribute, &tensor);
    return TensorView(tensor);
  }

  // The rest is for the shape function.
  int32_t inputs() const { return weir_node_input_count(node_); }
  int32_t outputs() const { return weir_node_output_count(node_); }
  bool has_input(int32_t input) const { return weir_node_input_rank(node_, input) >= 0; }
  weir_element_type type(int32_t input) const { return weir_node_input_type(node_, input); }
  int32_t rank(int32_t input) const { return weir_node_input_rank(node_, input); }
  OperatorDim dim(int32_t input, int32_t axis) const {
    return OperatorDim(node_, weir_node_input_dim(node_, input, axis));
  }
  std::vector<OperatorDim> shape(int32_t input) const {
    std::vector<OperatorDim> dims;
    for (int32_t axis = 0; axis < rank(input); ++axis) {
      dims.push_back(dim(input, axis));
    }
    return dims;
  }
  OperatorDim number(int64_t value) const { return OperatorDim(node_, weir_dim_number(node_, value)); }
  void require_equal(const OperatorDim& a, const OperatorDim& b, const char* what) const {
    weir_node_require_equal(node_, a.get(), b.get(), what);
  }
  void require_at_least(const OperatorDim& a, const OperatorDim& b, const char* what) const {
    weir_node_require_at_least(node_, a.get(), b.get(), what);
  }
  void set_output(int32_t output, weir_element_type type, const std::vector<OperatorDim>& dims) const {
    std::vector<const weir_dim*> handles;
    for (const OperatorDim& dim : dims) {
      handles.push_back(dim.get());
    }
    weir_node_set_output(node_, output, type, static_cast<int32_t>(handles.size()), handles.data());
  }
  void set_output_like(int32_t output, int32_t input) const {
    weir_node_set_output_like(node_, output, input);
  }

 private:
  weir_node* node_;
};

// Inputs and outputs with numbers, without data.
class OperatorShapes {
 public:
  explicit OperatorShapes(const weir_operator_shapes& shapes) : shapes_(shapes) {}
  bool has_input(int32_t i) const { return i < shapes_.input_count && shapes_.inputs[i] != nullptr; }
  TensorView input(int32_t i) const { return TensorView(*shapes_.inputs[i]); }
  TensorView output(int32_t i) const { return TensorView(*shapes_.outputs[i]); }
  int32_t inputs() const { return shapes_.input_count; }
  int32_t outputs() const { return shapes_.output_count; }

 private:
  const weir_operator_shapes& shapes_;
};

// A range of tiles to compute.
class OperatorCall {
 public:
  explicit OperatorCall(const weir_operator_call& call) : call_(call) {}
  bool has_input(int32_t i) const { return i < call_.input_count && call_.inputs[i] != nullptr; }
  TensorView input(int32_t i) const { return TensorView(*call_.inputs[i]); }
  TensorView output(int32_t i) const { return TensorView(*call_.outputs[i]); }
  int64_t tile_begin() const { return call_.tile_begin; }
  int64_t tile_end() const { return call_.tile_end; }
  template <typename T>
  const T& parameters() const {
    return *static_cast<const T*>(call_.parameters);
  }
  template <typename T>
  T* workspace() const {
    return static_cast<T*>(call_.workspace);
  }
  template <typename T>
  T* scratch() const {
    return static_cast<T*>(call_.scratch);
  }
  void fail(weir_code code, const char* message) const { weir_operator_call_fail(&call_, code, message); }
  const weir_operator_call& c() const { return call_; }

 private:
  const weir_operator_call& call_;
};

struct OperatorInfo {
  std::string domain;
  std::string name;
  int64_t version = 1;
  int32_t min_inputs = 1;
  int32_t max_inputs = 0;  // 0: min_inputs
  int32_t min_outputs = 1;
  int32_t max_outputs = 0;  // 0: min_outputs
  weir_operator_layout layout = WEIR_LAYOUT_ROW_MAJOR;
  std::vector<weir_operator_in_place> in_place = {};
  int64_t first_opset = 0;
  int64_t last_opset = 0;
};

struct OperatorPlan {
  int64_t workspace_bytes = 0;
  int64_t workspace_alignment = 64;
  int64_t scratch_bytes = 0;
};

// The tiles of a step, and what its run reads.
class OperatorExtent {
 public:
  explicit OperatorExtent(weir_operator_extent& extent) : extent_(extent) {}
  void set_tiles(int64_t tiles) { extent_.tiles = tiles; }
  template <typename T>
  void set_parameters(const T& parameters) {
    static_assert(std::is_trivially_copyable<T>::value && sizeof(T) <= WEIR_OPERATOR_MAX_PARAMETER_BYTES,
                  "Parameters are copied as bytes.");
    *static_cast<T*>(extent_.parameters) = parameters;
    extent_.parameter_bytes = sizeof(T);
  }

 private:
  weir_operator_extent& extent_;
};

// weir.h says what each function is for. Immutable: they are called from any thread.
class Operator {
 public:
  virtual ~Operator() = default;
  virtual OperatorInfo info() const = 0;
  virtual void shape(OperatorNode& node) const = 0;
  virtual OperatorPlan plan(const OperatorNode&, const OperatorShapes&) const { return {}; }
  virtual void extent(const OperatorNode&, const OperatorShapes&, OperatorExtent&) const {}
  virtual void run(const OperatorCall& call) const = 0;
};

namespace detail {

inline const Operator& operator_of(void* user) {
  return **static_cast<std::shared_ptr<const Operator>*>(user);
}

template <typename Body>
void answer(weir_node* node, Body body) {
  try {
    body();
  } catch (const std::exception& error) {
    weir_node_fail(node, error.what());
  } catch (...) {
    weir_node_fail(node, "The operator throws something that is no std::exception.");
  }
}

inline void operator_shape(void* user, weir_node* node) {
  answer(node, [&] {
    OperatorNode view(node);
    operator_of(user).shape(view);
  });
}

inline void operator_plan(void* user, weir_node* node, const weir_operator_shapes* shapes,
                          weir_operator_plan* plan) {
  answer(node, [&] {
    const OperatorPlan own = operator_of(user).plan(OperatorNode(node), OperatorShapes(*shapes));
    plan->workspace_bytes = own.workspace_bytes;
    plan->workspace_alignment = own.workspace_alignment;
    plan->scratch_bytes = own.scratch_bytes;
  });
}

inline void operator_extent(void* user, weir_node* node, const weir_operator_shapes* shapes,
                            weir_operator_extent* extent) {
  answer(node, [&] {
    OperatorExtent own(*extent);
    operator_of(user).extent(OperatorNode(node), OperatorShapes(*shapes), own);
  });
}

inline void operator_run(const weir_operator_call* call) {
  try {
    operator_of(call->user).run(OperatorCall(*call));
  } catch (const std::exception& error) {
    weir_operator_call_fail(call, WEIR_INTERNAL, error.what());
  } catch (...) {
    weir_operator_call_fail(call, WEIR_INTERNAL, "The operator throws something that is no std::exception.");
  }
}

inline void operator_release(void* user) {
  delete static_cast<std::shared_ptr<const Operator>*>(user);
}

}  // namespace detail

// Throws only what info() does, for weir_register_operators of a shared library: weir_runtime_load_operators
// makes an error of it.
inline weir_status* try_register_operator(weir_runtime* runtime, std::shared_ptr<const Operator> op) {
  const OperatorInfo info = op->info();
  auto* user = new std::shared_ptr<const Operator>(std::move(op));
  weir_operator_desc desc = WEIR_INIT(weir_operator_desc);
  desc.domain = info.domain.c_str();
  desc.name = info.name.c_str();
  desc.version = info.version;
  desc.first_opset = info.first_opset;
  desc.last_opset = info.last_opset;
  desc.min_inputs = info.min_inputs;
  desc.max_inputs = info.max_inputs;
  desc.min_outputs = info.min_outputs;
  desc.max_outputs = info.max_outputs;
  desc.layout = info.layout;
  desc.in_place = info.in_place.data();
  desc.in_place_count = static_cast<int32_t>(info.in_place.size());
  desc.shape = detail::operator_shape;
  desc.plan = detail::operator_plan;
  desc.extent = detail::operator_extent;
  desc.run = detail::operator_run;
  desc.user = user;
  desc.release = detail::operator_release;
  weir_status* status = weir_runtime_register_operator(runtime, &desc);
  if (status != nullptr) {
    detail::operator_release(user);
  }
  return status;
}

inline void register_operator(const Runtime& runtime, std::shared_ptr<const Operator> op) {
  check(try_register_operator(runtime.get(), std::move(op)));
}

// Those of a shared library.
inline void load_operators(const Runtime& runtime, const std::string& path) {
  check(weir_runtime_load_operators(runtime.get(), path.c_str()));
}

}  // namespace abi1
}  // namespace weir

#endif  // WEIR_CUSTOM_OPERATOR_HPP_
