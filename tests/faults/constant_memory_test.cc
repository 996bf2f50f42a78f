// SPDX-License-Identifier: Apache-2.0
//
// What is said where there is no memory for a constant that the importer makes or decodes.
#include <gtest/gtest.h>

#include "graph/graph.h"
#include "tests/faults/injector.h"

namespace weir::faults {
namespace {

TEST(ConstantMemoryTest, IsRefusedWithItsSize) {
  std::byte* data = nullptr;
  arm(FaultKind::kAllocate, 0);
  const Result<Constant> refused = Constant::allocate(96, data);
  disarm();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), StatusCode::kResourceExhausted);
  EXPECT_EQ(refused.error().to_string(), "There is no memory for a constant of (96) bytes.");
  const Result<Constant> made = Constant::allocate(96, data);
  ASSERT_TRUE(made);
  EXPECT_EQ(made->bytes().size(), 96u);
  EXPECT_EQ(made->data(), data);
}

}  // namespace
}  // namespace weir::faults
