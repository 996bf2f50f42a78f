// SPDX-License-Identifier: Apache-2.0
//
// The C interface of sessions and requests, from outside: weir.h and a model file, every function, and errors
// by their text. What bindings and runs do inside is tested in runtime/request_test.cc.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "api/model.h"
#include "import/testing/model_builder.h"
#include "weir/weir.h"

namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

weir_code taken(weir_status* status, std::string* text = nullptr) {
  const weir_code code = weir_status_code(status);
  if (text != nullptr) {
    *text = weir_status_text(status);
  }
  weir_status_free(status);
  return code;
}

#define EXPECT_OK(expression)                             \
  do {                                                    \
    std::string what;                                     \
    EXPECT_EQ(taken(expression, &what), WEIR_OK) << what; \
  } while (false)
#define ASSERT_OK(expression)                             \
  do {                                                    \
    std::string what;                                     \
    ASSERT_EQ(taken(expression, &what), WEIR_OK) << what; \
  } while (false)
#define EXPECT_FAILS(expression, code, message) \
  do {                                          \
    std::string what;                           \
    EXPECT_EQ(taken(expression, &what), code);  \
    EXPECT_THAT(what, HasSubstr(message));      \
  } while (false)

// Inputs x[n, 4] and rows[2] (int64); outputs y = x + x and picked = x[rows].
void write_model(const std::string& path, const std::string& rows = "n") {
  weir::testing::ModelBuilder model(13);
  model.graph().set_name("doubler");
  auto* note = model.proto().add_metadata_props();
  note->set_key("author");
  note->set_value("a person");
  model.input("x", onnx::TensorProto::FLOAT, {rows, "4"});
  model.input("rows", onnx::TensorProto::INT64, {"2"});
  model.node("Add", {"x", "x"}, {"y"}, "double");
  model.node("Gather", {"x", "rows"}, {"picked"}, "pick");
  model.output("y");
  model.output("picked");
  std::ofstream(path, std::ios::binary) << model.bytes();
}

