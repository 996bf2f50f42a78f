// SPDX-License-Identifier: Apache-2.0
//
// The verifier of programs. It trusts nothing: any Program, however made, is either found sound or refused
// with the first thing that is wrong.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <optional>
#include <string>
#include <unordered_set>

#include "plan/placement.h"
#include "program/program.h"
#include "program/refuse.h"
#include "program/verify_steps.h"
#include "shape/dim_arithmetic.h"

namespace weir {
namespace {

using internal::is_position;
using internal::refuse;

// More would only serve to wear a reader out.
constexpr size_t kMaxListed = size_t{1} << 24;
// Placing them takes time in their square.
constexpr int64_t kMaxArenaStorages = int64_t{1} << 16;

bool lies_in_arena(StorageKind kind) {
  return kind == StorageKind::kActivation || kind == StorageKind::kWorkspace;
}

class ProgramVerifier {
 public:
  explicit ProgramVerifier(const Program& program) : p_(program) {}

  Result<void> run() {
    WEIR_TRY(lengths());
    WEIR_TRY(dims());
    WEIR_TRY(constraints());
    WEIR_TRY(storages());
    WEIR_TRY(tensors());
    WEIR_TRY(ports(p_.inputs, StorageKind::kInput));
    WEIR_TRY(ports(p_.outputs, StorageKind::kOutput));
    WEIR_TRY(internal::verify_states(p_, values_));
    WEIR_TRY(symbols());
    WEIR_TRY(indices());
    if (p_.is_static()) {
      WEIR_TRY(internal::verify_views(p_, values_));
    }
    WEIR_TRY(internal::verify_steps(p_, values_));
    WEIR_TRY(internal::verify_constant_list(p_));
    WEIR_TRY(notices());
    WEIR_TRY(placement_order());
    WEIR_TRY(totals());
    if (p_.is_static()) {
      WEIR_TRY(verify_shape(p_, values_));
      WEIR_TRY(arena());
    }
    return {};
  }

 private:
  template <typename T>
  static Result<void> length(std::string_view what, const std::vector<T>& list) {
    if (list.size() > kMaxListed) {
      return refuse("The program has ({}) {}, and ({}) is the most.", list.size(), what, kMaxListed);
    }
    return {};
  }

  // So that every position fits 32 bits.
  Result<void> lengths() const {
    WEIR_TRY(length("symbols", p_.symbols));
    WEIR_TRY(length("dimensions", p_.dims));
    WEIR_TRY(length("constraints", p_.constraints));
    WEIR_TRY(length("storages", p_.storages));
    WEIR_TRY(length("tensors", p_.tensors));
    WEIR_TRY(length("prepare steps", p_.prepare_steps));
    WEIR_TRY(length("steps", p_.steps));
    WEIR_TRY(length("inputs", p_.inputs));
    WEIR_TRY(length("outputs", p_.outputs));
    WEIR_TRY(length("states", p_.states));
    WEIR_TRY(length("named constants", p_.constants));
    return length("notices", p_.notices);
  }

  Result<void> dims() {
    for (size_t i = 0; i < p_.dims.size(); ++i) {
      const DimTableEntry& entry = p_.dims[i];
      const int operands = operand_count(entry.op);
      if (operands < 0) {
        return refuse("Dimension ({}) has the unknown operation ({}).", i, static_cast<int>(entry.op));
      }
      if (entry.op == DimOp::kSymbol &&
          (entry.value < 0 || static_cast<uint64_t>(entry.value) >= p_.symbols.size())) {
        return refuse("Dimension ({}) names symbol ({}), and the program has ({}) symbols.", i, entry.value,
                      p_.symbols.size());
      }
      if (entry.op == DimOp::kFloorScale && !std::isfinite(entry.scale)) {
        return refuse("Dimension ({}) has the scale ({}), and it is a finite number.", i, entry.scale);
      }
      const int32_t positions[] = {entry.a, entry.b, entry.c};
      for (int k = 0; k < operands; ++k) {
        if (positions[k] < 0 || static_cast<size_t>(positions[k]) >= i) {
          return refuse("Dimension ({}) has the operand ({}), and operands lie before it.", i, positions[k]);
        }
      }
    }
    if (p_.is_static()) {
      values_.resize(p_.dims.size());
      WEIR_TRY(evaluate(p_.dims, {}, values_), "while evaluating the dimensions of a static program");
    }
    return {};
  }

  std::optional<int64_t> known(int32_t position) const { return internal::known_dim(p_, values_, position); }

