// SPDX-License-Identifier: Apache-2.0
//
// Scenarios of what programs may have beside constants and steps: states, traces, operators of a user's own,
// plain constants that are packed when they are loaded, and constants that are given other values.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <memory>

#include "api/model.h"
#include "custom_models.h"
#include "import/testing/model_builder.h"
#include "tests/faults/slice_parts.h"

namespace weir::faults {
namespace {

namespace fs = std::filesystem;

// Of the models here, whose inputs are rows of kFeatures numbers.
void prepare_rows(weir_request* request, int64_t rows, Outcome& outcome) {
  prepare_shape(request, {rows, kFeatures}, outcome);
}

void run_rows(weir_request* request, int64_t rows, AnswerSet set, Outcome& outcome) {
  run_and_compare(request, rows * kFeatures, rows, set, outcome);
}

// ----------------------------------------------------------------------------------------------------------------
// State: y = relu(s), s = x + h, and s is the next h.

std::string state_model_bytes() {
  testing::ModelBuilder model(13);
  model.input("x", onnx::TensorProto::FLOAT, {"n", "5"});
  model.input("h", onnx::TensorProto::FLOAT, {"n", "5"});
  model.node("Add", {"x", "h"}, {"s"}, "add");
  model.node("Relu", {"s"}, {"y"}, "relu");
  model.output("y");
  model.output("s");
  return model.bytes();
}

void open_states(const Machine& machine, Session& session, Outcome& outcome) {
  const weir_state_choice choice = {"h", "s"};
  weir_session_options options = WEIR_INIT(weir_session_options);
  options.states = &choice;
  options.state_count = 1;
  open_session(machine, files().state_model.c_str(), session, outcome, options);
}

// From zero: a run, another after it, and that again from what was saved between them.
void use_states(weir_request* request, Outcome& outcome) {
  std::array<unsigned char, 1024> saved{};
  int64_t bytes = 0;
  GO(prepare_rows(request, 2, outcome));
  STEP(weir_request_reset_state(request));
  GO(run_rows(request, 2, kFirstRun, outcome));
  STEP(weir_request_save_state(request, saved.data(), saved.size(), &bytes));
  GO(run_rows(request, 2, kSecondRun, outcome));
  STEP(weir_request_restore_state(request, saved.data(), bytes));
  GO(run_rows(request, 2, kSecondRun, outcome));
  STEP(weir_request_reset_state(request));
  GO(run_rows(request, 2, kFirstRun, outcome));
  // Other extents are zero at first, and have a pair of buffers that may have to grow.
  GO(prepare_rows(request, 4, outcome));
  GO(run_rows(request, 4, kFirstRun, outcome));
  GO(prepare_rows(request, 2, outcome));
}

template <bool far>
void open_states_body(Outcome& outcome) {
  Machine machine;
  GO(open_machine(machine, outcome, false, far));
  Session session;
  GO(open_states(machine, session, outcome));
  weir_state state = WEIR_INIT(weir_state);
  STEP(weir_session_get_state(session, 0, &state));
  Request request;
  STEP(weir_request_create(session, nullptr, request.out()));
  use_states(request, outcome);
}

struct Kept {
  Machine machine;
  Session session;
  Request request;
  std::array<unsigned char, 1024> state{};  // of `request` after a run
  int64_t bytes = 0;
};
std::unique_ptr<Kept> states_kept[2];  // near, far

template <bool far>
void keep_states() {
  if (states_kept[far] == nullptr) {
    Outcome outcome;
    states_kept[far] = std::make_unique<Kept>();
    Kept& kept = *states_kept[far];
    open_machine(kept.machine, outcome, false, far);
    open_states(kept.machine, kept.session, outcome);
    ASSERT_TRUE(outcome.ok()) << outcome.text;
  }
}

void drop_state_requests() {
  for (const std::unique_ptr<Kept>& kept : states_kept) {
    if (kept != nullptr) {
      weir_request_release(std::exchange(kept->request.handle, nullptr));
    }
  }
}

template <bool far>
void keep_state_request() {
  keep_states<far>();
  drop_state_requests();
  Kept& kept = *states_kept[far];
  Outcome outcome;
  outcome.take("create", weir_request_create(kept.session, nullptr, kept.request.out()));
  prepare_rows(kept.request, 2, outcome);
  run_rows(kept.request, 2, kFirstRun, outcome);
  outcome.take("save",
               weir_request_save_state(kept.request, kept.state.data(), kept.state.size(), &kept.bytes));
  ASSERT_TRUE(outcome.ok()) << outcome.text;
}

// One run from a known state, without preparing.
template <bool far>
void second_run_body(Outcome& outcome) {
  run_rows(states_kept[far]->request, 2, kSecondRun, outcome);
}

// A run that failed has left the state as it was, so that the same run gives what it would have given; one
// that completed has left the next.
template <bool far>
void check_state(const Outcome& first) {
  Kept& kept = *states_kept[far];
  std::array<unsigned char, 1024> now{};
  int64_t bytes = 0;
  Outcome outcome;
  outcome.take("save", weir_request_save_state(kept.request, now.data(), now.size(), &bytes));
  // A fault in reading the output comes after the run.
  const bool ran = weir_request_get_state(kept.request) == WEIR_REQUEST_COMPLETED &&
                   std::strstr(first.where, "weir_request_run") == nullptr &&
                   std::strstr(first.where, "weir_request_input") == nullptr;
  EXPECT_EQ(now == kept.state, !ran) << first.where << ": " << first.text;
  if (ran) {
    outcome.take("restore", weir_request_restore_state(kept.request, kept.state.data(), kept.bytes));
  }
  run_rows(kept.request, 2, kSecondRun, outcome);
  EXPECT_TRUE(outcome.ok()) << outcome.where << ": " << outcome.text;
  EXPECT_FALSE(outcome.wrong);
  // As `again` of the test wants it.
  outcome.take("restore", weir_request_restore_state(kept.request, kept.state.data(), kept.bytes));
  EXPECT_TRUE(outcome.ok()) << outcome.where << ": " << outcome.text;
}

template <bool far>
void whole_state_body(Outcome& outcome) {
  use_states(states_kept[far]->request, outcome);
}

template <bool far>
void check_whole_state(const Outcome&) {
  Outcome outcome;
  use_states(states_kept[far]->request, outcome);
  EXPECT_TRUE(outcome.ok()) << outcome.where << ": " << outcome.text;
  EXPECT_FALSE(outcome.wrong);
}

// ----------------------------------------------------------------------------------------------------------------
// Traces and profiles.

void remove_trace() {
  fs::remove(files().trace);
  empty_cache();
}

void trace_body(Outcome& outcome) {
  Trace trace;
  STEP(weir_trace_create(4096, trace.out()));
  Machine machine;
  GO(open_machine(machine, outcome));
  weir_session_options options = WEIR_INIT(weir_session_options);
  options.trace = trace;
  Session session;
  GO(open_session(machine, files().model.c_str(), session, outcome, options));
  weir_request_options request_options = WEIR_INIT(weir_request_options);
  request_options.trace = trace;
  request_options.profile = true;
  Request request;
  STEP(weir_request_create(session, &request_options, request.out()));
  GO(run_once(request, 2, outcome));
  GO(start_and_wait(machine.device, request, 2, outcome));
  int32_t lines = 0;
  const weir_command_profile* profile = weir_request_profile(request, &lines);
  outcome.wrong |= lines < 3 || profile == nullptr || profile[0].end_ns < profile[0].begin_ns;
  outcome.wrong |= weir_trace_kept(trace) < 10;
  STEP(weir_trace_write(trace, files().trace.c_str()));
}

// The file is whole, or there is none, and nothing lies beside it.
void check_trace(const Outcome& outcome) {
  const bool there = fs::exists(files().trace);
  EXPECT_EQ(there, outcome.ok());
  if (there) {
    std::ifstream file(files().trace);
    const std::string text(std::istreambuf_iterator<char>(file), {});
    EXPECT_THAT(text, ::testing::StartsWith("{"));
    EXPECT_THAT(text, ::testing::EndsWith("}\n"));
  }
  for (const auto& entry : fs::directory_iterator(files().folder)) {
    const std::string name = entry.path().filename();
    EXPECT_TRUE(!name.starts_with("trace") || name == "trace.json") << name << " is left behind";
  }
}

// ----------------------------------------------------------------------------------------------------------------
// Operators of one's own.

// y = x + 1, a row a tile; fails where `user` says so.
void probe_shape(void*, weir_node* node) {
  weir_node_set_output_like(node, 0, 0);
}
void probe_plan(void*, weir_node*, const weir_operator_shapes* shapes, weir_operator_plan* plan) {
  plan->workspace_bytes = 64 * shapes->inputs[0]->shape[0];
  plan->scratch_bytes = 128;
}
void probe_extent(void*, weir_node*, const weir_operator_shapes* shapes, weir_operator_extent* extent) {
  extent->tiles = shapes->inputs[0]->shape[0];
  std::memcpy(extent->parameters, &shapes->inputs[0]->shape[1], sizeof(int64_t));
  extent->parameter_bytes = sizeof(int64_t);
}
void probe_run(const weir_operator_call* call) {
  int64_t columns = 0;
  std::memcpy(&columns, call->parameters, sizeof(columns));
  const auto* x = static_cast<const float*>(call->inputs[0]->data);
  auto* y = static_cast<float*>(call->outputs[0]->data);
  for (int64_t i = call->tile_begin * columns; i < call->tile_end * columns; ++i) {
    if (x[i] > 1000) {
      weir_operator_call_fail(call, WEIR_OUT_OF_RANGE, "Probe met a number above 1000.");
    }
    y[i] = x[i] + 1;
  }
}

int releases = 0;  // of operators that were registered
int registered = 0;

void registered_body(Outcome& outcome) {
  Machine machine;
  GO(open_machine(machine, outcome));
  weir_operator_desc desc = WEIR_INIT(weir_operator_desc);
  desc.domain = "com.example";
  desc.name = "Probe";
  desc.version = 1;
  desc.min_inputs = 1;
  desc.shape = probe_shape;
  desc.plan = probe_plan;
  desc.extent = probe_extent;
  desc.run = probe_run;
  desc.user = &releases;
  desc.release = [](void* user) { ++*static_cast<int*>(user); };
  STEP(weir_runtime_register_operator(machine.runtime, &desc));
  ++registered;
  Session session;
  GO(open_session(machine, files().custom_model.c_str(), session, outcome));
  Request request;
  STEP(weir_request_create(session, nullptr, request.out()));
  GO(prepare_rows(request, 2, outcome));
  GO(run_rows(request, 2, kProbe, outcome));
  // It fails in the middle of a run, and the next run works.
  weir_tensor input = WEIR_INIT(weir_tensor);
  STEP(weir_request_input(request, 0, &input));
  static_cast<float*>(input.data)[3] = 600;
  weir_status* failed = weir_request_run(request);
  const weir_code code = weir_status_code(failed);
  if (code == WEIR_RESOURCE_EXHAUSTED) {
    outcome.take("a mistake", failed);
    return;
  }
  outcome.wrong |=
      code != WEIR_OUT_OF_RANGE || std::strstr(weir_status_text(failed), "above 1000") == nullptr;
  weir_status_free(failed);
  GO(run_rows(request, 2, kProbe, outcome));
  GO(prepare_rows(request, 4, outcome));
  GO(run_rows(request, 4, kProbe, outcome));
}

void check_released(const Outcome&) {
  EXPECT_EQ(releases, registered) << "each operator that was registered is released once, and no other";
}

// From a library, as the command line does it.
void loaded_body(Outcome& outcome) {
  Machine machine;
  GO(open_machine(machine, outcome));
  STEP(weir_runtime_load_operators(machine.runtime, WEIR_CLIP_LIBRARY));
  Session session;
  GO(open_session(machine, files().clip_model.c_str(), session, outcome));
  Request request;
  STEP(weir_request_create(session, nullptr, request.out()));
  GO(prepare_rows(request, 2, outcome));
  GO(run_rows(request, 2, kClip, outcome));
}

// ----------------------------------------------------------------------------------------------------------------
// Constants.

void portable_body(Outcome& outcome) {
  Machine machine;
  GO(open_machine(machine, outcome));
  weir_session_options options = WEIR_INIT(weir_session_options);
  options.verify_constants = true;
  Session session;
  GO(open_session(machine, files().portable_program.c_str(), session, outcome, options));
  Request request;
  STEP(weir_request_create(session, nullptr, request.out()));
  GO(run_once(request, 2, outcome));
}

// `path` null: the model, which is compiled for it.
void swap(const char* path, bool far, Outcome& outcome) {
  Machine machine;
  GO(open_machine(machine, outcome, false, far));
  std::array<float, 4 * kFeatures> values{};
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = pixels[i] * 2;
  }
  weir_tensor kernel = tensor_of(pixels.data(), {4, 3, 3, 3});
  weir_tensor product = tensor_of(values.data(), {4, kFeatures});
  const weir_constant constants[] = {{"kernel", &kernel}, {"w", &product}};
  weir_session_options options = WEIR_INIT(weir_session_options);
  options.constants = constants;
  options.constant_count = 2;
  Session session;
  GO(open_session(machine, path, session, outcome, options));
  Request request;
  STEP(weir_request_create(session, nullptr, request.out()));
  GO(run_once(request, 2, outcome, kSwapped));
}

void swapped_body(Outcome& outcome) {
  swap(files().swappable_program.c_str(), false, outcome);
}
void swapped_far_body(Outcome& outcome) {
  swap(files().swappable_program.c_str(), true, outcome);
}
void swapped_model_body(Outcome& outcome) {
  swap(files().model.c_str(), false, outcome);
}

constexpr Scenario kModels[] = {
    {"states", empty_cache, open_states_body<false>, nothing_more, nothing},
    {"far_states", empty_cache, open_states_body<true>, nothing_more, nothing},
    {"state_after_a_run", keep_state_request<false>, second_run_body<false>, check_state<false>,
     drop_state_requests, true},
    {"far_state_after_a_run", keep_state_request<true>, second_run_body<true>, check_state<true>,
     drop_state_requests, true},
    {"lasting_states", keep_state_request<false>, whole_state_body<false>, check_whole_state<false>,
     drop_state_requests, true},
    {"far_lasting_states", keep_state_request<true>, whole_state_body<true>, check_whole_state<true>,
     drop_state_requests, true},
    {"trace", remove_trace, trace_body, check_trace, nothing},
    {"registered_operator", empty_cache, registered_body, check_released, nothing},
    {"loaded_operator", empty_cache, loaded_body, nothing_more, nothing},
    {"portable", nothing, portable_body, nothing_more, nothing},
    {"swapped", nothing, swapped_body, nothing_more, nothing},
    {"far_swapped", nothing, swapped_far_body, nothing_more, nothing},
    {"swapped_model", empty_cache, swapped_model_body, nothing_more, nothing},
};

}  // namespace

