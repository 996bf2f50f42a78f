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
    case StorageKind::kPacked:
      return "packed";
  }
  return "unknown";
}

std::string_view to_string(ConstantFate fate) {
  switch (fate) {
    case ConstantFate::kPlain:
      return "plain";
    case ConstantFate::kPackedOnly:
      return "packed only";
    case ConstantFate::kFolded:
      return "folded";
    case ConstantFate::kImported:
      return "imported";
    case ConstantFate::kUnused:
      return "unused";
  }
  return "unknown";
}

SymbolTable symbol_table(const Program& program) {
  SymbolTable symbols;
  for (const ProgramSymbol& symbol : program.symbols) {
    symbols.add(symbol.name, symbol.range, symbol.source);
  }
  return symbols;
}

}  // namespace weir