  Result<void> symbols() const {
    for (size_t i = 0; i < p_.symbols.size(); ++i) {
      const ProgramSymbol& symbol = p_.symbols[i];
      if (symbol.range.min > symbol.range.max) {
        return refuse("Symbol ({}) '{}' has the range ({}) to ({}), which is empty.", i, symbol.name,
                      symbol.range.min, symbol.range.max);
      }
      const SymbolSource& source = symbol.source;
      if (source.kind != SymbolSource::Kind::kDimension && source.kind != SymbolSource::Kind::kElement) {
        return refuse("Symbol ({}) '{}' has a source of unknown kind ({}).", i, symbol.name,
                      static_cast<int>(source.kind));
      }
      if (!is_position(source.input, p_.inputs)) {
        return refuse("Symbol ({}) '{}' comes from input ({}), and the program has ({}) inputs.", i,
                      symbol.name, source.input, p_.inputs.size());
      }
      const ProgramTensor& tensor =
          p_.tensors[static_cast<size_t>(p_.inputs[static_cast<size_t>(source.input)].tensor)];
      if (source.kind == SymbolSource::Kind::kDimension) {
        if (!is_position(source.index, tensor.shape)) {
          return refuse("Symbol ({}) '{}' is axis ({}) of input ({}), which has rank ({}).", i, symbol.name,
                        source.index, source.input, tensor.shape.size());
        }
        continue;
      }
      if (tensor.element_type != ElementType::kInt64 && tensor.element_type != ElementType::kInt32) {
        return refuse(
            "Symbol ({}) '{}' is an element of input ({}) of type ({}), and only int32 and int64 hold "
            "shapes.",
            i, symbol.name, source.input, to_string(tensor.element_type));
      }
      std::optional<int64_t> count = 1;
      if (tensor.shape.size() > 1) {
        return refuse(
            "Symbol ({}) '{}' is an element of input ({}), which has rank ({}), and a shape has at most "
            "(1).",
            i, symbol.name, source.input, tensor.shape.size());
      }
      if (!tensor.shape.empty()) {
        count = known(tensor.shape[0]);
      }
      if (source.index < 0 || !count || source.index >= *count) {
        return refuse("Symbol ({}) '{}' is element ({}) of input ({}), which has ({}) elements.", i,
                      symbol.name, source.index, source.input,
                      count ? std::to_string(*count) : "an unknown number of");
      }
    }
    return {};
  }

  Result<void> constraints() const {
    for (size_t i = 0; i < p_.constraints.size(); ++i) {
      const ProgramConstraint& constraint = p_.constraints[i];
      if (constraint.kind > Constraint::Kind::kAtMost) {
        return refuse("Constraint ({}) has the unknown kind ({}).", i, static_cast<int>(constraint.kind));
      }
      WEIR_TRY(dim(constraint.a), "while verifying constraint ({}) '{}'", i, constraint.what);
      WEIR_TRY(dim(constraint.b), "while verifying constraint ({}) '{}'", i, constraint.what);
    }
    return {};
  }

  Result<void> dim(int32_t position) const {
    if (!is_position(position, p_.dims)) {
      return refuse("Dimension ({}) is named, and the program has ({}) dimensions.", position,
                    p_.dims.size());
    }
    return {};
  }

  Result<void> storages() {
    const auto steps = static_cast<int64_t>(p_.steps.size());
    for (size_t i = 0; i < p_.storages.size(); ++i) {
      const Storage& storage = p_.storages[i];
      if (storage.kind > StorageKind::kPacked) {
        return refuse("Storage ({}) has the unknown kind ({}).", i, static_cast<int>(storage.kind));
      }
      const std::string_view kind = to_string(storage.kind);
      const bool sized_later =
          storage.kind == StorageKind::kWorkspace && !p_.is_static() && storage.bytes == -1;
      std::optional<int64_t> bytes;
      if (!sized_later) {
        WEIR_TRY(dim(storage.bytes), "while verifying the size of storage ({}), {}", i, kind);
        bytes = known(storage.bytes);
        if (bytes && *bytes < 0) {
          return refuse("Storage ({}), {}, has ({}) bytes, and (0) is the least.", i, kind, *bytes);
        }
      }
      if (storage.first_step < 0 || storage.last_step < storage.first_step ||
          storage.last_step >= std::max<int64_t>(steps, 1)) {
        return refuse("Storage ({}), {}, lives from step ({}) to ({}), and the program has ({}) steps.", i,
                      kind, storage.first_step, storage.last_step, steps);
      }
      const bool made_at_load = storage.kind == StorageKind::kPacked;
      if (storage.kind != StorageKind::kConstant && !made_at_load && !storage.pack_id.empty()) {
        return refuse("Storage ({}), {}, has the pack id '{}', and only constants are packed.", i, kind,
                      storage.pack_id);
      }
      if (made_at_load && storage.pack_id.empty()) {
        return refuse("Storage ({}), {}, has no pack id, and it names the layout to make.", i, kind);
      }
      WEIR_TRY(offset(storage, bytes), "while verifying storage ({}), {}", i, kind);
    }
    return {};
  }

