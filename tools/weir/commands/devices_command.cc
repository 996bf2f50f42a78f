// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>

#include "hal/cpu/cpu_device.h"
#include "tools/weir/commands/devices.h"
#include "tools/weir/commands/output.h"

namespace weir::cli {
namespace {

Result<void> devices(const DevicesOptions& options) {
  WEIR_ASSIGN(const Ref<Device> device, create_cpu_device({}));
  const DeviceInfo& info = device->info();
  const int64_t limit = device->memory().limit();
  if (options.json) {
    print_json({{"devices",
                 {{{"name", info.name},
                   {"kind", to_string(info.kind)},
                   {"description", info.description},
                   {"isa", info.isa},
                   {"threads", info.participants},
                   {"memory_bytes", info.memory_bytes},
                   {"memory_limit_bytes", limit}}}}});
    return {};
  }
  using enum Table::Align;
  Table table({kLeft, kLeft, kLeft, kRight, kRight, kRight});
  table.add_row({"device", "processor", "kernels", "threads", "memory", "limit"});
  table.add_rule();
  table.add_row({info.name, info.description, info.isa, std::to_string(info.participants),
                 format_bytes(info.memory_bytes), format_bytes(limit)});
  print(table.to_string());
  return {};
}

}  // namespace

int devices_command(const DevicesOptions& options) {
  return exit_code(devices(options), options.json);
}

}  // namespace weir::cli
