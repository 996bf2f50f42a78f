// SPDX-License-Identifier: Apache-2.0
//
// States from model to request: which pairs are taken, and that a program with states computes what feeding
// them by hand computes, bit for bit.
#include "compile/declare_states.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "base/testing/results.h"
#include "graph/infer.h"
#include "hal/cpu/cpu_device.h"
#include "runtime/session.h"
#include "tensor/strided_copy.h"

namespace weir {
namespace {

using ::testing::HasSubstr;

constexpr ElementType kF32 = ElementType::kFloat32;

class GraphBuilder {
 public:
  Graph graph;

  ValueId input(std::string_view name, Dims shape, ElementType type = kF32) {
    return graph.add_input(name, {type, std::move(shape), {}});
  }
  ValueId node(Op op, Attributes attributes, std::vector<ValueId> inputs) {
    std::vector<const TensorType*> types;
    for (ValueId value : inputs) {
      types.push_back(&graph.value(value).type);
    }
    const std::string name = std::string(to_string(op)) + std::to_string(graph.node_count());
    InferContext context{&graph.constraints, name};
    const auto inferred = infer_types(op, attributes, types, {}, context);
    EXPECT_TRUE(inferred) << (inferred ? "" : inferred.error().to_string());
    const NodeId id = graph.add_node(op, name, std::move(attributes), std::move(inputs),
                                     {NewValue{name + ".y", inferred->front()}});
    graph.node(id).origin = to_string(op);
    return graph.node(id).outputs[0];
  }
  ValueId binary(ScalarOp op, ValueId a, ValueId b) {
    TileProgram program({kF32, kF32});
    program.append(op, {0, 1});
    return node(Op::kElementwise, ElementwiseAttributes{std::move(program)}, {a, b});
  }
  ValueId unary(ScalarOp op, ValueId a) {
    TileProgram program({kF32});
    program.append(op, {0});
    return node(Op::kElementwise, ElementwiseAttributes{std::move(program)}, {a});
  }
  Dim symbol(std::string_view name, int32_t input, int32_t axis) {
    return graph.symbols.add(name, {1, 64}, {SymbolSource::Kind::kDimension, input, axis});
  }
};

// h[batch, 4], x[batch, 4] and three more states whose outputs are awkward: `kept` is the state itself,
// `shared` is the same value as `hn`, `turned` lies transposed.
Graph recurrent() {
  GraphBuilder b;
  b.graph.name = "recurrent";
  const Dim batch = b.symbol("batch", 0, 0);
  const ValueId h = b.input("h", {batch, 4});
  const ValueId x = b.input("x", {batch, 4});
  const ValueId k = b.input("k", {3});
  const ValueId s = b.input("s", {batch, 4});
  const ValueId t = b.input("t", {4, batch});
  const ValueId hn = b.unary(ScalarOp::kTanh, b.binary(ScalarOp::kAdd, b.binary(ScalarOp::kAdd, h, x), s));
  const ValueId y = b.binary(ScalarOp::kMul, hn, b.node(Op::kTranspose, TransposeAttributes{{1, 0}}, {t}));
  const ValueId turned = b.node(Op::kTranspose, TransposeAttributes{{1, 0}}, {hn});
  b.graph.set_outputs({{"hn", hn}, {"y", y}, {"kept", k}, {"shared", hn}, {"turned", turned}});
  return std::move(b.graph);
}

const std::vector<StateChoice> kStates = {{"h", "hn"}, {"k", "kept"}, {"s", "shared"}, {"t", "turned"}};

std::string error_of(Graph graph, const std::vector<StateChoice>& choices) {
  const Result<void> declared = declare_states(graph, choices);
  return declared ? "" : declared.error().to_string();
}

TEST(DeclareStates, SaysWhatDoesNotFit) {
  EXPECT_EQ(error_of(recurrent(), kStates), "");
  EXPECT_EQ(
      error_of(recurrent(), {{"hidden", "hn"}}),
      "State 'hidden' is not one of the model's inputs ('h', 'x', 'k', 's', 't'); a state is declared as "
      "INPUT=OUTPUT.");
  EXPECT_EQ(
      error_of(recurrent(), {{"h", "next"}}),
      "State 'h' is fed from 'next', which is not one of the model's outputs ('hn', 'y', 'kept', 'shared', "
      "'turned').");
  EXPECT_EQ(error_of(recurrent(), {{"h", "hn"}, {"h", "shared"}}),
            "State 'h' is fed from 'shared', and one of the two belongs to another state already.");
  EXPECT_EQ(error_of(recurrent(), {{"h", "hn"}, {"s", "hn"}}),
            "State 's' is fed from 'hn', and one of the two belongs to another state already.");
  EXPECT_EQ(
      error_of(recurrent(), {{"k", "hn"}}),
      "State 'k' is (float32[3]), and output 'hn' that feeds it is (float32[batch, 4]): the two have to "
      "be the "
      "same for every shape; feed it from another output.");
  EXPECT_EQ(error_of(recurrent(), {{"t", "hn"}}),
            "State 't' is (float32[4, batch]), and output 'hn' that feeds it is (float32[batch, 4]): the two "
            "have to "
            "be the same for every shape; give the open dimensions a number with --dim or --shape.");
}

TEST(DeclareStates, AsksForDimensionsThatNoInputGivesAnyMore) {
  GraphBuilder b;
  const Dim n = b.symbol("n", 0, 0);
  const ValueId h = b.input("h", {n});
  b.graph.set_outputs({{"hn", b.unary(ScalarOp::kAbs, h)}, {"y", b.unary(ScalarOp::kNeg, h)}});
  EXPECT_EQ(
      error_of(std::move(b.graph), {{"h", "hn"}}),
      "Dimension 'n' (axis 0 of state 'h') is open, and no input that is left gives it a value; give --dim "
      "n=N or --shape h=….");

  GraphBuilder c;
  const ValueId sizes = c.input("sizes", {2}, ElementType::kInt64);
  const Dim rows = c.graph.symbols.add("rows", {1, 64}, {SymbolSource::Kind::kElement, 0, 0});
  c.input("x", {rows});
  c.graph.set_outputs({{"same", sizes}});
  EXPECT_EQ(error_of(std::move(c.graph), {{"sizes", "same"}}),
            "Input 'sizes' cannot be a state: it is a shape input, whose elements are sizes of tensors.");
}

class Networks {
 public:
  explicit Networks(DeviceToggles toggles) {
    device_ = must(create_cpu_device({.threads = 2, .toggles = toggles}));
  }
  Ref<Session> open(const CompileOptions& options) {
    Compiled compiled = must(compile(recurrent(), options));
    auto image = std::make_shared<const std::vector<std::byte>>(
        must(program_image(compiled.program, compiled.blocks)));
    return must(Session::create(must(read_program(*image, image)), device_, {}));
  }

