// SPDX-License-Identifier: Apache-2.0
//
// Promise "errors are values", where the device fails: every call of every entry point of the resource model,
// from opening a session to the end of its requests, fails once as if the device were lost at that moment.
// The error reaches the caller, and whoever waits for what was submitted; the request works again afterwards;
// nothing stays alive, and no memory stays charged.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <thread>

#include "api/model.h"
#include "hal/cpu/cpu_device.h"
#include "hal/validation/validation_device.h"
#include "import/testing/model_builder.h"
#include "runtime/session.h"
#include "tests/faults/failing_device.h"

namespace weir::faults {
namespace {

using ::testing::HasSubstr;

constexpr int64_t kColumns = 6;

// s = x · w + h, y = relu(s) + position of the row, and s is the next h. The positions are constants that a
// shape has computed.
LoadedProgram make_program() {
  testing::ModelBuilder model(13);
  model.input("x", onnx::TensorProto::FLOAT, {"n", "6"});
  model.input("h", onnx::TensorProto::FLOAT, {"n", "6"});
  std::vector<float> weights(36);
  for (size_t i = 0; i < weights.size(); ++i) {
    weights[i] = static_cast<float>(i * 5 % 7) - 3;
  }
  model.floats("w", {6, 6}, weights);
  model.int64s("zero", {}, {0});
  model.int64s("one", {}, {1});
  model.int64s("column", {2}, {-1, 1});
  model.node("MatMul", {"x", "w"}, {"m"}, "product");
  model.node("Add", {"m", "h"}, {"s"}, "add");
  model.node("Relu", {"s"}, {"r"}, "relu");
  model.node("Shape", {"x"}, {"shape"}, "shape");
  testing::set_integer(model.node("Gather", {"shape", "zero"}, {"n"}, "rows"), "axis", 0);
  model.node("Range", {"zero", "n", "one"}, {"range"}, "range");
  testing::set_integer(model.node("Cast", {"range"}, {"positions"}, "cast"), "to", onnx::TensorProto::FLOAT);
  model.node("Reshape", {"positions", "column"}, {"rows_column"}, "reshape");
  model.node("Add", {"r", "rows_column"}, {"y"}, "shift");
  model.output("y");
  model.output("s");
  const std::string path =
      std::filesystem::temp_directory_path() / fmt::format("weir_hal_faults_{}.onnx", getpid());
  std::ofstream(path, std::ios::binary) << model.bytes();
  ModelOptions options;
  options.use_cache = false;
  options.compile.states = {{"h", "s"}};
  auto opened = open_model(path, options);
  std::filesystem::remove(path);
  EXPECT_TRUE(opened) << opened.error().to_string();
  return opened ? std::move(opened->loaded) : LoadedProgram();
}

float input_at(int64_t row, int64_t column) {
  return static_cast<float>((row * 3 + column * 2) % 5) - 2;
}

// What the model above gives in its `run`th run (from 1) from a state of zero.
std::vector<float> expected(int64_t rows, int run) {
  std::vector<float> values;
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t column = 0; column < kColumns; ++column) {
      float sum = 0;
      for (int64_t k = 0; k < kColumns; ++k) {
        sum += input_at(row, k) * (static_cast<float>((k * kColumns + column) * 5 % 7) - 3);
      }
      values.push_back(std::max(0.0F, sum * static_cast<float>(run)) + static_cast<float>(row));
    }
  }
  return values;
}

Result<void> fill(Request& request, int64_t rows) {
  WEIR_ASSIGN(const TensorView x, request.input(0));
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t column = 0; column < kColumns; ++column) {
      x.as<float>()[row * kColumns + column] = input_at(row, column);
    }
  }
  return {};
}

Result<void> check(Request& request, int64_t rows, int run) {
  WEIR_ASSIGN(const TensorView y, request.output(0));
  const std::vector<float> values(y.as<float>(), y.as<float>() + y.element_count());
  EXPECT_EQ(values, expected(rows, run)) << rows << " rows, run " << run;
  return {};
}

Result<void> prepare_and_run(Request& request, int64_t rows) {
  WEIR_TRY(request.prepare(std::vector<std::vector<int64_t>>{{rows, kColumns}}));
  WEIR_TRY(request.reset_state());
  WEIR_TRY(fill(request, rows));
  WEIR_TRY(request.run());
  WEIR_TRY(check(request, rows, 1));
  return {};
}

Result<void> keep_states(Request& request) {
  WEIR_ASSIGN(const int64_t bytes, request.saved_state_bytes());
  std::vector<std::byte> saved(static_cast<size_t>(bytes));
  WEIR_TRY(request.save_state(saved));
  WEIR_TRY(request.run());
  WEIR_TRY(check(request, 2, 2));
  WEIR_TRY(request.restore_state(saved));
  WEIR_TRY(request.run());
  WEIR_TRY(check(request, 2, 2));
  return {};
}

