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

// One whose answers are set from outside, for an input float32[2, 3] and an output like it.
class Answers final : public CustomOperator {
 public:
  Answers() : CustomOperator({.domain = "com.example", .name = "Answers"}) {}
  const Implementation& implementation() const override { std::abort(); }
  void run(const CustomCall&) const override {}

  std::string error() const {
    CustomAttributes custom;
    custom.domain = "com.example";
    custom.name = "Answers";
    custom.outputs = 1;
    const Attributes attributes = custom;
    const std::vector<TensorSpec> operands = {
        TensorSpec::dense(ElementType::kFloat32, std::vector<int64_t>{2, 3})};
    const Result<CustomPrepared> prepared = prepare({Op::kCustom, &attributes, operands, operands}, "step");
    return prepared ? "prepared" : prepared.error().to_string();
  }

  std::vector<TensorType> types = {TensorType{ElementType::kFloat32, {2, 3}, {}}};
  CustomExtent answered;

 protected:
  Result<std::vector<TensorType>> shape(const CustomAttributes&, std::span<const TensorType* const>,
                                        std::string_view, std::vector<Constraint>&) const override {
    return types;
  }
  Result<CustomPlan> plan(const ConcreteOp&, std::string_view) const override { return CustomPlan{}; }
  Result<CustomExtent> extent(const ConcreteOp&, std::string_view) const override { return answered; }
};

TEST(CustomAnswers, ThatAreOutOfRangeAreRefused) {
  const std::string about = "\n  - while asking custom operator com.example.Answers about node 'step'";
  Answers answers;
  EXPECT_EQ(answers.error(), "prepared");
  answers.types.push_back(answers.types[0]);
  EXPECT_EQ(answers.error(), "The shape function gives (2) outputs, and the node has (1)." + about);
  answers.types = {TensorType{ElementType::kFloat32, std::vector<Dim>(9, Dim(1)), {}}};
  EXPECT_EQ(answers.error(), "The shape function gives output (0) rank (9), and (8) is the most." + about);
  answers.types = {TensorType{ElementType::kFloat32, {2, 3}, {}}};
  for (const int64_t tiles : {int64_t{-1}, (int64_t{1} << 40) + 1}) {
    answers.answered.tiles = tiles;
    EXPECT_EQ(
        answers.error(),
        fmt::format("The extent function asks for ({}) tiles, and (0 to 1099511627776) are allowed.", tiles) +
            about);
  }
  answers.answered.tiles = 1;
  for (const int64_t bytes : {int64_t{-1}, int64_t{kMaxCustomParameterBytes} + 1}) {
    answers.answered.parameter_bytes = bytes;
    EXPECT_EQ(answers.error(),
              fmt::format("The extent function gives ({}) bytes of parameters, and (0 to {}) are allowed.",
                          bytes, kMaxCustomParameterBytes) +
                  about);
  }
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
