// SPDX-License-Identifier: Apache-2.0
//
// What becomes of a tensor of the caller's that is handed to a request or bound to it: used in place, copied,
// or refused, and all the reasons.
//
//   const BindingVerdict verdict = binding_verdict(device, request.input_spec(0), image, TensorUse::kRead);
//   if (verdict.answer == BindingAnswer::kCopied) { … reasons_text(verdict.reasons) … }
#pragma once

#include <cstdint>
#include <string>

#include "hal/device.h"
#include "tensor/tensor.h"

namespace weir {

// Why memory is not used in place. Bits.
enum CopyReasons : uint32_t {
  kNoReason = 0,
  kReasonElementType = 1,
  kReasonShape = 2,
  kReasonStrides = 4,
  kReasonAlignment = 8,         // the address is no multiple of what the device or the element type asks for
  kReasonMemoryNotShared = 16,  // the device does not see the host's memory
  kReasonLent = 32,             // handed over for the length of a call only
};
// "strides, alignment".
std::string reasons_text(uint32_t reasons);

enum class BindingAnswer : uint8_t {
  kInPlace,
  kCopied,   // by the host, before or after each run
  kRefused,  // no copy would help: element type, shape, or an output whose strides share elements
};

struct BindingVerdict {
  BindingAnswer answer = BindingAnswer::kInPlace;
  uint32_t reasons = kNoReason;
  int64_t copied_bytes = 0;  // of the elements, each time
};

enum class CopyPolicy : uint8_t { kAllow, kForbid };

enum class TensorUse : uint8_t { kRead, kWrite };

// `wanted` is dense and row-major: what the program takes or gives.
BindingVerdict binding_verdict(const Device& device, const TensorSpec& wanted, const TensorView& given,
                               TensorUse use);

// Whether the verdict lets it happen; allocates nothing.
constexpr bool is_allowed(const BindingVerdict& verdict, CopyPolicy policy) {
  return verdict.answer == BindingAnswer::kInPlace ||
         (verdict.answer == BindingAnswer::kCopied && policy == CopyPolicy::kAllow);
}

// The error for a verdict that is not allowed. `what` names the tensor: "input 'images' of 'yolo'".
Status verdict_error(const BindingVerdict& verdict, const TensorSpec& wanted, const TensorView& given,
                     std::string_view what);

}  // namespace weir
