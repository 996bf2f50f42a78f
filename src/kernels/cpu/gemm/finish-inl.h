// SPDX-License-Identifier: Apache-2.0
//
// Epilogues over rows of results that lie in the first-level cache: per-target code, see targets.h.
//
//   finish_rows(finish, c, extra, rows, column, columns, scratch);
#include "kernels/cpu/elementwise/tile-inl.h"

#if defined(WEIR_KERNELS_CPU_GEMM_FINISH_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef WEIR_KERNELS_CPU_GEMM_FINISH_INL_H_
#undef WEIR_KERNELS_CPU_GEMM_FINISH_INL_H_
#else
#define WEIR_KERNELS_CPU_GEMM_FINISH_INL_H_
#endif

#include "kernels/cpu/gemm/finish.h"

HWY_BEFORE_NAMESPACE();
namespace weir::HWY_NAMESPACE {
namespace finish_internal {

template <Activation kActivation, class D, class V = hn::Vec<D>>
HWY_INLINE V activate(D d, V x, float low, float high) {
  switch (kActivation) {
    case Activation::kBounds:
      return clip32(d, x, low, high);
    case Activation::kSilu:
      return silu32(d, x);
    case Activation::kSigmoid:
      return sigmoid32(d, x);
    case Activation::kGelu:
      return gelu32(d, x);
    case Activation::kTanh:
      return tanh32(d, x);
    case Activation::kHardSwish:
      return hard_swish32(d, x);
    case Activation::kHardSigmoid:
      return hard_sigmoid32(d, x, low, high);
    case Activation::kLeaky:
      return hn::IfThenElse(hn::Ge(x, hn::Zero(d)), x, hn::Mul(x, hn::Set(d, low)));
    case Activation::kNone:
      break;
  }
  return x;
}

// Row i of extra e begins, at column 0, at extra[e][i].
template <Activation kActivation>
void activate_rows(const Finish& finish, float* const* c, const float* const* const* extra, int64_t rows,
                   int64_t column, int64_t columns) {
  const hn::ScalableTag<float> d;
  using V = hn::Vec<decltype(d)>;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const float low = finish.low;
  const float high = finish.high;
  const bool steps =
      finish.before.kind != FinishStep::Kind::kNone || finish.after[0].kind != FinishStep::Kind::kNone;
  for (int64_t i = 0; i < rows; ++i) {
    float* row = c[i] + column;
    if (!steps) {
      int64_t j = 0;
      for (; j + lanes <= columns; j += lanes) {
        hn::StoreU(activate<kActivation>(d, hn::LoadU(d, row + j), low, high), d, row + j);
      }
      if (j < columns) {
        const size_t rest = static_cast<size_t>(columns - j);
        store_n(activate<kActivation>(d, load_n(d, row + j, rest), low, high), d, row + j, rest);
      }
      continue;
    }
    for (int64_t j = 0; j < columns; j += lanes) {
      const size_t count = static_cast<size_t>(HWY_MIN(columns - j, lanes));
      const bool whole = columns - j >= lanes;
      const auto load = [&](const float* from)
                            HWY_ATTR { return whole ? hn::LoadU(d, from) : load_n(d, from, count); };
      const auto step = [&](FinishStep each, V x) HWY_ATTR {
        if (each.kind == FinishStep::Kind::kNone) return x;
        const V y = load(extra[each.extra][i] + column + j);
        return each.kind == FinishStep::Kind::kAdd ? hn::Add(x, y) : hn::Mul(x, y);
      };
      V x = step(finish.before, load(row + j));
      x = activate<kActivation>(d, x, low, high);
      x = step(finish.after[1], step(finish.after[0], x));
      if (whole) {
        hn::StoreU(x, d, row + j);
      } else {
        store_n(x, d, row + j, count);
      }
    }
  }
}

HWY_INLINE void copy_row(const float* from, int64_t stride, int64_t count, float* to) {
  const hn::ScalableTag<float> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  if (stride == 1) {
    int64_t i = 0;
    for (; i + lanes <= count; i += lanes) hn::StoreU(hn::LoadU(d, from + i), d, to + i);
    if (i < count) {
      const size_t rest = static_cast<size_t>(count - i);
      store_n(load_n(d, from + i, rest), d, to + i, rest);
    }
    return;
  }
  for (int64_t i = 0; i < count; ++i) to[i] = from[i * stride];
}

// `scratch`: finish_scratch_bytes(finish, rows, columns), 64-byte aligned.
inline void run_program(const Finish& finish, float* const* c, const float* const* const* extra, int64_t rows,
                        int64_t column, int64_t columns, std::byte* scratch) {
  const int64_t elements = rows * columns;
  const int64_t capacity = (elements + 15) / 16 * 16;
  float* values = reinterpret_cast<float*>(scratch);
  TileRegisters registers(finish.code, scratch + (1 + finish.extra_count) * capacity * int64_t{sizeof(float)},
                          capacity);
  registers.operands[0] = {reinterpret_cast<const std::byte*>(values), true};
  for (int64_t i = 0; i < rows; ++i) copy_row(c[i] + column, 1, columns, values + i * columns);
  for (int e = 0; e < finish.extra_count; ++e) {
    float* to = values + (1 + e) * capacity;
    const int64_t stride = finish.column_stride[e];
    for (int64_t i = 0; i < rows; ++i) {
      copy_row(extra[e][i] + column * stride, stride, columns, to + i * columns);
    }
    registers.operands[1 + e] = {reinterpret_cast<const std::byte*>(to), true};
  }
  run_tile(finish.code, registers, reinterpret_cast<std::byte*>(values), elements);
  for (int64_t i = 0; i < rows; ++i) copy_row(values + i * columns, 1, columns, c[i] + column);
}

}  // namespace finish_internal

// Applies an epilogue of kind kActivation or kProgram to columns [column, column + columns) of `rows` rows.
// Row i begins, at column 0, at c[i], extra e's at extra[e][i].
inline void finish_rows(const Finish& finish, float* const* c, const float* const* const* extra, int64_t rows,
                        int64_t column, int64_t columns, std::byte* scratch) {
  using finish_internal::activate_rows;
  if (finish.extra_count == 0 && rows > 1) {
    // Rows one after another are a single one.
    bool dense = true;
    for (int64_t i = 1; i < rows; ++i) dense &= c[i] == c[i - 1] + columns;
    if (dense) {
      columns *= rows;
      rows = 1;
    }
  }
  if (finish.kind == FinishKind::kProgram) {
    finish_internal::run_program(finish, c, extra, rows, column, columns, scratch);
    return;
  }
  switch (finish.activation) {
    case Activation::kNone:
      return activate_rows<Activation::kNone>(finish, c, extra, rows, column, columns);
    case Activation::kBounds:
      return activate_rows<Activation::kBounds>(finish, c, extra, rows, column, columns);
    case Activation::kSilu:
      return activate_rows<Activation::kSilu>(finish, c, extra, rows, column, columns);
    case Activation::kSigmoid:
      return activate_rows<Activation::kSigmoid>(finish, c, extra, rows, column, columns);
    case Activation::kGelu:
      return activate_rows<Activation::kGelu>(finish, c, extra, rows, column, columns);
    case Activation::kTanh:
      return activate_rows<Activation::kTanh>(finish, c, extra, rows, column, columns);
    case Activation::kHardSwish:
      return activate_rows<Activation::kHardSwish>(finish, c, extra, rows, column, columns);
    case Activation::kHardSigmoid:
      return activate_rows<Activation::kHardSigmoid>(finish, c, extra, rows, column, columns);
    case Activation::kLeaky:
      return activate_rows<Activation::kLeaky>(finish, c, extra, rows, column, columns);
  }
}

}  // namespace weir::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // include guard
