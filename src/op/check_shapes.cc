// SPDX-License-Identifier: Apache-2.0
#include "op/check_shapes.h"

#include <algorithm>
#include <array>
#include <span>

#include "base/checked.h"
#include "shape/dim_arithmetic.h"

namespace weir {
namespace {

std::span<const int64_t> shape_of(const TensorSpec& spec) {
  return std::span(spec.shape).first(static_cast<size_t>(spec.rank));
}

class Checker {
 public:
  explicit Checker(const ConcreteOp& op) : op_(op) {}

  Result<void> run() const {
    switch (op_.op) {
      case Op::kElementwise:
        return elementwise();
      case Op::kConv:
      case Op::kConvTranspose:
        return convolution();
      case Op::kMatMul:
        return matmul();
      case Op::kLstm:
        return lstm();
      case Op::kMaxPool:
      case Op::kAveragePool:
        return pool();
      case Op::kReduce:
        return reduce();
      case Op::kSoftmax:
        WEIR_TRY(axis_in_range(op_.get<SoftmaxAttributes>().axis));
        return same(y(), x().type, shape_of(x()));
      case Op::kLayerNormalization:
        return layer_normalization();
      case Op::kResize:
        return resize();
      case Op::kPad:
        return pad();
      case Op::kGather:
        return gather();
      case Op::kReshape:
        return require(y().type == x().type && x().element_count() == y().element_count(),
                       "gives as many elements as it takes, of one type");
      case Op::kTranspose:
        return transpose();
      case Op::kSlice:
        return slice();
      case Op::kConcat:
        return concat();
      case Op::kExpand:
        WEIR_TRY(require(y().type == x().type, "gives the type that it takes"));
        return broadcasts(x());
      case Op::kCopy:
        return same(y(), x().type, shape_of(x()));
      case Op::kFill:
        return {};
      case Op::kRange:
        return require(y().rank == 1, "gives a result of rank 1");
      case Op::kDimTensor:
        return require(y().type == ElementType::kInt64 &&
                           y().element_count() == std::ssize(op_.get<DimTensorAttributes>().elements),
                       "gives as many int64 elements as it holds");
      case Op::kCustom:
        return {};  // the registered operator's own rule, in CustomOperator::prepare
    }
    return require(false, "is an operator that has a rule");
  }

 private:
  const TensorSpec& in(size_t i) const { return op_.inputs[i]; }
  const TensorSpec& x() const { return op_.inputs[0]; }
  const TensorSpec& y() const { return op_.outputs[0]; }

  // `rule` completes "The step …, and its operands are …".
  Result<void> require(bool holds, std::string_view rule) const {
    if (holds) [[likely]] {
      return {};
    }
    std::string operands;
    for (const auto& list : {op_.inputs, op_.outputs}) {
      operands += list.data() == op_.inputs.data() ? "" : " → ";
      for (size_t i = 0; i < list.size(); ++i) {
        operands += (i == 0 ? "" : ", ") + (list[i].rank < 0 ? std::string("absent") : list[i].to_string());
      }
    }
    return fail(StatusCode::kInvalidArgument, "A {} {}, and this one has ({}).", to_string(op_.op), rule,
                operands);
  }

  Result<void> axis_in_range(int64_t axis) const {
    return require(axis >= 0 && axis < x().rank, "has its axis within the rank of operand 0");
  }

  Result<void> same(const TensorSpec& spec, ElementType type, std::span<const int64_t> shape) const {
    return require(spec.type == type && std::ranges::equal(shape_of(spec), shape),
                   "gives the type and shape that follow from its operands");
  }

  static bool broadcasts_to(std::span<const int64_t> from, std::span<const int64_t> to) {
    if (from.size() > to.size()) {
      return false;
    }
    const std::span<const int64_t> tail = to.last(from.size());
    for (size_t i = 0; i < from.size(); ++i) {
      if (from[i] != 1 && from[i] != tail[i]) {
        return false;
      }
    }
    return true;
  }

  Result<void> broadcasts(const TensorSpec& spec) const {
    return require(broadcasts_to(shape_of(spec), shape_of(y())),
                   "takes operands that broadcast to its result");
  }

  Result<void> elementwise() const {
    const TileProgram& program = op_.get<ElementwiseAttributes>().program;
    for (size_t i = 0; i < op_.inputs.size(); ++i) {
      WEIR_TRY(require(in(i).type == program.input_types()[i], "takes the types that its program reads"));
      WEIR_TRY(broadcasts(in(i)));
    }
    return require(y().type == program.result_type(), "gives the type that its program gives");
  }

