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
  std::vector<const Implementation*> accepted;
  std::vector<Refusal> refused;
  std::vector<LayoutRule> layouts;  // one an operand, inputs then outputs
  std::vector<PackRequest> packs;
  std::vector<InPlacePair> in_place;

  const Implementation& first() const { return *accepted.front(); }
};

// An error where not even the reference runs it.
Result<Selection> select(const OpDesc& desc, bool reference_only);

}  // namespace weir
