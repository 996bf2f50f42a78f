// SPDX-License-Identifier: Apache-2.0
//
// TensorReader: TensorProtos of a stripped model as Constants. Elements that lie in the model file, or in a
// file beside it, as they are in memory become views; the others (numbers of variable length, several chunks)
// are decoded into memory of their own.
#pragma once

#include <onnx/onnx_pb.h>

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/mapped_file.h"
#include "base/status.h"
#include "graph/graph.h"
#include "import/onnx/wire.h"

namespace weir::onnx_import {

// Nothing for strings, complex numbers and types that Weir does not know.
std::optional<ElementType> element_type_of(int32_t onnx_type);
// "FLOAT", "STRING", or the number where the schema has no name.
std::string onnx_type_name(int32_t onnx_type);

class TensorReader {
 public:
  // `owner` keeps `model` alive. Names of external files are relative to the first of `folders`, and have to
  // lead into one of them: the folder of the model's path, and of the file that it leads to where it is a
  // link. None where the model is no file.
  TensorReader(std::span<const std::byte> model, std::shared_ptr<const void> owner,
               std::vector<TensorPayload> payloads, std::vector<std::string> folders)
      : model_(model),
        owner_(std::move(owner)),
        payloads_(std::move(payloads)),
        folders_(std::move(folders)) {}

  // Checked: a known element type, dimensions that are not negative and whose product fits.
  static Result<TensorType> type_of(const onnx::TensorProto& tensor);
  Result<Constant> read(const onnx::TensorProto& tensor);
  // Whether any tensor so far came from a file of external data.
  bool has_read_other_files() const { return !external_.empty(); }

 private:
  Result<Constant> read_payload(const onnx::TensorProto& tensor, const TensorType& type, int64_t count);
  Result<Constant> read_external(const onnx::TensorProto& tensor, const TensorType& type, int64_t bytes);
  Result<std::shared_ptr<const MappedFile>> external_file(const std::string& location);
  std::span<const std::byte> chunk(const FileRange& range) const {
    return model_.subspan(static_cast<size_t>(range.offset), static_cast<size_t>(range.size));
  }

  std::span<const std::byte> model_;
  std::shared_ptr<const void> owner_;
  std::vector<TensorPayload> payloads_;
  std::vector<std::string> folders_;
  std::map<std::string, std::shared_ptr<const MappedFile>> external_;
};

}  // namespace weir::onnx_import
