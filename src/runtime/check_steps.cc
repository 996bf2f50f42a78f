// SPDX-License-Identifier: Apache-2.0
#include "runtime/check_steps.h"

#include <algorithm>

#include "kernels/layout.h"

namespace weir {
namespace {

std::string strides_of(const TensorType& type) {
  std::string text;
  for (const Dim& stride : type.strides) {
    text += (text.empty() ? "" : ", ") + stride.to_string();
  }
  return text;
}

}  // namespace

Result<StepChecker> StepChecker::create(const Program& program, const CustomOperators* operators) {
  StepChecker checker(program, operators);
  WEIR_ASSIGN(checker.dims_, to_dims(program.dims, symbol_table(program)));
  return checker;
}

TensorType StepChecker::type_of(int32_t tensor) const {
  const ProgramTensor& source = program_->tensors[static_cast<size_t>(tensor)];
  TensorType type;
  type.element_type = source.element_type;
  for (size_t i = 0; i < source.shape.size(); ++i) {
    type.shape.push_back(dims_[static_cast<size_t>(source.shape[i])]);
    type.strides.push_back(dims_[static_cast<size_t>(source.strides[i])]);
  }
  return type;
}

Result<std::vector<PackRequest>> StepChecker::check(const Step& step,
                                                    const Implementation& implementation) const {
  WEIR_ASSIGN(Attributes attributes, read_attributes(step.op, step.attributes, dims_));
  if (auto* custom = std::get_if<CustomAttributes>(&attributes)) {
    WEIR_ASSIGN(custom->definition, resolve(operators_, *custom));
  }
  std::vector<TensorType> types;
  types.reserve(step.inputs.size() + step.outputs.size());  // the description points into it
  OpDesc desc;
  desc.op = step.op;
  desc.attributes = &attributes;
  const auto describe = [&](int32_t tensor) -> const TensorType* {
    return tensor < 0 ? nullptr : &types.emplace_back(type_of(tensor));
  };
  const auto is_packed = [&](size_t input) {
    return std::ranges::find(step.packed, static_cast<int32_t>(input), &PackedOperand::input) !=
           step.packed.end();
  };
  const bool packs_operands = implementation.pack != nullptr;
  for (size_t i = 0; i < step.inputs.size(); ++i) {
    desc.inputs.push_back(describe(step.inputs[i]));
    if (packs_operands && is_packed(i) && desc.inputs.back() != nullptr) {
      types.back().strides.clear();  // those of the plain bytes, which `write` reads and no kernel
    }
    const int32_t storage =
        step.inputs[i] < 0 ? -1 : program_->tensors[static_cast<size_t>(step.inputs[i])].storage;
    desc.constant.push_back(
        is_packed(i) ||
        (storage >= 0 && program_->storages[static_cast<size_t>(storage)].kind == StorageKind::kConstant));
  }
  for (int32_t output : step.outputs) {
    desc.outputs.push_back(describe(output));
  }
  if (implementation.op != step.op) {
    return fail(StatusCode::kDataLoss, "Implementation '{}' runs operator {}, and the step is {}.",
                implementation.name, to_string(implementation.op), to_string(step.op));
  }
  const auto check_support = [&]() -> Result<void> {
    const Support support = implementation.supported(desc);
    return support.ok() ? Result<void>{}
                        : fail(StatusCode::kDataLoss, "Implementation '{}' refuses the step: {}.",
                               implementation.name, support.reason);
  };
  WEIR_TRY(check_support());
  std::vector<PackRequest> packs;
  if (packs_operands) {
    packs = implementation.pack(desc);
    if (packs.empty() && !step.packed.empty()) {  // here it reads the plain bytes after all
      size_t type = 0;
      for (const int32_t input : step.inputs) {
        if (input >= 0) {
          types[type++] = type_of(input);
        }
      }
      WEIR_TRY(check_support());
    }
  }
  if (implementation.layouts != nullptr) {
    const std::vector<LayoutRule> rules = implementation.layouts(desc);
    for (size_t i = 0; i < rules.size(); ++i) {
      const bool input = i < desc.inputs.size();
      const TensorType* type = input ? desc.inputs[i] : desc.outputs[i - desc.inputs.size()];
      const bool packed =
          input && std::ranges::find(packs, static_cast<int>(i), &PackRequest::input) != packs.end();
      if (type != nullptr && !packed && !satisfies(rules[i], type->shape, type->strides)) {
        return fail(StatusCode::kDataLoss,
                    "Operand ({}) lies with strides ({}), which implementation '{}' does not take.", i,
                    strides_of(*type), implementation.name);
      }
    }
  }
  WEIR_TRY(check_packs(step, implementation, packs));
  return packs;
}

Result<void> StepChecker::check_packs(const Step& step, const Implementation& implementation,
                                      std::span<const PackRequest> packs) const {
  const auto storage_of = [&](const PackedOperand& operand) -> const Storage& {
    return program_->storages[static_cast<size_t>(operand.storage)];
  };
  const bool all_plain = std::ranges::all_of(step.packed, [&](const PackedOperand& operand) {
    return storage_of(operand).kind == StorageKind::kPacked;
  });
  if (packs.size() != step.packed.size() && !(packs.empty() && all_plain)) {
    return fail(StatusCode::kDataLoss,
                "Implementation '{}' packs ({}) operands, and the step has ({}) packed.", implementation.name,
                packs.size(), step.packed.size());
  }
  for (const PackRequest& pack : packs) {
    const auto found = std::ranges::find(step.packed, pack.input, &PackedOperand::input);
    if (found == step.packed.end()) {
      return fail(StatusCode::kDataLoss,
                  "Operand ({}) is not packed, and implementation '{}' wants it packed as '{}'.", pack.input,
                  implementation.name, pack.id);
    }
    const Storage& storage = storage_of(*found);
    if (storage.pack_id != pack.id || !dims_[static_cast<size_t>(storage.bytes)].is_constant(pack.bytes)) {
      return fail(StatusCode::kDataLoss,
                  "Operand ({}) is packed as '{}' ({} bytes), and implementation '{}' wants it as '{}' ({} "
                  "bytes).",
                  pack.input, storage.pack_id, dims_[static_cast<size_t>(storage.bytes)].to_string(),
                  implementation.name, pack.id, pack.bytes);
    }
  }
  return {};
}

}  // namespace weir