Result<void> bind_and_run(Request& request) {
  std::vector<float> x(2 * kColumns);
  std::vector<float> y(2 * kColumns * 2, -1.0F);
  for (int64_t i = 0; i < 2 * kColumns; ++i) {
    x[static_cast<size_t>(i)] = input_at(i / kColumns, i % kColumns);
  }
  TensorView in = request.input_spec(0).at(reinterpret_cast<std::byte*>(x.data()));
  TensorView out = request.output_spec(0).at(reinterpret_cast<std::byte*>(y.data()));
  out.strides[0] = 2 * kColumns;  // not as the program has it: copied at the end of each run
  const auto bound = [&]() -> Result<void> {
    WEIR_TRY(request.reset_state());
    WEIR_TRY(request.bind_input(0, in));
    WEIR_TRY(request.bind_output(0, out));
    WEIR_TRY(request.run());
    const std::vector<float> wanted = expected(2, 1);
    for (int64_t i = 0; i < 2 * kColumns; ++i) {
      EXPECT_EQ(y[static_cast<size_t>(i / kColumns * 2 * kColumns + i % kColumns)],
                wanted[static_cast<size_t>(i)]);
    }
    return {};
  };
  Result<void> result = bound();
  // The memory is about to go.
  for (int tries = 0; tries < 2; ++tries) {
    const auto input = request.bind_input(0, TensorView());
    const auto output = request.bind_output(0, TensorView());
    if (input && output) {
      return result;
    }
    if (result) {
      result = std::unexpected(input ? output.error() : input.error());
    }
  }
  ADD_FAILURE() << "The request does not let go of the caller's memory.";
  return result;
}

struct Told {
  std::atomic<int> times{0};
  std::string error;
};

// `first` signals an event that `second` and a thread wait for. What the run of one has become, all hear.
Result<void> chain(Device& device, Request& first, Request& second) {
  for (Request* request : {&first, &second}) {
    WEIR_TRY(request->prepare(std::vector<std::vector<int64_t>>{{2, kColumns}}));
    WEIR_TRY(request->reset_state());
    WEIR_TRY(fill(*request, 2));
  }
  WEIR_ASSIGN(const Ref<Event> done, device.create_event("done"));
  const EventPoint point[] = {{done.get(), 1}};
  Told told;
  const CompletionHandler handler = {.function =
                                         [](void* user, const Status* status) {
                                           auto* t = static_cast<Told*>(user);
                                           t->error = status == nullptr ? "" : status->to_string();
                                           ++t->times;
                                         },
                                     .user = &told};
  Result<SubmitAnswer> started = first.start({}, point, handler);
  if (!started) {
    // Nothing was submitted: nobody is told but the caller, who may signal the event or start again.
    const auto reached = done->wait(1, std::chrono::nanoseconds(0));
    EXPECT_TRUE(reached && *reached == EventWait::kTimedOut);
    EXPECT_EQ(told.times, 0);
    EXPECT_NE(first.state(), RequestState::kQueued);
    return std::unexpected(std::move(started).error());
  }
  EXPECT_EQ(*started, SubmitAnswer::kQueued);
  Result<EventWait> heard = EventWait::kTimedOut;
  std::thread waiter([&] { heard = done->wait(1); });
  Result<SubmitAnswer> followed = second.start(point);
  Result<void> second_result;
  if (followed) {
    second_result = second.wait();
  } else {
    second_result = std::unexpected(followed.error());
  }
  Result<void> first_result = first.wait();
  waiter.join();
  while (told.times == 0) {
    std::this_thread::yield();
  }
  first.settle();  // no second call comes
  EXPECT_EQ(told.times, 1);
  EXPECT_EQ(told.error.empty(), first_result.has_value());
  EXPECT_EQ(heard.has_value(), first_result.has_value());
  if (!first_result) {
    EXPECT_EQ(first.state(), RequestState::kFailed);
    EXPECT_EQ(second.state(), RequestState::kFailed) << "whoever depends on a run that failed has failed";
    EXPECT_THAT(told.error, HasSubstr("The device was lost at a call of"));
    EXPECT_THAT(heard.error().to_string(), HasSubstr("The device was lost at a call of"));
    EXPECT_FALSE(second_result);
    EXPECT_FALSE(first.output(0));
    return first_result;
  }
  WEIR_TRY(check(first, 2, 1));
  WEIR_TRY(second_result);
  WEIR_TRY(check(second, 2, 1));
  return {};
}

Result<void> use(Device& device, Request& first, Request& second) {
  WEIR_TRY(prepare_and_run(first, 2));
  WEIR_TRY(keep_states(first));
  WEIR_TRY(prepare_and_run(first, 3));
  WEIR_TRY(prepare_and_run(first, 2));
  WEIR_TRY(bind_and_run(first));
  WEIR_TRY(chain(device, first, second));
  return {};
}

