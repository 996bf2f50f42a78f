// SPDX-License-Identifier: Apache-2.0
//
// What one ONNX file may ask of the importer and of those behind it. Passes over a graph take time in the
// square of some of these, and a byte of a file can stand for hundreds in memory; all are far above what
// networks need. docs/errors.md lists them for users.
#pragma once

#include <cstddef>
#include <cstdint>

namespace weir::onnx_import {

// Nested messages; protobuf itself stops at 100.
inline constexpr int kMaxDepth = 90;
// The structure: all but the elements of tensors.
inline constexpr size_t kMaxMessageBytes = size_t{128} << 20;
// Nodes, attributes, tensors and graphs, at any depth; and fields of all of these. An empty message of two
// bytes takes hundreds in memory.
inline constexpr int64_t kMaxMessages = int64_t{1} << 20;
inline constexpr int64_t kMaxFields = int64_t{1} << 23;
// Nodes of the graph, those of the branches taken included.
inline constexpr int64_t kMaxNodes = int64_t{1} << 16;
// Inputs and outputs of one node.
inline constexpr int kMaxOperands = 4096;
// Inputs of the model, and outputs.
inline constexpr int kMaxPorts = 4096;
// Conditions on dimensions that are left for when a request is prepared.
inline constexpr size_t kMaxConstraints = size_t{1} << 14;
// Operations of one expression over dimensions, as it is written out.
inline constexpr int64_t kMaxExpressionSize = 4096;
// The same, of all elements that shape arithmetic computes.
inline constexpr int64_t kMaxExpressionWork = int64_t{1} << 24;

}  // namespace weir::onnx_import
