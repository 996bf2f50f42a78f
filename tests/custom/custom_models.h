// SPDX-License-Identifier: Apache-2.0
//
// Models with a node of a custom operator. Apart from the tests, which see the public headers only.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "weir/weir.h"

namespace custom_models {

// y, extra1, … = relu?(op(x + x, constant?)), of float32 x.
struct Model {
  std::string domain = "com.example";
  std::string op = "Probe";
  int64_t opset = 1;                              // of the domain; 0: the model does not name one
  std::vector<std::string> dims = {"rows", "n"};  // numbers or names
  bool doubled = true;                            // the operator reads x + x rather than x
  bool relu = false;                              // of the first output
  int outputs = 1;
  bool absent_input = false;  // the second of three inputs, of which the third is a constant
  bool transposed = false;    // the operator reads the transpose of x + x
  std::vector<std::pair<std::string, int64_t>> integers;
  std::vector<std::pair<std::string, float>> reals;
  std::vector<std::pair<std::string, std::string>> texts;
  bool all_kinds = false;  // one attribute of every kind: i, f, s, is, fs, t
  bool graph_attribute = false;
};

void write(const Model& model, const std::string& path);

// Compiles the model to a program file with the operators of `runtime`; "" or what went wrong.
std::string compile(const std::string& model, const std::string& program, const weir_runtime* runtime);

}  // namespace custom_models
