// SPDX-License-Identifier: Apache-2.0
//
// The heap loop (heap_loop.c) in C++17: constants once, a heap for the temporaries, a loop that allocates
// nothing, a clean-up that returns every byte.
#include <cstdio>

#include "base/allocation_window.h"
#include "weir/weir.hpp"

namespace {

constexpr int kElements = 4096;
constexpr int kFrames = 1000;
constexpr int64_t kBytes = kElements * sizeof(float);

template <typename Operation>
void elementwise(const weir_invocation* call, Operation operation) {
  const auto* a = static_cast<const float*>(call->bindings[0]);
  const auto* b = static_cast<const float*>(call->bindings[1]);
  auto* c = static_cast<float*>(call->bindings[2]);
  for (int64_t i = call->tile_begin; i < call->tile_end; ++i) {
    c[i] = operation(a[i], b[i]);
  }
}

weir_kernel_desc entry(const char* name, weir_kernel_function function) {
  weir_kernel_desc desc = WEIR_INIT(weir_kernel_desc);
  desc.name = name;
  desc.function = function;
  desc.bindings = 3;
  return desc;
}

int run() {
  const weir::Runtime runtime;
  const weir::Device device = weir::Device::cpu(runtime);
  double checksum = 0;
  weir_allocations allocations;
  {
    const auto buffer = [&](weir_category category, const char* label) {
      weir::BufferDesc desc;
      desc.size = kBytes;
      desc.category = category;
      desc.label = label;
      return device.buffer(desc);
    };
    const weir::Buffer w = buffer(WEIR_CONSTANTS, "w");
    const weir::Buffer b = buffer(WEIR_CONSTANTS, "b");
    for (int i = 0; i < kElements; ++i) {
      w.as<float>()[i] = 2;
      b.as<float>()[i] = static_cast<float>(-i);
    }
    const weir::Heap heap = device.heap(kBytes, "arena", WEIR_SHARED, WEIR_ACTIVATIONS);
    const weir::Buffer product = heap.buffer(0, kBytes, "product");
    const weir::Buffer x = buffer(WEIR_IO, "x");
    const weir::Buffer y = buffer(WEIR_IO, "y");

    const weir::Library library = device.library(
        {entry(
             "multiply",
             [](const weir_invocation* call) { elementwise(call, [](float a, float c) { return a * c; }); }),
         entry("add_relu",
               [](const weir_invocation* call) {
                 elementwise(call, [](float a, float c) { return a + c > 0 ? a + c : 0; });
               })},
        "heap_loop");
    weir::CommandBuffer commands = device.command_buffer();
    commands.kernel(library.kernel("multiply"))
        .bind(0, x.range(), WEIR_READ)
        .bind(1, w.range(), WEIR_READ)
        .bind(2, product.range(), WEIR_WRITE)
        .dispatch(kElements)
        .barrier()
        .kernel(library.kernel("add_relu"))
        .bind(0, product.range(), WEIR_READ)
        .bind(1, b.range(), WEIR_READ)
        .bind(2, y.range(), WEIR_WRITE)
        .dispatch(kElements);
    commands.seal();
    const weir::Queue queue = device.queue("frames");
    const weir::Event done = device.event("done");

    float* in = x.as<float>();
    const float* out = y.as<float>();
    weir_allocations_begin();
    for (int frame = 1; frame <= kFrames; ++frame) {
      for (int i = 0; i < kElements; ++i) {
        in[i] = static_cast<float>(frame);
      }
      const auto value = static_cast<uint64_t>(frame);
      queue.submit(commands, {}, {done.at(value)});
      done.wait(value);
      checksum += out[0] + out[2 * frame - 1] + out[2 * frame];
    }
    allocations = weir_allocations_end();
  }
  // out[0] = 2 frame, out[2 frame − 1] = 1, out[2 frame] = 0.
  const double expected = static_cast<double>(kFrames) * (kFrames + 1) + kFrames;
  std::printf("%d frames: %lld allocations%s, checksum %.0f of %.0f, left after clean-up %lld bytes\n",
              kFrames, static_cast<long long>(allocations.allocations),
              allocations.counted ? "" : " (not counted)", checksum, expected,
              static_cast<long long>(device.memory_in_use()));
  return checksum == expected && allocations.allocations == 0 && device.memory_in_use() == 0 ? 0 : 1;
}

}  // namespace

int main() {
  try {
    return run();
  } catch (const weir::Error& error) {
    std::fprintf(stderr, "heap_loop: %s\n", error.what());
    return 1;
  }
}