struct Machine {
  std::string name;
  bool far = false;
  bool validation = false;
};

class HalFaultsTest : public ::testing::TestWithParam<std::tuple<int, int>> {
 protected:
  static void SetUpTestSuite() { program_ = new LoadedProgram(make_program()); }
  static void TearDownTestSuite() {
    delete program_;
    program_ = nullptr;
  }

  // Opens a session and uses two requests of it; what fails is tried once more, and has to work then.
  Result<void> live(Device& device, const Ref<Device>& made) {
    auto session = Session::create(*program_, made, {});
    Result<void> result;
    if (!session) {
      result = std::unexpected(session.error());
      session = Session::create(*program_, made, {});
    }
    if (!session) {
      ADD_FAILURE() << session.error().to_string();
      return result;
    }
    std::vector<Ref<Request>> requests;
    for (int i = 0; i < 2; ++i) {
      auto request = (*session)->create_request({});
      if (!request && result) {
        result = std::unexpected(request.error());
        request = (*session)->create_request({});
      }
      if (!request) {
        ADD_FAILURE() << request.error().to_string();
        return result;
      }
      requests.push_back(*std::move(request));
    }
    Result<void> used = use(device, *requests[0], *requests[1]);
    if (!used) {
      EXPECT_TRUE(result) << "a second error: " << used.error().to_string();
      result = std::unexpected(used.error());
      used = use(device, *requests[0], *requests[1]);
      EXPECT_TRUE(used) << "the same request, again: " << used.error().to_string();
    }
    return result;
  }

  static LoadedProgram* program_;
};

LoadedProgram* HalFaultsTest::program_ = nullptr;

// The thread of a session's queue may let go of the last of it a moment after the caller has.
bool all_gone(const HalFaults& faults, const Device& device) {
  for (int tries = 0; tries < 20'000; ++tries) {
    if (faults.objects() == 0 && device.memory().total().current == 0) {
      return true;
    }
    usleep(100);
  }
  return false;
}

const Machine kMachines[] = {
    {"cpu"}, {"far", true}, {"validated", false, true}, {"far_validated", true, true}};

TEST_P(HalFaultsTest, EachCallFailsOnce) {
  const Machine& machine = kMachines[std::get<0>(GetParam())];
  const auto call = static_cast<HalCall>(std::get<1>(GetParam()));
  CpuDeviceOptions options;
  options.threads = 2;
  options.toggles.simulate_discrete = machine.far;
  auto cpu = create_cpu_device(options);
  ASSERT_TRUE(cpu) << cpu.error().to_string();
  HalFaults faults;
  Ref<Device> device = create_failing_device(*cpu, faults);
  ASSERT_TRUE(device);
  if (machine.validation) {
    device = create_validation_device(device);
  }
  faults.arm(call, -1);
  const Result<void> plain = live(*device, device);
  ASSERT_TRUE(plain) << plain.error().to_string();
  ASSERT_TRUE(all_gone(faults, **cpu));
  const int64_t count = faults.calls(call);
  int64_t errors = 0;
  for (int64_t index = 0; index < count && !HasFailure(); ++index) {
    SCOPED_TRACE(fmt::format("call {} of '{}'", index, to_string(call)));
    faults.arm(call, index);
    const Result<void> result = live(*device, device);
    EXPECT_TRUE(faults.fired());
    EXPECT_FALSE(result) << "the error reaches nobody";
    if (!result) {
      ++errors;
      EXPECT_EQ(result.error().code(), StatusCode::kUnavailable);
      EXPECT_THAT(result.error().to_string(), HasSubstr("The device was lost at a call of"));
    }
    ASSERT_TRUE(all_gone(faults, **cpu))
        << faults.objects() << " objects are alive, " << (*cpu)->memory().total().current << " bytes charged"
        << (result ? "" : result.error().to_string());
    EXPECT_EQ(device->memory().total().current, 0);
  }
  printf("%lld calls, %lld errors\n", static_cast<long long>(count), static_cast<long long>(errors));
  // The runtime needs no heaps and carries nothing over; validation waits for its own.
  if (call != HalCall::kCreateHeap && call != HalCall::kCarry &&
      !(call == HalCall::kWait && machine.validation)) {
    EXPECT_GT(count, 0);
  }
}

INSTANTIATE_TEST_SUITE_P(Once, HalFaultsTest,
                         ::testing::Combine(::testing::Range(0, static_cast<int>(std::size(kMachines))),
                                            ::testing::Range(0, kHalCalls)),
                         [](const auto& instance) {
                           return kMachines[std::get<0>(instance.param)].name + "_" +
                                  std::string(to_string(static_cast<HalCall>(std::get<1>(instance.param))));
                         });

}  // namespace
}  // namespace weir::faults
