// SPDX-License-Identifier: Apache-2.0
//
// Logarithm and power over vectors of float32; like math-inl.h, apart because few kernels need them.
//
// Denormal arguments count as zero. Largest errors found by power_test over the whole range, in units in the
// last place: log32 0.8, pow32 0.5. Coefficients: minimax fits in relative error (Lawson's iteration in 40
// digits); the power of two behind each is the error of the fit.
#include "kernels/cpu/math-inl.h"

#if defined(WEIR_KERNELS_CPU_POWER_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef WEIR_KERNELS_CPU_POWER_INL_H_
#undef WEIR_KERNELS_CPU_POWER_INL_H_
#else
#define WEIR_KERNELS_CPU_POWER_INL_H_
#endif

HWY_BEFORE_NAMESPACE();
namespace weir::HWY_NAMESPACE {

// Horner's scheme, coefficients from the constant term up.
template <class D, class V = hn::VFromD<D>, class T = hn::TFromD<D>, size_t kCount>
HWY_INLINE V polynomial(D d, V x, const T (&coefficients)[kCount]) {
  V y = hn::Set(d, coefficients[kCount - 1]);
  for (size_t i = kCount - 1; i-- > 0;) y = hn::MulAdd(y, x, hn::Set(d, coefficients[i]));
  return y;
}

template <class D, class V = hn::VFromD<D>>
HWY_INLINE V log32(D d, V x) {
  const hn::RebindToSigned<D> di;
  const V least = hn::Set(d, 1.17549435e-38f);
  // x = 2^k·m with √½ ≤ m < √2
  const auto half_root = hn::Set(di, 0x3f3504f3);
  const auto bits = hn::Add(hn::BitCast(di, x), hn::Set(di, 0x3f800000 - 0x3f3504f3));
  const V k = hn::ConvertTo(d, hn::Sub(hn::ShiftRight<23>(bits), hn::Set(di, 127)));
  const V m = hn::BitCast(d, hn::Add(hn::And(bits, hn::Set(di, 0x007fffff)), half_root));
  const V f = hn::Sub(m, hn::Set(d, 1.0f));
  static constexpr float kTerms[] = {0.33333313f,  -0.2500001f, 0.20002121f,  -0.16667971f, 0.14219421f,
                                     -0.12405824f, 0.11889665f, -0.11675652f, 0.06743297f};  // 2^-30
  const V square = hn::Mul(f, f);
  V y = hn::Mul(hn::Mul(square, f), polynomial(d, f, kTerms));
  y = hn::MulAdd(k, hn::Set(d, -2.12194440e-4f), y);
  y = hn::NegMulAdd(square, hn::Set(d, 0.5f), y);
  y = hn::MulAdd(k, hn::Set(d, 0.693359375f), hn::Add(f, y));
  const V infinity = hn::Inf(d);
  y = hn::IfThenElse(hn::Le(x, hn::Set(d, 3.40282347e38f)), y, x);  // infinity and NaN pass
  y = hn::IfThenElse(hn::Lt(x, least), hn::Neg(infinity), y);
  return hn::IfThenElse(hn::Le(x, hn::Neg(least)), hn::NaN(d), y);
}

namespace power_internal {

// 2^(y·log2 a) in double precision, a ≥ 2^-126 finite.
template <class DD, class VD = hn::VFromD<DD>>
HWY_INLINE VD positive_pow(DD d, VD a, VD y) {
  const hn::RebindToUnsigned<DD> du;
  const VD one = hn::Set(d, 1.0);
  // a = 2^k·m with √½ ≤ m < √2; log2 m = s·L(s²), s = (m − 1) / (m + 1)
  constexpr uint64_t kHalfRoot = 0x3fe6a09e667f3bcdull;
  const auto bits = hn::Add(hn::BitCast(du, a), hn::Set(du, 0x3ff0000000000000ull - kHalfRoot));
  const auto biased = hn::Or(hn::ShiftRight<52>(bits), hn::Set(du, 0x4330000000000000ull));
  const VD k = hn::Sub(hn::BitCast(d, biased), hn::Set(d, 4503599627370496.0 + 1023.0));
  const auto mantissa = hn::And(bits, hn::Set(du, 0x000fffffffffffffull));
  const VD m = hn::BitCast(d, hn::Add(mantissa, hn::Set(du, kHalfRoot)));
  const VD s = hn::Div(hn::Sub(m, one), hn::Add(m, one));
  static constexpr double kLog[] = {2.8853900817778486, 0.9617966941138142, 0.5770779423049467,
                                    0.4122092575617742, 0.3199054731073266, 0.2829035413553975};  // 2^-43
  const VD log2 = hn::MulAdd(s, polynomial(d, hn::Mul(s, s), kLog), k);
  const VD exponent = hn::Min(hn::Set(d, 160.0), hn::Max(hn::Set(d, -160.0), hn::Mul(y, log2)));
  const VD magic = hn::Set(d, 6755399441055744.0);  // 1.5·2^52
  const VD shifted = hn::Add(exponent, magic);
  const VD f = hn::Sub(exponent, hn::Sub(shifted, magic));
  static constexpr double kExp[] = {1.0,
                                    0.6931471807046693,
                                    0.240226510669896,
                                    0.05550410366163357,
                                    0.009618038062303179,
                                    0.0013333934527042896,
                                    0.00015466780306904276,
                                    1.519635039535337e-05};  // 2^-34
  const auto p = hn::BitCast(du, polynomial(d, f, kExp));
  return hn::BitCast(d, hn::Add(p, hn::ShiftLeft<52>(hn::BitCast(du, shifted))));
}

}  // namespace power_internal

// As C's powf, with denormals as zeros.
template <class D, class V = hn::VFromD<D>>
HWY_INLINE V pow32(D d, V x, V y) {
  const hn::Half<D> dh;
  const hn::Rebind<double, hn::Half<D>> dd;
  const V zero = hn::Zero(d);
  const V one = hn::Set(d, 1.0f);
  const V infinity = hn::Inf(d);
  const V least = hn::Set(d, 1.17549435e-38f);
  const V a = hn::Abs(x);
  const auto low = power_internal::positive_pow(dd, hn::PromoteTo(dd, hn::LowerHalf(dh, a)),
                                                hn::PromoteTo(dd, hn::LowerHalf(dh, y)));
  const auto high = power_internal::positive_pow(dd, hn::PromoteTo(dd, hn::UpperHalf(dh, a)),
                                                 hn::PromoteTo(dd, hn::UpperHalf(dh, y)));
  V r = hn::Combine(d, hn::DemoteTo(dh, high), hn::DemoteTo(dh, low));
  r = hn::IfThenElseZero(hn::Ge(r, least), r);
  const auto grows = hn::Lt(y, zero);
  r = hn::IfThenElse(hn::Lt(a, least), hn::IfThenElseZero(grows, infinity), r);
  r = hn::IfThenElse(hn::Eq(a, infinity), hn::IfThenZeroElse(grows, infinity), r);
  r = hn::IfThenElse(hn::Eq(a, one), one, r);
  // A negative base: a NaN unless y is an integer, negative where y is odd.
  const V whole = hn::Round(y);
  const V half = hn::Mul(y, hn::Set(d, 0.5f));
  const auto is_whole = hn::Eq(whole, y);
  const auto is_odd = hn::AndNot(hn::Eq(hn::Round(half), half), is_whole);
  r = hn::IfThenElse(is_odd, hn::CopySign(r, x), r);
  const auto finite_negative = hn::And(hn::Le(x, hn::Neg(least)), hn::Lt(a, infinity));
  r = hn::IfThenElse(hn::AndNot(is_whole, finite_negative), hn::NaN(d), r);
  r = hn::IfThenElse(hn::Or(hn::IsNaN(x), hn::IsNaN(y)), hn::Add(x, y), r);
  return hn::IfThenElse(hn::Or(hn::Eq(x, one), hn::Eq(y, zero)), one, r);
}

}  // namespace weir::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // WEIR_KERNELS_CPU_POWER_INL_H_
