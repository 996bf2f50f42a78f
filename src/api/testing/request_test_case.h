// SPDX-License-Identifier: Apache-2.0
//
// Requests in whatever state a test wants, seen through weir.hpp and so through the C interface, on a plain
// device, a discrete one and one that validates.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "api/testing/models.h"
#include "weir/weir.hpp"

namespace weir::testing {

using std::chrono::milliseconds;

enum class Kind { kPlain, kDiscrete, kValidation };

// "ok", or the error's text.
inline std::string answer_of(const std::function<void()>& action) {
  try {
    action();
    return "ok";
  } catch (const weir::Error& error) {
    return error.what();
  }
}

inline weir_code code_of(const std::function<void()>& action) {
  try {
    action();
    return WEIR_OK;
  } catch (const weir::Error& error) {
    return error.code();
  }
}

inline const char* name_of(weir_request_state state) {
  constexpr const char* kNames[] = {"unprepared", "idle",   "queued",   "running",
                                    "completed",  "failed", "cancelled"};
  return kNames[state];
}

// Polls until `done`; false after a time in which anything must have happened.
inline bool eventually(const std::function<bool()>& done) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (!done()) {
    if (std::chrono::steady_clock::now() > end) {
      return false;
    }
    std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
  return true;
}

class RequestTest : public ::testing::TestWithParam<Kind> {
 protected:
  static constexpr int64_t kLong = 1 << 18;  // rows of a run that nobody waits for to its end

  static void SetUpTestSuite() {
    path_ =
        std::filesystem::temp_directory_path() / ("weir_request_test_" + std::to_string(getpid()) + ".onnx");
    write_file(path_, doubler_model(300));
  }
  static void TearDownTestSuite() { std::filesystem::remove(path_); }

  void SetUp() override {
    device_ = weir::Device::cpu(runtime_, options());
    session_ = open();
    go_ = device_.event("go");
  }
  static weir::DeviceOptions options() {
    weir::DeviceOptions options;
    options.simulate_discrete = GetParam() == Kind::kDiscrete;
    options.validation = GetParam() == Kind::kValidation;
    return options;
  }
  weir::Session open() const {
    weir::SessionOptions options;
    options.no_cache = true;
    options.name = "doubler";
    return weir::Session(runtime_, device_, path_, options);
  }
  static void prepare(const weir::Request& request, int64_t n = 2) {
    request.prepare({{n, 4}, {2}});
    const weir::TensorView x = request.input(0);
    std::fill_n(x.as<float>(), x.element_count(), 1.0F);
    set_rows(request, n - 1);
  }
  static void set_rows(const weir::Request& request, int64_t first) {
    auto* rows = request.input(1).as<int64_t>();
    rows[0] = first;
    rows[1] = 0;
  }
  // A run that does not end by itself: it waits for go_ to reach a value that only the test signals.
  void queue(const weir::Request& request) {
    ASSERT_EQ(request.start({go_.at(++next_)}), WEIR_QUEUED);
    ASSERT_EQ(request.state(), WEIR_REQUEST_QUEUED);
  }
  static void run_long(const weir::Request& request) {
    prepare(request, kLong);
    ASSERT_EQ(request.start(), WEIR_QUEUED);
    ASSERT_TRUE(eventually([&] { return request.state() == WEIR_REQUEST_RUNNING; }));
  }

  // A fresh request in the state that the table calls so.
  weir::Request in_state(const std::string& state) {
    weir::Request request = session_.request();
    if (state != "unprepared" && state != "running") {
      prepare(request);
    }
    if (state == "queued") {
      queue(request);
    } else if (state == "running") {
      run_long(request);
    } else if (state == "completed" || state == "leased") {
      request.run();
    } else if (state == "failed") {
      set_rows(request, 9);
      EXPECT_EQ(code_of([&] { request.run(); }), WEIR_OUT_OF_RANGE);
    } else if (state == "cancelled") {
      queue(request);
      request.cancel();
      EXPECT_EQ(code_of([&] { request.wait(); }), WEIR_CANCELLED);
    }
    EXPECT_EQ(name_of(request.state()), state == "leased" ? "completed" : state);
    return request;
  }
  void end(const weir::Request& request) {
    request.cancel();
    (void)code_of([&] { request.wait(); });
  }

  inline static std::string path_;
  weir::Runtime runtime_{2};
  weir::Device device_;
  weir::Session session_;
  weir::Event go_;
  uint64_t next_ = 0;
};

// A parameter's name in those of the tests.
inline std::string kind_name(const ::testing::TestParamInfo<Kind>& kind) {
  return kind.param == Kind::kPlain ? "plain" : kind.param == Kind::kDiscrete ? "discrete" : "validation";
}

inline auto all_kinds() {
  return ::testing::Values(Kind::kPlain, Kind::kDiscrete, Kind::kValidation);
}

}  // namespace weir::testing
