// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <weir/weir.hpp>

int main() {
  const weir::Runtime runtime(1);
  const weir::Device device = weir::Device::cpu(runtime);
  std::printf("weir %s on %s\n", weir_version(), device.info().name);
  return device.memory_in_use() == 0 ? 0 : 1;
}
