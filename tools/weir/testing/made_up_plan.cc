// SPDX-License-Identifier: Apache-2.0
#include "tools/weir/testing/made_up_plan.h"

#include <algorithm>
#include <array>
#include <string>

#include "base/alignment.h"
#include "base/checked.h"
#include "plan/placement.h"

namespace weir::cli {
namespace {

class Maker {
 public:
  int32_t tensor(std::string name, int64_t bytes, PlanReport::Kind kind = PlanReport::Kind::kActivation,
                 int32_t alias_of = -1) {
    const int32_t now = static_cast<int32_t>(report_.steps.size());
    report_.tensors.push_back({std::move(name), -1, bytes, now, now, kind, alias_of});
    return static_cast<int32_t>(report_.tensors.size()) - 1;
  }

  // Lives from the step that writes it to the last that reads it; so does what it shares its bytes with.
  void step(std::string name, std::string op, std::string implementation, std::vector<int32_t> reads,
            std::vector<int32_t> writes, std::vector<PlanReport::Refusal> refused = {}) {
    const int32_t now = static_cast<int32_t>(report_.steps.size());
    for (int32_t index : reads) {
      while (index >= 0) {
        PlanReport::Tensor& tensor = report_.tensors[static_cast<size_t>(index)];
        tensor.last_step = now;
        index = tensor.alias_of;
      }
    }
    report_.steps.push_back({std::move(name), std::move(op), std::move(implementation), std::move(reads),
                             std::move(writes), std::move(refused)});
  }

  PlanReport finish(int64_t constants) {
    std::vector<Block> blocks;
    std::vector<size_t> placed;
    std::vector<Block> activations;
    for (size_t i = 0; i < report_.tensors.size(); ++i) {
      const PlanReport::Tensor& tensor = report_.tensors[i];
      const bool arena =
          tensor.kind == PlanReport::Kind::kActivation || tensor.kind == PlanReport::Kind::kWorkspace;
      if (!arena || tensor.alias_of >= 0) continue;
      blocks.push_back({tensor.bytes, tensor.first_step, tensor.last_step});
      if (tensor.kind == PlanReport::Kind::kActivation) activations.push_back(blocks.back());
      placed.push_back(i);
      report_.sum_bytes += align_up(tensor.bytes, kStorageAlignment);
    }
    const Placement placement = place(blocks);
    for (size_t i = 0; i < placed.size(); ++i) report_.tensors[placed[i]].offset = placement.offsets[i];
    for (PlanReport::Tensor& tensor : report_.tensors) {
      if (tensor.alias_of >= 0) tensor.offset = report_.tensors[static_cast<size_t>(tensor.alias_of)].offset;
    }
    report_.peak_bytes = placement.peak;
    report_.lower_bound_bytes = lower_bound(blocks);
    report_.unfused_bound_bytes = report_.lower_bound_bytes * 5 / 4;
    report_.ledger.constants = constants;
    report_.ledger.activations = place(activations).peak;
    report_.ledger.workspace = std::max<int64_t>(0, report_.peak_bytes - report_.ledger.activations);
    report_.ledger.scratch = 2 * 393216;
    report_.ledger.io = 3 * 736 * 1472 * 4 + 736 * 1472 * 4;
    report_.ledger.host = 214016;
    const PlanReport::Ledger& l = report_.ledger;
    report_.ledger.total = l.constants + l.activations + l.workspace + l.scratch + l.io + l.state + l.host;
    report_.file_bytes = constants + 161234;
    return std::move(report_);
  }

  PlanReport& report() { return report_; }

