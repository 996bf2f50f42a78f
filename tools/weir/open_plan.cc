// SPDX-License-Identifier: Apache-2.0
#include "tools/weir/open_plan.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>

#include "tools/weir/commands/output.h"
#include "tools/weir/commands/request_shape.h"

namespace weir::cli {
namespace {

using enum Table::Align;

constexpr size_t kShownBlocks = 20;

}  // namespace

nlohmann::ordered_json to_json(const OpenPlan& plan) {
  using nlohmann::ordered_json;
  ordered_json dimensions = ordered_json::array();
  for (const OpenPlan::Dimension& dimension : plan.dimensions) {
    dimensions.push_back({{"name", dimension.name},
                          {"input", dimension.input},
                          {"axis", dimension.axis},
                          {"min", dimension.min},
                          {"max", dimension.max ? ordered_json(*dimension.max) : ordered_json(nullptr)}});
  }
  ordered_json blocks = ordered_json::array();
  for (const OpenPlan::Block& block : plan.blocks) {
    blocks.push_back({{"name", block.name},
                      {"kind", to_string(block.kind)},
                      {"bytes", block.bytes.empty() ? ordered_json(nullptr) : ordered_json(block.bytes)},
                      {"first_step", block.first_step},
                      {"last_step", block.last_step}});
  }
  ordered_json largest = nullptr;
  if (plan.largest) {
    largest = {{"inputs", plan.largest->inputs}, {"planned", to_json(plan.largest->ledger)}};
  }
  return {{"model", plan.model},
          {"device", plan.device},
          {"inputs", plan.inputs},
          {"open_dimensions", std::move(dimensions)},
          {"constants", plan.constant_bytes},
          {"blocks", std::move(blocks)},
          {"largest", std::move(largest)},
          {"notices", to_json(plan.notices)}};
}

std::string open_plan_text(const OpenPlan& plan, bool all_blocks) {
  std::string text =
      fmt::format("Memory of '{}' on {}\nfor {}\n\n", plan.model, plan.device, fmt::join(plan.inputs, ", "));
  text += "Open dimensions:\n";
  Table dimensions({kLeft, kLeft, kLeft});
  for (const OpenPlan::Dimension& dimension : plan.dimensions) {
    dimensions.add_row({dimension.name, range_text({dimension.min, dimension.max.value_or(kDimMax)}),
                        fmt::format("axis {} of input '{}'", dimension.axis, dimension.input)});
  }
  text += dimensions.to_string();
  text +=
      fmt::format("Give them values for a plan to the byte: weir plan {} {}\n\n", plan.model, plan.values);

  std::vector<const OpenPlan::Block*> shown;
  for (const OpenPlan::Block& block : plan.blocks) {
    shown.push_back(&block);
  }
  const size_t count = shown.size();
  if (!all_blocks) {
    std::ranges::stable_sort(shown, std::greater{}, &OpenPlan::Block::weight);
    shown.resize(std::min(count, kShownBlocks));
  }
  text += fmt::format(
      "Constants take {}. What depends on the shape, in bytes{}:\n", format_bytes(plan.constant_bytes),
      shown.size() < count ? fmt::format(", the largest {} of {} (all: --blocks)", kShownBlocks, count) : "");
  Table blocks({kLeft, kLeft, kLeft, kLeft});
  for (const OpenPlan::Block* block : shown) {
    blocks.add_row({std::string(to_string(block->kind)),
                    fmt::format("steps {}–{}", block->first_step, block->last_step), block->name,
                    block->bytes.empty() ? "as the kernel of its step needs" : block->bytes});
  }
  text += blocks.to_string();

  if (plan.largest) {
    text += fmt::format("\nAt the largest values, {}:\n", fmt::join(plan.largest->inputs, ", "));
    text += ledger_text(plan.largest->ledger, nullptr);
  }
  return text + notices_text(plan.notices);
}

}  // namespace weir::cli
