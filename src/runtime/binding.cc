// SPDX-License-Identifier: Apache-2.0
#include "runtime/binding.h"

#include <algorithm>

#include "tensor/strided_copy.h"

namespace weir {
namespace {

bool same_shape(const TensorSpec& a, const TensorView& b) {
  return a.rank == b.rank && std::equal(a.shape.begin(), a.shape.begin() + a.rank, b.shape.begin());
}

// What kernels that read this element type expect of an address.
uintptr_t element_alignment(ElementType type) {
  return static_cast<uintptr_t>(std::max(1, bit_width(type) / 8));
}

}  // namespace

std::string reasons_text(uint32_t reasons) {
  static constexpr std::pair<uint32_t, std::string_view> kTexts[] = {
      {kReasonElementType, "element type"},
      {kReasonShape, "shape"},
      {kReasonStrides, "strides"},
      {kReasonAlignment, "alignment"},
      {kReasonMemoryNotShared, "device memory not shared"},
      {kReasonLent, "lent for the call only"}};
  std::string text;
  for (const auto& [reason, name] : kTexts) {
    if ((reasons & reason) != 0) {
      text += text.empty() ? "" : ", ";
      text += name;
    }
  }
  return text;
}

BindingVerdict binding_verdict(const Device& device, const TensorSpec& wanted, const TensorView& given,
                               TensorUse use) {
  const TensorSpec spec = spec_of(given);
  BindingVerdict verdict;
  bool refused = false;
  if (given.type != wanted.type) {
    verdict.reasons |= kReasonElementType;
    refused = true;
  }
  if (!same_shape(wanted, given)) {
    verdict.reasons |= kReasonShape;
    refused = true;
  }
  if (!spec.is_dense_row_major()) {
    verdict.reasons |= kReasonStrides;
    refused = refused || bit_width(given.type) < 8 || !byte_range(spec) ||
              (use == TensorUse::kWrite && !has_distinct_elements(spec));
  }
  if (!refused && wanted.element_count() > 0) {
    if (reinterpret_cast<uintptr_t>(given.data) % element_alignment(wanted.type) != 0) {
      verdict.reasons |= kReasonAlignment;
    }
    switch (device.import_verdict(given.data, wanted.extent_bytes())) {
      case ImportVerdict::kUsable:
        break;
      case ImportVerdict::kMemoryNotShared:
        verdict.reasons |= kReasonMemoryNotShared;
        break;
      case ImportVerdict::kAlignment:
        verdict.reasons |= kReasonAlignment;
        break;
    }
  }
  if (refused) {
    verdict.answer = BindingAnswer::kRefused;
  } else if (verdict.reasons != kNoReason) {
    verdict.answer = BindingAnswer::kCopied;
    verdict.copied_bytes = byte_size(wanted.type, wanted.element_count());
  }
  return verdict;
}

Status verdict_error(const BindingVerdict& verdict, const TensorSpec& wanted, const TensorView& given,
                     std::string_view what) {
  if (verdict.answer == BindingAnswer::kRefused) {
    return {StatusCode::kInvalidArgument,
            fmt::format("A tensor given as {} is ({}), and the program has ({}): {}.", what,
                        spec_of(given).to_string(), wanted.to_string(), reasons_text(verdict.reasons))};
  }
  return {
      StatusCode::kFailedPrecondition,
      fmt::format(
          "A tensor given as {} would be copied ({} bytes; {}), and copies are forbidden here; write into "
          "the request's own tensor, or bind memory that can be used in place.",
          what, verdict.copied_bytes, reasons_text(verdict.reasons))};
}

}  // namespace weir
