// SPDX-License-Identifier: Apache-2.0
//
// The operators of Weir's own IR and their attributes: what graph, program and kernels all speak.
//
// The set is small on purpose. Importers lower a format's operators to it: every elementwise operator is
// kElementwise with a TileProgram; Gemm is a Transpose (a view), a MatMul and a bias; BatchNormalization is a
// multiply and an add; Flatten, Squeeze and Unsqueeze are Reshapes; Split is Slices; Shape becomes
// expressions.
//
// An attribute that is a shape holds Dims. In the concrete form that kernels see every Dim is a number.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "op/tile_program.h"
#include "shape/dim.h"
#include "tensor/tensor.h"

namespace weir {

// The numbers are stored in program files: append, never renumber.
//
// Operand order in brackets; '?' marks one that may be absent; '…' are the epilogue's extra inputs.
enum class Op : uint8_t {
  kElementwise = 1,    // [inputs of the program, broadcast to the output] → [y]
  kConv = 2,           // [x(N,C,spatial…), w(M,C/group,kernel…), bias(M)?, …] → [y]
  kConvTranspose = 3,  // [x, w(C,M/group,kernel…), bias(M)?, …] → [y]
  kMatMul = 4,         // [a(…,M,K), b(…,K,N), bias(N)?, …] → [y(…,M,N)], leading axes broadcast; ranks ≥ 2
  kLstm = 5,           // [x(T,B,I), w(D,4H,I), r(D,4H,H), b(D,8H)?, lengths(B)?, h0(D,B,H)?, c0(D,B,H)?]
                       //   → [y(T,D,B,H)?, h(D,B,H)?, c(D,B,H)?]; gate order i,o,f,c
  kMaxPool = 6,        // [x(N,C,spatial…)] → [y]
  kAveragePool = 7,    // [x] → [y]
  kReduce = 8,         // [x] → [y]
  kSoftmax = 9,        // [x] → [y]
  kLayerNormalization = 10,  // [x, scale, bias?] → [y]
  kResize = 11,              // [x] → [y]
  kPad = 12,                 // [x] → [y]
  kGather = 13,              // [data, indices(int32 or int64)] → [y]
  kReshape = 14,             // [x] → [y]
  kTranspose = 15,           // [x] → [y]
  kSlice = 16,               // [x] → [y]
  kConcat = 17,              // [x…] → [y]
  kExpand = 18,              // [x] → [y], y's shape
  kCopy = 19,                // [x] → [y], the same shape, other strides
  kFill = 20,                // [] → [y]
  kRange = 21,               // [] → [y(n)]
  kDimTensor = 22,           // [] → [y]: int64 elements that are expressions
  kCustom = 23,              // [x…] → [y…]: an operator that a user registered (custom_operator.h)
};

std::string_view to_string(Op op);  // "Conv", "MatMul", …
bool is_valid(Op op);

// What a convolution or matrix product does with its result before it stores it. Input 0 of the program is
// the result (bias already added), inputs 1 … are the step's extra inputs, broadcast to the output. Empty:
// nothing.
using Epilogue = TileProgram;

struct ElementwiseAttributes {
  TileProgram program;
  friend bool operator==(const ElementwiseAttributes&, const ElementwiseAttributes&) = default;
};

struct ConvAttributes {  // kConv and kConvTranspose; one entry a spatial axis
  std::vector<int64_t> strides;
  std::vector<int64_t> dilations;
  Dims pads_begin;
  Dims pads_end;
  int64_t group = 1;
  Epilogue epilogue;
  friend bool operator==(const ConvAttributes&, const ConvAttributes&) = default;
};

struct MatMulAttributes {
  Epilogue epilogue;
  friend bool operator==(const MatMulAttributes&, const MatMulAttributes&) = default;
};

enum class LstmDirection : uint8_t { kForward = 0, kReverse = 1, kBidirectional = 2 };

struct LstmAttributes {  // activations sigmoid, tanh, tanh
  LstmDirection direction = LstmDirection::kForward;
  int64_t hidden_size = 0;
  friend bool operator==(const LstmAttributes&, const LstmAttributes&) = default;
};

struct PoolAttributes {
  std::vector<int64_t> kernel;
  std::vector<int64_t> strides;
  std::vector<int64_t> dilations;
  Dims pads_begin;
  Dims pads_end;  // as declared; windows of ceil mode may reach further
  bool count_include_pad = false;
  friend bool operator==(const PoolAttributes&, const PoolAttributes&) = default;
};

enum class ReduceKind : uint8_t { kMean = 0, kSum = 1, kMax = 2, kMin = 3 };

struct ReduceAttributes {
  ReduceKind kind = ReduceKind::kMean;
  std::vector<int64_t> axes;  // sorted, ≥ 0
  bool keep_dims = true;
  friend bool operator==(const ReduceAttributes&, const ReduceAttributes&) = default;
};

struct SoftmaxAttributes {
  int64_t axis = 0;  // ≥ 0
  friend bool operator==(const SoftmaxAttributes&, const SoftmaxAttributes&) = default;
};

struct LayerNormalizationAttributes {
  int64_t axis = 0;  // normalises over axes axis … rank−1
  double epsilon = 1e-5;
  friend bool operator==(const LayerNormalizationAttributes&, const LayerNormalizationAttributes&) = default;
};

enum class ResizeMode : uint8_t { kNearest = 0, kLinear = 1, kCubic = 2 };
enum class CoordinateMode : uint8_t {
  kHalfPixel = 0,
  kPytorchHalfPixel = 1,
  kAlignCorners = 2,
  kAsymmetric = 3,
  kHalfPixelSymmetric = 4,
};
enum class NearestMode : uint8_t { kRoundPreferFloor = 0, kRoundPreferCeil = 1, kFloor = 2, kCeil = 3 };

struct ResizeAttributes {
  ResizeMode mode = ResizeMode::kNearest;
  CoordinateMode coordinates = CoordinateMode::kHalfPixel;
  NearestMode nearest = NearestMode::kRoundPreferFloor;
  double cubic_coefficient = -0.75;
  bool exclude_outside = false;
  // One an axis where the model gives scales; empty where it gives sizes (then scale = output / input).
  std::vector<double> scales;
  friend bool operator==(const ResizeAttributes&, const ResizeAttributes&) = default;
};

enum class PadMode : uint8_t { kConstant = 0, kReflect = 1, kEdge = 2, kWrap = 3 };

struct PadAttributes {
  PadMode mode = PadMode::kConstant;
  Dims begin;  // one an axis; may be negative (crops)
  Dims end;
  double value = 0;
  friend bool operator==(const PadAttributes&, const PadAttributes&) = default;
};

struct GatherAttributes {
  int64_t axis = 0;  // ≥ 0; indices in [−d, d−1], others are a run-time fault
  friend bool operator==(const GatherAttributes&, const GatherAttributes&) = default;
};

struct TransposeAttributes {
  std::vector<int64_t> permutation;  // axis i of the output is axis permutation[i] of the input
  friend bool operator==(const TransposeAttributes&, const TransposeAttributes&) = default;
};

struct SliceAttributes {  // one entry an axis
  Dims starts;            // normalised: in [0, d−1] (or d where the result is empty)
  std::vector<int64_t> steps;
  friend bool operator==(const SliceAttributes&, const SliceAttributes&) = default;
};

struct ConcatAttributes {
  int64_t axis = 0;  // ≥ 0
  friend bool operator==(const ConcatAttributes&, const ConcatAttributes&) = default;
};

struct FillAttributes {
  double value = 0;  // int64 values beyond 2^53 are not representable and refused on import
  friend bool operator==(const FillAttributes&, const FillAttributes&) = default;
};

struct RangeAttributes {
  Dim start;
  Dim delta = 1;
  friend bool operator==(const RangeAttributes&, const RangeAttributes&) = default;
};

struct DimTensorAttributes {
  Dims elements;  // in row-major order
  friend bool operator==(const DimTensorAttributes&, const DimTensorAttributes&) = default;
};

// One attribute of a custom operator, as the model has it.
struct CustomAttribute {
  enum class Kind : uint8_t {
    kInteger = 0,   // integers[0]
    kReal = 1,      // reals[0]
    kText = 2,      // text
    kIntegers = 3,  // integers
    kReals = 4,     // reals
    kTensor = 5,    // integers: the shape; text: the bytes, row-major; element_type
  };
  std::string name;
  Kind kind = Kind::kInteger;
  std::vector<int64_t> integers;
  std::vector<double> reals;
  std::string text;
  ElementType element_type = ElementType::kFloat32;
  friend bool operator==(const CustomAttribute&, const CustomAttribute&) = default;
};

class CustomOperator;
struct CustomPrepared;

struct CustomAttributes {
  std::string domain;
  std::string name;
  int64_t opset = 1;    // of the domain, that the node was written for
  int64_t version = 1;  // of the registered operator that it was compiled with
  int64_t outputs = 1;  // how many the node has
  std::vector<CustomAttribute> attributes;
  // Not stored: who runs it, in a graph and in a step with numbers; what it needs, in the latter.
  std::shared_ptr<const CustomOperator> definition;
  std::shared_ptr<const CustomPrepared> prepared;

