// SPDX-License-Identifier: Apache-2.0
//
// Pad: every mode, crops, pads wider than the input, types and orders.
#include "kernels/cpu/kernel_testing.h"

namespace weir {
namespace {

constexpr ElementType kF32 = ElementType::kFloat32;

void check(PadMode mode, const std::vector<int64_t>& shape, const std::vector<int64_t>& begin,
           const std::vector<int64_t>& end, ElementType type = kF32, double value = -1.5) {
  PadAttributes attributes;
  attributes.mode = mode;
  attributes.value = value;
  std::vector<int64_t> output;
  for (size_t i = 0; i < shape.size(); ++i) {
    attributes.begin.emplace_back(begin[i]);
    attributes.end.emplace_back(end[i]);
    output.push_back(shape[i] + begin[i] + end[i]);
  }
  std::vector<int> row_major(shape.size());
  std::iota(row_major.begin(), row_major.end(), 0);
  std::vector<int> last = row_major;
  if (shape.size() > 2) std::rotate(last.begin() + 1, last.begin() + 2, last.end());
  for (const auto& from : {row_major, last}) {
    for (const auto& to : {row_major, last}) {
      for (int64_t gap : {0, 2}) {
        KernelCase(Op::kPad, attributes)
            .input(with_gap(make_spec(type, shape, from), gap))
            .output(with_gap(make_spec(type, output, to), gap))
            .check();
      }
    }
  }
}

TEST(Pad, Modes) {
  for (PadMode mode : {PadMode::kConstant, PadMode::kReflect, PadMode::kEdge, PadMode::kWrap}) {
    check(mode, {2, 19, 5, 7}, {0, 0, 1, 1}, {0, 0, 1, 2});
    check(mode, {2, 3, 5, 70}, {0, 1, 0, 3}, {1, 0, 2, 0});
    check(mode, {1, 40, 6, 6}, {0, 0, 3, 2}, {0, 0, 2, 3});
    check(mode, {3, 4}, {0, 9}, {7, 11});
    check(mode, {1, 17}, {2, 0}, {0, 5});
    check(mode, {31}, {0}, {0});
  }
}

TEST(Pad, Crops) {
  for (PadMode mode : {PadMode::kConstant, PadMode::kEdge}) {
    check(mode, {2, 19, 6, 7}, {0, 0, -1, 2}, {0, 0, 3, -2});
    check(mode, {2, 19, 6, 7}, {0, -3, -1, -2}, {0, -4, -3, -2});
  }
  // More than there is, as far as pads go.
  check(PadMode::kConstant, {3, 19, 6, 7}, {0, 0, -9, -kDimMax}, {0, 0, 10, kDimMax - 2});
  check(PadMode::kConstant, {3, 19, 6, 7}, {-kDimMax, 0, 0, 0}, {kDimMax + 1, 0, 0, 0});
}

TEST(Pad, Types) {
  for (ElementType type : {ElementType::kInt8, ElementType::kUint8, ElementType::kInt16, ElementType::kInt32,
                           ElementType::kInt64, ElementType::kBool}) {
    check(PadMode::kConstant, {2, 5, 9}, {0, 1, 2}, {0, 3, 1}, type, type == ElementType::kBool ? 1 : 7);
    check(PadMode::kReflect, {2, 5, 9}, {0, 1, 2}, {0, 3, 1}, type, 0);
  }
  check(PadMode::kConstant, {2, 5, 9}, {0, 1, 2}, {0, 3, 1}, kF32, -INFINITY);
}

}  // namespace
}  // namespace weir
