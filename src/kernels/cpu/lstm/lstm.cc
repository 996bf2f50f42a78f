// SPDX-License-Identifier: Apache-2.0
//
// LSTM of float32 with constant weights.
//
// A tile is up to four sequences of the batch in one direction. It works in chunks of time steps: first the
// part of all gates that depends on x alone, as one matrix product of the chunk's rows, then step by step
// what the state adds, and the new state. Both weights are packed alike, in blocks of 16 hidden units: for
// each k the 16 weights of gate i, then of o, of f and of c, so that one pass over a block gives all that its
// units' new state needs. Lanes past the last unit have weights of zero.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/lstm/lstm.cc"
#include <algorithm>
#include <cstring>
#include <string>

#include "base/checked.h"
#include "kernels/cpu/gemm/pack.h"
#include "kernels/cpu/math-inl.h"
#include "kernels/cpu/targets.h"

#ifndef WEIR_KERNELS_CPU_LSTM_CONSTANTS_
#define WEIR_KERNELS_CPU_LSTM_CONSTANTS_
namespace weir {

inline constexpr int64_t kLstmUnits = 16;               // of one block
inline constexpr int64_t kLstmBlock = 4 * kLstmUnits;   // floats of one k, and gates of one block
inline constexpr int64_t kLstmGroup = 4;                // sequences of one tile
inline constexpr int64_t kLstmChunkFloats = 32 * 1024;  // gates of one chunk of steps: half of L2 is weights'

struct LstmView {
  bool present = false;
  std::array<int64_t, 4> strides{};
};

struct LstmConstants {
  int64_t steps = 0;
  int64_t batch = 0;
  int64_t features = 0;
  int64_t hidden = 0;
  int64_t blocks = 0;  // of hidden units
  int64_t groups = 0;  // of sequences
  int64_t chunk = 1;   // steps
  LstmDirection direction = LstmDirection::kForward;
  bool wide_lengths = false;
  int32_t inputs = 0;
  LstmView x, b, lengths, h0, c0;  // in the operands' own axes
  LstmView y, h, c;
};

constexpr int64_t lstm_gates(const LstmConstants& constants) {
  return constants.blocks * kLstmBlock;
}
constexpr int64_t lstm_padded(const LstmConstants& constants) {
  return constants.blocks * kLstmUnits;
}

}  // namespace weir
#endif

