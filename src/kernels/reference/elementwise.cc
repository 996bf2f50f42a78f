// SPDX-License-Identifier: Apache-2.0
//
// Elementwise: a tile program at every element, with inputs broadcast to the output.
#include "kernels/reference/reference.h"
#include "kernels/reference/tile_interpreter.h"

namespace weir {
namespace reference {
namespace {

struct ElementwiseConstants {
  TileConstants program;
  TensorSpec output;
  std::array<TensorSpec, kMaxTileInputs> inputs{};  // as views of the output
};

Support supported(const OpDesc& desc) {
  const TileProgram& program = std::get<ElementwiseAttributes>(*desc.attributes).program;
  if (Support support = can_interpret(program); !support.ok()) {
    return support;
  }
  if (static_cast<size_t>(program.input_count()) != desc.inputs.size() || output(desc, 0) == nullptr ||
      (program.empty() && desc.inputs.empty())) {
    return {"the tile program and the operands differ in number"};
  }
  if (output(desc, 0)->element_type != program.result_type()) {
    return {"the tile program gives another type than the output's"};
  }
  for (int i = 0; i < program.input_count(); ++i) {
    const TensorType* operand = input(desc, static_cast<size_t>(i));
    if (operand == nullptr || operand->element_type != program.type_of(i) ||
        operand->rank() > output(desc, 0)->rank()) {
      return {"an input does not fit the tile program"};
    }
  }
  return kYes;
}

// An input of the output's shape and width may be overwritten: each element is read before it is written.
std::vector<InPlacePair> in_place(const OpDesc& desc) {
  std::vector<InPlacePair> pairs;
  for (size_t i = 0; i < desc.inputs.size(); ++i) {
    if (desc.inputs[i]->shape == desc.outputs[0]->shape &&
        bit_width(desc.inputs[i]->element_type) == bit_width(desc.outputs[0]->element_type)) {
      pairs.push_back({0, static_cast<int>(i)});
    }
  }
  return pairs;
}

Extent extent(const ConcreteOp& op, std::span<std::byte> target) {
  ElementwiseConstants constants;
  constants.program = tile_constants(op.get<ElementwiseAttributes>().program);
  constants.output = op.outputs[0];
  for (size_t i = 0; i < op.inputs.size(); ++i) {
    constants.inputs[i] = broadcast_to(op.inputs[i], op.outputs[0]);
  }
  return record(constants, chunks(op.outputs[0].element_count()), target);
}

void run(const CpuInvocation& invocation) {
  const auto& constants = invocation.constants_as<ElementwiseConstants>();
  const int inputs = constants.program.inputs;
  std::byte* const target = invocation.bindings[static_cast<size_t>(inputs)];
  std::array<Scalar, kMaxTileInputs> values;
  for_each_output(invocation, constants.output, [&](const Index& index) {
    for (int i = 0; i < inputs; ++i) {
      const TensorSpec& spec = constants.inputs[i];
      values[i] = load(spec.type, invocation.bindings[static_cast<size_t>(i)],
                       offset_of(index, spec.strides, spec.rank));
    }
    store(constants.output.type, target, offset_of(index, constants.output.strides, constants.output.rank),
          interpret(constants.program, values.data()));
  });
}

}  // namespace
}  // namespace reference

extern constexpr Implementation kReferenceElementwise = {
    .name = "reference.elementwise",
    .op = Op::kElementwise,
    .reference = true,
    .supported = reference::supported,
    .in_place = reference::in_place,
    .extent = reference::extent,
    .kernel = reference::run,
};

}  // namespace weir
