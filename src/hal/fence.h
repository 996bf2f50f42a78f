// SPDX-License-Identifier: Apache-2.0
//
// Fence: a barrier in two halves within one command buffer. What was recorded before update_fence is complete
// before anything recorded after wait_fence starts; what lies between may overlap both.
//
//   encoder.dispatch(…);            // a
//   encoder.update_fence(*fence);
//   encoder.dispatch(…);            // b: independent of a
//   encoder.wait_fence(*fence);
//   encoder.dispatch(…);            // c: reads what a wrote
//
// It has no state outside recording; one fence may serve any number of command buffers. Thread-safe.
#pragma once

#include <string>
#include <string_view>

#include "base/ref.h"

namespace weir {

class Fence : public RefCounted {
 public:
  explicit Fence(std::string_view label) : label_(label) {}
  const std::string& label() const { return label_; }

 private:
  std::string label_;
};

}  // namespace weir
