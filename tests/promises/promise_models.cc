// SPDX-License-Identifier: Apache-2.0
#include "promise_models.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <random>

#include "api/model.h"
#include "api/testing/models.h"
#include "base/testing/results.h"
#include "hal/cpu/cpu_device.h"

namespace weir::promises {
namespace {

constexpr const char* kGenerated = "(generated)";  // in the place of a file's name

// Removed when the process ends.
class GeneratedModel {
 public:
  GeneratedModel() { testing::write_file(path_, testing::small_network()); }
  ~GeneratedModel() {
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
  }
  GeneratedModel(const GeneratedModel&) = delete;
  GeneratedModel& operator=(const GeneratedModel&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_ =
      std::filesystem::temp_directory_path() / fmt::format("weir_promises_small_{}.onnx", getpid());
};

Result<LoadedProgram> open(const PromiseModel& model, ModelOptions options) {
  options.use_cache = false;
  options.compile.states = model.states;
  const std::optional<std::string> path = model_path(model.file);
  if (!path) {
    return fail(StatusCode::kNotFound, "Model '{}' is not here.", model.file);
  }
  WEIR_ASSIGN(Model opened, open_model(*path, options));
  return std::move(opened.loaded);
}

}  // namespace

std::vector<PromiseModel> promise_models() {
  return {
      {"det", "PP-OCRv6_det_small.onnx", {{{1, 3, 64, 96}}, {{2, 3, 96, 64}}}},
      {"rec", "PP-OCRv6_rec_small.onnx", {{{1, 3, 48, 320}}, {{2, 3, 48, 75}}}},
      {"cls", "ch_ppocr_mobile_v2.0_cls_mobile.onnx", {{{1, 3, 48, 192}}, {{3, 3, 48, 100}}}},
      {"silero",
       "silero_vad_v6.onnx",
       {{{1, 576}, {1, 1, 128}, {1, 1, 128}}, {{5, 576}, {1, 1, 128}, {1, 1, 128}}}},
      {"silero_with_state",
       "silero_vad_v6.onnx",
       {{{1, 576}}, {{5, 576}}},
       false,
       {{"h", "hn"}, {"c", "cn"}}},
      {"mobilenet_v2", "mobilenet_v2.onnx", {{{1, 3, 224, 224}}, {{2, 3, 224, 224}}}, true},
      {"minilm", "minilm_l6_fp32.onnx", {{{1, 9}, {1, 9}, {1, 9}}, {{2, 33}, {2, 33}, {2, 33}}}, true},
      {"small", kGenerated, {{{1, 8, 24, 24}}, {{3, 8, 24, 24}}}},
  };
}

std::optional<std::string> model_path(const std::string& file) {
  if (file == kGenerated) {
    static const GeneratedModel generated;
    return generated.path();
  }
  for (const char* variable : {"WEIR_TEST_MODELS", "WEIR_FILLED_MODELS"}) {
    const char* folder = std::getenv(variable);
    if (folder != nullptr && *folder != '\0') {
      std::string path = std::string(folder) + "/" + file;
      if (std::filesystem::exists(path)) {
        return path;
      }
    }
  }
  return std::nullopt;
}

Result<LoadedProgram> ModelShelf::dynamic(const PromiseModel& model) {
  const auto known = programs_.find(model.name);
  if (known != programs_.end()) {
    return known->second;
  }
  WEIR_ASSIGN(LoadedProgram loaded, open(model, {}));
  return programs_.emplace(model.name, std::move(loaded)).first->second;
}

Result<LoadedProgram> ModelShelf::fixed(const PromiseModel& model, const Shapes& shapes) {
  WEIR_ASSIGN(const LoadedProgram open_program, dynamic(model));
  std::string key = model.name;
  ModelOptions options;
  for (size_t i = 0; i < shapes.size(); ++i) {
    std::vector<std::optional<Range>> ranges;
    for (int64_t extent : shapes[i]) {
      ranges.emplace_back(Range{extent, extent});
      key += fmt::format(" {}", extent);
    }
    options.import.shapes.emplace_back(open_program.program.inputs[i].name, std::move(ranges));
  }
  const auto known = programs_.find(key);
  if (known != programs_.end()) {
    return known->second;
  }
  WEIR_ASSIGN(LoadedProgram loaded, open(model, options));
  return programs_.emplace(key, std::move(loaded)).first->second;
}

Ref<Device> make_device(int32_t threads, bool simulate_discrete) {
  CpuDeviceOptions options;
  options.threads = threads;
  options.toggles.simulate_discrete = simulate_discrete;
  options.pool = *ThreadPool::create({.threads = threads});
  return must(create_cpu_device(options));
}

Ref<Session> make_session(const LoadedProgram& program, Ref<Device> device) {
  return must(Session::create(program, std::move(device), {}));
}

Ref<Request> make_request(Session& session, const Shapes& shapes) {
  Ref<Request> request = must(session.create_request({}));
  must(request->prepare(shapes));
  return request;
}

void fill_input(const TensorView& view, const std::string& name, uint32_t seed) {
  std::mt19937 random(seed);
  const int64_t count = view.element_count();
  if (view.type == ElementType::kFloat32) {
    std::normal_distribution<float> distribution;
    for (int64_t i = 0; i < count; ++i) {
      const float value = distribution(random);
      std::memcpy(view.data + i * 4, &value, 4);
    }
    return;
  }
  ASSERT_EQ(view.type, ElementType::kInt64) << name;
  for (int64_t i = 0; i < count; ++i) {
    int64_t value = 0;
    if (name.find("mask") != std::string::npos) {
      value = i + 1 < count ? 1 : 0;
    } else if (name.find("type") == std::string::npos) {
      value = static_cast<int64_t>(random() % 1000);
    }
    std::memcpy(view.data + i * 8, &value, 8);
  }
}

void fill_inputs(Request& request, uint32_t seed) {
  must(request.reset_state());
  const auto& inputs = request.session().program().inputs;
  for (size_t i = 0; i < inputs.size(); ++i) {
    fill_input(must(request.input(static_cast<int32_t>(i))), inputs[i].name, seed + static_cast<uint32_t>(i));
  }
}

Outputs read_outputs(Request& request) {
  Outputs outputs;
  for (size_t i = 0; i < request.session().program().outputs.size(); ++i) {
    const TensorView view = must(request.output(static_cast<int32_t>(i)));
    const auto bytes = static_cast<size_t>(request.output_spec(static_cast<int32_t>(i)).extent_bytes());
    outputs.emplace_back(view.data, view.data + bytes);
  }
  return outputs;
}

Outputs run_once(Session& session, const Shapes& shapes, uint32_t seed) {
  const Ref<Request> request = make_request(session, shapes);
  fill_inputs(*request, seed);
  must(request->run());
  return read_outputs(*request);
}

std::string difference(const Outputs& got, const Outputs& wanted) {
  if (got.size() != wanted.size()) {
    return fmt::format("{} outputs instead of {}", got.size(), wanted.size());
  }
  std::string text;
  for (size_t i = 0; i < got.size(); ++i) {
    if (got[i].size() != wanted[i].size()) {
      text += fmt::format("output {}: {} bytes instead of {}; ", i, got[i].size(), wanted[i].size());
      continue;
    }
    size_t bytes = 0;
    size_t first = got[i].size();
    for (size_t k = 0; k < got[i].size(); ++k) {
      if (got[i][k] != wanted[i][k]) {
        ++bytes;
        first = std::min(first, k);
      }
    }
    if (bytes > 0) {
      text +=
          fmt::format("output {}: {} of {} bytes differ, the first at {}; ", i, bytes, got[i].size(), first);
    }
  }
  return text;
}

}  // namespace weir::promises
