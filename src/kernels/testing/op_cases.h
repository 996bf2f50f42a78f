// SPDX-License-Identifier: Apache-2.0
//
// The list of operator cases, as data: one list for all implementations and element types. It drives
// correctness tests, micro-benchmarks and the table of what is supported.
//
//   for (const OpCase& test : op_cases(Op::kConv)) { … test.attributes, test.inputs[0].spec … }
//
// A case gives dense operands, how their values are drawn, and the arrangements in memory that it is worth
// running in. Adding one is one line in the file of its operator family.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/implementation.h"
#include "op/op.h"

namespace weir::testing {

// How the elements of an operand are drawn: uniformly from [low, high), whole numbers for integer types.
struct Values {
  double low = -1;
  double high = 1;
  // One element in so many is −∞ (0: none).
  int minus_infinity_every = 0;
  // NaN, infinities, zeros of both signs and very large and small values among the others.
  bool specials = false;
};

struct OperandCase {
  TensorSpec spec;  // dense; rank −1 where absent
  Values values;
  bool constant = false;  // known while compiling, so that it may be packed
};

// How operands lie in memory. Constants are dense in every arrangement.
enum class Arrangement : uint8_t {
  kDense,
  kChannelsLast,  // rank ≥ 3: axis 1 innermost
  kSliced,        // a part of a larger tensor: gaps after the innermost axis, which has stride 1
  kStrided,       // every second element of a larger tensor
  kBroadcast,     // inputs repeat along the first axis (stride 0)
  kTransposed,    // axes in reverse order
};
std::string_view to_string(Arrangement arrangement);

struct OpCase {
  std::string name;
  Op op = Op::kCopy;
  Attributes attributes;
  std::vector<OperandCase> inputs;
  std::vector<OperandCase> outputs;
  std::vector<Arrangement> arrangements = {Arrangement::kDense};
  uint32_t seed = 1;
};

// All cases of one operator, or of all.
std::vector<OpCase> op_cases(Op op);
std::vector<OpCase> op_cases();

// How far a result may lie from the reference, whose sums are in double precision.
struct Tolerance {
  double absolute = 0;
  double relative = 0;
};
Tolerance tolerance_of(const OpCase& test);

// The dense `spec` arranged, within what `rule` allows. Outputs never repeat.
TensorSpec arrange(const TensorSpec& spec, Arrangement arrangement, LayoutRule rule, bool is_output);
bool satisfies(const TensorSpec& spec, LayoutRule rule);

// Draws the elements of `spec` into `data`, which holds spec.extent_bytes(); the bytes between them are left.
// Where elements share memory the last one drawn stays.
void fill(const TensorSpec& spec, const Values& values, uint32_t seed, std::byte* data);

// Copies element by element, between views of the same shape and type.
void copy_elements(const TensorView& source, const TensorView& target);

// Per family, in files of their own.
void add_convolution_cases(std::vector<OpCase>& cases);
void add_matrix_cases(std::vector<OpCase>& cases);  // MatMul, Lstm
void add_elementwise_cases(std::vector<OpCase>& cases);
void add_window_cases(std::vector<OpCase>& cases);    // pools, Resize, Pad
void add_row_cases(std::vector<OpCase>& cases);       // Reduce, Softmax, LayerNormalization
void add_movement_cases(std::vector<OpCase>& cases);  // Reshape … Gather, Fill, Range, DimTensor

}  // namespace weir::testing
