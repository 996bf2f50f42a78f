// SPDX-License-Identifier: Apache-2.0
#include "kernels/isa_name.h"

namespace weir {

Result<Isa> isa_named(std::string_view name, Isa best) {
  if (name.empty()) {
    return best;
  }
  for (const Isa isa : {Isa::kBaseline, Isa::kAvx2, Isa::kAvx512}) {
    if (to_string(isa) == name) {
      if (isa > best) {
        return fail(StatusCode::kInvalidArgument,
                    "This processor has no instruction set '{}' (its best: {}).", name, to_string(best));
      }
      return isa;
    }
  }
  return fail(StatusCode::kInvalidArgument, "Instruction set '{}' is not one of (sse4, avx2, avx512).", name);
}

}  // namespace weir
