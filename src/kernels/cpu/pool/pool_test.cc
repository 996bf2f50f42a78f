// SPDX-License-Identifier: Apache-2.0
//
// Pools: pads, ceil mode, dilations, odd channels, any order of axes.
#include "kernels/cpu/kernel_testing.h"

namespace weir {
namespace {

constexpr ElementType kF32 = ElementType::kFloat32;

struct Window {
  int64_t kernel, step, dilation, begin, end;
  int64_t output(int64_t extent, bool ceil) const {
    const int64_t room = extent + begin + end - dilation * (kernel - 1) - 1;
    return (ceil ? (room + step - 1) / step : room / step) + 1;
  }
};

void check(const std::vector<int64_t>& shape, const std::vector<Window>& windows, bool ceil,
           bool include_pad) {
  PoolAttributes attributes;
  attributes.count_include_pad = include_pad;
  std::vector<int64_t> output = {shape[0], shape[1]};
  for (size_t i = 0; i < windows.size(); ++i) {
    const Window& window = windows[i];
    attributes.kernel.push_back(window.kernel);
    attributes.strides.push_back(window.step);
    attributes.dilations.push_back(window.dilation);
    attributes.pads_begin.emplace_back(window.begin);
    attributes.pads_end.emplace_back(window.end);
    output.push_back(window.output(shape[2 + i], ceil));
  }
  std::vector<int> row_major(shape.size());
  std::iota(row_major.begin(), row_major.end(), 0);
  std::vector<int> last = {0};
  for (size_t i = 2; i < shape.size(); ++i) last.push_back(static_cast<int>(i));
  last.push_back(1);
  for (const auto& from : {row_major, last}) {
    for (const auto& to : {row_major, last}) {
      for (int64_t gap : {0, 3}) {
        const TensorSpec x = with_gap(make_spec(kF32, shape, from), gap);
        const TensorSpec y = with_gap(make_spec(kF32, output, to), gap);
        KernelCase(Op::kMaxPool, attributes).input(x).output(y).check();
        KernelCase(Op::kAveragePool, attributes)
            .input(x)
            .output(y)
            .check({.relative = 1e-5, .absolute = 1e-6});
      }
    }
  }
}

TEST(Pool, Images) {
  for (int64_t channels : {1, 3, 16, 37, 130}) {
    check({2, channels, 11, 13}, {{3, 2, 1, 1, 1}, {3, 2, 1, 1, 1}}, false, false);
    check({1, channels, 8, 8}, {{2, 2, 1, 0, 0}, {2, 2, 1, 0, 0}}, false, false);
    check({1, channels, 7, 7}, {{7, 1, 1, 0, 0}, {7, 1, 1, 0, 0}}, false, false);
  }
  check({1, 19, 9, 10}, {{5, 1, 1, 2, 2}, {5, 1, 1, 2, 2}}, false, true);
  check({1, 19, 9, 10}, {{3, 2, 1, 0, 1}, {3, 2, 1, 0, 1}}, true, true);
  check({1, 19, 9, 10}, {{3, 2, 1, 0, 0}, {2, 3, 1, 0, 0}}, true, false);
  check({1, 19, 12, 10}, {{3, 1, 2, 2, 2}, {2, 2, 3, 1, 1}}, false, true);
}

TEST(Pool, OneAndThreeSpatialAxes) {
  check({2, 20, 31}, {{4, 3, 1, 1, 2}}, false, true);
  check({1, 18, 5, 6, 7}, {{2, 1, 1, 0, 1}, {3, 2, 1, 1, 1}, {3, 2, 1, 1, 1}}, false, false);
}

TEST(Pool, NanStays) {
  PoolAttributes attributes{{2, 2}, {1, 1}, {1, 1}, {0, 0}, {0, 0}, false};
  const auto fill = [](const TensorSpec&, std::byte* data, int64_t bytes, int) {
    for (int64_t i = 0; i < bytes / 4; ++i) {
      const float value = i % 23 == 4 ? NAN : i % 7 == 0 ? -INFINITY : static_cast<float>(i % 13);
      std::memcpy(data + 4 * i, &value, 4);
    }
  };
  KernelCase(Op::kMaxPool, attributes)
      .input(make_spec(kF32, {1, 21, 6, 6}, {0, 2, 3, 1}))
      .output(make_spec(kF32, {1, 21, 5, 5}, {0, 2, 3, 1}))
      .fill(fill)
      .check();
}

// Windows whose taps no 64 bits count: only those over the input are visited.
TEST(Pool, HugeWindows) {
  constexpr int64_t kTaps = int64_t{1} << 22;
  PoolAttributes attributes;
  attributes.kernel = {kTaps, kTaps, kTaps};
  attributes.strides = attributes.dilations = {1, 1, 1};
  attributes.pads_begin = {kTaps - 1, kTaps - 1, kTaps - 1};
  attributes.pads_end = {0, 0, 0};
  const std::vector<TensorSpec> inputs = {make_spec(kF32, {1, 3, 2, 2, 2})};
  const Attributes held = attributes;
  std::vector<float> x(24);
  std::iota(x.begin(), x.end(), 1.0f);
  std::vector<float> y(24);
  std::byte* bindings[] = {reinterpret_cast<std::byte*>(x.data()), reinterpret_cast<std::byte*>(y.data())};
  for (const Implementation* implementation : implementations()) {
    if (implementation->op != Op::kMaxPool || implementation->reference || implementation->isa > detect_isa())
      continue;
    alignas(64) std::array<std::byte, kMaxKernelConstants> constants;
    CpuInvocation invocation;
    invocation.bindings = bindings;
    invocation.constants = constants.data();
    invocation.tile_end = implementation->extent({Op::kMaxPool, &held, inputs, inputs}, constants).tiles;
    implementation->kernel(invocation);
    EXPECT_EQ(y, x) << implementation->name;  // every window ends at its own element, the greatest so far
  }
}

}  // namespace
}  // namespace weir
