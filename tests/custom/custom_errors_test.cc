// SPDX-License-Identifier: Apache-2.0
//
// Custom operators that are wrong: what they answer is refused with their name, what they write where they
// should not is found by validation, and a run that fails fails its request only.
#include <limits>
#include <stdexcept>

#include "probe.h"

namespace custom_testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr const char* kAbout = "while asking custom operator com.example.Probe about node 'probe'";

TEST_F(Custom, NotRegistered) {
  const std::string path = write({});
  const weir::Runtime runtime(1);
  EXPECT_THAT(
      error_of([&] { const weir::Session session(runtime, weir::Device::cpu(runtime), path, uncached()); }),
      AllOf(
          HasSubstr("The model has (1) nodes that are not supported: 1 × com.example.Probe."),
          HasSubstr("Probe (com.example 1) 'probe' of 'xx' float32[rows, n] from Add 'double': The operator "
                    "is not supported."),
          HasSubstr("an operator of your own takes the place of one that is not supported: register it with "
                    "weir_runtime_register_operator, or with --operators on the command line")));
}

TEST_F(Custom, OtherOperatorSet) {
  auto probe = std::make_shared<Probe>();
  probe->about.first_opset = 2;
  probe->about.last_opset = 3;
  EXPECT_THAT(opening(probe),
              HasSubstr("Custom operator com.example.Probe is registered for versions (2 to 3) of the "
                        "operator set."));
}

TEST_F(Custom, AttributesThatItCannotTake) {
  custom_models::Model model;
  model.graph_attribute = true;
  EXPECT_THAT(
      opening(std::make_shared<Probe>(), model),
      HasSubstr("is of type (GRAPH), and custom operators take integers, floating-point numbers, lists of "
                "them, a string or a tensor."));
}

TEST_F(Custom, WrongNumberOfOperands) {
  auto probe = std::make_shared<Probe>();
  probe->about.min_inputs = 2;
  EXPECT_THAT(opening(probe),
              AllOf(HasSubstr("The node has (1) inputs, and com.example.Probe takes from (2) to (2)."),
                    HasSubstr(kAbout)));
  probe = std::make_shared<Probe>();
  custom_models::Model model;
  model.outputs = 2;
  EXPECT_THAT(opening(probe, model),
              HasSubstr("The node has (2) outputs, and com.example.Probe gives from (1) to (1)."));
  probe->about.min_inputs = 2;
  probe->about.max_inputs = 3;
  model = {};
  model.absent_input = true;
  EXPECT_THAT(opening(probe, model),
              HasSubstr("The node lacks input (1), and com.example.Probe needs its first (2)."));
}

struct BadShape {
  const char* name;
  void (*shape)(weir::OperatorNode& node);
  const char* message;
};

class BadShapes : public Custom, public ::testing::WithParamInterface<BadShape> {};

TEST_P(BadShapes, AreErrors) {
  auto probe = std::make_shared<Probe>();
  probe->on_shape = GetParam().shape;
  const std::string said = opening(probe);
  EXPECT_THAT(said, HasSubstr(GetParam().message));
  EXPECT_THAT(said, HasSubstr(kAbout));
}

INSTANTIATE_TEST_SUITE_P(
    Custom, BadShapes,
    ::testing::Values(
        BadShape{"own_text", [](weir::OperatorNode&) { throw std::runtime_error("Rows are not welcome."); },
                 "Rows are not welcome."},
        BadShape{"not_an_exception", [](weir::OperatorNode&) { throw 7; },
                 "The operator throws something that is no std::exception."},
        BadShape{"unset", [](weir::OperatorNode&) {},
                 "The shape function leaves output (0) unset, and the node has (1)."},
        BadShape{"negative", [](weir::OperatorNode& n) { n.set_output(0, WEIR_FLOAT32, {n.number(-4)}); },
                 "The shape function gives axis (0) of output (0) the extent (-4), and (0 to "
                 "281474976710656) are allowed."},
        BadShape{"too_large",
                 [](weir::OperatorNode& n) {
                   n.set_output(0, WEIR_FLOAT32, {n.number(int64_t{1} << 40), n.number(int64_t{1} << 40)});
                 },
                 "(2^48) elements are the most."},
        BadShape{"always_negative",
                 [](weir::OperatorNode& n) { n.set_output(0, WEIR_FLOAT32, {n.number(-1) - n.dim(0, 0)}); },
                 "and (0 to 281474976710656) are allowed."},
        BadShape{"no_type", [](weir::OperatorNode& n) { n.set_output(0, 99, {}); },
                 "The shape function gives output (0) the element type (99)"},
        BadShape{"half_bytes", [](weir::OperatorNode& n) { n.set_output(0, WEIR_INT4, {n.dim(0, 0)}); },
                 "The shape function gives output (0) element type (int4), and takes one of whole bytes."},
        BadShape{"rank",
                 [](weir::OperatorNode& n) { n.set_output(0, WEIR_FLOAT32, std::vector(9, n.number(1))); },
                 "and the rank (9), and takes a valid type, and a rank from (0) to (8)"},
        BadShape{"no_such_output", [](weir::OperatorNode& n) { n.set_output_like(1, 0); },
                 "The shape function sets output (1), and the node has (1)."},
        BadShape{"no_such_input", [](weir::OperatorNode& n) { n.set_output_like(0, 3); },
                 "The shape function gives output (0) the type of input (3), which is absent."},
        BadShape{"no_such_axis",
                 [](weir::OperatorNode& n) { n.set_output(0, WEIR_FLOAT32, {n.dim(0, 2) + 1}); },
                 "The shape function asks for axis (2) of input (0), which has rank (2)."},
        BadShape{"divides_by_zero",
                 [](weir::OperatorNode& n) { n.set_output(0, WEIR_FLOAT32, {floor_divide(n.dim(0, 0), 0)}); },
                 "Function 'weir_dim_floor_divide' divides by (0), which may be less than (1)."},
        BadShape{"does_not_hold",
                 [](weir::OperatorNode& n) {
                   n.require_equal(n.number(3), n.number(4), "twins");
                   n.set_output_like(0, 0);
                 },
                 "The operator needs twins, and has (3) and (4)."}),
    [](const auto& test) { return test.param.name; });

