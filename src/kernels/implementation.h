// SPDX-License-Identifier: Apache-2.0
//
// Implementation: one way to run an operator on the CPU device. Adding one touches its own file and one line
// of kernels/registry.cc.
//
// The life of an implementation:
//   compile   supported(desc)    can it run this? otherwise the reason, which the program keeps and reports
//             layouts(desc)      the strides that it asks of its operands
//             pack(desc)         constants that it wants in its own layout, written into the program file
//   prepare   plan(op)           workspace and scratch bytes for concrete shapes
//             extent(op, out)    the grid, and the constants that the kernel function will read; allocates
//                                nothing
//   run       kernel             called on ranges of tiles by several threads
//
// All implementations of one operator that accept an OpDesc and return the same pack id are interchangeable
// at load: they must ask for the same layouts and in-place pairs. The three instruction sets of one kernel do
// so.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "hal/cpu_kernel.h"
#include "op/op.h"

namespace weir {

// x86-64 instruction sets, in ascending order; each includes those before it.
enum class Isa : uint8_t {
  kBaseline = 0,  // x86-64-v2: SSE4.2
  kAvx2 = 1,      // AVX2, FMA, F16C
  kAvx512 = 2,    // AVX-512 F, BW, CD, DQ, VL
};
std::string_view to_string(Isa isa);  // "sse4", "avx2", "avx512"
// The best that this processor and system have.
Isa detect_isa();

// What an implementation asks of an operand's strides.
enum class LayoutRule : uint8_t {
  kAny,            // any strides ≥ 0, stride 0 included
  kRowMajor,       // dense, row-major
  kInnerDense,     // the last axis has stride 1, the others any
  kChannelsDense,  // axis 1 has stride 1 (channels last, or a channel range of it), the others any
};

// Yes (an empty reason) or the reason why not, a short text for people: "group (32) is neither 1 nor the
// channels".
struct Support {
  std::string_view reason;
  bool ok() const { return reason.empty(); }
};

// Operand `input`, a constant, in another layout.
struct PackRequest {
  int input = 0;
  // Names layout and element type, with every number that they depend on: "f32.panel16.k64.n128". Operands
  // packed with the same id from the same bytes are stored once.
  std::string id;
  int64_t bytes = 0;
  // Writes `bytes` bytes to `target` (64-byte aligned).
  std::function<void(const TensorView& source, std::byte* target)> write;
};

// Bytes that a step needs beside its operands.
struct Plan {
  int64_t workspace_bytes = 0;  // of the step, 64-byte aligned; bound after the operands
  int64_t scratch_bytes = 0;    // of each participant, 64-byte aligned
};

// Output `output` may lie in input `input`'s memory: the same view, read in elementwise order before it is
// written.
struct InPlacePair {
  int output = 0;
  int input = 0;
};

// The most that an implementation may record for one step.
inline constexpr size_t kMaxKernelConstants = 4096;

struct Extent {
  int64_t tiles = 1;
  int64_t constant_bytes = 0;  // written to `constants`
};

struct Implementation {
  std::string_view name;  // "conv.pointwise.avx2"
  Op op = Op::kCopy;
  Isa isa = Isa::kBaseline;
  bool reference = false;

  Support (*supported)(const OpDesc& desc) = nullptr;
  // One rule an operand, inputs then outputs. Null: kAny for all.
  std::vector<LayoutRule> (*layouts)(const OpDesc& desc) = nullptr;
  // Null: none.
  std::vector<InPlacePair> (*in_place)(const OpDesc& desc) = nullptr;
  // Null: none. The kernel finds a packed operand at its binding instead of the original.
  std::vector<PackRequest> (*pack)(const OpDesc& desc) = nullptr;
  // Null: nothing needed.
  Plan (*plan)(const ConcreteOp& op) = nullptr;
  Extent (*extent)(const ConcreteOp& op, std::span<std::byte> constants) = nullptr;
  // Bindings: present or not, every input, then every output, then the workspace where plan asks for one; an
  // absent operand's binding is null. A binding points at element [0,…,0] of its view.
  CpuKernelFunction kernel = nullptr;
};

// All implementations that this build has, the fastest of an operator first, reference last.
std::span<const Implementation* const> implementations();
// Null where there is none of that name.
const Implementation* find_implementation(std::string_view name);

}  // namespace weir
