// SPDX-License-Identifier: Apache-2.0
#include "compile/select.h"

#include <algorithm>

#include "op/custom_operator.h"

namespace weir {
namespace {

std::vector<LayoutRule> layouts_of(const Implementation& implementation, const OpDesc& desc) {
  if (implementation.layouts != nullptr) {
    return implementation.layouts(desc);
  }
  return std::vector<LayoutRule>(desc.inputs.size() + desc.outputs.size(), LayoutRule::kAny);
}

std::vector<PackRequest> packs_of(const Implementation& implementation, const OpDesc& desc) {
  return implementation.pack != nullptr ? implementation.pack(desc) : std::vector<PackRequest>{};
}

std::vector<InPlacePair> in_place_of(const Implementation& implementation, const OpDesc& desc) {
  return implementation.in_place != nullptr ? implementation.in_place(desc) : std::vector<InPlacePair>{};
}

bool same_packs(std::span<const PackRequest> a, std::span<const PackRequest> b) {
  return std::ranges::equal(a, b, [](const PackRequest& x, const PackRequest& y) {
    return x.input == y.input && x.id == y.id && x.bytes == y.bytes;
  });
}

bool same_pairs(std::span<const InPlacePair> a, std::span<const InPlacePair> b) {
  return std::ranges::equal(a, b, [](const InPlacePair& x, const InPlacePair& y) {
    return x.output == y.output && x.input == y.input;
  });
}

// Whether the reference runs in the memory that the first implementation was given.
bool replaces(const Implementation& reference, const OpDesc& desc, Selection& selection) {
  const std::vector<LayoutRule> rules = layouts_of(reference, desc);
  for (size_t i = 0; i < rules.size(); ++i) {
    if (rules[i] != LayoutRule::kAny && rules[i] != selection.layouts[i]) {
      return false;
    }
  }
  // Results overwrite operands only where both allow it.
  const std::vector<InPlacePair> pairs = in_place_of(reference, desc);
  std::erase_if(selection.in_place, [&](const InPlacePair& pair) {
    return std::ranges::none_of(pairs, [&](const InPlacePair& other) {
      return other.output == pair.output && other.input == pair.input;
    });
  });
  return packs_of(reference, desc).empty();
}

std::string types_of(const OpDesc& desc) {
  std::string text;
  for (const TensorType* input : desc.inputs) {
    text += (text.empty() ? "" : ", ") + (input == nullptr ? "none" : input->to_string());
  }
  return text;
}

}  // namespace

bool grows(const PackRequest& pack, const OpDesc& desc) {
  const TensorType& plain = *desc.inputs[static_cast<size_t>(pack.input)];
  const int64_t bytes = byte_size(plain.element_type, plain.element_count().constant());
  // A quarter, and what rounding columns up to a panel takes in small operands.
  constexpr int64_t kPadding = 64 << 10;
  return pack.bytes > bytes + bytes / 4 + kPadding;
}

Result<Selection> select(const OpDesc& desc, const SelectionRules& rules) {
  Selection selection;
  if (const auto* custom = std::get_if<CustomAttributes>(desc.attributes)) {
    selection.accepted.push_back(&custom->definition->implementation());
    selection.layouts = layouts_of(selection.first(), desc);
    selection.in_place = in_place_of(selection.first(), desc);
    return selection;
  }
  for (const Implementation* candidate : implementations()) {
    if (candidate->op != desc.op) {
      continue;
    }
    if (rules.reference_only && !candidate->reference) {
      continue;
    }
    if (const Support support = candidate->supported(desc); !support.ok()) {
      selection.refused.push_back({std::string(candidate->name), std::string(support.reason)});
      continue;
    }
    if (rules.prefer_memory && std::ranges::any_of(packs_of(*candidate, desc), [&](const PackRequest& pack) {
          return grows(pack, desc);
        })) {
      selection.refused.push_back(
          {std::string(candidate->name), "its weights are larger than the model's, and memory is preferred"});
      continue;
    }
    if (selection.accepted.empty()) {
      selection.layouts = layouts_of(*candidate, desc);
      selection.packs = packs_of(*candidate, desc);
      selection.in_place = in_place_of(*candidate, desc);
      selection.accepted.push_back(candidate);
      continue;
    }
    if (candidate->reference) {  // a fast one applies on every processor that the program is compiled for
      if (rules.portable && replaces(*candidate, desc, selection)) {
        selection.accepted.push_back(candidate);
      }
      continue;
    }
    if (layouts_of(*candidate, desc) == selection.layouts &&
        same_packs(packs_of(*candidate, desc), selection.packs) &&
        same_pairs(in_place_of(*candidate, desc), selection.in_place)) {
      selection.accepted.push_back(candidate);
    }
  }
  if (selection.accepted.empty()) {
    std::string reasons;
    for (const Refusal& refusal : selection.refused) {
      reasons += fmt::format(" {}: {}.", refusal.implementation, refusal.reason);
    }
    return fail(StatusCode::kUnimplemented, "No implementation of operator {} takes ({}).{}",
                to_string(desc.op), types_of(desc), reasons);
  }
  return selection;
}

}  // namespace weir
