// SPDX-License-Identifier: Apache-2.0
//
// RequestShape: the shape that a program is planned for or run at, gathered from the command line and from
// files.
//
//   RequestShape shape(inputs, symbols);
//   WEIR_TRY(shape.take_options(options.shapes, options.dims));   // --shape x=1x3x48x320, --dim width=320
//   WEIR_TRY(shape.take_input(0, array.shape, "file 'x.npy'"));
//   shape.assume_batch_of_one();                                  // for a first dimension still open
//   WEIR_ASSIGN(std::vector<int64_t> symbols, shape.symbols());   // or the error that names what is open
//
// A dimension has one value throughout: two sources that disagree are an error that names both, and so is a
// value outside the range that the program was compiled for.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tools/weir/commands/arguments.h"

namespace weir::cli {

// What a program calls an input. Dimensions are numbers or expressions over its symbols.
struct NamedType {
  std::string name;
  TensorType type;
};

class RequestShape {
 public:
  RequestShape(std::vector<NamedType> inputs, const SymbolTable& symbols);

  // One value for a dimension, not a range: those belong to the compiler.
  Result<void> take_options(std::span<const ShapeArgument> shapes, std::span<const DimArgument> dims);
  // `source` says where the shape stands: "file 'x.npy'".
  Result<void> take_input(size_t input, std::span<const int64_t> shape, const std::string& source);
  // Gives first dimensions of inputs that have no value yet 1, or the least that they may be.
  void assume_batch_of_one();

  bool is_complete() const;
  std::optional<int64_t> value(size_t symbol) const;
  // One value a symbol, or the error that names the first without one.
  Result<std::vector<int64_t>> symbols() const;
  // −1 where an extent is not known.
  std::vector<int64_t> shape(size_t input) const;
  std::vector<std::vector<int64_t>> shapes() const;
  // "x float32[1, 3, 48, width]" of each input.
  std::vector<std::string> describe() const;

 private:
  struct Known {
    int64_t value = 0;
    std::string source;  // "--dim"; empty: assumed
  };
  Result<void> know(size_t symbol, int64_t value, const std::string& source);
  // The symbol that is this dimension and not only part of it.
  std::optional<size_t> symbol_of(const Dim& dim) const;
  std::string open_list() const;
  std::string axis_of(const Symbol& symbol) const;

  std::vector<NamedType> inputs_;
  std::vector<std::shared_ptr<const Symbol>> symbols_;
  std::vector<std::optional<Known>> known_;  // one a symbol
};

// "1 to 512", "1 or more".
std::string range_text(Range range);

}  // namespace weir::cli
