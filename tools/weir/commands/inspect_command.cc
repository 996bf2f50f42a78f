// SPDX-License-Identifier: Apache-2.0
#include <fmt/ranges.h>

#include <map>
#include <nlohmann/json.hpp>

#include "program/report.h"
#include "tools/weir/commands/engine.h"
#include "tools/weir/commands/inspect.h"
#include "tools/weir/commands/output.h"

namespace weir::cli {
namespace {

using nlohmann::ordered_json;

Result<void> inspect_model(const InspectOptions& options) {
  ModelOptions model;
  WEIR_ASSIGN(model.operators, load_operators(options.operators));
  WEIR_ASSIGN(const Graph graph, import_model(options.model, model));
  if (!options.json) {
    print(to_string(graph));
    return {};
  }
  std::map<std::string, int> operators;
  for (NodeId id : graph.order()) {
    ++operators[graph.node(id).origin];
  }
  const auto values = [&](auto&& ids) {
    ordered_json list = ordered_json::array();
    for (ValueId id : ids) {
      list.push_back({{"name", graph.value(id).name}, {"type", graph.value(id).type.to_string()}});
    }
    return list;
  };
  std::vector<ValueId> outputs;
  for (const NamedValue& output : graph.outputs()) {
    outputs.push_back(output.value);
  }
  print_json({{"model", options.model},
              {"inputs", values(graph.inputs())},
              {"outputs", values(outputs)},
              {"nodes", graph.order().size()},
              {"operators", operators}});
  return {};
}

std::string type_of(const Program& program, int32_t tensor) {
  const ProgramTensor& of = program.tensors[static_cast<size_t>(tensor)];
  std::vector<int64_t> shape;
  for (const int32_t position : of.shape) {
    shape.push_back(program.dims[static_cast<size_t>(position)].value);
  }
  return fmt::format("{}[{}]", to_string(of.element_type), fmt::join(shape, ", "));
}

// The model's constants, and which of them a session can be given other values for.
ordered_json constants_json(const Program& program) {
  ordered_json list = ordered_json::array();
  for (const ProgramConstant& constant : program.constants) {
    const bool plain = constant.fate == ConstantFate::kPlain;
    list.push_back(
        {{"name", constant.name},
         {"fate", to_string(constant.fate)},
         {"type", plain ? ordered_json(type_of(program, constant.tensor)) : ordered_json(nullptr)}});
  }
  return list;
}

std::string constants_text(const Program& program) {
  std::string text;
  for (const ProgramConstant& constant : program.constants) {
    if (constant.fate == ConstantFate::kPlain) {
      text += fmt::format("constant '{}' {} takes another value\n", constant.name,
                          type_of(program, constant.tensor));
    }
  }
  return text;
}

Result<void> inspect_program(const InspectOptions& options) {
  WEIR_ASSIGN(const LoadedProgram loaded, read_program(options.model));
  const Program& program = loaded.program;
  WEIR_ASSIGN(const std::vector<Dim> dims, readable_dims(program));
  const auto shape_of = [&](const ProgramPort& port) {
    std::vector<const Dim*> shape;
    for (int32_t position : program.tensors[static_cast<size_t>(port.tensor)].shape) {
      shape.push_back(&dims[static_cast<size_t>(position)]);
    }
    return shape;
  };
  const auto state_port = [](const ProgramState& state) { return ProgramPort{state.name, state.before}; };
  const auto ports = [&](std::span<const ProgramPort> list) {
    ordered_json json = ordered_json::array();
    for (const ProgramPort& port : list) {
      ordered_json shape = ordered_json::array();
      for (const Dim* dim : shape_of(port)) {
        shape.push_back(dim->is_constant() ? ordered_json(dim->constant()) : ordered_json(dim->to_string()));
      }
      json.push_back({{"name", port.name},
                      {"type", to_string(program.tensors[static_cast<size_t>(port.tensor)].element_type)},
                      {"shape", std::move(shape)}});
    }
    return json;
  };
  if (options.json) {
    ordered_json states = ordered_json::array();
    for (const ProgramState& state : program.states) {
      const ProgramPort port = state_port(state);
      states.push_back({{"name", state.name},
                        {"output", state.output},
                        {"type", to_string(program.tensors[static_cast<size_t>(port.tensor)].element_type)},
                        {"shape", declared_shape(program, port)}});
    }
    ordered_json steps = ordered_json::array();
    for (const Step& step : program.steps) {
      ordered_json refused = ordered_json::array();
      for (const Refusal& refusal : step.refused) {
        refused.push_back({{"name", refusal.implementation}, {"reason", refusal.reason}});
      }
      steps.push_back({{"name", step.name},
                       {"op", to_string(step.op)},
                       {"origin", step.origin},
                       {"implementations", step.implementations},
                       {"refused", refused}});
    }
    print_json({{"program", options.model},
                {"target", program.target},
                {"file_bytes", loaded.file_bytes},
                {"constant_bytes", program.constant_bytes},
                {"static", program.is_static()},
                {"inputs", ports(program.inputs)},
                {"outputs", ports(program.outputs)},
                {"states", states},
                {"constants", constants_json(program)},
                {"steps", steps}});
    return {};
  }
  std::string text = fmt::format("program {} for {}: {}, constants {}\n", program.name, program.target,
                                 format_bytes(loaded.file_bytes), format_bytes(program.constant_bytes));
  for (const auto* list : {&program.inputs, &program.outputs}) {
    for (const ProgramPort& port : *list) {
      std::string shape;
      for (const Dim* dim : shape_of(port)) {
        shape += (shape.empty() ? "" : ", ") + dim->to_string();
      }
      text += fmt::format("{} '{}' {}[{}]\n", list == &program.inputs ? "input" : "output", port.name,
                          to_string(program.tensors[static_cast<size_t>(port.tensor)].element_type), shape);
    }
  }
  for (const ProgramState& state : program.states) {
    text += fmt::format("state '{}' {}[{}], fed from '{}'\n", state.name,
                        to_string(program.tensors[static_cast<size_t>(state.before)].element_type),
                        fmt::join(declared_shape(program, state_port(state)), ", "), state.output);
  }
  text += constants_text(program);
  using enum Table::Align;
  Table table({kRight, kLeft, kLeft, kLeft});
  table.add_row({"step", "name", "from", "first implementation"});
  table.add_rule();
  for (size_t i = 0; i < program.steps.size(); ++i) {
    const Step& step = program.steps[i];
    table.add_row({std::to_string(i), step.name, step.origin, step.implementations.front()});
  }
  print(text + table.to_string());
  return {};
}

Result<void> inspect(const InspectOptions& options) {
  WEIR_ASSIGN(const bool program, is_program_file(options.model));
  return program ? inspect_program(options) : inspect_model(options);
}

}  // namespace

int inspect_command(const InspectOptions& options) {
  return exit_code(inspect(options), options.json);
}

}  // namespace weir::cli
