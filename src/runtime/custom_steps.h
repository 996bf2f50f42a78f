// SPDX-License-Identifier: Apache-2.0
//
// What a session needs to run steps of custom operators: who runs them, and that they live as long as
// kernels.
#pragma once

#include <memory>

#include "base/ref.h"
#include "kernels/implementation.h"
#include "op/custom_operator.h"
#include "program/program.h"

namespace weir {

// The registered operator that the step was compiled with. `operators`, which may be null, keeps it alive.
Result<const Implementation*> custom_implementation_of(const Step& step, const CustomOperators* operators);

// What the kernel of this implementation takes as `user`; null for Weir's own.
void* custom_user(const Implementation& implementation, const CustomOperators* operators);

// An object that keeps the operators alive; null for none.
Ref<RefCounted> keep_operators(std::shared_ptr<const CustomOperators> operators);

}  // namespace weir