TEST_F(Custom, AShapeThatIsNegativeForSomeShapesOnly) {
  auto probe = std::make_shared<Probe>();
  probe->on_shape = [](weir::OperatorNode& n) {
    n.set_output(0, WEIR_FLOAT32, {n.dim(0, 0) - 4, n.dim(0, 1)});
  };
  probe->on_extent = [](const auto&, const auto&, weir::OperatorExtent&) {};
  probe->on_run = [](const weir::OperatorCall&) {};
  EXPECT_EQ(running(probe, {}, {5, 5}), "");
  EXPECT_NE(running(probe, {}, {3, 5}), "");
}

TEST_F(Custom, AShapeThatChangesItsMind) {
  auto probe = std::make_shared<Probe>();
  probe->on_shape = [](weir::OperatorNode& n) {
    n.set_output(0, WEIR_FLOAT32, {n.dim(0, 0), n.dim(0, 1).is_number() ? n.dim(0, 1) + 1 : n.dim(0, 1)});
  };
  EXPECT_THAT(running(probe), HasSubstr("Output (0) has the type (float32[1, "));  // at the compiler's sample
}

struct BadPlan {
  const char* name;
  weir::OperatorPlan plan;
  const char* message;
};

TEST_F(Custom, BadPlans) {
  constexpr int64_t kHuge = std::numeric_limits<int64_t>::max();
  const BadPlan cases[] = {
      {"negative workspace", {-1, 64, 0}, "asks for a workspace of (-1) and a scratch of (0) bytes"},
      {"negative scratch", {0, 64, -64}, "asks for a workspace of (0) and a scratch of (-64) bytes"},
      {"huge workspace", {kHuge, 64, 0}, "and (0 to 281474976710656) are allowed."},
      {"huge scratch", {0, 64, kHuge}, "and (0 to 281474976710656) are allowed."},
      {"odd alignment", {64, 48, 0}, "a workspace aligned to (48) bytes, and powers of two up to (4096)"},
      {"wide alignment", {64, 1 << 20, 0}, "a workspace aligned to (1048576) bytes"},
  };
  for (const BadPlan& bad : cases) {
    auto probe = std::make_shared<Probe>();
    probe->on_plan = [&bad](const auto&, const auto&) { return bad.plan; };
    EXPECT_THAT(opening(probe), AllOf(HasSubstr(bad.message), HasSubstr(kAbout))) << bad.name;
  }
  auto large = std::make_shared<Probe>();
  large->on_plan = [](const auto&, const auto&) { return weir::OperatorPlan{int64_t{1} << 45, 64, 0}; };
  EXPECT_THAT(running(large),
              HasSubstr("and 'arena of request 1 of custom' asks for (35184372088896) more."));
  auto throws = std::make_shared<Probe>();
  throws->on_plan = [](const auto&, const auto&) -> weir::OperatorPlan {
    throw std::runtime_error("No plan today.");
  };
  EXPECT_THAT(opening(throws), AllOf(HasSubstr("No plan today."), HasSubstr(kAbout)));
}