  std::string full_name() const { return domain + "." + name; }
  friend bool operator==(const CustomAttributes& a, const CustomAttributes& b) {
    return a.domain == b.domain && a.name == b.name && a.opset == b.opset && a.version == b.version &&
           a.outputs == b.outputs && a.attributes == b.attributes;
  }
};

struct NoAttributes {
  friend bool operator==(const NoAttributes&, const NoAttributes&) = default;
};

using Attributes =
    std::variant<NoAttributes, ElementwiseAttributes, ConvAttributes, MatMulAttributes, LstmAttributes,
                 PoolAttributes, ReduceAttributes, SoftmaxAttributes, LayerNormalizationAttributes,
                 ResizeAttributes, PadAttributes, GatherAttributes, TransposeAttributes, SliceAttributes,
                 ConcatAttributes, FillAttributes, RangeAttributes, DimTensorAttributes, CustomAttributes>;

// The attributes of `op`, at their defaults.
Attributes default_attributes(Op op);

// The epilogue of kConv, kConvTranspose and kMatMul; nothing for the others.
const Epilogue* epilogue_of(const Attributes& attributes);
// The number of operands before the epilogue's extra inputs: 3 for those operators.
inline constexpr int kFixedOperands = 3;

// One line, "strides=[2,2] pads_begin=[1,1] …", without what is at its default.
std::string to_string(const Attributes& attributes);

// An operator with its tensor types, while compiling. `inputs[i]` is null where operand i is absent. Does not
// own.
struct OpDesc {
  Op op = Op::kCopy;
  const Attributes* attributes = nullptr;
  std::vector<const TensorType*> inputs;
  std::vector<const TensorType*> outputs;
  std::vector<bool> constant;  // one an input: known at compile time
};

// The same with numbers, while preparing. An absent operand has rank −1.
struct ConcreteOp {
  Op op = Op::kCopy;
  const Attributes* attributes = nullptr;  // every Dim a constant
  std::span<const TensorSpec> inputs;
  std::span<const TensorSpec> outputs;

  bool has_input(size_t i) const { return i < inputs.size() && inputs[i].rank >= 0; }
  template <typename T>
  const T& get() const {
    return std::get<T>(*attributes);
  }
};

inline TensorSpec absent_operand() {
  TensorSpec spec;
  spec.rank = -1;
  return spec;
}

}  // namespace weir
