// SPDX-License-Identifier: Apache-2.0
//
// Whether an implementation may run a step of a program from a file: the file only claims so.
#pragma once

#include <span>
#include <vector>

#include "kernels/implementation.h"
#include "op/custom_operator.h"
#include "program/program.h"

namespace weir {

class StepChecker {
 public:
  // The program is verified, and outlives the checker.
  static Result<StepChecker> create(const Program& program, const CustomOperators* operators = nullptr);

  // The implementation takes the operator with these types and strides, and the packed operands have the ids
  // and sizes that it asks for. The error says which of these does not hold. Gives what it packs: nothing
  // where it reads plain constants.
  Result<std::vector<PackRequest>> check(const Step& step, const Implementation& implementation) const;

 private:
  StepChecker(const Program& program, const CustomOperators* operators)
      : program_(&program), operators_(operators) {}
  TensorType type_of(int32_t tensor) const;
  Result<void> check_packs(const Step& step, const Implementation& implementation,
                           std::span<const PackRequest> packs) const;

  const Program* program_;
  const CustomOperators* operators_;  // outlives the checker; null where there are none
  std::vector<Dim> dims_;             // one an entry of Program::dims
};

}  // namespace weir