  Result<void> bias_and_epilogue(const Epilogue& epilogue, int64_t channels) const {
    if (op_.has_input(2)) {
      WEIR_TRY(require(in(2).type == x().type && in(2).rank == 1 && in(2).shape[0] == channels,
                       "takes a bias of its type, as long as its channels"));
    }
    if (epilogue.empty()) {
      return require(y().type == x().type, "gives the type that it takes");
    }
    WEIR_TRY(require(epilogue.input_count() >= 1 && epilogue.input_types()[0] == x().type &&
                         epilogue.result_type() == y().type,
                     "has an epilogue that reads its type and gives that of its result"));
    for (int i = 1; i < epilogue.input_count(); ++i) {
      const TensorSpec& extra = in(static_cast<size_t>(kFixedOperands + i - 1));
      WEIR_TRY(require(extra.type == epilogue.input_types()[static_cast<size_t>(i)],
                       "takes the types that its epilogue reads"));
      WEIR_TRY(broadcasts(extra));
    }
    return {};
  }

  // ⌊(size + pads − (dilation·(kernel − 1) + 1)) / stride⌋ + 1; nothing where that does not fit.
  Result<int64_t> windows(int64_t size, int64_t kernel, int64_t stride, int64_t dilation, const Dim& begin,
                          const Dim& end) const {
    WEIR_TRY(require(kernel >= 1, "has a kernel of at least one element an axis"));
    WEIR_ASSIGN(int64_t room, checked_add(size, begin.constant()));
    WEIR_ASSIGN(room, checked_add(room, end.constant()));
    WEIR_ASSIGN(const int64_t reach, checked_mul(dilation, kernel - 1));
    WEIR_ASSIGN(room, checked_add(room, -reach - 1));
    return checked_add(floor_quotient(room, stride), 1);
  }

  Result<void> convolution() const {
    const ConvAttributes& a = op_.get<ConvAttributes>();
    const TensorSpec& w = in(1);
    const size_t axes = a.strides.size();
    WEIR_TRY(require(
        axes >= 1 && x().rank == static_cast<int64_t>(axes) + 2 && w.rank == x().rank && y().rank == x().rank,
        "takes and gives as many axes as its attributes name"));
    WEIR_TRY(require(w.type == x().type, "takes weights of its input's type"));
    const bool transposed = op_.op == Op::kConvTranspose;
    const int64_t grouped = transposed ? x().shape[1] : w.shape[0];
    WEIR_TRY(require(grouped % a.group == 0, "has channels that its group divides"));
    WEIR_ASSIGN(const int64_t joined, checked_mul(w.shape[1], a.group));
    const int64_t channels = transposed ? joined : w.shape[0];
    WEIR_TRY(
        require(x().shape[1] == (transposed ? w.shape[0] : joined), "takes as many channels as its weights"));
    WEIR_TRY(require(y().shape[0] == x().shape[0] && y().shape[1] == channels,
                     "gives its input's batch and its weights' channels"));
    for (size_t i = 0; i < axes; ++i) {
      // A transposed convolution is the other's mirror: its input has a window for each element.
      const int64_t size = transposed ? y().shape[i + 2] : x().shape[i + 2];
      const int64_t count = transposed ? x().shape[i + 2] : y().shape[i + 2];
      WEIR_ASSIGN(const int64_t expected, windows(size, w.shape[i + 2], a.strides[i], a.dilations[i],
                                                  a.pads_begin[i], a.pads_end[i]));
      WEIR_TRY(require(count == expected || (transposed && (count == 0 || size == 0)),
                       "gives as many elements as its kernel finds places"));
    }
    return bias_and_epilogue(a.epilogue, channels);
  }

  Result<void> matmul() const {
    const TensorSpec& a = in(0);
    const TensorSpec& b = in(1);
    WEIR_TRY(require(a.rank >= 2 && b.rank >= 2 && y().rank == std::max(a.rank, b.rank),
                     "takes operands of rank 2 or more, and gives the larger rank"));
    WEIR_TRY(require(a.type == b.type, "takes operands of one type"));
    const auto axis = [](const TensorSpec& spec, int back) {
      return spec.shape[static_cast<size_t>(spec.rank - back)];
    };
    WEIR_TRY(require(axis(a, 1) == axis(b, 2) && axis(y(), 2) == axis(a, 2) && axis(y(), 1) == axis(b, 1),
                     "multiplies (…,M,K) by (…,K,N) to (…,M,N)"));
    const auto leading = [](const TensorSpec& spec) {
      return shape_of(spec).first(static_cast<size_t>(spec.rank - 2));
    };
    WEIR_TRY(require(broadcasts_to(leading(a), leading(y())) && broadcasts_to(leading(b), leading(y())),
                     "takes leading axes that broadcast to its result's"));
    return bias_and_epilogue(op_.get<MatMulAttributes>().epilogue, axis(b, 1));
  }

