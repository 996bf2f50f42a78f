// SPDX-License-Identifier: Apache-2.0
//
// What CustomOperator and CustomOperators answer about steps of programs that were made up.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "op/custom_operator.h"

namespace weir {
namespace {

using ::testing::HasSubstr;

// Two outputs like its input.
class Twice final : public CustomOperator {
 public:
  explicit Twice(std::string name = "Twice", int64_t version = 1)
      : CustomOperator({.domain = "com.example",
                        .name = std::move(name),
                        .version = version,
                        .min_outputs = 1,
                        .max_outputs = 2}) {}
  const Implementation& implementation() const override { std::abort(); }  // not asked here
  void run(const CustomCall&) const override {}

 protected:
  Result<std::vector<TensorType>> shape(const CustomAttributes& attributes,
                                        std::span<const TensorType* const> inputs, std::string_view,
                                        std::vector<Constraint>&) const override {
    return std::vector<TensorType>(static_cast<size_t>(attributes.outputs),
                                   TensorType{inputs[0]->element_type, inputs[0]->shape, {}});
  }
  Result<CustomPlan> plan(const ConcreteOp&, std::string_view) const override {
    return CustomPlan{.workspace_bytes = 10, .workspace_alignment = 256, .scratch_bytes = 0};
  }
  Result<CustomExtent> extent(const ConcreteOp&, std::string_view) const override { return CustomExtent{}; }
};

std::string preparing(int64_t declared, size_t outputs, std::vector<int64_t> output = {2, 3}) {
  const Twice twice;
  CustomAttributes custom;
  custom.domain = "com.example";
  custom.name = "Twice";
  custom.outputs = declared;
  const Attributes attributes = custom;
  const std::vector<TensorSpec> inputs = {
      TensorSpec::dense(ElementType::kFloat32, std::vector<int64_t>{2, 3})};
  const std::vector<TensorSpec> given(outputs, TensorSpec::dense(ElementType::kFloat32, output));
  const Result<CustomPrepared> prepared = twice.prepare({Op::kCustom, &attributes, inputs, given}, "step");
  if (!prepared) {
    return prepared.error().message();
  }
  EXPECT_EQ(prepared->plan.workspace_alignment, 256);
  EXPECT_EQ(prepared->workspace_room(), 10 + 256 - 64);
  return "prepared";
}

TEST(CustomAnswers, StepsHaveTheOutputsThatTheirOperatorGives) {
  EXPECT_EQ(preparing(2, 2), "prepared");
  EXPECT_EQ(preparing(1, 1), "prepared");
  EXPECT_EQ(preparing(2, 1), "The step has (1) outputs, and com.example.Twice gives it (2).");
  EXPECT_EQ(preparing(1, 2), "The step has (2) outputs, and com.example.Twice gives it (1).");
  EXPECT_THAT(preparing(3, 3),
              HasSubstr("The node has (3) outputs, and com.example.Twice gives from (1) to (2)."));
  EXPECT_THAT(preparing(1, 1, {2, 2}), HasSubstr("Output (0) has the type (float32[2, 2]) in the program"));
}

TEST(CustomAnswers, ListsAreFoundByNameAndTold) {
  const auto one = CustomOperators::with(nullptr, std::make_shared<Twice>("B", 3)).value();
  const auto two = CustomOperators::with(one.get(), std::make_shared<Twice>("A")).value();
  EXPECT_EQ(one->all().size(), 1U);
  EXPECT_EQ(two->find("com.example", "B")->full_name(), "com.example.B");
  EXPECT_EQ(two->find("com.example", "C"), nullptr);
  EXPECT_EQ(two->find("", "B"), nullptr);
  EXPECT_EQ(two->text(),
            " operator com.example.A version 1 opset 1..9223372036854775807"
            " operator com.example.B version 3 opset 1..9223372036854775807");
  EXPECT_EQ(CustomOperators::with(two.get(), std::make_shared<Twice>("B")).error().code(),
            StatusCode::kAlreadyExists);
}

}  // namespace
}  // namespace weir
