// SPDX-License-Identifier: Apache-2.0
//
// The verifier's look at constants: those that a session packs when it is opened, and those that the model
// names.
#include <algorithm>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "base/checked.h"
#include "program/refuse.h"
#include "program/verify_steps.h"

namespace weir::internal {
namespace {

class ConstantVerifier {
 public:
  explicit ConstantVerifier(const Program& program) : p_(program) {}

  Result<void> run() {
    numbers_.resize(p_.dims.size(), 0);
    for (size_t i = 0; i < p_.dims.size(); ++i) {
      if (p_.dims[i].op == DimOp::kConstant) {
        numbers_[i] = p_.dims[i].value;
      }
    }
    source_.assign(p_.storages.size(), -1);
    for (const auto* steps : {&p_.prepare_steps, &p_.steps}) {
      for (const Step& step : *steps) {
        for (const PackedOperand& operand : step.packed) {
          if (p_.storages[static_cast<size_t>(operand.storage)].kind == StorageKind::kPacked) {
            WEIR_TRY(source(operand.storage, step.inputs[static_cast<size_t>(operand.input)]),
                     "while verifying packed operand ({}) of step '{}'", operand.input, step.name);
          }
        }
      }
    }
    for (size_t i = 0; i < p_.storages.size(); ++i) {
      if (p_.storages[i].kind == StorageKind::kPacked && source_[i] < 0) {
        return refuse("Storage ({}) is packed as '{}' when a session is opened, and no step reads it.", i,
                      p_.storages[i].pack_id);
      }
    }
    return names();
  }

 private:
  // What the storage is packed from: the same plain constant for every step that reads it.
  Result<void> source(int32_t storage, int32_t position) {
    const ProgramTensor& tensor = p_.tensors[static_cast<size_t>(position)];
    WEIR_TRY(plain(tensor), "while verifying what storage ({}) is packed from", storage);
    int32_t& known = source_[static_cast<size_t>(storage)];
    if (known < 0) {
      known = position;
    }
    const ProgramTensor& first = p_.tensors[static_cast<size_t>(known)];
    if (first.storage != tensor.storage || first.element_type != tensor.element_type ||
        values(first.shape) != values(tensor.shape) || values(first.strides) != values(tensor.strides) ||
        numbers_[static_cast<size_t>(first.offset)] != numbers_[static_cast<size_t>(tensor.offset)]) {
      return refuse("Storage ({}) is packed from tensor ({}) '{}' and from tensor ({}) '{}', which differ.",
                    storage, known, first.name, position, tensor.name);
    }
    return {};
  }

  std::vector<int64_t> values(const std::vector<int32_t>& positions) const {
    std::vector<int64_t> list;
    for (const int32_t position : positions) {
      list.push_back(numbers_[static_cast<size_t>(position)]);
    }
    return list;
  }

  // A view of a constant of the file in numbers, inside its storage.
  Result<void> plain(const ProgramTensor& tensor) const {
    if (tensor.storage < 0 ||
        p_.storages[static_cast<size_t>(tensor.storage)].kind != StorageKind::kConstant) {
      return refuse("Tensor '{}' lies in storage ({}), which is no plain constant of the program.",
                    tensor.name, tensor.storage);
    }
    const auto is_number = [&](int32_t position) {
      return p_.dims[static_cast<size_t>(position)].op == DimOp::kConstant;
    };
    if (!std::ranges::all_of(tensor.shape, is_number) || !std::ranges::all_of(tensor.strides, is_number) ||
        !is_number(tensor.offset)) {
      return refuse("Tensor '{}' is a constant, and its shape, strides and offset are not all numbers.",
                    tensor.name);
    }
    return verify_view(p_, tensor, numbers_);
  }

  Result<void> names() const {
    std::unordered_set<std::string_view> seen;
    for (size_t i = 0; i < p_.constants.size(); ++i) {
      const ProgramConstant& constant = p_.constants[i];
      if (constant.name.empty() || !seen.insert(constant.name).second) {
        return refuse("Constant ({}) has the name '{}', and each has one of its own.", i, constant.name);
      }
      if (constant.fate > ConstantFate::kUnused) {
        return refuse("Constant ({}) '{}' has the unknown fate ({}).", i, constant.name,
                      static_cast<int>(constant.fate));
      }
      WEIR_TRY(place(constant), "while verifying constant ({}) '{}'", i, constant.name);
    }
    return {};
  }

  Result<void> place(const ProgramConstant& constant) const {
    if (constant.fate != ConstantFate::kPlain) {
      return constant.tensor == -1 ? Result<void>{}
                                   : refuse("The constant is {}, and tensor ({}) is named for it.",
                                            to_string(constant.fate), constant.tensor);
    }
    if (!is_position(constant.tensor, p_.tensors)) {
      return refuse("The constant is tensor ({}), and the program has ({}) tensors.", constant.tensor,
                    p_.tensors.size());
    }
    const ProgramTensor& tensor = p_.tensors[static_cast<size_t>(constant.tensor)];
    WEIR_TRY(plain(tensor));
    int64_t count = 1;
    bool whole = numbers_[static_cast<size_t>(tensor.offset)] == 0;
    for (size_t axis = tensor.shape.size(); axis-- > 0;) {
      whole = whole && numbers_[static_cast<size_t>(tensor.strides[axis])] == count;
      WEIR_ASSIGN(count, checked_mul(count, numbers_[static_cast<size_t>(tensor.shape[axis])]));
    }
    const Storage& storage = p_.storages[static_cast<size_t>(tensor.storage)];
    if (!whole || byte_size(tensor.element_type, count) != numbers_[static_cast<size_t>(storage.bytes)]) {
      return refuse("Tensor ({}) is not all of storage ({}) in row-major order.", constant.tensor,
                    tensor.storage);
    }
    return {};
  }

  const Program& p_;
  std::vector<int64_t> numbers_;  // by dimension: 0 where it is none
  std::vector<int32_t> source_;   // by storage: the tensor that it is packed from
};

}  // namespace

Result<void> verify_constant_list(const Program& program) {
  return ConstantVerifier(program).run();
}

}  // namespace weir::internal