  Result<void> lstm() const {
    const LstmAttributes& a = op_.get<LstmAttributes>();
    const int64_t hidden = a.hidden_size;
    const int64_t directions = a.direction == LstmDirection::kBidirectional ? 2 : 1;
    WEIR_TRY(
        require(x().rank == 3 && hidden >= 1, "takes an input of rank 3, and a hidden size of at least 1"));
    const int64_t steps = x().shape[0];
    const int64_t batch = x().shape[1];
    const auto is = [&](const TensorSpec& spec, std::initializer_list<int64_t> shape) {
      return spec.rank < 0 || std::ranges::equal(shape_of(spec), shape);
    };
    const auto fits = [&](size_t i, std::initializer_list<int64_t> shape) {
      const auto typed = [&](const TensorSpec& spec) {
        return i == 4 ? spec.type == ElementType::kInt32 || spec.type == ElementType::kInt64
                      : spec.type == x().type;
      };
      return !op_.has_input(i) || (is(in(i), shape) && typed(in(i)));
    };
    WEIR_TRY(require(fits(1, {directions, 4 * hidden, x().shape[2]}) &&
                         fits(2, {directions, 4 * hidden, hidden}) && fits(3, {directions, 8 * hidden}) &&
                         fits(4, {batch}) && fits(5, {directions, batch, hidden}) &&
                         fits(6, {directions, batch, hidden}),
                     "takes weights, lengths and states that fit its input and hidden size"));
    for (size_t i = 0; i < op_.outputs.size(); ++i) {
      const TensorSpec& output = op_.outputs[i];
      const bool shaped =
          i == 0 ? is(output, {steps, directions, batch, hidden}) : is(output, {directions, batch, hidden});
      WEIR_TRY(require(shaped && (output.rank < 0 || output.type == x().type),
                       "gives results and states that fit its input and hidden size"));
    }
    return {};
  }

  Result<void> pool() const {
    const PoolAttributes& a = op_.get<PoolAttributes>();
    const size_t axes = a.kernel.size();
    WEIR_TRY(
        require(axes >= 1 && x().rank == static_cast<int64_t>(axes) + 2 && y().rank == x().rank &&
                    y().type == x().type && y().shape[0] == x().shape[0] && y().shape[1] == x().shape[1],
                "gives the type, batch and channels that it takes, and as many axes as its attributes name"));
    for (size_t i = 0; i < axes; ++i) {
      WEIR_ASSIGN(const int64_t least, windows(x().shape[i + 2], a.kernel[i], a.strides[i], a.dilations[i],
                                               a.pads_begin[i], a.pads_end[i]));
      // Ceil mode gives one window more.
      WEIR_TRY(require(y().shape[i + 2] >= least && y().shape[i + 2] <= std::max<int64_t>(least, 0) + 1,
                       "gives as many elements as its kernel finds places"));
    }
    return {};
  }

  Result<void> reduce() const {
    const ReduceAttributes& a = op_.get<ReduceAttributes>();
    std::array<int64_t, kMaxRank> shape{};
    size_t rank = 0;
    size_t next = 0;
    for (int axis = 0; axis < x().rank; ++axis) {
      const bool reduced = next < a.axes.size() && a.axes[next] == axis;
      next += reduced ? 1 : 0;
      if (!reduced || a.keep_dims) {
        shape[rank++] = reduced ? 1 : x().shape[static_cast<size_t>(axis)];
      }
    }
    WEIR_TRY(require(next == a.axes.size(), "has its axes within the rank of its input"));
    return same(y(), x().type, std::span(shape).first(rank));
  }

  Result<void> layer_normalization() const {
    const int64_t axis = op_.get<LayerNormalizationAttributes>().axis;
    WEIR_TRY(axis_in_range(axis));
    const std::span<const int64_t> normalised = shape_of(x()).subspan(static_cast<size_t>(axis));
    for (size_t i = 1; i < op_.inputs.size(); ++i) {
      if (op_.has_input(i)) {
        WEIR_TRY(require(in(i).type == x().type && broadcasts_to(shape_of(in(i)), normalised),
                         "takes scales that broadcast to the axes that it normalises"));
      }
    }
    return same(y(), x().type, shape_of(x()));
  }

  Result<void> resize() const {
    const ResizeAttributes& a = op_.get<ResizeAttributes>();
    WEIR_TRY(require(y().type == x().type && y().rank == x().rank &&
                         (a.scales.empty() || std::ssize(a.scales) == x().rank),
                     "gives the type and rank that it takes, with a scale an axis or none"));
    for (int i = 0; i < x().rank; ++i) {
      WEIR_TRY(require(x().shape[static_cast<size_t>(i)] > 0 || y().shape[static_cast<size_t>(i)] == 0,
                       "makes something out of something"));
    }
    return {};
  }

