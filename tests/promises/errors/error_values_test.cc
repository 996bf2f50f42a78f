// SPDX-License-Identifier: Apache-2.0
//
// Errors are values: what a file, a tensor or a caller does wrong is told with where and what, nothing
// crashes, nothing stays behind, and the next run of the same request works.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>

#include "api/model.h"
#include "compile/compile.h"
#include "guarded_memory.h"
#include "import/onnx/import.h"
#include "promise_models.h"

namespace weir::promises {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr ElementType kF32 = ElementType::kFloat32;
constexpr int64_t kWords = 50;
constexpr int64_t kFeatures = 20;

// table[ids] doubled: a step whose data can be wrong, and one after it.
Graph gather_graph(ElementType index_type = ElementType::kInt64, int64_t fixed = 0) {
  Graph graph;
  graph.name = "words";
  const Dim count =
      fixed > 0 ? Dim(fixed) : graph.symbols.add("count", {1, 1000}, {SymbolSource::Kind::kDimension, 0, 0});
  const ValueId ids = graph.add_input("ids", {index_type, {count}, {}});
  std::vector<float> table(kWords * kFeatures);
  for (size_t i = 0; i < table.size(); ++i) {
    table[i] = static_cast<float>(i) * 0.25F;
  }
  const ValueId data = graph.add_constant("table", {kF32, {kWords, kFeatures}, {}},
                                          Constant::copy(std::as_bytes(std::span(table))));
  const NodeId gather = graph.add_node(Op::kGather, "look_up", GatherAttributes{0}, {data, ids},
                                       {NewValue{"rows", {kF32, {count, kFeatures}, {}}}});
  graph.node(gather).origin = "Gather";
  ElementwiseAttributes twice{TileProgram({kF32, kF32})};
  twice.program.append(ScalarOp::kAdd, {0, 1});
  const ValueId rows = graph.node(gather).outputs[0];
  const NodeId add = graph.add_node(Op::kElementwise, "double", twice, {rows, rows},
                                    {NewValue{"y", {kF32, {count, kFeatures}, {}}}});
  graph.node(add).origin = "Add";
  graph.set_outputs({{"y", graph.node(add).outputs[0]}});
  return graph;
}

std::vector<std::byte> image_of(Graph graph, const CompileOptions& options = {}) {
  auto compiled = compile(std::move(graph), options);
  EXPECT_TRUE(compiled) << compiled.error().to_string();
  auto image = program_image(compiled->program, compiled->blocks);
  EXPECT_TRUE(image) << image.error().to_string();
  return *std::move(image);
}

LoadedProgram program_of(Graph graph, const CompileOptions& options = {}) {
  auto kept = std::make_shared<std::vector<std::byte>>(image_of(std::move(graph), options));
  auto loaded = read_program(*kept, kept);
  EXPECT_TRUE(loaded) << loaded.error().to_string();
  return *std::move(loaded);
}

void set_ids(Request& request, const std::vector<int64_t>& ids) {
  auto input = request.input(0);
  ASSERT_TRUE(input) << input.error().to_string();
  ASSERT_EQ(input->element_count(), static_cast<int64_t>(ids.size()));
  std::memcpy(input->data, ids.data(), ids.size() * sizeof(int64_t));
}

void expect_rows(Request& request, const std::vector<int64_t>& ids) {
  auto output = request.output(0);
  ASSERT_TRUE(output) << output.error().to_string();
  for (size_t i = 0; i < ids.size(); ++i) {
    const int64_t row = ids[i] < 0 ? ids[i] + kWords : ids[i];
    for (int64_t f = 0; f < kFeatures; ++f) {
      ASSERT_EQ(output->as<float>()[static_cast<int64_t>(i) * kFeatures + f],
                static_cast<float>(row * kFeatures + f) * 0.5F);
    }
  }
}

TEST(RunTimeFault, NamesStepOperandsAndIndexAndTheNextRunWorks) {
  for (const bool simulate_discrete : {false, true}) {
    const Ref<Device> device = make_device(2, simulate_discrete);
    {
      const Ref<Session> session = make_session(program_of(gather_graph()), device);
      const Ref<Request> request = make_request(*session, {{4}});
      const int64_t held = device->memory().total().current;
      for (int64_t wrong : {kWords, int64_t{-51}, INT64_MAX, INT64_MIN}) {
        set_ids(*request, {0, wrong, 49, -1});
        auto ran = request->run();
        ASSERT_FALSE(ran) << wrong;
        EXPECT_EQ(ran.error().code(), StatusCode::kOutOfRange);
        EXPECT_EQ(ran.error().message(),
                  fmt::format("Step (0) met an index ({}) in its data, and the axis has an extent of ({}).",
                              wrong, kWords));
        EXPECT_THAT(ran.error().context(),
                    ElementsAre("while running command buffer 'request 1 of words'",
                                "while running step 'look_up' (Gather), which reads 'table', 'ids'",
                                "while running a request of 'words'"));
        auto output = request->output(0);
        ASSERT_FALSE(output) << "the outputs of a failed run are withheld";
        EXPECT_EQ(output.error().message(), ran.error().message());
        EXPECT_THAT(output.error().context(), Contains("while reading output 'y' of 'words'"));
        set_ids(*request, {0, 7, 49, -50});
        auto again = request->run();
        ASSERT_TRUE(again) << again.error().to_string();
        expect_rows(*request, {0, 7, 49, -50});
      }
      EXPECT_EQ(device->memory().total().current, held);
    }
    EXPECT_EQ(device->memory().total().current, 0);
  }
}

template <typename Index>
void expect_named_index(bool fixed, bool reference) {
  CompileOptions options;
  options.reference_only = reference;
  const ElementType type = sizeof(Index) == 4 ? ElementType::kInt32 : ElementType::kInt64;
  const Ref<Session> session =
      make_session(program_of(gather_graph(type, fixed ? 4 : 0), options), make_device(2));
  EXPECT_EQ(session->kernels()[0].implementation->reference, reference);
  const Ref<Request> request = make_request(*session, {{4}});
  const std::vector<int64_t> right = {0, 7, 49, -50};
  for (size_t place = 0; place <= right.size(); ++place) {
    auto input = request->input(0);
    ASSERT_TRUE(input) << input.error().to_string();
    for (size_t i = 0; i < right.size(); ++i) {
      input->as<Index>()[i] = static_cast<Index>(i == place ? kWords + static_cast<int64_t>(i) : right[i]);
    }
    auto ran = request->run();
    if (place == right.size()) {
      ASSERT_TRUE(ran) << ran.error().to_string();
      expect_rows(*request, right);
      continue;
    }
    ASSERT_FALSE(ran) << "index " << place;
    EXPECT_EQ(ran.error().message(),
              fmt::format("Step (0) met an index ({}) in its data, and the axis has an extent of ({}).",
                          kWords + static_cast<int64_t>(place), kWords));
    EXPECT_THAT(ran.error().context(),
                Contains("while running step 'look_up' (Gather), which reads 'table', 'ids'"));
    EXPECT_FALSE(request->output(0)) << "the outputs of a failed run are withheld";
  }
}

TEST(RunTimeFault, IsNamedByFastKernelsAndReferenceForOpenAndFixedShapes) {
  for (const bool fixed : {false, true}) {
    for (const bool reference : {false, true}) {
      SCOPED_TRACE(fmt::format("fixed {}, reference {}", fixed, reference));
      expect_named_index<int64_t>(fixed, reference);
      expect_named_index<int32_t>(fixed, reference);
    }
  }
}

TEST(RunTimeFault, FailsOnlyItsOwnRequest) {
  const Ref<Session> session = make_session(program_of(gather_graph()), make_device(2));
  const Ref<Request> bad = make_request(*session, {{300}});
  const Ref<Request> good = make_request(*session, {{300}});
  std::vector<int64_t> ids(300);
  for (size_t i = 0; i < ids.size(); ++i) {
    ids[i] = static_cast<int64_t>(i) % kWords;
  }
  auto event = session->device().create_event("done");
  ASSERT_TRUE(event) << event.error().to_string();
  for (uint64_t round = 1; round <= 20; ++round) {
    set_ids(*good, ids);
    std::vector<int64_t> wrong = ids;
    wrong[round * 10] = 1000;
    set_ids(*bad, wrong);
    const EventPoint bad_done[] = {{event->get(), round * 2 - 1}};
    auto first =
        bad->start({}, round == 20 ? std::span<const EventPoint>(bad_done) : std::span<const EventPoint>());
    auto second = good->start();
    ASSERT_TRUE(first && second);
    auto bad_result = bad->wait();
    auto good_result = good->wait();
    ASSERT_FALSE(bad_result);
    EXPECT_THAT(bad_result.error().message(), HasSubstr("met an index (1000)"));
    ASSERT_TRUE(good_result) << good_result.error().to_string();
    expect_rows(*good, ids);
  }
}

// A run that depends on a failed one fails with its error, and runs when what it waits for succeeds.
TEST(RunTimeFault, ReachesWhatWaitsForIt) {
  const Ref<Session> session = make_session(program_of(gather_graph()), make_device(2));
  const Ref<Request> first = make_request(*session, {{2}});
  const Ref<Request> second = make_request(*session, {{2}});
  for (const bool fails : {true, false}) {
    auto event = session->device().create_event("first");
    ASSERT_TRUE(event) << event.error().to_string();
    set_ids(*first, {1, fails ? 50 : 49});
    set_ids(*second, {2, 3});
    const EventPoint point[] = {{event->get(), 1}};
    ASSERT_TRUE(first->start({}, point));
    ASSERT_TRUE(second->start(point, {}));
    EXPECT_EQ(first->wait().has_value(), !fails);
    auto result = second->wait();
    EXPECT_EQ(result.has_value(), !fails);
    if (fails) {
      EXPECT_THAT(result.error().to_string(), HasSubstr("met an index (50)"));
    } else {
      expect_rows(*second, {2, 3});
    }
  }
}

TEST(Callers, WrongShapesAreRefusedAndTheRequestStaysAsItWas) {
  const Ref<Session> session = make_session(program_of(gather_graph()), make_device(2));
  const Ref<Request> request = make_request(*session, {{3}});
  const int64_t held = session->device().memory().total().current;
  const auto refused = [&](const Shapes& shapes, StatusCode code, const std::string& message) {
    auto prepared = request->prepare(shapes);
    ASSERT_FALSE(prepared);
    EXPECT_EQ(prepared.error().code(), code) << prepared.error().to_string();
    EXPECT_EQ(prepared.error().message(), message);
    set_ids(*request, {5, 6, 7});
    ASSERT_TRUE(request->run());
    expect_rows(*request, {5, 6, 7});
    EXPECT_EQ(session->device().memory().total().current, held);
  };
  refused({}, StatusCode::kInvalidArgument,
          "Program 'words' takes (1) inputs, and shapes for (0) are given.");
  refused({{3}, {3}}, StatusCode::kInvalidArgument,
          "Program 'words' takes (1) inputs, and shapes for (2) are given.");
  refused({{3, 1}}, StatusCode::kInvalidArgument,
          "Input 'ids' has rank (2), and program 'words' takes rank (1).");
  refused({{}}, StatusCode::kInvalidArgument,
          "Input 'ids' has rank (0), and program 'words' takes rank (1).");
  for (int64_t extent : {int64_t{0}, int64_t{-1}, int64_t{1001}, INT64_MAX, INT64_MIN}) {
    refused({{extent}}, StatusCode::kOutOfRange,
            fmt::format("Dimension 'count' is ({}), and the program takes (1) to (1000).", extent));
  }
}

TEST(Callers, WrongBindingsAreRefusedAndTheNextRunWorks) {
  const Ref<Device> device = make_device(2);
  const Ref<Session> session = make_session(program_of(gather_graph()), device);
  const Ref<Request> request = make_request(*session, {{3}});
  const auto still_works = [&] {
    set_ids(*request, {9, 8, 7});
    auto ran = request->run();
    ASSERT_TRUE(ran) << ran.error().to_string();
    expect_rows(*request, {9, 8, 7});
  };
  auto small = device->create_buffer({.size = 23, .label = "small"});
  ASSERT_TRUE(small) << small.error().to_string();
  auto bound = request->bind_input(0, *small, 0);
  ASSERT_FALSE(bound);
  EXPECT_EQ(bound.error().code(), StatusCode::kOutOfRange);
  EXPECT_THAT(bound.error().message(), HasSubstr("Buffer 'small' has (23) bytes"));
  still_works();

  auto negative = request->bind_input(0, *small, -1);
  ASSERT_FALSE(negative);
  still_works();
  auto missing = request->bind_output(1, *small, 0);
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().message(), "Position (1) is not one of the (1) outputs of 'words'.");
  still_works();