  Result<void> offset(const Storage& storage, std::optional<int64_t> bytes) const {
    const bool constant = storage.kind == StorageKind::kConstant;
    const bool placed = constant || (lies_in_arena(storage.kind) && p_.is_static());
    const bool sized_now = constant || storage.kind == StorageKind::kPacked;
    if (sized_now && p_.dims[static_cast<size_t>(storage.bytes)].op != DimOp::kConstant) {
      return refuse("The size of a constant depends on the shape, and it is a number.");
    }
    if (!placed) {
      if (storage.offset != -1) {
        return refuse("The storage has the offset ({}), and only (-1) is possible: it is placed later.",
                      storage.offset);
      }
      return {};
    }
    const int64_t limit = constant ? p_.constant_bytes : p_.arena_bytes;
    if (storage.offset < 0 || storage.offset % kStorageAlignment != 0 || storage.offset > limit ||
        *bytes > limit - storage.offset) {
      return refuse(
          "The storage takes ({}) bytes at offset ({}), and it lies at a multiple of ({}) within ({}) "
          "bytes of the {}.",
          *bytes, storage.offset, kStorageAlignment, limit, constant ? "constants" : "arena");
    }
    return {};
  }

  Result<void> tensors() const {
    for (size_t i = 0; i < p_.tensors.size(); ++i) {
      WEIR_TRY(tensor(p_.tensors[i]), "while verifying tensor ({}) '{}'", i, p_.tensors[i].name);
    }
    return {};
  }

  Result<void> tensor(const ProgramTensor& tensor) const {
    if (!is_valid(tensor.element_type)) {
      return refuse("The tensor has the unknown element type ({}).", static_cast<int>(tensor.element_type));
    }
    if (tensor.shape.size() > static_cast<size_t>(kMaxRank)) {
      return refuse("The tensor has rank ({}), and ({}) is the most.", tensor.shape.size(), kMaxRank);
    }
    if (tensor.strides.size() != tensor.shape.size()) {
      return refuse("The tensor has ({}) strides, and its rank is ({}).", tensor.strides.size(),
                    tensor.shape.size());
    }
    for (const int32_t position : tensor.shape) {
      WEIR_TRY(dim(position), "while verifying the shape");
    }
    for (const int32_t position : tensor.strides) {
      WEIR_TRY(dim(position), "while verifying the strides");
    }
    WEIR_TRY(dim(tensor.offset), "while verifying the offset");
    if (tensor.storage == -1) {
      return {};
    }
    if (!is_position(tensor.storage, p_.storages)) {
      return refuse("The tensor lies in storage ({}), and the program has ({}) storages.", tensor.storage,
                    p_.storages.size());
    }
    const Storage& storage = p_.storages[static_cast<size_t>(tensor.storage)];
    if (storage.kind == StorageKind::kWorkspace) {
      return refuse("The tensor lies in storage ({}), which is a workspace.", tensor.storage);
    }
    if (!storage.pack_id.empty()) {
      return refuse("The tensor lies in storage ({}), whose bytes are packed as '{}'.", tensor.storage,
                    storage.pack_id);
    }
    return {};
  }

  Result<void> ports(const std::vector<ProgramPort>& list, StorageKind kind) const {
    std::unordered_set<std::string_view> names;
    for (size_t i = 0; i < list.size(); ++i) {
      const ProgramPort& port = list[i];
      if (!is_position(port.tensor, p_.tensors)) {
        return refuse("The {} ({}) '{}' is tensor ({}), and the program has ({}) tensors.", to_string(kind),
                      i, port.name, port.tensor, p_.tensors.size());
      }
      if (!names.insert(port.name).second) {
        return refuse("The {} ({}) has the name '{}', which another one has too.", to_string(kind), i,
                      port.name);
      }
      const int32_t at = p_.tensors[static_cast<size_t>(port.tensor)].storage;
      if (at < 0 || p_.storages[static_cast<size_t>(at)].kind != kind ||
          p_.storages[static_cast<size_t>(at)].index != static_cast<int64_t>(i)) {
        return refuse("The {} ({}) '{}' lies in storage ({}), which is not that of {} ({}).", to_string(kind),
                      i, port.name, at, to_string(kind), i);
      }
    }
    return {};
  }

