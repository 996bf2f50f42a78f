// SPDX-License-Identifier: Apache-2.0
//
// For tests of CPU kernels: runs every implementation of an operator that this machine can run against the
// reference, in memory that ends at an inaccessible page, with the tiles split in several ways.
//
//   KernelCase test(Op::kCopy, NoAttributes{});
//   test.input(spec).output(spec);
//   test.check({.relative = 1e-6});
//
// Inputs are filled with pseudo-random values (`fill` changes them). The results must not depend on how the
// tiles are split, bit by bit, and must agree with the reference within the tolerance.
#pragma once

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "kernels/implementation.h"

namespace weir {

// `bytes` that end where an inaccessible page begins, or begin where one ends.
class GuardedMemory {
 public:
  explicit GuardedMemory(int64_t bytes, bool at_end = true) {
    const int64_t page = sysconf(_SC_PAGESIZE);
    const int64_t body = (bytes + page - 1) / page * page;
    size_ = static_cast<size_t>(body + 2 * page);
    base_ = static_cast<std::byte*>(
        mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    if (base_ == MAP_FAILED) std::abort();
    mprotect(base_, static_cast<size_t>(page), PROT_NONE);
    mprotect(base_ + page + body, static_cast<size_t>(page), PROT_NONE);
    data_ = base_ + page + (at_end ? body - bytes : 0);
    std::memset(base_ + page, 0x5a, static_cast<size_t>(body));
  }
  GuardedMemory(const GuardedMemory&) = delete;
  GuardedMemory& operator=(const GuardedMemory&) = delete;
  ~GuardedMemory() { munmap(base_, size_); }
  std::byte* data() const { return data_; }

 private:
  std::byte* base_;
  size_t size_;
  std::byte* data_;
};

// A spec of `shape` whose axes lie in memory in `order`, outermost first (empty: row-major).
inline TensorSpec make_spec(ElementType type, std::vector<int64_t> shape, std::vector<int> order = {}) {
  TensorSpec spec = TensorSpec::dense(type, shape);
  if (!order.empty()) {
    int64_t stride = 1;
    for (size_t i = order.size(); i-- > 0;) {
      spec.strides[order[i]] = stride;
      stride *= std::max<int64_t>(shape[order[i]], 1);
    }
  }
  return spec;
}

// The same shape with `gap` unused elements after each run of the innermost axis in memory.
inline TensorSpec with_gap(TensorSpec spec, int64_t gap) {
  int inner = 0;
  for (int i = 0; i < spec.rank; ++i) {
    if (spec.strides[i] <= spec.strides[inner]) inner = i;
  }
  const int64_t width = spec.shape[inner];
  for (int i = 0; i < spec.rank; ++i) {
    if (i != inner) spec.strides[i] = spec.strides[i] / width * (width + gap);
  }
  return spec;
}

inline TensorType type_of_spec(const TensorSpec& spec) {
  TensorType type;
  type.element_type = spec.type;
  for (int i = 0; i < spec.rank; ++i) {
    type.shape.emplace_back(spec.shape[i]);
    type.strides.emplace_back(spec.strides[i]);
  }
  return type;
}

struct Tolerance {
  double relative = 0;
  double absolute = 0;
};

class KernelCase {
 public:
  using Fill = std::function<void(const TensorSpec& spec, std::byte* data, int64_t bytes, int input)>;

  KernelCase(Op op, Attributes attributes) : op_(op), attributes_(std::move(attributes)) {}

  KernelCase& input(const TensorSpec& spec) {
    inputs_.push_back(spec);
    return *this;
  }
  KernelCase& output(const TensorSpec& spec) {
    outputs_.push_back(spec);
    return *this;
  }
  // Runs output 0 in the memory of input `index`.
  KernelCase& in_place(int index) {
    in_place_ = index;
    return *this;
  }
  KernelCase& fill(Fill fill) {
    fill_ = std::move(fill);
    return *this;
  }
  // A run-time fault is expected.
  KernelCase& faults() {
    faults_ = true;
    return *this;
  }

