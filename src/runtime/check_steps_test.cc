// SPDX-License-Identifier: Apache-2.0
//
// Programs that were compiled for other kernels than this build has: what a step asks of an implementation
// and does not get.
#include "runtime/check_steps.h"

#include "base/testing/results.h"
#include "program/testing/sample_programs.h"

namespace weir {
namespace {

constexpr const char* kId = "f32.panel16.k8.n3";

std::vector<PackRequest> packs_weights(const OpDesc&) {
  return {{1, kId, 256, {}}};
}

// y = x·W, W[8, 3] packed in 256 bytes.
class StepChecks : public ::testing::Test {
 protected:
  StepChecks() {
    samples::Builder b;
    const int32_t x_at = b.storage({StorageKind::kInput, b.number(160), 0, 0, -1, 0, "", 0});
    const int32_t packed = b.storage({StorageKind::kConstant, b.number(256), 0, 0, 0, -1, kId, 0});
    const int32_t y_at = b.storage({StorageKind::kOutput, b.number(60), 0, 0, -1, 0, "", 0});
    const int32_t x = b.dense("x", ElementType::kFloat32, {5, 8}, x_at);
    const int32_t w = b.dense("w", ElementType::kFloat32, {8, 3}, -1);
    const int32_t y = b.dense("y", ElementType::kFloat32, {5, 3}, y_at);
    b.program.steps.push_back(b.step("product", Op::kMatMul, MatMulAttributes{}, {x, w}, {y}, "fast"));
    b.program.steps[0].packed = {{1, packed}};
    b.program.constant_bytes = 256;
    program_ = b.program;
    fast_.name = "fast";
    fast_.op = Op::kMatMul;
    fast_.supported = [](const OpDesc&) { return Support{}; };
    fast_.pack = packs_weights;
  }
  Result<std::vector<PackRequest>> check() const {
    return must(StepChecker::create(program_)).check(program_.steps[0], fast_);
  }
  Program program_;
  Implementation fast_;
};

TEST_F(StepChecks, GiveWhatIsPacked) {
  const std::vector<PackRequest> packs = must(check());
  ASSERT_EQ(packs.size(), 1U);
  EXPECT_EQ(packs[0].id, kId);
}

TEST_F(StepChecks, SayWhatTheImplementationDoesNotTake) {
  fast_.op = Op::kConv;
  EXPECT_ERROR(check(), StatusCode::kDataLoss,
               "Implementation 'fast' runs operator Conv, and the step is MatMul.");
  fast_.op = Op::kMatMul;
  fast_.supported = [](const OpDesc&) { return Support{"the rows are odd"}; };
  EXPECT_ERROR(check(), StatusCode::kDataLoss, "Implementation 'fast' refuses the step: the rows are odd.");
}

TEST_F(StepChecks, SayWhichStridesAreNotTaken) {
  fast_.layouts = [](const OpDesc&) {
    return std::vector{LayoutRule::kRowMajor, LayoutRule::kRowMajor, LayoutRule::kRowMajor};
  };
  must(check());
  std::swap(program_.tensors[0].strides[0], program_.tensors[0].strides[1]);
  EXPECT_ERROR(check(), StatusCode::kDataLoss,
               "Operand (0) lies with strides (1, 8), which implementation 'fast' does not take.");
  std::swap(program_.tensors[0].strides[0], program_.tensors[0].strides[1]);
  std::swap(program_.tensors[2].strides[0], program_.tensors[2].strides[1]);
  EXPECT_ERROR(check(), StatusCode::kDataLoss,
               "Operand (2) lies with strides (1, 3), which implementation 'fast' does not take.");
}

TEST_F(StepChecks, SayHowOperandsAreToBePacked) {
  program_.storages[1].pack_id = "f32.panel8.k8.n3";
  EXPECT_ERROR(
      check(), StatusCode::kDataLoss,
      "Operand (1) is packed as 'f32.panel8.k8.n3' (256 bytes), and implementation 'fast' wants it as "
      "'f32.panel16.k8.n3' (256 bytes).");
  program_.storages[1].pack_id = kId;
  program_.steps[0].packed[0].input = 0;
  EXPECT_ERROR(
      check(), StatusCode::kDataLoss,
      "Operand (1) is not packed, and implementation 'fast' wants it packed as 'f32.panel16.k8.n3'.");
  program_.steps[0].packed.clear();
  EXPECT_ERROR(check(), StatusCode::kDataLoss,
               "Implementation 'fast' packs (1) operands, and the step has (0) packed.");
}

}  // namespace
}  // namespace weir