  Result<void> pad() const {
    const PadAttributes& a = op_.get<PadAttributes>();
    WEIR_TRY(require(y().type == x().type && y().rank == x().rank && std::ssize(a.begin) == x().rank &&
                         std::ssize(a.end) == x().rank,
                     "gives the type and rank that it takes, with pads an axis"));
    for (size_t i = 0; i < a.begin.size(); ++i) {
      WEIR_ASSIGN(int64_t size, checked_add(x().shape[i], a.begin[i].constant()));
      WEIR_ASSIGN(size, checked_add(size, a.end[i].constant()));
      WEIR_TRY(require(y().shape[i] == size, "gives its input's extents and the pads"));
      const int64_t most = std::max(a.begin[i].constant(), a.end[i].constant());
      WEIR_TRY(require(a.mode == PadMode::kConstant || most <= 0 || size == 0 ||
                           (a.mode == PadMode::kReflect ? most < x().shape[i] : x().shape[i] > 0),
                       "has elements to repeat, and for reflection more than it pads"));
    }
    return {};
  }

  Result<void> gather() const {
    const int64_t axis = op_.get<GatherAttributes>().axis;
    const TensorSpec& indices = in(1);
    WEIR_TRY(axis_in_range(axis));
    WEIR_TRY(require(indices.type == ElementType::kInt32 || indices.type == ElementType::kInt64,
                     "takes indices of type int32 or int64"));
    WEIR_TRY(
        require(y().rank == x().rank - 1 + indices.rank, "gives its operand's other axes and the indices'"));
    std::array<int64_t, kMaxRank> shape{};
    const std::span<const int64_t> data = shape_of(x());
    const std::span<const int64_t> index = shape_of(indices);
    const auto split = static_cast<size_t>(axis);
    auto at = std::ranges::copy(data.first(split), shape.begin()).out;
    at = std::ranges::copy(index, at).out;
    std::ranges::copy(data.subspan(split + 1), at);
    WEIR_TRY(require(data[split] > 0 || y().element_count() == 0, "gathers from something"));
    return same(y(), x().type, std::span(shape).first(static_cast<size_t>(y().rank)));
  }

  Result<void> transpose() const {
    const std::vector<int64_t>& permutation = op_.get<TransposeAttributes>().permutation;
    WEIR_TRY(require(y().type == x().type && y().rank == x().rank && std::ssize(permutation) == x().rank,
                     "permutes all axes of its operand"));
    for (size_t i = 0; i < permutation.size(); ++i) {
      WEIR_TRY(require(y().shape[i] == x().shape[static_cast<size_t>(permutation[i])],
                       "gives the permuted extents of its operand"));
    }
    return {};
  }

  Result<void> slice() const {
    const SliceAttributes& a = op_.get<SliceAttributes>();
    WEIR_TRY(require(y().type == x().type && y().rank == x().rank && std::ssize(a.starts) == x().rank,
                     "gives the type and rank that it takes, with a start an axis"));
    for (size_t i = 0; i < a.starts.size(); ++i) {
      const int64_t start = a.starts[i].constant();
      const int64_t count = y().shape[i];
      if (count == 0) {
        continue;
      }
      WEIR_ASSIGN(int64_t last, checked_mul(count - 1, a.steps[i]));
      WEIR_ASSIGN(last, checked_add(start, last));
      WEIR_TRY(require(start >= 0 && start < x().shape[i] && last >= 0 && last < x().shape[i],
                       "takes elements that its operand has"));
    }
    return {};
  }

  Result<void> concat() const {
    const int64_t axis = op_.get<ConcatAttributes>().axis;
    WEIR_TRY(axis_in_range(axis));
    int64_t sum = 0;
    for (const TensorSpec& part : op_.inputs) {
      WEIR_TRY(
          require(part.type == y().type && part.rank == y().rank, "joins operands of one type and rank"));
      for (int i = 0; i < part.rank; ++i) {
        const auto at = static_cast<size_t>(i);
        WEIR_TRY(require(i == axis || part.shape[at] == y().shape[at],
                         "joins operands that differ on its axis only"));
      }
      WEIR_ASSIGN(sum, checked_add(sum, part.shape[static_cast<size_t>(axis)]));
    }
    return require(sum == y().shape[static_cast<size_t>(axis)], "gives the sum of its operands' extents");
  }

  const ConcreteOp& op_;
};

}  // namespace

Result<void> check_shapes(const ConcreteOp& op) {
  return Checker(op).run();
}

}  // namespace weir
