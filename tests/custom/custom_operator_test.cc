// SPDX-License-Identifier: Apache-2.0
//
// Custom operators from outside: a model that needs one runs, for open shapes, on several threads, planned,
// still and the same; programs and cache know which operator they were compiled with.
#include <fstream>

#include "base/allocation_window.h"
#include "probe.h"
#include "scale.h"

namespace custom_testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

custom_models::Model chain() {
  custom_models::Model model;
  model.relu = true;
  return model;
}

TEST_F(Custom, RunsOpenShapesOnAnyNumberOfThreads) {
  const std::string path = write(chain());
  for (const int32_t threads : {1, 2, 5}) {
    const weir::Runtime runtime(threads);
    weir::register_operator(runtime, std::make_shared<Probe>());
    const weir::Session session(runtime, weir::Device::cpu(runtime), path, uncached());
    EXPECT_THAT(session.output(0).shape, ElementsAre(-1, -1));
    const weir::Request request = session.request();
    for (const weir::Shape& shape : {weir::Shape{3, 5}, weir::Shape{64, 7}, weir::Shape{1, 1}}) {
      request.prepare({shape});
      fill(request);
      request.run();
      EXPECT_EQ(request.output(0).shape(), shape);
      const std::vector<float> y = output(request);
      ASSERT_EQ(y.size(), static_cast<size_t>(shape[0] * shape[1]));
      for (size_t i = 0; i < y.size(); ++i) {
        ASSERT_EQ(y[i], static_cast<float>(2 * i + 1)) << threads << " threads, element " << i;
      }
      const weir_ledger planned = session.plan({shape});
      EXPECT_GT(planned.total, 0);
    }
  }
}

TEST_F(Custom, ShapesAreExpressions) {
  auto probe = std::make_shared<Probe>();
  bool open = false;
  probe->on_shape = [&open](weir::OperatorNode& node) {
    const weir::OperatorDim rows = node.dim(0, 0);
    const weir::OperatorDim n = node.dim(0, 1);
    open |= !rows.is_number();
    EXPECT_EQ((n - n).number(), 0);
    EXPECT_TRUE((floor_divide(n * 4 + 2, 4) - n).is_number());
    node.require_at_least(n, node.number(2), "rows of at least 2 elements");
    node.set_output(0, WEIR_FLOAT32,
                    {ceil_divide(rows, 2), max(n - 3, node.number(1)), min(node.number(2), rows) + rows % 2});
  };
  probe->on_extent = [](const auto&, const weir::OperatorShapes&, weir::OperatorExtent&) {};
  probe->on_run = [](const weir::OperatorCall& call) {
    for (int64_t i = 0; i < call.output(0).element_count(); ++i) {
      call.output(0).as<float>()[i] = static_cast<float>(i);
    }
  };
  const weir::Runtime runtime(2);
  weir::register_operator(runtime, probe);
  const weir::Session session(runtime, weir::Device::cpu(runtime), write({}), uncached());
  EXPECT_TRUE(open);
  const weir::Request request = session.request();
  request.prepare({{5, 9}});
  fill(request);
  request.run();
  EXPECT_EQ(request.output(0).shape(), (weir::Shape{3, 6, 3}));
  EXPECT_EQ(output(request).back(), 53.0F);
  request.prepare({{1, 2}});
  EXPECT_EQ(request.output(0).shape(), (weir::Shape{1, 1, 2}));
  EXPECT_THAT(
      error_of([&] { request.prepare({{5, 1}}); }),
      HasSubstr("The shapes do not fit: com.example.Probe 'probe' needs rows of at least 2 elements ((1) and "
                "(2))."));
}

