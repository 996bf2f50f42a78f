// SPDX-License-Identifier: Apache-2.0
//
// Elementary functions over vectors of float32, the same algorithm on every instruction set, and loads and
// stores of part of a vector that touch nothing beyond it. Per-target code: see targets.h.
//
//   const hn::ScalableTag<float> d;
//   auto y = silu32(d, load_n(d, x, count));
//   store_n(y, d, out, count);
//
// NaN stays NaN; exp32 is 0 below −86.98, just above the denormals. Largest errors found by math_test over
// the whole range, in units in the last place: exp32 1.1, sigmoid32 2, tanh32 and erf32 6 (only where the
// result is within 0.1 of ±1, else 3). Coefficients: minimax fits in double precision (Lawson's iteration),
// rounded to float32.
#include "kernels/cpu/targets.h"

#if defined(WEIR_KERNELS_CPU_MATH_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef WEIR_KERNELS_CPU_MATH_INL_H_
#undef WEIR_KERNELS_CPU_MATH_INL_H_
#else
#define WEIR_KERNELS_CPU_MATH_INL_H_
#endif

HWY_BEFORE_NAMESPACE();
namespace weir::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// The first `count` (0 … lanes) elements at `from`, zeros after them.
template <class D, typename T = hn::TFromD<D>>
HWY_INLINE hn::Vec<D> load_n(D d, const T* HWY_RESTRICT from, size_t count) {
  if constexpr (HWY_TARGET == HWY_AVX3 || (HWY_TARGET == HWY_AVX2 && sizeof(T) >= 4)) {
    return hn::MaskedLoad(hn::FirstN(d, count), d, from);
  } else {
    HWY_ALIGN T lanes[hn::MaxLanes(d)] = {};
    for (size_t i = 0; i < count; ++i) lanes[i] = from[i];
    return hn::Load(d, lanes);
  }
}

// Stores the first `count` (0 … lanes) elements.
template <class D, typename T = hn::TFromD<D>>
HWY_INLINE void store_n(hn::Vec<D> v, D d, T* HWY_RESTRICT to, size_t count) {
  if constexpr (HWY_TARGET == HWY_AVX3 || (HWY_TARGET == HWY_AVX2 && sizeof(T) >= 4)) {
    hn::BlendedStore(v, hn::FirstN(d, count), d, to);
  } else {
    HWY_ALIGN T lanes[hn::MaxLanes(d)];
    hn::Store(v, d, lanes);
    for (size_t i = 0; i < count; ++i) to[i] = lanes[i];
  }
}

// The smaller and larger of `bound` and x; NaN where x is NaN (x86 returns the second operand then).
template <class V>
HWY_INLINE V at_most(V x, V bound) {
  return hn::Min(bound, x);
}
template <class V>
HWY_INLINE V at_least(V x, V bound) {
  return hn::Max(bound, x);
}

// The smaller and larger of both; NaN where either is NaN.
template <class V>
HWY_INLINE V min_with_nan(V a, V b) {
  return hn::IfThenElse(hn::IsNaN(a), a, hn::Min(a, b));
}
template <class V>
HWY_INLINE V max_with_nan(V a, V b) {
  return hn::IfThenElse(hn::IsNaN(a), a, hn::Max(a, b));
}

template <class D, class V = hn::Vec<D>>
HWY_INLINE V relu32(D d, V x) {
  return at_least(x, hn::Zero(d));
}

template <class D, class V = hn::Vec<D>>
HWY_INLINE V clip32(D d, V x, float low, float high) {
  return at_most(at_least(x, hn::Set(d, low)), hn::Set(d, high));
}

