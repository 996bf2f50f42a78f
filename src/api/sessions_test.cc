// SPDX-License-Identifier: Apache-2.0
//
// The C interface of sessions, from outside: weir.h and a model file, every function, and errors by their
// text. Requests are in session_requests_test.cc.
#include <fmt/format.h>

#include <array>
#include <cstring>
#include <functional>

#include "api/model.h"
#include "api/testing/session_test_case.h"

namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

class Sessions : public weir::testing::SessionTest {};

TEST(Tensors, HaveTypesCountsAndStrides) {
  EXPECT_STREQ(weir_element_type_name(WEIR_FLOAT32), "float32");
  EXPECT_STREQ(weir_element_type_name(WEIR_UINT4), "uint4");
  EXPECT_STREQ(weir_element_type_name(0), "");
  EXPECT_STREQ(weir_element_type_name(99), "");
  EXPECT_EQ(weir_element_type_bits(WEIR_INT64), 64);
  EXPECT_EQ(weir_element_type_bits(WEIR_INT4), 4);
  EXPECT_EQ(weir_element_type_bits(-1), 0);
  weir_tensor t = WEIR_INIT(weir_tensor);
  t.rank = 3;
  t.shape[0] = 2;
  t.shape[1] = 3;
  t.shape[2] = 5;
  weir_tensor_set_dense(&t);
  EXPECT_EQ(t.strides[0], 15);
  EXPECT_EQ(t.strides[1], 5);
  EXPECT_EQ(t.strides[2], 1);
  EXPECT_EQ(weir_tensor_element_count(&t), 30);
  t.shape[0] = int64_t{1} << 62;
  EXPECT_EQ(weir_tensor_element_count(&t), 0);
  weir_tensor_set_dense(nullptr);
  EXPECT_EQ(weir_tensor_element_count(nullptr), 0);
}

TEST_F(Sessions, SayWhatTheyTake) {
  open();
  weir_session_info info = WEIR_INIT(weir_session_info);
  ASSERT_OK(weir_session_get_info(session_, &info));
  EXPECT_STREQ(info.name, "doubler");
  EXPECT_EQ(info.path, path_);
  EXPECT_EQ(info.input_count, 2);
  EXPECT_EQ(info.output_count, 2);
  EXPECT_EQ(info.participants, 2);
  EXPECT_FALSE(info.is_static);
  EXPECT_TRUE(info.compiled);
  EXPECT_STREQ(info.cache_note, "");
  EXPECT_GT(info.file_bytes, 0);
  EXPECT_GE(info.load_ns, info.import_ns + info.compile_ns);
  weir_port port = WEIR_INIT(weir_port);
  ASSERT_OK(weir_session_get_input(session_, 0, &port));
  EXPECT_STREQ(port.name, "x");
  EXPECT_EQ(port.type, WEIR_FLOAT32);
  ASSERT_EQ(port.rank, 2);
  EXPECT_EQ(port.shape[0], -1);
  EXPECT_EQ(port.shape[1], 4);
  ASSERT_OK(weir_session_get_output(session_, 1, &port));
  EXPECT_STREQ(port.name, "picked");
  EXPECT_EQ(port.shape[0], 2);
  EXPECT_REFUSED(weir_session_get_output(session_, 2, &port), WEIR_OUT_OF_RANGE,
                 "Position (2) is not one of the (2) outputs of 'doubler'.");
  EXPECT_REFUSED(weir_session_get_input(session_, -1, &port), WEIR_OUT_OF_RANGE, "the (2) inputs");
  weir_state state = WEIR_INIT(weir_state);
  for (const int32_t none : {-1, 0}) {
    EXPECT_REFUSED(weir_session_get_state(session_, none, &state), WEIR_OUT_OF_RANGE,
                   fmt::format("Position ({}) is not one of the (0) states of 'doubler'.", none));
  }
  EXPECT_EQ(weir_session_find_input(session_, "rows"), 1);
  EXPECT_EQ(weir_session_find_input(session_, "y"), -1);
  EXPECT_EQ(weir_session_find_output(session_, "y"), 0);
  const char* key = nullptr;
  const char* value = nullptr;
  ASSERT_TRUE(weir_session_metadata(session_, 0, &key, &value));
  EXPECT_STREQ(key, "author");
  EXPECT_STREQ(value, "a person");
  EXPECT_FALSE(weir_session_metadata(session_, info.metadata_count, &key, &value));
  EXPECT_STREQ(weir_session_find_metadata(session_, "author"), "a person");
  EXPECT_EQ(weir_session_find_metadata(session_, "licence"), nullptr);
  weir_notice notice = WEIR_INIT(weir_notice);
  bool compiled = false;
  for (int32_t i = 0; weir_session_notice(session_, i, &notice); ++i) {
    compiled = compiled || (std::string(notice.what) == "compiled" && notice.kind == WEIR_INFO);
  }
  EXPECT_TRUE(compiled);
  EXPECT_FALSE(weir_session_notice(session_, info.notice_count, &notice));

  // The second time it comes from the cache.
  weir_session* again = nullptr;
  const weir_session_options own = options();
  ASSERT_OK(weir_session_open(runtime_, device_, path_.c_str(), &own, &again));
  ASSERT_OK(weir_session_get_info(again, &info));
  EXPECT_FALSE(info.compiled);
  EXPECT_EQ(weir_session_retain(again), again);
  weir_session_release(again);
  weir_session_release(again);
}

