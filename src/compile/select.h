// SPDX-License-Identifier: Apache-2.0
//
// Selection: which implementations may run an operator, best first, and why the others may not.
#pragma once

#include <vector>

#include "kernels/implementation.h"
#include "program/program.h"

namespace weir {

struct Selection {
  // Interchangeable at load: they ask for the same layouts, packed constants and in-place pairs as the first.
  // With `portable`, last, the reference: it takes any layout, and plain constants.
  std::vector<const Implementation*> accepted;
  std::vector<Refusal> refused;
  std::vector<LayoutRule> layouts;  // one an operand, inputs then outputs
  std::vector<PackRequest> packs;
  std::vector<InPlacePair> in_place;

  const Implementation& first() const { return *accepted.front(); }
};

struct SelectionRules {
  bool reference_only = false;
  bool prefer_memory = false;  // weights stay about as large as in the model
  bool portable = false;       // a reference may take the place of any other
};

// An error where not even the reference runs it.
Result<Selection> select(const OpDesc& desc, const SelectionRules& rules);

// Whether the packed form of an operand is more than padding larger than its plain form.
bool grows(const PackRequest& pack, const OpDesc& desc);

}  // namespace weir