  void check(Tolerance tolerance = {}) const {
    std::vector<TensorType> types;
    for (const auto& specs : {inputs_, outputs_}) {
      for (const TensorSpec& spec : specs) types.push_back(spec.rank < 0 ? TensorType{} : type_of_spec(spec));
    }
    OpDesc desc;
    desc.op = op_;
    desc.attributes = &attributes_;
    for (size_t i = 0; i < inputs_.size(); ++i)
      desc.inputs.push_back(inputs_[i].rank < 0 ? nullptr : &types[i]);
    for (size_t i = 0; i < outputs_.size(); ++i) {
      desc.outputs.push_back(outputs_[i].rank < 0 ? nullptr : &types[inputs_.size() + i]);
    }
    desc.constant.assign(inputs_.size(), constant_);

    std::vector<Bytes> expected;
    for (const Implementation* implementation : implementations()) {
      if (implementation->op != op_ || !implementation->reference) continue;
      const Support support = implementation->supported(desc);
      ASSERT_TRUE(support.ok()) << support.reason;
      expected = run(*implementation, desc, 1, true);
    }
    ASSERT_FALSE(expected.empty()) << "there is no reference for " << to_string(op_);

    int ran = 0;
    for (const Implementation* implementation : implementations()) {
      if (implementation->op != op_ || implementation->reference || implementation->isa > detect_isa())
        continue;
      const Support support = implementation->supported(desc);
      if (!support.ok() || !takes_layouts(*implementation, desc)) continue;
      SCOPED_TRACE(describe(*implementation));
      ++ran;
      const std::vector<Bytes> whole = run(*implementation, desc, 1, true);
      for (size_t i = 0; i < outputs_.size(); ++i) {
        if (outputs_[i].rank >= 0)
          compare(outputs_[i], expected[i], whole[i], tolerance, in_place_ < 0 || i > 0);
      }
      if (::testing::Test::HasFailure()) return;
      for (int parts : {3, 1000}) {
        const std::vector<Bytes> split = run(*implementation, desc, parts, parts == 3 ? false : true);
        for (size_t i = 0; i < outputs_.size(); ++i) {
          ASSERT_EQ(split[i], whole[i])
              << "output " << i << " depends on the split of tiles (" << parts << ")";
        }
      }
    }
    if (must_run_) {
      EXPECT_GE(ran, 1) << "no implementation takes this case: " << describe_refusals(desc);
    }
  }

  // Some cases are the reference's.
  KernelCase& may_be_refused() {
    must_run_ = false;
    return *this;
  }
  KernelCase& constants() {
    constant_ = true;
    return *this;
  }

 private:
  using Bytes = std::vector<std::byte>;

  // Whether the operands have the strides that the implementation asks for.
  bool takes_layouts(const Implementation& implementation, const OpDesc& desc) const {
    if (implementation.layouts == nullptr) return true;
    const std::vector<LayoutRule> rules = implementation.layouts(desc);
    for (size_t i = 0; i < rules.size(); ++i) {
      const TensorSpec& spec = i < inputs_.size() ? inputs_[i] : outputs_[i - inputs_.size()];
      const auto dense = [&spec](int axis) { return spec.shape[axis] <= 1 || spec.strides[axis] == 1; };
      if (spec.rank < 0 || spec.element_count() == 0) continue;
      if (rules[i] == LayoutRule::kRowMajor && !spec.is_dense_row_major()) return false;
      if (rules[i] == LayoutRule::kInnerDense && !dense(spec.rank - 1)) return false;
      if (rules[i] == LayoutRule::kChannelsDense && !dense(1)) return false;
    }
    return true;
  }

  static int64_t bytes_of(const TensorSpec& spec) { return spec.rank < 0 ? 0 : spec.extent_bytes(); }

  std::string describe(const Implementation& implementation) const {
    std::string text(implementation.name);
    for (const TensorSpec& spec : inputs_) text += spec.rank < 0 ? " absent" : " " + spec.to_string();
    text += " ->";
    for (const TensorSpec& spec : outputs_) text += spec.rank < 0 ? " absent" : " " + spec.to_string();
    return text;
  }
  std::string describe_refusals(const OpDesc& desc) const {
    std::string text;
    for (const Implementation* implementation : implementations()) {
      if (implementation->op != op_ || implementation->reference) continue;
      text += std::string(implementation->name) + ": " + std::string(implementation->supported(desc).reason) +
              "; ";
    }
    return text;
  }