 private:
  PlanReport report_;
};

}  // namespace

PlanReport made_up_plan(int32_t blocks) {
  Maker maker;
  maker.report().model = "made-up <detector> & \"friends\".onnx";
  maker.report().device = "cpu, avx512, 2 threads";
  const int32_t image = maker.tensor("image", int64_t{3} * 736 * 1472 * 4, PlanReport::Kind::kInput);
  int64_t height = 368;
  int64_t width = 736;
  int64_t channels = 24;
  int64_t constants = 0;
  const auto bytes = [&](int64_t c) { return c * height * width * 4; };
  int32_t current = maker.tensor("stem/conv_output", bytes(channels));
  maker.step("stem/conv", "conv", "conv.direct.avx512", {image}, {current});
  std::vector<int32_t> pyramid;
  for (int32_t block = 0; block < blocks; ++block) {
    const std::string name =
        "stage" + std::to_string(block * 4 / std::max(blocks, 1)) + "/block" + std::to_string(block);
    if (block > 0 && block % std::max(blocks / 4, 1) == 0) {
      pyramid.push_back(current);
      height /= 2;
      width /= 2;
      channels = channels * 5 / 3;
      const int32_t down = maker.tensor(name + "/down_output", bytes(channels));
      maker.step(name + "/down", "conv", "conv.direct.avx512", {current}, {down},
                 {{"conv.pointwise.avx512", "the kernel (3 x 3) is not (1 x 1)"}});
      current = down;
    }
    const int32_t wide = maker.tensor(name + "/expand_output", bytes(channels * 3));
    maker.step(name + "/expand", "conv", "conv.pointwise.avx512", {current}, {wide});
    const int32_t deep = maker.tensor(name + "/depthwise_output", bytes(channels * 3));
    maker.step(name + "/depthwise", "conv", "conv.depthwise.avx512", {wide}, {deep});
    if (block % 3 == 2) {
      const int32_t pooled = maker.tensor(name + "/pooled", channels * 3 * 4);
      const int32_t work =
          maker.tensor(name + "/pool_workspace", channels * 3 * 4 * 96, PlanReport::Kind::kWorkspace);
      maker.step(name + "/squeeze", "reduce", "reduce.mean.avx512", {deep}, {pooled, work});
      const int32_t scaled =
          maker.tensor(name + "/excite_output", bytes(channels * 3), PlanReport::Kind::kActivation, deep);
      maker.step(name + "/excite", "mul", "tile.avx512", {deep, pooled}, {scaled});
      maker.report().tensors[static_cast<size_t>(deep)].last_step =
          static_cast<int32_t>(maker.report().steps.size());
      const int32_t out = maker.tensor(name + "/project_output", bytes(channels));
      maker.step(name + "/project", "conv", "conv.pointwise.avx512", {scaled, current}, {out});
      current = out;
    } else {
      const int32_t out = maker.tensor(name + "/project_output", bytes(channels));
      maker.step(name + "/project", "conv", "conv.pointwise.avx512", {deep, current}, {out});
      current = out;
    }
    constants += channels * channels * 6 * 4 + channels * 27 * 4;
  }
  for (size_t i = pyramid.size(); i-- > 0;) {
    const std::string name = "neck/level" + std::to_string(i);
    const PlanReport::Tensor& side = maker.report().tensors[static_cast<size_t>(pyramid[i])];
    const int64_t side_bytes = side.bytes;
    const int32_t up = maker.tensor(name + "/up", side_bytes);
    maker.step(name + "/resize", "resize", "reference", {current}, {up},
               {{"resize.nearest.avx512", "the mode (linear) is not (nearest)"}});
    const int32_t sum = maker.tensor(name + "/sum", side_bytes, PlanReport::Kind::kActivation, up);
    maker.step(name + "/add", "add", "tile.avx512", {up, pyramid[i]}, {sum});
    current = sum;
  }
  const int32_t output = maker.tensor("probability", 736 * 1472 * 4, PlanReport::Kind::kOutput);
  maker.step("head/sigmoid", "conv", "conv.transposed.avx512", {current}, {output});
  maker.report().notices = {{"cost", "reference", int64_t{736} * 1472,
                             "step 'neck/level2/resize' runs on the reference: no resize.linear for avx512"},
                            {"info", "alignment", 4096, "98 tensors are rounded up to 64 bytes"}};
  return maker.finish(constants);
}

}  // namespace weir::cli
