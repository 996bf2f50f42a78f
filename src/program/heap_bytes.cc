// SPDX-License-Identifier: Apache-2.0
//
// One function a structure, named alike; each adds up its members that allocate.
#include "program/heap_bytes.h"

#include <type_traits>

namespace weir {
namespace {

int64_t heap(const std::string& text) {
  static const size_t kWithin = std::string().capacity();  // texts up to here lie in the object
  return text.capacity() > kWithin ? static_cast<int64_t>(text.capacity()) + 1 : 0;
}

template <typename... Members>
int64_t heap_of(const Members&... members);

int64_t heap(const std::pair<std::string, std::string>& pair) {
  return heap_of(pair.first, pair.second);
}
int64_t heap(const ProgramSymbol& symbol) {
  return heap(symbol.name);
}
int64_t heap(const ProgramConstraint& constraint) {
  return heap(constraint.what);
}
int64_t heap(const Storage& storage) {
  return heap(storage.pack_id);
}
int64_t heap(const ProgramTensor& tensor) {
  return heap_of(tensor.name, tensor.shape, tensor.strides);
}
int64_t heap(const Refusal& refusal) {
  return heap_of(refusal.implementation, refusal.reason);
}
int64_t heap(const AttributeStream& stream) {
  return heap_of(stream.integers, stream.reals, stream.dims, stream.strings);
}
int64_t heap(const Step& step) {
  return heap_of(step.name, step.origin, step.attributes, step.inputs, step.outputs, step.packed,
                 step.implementations, step.refused);
}
int64_t heap(const ProgramNotice& notice) {
  return heap_of(notice.what, notice.reason);
}
int64_t heap(const ProgramConstant& constant) {
  return heap(constant.name);
}
int64_t heap(const ProgramPort& port) {
  return heap(port.name);
}
int64_t heap(const ProgramState& state) {
  return heap_of(state.name, state.output);
}

template <typename T>
int64_t heap(const std::vector<T>& elements) {
  int64_t bytes = static_cast<int64_t>(elements.capacity() * sizeof(T));
  if constexpr (!std::is_trivially_copyable_v<T>) {
    for (const T& element : elements) {
      bytes += heap(element);
    }
  }
  return bytes;
}

template <typename... Members>
int64_t heap_of(const Members&... members) {
  return (heap(members) + ... + 0);
}

}  // namespace

int64_t heap_bytes(const Program& program) {
  return heap_of(program.name, program.target, program.metadata, program.symbols, program.dims,
                 program.constraints, program.storages, program.tensors, program.prepare_steps, program.steps,
                 program.inputs, program.outputs, program.states, program.notices, program.placement_order,
                 program.constants);
}

}  // namespace weir
