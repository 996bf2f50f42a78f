// SPDX-License-Identifier: Apache-2.0
//
// Gather along any axis, negative indices, and the fault of one out of range.
#include "kernels/cpu/kernel_testing.h"

namespace weir {
namespace {

constexpr ElementType kF32 = ElementType::kFloat32;

KernelCase gather(int64_t axis, const TensorSpec& data, const TensorSpec& indices, const TensorSpec& output,
                  const std::vector<int64_t>& values) {
  KernelCase test(Op::kGather, GatherAttributes{axis});
  test.input(data).input(indices).output(output).fill(
      [values](const TensorSpec& spec, std::byte* bytes, int64_t size, int input) {
        if (input == 0) {
          for (int64_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>(i * 37 % 61);
          return;
        }
        const int64_t width = bit_width(spec.type) / 8;
        for (int64_t i = 0; i < size / width; ++i) {
          const int64_t value = values[static_cast<size_t>(i) % values.size()];
          const int32_t narrow = static_cast<int32_t>(value);
          if (width == 8) {
            std::memcpy(bytes + 8 * i, &value, 8);
          } else {
            std::memcpy(bytes + 4 * i, &narrow, 4);
          }
        }
      });
  return test;
}

TEST(Gather, AlongAnyAxis) {
  for (ElementType type : {kF32, ElementType::kUint8, ElementType::kInt64}) {
    for (ElementType index : {ElementType::kInt32, ElementType::kInt64}) {
      const std::vector<int64_t> values = {0, 4, -1, 2, -5, 3, 3};
      gather(0, make_spec(type, {5, 33}), make_spec(index, {2, 7}), make_spec(type, {2, 7, 33}), values)
          .check();
      gather(1, make_spec(type, {3, 5, 4}), make_spec(index, {6}), make_spec(type, {3, 6, 4}), values)
          .check();
      gather(2, make_spec(type, {3, 4, 5}), make_spec(index, {2, 2}), make_spec(type, {3, 4, 2, 2}), values)
          .check();
      gather(1, make_spec(type, {3, 5, 4}), make_spec(index, {}), make_spec(type, {3, 4}), values).check();
      gather(0, make_spec(type, {5}), make_spec(index, {300}), make_spec(type, {300}), values).check();
      gather(1, make_spec(type, {2, 5, 6, 7}, {0, 2, 3, 1}), make_spec(index, {3}),
             make_spec(type, {2, 3, 6, 7}, {0, 2, 3, 1}), values)
          .check();
      gather(0, make_spec(type, {5, 3, 6, 7}, {3, 2, 1, 0}), make_spec(index, {3}),
             make_spec(type, {3, 3, 6, 7}), values)
          .check();
    }
  }
}

TEST(Gather, Embedding) {
  gather(0, make_spec(kF32, {1000, 384}), make_spec(ElementType::kInt64, {1, 128}),
         make_spec(kF32, {1, 128, 384}), {999, 0, 17, 500, -1000})
      .check();
}

TEST(Gather, AnIndexOutOfRangeIsAFault) {
  for (int64_t bad : {5, -6, 1000000}) {
    gather(0, make_spec(kF32, {5, 9}), make_spec(ElementType::kInt64, {4}), make_spec(kF32, {4, 9}),
           {1, bad, 2, 0})
        .faults()
        .check();
  }
  gather(0, make_spec(kF32, {0, 9}), make_spec(ElementType::kInt64, {2}), make_spec(kF32, {2, 9}), {0, 0})
      .faults()
      .check();
}

}  // namespace
}  // namespace weir
