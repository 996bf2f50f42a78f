// SPDX-License-Identifier: Apache-2.0
//
// Runs an operator's reference implementation on host memory, in the calling thread: what the compiler folds
// constants with, and what tests compare with.
//
//   WEIR_TRY(run_reference(op, inputs, outputs), "while folding node '{}'", name);
#pragma once

#include <span>

#include "base/status.h"
#include "kernels/implementation.h"
#include "op/op.h"
#include "tensor/tensor.h"

namespace weir {

// `inputs` and `outputs` are views of the operands' specs, one each; the data of an absent operand is null.
// Outputs must not overlap inputs. Allocates workspace, scratch and constants. Denormals are flushed, as on
// the CPU device. An operator without a reference for these types, views that differ from their specs and an
// index out of range are errors.
Result<void> run_reference(const ConcreteOp& op, std::span<const TensorView> inputs,
                           std::span<const TensorView> outputs);

// The reference implementation of an operator; null where there is none.
const Implementation* find_reference(Op op);

}  // namespace weir
