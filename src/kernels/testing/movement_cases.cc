// SPDX-License-Identifier: Apache-2.0
//
// Cases of what moves or makes elements: Reshape, Transpose, Slice, Concat, Expand, Copy, Gather, Fill, Range
// and DimTensor.
#include "kernels/testing/case_builder.h"

namespace weir::testing {
namespace {

Values values_of(ElementType type) {
  return is_floating_point(type) ? Values{} : type == ElementType::kBool ? Values{0, 2} : Values{0, 100};
}

OpCase make(Op op, const std::string& name, Attributes attributes, std::vector<OperandCase> inputs,
            const Shape& y, ElementType type, std::vector<Arrangement> arrangements) {
  OpCase test;
  test.op = op;
  test.name = name + "_" + text_of(y) + "_" + std::string(weir::to_string(type));
  test.attributes = std::move(attributes);
  test.inputs = std::move(inputs);
  test.outputs = {operand(type, y)};
  test.arrangements = std::move(arrangements);
  return test;
}

}  // namespace

void add_movement_cases(std::vector<OpCase>& cases) {
  const std::vector<Arrangement> all = {Arrangement::kDense,     Arrangement::kChannelsLast,
                                        Arrangement::kSliced,    Arrangement::kStrided,
                                        Arrangement::kBroadcast, Arrangement::kTransposed};
  const std::vector<Arrangement> some = {Arrangement::kDense, Arrangement::kTransposed};
  const std::vector<ElementType> types = {kF32, kI64, ElementType::kFloat16, ElementType::kUint8,
                                          ElementType::kBool};

  for (const ElementType type : types) {
    const auto x = [&](const Shape& shape) { return operand(type, shape, values_of(type)); };
    const auto add = [&](Op op, const std::string& name, Attributes attributes,
                         std::vector<OperandCase> inputs, const Shape& y,
                         const std::vector<Arrangement>& arrangements) {
      cases.push_back(make(op, name, std::move(attributes), std::move(inputs), y, type,
                           type == kF32 ? arrangements : some));
    };
    add(Op::kCopy, "copy", NoAttributes{}, {x({2, 5, 3, 7})}, {2, 5, 3, 7}, all);
    add(Op::kCopy, "copy", NoAttributes{}, {x({1, 33, 9, 17})}, {1, 33, 9, 17}, all);
    add(Op::kCopy, "copy", NoAttributes{}, {x({1000})}, {1000}, all);
    add(Op::kCopy, "copy", NoAttributes{}, {x({})}, {}, some);
    add(Op::kCopy, "copy", NoAttributes{}, {x({0, 4})}, {0, 4}, some);
    add(Op::kCopy, "copy", NoAttributes{}, {x({2, 2, 3, 2, 2, 2})}, {2, 2, 3, 2, 2, 2}, all);
    add(Op::kReshape, "reshape", NoAttributes{}, {x({2, 6, 4})}, {2, 3, 8}, all);
    add(Op::kReshape, "reshape", NoAttributes{}, {x({1, 24, 3, 5})}, {1, 24, 15}, all);
    add(Op::kReshape, "reshape", NoAttributes{}, {x({3, 4})}, {12}, all);
    add(Op::kReshape, "reshape", NoAttributes{}, {x({1})}, {}, some);
    add(Op::kReshape, "reshape", NoAttributes{}, {x({5, 0})}, {0, 7}, some);
    add(Op::kTranspose, "transpose_0231", TransposeAttributes{{0, 2, 3, 1}}, {x({2, 5, 3, 7})}, {2, 3, 7, 5},
        all);
    add(Op::kTranspose, "transpose_0312", TransposeAttributes{{0, 3, 1, 2}}, {x({1, 6, 5, 17})},
        {1, 17, 6, 5}, all);
    add(Op::kTranspose, "transpose_0213", TransposeAttributes{{0, 2, 1, 3}}, {x({2, 3, 4, 15})},
        {2, 4, 3, 15}, all);
    add(Op::kTranspose, "transpose_10", TransposeAttributes{{1, 0}}, {x({33, 18})}, {18, 33}, all);
    add(Op::kTranspose, "transpose_20314", TransposeAttributes{{2, 0, 3, 1, 4}}, {x({1, 4, 3, 2, 15})},
        {3, 1, 2, 4, 15}, some);
    add(Op::kTranspose, "transpose_012", TransposeAttributes{{0, 1, 2}}, {x({2, 3, 4})}, {2, 3, 4}, some);
    add(Op::kSlice, "slice_channels", SliceAttributes{{0, 3, 0, 0}, {1, 1, 1, 1}}, {x({2, 9, 3, 5})},
        {2, 4, 3, 5}, all);
    add(Op::kSlice, "slice_backwards", SliceAttributes{{4, 0}, {-2, 3}}, {x({5, 10})}, {3, 4}, all);
    add(Op::kSlice, "slice_first_axis", SliceAttributes{{1, 0, 0}, {1, 1, 1}}, {x({3, 4, 15})}, {1, 4, 15},
        all);
    add(Op::kSlice, "slice_nothing", SliceAttributes{{3, 0}, {1, 1}}, {x({3, 4})}, {0, 4}, some);
    add(Op::kConcat, "concat_channels", ConcatAttributes{1},
        {x({2, 3, 4, 5}), x({2, 1, 4, 5}), x({2, 7, 4, 5})}, {2, 11, 4, 5}, all);
    add(Op::kConcat, "concat_last", ConcatAttributes{2}, {x({1, 3, 8}), x({1, 3, 5}), x({1, 3, 1})},
        {1, 3, 14}, all);
    add(Op::kConcat, "concat_first", ConcatAttributes{0}, {x({1}), x({1}), x({2})}, {4}, all);
    add(Op::kConcat, "concat_empty", ConcatAttributes{1}, {x({2, 0}), x({2, 3})}, {2, 3}, some);
    add(Op::kConcat, "concat_one", ConcatAttributes{0}, {x({3, 2})}, {3, 2}, some);
    add(Op::kConcat, "concat_many", ConcatAttributes{1}, std::vector<OperandCase>(20, x({2, 1, 3})),
        {2, 20, 3}, some);
    add(Op::kExpand, "expand_class_token", NoAttributes{}, {x({1, 1, 33})}, {3, 1, 33}, all);
    add(Op::kExpand, "expand_last", NoAttributes{}, {x({2, 5, 1})}, {2, 5, 9}, all);
    add(Op::kExpand, "expand_rank", NoAttributes{}, {x({3, 1})}, {2, 3, 4}, all);
    add(Op::kExpand, "expand_scalar", NoAttributes{}, {x({})}, {2, 3}, some);
    for (const ElementType index : {kI64, kI32}) {
      const auto indices = [&](const Shape& shape, double extent) {
        return operand(index, shape, {-extent, extent});
      };
      const std::string name = std::string("gather_") + std::string(weir::to_string(index)) + "_";
      add(Op::kGather, name + "rows", GatherAttributes{0}, {x({50, 33}), indices({2, 7}, 50)}, {2, 7, 33},
          all);
      add(Op::kGather, name + "axis1", GatherAttributes{1}, {x({3, 7, 5}), indices({4}, 7)}, {3, 4, 5}, all);
      add(Op::kGather, name + "scalar", GatherAttributes{1}, {x({2, 9, 5}), indices({}, 9)}, {2, 5}, all);
      add(Op::kGather, name + "last", GatherAttributes{2}, {x({2, 3, 9}), indices({2, 2}, 9)}, {2, 3, 2, 2},
          some);
      add(Op::kGather, name + "vector", GatherAttributes{0}, {x({4}), indices({1}, 4)}, {1}, some);
      add(Op::kGather, name + "none", GatherAttributes{0}, {x({4, 2}), indices({0}, 4)}, {0, 2}, some);
    }
    if (type != ElementType::kBool) {
      add(Op::kRange, "range", RangeAttributes{3, 2}, {}, {37}, some);
    }
    add(Op::kFill, "fill", FillAttributes{1}, {}, {3, 35}, all);
  }
  cases.push_back(make(Op::kRange, "range_down", RangeAttributes{5, -3}, {}, {300}, kI64, some));
  cases.push_back(make(Op::kFill, "fill_infinity", FillAttributes{-INFINITY}, {}, {2, 5}, kF32, all));
  cases.push_back(
      make(Op::kDimTensor, "dim_tensor", DimTensorAttributes{{1, -1, 64, 7, 9}}, {}, {5}, kI64, some));
  cases.push_back(make(Op::kDimTensor, "dim_tensor", DimTensorAttributes{{8}}, {}, {}, kI64, some));
  cases.push_back(
      make(Op::kDimTensor, "dim_tensor_full", DimTensorAttributes{Dims(495, 3)}, {}, {495}, kI64, some));
}

}  // namespace weir::testing
