// SPDX-License-Identifier: Apache-2.0
#include "program/report.h"

#include <algorithm>
#include <limits>

#include "base/checked.h"
#include "plan/placement.h"

namespace weir {
namespace {

bool lies_in_arena(StorageKind kind) {
  return kind == StorageKind::kActivation || kind == StorageKind::kWorkspace;
}

class Reporter {
 public:
  Reporter(const Program& program, const ShapeMemory& memory) : p_(program), memory_(memory) {}

  Result<ProgramReport> run(std::span<const int64_t> symbols) {
    dims_.resize(p_.dims.size());
    WEIR_TRY(evaluate_shape(p_, symbols, dims_));
    WEIR_TRY(sizes());
    WEIR_TRY(place());
    WEIR_TRY(totals());
    r_.name = p_.name;
    r_.target = p_.target;
    r_.unfused_bound_bytes = p_.unfused_bound_bytes;
    tensors();
    for (const Step& step : p_.prepare_steps) {
      r_.prepare_steps.push_back(step_report(step));
    }
    for (const Step& step : p_.steps) {
      r_.steps.push_back(step_report(step));
    }
    for (const ProgramState& state : p_.states) {
      const int32_t before = tensor_line_[static_cast<size_t>(state.before)];
      r_.states.push_back({state.name, state.output, r_.tensors[static_cast<size_t>(before)].bytes, before,
                           tensor_line_[static_cast<size_t>(state.after)]});
    }
    for (const ProgramNotice& notice : p_.notices) {
      r_.notices.push_back(
          {notice.kind, notice.what, notice.reason, notice.bytes < 0 ? -1 : dim(notice.bytes)});
    }
    return std::move(r_);
  }

 private:
  int64_t dim(int32_t position) const { return dims_[static_cast<size_t>(position)]; }

  Result<void> sizes() {
    const std::span<const int64_t> given = memory_.storage_bytes;
    for (const std::span<const int64_t> list : {given, memory_.storage_offset}) {
      if (!list.empty() && list.size() != p_.storages.size()) {
        return fail(StatusCode::kInvalidArgument,
                    "There are ({}) sizes or offsets of storages, and the program has ({}) storages.",
                    list.size(), p_.storages.size());
      }
    }
    for (size_t i = 0; i < p_.storages.size(); ++i) {
      int64_t bytes = p_.storages[i].bytes >= 0 ? dim(p_.storages[i].bytes) : given.empty() ? 0 : given[i];
      if (p_.storages[i].bytes < 0 && given.empty()) {
        r_.workspaces_known = false;
      }
      if (bytes < 0 || bytes > std::numeric_limits<int64_t>::max() - kStorageAlignment) {
        return fail(StatusCode::kOutOfRange,
                    "Storage ({}), {}, has ({}) bytes, and (0) to 2^63 less ({}) are "
                    "allowed.",
                    i, to_string(p_.storages[i].kind), bytes, kStorageAlignment);
      }
      bytes_.push_back(bytes);
    }
    return {};
  }

  // Places the arena's storages, whose sum fits, in the program's order; gives the peak.
  int64_t place_here(std::span<const Block> blocks, std::span<const int32_t> storages) {
    std::vector<int32_t> number(p_.storages.size(), -1);
    for (size_t i = 0; i < storages.size(); ++i) {
      number[static_cast<size_t>(storages[i])] = static_cast<int32_t>(i);
    }
    std::vector<int32_t> order;
    for (const int32_t storage : p_.placement_order) {
      order.push_back(number[static_cast<size_t>(storage)]);
    }
    std::vector<int64_t> found(blocks.size());
    PlacementScratch scratch;
    const int64_t peak = place_in_order(blocks, order, found, scratch);
    for (size_t i = 0; i < storages.size(); ++i) {
      offsets_[static_cast<size_t>(storages[i])] = found[i];
    }
    return peak;
  }

