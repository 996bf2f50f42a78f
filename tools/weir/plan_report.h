// SPDX-License-Identifier: Apache-2.0
//
// What `weir plan` reports, as a plain structure: filled from a session and its program, and turned into text
// (plan_text), JSON (to_json) or a drawing (plan_html.h).
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace weir::cli {

struct PlanReport {
  // Bytes a line; total is their sum.
  struct Ledger {
    int64_t constants = 0;
    int64_t activations = 0;
    int64_t workspace = 0;
    int64_t scratch = 0;
    int64_t io = 0;
    int64_t state = 0;
    int64_t host = 0;
    int64_t total = 0;
  };

  enum class Kind : uint8_t {
    kActivation,
    kWorkspace,
    kInput,
    kOutput,
    kConstant,
    kPrepared,
    kState,
    kPacked
  };

  struct Tensor {
    std::string name;
    int64_t offset = -1;  // in the arena; −1: it does not lie there, and is not drawn
    int64_t bytes = 0;
    int32_t first_step = 0;  // inclusive
    int32_t last_step = 0;
    Kind kind = Kind::kActivation;
    int32_t alias_of = -1;  // the tensor whose bytes it shares; −1: its own
  };

  struct Refusal {
    std::string name;
    std::string reason;
  };

  struct Step {
    std::string name;
    std::string op;
    std::string implementation;
    std::vector<int32_t> reads;  // positions in `tensors`
    std::vector<int32_t> writes;
    std::vector<Refusal> refused;  // implementations before the one that was taken
  };

  struct State {
    std::string name;
    std::string output;   // that it is fed from
    int64_t bytes = 0;    // of one of its two tensors
    int32_t before = -1;  // positions in `tensors`
    int32_t after = -1;
  };

  struct Notice {
    std::string kind;  // "cost" or "info"
    std::string what;
    int64_t bytes = 0;
    std::string reason;
  };

  std::string model;                // what the report is about: a file's name
  std::string device;               // where: "cpu, avx512, 2 threads"
  std::vector<std::string> inputs;  // what it is planned for: "x float32[1, 16]"
  Ledger ledger;
  std::optional<Ledger> counted;    // by a request that was prepared
  int64_t sum_bytes = 0;            // of all blocks of the arena, each in memory of its own
  int64_t peak_bytes = 0;           // of the arena as placed
  int64_t lower_bound_bytes = 0;    // no placement for this order of steps is smaller
  int64_t unfused_bound_bytes = 0;  // the same for the graph before fusion and in-place; −1 unknown
  int64_t file_bytes = 0;           // of the compiled program's file
  std::vector<Tensor> tensors;
  std::vector<Step> steps;
  std::vector<State> states;
  std::vector<Notice> notices;
};

std::string_view to_string(PlanReport::Kind kind);

nlohmann::ordered_json to_json(const PlanReport& report);
nlohmann::ordered_json to_json(const PlanReport::Ledger& ledger);
nlohmann::ordered_json to_json(const std::vector<PlanReport::Notice>& notices);

// For a terminal: ledger, bounds, the largest tensors where memory is fullest, notices. `with_blocks`: also
// every block of the arena with its place.
std::string plan_text(const PlanReport& report, bool with_blocks);

// The error where what was counted is not what was planned.
Result<void> check_counted(const PlanReport& report);

// A line each, and the total; what was counted beside it where it is not null.
std::string ledger_text(const PlanReport::Ledger& ledger, const PlanReport::Ledger* counted);
std::string notices_text(const std::vector<PlanReport::Notice>& notices);

}  // namespace weir::cli
