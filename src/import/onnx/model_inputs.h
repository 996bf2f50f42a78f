// SPDX-License-Identifier: Apache-2.0
//
// The inputs of a model: their types, with symbols for the dimensions that it leaves open.
#pragma once

#include <onnx/onnx_pb.h>

#include <unordered_set>

#include "base/status.h"
#include "import/onnx/import.h"
#include "import/onnx/lowering.h"

namespace weir::onnx_import {

// Adds the model's inputs to the graph and defines them. Initialisers that are listed as inputs too, as
// models before IR version 4 have it, are constants. An override that fits nothing is an error.
Result<void> add_inputs(const onnx::GraphProto& proto, const ImportOptions& options, Lowering& lowering);

}  // namespace weir::onnx_import