// e^x = 2^n · e^r for n = `n`, whose bits lie at the bottom of `shifted`, and r in [−ln 2 / 2, ln 2 / 2].
template <class D, class V = hn::Vec<D>>
HWY_INLINE V exp32_of_parts(D d, V r, [[maybe_unused]] V n, [[maybe_unused]] V shifted) {
  const V one = hn::Set(d, 1.0f);
  V p = hn::MulAdd(r, hn::Set(d, 1.3814598e-3f), hn::Set(d, 8.3687166e-3f));
  p = hn::MulAdd(p, r, hn::Set(d, 4.1668389e-2f));
  p = hn::MulAdd(p, r, hn::Set(d, 1.6666521e-1f));
  p = hn::MulAdd(p, r, hn::Set(d, 0.49999994f));
  p = hn::MulAdd(p, r, one);
  p = hn::MulAdd(p, r, one);
#if HWY_TARGET == HWY_AVX3
  // One instruction, which overflows to infinity and underflows to 0: measured 25 % faster in sigmoid32.
  return V{_mm512_scalef_ps(p.raw, n.raw)};
#else
  // 2·2^(n−1): n = 128 occurs, and 2^128 is no float.
  const hn::RebindToSigned<D> di;
  const V scale =
      hn::BitCast(d, hn::ShiftLeft<23>(hn::Add(hn::BitCast(di, shifted), hn::Set(di, int32_t{126}))));
  return hn::Mul(hn::Add(p, p), scale);
#endif
}

// Adding it leaves the nearest integer in the low bits: 1.5·2²³.
inline constexpr float kExpMagic = 12582912.0f;
// ln 2 in two parts; the first has so few bits that n·part is exact.
inline constexpr float kLn2High = 0.693359375f;
inline constexpr float kLn2Low = -2.12194440e-4f;

// e^x for x in [−86.98, 89]; above 88.73 infinity. The caller keeps x in range.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V exp32_in_range(D d, V x) {
  const V magic = hn::Set(d, kExpMagic);
  const V shifted = hn::MulAdd(x, hn::Set(d, 1.44269504f), magic);
  const V n = hn::Sub(shifted, magic);
  const V r = hn::NegMulAdd(n, hn::Set(d, kLn2Low), hn::NegMulAdd(n, hn::Set(d, kLn2High), x));
  return exp32_of_parts(d, r, n, shifted);
}

template <class D, class V = hn::Vec<D>>
HWY_INLINE V exp32(D d, V x) {
  const V low = hn::Set(d, -86.98f);
  const V y = exp32_in_range(d, at_least(at_most(x, hn::Set(d, 89.0f)), low));
  return hn::IfThenZeroElse(hn::Lt(x, low), y);
}

// 1 / x for x in [1, 2^126]. One Newton step from 14 bits where that is cheaper than a division.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V reciprocal_of_large(D d, V x) {
  const V one = hn::Set(d, 1.0f);
#if HWY_TARGET == HWY_AVX3
  const V r = hn::ApproximateReciprocal(x);
  return hn::MulAdd(r, hn::NegMulAdd(x, r, one), r);
#else
  return hn::Div(one, x);
#endif
}

// 1 / (1 + e^−x), e^−x kept within what the reciprocal and, but for AVX-512, the exponential take.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V sigmoid32(D d, V x) {
  x = at_least(x, hn::Set(d, -86.98f));
  if (HWY_TARGET != HWY_AVX3) x = at_most(x, hn::Set(d, 86.98f));
  const V magic = hn::Set(d, kExpMagic);
  const V shifted = hn::NegMulAdd(x, hn::Set(d, 1.44269504f), magic);
  const V n = hn::Sub(shifted, magic);
  const V r = hn::NegMulAdd(n, hn::Set(d, kLn2Low), hn::NegMulSub(n, hn::Set(d, kLn2High), x));
  return reciprocal_of_large(d, hn::Add(hn::Set(d, 1.0f), exp32_of_parts(d, r, n, shifted)));
}

// x · sigmoid(x), and where that underflows, minus infinity included, as good as 0.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V silu32(D d, V x) {
  x = at_least(x, hn::Set(d, -86.98f));
  return hn::Mul(x, sigmoid32(d, x));
}

