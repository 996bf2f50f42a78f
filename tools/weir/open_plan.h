// SPDX-License-Identifier: Apache-2.0
//
// What `weir plan` reports of a program whose dimensions are open where no values are given: every block of
// memory with its bytes as an expression, and the ledger at the largest values where there are such.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "tools/weir/plan_report.h"

namespace weir::cli {

struct OpenPlan {
  struct Dimension {
    std::string name;
    std::string input;
    int64_t axis = 0;
    int64_t min = 0;
    std::optional<int64_t> max;
  };

  struct Block {
    std::string name;
    PlanReport::Kind kind = PlanReport::Kind::kActivation;
    std::string bytes;  // "4·batch·width"; empty: its implementation tells it for each shape
    int32_t first_step = 0;
    int32_t last_step = 0;
    int64_t weight = 0;  // its bytes at some shape, to sort by
  };

  // The plan where every dimension is the largest that it may be.
  struct Largest {
    std::vector<std::string> inputs;
    PlanReport::Ledger ledger;
  };

  std::string model;
  std::string device;
  std::vector<std::string> inputs;  // "x float32[batch, 3]"
  std::vector<Dimension> dimensions;
  int64_t constant_bytes = 0;
  std::vector<Block> blocks;  // all but constants
  size_t steps = 0;
  std::optional<Largest> largest;
  std::string values;                       // options that give values, as an example: "--dim batch=N"
  std::vector<PlanReport::Notice> notices;  // of no bytes, which depend on the shape
};

nlohmann::ordered_json to_json(const OpenPlan& plan);

// The largest blocks, or all.
std::string open_plan_text(const OpenPlan& plan, bool all_blocks);

}  // namespace weir::cli
