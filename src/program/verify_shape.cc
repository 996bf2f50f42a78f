// SPDX-License-Identifier: Apache-2.0
//
// The checks that need the numbers of a shape.
#include <algorithm>
#include <cstddef>
#include <string>

#include "base/checked.h"
#include "program/program.h"
#include "program/refuse.h"
#include "program/verify_steps.h"
#include "tensor/strided_copy.h"

namespace weir {
namespace {

using internal::refuse;

// The extent of a view in elements from its element [0,…,0]: the least and greatest index that it touches.
struct Reach {
  int64_t least = 0;
  int64_t greatest = 0;
  bool empty = false;
};

Result<Reach> reach(const ProgramTensor& tensor, std::span<const int64_t> dims) {
  Reach reach;
  int64_t count = 1;  // empty axes counted as 1, so that no product of extents overflows wherever it begins
  for (size_t axis = 0; axis < tensor.shape.size(); ++axis) {
    const int64_t extent = dims[static_cast<size_t>(tensor.shape[axis])];
    if (extent < 0 || extent > kDimMax) {
      return refuse("Axis ({}) has the extent ({}), and (0) to ({}) are allowed.", axis, extent, kDimMax);
    }
    const int64_t stride = dims[static_cast<size_t>(tensor.strides[axis])];
    if (stride < -kDimMax || stride > kDimMax) {
      return refuse("Axis ({}) has the stride ({}), and ({}) to ({}) are allowed.", axis, stride, -kDimMax,
                    kDimMax);
    }
    reach.empty = reach.empty || extent == 0;
    if (__builtin_mul_overflow(count, std::max<int64_t>(extent, 1), &count) || count > kDimMax) {
      return refuse("The tensor has more than ({}) elements, empty axes counted as (1).", kDimMax);
    }
  }
  if (reach.empty) {
    return reach;
  }
  for (size_t axis = 0; axis < tensor.shape.size(); ++axis) {
    const int64_t extent = dims[static_cast<size_t>(tensor.shape[axis])];
    WEIR_ASSIGN(const int64_t span, checked_mul(extent - 1, dims[static_cast<size_t>(tensor.strides[axis])]),
                "while measuring axis ({})", axis);
    int64_t& end = span < 0 ? reach.least : reach.greatest;
    WEIR_ASSIGN(end, checked_add(end, span), "while measuring axis ({})", axis);
  }
  return reach;
}

Result<void> check_view(const Program& program, const ProgramTensor& tensor, std::span<const int64_t> dims) {
  WEIR_ASSIGN(const Reach r, reach(tensor, dims));
  if (tensor.storage < 0) {
    return {};
  }
  const int64_t bytes =
      dims[static_cast<size_t>(program.storages[static_cast<size_t>(tensor.storage)].bytes)];
  const int64_t offset = dims[static_cast<size_t>(tensor.offset)];
  const int64_t bits = bit_width(tensor.element_type);
  // Elements that the storage holds whole.
  const int64_t room = bits >= 8 ? bytes / (bits / 8) : bytes > INT64_MAX / 8 ? INT64_MAX : bytes * 8 / bits;
  if (r.empty) {
    // Nothing is there to be touched: where a slice of an empty tensor begins has no meaning.
    if (offset < 0 || offset > kDimMax) {
      return refuse("The tensor, which is empty, begins at element ({}), and (0) to ({}) are allowed.",
                    offset, kDimMax);
    }
    return {};
  }
  WEIR_ASSIGN(const int64_t least, checked_add(offset, r.least));
  WEIR_ASSIGN(const int64_t greatest, checked_add(offset, r.greatest));
  if (least < 0 || greatest >= room) {
    return refuse("The tensor reaches from element ({}) to ({}) of storage ({}), which has ({}).", least,
                  greatest, tensor.storage, room);
  }
  return {};
}

std::string named_values(const Program& program, std::span<const int64_t> symbols) {
  std::string text;
  for (size_t i = 0; i < symbols.size(); ++i) {
    text += fmt::format("{}'{}' is ({})", i == 0 ? "" : ", ", program.symbols[i].name, symbols[i]);
  }
  return text;
}

}  // namespace

TensorSpec internal::spec_of(const ProgramTensor& tensor, std::span<const int64_t> dims) {
  TensorSpec spec;
  spec.type = tensor.element_type;
  spec.rank = static_cast<int32_t>(tensor.shape.size());
  for (size_t axis = 0; axis < tensor.shape.size(); ++axis) {
    spec.shape[axis] = dims[static_cast<size_t>(tensor.shape[axis])];
    spec.strides[axis] = dims[static_cast<size_t>(tensor.strides[axis])];
  }
  return spec;
}

bool internal::is_row_major(const ProgramTensor& tensor, std::span<const int64_t> dims) {
  const TensorSpec spec = spec_of(tensor, dims);
  return spec.element_count() == 0 || spec.is_dense_row_major();
}

Result<void> internal::verify_view(const Program& program, const ProgramTensor& tensor,
                                   std::span<const int64_t> dims) {
  return check_view(program, tensor, dims);
}

Result<void> internal::verify_views(const Program& program, std::span<const int64_t> dims) {
  if (dims.size() != program.dims.size()) {
    return refuse("There are ({}) values of dimensions, and the program has ({}).", dims.size(),
                  program.dims.size());
  }
  for (size_t i = 0; i < program.storages.size(); ++i) {
    const Storage& storage = program.storages[i];
    const int64_t bytes = storage.bytes < 0 ? 0 : dims[static_cast<size_t>(storage.bytes)];
    if (bytes < 0) {
      return refuse("Storage ({}), {}, has ({}) bytes, and (0) is the least.", i, to_string(storage.kind),
                    bytes);
    }
    if (bytes > kDimMax) {
      return refuse("Storage ({}), {}, has ({}) bytes, and ({}) is the most.", i, to_string(storage.kind),
                    bytes, kDimMax);
    }
  }
  for (size_t i = 0; i < program.tensors.size(); ++i) {
    WEIR_TRY(check_view(program, program.tensors[i], dims), "while verifying tensor ({}) '{}'", i,
             program.tensors[i].name);
  }
  return {};
}

Result<void> verify_shape(const Program& program, std::span<const int64_t> dims) {
  WEIR_TRY(internal::verify_views(program, dims));
  WEIR_TRY(internal::verify_state_shapes(program, dims));
  for (const auto* ports : {&program.inputs, &program.outputs}) {
    for (const ProgramPort& port : *ports) {
      const ProgramTensor& tensor = program.tensors[static_cast<size_t>(port.tensor)];
      if (!internal::is_row_major(tensor, dims)) {
        return refuse("Tensor ({}) '{}' is an input or output, and its strides are not row-major.",
                      port.tensor, tensor.name);
      }
    }
  }
  for (const auto* steps : {&program.prepare_steps, &program.steps}) {
    for (size_t i = 0; i < steps->size(); ++i) {
      const Step& step = (*steps)[i];
      for (const int32_t output : step.outputs) {
        if (output < 0) {
          continue;
        }
        const ProgramTensor& tensor = program.tensors[static_cast<size_t>(output)];
        // What the compiler makes of slices and permutations of dense tensors repeats none. That the furthest
        // index fits is found above.
        if (!has_distinct_elements(internal::spec_of(tensor, dims))) {
          return refuse(
              "Step ({}) '{}' writes tensor ({}) '{}', whose strides reach an element more than once.", i,
              step.name, output, tensor.name);
        }
      }
    }
  }
  return {};
}

Result<void> evaluate_shape(const Program& program, std::span<const int64_t> symbols,
                            std::span<int64_t> dims) {
  if (symbols.size() != program.symbols.size()) {
    return refuse("There are ({}) values of symbols, and the program has ({}).", symbols.size(),
                  program.symbols.size());
  }
  for (size_t i = 0; i < symbols.size(); ++i) {
    const ProgramSymbol& symbol = program.symbols[i];
    if (symbols[i] < symbol.range.min || symbols[i] > symbol.range.max) {
      return refuse("Symbol '{}' has the value ({}), and ({}) to ({}) are allowed.", symbol.name, symbols[i],
                    symbol.range.min, symbol.range.max);
    }
  }
  WEIR_TRY(evaluate(program.dims, symbols, dims), "while evaluating a shape where {}",
           named_values(program, symbols));
  for (const ProgramConstraint& constraint : program.constraints) {
    const int64_t a = dims[static_cast<size_t>(constraint.a)];
    const int64_t b = dims[static_cast<size_t>(constraint.b)];
    if (!holds(constraint.kind, a, b)) {
      return fail(StatusCode::kFailedPrecondition, "{}: the program holds only where ({}) {} ({}); here {}.",
                  constraint.what, a, relation(constraint.kind), b, named_values(program, symbols));
    }
  }
  return verify_shape(program, dims);
}

}  // namespace weir
