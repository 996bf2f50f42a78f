// SPDX-License-Identifier: Apache-2.0
//
// What a program says of its states: that each is a pair of tensors that can change places.
#include <algorithm>
#include <string>
#include <unordered_set>

#include "program/refuse.h"
#include "program/verify_steps.h"

namespace weir::internal {
namespace {

const ProgramTensor& tensor_at(const Program& program, int32_t position) {
  return program.tensors[static_cast<size_t>(position)];
}

Result<void> verify_holder(const Program& program, size_t state, bool after) {
  const ProgramState& pair = program.states[state];
  const int32_t position = after ? pair.after : pair.before;
  const std::string_view when = after ? "after" : "before";
  if (!is_position(position, program.tensors)) {
    return refuse("State ({}) '{}' is tensor ({}) {} a run, and the program has ({}) tensors.", state,
                  pair.name, position, when, program.tensors.size());
  }
  const int32_t at = tensor_at(program, position).storage;
  const int64_t index = 2 * static_cast<int64_t>(state) + (after ? 1 : 0);
  if (at < 0 || program.storages[static_cast<size_t>(at)].kind != StorageKind::kState ||
      program.storages[static_cast<size_t>(at)].index != index) {
    return refuse("State ({}) '{}' lies in storage ({}) {} a run, which is not the state storage ({}).",
                  state, pair.name, at, when, index);
  }
  return {};
}

// Whether two dimensions are one, or the same number.
bool equal_dims(const Program& program, std::span<const int64_t> values, int32_t a, int32_t b) {
  const std::optional<int64_t> known = known_dim(program, values, a);
  return a == b || (known && known == known_dim(program, values, b));
}

}  // namespace

Result<void> verify_states(const Program& program, std::span<const int64_t> values) {
  std::unordered_set<std::string_view> names;
  for (size_t i = 0; i < program.states.size(); ++i) {
    const ProgramState& state = program.states[i];
    WEIR_TRY(verify_holder(program, i, false));
    WEIR_TRY(verify_holder(program, i, true));
    if (state.name.empty() || !names.insert(state.name).second) {
      return refuse("State ({}) has the name '{}', which is empty or another one's too.", i, state.name);
    }
    const ProgramTensor& before = tensor_at(program, state.before);
    const ProgramTensor& after = tensor_at(program, state.after);
    bool same = before.element_type == after.element_type && before.shape.size() == after.shape.size();
    for (size_t axis = 0; same && axis < before.shape.size(); ++axis) {
      same = equal_dims(program, values, before.shape[axis], after.shape[axis]);
    }
    if (!same) {
      return refuse("State ({}) '{}' is fed from '{}', and their types or shapes are not the same.", i,
                    state.name, state.output);
    }
  }
  return {};
}

Result<void> verify_state_shapes(const Program& program, std::span<const int64_t> dims) {
  const auto value = [&](int32_t position) { return dims[static_cast<size_t>(position)]; };
  for (size_t i = 0; i < program.states.size(); ++i) {
    for (const int32_t position : {program.states[i].before, program.states[i].after}) {
      const ProgramTensor& tensor = tensor_at(program, position);
      const bool dense = value(tensor.offset) == 0 && is_row_major(tensor, dims);
      // verify_views found that the product of the extents fits.
      const int64_t bytes = byte_size(tensor.element_type, spec_of(tensor, dims).element_count());
      const int64_t room = value(program.storages[static_cast<size_t>(tensor.storage)].bytes);
      if (!dense || bytes != room) {
        return refuse(
            "State ({}) '{}' is tensor ({}) of ({}) bytes in a storage of ({}), and a state is dense and "
            "fills "
            "its storage.",
            i, program.states[i].name, position, bytes, room);
      }
    }
  }
  return {};
}

}  // namespace weir::internal
