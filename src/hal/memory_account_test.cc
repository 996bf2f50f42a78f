// SPDX-License-Identifier: Apache-2.0
#include "hal/memory_account.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/testing/results.h"

namespace weir {
namespace {

using ::testing::HasSubstr;

TEST(MemoryAccount, CountsCurrentAndPeakByCategory) {
  const Ref<MemoryAccount> account = make_ref<MemoryAccount>("cpu");
  auto a = account->charge(MemoryCategory::kConstants, 100, "weights");
  ASSERT_TRUE(a);
  {
    auto b = account->charge(MemoryCategory::kIo, 30, "input");
    ASSERT_TRUE(b);
    EXPECT_EQ(account->total().current, 130);
    MemoryCharge moved = *std::move(b);
    EXPECT_EQ(moved.bytes(), 30);
    EXPECT_EQ(account->total().current, 130);
  }
  EXPECT_EQ(account->total().current, 100);
  EXPECT_EQ(account->total().peak, 130);
  EXPECT_EQ(account->use(MemoryCategory::kIo).current, 0);
  EXPECT_EQ(account->use(MemoryCategory::kIo).peak, 30);
  EXPECT_EQ(account->use(MemoryCategory::kConstants).current, 100);
  account->reset_peaks();
  EXPECT_EQ(account->total().peak, 100);
  a->reset();
  EXPECT_EQ(account->total().current, 0);
  EXPECT_TRUE(account->holders().empty());
}

TEST(MemoryAccount, RefusesPastTheLimitAndListsTheHoldersLargestFirst) {
  const Ref<MemoryAccount> account = make_ref<MemoryAccount>("cpu", 1000);
  auto small = account->charge(MemoryCategory::kIo, 100, "input");
  auto large = account->charge(MemoryCategory::kConstants, 600, "weights of yolo");
  ASSERT_TRUE(small && large);
  const auto refused = account->charge(MemoryCategory::kActivations, 301, "arena");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), StatusCode::kResourceExhausted);
  const std::string& message = refused.error().message();
  EXPECT_THAT(message,
              HasSubstr("Device 'cpu' has a memory limit of (1000) bytes, of which (700) are held, and "
                        "'arena' asks for (301) more."));
  EXPECT_LT(message.find("'weights of yolo'"), message.find("'input'"));
  EXPECT_EQ(account->total().current, 700);
  EXPECT_TRUE(account->charge(MemoryCategory::kActivations, 300, "arena"));
  account->set_limit(650);
  EXPECT_FALSE(account->charge(MemoryCategory::kOther, 0, "nothing"));
}

TEST(MemoryAccount, RefusesNegativeBytesAndSumsThatWouldOverflow) {
  const Ref<MemoryAccount> account = make_ref<MemoryAccount>("cpu");
  EXPECT_ERROR(account->charge(MemoryCategory::kOther, -1, "x"), StatusCode::kInvalidArgument,
               "'x' asks device 'cpu' for (-1) bytes, and 0 is the least.");
  auto most = account->charge(MemoryCategory::kOther, MemoryAccount::kNoLimit - 1, "most");
  ASSERT_TRUE(most);
  EXPECT_FALSE(account->charge(MemoryCategory::kOther, 2, "more"));
}

TEST(MemoryAccount, LivesAsLongAsSomethingIsCharged) {
  Ref<MemoryAccount> account = make_ref<MemoryAccount>("cpu");
  auto charge = account->charge(MemoryCategory::kOther, 5, "x");
  ASSERT_TRUE(charge);
  account = nullptr;
  EXPECT_EQ(charge->bytes(), 5);
  charge->reset();
  EXPECT_EQ(charge->bytes(), 0);
}

}  // namespace
}  // namespace weir