TEST_F(Custom, BadExtents) {
  auto probe = std::make_shared<Probe>();
  probe->on_extent = [](const auto&, const auto&, weir::OperatorExtent& extent) { extent.set_tiles(-3); };
  EXPECT_THAT(
      opening(probe),
      AllOf(HasSubstr("The extent function asks for (-3) tiles, and (0 to 1099511627776) are allowed."),
            HasSubstr(kAbout)));
  probe->on_extent = [](const auto&, const auto&, weir::OperatorExtent& extent) { extent.set_tiles(0); };
  EXPECT_THAT(opening(probe),
              HasSubstr("asks for (0) tiles, and there are outputs to write, so (1) is the least."));
}

TEST_F(Custom, ARunThatFailsFailsItsRequest) {
  auto probe = std::make_shared<Probe>();
  probe->on_run = [](const weir::OperatorCall& call) {
    if (call.input(0).as<float>()[0] < 0) {
      call.fail(WEIR_OUT_OF_RANGE, "The first element is negative.");
      return;
    }
    if (call.input(0).as<float>()[0] > 100) {
      throw std::runtime_error("The first element is large.");
    }
    Probe::add_one(call);
  };
  const weir::Runtime runtime(2);
  weir::register_operator(runtime, probe);
  const weir::Session session(runtime, weir::Device::cpu(runtime), write({}), uncached());
  const weir::Request request = session.request();
  request.prepare({{4, 3}});
  fill(request);
  request.input(0).as<float>()[0] = -1;
  try {
    request.run();
    FAIL() << "it ran";
  } catch (const weir::Error& error) {
    EXPECT_EQ(error.code(), WEIR_OUT_OF_RANGE);
    EXPECT_THAT(error.what(),
                AllOf(HasSubstr("Step (1) failed: The first element is negative."),
                      HasSubstr("while running step 'probe' (com.example.Probe), which reads 'xx'")));
  }
  EXPECT_NE(error_of([&] { request.output(0); }), "");
  request.input(0).as<float>()[0] = 200;
  EXPECT_THAT(error_of([&] { request.run(); }), HasSubstr("Step (1) failed: The first element is large."));
  request.input(0).as<float>()[0] = 0;
  request.run();
  EXPECT_EQ(output(request)[11], 23.0F);
}

// One that lies about its needs. What it writes lands in memory that is not its own, so this is only for
// validation.
class Lies : public Custom {
 protected:
  static std::shared_ptr<Probe> liar(std::function<void(const weir::OperatorCall&)> lie) {
    auto probe = std::make_shared<Probe>();
    probe->on_plan = [](const auto&, const auto&) { return weir::OperatorPlan{128, 64, 100}; };
    probe->on_extent = [](const auto&, const auto&, weir::OperatorExtent& extent) { extent.set_tiles(1); };
    probe->on_run = [lie = std::move(lie)](const weir::OperatorCall& call) {
      for (int64_t i = 0; i < call.input(0).element_count(); ++i) {
        call.output(0).as<float>()[i] = call.input(0).as<float>()[i] + 1;
      }
      lie(call);
    };
    return probe;
  }
};

TEST_F(Lies, TheTruthPasses) {
  EXPECT_EQ(running(liar([](const weir::OperatorCall& call) {
                      call.workspace<char>()[0] = call.workspace<char>()[127] = 1;
                      call.scratch<char>()[0] = call.scratch<char>()[99] = 1;
                    }),
                    {}, {3, 5}, true),
            "");
}

TEST_F(Lies, PastItsWorkspace) {
  EXPECT_THAT(running(liar([](const weir::OperatorCall& call) { call.workspace<char>()[130] ^= 1; }), {},
                      {3, 5}, true),
              AllOf(HasSubstr("Step (1), kernel 'custom:com.example.Probe', has changed byte ("),
                    HasSubstr("beside the ranges that it is bound to")));
}

TEST_F(Lies, PastItsOutput) {
  EXPECT_THAT(
      running(liar([](const weir::OperatorCall& call) { call.output(0).as<float>()[16] += 1; }), {}, {3, 5},
              true),
      AllOf(HasSubstr("Step (1), kernel 'custom:com.example.Probe', has changed byte ("),
            HasSubstr("of buffer 'output y of request 1 of custom', beside the ranges that it is bound to")));
}

TEST_F(Lies, PastItsScratch) {
  EXPECT_THAT(
      running(liar([](const weir::OperatorCall& call) { call.scratch<char>()[103] = 1; }), {}, {3, 5}, true),
      AllOf(HasSubstr(
          "Step (1), kernel 'custom:com.example.Probe', has written byte (103) of the scratch of participant "
          "(0), and it asked for (100) bytes.")));
  EXPECT_THAT(
      running(liar([](const weir::OperatorCall& call) { call.scratch<char>()[-1] = 1; }), {}, {3, 5}, true),
      HasSubstr("has written byte (-1) of the scratch of participant (0), before its first."));
}