HWY_BEFORE_NAMESPACE();
namespace weir::HWY_NAMESPACE {
namespace lstm_internal {

#define WEIR_UNROLL _Pragma("GCC unroll 16")

using Tag = hn::ScalableTag<float>;
using Vector = hn::Vec<Tag>;
constexpr int kLanes = static_cast<int>(hn::MaxLanes(Tag()));

// y[r] = start[r] + Σ_k x[r][k]·w[k] over `kVecs` vectors of each gate, for kRows rows. Sums go round-robin
// to kSplit accumulators, to hide the latency of a multiply-add. start and y may be the same.
template <int kRows, int kVecs, int kSplit>
HWY_INLINE void gates(const float* w, int64_t count, const float* const* x, int64_t x_step,
                      const float* start, int64_t start_step, float* y, int64_t y_step) {
  const Tag d;
  Vector sums[kSplit][kRows][4][kVecs];
  WEIR_UNROLL for (int r = 0; r < kRows; ++r) {
    WEIR_UNROLL for (int g = 0; g < 4; ++g) {
      WEIR_UNROLL for (int v = 0; v < kVecs; ++v) {
        sums[0][r][g][v] = hn::LoadU(d, start + r * start_step + g * kLstmUnits + v * kLanes);
        WEIR_UNROLL for (int s = 1; s < kSplit; ++s) sums[s][r][g][v] = hn::Zero(d);
      }
    }
  }
  const auto add = [&](int s, int64_t k) HWY_ATTR {
    const float* from = w + k * kLstmBlock;
    WEIR_UNROLL for (int g = 0; g < 4; ++g) {
      WEIR_UNROLL for (int v = 0; v < kVecs; ++v) {
        const Vector weights = hn::LoadU(d, from + g * kLstmUnits + v * kLanes);
        WEIR_UNROLL for (int r = 0; r < kRows; ++r) {
          sums[s][r][g][v] = hn::MulAdd(hn::Set(d, x[r][k * x_step]), weights, sums[s][r][g][v]);
        }
      }
    }
  };
  int64_t k = 0;
  for (; k + kSplit <= count; k += kSplit) {
    WEIR_UNROLL for (int s = 0; s < kSplit; ++s) add(s, k + s);
  }
  for (; k < count; ++k) add(0, k);
  WEIR_UNROLL for (int r = 0; r < kRows; ++r) {
    WEIR_UNROLL for (int g = 0; g < 4; ++g) {
      WEIR_UNROLL for (int v = 0; v < kVecs; ++v) {
        WEIR_UNROLL for (int s = 1; s < kSplit; ++s) sums[0][r][g][v] =
            hn::Add(sums[0][r][g][v], sums[s][r][g][v]);
        hn::StoreU(sums[0][r][g][v], d, y + r * y_step + g * kLstmUnits + v * kLanes);
      }
    }
  }
}

// Rows of one pass: as many accumulators as registers allow.
constexpr int kRowsAtOnce = HWY_TARGET == HWY_AVX3 ? 6 : 3;

template <int kRows>
HWY_INLINE void gates_of_rows(const float* w, int64_t count, const float* const* x, int64_t x_step,
                              const float* start, int64_t start_step, float* y, int64_t y_step) {
  if constexpr (kRows == 1) {
    // One row is bound by reading weights: whole cache lines of them.
    constexpr int kVecs = kLanes == 16 ? 1 : 2;
    constexpr int kSplit = kLanes == 16 ? 2 : 1;
    for (int u = 0; u < kLstmUnits; u += kVecs * kLanes) {
      gates<1, kVecs, kSplit>(w + u, count, x, x_step, start + u, start_step, y + u, y_step);
    }
  } else {
    for (int u = 0; u < kLstmUnits; u += kLanes) {
      gates<kRows, 1, 1>(w + u, count, x, x_step, start + u, start_step, y + u, y_step);
    }
  }
}

// The same for any number of rows up to kRowsAtOnce.
HWY_INLINE void gates_block(int rows, const float* w, int64_t count, const float* const* x, int64_t x_step,
                            const float* start, int64_t start_step, float* y, int64_t y_step) {
  switch (rows) {
    case 1:
      return gates_of_rows<1>(w, count, x, x_step, start, start_step, y, y_step);
    case 2:
      return gates_of_rows<2>(w, count, x, x_step, start, start_step, y, y_step);
    case 3:
      return gates_of_rows<3>(w, count, x, x_step, start, start_step, y, y_step);
#if HWY_TARGET == HWY_AVX3
    case 4:
      return gates_of_rows<4>(w, count, x, x_step, start, start_step, y, y_step);
    case 5:
      return gates_of_rows<5>(w, count, x, x_step, start, start_step, y, y_step);
    default:
      return gates_of_rows<6>(w, count, x, x_step, start, start_step, y, y_step);
#else
    default:
      return;
#endif
  }
}

// The new state of one block of units from its gates.
HWY_INLINE void update_units(const float* gate, float* c, float* h) {
  const Tag d;
  for (int u = 0; u < kLstmUnits; u += kLanes) {
    const Vector input = sigmoid32(d, hn::LoadU(d, gate + u));
    const Vector output = sigmoid32(d, hn::LoadU(d, gate + kLstmUnits + u));
    const Vector forget = sigmoid32(d, hn::LoadU(d, gate + 2 * kLstmUnits + u));
    const Vector candidate = tanh32(d, hn::LoadU(d, gate + 3 * kLstmUnits + u));
    const Vector cell = hn::MulAdd(forget, hn::LoadU(d, c + u), hn::Mul(input, candidate));
    hn::StoreU(cell, d, c + u);
    hn::StoreU(hn::Mul(output, tanh32(d, cell)), d, h + u);
  }
}

HWY_INLINE void read_row(const float* from, int64_t step, float* to, int64_t count) {
  for (int64_t i = 0; i < count; ++i) to[i] = from[i * step];
}

HWY_INLINE void write_row(const float* from, float* to, int64_t step, int64_t count) {
  if (step == 1) {
    std::memcpy(to, from, static_cast<size_t>(count) * sizeof(float));
  } else {
    for (int64_t i = 0; i < count; ++i) to[i * step] = from[i];
  }
}

HWY_INLINE void zero_row(float* to, int64_t step, int64_t count) {
  for (int64_t i = 0; i < count; ++i) to[i * step] = 0;
}

// Up to kLstmGroup sequences in one direction.
HWY_INLINE void sequences(const CpuInvocation& invocation, const LstmConstants& constants, int64_t direction,
                          int64_t first, int rows) {
  const auto input = [&](size_t i) { return reinterpret_cast<const float*>(invocation.bindings[i]); };
  const auto output = [&](size_t i) {
    return reinterpret_cast<float*>(invocation.bindings[static_cast<size_t>(constants.inputs) + i]);
  };
  const int64_t hidden = constants.hidden;
  const int64_t padded = lstm_padded(constants);
  const int64_t gate_count = lstm_gates(constants);
  const bool reverse = constants.direction == LstmDirection::kReverse || direction == 1;
  const float* w = input(1) + direction * constants.blocks * constants.features * kLstmBlock;
  const float* recurrent = input(2) + direction * constants.blocks * hidden * kLstmBlock;

  float* const bias = reinterpret_cast<float*>(invocation.scratch);
  float* const cell = bias + gate_count;
  float* h = cell + kLstmGroup * padded;
  float* next_h = h + kLstmGroup * padded;
  float* const chunk_gates = next_h + kLstmGroup * padded;

  for (int64_t g = 0; g < 4; ++g) {
    for (int64_t u = 0; u < padded; ++u) {
      float sum = 0;
      if (constants.b.present && u < hidden) {
        const float* b = input(3) + direction * constants.b.strides[0];
        sum =
            b[(g * hidden + u) * constants.b.strides[1]] + b[((4 + g) * hidden + u) * constants.b.strides[1]];
      }
      bias[u / kLstmUnits * kLstmBlock + g * kLstmUnits + u % kLstmUnits] = sum;
    }
  }
  std::memset(cell, 0, static_cast<size_t>(3 * kLstmGroup * padded) * sizeof(float));
  int64_t length[kLstmGroup];
  int64_t longest = 0;
  for (int r = 0; r < rows; ++r) {
    const int64_t item = first + r;
    const auto state = [&](size_t operand, const LstmView& view, float* to) {
      if (!view.present) return;
      read_row(input(operand) + direction * view.strides[0] + item * view.strides[1], view.strides[2], to,
               hidden);
    };
    state(5, constants.h0, h + r * padded);
    state(6, constants.c0, cell + r * padded);
    length[r] = constants.steps;
    if (constants.lengths.present) {
      const int64_t at = item * constants.lengths.strides[0];
      const int64_t given = constants.wide_lengths
                                ? reinterpret_cast<const int64_t*>(invocation.bindings[4])[at]
                                : reinterpret_cast<const int32_t*>(invocation.bindings[4])[at];
      if (given < 0 || given > constants.steps) {
        invocation.status->set(invocation.step, StatusRecord::Code::kIndexOutOfRange, given,
                               constants.steps + 1);
        length[r] = given < 0 ? 0 : constants.steps;
      } else {
        length[r] = given;
      }
    }
    if (length[r] > longest) longest = length[r];
  }

  const auto time_of = [&](int r, int64_t i) { return reverse ? length[r] - 1 - i : i; };
  for (int64_t begin = 0; begin < longest; begin += constants.chunk) {
    const int64_t steps = longest - begin < constants.chunk ? longest - begin : constants.chunk;
    // What x adds. Sequences that have ended compute on with their last row, for nothing.
    const int64_t total = steps * rows;
    for (int64_t block = 0; block < constants.blocks; ++block) {
      const float* weights = w + block * constants.features * kLstmBlock;
      for (int64_t row = 0; row < total; row += kRowsAtOnce) {
        const int count = total - row < kRowsAtOnce ? static_cast<int>(total - row) : kRowsAtOnce;
        const float* x[kRowsAtOnce];
        for (int k = 0; k < count; ++k) {
          const int r = static_cast<int>((row + k) % rows);
          int64_t i = begin + (row + k) / rows;
          if (i >= length[r]) i = length[r] > 0 ? length[r] - 1 : 0;
          const int64_t t = length[r] > 0 ? time_of(r, i) : 0;
          x[k] = input(0) + t * constants.x.strides[0] + (first + r) * constants.x.strides[1];
        }
        gates_block(count, weights, constants.features, x, constants.x.strides[2], bias + block * kLstmBlock,
                    0, chunk_gates + row * gate_count + block * kLstmBlock, gate_count);
      }
    }
    // What the state adds, and the next state.
    for (int64_t i = 0; i < steps; ++i) {
      float* step_gates = chunk_gates + i * rows * gate_count;
      for (int64_t block = 0; block < constants.blocks; ++block) {
        const float* weights = recurrent + block * hidden * kLstmBlock;
        for (int row = 0; row < rows; row += kRowsAtOnce) {
          const int count = rows - row < kRowsAtOnce ? rows - row : kRowsAtOnce;
          const float* state[kRowsAtOnce];
          for (int k = 0; k < count; ++k) state[k] = h + (row + k) * padded;
          float* at = step_gates + row * gate_count + block * kLstmBlock;
          gates_block(count, weights, hidden, state, 1, at, gate_count, at, gate_count);
        }
        for (int r = 0; r < rows; ++r) {
          if (begin + i >= length[r]) continue;
          update_units(step_gates + r * gate_count + block * kLstmBlock,
                       cell + r * padded + block * kLstmUnits, next_h + r * padded + block * kLstmUnits);
        }
      }
      for (int r = 0; r < rows; ++r) {
        if (begin + i >= length[r]) {
          // The state stays.
          std::memcpy(next_h + r * padded, h + r * padded, static_cast<size_t>(padded) * sizeof(float));
        } else if (constants.y.present) {
          const auto& strides = constants.y.strides;
          write_row(next_h + r * padded,
                    output(0) + time_of(r, begin + i) * strides[0] + direction * strides[1] +
                        (first + r) * strides[2],
                    strides[3], hidden);
        }
      }
      float* const swapped = h;
      h = next_h;
      next_h = swapped;
    }
  }

  for (int r = 0; r < rows; ++r) {
    const int64_t item = first + r;
    if (constants.y.present) {
      const auto& strides = constants.y.strides;
      for (int64_t t = length[r]; t < constants.steps; ++t) {
        zero_row(output(0) + t * strides[0] + direction * strides[1] + item * strides[2], strides[3], hidden);
      }
    }
    const auto final_state = [&](size_t result, const LstmView& view, const float* from) {
      if (!view.present) return;
      float* to = output(result) + direction * view.strides[0] + item * view.strides[1];
      if (length[r] == 0) {
        zero_row(to, view.strides[2], hidden);
      } else {
        write_row(from, to, view.strides[2], hidden);
      }
    };
    final_state(1, constants.h, h + r * padded);
    final_state(2, constants.c, cell + r * padded);
  }
}

}  // namespace lstm_internal

void lstm(const CpuInvocation& invocation) {
  const auto& constants = invocation.constants_as<LstmConstants>();
  for (int64_t tile = invocation.tile_begin; tile < invocation.tile_end; ++tile) {
    const int64_t first = tile % constants.groups * kLstmGroup;
    const int64_t rows = constants.batch - first < kLstmGroup ? constants.batch - first : kLstmGroup;
    lstm_internal::sequences(invocation, constants, tile / constants.groups, first, static_cast<int>(rows));
  }
}

}  // namespace weir::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace weir {
namespace {

enum Operand : size_t { kX, kW, kR, kB, kLengths, kH0, kC0, kOperands };

const TensorType* input(const OpDesc& desc, size_t i) {
  return i < desc.inputs.size() ? desc.inputs[i] : nullptr;
}

bool is_number(const Dim& dim) {
  return dim.is_constant();
}

Support supported(const OpDesc& desc) {
  constexpr std::array<int, kOperands> kRanks = {3, 3, 3, 2, 1, 3, 3};
  for (size_t i : {kX, kW, kR}) {
    if (input(desc, i) == nullptr) return {"an operand is missing"};
  }
  for (size_t i = 0; i < kOperands; ++i) {
    const TensorType* operand = input(desc, i);
    if (operand == nullptr) continue;
    const ElementType type = operand->element_type;
    const bool fits = i == kLengths ? type == ElementType::kInt32 || type == ElementType::kInt64
                                    : type == ElementType::kFloat32;
    if (!fits || operand->rank() != kRanks[i]) return {"an operand is not float32 or has another rank"};
  }
  for (const TensorType* output : desc.outputs) {
    if (output != nullptr && output->element_type != ElementType::kFloat32)
      return {"an output is not float32"};
  }
  if (desc.constant.size() <= kR || !desc.constant[kW] || !desc.constant[kR]) {
    return {"the weights are not constant"};
  }
  for (size_t i : {kW, kR}) {
    if (!std::all_of(input(desc, i)->shape.begin(), input(desc, i)->shape.end(), is_number)) {
      return {"the weights have no fixed shape"};
    }
  }
  return {};
}

// [D, 4H, K], gates i, o, f, c → [D][block][k][gate][unit].
void pack_gates(const TensorView& source, std::byte* target) {
  const int64_t directions = source.shape[0];
  const int64_t hidden = source.shape[1] / 4;
  const int64_t count = source.shape[2];
  const int64_t blocks = ceil_div(hidden, kLstmUnits);
  const float* from = source.as<float>();
  float* to = reinterpret_cast<float*>(target);
  for (int64_t direction = 0; direction < directions; ++direction) {
    for (int64_t block = 0; block < blocks; ++block) {
      for (int64_t k = 0; k < count; ++k) {
        for (int64_t gate = 0; gate < 4; ++gate) {
          for (int64_t u = 0; u < kLstmUnits; ++u) {
            const int64_t unit = block * kLstmUnits + u;
            *to++ = unit < hidden ? from[direction * source.strides[0] +
                                         (gate * hidden + unit) * source.strides[1] + k * source.strides[2]]
                                  : 0.0f;
          }
        }
      }
    }
  }
}

std::vector<PackRequest> pack(const OpDesc& desc) {
  std::vector<PackRequest> requests;
  for (size_t i : {kW, kR}) {
    const TensorType& type = *input(desc, i);
    const int64_t directions = type.shape[0].constant();
    const int64_t hidden = type.shape[1].constant() / 4;
    const int64_t count = type.shape[2].constant();
    PackRequest request;
    request.input = static_cast<int>(i);
    request.id =
        fmt::format("f32.gates16.d{}.h{}.k{}{}", directions, hidden, count, stride_suffix(type, ".s"));
    request.bytes =
        directions * ceil_div(hidden, kLstmUnits) * count * kLstmBlock * static_cast<int64_t>(sizeof(float));
    request.write = pack_gates;
    requests.push_back(std::move(request));
  }
  return requests;
}

LstmConstants make_constants(const ConcreteOp& op) {
  LstmConstants constants;
  const auto view = [](std::span<const TensorSpec> specs, size_t i) {
    LstmView result;
    if (i < specs.size() && specs[i].rank >= 0) {
      result.present = true;
      std::copy_n(specs[i].strides.begin(), 4, result.strides.begin());
    }
    return result;
  };
  const auto& attributes = op.get<LstmAttributes>();
  constants.steps = op.inputs[kX].shape[0];
  constants.batch = op.inputs[kX].shape[1];
  constants.features = op.inputs[kX].shape[2];
  constants.hidden = attributes.hidden_size;
  constants.direction = attributes.direction;
  constants.blocks = ceil_div(constants.hidden, kLstmUnits);
  constants.groups = ceil_div(constants.batch, kLstmGroup);
  constants.wide_lengths = op.has_input(kLengths) && op.inputs[kLengths].type == ElementType::kInt64;
  constants.inputs = static_cast<int32_t>(op.inputs.size());
  constants.x = view(op.inputs, kX);
  constants.b = view(op.inputs, kB);
  constants.lengths = view(op.inputs, kLengths);
  constants.h0 = view(op.inputs, kH0);
  constants.c0 = view(op.inputs, kC0);
  constants.y = view(op.outputs, 0);
  constants.h = view(op.outputs, 1);
  constants.c = view(op.outputs, 2);
  const int64_t rows = std::min(constants.batch, kLstmGroup);
  const int64_t step_floats = std::max<int64_t>(rows * lstm_gates(constants), 1);
  constants.chunk =
      std::clamp<int64_t>(kLstmChunkFloats / step_floats, 1, std::max<int64_t>(constants.steps, 1));
  return constants;
}

Plan plan(const ConcreteOp& op) {
  const LstmConstants constants = make_constants(op);
  const int64_t rows = std::min(constants.batch, kLstmGroup);
  // Bias, three states of a group, gates of a chunk.
  const int64_t floats = lstm_gates(constants) + 3 * kLstmGroup * lstm_padded(constants) +
                         constants.chunk * rows * lstm_gates(constants);
  return {.workspace_bytes = 0, .scratch_bytes = floats * static_cast<int64_t>(sizeof(float))};
}

Extent extent(const ConcreteOp& op, std::span<std::byte> target) {
  const LstmConstants constants = make_constants(op);
  const int64_t directions = constants.direction == LstmDirection::kBidirectional ? 2 : 1;
  return record(constants, directions * constants.groups, target);
}

constexpr Implementation kBase = {
    .op = Op::kLstm, .supported = supported, .pack = pack, .plan = plan, .extent = extent};

}  // namespace

WEIR_IMPLEMENT_EACH_ISA(Lstm, "lstm.blocks", kBase, lstm)

}  // namespace weir
#endif