// A rational function of x², odd.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V tanh32(D d, V x) {
  const V bounded = clip32(d, x, -9.02f, 9.02f);
  const V t = hn::Mul(bounded, bounded);
  V p = hn::MulAdd(t, hn::Set(d, 1.33189521e-8f), hn::Set(d, 2.05833930e-5f));
  p = hn::MulAdd(p, t, hn::Set(d, 3.49402917e-3f));
  p = hn::MulAdd(p, t, hn::Set(d, 1.33797139e-1f));
  p = hn::MulAdd(p, t, hn::Set(d, 1.0f));
  V q = hn::MulAdd(t, hn::Set(d, 7.76196998e-7f), hn::Set(d, 3.28308408e-4f));
  q = hn::MulAdd(q, t, hn::Set(d, 2.58710531e-2f));
  q = hn::MulAdd(q, t, hn::Set(d, 4.67130274e-1f));
  q = hn::MulAdd(q, t, hn::Set(d, 1.0f));
  return clip32(d, hn::Div(hn::Mul(bounded, p), q), -1.0f, 1.0f);
}

// 2/√π ∫₀ˣ e^−t² dt, a rational function of x², odd.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V erf32(D d, V x) {
  const V bounded = clip32(d, x, -3.93f, 3.93f);
  const V t = hn::Mul(bounded, bounded);
  V p = hn::MulAdd(t, hn::Set(d, 2.04195840e-6f), hn::Set(d, 2.84807378e-4f));
  p = hn::MulAdd(p, t, hn::Set(d, 3.77960014e-3f));
  p = hn::MulAdd(p, t, hn::Set(d, 5.27902544e-2f));
  p = hn::MulAdd(p, t, hn::Set(d, 1.90783769e-1f));
  p = hn::MulAdd(p, t, hn::Set(d, 1.12837911f));
  V q = hn::MulAdd(t, hn::Set(d, 3.80038800e-5f), hn::Set(d, 1.16520864e-3f));
  q = hn::MulAdd(q, t, hn::Set(d, 1.49974199e-2f));
  q = hn::MulAdd(q, t, hn::Set(d, 1.14257477e-1f));
  q = hn::MulAdd(q, t, hn::Set(d, 5.02410412e-1f));
  q = hn::MulAdd(q, t, hn::Set(d, 1.0f));
  return clip32(d, hn::Div(hn::Mul(bounded, p), q), -1.0f, 1.0f);
}

// x/2 · (1 + erf(x/√2)), as max(x, 0) − |x| · Φ(−|x|), which keeps its accuracy where x is negative; ln Φ is
// a polynomial up to 6, and from there the product stays at 6·10⁻⁹.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V gelu32(D d, V x) {
  const V t = at_most(hn::Abs(x), hn::Set(d, 6.0f));
  V p = hn::MulAdd(t, hn::Set(d, -1.19194086e-8f), hn::Set(d, 3.80560721e-7f));
  p = hn::MulAdd(p, t, hn::Set(d, -5.20041885e-6f));
  p = hn::MulAdd(p, t, hn::Set(d, 3.83281513e-5f));
  p = hn::MulAdd(p, t, hn::Set(d, -1.40576769e-4f));
  p = hn::MulAdd(p, t, hn::Set(d, -1.17504074e-4f));
  p = hn::MulAdd(p, t, hn::Set(d, 4.96966438e-3f));
  p = hn::MulAdd(p, t, hn::Set(d, -3.64634916e-2f));
  p = hn::MulAdd(p, t, hn::Set(d, -3.18265855e-1f));
  p = hn::MulAdd(p, t, hn::Set(d, -7.97890425e-1f));
  p = hn::MulAdd(p, t, hn::Set(d, -6.93147063e-1f));
  return hn::NegMulAdd(t, exp32_in_range(d, p), at_least(x, hn::Zero(d)));
}

// clip(alpha·x + beta, 0, 1)
template <class D, class V = hn::Vec<D>>
HWY_INLINE V hard_sigmoid32(D d, V x, float alpha, float beta) {
  return clip32(d, hn::MulAdd(x, hn::Set(d, alpha), hn::Set(d, beta)), 0.0f, 1.0f);
}

// x · clip(x/6 + 1/2, 0, 1)
template <class D, class V = hn::Vec<D>>
HWY_INLINE V hard_swish32(D d, V x) {
  return hn::Mul(x, hard_sigmoid32(d, x, 1.0f / 6.0f, 0.5f));
}

}  // namespace weir::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // include guard
