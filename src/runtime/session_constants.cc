// SPDX-License-Identifier: Apache-2.0
//
// How a session comes by its constants: used where the program is mapped, staged into a device's own memory,
// packed here from plain ones, or given another value by the caller.
#include <algorithm>
#include <cstring>

#include "base/checked.h"
#include "base/near_names.h"
#include "runtime/session.h"
#include "tensor/strided_copy.h"

namespace weir {
namespace {

constexpr int64_t kStagingBytes = int64_t{1} << 20;

// Keeps the program's bytes alive as long as a buffer that lies in them.
struct ProgramBytes final : RefCounted {
  explicit ProgramBytes(std::shared_ptr<const void> bytes) : owner(std::move(bytes)) {}
  std::shared_ptr<const void> owner;
};

// Reads every page once, so that no inference is the first to. Of a mapped file the system may take pages
// away again.
void touch_pages(std::span<const std::byte> bytes, int64_t page_bytes) {
  const volatile std::byte* data = bytes.data();
  for (size_t offset = 0; offset < bytes.size(); offset += static_cast<size_t>(page_bytes)) {
    (void)data[offset];
  }
}

// Of a constant, whose dimensions are numbers.
TensorSpec constant_spec(const Program& program, const ProgramTensor& tensor) {
  const auto number = [&](int32_t position) { return program.dims[static_cast<size_t>(position)].value; };
  TensorSpec spec;
  spec.type = tensor.element_type;
  spec.rank = static_cast<int32_t>(tensor.shape.size());
  for (size_t axis = 0; axis < tensor.shape.size(); ++axis) {
    spec.shape[axis] = number(tensor.shape[axis]);
    spec.strides[axis] = number(tensor.strides[axis]);
  }
  return spec;
}

int64_t constant_bytes(const Program& program, int32_t storage) {
  return program.dims[static_cast<size_t>(program.storages[static_cast<size_t>(storage)].bytes)].value;
}

// Why a constant cannot have another value, and what would help.
std::unexpected<Status> cannot_replace(const ProgramConstant& constant) {
  std::string_view why;
  std::string help = fmt::format("compile the model again with --swappable {}", constant.name);
  switch (constant.fate) {
    case ConstantFate::kPackedOnly:
      why = "the program holds it only as its kernels read it, packed";
      help += " or with --portable";
      break;
    case ConstantFate::kFolded:
      why = "it was folded or fused into other constants when the program was compiled";
      break;
    case ConstantFate::kImported:
      why = "its elements were read when the model was imported";
      break;
    case ConstantFate::kUnused:
      return fail(StatusCode::kFailedPrecondition,
                  "Constant '{}' cannot have another value: no step of the program reads it.", constant.name);
    case ConstantFate::kPlain:
      break;
  }
  return fail(StatusCode::kFailedPrecondition, "Constant '{}' cannot have another value: {}; {}.",
              constant.name, why, help);
}

}  // namespace

Result<std::vector<Session::Replacement>> Session::replacements(std::span<const ConstantValue> values) const {
  std::vector<Replacement> replaced;
  for (const ConstantValue& value : values) {
    const auto found = std::ranges::find(program().constants, value.name, &ProgramConstant::name);
    if (found == program().constants.end()) {
      std::vector<std::string_view> names;
      for (const ProgramConstant& constant : program().constants) {
        names.push_back(constant.name);
      }
      return fail(StatusCode::kNotFound, "Constant '{}' is not one of the ({}) that the program names{}.",
                  value.name, names.size(), near_names(value.name, names));
    }
    if (std::ranges::find(replaced, value.name, &Replacement::name) != replaced.end()) {
      return fail(StatusCode::kInvalidArgument, "Constant '{}' is given twice.", value.name);
    }
    if (found->fate != ConstantFate::kPlain) {
      return cannot_replace(*found);
    }
    const ProgramTensor& tensor = program().tensors[static_cast<size_t>(found->tensor)];
    const TensorSpec wanted = constant_spec(program(), tensor);
    const TensorSpec given = spec_of(value.tensor);
    if (given.type != wanted.type || given.rank != wanted.rank ||
        !std::ranges::equal(std::span(given.shape).first(static_cast<size_t>(wanted.rank)),
                            std::span(wanted.shape).first(static_cast<size_t>(wanted.rank)))) {
      return fail(StatusCode::kInvalidArgument, "Constant '{}' is given as {}, and the program takes {}.",
                  value.name,
                  TensorSpec::dense(given.type, {given.shape.data(), size_t(given.rank)}).to_string(),
                  wanted.to_string());
    }
    Replacement replacement;
    replacement.storage = tensor.storage;
    replacement.name = value.name;
    replacement.bytes.resize(static_cast<size_t>(constant_bytes(program(), tensor.storage)));
    if (!replacement.bytes.empty()) {
      if (value.tensor.data == nullptr) {
        return fail(StatusCode::kInvalidArgument, "Constant '{}' is given without data.", value.name);
      }
      copy_elements(value.tensor, wanted.at(replacement.bytes.data()));
    }
    replaced.push_back(std::move(replacement));
  }
  return replaced;
}

// A pure function of the program, the kernels and what is replaced, so that the plan knows it before anything
// is allocated.
void Session::lay_out_constants(std::span<const Replacement> replaced) {
  const Program& p = program();
  ConstantLayout& layout = constant_layout_;
  layout.own_offset = tables_.own_offset;
  std::ranges::fill(layout.own_offset, -1);
  std::vector<char> is_replaced(p.storages.size(), 0);
  for (const Replacement& replacement : replaced) {
    is_replaced[static_cast<size_t>(replacement.storage)] = 1;
  }
  const auto own = [&](int32_t storage) {
    int64_t& offset = layout.own_offset[static_cast<size_t>(storage)];
    if (offset < 0) {
      offset = layout.own_bytes;
      layout.own_bytes += align_up(constant_bytes(p, storage), kStorageAlignment);
    }
  };
  const auto reads = [&](int32_t index) {
    const auto storage = static_cast<size_t>(index);
    if (p.storages[storage].kind == StorageKind::kPacked || is_replaced[storage] != 0) {
      own(index);
    } else if (p.storages[storage].kind == StorageKind::kConstant) {
      layout.program_bytes =
          std::max(layout.program_bytes, p.storages[storage].offset + constant_bytes(p, index));
    }
  };
  const auto reads_all = [&](std::span<const Step> steps, std::span<const StepKernel> kernels) {
    for (size_t s = 0; s < steps.size(); ++s) {
      for (size_t i = 0; i < steps[s].inputs.size(); ++i) {
        const auto packed =
            std::ranges::find(steps[s].packed, static_cast<int32_t>(i), &PackedOperand::input);
        const int32_t tensor = steps[s].inputs[i];
        if (packed != steps[s].packed.end() && kernels[s].packed) {
          reads(packed->storage);
        } else if (tensor >= 0 && p.tensors[static_cast<size_t>(tensor)].storage >= 0) {
          reads(p.tensors[static_cast<size_t>(tensor)].storage);
        }
      }
    }
  };
  reads_all(p.prepare_steps, tables_.prepare_kernels);
  reads_all(p.steps, tables_.kernels);
  if (layout.own_bytes == 0 || !loaded_.mapped) {
    layout.program_bytes = p.constant_bytes;  // all of it stays where it is
  } else {
    layout.program_bytes = std::min(align_up(layout.program_bytes, kStorageAlignment), p.constant_bytes);
  }
}

Result<void> Session::load_constants(std::span<const Packing> packings,
                                     std::span<const Replacement> replaced) {
  WEIR_TRY(load_own_constants(packings, replaced));
  return load_program_constants();
}

Result<void> Session::load_program_constants() {
  const std::span<const std::byte> bytes =
      loaded_.constants.first(static_cast<size_t>(constant_layout_.program_bytes));
  if (loaded_.mapped) {  // what was only packed from
    release_pages(loaded_.constants.subspan(bytes.size()));
  }
  if (bytes.empty()) {
    return {};
  }
  const auto size = static_cast<int64_t>(bytes.size());
  const ImportVerdict verdict = device_->import_verdict(bytes.data(), size);
  if (verdict != ImportVerdict::kUsable) {
    constants_note_ = fmt::format("copied to the device: {}", to_string(verdict));
    load_notices_.push_back({NoticeKind::kCost, "copy", "the constants are " + constants_note_, size});
    WEIR_ASSIGN(constants_, stage_constants(bytes));
    return {};
  }
  ImportDescriptor import;
  import.pointer = bytes.data();
  import.size = size;
  import.read_only = true;
  import.usage = BufferUsage::kReadOnly;
  import.counted = true;
  import.category = MemoryCategory::kConstants;
  const std::string holder = label("constants");
  import.label = holder;
  import.keep_alive = make_ref<ProgramBytes>(loaded_.owner);
  WEIR_ASSIGN(constants_, device_->import_buffer(import));
  touch_pages(bytes, device_->info().page_bytes);
  constants_note_ = "used where the program is mapped";
  return {};
}

Result<void> Session::load_own_constants(std::span<const Packing> packings,
                                         std::span<const Replacement> replaced) {
  const int64_t size = constant_layout_.own_bytes;
  if (size == 0) {
    return {};
  }
  int64_t packed_bytes = 0;
  for (const Packing& packing : packings) {
    packed_bytes += constant_bytes(program(), packing.storage);
  }
  if (!packings.empty()) {
    load_notices_.push_back(
        {NoticeKind::kCost, "packing",
         fmt::format("{} constants were packed when the session was opened, for its kernels: the program "
                     "carries them plain",
                     packings.size()),
         packed_bytes});
  }
  for (const Replacement& replacement : replaced) {
    load_notices_.push_back(
        {NoticeKind::kInfo, "constant",
         fmt::format("constant '{}' has the value that the session was given", replacement.name),
         static_cast<int64_t>(replacement.bytes.size())});
  }
  // Where the device reads the host's memory, the bytes are made in place.
  if (device_->import_verdict(loaded_.constants.data(), static_cast<int64_t>(loaded_.constants.size())) ==
      ImportVerdict::kUsable) {
    WEIR_ASSIGN(own_constants_, device_->create_buffer({.size = size,
                                                        .usage = BufferUsage::kReadOnly,
                                                        .category = MemoryCategory::kConstants,
                                                        .label = label("packed constants")}));
    WEIR_ASSIGN(const std::span<std::byte> own, own_constants_->contents());
    return fill_own_constants(packings, replaced, own);
  }
  std::vector<std::byte> own(static_cast<size_t>(size + kStorageAlignment));
  const auto address = reinterpret_cast<uintptr_t>(own.data());
  const auto skip = static_cast<size_t>(-address % static_cast<uintptr_t>(kStorageAlignment));
  const std::span<std::byte> aligned = std::span(own).subspan(skip, static_cast<size_t>(size));
  WEIR_TRY(fill_own_constants(packings, replaced, aligned));
  WEIR_ASSIGN(own_constants_, stage_constants(aligned));
  return {};
}

Result<void> Session::fill_own_constants(std::span<const Packing> packings,
                                         std::span<const Replacement> replaced,
                                         std::span<std::byte> own) const {
  const auto replacement_of = [&](int32_t storage) -> const Replacement* {
    const auto found = std::ranges::find(replaced, storage, &Replacement::storage);
    return found == replaced.end() ? nullptr : &*found;
  };
  for (const Replacement& replacement : replaced) {
    const int64_t offset = constant_layout_.own_offset[static_cast<size_t>(replacement.storage)];
    if (offset >= 0) {  // else it is only packed from
      std::ranges::copy(replacement.bytes, own.begin() + offset);
    }
  }
  for (const Packing& packing : packings) {
    const ProgramTensor& tensor = program().tensors[static_cast<size_t>(packing.source)];
    const Replacement* other = replacement_of(tensor.storage);
    const std::byte* plain =
        other != nullptr
            ? other->bytes.data()
            : loaded_.constants.data() + program().storages[static_cast<size_t>(tensor.storage)].offset;
    const int64_t offset =
        program().dims[static_cast<size_t>(tensor.offset)].value * (bit_width(tensor.element_type) / 8);
    const TensorSpec spec = constant_spec(program(), tensor);
    if (spec.element_count() == 0 && constant_bytes(program(), packing.storage) == 0) {
      continue;
    }
    packing.request.write(spec.at(const_cast<std::byte*>(plain) + offset),  // it does not write to it
                          own.data() + constant_layout_.own_offset[static_cast<size_t>(packing.storage)]);
  }
  return {};
}

// Through a small Shared buffer, a piece at a time, into Private memory.
Result<Ref<Buffer>> Session::stage_constants(std::span<const std::byte> bytes) {
  const auto size = static_cast<int64_t>(bytes.size());
  WEIR_ASSIGN(Ref<Buffer> target,
              device_->create_buffer({.size = size,
                                      .mode = StorageMode::kPrivate,
                                      .usage = BufferUsage::kReadOnly | BufferUsage::kCopyTarget,
                                      .category = MemoryCategory::kConstants,
                                      .label = label("constants")}));
  WEIR_ASSIGN(Ref<Buffer> staging, device_->create_buffer({.size = std::min(size, kStagingBytes),
                                                           .usage = BufferUsage::kCopySource,
                                                           .category = MemoryCategory::kOther,
                                                           .label = label("staging")}));
  WEIR_ASSIGN(const std::span<std::byte> window, staging->contents());
  for (int64_t offset = 0; offset < size; offset += kStagingBytes) {
    const int64_t piece = std::min(kStagingBytes, size - offset);
    std::memcpy(window.data(), bytes.data() + offset, static_cast<size_t>(piece));
    WEIR_ASSIGN(Ref<CommandBuffer> commands, device_->create_command_buffer({.label = "staging"}));
    commands->encoder().copy(at(*staging, 0, piece), at(*target, offset, piece));
    WEIR_TRY(commands->seal());
    WEIR_TRY(queue_->submit({.command_buffer = commands.get()}));
    WEIR_TRY(commands->wait());
  }
  queue_->wait_idle();  // it has let go of the last piece's buffers
  return target;
}

}  // namespace weir
