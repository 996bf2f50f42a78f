// SPDX-License-Identifier: Apache-2.0
//
// Layer normalization over one and more axes, with and without a bias, dense and strided.
#include "kernels/cpu/kernel_testing.h"

namespace weir {
namespace {

constexpr ElementType kF32 = ElementType::kFloat32;
constexpr Tolerance kClose = {.relative = 1e-5, .absolute = 2e-6};

TEST(LayerNormalization, Rows) {
  for (int64_t length : {1, 2, 15, 16, 33, 64, 192, 384, 769, 20001}) {
    const TensorSpec x = make_spec(kF32, {2, 5, length});
    const TensorSpec row = make_spec(kF32, {length});
    KernelCase(Op::kLayerNormalization, LayerNormalizationAttributes{2, 1e-5})
        .input(x)
        .input(row)
        .input(row)
        .output(x)
        .check(kClose);
    KernelCase(Op::kLayerNormalization, LayerNormalizationAttributes{2, 1e-12})
        .input(x)
        .input(row)
        .input(absent_operand())
        .output(x)
        .in_place(0)
        .check(kClose);
    KernelCase(Op::kLayerNormalization, LayerNormalizationAttributes{2, 1e-3})
        .input(with_gap(x, 3))
        .input(row)
        .output(with_gap(x, 5))
        .check(kClose);
  }
}

TEST(LayerNormalization, SeveralAxes) {
  const TensorSpec x = make_spec(kF32, {3, 4, 5, 6});
  const TensorSpec last = make_spec(kF32, {3, 4, 5, 6}, {0, 2, 3, 1});
  for (int64_t axis : {0, 1, 2, 3}) {
    const TensorSpec scale =
        make_spec(kF32, std::vector<int64_t>(x.shape.begin() + axis, x.shape.begin() + 4));
    for (const TensorSpec& from : {x, last}) {
      for (const TensorSpec& to : {x, last}) {
        KernelCase(Op::kLayerNormalization, LayerNormalizationAttributes{axis, 1e-5})
            .input(from)
            .input(scale)
            .input(scale)
            .output(to)
            .check(kClose);
      }
    }
  }
  // Scale and bias that are broadcast, or differ between rows.
  KernelCase(Op::kLayerNormalization, LayerNormalizationAttributes{2, 1e-5})
      .input(x)
      .input(make_spec(kF32, {1}))
      .input(make_spec(kF32, {4, 1, 6}))
      .output(x)
      .check(kClose);
}

TEST(LayerNormalization, LargeMean) {
  const auto fill = [](const TensorSpec&, std::byte* data, int64_t bytes, int input) {
    for (int64_t i = 0; i < bytes / 4; ++i) {
      const float value = input == 0 ? 1000.0f + static_cast<float>(i * 7919 % 101) * 0.25f : 1.0f;
      std::memcpy(data + 4 * i, &value, 4);
    }
  };
  const TensorSpec x = make_spec(kF32, {4, 768});
  KernelCase(Op::kLayerNormalization, LayerNormalizationAttributes{1, 1e-5})
      .input(x)
      .input(make_spec(kF32, {768}))
      .output(x)
      .fill(fill)
      .check({.relative = 1e-4, .absolute = 1e-5});
}

}  // namespace
}  // namespace weir
