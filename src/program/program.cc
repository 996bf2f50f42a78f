// SPDX-License-Identifier: Apache-2.0
#include "program/program.h"

namespace weir {

std::string_view to_string(StorageKind kind) {
  switch (kind) {
    case StorageKind::kConstant:
      return "constant";
    case StorageKind::kPrepared:
      return "prepared";
    case StorageKind::kActivation:
      return "activation";
    case StorageKind::kWorkspace:
      return "workspace";
    case StorageKind::kInput:
      return "input";
    case StorageKind::kOutput:
      return "output";
    case StorageKind::kState:
      return "state";
  }
  return "unknown";
}

}  // namespace weir
