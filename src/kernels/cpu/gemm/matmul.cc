// SPDX-License-Identifier: Apache-2.0
//
// MatMul of float32 matrices, with an epilogue.
//
//   matmul.packed   B is a constant in panels; leading axes of A are rows unless B has some of its own
//   matmul.runtime  both operands are computed: each batch's B is put in panels in scratch, whatever its
//                   strides
#include <algorithm>

#include "base/checked.h"
#include "kernels/cpu/each_isa.h"
#include "kernels/cpu/gemm/gemm.h"
#include "kernels/cpu/gemm/pack.h"
#include "kernels/cpu/gemm/tile.h"

namespace weir {
namespace {

Support check(const OpDesc& desc) {
  if (desc.inputs.size() < 2 || desc.inputs[0] == nullptr || desc.inputs[1] == nullptr) {
    return {"an operand is missing"};
  }
  for (const TensorType* type : {desc.inputs[0], desc.inputs[1], desc.outputs[0]}) {
    if (type->element_type != ElementType::kFloat32) return {"an operand is not float32"};
    if (type->rank() < 2) return {"an operand has less than two axes"};
  }
  const TensorType* bias = desc.inputs.size() > 2 ? desc.inputs[2] : nullptr;
  if (bias != nullptr && (bias->element_type != ElementType::kFloat32 || bias->rank() != 1)) {
    return {"the bias is not a float32 vector"};
  }
  return supports_finish(desc);
}

bool all_constant(const Dims& shape) {
  return std::all_of(shape.begin(), shape.end(), [](const Dim& dim) { return dim.is_constant(); });
}

Support supported_packed(const OpDesc& desc) {
  if (desc.constant.size() < 2 || !desc.constant[1]) return {"the second matrix is not constant"};
  if (desc.inputs[1] != nullptr && !all_constant(desc.inputs[1]->shape)) {
    return {"the second matrix's shape is not known"};
  }
  return check(desc);
}

Support supported_runtime(const OpDesc& desc) {
  if (desc.constant.size() >= 2 && desc.constant[1]) return {"the second matrix is constant"};
  return check(desc);
}

std::vector<PackRequest> pack(const OpDesc& desc) {
  return {pack_matrix(*desc.inputs[1])};
}

std::vector<LayoutRule> layouts(const OpDesc& desc) {
  std::vector<LayoutRule> rules(desc.inputs.size() + 1, LayoutRule::kAny);
  rules[0] = LayoutRule::kInnerDense;
  if (rules.size() > 3) rules[2] = LayoutRule::kRowMajor;
  rules.back() = LayoutRule::kInnerDense;
  return rules;
}

// The stride of `spec` along axis `axis` of the output; 0 where it is broadcast.
int64_t broadcast_stride(const TensorSpec& spec, const TensorSpec& output, int axis) {
  const int own = axis - (output.rank - spec.rank);
  return own < 0 || spec.shape[own] == 1 ? 0 : spec.strides[own];
}

template <bool kPacked>
GemmProblem make_problem(const ConcreteOp& op, Isa isa) {
  const TensorSpec& a = op.inputs[0];
  const TensorSpec& b = op.inputs[1];
  const TensorSpec& y = op.outputs[0];
  const int rank = y.rank;
  GemmProblem problem;
  GemmAxisMap map;
  map.column_axis = rank - 1;
  problem.columns = y.shape[rank - 1];
  problem.k = a.shape[a.rank - 1];

  // Panels of B lie batch after batch, in row-major order of its own leading axes.
  TensorSpec batches = b;
  if (kPacked) {
    int64_t stride = align_up(problem.columns, kPanelWidth) * problem.k;
    for (int i = b.rank - 3; i >= 0; --i) {
      batches.strides[i] = stride;
      stride *= b.shape[i];
    }
  } else {
    problem.packs_b = true;
    problem.b_row = b.shape[b.rank - 2] == 1 ? 1 : b.strides[b.rank - 2];
    problem.b_column = b.shape[b.rank - 1] == 1 ? 1 : b.strides[b.rank - 1];
  }
  for (int i = 0; i < rank - 2; ++i) {
    const int own = i - (rank - b.rank);
    GemmAxis axis;
    axis.extent = y.shape[i];
    axis.a = broadcast_stride(a, y, i);
    axis.c = y.strides[i];
    if (own >= 0 && b.shape[own] != 1) {
      axis.b = batches.strides[own];
      map.batch_axis[problem.batch_axes] = i;
      map.batch_step[problem.batch_axes] = 1;
      problem.batches[problem.batch_axes++] = axis;
    } else {
      map.row_axis[problem.row_axes] = i;
      problem.rows[problem.row_axes++] = axis;
    }
  }
  GemmAxis rows;
  rows.extent = y.shape[rank - 2];
  rows.a = a.strides[a.rank - 2];
  rows.c = y.strides[rank - 2];
  map.row_axis[problem.row_axes] = rank - 2;
  problem.rows[problem.row_axes++] = rows;
  if (op.has_input(2)) problem.bias_binding = 2;
  problem.c_binding = static_cast<int32_t>(op.inputs.size());
  add_epilogue(problem, op, map);
  finish_problem(problem, isa);
  return problem;
}

template <bool kPacked, Isa kIsa>
GemmProblem problem_on(const ConcreteOp& op) {
  return make_problem<kPacked>(op, kIsa);
}

template <bool kPacked, Isa kIsa>
constexpr Implementation base() {
  return {.op = Op::kMatMul,
          .supported = kPacked ? supported_packed : supported_runtime,
          .layouts = layouts,
          .in_place = residual_in_place,
          .pack = kPacked ? pack : nullptr,
          .plan = plan_problem<problem_on<kPacked, kIsa>>,
          .extent = extent_problem<problem_on<kPacked, kIsa>>};
}

template <Isa kIsa>
constexpr Implementation packed_base = base<true, kIsa>();
template <Isa kIsa>
constexpr Implementation runtime_base = base<false, kIsa>();

}  // namespace

WEIR_IMPLEMENT_EACH_ISA(MatMulPacked, "matmul.packed", packed_base<isa>, run_gemm)
WEIR_IMPLEMENT_EACH_ISA(MatMulRuntime, "matmul.runtime", runtime_base<isa>, run_gemm)

}  // namespace weir
