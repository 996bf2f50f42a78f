// SPDX-License-Identifier: Apache-2.0
//
// Runs the reference on every operator case and writes what it read and made, for another runtime to judge:
//
//   write_reference_cases FOLDER      writes FOLDER/cases.json and FOLDER/data.bin
//
// Each operand is dense, row-major, at a byte offset of data.bin. Attributes are listed by their field names.
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>

#include "kernels/run_reference.h"
#include "kernels/testing/op_cases.h"
#include "op/attribute_fields.h"

namespace weir {
namespace {

using Json = nlohmann::json;

struct JsonOfFields {
  Json object = Json::object();

  template <typename T>
  void operator()(std::string_view name, const T& field) {
    object[std::string(name)] = json_of(field);
  }

  static Json json_of(int64_t value) { return value; }
  static Json json_of(bool value) { return value; }
  static Json json_of(double value) {
    // JSON has no infinities.
    return std::isinf(value) ? Json(value > 0 ? "inf" : "-inf") : Json(value);
  }
  static Json json_of(const std::string& value) { return value; }
  static Json json_of(const CustomAttribute& value) { return value.name; }
  static Json json_of(const Dim& value) { return value.constant(); }
  template <typename E>
    requires std::is_enum_v<E>
  static Json json_of(E value) {
    return std::string(internal::enumerators(value)[static_cast<size_t>(value)]);
  }
  template <typename T>
  static Json json_of(const std::vector<T>& values) {
    Json list = Json::array();
    for (const T& value : values) {
      list.push_back(json_of(value));
    }
    return list;
  }
  static Json json_of(const TileProgram& program) {
    Json inputs = Json::array();
    for (ElementType type : program.input_types()) {
      inputs.push_back(std::string(to_string(type)));
    }
    Json instructions = Json::array();
    for (const TileInstruction& instruction : program.instructions()) {
      Json operands = Json::array();
      for (int i = 0; i < arity(instruction.op); ++i) {
        operands.push_back(instruction.operands[static_cast<size_t>(i)]);
      }
      instructions.push_back({{"op", std::string(to_string(instruction.op))},
                              {"type", std::string(to_string(instruction.type))},
                              {"operands", operands},
                              {"value", {json_of(instruction.value[0]), json_of(instruction.value[1])}}});
    }
    return {{"inputs", inputs}, {"instructions", instructions}};
  }
};

class Writer {
 public:
  explicit Writer(const std::string& folder) : data_(folder + "/data.bin", std::ios::binary) {}

  Result<void> add(const testing::OpCase& test) {
    std::vector<std::vector<std::byte>> memory;
    Json inputs = Json::array();
    Json outputs = Json::array();
    std::vector<TensorSpec> input_specs;
    std::vector<TensorSpec> output_specs;
    std::vector<TensorView> input_views;
    std::vector<TensorView> output_views;
    for (size_t i = 0; i < test.inputs.size(); ++i) {
      const TensorSpec& spec = test.inputs[i].spec;
      std::byte* data = allocate(memory, spec);
      if (spec.rank >= 0) {
        testing::fill(spec, test.inputs[i].values, test.seed * 16 + static_cast<uint32_t>(i), data);
      }
      input_specs.push_back(spec);
      input_views.push_back(spec.at(data));
      inputs.push_back(write(spec, data));
    }
    for (const testing::OperandCase& operand : test.outputs) {
      std::byte* data = allocate(memory, operand.spec);
      output_specs.push_back(operand.spec);
      output_views.push_back(operand.spec.at(data));
    }
    WEIR_TRY(run_reference({test.op, &test.attributes, input_specs, output_specs}, input_views, output_views),
             "while running case '{}'", test.name);
    for (size_t i = 0; i < output_specs.size(); ++i) {
      outputs.push_back(write(output_specs[i], output_views[i].data));
    }
    JsonOfFields attributes;
    std::visit([&](const auto& known) { internal::fields(attributes, known); }, test.attributes);
    cases_.push_back({{"name", test.name},
                      {"op", std::string(to_string(test.op))},
                      {"attributes", attributes.object},
                      {"inputs", inputs},
                      {"outputs", outputs}});
    return {};
  }

  bool finish(const std::string& folder) {
    std::ofstream list(folder + "/cases.json");
    list << cases_.dump(1) << '\n';
    data_.flush();
    return list.good() && data_.good();
  }

 private:
  static std::byte* allocate(std::vector<std::vector<std::byte>>& memory, const TensorSpec& spec) {
    if (spec.rank < 0) {
      return nullptr;
    }
    return memory.emplace_back(static_cast<size_t>(spec.extent_bytes()) + 1).data();
  }

  Json write(const TensorSpec& spec, const std::byte* data) {
    if (spec.rank < 0) {
      return nullptr;
    }
    const int64_t bytes = spec.extent_bytes();
    const Json result = {{"type", std::string(to_string(spec.type))},
                         {"shape", std::vector<int64_t>(spec.shape.begin(), spec.shape.begin() + spec.rank)},
                         {"offset", offset_},
                         {"bytes", bytes}};
    data_.write(reinterpret_cast<const char*>(data), bytes);
    offset_ += bytes;
    return result;
  }

  std::ofstream data_;
  int64_t offset_ = 0;
  Json cases_ = Json::array();
};

int run(const std::string& folder) {
  Writer writer(folder);
  for (const testing::OpCase& test : testing::op_cases()) {
    if (const auto added = writer.add(test); !added) {
      std::cerr << added.error().to_string() << '\n';
      return 1;
    }
  }
  if (!writer.finish(folder)) {
    std::cerr << "The files of folder '" << folder << "' cannot be written.\n";
    return 1;
  }
  return 0;
}

}  // namespace
}  // namespace weir

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: write_reference_cases FOLDER\n";
    return 2;
  }
  return weir::run(argv[1]);
}
