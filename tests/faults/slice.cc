// SPDX-License-Identifier: Apache-2.0
#include "tests/faults/slice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "api/model.h"
#include "tests/faults/slice_parts.h"

namespace weir::faults {
namespace {

namespace fs = std::filesystem;

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

// Every name in the cache folder is a whole entry's or a note's.
std::vector<std::string> strange_files() {
  std::vector<std::string> strange;
  if (fs::exists(files().cache)) {
    for (const auto& entry : fs::directory_iterator(files().cache)) {
      const std::string extension = entry.path().extension();
      if (extension != ".weir" && extension != ".source") {
        strange.push_back(entry.path().filename());
      }
    }
  }
  return strange;
}

bool cache_has_program() {
  return fs::exists(files().cache) &&
         std::any_of(fs::directory_iterator(files().cache), fs::directory_iterator(),
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
  open_and_run(files().model.c_str(), outcome);
}

void open_external_body(Outcome& outcome) {
  open_and_run(files().external.c_str(), outcome);
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
  GO(open_session(machine, files().program.c_str(), session, outcome));
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

// Devices that each of the scenarios below has to itself.
enum Mode { kPlain, kValidated, kFar };
constexpr int kModes = 3;

void open_machine_of(Mode mode, Machine& machine, Outcome& outcome) {
  open_machine(machine, outcome, mode == kValidated, mode == kFar);
}

struct Kept {
  Machine machine;
  Session session;
  Request request;
};
std::unique_ptr<Kept> kept[kModes];

template <Mode mode>
void keep_session() {
  if (kept[mode] == nullptr) {
    Outcome outcome;
    kept[mode] = std::make_unique<Kept>();
    open_machine_of(mode, kept[mode]->machine, outcome);
    open_session(kept[mode]->machine, files().program.c_str(), kept[mode]->session, outcome);
    ASSERT_TRUE(outcome.ok()) << outcome.text;
  }
}

void drop_requests() {
  for (const std::unique_ptr<Kept>& one : kept) {
    if (one != nullptr) {
      weir_request_release(std::exchange(one->request.handle, nullptr));
    }
  }
}

// Has run with one shape; the body needs others.
template <Mode mode>
void keep_request() {
  keep_session<mode>();
  drop_requests();
  Outcome outcome;
  outcome.take("create", weir_request_create(kept[mode]->session, nullptr, kept[mode]->request.out()));
  run_once(kept[mode]->request, 4, outcome);
  ASSERT_TRUE(outcome.ok()) << outcome.text;
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
  compare(dense.data(), rows, kSlice, outcome);
}

void use_request(weir_device* device, weir_request* request, Outcome& outcome) {
  GO(run_once(request, 2, outcome));
  GO(run_once(request, 3, outcome));
  GO(run_once(request, 2, outcome));
  GO(start_and_wait(device, request, 2, outcome));
  GO(bind_and_run(request, 2, outcome));
  weir_tensor input = tensor_of(pixels.data(), {2, 3, 6, 6});
  STEP(weir_request_set_input(request, 0, &input, WEIR_COPY_ALLOW, nullptr));
  STEP(weir_request_run(request));
  {
    Lease lease;
    STEP(weir_request_lease_output(request, 0, lease.out()));
    weir_tensor leased = WEIR_INIT(weir_tensor);
    STEP(weir_lease_tensor(lease, &leased));
    compare(static_cast<const float*>(leased.data), 2, kSlice, outcome);
  }
  weir_ledger planned = WEIR_INIT(weir_ledger);
  STEP(weir_request_planned(request, &planned));
  weir_ledger counted = WEIR_INIT(weir_ledger);
  STEP(weir_request_counted(request, &counted));
  outcome.wrong |= planned.total != counted.total;
}

template <Mode mode>
void request_body(Outcome& outcome) {
  Request request;
  STEP(weir_request_create(kept[mode]->session, nullptr, request.out()));
  use_request(kept[mode]->machine.device, request, outcome);
}

// Nothing of the fault is left in the request: it goes on where it was.
template <Mode mode>
void lasting_request_body(Outcome& outcome) {
  use_request(kept[mode]->machine.device, kept[mode]->request, outcome);
}

template <Mode mode>
void check_lasting_request(const Outcome&) {
  Outcome outcome;
  use_request(kept[mode]->machine.device, kept[mode]->request, outcome);
  EXPECT_TRUE(outcome.ok()) << outcome.where << ": " << outcome.text;
  EXPECT_FALSE(outcome.wrong);
}

// The program and its constants brought to the device, and used.
template <Mode mode>
void whole_life_body(Outcome& outcome) {
  Machine machine;
  GO(open_machine_of(mode, machine, outcome));
  Session session;
  GO(open_session(machine, files().program.c_str(), session, outcome));
  Request request;
  STEP(weir_request_create(session, nullptr, request.out()));
  use_request(machine.device, request, outcome);
}

// Errors and cancelling, whose words take memory themselves.
template <Mode mode>
void mistakes_body(Outcome& outcome) {
  Request request;
  STEP(weir_request_create(kept[mode]->session, nullptr, request.out()));
  const int64_t dims[] = {2, 3, 6, 6};
  const weir_shape right = {dims, 4};
  STEP(weir_request_prepare(request, &right, 1));
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
  STEP(weir_event_create(kept[mode]->machine.device, "producer", event.out()));
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

template <Mode mode>
void resources_body(Outcome& outcome) {
  Machine machine;
  GO(open_machine_of(mode, machine, outcome));
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

constexpr Scenario kOwn[] = {
    {"open_and_compile", empty_cache, open_model_body, check_cache, nothing},
    {"open_cached", fill_cache, open_model_body, check_cache, nothing},
    {"open_external", empty_cache, open_external_body, check_cache, nothing},
    {"open_program", nothing, open_program_body, nothing_more, nothing},
    {"request", keep_session<kPlain>, request_body<kPlain>, nothing_more, nothing, true},
    {"lasting_request", keep_request<kPlain>, lasting_request_body<kPlain>, check_lasting_request<kPlain>,
     drop_requests, true},
    {"mistakes", keep_session<kPlain>, mistakes_body<kPlain>, nothing_more, nothing, true},
    {"resources", nothing, resources_body<kPlain>, nothing_more, nothing},
    {"validated_session", nothing, whole_life_body<kValidated>, nothing_more, nothing},
    {"validated_lasting_request", keep_request<kValidated>, lasting_request_body<kValidated>,
     check_lasting_request<kValidated>, drop_requests, true},
    {"validated_mistakes", keep_session<kValidated>, mistakes_body<kValidated>, nothing_more, nothing, true},
    {"validated_resources", nothing, resources_body<kValidated>, nothing_more, nothing},
    {"far_session", nothing, whole_life_body<kFar>, nothing_more, nothing},
    {"far_lasting_request", keep_request<kFar>, lasting_request_body<kFar>, check_lasting_request<kFar>,
     drop_requests, true},
    {"far_mistakes", keep_session<kFar>, mistakes_body<kFar>, nothing_more, nothing, true},
    {"far_resources", nothing, resources_body<kFar>, nothing_more, nothing},
};

}  // namespace

void empty_cache() {
  fs::remove_all(files().cache);
}

void drop_kept() {
  for (std::unique_ptr<Kept>& one : kept) {
    one.reset();
  }
  drop_kept_models();
}

void make_models() {
  files().folder = fs::temp_directory_path() / ("weir_faults_" + std::to_string(getpid()));
  files().model = files().folder + "/slice.onnx";
  files().program = files().folder + "/slice.weir";
  files().cache = files().folder + "/cache";
  fs::create_directories(files().folder);
  files().external = files().folder + "/external.onnx";
  std::ofstream(files().model, std::ios::binary) << model_bytes(false);
  std::ofstream(files().external, std::ios::binary) << model_bytes(true);
  auto compiled = compile_model(files().model, files().program, {});
  ASSERT_TRUE(compiled) << compiled.error().to_string();
  for (size_t i = 0; i < pixels.size(); ++i) {
    pixels[i] = static_cast<float>(static_cast<int>(i * 37 % 101) - 50) / 50;
  }
  make_more_models();
  // Twice, so that what libraries make once is made.
  for (int i = 0; i < 2; ++i) {
    for (const Scenario& scenario : scenarios()) {
      Outcome outcome;
      scenario.before();
      scenario.body(outcome);
      ASSERT_TRUE(outcome.ok()) << scenario.name << ", " << outcome.where << ": " << outcome.text;
      ASSERT_FALSE(outcome.wrong) << scenario.name;
    }
  }
  for (int64_t rows : {2, 3}) {  // a row of softmax sums to 1, and has its position added to each of 5
    for (int64_t row = 0; row < rows; ++row) {
      const float* values = answer_of(rows, kSlice) + row * kFeatures;
      EXPECT_NEAR(std::accumulate(values, values + kFeatures, 0.0f), 1 + 5 * row, 1e-5f);
    }
  }
}

void remove_models() {
  drop_kept();
  fs::remove_all(files().folder);
}

std::span<const Scenario> scenarios() {
  static const std::vector<Scenario> all = [] {
    std::vector<Scenario> both(std::begin(kOwn), std::end(kOwn));
    const std::span<const Scenario> more = model_scenarios();
    both.insert(both.end(), more.begin(), more.end());
    return both;
  }();
  return all;
}

}  // namespace weir::faults
