// SPDX-License-Identifier: Apache-2.0
//
// All implementations of this build. One line each: it declares `extern const Implementation kName;` and
// registers it. Grouped by operator, the fastest first, the reference last.
#include "kernels/implementation.h"

// The three instruction sets of a kernel (WEIR_IMPLEMENT_EACH_ISA), the fastest first.
#define WEIR_EACH(X, name) X(name##Avx512) X(name##Avx2) X(name##Sse4)

// clang-format off
#define WEIR_IMPLEMENTATIONS(X)         \
  /* Elementwise */                     \
  WEIR_EACH(X, kElementwise)            \
  X(kReferenceElementwise)              \
  /* Conv */                            \
  WEIR_EACH(X, kConvFew)                \
  WEIR_EACH(X, kConvFirst)              \
  WEIR_EACH(X, kConvDepthwise)          \
  WEIR_EACH(X, kConvWinograd4)          \
  WEIR_EACH(X, kConvWinograd2)          \
  WEIR_EACH(X, kConvGemm)               \
  X(kReferenceConv)                     \
  /* ConvTranspose */                   \
  WEIR_EACH(X, kConvTransposeFew)       \
  WEIR_EACH(X, kConvTranspose)          \
  X(kReferenceConvTranspose)            \
  /* MatMul */                          \
  WEIR_EACH(X, kMatMulPacked)           \
  WEIR_EACH(X, kMatMulRuntime)          \
  X(kReferenceMatMul)                   \
  /* Lstm */                            \
  WEIR_EACH(X, kLstm)                   \
  X(kReferenceLstm)                     \
  /* MaxPool */                         \
  WEIR_EACH(X, kMaxPool)                \
  X(kReferenceMaxPool)                  \
  /* AveragePool */                     \
  WEIR_EACH(X, kAveragePool)            \
  X(kReferenceAveragePool)              \
  /* Reduce */                          \
  WEIR_EACH(X, kReduce)                 \
  X(kReferenceReduce)                   \
  /* Softmax */                         \
  WEIR_EACH(X, kSoftmax)                \
  X(kReferenceSoftmax)                  \
  /* LayerNormalization */              \
  WEIR_EACH(X, kLayerNormalization)     \
  X(kReferenceLayerNormalization)       \
  /* Resize */                          \
  WEIR_EACH(X, kResize)                 \
  X(kReferenceResize)                   \
  /* Pad */                             \
  WEIR_EACH(X, kPad)                    \
  X(kReferencePad)                      \
  /* Gather */                          \
  WEIR_EACH(X, kGather)                 \
  X(kReferenceGather)                   \
  /* Reshape */                         \
  WEIR_EACH(X, kReshape)                \
  X(kReferenceReshape)                  \
  /* Transpose */                       \
  WEIR_EACH(X, kTranspose)              \
  X(kReferenceTranspose)                \
  /* Slice */                           \
  WEIR_EACH(X, kSlice)                  \
  X(kReferenceSlice)                    \
  /* Concat */                          \
  WEIR_EACH(X, kConcat)                 \
  X(kReferenceConcat)                   \
  /* Expand */                          \
  WEIR_EACH(X, kExpand)                 \
  X(kReferenceExpand)                   \
  /* Copy */                            \
  WEIR_EACH(X, kCopy)                   \
  X(kReferenceCopy)                     \
  /* Fill */                            \
  X(kReferenceFill)                     \
  /* Range */                           \
  X(kReferenceRange)                    \
  /* DimTensor */                       \
  X(kReferenceDimTensor)                \
  /* end */
// clang-format on

namespace weir {

#define WEIR_DECLARE(name) extern const Implementation name;
WEIR_IMPLEMENTATIONS(WEIR_DECLARE)
#undef WEIR_DECLARE

namespace {

#define WEIR_LIST(name) &name,
constexpr const Implementation* kImplementations[] = {WEIR_IMPLEMENTATIONS(WEIR_LIST)};
#undef WEIR_LIST

}  // namespace

std::span<const Implementation* const> implementations() {
  return kImplementations;
}

const Implementation* find_implementation(std::string_view name) {
  for (const Implementation* implementation : kImplementations) {
    if (implementation->name == name) {
      return implementation;
    }
  }
  return nullptr;
}

}  // namespace weir