TEST_F(Sessions, OptionsAreChecked) {
  const weir_dim_choice upside_down = {"n", 3, 2};
  const weir_shape_choice nameless = {nullptr, nullptr, 0};
  const weir_shape_choice deep = {"x", nullptr, 9};
  const weir_state_choice half = {"x", nullptr};
  weir_device_info info = WEIR_INIT(weir_device_info);
  ASSERT_OK(weir_device_get_info(device_, &info));
  const int32_t most = info.max_participants;
  struct Case {
    std::function<void(weir_session_options&)> change;
    std::string message;
  };
  const std::vector<Case> cases = {
      {[](auto& o) { o.strict = 3; }, "Strictness (3) is not one of (0 to 2)."},
      {[](auto& o) { o.participants = -1; },
       fmt::format(
           "A session is asked for (-1) participants, and device 'cpu' takes (1 to {}), or 0 for its own.",
           most)},
      {[&](auto& o) { o.participants = most + 1; },
       fmt::format(
           "A session is asked for ({}) participants, and device 'cpu' takes (1 to {}), or 0 for its own.",
           most + 1, most)},
      {[](auto& o) { o.isa = "mmx"; }, "Instruction set 'mmx' is not one of (sse4, avx2, avx512)."},
      {[](auto& o) { o.cache_bytes = -1; },
       "Session options bound the program cache to (-1) bytes, and 0 (the default) is the least."},
      {[](auto& o) { o.dim_count = 1; },
       "Session options count (1) dimensions and (0) shapes and give none."},
      {[&](auto& o) { o.dims = &upside_down, o.dim_count = 1; },
       "Dimension 'n' is chosen from (3) to (2), and a choice has a name and 0 ≤ min ≤ max."},
      {[&](auto& o) { o.shapes = &nameless, o.shape_count = 1; },
       "The shape of input '' is chosen with rank (0), and a choice has a name, dimensions and a rank from "
       "(0) to "
       "(8)."},
      {[&](auto& o) { o.shapes = &deep, o.shape_count = 1; },
       "The shape of input 'x' is chosen with rank (9), and a choice has a name, dimensions and a rank from "
       "(0) to "
       "(8)."},
      {[](auto& o) { o.state_count = 2; }, "Session options count (2) states and give none."},
      {[&](auto& o) { o.states = &half, o.state_count = 1; },
       "State (0) is input 'x' fed from output '', and both have a name."},
  };
  for (const Case& c : cases) {
    weir_session_options own = options();
    c.change(own);
    weir_session* session = nullptr;
    EXPECT_STATUS(weir_session_open(runtime_, device_, path_.c_str(), &own, &session), WEIR_INVALID_ARGUMENT,
                  c.message + "\n  - while opening '" + path_ + "'");
    EXPECT_EQ(session, nullptr);
  }
  weir_session* session = nullptr;
  weir_session_options strict = options();
  strict.strict = WEIR_STRICT_ALL;
  EXPECT_REFUSED(weir_session_open(runtime_, device_, path_.c_str(), &strict, &session),
                 WEIR_FAILED_PRECONDITION, "compiled: the program was compiled now");
  EXPECT_STATUS(weir_session_open(runtime_, device_, "/no/model.onnx", nullptr, &session), WEIR_NOT_FOUND,
                "File '/no/model.onnx' cannot be opened: No such file or directory.\n  - while opening "
                "'/no/model.onnx'");
  EXPECT_STATUS(weir_session_open(nullptr, device_, path_.c_str(), nullptr, &session), WEIR_INVALID_ARGUMENT,
                "Function 'weir_session_open' was given a null argument where it needs an object.");
}

