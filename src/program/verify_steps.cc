// SPDX-License-Identifier: Apache-2.0
#include "program/verify_steps.h"

#include <algorithm>
#include <string>
#include <vector>

#include "op/attribute_stream.h"
#include "op/check_shapes.h"
#include "program/operands.h"
#include "program/refuse.h"

namespace weir::internal {
namespace {

constexpr size_t kMaxImplementations = 64;
// What looks at pairs of them takes time in the square.
constexpr size_t kMaxOperands = 8192;

class StepVerifier {
 public:
  StepVerifier(const Program& program, std::span<const int64_t> values) : p_(program), values_(values) {}

  Result<void> run() {
    written_.assign(p_.storages.size(), 0);
    attribute_dims_.assign(p_.dims.size(), Dim(1));
    for (size_t i = 0; i < p_.dims.size(); ++i) {
      if (const std::optional<int64_t> value = known(static_cast<int32_t>(i))) {
        attribute_dims_[i] = Dim(*value);
      }
    }
    for (size_t i = 0; i < p_.prepare_steps.size(); ++i) {
      WEIR_TRY(step(p_.prepare_steps[i], static_cast<int32_t>(i), /*prepare=*/true),
               "while verifying prepare step ({}) '{}'", i, p_.prepare_steps[i].name);
    }
    for (size_t i = 0; i < p_.steps.size(); ++i) {
      WEIR_TRY(step(p_.steps[i], static_cast<int32_t>(i), /*prepare=*/false),
               "while verifying step ({}) '{}'", i, p_.steps[i].name);
    }
    WEIR_TRY(outputs_are_written());
    return {};
  }

 private:
  std::optional<int64_t> known(int32_t position) const { return known_dim(p_, values_, position); }

  Result<void> step(const Step& step, int32_t number, bool prepare) {
    if (!is_valid(step.op)) {
      return refuse("The step has the unknown operator ({}).", static_cast<int>(step.op));
    }
    for (const size_t count : {step.inputs.size(), step.outputs.size(), step.packed.size()}) {
      if (count > kMaxOperands) {
        return refuse("The step has ({}) operands, and ({}) is the most.", count, kMaxOperands);
      }
    }
    WEIR_ASSIGN(const Attributes attributes, read_attributes(step.op, step.attributes, attribute_dims_));
    WEIR_TRY(internal::check_operands(step, attributes));
    if (step.implementations.empty() || step.implementations.size() > kMaxImplementations ||
        std::ranges::any_of(step.implementations, [](const std::string& name) { return name.empty(); })) {
      return refuse("The step names ({}) implementations, and it names (1) to ({}), none of them ''.",
                    step.implementations.size(), kMaxImplementations);
    }
    WEIR_TRY(packed(step));
    for (size_t i = 0; i < step.inputs.size(); ++i) {
      WEIR_TRY(input(step, i, number, prepare), "while verifying input ({})", i);
    }
    if (step.workspace != -1) {
      if (!is_position(step.workspace, p_.storages) ||
          p_.storages[static_cast<size_t>(step.workspace)].kind != StorageKind::kWorkspace) {
        return refuse("The step has the workspace ({}), which is no storage of that kind.", step.workspace);
      }
      WEIR_TRY(lives(step.workspace, number, prepare), "while verifying the workspace");
    }
    for (size_t i = 0; i < step.outputs.size(); ++i) {
      WEIR_TRY(output(step.outputs[i], number, prepare), "while verifying output ({})", i);
    }
    return p_.is_static() ? shapes(step, attributes) : Result<void>();
  }

  Result<void> shapes(const Step& step, const Attributes& attributes) const {
    const auto specs = [&](const std::vector<int32_t>& positions) {
      std::vector<TensorSpec> list;
      for (const int32_t position : positions) {
        list.push_back(position < 0 ? absent_operand()
                                    : spec_of(p_.tensors[static_cast<size_t>(position)], values_));
      }
      return list;
    };
    const std::vector<TensorSpec> inputs = specs(step.inputs);
    const std::vector<TensorSpec> outputs = specs(step.outputs);
    return check_shapes({step.op, &attributes, inputs, outputs});
  }

  Result<void> packed(const Step& step) const {
    for (size_t i = 0; i < step.packed.size(); ++i) {
      const PackedOperand& operand = step.packed[i];
      if (!is_position(operand.input, step.inputs) || step.inputs[static_cast<size_t>(operand.input)] < 0) {
        return refuse("Packed operand ({}) is input ({}), which the step does not have.", i, operand.input);
      }
      const Storage* storage = is_position(operand.storage, p_.storages)
                                   ? &p_.storages[static_cast<size_t>(operand.storage)]
                                   : nullptr;
      if (storage == nullptr || storage->pack_id.empty() ||
          (storage->kind != StorageKind::kConstant && storage->kind != StorageKind::kPacked)) {
        return refuse("Packed operand ({}) lies in storage ({}), which is no packed constant.", i,
                      operand.storage);
      }
      for (size_t j = 0; j < i; ++j) {
        if (step.packed[j].input == operand.input) {
          return refuse("Input ({}) is packed twice.", operand.input);
        }
      }
    }
    return {};
  }

  static bool is_packed(const Step& step, size_t input) {
    return std::ranges::any_of(step.packed, [&](const PackedOperand& operand) {
      return operand.input == static_cast<int32_t>(input);
    });
  }