TEST_F(Custom, WorkspaceScratchAndParametersReachTheRun) {
  auto probe = std::make_shared<Probe>();
  probe->on_plan = [](const auto&, const weir::OperatorShapes& shapes) {
    weir::OperatorPlan plan;
    plan.workspace_bytes = shapes.input(0).element_count() * 4;
    plan.workspace_alignment = 4096;
    plan.scratch_bytes = shapes.input(0).shape(1) * 4;
    return plan;
  };
  probe->on_extent = [](const auto&, const weir::OperatorShapes& shapes, weir::OperatorExtent& extent) {
    extent.set_tiles(shapes.input(0).shape(0));
    extent.set_parameters(int64_t{40});
  };
  probe->on_run = [](const weir::OperatorCall& call) {
    const int64_t n = call.input(0).shape(1);
    if (reinterpret_cast<uintptr_t>(call.workspace<float>()) % 4096 != 0 ||
        reinterpret_cast<uintptr_t>(call.scratch<float>()) % 64 != 0 || call.c().scratch_bytes != n * 4 ||
        call.c().workspace_bytes != call.input(0).element_count() * 4 || call.c().participant < 0) {
      call.fail(WEIR_INTERNAL, "The needs are not met.");
      return;
    }
    for (int64_t row = call.tile_begin(); row < call.tile_end(); ++row) {
      float* kept = call.workspace<float>() + row * n;
      for (int64_t i = 0; i < n; ++i) {
        call.scratch<float>()[i] = call.input(0).as<float>()[row * n + i];
        kept[i] = call.scratch<float>()[i] + static_cast<float>(call.parameters<int64_t>());
        call.output(0).as<float>()[row * n + i] = kept[i];
      }
    }
  };
  for (const bool validation : {false, true}) {
    const weir::Runtime runtime(2);
    weir::register_operator(runtime, probe);
    weir::DeviceOptions device_options;
    device_options.validation = validation;
    const weir::Session session(runtime, weir::Device::cpu(runtime, device_options), write(chain()),
                                uncached());
    const weir::Request request = session.request();
    for (const weir::Shape& shape : {weir::Shape{3, 5}, weir::Shape{40, 33}}) {
      request.prepare({shape});
      fill(request);
      request.run();
      const std::vector<float> y = output(request);
      for (size_t i = 0; i < y.size(); ++i) {
        ASSERT_EQ(y[i], static_cast<float>(2 * i + 40)) << i;
      }
    }
    const weir_ledger planned = session.plan({{40, 33}});
    const weir_ledger counted = request.counted();
    EXPECT_GE(planned.workspace, 40 * 33 * 4);
    EXPECT_GE(planned.scratch, 2 * 192);  // 33 floats, rounded up to 64 bytes, of two participants
    EXPECT_EQ(planned.workspace, counted.workspace);
    EXPECT_EQ(planned.scratch, counted.scratch);
  }
}

TEST_F(Custom, ReportsNameIt) {
  const weir::Runtime runtime(1);
  weir::register_operator(runtime, std::make_shared<Probe>());
  const weir::Session session(runtime, weir::Device::cpu(runtime), write(chain()), uncached());
  const std::string report = session.report({{3, 5}});
  EXPECT_THAT(report, HasSubstr("\"implementation\":\"custom:com.example.Probe\""));
  EXPECT_THAT(report, HasSubstr("\"op\":\"com.example.Probe\""));
  EXPECT_EQ(session.notices().size(), 1U);  // that it was compiled now
}

// The most bytes of activations with and without the pair: x + x and the result in one place or in two.
TEST_F(Custom, InPlacePairsShareMemory) {
  int64_t activations[2];
  for (const bool in_place : {false, true}) {
    auto probe = std::make_shared<Probe>();
    if (in_place) {
      probe->about.in_place = {{0, 0}};
    }
    custom_models::Model model = chain();
    model.dims = {"64", "64"};
    const weir::Runtime runtime(2);
    weir::register_operator(runtime, probe);
    const weir::Session session(runtime, weir::Device::cpu(runtime), write(model), uncached());
    activations[in_place ? 1 : 0] = session.plan().activations;
    const weir::Request request = session.request();
    fill(request);
    request.run();
    EXPECT_EQ(output(request)[4095], 2.0F * 4095 + 1);
  }
  EXPECT_EQ(activations[0], 2 * 64 * 64 * 4);
  EXPECT_EQ(activations[1], 64 * 64 * 4);
}