class Sessions : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() / ("weir_sessions_test_" + std::to_string(getpid()));
    std::filesystem::create_directories(folder_);
    path_ = folder_ / "doubler.onnx";
    cache_ = folder_ / "cache";
    write_model(path_);
    weir_runtime_options options = WEIR_INIT(weir_runtime_options);
    options.threads = 2;
    ASSERT_OK(weir_runtime_create(&options, &runtime_));
    ASSERT_OK(weir_device_create_cpu(runtime_, nullptr, &device_));
  }
  void TearDown() override {
    weir_request_release(request_);
    weir_session_release(session_);
    int64_t held = -1;
    EXPECT_OK(weir_device_memory(device_, WEIR_ALL_CATEGORIES, &held, nullptr));
    EXPECT_EQ(held, 0);
    weir_device_release(device_);
    weir_runtime_release(runtime_);
    std::filesystem::remove_all(folder_);
  }
  weir_session_options options() const {
    weir_session_options options = WEIR_INIT(weir_session_options);
    options.cache_folder = cache_.c_str();
    return options;
  }
  void open() {
    const weir_session_options own = options();
    ASSERT_OK(weir_session_open(runtime_, device_, path_.c_str(), &own, &session_));
  }
  // Open, and prepared for n rows, x[i] = i, rows = (n − 1, 0).
  void ready(int64_t n) {
    open();
    ASSERT_OK(weir_request_create(session_, nullptr, &request_));
    prepare(n);
    fill(n);
  }
  void prepare(int64_t n) {
    const int64_t x[] = {n, 4};
    const int64_t rows[] = {2};
    const weir_shape shapes[] = {{x, 2}, {rows, 1}};
    ASSERT_OK(weir_request_prepare(request_, shapes, 2));
  }
  void fill(int64_t n) {
    float* x = input<float>(0);
    for (int64_t i = 0; i < n * 4; ++i) {
      x[i] = static_cast<float>(i);
    }
    input<int64_t>(1)[0] = n - 1;
    input<int64_t>(1)[1] = 0;
  }
  template <typename T>
  T* input(int32_t index) {
    weir_tensor tensor = WEIR_INIT(weir_tensor);
    EXPECT_OK(weir_request_input(request_, index, &tensor));
    return static_cast<T*>(tensor.data);
  }
  std::vector<float> output(int32_t index) {
    weir_tensor tensor = WEIR_INIT(weir_tensor);
    EXPECT_OK(weir_request_output(request_, index, &tensor));
    const auto* data = static_cast<const float*>(tensor.data);
    return {data, data + weir_tensor_element_count(&tensor)};
  }
  static weir_tensor tensor(void* data, weir_element_type type, std::vector<int64_t> shape) {
    weir_tensor t = WEIR_INIT(weir_tensor);
    t.data = data;
    t.type = type;
    t.rank = static_cast<int32_t>(shape.size());
    std::copy(shape.begin(), shape.end(), t.shape);
    weir_tensor_set_dense(&t);
    return t;
  }

  std::filesystem::path folder_;
  std::string path_;
  std::string cache_;
  weir_runtime* runtime_ = nullptr;
  weir_device* device_ = nullptr;
  weir_session* session_ = nullptr;
  weir_request* request_ = nullptr;
};

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
  EXPECT_FAILS(weir_session_get_output(session_, 2, &port), WEIR_OUT_OF_RANGE,
               "Position (2) is not one of the (2) outputs of 'doubler'.");
  EXPECT_FAILS(weir_session_get_input(session_, -1, &port), WEIR_OUT_OF_RANGE, "the (2) inputs");
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
  const auto fails = [&](auto change, weir_code code, const char* message) {
    weir_session_options own = options();
    change(own);
    weir_session* session = nullptr;
    EXPECT_FAILS(weir_session_open(runtime_, device_, path_.c_str(), &own, &session), code, message);
    EXPECT_EQ(session, nullptr);
  };
  fails([](auto& o) { o.strict = 3; }, WEIR_INVALID_ARGUMENT, "Strictness (3) is not one of (0 to 2).");
  fails([](auto& o) { o.participants = -1; }, WEIR_INVALID_ARGUMENT, "asked for (-1) participants");
  fails([](auto& o) { o.isa = "mmx"; }, WEIR_INVALID_ARGUMENT,
        "Instruction set 'mmx' is not one of (sse4, avx2, avx512).");
  fails([](auto& o) { o.dim_count = 1; }, WEIR_INVALID_ARGUMENT, "count (1) dimensions and (0) shapes");
  const weir_dim_choice upside_down = {"n", 3, 2};
  fails(
      [&](auto& o) {
        o.dims = &upside_down;
        o.dim_count = 1;
      },
      WEIR_INVALID_ARGUMENT, "Dimension 'n' is chosen from (3) to (2)");
  const weir_shape_choice nameless = {nullptr, nullptr, 0};
  fails(
      [&](auto& o) {
        o.shapes = &nameless;
        o.shape_count = 1;
      },
      WEIR_INVALID_ARGUMENT, "The shape of input '' is chosen with rank (0)");
  fails([](auto& o) { o.strict = WEIR_STRICT_ALL; }, WEIR_FAILED_PRECONDITION,
        "compiled: the program was compiled now");
  weir_session* session = nullptr;
  EXPECT_FAILS(weir_session_open(runtime_, device_, "/no/model.onnx", nullptr, &session), WEIR_NOT_FOUND,
               "File '/no/model.onnx' cannot be opened: No such file or directory.\n  - while opening "
               "'/no/model.onnx'");
  EXPECT_FAILS(weir_session_open(nullptr, device_, path_.c_str(), nullptr, &session), WEIR_INVALID_ARGUMENT,
               "Function 'weir_session_open' was given a null argument");
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
  EXPECT_FAILS(
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
  EXPECT_FAILS(weir_session_open(runtime_, device_, program.c_str(), &own, &session), WEIR_INVALID_ARGUMENT,
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
  EXPECT_FAILS(weir_session_plan(session_, nullptr, 0, &planned), WEIR_INVALID_ARGUMENT,
               "takes (2) inputs, and shapes for (0) are given.\n  - while planning 'doubler'");
  EXPECT_FAILS(weir_session_plan(session_, nullptr, 2, &planned), WEIR_INVALID_ARGUMENT,
               "Shapes are counted (2) and none are given.");
  const weir_shape deep[] = {{x, 9}, {rows, 1}};
  EXPECT_FAILS(weir_session_plan(session_, deep, 2, &planned), WEIR_INVALID_ARGUMENT,
               "Shape (0) has rank (9)");

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
  EXPECT_FAILS(weir_session_report(session_, shapes, 1, &json), WEIR_INVALID_ARGUMENT,
               "while reporting 'doubler'");

  ASSERT_OK(weir_request_create(session_, nullptr, &request_));
  weir_ledger counted = WEIR_INIT(weir_ledger);
  EXPECT_FAILS(weir_request_planned(request_, &counted), WEIR_FAILED_PRECONDITION, "has no plan before");
  ASSERT_OK(weir_request_prepare(request_, shapes, 2));
  ASSERT_OK(weir_request_counted(request_, &counted));
  EXPECT_EQ(std::memcmp(&planned, &counted, sizeof planned), 0);
  ASSERT_OK(weir_request_planned(request_, &planned));
  EXPECT_EQ(std::memcmp(&planned, &counted, sizeof planned), 0);
}

TEST_F(Sessions, RequestsPrepareRunAndReport) {
  open();
  weir_request_options own = WEIR_INIT(weir_request_options);
  own.profile = true;
  own.shape_cache_bytes = 1 << 20;
  ASSERT_OK(weir_request_create(session_, &own, &request_));
  EXPECT_EQ(weir_request_get_state(request_), WEIR_REQUEST_UNPREPARED);
  EXPECT_FAILS(weir_request_run(request_), WEIR_FAILED_PRECONDITION, "runs before a shape is prepared");
  prepare(2);
  weir_prepare_report report = WEIR_INIT(weir_prepare_report);
  ASSERT_OK(weir_request_get_prepare_report(request_, &report));
  EXPECT_FALSE(report.cached);
  EXPECT_GT(report.recording_ns, 0);
  prepare(3);
  prepare(2);
  ASSERT_OK(weir_request_get_prepare_report(request_, &report));
  EXPECT_TRUE(report.cached);
  fill(2);
  EXPECT_OK(weir_request_run(request_));
  EXPECT_EQ(weir_request_get_state(request_), WEIR_REQUEST_COMPLETED);
  EXPECT_THAT(output(0), ElementsAre(0, 2, 4, 6, 8, 10, 12, 14));
  EXPECT_THAT(output(1), ElementsAre(4, 5, 6, 7, 0, 1, 2, 3));
  int32_t lines = 0;
  const weir_command_profile* profile = weir_request_profile(request_, &lines);
  ASSERT_EQ(lines, 2);
  EXPECT_GE(profile[1].end_ns, profile[1].begin_ns);
  // An index that the data has and the axis has not.
  input<int64_t>(1)[1] = 9;
  EXPECT_FAILS(weir_request_run(request_), WEIR_OUT_OF_RANGE, "index (9)");
  EXPECT_EQ(weir_request_get_state(request_), WEIR_REQUEST_FAILED);
  weir_tensor t = WEIR_INIT(weir_tensor);
  EXPECT_FAILS(weir_request_output(request_, 0, &t), WEIR_OUT_OF_RANGE,
               "while reading output 'y' of 'doubler'");
  EXPECT_FAILS(weir_request_input(request_, 5, &t), WEIR_OUT_OF_RANGE, "Position (5)");
  EXPECT_EQ(weir_request_retain(request_), request_);
  weir_request_release(request_);
}

TEST_F(Sessions, TensorsAreHandedOverAndBound) {
  ready(2);
  std::array<float, 8> columns = {1, 5, 2, 6, 3, 7, 4, 8};
  weir_tensor t = tensor(columns.data(), WEIR_FLOAT32, {2, 4});
  t.strides[0] = 1;
  t.strides[1] = 2;
  weir_binding binding = WEIR_INIT(weir_binding);
  ASSERT_OK(weir_request_input_verdict(request_, 0, &t, &binding));
  EXPECT_EQ(binding.answer, WEIR_BINDING_COPIED);
  EXPECT_EQ(binding.reasons, static_cast<weir_copy_reasons>(WEIR_REASON_STRIDES));
  EXPECT_EQ(binding.copied_bytes, 32);
  std::array<char, 64> text{};
  EXPECT_EQ(weir_copy_reasons_text(WEIR_REASON_STRIDES | WEIR_REASON_ALIGNMENT, text.data(), text.size()),
            strlen("strides, alignment"));
  EXPECT_STREQ(text.data(), "strides, alignment");
  EXPECT_EQ(weir_copy_reasons_text(WEIR_REASON_MEMORY_NOT_SHARED, text.data(), 7), 24U);
  EXPECT_STREQ(text.data(), "device");
  ASSERT_OK(weir_request_set_input(request_, 0, &t, WEIR_COPY_ALLOW, &binding));
  EXPECT_EQ(binding.reasons, static_cast<weir_copy_reasons>(WEIR_REASON_STRIDES | WEIR_REASON_LENT));
  EXPECT_OK(weir_request_run(request_));
  EXPECT_THAT(output(0), ElementsAre(2, 4, 6, 8, 10, 12, 14, 16));
  weir_notice notice = WEIR_INIT(weir_notice);
  ASSERT_TRUE(weir_request_notice(request_, 0, &notice));
  EXPECT_EQ(notice.kind, WEIR_COST);
  EXPECT_STREQ(notice.what, "copy");
  EXPECT_STREQ(notice.reason, "input 'x' is copied: strides, lent for the call only");
  EXPECT_EQ(notice.bytes, 32);
  EXPECT_FALSE(weir_request_notice(request_, 1, &notice));
  EXPECT_FAILS(weir_request_bind_input(request_, 0, &t, WEIR_COPY_FORBID, nullptr), WEIR_FAILED_PRECONDITION,
               "would be copied (32 bytes; strides), and copies are forbidden here");
  EXPECT_FAILS(weir_request_bind_input(request_, 0, &t, 7, nullptr), WEIR_INVALID_ARGUMENT,
               "Copy policy (7) is not one of (0, 1).");
  const weir_tensor doubles = tensor(columns.data(), WEIR_FLOAT64, {2, 4});
  EXPECT_FAILS(weir_request_bind_input(request_, 0, &doubles, WEIR_COPY_ALLOW, nullptr),
               WEIR_INVALID_ARGUMENT, "is (float64[2,4]), and the program has (float32[2,4]): element type.");
  weir_tensor broken = t;
  broken.struct_size = 0;
  EXPECT_FAILS(weir_request_set_input(request_, 0, &broken, 0, nullptr), WEIR_INVALID_ARGUMENT,
               "A tensor has element type (0), which is none; set struct_size and type.");
  broken = t;
  broken.rank = 9;
  EXPECT_FAILS(weir_request_set_input(request_, 0, &broken, 0, nullptr), WEIR_INVALID_ARGUMENT,
               "A tensor has rank (9), and the allowed are (0 to 8).");
  broken = t;
  broken.shape[1] = -4;
  EXPECT_FAILS(weir_request_set_input(request_, 0, &broken, 0, nullptr), WEIR_INVALID_ARGUMENT,
               "Dimension (1) of a tensor is (-4)");

  alignas(64) std::array<float, 8> x = {1, 2, 3, 4, 5, 6, 7, 8};
  alignas(64) std::array<float, 8> y{};
  const weir_tensor in = tensor(x.data(), WEIR_FLOAT32, {2, 4});
  const weir_tensor out = tensor(y.data(), WEIR_FLOAT32, {2, 4});
  ASSERT_OK(weir_request_output_verdict(request_, 0, &out, &binding));
  EXPECT_EQ(binding.answer, WEIR_BINDING_IN_PLACE);
  ASSERT_OK(weir_request_bind_input(request_, 0, &in, WEIR_COPY_FORBID, &binding));
  EXPECT_EQ(binding.answer, WEIR_BINDING_IN_PLACE);
  EXPECT_EQ(binding.reasons, 0U);
  ASSERT_OK(weir_request_bind_output(request_, 0, &out, WEIR_COPY_FORBID, nullptr));
  EXPECT_OK(weir_request_run(request_));
  EXPECT_THAT(y, ElementsAre(2, 4, 6, 8, 10, 12, 14, 16));
  EXPECT_FALSE(weir_request_notice(request_, 0, &notice));
  EXPECT_FAILS(weir_request_bind_output(request_, 0, &in, 0, nullptr), WEIR_INVALID_ARGUMENT,
               "The memory bound as output 'y' of 'doubler' overlaps the memory bound as input 'x'");
  EXPECT_OK(weir_request_bind_input(request_, 0, nullptr, 0, nullptr));
  EXPECT_OK(weir_request_bind_output(request_, 0, nullptr, 0, nullptr));

  // A buffer of the device, somewhere inside.
  weir_buffer_desc desc = WEIR_INIT(weir_buffer_desc);
  desc.size = 128;
  desc.label = "frame";
  weir_buffer* buffer = nullptr;
  void* bytes = nullptr;
  ASSERT_OK(weir_buffer_create(device_, &desc, &buffer));
  ASSERT_OK(weir_buffer_contents(buffer, &bytes));
  std::memcpy(static_cast<std::byte*>(bytes) + 64, x.data(), sizeof x);
  EXPECT_OK(weir_request_bind_input_buffer(request_, 0, buffer, 64));
  EXPECT_OK(weir_request_bind_output_buffer(request_, 0, buffer, 0));
  EXPECT_OK(weir_request_run(request_));
  EXPECT_EQ(static_cast<const float*>(bytes)[7], 16);
  EXPECT_FAILS(
      weir_request_bind_input_buffer(request_, 0, buffer, 100), WEIR_OUT_OF_RANGE,
      "Buffer 'frame' has (128) bytes, and as input 'x' of 'doubler' it needs (32) from offset (100)");
  EXPECT_OK(weir_request_bind_input_buffer(request_, 0, nullptr, 0));
  EXPECT_OK(weir_request_bind_output_buffer(request_, 0, nullptr, 0));
  weir_buffer_release(buffer);
}

TEST_F(Sessions, LeasesMakeRequestsBusy) {
  ready(2);
  EXPECT_OK(weir_request_run(request_));
  weir_lease* lease = nullptr;
  ASSERT_OK(weir_request_lease_output(request_, 0, &lease));
  EXPECT_FAILS(weir_request_run(request_), WEIR_FAILED_PRECONDITION, "(1) leases of its outputs are held");
  weir_submit_answer answer = WEIR_COMPLETED;
  EXPECT_OK(weir_request_start(request_, nullptr, &answer));
  EXPECT_EQ(answer, WEIR_BUSY);
  weir_request_release(request_);
  request_ = nullptr;
  weir_tensor t = WEIR_INIT(weir_tensor);
  ASSERT_OK(weir_lease_tensor(lease, &t));
  EXPECT_EQ(static_cast<const float*>(t.data)[7], 14);
  weir_lease_release(lease);
  weir_lease_release(nullptr);
}

TEST_F(Sessions, RunsGoThroughTheQueue) {
  ready(2);
  weir_event* go = nullptr;
  weir_event* done = nullptr;
  ASSERT_OK(weir_event_create(device_, "go", &go));
  ASSERT_OK(weir_event_create(device_, "done", &done));
  const weir_event_point waits[] = {{go, 1}};
  const weir_event_point signals[] = {{done, 1}};
  struct Seen {
    std::atomic<int> calls{0};
    std::string text;
  } seen;
  weir_start_desc desc = WEIR_INIT(weir_start_desc);
  desc.waits = waits;
  desc.wait_count = 1;
  desc.signals = signals;
  desc.signal_count = 1;
  desc.user = &seen;
  desc.on_complete = [](void* user, const weir_status* status) {
    auto* s = static_cast<Seen*>(user);
    s->text = weir_status_text(status);
    ++s->calls;
  };
  weir_submit_answer answer = WEIR_COMPLETED;
  ASSERT_OK(weir_request_start(request_, &desc, &answer));
  EXPECT_EQ(answer, WEIR_QUEUED);
  EXPECT_EQ(weir_request_get_state(request_), WEIR_REQUEST_QUEUED);
  bool is_done = true;
  EXPECT_OK(weir_request_wait(request_, 0, &is_done));
  EXPECT_FALSE(is_done);
  EXPECT_OK(weir_event_signal(go, 1));
  EXPECT_OK(weir_request_wait(request_, -1, &is_done));
  EXPECT_TRUE(is_done);
  EXPECT_EQ(weir_event_value(done), 1U);
  EXPECT_THAT(output(1), ElementsAre(4, 5, 6, 7, 0, 1, 2, 3));

  // Nobody will signal this one.
  const weir_event_point never[] = {{go, 9}};
  desc.waits = never;
  desc.signal_count = 0;
  ASSERT_OK(weir_request_start(request_, &desc, &answer));
  EXPECT_EQ(answer, WEIR_QUEUED);
  weir_request_cancel(request_);
  EXPECT_FAILS(weir_request_wait(request_, -1, nullptr), WEIR_CANCELLED,
               "while running a request of 'doubler'");
  EXPECT_EQ(weir_request_get_state(request_), WEIR_REQUEST_CANCELLED);
  for (int i = 0; i < 20000 && seen.calls < 2; ++i) {
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
  EXPECT_EQ(seen.calls, 2);
  EXPECT_THAT(seen.text, HasSubstr("is cancelled before the events that it waits for are reached"));

  desc.wait_count = 9;
  EXPECT_FAILS(weir_request_start(request_, &desc, &answer), WEIR_INVALID_ARGUMENT,
               "A start has (9) waits, and the allowed numbers are (0 to 8)");
  const weir_event_point null_event[] = {{nullptr, 1}};
  desc.waits = null_event;
  desc.wait_count = 1;
  EXPECT_FAILS(weir_request_start(request_, &desc, &answer), WEIR_INVALID_ARGUMENT, "names a null event");

  // Released while it waits: cancelled, and waited for.
  desc.waits = never;
  ASSERT_OK(weir_request_start(request_, &desc, &answer));
  weir_request_release(request_);
  request_ = nullptr;
  for (int i = 0; i < 20000 && seen.calls < 3; ++i) {
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
  EXPECT_EQ(seen.calls, 3);
  weir_event_release(go);
  weir_event_release(done);
}

TEST_F(Sessions, HandlersMayReleaseTheLastReferences) {
  ready(2);
  std::atomic<bool> called = false;
  struct Last {
    weir_request* request;
    std::atomic<bool>* called;
  } last{request_, &called};
  weir_start_desc desc = WEIR_INIT(weir_start_desc);
  desc.user = &last;
  desc.on_complete = [](void* user, const weir_status*) {
    auto* l = static_cast<Last*>(user);
    weir_request_release(l->request);
    l->called->store(true);
  };
  weir_submit_answer answer = WEIR_COMPLETED;
  weir_session_release(session_);
  session_ = nullptr;
  request_ = nullptr;
  ASSERT_OK(weir_request_start(last.request, &desc, &answer));
  int64_t held = -1;
  for (int i = 0; i < 20000 && (!called || held != 0); ++i) {
    std::this_thread::sleep_for(std::chrono::microseconds(100));
    ASSERT_OK(weir_device_memory(device_, WEIR_ALL_CATEGORIES, &held, nullptr));
  }
  EXPECT_TRUE(called);
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
    EXPECT_FAILS(status, WEIR_INVALID_ARGUMENT, "Function '" + name + "' was given a null argument");
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

TEST_F(Sessions, FarDevicesCopyAndSayWhy) {
  weir_device_options far = WEIR_INIT(weir_device_options);
  far.simulate_discrete = true;
  weir_device* device = nullptr;
  ASSERT_OK(weir_device_create_cpu(runtime_, &far, &device));
  const weir_session_options own = options();
  ASSERT_OK(weir_session_open(runtime_, device, path_.c_str(), &own, &session_));
  ASSERT_OK(weir_request_create(session_, nullptr, &request_));
  prepare(2);
  fill(2);
  alignas(64) std::array<float, 8> x = {1, 2, 3, 4, 5, 6, 7, 8};
  const weir_tensor in = tensor(x.data(), WEIR_FLOAT32, {2, 4});
  weir_binding binding = WEIR_INIT(weir_binding);
  ASSERT_OK(weir_request_bind_input(request_, 0, &in, WEIR_COPY_ALLOW, &binding));
  EXPECT_EQ(binding.answer, WEIR_BINDING_COPIED);
  EXPECT_EQ(binding.reasons, static_cast<weir_copy_reasons>(WEIR_REASON_MEMORY_NOT_SHARED));
  x[0] = 30;
  EXPECT_OK(weir_request_run(request_));
  EXPECT_EQ(output(0)[0], 60);
  weir_device_release(device);
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
  EXPECT_FAILS(weir_session_open(runtime_, device, path.c_str(), &own, &strict), WEIR_FAILED_PRECONDITION,
               "Strict mode refuses (1) listed differences:\n  copy: the constants are copied to the device");
  weir_device_release(device);
}

}  // namespace
