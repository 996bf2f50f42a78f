// SPDX-License-Identifier: Apache-2.0
//
// The tensors of a request: its own inputs and outputs, arrays handed over, the caller's memory in their
// place, and leases.
#include <algorithm>
#include <array>

#include "base/out_of_memory.h"
#include "runtime/prepared_shape.h"
#include "tensor/strided_copy.h"

namespace weir {

Request::Side Request::inputs_side() {
  return {false,
          session_->program().inputs,
          tables_.inputs,
          tables_.bound_inputs,
          tables_.bound_input_offsets,
          tables_.input_bindings,
          0};
}

Request::Side Request::outputs_side() {
  return {true,
          session_->program().outputs,
          tables_.outputs,
          tables_.bound_outputs,
          tables_.bound_output_offsets,
          tables_.output_bindings,
          slot_layout(session_->program()).outputs};
}

std::string Request::port_name(bool output, int32_t index) const {
  const auto& ports = output ? session_->program().outputs : session_->program().inputs;
  return fmt::format("{} '{}' of '{}'", output ? "output" : "input", ports[static_cast<size_t>(index)].name,
                     session_->name());
}

Result<void> Request::check_index(bool output, int32_t index) const {
  const size_t count = output ? tables_.outputs.size() : tables_.inputs.size();
  if (index < 0 || static_cast<size_t>(index) >= count) {
    return fail(StatusCode::kOutOfRange, "Position ({}) is not one of the ({}) {} of '{}'.", index, count,
                output ? "outputs" : "inputs", session_->name());
  }
  return {};
}

Result<TensorView> Request::input(int32_t index) {
  WEIR_TRY(check_idle("have its inputs written"));
  WEIR_TRY(check_index(false, index));
  if (current_ == nullptr) {
    return fail(StatusCode::kFailedPrecondition, "No shape is prepared yet for {}.", port_name(false, index));
  }
  const auto position = static_cast<size_t>(index);
  if (tables_.bound_inputs[position] || tables_.input_bindings[position].copied) {
    return fail(StatusCode::kFailedPrecondition,
                "Other memory is bound in the place of {}, so what is written to its own would not be read.",
                port_name(false, index));
  }
  WEIR_ASSIGN(const std::span<std::byte> bytes, tables_.inputs[position]->contents());
  return input_spec(index).at(bytes.data());
}

Result<TensorView> Request::output(int32_t index) {
  WEIR_TRY(check_idle("have its outputs read"));
  WEIR_TRY(check_index(true, index));
  if (current_ == nullptr) {
    return fail(StatusCode::kFailedPrecondition, "No shape is prepared yet for {}.", port_name(true, index));
  }
  WEIR_TRY(wait_for(std::chrono::nanoseconds(0)), "while reading {}", port_name(true, index));
  const auto position = static_cast<size_t>(index);
  const Ref<Buffer>& bound = tables_.bound_outputs[position];
  WEIR_ASSIGN(const std::span<std::byte> bytes, (bound ? bound : tables_.outputs[position])->contents());
  return output_spec(index).at(bytes.data() + tables_.bound_output_offsets[position]);
}

Result<OutputLease> Request::lease_output(int32_t index) {
  WEIR_ASSIGN(const TensorView tensor, output(index));
  const auto position = static_cast<size_t>(index);
  LeasedOutput& output = *tables_.leased[position];
  // While a lease is held nothing changes here, so another thread that holds one may read.
  if (output.held.load(std::memory_order_acquire) == 0) {
    output.tensor = tensor;
    output.buffer =
        tables_.bound_outputs[position] ? tables_.bound_outputs[position] : tables_.outputs[position];
  }
  return OutputLease(output.take());
}

int32_t Request::leases() const {
  int32_t held = 0;
  for (const Ref<LeasedOutput>& output : tables_.leased) {
    held += output->held.load(std::memory_order_acquire);
  }
  return held;
}

const BindingVerdict& Request::input_transfer(int32_t index) const {
  return tables_.input_bindings[static_cast<size_t>(index)].verdict;
}

const BindingVerdict& Request::output_transfer(int32_t index) const {
  return tables_.output_bindings[static_cast<size_t>(index)].verdict;
}

Result<BindingVerdict> Request::verdict(bool output, int32_t index, const TensorView& tensor) const {
  WEIR_TRY(check_index(output, index));
  if (current_ == nullptr) {
    return fail(StatusCode::kFailedPrecondition, "No shape is prepared yet for {}.",
                port_name(output, index));
  }
  if (tensor.data == nullptr && tensor.element_count() > 0) {
    return fail(StatusCode::kInvalidArgument, "A tensor given as {} has elements and no memory.",
                port_name(output, index));
  }
  return binding_verdict(session_->device(), output ? output_spec(index) : input_spec(index), tensor,
                         output ? TensorUse::kWrite : TensorUse::kRead);
}

Result<BindingVerdict> Request::input_verdict(int32_t index, const TensorView& tensor) const {
  return verdict(false, index, tensor);
}

Result<BindingVerdict> Request::output_verdict(int32_t index, const TensorView& tensor) const {
  return verdict(true, index, tensor);
}

Result<BindingVerdict> Request::set_input(int32_t index, const TensorView& from, CopyPolicy policy) {
  WEIR_TRY(check_idle("have its inputs written"));
  WEIR_ASSIGN(BindingVerdict given, verdict(false, index, from));
  if (given.answer != BindingAnswer::kRefused) {
    given.answer = BindingAnswer::kCopied;
    given.copied_bytes = byte_size(from.type, from.element_count());
    given.reasons |= kReasonLent;
  }
  if (!is_allowed(given, policy)) {
    return std::unexpected(verdict_error(given, input_spec(index), from, port_name(false, index)));
  }
  const auto position = static_cast<size_t>(index);
  if (tables_.bound_inputs[position] || tables_.input_bindings[position].copied) {
    WEIR_TRY(bind_buffer(inputs_side(), index, {}, 0));
  }
  WEIR_ASSIGN(const std::span<std::byte> bytes, tables_.inputs[position]->contents());
  copy_elements(from, input_spec(index).at(bytes.data()));
  tables_.input_bindings[position].verdict = given;
  return given;
}

Result<void> Request::bind_buffer(const Side& side, int32_t index, Ref<Buffer> buffer, int64_t offset) {
  WEIR_TRY(check_idle("be bound"));
  WEIR_TRY(check_index(side.output, index));
  const auto position = static_cast<size_t>(index);
  if (!buffer) {
    offset = 0;
  }
  std::swap(side.bound[position], buffer);
  std::swap(side.offsets[position], offset);
  const Binding before = std::exchange(side.bindings[position], {});
  if (current_ == nullptr) {
    return {};
  }
  Result<void> bound = with_memory_guard([&]() -> Result<void> {
    WEIR_TRY(check_bindings(*current_));
    Buffer& now = side.bound[position] ? *side.bound[position] : *side.own[position];
    return current_->commands->bind_slot(side.first_slot + index, now, side.offsets[position]);
  });
  if (!bound) {  // as it was
    side.bound[position] = std::move(buffer);
    side.offsets[position] = offset;
    side.bindings[position] = before;
  } else if (side.output && tables_.leased[position]->held.load(std::memory_order_acquire) == 0) {
    tables_.leased[position]->buffer = {};
  }
  return bound;
}

Result<void> Request::bind_input(int32_t index, Ref<Buffer> buffer, int64_t offset) {
  return bind_buffer(inputs_side(), index, std::move(buffer), offset);
}

Result<void> Request::bind_output(int32_t index, Ref<Buffer> buffer, int64_t offset) {
  return bind_buffer(outputs_side(), index, std::move(buffer), offset);
}

Result<BindingVerdict> Request::bind_tensor(const Side& side, int32_t index, const TensorView& tensor,
                                            CopyPolicy policy) {
  WEIR_TRY(check_idle("be bound"));
  WEIR_TRY(check_index(side.output, index));
  if (tensor.data == nullptr && tensor.rank == 0) {
    WEIR_TRY(bind_buffer(side, index, {}, 0));
    return BindingVerdict{};
  }
  const auto position = static_cast<size_t>(index);
  WEIR_ASSIGN(const BindingVerdict given, verdict(side.output, index, tensor));
  const TensorSpec wanted = side.output ? output_spec(index) : input_spec(index);
  if (!is_allowed(given, policy)) {
    return std::unexpected(verdict_error(given, wanted, tensor, port_name(side.output, index)));
  }
  if (const Binding& now = side.bindings[position]; now.tensor.data == tensor.data &&
                                                    now.verdict.answer == given.answer &&
                                                    spec_of(now.tensor) == spec_of(tensor)) {
    return given;  // that is bound already
  }
  Ref<Buffer> buffer;
  if (given.answer == BindingAnswer::kInPlace && wanted.element_count() > 0) {
    ImportDescriptor import;
    import.pointer = tensor.data;
    import.size = wanted.extent_bytes();
    import.read_only = !side.output;
    import.label = side.ports[position].name;
    WEIR_ASSIGN(buffer, session_->device().import_buffer(import), "while binding {}",
                port_name(side.output, index));
  }
  WEIR_TRY(bind_buffer(side, index, std::move(buffer), 0), "while binding {}", port_name(side.output, index));
  side.bindings[position] = {tensor, given.answer == BindingAnswer::kCopied, given};
  return given;
}

Result<BindingVerdict> Request::bind_input(int32_t index, const TensorView& tensor, CopyPolicy policy) {
  return bind_tensor(inputs_side(), index, tensor, policy);
}

Result<BindingVerdict> Request::bind_output(int32_t index, const TensorView& tensor, CopyPolicy policy) {
  return bind_tensor(outputs_side(), index, tensor, policy);
}

// Allocates nothing, so that memory can be unbound where there is none left.
Result<void> Request::check_bindings(const PreparedShape& shape) {
  struct Place {
    const std::byte* begin = nullptr;
    int64_t bytes = 0;
    bool bound = false;  // else the request's own, which a caller may have bound elsewhere
  };
  const auto place_of = [&shape](const Side& side, size_t i) -> Place {
    const TensorSpec& wanted = side.output ? shape.tables.outputs[i] : shape.tables.inputs[i];
    if (side.bound[i]) {
      const std::byte* begin = side.bound[i]->device_bytes();
      return {begin == nullptr ? nullptr : begin + side.offsets[i], wanted.extent_bytes(), true};
    }
    return side.own[i] ? Place{side.own[i]->device_bytes(), side.own[i]->size(), false} : Place{};
  };
  const auto apart = [](const Place& a, const Place& b) {
    return a.begin == nullptr || b.begin == nullptr || a.bytes == 0 || b.bytes == 0 ||
           a.begin + a.bytes <= b.begin || b.begin + b.bytes <= a.begin;
  };
  const std::array<Side, 2> sides = {inputs_side(), outputs_side()};
  for (const Side& side : sides) {
    for (size_t i = 0; i < side.ports.size(); ++i) {
      WEIR_TRY(check_binding(side, i, side.output ? shape.tables.outputs[i] : shape.tables.inputs[i]));
    }
  }
  for (const Side& side : {sides[1], sides[0]}) {  // errors name the output first
    for (size_t i = 0; i < side.ports.size(); ++i) {
      const Place place = place_of(side, i);
      for (size_t k = 0; place.bound && k < sides.size(); ++k) {
        for (size_t j = 0; j < sides[k].ports.size(); ++j) {
          const Place other = place_of(sides[k], j);
          const bool itself = sides[k].output == side.output && i == j;
          if (itself || !(side.output || sides[k].output) || apart(place, other)) {
            continue;
          }
          return fail(StatusCode::kInvalidArgument, "The memory bound as {} overlaps {} {}.",
                      port_name(side.output, static_cast<int32_t>(i)),
                      other.bound ? "the memory bound as" : "the request's own for",
                      port_name(sides[k].output, static_cast<int32_t>(j)));
        }
      }
    }
  }
  return {};
}

Result<void> Request::check_binding(const Side& side, size_t i, const TensorSpec& wanted) const {
  const auto index = static_cast<int32_t>(i);
  const Binding& binding = side.bindings[i];
  if (binding.tensor.data != nullptr &&
      !std::equal(wanted.shape.begin(), wanted.shape.begin() + wanted.rank, binding.tensor.shape.begin())) {
    return fail(StatusCode::kFailedPrecondition,
                "A tensor ({}) is bound as {}, and this shape takes ({}); bind another, or none.",
                spec_of(binding.tensor).to_string(), port_name(side.output, index), wanted.to_string());
  }
  if (!side.bound[i]) {
    return {};
  }
  const int64_t bytes = wanted.extent_bytes();
  const Buffer& buffer = *side.bound[i];
  if (side.offsets[i] < 0 || side.offsets[i] > buffer.size() || bytes > buffer.size() - side.offsets[i]) {
    return fail(StatusCode::kOutOfRange,
                "Buffer '{}' has ({}) bytes, and as {} it needs ({}) from offset ({}).", buffer.label(),
                buffer.size(), port_name(side.output, index), bytes, side.offsets[i]);
  }
  return {};
}

}  // namespace weir
