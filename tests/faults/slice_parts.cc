// SPDX-License-Identifier: Apache-2.0
#include "tests/faults/slice_parts.h"

#include <unistd.h>

#include <atomic>
#include <fstream>

#include "import/testing/model_builder.h"

namespace weir::faults {
namespace {

int64_t memory_limit = 0;
int64_t memory_peak = 0;

struct Answer {
  std::array<float, kFeatures * kMostRows> values{};
  bool known = false;
};
Answer answers[kAnswerSets][kMostRows + 1];  // by rows

void write_input(weir_request* request, int64_t elements, Outcome& outcome) {
  weir_tensor input = WEIR_INIT(weir_tensor);
  STEP(weir_request_input(request, 0, &input));
  std::memcpy(input.data, pixels.data(), static_cast<size_t>(elements) * sizeof(float));
}

void read_output(weir_request* request, int64_t rows, AnswerSet set, Outcome& outcome) {
  weir_tensor output = WEIR_INIT(weir_tensor);
  STEP(weir_request_output(request, 0, &output));
  compare(static_cast<const float*>(output.data), rows, set, outcome);
}

void on_complete(void* user, const weir_status* status) {
  static_cast<std::atomic<int>*>(user)->store(1 + weir_status_code(status));
}

}  // namespace

Files& files() {
  static Files names;
  return names;
}

std::array<float, kPixels * kMostRows> pixels;

Machine::~Machine() {
  if (device.handle != nullptr) {
    weir_status_free(weir_device_memory(device, WEIR_ALL_CATEGORIES, nullptr, &memory_peak));
  }
}

// y[n, 5] = softmax(flatten(mean(relu(conv(x[n, 3, 6, 6])))) · w + b) + position of the row, which depends on
// the shape alone.
std::string model_bytes(bool external) {
  testing::ModelBuilder model(13);
  const auto ramp = [](size_t count, float scale) {
    std::vector<float> values(count);
    for (size_t i = 0; i < count; ++i) {
      values[i] = scale * static_cast<float>(static_cast<int>(i * 7 % 13) - 6);
    }
    return values;
  };
  model.input("x", onnx::TensorProto::FLOAT, {"n", "3", "6", "6"});
  model.floats("kernel", {4, 3, 3, 3}, ramp(108, 0.1f));
  model.floats("bias", {4}, ramp(4, 0.2f));
  model.floats("w", {4, kFeatures}, ramp(20, 0.3f));
  model.floats("b", {kFeatures}, ramp(5, 0.4f));
  model.int64s("zero", {}, {0});
  model.int64s("one", {}, {1});
  model.int64s("column", {2}, {-1, 1});
  model.node("Conv", {"x", "kernel", "bias"}, {"c"}, "conv");
  model.node("Relu", {"c"}, {"r"}, "relu");
  model.node("GlobalAveragePool", {"r"}, {"g"}, "mean");
  model.node("Flatten", {"g"}, {"f"}, "flatten");
  model.node("MatMul", {"f", "w"}, {"m"}, "product");
  model.node("Add", {"m", "b"}, {"a"}, "add");
  model.node("Softmax", {"a"}, {"s"}, "softmax");
  model.node("Shape", {"x"}, {"shape"}, "shape");
  testing::set_integer(model.node("Gather", {"shape", "zero"}, {"n"}, "rows"), "axis", 0);
  model.node("Range", {"zero", "n", "one"}, {"range"}, "range");
  testing::set_integer(model.node("Cast", {"range"}, {"positions"}, "cast"), "to", onnx::TensorProto::FLOAT);
  model.node("Reshape", {"positions", "column"}, {"rows_column"}, "reshape");
  model.node("Add", {"s", "rows_column"}, {"y"}, "shift");
  model.output("y");
  for (onnx::TensorProto& weight : *model.graph().mutable_initializer()) {
    if (external && weight.name() == "w") {  // beside the model, in a file of its own
      std::ofstream(files().folder + "/w.bin", std::ios::binary) << weight.raw_data();
      weight.clear_raw_data();
      weight.set_data_location(onnx::TensorProto::EXTERNAL);
      onnx::StringStringEntryProto& location = *weight.add_external_data();
      location.set_key("location");
      location.set_value("w.bin");
    }
  }
  return model.bytes();
}

void open_machine(Machine& machine, Outcome& outcome, bool validation, bool simulate_discrete) {
  weir_runtime_options runtime = WEIR_INIT(weir_runtime_options);
  runtime.threads = 3;
  STEP(weir_runtime_create(&runtime, machine.runtime.out()));
  weir_device_options device = WEIR_INIT(weir_device_options);
  device.memory_limit = memory_limit;
  device.validation = validation;
  device.simulate_discrete = simulate_discrete;
  STEP(weir_device_create_cpu(machine.runtime, &device, machine.device.out()));
}

void open_session(const Machine& machine, const char* path, Session& session, Outcome& outcome,
                  weir_session_options options) {
  options.cache_folder = files().cache.c_str();
  options.name = "slice";
  STEP(weir_session_open(machine.runtime, machine.device, path, &options, session.out()));
  weir_notice notice = WEIR_INIT(weir_notice);
  for (int32_t i = 0; weir_session_notice(session, i, &notice); ++i) {
    outcome.noted |= std::strcmp(notice.what, "not cached") == 0;
  }
}

weir_tensor tensor_of(void* data, std::initializer_list<int64_t> shape) {
  weir_tensor tensor = WEIR_INIT(weir_tensor);
  tensor.data = data;
  tensor.type = WEIR_FLOAT32;
  for (const int64_t extent : shape) {
    tensor.shape[tensor.rank++] = extent;
  }
  weir_tensor_set_dense(&tensor);
  return tensor;
}

void compare(const float* got, int64_t rows, AnswerSet set, Outcome& outcome) {
  Answer& wanted = answers[set][rows];
  const size_t bytes = static_cast<size_t>(rows * kFeatures) * sizeof(float);
  if (!wanted.known) {
    std::memcpy(wanted.values.data(), got, bytes);
    wanted.known = true;
  }
  outcome.wrong |= std::memcmp(wanted.values.data(), got, bytes) != 0;
}

const float* answer_of(int64_t rows, AnswerSet set) {
  return answers[set][rows].values.data();
}

void prepare_shape(weir_request* request, std::initializer_list<int64_t> dims, Outcome& outcome) {
  const weir_shape shape = {dims.begin(), static_cast<int32_t>(dims.size())};
  STEP(weir_request_prepare(request, &shape, 1));
}

void run_and_compare(weir_request* request, int64_t elements, int64_t rows, AnswerSet set, Outcome& outcome) {
  GO(write_input(request, elements, outcome));
  STEP(weir_request_run(request));
  GO(read_output(request, rows, set, outcome));
}

void run_once(weir_request* request, int64_t rows, Outcome& outcome, AnswerSet set) {
  GO(prepare_shape(request, {rows, 3, 6, 6}, outcome));
  run_and_compare(request, rows * kPixels, rows, set, outcome);
}

void start_and_wait(weir_device* device, weir_request* request, int64_t rows, Outcome& outcome) {
  GO(write_input(request, rows * kPixels, outcome));
  Event event;
  STEP(weir_event_create(device, "done", event.out()));
  std::atomic<int> told{0};
  const weir_event_point signal = {event, 1};
  weir_start_desc start = WEIR_INIT(weir_start_desc);
  start.signals = &signal;
  start.signal_count = 1;
  start.on_complete = on_complete;
  start.user = &told;
  weir_submit_answer answer = 0;
  STEP(weir_request_start(request, &start, &answer));
  STEP(weir_request_wait(request, -1, nullptr));
  bool reached = false;
  STEP(weir_event_wait(event, 1, -1, &reached));
  GO(read_output(request, rows, kSlice, outcome));
  while (told.load() == 0) {  // it is told after the wait may end
    usleep(10);
  }
  outcome.wrong |= told.load() != 1;
}

void nothing() {}
void nothing_more(const Outcome&) {}

void set_memory_limit(int64_t bytes) {
  drop_kept();
  memory_limit = bytes;
}

int64_t last_memory_peak() {
  return memory_peak;
}

}  // namespace weir::faults
