// SPDX-License-Identifier: Apache-2.0
//
// Every implementation that this machine can run, on every case of its operator that it supports, against the
// reference. Operands lie against inaccessible pages; workspace and scratch hold NaN before each run; the
// tiles are split in several ways, which must give the same bits; declared in-place pairs are run in place;
// bytes of an output that belong to no element must stay as they were.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <map>
#include <memory>
#include <random>
#include <set>

#include "base/checked.h"
#include "base/float_environment.h"
#include "kernels/implementation.h"
#include "kernels/reference/reference.h"
#include "kernels/reference/tile_interpreter.h"
#include "kernels/run_reference.h"
#include "kernels/testing/guarded_memory.h"
#include "kernels/testing/op_cases.h"

namespace weir::testing {
namespace {

using Against = GuardedMemory::Against;
using Bytes = std::vector<std::byte>;

constexpr std::byte kNaNByte{0xff};  // all ones are a NaN in every floating-point type

int64_t alignment_of(ElementType type) {
  return std::max(bit_width(type) / 8, 1);
}

TensorType type_of(const TensorSpec& spec) {
  TensorType type;
  type.element_type = spec.type;
  for (int i = 0; i < spec.rank; ++i) {
    type.shape.emplace_back(spec.shape[i]);
    type.strides.emplace_back(spec.strides[i]);
  }
  return type;
}

// An OpDesc over specs, which it copies.
class Description {
 public:
  Description(const OpCase& test, const std::vector<TensorSpec>& inputs,
              const std::vector<TensorSpec>& outputs) {
    types_.reserve(inputs.size() + outputs.size());
    desc_.op = test.op;
    desc_.attributes = &test.attributes;
    const auto add = [&](const std::vector<TensorSpec>& specs, std::vector<const TensorType*>& target) {
      for (const TensorSpec& spec : specs) {
        target.push_back(spec.rank < 0 ? nullptr : &types_.emplace_back(type_of(spec)));
      }
    };
    add(inputs, desc_.inputs);
    add(outputs, desc_.outputs);
    for (const OperandCase& operand : test.inputs) {
      desc_.constant.push_back(operand.constant);
    }
  }
  const OpDesc& operator*() const { return desc_; }