// --- what cannot be registered

weir_status* registering(const std::function<void(weir_operator_desc&)>& change) {
  static const weir_operator_in_place kPair = {0, 5};
  const weir::Runtime runtime(1);
  weir_operator_desc desc = WEIR_INIT(weir_operator_desc);
  desc.domain = "com.example";
  desc.name = "Bad";
  desc.min_inputs = 1;
  desc.in_place = &kPair;
  desc.shape = [](void*, weir_node*) {};
  desc.run = [](const weir_operator_call*) {};
  change(desc);
  return weir_runtime_register_operator(runtime.get(), &desc);
}

std::string refused(const std::function<void(weir_operator_desc&)>& change) {
  weir_status* status = registering(change);
  std::string said = weir_status_text(status);
  weir_status_free(status);
  return said;
}

TEST(Registering, RefusesWhatIsWrong) {
  EXPECT_EQ(refused([](weir_operator_desc&) {}), "");
  EXPECT_THAT(
      refused([](weir_operator_desc& d) { d.name = nullptr; }),
      HasSubstr(
          "has a name of (0) and a domain of (11) bytes, and a name has (1 to 256), a domain (0 to 256)."));
  EXPECT_THAT(refused([](weir_operator_desc& d) { d.shape = nullptr; }),
              HasSubstr("Custom operator 'Bad' has no shape function, and it needs shape and run."));
  EXPECT_THAT(refused([](weir_operator_desc& d) { d.run = nullptr; }), HasSubstr("has no run function"));
  EXPECT_THAT(
      refused([](weir_operator_desc& d) { d.version = -1; }),
      HasSubstr("Custom operator 'Bad' has version (-1) and takes operator sets (0 to 0), and a version "
                "of at least (0) and ascending operator sets from (1) are allowed."));
  EXPECT_THAT(refused([](weir_operator_desc& d) { d.first_opset = 4, d.last_opset = 2; }),
              HasSubstr("takes operator sets (4 to 2)"));
  EXPECT_THAT(refused([](weir_operator_desc& d) { d.max_inputs = 24; }),
              HasSubstr("takes (1 to 24) inputs and gives (1 to 1) outputs, and ascending numbers, at least "
                        "one output and at most (24) of both together are allowed."));
  EXPECT_THAT(refused([](weir_operator_desc& d) { d.min_inputs = -1; }),
              HasSubstr("takes (-1 to -1) inputs"));
  EXPECT_THAT(refused([](weir_operator_desc& d) { d.layout = 7; }),
              HasSubstr("asks for layout (7), and the layouts are (0 to 2)."));
  EXPECT_THAT(refused([](weir_operator_desc& d) { d.in_place_count = 1; }),
              HasSubstr("pairs output (0) with input (5) in place, and has (1) outputs and (1) inputs."));
  EXPECT_THAT(refused([](weir_operator_desc& d) { d.in_place = nullptr, d.in_place_count = 2; }),
              HasSubstr("counts (2) in-place pairs and gives none."));
  weir_status* status = weir_runtime_register_operator(nullptr, nullptr);
  EXPECT_EQ(weir_status_code(status), WEIR_INVALID_ARGUMENT);
  weir_status_free(status);
}

TEST(Registering, ANameOnce) {
  const weir::Runtime runtime(1);
  weir::register_operator(runtime, std::make_shared<Probe>());
  auto again = std::make_shared<Probe>();
  const std::weak_ptr<Probe> watched = again;
  try {
    weir::register_operator(runtime, std::move(again));
    FAIL() << "it was registered";
  } catch (const weir::Error& error) {
    EXPECT_EQ(error.code(), WEIR_ALREADY_EXISTS);
    EXPECT_THAT(error.what(),
                HasSubstr("Custom operator com.example.Probe is registered already (version 1)"));
  }
  EXPECT_TRUE(watched.expired());  // released once, by the caller
}

TEST(Registering, Libraries) {
  const weir::Runtime runtime(1);
  const auto loading = [&](const std::string& path) {
    try {
      weir::load_operators(runtime, path);
    } catch (const weir::Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_THAT(loading("no/such/library.so"),
              HasSubstr("Library 'no/such/library.so' of custom operators cannot be opened: "));
  EXPECT_EQ(loading(WEIR_CLIP_LIBRARY), "");
  EXPECT_THAT(loading(WEIR_CLIP_LIBRARY),
              AllOf(HasSubstr("Custom operator com.example.TopPercentClip is registered already"),
                    HasSubstr("while registering the operators of '")));
  EXPECT_THAT(loading(WEIR_EMPTY_LIBRARY), HasSubstr("has no function 'weir_register_operators'"));
}

}  // namespace
}  // namespace custom_testing