void make_more_models() {
  Files& names = files();
  names.state_model = names.folder + "/state.onnx";
  names.custom_model = names.folder + "/custom.onnx";
  names.clip_model = names.folder + "/clip.onnx";
  names.portable_program = names.folder + "/portable.weir";
  names.swappable_program = names.folder + "/swappable.weir";
  names.trace = names.folder + "/trace.json";
  std::ofstream(names.state_model, std::ios::binary) << state_model_bytes();
  custom_models::Model custom;
  custom.relu = true;
  custom_models::write(custom, names.custom_model);
  custom_models::Model clip;
  clip.op = "TopPercentClip";
  clip.outputs = 2;
  clip.reals = {{"percent", 25.0F}};
  custom_models::write(clip, names.clip_model);
  ModelOptions portable;
  portable.compile.portable = true;
  auto compiled = compile_model(names.model, names.portable_program, portable);
  ASSERT_TRUE(compiled) << compiled.error().to_string();
  portable.import.swappable = {"kernel", "w"};
  compiled = compile_model(names.model, names.swappable_program, portable);
  ASSERT_TRUE(compiled) << compiled.error().to_string();
}

void drop_kept_models() {
  for (std::unique_ptr<Kept>& kept : states_kept) {
    kept.reset();
  }
}

std::span<const Scenario> model_scenarios() {
  return kModels;
}

}  // namespace weir::faults