 private:
  std::vector<TensorType> types_;
  OpDesc desc_;
};

std::vector<TensorSpec> specs_of(const std::vector<OperandCase>& operands) {
  std::vector<TensorSpec> specs;
  for (const OperandCase& operand : operands) {
    specs.push_back(operand.spec);
  }
  return specs;
}

// Operand values in one arrangement, and what the reference makes of them, dense.
struct Expected {
  std::vector<Bytes> inputs;  // as arranged
  std::vector<Bytes> outputs;
};

Expected expect(const OpCase& test, const std::vector<TensorSpec>& arranged) {
  Expected expected;
  std::vector<Bytes> dense(test.inputs.size());
  std::vector<TensorView> inputs(test.inputs.size());
  for (size_t i = 0; i < test.inputs.size(); ++i) {
    const OperandCase& operand = test.inputs[i];
    expected.inputs.emplace_back();
    if (operand.spec.rank < 0) {
      inputs[i].rank = -1;
      continue;
    }
    Bytes& bytes = expected.inputs.back();
    bytes.assign(static_cast<size_t>(arranged[i].extent_bytes()), kNaNByte);
    fill(arranged[i], operand.values, test.seed * 16 + static_cast<uint32_t>(i), bytes.data());
    dense[i].resize(static_cast<size_t>(operand.spec.extent_bytes()) + 1);
    copy_elements(arranged[i].at(bytes.data()), operand.spec.at(dense[i].data()));
    inputs[i] = operand.spec.at(dense[i].data());
  }
  std::vector<TensorView> outputs;
  for (const OperandCase& operand : test.outputs) {
    expected.outputs.emplace_back(operand.spec.rank < 0 ? 0 : operand.spec.extent_bytes() + 1);
    outputs.push_back(operand.spec.at(operand.spec.rank < 0 ? nullptr : expected.outputs.back().data()));
  }
  const std::vector<TensorSpec> input_specs = specs_of(test.inputs);
  const std::vector<TensorSpec> output_specs = specs_of(test.outputs);
  const auto ran = run_reference({test.op, &test.attributes, input_specs, output_specs}, inputs, outputs);
  EXPECT_TRUE(ran.has_value()) << (ran ? "" : ran.error().to_string());
  return expected;
}

// A split of tiles among participants: consecutive ranges, in the order in which they run.
using Ranges = std::vector<std::pair<int64_t, int64_t>>;

Ranges split_evenly(int64_t tiles, int64_t parts) {
  Ranges ranges;
  for (int64_t i = 0; i < parts; ++i) {
    ranges.emplace_back(tiles * i / parts, tiles * (i + 1) / parts);
  }
  std::erase_if(ranges, [](const auto& range) { return range.first == range.second; });
  return ranges;
}

Ranges split_randomly(int64_t tiles, uint32_t seed) {
  std::minstd_rand random(seed);
  std::set<int64_t> cuts = {0, tiles};
  for (int i = 0; i < 5 && tiles > 0; ++i) {
    cuts.insert(static_cast<int64_t>(random() % static_cast<uint32_t>(std::min<int64_t>(tiles, INT32_MAX))));
  }
  Ranges ranges;
  for (auto cut = cuts.begin(); std::next(cut) != cuts.end(); ++cut) {
    ranges.emplace_back(*cut, *std::next(cut));
  }
  std::shuffle(ranges.begin(), ranges.end(), random);
  return ranges;
}

// One implementation on one case in one arrangement.
class Run {
 public:
  Run(const Implementation& implementation, const OpCase& test, std::vector<TensorSpec> inputs,
      std::vector<TensorSpec> outputs, const Expected& expected)
      : implementation_(implementation),
        test_(test),
        inputs_(std::move(inputs)),
        outputs_(std::move(outputs)),
        expected_(expected),
        description_(test, inputs_, outputs_),
        op_{test.op, &test.attributes, inputs_, outputs_} {
    if (implementation.pack != nullptr) {
      for (const PackRequest& request : implementation.pack(*description_)) {
        pack(request);
      }
    }
    plan_ = implementation.plan != nullptr ? implementation.plan(op_) : Plan{};
    extent_ = implementation.extent(op_, std::span(constants_).first(kMaxKernelConstants));
    EXPECT_LE(extent_.constant_bytes, static_cast<int64_t>(kMaxKernelConstants));
    // Nothing past the constants may be read.
    std::fill(constants_ + extent_.constant_bytes, std::end(constants_), kNaNByte);
  }

  int64_t tiles() const { return extent_.tiles; }
  const OpDesc& desc() const { return *description_; }

  // Runs the ranges and returns the bytes of every output. `pair`: run in place.
  std::vector<Bytes> run(const Ranges& ranges, Against against, const InPlacePair* pair = nullptr) {
    std::vector<GuardedMemory> memory;
    memory.reserve(inputs_.size() + outputs_.size() + 1);
    std::vector<std::byte*> bindings;
    for (size_t i = 0; i < inputs_.size(); ++i) {
      if (inputs_[i].rank < 0) {
        bindings.push_back(nullptr);
        continue;
      }
      if (const auto packed = packed_.find(i); packed != packed_.end()) {
        bindings.push_back(copy_to_guarded(memory, packed->second, 64, against));
      } else {
        bindings.push_back(
            copy_to_guarded(memory, expected_.inputs[i], alignment_of(inputs_[i].type), against));
      }
    }
    for (size_t i = 0; i < outputs_.size(); ++i) {
      if (outputs_[i].rank < 0) {
        bindings.push_back(nullptr);
      } else if (pair != nullptr && pair->output == static_cast<int>(i)) {
        bindings.push_back(bindings[static_cast<size_t>(pair->input)]);
      } else {
        memory.emplace_back(outputs_[i].extent_bytes(), alignment_of(outputs_[i].type), against, kNaNByte);
        bindings.push_back(memory.back().data());
      }
    }
    if (plan_.workspace_bytes > 0) {
      memory.emplace_back(plan_.workspace_bytes, 64, against, kNaNByte);
      bindings.push_back(memory.back().data());
    }
    StatusRecord status;
    for (const auto& [begin, end] : ranges) {
      // Each participant has scratch of its own, and finds in it what it likes.
      const GuardedMemory scratch(plan_.scratch_bytes, 64, against, kNaNByte);
      CpuInvocation invocation;
      invocation.bindings = bindings;
      invocation.constants = constants_;
      invocation.scratch = scratch.data();
      invocation.tile_begin = begin;
      invocation.tile_end = end;
      invocation.status = &status;
      const FloatEnvironment environment;
      if (!survives([&] { implementation_.kernel(invocation); })) {
        ADD_FAILURE() << "touches memory outside its operands in tiles " << begin << " to " << end
                      << (against == Against::kEnd ? " (past an end)" : " (before a begin)");
        return {};
      }
    }
    EXPECT_EQ(status.state.load(), 0) << "sets the status record";
    std::vector<Bytes> results;
    for (size_t i = 0; i < outputs_.size(); ++i) {
      const std::byte* data = bindings[inputs_.size() + i];
      results.emplace_back(data, data + (data == nullptr ? 0 : outputs_[i].extent_bytes()));
    }
    return results;
  }

