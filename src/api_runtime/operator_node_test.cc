// SPDX-License-Identifier: Apache-2.0
//
// What a custom operator does wrong with its node, by itself; with models and requests it is tested in
// tests/custom.
#include "api_runtime/operator_node.h"

#include <gtest/gtest.h>

#include <functional>

namespace weir {
namespace {

std::string mistake_of(const std::function<void(weir_node*)>& action, bool asks_shape = true) {
  CustomAttributes attributes;
  CustomAttribute size;
  size.name = "size";
  size.kind = CustomAttribute::Kind::kInteger;
  size.integers = {3};
  attributes.attributes = {size};
  const TensorType type{ElementType::kFloat32, {Dim(2), Dim(3)}, {}};
  const std::vector<const TensorType*> inputs = {&type, nullptr};
  weir_node node;
  node.attributes = &attributes;
  node.asks_shape = asks_shape;
  node.inputs = inputs;
  node.outputs.resize(1);
  action(&node);
  return node.mistake ? node.mistake->to_string() : "none";
}

TEST(OperatorNode, NamesTheFirstMistake) {
  const auto two = [](weir_node* n) { return weir_dim_number(n, 2); };
  struct Case {
    std::function<void(weir_node*)> action;
    std::string mistake;
  };
  const std::vector<Case> cases = {
      {[](weir_node* n) { weir_node_fail(n, "It is too wide."); }, "It is too wide."},
      {[](weir_node* n) { weir_node_fail(n, nullptr); }, "The operator gives no reason."},
      {[](weir_node* n) { weir_node_fail(n, ""); }, "The operator gives no reason."},
      {[](weir_node* n) { weir_node_real(n, "size", 0); },
       "Attribute 'size' is an integer, and the operator takes a real number."},
      {[&](weir_node* n) { weir_dim_add(n, two(n), nullptr); },
       "Function 'weir_dim_add' was given no dimension where it needs one."},
      {[&](weir_node* n) { weir_dim_modulo(n, nullptr, two(n)); },
       "Function 'weir_dim_modulo' was given no dimension where it needs one."},
      {[&](weir_node* n) { weir_dim_floor_divide(n, two(n), nullptr); },
       "Function 'weir_dim_floor_divide' was given no dimension where it needs one."},
      {[&](weir_node* n) { weir_dim_ceil_divide(n, two(n), weir_dim_number(n, 0)); },
       "Function 'weir_dim_ceil_divide' divides by (0), which may be less than (1)."},
      {[&](weir_node* n) { weir_node_require_equal(n, two(n), two(n), nullptr); },
       "Function 'weir_node_require_equal' was given a null argument where it needs a dimension or a text."},
      {[&](weir_node* n) {
         weir_node_require_at_least(n, two(n), weir_dim_number(n, 3), "three rows or more");
       },
       "The operator needs three rows or more, and has (2) and (3)."},
      {[](weir_node* n) { weir_node_input_dim(n, 1, 0); },
       "The shape function asks for axis (0) of input (1), which is absent."},
      {[](weir_node* n) { weir_node_input_dim(n, 0, 2); },
       "The shape function asks for axis (2) of input (0), which has rank (2)."},
      {[](weir_node* n) { weir_node_set_output_like(n, 1, 0); },
       "The shape function sets output (1), and the node has (1)."},
      {[](weir_node* n) { weir_node_set_output_like(n, 0, 1); },
       "The shape function gives output (0) the type of input (1), which is absent."},
      {[](weir_node* n) { weir_node_set_output(n, 0, 99, 1, nullptr); },
       "The shape function gives output (0) the element type (99) and the rank (1), and takes a valid type, "
       "and a "
       "rank from (0) to (8) with an array of dimensions."},
      {[](weir_node* n) {
         const weir_dim* none = nullptr;
         weir_node_set_output(n, 0, WEIR_FLOAT32, 1, &none);
       },
       "The shape function gives axis (0) of output (0) no dimension."},
      {[](weir_node* n) {
         weir_node_set_output_like(n, 5, 0);
         weir_node_fail(n, "It is too late.");
       },
       "The shape function sets output (5), and the node has (1)."},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(mistake_of(c.action), c.mistake);
  }
}

TEST(OperatorNode, HasShapesInTheShapeFunctionAlone) {
  const Dim two(2);
  const weir_dim* dim = api::dim_handle(&two);
  struct Case {
    const char* function;
    std::function<void(weir_node*)> call;
  };
  const std::vector<Case> cases = {
      {"weir_node_input_dim", [](weir_node* n) { weir_node_input_dim(n, 0, 0); }},
      {"weir_dim_number", [](weir_node* n) { weir_dim_number(n, 2); }},
      {"weir_dim_add", [&](weir_node* n) { weir_dim_add(n, dim, dim); }},
      {"weir_dim_floor_divide", [&](weir_node* n) { weir_dim_floor_divide(n, dim, dim); }},
      {"weir_node_require_equal", [&](weir_node* n) { weir_node_require_equal(n, dim, dim, "two"); }},
      {"weir_node_set_output", [](weir_node* n) { weir_node_set_output(n, 0, WEIR_FLOAT32, 0, nullptr); }},
      {"weir_node_set_output_like", [](weir_node* n) { weir_node_set_output_like(n, 0, 0); }},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(mistake_of(c.call, false),
              fmt::format("Function '{}' is called outside the shape function, where it has no meaning.",
                          c.function));
  }
}

}  // namespace
}  // namespace weir
