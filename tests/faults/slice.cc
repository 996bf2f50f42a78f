// SPDX-License-Identifier: Apache-2.0
#include "tests/faults/slice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <string>
#include <vector>

#include "api/model.h"
#include "import/testing/model_builder.h"

namespace weir::faults {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kFeatures = 5;
constexpr int64_t kPixels = 3 * 6 * 6;
constexpr int64_t kMostRows = 4;

// Global, because bodies may not allocate: made before any window.
struct Files {
  std::string folder, model, external, program, cache;
} files;
int64_t memory_limit = 0;
int64_t memory_peak = 0;
std::array<float, kPixels * kMostRows> pixels;
std::array<std::array<float, kFeatures * kMostRows>, kMostRows + 1> answers;  // by rows
bool answers_known[kMostRows + 1] = {};

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
      std::ofstream(files.folder + "/w.bin", std::ios::binary) << weight.raw_data();
      weight.clear_raw_data();
      weight.set_data_location(onnx::TensorProto::EXTERNAL);
      onnx::StringStringEntryProto& location = *weight.add_external_data();
      location.set_key("location");
      location.set_value("w.bin");
    }
  }
  return model.bytes();
}

// Owners that give back what a body has taken, in reverse order.
template <typename T, void (*release)(T*)>
struct Owner {
  T* handle = nullptr;
  Owner() = default;
  Owner(const Owner&) = delete;
  ~Owner() {
    if (handle != nullptr) {
      release(handle);
    }
  }
  operator T*() const { return handle; }
  T** out() { return &handle; }
};
using Runtime = Owner<weir_runtime, weir_runtime_release>;
using Device = Owner<weir_device, weir_device_release>;
using Session = Owner<weir_session, weir_session_release>;
using Request = Owner<weir_request, weir_request_release>;
using Lease = Owner<weir_lease, weir_lease_release>;
using Event = Owner<weir_event, weir_event_release>;
using Queue = Owner<weir_queue, weir_queue_release>;
using Buffer = Owner<weir_buffer, weir_buffer_release>;
using Heap = Owner<weir_heap, weir_heap_release>;
using Library = Owner<weir_library, weir_library_release>;
using Kernel = Owner<weir_kernel, weir_kernel_release>;
using Commands = Owner<weir_command_buffer, weir_command_buffer_release>;

