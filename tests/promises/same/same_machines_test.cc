// SPDX-License-Identifier: Apache-2.0
//
// Same: machines of one instruction set give the same bits, whoever made them. The hashes below were written
// down on one machine; another processor, compiler or C library finds them again. They change only where a
// kernel, a pass or a packing changes what it computes: then the test prints the new ones.
//
// The reference implementations are left out: they call the C library's functions, which differ by version.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "base/hash.h"
#include "compile/testing/sample_networks.h"

namespace weir::promises {
namespace {

struct Network {
  const char* name;
  Graph (*make)();
  std::vector<int64_t> shape;
  const char* hashes[3];  // of the outputs' bytes: SSE4, AVX2, AVX-512
};

// PrintTo() for the names of cases.
void PrintTo(const Network& network, std::ostream* stream) {
  *stream << network.name;
}

const Network kNetworks[] = {
    {"convolutional",
     [] { return testing::convolutional_network(false); },
     {1, 3, 18, 23},
     {"bc431f1768d0b93332d804e1b2a0aefa", "da01e28c0357cb7bb541b44ecc31b5a7",
      "0a3b45fda528624d30b999fdbdba2efa"}},
    {"attention",
     testing::attention_network,
     {2, 19, 24},
     {"d6086069d1022b848048f52c4cc2854a", "f4273996428d6a344a7176ffe324fb9c",
      "d48ba90e4de74bf77b050351cde958b8"}},
    {"wide",
     testing::wide_network,
     {1, 3, 40, 36},
     {"101d63de34e8cc67d9e70d8252c4ff9e", "0e3f7970397d91afb1c6290d7bc5f3d6",
      "0e3f7970397d91afb1c6290d7bc5f3d6"}},
    {"recurrent",
     testing::recurrent_network,
     {9, 2, 13},
     {"74ca489d92f1303d50fba833c544886f", "a70a0296356cc525448b6cebb6454999",
      "e52addb86596ff336c1f4263a7d04838"}},
};

class SameMachines : public ::testing::TestWithParam<Network> {};

TEST_P(SameMachines, OfOneInstructionSetGiveTheSameBits) {
  const Network& network = GetParam();
  for (int level = 0; level <= static_cast<int>(detect_isa()); ++level) {
    const Ref<Session> session = testing::load(network.make(), {}, testing::cpu(2), static_cast<Isa>(level));
    EXPECT_TRUE(std::ranges::none_of(session->program().steps, &Step::reference));
    const Ref<Request> request = *session->create_request({});
    const std::vector<std::vector<int64_t>> shapes = {network.shape};
    ASSERT_TRUE(request->prepare(shapes));
    const TensorView input = *request->input(0);
    uint32_t state = 12345;
    for (int64_t i = 0; i < input.element_count(); ++i) {
      state = state * 1664525 + 1013904223;
      input.as<float>()[i] =
          static_cast<float>(static_cast<int32_t>(state >> 16) - 32768) / 16384;  // [-2, 2)
    }
    ASSERT_TRUE(request->run());
    Hasher hasher;
    for (size_t i = 0; i < session->program().outputs.size(); ++i) {
      const TensorView output = *request->output(static_cast<int32_t>(i));
      hasher.update(
          std::as_bytes(std::span(output.as<float>(), static_cast<size_t>(output.element_count()))));
    }
    EXPECT_EQ(hasher.finish().to_string(), network.hashes[level]) << to_string(static_cast<Isa>(level));
  }
}

std::string name_of(const ::testing::TestParamInfo<Network>& info) {
  return info.param.name;
}

INSTANTIATE_TEST_SUITE_P(All, SameMachines, ::testing::ValuesIn(kNetworks), name_of);

}  // namespace
}  // namespace weir::promises