TEST_F(Sessions, ChosenDimensionsMakeThemStatic) {
  const weir_dim_choice n = {"n", 3, 3};
  weir_session_options own = options();
  own.dims = &n;
  own.dim_count = 1;
  own.isa = "sse4";
  own.participants = 1;
  own.name = "three rows";
  own.no_cache = true;
  own.verify_constants = true;
  own.strict = WEIR_STRICT_COSTS;
  ASSERT_OK(weir_session_open(runtime_, device_, path_.c_str(), &own, &session_));
  weir_session_info info = WEIR_INIT(weir_session_info);
  ASSERT_OK(weir_session_get_info(session_, &info));
  EXPECT_TRUE(info.is_static);
  EXPECT_STREQ(info.name, "three rows");
  EXPECT_STREQ(info.isa, "sse4");
  EXPECT_EQ(info.participants, 1);
  // Prepared from the start, and planning needs no shapes.
  weir_ledger planned = WEIR_INIT(weir_ledger);
  ASSERT_OK(weir_session_plan(session_, nullptr, 0, &planned));
  ASSERT_OK(weir_request_create(session_, nullptr, &request_));
  EXPECT_EQ(weir_request_get_state(request_), WEIR_REQUEST_IDLE);
  weir_ledger counted = WEIR_INIT(weir_ledger);
  ASSERT_OK(weir_request_counted(request_, &counted));
  EXPECT_EQ(planned.total, counted.total);
  EXPECT_OK(weir_request_prepare(request_, nullptr, 0));
  fill(3);
  EXPECT_OK(weir_request_run(request_));
  EXPECT_EQ(output(0)[11], 22);
  // A strict session copies nothing.
  std::array<float, 12> x{};
  const weir_tensor t = tensor(x.data(), WEIR_FLOAT32, {3, 4});
  EXPECT_REFUSED(
      weir_request_set_input(request_, 0, &t, WEIR_COPY_ALLOW, nullptr), WEIR_FAILED_PRECONDITION,
      "would be copied (48 bytes; lent for the call only), and copies are forbidden here; write into "
      "the request's own tensor");

  const int64_t extents[] = {5, -1};
  const weir_shape_choice shape = {"x", extents, 2};
  own = options();
  own.shapes = &shape;
  own.shape_count = 1;
  weir_session* five = nullptr;
  ASSERT_OK(weir_session_open(runtime_, device_, path_.c_str(), &own, &five));
  weir_port port = WEIR_INIT(weir_port);
  ASSERT_OK(weir_session_get_output(five, 0, &port));
  EXPECT_EQ(port.shape[0], 5);
  weir_session_release(five);
}

TEST_F(Sessions, OpenProgramFiles) {
  const std::string program = folder_ / "doubler.weir";
  ASSERT_TRUE(weir::compile_model(path_, program, {}).has_value());
  ASSERT_OK(weir_session_open(runtime_, device_, program.c_str(), nullptr, &session_));
  weir_session_info info = WEIR_INIT(weir_session_info);
  ASSERT_OK(weir_session_get_info(session_, &info));
  EXPECT_FALSE(info.compiled);
  EXPECT_STREQ(info.cache_note, "");
  const weir_dim_choice n = {"n", 3, 3};
  weir_session_options own = options();
  own.dims = &n;
  own.dim_count = 1;
  weir_session* session = nullptr;
  EXPECT_REFUSED(weir_session_open(runtime_, device_, program.c_str(), &own, &session), WEIR_INVALID_ARGUMENT,
                 "its dimensions cannot be chosen any more");
}

