// SPDX-License-Identifier: Apache-2.0
//
// weir.hpp as a user has it, in C++17: handles, views, errors. The model is written here, octet by octet: the
// smallest that there is, y = Relu(x) over float32[n, 2].
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "weir/weir.hpp"

namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A field of a protocol buffer with its length.
std::string field(int number, const std::string& body) {
  return std::string(1, static_cast<char>(number << 3 | 2)) + static_cast<char>(body.size()) + body;
}
std::string number(int field_number, int value) {
  return std::string(1, static_cast<char>(field_number << 3)) + static_cast<char>(value);
}

std::string value_info(const std::string& name) {
  const std::string shape = field(1, field(2, "n")) + field(1, number(1, 2));
  const std::string type = field(1, number(1, 1) + field(2, shape));
  return field(1, name) + field(2, type);
}

std::string model() {
  const std::string node = field(1, "x") + field(2, "y") + field(3, "rectify") + field(4, "Relu");
  const std::string graph =
      field(1, node) + field(2, "small") + field(11, value_info("x")) + field(12, value_info("y"));
  return number(1, 8) + field(7, graph) + field(8, field(1, "") + number(2, 13));
}

class Hpp : public ::testing::Test {
 protected:
  Hpp() : path_(::testing::TempDir() + "weir_hpp_test_" + std::to_string(getpid()) + ".onnx") {
    std::ofstream(path_, std::ios::binary) << model();
    options_.no_cache = true;
  }
  ~Hpp() override { std::remove(path_.c_str()); }

  std::string path_;
  weir::SessionOptions options_;
  weir::Runtime runtime_{2};
  weir::Device device_ = weir::Device::cpu(runtime_);
};

TEST_F(Hpp, KeepsState) {
  options_.dims = {{"n", 3, 3}};
  options_.states = {{"x", "y"}};
  const weir::Session session(runtime_, device_, path_, options_);
  EXPECT_EQ(session.info().input_count, 0);
  EXPECT_EQ(session.info().output_count, 0);
  ASSERT_EQ(session.info().state_count, 1);
  const weir::State state = session.state(0);
  EXPECT_EQ(state.name, "x");
  EXPECT_EQ(state.output, "y");
  EXPECT_EQ(state.type, WEIR_FLOAT32);
  EXPECT_THAT(state.shape, ElementsAre(3, 2));
  EXPECT_THAT(session.report(), HasSubstr(R"("output":"y")"));
  EXPECT_EQ(session.plan().state, 128);
  const weir::Request request = session.request();
  EXPECT_EQ(request.counted().state, 128);
  std::vector<unsigned char> saved = request.save_state();
  ASSERT_EQ(saved.size(), 32u + 24u);
  const std::vector<float> values = {-1, 2, -3, 4, 5, -6};
  std::memcpy(saved.data() + 32, values.data(), 24);
  request.restore_state(saved);
  EXPECT_EQ(request.save_state(), saved);
  request.run();
  std::vector<float> after(6);
  std::memcpy(after.data(), request.save_state().data() + 32, 24);
  EXPECT_THAT(after, ElementsAre(0, 2, 0, 4, 5, 0));
  request.reset_state();
  std::memcpy(after.data(), request.save_state().data() + 32, 24);
  EXPECT_THAT(after, ElementsAre(0, 0, 0, 0, 0, 0));
  saved.pop_back();
  const auto message = [](auto call) {
    try {
      call();
    } catch (const weir::Error& error) {
      return std::string(error.what());
    }
    return std::string("no error");
  };
  EXPECT_THAT(message([&] { request.restore_state(saved); }),
              HasSubstr("A saved state has (56) bytes here, and (55) are given."));
  EXPECT_THAT(message([&] { session.state(1); }), HasSubstr("Position (1) is not one of the (1) states of"));
  options_.states = {{"x", "z"}};
  EXPECT_THAT(message([&] { weir::Session(runtime_, device_, path_, options_); }),
              HasSubstr("State 'x' is fed from 'z', which is not one of the model's outputs ('y')."));
}

