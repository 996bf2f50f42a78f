// SPDX-License-Identifier: Apache-2.0
#include "kernels/implementation.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "kernels/cpu_features.h"

namespace weir {
namespace {

// A processor with everything and a system that saves everything.
constexpr CpuFeatures kFull = {
    .leaf1_ecx = 0xffffffff, .leaf7_ebx = 0xffffffff, .extended_ecx = 0xffffffff, .xcr0 = 0xe7};

TEST(Isa, NeedsProcessorAndSystem) {
  EXPECT_EQ(isa_of({}), Isa::kBaseline);
  EXPECT_EQ(isa_of(kFull), Isa::kAvx512);
  CpuFeatures features = kFull;
  features.xcr0 = 0x07;  // a system that saves no ZMM state
  EXPECT_EQ(isa_of(features), Isa::kAvx2);
  features.xcr0 = 0x03;  // nor YMM
  EXPECT_EQ(isa_of(features), Isa::kBaseline);
  features = kFull;
  features.leaf1_ecx &= ~(1u << 27);  // OSXSAVE off
  EXPECT_EQ(isa_of(features), Isa::kBaseline);
  features = kFull;
  features.leaf1_ecx &= ~(1u << 12);  // AVX2 without FMA
  EXPECT_EQ(isa_of(features), Isa::kBaseline);
  for (const int feature : {16, 17, 28, 30, 31}) {
    features = kFull;
    features.leaf7_ebx &= ~(1u << feature);
    EXPECT_EQ(isa_of(features), Isa::kAvx2) << feature;
  }
}

TEST(Isa, AgreesWithTheCompilersDetection) {
  const bool avx2 = __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0;
  const bool avx512 =
      avx2 && __builtin_cpu_supports("avx512bw") != 0 && __builtin_cpu_supports("avx512vl") != 0;
  EXPECT_EQ(detect_isa(), avx512 ? Isa::kAvx512 : avx2 ? Isa::kAvx2 : Isa::kBaseline);
  EXPECT_EQ(to_string(Isa::kBaseline), "sse4");
  EXPECT_EQ(to_string(Isa::kAvx512), "avx512");
}

TEST(Registry, IsWellFormed) {
  std::set<std::string_view> names;
  for (const Implementation* implementation : implementations()) {
    SCOPED_TRACE(implementation->name);
    EXPECT_TRUE(names.insert(implementation->name).second) << "the name is taken";
    EXPECT_EQ(find_implementation(implementation->name), implementation);
    EXPECT_TRUE(is_valid(implementation->op));
    EXPECT_NE(implementation->supported, nullptr);
    EXPECT_NE(implementation->extent, nullptr);
    EXPECT_NE(implementation->kernel, nullptr);
    EXPECT_EQ(implementation->reference, implementation->name.starts_with("reference."));
  }
  EXPECT_EQ(find_implementation("conv.invented"), nullptr);
}

TEST(Registry, EndsEachOperatorWithItsReference) {
  std::map<Op, std::vector<const Implementation*>> by_op;
  for (const Implementation* implementation : implementations()) {
    by_op[implementation->op].push_back(implementation);
  }
  for (const auto& [op, list] : by_op) {
    for (const Implementation* implementation : list) {
      EXPECT_EQ(implementation->reference, implementation == list.back()) << implementation->name;
    }
  }
}

}  // namespace
}  // namespace weir
