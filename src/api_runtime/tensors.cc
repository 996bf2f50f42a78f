// SPDX-License-Identifier: Apache-2.0
//
// The C interface: element types, tensors, shapes, ledgers.
#include <algorithm>

#include "api_runtime/session_handles.h"
#include "base/checked.h"

using namespace weir::api;
using weir::ElementType;

static_assert(WEIR_FLOAT32 == static_cast<int>(ElementType::kFloat32) &&
              WEIR_FLOAT16 == static_cast<int>(ElementType::kFloat16) &&
              WEIR_BFLOAT16 == static_cast<int>(ElementType::kBFloat16) &&
              WEIR_FLOAT64 == static_cast<int>(ElementType::kFloat64) &&
              WEIR_INT8 == static_cast<int>(ElementType::kInt8) &&
              WEIR_UINT8 == static_cast<int>(ElementType::kUint8) &&
              WEIR_INT16 == static_cast<int>(ElementType::kInt16) &&
              WEIR_UINT16 == static_cast<int>(ElementType::kUint16) &&
              WEIR_INT32 == static_cast<int>(ElementType::kInt32) &&
              WEIR_UINT32 == static_cast<int>(ElementType::kUint32) &&
              WEIR_INT64 == static_cast<int>(ElementType::kInt64) &&
              WEIR_UINT64 == static_cast<int>(ElementType::kUint64) &&
              WEIR_BOOL == static_cast<int>(ElementType::kBool) &&
              WEIR_INT4 == static_cast<int>(ElementType::kInt4) &&
              WEIR_UINT4 == static_cast<int>(ElementType::kUint4) &&
              WEIR_FLOAT8_E4M3 == static_cast<int>(ElementType::kFloat8E4M3) &&
              WEIR_FLOAT8_E5M2 == static_cast<int>(ElementType::kFloat8E5M2));
static_assert(WEIR_MAX_RANK == weir::kMaxRank);

namespace {

bool is_element_type(weir_element_type type) {
  return type > 0 && type <= WEIR_FLOAT8_E5M2 && weir::is_valid(static_cast<ElementType>(type));
}

}  // namespace

namespace weir::api {

Result<TensorView> read_tensor(const weir_tensor& given) {
  const weir_tensor own = read_struct(&given);
  if (!is_element_type(own.type)) {
    return fail(StatusCode::kInvalidArgument,
                "A tensor has element type ({}), which is none; set struct_size and type.", own.type);
  }
  if (own.rank < 0 || own.rank > kMaxRank) {
    return fail(StatusCode::kInvalidArgument, "A tensor has rank ({}), and the allowed are (0 to {}).",
                own.rank, kMaxRank);
  }
  TensorView view;
  view.data = static_cast<std::byte*>(own.data);
  view.type = static_cast<ElementType>(own.type);
  view.rank = own.rank;
  int64_t count = 1;
  for (int32_t i = 0; i < own.rank; ++i) {
    if (own.shape[i] < 0) {
      return fail(StatusCode::kInvalidArgument, "Dimension ({}) of a tensor is ({}), and 0 is the least.", i,
                  own.shape[i]);
    }
    WEIR_ASSIGN(count, checked_mul(count, own.shape[i]));
    view.shape[static_cast<size_t>(i)] = own.shape[i];
    view.strides[static_cast<size_t>(i)] = own.strides[i];
  }
  return view;
}

void write_tensor(const TensorView& view, weir_tensor* target) {
  weir_tensor own = read_struct<weir_tensor>(nullptr);
  own.data = view.data;
  own.type = static_cast<weir_element_type>(view.type);
  own.rank = view.rank;
  std::copy(view.shape.begin(), view.shape.end(), own.shape);
  std::copy(view.strides.begin(), view.strides.end(), own.strides);
  write_struct(own, target);
}

Result<std::vector<std::vector<int64_t>>> read_shapes(const weir_session& session, const weir_shape* shapes,
                                                      int32_t count) {
  std::vector<std::vector<int64_t>> own;
  if (count == 0 && session.session->program().is_static()) {
    for (const weir_session::Port& input : session.inputs) {
      own.push_back(input.shape);
    }
    return own;
  }
  if (count < 0 || (count > 0 && shapes == nullptr)) {
    return fail(StatusCode::kInvalidArgument, "Shapes are counted ({}) and none are given.", count);
  }
  for (int32_t i = 0; i < count; ++i) {
    const weir_shape& shape = shapes[i];
    if (shape.rank < 0 || shape.rank > kMaxRank || (shape.rank > 0 && shape.dims == nullptr)) {
      return fail(StatusCode::kInvalidArgument,
                  "Shape ({}) has rank ({}), and the allowed are (0 to {}), with dimensions.", i, shape.rank,
                  kMaxRank);
    }
    own.emplace_back(shape.dims, shape.dims + shape.rank);
  }
  return own;
}

void write_ledger(const Ledger& ledger, weir_ledger* target) {
  weir_ledger own = read_struct<weir_ledger>(nullptr);
  own.constants = ledger.constants;
  own.activations = ledger.activations;
  own.workspace = ledger.workspace;
  own.scratch = ledger.scratch;
  own.io = ledger.io;
  own.state = ledger.state;
  own.host = ledger.host;
  own.total = ledger.total();
  write_struct(own, target);
}

}  // namespace weir::api

extern "C" {

const char* weir_element_type_name(weir_element_type type) {
  // Names are string literals, so they end with a zero.
  return is_element_type(type) ? weir::to_string(static_cast<ElementType>(type)).data() : "";
}

int32_t weir_element_type_bits(weir_element_type type) {
  return is_element_type(type) ? weir::bit_width(static_cast<ElementType>(type)) : 0;
}

void weir_tensor_set_dense(weir_tensor* tensor) {
  if (tensor == nullptr) {
    return;
  }
  int64_t stride = 1;
  for (int32_t i = std::min<int32_t>(tensor->rank, WEIR_MAX_RANK) - 1; i >= 0; --i) {
    tensor->strides[i] = stride;
    if (__builtin_mul_overflow(stride, tensor->shape[i], &stride)) {
      stride = 0;  // no tensor of that size is accepted anywhere
    }
  }
}

int64_t weir_tensor_element_count(const weir_tensor* tensor) {
  if (tensor == nullptr) {
    return 0;
  }
  int64_t count = 1;
  for (int32_t i = 0; i < std::min<int32_t>(tensor->rank, WEIR_MAX_RANK); ++i) {
    if (__builtin_mul_overflow(count, tensor->shape[i], &count)) {
      return 0;
    }
  }
  return count;
}

}  // extern "C"
