// SPDX-License-Identifier: Apache-2.0
#include "runtime/custom_steps.h"

#include <utility>

namespace weir {
namespace {

struct KeptOperators final : RefCounted {
  explicit KeptOperators(std::shared_ptr<const CustomOperators> list) : operators(std::move(list)) {}
  std::shared_ptr<const CustomOperators> operators;
};

}  // namespace

void* custom_user(const Implementation& implementation, const CustomOperators* operators) {
  if (implementation.op != Op::kCustom || operators == nullptr) {
    return nullptr;
  }
  for (const auto& op : operators->all()) {
    if (op->implementation_name() == implementation.name) {
      return const_cast<CustomOperator*>(op.get());  // a kernel's user is no const pointer; it is not changed
    }
  }
  return nullptr;
}

Ref<RefCounted> keep_operators(std::shared_ptr<const CustomOperators> operators) {
  return operators == nullptr ? Ref<RefCounted>()
                              : Ref<RefCounted>(make_ref<KeptOperators>(std::move(operators)));
}

Result<const Implementation*> custom_implementation_of(const Step& step, const CustomOperators* operators) {
  // The attributes of custom operators hold no dimensions.
  WEIR_ASSIGN(const Attributes attributes, read_attributes(step.op, step.attributes, {}));
  WEIR_ASSIGN(const std::shared_ptr<const CustomOperator> op,
              resolve(operators, std::get<CustomAttributes>(attributes)));
  return &op->implementation();
}

}  // namespace weir
