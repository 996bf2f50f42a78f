// SPDX-License-Identifier: Apache-2.0
//
// Small networks for tests of what is compiled: built with inferred types and seeded weights, taken through
// compiler and program image to a session, and run.
//
//   NetworkBuilder b;
//   const ValueId x = b.input("x", {1, 64, 40, 40});
//   Graph graph = b.finish({{"y", b.conv(x, 64, 3, 1)}});
//   const Outputs outputs = run(*load(std::move(graph), options, cpu(1)), {1, 64, 40, 40});
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <string>
#include <vector>

#include "compile/compile.h"
#include "graph/infer.h"
#include "hal/cpu/cpu_device.h"
#include "runtime/session.h"

namespace weir::testing {

inline constexpr ElementType kF32 = ElementType::kFloat32;

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
    std::vector<std::optional<NewValue>> outputs;
    for (const TensorType& type : *inferred) {
      std::string output = outputs.empty() ? name + ".y" : fmt::format("{}.y{}", name, outputs.size());
      outputs.emplace_back(NewValue{std::move(output), type});
    }
    const NodeId id = graph.add_node(op, name, std::move(attributes), std::move(inputs), std::move(outputs));
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

inline Ref<Device> cpu(int32_t threads, bool validation = false, bool discrete = false) {
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

inline LoadedProgram loaded_program(Graph graph, const CompileOptions& options) {
  auto compiled = compile(std::move(graph), options);
  EXPECT_TRUE(compiled) << (compiled ? "" : compiled.error().to_string());
  auto image = program_image(compiled->program, compiled->blocks);
  EXPECT_TRUE(image) << (image ? "" : image.error().to_string());
  auto kept = std::make_shared<std::vector<std::byte>>(std::move(*image));
  auto loaded = read_program(*kept, kept);
  EXPECT_TRUE(loaded) << (loaded ? "" : loaded.error().to_string());
  return *loaded;
}

inline Ref<Session> load(Graph graph, const CompileOptions& options, Ref<Device> device,
                         Isa isa = detect_isa(), bool reference = false) {
  SessionOptions session_options;
  session_options.isa = isa;
  session_options.reference_only = reference;
  auto session =
      Session::create(loaded_program(std::move(graph), options), std::move(device), session_options);
  EXPECT_TRUE(session) << (session ? "" : session.error().to_string());
  return *session;
}

inline Outputs run(Session& session, const std::vector<int64_t>& shape, uint32_t seed = 3) {
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

}  // namespace weir::testing
