// SPDX-License-Identifier: Apache-2.0
#include "kernels/isa_name.h"

#include "base/testing/results.h"

namespace weir {
namespace {

TEST(Isa, IsNamed) {
  EXPECT_EQ(must(isa_named("")), detect_isa());
  EXPECT_EQ(must(isa_named("", Isa::kAvx2)), Isa::kAvx2);
  EXPECT_EQ(must(isa_named("sse4", Isa::kBaseline)), Isa::kBaseline);
  EXPECT_EQ(must(isa_named("avx2", Isa::kAvx512)), Isa::kAvx2);
  EXPECT_EQ(must(isa_named("avx512", Isa::kAvx512)), Isa::kAvx512);
  EXPECT_ERROR(isa_named("avx512", Isa::kAvx2), StatusCode::kInvalidArgument,
               "This processor has no instruction set 'avx512' (its best: avx2).");
  EXPECT_ERROR(isa_named("avx2", Isa::kBaseline), StatusCode::kInvalidArgument,
               "This processor has no instruction set 'avx2' (its best: sse4).");
  EXPECT_ERROR(isa_named("AVX2"), StatusCode::kInvalidArgument,
               "Instruction set 'AVX2' is not one of (sse4, avx2, avx512).");
}

}  // namespace
}  // namespace weir
