// SPDX-License-Identifier: Apache-2.0
#include "program/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "base/testing/results.h"
#include "program/testing/sample_programs.h"

namespace weir {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

const TensorReport& line(const ProgramReport& report, std::string_view name) {
  for (const TensorReport& tensor : report.tensors) {
    if (tensor.name == name) {
      return tensor;
    }
  }
  ADD_FAILURE() << name;
  return report.tensors.front();
}

std::vector<std::string> names(const ProgramReport& report, const std::vector<int32_t>& lines) {
  std::vector<std::string> names;
  for (const int32_t position : lines) {
    names.push_back(report.tensors[static_cast<size_t>(position)].name);
  }
  return names;
}

std::string owner(const ProgramReport& report, const TensorReport& tensor) {
  return tensor.alias_of < 0 ? "" : report.tensors[static_cast<size_t>(tensor.alias_of)].name;
}

TEST(Report, ListsAStaticProgram) {
  const Result<ProgramReport> r = report(samples::static_program(), {});
  ASSERT_TRUE(r) << r.error().to_string();
  EXPECT_EQ(r->name, "sample");
  EXPECT_EQ(r->target, "x86-64");
  EXPECT_EQ(r->peak_bytes, 2432);
  EXPECT_EQ(r->sum_bytes, 3 * 1152 + 128);  // each rounded up to 64 bytes
  EXPECT_EQ(r->lower_bound_bytes, 2304);
  EXPECT_EQ(r->unfused_bound_bytes, 3456);
  EXPECT_TRUE(r->workspaces_known);
  EXPECT_EQ(r->totals.constant, 288);
  EXPECT_EQ(r->totals.prepared, 64);
  EXPECT_EQ(r->totals.input, 576);
  EXPECT_EQ(r->totals.output, 2304 + 2048);
  EXPECT_EQ(r->totals.state, 128);
  ASSERT_EQ(r->states.size(), 1u);
  EXPECT_EQ(r->states[0].name, "state");
  EXPECT_EQ(r->states[0].output, "next");
  EXPECT_EQ(r->states[0].bytes, 4);
  EXPECT_EQ(r->tensors[static_cast<size_t>(r->states[0].before)].name, "state");
  EXPECT_EQ(r->tensors[static_cast<size_t>(r->states[0].after)].name, "next");
  EXPECT_EQ(r->tensors[static_cast<size_t>(r->states[0].after)].kind, StorageKind::kState);
  EXPECT_EQ(r->totals.activation, 2432);
  EXPECT_EQ(r->totals.workspace, 0);
  ASSERT_EQ(r->tensors.size(), 14u);  // 12 storages and 2 further views

  const TensorReport& a = line(*r, "a");
  EXPECT_EQ(a.kind, StorageKind::kActivation);
  EXPECT_EQ(a.storage, 3);
  EXPECT_EQ(a.offset, 0);
  EXPECT_EQ(a.bytes, 1152);
  EXPECT_EQ(a.first_step, 0);
  EXPECT_EQ(a.last_step, 2);
  EXPECT_EQ(a.alias_of, -1);
  EXPECT_EQ(line(*r, "s").offset, 1280);
  const TensorReport& flipped = line(*r, "flipped");
  EXPECT_EQ(owner(*r, flipped), "s");
  EXPECT_EQ(flipped.bytes, 1152);
  EXPECT_EQ(flipped.offset, 1280);  // its first element is the last row's, the least touched is 0
  EXPECT_EQ(owner(*r, line(*r, "ones")), "one");
  EXPECT_EQ(line(*r, "ones").bytes, 4);
  const TensorReport& workspace = line(*r, "workspace of conv");
  EXPECT_EQ(workspace.kind, StorageKind::kWorkspace);
  EXPECT_EQ(workspace.bytes, 100);
  EXPECT_EQ(workspace.offset, 1152);
  const TensorReport& w = line(*r, "w");
  EXPECT_EQ(w.kind, StorageKind::kConstant);
  EXPECT_EQ(w.bytes, 256);
  EXPECT_EQ(w.offset, 0);
  EXPECT_EQ(line(*r, "y").offset, -1);

  ASSERT_EQ(r->steps.size(), 6u);
  EXPECT_EQ(r->steps[0].name, "conv");
  EXPECT_EQ(r->steps[0].origin, "Conv+Relu");
  EXPECT_EQ(r->steps[0].op, "Conv");
  EXPECT_THAT(names(*r, r->steps[0].reads), ElementsAre("x", "w", "bias"));
  EXPECT_THAT(names(*r, r->steps[0].writes), ElementsAre("a"));
  EXPECT_THAT(r->steps[0].implementations, ElementsAre("conv.pointwise.avx512", "conv.pointwise.avx2"));
  EXPECT_EQ(r->steps[0].workspace_bytes, 100);
  ASSERT_EQ(r->steps[0].refused.size(), 1u);
  EXPECT_EQ(r->steps[0].refused[0].reason, "group (1) is not the channels");
  EXPECT_EQ(r->steps[1].workspace_bytes, 0);
  ASSERT_EQ(r->prepare_steps.size(), 1u);
  EXPECT_TRUE(r->prepare_steps[0].reference);
  EXPECT_THAT(r->prepare_steps[0].reads, IsEmpty());
  ASSERT_EQ(r->notices.size(), 2u);
  EXPECT_EQ(r->notices[0].kind, NoticeKind::kCost);
  EXPECT_EQ(r->notices[0].what, "copy");
  EXPECT_EQ(r->notices[0].bytes, 2304);
  EXPECT_EQ(r->notices[1].bytes, -1);
}

TEST(Report, PlacesADynamicProgram) {
  const Program program = samples::dynamic_program();
  const std::vector<int64_t> shape = {3, 5};
  std::vector<int64_t> sizes(program.storages.size(), 0);
  sizes[4] = 1000;
  const Result<ProgramReport> r = report(program, shape, {.storage_bytes = sizes});
  ASSERT_TRUE(r) << r.error().to_string();
  EXPECT_TRUE(r->workspaces_known);
  EXPECT_EQ(r->peak_bytes, 128 + 1024);
  EXPECT_EQ(r->lower_bound_bytes, 128 + 1024);
  EXPECT_EQ(r->sum_bytes, 128 + 1024);
  EXPECT_EQ(r->totals.activation, 128);
  EXPECT_EQ(r->totals.workspace, 1024);
  EXPECT_EQ(r->totals.input, 64 + 64);
  EXPECT_EQ(r->totals.output, 512);
  EXPECT_EQ(line(*r, "a").offset, 0);
  EXPECT_EQ(line(*r, "workspace of product").offset, 128);
  EXPECT_EQ(line(*r, "workspace of product").bytes, 1000);
  EXPECT_EQ(owner(*r, line(*r, "a.repeated")), "a");
  EXPECT_EQ(r->notices[0].bytes, 480);
  EXPECT_THAT(names(*r, r->steps[0].reads), ElementsAre("x", "w"));  // the bias is absent

  // As a session placed it, which may differ from the program's order.
  std::vector<int64_t> offsets(program.storages.size(), -1);
  offsets[3] = 1024;
  offsets[4] = 0;
  const Result<ProgramReport> session =
      report(program, shape, {.storage_bytes = sizes, .storage_offset = offsets, .arena_bytes = 1200});
  ASSERT_TRUE(session);
  EXPECT_EQ(session->peak_bytes, 1200);
  EXPECT_EQ(session->totals.workspace, 1200 - 128);
  EXPECT_EQ(line(*session, "a").offset, 1024);
  EXPECT_EQ(line(*session, "workspace of product").offset, 0);

  const Result<ProgramReport> unsized = report(program, shape);
  ASSERT_TRUE(unsized);
  EXPECT_FALSE(unsized->workspaces_known);
  EXPECT_EQ(unsized->peak_bytes, 128);
  EXPECT_EQ(unsized->totals.workspace, 0);
}

TEST(Report, RefusesShapesAndSizesThatDoNotFit) {
  const Program program = samples::dynamic_program();
  const Result<ProgramReport> shape = report(program, std::vector<int64_t>{65, 5});
  ASSERT_FALSE(shape);
  EXPECT_EQ(shape.error().message(), "Symbol 'batch' has the value (65), and (1) to (64) are allowed.");
  const Result<ProgramReport> sizes =
      report(program, std::vector<int64_t>{3, 5}, {.storage_bytes = std::vector<int64_t>{1}});
  ASSERT_FALSE(sizes);
  EXPECT_EQ(sizes.error().message(),
            "There are (1) sizes or offsets of storages, and the program has (6) storages.");
  // As many bytes as 64 bits count, but not in blocks of 64.
  const int64_t most = std::numeric_limits<int64_t>::max() - kStorageAlignment;
  std::vector<int64_t> bytes(program.storages.size(), 0);
  bytes[4] = most - 100;
  EXPECT_ERROR(report(program, std::vector<int64_t>{3, 5}, {.storage_bytes = bytes}), StatusCode::kOutOfRange,
               "The sum of (128) and (9223372036854775680) does not fit in 64 bits.\n  - while adding up the "
               "arena's storages");
  bytes[4] = most + 1;
  EXPECT_ERROR(
      report(program, std::vector<int64_t>{3, 5}, {.storage_bytes = bytes}), StatusCode::kOutOfRange,
      "Storage (4), workspace, has (9223372036854775744) bytes, and (0) to 2^63 less (64) are allowed.");
}

}  // namespace
}  // namespace weir