TEST_F(Custom, OtherLayoutsAreCopiedUnlessItTakesThem) {
  custom_models::Model model;
  model.transposed = true;
  for (const bool any : {false, true}) {
    auto probe = std::make_shared<Probe>();
    probe->about.layout = any ? WEIR_LAYOUT_ANY : WEIR_LAYOUT_ROW_MAJOR;
    bool dense = true;
    probe->on_run = [&dense](const weir::OperatorCall& call) {
      dense = call.input(0).stride(1) == 1;
      Probe::add_one(call);
    };
    const weir::Runtime runtime(1);
    weir::register_operator(runtime, probe);
    const weir::Session session(runtime, weir::Device::cpu(runtime), write(model), uncached());
    const weir::Request request = session.request();
    request.prepare({{2, 3}});
    fill(request);
    request.run();
    EXPECT_THAT(output(request), ElementsAre(1, 7, 3, 9, 5, 11));
    EXPECT_EQ(dense, !any);
    int copies = 0;
    for (const weir::Notice& notice : session.notices()) {
      copies += notice.what == "copy" ? 1 : 0;
    }
    EXPECT_EQ(copies, any ? 0 : 1);
  }
}

TEST_F(Custom, AttributesOfEveryKind) {
  auto probe = std::make_shared<Probe>();
  probe->on_shape = [](weir::OperatorNode& node) {
    EXPECT_EQ(node.name(), "probe");
    EXPECT_EQ(node.opset(), 1);
    EXPECT_TRUE(node.has("i"));
    EXPECT_FALSE(node.has("absent"));
    EXPECT_EQ(node.integer("i", 0), -7);
    EXPECT_EQ(node.integer("absent", 12), 12);
    EXPECT_EQ(node.real("f", 0), 0.5);
    EXPECT_EQ(node.text("s", ""), "some text");
    EXPECT_EQ(node.text("absent", "else"), "else");
    EXPECT_THAT(node.integers("is"), ElementsAre(3, -1, 4));
    EXPECT_THAT(node.reals("fs"), ElementsAre(1.5, -2.25));
    EXPECT_TRUE(node.reals("absent").empty());
    const weir::TensorView t = node.tensor("t");
    EXPECT_EQ(t.shape(), (weir::Shape{2, 2}));
    EXPECT_EQ(t.as<int64_t>()[3], 40);
    node.set_output_like(0, 0);
  };
  custom_models::Model model;
  model.all_kinds = true;
  EXPECT_EQ(running(probe, model), "");
  probe->on_shape = [](weir::OperatorNode& node) {
    node.real("i", 0);
    node.set_output_like(0, 0);
  };
  EXPECT_THAT(opening(probe, model),
              HasSubstr("Attribute 'i' is an integer, and the operator takes a real number."));
}

TEST_F(Custom, AbsentInputsConstantsAndSeveralOutputs) {
  auto probe = std::make_shared<Probe>();
  probe->about.min_inputs = 1;
  probe->about.max_inputs = 3;
  probe->about.max_outputs = 2;
  probe->on_shape = [](weir::OperatorNode& node) {
    EXPECT_EQ(node.inputs(), 3);
    EXPECT_EQ(node.outputs(), 2);
    EXPECT_FALSE(node.has_input(1));
    EXPECT_EQ(node.type(1), 0);
    EXPECT_EQ(node.rank(2), 1);
    node.set_output_like(0, 0);
    node.set_output(1, WEIR_INT64, {node.dim(0, 0)});
  };
  probe->on_run = [](const weir::OperatorCall& call) {
    if (call.has_input(1) || !call.has_input(2)) {
      call.fail(WEIR_INTERNAL, "Presence is wrong.");
      return;
    }
    for (int64_t row = call.tile_begin(); row < call.tile_end(); ++row) {
      for (int64_t i = 0; i < 4; ++i) {
        call.output(0).as<float>()[row * 4 + i] =
            call.input(0).as<float>()[row * 4 + i] * call.input(2).as<float>()[i];
      }
      call.output(1).as<int64_t>()[row] = row * 100;
    }
  };
  custom_models::Model model;
  model.absent_input = true;
  model.outputs = 2;
  model.dims = {"rows", "4"};
  const weir::Runtime runtime(2);
  weir::register_operator(runtime, probe);
  const weir::Session session(runtime, weir::Device::cpu(runtime), write(model), uncached());
  const weir::Request request = session.request();
  request.prepare({{2, 4}});
  fill(request);
  request.run();
  EXPECT_THAT(output(request), ElementsAre(0, 4, 12, 24, 8, 20, 36, 56));
  EXPECT_EQ(request.output(1).as<int64_t>()[1], 100);
}

