// SPDX-License-Identifier: Apache-2.0
//
// Library: a set of kernels that a device can run, found by name. The CPU device makes one from a table of
// functions, Weir's own or a user's.
//
//   const CpuKernelEntry table[] = {{.name = "scale", .function = scale, .bindings = 2}};
//   WEIR_ASSIGN(Ref<Library> library, device.create_library({.label = "mine", .cpu = table}));
//   WEIR_ASSIGN(Ref<Kernel> scale_kernel, library->kernel("scale"));
//
// Both are immutable and thread-safe. A kernel keeps its library alive, a command buffer its kernels.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/ref.h"
#include "base/status.h"
#include "hal/cpu_kernel.h"

namespace weir {

struct CpuKernelEntry {
  std::string_view name;
  CpuKernelFunction function = nullptr;
  int32_t bindings = -1;        // how many it takes; −1: as many as were set
  int64_t constant_bytes = -1;  // how many bytes of constants it reads; −1: as many as were set
  int64_t scratch_bytes = 0;    // of each participant, unless set_scratch asks for more
  void* user = nullptr;         // handed to the function in CpuInvocation::user
};

struct LibraryDescriptor {
  std::string_view label;
  std::span<const CpuKernelEntry> cpu;  // names and functions are copied
  Ref<RefCounted> keep_alive;           // released with the library: what the `user` pointers point into
};

class Kernel : public RefCounted {
 public:
  const std::string& name() const { return name_; }
  int32_t bindings() const { return bindings_; }
  int64_t constant_bytes() const { return constant_bytes_; }
  int64_t scratch_bytes() const { return scratch_bytes_; }

 protected:
  Kernel(std::string_view name, int32_t bindings, int64_t constant_bytes, int64_t scratch_bytes)
      : name_(name), bindings_(bindings), constant_bytes_(constant_bytes), scratch_bytes_(scratch_bytes) {}

 private:
  std::string name_;
  int32_t bindings_;
  int64_t constant_bytes_;
  int64_t scratch_bytes_;
};

class Library : public RefCounted {
 public:
  const std::string& label() const { return label_; }
  // kNotFound, with the names that are spelled like it, when there is none.
  virtual Result<Ref<Kernel>> kernel(std::string_view name) const = 0;
  virtual std::vector<std::string> kernel_names() const = 0;

 protected:
  explicit Library(std::string_view label) : label_(label) {}

 private:
  std::string label_;
};

}  // namespace weir
