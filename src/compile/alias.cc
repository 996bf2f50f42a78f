// SPDX-License-Identifier: Apache-2.0
//
// Lifetimes of storages, and results that take the memory of an operand.
#include <algorithm>

#include "compile/lower.h"

namespace weir {

void compute_lifetimes(Lowered& lowered) {
  for (LoweredStorage& storage : lowered.storages) {
    storage.first_step = -1;
    storage.last_step = -1;
  }
  for (size_t s = 0; s < lowered.steps.size(); ++s) {
    const auto touch = [&](int32_t view) {
      if (view < 0) {
        return;
      }
      LoweredStorage& storage =
          lowered.storages[static_cast<size_t>(lowered.views[static_cast<size_t>(view)].storage)];
      if (storage.first_step < 0) {
        storage.first_step = static_cast<int32_t>(s);
      }
      storage.last_step = static_cast<int32_t>(s);
    };
    std::ranges::for_each(lowered.steps[s].inputs, touch);
    std::ranges::for_each(lowered.steps[s].outputs, touch);
  }
}

void alias_in_place(Lowered& lowered) {
  compute_lifetimes(lowered);
  for (size_t s = 0; s < lowered.steps.size(); ++s) {
    const LoweredStep& step = lowered.steps[s];
    for (const InPlacePair& pair : step.selection.in_place) {
      const int32_t input = step.inputs[static_cast<size_t>(pair.input)];
      const int32_t output = step.outputs[static_cast<size_t>(pair.output)];
      if (input < 0 || output < 0) {
        continue;
      }
      const LoweredView& from = lowered.views[static_cast<size_t>(input)];
      const LoweredView& to = lowered.views[static_cast<size_t>(output)];
      LoweredStorage& source = lowered.storages[static_cast<size_t>(from.storage)];
      LoweredStorage& target = lowered.storages[static_cast<size_t>(to.storage)];
      const bool same_view = from.type == to.type && from.shape == to.shape && from.strides == to.strides &&
                             from.offset.is_constant(0) && to.offset.is_constant(0) &&
                             source.bytes == target.bytes;
      const bool read_once =
          std::ranges::count_if(step.inputs, [&](int32_t other) {
            return other >= 0 && lowered.views[static_cast<size_t>(other)].storage == from.storage;
          }) == 1;
      if (!same_view || !read_once || from.storage == to.storage || source.kind != StorageKind::kActivation ||
          target.kind != StorageKind::kActivation || source.last_step != static_cast<int32_t>(s) ||
          target.first_step != static_cast<int32_t>(s)) {
        continue;
      }
      source.last_step = target.last_step;
      const int32_t merged = from.storage;
      const int32_t gone = to.storage;
      for (LoweredView& view : lowered.views) {
        if (view.storage == gone) {
          view.storage = merged;
        }
      }
      target.first_step = target.last_step = -1;  // no view is left
      break;
    }
  }
}

}  // namespace weir
