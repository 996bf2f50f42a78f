// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>

#include "base/cpu_count.h"
#include "kernels/implementation.h"
#include "tools/weir/commands/devices.h"
#include "tools/weir/commands/machine.h"
#include "tools/weir/commands/output.h"

namespace weir::cli {

int devices_command(const DevicesOptions& options) {
  const std::string processor = processor_name(read_proc("/proc/cpuinfo"));
  const std::string_view isa = to_string(detect_isa());
  const int32_t threads = thread_count(read_cpu_snapshot());
  const int64_t memory = meminfo_bytes(read_proc("/proc/meminfo"), "MemTotal");
  if (options.json) {
    print_json({{"devices",
                 {{{"name", "cpu"},
                   {"kind", "cpu"},
                   {"description", processor},
                   {"isa", isa},
                   {"threads", threads},
                   {"memory_bytes", memory}}}}});
    return kExitOk;
  }
  using enum Table::Align;
  Table table({kLeft, kLeft, kLeft, kRight, kRight});
  table.add_row({"device", "processor", "kernels", "threads", "memory"});
  table.add_rule();
  table.add_row({"cpu", processor, std::string(isa), std::to_string(threads), format_bytes(memory)});
  print(table.to_string());
  return kExitOk;
}

}  // namespace weir::cli
