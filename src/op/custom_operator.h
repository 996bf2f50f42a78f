// SPDX-License-Identifier: Apache-2.0
//
// CustomOperator: an operator that a user brings. Importer, compiler and runtime ask it for shapes and needs
// through this interface; whoever implements it (the C interface does) is not trusted: what it answers is
// checked here, and nonsense is an error.
//
//   WEIR_ASSIGN(auto operators, CustomOperators::with(nullptr, std::make_shared<Clip>()));
//   auto clip = operators->find("com.example", "Clip");
//   WEIR_ASSIGN(std::vector<TensorType> outputs, clip->infer(attributes, inputs, "clip_3", constraints));
//   WEIR_ASSIGN(CustomPrepared prepared, clip->prepare(concrete_op, "clip_3"));
//
// Immutable and called by any thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "op/op.h"

namespace weir {

struct Implementation;
struct StatusRecord;

inline constexpr size_t kMaxCustomTensors = 24;           // inputs and outputs of one node together
inline constexpr int64_t kMaxCustomParameterBytes = 512;  // of one step
inline constexpr int64_t kMaxCustomAlignment = 4096;      // of a workspace

// What an operator asks of the strides of all its operands.
enum class CustomLayout : uint8_t {
  kRowMajor = 0,    // dense, row-major
  kInnerDense = 1,  // the last axis has stride 1, the others any
  kAny = 2,         // any strides ≥ 0, stride 0 included
};

struct CustomDescription {
  std::string domain;  // "ai.onnx" is ONNX's own
  std::string name;
  int64_t version = 1;  // of this implementation: a program that was compiled with another is refused
  // Versions of the domain's operator set that it takes nodes of.
  int64_t first_opset = 1;
  int64_t last_opset = INT64_MAX;
  // Inputs from `min_inputs` on may be absent.
  int32_t min_inputs = 1;
  int32_t max_inputs = 1;
  int32_t min_outputs = 1;
  int32_t max_outputs = 1;
  CustomLayout layout = CustomLayout::kRowMajor;
  struct InPlace {
    int32_t output = 0;
    int32_t input = 0;
  };
  std::vector<InPlace> in_place;
};

struct CustomPlan {
  int64_t workspace_bytes = 0;
  int64_t workspace_alignment = 64;
  int64_t scratch_bytes = 0;  // of each participant
};

struct CustomExtent {
  int64_t tiles = 1;
  int64_t parameter_bytes = 0;
  alignas(64) std::array<std::byte, kMaxCustomParameterBytes> parameters{};
};

// What one step of a prepared shape needs.
struct CustomPrepared {
  CustomPlan plan;
  CustomExtent extent;

  // A workspace with room to round its address up; the arena gives 64.
  int64_t workspace_room() const {
    return plan.workspace_bytes == 0 ? 0 : plan.workspace_bytes + plan.workspace_alignment - 64;
  }
};

// A range of a step's tiles. A view that is absent has rank −1; one without elements may have no data.
struct CustomCall {
  std::span<const TensorView> inputs;
  std::span<const TensorView> outputs;
  const std::byte* parameters = nullptr;
  std::byte* workspace = nullptr;
  int64_t workspace_bytes = 0;
  std::byte* scratch = nullptr;
  int64_t scratch_bytes = 0;
  int64_t tile_begin = 0;
  int64_t tile_end = 0;
  int32_t participant = 0;
  int32_t step = 0;
  StatusRecord* status = nullptr;
};

class CustomOperator {
 public:
  explicit CustomOperator(CustomDescription description);
  virtual ~CustomOperator() = default;
  CustomOperator(const CustomOperator&) = delete;
  CustomOperator& operator=(const CustomOperator&) = delete;

  const CustomDescription& description() const { return description_; }
  const std::string& full_name() const { return full_name_; }  // "com.example.Clip"
  const std::string& implementation_name() const {
    return implementation_name_;
  }  // "custom:com.example.Clip"

  // The outputs' types. `node` is for messages; what could not be proved is added to `constraints`.
  Result<std::vector<TensorType>> infer(const CustomAttributes& attributes,
                                        std::span<const TensorType* const> inputs, std::string_view node,
                                        std::vector<Constraint>* constraints) const;
  // Plan and extent for numbers. The outputs have to be those that follow from the inputs.
  Result<CustomPrepared> prepare(const ConcreteOp& op, std::string_view node) const;

  // What stands for it among the implementations (kernels/custom/custom.h); lives as long as it.
  virtual const Implementation& implementation() const = 0;

  // Allocates nothing; called by several threads at a time.
  virtual void run(const CustomCall& call) const = 0;

 protected:
  // Answers that are not checked yet; an error is the operator's own text.
  virtual Result<std::vector<TensorType>> shape(const CustomAttributes& attributes,
                                                std::span<const TensorType* const> inputs,
                                                std::string_view node,
                                                std::vector<Constraint>& constraints) const = 0;
  virtual Result<CustomPlan> plan(const ConcreteOp& op, std::string_view node) const = 0;
  virtual Result<CustomExtent> extent(const ConcreteOp& op, std::string_view node) const = 0;

 private:
  Result<void> check_operands(const CustomAttributes& attributes,
                              std::span<const TensorType* const> inputs) const;
  Result<void> check_output(const TensorType& type, size_t position) const;
  Result<void> check_same_outputs(const ConcreteOp& op, std::string_view node) const;
  Result<void> check_extent(const CustomExtent& extent, const ConcreteOp& op) const;
  std::string where(std::string_view node) const;

  CustomDescription description_;
  std::string full_name_;
  std::string implementation_name_;
};

// The operators that are registered with one runtime. Immutable: registering makes another list, so that a
// session keeps the one that it was opened with.
class CustomOperators {
 public:
  // `list` (or nothing) and one more. A name that is there already is an error.
  static Result<std::shared_ptr<const CustomOperators>> with(const CustomOperators* list,
                                                             std::shared_ptr<const CustomOperator> added);

  // Null where there is none. "" is the domain "ai.onnx".
  std::shared_ptr<const CustomOperator> find(std::string_view domain, std::string_view name) const;
  std::span<const std::shared_ptr<const CustomOperator>> all() const { return all_; }
  // What programs compiled with these depend on: names, versions, operator sets.
  std::string text() const;

 private:
  std::vector<std::shared_ptr<const CustomOperator>> all_;  // in ascending order of their names
};

// The registered operator that a step of a program was compiled with. `operators` may be null.
Result<std::shared_ptr<const CustomOperator>> resolve(const CustomOperators* operators,
                                                      const CustomAttributes& attributes);

}  // namespace weir
