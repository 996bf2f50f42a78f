// SPDX-License-Identifier: Apache-2.0
//
// Staged weights (staged_weights.c) in C++17: into Private memory by a blit, on a device that is far away in
// all but name.
#include <algorithm>
#include <cstdio>

#include "weir/weir.hpp"

namespace {

constexpr int kWeights = 100000;
constexpr int kBlock = 4096;
constexpr auto kFloat = static_cast<int64_t>(sizeof(float));

int run() {
  const weir::Runtime runtime;
  weir::DeviceOptions options;
  options.simulate_discrete = true;
  const weir::Device device = weir::Device::cpu(runtime, options);
  const auto buffer = [&](int64_t floats, weir_storage_mode mode, const char* label) {
    weir::BufferDesc desc;
    desc.size = floats * kFloat;
    desc.mode = mode;
    desc.label = label;
    return device.buffer(desc);
  };
  const weir::Buffer weights = buffer(kWeights, WEIR_PRIVATE, "weights");
  const weir::Buffer staging = buffer(kBlock, WEIR_SHARED, "staging");
  const weir::Buffer back = buffer(kWeights, WEIR_SHARED, "back");

  bool refused = false;
  try {
    weights.contents();
  } catch (const weir::Error& error) {
    refused = error.code() == WEIR_FAILED_PRECONDITION;
    std::printf("Asking for the contents: %s\n", error.what());
  }

  const weir::Queue queue = device.queue();
  weir::CommandBufferDesc desc;
  desc.slots = 1;
  weir::CommandBuffer blit = device.command_buffer(desc);
  blit.copy(staging.range(), weir::slot_range(0, 0, kBlock * kFloat));
  blit.seal();
  for (int begin = 0; begin < kWeights; begin += kBlock) {
    const int first = std::min(begin, kWeights - kBlock);
    float* block = staging.as<float>();
    for (int i = 0; i < kBlock; ++i) {
      block[i] = static_cast<float>((first + i) % 7);
    }
    blit.bind_slot(0, weights, first * kFloat);
    queue.submit(blit);
    blit.wait();
  }

  weir::CommandBuffer fetch = device.command_buffer();
  fetch.copy(weights.range(), back.range());
  fetch.seal();
  queue.submit(fetch);
  fetch.wait();
  const auto* values = static_cast<const float*>(back.read_contents());
  int wrong = 0;
  for (int i = 0; i < kWeights; ++i) {
    wrong += values[i] != static_cast<float>(i % 7) ? 1 : 0;
  }
  std::printf("%d weights staged and fetched back, %d of them wrong\n", kWeights, wrong);
  return refused && wrong == 0 ? 0 : 1;
}

}  // namespace

int main() {
  try {
    return run();
  } catch (const weir::Error& error) {
    std::fprintf(stderr, "staged_weights: %s\n", error.what());
    return 1;
  }
}