TEST_F(Sessions, PlanAndReportWithoutRunning) {
  open();
  const int64_t x[] = {6, 4};
  const int64_t rows[] = {2};
  const weir_shape shapes[] = {{x, 2}, {rows, 1}};
  weir_ledger planned = WEIR_INIT(weir_ledger);
  ASSERT_OK(weir_session_plan(session_, shapes, 2, &planned));
  EXPECT_EQ(planned.io, 128 + 64 + 128 + 64);  // x and y of 96 bytes, rows of 16, picked of 32
  EXPECT_EQ(planned.total, planned.constants + planned.activations + planned.workspace + planned.scratch +
                               planned.io + planned.state + planned.host);
  EXPECT_REFUSED(weir_session_plan(session_, nullptr, 0, &planned), WEIR_INVALID_ARGUMENT,
                 "takes (2) inputs, and shapes for (0) are given.\n  - while planning 'doubler'");
  EXPECT_REFUSED(weir_session_plan(session_, nullptr, 2, &planned), WEIR_INVALID_ARGUMENT,
                 "Shapes are counted (2) and none are given.");
  const weir_shape deep[] = {{x, 9}, {rows, 1}};
  EXPECT_REFUSED(weir_session_plan(session_, deep, 2, &planned), WEIR_INVALID_ARGUMENT,
                 "Shape (0) has rank (9), and the allowed are (0 to 8), with dimensions.");

  char* json = nullptr;
  ASSERT_OK(weir_session_report(session_, shapes, 2, &json));
  const std::string with_shape = json;
  weir_text_free(json);
  EXPECT_THAT(with_shape, StartsWith("{\"model\":\"" + path_ + "\",\"name\":\"doubler\",\"device\":\"cpu\""));
  EXPECT_THAT(with_shape, HasSubstr("{\"name\":\"x\",\"type\":\"float32\",\"shape\":[-1,4]}"));
  EXPECT_THAT(with_shape, HasSubstr("\"io\":384"));
  EXPECT_THAT(with_shape, HasSubstr("\"total\":" + std::to_string(planned.total)));
  EXPECT_THAT(with_shape, HasSubstr("\"name\":\"y\",\"offset\":-1,\"bytes\":96"));
  EXPECT_THAT(with_shape, HasSubstr("\"op\":\"Gather\",\"implementation\":\"gather"));
  EXPECT_THAT(with_shape, HasSubstr("\"what\":\"compiled\""));
  ASSERT_OK(weir_session_report(session_, nullptr, 0, &json));
  EXPECT_THAT(json, HasSubstr("\"planned\":null,\"steps\":[{"));
  weir_text_free(json);
  EXPECT_REFUSED(weir_session_report(session_, shapes, 1, &json), WEIR_INVALID_ARGUMENT,
                 "while reporting 'doubler'");

  ASSERT_OK(weir_request_create(session_, nullptr, &request_));
  weir_ledger counted = WEIR_INIT(weir_ledger);
  EXPECT_REFUSED(weir_request_planned(request_, &counted), WEIR_FAILED_PRECONDITION, "has no plan before");
  ASSERT_OK(weir_request_prepare(request_, shapes, 2));
  ASSERT_OK(weir_request_counted(request_, &counted));
  EXPECT_EQ(std::memcmp(&planned, &counted, sizeof planned), 0);
  ASSERT_OK(weir_request_planned(request_, &planned));
  EXPECT_EQ(std::memcmp(&planned, &counted, sizeof planned), 0);
}