  Result<void> place() {
    std::vector<Block> blocks;
    std::vector<Block> activations;
    std::vector<int32_t> storages;
    for (size_t i = 0; i < p_.storages.size(); ++i) {
      const Storage& storage = p_.storages[i];
      offsets_.push_back(storage.offset);
      if (!lies_in_arena(storage.kind)) {
        continue;
      }
      storages.push_back(static_cast<int32_t>(i));
      blocks.push_back({bytes_[i], storage.first_step, storage.last_step});
      if (storage.kind == StorageKind::kActivation) {
        activations.push_back(blocks.back());
      }
      WEIR_ASSIGN(r_.sum_bytes, checked_add(r_.sum_bytes, align_up(bytes_[i], kStorageAlignment)),
                  "while adding up the arena's storages");
    }
    r_.lower_bound_bytes = lower_bound(blocks);
    r_.totals.activation = lower_bound(activations);
    if (p_.is_static()) {
      r_.peak_bytes = p_.arena_bytes;
      r_.totals.activation = p_.activation_bytes;
    } else if (!memory_.storage_offset.empty()) {
      r_.peak_bytes = memory_.arena_bytes;
      for (const int32_t storage : storages) {
        offsets_[static_cast<size_t>(storage)] = memory_.storage_offset[static_cast<size_t>(storage)];
      }
    } else {
      r_.peak_bytes = place_here(blocks, storages);
    }
    r_.totals.workspace = r_.peak_bytes - r_.totals.activation;
    return {};
  }

  Result<void> totals() {
    r_.totals.constant = p_.constant_bytes;
    for (size_t i = 0; i < p_.storages.size(); ++i) {
      int64_t* total = nullptr;
      switch (p_.storages[i].kind) {
        case StorageKind::kPrepared:
          total = &r_.totals.prepared;
          break;
        case StorageKind::kPacked:
          total = &r_.totals.packed;
          break;
        case StorageKind::kInput:
          total = &r_.totals.input;
          break;
        case StorageKind::kOutput:
          total = &r_.totals.output;
          break;
        case StorageKind::kState:
          total = &r_.totals.state;
          break;
        case StorageKind::kConstant:
        case StorageKind::kActivation:
        case StorageKind::kWorkspace:
          continue;
      }
      WEIR_ASSIGN(*total, checked_add(*total, align_up(bytes_[i], kStorageAlignment)),
                  "while adding up the storages of kind {}", to_string(p_.storages[i].kind));
    }
    return {};
  }

  // Bytes from the first to past the last element; verify_shape found that it lies inside its storage.
  int64_t span_of(const ProgramTensor& tensor) const {
    // Without elements the other extents and strides are not bound by the storage.
    if (std::ranges::any_of(tensor.shape, [&](const auto& extent) { return dim(extent) == 0; })) {
      return 0;
    }
    int64_t elements = 1;
    for (size_t axis = 0; axis < tensor.shape.size(); ++axis) {
      elements += (dim(tensor.shape[axis]) - 1) * std::abs(dim(tensor.strides[axis]));
    }
    return byte_size(tensor.element_type, elements);
  }

  // The value that a storage is listed under: that of the input, output or state, else the one that spans the
  // most, the first of those.
  std::vector<int32_t> owners() const {
    std::vector<int32_t> owner(p_.storages.size(), -1);
    for (const auto* ports : {&p_.inputs, &p_.outputs}) {
      for (const ProgramPort& port : *ports) {
        owner[static_cast<size_t>(p_.tensors[static_cast<size_t>(port.tensor)].storage)] = port.tensor;
      }
    }
    for (const ProgramState& state : p_.states) {
      for (const int32_t tensor : {state.before, state.after}) {
        owner[static_cast<size_t>(p_.tensors[static_cast<size_t>(tensor)].storage)] = tensor;
      }
    }
    std::vector<int64_t> most(p_.storages.size(), -1);
    for (const int32_t port : owner) {
      if (port >= 0) {
        most[static_cast<size_t>(p_.tensors[static_cast<size_t>(port)].storage)] =
            std::numeric_limits<int64_t>::max();
      }
    }
    for (size_t i = 0; i < p_.tensors.size(); ++i) {
      if (p_.tensors[i].storage < 0) {
        continue;
      }
      const auto storage = static_cast<size_t>(p_.tensors[i].storage);
      if (const int64_t span = span_of(p_.tensors[i]); span > most[storage]) {
        most[storage] = span;
        owner[storage] = static_cast<int32_t>(i);
      }
    }
    return owner;
  }

