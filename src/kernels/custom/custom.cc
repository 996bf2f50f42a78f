// SPDX-License-Identifier: Apache-2.0
#include "kernels/custom/custom.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/checked.h"

namespace weir {
namespace {

// What the kernel reads: this, then a TensorSpec an operand, then the operator's parameters.
struct alignas(64) Header {
  int32_t inputs = 0;
  int32_t outputs = 0;
  int64_t workspace_bytes = 0;
  int64_t workspace_alignment = 64;
  int64_t scratch_bytes = 0;
};

constexpr size_t parameters_at(size_t operands) {
  return static_cast<size_t>(
      align_up(static_cast<int64_t>(sizeof(Header) + operands * sizeof(TensorSpec)), 64));
}
static_assert(parameters_at(kMaxCustomTensors) + kMaxCustomParameterBytes <= kMaxKernelConstants);
static_assert(std::is_trivially_copyable_v<TensorSpec>);

const CustomPrepared& prepared_of(const ConcreteOp& op) {
  return *op.get<CustomAttributes>().prepared;
}

std::vector<LayoutRule> layouts(const OpDesc& desc) {
  const auto& description = std::get<CustomAttributes>(*desc.attributes).definition->description();
  const LayoutRule rule = description.layout == CustomLayout::kAny          ? LayoutRule::kAny
                          : description.layout == CustomLayout::kInnerDense ? LayoutRule::kInnerDense
                                                                            : LayoutRule::kRowMajor;
  return std::vector<LayoutRule>(desc.inputs.size() + desc.outputs.size(), rule);
}

std::vector<InPlacePair> in_place(const OpDesc& desc) {
  const auto& description = std::get<CustomAttributes>(*desc.attributes).definition->description();
  std::vector<InPlacePair> pairs;
  for (const CustomDescription::InPlace& pair : description.in_place) {
    if (static_cast<size_t>(pair.output) < desc.outputs.size() &&
        static_cast<size_t>(pair.input) < desc.inputs.size()) {
      pairs.push_back({pair.output, pair.input});
    }
  }
  return pairs;
}

Plan plan(const ConcreteOp& op) {
  const CustomPrepared& prepared = prepared_of(op);
  return {prepared.workspace_room(), prepared.plan.scratch_bytes};
}

Extent extent(const ConcreteOp& op, std::span<std::byte> constants) {
  const CustomPrepared& prepared = prepared_of(op);
  Header header;
  header.inputs = static_cast<int32_t>(op.inputs.size());
  header.outputs = static_cast<int32_t>(op.outputs.size());
  header.workspace_bytes = prepared.plan.workspace_bytes;
  header.workspace_alignment = prepared.plan.workspace_alignment;
  header.scratch_bytes = prepared.plan.scratch_bytes;
  const size_t operands = op.inputs.size() + op.outputs.size();
  const size_t parameters = parameters_at(operands);
  const auto used = static_cast<size_t>(prepared.extent.parameter_bytes);
  std::ranges::fill(constants.first(parameters), std::byte{0});
  std::memcpy(constants.data(), &header, sizeof(header));
  std::byte* specs = constants.data() + sizeof(header);
  for (const auto& list : {op.inputs, op.outputs}) {
    for (const TensorSpec& spec : list) {
      std::memcpy(specs, &spec, sizeof(spec));
      specs += sizeof(spec);
    }
  }
  std::memcpy(constants.data() + parameters, prepared.extent.parameters.data(), used);
  return {prepared.extent.tiles, static_cast<int64_t>(parameters + used)};
}

std::byte* round_up(std::byte* address, int64_t alignment) {
  const auto number = reinterpret_cast<uintptr_t>(address);
  const auto mask = static_cast<uintptr_t>(alignment) - 1;
  return address + (((number + mask) & ~mask) - number);
}

void kernel(const CpuInvocation& invocation) {
  const auto& header = invocation.constants_as<Header>();
  const std::byte* specs = invocation.constants + sizeof(Header);
  std::array<TensorView, kMaxCustomTensors> views;
  const auto inputs = static_cast<size_t>(header.inputs);
  const auto outputs = static_cast<size_t>(header.outputs);
  const size_t operands = inputs + outputs;
  for (size_t i = 0; i < operands; ++i) {
    TensorSpec spec;
    std::memcpy(&spec, specs + i * sizeof(spec), sizeof(spec));
    views[i] = spec.at(invocation.bindings[i]);
  }
  CustomCall call;
  call.inputs = std::span(views).first(inputs);
  call.outputs = std::span(views).subspan(inputs, outputs);
  call.parameters = invocation.constants + parameters_at(operands);
  if (header.workspace_bytes > 0) {
    call.workspace = round_up(invocation.bindings[operands], header.workspace_alignment);
    call.workspace_bytes = header.workspace_bytes;
  }
  if (header.scratch_bytes > 0) {
    call.scratch = invocation.scratch;
    call.scratch_bytes = header.scratch_bytes;
  }
  call.tile_begin = invocation.tile_begin;
  call.tile_end = invocation.tile_end;
  call.participant = invocation.participant;
  call.step = invocation.step;
  call.status = invocation.status;
  static_cast<const CustomOperator*>(invocation.user)->run(call);
}

}  // namespace

Implementation custom_implementation(const CustomOperator& op) {
  Implementation made;
  made.name = op.implementation_name();
  made.op = Op::kCustom;
  made.supported = [](const OpDesc&) { return Support{}; };  // CustomOperator::infer has judged the node
  made.layouts = layouts;
  made.in_place = in_place;
  made.plan = plan;
  made.extent = extent;
  made.kernel = kernel;
  return made;
}

}  // namespace weir
