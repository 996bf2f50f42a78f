// SPDX-License-Identifier: Apache-2.0
//
// Part of weir.h: element types and tensors with strides.
#ifndef WEIR_TENSOR_H_
#define WEIR_TENSOR_H_

#include "weir/base.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef int32_t weir_element_type;
enum {
  WEIR_FLOAT32 = 1,
  WEIR_FLOAT16 = 2,
  WEIR_BFLOAT16 = 3,
  WEIR_FLOAT64 = 4,
  WEIR_INT8 = 5,
  WEIR_UINT8 = 6,
  WEIR_INT16 = 7,
  WEIR_UINT16 = 8,
  WEIR_INT32 = 9,
  WEIR_UINT32 = 10,
  WEIR_INT64 = 11,
  WEIR_UINT64 = 12,
  WEIR_BOOL = 13,  // one byte, 0 or 1
  WEIR_INT4 = 14,  // two an octet, low nibble first
  WEIR_UINT4 = 15,
  WEIR_FLOAT8_E4M3 = 16,
  WEIR_FLOAT8_E5M2 = 17,
};

// "float32"; "" for a number that is none. Valid for ever.
WEIR_API const char* weir_element_type_name(weir_element_type type);
// Bits of an element in memory; 0 for a number that is none.
WEIR_API int32_t weir_element_type_bits(weir_element_type type);

#define WEIR_MAX_RANK 8

// Elements somewhere in host memory, which the struct does not own.
typedef struct weir_tensor {
  size_t struct_size;
  void* data;  // element [0,…,0]
  weir_element_type type;
  int32_t rank;
  int64_t shape[WEIR_MAX_RANK];    // the outermost axis first
  int64_t strides[WEIR_MAX_RANK];  // in elements; may be negative, and 0 where only read
} weir_tensor;

// Strides of a dense tensor, row-major, from rank and shape.
WEIR_API void weir_tensor_set_dense(weir_tensor* tensor);
WEIR_API int64_t weir_tensor_element_count(const weir_tensor* tensor);

// The extents of one input.
typedef struct weir_shape {
  const int64_t* dims;
  int32_t rank;
} weir_shape;

#ifdef __cplusplus
}  // extern "C"
#endif

#endif  // WEIR_TENSOR_H_
