// SPDX-License-Identifier: Apache-2.0
//
// Planned: a request runs in exactly the memory that the plan says, and what allocates counts the same bytes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <malloc.h>

#include <memory>

#include "guarded_memory.h"
#include "promise_models.h"

namespace weir::promises {
namespace {

using Side = GuardedMemory::Side;

class Planned : public testing::TestWithParam<PromiseModel> {
 protected:
  static void SetUpTestSuite() { shelf_ = std::make_unique<ModelShelf>(); }
  static void TearDownTestSuite() { shelf_.reset(); }

  void SetUp() override {
    if (!model_path(GetParam().file)) {
      GTEST_SKIP() << GetParam().file << " is not here";
    }
  }

  static LoadedProgram dynamic() {
    auto loaded = shelf_->dynamic(GetParam());
    EXPECT_TRUE(loaded) << loaded.error().to_string();
    return loaded ? *loaded : LoadedProgram{};
  }
  static LoadedProgram fixed(const Shapes& shapes) {
    auto loaded = shelf_->fixed(GetParam(), shapes);
    EXPECT_TRUE(loaded) << loaded.error().to_string();
    return loaded ? *loaded : LoadedProgram{};
  }

  static std::unique_ptr<ModelShelf> shelf_;
};

std::unique_ptr<ModelShelf> Planned::shelf_;

std::string name_of(const testing::TestParamInfo<PromiseModel>& info) {
  return info.param.name;
}

Ledger planned_for(Session& session, const Shapes& shapes) {
  auto symbols = session.symbols_of(shapes);
  EXPECT_TRUE(symbols) << symbols.error().to_string();
  auto ledger = session.planned(*symbols);
  EXPECT_TRUE(ledger) << ledger.error().to_string();
  return *ledger;
}

// Inputs, outputs and arena all lie against guard pages, the outputs and the arena poisoned before every run.
void run_between_guard_pages(Session& session, const Shapes& shapes, Side side, const Outputs& expected) {
  Device& device = session.device();
  const Ledger plan = planned_for(session, shapes);
  GuardedMemory arena(plan.activations + plan.workspace, side);
  RequestOptions options;
  auto imported = arena.import(device, "guarded arena");
  ASSERT_TRUE(imported) << imported.error().to_string();
  options.arena = *imported;
  auto request = session.create_request(options);
  ASSERT_TRUE(request) << request.error().to_string();
  auto prepared = (*request)->prepare(shapes);
  ASSERT_TRUE(prepared) << prepared.error().to_string();

  std::vector<std::unique_ptr<GuardedMemory>> inputs;
  std::vector<std::unique_ptr<GuardedMemory>> outputs;
  const Program& program = session.program();
  for (size_t i = 0; i < program.inputs.size(); ++i) {
    const auto index = static_cast<int32_t>(i);
    const TensorSpec spec = (*request)->input_spec(index);
    inputs.push_back(std::make_unique<GuardedMemory>(spec.extent_bytes(), side));
    fill_input(spec.at(inputs.back()->data()), program.inputs[i].name, 5 + static_cast<uint32_t>(i));
    auto buffer = inputs.back()->import(device, "guarded input");
    ASSERT_TRUE(buffer) << buffer.error().to_string();
    auto bound = (*request)->bind_input(index, *buffer, 0);
    ASSERT_TRUE(bound) << bound.error().to_string();
  }
  for (size_t i = 0; i < program.outputs.size(); ++i) {
    const auto index = static_cast<int32_t>(i);
    outputs.push_back(std::make_unique<GuardedMemory>((*request)->output_spec(index).extent_bytes(), side));
    auto buffer = outputs.back()->import(device, "guarded output");
    ASSERT_TRUE(buffer) << buffer.error().to_string();
    auto bound = (*request)->bind_output(index, *buffer, 0);
    ASSERT_TRUE(bound) << bound.error().to_string();
  }
  // 0xFF: NaN as a float and −1 as an index; 0x4B: 1.3e7, which a sum does not survive either.
  for (uint8_t pattern : {0xFF, 0x4B}) {
    arena.fill(pattern);
    for (const auto& output : outputs) {
      output->fill(pattern);
    }
    auto reset = (*request)->reset_state();
    ASSERT_TRUE(reset) << reset.error().to_string();
    auto ran = (*request)->run();
    ASSERT_TRUE(ran) << ran.error().to_string();
    Outputs got;
    for (const auto& output : outputs) {
      got.emplace_back(output->data(), output->data() + output->size());
    }
    EXPECT_EQ(difference(got, expected), "") << "arena filled with " << int{pattern};
  }
}

TEST_P(Planned, DynamicProgramRunsInExactlyItsArenaBetweenGuardPages) {
  const Ref<Session> session = make_session(dynamic(), make_device(2));
  for (const Shapes& shapes : GetParam().shapes) {
    const Outputs expected = run_once(*session, shapes, 5);
    run_between_guard_pages(*session, shapes, Side::kEnd, expected);
    run_between_guard_pages(*session, shapes, Side::kStart, expected);
  }
}

TEST_P(Planned, StaticProgramRunsInExactlyItsArenaBetweenGuardPages) {
  const Shapes& shapes = GetParam().shapes.front();
  const Ref<Session> session = make_session(fixed(shapes), make_device(2));
  const Outputs expected = run_once(*session, shapes, 5);
  run_between_guard_pages(*session, shapes, Side::kEnd, expected);
  run_between_guard_pages(*session, shapes, Side::kStart, expected);
}

TEST_P(Planned, AnArenaSmallerThanPlannedIsRefusedWithBothSizes) {
  const Shapes& shapes = GetParam().shapes.front();
  const Ref<Session> session = make_session(dynamic(), make_device(2));
  const Ledger plan = planned_for(*session, shapes);
  const int64_t bytes = plan.activations + plan.workspace;
  const GuardedMemory arena(bytes - 64, Side::kEnd);
  RequestOptions options;
  auto imported = arena.import(session->device(), "small arena");
  ASSERT_TRUE(imported) << imported.error().to_string();
  options.arena = *imported;
  auto request = session->create_request(options);
  ASSERT_TRUE(request) << request.error().to_string();
  auto prepared = (*request)->prepare(shapes);
  ASSERT_FALSE(prepared);
  EXPECT_EQ(prepared.error().code(), StatusCode::kResourceExhausted);
  EXPECT_EQ(
      prepared.error().message(),
      fmt::format("The arena that was handed to a request of '{}' has ({}) bytes, and the shape takes ({}).",
                  session->name(), bytes - 64, bytes));
}

// Every line of the plan against what Buffer and CommandBuffer count, and against the device's account, which
// knows nothing of plans.
void expect_counted(Request& request, const char* when) {
  request.session().queue().wait_idle();  // it has let go of what it ran for preparing
  auto planned = request.planned();
  ASSERT_TRUE(planned) << planned.error().to_string();
  const Ledger counted = request.counted();
  EXPECT_EQ(counted.constants, planned->constants) << when;
  EXPECT_EQ(counted.activations, planned->activations) << when;
  EXPECT_EQ(counted.workspace, planned->workspace) << when;
  EXPECT_EQ(counted.scratch, planned->scratch) << when;
  EXPECT_EQ(counted.io, planned->io) << when;
  EXPECT_EQ(counted.state, planned->state) << when;
  EXPECT_EQ(counted.host, planned->host) << when;
  const MemoryAccount& account = request.session().device().memory();
  const auto held = [&](MemoryCategory category) { return account.use(category).current; };
  EXPECT_EQ(held(MemoryCategory::kConstants), planned->constants) << when;
  EXPECT_EQ(held(MemoryCategory::kActivations), planned->activations + planned->workspace) << when;
  EXPECT_EQ(held(MemoryCategory::kScratch), planned->scratch) << when;
  EXPECT_EQ(held(MemoryCategory::kIo), planned->io) << when;
  EXPECT_EQ(held(MemoryCategory::kState), planned->state) << when;
  EXPECT_EQ(held(MemoryCategory::kHost), planned->host) << when;
  EXPECT_EQ(held(MemoryCategory::kOther), 0) << when;
  EXPECT_EQ(account.total().current, planned->total()) << when;
}

TEST_P(Planned, EveryLineIsCountedAsPlanned) {
  for (const bool simulate_discrete : {false, true}) {
    for (int32_t threads : {1, 2}) {
      const Ref<Device> device = make_device(threads, simulate_discrete);
      {
        const Shapes& shapes = GetParam().shapes.front();
        const Ref<Session> session = make_session(fixed(shapes), device);
        const Ref<Request> request = make_request(*session, shapes);
        expect_counted(*request, "static");
        EXPECT_EQ(*request->planned(), planned_for(*session, shapes)) << "known before the request";
        fill_inputs(*request, 3);
        ASSERT_TRUE(request->run());
        expect_counted(*request, "static, after a run");
      }
      EXPECT_EQ(device->memory().total().current, 0) << "after the session";
      {
        const Ref<Session> session = make_session(dynamic(), device);
        auto created = session->create_request({});
        ASSERT_TRUE(created) << created.error().to_string();
        Request& request = **created;
        // Up, down, and one that is cached.
        const std::vector<Shapes>& all = GetParam().shapes;
        for (const Shapes& shapes : {all.front(), all.back(), all.front()}) {
          device->memory().reset_peaks();
          auto prepared = request.prepare(shapes);
          ASSERT_TRUE(prepared) << prepared.error().to_string();
          expect_counted(request, "dynamic");
          // What grows is freed first: the old and the new arena are never held together.
          const int64_t arena = request.planned()->activations + request.planned()->workspace;
          EXPECT_EQ(device->memory().use(MemoryCategory::kActivations).peak, arena);
          EXPECT_EQ(device->memory().use(MemoryCategory::kScratch).peak, request.planned()->scratch);
          fill_inputs(request, 3);
          ASSERT_TRUE(request.run());
          expect_counted(request, "dynamic, after a run");
        }
      }
      EXPECT_EQ(device->memory().total().current, 0) << "after the session";
    }
  }
}

TEST_P(Planned, ADynamicProgramsFirstShapeIsKnownBeforeTheRequest) {
  const Ref<Session> session = make_session(dynamic(), make_device(2));
  for (const Shapes& shapes : GetParam().shapes) {
    const Ledger plan = planned_for(*session, shapes);
    const Ref<Request> request = make_request(*session, shapes);
    EXPECT_EQ(request->counted(), plan);
  }
}

// Requests side by side add up: each has what its own plan says, and the constants are there once.
TEST_P(Planned, RequestsAddUp) {
  const Ref<Session> session = make_session(dynamic(), make_device(2));
  int64_t expected = 0;
  std::vector<Ref<Request>> requests;
  for (const Shapes& shapes : GetParam().shapes) {
    requests.push_back(make_request(*session, shapes));
    const Ledger plan = planned_for(*session, shapes);
    expected += plan.total();
    if (requests.size() > 1) {
      expected -= session->own_lines().total();
    }
  }
  EXPECT_EQ(session->device().memory().total().current, expected);
}

// From outside: what the C library's allocator has given out. Large blocks have pages of their own and are
// not among it, mapped constants neither. Beside the plan there are the objects themselves (buffers, kernels,
// the queue and its threads), of which there is a small number a request, whatever the model.
TEST_P(Planned, TheHeapHoldsLittleBesideThePlan) {
  const LoadedProgram program = dynamic();
  const Ref<Device> device = make_device(2);
  (void)make_request(*make_session(program, device), GetParam().shapes.front());  // what is made once
  const size_t before = mallinfo2().uordblks;
  const Ref<Session> session = make_session(program, device);
  const Ref<Request> request = make_request(*session, GetParam().shapes.front());
  const auto grown = static_cast<int64_t>(mallinfo2().uordblks - before);
  session->queue().wait_idle();
  auto planned = request->planned();
  ASSERT_TRUE(planned) << planned.error().to_string();
  constexpr int64_t kObjects = 32 << 10;
  EXPECT_LE(grown, planned->total() - session->own_lines().constants + kObjects);
}

INSTANTIATE_TEST_SUITE_P(Models, Planned, testing::ValuesIn(promise_models()), name_of);

}  // namespace
}  // namespace weir::promises
