// SPDX-License-Identifier: Apache-2.0
//
// A program's steps with numbers for its symbols: what implementations are configured with.
//
//   WEIR_ASSIGN(ShapeValues values, evaluate_shapes(program, symbols));
//   WEIR_ASSIGN(ConcreteStep step, concrete_step(program, program.steps[3], values));
//   Plan plan = implementation.plan(step.op());
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/status.h"
#include "kernels/implementation.h"
#include "op/custom_operator.h"
#include "plan/placement.h"
#include "program/program.h"

namespace weir {

// Every entry of the program's table of dimensions, as numbers.
struct ShapeValues {
  std::vector<int64_t> symbols;
  std::vector<int64_t> numbers;  // one an entry of Program::dims
  std::vector<Dim> dims;         // the same, for read_attributes

  int64_t operator[](int32_t position) const { return numbers[static_cast<size_t>(position)]; }
};

// Checks ranges and constraints; the error names the symbol or the constraint.
Result<ShapeValues> evaluate_shapes(const Program& program, std::span<const int64_t> symbols);

struct ConcreteStep {
  Attributes attributes;
  std::vector<TensorSpec> inputs;
  std::vector<TensorSpec> outputs;

  ConcreteOp op(Op op) const { return {op, &attributes, inputs, outputs}; }
};

// Whether there is something to compute: a step whose results are all empty is neither planned nor recorded,
// so that no kernel has to expect it. What a custom operator does is its own.
bool has_work(const Step& step, const ConcreteStep& concrete);

TensorSpec concrete_tensor(const Program& program, const ProgramTensor& tensor, const ShapeValues& values);

// A step of a custom operator is run by the one of `operators`, which gives its needs here.
Result<ConcreteStep> concrete_step(const Program& program, const Step& step, const ShapeValues& values,
                                   const CustomOperators* operators = nullptr);

// All of `steps`, in their order.
Result<std::vector<ConcreteStep>> concrete_steps(const Program& program, std::span<const Step> steps,
                                                 const ShapeValues& values,
                                                 const CustomOperators* operators = nullptr);

// The largest needs of all implementations of the step that this build has.
Plan step_needs(const Step& step, const ConcreteOp& op);

// Where everything of one shape lies.
struct ShapePlan {
  std::vector<int64_t> storage_bytes;   // one a storage
  std::vector<int64_t> storage_offset;  // arena and prepared storages; −1 for others
  int64_t arena_bytes = 0;              // activations and workspaces
  int64_t activation_bytes = 0;         // peak of the activations alone
  int64_t prepared_bytes = 0;
  int64_t scratch_bytes = 0;  // of one participant: the largest need of any step
};

// `steps` and `prepare_steps` in the program's order. A static program's own placement is taken as it is.
Result<ShapePlan> plan_shape(const Program& program, const ShapeValues& values,
                             std::span<const ConcreteStep> prepare_steps,
                             std::span<const ConcreteStep> steps);

}  // namespace weir
