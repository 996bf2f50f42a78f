// SPDX-License-Identifier: Apache-2.0
//
// What to say about a model's outputs.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "tools/weir/io/npy.h"

namespace weir::cli {

struct Summary {
  double min = 0;
  double max = 0;
  double mean = 0;            // of the finite values, as min and max
  int64_t not_finite = 0;     // infinite, or no number
  std::vector<double> first;  // up to eight values
};
// Of any element type that a file can hold; half precision is widened.
Summary summarize(const Array& array);

// One label a line; a carriage return before the end of a line and empty lines at the end fall away.
Result<std::vector<std::string>> read_labels(const std::string& path);

struct Class {
  int64_t index = 0;
  std::string label;  // "" where there is none for the index
  double score = 0;   // probability
};
// How scores lie in an output: the first of two axes or more is the batch, and of the others at most one has
// an extent above 1. (A column of scores alone is one row.)
struct ClassRows {
  int64_t rows = 1;
  int64_t classes = 1;
};
Result<ClassRows> class_rows(std::span<const int64_t> shape);
// The `count` best classes of every row, best first. Scores of a row that are no distribution already (at
// least 0, with a sum of 1) become one by softmax.
Result<std::vector<std::vector<Class>>> classify(const Array& output, std::span<const std::string> labels,
                                                 int64_t count);

// Whether an output is tokens that embed() takes: float32 [batch, tokens, features].
Result<void> check_tokens(ElementType type, std::span<const int64_t> shape);
// One vector of unit length for each sequence: the mean over its tokens, of those that `mask` (int64 [batch,
// tokens], or null) lets through.
Result<std::vector<std::vector<float>>> embed(const Array& tokens, const Array* mask);

// `name` as a file name: what a path cannot hold becomes '_', and a length of 100 is kept.
std::string file_name_of(std::string_view name);

}  // namespace weir::cli
