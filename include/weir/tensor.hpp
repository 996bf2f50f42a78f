// SPDX-License-Identifier: Apache-2.0
//
// Part of weir.hpp: tensors in host memory.
#ifndef WEIR_TENSOR_HPP_
#define WEIR_TENSOR_HPP_

#include <algorithm>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include "weir/base.hpp"
#include "weir/tensor.h"

namespace weir {
inline namespace abi1 {

namespace detail {

template <typename T>
struct element_type_of;
template <>
struct element_type_of<float> : std::integral_constant<weir_element_type, WEIR_FLOAT32> {};
template <>
struct element_type_of<double> : std::integral_constant<weir_element_type, WEIR_FLOAT64> {};
template <>
struct element_type_of<int8_t> : std::integral_constant<weir_element_type, WEIR_INT8> {};
template <>
struct element_type_of<uint8_t> : std::integral_constant<weir_element_type, WEIR_UINT8> {};
template <>
struct element_type_of<int16_t> : std::integral_constant<weir_element_type, WEIR_INT16> {};
template <>
struct element_type_of<uint16_t> : std::integral_constant<weir_element_type, WEIR_UINT16> {};
template <>
struct element_type_of<int32_t> : std::integral_constant<weir_element_type, WEIR_INT32> {};
template <>
struct element_type_of<uint32_t> : std::integral_constant<weir_element_type, WEIR_UINT32> {};
template <>
struct element_type_of<int64_t> : std::integral_constant<weir_element_type, WEIR_INT64> {};
template <>
struct element_type_of<uint64_t> : std::integral_constant<weir_element_type, WEIR_UINT64> {};
template <>
struct element_type_of<bool> : std::integral_constant<weir_element_type, WEIR_BOOL> {};

}  // namespace detail

using Shape = std::vector<int64_t>;

// Elements somewhere in host memory, with their strides; owns nothing.
class TensorView {
 public:
  TensorView() : tensor_(WEIR_INIT(weir_tensor)) {}
  explicit TensorView(const weir_tensor& tensor) : tensor_(tensor) {}
  // Without strides: dense and row-major.
  static TensorView of(void* data, weir_element_type type, const Shape& shape, const Shape& strides = {}) {
    if (shape.size() > WEIR_MAX_RANK || (!strides.empty() && strides.size() != shape.size())) {
      throw Error(WEIR_INVALID_ARGUMENT, "A tensor has a rank of at most 8, and as many strides as axes.");
    }
    TensorView view;
    view.tensor_.data = data;
    view.tensor_.type = type;
    view.tensor_.rank = static_cast<int32_t>(shape.size());
    std::copy(shape.begin(), shape.end(), view.tensor_.shape);
    std::copy(strides.begin(), strides.end(), view.tensor_.strides);
    if (strides.empty()) {
      weir_tensor_set_dense(&view.tensor_);
    }
    return view;
  }
  template <typename T>
  TensorView(T* data, const Shape& shape, const Shape& strides = {})
      : TensorView(of(const_cast<std::remove_const_t<T>*>(data),
                      detail::element_type_of<std::remove_const_t<T>>::value, shape, strides)) {}

  // Throws where the elements are of another type.
  template <typename T>
  T* as() const {
    if (tensor_.type != detail::element_type_of<std::remove_const_t<T>>::value) {
      throw Error(WEIR_INVALID_ARGUMENT,
                  std::string("A tensor of ") + weir_element_type_name(tensor_.type) + " is read as " +
                      weir_element_type_name(detail::element_type_of<std::remove_const_t<T>>::value) + ".");
    }
    return static_cast<T*>(tensor_.data);
  }
  void* data() const { return tensor_.data; }
  weir_element_type type() const { return tensor_.type; }
  int32_t rank() const { return tensor_.rank; }
  int64_t shape(int32_t axis) const { return tensor_.shape[axis]; }
  int64_t stride(int32_t axis) const { return tensor_.strides[axis]; }
  Shape shape() const { return Shape(tensor_.shape, tensor_.shape + tensor_.rank); }
  Shape strides() const { return Shape(tensor_.strides, tensor_.strides + tensor_.rank); }
  int64_t element_count() const { return weir_tensor_element_count(&tensor_); }
  const weir_tensor& c() const { return tensor_; }

 private:
  weir_tensor tensor_;
};

}  // namespace abi1
}  // namespace weir

#endif  // WEIR_TENSOR_HPP_
