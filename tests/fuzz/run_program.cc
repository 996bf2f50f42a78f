// SPDX-License-Identifier: Apache-2.0
#include "run_program.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "hal/cpu/cpu_device.h"
#include "runtime/session.h"

namespace weir::fuzz {
namespace {

constexpr size_t kMaxSteps = 200;
constexpr int64_t kMaxElements = 4096;

// One for the process: making one starts threads.
const Ref<Device>& device() {
  static const Ref<Device> made = [] {
    Result<Ref<Device>> device =
        create_cpu_device({.threads = 2, .memory_limit = kDeviceBytes, .toggles = {.validation = true}});
    if (!device) {
      std::abort();
    }
    return *device;
  }();
  return made;
}

// Numbers that are valid as data and, mostly, as indices.
void fill(const TensorView& view) {
  const int64_t count = view.element_count();
  for (int64_t i = 0; i < count; ++i) {
    switch (view.type) {
      case ElementType::kFloat32:
        view.as<float>()[i] = static_cast<float>(i % 7) * 0.5F - 1.0F;
        break;
      case ElementType::kFloat64:
        view.as<double>()[i] = static_cast<double>(i % 7) * 0.5 - 1.0;
        break;
      case ElementType::kInt64:
        view.as<int64_t>()[i] = i % 3;
        break;
      case ElementType::kInt32:
        view.as<int32_t>()[i] = static_cast<int32_t>(i % 3);
        break;
      default:
        std::memset(view.data, 1, static_cast<size_t>(byte_size(view.type, count)));
        return;
    }
  }
}

Result<void> run(Session& session, std::span<const std::vector<int64_t>> shapes) {
  WEIR_ASSIGN(Ref<Request> request, session.create_request({}));
  if (!session.program().is_static()) {
    WEIR_TRY(request->prepare(shapes));
  }
  for (size_t i = 0; i < session.program().inputs.size(); ++i) {
    WEIR_ASSIGN(const TensorView input, request->input(static_cast<int32_t>(i)));
    fill(input);
  }
  WEIR_TRY(request->run());
  for (size_t i = 0; i < session.program().outputs.size(); ++i) {
    WEIR_TRY(request->output(static_cast<int32_t>(i)));
  }
  return {};
}

// The shapes of the inputs for these symbols; nothing where the program does not take them or is too large.
bool shapes_of(const Program& program, std::span<const int64_t> symbols,
               std::vector<std::vector<int64_t>>& shapes) {
  std::vector<int64_t> dims(program.dims.size());
  if (const Result<void> evaluated = evaluate_shape(program, symbols, dims); !evaluated) {
    expect_explained(evaluated.error());
    return false;
  }
  if (!is_small(program, dims)) {
    return false;
  }
  for (const ProgramPort& input : program.inputs) {
    std::vector<int64_t>& shape = shapes.emplace_back();
    for (const int32_t position : program.tensors[static_cast<size_t>(input.tensor)].shape) {
      shape.push_back(dims[static_cast<size_t>(position)]);
    }
  }
  return true;
}

}  // namespace

void expect_explained(const Status& error) {
  if (error.message().empty() || error.code() == StatusCode::kInternal || error.code() == StatusCode::kOk) {
    std::fprintf(stderr, "An error that does not explain itself: %s\n", error.to_string().c_str());
    std::abort();
  }
}

bool is_small(const Program& program, std::span<const int64_t> dims) {
  if (program.steps.size() + program.prepare_steps.size() > kMaxSteps) {
    return false;
  }
  return std::ranges::all_of(program.tensors, [&](const ProgramTensor& tensor) {
    int64_t count = 1;
    for (const int32_t position : tensor.shape) {
      const int64_t extent = dims[static_cast<size_t>(position)];
      if (extent > kMaxElements || count * extent > kMaxElements) {
        return false;
      }
      count *= extent;
    }
    return true;
  });
}

bool run_program(LoadedProgram loaded) {
  bool completed = false;
  const Program& given = loaded.program;
  std::vector<std::vector<int64_t>> assignments(1);
  for (const ProgramSymbol& symbol : given.symbols) {
    assignments[0].push_back(symbol.range.min);
  }
  if (!given.is_static()) {
    std::vector<int64_t>& larger = assignments.emplace_back(assignments[0]);
    for (size_t i = 0; i < larger.size(); ++i) {
      const Range& range = given.symbols[i].range;
      larger[i] = range.max - 2 > range.min ? range.min + 2 : range.max;
    }
  }
  std::vector<std::vector<std::vector<int64_t>>> shapes;
  for (const std::vector<int64_t>& symbols : assignments) {
    std::vector<std::vector<int64_t>> wanted;
    if (shapes_of(given, symbols, wanted)) {
      shapes.push_back(std::move(wanted));
    }
  }
  if (shapes.empty()) {
    return false;
  }
  Result<Ref<Session>> session = Session::create(std::move(loaded), device(), {});
  if (!session) {
    expect_explained(session.error());
    return false;
  }
  for (const auto& wanted : shapes) {
    const Result<void> ran = run(**session, wanted);
    if (!ran) {
      expect_explained(ran.error());
    }
    completed = completed || ran.has_value();
  }
  return completed;
}

}  // namespace weir::fuzz
