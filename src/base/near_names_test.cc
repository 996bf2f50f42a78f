// SPDX-License-Identifier: Apache-2.0
#include "base/near_names.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace weir {
namespace {

TEST(NearNames, TheNearestComeFirst) {
  const std::vector<std::string_view> known = {"fc.weight", "fc.bias", "conv1.weight", "fc.weights", "", "x"};
  EXPECT_EQ(near_names("fc.weigth", known), "; near it: 'fc.weight', 'fc.weights'");
  EXPECT_EQ(near_names("FC.BIAS", known), "; near it: 'fc.bias'");
  EXPECT_EQ(near_names("conv1", known), "; near it: 'conv1.weight'");  // a part of it
  EXPECT_EQ(near_names("anything else", known), "");
  EXPECT_EQ(near_names("fc.weight", {}), "");
  EXPECT_EQ(near_names(std::string(100000, 'x'), known), "");
}

TEST(NearNames, ThreeAreTheMost) {
  const std::vector<std::string_view> known = {"layer1", "layer2", "layer3", "layer4"};
  EXPECT_EQ(near_names("layer9", known), "; near it: 'layer1', 'layer2', 'layer3'");
}

}  // namespace
}  // namespace weir