  // Inputs and outputs have one storage each, states two.
  Result<void> indices() const {
    std::vector<char> seen[3];
    seen[0].resize(p_.inputs.size());
    seen[1].resize(p_.outputs.size());
    seen[2].resize(2 * p_.states.size());
    for (size_t i = 0; i < p_.storages.size(); ++i) {
      const Storage& storage = p_.storages[i];
      const int list = storage.kind == StorageKind::kInput    ? 0
                       : storage.kind == StorageKind::kOutput ? 1
                       : storage.kind == StorageKind::kState  ? 2
                                                              : -1;
      if (list < 0) {
        if (storage.index != -1) {
          return refuse("Storage ({}), {}, has the index ({}), and only inputs, outputs and states have one.",
                        i, to_string(storage.kind), storage.index);
        }
        continue;
      }
      if (!is_position(storage.index, seen[list]) || seen[list][static_cast<size_t>(storage.index)] != 0) {
        return refuse("Storage ({}), {}, has the index ({}), and each of (0) to ({}) is used once.", i,
                      to_string(storage.kind), storage.index, std::ssize(seen[list]) - 1);
      }
      seen[list][static_cast<size_t>(storage.index)] = 1;
    }
    return {};
  }

  Result<void> notices() const {
    for (size_t i = 0; i < p_.notices.size(); ++i) {
      const ProgramNotice& notice = p_.notices[i];
      if (notice.kind > NoticeKind::kCost) {
        return refuse("Notice ({}) '{}' has the unknown kind ({}).", i, notice.what,
                      static_cast<int>(notice.kind));
      }
      if (notice.bytes != -1) {
        WEIR_TRY(dim(notice.bytes), "while verifying notice ({}) '{}'", i, notice.what);
      }
    }
    return {};
  }

  int64_t count_in_arena() const {
    return std::ranges::count_if(p_.storages, [](const Storage& s) { return lies_in_arena(s.kind); });
  }

  Result<void> placement_order() const {
    if (const int64_t count = count_in_arena(); count > kMaxArenaStorages) {
      return refuse("The arena holds ({}) storages, and ({}) is the most.", count, kMaxArenaStorages);
    }
    if (p_.placement_order.empty() && p_.is_static()) {
      return {};  // the offsets are there
    }
    std::vector<char> seen(p_.storages.size(), 0);
    for (const int32_t position : p_.placement_order) {
      if (!is_position(position, p_.storages) ||
          !lies_in_arena(p_.storages[static_cast<size_t>(position)].kind) ||
          seen[static_cast<size_t>(position)]++ != 0) {
        return refuse("The placement order names storage ({}), and it names each storage of the arena once.",
                      position);
      }
    }
    const int64_t in_arena = count_in_arena();
    if (std::ssize(p_.placement_order) != in_arena) {
      return refuse("The placement order names ({}) storages, and the arena holds ({}).",
                    p_.placement_order.size(), in_arena);
    }
    return {};
  }

  Result<void> totals() const {
    if (p_.constant_bytes < 0 || p_.unfused_bound_bytes < -1) {
      return refuse(
          "The program has ({}) bytes of constants and an unfused bound of ({}), and neither is "
          "negative.",
          p_.constant_bytes, p_.unfused_bound_bytes);
    }
    const bool fits = p_.is_static() ? p_.activation_bytes >= 0 && p_.activation_bytes <= p_.arena_bytes
                                     : p_.activation_bytes == -1 && p_.arena_bytes == -1;
    if (!fits) {
      return refuse(
          "The program has an arena of ({}) bytes and activations of ({}), and a static one states both "
          "(the latter no more than the former), a dynamic one neither (-1).",
          p_.arena_bytes, p_.activation_bytes);
    }
    return {};
  }

  // Nothing that lives at the same time overlaps.
  Result<void> arena() const {
    std::vector<int32_t> storages;
    std::vector<Block> blocks;
    std::vector<int64_t> offsets;
    for (size_t i = 0; i < p_.storages.size(); ++i) {
      const Storage& storage = p_.storages[i];
      if (lies_in_arena(storage.kind)) {
        storages.push_back(static_cast<int32_t>(i));
        blocks.push_back(
            {values_[static_cast<size_t>(storage.bytes)], storage.first_step, storage.last_step});
        offsets.push_back(storage.offset);
      }
    }
    const Overlap overlap = find_overlap(blocks, offsets);
    if (overlap.a >= 0) {
      const auto a = static_cast<size_t>(overlap.a);
      const auto b = static_cast<size_t>(overlap.b);
      return refuse(
          "Storages ({}) and ({}) overlap in the arena: ({}) bytes at ({}) in steps ({}) to ({}), and "
          "({}) bytes at ({}) in steps ({}) to ({}).",
          storages[a], storages[b], blocks[a].bytes, offsets[a], blocks[a].first, blocks[a].last,
          blocks[b].bytes, offsets[b], blocks[b].first, blocks[b].last);
    }
    return {};
  }

  const Program& p_;
  std::vector<int64_t> values_;  // of the dims; empty in a dynamic program
};

}  // namespace

Result<void> verify(const Program& program) {
  return ProgramVerifier(program).run();
}

}  // namespace weir