 private:
  Ref<Device> device_;
};

std::vector<std::byte> bytes_of(const TensorView& view) {
  return {view.data, view.data + spec_of(view).extent_bytes()};
}

void fill(Request& request, std::string_view name, int seed) {
  const TensorView view = must(request.input(request.session().find_input(name)));
  for (int64_t i = 0; i < view.element_count(); ++i) {
    view.as<float>()[i] = 0.01F * static_cast<float>((i * 7 + seed * 13) % 101) - 0.5F;
  }
}

void expect_as_fed_by_hand(DeviceToggles toggles, bool fuse) {
  Networks networks(toggles);
  CompileOptions options;
  options.fuse = fuse;
  options.verify_passes = true;
  const Ref<Session> plain = networks.open(options);
  options.states = kStates;
  const Ref<Session> with_states = networks.open(options);
  const Program& program = with_states->program();
  ASSERT_EQ(program.inputs.size(), 1u);
  EXPECT_EQ(program.inputs[0].name, "x");
  ASSERT_EQ(program.outputs.size(), 1u);
  EXPECT_EQ(program.outputs[0].name, "y");
  ASSERT_EQ(program.states.size(), 4u);
  EXPECT_EQ(program.states[3].name, "t");
  EXPECT_EQ(program.states[3].output, "turned");
  // batch was h's, which is none of the program's inputs any more.
  EXPECT_EQ(program.symbols[0].source, (SymbolSource{SymbolSource::Kind::kDimension, 0, 0}));

  const Ref<Request> by_hand = must(plain->create_request({}));
  const Ref<Request> kept = must(with_states->create_request({}));
  for (const int64_t batch : {3, 5}) {
    must(by_hand->prepare({{{batch, 4}, {batch, 4}, {3}, {batch, 4}, {4, batch}}}));
    must(kept->prepare({{{batch, 4}}}));
    must(kept->reset_state());
    for (const StateChoice& state : kStates) {
      const TensorView view = must(by_hand->input(plain->find_input(state.input)));
      std::fill_n(view.data, spec_of(view).extent_bytes(), std::byte{0});
    }
    for (int frame = 0; frame < 4; ++frame) {
      fill(*by_hand, "x", frame);
      fill(*kept, "x", frame);
      must(by_hand->run());
      must(kept->run());
      EXPECT_EQ(bytes_of(must(kept->output(0))), bytes_of(must(by_hand->output(plain->find_output("y")))))
          << "frame " << frame << " of batch " << batch;
      std::vector<std::byte> saved(static_cast<size_t>(must(kept->saved_state_bytes())));
      must(kept->save_state(saved));
      std::vector<std::byte> wanted(saved.begin(), saved.begin() + 32);
      for (const StateChoice& state : kStates) {
        const std::vector<std::byte> next = bytes_of(must(by_hand->output(plain->find_output(state.output))));
        wanted.insert(wanted.end(), next.begin(), next.end());
        const TensorView view = must(by_hand->input(plain->find_input(state.input)));
        std::ranges::copy(next, view.data);
      }
      EXPECT_EQ(saved, wanted) << "frame " << frame << " of batch " << batch;
    }
    EXPECT_EQ(kept->counted().state, must(kept->planned()).state);
  }
}

TEST(StatesOfNetworks, AreAsIfFedByHand) {
  expect_as_fed_by_hand({}, true);
}
TEST(StatesOfNetworks, AreAsIfFedByHandUnfused) {
  expect_as_fed_by_hand({}, false);
}
TEST(StatesOfNetworks, AreAsIfFedByHandUnderValidation) {
  expect_as_fed_by_hand({.validation = true}, true);
}
TEST(StatesOfNetworks, AreAsIfFedByHandOnAFarDevice) {
  expect_as_fed_by_hand({.simulate_discrete = true}, true);
}

TEST(StatesOfNetworks, AreListedByTheGraphAndTheReport) {
  Graph graph = recurrent();
  must(declare_states(graph, kStates));
  EXPECT_THAT(to_string(graph),
              HasSubstr("\nstate h = hn\nstate k = kept\nstate s = shared\nstate t = turned\n"));
  Networks networks({});
  CompileOptions options;
  options.states = kStates;
  const Ref<Session> session = networks.open(options);
  const std::vector<int64_t> symbols = {5};
  const ProgramReport report = must(session->report(symbols));
  ASSERT_EQ(report.states.size(), 4u);
  EXPECT_EQ(report.states[0].name, "h");
  EXPECT_EQ(report.states[0].output, "hn");
  EXPECT_EQ(report.states[0].bytes, 80);
  EXPECT_EQ(report.tensors[static_cast<size_t>(report.states[0].before)].kind, StorageKind::kState);
  EXPECT_EQ(report.totals.state, 2 * (3 * 128 + 64));
  EXPECT_EQ(must(session->planned(symbols)).state, report.totals.state);
  // What a state cannot take where it is made is copied, and listed.
  std::string listed;
  for (const NoticeReport& notice : report.notices) {
    listed += notice.reason + "\n";
  }
  EXPECT_THAT(listed, HasSubstr("state 'kept' is a view of a state"));
  EXPECT_THAT(listed, HasSubstr("state 'shared' shares its elements with a state"));
}

}  // namespace
}  // namespace weir
