// SPDX-License-Identifier: Apache-2.0
//
// LSTM: directions, lengths, states, odd sizes, more steps than a chunk.
#include "kernels/cpu/kernel_testing.h"

namespace weir {
namespace {

constexpr ElementType kF32 = ElementType::kFloat32;

struct Sizes {
  int64_t steps, batch, features, hidden;
};

// Weights small enough that gates do not saturate; lengths as given, one a sequence.
KernelCase::Fill fill_with(const Sizes& sizes, const std::vector<int64_t>& lengths) {
  return [sizes, lengths](const TensorSpec& spec, std::byte* data, int64_t bytes, int input) {
    std::mt19937 generator(static_cast<unsigned>(3 + input));
    if (spec.type != kF32) {
      for (int64_t i = 0; i < sizes.batch; ++i) {
        const int64_t wide = lengths[static_cast<size_t>(i)];
        const int32_t narrow = static_cast<int32_t>(wide);
        if (spec.type == ElementType::kInt64) {
          std::memcpy(data + 8 * i, &wide, 8);
        } else {
          std::memcpy(data + 4 * i, &narrow, 4);
        }
      }
      return;
    }
    const float scale = input == 1   ? 1.0f / std::sqrt(static_cast<float>(sizes.features))
                        : input == 2 ? 1.0f / std::sqrt(static_cast<float>(sizes.hidden))
                                     : 1.0f;
    std::normal_distribution<float> normal(0, scale);
    for (int64_t i = 0; i < bytes / 4; ++i) {
      const float value = normal(generator);
      std::memcpy(data + 4 * i, &value, 4);
    }
  };
}

void check(const Sizes& sizes, LstmDirection direction, bool bias, bool states,
           const std::vector<int64_t>& lengths, ElementType length_type = ElementType::kInt32,
           int outputs = 7) {
  const int64_t d = direction == LstmDirection::kBidirectional ? 2 : 1;
  const auto& [t, b, i, h] = sizes;
  const TensorSpec state = make_spec(kF32, {d, b, h});
  KernelCase test(Op::kLstm, LstmAttributes{direction, h});
  test.input(with_gap(make_spec(kF32, {t, b, i}), 2))
      .input(make_spec(kF32, {d, 4 * h, i}))
      .input(make_spec(kF32, {d, 4 * h, h}))
      .input(bias ? make_spec(kF32, {d, 8 * h}) : absent_operand())
      .input(lengths.empty() ? absent_operand() : make_spec(length_type, {b}))
      .input(states ? state : absent_operand())
      .input(states ? with_gap(state, 1) : absent_operand())
      .output((outputs & 1) != 0 ? make_spec(kF32, {t, d, b, h}, {2, 0, 1, 3}) : absent_operand())
      .output((outputs & 2) != 0 ? state : absent_operand())
      .output((outputs & 4) != 0 ? with_gap(state, 3) : absent_operand())
      .fill(fill_with(sizes, lengths))
      .constants();
  for (int64_t length : lengths) {
    if (length < 0 || length > t) test.faults();
  }
  test.check({.relative = 1e-5, .absolute = 5e-6});
}

TEST(Lstm, SizesAndDirections) {
  for (LstmDirection direction :
       {LstmDirection::kForward, LstmDirection::kReverse, LstmDirection::kBidirectional}) {
    check({1, 1, 128, 128}, direction, true, true, {});
    check({7, 1, 5, 3}, direction, true, false, {});
    check({9, 2, 17, 16}, direction, false, true, {});
    check({4, 3, 16, 40}, direction, true, true, {});
    check({3, 6, 33, 20}, direction, true, true, {});
    check({5, 9, 8, 33}, direction, true, false, {});
  }
}

TEST(Lstm, MoreStepsThanAChunk) {
  check({200, 1, 24, 80}, LstmDirection::kBidirectional, true, true, {});
  check({150, 4, 10, 64}, LstmDirection::kForward, true, false, {});
}

TEST(Lstm, Lengths) {
  for (LstmDirection direction :
       {LstmDirection::kForward, LstmDirection::kReverse, LstmDirection::kBidirectional}) {
    check({6, 5, 11, 19}, direction, true, true, {6, 0, 3, 1, 5});
    check({6, 2, 11, 19}, direction, true, false, {2, 4}, ElementType::kInt64);
    check({6, 2, 11, 19}, direction, true, false, {9, -1}, ElementType::kInt64);
  }
}

TEST(Lstm, AbsentOutputs) {
  for (int outputs : {1, 2, 4}) {
    check({5, 2, 6, 18}, LstmDirection::kBidirectional, true, true, {}, ElementType::kInt32, outputs);
  }
}

// Weights of which the bytes are equal and the strides are not give different packed ones.
TEST(Lstm, PackIdsTellLayoutsApart) {
  const Attributes attributes = LstmAttributes{LstmDirection::kForward, 4};
  const TensorType x{kF32, {2, 1, 8}, {}};
  const TensorType r{kF32, {1, 16, 4}, {}};
  const TensorType y{kF32, {2, 1, 1, 4}, {}};
  const auto id = [&](const TensorType& weights) {
    const OpDesc desc{.op = Op::kLstm,
                      .attributes = &attributes,
                      .inputs = {&x, &weights, &r},
                      .outputs = {&y},
                      .constant = {false, true, true}};
    for (const Implementation* implementation : implementations()) {
      if (implementation->op == Op::kLstm && implementation->pack != nullptr) {
        return implementation->pack(desc)[0].id;
      }
    }
    return std::string();
  };
  TensorType weights{kF32, {1, 16, 8}, {}};
  const std::string dense = id(weights);
  weights.strides = dense_strides(weights.shape);
  EXPECT_EQ(id(weights), dense);
  const int columns_first[] = {0, 2, 1};
  weights.strides = dense_strides(weights.shape, columns_first);
  EXPECT_NE(id(weights), dense);
}

}  // namespace
}  // namespace weir
