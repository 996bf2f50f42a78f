// SPDX-License-Identifier: Apache-2.0
//
// What a submission and a dispatch cost beside the kernel: 60 dispatches of 16 tiles with a barrier after
// each. `work` is a tile's own loop count, so that the difference to one thread shows how well the rest
// overlaps.
#include <benchmark/benchmark.h>

#include "hal/cpu/cpu_device.h"

namespace weir {
namespace {

constexpr int kDispatches = 60;

void spin(const CpuInvocation& invocation) {
  const auto work = invocation.constants_as<int64_t>();
  for (int64_t tile = invocation.tile_begin; tile < invocation.tile_end; ++tile) {
    for (int64_t i = 0; i < work; ++i) {
      benchmark::DoNotOptimize(i);
    }
  }
}

void run_sixty_dispatches(benchmark::State& state) {
  const auto threads = static_cast<int32_t>(state.range(0));
  const int64_t tiles = state.range(1);
  const int64_t work = state.range(2);
  Ref<Device> device = *create_cpu_device({.threads = threads});
  const CpuKernelEntry table[] = {{.name = "spin", .function = spin, .bindings = 0}};
  Ref<Kernel> kernel = *(*device->create_library({.cpu = table}))->kernel("spin");
  Ref<Queue> queue = *device->create_queue({});
  Ref<CommandBuffer> commands = *device->create_command_buffer({});
  for (int i = 0; i < kDispatches; ++i) {
    commands->encoder().set_kernel(*kernel);
    commands->encoder().set_constants(std::as_bytes(std::span(&work, 1)));
    commands->encoder().dispatch(tiles);
    commands->encoder().barrier();
  }
  if (!commands->seal()) {
    state.SkipWithError("The commands are not sealed.");
  }
  for (auto _ : state) {
    benchmark::DoNotOptimize(queue->submit({.command_buffer = commands.get()}));
  }
  state.SetItemsProcessed(kDispatches * state.iterations());
}
BENCHMARK(run_sixty_dispatches)
    ->ArgNames({"threads", "tiles", "work"})
    ->ArgsProduct({{1, 2}, {1, 16}, {0, 5000}})
    ->UseRealTime();

}  // namespace
}  // namespace weir
