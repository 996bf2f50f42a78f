// SPDX-License-Identifier: Apache-2.0
//
// Cases of Reduce, Softmax and LayerNormalization.
#include "kernels/testing/case_builder.h"

namespace weir::testing {
namespace {

void add_reduce(std::vector<OpCase>& cases, ReduceKind kind, const Shape& x, const std::vector<int64_t>& axes,
                bool keep, ElementType type, std::vector<Arrangement> arrangements, Values values = {}) {
  OpCase test;
  test.op = Op::kReduce;
  test.attributes = ReduceAttributes{kind, axes, keep};
  Shape y;
  for (size_t i = 0; i < x.size(); ++i) {
    const bool reduced = std::find(axes.begin(), axes.end(), static_cast<int64_t>(i)) != axes.end();
    if (!reduced) {
      y.push_back(x[i]);
    } else if (keep) {
      y.push_back(1);
    }
  }
  test.inputs = {operand(type, x, values)};
  test.outputs = {operand(type, y)};
  test.arrangements = std::move(arrangements);
  test.name = "reduce_k" + std::to_string(static_cast<int>(kind)) + "_" + text_of(x) + "_a" + text_of(axes) +
              (keep ? "_keep_" : "_") + std::string(weir::to_string(type));
  cases.push_back(std::move(test));
}

void add_softmax(std::vector<OpCase>& cases, const Shape& x, int64_t axis, Values values,
                 std::vector<Arrangement> arrangements, std::string_view suffix = "") {
  OpCase test;
  test.op = Op::kSoftmax;
  test.attributes = SoftmaxAttributes{axis};
  test.inputs = {operand(kF32, x, values)};
  test.outputs = {operand(kF32, x)};
  test.arrangements = std::move(arrangements);
  test.name = "softmax_" + text_of(x) + "_a" + std::to_string(axis) + std::string(suffix);
  cases.push_back(std::move(test));
}

void add_layer_normalization(std::vector<OpCase>& cases, const Shape& x, int64_t axis, const Shape& scale,
                             bool bias, double epsilon, Values values,
                             std::vector<Arrangement> arrangements) {
  OpCase test;
  test.op = Op::kLayerNormalization;
  test.attributes = LayerNormalizationAttributes{axis, epsilon};
  test.inputs = {operand(kF32, x, values), constant(kF32, scale, {0.5, 1.5}),
                 bias ? constant(kF32, scale) : missing()};
  test.outputs = {operand(kF32, x)};
  test.arrangements = std::move(arrangements);
  test.name = "layer_normalization_" + text_of(x) + "_a" + std::to_string(axis) + "_s" + text_of(scale) +
              (bias ? "" : "_no_bias") + (values.low > 0 ? "_offset" : "");
  cases.push_back(std::move(test));
}

}  // namespace

void add_row_cases(std::vector<OpCase>& cases) {
  const std::vector<Arrangement> all = {Arrangement::kDense,     Arrangement::kChannelsLast,
                                        Arrangement::kSliced,    Arrangement::kStrided,
                                        Arrangement::kBroadcast, Arrangement::kTransposed};
  const std::vector<Arrangement> some = {Arrangement::kDense, Arrangement::kSliced};

  for (const ReduceKind kind : {ReduceKind::kMean, ReduceKind::kSum, ReduceKind::kMax, ReduceKind::kMin}) {
    add_reduce(cases, kind, {1, 33, 7, 5}, {2, 3}, true, kF32, all);  // global pooling
    add_reduce(cases, kind, {2, 7, 3, 4}, {2, 3}, false, kF32, some);
    add_reduce(cases, kind, {1, 9, 120}, {2}, true, kF32, all);  // the mean of rows
    add_reduce(cases, kind, {3, 5, 6}, {1}, false, kF32, all);
    add_reduce(cases, kind, {3, 5, 6}, {0, 2}, true, kF32, some);
    add_reduce(cases, kind, {3, 5, 6}, {0, 1, 2}, false, kF32, all);
    add_reduce(cases, kind, {4, 1, 3}, {1}, false, kF32, some);
    add_reduce(cases, kind, {2, 3}, {}, true, kF32, some);
    add_reduce(cases, kind, {1}, {0}, false, kF32, some);
    add_reduce(cases, kind, {1, 8, 29, 31}, {2, 3}, true, kF32,
               {Arrangement::kDense, Arrangement::kChannelsLast});
    add_reduce(cases, kind, {2, 1031}, {1}, false, kF32, some);
    add_reduce(cases, kind, {2, 3, 2, 5, 3}, {1, 3}, true, kF32, some);
    add_reduce(cases, kind, {5, 6}, {1}, false, kI64, some, {-100, 100});
    add_reduce(cases, kind, {5, 6}, {0}, true, kI32, some, {-100, 100});
  }
  for (const ReduceKind kind : {ReduceKind::kMax, ReduceKind::kMin, ReduceKind::kSum}) {
    add_reduce(cases, kind, {5, 37}, {1}, false, kF32, {Arrangement::kDense}, {-2, 2, 0, true});
    cases.back().name += "_specials";
  }
  add_reduce(cases, ReduceKind::kSum, {3, 0}, {1}, false, kF32, {Arrangement::kDense});

  const Values logits = {-12, 12};
  add_softmax(cases, {1, 8, 9, 9}, 3, logits, all);
  add_softmax(cases, {1, 3, 1871}, 2, logits, some);
  add_softmax(cases, {2, 2}, 1, logits, all);
  add_softmax(cases, {1, 5, 7, 3}, 1, logits, all);  // over channels
  add_softmax(cases, {2, 16, 4, 6}, 1, logits, some);
  add_softmax(cases, {6, 4}, 0, logits, all);
  add_softmax(cases, {3, 1}, 1, logits, some);
  add_softmax(cases, {17}, 0, logits, some);
  add_softmax(cases, {4, 33}, 1, {-1000, 1000}, some, "_wide");
  add_softmax(cases, {2, 3, 5, 5}, 3, {-3, 3, 4}, all, "_masked");
  add_softmax(cases, {3, 4}, 1, {-1, 1, 1}, some, "_fully_masked");

  add_layer_normalization(cases, {1, 7, 384}, 2, {384}, true, 1e-12, {}, all);
  add_layer_normalization(cases, {1, 5, 768}, 2, {768}, true, 1e-6, {}, some);
  add_layer_normalization(cases, {2, 9, 120}, 2, {120}, true, 1e-5, {}, all);
  add_layer_normalization(cases, {3, 7}, 1, {7}, false, 1e-5, {}, all);
  add_layer_normalization(cases, {2, 3, 5}, 1, {3, 5}, true, 1e-5, {}, some);
  add_layer_normalization(cases, {1, 4, 3, 33}, 3, {33}, true, 1e-6, {}, all);
  add_layer_normalization(cases, {4, 1}, 1, {1}, true, 1e-5, {}, some);
  // A mean far larger than the deviation, where one pass over squares would cancel.
  add_layer_normalization(cases, {4, 96}, 1, {96}, true, 1e-6, {30, 32}, some);
  add_layer_normalization(cases, {3, 8}, 1, {1}, true, 1e-5, {}, some);
}

}  // namespace weir::testing
