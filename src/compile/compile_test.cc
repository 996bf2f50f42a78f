// SPDX-License-Identifier: Apache-2.0
//
// Small networks through compiler, program image, session and request: fused and fast against unfused and
// reference.
#include "compile/compile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "graph/infer.h"
#include "hal/cpu/cpu_device.h"
#include "program/report.h"
#include "runtime/concrete.h"
#include "runtime/session.h"

namespace weir {
namespace {

constexpr ElementType kF32 = ElementType::kFloat32;

// Builds graphs with inferred types and seeded weights.
class NetworkBuilder {
 public:
  Graph graph;

  ValueId input(std::string_view name, Dims shape) {
    return graph.add_input(name, {kF32, std::move(shape), {}});
  }

  ValueId weights(std::vector<int64_t> shape, float scale = 0.5F) {
    int64_t count = 1;
    for (int64_t extent : shape) {
      count *= extent;
    }
    std::uniform_real_distribution<float> distribution(-scale, scale);
    std::vector<float> values(static_cast<size_t>(count));
    for (float& value : values) {
      value = distribution(random_);
    }
    return graph.add_constant("w" + std::to_string(graph.value_count()),
                              {kF32, Dims(shape.begin(), shape.end()), {}},
                              Constant::copy(std::as_bytes(std::span(values))));
  }

  ValueId node(Op op, Attributes attributes, std::vector<ValueId> inputs,
               std::vector<TensorType> wanted = {}) {
    std::vector<const TensorType*> types;
    for (ValueId value : inputs) {
      types.push_back(value == kNoValue ? nullptr : &graph.value(value).type);
    }
    const std::string name = std::string(to_string(op)) + std::to_string(graph.node_count());
    InferContext context{&graph.constraints, name};
    auto inferred = infer_types(op, attributes, types, wanted, context);
    EXPECT_TRUE(inferred) << (inferred ? "" : inferred.error().to_string());
    const NodeId id = graph.add_node(op, name, std::move(attributes), std::move(inputs),
                                     {NewValue{name + ".y", inferred->front()}});
    graph.node(id).origin = to_string(op);
    return graph.node(id).outputs[0];
  }

  ValueId conv(ValueId x, int64_t outputs, int64_t kernel, int64_t stride, int64_t group = 1) {
    const int64_t channels = graph.value(x).type.shape[1].constant();
    const Dim pad = (kernel - 1) / 2;
    ConvAttributes attributes;
    attributes.strides = {stride, stride};
    attributes.dilations = {1, 1};
    attributes.pads_begin = {pad, pad};
    attributes.pads_end = {pad, pad};
    attributes.group = group;
    return node(Op::kConv, attributes,
                {x, weights({outputs, channels / group, kernel, kernel}), weights({outputs})});
  }

  ValueId unary(ScalarOp op, ValueId x) {
    ElementwiseAttributes attributes{TileProgram({kF32})};
    attributes.program.append(op, {0});
    return node(Op::kElementwise, attributes, {x});
  }
  ValueId binary(ScalarOp op, ValueId a, ValueId b) {
    ElementwiseAttributes attributes{TileProgram({kF32, kF32})};
    attributes.program.append(op, {0, 1});
    return node(Op::kElementwise, attributes, {a, b});
  }

  Graph finish(std::vector<NamedValue> outputs) {
    graph.name = "network";
    graph.set_outputs(std::move(outputs));
    return std::move(graph);
  }