TEST_F(Custom, RunsAllocateNothing) {
  weir_allocations_begin();
  if (!weir_allocations_end().counted) {
    GTEST_SKIP() << "weir_interposer is not in LD_PRELOAD";
  }
  auto probe = std::make_shared<Probe>();
  probe->on_plan = [](const auto&, const auto&) {
    weir::OperatorPlan plan;
    plan.workspace_bytes = 1000;
    plan.scratch_bytes = 100;
    return plan;
  };
  const weir::Runtime runtime(2);
  weir::register_operator(runtime, probe);
  const weir::Session session(runtime, weir::Device::cpu(runtime), write(chain()), uncached());
  const weir::Request request = session.request();
  request.prepare({{16, 8}});
  fill(request);
  request.run();
  weir_allocations_begin();
  for (int i = 0; i < 200; ++i) {
    request.run();
  }
  const weir_allocations counts = weir_allocations_end();
  EXPECT_EQ(counts.allocations, 0);
  EXPECT_EQ(output(request)[3], 7.0F);
}

TEST_F(Custom, TheOneOfTheDocument) {
  custom_models::Model model;
  model.op = "Scale";
  model.reals = {{"factor", 0.25F}};
  model.dims = {"2", "0"};
  for (const char* columns : {"3", "0"}) {
    model.dims[1] = columns;
    const weir::Runtime runtime(2);
    weir::register_operator(runtime, std::make_shared<Scale>());
    const weir::Session session(runtime, weir::Device::cpu(runtime), write(model), uncached());
    const weir::Request request = session.request();
    fill(request);
    request.run();
    EXPECT_THAT(output(request),
                columns[0] == '0' ? std::vector<float>() : std::vector<float>({0, 0.5, 1, 1.5, 2, 2.5}));
  }
}

TEST_F(Custom, GoesBeforeWeirsOwn) {
  custom_models::Model model;
  model.domain = "";
  model.opset = 0;
  model.op = "Neg";
  auto probe = std::make_shared<Probe>();
  probe->about.domain = "ai.onnx";
  probe->about.name = "Neg";
  const weir::Runtime runtime(1);
  weir::register_operator(runtime, probe);
  const weir::Session session(runtime, weir::Device::cpu(runtime), write(model), uncached());
  EXPECT_THAT(session.report(), HasSubstr("custom:ai.onnx.Neg"));
}

TEST_F(Custom, SessionsKeepTheOperatorsTheyWereOpenedWith) {
  const std::string path = write(chain());
  auto probe = std::make_shared<Probe>();
  const std::weak_ptr<Probe> watched = probe;
  {
    weir::Request request;
    {
      const weir::Runtime runtime(1);
      weir::register_operator(runtime, probe);
      probe.reset();
      const weir::Session session(runtime, weir::Device::cpu(runtime), path, uncached());
      request = session.request();
    }
    request.prepare({{2, 2}});
    fill(request);
    request.run();
    EXPECT_THAT(output(request), ElementsAre(1, 3, 5, 7));
    EXPECT_FALSE(watched.expired());
  }
  EXPECT_TRUE(watched.expired());
}

TEST_F(Custom, TheCacheKnowsWhichOperatorItWasCompiledWith) {
  const std::string path = write(chain());
  weir::SessionOptions options;
  options.cache_folder = folder_ + "/cache";
  const auto compiled = [&](int64_t version) {
    auto probe = std::make_shared<Probe>();
    probe->about.version = version;
    const weir::Runtime runtime(1);
    weir::register_operator(runtime, probe);
    const weir::Session session(runtime, weir::Device::cpu(runtime), path, options);
    return session.info().compiled;
  };
  EXPECT_TRUE(compiled(1));
  EXPECT_FALSE(compiled(1));
  EXPECT_TRUE(compiled(2));
  EXPECT_FALSE(compiled(1));
}

