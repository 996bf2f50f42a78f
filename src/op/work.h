// SPDX-License-Identifier: Apache-2.0
//
// What an operator has to do at least: the arithmetic that it is defined by, and the bytes of its operands.
//
//   const Work work = work_of(step.op(Op::kConv));
//   double gflops = work.flops / nanoseconds;
//
// Conventions, so that the figures can be checked by hand:
//   - A multiply-add counts two, and so does a tap outside the borders. What the operator is defined by is
//     counted, not what an implementation does: one that needs fewer multiplications can pass the peak.
//   - Each scalar operation of an elementwise program or epilogue counts one an element of the result,
//     whatever it costs (an exponential too); immediates and casts count none. An element is counted alike
//     in every type, integers too.
//   - Each operand is read once and each result written once: the elements that differ, not repeats by a
//     stride of 0. Gather and Slice read what they pick. How long sequences are (Lstm) is data, so the
//     longest is counted.
//   - A custom operator's arithmetic is not known and counts none.
#pragma once

#include <cstdint>

#include "op/op.h"

namespace weir {

struct Work {
  int64_t flops = 0;
  int64_t bytes_read = 0;
  int64_t bytes_written = 0;

  int64_t bytes() const { return bytes_read + bytes_written; }
  friend bool operator==(const Work&, const Work&) = default;
};

// The shapes passed check_shapes. Numbers beyond int64 stay at its end.
Work work_of(const ConcreteOp& op);
int64_t flops_of(const ConcreteOp& op);

// Bytes of the elements that differ: an axis with stride 0 counts once. 0 where the operand is absent.
int64_t distinct_bytes(const TensorSpec& spec);
// Bytes that an operator reads of its operand `input`, which is present.
int64_t bytes_read_of(const ConcreteOp& op, size_t input);

}  // namespace weir