  void fill_input(const TensorSpec& spec, std::byte* data, int64_t bytes, int input) const {
    std::mt19937 generator(static_cast<unsigned>(17 + input));
    switch (spec.type) {
      case ElementType::kFloat32: {
        std::normal_distribution<float> normal(0, 2);
        for (int64_t i = 0; i < bytes / 4; ++i) {
          const float value = normal(generator);
          std::memcpy(data + 4 * i, &value, 4);
        }
        return;
      }
      case ElementType::kBool:
        for (int64_t i = 0; i < bytes; ++i) data[i] = static_cast<std::byte>(generator() & 1);
        return;
      case ElementType::kInt32:
        for (int64_t i = 0; i < bytes / 4; ++i) {
          const int32_t value = static_cast<int32_t>(generator() % 41) - 20;
          std::memcpy(data + 4 * i, &value, 4);
        }
        return;
      case ElementType::kInt64:
        for (int64_t i = 0; i < bytes / 8; ++i) {
          const int64_t value = static_cast<int64_t>(generator() % 41) - 20;
          std::memcpy(data + 8 * i, &value, 8);
        }
        return;
      default:
        for (int64_t i = 0; i < bytes; ++i) data[i] = static_cast<std::byte>(generator() & 0xff);
        return;
    }
  }

  // The bytes of every output's extent, gaps included, after a run with the tiles in `parts` ranges.
  std::vector<Bytes> run(const Implementation& implementation, const OpDesc& desc, int parts,
                         bool at_end) const {
    const ConcreteOp op{op_, &attributes_, inputs_, outputs_};
    std::vector<std::unique_ptr<GuardedMemory>> memory;
    std::vector<std::byte*> bindings;
    for (size_t i = 0; i < inputs_.size(); ++i) {
      const int64_t bytes = bytes_of(inputs_[i]);
      memory.push_back(std::make_unique<GuardedMemory>(bytes, at_end));
      if (inputs_[i].rank >= 0) {
        (fill_ ? fill_ : Fill([this](const TensorSpec& spec, std::byte* data, int64_t size, int input) {
          fill_input(spec, data, size, input);
        }))(inputs_[i], memory.back()->data(), bytes, static_cast<int>(i));
      }
      bindings.push_back(inputs_[i].rank < 0 ? nullptr : memory.back()->data());
    }
    for (size_t i = 0; i < outputs_.size(); ++i) {
      if (i == 0 && in_place_ >= 0 && !implementation.reference) {
        bindings.push_back(bindings[in_place_]);
        memory.push_back(std::make_unique<GuardedMemory>(1));
        continue;
      }
      memory.push_back(std::make_unique<GuardedMemory>(bytes_of(outputs_[i]), at_end));
      bindings.push_back(outputs_[i].rank < 0 ? nullptr : memory.back()->data());
    }
    std::vector<std::unique_ptr<GuardedMemory>> packed;
    if (implementation.pack != nullptr) {
      for (const PackRequest& request : implementation.pack(desc)) {
        packed.push_back(std::make_unique<GuardedMemory>((request.bytes + 63) / 64 * 64));
        const size_t input = static_cast<size_t>(request.input);
        request.write(inputs_[input].at(bindings[input]), packed.back()->data());
        bindings[input] = packed.back()->data();
      }
    }
    const Plan plan = implementation.plan != nullptr ? implementation.plan(op) : Plan{};
    const auto round = [](int64_t bytes) { return (bytes + 63) / 64 * 64; };
    GuardedMemory workspace(round(plan.workspace_bytes), at_end);
    GuardedMemory scratch(round(plan.scratch_bytes), at_end);
    if (plan.workspace_bytes > 0) bindings.push_back(workspace.data());
    alignas(64) std::array<std::byte, kMaxKernelConstants> constants;
    const Extent extent = implementation.extent(op, constants);
    EXPECT_LE(extent.constant_bytes, static_cast<int64_t>(sizeof(constants)));
    StatusRecord status;
    const int64_t ranges = std::min<int64_t>(parts, std::max<int64_t>(extent.tiles, 1));
    std::vector<int64_t> order(static_cast<size_t>(ranges));
    std::iota(order.begin(), order.end(), int64_t{0});
    if (ranges > 1) std::shuffle(order.begin(), order.end(), std::mt19937(5));
    for (int64_t range : order) {
      CpuInvocation invocation;
      invocation.bindings = bindings;
      invocation.constants = constants.data();
      invocation.scratch = scratch.data();
      std::memset(scratch.data(), 0xff, static_cast<size_t>(plan.scratch_bytes));
      invocation.tile_begin = extent.tiles * range / ranges;
      invocation.tile_end = extent.tiles * (range + 1) / ranges;
      invocation.status = &status;
      if (invocation.tile_begin < invocation.tile_end) implementation.kernel(invocation);
    }
    EXPECT_EQ(status.state.load() != 0, faults_) << implementation.name;
    std::vector<Bytes> results;
    for (size_t i = 0; i < outputs_.size(); ++i) {
      const std::byte* data = bindings[inputs_.size() + i];
      results.emplace_back(data, data + (data == nullptr ? 0 : bytes_of(outputs_[i])));
    }
    return results;
  }