// Programs: what is compiled with an operator runs with it only.
class Programs : public Custom {
 protected:
  void compile(const std::shared_ptr<const Probe>& probe, const custom_models::Model& model) const {
    const weir::Runtime runtime(1);
    weir::register_operator(runtime, probe);
    ASSERT_EQ(custom_models::compile(write(model), program(), runtime.get()), "");
  }
  std::string program() const { return folder_ + "/model.weir"; }
  std::string opening_program(const std::shared_ptr<const Probe>& probe) const {
    return error_of([&] {
      const weir::Runtime runtime(1);
      if (probe != nullptr) {
        weir::register_operator(runtime, probe);
      }
      const weir::Session session(runtime, weir::Device::cpu(runtime), program());
      const weir::Request request = session.request();
    });
  }
  static std::string bytes_of(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
};

TEST_F(Programs, RunAndAreTheSameBytes) {
  custom_models::Model model = chain();
  model.all_kinds = true;
  for (const std::vector<std::string>& dims : {std::vector<std::string>{"rows", "n"}, {"6", "5"}}) {
    model.dims = dims;
    compile(std::make_shared<Probe>(), model);
    const std::string first = bytes_of(program());
    compile(std::make_shared<Probe>(), model);
    EXPECT_EQ(first, bytes_of(program()));
    auto probe = std::make_shared<Probe>();
    probe->on_plan = [](const weir::OperatorNode& node, const auto&) {
      EXPECT_EQ(node.text("s", ""), "some text");  // attributes travel in the program
      EXPECT_THAT(node.integers("is"), ElementsAre(3, -1, 4));
      EXPECT_EQ(node.tensor("t").as<int64_t>()[2], 30);
      EXPECT_EQ(node.real("f", 0), 0.5);
      return weir::OperatorPlan();
    };
    const weir::Runtime runtime(2);
    weir::register_operator(runtime, probe);
    const weir::Session session(runtime, weir::Device::cpu(runtime), program());
    EXPECT_EQ(session.info().is_static, dims[0] == "6");
    const weir::Request request = session.request();
    request.prepare({{6, 5}});
    fill(request);
    request.run();
    EXPECT_EQ(output(request)[29], 59.0F);
  }
}

TEST_F(Programs, NeedTheirOperator) {
  compile(std::make_shared<Probe>(), chain());
  EXPECT_EQ(opening_program(std::make_shared<Probe>()), "");
  EXPECT_THAT(
      opening_program(nullptr),
      HasSubstr(
          "The program needs custom operator com.example.Probe (version 1), and this runtime has none of "
          "that name; register it with weir_runtime_register_operator before the program is opened, or "
          "name its library with --operators."));
  auto other = std::make_shared<Probe>();
  other->about.version = 3;
  EXPECT_THAT(
      opening_program(other),
      HasSubstr(
          "The program was compiled with version (1) of custom operator com.example.Probe, and version (3) "
          "is registered; compile the model again, or register the other version."));
  other->about.version = 1;
  other->about.first_opset = 2;
  EXPECT_THAT(opening_program(other),
              HasSubstr("The program has a node of version (1) of operator set 'com.example', "
                        "and custom operator com.example.Probe takes (2 to "));
}

TEST_F(Programs, AreRefusedWhenAnOperatorChangedAndItsVersionDidNot) {
  custom_models::Model model = chain();
  model.dims = {"6", "5"};
  auto probe = std::make_shared<Probe>();
  probe->on_plan = [](const auto&, const auto&) { return weir::OperatorPlan{256, 64, 0}; };
  compile(probe, model);
  EXPECT_EQ(opening_program(probe), "");
  auto hungry = std::make_shared<Probe>();
  hungry->on_plan = [](const auto&, const auto&) { return weir::OperatorPlan{257, 64, 0}; };
  EXPECT_THAT(
      opening_program(hungry),
      HasSubstr("Step 'probe' needs a workspace of (257) bytes, and the program was compiled for (256)"));
  auto wide = std::make_shared<Probe>();
  wide->on_shape = [](weir::OperatorNode& node) {
    node.set_output(0, WEIR_FLOAT32, {node.dim(0, 0), node.dim(0, 1) * 2});
  };
  EXPECT_THAT(
      opening_program(wide),
      HasSubstr(
          "Output (0) has the type (float32[6, 5]) in the program, and for this shape com.example.Probe "
          "gives (float32[6, 10])"));
  compile(std::make_shared<Probe>(), model);  // without a workspace
  EXPECT_THAT(opening_program(probe),
              HasSubstr("needs a workspace of (256) bytes, and the program was compiled for (0)"));
}

}  // namespace
}  // namespace custom_testing