TEST_F(Hpp, RunsAModel) {
  const weir::Session session(runtime_, device_, path_, options_);
  EXPECT_EQ(session.input(0).name, "x");
  EXPECT_THAT(session.input(0).shape, ElementsAre(-1, 2));
  EXPECT_EQ(session.output(0).type, WEIR_FLOAT32);
  EXPECT_EQ(session.find_input("x"), 0);
  EXPECT_EQ(session.find_output("z"), -1);
  EXPECT_EQ(session.metadata("none"), nullptr);
  EXPECT_TRUE(session.metadata().empty());
  EXPECT_EQ(session.notices().back().what, "compiled");
  EXPECT_THAT(session.report(), HasSubstr("\"planned\":null"));
  const weir_ledger planned = session.plan({{3, 2}});

  const weir::Request request = session.request();
  request.prepare({{3, 2}});
  EXPECT_FALSE(request.prepare_report().cached);
  EXPECT_EQ(request.counted().total, planned.total);
  EXPECT_EQ(request.planned().io, planned.io);
  const weir::TensorView x = request.input(0);
  EXPECT_EQ(x.rank(), 2);
  EXPECT_EQ(x.stride(0), 2);
  EXPECT_THAT(x.shape(), ElementsAre(3, 2));
  std::iota(x.as<float>(), x.as<float>() + x.element_count(), -2.0F);
  request.run();
  EXPECT_EQ(request.state(), WEIR_REQUEST_COMPLETED);
  const weir::TensorView y = request.output(0);
  EXPECT_THAT(std::vector<float>(y.as<float>(), y.as<float>() + 6), ElementsAre(0, 0, 0, 1, 2, 3));
  EXPECT_EQ(request.start(), WEIR_QUEUED);
  EXPECT_TRUE(request.wait());
  const weir::Event never = device_.event();
  EXPECT_FALSE(never.wait(1, std::chrono::seconds(-1)));  // until a moment that has passed
  {
    weir::Lease lease = request.lease_output(0);
    const weir::Lease moved = std::move(lease);
    EXPECT_EQ(moved.tensor().as<float>()[5], 3);
    EXPECT_EQ(request.start(), WEIR_BUSY);
  }
  request.run();
  EXPECT_TRUE(request.profile().empty());
  request.cancel();
}

TEST_F(Hpp, BindsTheCallersMemory) {
  const weir::Session session(runtime_, device_, path_, options_);
  const weir::Request request = session.request();
  request.prepare({{2, 2}});
  const std::vector<float> columns = {-1, 3, 2, -4};
  const weir::Binding set = request.set_input(0, {columns.data(), {2, 2}, {1, 2}});
  EXPECT_FALSE(set.in_place());
  EXPECT_EQ(set.reasons_text(), "strides, lent for the call only");
  ASSERT_EQ(request.notices().size(), 1U);
  EXPECT_EQ(request.notices()[0].bytes, 16);
  alignas(64) float y[4] = {9, 9, 9, 9};
  EXPECT_TRUE(request.output_verdict(0, {y, {2, 2}}).in_place());
  EXPECT_TRUE(request.bind_output(0, {y, {2, 2}}, WEIR_COPY_FORBID).in_place());
  request.run();
  EXPECT_THAT(y, ElementsAre(0, 2, 3, 0));
  request.unbind_output(0);
  request.unbind_input(0);
  weir::BufferDesc desc;
  desc.size = 16;
  const weir::Buffer buffer = device_.buffer(desc);
  request.bind_output(0, buffer);
  request.run();
  EXPECT_EQ(buffer.as<float>()[1], 2);
  EXPECT_EQ(request.input_verdict(0, weir::TensorView::of(y, WEIR_INT32, {2, 2})).answer,
            WEIR_BINDING_REFUSED);
}

TEST_F(Hpp, TracesSessionsAndRequests) {
  const weir::Trace trace(1000);
  options_.dims = {{"n", 2, 2}};
  options_.trace = trace;
  const weir::Session session(runtime_, device_, path_, options_);
  const int64_t opened = trace.kept();
  EXPECT_GT(opened, 0);
  session.request().run();
  EXPECT_EQ(trace.kept(), opened);
  weir::RequestOptions traced;
  traced.trace = trace;
  session.request(traced).run();
  EXPECT_GT(trace.kept(), opened);
  EXPECT_EQ(trace.dropped(), 0);
  const std::string file = path_ + ".json";
  trace.write(file);
  std::string text(std::istreambuf_iterator<char>(std::ifstream(file).rdbuf()), {});
  EXPECT_THAT(text, HasSubstr("\"name\":\"rectify\""));
  std::remove(file.c_str());
  EXPECT_THROW(trace.write("/no/such/folder/t.json"), weir::Error);
}

TEST_F(Hpp, ThrowsWhatGoesWrong) {
  try {
    const weir::Session session(runtime_, device_, "/no/such.onnx");
    FAIL() << "nothing was thrown";
  } catch (const weir::Error& error) {
    EXPECT_EQ(error.code(), WEIR_NOT_FOUND);
    EXPECT_THAT(error.what(), HasSubstr("File '/no/such.onnx' cannot be opened: No such file or directory."));
  }
  options_.dims.push_back({"n", 2, 2});
  options_.name = "pair";
  const weir::Session session(runtime_, device_, path_, options_);
  EXPECT_TRUE(session.info().is_static);
  EXPECT_STREQ(session.info().name, "pair");
  const weir::Request request = session.request();
  EXPECT_THROW((void)request.input(0).as<int64_t>(), weir::Error);
  EXPECT_THROW((void)request.input(3), weir::Error);
  EXPECT_THROW((void)weir::TensorView(static_cast<float*>(nullptr), weir::Shape(9, 1)), weir::Error);
}

}  // namespace