  const std::vector<std::byte> constant(64 * 1024);
  ImportDescriptor import;
  import.pointer = constant.data();
  import.size = static_cast<int64_t>(constant.size());
  import.read_only = true;
  import.label = "read only";
  auto imported = device->import_buffer(import);
  ASSERT_TRUE(imported) << imported.error().to_string();
  auto written = request->bind_output(0, *imported, 0);
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code(), StatusCode::kPermissionDenied);
  still_works();

  const Ref<Device> other = make_device(1);
  auto foreign = other->create_buffer({.size = 4096, .label = "foreign"});
  ASSERT_TRUE(foreign) << foreign.error().to_string();
  auto strange = request->bind_input(0, *foreign, 0);
  ASSERT_FALSE(strange);
  EXPECT_THAT(strange.error().message(), HasSubstr("Buffer 'foreign'"));
  EXPECT_THAT(strange.error().message(), HasSubstr("is of another device"));
  still_works();
}

TEST(Callers, UseInTheWrongStateIsAnError) {
  const Ref<Session> session = make_session(program_of(gather_graph()), make_device(2));
  auto created = session->create_request({});
  ASSERT_TRUE(created) << created.error().to_string();
  Request& request = **created;
  EXPECT_FALSE(request.is_prepared());
  EXPECT_EQ(request.run().error().code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(request.start().error().code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(request.wait().error().code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(request.input(0).error().code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(request.output(0).error().code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(request.planned().error().code(), StatusCode::kFailedPrecondition);
  request.cancel();

  const Shapes shapes = {{1000}};
  ASSERT_TRUE(request.prepare(shapes));
  EXPECT_FALSE(request.input(1));
  EXPECT_FALSE(request.input(-1));
  EXPECT_FALSE(request.output(1));
  // In flight behind an event that nobody has reached yet: busy.
  auto event = session->device().create_event("gate");
  ASSERT_TRUE(event) << event.error().to_string();
  set_ids(request, std::vector<int64_t>(1000, 4));
  const EventPoint gate[] = {{event->get(), 1}};
  ASSERT_TRUE(request.start(gate));
  EXPECT_EQ(request.prepare(Shapes{{2}}).error().message(),
            "A request of 'words' is busy and cannot prepare now.");
  EXPECT_EQ(request.input(0).error().message(),
            "A request of 'words' is busy and cannot have its inputs written now.");
  EXPECT_EQ(request.output(0).error().message(),
            "A request of 'words' is busy and cannot have its outputs read now.");
  auto second = request.start();
  ASSERT_TRUE(second) << second.error().to_string();
  EXPECT_EQ(*second, SubmitAnswer::kBusy);
  auto early = request.wait_for(std::chrono::milliseconds(1));
  ASSERT_TRUE(early) << early.error().to_string();
  EXPECT_EQ(*early, EventWait::kTimedOut);
  ASSERT_TRUE((*event)->signal(1));
  auto waited = request.wait();
  ASSERT_TRUE(waited) << waited.error().to_string();
  expect_rows(request, std::vector<int64_t>(1000, 4));
}

TEST(Callers, ADroppedRequestIsCancelledAndGivesItsMemoryBack) {
  const Ref<Device> device = make_device(2);
  const Ref<Session> session = make_session(program_of(gather_graph()), device);
  const int64_t before = device->memory().total().current;
  for (int i = 0; i < 20; ++i) {
    const Ref<Request> request = make_request(*session, {{1000}});
    set_ids(*request, std::vector<int64_t>(1000, 4));
    ASSERT_TRUE(request->start());
  }
  session->queue().wait_idle();
  EXPECT_EQ(device->memory().total().current, before);
}

TEST(Limit, AnAllocationPastItFailsWithAnAccountAndLosesNothing) {
  const Ref<Device> device = make_device(2);
  const Ref<Session> session = make_session(program_of(gather_graph()), device);
  const Ref<Request> request = make_request(*session, {{3}});
  const int64_t held = device->memory().total().current;
  device->memory().set_limit(held + 1000);
  auto prepared = request->prepare(Shapes{{1000}});
  ASSERT_FALSE(prepared);
  EXPECT_EQ(prepared.error().code(), StatusCode::kResourceExhausted);
  EXPECT_THAT(prepared.error().message(),
              HasSubstr(fmt::format("a memory limit of ({}) bytes", held + 1000)));
  EXPECT_THAT(prepared.error().message(), HasSubstr("The holders, in bytes:"));
  device->memory().set_limit(MemoryAccount::kNoLimit);
  ASSERT_TRUE(request->prepare(Shapes{{3}}));
  set_ids(*request, {1, 2, 3});
  auto ran = request->run();
  ASSERT_TRUE(ran) << ran.error().to_string();
  expect_rows(*request, {1, 2, 3});
  ASSERT_TRUE(request->prepare(Shapes{{1000}}));
  set_ids(*request, std::vector<int64_t>(1000, 4));
  ASSERT_TRUE(request->run());
  expect_rows(*request, std::vector<int64_t>(1000, 4));
}

// The file's own bytes at an address that ends with an inaccessible page: a read past them is a fault.
Result<LoadedProgram> read_guarded(std::span<const std::byte> bytes) {
  const GuardedMemory memory(static_cast<int64_t>(bytes.size()), GuardedMemory::Side::kEnd);
  std::ranges::copy(bytes, memory.data());
  auto loaded = read_program(std::span<const std::byte>(memory.data(), memory.size()), nullptr);
  if (loaded) {
    WEIR_TRY(verify_constants(*loaded));
    loaded->constants = {};
  }
  return loaded;
}

std::vector<size_t> many_lengths(size_t whole) {
  std::vector<size_t> lengths;
  for (size_t length = 0; length < std::min<size_t>(whole, 200); ++length) {
    lengths.push_back(length);
  }
  for (size_t i = 1; i < 200; ++i) {
    lengths.push_back(whole * i / 200);
  }
  for (size_t i = 1; i <= 100 && i < whole; ++i) {
    lengths.push_back(whole - i);
  }
  return lengths;
}

TEST(ProgramFile, TruncatedAtAnyLengthIsAnError) {
  const std::vector<std::byte> image = image_of(gather_graph());
  ASSERT_TRUE(read_guarded(image));
  for (size_t length : many_lengths(image.size())) {
    auto loaded = read_guarded(std::span(image).first(length));
    ASSERT_FALSE(loaded) << length;
    EXPECT_EQ(loaded.error().code(), StatusCode::kDataLoss) << length;
    EXPECT_THAT(loaded.error().message(), HasSubstr(fmt::format("({})", length)))
        << "the error says the length";
  }
}

// Every byte of header, section table and constants, and of the metadata, has its say: no change goes unseen.
TEST(ProgramFile, OneDamagedByteIsAnError) {
  const std::vector<std::byte> image = image_of(gather_graph());
  std::vector<std::byte> damaged = image;
  size_t unseen = 0;
  for (size_t at = 0; at < image.size(); at += at < 256 ? 1 : 7) {
    damaged[at] ^= std::byte{0x10};
    auto loaded = read_guarded(damaged);
    if (loaded) {
      // What may have other values: a newer format version that this reader can still read, and the padding
      // between the table of 4000 bytes and the next multiple of 64.
      EXPECT_TRUE((at >= 8 && at < 12) || (at >= 4096 + 4000 && at < 4096 + 4032)) << at;
      ++unseen;
    } else {
      EXPECT_FALSE(loaded.error().message().empty());
    }
    damaged[at] = image[at];
  }
  EXPECT_LE(unseen, 4u + 5u);
}

TEST(ProgramFile, AMissingOrStrangeFileIsAnError) {
  EXPECT_EQ(read_program("no/such/file.weir").error().code(), StatusCode::kNotFound);
  EXPECT_EQ(read_program(".").error().code(), StatusCode::kInvalidArgument);
}

// Of a real model and of its program: hundreds of lengths, each told.
class RealFile : public testing::TestWithParam<PromiseModel> {
 protected:
  void SetUp() override {
    if (!model_path(GetParam().file)) {
      GTEST_SKIP() << GetParam().file << " is not here";
    }
  }
};

TEST_P(RealFile, ATruncatedModelIsAnError) {
  std::ifstream file(*model_path(GetParam().file), std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  const auto bytes = std::as_bytes(std::span(text));
  auto whole = import_onnx(bytes, nullptr);
  ASSERT_TRUE(whole) << whole.error().to_string();
  size_t accepted = 0;
  for (size_t length : many_lengths(bytes.size())) {
    const GuardedMemory memory(static_cast<int64_t>(length), GuardedMemory::Side::kEnd);
    std::ranges::copy(bytes.first(length), memory.data());
    auto graph = import_onnx(std::span<const std::byte>(memory.data(), memory.size()), nullptr);
    if (graph) {
      // Cut behind the graph and the operator sets, between two entries of metadata: it is a sound model.
      EXPECT_EQ(graph->node_count(), whole->node_count()) << length;
      ++accepted;
    } else {
      EXPECT_FALSE(graph.error().message().empty()) << length;
    }
  }
  EXPECT_LE(accepted, 3u);
}

TEST_P(RealFile, ATruncatedProgramIsAnErrorAndTheWholeOneRunsAfterwards) {
  ModelShelf shelf;
  auto program = shelf.dynamic(GetParam());
  ASSERT_TRUE(program) << program.error().to_string();
  ModelOptions options;
  options.use_cache = false;
  const std::string path = std::filesystem::temp_directory_path() /
                           fmt::format("weir_promises_{}_{}.weir", GetParam().name, getpid());
  auto compiled = compile_model(*model_path(GetParam().file), path, options);
  ASSERT_TRUE(compiled) << compiled.error().to_string();
  const auto whole = std::filesystem::file_size(path);
  std::vector<char> text(whole);
  std::ifstream(path, std::ios::binary).read(text.data(), static_cast<std::streamsize>(whole));
  for (size_t length : many_lengths(whole)) {
    auto loaded = read_guarded(std::as_bytes(std::span(text)).first(length));
    ASSERT_FALSE(loaded) << length;
    EXPECT_EQ(loaded.error().code(), StatusCode::kDataLoss);
  }
  // From the file, as a user has it.
  std::filesystem::resize_file(path, whole / 2);
  auto loaded = read_program(path);
  ASSERT_FALSE(loaded);
  EXPECT_EQ(
      loaded.error().message(),
      fmt::format(
          "The file has ({}) bytes, and its header at offset (16) states ({}): it is truncated or damaged.",
          whole / 2, whole));
  std::ofstream(path, std::ios::binary | std::ios::trunc)
      .write(text.data(), static_cast<std::streamsize>(whole));
  auto again = read_program(path);
  ASSERT_TRUE(again) << again.error().to_string();
  const Shapes& shapes = GetParam().shapes.front();
  EXPECT_EQ(difference(run_once(*make_session(*again, make_device(2)), shapes, 3),
                       run_once(*make_session(*program, make_device(2)), shapes, 3)),
            "");
  std::filesystem::remove(path);
}

std::vector<PromiseModel> small_models() {
  std::vector<PromiseModel> chosen = promise_models();
  std::erase_if(chosen, [](const PromiseModel& model) {
    return model.name != "cls" && model.name != "silero" && model.name != "small";
  });
  return chosen;
}

std::string name_of(const testing::TestParamInfo<PromiseModel>& info) {
  return info.param.name;
}

INSTANTIATE_TEST_SUITE_P(Models, RealFile, testing::ValuesIn(small_models()), name_of);

// A token id out of range inside a real network.
TEST(RealFault, ATokenOutOfRangeNamesItsStep) {
  std::vector<PromiseModel> chosen = promise_models();
  std::erase_if(chosen, [](const PromiseModel& model) { return model.name != "minilm"; });
  const PromiseModel& minilm = chosen.front();
  if (!model_path(minilm.file)) {
    GTEST_SKIP() << minilm.file << " is not here";
  }
  ModelShelf shelf;
  auto loaded = shelf.dynamic(minilm);
  ASSERT_TRUE(loaded) << loaded.error().to_string();
  const Ref<Session> session = make_session(*loaded, make_device(2));
  const Outputs expected = run_once(*session, minilm.shapes.front(), 3);
  const Ref<Request> request = make_request(*session, minilm.shapes.front());
  fill_inputs(*request, 3);
  const int32_t ids = session->find_input("input_ids");
  auto input = request->input(ids);
  ASSERT_TRUE(input) << input.error().to_string();
  input->as<int64_t>()[2] = 30522;  // as many as the table has
  auto ran = request->run();
  ASSERT_FALSE(ran);
  EXPECT_EQ(ran.error().code(), StatusCode::kOutOfRange);
  EXPECT_THAT(ran.error().message(),
              HasSubstr("met an index (30522) in its data, and the axis has an extent of (30522)"));
  EXPECT_THAT(ran.error().to_string(), HasSubstr("/m/embeddings/word_embeddings/Gather"));
  EXPECT_THAT(ran.error().to_string(), HasSubstr("'input_ids'"));
  fill_inputs(*request, 3);
  ran = request->run();
  ASSERT_TRUE(ran) << ran.error().to_string();
  EXPECT_EQ(difference(read_outputs(*request), expected), "");
}

}  // namespace
}  // namespace weir::promises