 private:
  std::byte* copy_to_guarded(std::vector<GuardedMemory>& memory, const Bytes& bytes, int64_t alignment,
                             Against against) {
    memory.emplace_back(static_cast<int64_t>(bytes.size()), alignment, against, kNaNByte);
    if (!bytes.empty()) {
      std::memcpy(memory.back().data(), bytes.data(), bytes.size());
    }
    return memory.back().data();
  }

  void pack(const PackRequest& request) {
    const auto input = static_cast<size_t>(request.input);
    ASSERT_LT(input, inputs_.size());
    EXPECT_TRUE(test_.inputs[input].constant) << "asks to pack an operand that is no constant";
    EXPECT_FALSE(request.id.empty());
    const GuardedMemory target(request.bytes, 64, Against::kEnd, kNaNByte);
    Bytes source = expected_.inputs[input];
    ASSERT_TRUE(survives([&] { request.write(inputs_[input].at(source.data()), target.data()); }))
        << "writes past its packed bytes";
    packed_[input] = Bytes(target.data(), target.data() + request.bytes);
  }

  const Implementation& implementation_;
  const OpCase& test_;
  std::vector<TensorSpec> inputs_;
  std::vector<TensorSpec> outputs_;
  const Expected& expected_;
  Description description_;
  ConcreteOp op_;
  std::map<size_t, Bytes> packed_;
  Plan plan_;
  Extent extent_;
  alignas(64) std::byte constants_[kMaxKernelConstants];
};

double value_of(const TensorSpec& spec, const std::byte* data, int64_t element) {
  const reference::Scalar scalar = reference::load(spec.type, data, element);
  return is_floating_point(spec.type) ? scalar.real : static_cast<double>(scalar.integer);
}

bool close(double actual, double wanted, const Tolerance& tolerance) {
  if (std::isnan(wanted) || std::isnan(actual)) {
    return std::isnan(wanted) && std::isnan(actual);
  }
  return actual == wanted ||
         std::fabs(actual - wanted) <= tolerance.absolute + tolerance.relative * std::fabs(wanted);
}

// Compares an output with the reference's dense one, and the bytes between its elements with what they were.
void compare(const TensorSpec& spec, Bytes actual, const TensorSpec& dense, const Bytes& wanted,
             const Tolerance& tolerance) {
  const int64_t width = bit_width(spec.type) / 8;
  reference::Index index{};
  int wrong = 0;
  for (int64_t i = 0; i < dense.element_count(); ++i) {
    const int64_t at = reference::offset_of(index, spec.strides, spec.rank);
    const double a = value_of(spec, actual.data(), at);
    const double w = value_of(dense, wanted.data(), i);
    if (!close(a, w, tolerance) && ++wrong <= 3) {
      ADD_FAILURE() << "element " << i << " of " << dense.to_string() << " is " << a
                    << ", and the reference has " << w << " (difference " << std::fabs(a - w) << ")";
    }
    std::memset(actual.data() + at * width, static_cast<int>(kNaNByte), static_cast<size_t>(width));
    reference::next_element(index, reference::shape_of(dense));
  }
  EXPECT_EQ(wrong, 0) << "elements are wrong";
  EXPECT_TRUE(std::all_of(actual.begin(), actual.end(), [](std::byte b) { return b == kNaNByte; }))
      << "bytes between the output's elements were written";
}

void check_in_place(const Implementation& implementation, const OpCase& test,
                    const std::vector<LayoutRule>& input_rules, const std::vector<LayoutRule>& output_rules) {
  const Description description(test, specs_of(test.inputs), specs_of(test.outputs));
  for (const InPlacePair& pair : implementation.in_place(*description)) {
    const auto in = static_cast<size_t>(pair.input);
    const auto out = static_cast<size_t>(pair.output);
    ASSERT_LT(in, test.inputs.size());
    ASSERT_LT(out, test.outputs.size());
    ASSERT_EQ(reference::shape_of(test.inputs[in].spec).size(),
              reference::shape_of(test.outputs[out].spec).size());
    ASSERT_TRUE(std::ranges::equal(reference::shape_of(test.inputs[in].spec),
                                   reference::shape_of(test.outputs[out].spec)))
        << "in-place pair (" << out << ", " << in << ") differs in shape";
    ASSERT_EQ(bit_width(test.inputs[in].spec.type), bit_width(test.outputs[out].spec.type));
    std::vector<TensorSpec> inputs;
    for (size_t i = 0; i < test.inputs.size(); ++i) {
      inputs.push_back(arrange(test.inputs[i].spec, Arrangement::kDense, input_rules[i], false));
    }
    std::vector<TensorSpec> outputs;
    for (size_t i = 0; i < test.outputs.size(); ++i) {
      outputs.push_back(arrange(test.outputs[i].spec, Arrangement::kDense, output_rules[i], true));
    }
    inputs[in].strides = outputs[out].strides;
    ASSERT_TRUE(satisfies(inputs[in], input_rules[in])) << "an in-place pair asks for two layouts";
    const Expected expected = expect(test, inputs);
    Run run(implementation, test, inputs, outputs, expected);
    const auto apart = run.run(split_evenly(run.tiles(), 1), Against::kEnd);
    const auto together = run.run(split_evenly(run.tiles(), 3), Against::kEnd, &pair);
    EXPECT_EQ(apart, together) << "in-place pair (" << out << ", " << in << ") changes the result";
  }
}

void check(const Implementation& implementation, const OpCase& test) {
  const std::vector<TensorSpec> dense_inputs = specs_of(test.inputs);
  const std::vector<TensorSpec> dense_outputs = specs_of(test.outputs);
  const Description description(test, dense_inputs, dense_outputs);
  std::vector<LayoutRule> rules(test.inputs.size() + test.outputs.size(), LayoutRule::kAny);
  if (implementation.layouts != nullptr) {
    rules = implementation.layouts(*description);
  }
  ASSERT_EQ(rules.size(), test.inputs.size() + test.outputs.size()) << "one rule an operand";
  const std::vector<LayoutRule> input_rules(rules.begin(),
                                            rules.begin() + static_cast<ptrdiff_t>(test.inputs.size()));
  const std::vector<LayoutRule> output_rules(rules.begin() + static_cast<ptrdiff_t>(test.inputs.size()),
                                             rules.end());
  // The reference is compared with itself, dense.
  const Tolerance tolerance = implementation.reference ? Tolerance{} : tolerance_of(test);

  std::vector<std::pair<std::vector<TensorSpec>, std::vector<TensorSpec>>> tried;
  for (const Arrangement arrangement : test.arrangements) {
    SCOPED_TRACE(to_string(arrangement));
    std::vector<TensorSpec> inputs;
    for (size_t i = 0; i < test.inputs.size(); ++i) {
      inputs.push_back(arrange(dense_inputs[i], test.inputs[i].constant ? Arrangement::kDense : arrangement,
                               input_rules[i], false));
    }
    std::vector<TensorSpec> outputs;
    for (size_t i = 0; i < test.outputs.size(); ++i) {
      outputs.push_back(arrange(dense_outputs[i], arrangement, output_rules[i], true));
    }
    if (std::ranges::find(tried, std::pair(inputs, outputs)) != tried.end()) {
      continue;
    }
    tried.emplace_back(inputs, outputs);
    const Expected expected = expect(test, inputs);
    if (::testing::Test::HasFatalFailure()) {
      return;
    }
    Run run(implementation, test, inputs, outputs, expected);
    if (!implementation.supported(run.desc()).ok()) {
      continue;  // not in these strides
    }
    const auto whole = run.run(split_evenly(run.tiles(), 1), Against::kEnd);
    if (whole.size() != outputs.size()) {
      return;
    }
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (outputs[i].rank >= 0) {
        SCOPED_TRACE("output " + std::to_string(i));
        compare(outputs[i], whole[i], dense_outputs[i], expected.outputs[i], tolerance);
      }
    }
    EXPECT_EQ(run.run(split_evenly(run.tiles(), 2), Against::kBegin), whole)
        << "two participants give other bits";
    EXPECT_EQ(run.run(split_evenly(run.tiles(), 3), Against::kEnd), whole)
        << "three participants give other bits";
    EXPECT_EQ(run.run(split_randomly(run.tiles(), test.seed), Against::kEnd), whole)
        << "a random split gives other bits";
  }
  if (implementation.in_place != nullptr) {
    SCOPED_TRACE("in place");
    check_in_place(implementation, test, input_rules, output_rules);
  }
}

class Implementations : public ::testing::TestWithParam<const Implementation*> {};

TEST_P(Implementations, AgreeWithTheReference) {
  const Implementation& implementation = *GetParam();
  if (implementation.isa > detect_isa()) {
    GTEST_SKIP() << "this machine has no " << to_string(implementation.isa);
  }
  int accepted = 0;
  const std::vector<OpCase> cases = op_cases(implementation.op);
  for (const OpCase& test : cases) {
    const Description description(test, specs_of(test.inputs), specs_of(test.outputs));
    if (!implementation.supported(*description).ok()) {
      continue;
    }
    ++accepted;
    SCOPED_TRACE(test.name);
    check(implementation, test);
    if (HasFatalFailure()) {
      return;
    }
  }
  RecordProperty("cases", accepted);
  EXPECT_GT(accepted, 0) << "no case exercises it; add one to kernels/testing";
  if (implementation.reference) {
    EXPECT_EQ(accepted, static_cast<int>(cases.size())) << "the reference runs every case";
  }
}

std::string test_name(const ::testing::TestParamInfo<const Implementation*>& info) {
  std::string name(info.param->name);
  std::ranges::replace_if(name, [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; }, '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(All, Implementations,
                         ::testing::ValuesIn(implementations().begin(), implementations().end()), test_name);

TEST(OpCases, HaveNamesOfTheirOwn) {
  std::set<std::string> names;
  for (const OpCase& test : op_cases()) {
    EXPECT_TRUE(names.insert(test.name).second) << test.name;
  }
}

TEST(OpCases, CoverEveryOperatorButTheUsersOwn) {
  for (int op = 1; is_valid(static_cast<Op>(op)); ++op) {
    if (static_cast<Op>(op) == Op::kCustom) {
      continue;  // tests/custom
    }
    EXPECT_FALSE(op_cases(static_cast<Op>(op)).empty()) << to_string(static_cast<Op>(op));
  }
}

TEST(OpCases, AreArrangedAsTheRulesSay) {
  for (const OpCase& test : op_cases()) {
    for (const OperandCase& operand : test.inputs) {
      for (int rule = 0; rule <= static_cast<int>(LayoutRule::kChannelsDense); ++rule) {
        for (int a = 0; a <= static_cast<int>(Arrangement::kTransposed); ++a) {
          const TensorSpec spec =
              arrange(operand.spec, static_cast<Arrangement>(a), static_cast<LayoutRule>(rule), false);
          ASSERT_TRUE(satisfies(spec, static_cast<LayoutRule>(rule))) << test.name;
          ASSERT_EQ(spec.shape, operand.spec.shape);
        }
      }
    }
  }
}

TEST(GuardedMemory, FaultsOutsideAndOnlyThere) {
  for (const Against against : {Against::kEnd, Against::kBegin}) {
    const GuardedMemory memory(40, 4, against, kNaNByte);
    volatile std::byte* data = memory.data();
    EXPECT_TRUE(survives([&] {
      for (int i = 0; i < 40; ++i) {
        data[i] = std::byte{1};
      }
    }));
    EXPECT_FALSE(survives([&] { data[against == Against::kEnd ? 40 : -1] = std::byte{1}; }));
  }
}

}  // namespace
}  // namespace weir::testing