  void tensors() {
    const std::vector<int32_t> owner = owners();
    std::vector<std::vector<int32_t>> views(p_.storages.size());
    for (size_t i = 0; i < p_.tensors.size(); ++i) {
      if (p_.tensors[i].storage >= 0) {
        views[static_cast<size_t>(p_.tensors[i].storage)].push_back(static_cast<int32_t>(i));
      }
    }
    // What packed and workspace storages are called: nothing views them.
    std::vector<std::string> names(p_.storages.size());
    for (const auto* steps : {&p_.prepare_steps, &p_.steps}) {
      for (const Step& step : *steps) {
        if (step.workspace >= 0) {
          names[static_cast<size_t>(step.workspace)] = "workspace of " + step.name;
        }
        for (const PackedOperand& operand : step.packed) {
          const int32_t tensor = step.inputs[static_cast<size_t>(operand.input)];
          names[static_cast<size_t>(operand.storage)] = p_.tensors[static_cast<size_t>(tensor)].name;
        }
      }
    }
    storage_line_.resize(p_.storages.size());
    tensor_line_.assign(p_.tensors.size(), -1);
    for (size_t i = 0; i < p_.storages.size(); ++i) {
      const Storage& storage = p_.storages[i];
      TensorReport line;
      line.kind = storage.kind;
      line.storage = static_cast<int32_t>(i);
      line.offset = offsets_[i];
      line.bytes = bytes_[i];
      line.first_step = storage.first_step;
      line.last_step = storage.last_step;
      line.name = owner[i] >= 0 ? p_.tensors[static_cast<size_t>(owner[i])].name : names[i];
      storage_line_[i] = static_cast<int32_t>(r_.tensors.size());
      r_.tensors.push_back(line);
      for (const int32_t view : views[i]) {
        if (view == owner[i]) {
          tensor_line_[static_cast<size_t>(view)] = storage_line_[i];
          continue;
        }
        const ProgramTensor& tensor = p_.tensors[static_cast<size_t>(view)];
        TensorReport alias = line;
        alias.name = tensor.name;
        alias.bytes = span_of(tensor);
        alias.alias_of = storage_line_[i];
        if (line.offset >= 0) {
          alias.offset = line.offset + first_byte(tensor);
        }
        tensor_line_[static_cast<size_t>(view)] = static_cast<int32_t>(r_.tensors.size());
        r_.tensors.push_back(std::move(alias));
      }
    }
  }

  // Of the first element that the view touches, from the start of its storage.
  int64_t first_byte(const ProgramTensor& tensor) const {
    int64_t element = dim(tensor.offset);
    for (size_t axis = 0; axis < tensor.shape.size(); ++axis) {
      const int64_t extent = dim(tensor.shape[axis]);
      if (extent == 0) {
        return 0;
      }
      element += std::min<int64_t>(0, (extent - 1) * dim(tensor.strides[axis]));
    }
    return element * bit_width(tensor.element_type) / 8;
  }

  StepReport step_report(const Step& step) const {
    StepReport line;
    line.name = step.name;
    line.origin = step.origin;
    line.op = to_string(step.op);
    line.implementations = step.implementations;
    line.refused = step.refused;
    line.reference = step.reference;
    line.workspace_bytes = step.workspace < 0 ? 0 : bytes_[static_cast<size_t>(step.workspace)];
    for (size_t i = 0; i < step.inputs.size(); ++i) {
      const auto packed = std::ranges::find(step.packed, static_cast<int32_t>(i), &PackedOperand::input);
      if (packed != step.packed.end()) {
        line.reads.push_back(storage_line_[static_cast<size_t>(packed->storage)]);
      } else if (step.inputs[i] >= 0) {
        line.reads.push_back(tensor_line_[static_cast<size_t>(step.inputs[i])]);
      }
    }
    for (const int32_t output : step.outputs) {
      if (output >= 0) {
        line.writes.push_back(tensor_line_[static_cast<size_t>(output)]);
      }
    }
    return line;
  }

  const Program& p_;
  const ShapeMemory& memory_;
  std::vector<int64_t> dims_;
  std::vector<int64_t> bytes_;         // by storage
  std::vector<int64_t> offsets_;       // by storage
  std::vector<int32_t> storage_line_;  // positions in r_.tensors
  std::vector<int32_t> tensor_line_;
  ProgramReport r_;
};

}  // namespace

Result<ProgramReport> report(const Program& program, std::span<const int64_t> symbols,
                             const ShapeMemory& memory) {
  return Reporter(program, memory).run(symbols);
}

}  // namespace weir