  static double element(const TensorSpec& spec, const std::byte* data, int64_t offset) {
    const auto read = [&](auto zero) {
      std::memcpy(&zero, data + offset * static_cast<int64_t>(sizeof(zero)), sizeof(zero));
      return static_cast<double>(zero);
    };
    switch (spec.type) {
      case ElementType::kFloat32:
        return read(float{});
      case ElementType::kFloat64:
        return read(double{});
      case ElementType::kInt32:
        return read(int32_t{});
      case ElementType::kInt64:
        return read(int64_t{});
      case ElementType::kInt8:
        return read(int8_t{});
      case ElementType::kInt16:
      case ElementType::kFloat16:
        return read(int16_t{});
      default:
        return read(uint8_t{});
    }
  }

  // Every element within the tolerance; with `compare_gaps`, bytes between elements untouched.
  static void compare(const TensorSpec& spec, const Bytes& expected, const Bytes& actual, Tolerance tolerance,
                      bool compare_gaps) {
    const int64_t width = bit_width(spec.type) / 8;
    std::vector<bool> written(actual.size(), false);
    const int64_t count = spec.element_count();
    for (int64_t i = 0; i < count; ++i) {
      int64_t offset = 0;
      int64_t rest = i;
      std::string index;
      for (int axis = spec.rank - 1; axis >= 0; --axis) {
        const int64_t position = rest % spec.shape[axis];
        rest /= spec.shape[axis];
        offset += position * spec.strides[axis];
        index.insert(0, std::to_string(position) + (index.empty() ? "" : ","));
      }
      for (int64_t byte = 0; byte < width; ++byte) written[static_cast<size_t>(offset * width + byte)] = true;
      const double want = element(spec, expected.data(), offset);
      const double have = element(spec, actual.data(), offset);
      if (std::isnan(want) && std::isnan(have)) continue;
      if (want == have) continue;
      ASSERT_LE(std::abs(have - want), tolerance.absolute + tolerance.relative * std::abs(want))
          << "at [" << index << "]: " << have << " instead of " << want;
    }
    for (size_t i = 0; compare_gaps && i < actual.size(); ++i) {
      if (!written[i]) {
        ASSERT_EQ(actual[i], expected[i]) << "byte " << i << " lies between elements";
      }
    }
  }

  Op op_;
  Attributes attributes_;
  std::vector<TensorSpec> inputs_;
  std::vector<TensorSpec> outputs_;
  int in_place_ = -1;
  Fill fill_;
  bool faults_ = false;
  bool must_run_ = true;
  bool constant_ = false;
};

}  // namespace weir