#define STEP(call)                    \
  if (!outcome.take(#call, (call))) { \
    return;                           \
  }

struct Machine {
  Runtime runtime;
  Device device;
  ~Machine() {
    if (device.handle != nullptr) {
      weir_status_free(weir_device_memory(device, WEIR_ALL_CATEGORIES, nullptr, &memory_peak));
    }
  }
};

void open_machine(Machine& machine, Outcome& outcome) {
  weir_runtime_options runtime = WEIR_INIT(weir_runtime_options);
  runtime.threads = 3;
  STEP(weir_runtime_create(&runtime, machine.runtime.out()));
  weir_device_options device = WEIR_INIT(weir_device_options);
  device.memory_limit = memory_limit;
  STEP(weir_device_create_cpu(machine.runtime, &device, machine.device.out()));
}

void open_session(const Machine& machine, const char* path, Session& session, Outcome& outcome) {
  weir_session_options options = WEIR_INIT(weir_session_options);
  options.cache_folder = files.cache.c_str();
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

void prepare(weir_request* request, int64_t rows, Outcome& outcome) {
  const int64_t dims[] = {rows, 3, 6, 6};
  const weir_shape shape = {dims, 4};
  STEP(weir_request_prepare(request, &shape, 1));
}

void compare(const float* got, int64_t rows, Outcome& outcome) {
  auto& wanted = answers[static_cast<size_t>(rows)];
  const size_t bytes = static_cast<size_t>(rows * kFeatures) * sizeof(float);
  if (!answers_known[rows]) {
    std::memcpy(wanted.data(), got, bytes);
    answers_known[rows] = true;
  }
  outcome.wrong |= std::memcmp(wanted.data(), got, bytes) != 0;
}

void write_input(weir_request* request, int64_t rows, Outcome& outcome) {
  weir_tensor input = WEIR_INIT(weir_tensor);
  STEP(weir_request_input(request, 0, &input));
  std::memcpy(input.data, pixels.data(), static_cast<size_t>(rows * kPixels) * sizeof(float));
}

void read_output(weir_request* request, int64_t rows, Outcome& outcome) {
  weir_tensor output = WEIR_INIT(weir_tensor);
  STEP(weir_request_output(request, 0, &output));
  compare(static_cast<const float*>(output.data), rows, outcome);
}

#define GO(...)        \
  __VA_ARGS__;         \
  if (!outcome.ok()) { \
    return;            \
  }

void run_once(weir_request* request, int64_t rows, Outcome& outcome) {
  GO(prepare(request, rows, outcome));
  GO(write_input(request, rows, outcome));
  STEP(weir_request_run(request));
  GO(read_output(request, rows, outcome));
}

void open_and_run(const char* path, Outcome& outcome) {
  Machine machine;
  GO(open_machine(machine, outcome));
  Session session;
  GO(open_session(machine, path, session, outcome));
  Request request;
  STEP(weir_request_create(session, nullptr, request.out()));
  GO(run_once(request, 2, outcome));
}

// ----------------------------------------------------------------------------------------------------------------
// Opening: the machine, import, compile, cache.

void empty_cache() {
  fs::remove_all(files.cache);
}

// Every name in the cache folder is a whole entry's or a note's.
std::vector<std::string> strange_files() {
  std::vector<std::string> strange;
  if (fs::exists(files.cache)) {
    for (const auto& entry : fs::directory_iterator(files.cache)) {
      const std::string extension = entry.path().extension();
      if (extension != ".weir" && extension != ".source") {
        strange.push_back(entry.path().filename());
      }
    }
  }
  return strange;
}

bool cache_has_program() {
  return fs::exists(files.cache) &&
         std::any_of(fs::directory_iterator(files.cache), fs::directory_iterator(),
                     [](const auto& entry) { return entry.path().extension() == ".weir"; });
}

void check_cache(const Outcome& outcome) {
  EXPECT_THAT(strange_files().size(), 0u) << strange_files().front() << " is left behind";
  if (outcome.ok()) {
    EXPECT_TRUE(cache_has_program() || outcome.noted)
        << "the program is not in the cache, and nothing says so";
  }
}

void open_model_body(Outcome& outcome) {
  open_and_run(files.model.c_str(), outcome);
}

void open_external_body(Outcome& outcome) {
  open_and_run(files.external.c_str(), outcome);
}

void fill_cache() {
  if (!cache_has_program()) {
    Outcome outcome;
    open_model_body(outcome);
    ASSERT_TRUE(outcome.ok()) << outcome.text;
  }
}

// ----------------------------------------------------------------------------------------------------------------
// A program file, and what is told of it.

void open_program_body(Outcome& outcome) {
  Machine machine;
  GO(open_machine(machine, outcome));
  Session session;
  GO(open_session(machine, files.program.c_str(), session, outcome));
  const int64_t dims[] = {3, 3, 6, 6};
  const weir_shape shape = {dims, 4};
  weir_ledger ledger = WEIR_INIT(weir_ledger);
  STEP(weir_session_plan(session, &shape, 1, &ledger));
  char* json = nullptr;
  STEP(weir_session_report(session, &shape, 1, &json));
  weir_text_free(json);
  weir_port port = WEIR_INIT(weir_port);
  STEP(weir_session_get_input(session, 0, &port));
  STEP(weir_session_get_output(session, 0, &port));
}

// ----------------------------------------------------------------------------------------------------------------
// The life of a request, all of it inside the window.

std::unique_ptr<Machine> machine_kept;
std::unique_ptr<Session> session_kept;
std::unique_ptr<Request> request_kept;

void keep_session() {
  if (session_kept == nullptr) {
    Outcome outcome;
    machine_kept = std::make_unique<Machine>();
    session_kept = std::make_unique<Session>();
    open_machine(*machine_kept, outcome);
    open_session(*machine_kept, files.program.c_str(), *session_kept, outcome);
    ASSERT_TRUE(outcome.ok()) << outcome.text;
  }
}

// Has run with one shape; the body needs others.
void keep_request() {
  keep_session();
  Outcome outcome;
  request_kept = std::make_unique<Request>();
  outcome.take("create", weir_request_create(*session_kept, nullptr, request_kept->out()));
  run_once(*request_kept, 4, outcome);
  ASSERT_TRUE(outcome.ok()) << outcome.text;
}

void drop_kept() {
  request_kept.reset();
  session_kept.reset();
  machine_kept.reset();
}

void on_complete(void* user, const weir_status* status) {
  static_cast<std::atomic<int>*>(user)->store(1 + weir_status_code(status));
}

void start_and_wait(weir_request* request, int64_t rows, Outcome& outcome) {
  GO(write_input(request, rows, outcome));
  Event event;
  STEP(weir_event_create(machine_kept->device, "done", event.out()));
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
  GO(read_output(request, rows, outcome));
  while (told.load() == 0) {  // it is told after the wait may end
    usleep(10);
  }
  outcome.wrong |= told.load() != 1;
}

void bind_and_run(weir_request* request, int64_t rows, Outcome& outcome) {
  std::array<float, kPixels * kMostRows> own = pixels;
  std::array<float, 2 * kFeatures * kMostRows> spread{};
  weir_tensor input = tensor_of(own.data(), {rows, 3, 6, 6});
  weir_tensor output = tensor_of(spread.data(), {rows, kFeatures});
  output.strides[0] = 2 * kFeatures;
  weir_binding binding = WEIR_INIT(weir_binding);
  struct Unbind {
    weir_request* request;
    // An error here is one too many for the body; the request is released afterwards, or bound again.
    ~Unbind() {
      weir_status_free(weir_request_bind_input(request, 0, nullptr, WEIR_COPY_ALLOW, nullptr));
      weir_status_free(weir_request_bind_output(request, 0, nullptr, WEIR_COPY_ALLOW, nullptr));
    }
  } unbind{request};
  STEP(weir_request_input_verdict(request, 0, &input, &binding));
  STEP(weir_request_bind_input(request, 0, &input, WEIR_COPY_ALLOW, &binding));
  STEP(weir_request_bind_output(request, 0, &output, WEIR_COPY_ALLOW, &binding));
  weir_notice notice = WEIR_INIT(weir_notice);
  int32_t copies = 0;
  while (weir_request_notice(request, copies, &notice)) {
    ++copies;
  }
  STEP(weir_request_run(request));
  std::array<float, kFeatures * kMostRows> dense{};
  for (int64_t row = 0; row < rows; ++row) {
    std::memcpy(&dense[static_cast<size_t>(row * kFeatures)],
                &spread[static_cast<size_t>(2 * row * kFeatures)], kFeatures * sizeof(float));
  }
  compare(dense.data(), rows, outcome);
}

void use_request(weir_request* request, Outcome& outcome) {
  GO(run_once(request, 2, outcome));
  GO(run_once(request, 3, outcome));
  GO(run_once(request, 2, outcome));
  GO(start_and_wait(request, 2, outcome));
  GO(bind_and_run(request, 2, outcome));
  weir_tensor input = tensor_of(pixels.data(), {2, 3, 6, 6});
  STEP(weir_request_set_input(request, 0, &input, WEIR_COPY_ALLOW, nullptr));
  STEP(weir_request_run(request));
  {
    Lease lease;
    STEP(weir_request_lease_output(request, 0, lease.out()));
    weir_tensor leased = WEIR_INIT(weir_tensor);
    STEP(weir_lease_tensor(lease, &leased));
    compare(static_cast<const float*>(leased.data), 2, outcome);
  }
  weir_ledger planned = WEIR_INIT(weir_ledger);
  STEP(weir_request_planned(request, &planned));
  weir_ledger counted = WEIR_INIT(weir_ledger);
  STEP(weir_request_counted(request, &counted));
  outcome.wrong |= planned.total != counted.total;
}

void request_body(Outcome& outcome) {
  Request request;
  STEP(weir_request_create(*session_kept, nullptr, request.out()));
  use_request(request, outcome);
}

// Nothing of the fault is left in the request: it goes on where it was.
void lasting_request_body(Outcome& outcome) {
  use_request(*request_kept, outcome);
}

void check_lasting_request(const Outcome&) {
  Outcome outcome;
  use_request(*request_kept, outcome);
  EXPECT_TRUE(outcome.ok()) << outcome.where << ": " << outcome.text;
  EXPECT_FALSE(outcome.wrong);
}

// Errors and cancelling, whose words take memory themselves.
void mistakes_body(Outcome& outcome) {
  Request request;
  STEP(weir_request_create(*session_kept, nullptr, request.out()));
  GO(prepare(request, 2, outcome));
  const auto expect = [&](weir_status* status, weir_code wanted) {
    const weir_code code = weir_status_code(status);
    if (code != wanted && code == WEIR_RESOURCE_EXHAUSTED) {
      return outcome.take("a mistake", status);
    }
    outcome.wrong |= code != wanted || *weir_status_text(status) == '\0';
    weir_status_free(status);
    return true;
  };
  const int64_t wrong[] = {2, 4, 6, 6};
  const weir_shape shape = {wrong, 4};
  if (!expect(weir_request_prepare(request, &shape, 1), WEIR_INVALID_ARGUMENT)) return;
  weir_tensor tensor = tensor_of(pixels.data(), {9});
  if (!expect(weir_request_bind_input(request, 0, &tensor, WEIR_COPY_ALLOW, nullptr), WEIR_INVALID_ARGUMENT))
    return;
  if (!expect(weir_request_input(request, 7, &tensor), WEIR_OUT_OF_RANGE)) return;
  // A producer that fails: the request fails with its words, and runs again afterwards.
  Event event;
  STEP(weir_event_create(machine_kept->device, "producer", event.out()));
  const weir_event_point wait = {event, 1};
  weir_start_desc start = WEIR_INIT(weir_start_desc);
  start.waits = &wait;
  start.wait_count = 1;
  weir_submit_answer answer = 0;
  STEP(weir_request_start(request, &start, &answer));
  weir_status* told = weir_event_fail(event, 1, WEIR_DATA_LOSS, "The camera is unplugged.");
  if (told != nullptr) {
    weir_request_cancel(request);
    weir_status_free(weir_request_wait(request, -1, nullptr));
    outcome.take("weir_event_fail", told);
    return;
  }
  if (!expect(weir_request_wait(request, -1, nullptr), WEIR_DATA_LOSS)) return;
  outcome.wrong |= weir_request_get_state(request) != WEIR_REQUEST_FAILED;
  GO(run_once(request, 2, outcome));
}

// ----------------------------------------------------------------------------------------------------------------
// The resource model.

void add_one(const weir_invocation* invocation) {
  const auto* from = static_cast<const float*>(invocation->bindings[0]);
  auto* to = static_cast<float*>(invocation->bindings[1]);
  for (int64_t i = invocation->tile_begin; i < invocation->tile_end; ++i) {
    to[i] = from[i] + 1;
  }
}

void resources_body(Outcome& outcome) {
  Machine machine;
  GO(open_machine(machine, outcome));
  weir_heap_desc heap_desc = WEIR_INIT(weir_heap_desc);
  heap_desc.size = 1 << 20;
  heap_desc.label = "heap of the slice";
  Heap heap;
  STEP(weir_heap_create(machine.device, &heap_desc, heap.out()));
  Buffer from;
  STEP(weir_heap_create_buffer(heap, 0, 4096, 0, "a buffer with a longer label", from.out()));
  weir_buffer_desc desc = WEIR_INIT(weir_buffer_desc);
  desc.size = 200000;
  desc.huge_pages = true;
  desc.lock_pages = true;
  desc.label = "another buffer with a label";
  Buffer to;
  STEP(weir_buffer_create(machine.device, &desc, to.out()));
  weir_kernel_desc kernel_desc = WEIR_INIT(weir_kernel_desc);
  kernel_desc.name = "add one to every element";
  kernel_desc.function = add_one;
  kernel_desc.bindings = 2;
  Library library;
  STEP(weir_library_create(machine.device, "the library of the slice", &kernel_desc, 1, library.out()));
  Kernel kernel;
  STEP(weir_library_get_kernel(library, kernel_desc.name, kernel.out()));
  weir_command_buffer_desc commands_desc = WEIR_INIT(weir_command_buffer_desc);
  commands_desc.slots = 1;
  commands_desc.profile = true;
  commands_desc.label = "commands of the slice";
  Commands commands;
  STEP(weir_command_buffer_create(machine.device, &commands_desc, commands.out()));
  weir_encode_step(commands, 4);
  weir_encode_fill(commands, {from, 0, 0, 4096}, 0);
  weir_encode_barrier(commands);
  for (int i = 0; i < 3; ++i) {
    weir_encode_kernel(commands, kernel);
    weir_encode_buffer(commands, 0, {from, 0, 0, 4096}, WEIR_READ);
    weir_encode_buffer(commands, 1, {nullptr, 0, 0, 4096}, WEIR_WRITE);
    weir_encode_constants(commands, pixels.data(), 100);
    weir_encode_dispatch(commands, 16, 8, 8);
    weir_encode_barrier(commands);
  }
  STEP(weir_command_buffer_seal(commands));
  STEP(weir_command_buffer_bind_slot(commands, 0, to, 0));
  weir_queue_desc queue_desc = WEIR_INIT(weir_queue_desc);
  queue_desc.lanes = 2;
  queue_desc.label = "the queue of the slice";
  Queue queue;
  STEP(weir_queue_create(machine.device, &queue_desc, queue.out()));
  weir_submission submission = WEIR_INIT(weir_submission);
  submission.commands = commands;
  weir_submit_answer answer = 0;
  STEP(weir_queue_submit(queue, &submission, &answer));
  STEP(weir_command_buffer_wait(commands, -1));
  submission.never_inline = true;
  STEP(weir_queue_submit(queue, &submission, &answer));
  STEP(weir_command_buffer_wait(commands, -1));
  weir_queue_wait_idle(queue);
  const void* bytes = nullptr;
  STEP(weir_buffer_read_contents(to, &bytes));
  for (int i = 0; i < 1024; ++i) {
    outcome.wrong |= static_cast<const float*>(bytes)[i] != 1;
  }
  int64_t held = 0;
  weir_device_visit_holders(
      machine.device,
      [](void* user, const char*, weir_category, int64_t size) { *static_cast<int64_t*>(user) += size; },
      &held);
  int64_t current = 0;
  STEP(weir_device_memory(machine.device, WEIR_ALL_CATEGORIES, &current, nullptr));
  outcome.wrong |= held != current;
}

void drop_request() {
  request_kept.reset();
}

void nothing() {}
void nothing_more(const Outcome&) {}

constexpr Scenario kScenarios[] = {
    {"open_and_compile", empty_cache, open_model_body, check_cache, nothing},
    {"open_cached", fill_cache, open_model_body, check_cache, nothing},
    {"open_external", empty_cache, open_external_body, check_cache, nothing},
    {"open_program", nothing, open_program_body, nothing_more, nothing},
    {"request", keep_session, request_body, nothing_more, nothing},
    {"lasting_request", keep_request, lasting_request_body, check_lasting_request, drop_request},
    {"mistakes", keep_session, mistakes_body, nothing_more, nothing},
    {"resources", nothing, resources_body, nothing_more, nothing},
};

}  // namespace

void make_models() {
  files.folder = fs::temp_directory_path() / ("weir_faults_" + std::to_string(getpid()));
  files.model = files.folder + "/slice.onnx";
  files.program = files.folder + "/slice.weir";
  files.cache = files.folder + "/cache";
  fs::create_directories(files.folder);
  files.external = files.folder + "/external.onnx";
  std::ofstream(files.model, std::ios::binary) << model_bytes(false);
  std::ofstream(files.external, std::ios::binary) << model_bytes(true);
  auto compiled = compile_model(files.model, files.program, {});
  ASSERT_TRUE(compiled) << compiled.error().to_string();
  for (size_t i = 0; i < pixels.size(); ++i) {
    pixels[i] = static_cast<float>(static_cast<int>(i * 37 % 101) - 50) / 50;
  }
  // Twice, so that what libraries make once is made.
  for (int i = 0; i < 2; ++i) {
    for (const Scenario& scenario : kScenarios) {
      Outcome outcome;
      scenario.before();
      scenario.body(outcome);
      ASSERT_TRUE(outcome.ok()) << scenario.name << ", " << outcome.where << ": " << outcome.text;
      ASSERT_FALSE(outcome.wrong) << scenario.name;
    }
  }
  for (int64_t rows : {2, 3}) {  // a row of softmax sums to 1, and has its position added to each of 5
    for (int64_t row = 0; row < rows; ++row) {
      const float* values = &answers[static_cast<size_t>(rows)][static_cast<size_t>(row * kFeatures)];
      EXPECT_NEAR(std::accumulate(values, values + kFeatures, 0.0f), 1 + 5 * row, 1e-5f);
    }
  }
}

void remove_models() {
  drop_kept();
  fs::remove_all(files.folder);
}

std::span<const Scenario> scenarios() {
  return kScenarios;
}

void set_memory_limit(int64_t bytes) {
  drop_kept();
  memory_limit = bytes;
}

int64_t last_memory_peak() {
  return memory_peak;
}

}  // namespace weir::faults
