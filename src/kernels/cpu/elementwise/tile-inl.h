// SPDX-License-Identifier: Apache-2.0
//
// Runs a tile program over a dense run of elements: per-target code, see targets.h, and tile_code.h for the
// preparation.
//
//   TileRegisters registers(code, scratch);
//   registers.operands[0] = {result, true};            // count elements, one after another
//   registers.operands[1] = {splat, false};            // 64 bytes filled with one element
//   run_tile(code, registers, output, count);          // output may be operand 0's memory
//
// Float32 runs in vectors, and so do its comparisons, selections and casts from bool, uint8 and int32; the
// rest runs in scalar loops, one a step. Nothing is read or written past `count` elements.
#include "kernels/cpu/elementwise/tile_code.h"
#include "kernels/cpu/power-inl.h"

#if defined(WEIR_KERNELS_CPU_ELEMENTWISE_TILE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef WEIR_KERNELS_CPU_ELEMENTWISE_TILE_INL_H_
#undef WEIR_KERNELS_CPU_ELEMENTWISE_TILE_INL_H_
#else
#define WEIR_KERNELS_CPU_ELEMENTWISE_TILE_INL_H_
#endif

HWY_BEFORE_NAMESPACE();
namespace weir::HWY_NAMESPACE {

using TileTag = hn::ScalableTag<float>;
using TileVector = hn::Vec<TileTag>;

namespace tile_internal {

HWY_INLINE const float* floats(const TileOperand& operand) {
  return reinterpret_cast<const float*>(operand.data);
}

template <class Function>
HWY_INLINE void map1(const TileOperand& a, float* y, size_t count, const Function& function) {
  const TileTag d;
  const size_t lanes = hn::Lanes(d);
  const float* pa = floats(a);
  const size_t step = a.dense ? lanes : 0;
  size_t i = 0;
  for (; i + lanes <= count; i += lanes, pa += step) {
    hn::StoreU(function(hn::LoadU(d, pa)), d, y + i);
  }
  if (i < count) store_n(function(load_n(d, pa, count - i)), d, y + i, count - i);
}

template <class Function>
HWY_INLINE void map2(const TileOperand& a, const TileOperand& b, float* y, size_t count,
                     const Function& function) {
  const TileTag d;
  const size_t lanes = hn::Lanes(d);
  const float* pa = floats(a);
  const float* pb = floats(b);
  const size_t step_a = a.dense ? lanes : 0;
  const size_t step_b = b.dense ? lanes : 0;
  size_t i = 0;
  for (; i + lanes <= count; i += lanes, pa += step_a, pb += step_b) {
    hn::StoreU(function(hn::LoadU(d, pa), hn::LoadU(d, pb)), d, y + i);
  }
  if (i < count) {
    store_n(function(load_n(d, pa, count - i), load_n(d, pb, count - i)), d, y + i, count - i);
  }
}

// Comparison: a byte of 0 or 1 an element.
template <class Function>
HWY_INLINE void compare2(const TileOperand& a, const TileOperand& b, uint8_t* y, size_t count,
                         const Function& function) {
  const TileTag d;
  const hn::RebindToSigned<TileTag> di;
  const hn::Rebind<uint8_t, TileTag> db;
  const size_t lanes = hn::Lanes(d);
  const auto one = hn::Set(di, 1);
  const auto bytes = [&](auto mask) HWY_ATTR {
    return hn::DemoteTo(db, hn::And(hn::VecFromMask(di, hn::RebindMask(di, mask)), one));
  };
  const float* pa = floats(a);
  const float* pb = floats(b);
  const size_t step_a = a.dense ? lanes : 0;
  const size_t step_b = b.dense ? lanes : 0;
  size_t i = 0;
  for (; i + lanes <= count; i += lanes, pa += step_a, pb += step_b) {
    hn::StoreU(bytes(function(hn::LoadU(d, pa), hn::LoadU(d, pb))), db, y + i);
  }
  if (i < count) {
    HWY_ALIGN uint8_t tail[64];
    hn::StoreU(bytes(function(load_n(d, pa, count - i), load_n(d, pb, count - i))), db, tail);
    for (size_t k = 0; i + k < count; ++k) y[i + k] = tail[k];
  }
}

// Loads bytes 0 … count − 1 as 32-bit integers.
template <class DI>
HWY_INLINE hn::Vec<DI> load_bytes(DI di, const uint8_t* from, size_t count) {
  const hn::Rebind<uint8_t, DI> db;
  if (count >= hn::Lanes(di)) return hn::PromoteTo(di, hn::LoadU(db, from));
  HWY_ALIGN uint8_t bytes[64] = {};
  for (size_t k = 0; k < count; ++k) bytes[k] = from[k];
  return hn::PromoteTo(di, hn::LoadU(db, bytes));
}

HWY_INLINE void where(const TileOperand& condition, const TileOperand& a, const TileOperand& b, float* y,
                      size_t count) {
  const TileTag d;
  const hn::RebindToSigned<TileTag> di;
  const size_t lanes = hn::Lanes(d);
  const uint8_t* pc = reinterpret_cast<const uint8_t*>(condition.data);
  const float* pa = floats(a);
  const float* pb = floats(b);
  const size_t step_c = condition.dense ? lanes : 0;
  const size_t step_a = a.dense ? lanes : 0;
  const size_t step_b = b.dense ? lanes : 0;
  const auto zero = hn::Zero(di);
  for (size_t i = 0; i < count; i += lanes, pc += step_c, pa += step_a, pb += step_b) {
    const size_t n = count - i;
    const auto mask = hn::RebindMask(d, hn::Ne(load_bytes(di, pc, n), zero));
    if (n >= lanes) {
      hn::StoreU(hn::IfThenElse(mask, hn::LoadU(d, pa), hn::LoadU(d, pb)), d, y + i);
    } else {
      store_n(hn::IfThenElse(mask, load_n(d, pa, n), load_n(d, pb, n)), d, y + i, n);
    }
  }
}

HWY_INLINE void bytes_to_floats(const TileOperand& a, float* y, size_t count) {
  const TileTag d;
  const hn::RebindToSigned<TileTag> di;
  const size_t lanes = hn::Lanes(d);
  const uint8_t* pa = reinterpret_cast<const uint8_t*>(a.data);
  const size_t step = a.dense ? lanes : 0;
  for (size_t i = 0; i < count; i += lanes, pa += step) {
    const size_t n = count - i;
    const TileVector v = hn::ConvertTo(d, load_bytes(di, pa, n));
    if (n >= lanes) {
      hn::StoreU(v, d, y + i);
    } else {
      store_n(v, d, y + i, n);
    }
  }
}

inline void float_unary(const TileStep& step, const TileOperand& a, float* y, size_t count) {
  const TileTag d;
  const float v0 = static_cast<float>(step.value[0]);
  const float v1 = static_cast<float>(step.value[1]);
  switch (step.op) {
    case ScalarOp::kCast:
      return map1(a, y, count, [](auto x) HWY_ATTR { return x; });
    case ScalarOp::kSqrt:
      return map1(a, y, count, [](auto x) HWY_ATTR { return hn::Sqrt(x); });
    case ScalarOp::kErf:
      return map1(a, y, count, [d](auto x) HWY_ATTR { return erf32(d, x); });
    case ScalarOp::kExp:
      return map1(a, y, count, [d](auto x) HWY_ATTR { return exp32(d, x); });
    case ScalarOp::kLog:
      return map1(a, y, count, [d](auto x) HWY_ATTR { return log32(d, x); });
    case ScalarOp::kTanh:
      return map1(a, y, count, [d](auto x) HWY_ATTR { return tanh32(d, x); });
    case ScalarOp::kNeg:
      return map1(a, y, count, [](auto x) HWY_ATTR { return hn::Neg(x); });
    case ScalarOp::kAbs:
      return map1(a, y, count, [](auto x) HWY_ATTR { return hn::Abs(x); });
    case ScalarOp::kReciprocal:
      return map1(a, y, count, [d](auto x) HWY_ATTR { return hn::Div(hn::Set(d, 1.0f), x); });
    case ScalarOp::kFloor:
      return map1(a, y, count, [](auto x) HWY_ATTR { return hn::Floor(x); });
    case ScalarOp::kCeil:
      return map1(a, y, count, [](auto x) HWY_ATTR { return hn::Ceil(x); });
    case ScalarOp::kRound:
      return map1(a, y, count, [](auto x) HWY_ATTR { return hn::Round(x); });
    case ScalarOp::kRelu:
      return map1(a, y, count, [d](auto x) HWY_ATTR { return relu32(d, x); });
    case ScalarOp::kClip:
      return map1(a, y, count, [d, v0, v1](auto x) HWY_ATTR { return clip32(d, x, v0, v1); });
    case ScalarOp::kSigmoid:
      return map1(a, y, count, [d](auto x) HWY_ATTR { return sigmoid32(d, x); });
    case ScalarOp::kHardSigmoid:
      return map1(a, y, count, [d, v0, v1](auto x) HWY_ATTR { return hard_sigmoid32(d, x, v0, v1); });
    case ScalarOp::kHardSwish:
      return map1(a, y, count, [d](auto x) HWY_ATTR { return hard_swish32(d, x); });
    case ScalarOp::kSilu:
      return map1(a, y, count, [d](auto x) HWY_ATTR { return silu32(d, x); });
    case ScalarOp::kGelu:
      return map1(a, y, count, [d](auto x) HWY_ATTR { return gelu32(d, x); });
    case ScalarOp::kLeakyRelu:
      return map1(a, y, count, [d, v0](auto x) HWY_ATTR {
        // Not (x < 0), so that NaN stays NaN either way.
        return hn::IfThenElse(hn::Ge(x, hn::Zero(d)), x, hn::Mul(x, hn::Set(d, v0)));
      });
    default:
      return;
  }
}

inline void float_binary(const TileStep& step, const TileOperand& a, const TileOperand& b, float* y,
                         size_t count) {
  switch (step.op) {
    case ScalarOp::kAdd:
      return map2(a, b, y, count, [](auto u, auto v) HWY_ATTR { return hn::Add(u, v); });
    case ScalarOp::kSub:
      return map2(a, b, y, count, [](auto u, auto v) HWY_ATTR { return hn::Sub(u, v); });
    case ScalarOp::kMul:
      return map2(a, b, y, count, [](auto u, auto v) HWY_ATTR { return hn::Mul(u, v); });
    case ScalarOp::kDiv:
      return map2(a, b, y, count, [](auto u, auto v) HWY_ATTR { return hn::Div(u, v); });
    case ScalarOp::kPow:
      return map2(a, b, y, count, [](auto u, auto v) HWY_ATTR { return pow32(TileTag(), u, v); });
    case ScalarOp::kMin:
      return map2(a, b, y, count, [](auto u, auto v) HWY_ATTR { return min_with_nan(u, v); });
    case ScalarOp::kMax:
      return map2(a, b, y, count, [](auto u, auto v) HWY_ATTR { return max_with_nan(u, v); });
    default:
      return;
  }
}

inline void float_compare(const TileStep& step, const TileOperand& a, const TileOperand& b, uint8_t* y,
                          size_t count) {
  switch (step.op) {
    case ScalarOp::kEqual:
      return compare2(a, b, y, count, [](auto u, auto v) HWY_ATTR { return hn::Eq(u, v); });
    case ScalarOp::kLess:
      return compare2(a, b, y, count, [](auto u, auto v) HWY_ATTR { return hn::Lt(u, v); });
    case ScalarOp::kLessOrEqual:
      return compare2(a, b, y, count, [](auto u, auto v) HWY_ATTR { return hn::Le(u, v); });
    case ScalarOp::kGreater:
      return compare2(a, b, y, count, [](auto u, auto v) HWY_ATTR { return hn::Gt(u, v); });
    default:
      return compare2(a, b, y, count, [](auto u, auto v) HWY_ATTR { return hn::Ge(u, v); });
  }
}

inline void run_step(const TileStep& step, const TileOperand* operands, std::byte* output, size_t count) {
  const TileOperand& a = operands[step.operands[0]];
  if (step.from == ElementType::kFloat32) {
    float* y = reinterpret_cast<float*>(output);
    if (step.type == ElementType::kFloat32) {
      switch (step.op) {
        case ScalarOp::kAdd:
        case ScalarOp::kSub:
        case ScalarOp::kMul:
        case ScalarOp::kDiv:
        case ScalarOp::kPow:
        case ScalarOp::kMin:
        case ScalarOp::kMax:
          return float_binary(step, a, operands[step.operands[1]], y, count);
        case ScalarOp::kWhere:
          return where(a, operands[step.operands[1]], operands[step.operands[2]], y, count);
        default:
          return float_unary(step, a, y, count);
      }
    }
    if (step.op != ScalarOp::kCast) {
      return float_compare(step, a, operands[step.operands[1]], reinterpret_cast<uint8_t*>(output), count);
    }
  } else if (step.op == ScalarOp::kCast && step.type == ElementType::kFloat32) {
    float* y = reinterpret_cast<float*>(output);
    if (step.from == ElementType::kBool || step.from == ElementType::kUint8)
      return bytes_to_floats(a, y, count);
    if (step.from == ElementType::kInt32) {
      return map1(a, y, count, [](auto x) HWY_ATTR {
        const hn::RebindToSigned<TileTag> di;
        return hn::ConvertTo(TileTag(), hn::BitCast(di, x));
      });
    }
  }
  run_scalar_step(step, operands, output, static_cast<int64_t>(count));
}

}  // namespace tile_internal

// Runs `code` over `count` elements (at most those of a register), inputs already in `registers.operands`.
inline void run_tile(const TileCode& code, TileRegisters& registers, std::byte* output, int64_t count) {
  const int last = code.step_count - 1;
  for (int i = code.immediate_count; i <= last; ++i) {
    const TileStep& step = code.steps[i];
    std::byte* target = i == last ? output : registers.slots + step.slot * registers.slot_stride;
    tile_internal::run_step(step, registers.operands.data(), target, static_cast<size_t>(count));
    if (i != last) registers.operands[code.step_operand[i]] = {target, true};
  }
}

}  // namespace weir::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // WEIR_KERNELS_CPU_ELEMENTWISE_TILE_INL_H_
