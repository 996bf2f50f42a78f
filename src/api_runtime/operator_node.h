// SPDX-License-Identifier: Apache-2.0
//
// weir_node: one question to a custom operator, as its functions see it. Lives for that call.
#pragma once

#include <deque>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "api_runtime/handles.h"
#include "op/custom_operator.h"

struct weir_node {
  const weir::CustomAttributes* attributes = nullptr;
  std::string name;

  // For the shape function alone.
  bool asks_shape = false;
  std::span<const weir::TensorType* const> inputs;
  std::vector<std::optional<weir::TensorType>> outputs;
  std::vector<weir::Constraint> constraints;
  std::deque<weir::Dim> dims;  // stable addresses: a weir_dim is a Dim's

  std::optional<weir::Status> mistake;  // the first
  bool memory_ran_out = false;

  template <typename... Args>
  void wrong(fmt::format_string<Args...> format, Args&&... args) noexcept {
    try {
      if (!mistake) {
        mistake.emplace(weir::StatusCode::kInvalidArgument, fmt::format(format, std::forward<Args>(args)...));
      }
    } catch (const std::bad_alloc&) {
      memory_ran_out = true;
    }
  }
};

namespace weir::api {

// The result of `action`, or `otherwise` where it finds no memory, which the node remembers. The caller may
// be C, so nothing is thrown through it.
template <typename T, typename Action>
T guarded(weir_node* node, T otherwise, Action action) noexcept {
  try {
    return action();
  } catch (const std::bad_alloc&) {
    node->memory_ran_out = true;
    return otherwise;
  }
}

inline const weir_dim* dim_handle(const Dim* dim) {
  return reinterpret_cast<const weir_dim*>(dim);
}
inline const Dim* dim_of(const weir_dim* dim) {
  return reinterpret_cast<const Dim*>(dim);
}

}  // namespace weir::api