TEST_F(Sessions, NullArgumentsAreErrorsAndNullHandlesAreIgnored) {
  ready(2);
  weir_tensor t = WEIR_INIT(weir_tensor);
  weir_binding binding = WEIR_INIT(weir_binding);
  weir_ledger ledger = WEIR_INIT(weir_ledger);
  weir_submit_answer answer = WEIR_COMPLETED;
  weir_lease* lease = nullptr;
  char* json = nullptr;
  const std::vector<std::pair<weir_status*, std::string>> failures = {
      {weir_session_open(runtime_, device_, nullptr, nullptr, &session_), "weir_session_open"},
      {weir_session_get_info(session_, nullptr), "weir_session_get_info"},
      {weir_session_get_input(nullptr, 0, nullptr), "weir_session_get_input"},
      {weir_session_get_output(nullptr, 0, nullptr), "weir_session_get_output"},
      {weir_session_plan(nullptr, nullptr, 0, &ledger), "weir_session_plan"},
      {weir_session_report(nullptr, nullptr, 0, &json), "weir_session_report"},
      {weir_request_create(nullptr, nullptr, &request_), "weir_request_create"},
      {weir_request_prepare(nullptr, nullptr, 0), "weir_request_prepare"},
      {weir_request_get_prepare_report(request_, nullptr), "weir_request_get_prepare_report"},
      {weir_request_input(nullptr, 0, &t), "weir_request_input"},
      {weir_request_output(request_, 0, nullptr), "weir_request_output"},
      {weir_request_lease_output(nullptr, 0, &lease), "weir_request_lease_output"},
      {weir_lease_tensor(nullptr, &t), "weir_lease_tensor"},
      {weir_request_input_verdict(request_, 0, nullptr, &binding), "weir_request_input_verdict"},
      {weir_request_output_verdict(request_, 0, &t, nullptr), "weir_request_output_verdict"},
      {weir_request_set_input(request_, 0, nullptr, 0, nullptr), "weir_request_set_input"},
      {weir_request_bind_input(nullptr, 0, &t, 0, nullptr), "weir_request_bind_input"},
      {weir_request_bind_output(nullptr, 0, &t, 0, nullptr), "weir_request_bind_output"},
      {weir_request_bind_input_buffer(nullptr, 0, nullptr, 0), "weir_request_bind_input_buffer"},
      {weir_request_bind_output_buffer(nullptr, 0, nullptr, 0), "weir_request_bind_output_buffer"},
      {weir_request_run(nullptr), "weir_request_run"},
      {weir_request_start(nullptr, nullptr, &answer), "weir_request_start"},
      {weir_request_wait(nullptr, 0, nullptr), "weir_request_wait"},
      {weir_request_planned(nullptr, &ledger), "weir_request_planned"},
      {weir_request_counted(nullptr, &ledger), "weir_request_counted"},
  };
  for (const auto& [status, name] : failures) {
    EXPECT_REFUSED(status, WEIR_INVALID_ARGUMENT, "Function '" + name + "' was given a null argument");
  }
  EXPECT_EQ(weir_session_retain(nullptr), nullptr);
  weir_session_release(nullptr);
  EXPECT_EQ(weir_request_retain(nullptr), nullptr);
  weir_request_release(nullptr);
  weir_request_cancel(nullptr);
  weir_text_free(nullptr);
  EXPECT_EQ(weir_request_get_state(nullptr), WEIR_REQUEST_UNPREPARED);
  EXPECT_EQ(weir_session_find_input(nullptr, "x"), -1);
  EXPECT_EQ(weir_session_find_output(session_, nullptr), -1);
  EXPECT_FALSE(weir_session_metadata(nullptr, 0, nullptr, nullptr));
  EXPECT_EQ(weir_session_find_metadata(session_, nullptr), nullptr);
  EXPECT_FALSE(weir_session_notice(session_, 0, nullptr));
  EXPECT_FALSE(weir_request_notice(nullptr, 0, nullptr));
  int32_t count = -1;
  EXPECT_EQ(weir_request_profile(nullptr, &count), nullptr);
  EXPECT_EQ(count, 0);
}

TEST_F(Sessions, StagedConstantsAreACost) {
  weir::testing::ModelBuilder model(13);
  model.input("x", onnx::TensorProto::FLOAT, {"1", "2"});
  model.floats("w", {2, 2}, {1, 2, 3, 4});
  model.node("MatMul", {"x", "w"}, {"y"}, "product");
  model.output("y");
  const std::string path = folder_ / "product.onnx";
  std::ofstream(path, std::ios::binary) << model.bytes();
  weir_device_options far = WEIR_INIT(weir_device_options);
  far.simulate_discrete = true;
  weir_device* device = nullptr;
  ASSERT_OK(weir_device_create_cpu(runtime_, &far, &device));
  weir_session_options own = options();
  ASSERT_OK(weir_session_open(runtime_, device, path.c_str(), &own, &session_));
  bool found = false;
  weir_notice notice = WEIR_INIT(weir_notice);
  for (int32_t i = 0; weir_session_notice(session_, i, &notice); ++i) {
    if (notice.kind == WEIR_COST) {
      found = true;
      EXPECT_STREQ(notice.what, "copy");
      EXPECT_THAT(notice.reason, StartsWith("the constants are copied to the device"));
      EXPECT_GT(notice.bytes, 0);
    }
  }
  EXPECT_TRUE(found);
  own.strict = WEIR_STRICT_COSTS;
  weir_session* strict = nullptr;
  EXPECT_REFUSED(
      weir_session_open(runtime_, device, path.c_str(), &own, &strict), WEIR_FAILED_PRECONDITION,
      "Strict mode refuses (1) listed differences:\n  copy: the constants are copied to the device");
  weir_device_release(device);
}

}  // namespace