  Result<void> input(const Step& step, size_t i, int32_t number, bool prepare) const {
    const int32_t position = step.inputs[i];
    if (position == -1) {
      return {};
    }
    if (!is_position(position, p_.tensors)) {
      return refuse("The step reads tensor ({}), and the program has ({}) tensors.", position,
                    p_.tensors.size());
    }
    const ProgramTensor& tensor = p_.tensors[static_cast<size_t>(position)];
    if (tensor.storage == -1) {
      if (!is_packed(step, i)) {
        return refuse("The step reads tensor ({}) '{}', which has no storage and is not packed.", position,
                      tensor.name);
      }
      return {};
    }
    const StorageKind kind = p_.storages[static_cast<size_t>(tensor.storage)].kind;
    if (prepare && kind != StorageKind::kConstant && kind != StorageKind::kPrepared) {
      return refuse(
          "The prepare step reads tensor ({}) '{}' of kind {}, and only constants and prepared ones "
          "exist then.",
          position, tensor.name, to_string(kind));
    }
    const bool made_by_steps = kind == StorageKind::kActivation || kind == StorageKind::kPrepared ||
                               kind == StorageKind::kOutput || takes_state(tensor.storage);
    if (made_by_steps && written_[static_cast<size_t>(tensor.storage)] == 0) {
      return refuse("The step reads tensor ({}) '{}', whose storage ({}) no step before it writes.", position,
                    tensor.name, tensor.storage);
    }
    return lives(tensor.storage, number, prepare);
  }

  Result<void> output(int32_t position, int32_t number, bool prepare) {
    if (position == -1) {
      return {};
    }
    if (!is_position(position, p_.tensors)) {
      return refuse("The step writes tensor ({}), and the program has ({}) tensors.", position,
                    p_.tensors.size());
    }
    const ProgramTensor& tensor = p_.tensors[static_cast<size_t>(position)];
    if (tensor.storage == -1) {
      return refuse("The step writes tensor ({}) '{}', which has no storage.", position, tensor.name);
    }
    const StorageKind kind = p_.storages[static_cast<size_t>(tensor.storage)].kind;
    const bool writable = prepare ? kind == StorageKind::kPrepared
                                  : kind == StorageKind::kActivation || kind == StorageKind::kOutput ||
                                        takes_state(tensor.storage);
    if (kind == StorageKind::kState && !prepare && !writable) {
      return refuse(
          "The step writes tensor ({}) '{}', which holds a state as the run begins, and a run that fails "
          "must leave that as it is.",
          position, tensor.name);
    }
    if (!writable) {
      return refuse("The step writes tensor ({}) '{}' of kind {}, which a {} may not write.", position,
                    tensor.name, to_string(kind), prepare ? "prepare step" : "step");
    }
    written_[static_cast<size_t>(tensor.storage)] = 1;
    return lives(tensor.storage, number, prepare);
  }

  Result<void> lives(int32_t position, int32_t number, bool prepare) const {
    const Storage& storage = p_.storages[static_cast<size_t>(position)];
    if (prepare || storage.kind == StorageKind::kConstant || storage.kind == StorageKind::kPrepared) {
      return {};
    }
    if (number < storage.first_step || number > storage.last_step) {
      return refuse("Storage ({}), {}, is used in step ({}), and it lives from ({}) to ({}).", position,
                    to_string(storage.kind), number, storage.first_step, storage.last_step);
    }
    return {};
  }

  // Whether the storage takes what a run leaves of a state.
  bool takes_state(int32_t position) const {
    const Storage& storage = p_.storages[static_cast<size_t>(position)];
    return storage.kind == StorageKind::kState && storage.index % 2 == 1;
  }

  Result<void> outputs_are_written() const {
    for (size_t i = 0; i < p_.outputs.size(); ++i) {
      const ProgramTensor& tensor = p_.tensors[static_cast<size_t>(p_.outputs[i].tensor)];
      const bool empty = known(p_.storages[static_cast<size_t>(tensor.storage)].bytes) == 0;
      if (!empty && written_[static_cast<size_t>(tensor.storage)] == 0) {
        return refuse("Output ({}) '{}' lies in storage ({}), which no step writes.", i, p_.outputs[i].name,
                      tensor.storage);
      }
    }
    for (size_t i = 0; i < p_.states.size(); ++i) {
      const ProgramTensor& tensor = p_.tensors[static_cast<size_t>(p_.states[i].after)];
      const bool empty = known(p_.storages[static_cast<size_t>(tensor.storage)].bytes) == 0;
      if (!empty && written_[static_cast<size_t>(tensor.storage)] == 0) {
        return refuse("State ({}) '{}' is fed from storage ({}), which no step writes.", i, p_.states[i].name,
                      tensor.storage);
      }
    }
    return {};
  }

  const Program& p_;
  std::span<const int64_t> values_;
  std::vector<Dim> attribute_dims_;  // 1 where the value is not known: reading attributes needs places only
  std::vector<char> written_;        // by storage: some step so far wrote it
};

}  // namespace

Result<void> verify_steps(const Program& program, std::span<const int64_t> values) {
  return StepVerifier(program, values).run();
}

}  // namespace weir::internal
