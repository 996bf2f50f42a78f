// SPDX-License-Identifier: Apache-2.0
//
// Elementwise programs: every operation, every way that operands lie.
#include <numbers>

#include "kernels/cpu/elementwise/tile_code.h"
#include "kernels/cpu/kernel_testing.h"

namespace weir {
namespace {

constexpr ElementType kF32 = ElementType::kFloat32;
constexpr ElementType kI32 = ElementType::kInt32;
constexpr ElementType kI64 = ElementType::kInt64;
constexpr ElementType kU8 = ElementType::kUint8;
constexpr ElementType kBool = ElementType::kBool;
constexpr Tolerance kClose = {.relative = 1e-6, .absolute = 1e-6};

Attributes attributes(TileProgram program) {
  return ElementwiseAttributes{std::move(program)};
}

TileProgram single(ScalarOp op, const std::vector<ElementType>& types, double v0 = 0, double v1 = 0) {
  TileProgram program(types);
  switch (types.size()) {
    case 1:
      program.append(op, {0}, v0, v1);
      break;
    case 2:
      program.append(op, {0, 1}, v0, v1);
      break;
    default:
      program.append(op, {0, 1, 2}, v0, v1);
      break;
  }
  return program;
}

TEST(Elementwise, UnaryFloatOperations) {
  for (int64_t count : {1, 3, 16, 1029, 20011}) {
    for (ScalarOp op :
         {ScalarOp::kSqrt, ScalarOp::kErf, ScalarOp::kExp, ScalarOp::kLog, ScalarOp::kTanh, ScalarOp::kNeg,
          ScalarOp::kAbs, ScalarOp::kReciprocal, ScalarOp::kFloor, ScalarOp::kCeil, ScalarOp::kRelu,
          ScalarOp::kClip, ScalarOp::kSigmoid, ScalarOp::kHardSigmoid, ScalarOp::kHardSwish, ScalarOp::kSilu,
          ScalarOp::kGelu, ScalarOp::kLeakyRelu, ScalarOp::kRound}) {
      SCOPED_TRACE(to_string(op));
      const double v0 = op == ScalarOp::kClip ? -1 : 0.3;
      const double v1 = op == ScalarOp::kClip ? 1.5 : 0.5;
      const TensorSpec spec = make_spec(kF32, {count});
      KernelCase(Op::kElementwise, attributes(single(op, {kF32}, v0, v1)))
          .input(spec)
          .output(spec)
          .check(kClose);
    }
  }
}

TEST(Elementwise, SpecialFloatsFollowTheReference) {
  const auto special = [](const TensorSpec&, std::byte* data, int64_t bytes, int input) {
    const float values[] = {NAN,  -NAN,  INFINITY, -INFINITY, 0.0f,    -0.0f,
                            1.5f, -2.5f, 0.5f,     3.4e38f,   -3.4e38f};
    for (int64_t i = 0; i < bytes / 4; ++i) {
      const float value = values[(input == 0 ? i : i / 11) % 11];
      std::memcpy(data + 4 * i, &value, 4);
    }
  };
  const TensorSpec spec = make_spec(kF32, {121});
  for (ScalarOp op : {ScalarOp::kMin, ScalarOp::kMax, ScalarOp::kAdd, ScalarOp::kMul, ScalarOp::kDiv}) {
    KernelCase(Op::kElementwise, attributes(single(op, {kF32, kF32})))
        .input(spec)
        .input(spec)
        .output(spec)
        .fill(special)
        .check(kClose);
  }
  for (ScalarOp op : {ScalarOp::kRelu, ScalarOp::kClip, ScalarOp::kLeakyRelu, ScalarOp::kHardSwish,
                      ScalarOp::kTanh, ScalarOp::kErf, ScalarOp::kSigmoid, ScalarOp::kExp, ScalarOp::kLog,
                      ScalarOp::kRound, ScalarOp::kSqrt, ScalarOp::kHardSigmoid}) {
    SCOPED_TRACE(to_string(op));
    KernelCase(Op::kElementwise, attributes(single(op, {kF32}, 0.1, 0.7)))
        .input(spec)
        .output(spec)
        .fill(special)
        .check(kClose);
  }
  const TensorSpec flags = make_spec(kBool, {121});
  for (ScalarOp op : {ScalarOp::kEqual, ScalarOp::kLess, ScalarOp::kLessOrEqual, ScalarOp::kGreater,
                      ScalarOp::kGreaterOrEqual}) {
    KernelCase(Op::kElementwise, attributes(single(op, {kF32, kF32})))
        .input(spec)
        .input(spec)
        .output(flags)
        .fill(special)
        .check();
  }
  for (ElementType to : {kI32, kI64, kBool, kU8, ElementType::kInt8}) {
    TileProgram program({kF32});
    program.append_cast(0, to);
    KernelCase(Op::kElementwise, attributes(program))
        .input(spec)
        .output(make_spec(to, {121}))
        .fill(special)
        .check();
  }
}

TEST(Elementwise, BinaryOperationsBroadcast) {
  // Pairs of operand shapes (with the order of their axes in memory) and the output's.
  struct Shapes {
    TensorSpec a, b, y;
  };
  const std::vector<int> last = {0, 2, 3, 1};
  const std::vector<Shapes> cases = {
      {make_spec(kF32, {7}), make_spec(kF32, {7}), make_spec(kF32, {7})},
      {make_spec(kF32, {2, 5, 9}), make_spec(kF32, {}), make_spec(kF32, {2, 5, 9})},
      {make_spec(kF32, {}), make_spec(kF32, {}), make_spec(kF32, {})},
      {make_spec(kF32, {2, 5, 9}), make_spec(kF32, {9}), make_spec(kF32, {2, 5, 9})},
      {make_spec(kF32, {2, 1, 9}), make_spec(kF32, {5, 1}), make_spec(kF32, {2, 5, 9})},
      {make_spec(kF32, {3, 2000}), make_spec(kF32, {3, 1}), make_spec(kF32, {3, 2000})},
      {make_spec(kF32, {3, 2000}), make_spec(kF32, {2000}), make_spec(kF32, {3, 2000})},
      {make_spec(kF32, {40, 17, 13}), make_spec(kF32, {40, 1, 13}), make_spec(kF32, {40, 17, 13})},
      // channels last: a scale of channels, and one of pixels
      {make_spec(kF32, {2, 19, 6, 7}, last), make_spec(kF32, {2, 19, 1, 1}, last),
       make_spec(kF32, {2, 19, 6, 7}, last)},
      {make_spec(kF32, {2, 19, 6, 7}, last), make_spec(kF32, {1, 19, 1, 1}),
       make_spec(kF32, {2, 19, 6, 7}, last)},
      {make_spec(kF32, {2, 19, 6, 7}, last), make_spec(kF32, {2, 1, 6, 7}),
       make_spec(kF32, {2, 19, 6, 7}, last)},
      // one operand in the other order
      {make_spec(kF32, {2, 45, 6, 7}, last), make_spec(kF32, {2, 45, 6, 7}),
       make_spec(kF32, {2, 45, 6, 7}, last)},
      {make_spec(kF32, {2, 45, 6, 7}, last), make_spec(kF32, {2, 45, 6, 7}, last),
       make_spec(kF32, {2, 45, 6, 7})},
      // an image's colours, from one order to the other
      {make_spec(kF32, {1, 3, 40, 51}), make_spec(kF32, {3, 1, 1}), make_spec(kF32, {1, 3, 40, 51}, last)},
      {make_spec(kF32, {1, 3, 40, 51}, last), make_spec(kF32, {3, 1, 1}), make_spec(kF32, {1, 3, 40, 51})},
      // part of a larger tensor
      {with_gap(make_spec(kF32, {2, 19, 6, 7}, last), 5), make_spec(kF32, {2, 19, 6, 7}, last),
       with_gap(make_spec(kF32, {2, 19, 6, 7}, last), 3)},
      {with_gap(make_spec(kF32, {3, 1500}), 1), make_spec(kF32, {3, 1500}), make_spec(kF32, {3, 1500})},
      {make_spec(kF32, {0, 4}), make_spec(kF32, {4}), make_spec(kF32, {0, 4})},
  };
  for (const Shapes& shapes : cases) {
    for (ScalarOp op : {ScalarOp::kSub, ScalarOp::kDiv}) {
      KernelCase(Op::kElementwise, attributes(single(op, {kF32, kF32})))
          .input(shapes.a)
          .input(shapes.b)
          .output(shapes.y)
          .check(kClose);
    }
  }
}

TEST(Elementwise, StridedInnerAxes) {
  TensorSpec every_other = make_spec(kF32, {5, 31});
  every_other.strides = {70, 2};
  TensorSpec expanded = make_spec(kF32, {5, 31});
  expanded.strides = {0, 1};
  for (const TensorSpec& a : {every_other, expanded, make_spec(kF32, {5, 31})}) {
    for (const TensorSpec& y : {every_other, make_spec(kF32, {5, 31}), make_spec(kF32, {5, 31}, {1, 0})}) {
      KernelCase(Op::kElementwise, attributes(single(ScalarOp::kAdd, {kF32, kF32})))
          .input(a)
          .input(every_other)
          .output(y)
          .check(kClose);
    }
  }
}

TEST(Elementwise, InPlace) {
  for (int64_t count : {5, 1000, 30001}) {
    TileProgram program({kF32, kF32});
    const int sum = program.append(ScalarOp::kAdd, {0, 1});
    const int gate = program.append(ScalarOp::kSigmoid, {sum});
    program.append(ScalarOp::kMul, {0, gate});
    for (int input : {0, 1}) {
      const TensorSpec spec = make_spec(kF32, {count});
      KernelCase(Op::kElementwise, attributes(program))
          .input(spec)
          .input(spec)
          .output(spec)
          .in_place(input)
          .check(kClose);
      KernelCase(Op::kElementwise, attributes(single(ScalarOp::kMul, {kF32, kF32})))
          .input(spec)
          .input(spec)
          .output(spec)
          .in_place(input)
          .check(kClose);
    }
    const TensorSpec image = with_gap(make_spec(kF32, {2, 11, count / 5, 5}, {0, 2, 3, 1}), 2);
    KernelCase(Op::kElementwise, attributes(single(ScalarOp::kMul, {kF32, kF32})))
        .input(make_spec(kF32, {11, 1, 1}))
        .input(image)
        .output(image)
        .in_place(1)
        .check(kClose);
  }
}

TEST(Elementwise, ChainsReuseRegisters) {
  // GELU as exporters write it, with operands that live long.
  TileProgram program({kF32, kF32});
  const int scaled = program.append(ScalarOp::kDiv, {0, program.immediate(std::numbers::sqrt2)});
  const int error = program.append(ScalarOp::kErf, {scaled});
  const int plus = program.append(ScalarOp::kAdd, {error, program.immediate(1)});
  const int product = program.append(ScalarOp::kMul, {0, plus});
  const int half = program.append(ScalarOp::kMul, {product, program.immediate(0.5)});
  const int positive = program.append(ScalarOp::kGreater, {half, 1});
  const int either = program.append(ScalarOp::kWhere, {positive, half, scaled});
  const int flag = program.append_cast(positive, kF32);
  const int square = program.append(ScalarOp::kPow, {either, program.immediate(2)});
  const int cube =
      program.append(ScalarOp::kPow, {program.append(ScalarOp::kAbs, {either}), program.immediate(3)});
  const int sum = program.append(ScalarOp::kAdd, {square, cube});
  const int biased = program.append(ScalarOp::kAdd, {sum, flag});
  program.append(ScalarOp::kMax, {biased, scaled});
  EXPECT_LE(make_tile_code(program).slot_count, 4);
  for (int64_t count : {1, 1023, 5000}) {
    const TensorSpec spec = make_spec(kF32, {3, count});
    KernelCase(Op::kElementwise, attributes(program))
        .input(spec)
        .input(make_spec(kF32, {3, 1}))
        .output(spec)
        .check({.relative = 2e-6, .absolute = 1e-6});
  }
}

TEST(Elementwise, Integers) {
  for (ElementType type : {kI32, kI64, kU8, ElementType::kInt8}) {
    const TensorSpec spec = make_spec(type, {2, 333});
    for (ScalarOp op :
         {ScalarOp::kAdd, ScalarOp::kSub, ScalarOp::kMul, ScalarOp::kDiv, ScalarOp::kMin, ScalarOp::kMax}) {
      KernelCase(Op::kElementwise, attributes(single(op, {type, type})))
          .input(spec)
          .input(make_spec(type, {333}))
          .output(spec)
          .check();
    }
    for (ScalarOp op : {ScalarOp::kNeg, ScalarOp::kAbs, ScalarOp::kRelu, ScalarOp::kClip}) {
      KernelCase(Op::kElementwise, attributes(single(op, {type}, 3, 9))).input(spec).output(spec).check();
    }
    for (ScalarOp op : {ScalarOp::kEqual, ScalarOp::kLess, ScalarOp::kGreaterOrEqual}) {
      KernelCase(Op::kElementwise, attributes(single(op, {type, type})))
          .input(spec)
          .input(make_spec(type, {2, 1}))
          .output(make_spec(kBool, {2, 333}))
          .check();
    }
    KernelCase(Op::kElementwise, attributes(single(ScalarOp::kWhere, {kBool, type, type})))
        .input(make_spec(kBool, {2, 333}))
        .input(spec)
        .input(make_spec(type, {1}))
        .output(spec)
        .check();
    for (ElementType to : {kF32, kI32, kI64, kBool, kU8}) {
      TileProgram program({type});
      program.append_cast(0, to);
      KernelCase(Op::kElementwise, attributes(program)).input(spec).output(make_spec(to, {2, 333})).check();
    }
  }
  const TensorSpec base = make_spec(kI64, {41});
  KernelCase(Op::kElementwise, attributes(single(ScalarOp::kPow, {kI64, kI64})))
      .input(base)
      .input(base)
      .output(base)
      .check();
}

TEST(Elementwise, LogicAndSelection) {
  const TensorSpec flags = make_spec(kBool, {4, 77});
  for (ScalarOp op : {ScalarOp::kAnd, ScalarOp::kOr, ScalarOp::kEqual}) {
    KernelCase(Op::kElementwise, attributes(single(op, {kBool, kBool})))
        .input(flags)
        .input(make_spec(kBool, {77}))
        .output(flags)
        .check();
  }
  KernelCase(Op::kElementwise, attributes(single(ScalarOp::kNot, {kBool})))
      .input(flags)
      .output(flags)
      .check();
  // A mask: where(mask, x, −∞) with a broadcast mask.
  TileProgram mask({kBool, kF32});
  mask.append(ScalarOp::kWhere, {0, 1, mask.immediate(-INFINITY)});
  KernelCase(Op::kElementwise, attributes(mask))
      .input(make_spec(kBool, {5, 1, 1, 33}))
      .input(make_spec(kF32, {5, 4, 33, 33}))
      .output(make_spec(kF32, {5, 4, 33, 33}))
      .check();
}

TEST(Elementwise, ProgramsWithoutInstructionsOrInputs) {
  const TensorSpec spec = make_spec(kF32, {3, 70}, {1, 0});
  KernelCase(Op::kElementwise, attributes(TileProgram({kF32})))
      .input(make_spec(kF32, {3, 70}))
      .output(spec)
      .check();
  TileProgram constant(std::vector<ElementType>{kI64});
  constant.immediate(7, kI64);
  KernelCase(Op::kElementwise, attributes(constant))
      .input(make_spec(kI64, {3}))
      .output(make_spec(kI64, {3}))
      .check();
}

TEST(Elementwise, SmallTensorsAreOneTile) {
  const ElementwiseAttributes add{single(ScalarOp::kAdd, {kF32, kF32})};
  const Attributes held = add;
  for (const auto& [count, least, most] :
       std::vector<std::array<int64_t, 3>>{{100, 1, 1}, {8000, 1, 1}, {1 << 20, 16, 1024}}) {
    const std::vector<TensorSpec> inputs(2, make_spec(kF32, {count}));
    const std::vector<TensorSpec> outputs(1, make_spec(kF32, {count}));
    alignas(64) std::array<std::byte, kMaxKernelConstants> constants;
    const Implementation* implementation = find_implementation("elementwise.tile.avx2");
    ASSERT_NE(implementation, nullptr);
    const Extent extent = implementation->extent({Op::kElementwise, &held, inputs, outputs}, constants);
    EXPECT_GE(extent.tiles, least);
    EXPECT_LE(extent.tiles, most);
  }
}

// A part of a wider whole, which a batch of none leaves without columns or without rows.
TEST(Elementwise, TransposedPartsWithoutElements) {
  for (const std::vector<int64_t>& shape : {std::vector<int64_t>{4, 0}, {0, 4}, {3, 4, 0}}) {
    TensorSpec x = make_spec(kF32, shape);
    TensorSpec y = x;
    int64_t x_stride = 1;
    int64_t y_stride = 1;
    for (int i = 0; i < x.rank; ++i) {
      x.strides[i] = x_stride;
      x_stride *= shape[i] + 5;
      y.strides[x.rank - 1 - i] = y_stride;
      y_stride *= shape[x.rank - 1 - i] + 5;
    }
    KernelCase(Op::kElementwise, attributes(single(ScalarOp::kNeg, {kF32}))).input(x).output(y).check();
  }
}

}  // namespace
}  // namespace weir
