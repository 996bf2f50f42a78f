// SPDX-License-Identifier: Apache-2.0
//
// All implementations of this build. One line each: it declares `extern const Implementation kName;` and
// registers it. Grouped by operator, the fastest first, the reference last.
#include "kernels/implementation.h"

// clang-format off
#define WEIR_IMPLEMENTATIONS(X)         \
  /* Elementwise */                     \
  X(kReferenceElementwise)              \
  /* Conv */                            \
  X(kReferenceConv)                     \
  /* ConvTranspose */                   \
  X(kReferenceConvTranspose)            \
  /* MatMul */                          \
  X(kReferenceMatMul)                   \
  /* Lstm */                            \
  X(kReferenceLstm)                     \
  /* MaxPool */                         \
  X(kReferenceMaxPool)                  \
  /* AveragePool */                     \
  X(kReferenceAveragePool)              \
  /* Reduce */                          \
  X(kReferenceReduce)                   \
  /* Softmax */                         \
  X(kReferenceSoftmax)                  \
  /* LayerNormalization */              \
  X(kReferenceLayerNormalization)       \
  /* Resize */                          \
  X(kReferenceResize)                   \
  /* Pad */                             \
  X(kReferencePad)                      \
  /* Gather */                          \
  X(kReferenceGather)                   \
  /* Reshape */                         \
  X(kReferenceReshape)                  \
  /* Transpose */                       \
  X(kReferenceTranspose)                \
  /* Slice */                           \
  X(kReferenceSlice)                    \
  /* Concat */                          \
  X(kReferenceConcat)                   \
  /* Expand */                          \
  X(kReferenceExpand)                   \
  /* Copy */                            \
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
