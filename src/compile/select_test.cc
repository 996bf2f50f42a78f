// SPDX-License-Identifier: Apache-2.0
//
// What no implementation takes; what is selected is tested with whole networks in compile_test.cc.
#include "compile/select.h"

#include "base/testing/results.h"

namespace weir {
namespace {

TEST(Select, SaysWhyEachImplementationRefuses) {
  const TensorType x{ElementType::kInt32, {Dim(1), Dim(3), Dim(8), Dim(8)}, {}};
  const TensorType w{ElementType::kInt32, {Dim(4), Dim(3), Dim(3), Dim(3)}, {}};
  const TensorType y{ElementType::kInt32, {Dim(1), Dim(4), Dim(6), Dim(6)}, {}};
  const Attributes attributes = ConvAttributes{{1, 1}, {1, 1}, {0, 0}, {0, 0}, 1, {}};
  OpDesc desc;
  desc.op = Op::kConv;
  desc.attributes = &attributes;
  desc.inputs = {&x, &w, nullptr};
  desc.outputs = {&y};
  desc.constant = {false, true, false};
  EXPECT_ERROR(select(desc, {.reference_only = true}), StatusCode::kUnimplemented,
               "No implementation of operator Conv takes (int32[1, 3, 8, 8], int32[4, 3, 3, 3], none). "
               "reference.conv: the operands are not of one floating-point type.");
  const Result<Selection> all = select(desc, {});
  ASSERT_FALSE(all);
  EXPECT_TRUE(all.error().message().starts_with(
      "No implementation of operator Conv takes (int32[1, 3, 8, 8], int32[4, 3, 3, 3], none). conv."))
      << all.error().message();
}

}  // namespace
}  // namespace weir