 private:
  std::mt19937 random_{7};
};

// A residual block, a squeeze-and-excite, a concatenation of branches, pooling and a classifier.
Graph convolutional_network(bool dynamic) {
  NetworkBuilder b;
  const Dim n = dynamic ? b.graph.symbols.add("n", {1, 64}, {SymbolSource::Kind::kDimension, 0, 0}) : Dim(1);
  const Dim h =
      dynamic ? b.graph.symbols.add("h", {4, 4096}, {SymbolSource::Kind::kDimension, 0, 2}) : Dim(18);
  const ValueId x = b.input("x", {n, 3, h, 23});
  const ValueId stem = b.unary(ScalarOp::kRelu, b.conv(x, 16, 3, 2));
  const ValueId scaled =
      b.binary(ScalarOp::kAdd, b.binary(ScalarOp::kMul, b.conv(stem, 16, 3, 1, 16), b.weights({16, 1, 1})),
               b.weights({16, 1, 1}));
  const ValueId silu = b.binary(ScalarOp::kMul, scaled, b.unary(ScalarOp::kSigmoid, scaled));
  const ValueId residual = b.unary(ScalarOp::kRelu, b.binary(ScalarOp::kAdd, b.conv(silu, 16, 1, 1), stem));
  ReduceAttributes spatial;
  spatial.axes = {2, 3};
  const ValueId squeezed = b.node(Op::kReduce, spatial, {residual});
  const ValueId gate =
      b.unary(ScalarOp::kSigmoid, b.conv(b.unary(ScalarOp::kRelu, b.conv(squeezed, 5, 1, 1)), 16, 1, 1));
  const ValueId excited = b.binary(ScalarOp::kMul, residual, gate);
  const ValueId left = b.conv(excited, 7, 3, 1);
  const ValueId right = b.unary(ScalarOp::kTanh, b.conv(excited, 9, 1, 1));
  const ValueId joined = b.node(Op::kConcat, ConcatAttributes{1}, {left, right, excited});
  const ValueId pooled = b.node(Op::kReduce, spatial, {joined});
  const ValueId flat = b.node(Op::kReshape, NoAttributes{}, {pooled}, {{kF32, {n, 32}, {}}});
  const ValueId logits = b.binary(
      ScalarOp::kAdd, b.node(Op::kMatMul, MatMulAttributes{}, {flat, b.weights({32, 10})}), b.weights({10}));
  const ValueId scores = b.node(Op::kSoftmax, SoftmaxAttributes{1}, {logits});
  return b.finish({{"map", joined}, {"scores", scores}});
}

// Attention with heads split by reshape and transpose, and layer normalisation spelled out.
Graph attention_network() {
  NetworkBuilder b;
  const Dim batch = b.graph.symbols.add("batch", {1, 16}, {SymbolSource::Kind::kDimension, 0, 0});
  const Dim seq = b.graph.symbols.add("seq", {1, 512}, {SymbolSource::Kind::kDimension, 0, 1});
  const ValueId x = b.input("x", {batch, seq, 24});
  ReduceAttributes last;
  last.axes = {2};
  const ValueId d = b.binary(ScalarOp::kSub, x, b.node(Op::kReduce, last, {x}));
  const ValueId variance = b.node(Op::kReduce, last, {b.binary(ScalarOp::kMul, d, d)});
  ElementwiseAttributes plus{TileProgram({kF32})};
  plus.program.append(ScalarOp::kAdd, {0, plus.program.immediate(1e-5)});
  const ValueId root = b.unary(ScalarOp::kSqrt, b.node(Op::kElementwise, plus, {variance}));
  const ValueId normal =
      b.binary(ScalarOp::kAdd, b.binary(ScalarOp::kMul, b.binary(ScalarOp::kDiv, d, root), b.weights({24})),
               b.weights({24}));
  const auto heads = [&](ValueId value) {
    const ValueId split = b.node(Op::kReshape, NoAttributes{}, {value}, {{kF32, {batch, seq, 3, 8}, {}}});
    return b.node(Op::kTranspose, TransposeAttributes{{0, 2, 1, 3}}, {split});
  };
  const auto project = [&](ValueId value) {
    return b.binary(ScalarOp::kAdd, b.node(Op::kMatMul, MatMulAttributes{}, {value, b.weights({24, 24})}),
                    b.weights({24}));
  };
  const auto scaled = [&](ScalarOp op, ValueId value, double number) {
    ElementwiseAttributes scale{TileProgram({kF32})};
    scale.program.append(op, {0, scale.program.immediate(number)});
    return b.node(Op::kElementwise, scale, {value});
  };
  const ValueId q = scaled(ScalarOp::kMul, heads(project(normal)), 0.6);
  const ValueId k =
      scaled(ScalarOp::kDiv,
             b.node(Op::kTranspose, TransposeAttributes{{0, 1, 3, 2}}, {heads(project(normal))}), 2.5);
  const ValueId v = heads(project(normal));
  const ValueId weights =
      b.node(Op::kSoftmax, SoftmaxAttributes{3}, {b.node(Op::kMatMul, MatMulAttributes{}, {q, k})});
  const ValueId context = b.node(Op::kTranspose, TransposeAttributes{{0, 2, 1, 3}},
                                 {b.node(Op::kMatMul, MatMulAttributes{}, {weights, v})});
  const ValueId merged = b.node(Op::kReshape, NoAttributes{}, {context}, {{kF32, {batch, seq, 24}, {}}});
  return b.finish({{"y", b.binary(ScalarOp::kAdd, project(merged), x)}});
}

Ref<Device> cpu(int32_t threads, bool validation = false, bool discrete = false) {
  CpuDeviceOptions options;
  options.threads = threads;
  options.toggles.validation = validation;
  options.toggles.simulate_discrete = discrete;
  auto device = create_cpu_device(options);
  EXPECT_TRUE(device) << (device ? "" : device.error().to_string());
  return *device;
}

struct Outputs {
  std::vector<std::vector<float>> values;
};

LoadedProgram loaded_program(Graph graph, const CompileOptions& options) {
  auto compiled = compile(std::move(graph), options);
  EXPECT_TRUE(compiled) << (compiled ? "" : compiled.error().to_string());
  auto image = program_image(compiled->program, compiled->blocks);
  EXPECT_TRUE(image) << (image ? "" : image.error().to_string());
  auto kept = std::make_shared<std::vector<std::byte>>(std::move(*image));
  auto loaded = read_program(*kept, kept);
  EXPECT_TRUE(loaded) << (loaded ? "" : loaded.error().to_string());
  return *loaded;
}

Ref<Session> load(Graph graph, const CompileOptions& options, Ref<Device> device, Isa isa = detect_isa(),
                  bool reference = false) {
  SessionOptions session_options;
  session_options.isa = isa;
  session_options.reference_only = reference;
  auto session =
      Session::create(loaded_program(std::move(graph), options), std::move(device), session_options);
  EXPECT_TRUE(session) << (session ? "" : session.error().to_string());
  return *session;
}

Outputs run(Session& session, const std::vector<int64_t>& shape, uint32_t seed = 3) {
  auto request = session.create_request({});
  EXPECT_TRUE(request) << (request ? "" : request.error().to_string());
  const std::vector<std::vector<int64_t>> shapes = {shape};
  auto prepared = (*request)->prepare(shapes);
  EXPECT_TRUE(prepared) << (prepared ? "" : prepared.error().to_string());
  auto input = (*request)->input(0);
  std::mt19937 random(seed);
  std::normal_distribution<float> distribution;
  for (int64_t i = 0; i < input->element_count(); ++i) {
    input->as<float>()[i] = distribution(random);
  }
  Outputs outputs;
  for (int repeat = 0; repeat < 2; ++repeat) {  // the second run finds the first one's leftovers
    auto ran = (*request)->run();
    EXPECT_TRUE(ran) << (ran ? "" : ran.error().to_string());
  }
  for (size_t i = 0; i < session.program().outputs.size(); ++i) {
    auto output = (*request)->output(static_cast<int32_t>(i));
    const float* data = output->as<float>();
    outputs.values.emplace_back(data, data + output->element_count());
  }
  EXPECT_EQ((*request)->counted(), *(*request)->planned());
  return outputs;
}

void expect_close(const Outputs& actual, const Outputs& expected) {
  ASSERT_EQ(actual.values.size(), expected.values.size());
  for (size_t i = 0; i < actual.values.size(); ++i) {
    ASSERT_EQ(actual.values[i].size(), expected.values[i].size());
    float range = 0;
    for (float value : expected.values[i]) {
      range = std::max(range, std::abs(value));
    }
    for (size_t k = 0; k < actual.values[i].size(); ++k) {
      // Sums of a few hundred products in another order: 1e-5 of the range is far above rounding.
      ASSERT_NEAR(actual.values[i][k], expected.values[i][k], 1e-5F * range)
          << "output " << i << " element " << k;
    }
  }
}

CompileOptions reference_options() {
  CompileOptions options;
  options.fuse = false;
  options.reference_only = true;
  options.verify_passes = true;
  return options;
}

CompileOptions fast_options() {
  CompileOptions options;
  options.verify_passes = true;
  return options;
}

TEST(Compile, StaticConvolutionsAgreeWithReference) {
  const Outputs expected =
      run(*load(convolutional_network(false), reference_options(), cpu(1)), {1, 3, 18, 23});
  for (int32_t threads : {1, 2}) {
    expect_close(run(*load(convolutional_network(false), fast_options(), cpu(threads)), {1, 3, 18, 23}),
                 expected);
  }
}

TEST(Compile, DynamicConvolutionsAgreeWithReference) {
  const Ref<Session> reference = load(convolutional_network(true), reference_options(), cpu(1));
  const Ref<Session> fast = load(convolutional_network(true), fast_options(), cpu(2));
  for (const std::vector<int64_t>& shape :
       {std::vector<int64_t>{1, 3, 18, 23}, std::vector<int64_t>{3, 3, 7, 23},
        std::vector<int64_t>{2, 3, 64, 23}}) {
    expect_close(run(*fast, shape), run(*reference, shape));
  }
}

TEST(Compile, AttentionAgreesWithReference) {
  const Ref<Session> reference = load(attention_network(), reference_options(), cpu(1));
  const Ref<Session> fast = load(attention_network(), fast_options(), cpu(2));
  for (const std::vector<int64_t>& shape :
       {std::vector<int64_t>{1, 5, 24}, std::vector<int64_t>{2, 33, 24}}) {
    expect_close(run(*fast, shape), run(*reference, shape));
  }
}

TEST(Compile, ScalesOfQueriesAndKeysGoBehindTheirProduct) {
  auto compiled = compile(attention_network(), {});
  ASSERT_TRUE(compiled);
  std::vector<std::string> origins;
  for (const Step& step : compiled->program.steps) {
    EXPECT_NE(step.op, Op::kElementwise) << step.name;
    origins.push_back(step.origin);
  }
  EXPECT_THAT(origins, testing::Contains("Elementwise+Elementwise+MatMul+Mul"));
}

TEST(Compile, EveryInstructionSetAgreesUnderValidationAndDiscreteMemory) {
  const Outputs expected =
      run(*load(convolutional_network(false), reference_options(), cpu(1)), {1, 3, 18, 23});
  for (int isa = 0; isa <= static_cast<int>(detect_isa()); ++isa) {
    for (bool discrete : {false, true}) {
      expect_close(run(*load(convolutional_network(false), fast_options(), cpu(2, true, discrete),
                             static_cast<Isa>(isa)),
                       {1, 3, 18, 23}),
                   expected);
    }
  }
}

TEST(Compile, FusesIntoFewSteps) {
  auto compiled = compile(convolutional_network(false), {});
  ASSERT_TRUE(compiled);
  std::vector<std::string> origins;
  for (const Step& step : compiled->program.steps) {
    origins.push_back(step.origin);
  }
  // stem, depthwise, pointwise + residual, squeeze, two gates, excite, two branches, one copy of the operand
  // that an output's layout needs …: no step is left for an activation or a bias.
  EXPECT_THAT(origins, testing::Contains("Conv+Elementwise+Elementwise").Times(testing::Ge(1)));
  EXPECT_THAT(origins, testing::Not(testing::Contains("Reshape")));
  EXPECT_LE(compiled->program.steps.size(), 16u);
}

TEST(Compile, CompilingTwiceGivesTheSameBytes) {
  auto first = compile(convolutional_network(true), {});
  auto second = compile(convolutional_network(true), {});
  ASSERT_TRUE(first && second);
  EXPECT_EQ(*program_image(first->program, first->blocks), *program_image(second->program, second->blocks));
}

TEST(Compile, PreferringMemoryKeepsWeightsAsLargeAsInTheModel) {
  const auto network = [] {
    NetworkBuilder b;
    const ValueId x = b.input("x", {1, 64, 40, 40});
    return b.finish({{"y", b.unary(ScalarOp::kRelu, b.conv(b.conv(x, 64, 3, 1), 64, 3, 1))}});
  };
  CompileOptions memory;
  memory.prefer_memory = true;
  auto fast = compile(network(), {});
  auto small = compile(network(), memory);
  ASSERT_TRUE(fast && small);
  constexpr int64_t kPlainBytes = 2 * 64 * (64 * 9 + 1) * 4;
  EXPECT_LE(small->program.constant_bytes, kPlainBytes + kPlainBytes / 4);
  EXPECT_GT(fast->program.constant_bytes, 2 * kPlainBytes);  // transformed for the Cook-Toom method
  EXPECT_THAT(fast->program.notices,
              testing::Contains(testing::Field(&ProgramNotice::what, "weights")).Times(2));
  EXPECT_THAT(small->program.notices,
              testing::Not(testing::Contains(testing::Field(&ProgramNotice::what, "weights"))));
  const auto conv = std::ranges::find(small->program.steps, Op::kConv, &Step::op);
  ASSERT_NE(conv, small->program.steps.end());
  EXPECT_THAT(conv->refused,
              testing::Contains(testing::Field(&Refusal::reason, testing::HasSubstr("memory is preferred"))));
  const std::vector<int64_t> shape = {1, 64, 40, 40};
  expect_close(run(*load(network(), memory, cpu(1)), shape), run(*load(network(), {}, cpu(1)), shape));
}

// What a session answers to a program that was changed after it was compiled.
std::string refusal_of(const std::function<void(Program&)>& change) {
  auto compiled = compile(convolutional_network(false), {});
  change(compiled->program);
  auto image = program_image(compiled->program, compiled->blocks);
  EXPECT_TRUE(image) << (image ? "" : image.error().to_string());
  auto kept = std::make_shared<std::vector<std::byte>>(std::move(*image));
  auto loaded = read_program(*kept, kept);
  EXPECT_TRUE(loaded) << (loaded ? "" : loaded.error().to_string());
  auto session = Session::create(std::move(*loaded), cpu(1), {});
  return session ? "" : session.error().to_string();
}

Step& packed_step(Program& program) {
  return *std::ranges::find_if(program.steps, [](const Step& step) { return !step.packed.empty(); });
}

TEST(Session, RefusesStepsThatTheirImplementationDoesNotTake) {
  EXPECT_EQ(refusal_of([](Program&) {}), "");
  EXPECT_THAT(refusal_of([](Program& program) {
                program.storages[static_cast<size_t>(packed_step(program).packed[0].storage)].pack_id =
                    "other";
              }),
              testing::HasSubstr("wants it as"));
  EXPECT_THAT(
      refusal_of([](Program& program) { packed_step(program).implementations = {"softmax.rows.sse4"}; }),
      testing::AnyOf(testing::HasSubstr("runs operator Softmax"), testing::HasSubstr("runs on none")));
  EXPECT_THAT(refusal_of([](Program& program) { packed_step(program).implementations = {"reference.conv"}; }),
              testing::HasSubstr("packs (0) operands"));
}

TEST(Portable, GivesTheBitsOfThePackedProgram) {
  CompileOptions portable;
  portable.portable = true;
  const std::vector<int64_t> image = {2, 3, 21, 23};
  const std::vector<int64_t> text = {2, 13, 24};
  for (int i = 0; i <= static_cast<int>(detect_isa()); ++i) {
    const auto isa = static_cast<Isa>(i);
    for (const bool discrete : {false, true}) {
      const auto device = [&] { return cpu(2, true, discrete); };
      EXPECT_EQ(run(*load(convolutional_network(true), portable, device(), isa), image).values,
                run(*load(convolutional_network(true), {}, device(), isa), image).values)
          << to_string(isa);
      EXPECT_EQ(run(*load(attention_network(), portable, device(), isa), text).values,
                run(*load(attention_network(), {}, device(), isa), text).values)
          << to_string(isa);
    }
  }
}

TEST(Portable, PacksInMemoryThatIsPlannedAndListed) {
  CompileOptions portable;
  portable.portable = true;
  const Ref<Session> session = load(convolutional_network(false), portable, cpu(1));
  const Ref<Session> packed = load(convolutional_network(false), {}, cpu(1));
  int64_t bytes = 0;
  for (const Storage& storage : session->program().storages) {
    if (storage.kind == StorageKind::kPacked) {
      bytes += session->program().dims[static_cast<size_t>(storage.bytes)].value;
    }
    EXPECT_TRUE(storage.kind != StorageKind::kConstant || storage.pack_id.empty());
  }
  EXPECT_GT(bytes, 0);
  ASSERT_EQ(session->load_notices().size(), 1);
  EXPECT_EQ(session->load_notices()[0].kind, NoticeKind::kCost);
  EXPECT_EQ(session->load_notices()[0].what, "packing");
  EXPECT_EQ(session->load_notices()[0].bytes, bytes);
  EXPECT_EQ(session->program().arena_bytes, packed->program().arena_bytes);  // a residual in place, in both
  EXPECT_TRUE(packed->load_notices().empty());
  EXPECT_EQ(packed->own_constants(), nullptr);
  // Compiled in memory: the plain constants stay beside the packed ones. `run` compares plan and count.
  EXPECT_GE(session->planned({})->constants, session->program().constant_bytes + bytes);
  run(*session, {1, 3, 18, 23});
}

TEST(Portable, RunsOnReference) {
  CompileOptions portable;
  portable.portable = true;
  for (const bool discrete : {false, true}) {
    const Ref<Session> session =
        load(convolutional_network(true), portable, cpu(2, true, discrete), detect_isa(), true);
    for (const StepKernel& kernel : session->kernels()) {
      EXPECT_TRUE(kernel.implementation->reference) << kernel.implementation->name;
    }
    EXPECT_EQ(session->own_constants(), nullptr);  // nothing is packed
    const std::vector<int64_t> shape = {2, 3, 21, 23};
    expect_close(run(*session, shape), run(*load(convolutional_network(true), {}, cpu(1)), shape));
  }
  const Ref<Session> text = load(attention_network(), portable, cpu(1), detect_isa(), true);
  expect_close(run(*text, {2, 13, 24}), run(*load(attention_network(), {}, cpu(1)), {2, 13, 24}));
}

TEST(Portable, AProgramThatHoldsPackedConstantsHasNoReference) {
  SessionOptions options;
  options.reference_only = true;
  auto session = Session::create(loaded_program(convolutional_network(false), {}), cpu(1), options);
  ASSERT_FALSE(session);
  EXPECT_EQ(session.error().code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(session.error().message(), testing::HasSubstr("compile the model again with --portable"));
}

TEST(Portable, ASessionRefusesPackingsThatLie) {
  const auto refusal = [](const std::function<void(Program&, Storage&)>& change, bool sound = true) {
    CompileOptions portable;
    portable.portable = true;
    LoadedProgram loaded = loaded_program(convolutional_network(false), portable);
    const int32_t storage = packed_step(loaded.program).packed[0].storage;
    change(loaded.program, loaded.program.storages[static_cast<size_t>(storage)]);
    EXPECT_EQ(bool(verify(loaded.program)), sound);
    auto session = Session::create(std::move(loaded), cpu(1), {});
    return session ? "" : session.error().to_string();
  };
  EXPECT_EQ(refusal([](Program&, Storage&) {}), "");
  EXPECT_THAT(refusal([](Program&, Storage& storage) { storage.pack_id = "f32.unknown"; }),
              testing::HasSubstr("is packed as 'f32.unknown'"));
  EXPECT_THAT(refusal([](Program& program, Storage& storage) {
                program.dims.push_back({.op = DimOp::kConstant, .value = 64});
                storage.bytes = static_cast<int32_t>(program.dims.size()) - 1;
              }),
              testing::HasSubstr("(64 bytes), and implementation"));
  EXPECT_THAT(refusal([](Program& program, Storage&) { packed_step(program).packed.clear(); },
                      /*sound=*/false),  // the verifier misses a reader; the session asks again
              testing::HasSubstr("packs (1) operands, and the step has (0) packed"));
}

CompileOptions within(int64_t bytes) {
  CompileOptions options;
  options.memory_limit = bytes;
  return options;
}

// What the limit counts, from the program's report.
int64_t bytes_of(const Program& program) {
  const KindTotals totals = report(program, {})->totals;
  return totals.constant + totals.packed + totals.prepared + totals.input + totals.output + totals.state +
         totals.activation + totals.workspace;
}

std::string limit_note(const Program& program) {
  const auto found = std::ranges::find(program.notices, "memory limit", &ProgramNotice::what);
  return found == program.notices.end() ? "" : found->reason;
}

// Four wide products, then four sums over them: as the model orders them all four products live at once.
Graph branching_network(Range batch = {1, 1}) {
  NetworkBuilder b;
  const Dim n = batch.min == batch.max
                    ? Dim(batch.min)
                    : b.graph.symbols.add("n", batch, {SymbolSource::Kind::kDimension, 0, 0});
  const ValueId x = b.input("x", {n, 4});
  std::vector<ValueId> branches;
  for (int i = 0; i < 4; ++i) {
    branches.push_back(b.node(Op::kMatMul, MatMulAttributes{}, {x, b.weights({4, 2048})}));
  }
  ReduceAttributes last;
  last.axes = {1};
  for (ValueId& branch : branches) {
    branch = b.node(Op::kReduce, last, {branch});
  }
  return b.finish({{"y", b.node(Op::kConcat, ConcatAttributes{1}, branches)}});
}

TEST(Compile, MeetsALimitWithAnotherOrder) {
  const auto own = compile(branching_network(), {});
  ASSERT_TRUE(own);
  EXPECT_GE(own->program.arena_bytes, 4 * 2048 * 4);
  const int64_t limit = bytes_of(own->program) - 3 * 2048 * 4;
  const auto small = compile(branching_network(), within(limit));
  ASSERT_TRUE(small) << small.error().to_string();
  EXPECT_LE(bytes_of(small->program), limit);
  EXPECT_EQ(limit_note(small->program),
            fmt::format("to stay within ({}) bytes the steps run in another order than the model's", limit));
  const Outputs expected = run(*load(branching_network(), {}, cpu(1)), {1, 4});
  EXPECT_EQ(run(*load(branching_network(), within(limit), cpu(1)), {1, 4}).values, expected.values);
  const auto loose = compile(branching_network(), within(bytes_of(own->program)));
  ASSERT_TRUE(loose);
  EXPECT_EQ(limit_note(loose->program), "");
  EXPECT_EQ(loose->program.arena_bytes, own->program.arena_bytes);
}

TEST(Compile, MeetsALimitWithSmallerWeights) {
  const auto network = [] {
    NetworkBuilder b;
    const ValueId x = b.input("x", {1, 64, 40, 40});
    return b.finish({{"y", b.unary(ScalarOp::kRelu, b.conv(b.conv(x, 64, 3, 1), 64, 3, 1))}});
  };
  CompileOptions memory;
  memory.prefer_memory = true;
  const int64_t large = bytes_of(compile(network(), {})->program);
  const int64_t small = bytes_of(compile(network(), memory)->program);
  ASSERT_LT(small, large);
  const auto met = compile(network(), within(small));
  ASSERT_TRUE(met) << met.error().to_string();
  EXPECT_EQ(bytes_of(met->program), small);
  EXPECT_THAT(limit_note(met->program), testing::HasSubstr("weights are kept as the model has them"));
  EXPECT_EQ(limit_note(compile(network(), within(large))->program), "");

  const auto missed = compile(network(), within(small - 1));
  ASSERT_FALSE(missed);
  EXPECT_EQ(missed.error().code(), StatusCode::kResourceExhausted);
  EXPECT_THAT(
      missed.error().message(),
      testing::HasSubstr(fmt::format("takes ({}) bytes, (1) more than the limit of ({})", small, small - 1)));
}

TEST(Compile, SaysWhatHoldsThePeakWhereALimitIsMissed) {
  const auto missed = compile(branching_network(), within(1000));
  ASSERT_FALSE(missed);
  const std::string message = missed.error().message();
  // One wide product lives beside at most three sums.
  EXPECT_THAT(message, testing::ContainsRegex("Most lives at step '.*': 'MatMul.*' \\(8192 bytes\\)"));
  EXPECT_THAT(message, testing::ContainsRegex("The largest constants: 'w[0-9]*' \\([0-9]* bytes\\)"));
}

TEST(Compile, MeetsALimitAtTheLargestValuesOfItsDimensions) {
  constexpr int64_t kMost = 6;
  const auto fixed = compile(branching_network({kMost, kMost}), {});
  ASSERT_TRUE(fixed) << fixed.error().to_string();
  const auto open = compile(branching_network({1, kMost}), {});
  ASSERT_TRUE(open) << open.error().to_string();
  ASSERT_FALSE(open->program.is_static());
  const auto arena_of = [](const Program& program, int64_t n) {
    const std::vector<int64_t> symbols = {n};
    const Result<ShapeValues> values = evaluate_shapes(program, symbols);
    std::vector<ConcreteStep> steps;
    for (const Step& step : program.steps) {
      steps.push_back(*concrete_step(program, step, *values));
    }
    return plan_shape(program, *values, {}, steps)->arena_bytes;
  };
  // The wide products one after the other, as the static program can.
  const int64_t limit = bytes_of(fixed->program) - (arena_of(open->program, kMost) - 2 * kMost * 2048 * 4);
  const auto met = compile(branching_network({1, kMost}), within(limit));
  ASSERT_TRUE(met) << met.error().to_string();
  EXPECT_LT(arena_of(met->program, kMost), arena_of(open->program, kMost));
  EXPECT_THAT(limit_note(met->program), testing::HasSubstr("another order"));
  EXPECT_LT(arena_of(met->program, 1), arena_of(met->program, kMost));

  const auto missed = compile(branching_network({1, kMost}), within(1000));
  ASSERT_FALSE(missed);
  EXPECT_EQ(missed.error().code(), StatusCode::kResourceExhausted);
  EXPECT_THAT(missed.error().message(),
              testing::HasSubstr("bytes at the largest values of its dimensions (n = 6), ("));
}

TEST(Compile, ALimitWantsALargestValueOfEveryDimension) {
  const auto refused = compile(branching_network({1, kDimMax}), within(1 << 20));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(
      refused.error().message(),
      testing::HasSubstr("open without a largest value at which they could be counted: 'n' (axis 0 of input "
                         "'x'); give them a number or a range, as in --dim n=1..N."));
}

}  // namespace
}  // namespace weir
