// SPDX-License-Identifier: Apache-2.0
#include "hal/software/host_library.h"

#include "base/near_names.h"

namespace weir {

HostKernel::HostKernel(Ref<HostLibrary> library, const CpuKernelEntry& entry)
    : Kernel(entry.name, entry.bindings, entry.constant_bytes, entry.scratch_bytes),
      library_(std::move(library)),
      function_(entry.function),
      user_(entry.user) {}

HostKernel::~HostKernel() = default;

HostLibrary::HostLibrary(const LibraryDescriptor& descriptor)
    : Library(descriptor.label), keep_alive_(descriptor.keep_alive) {}

Result<Ref<HostLibrary>> HostLibrary::create(const LibraryDescriptor& descriptor,
                                             const DeviceLimits& limits) {
  Ref<HostLibrary> library = Ref<HostLibrary>::adopt(new HostLibrary(descriptor));
  for (const CpuKernelEntry& entry : descriptor.cpu) {
    if (entry.function == nullptr || entry.name.empty()) {
      return fail(StatusCode::kInvalidArgument, "Kernel '{}' of library '{}' lacks a {}.", entry.name,
                  descriptor.label, entry.name.empty() ? "name" : "function");
    }
    if (entry.bindings > limits.bindings || entry.constant_bytes > limits.constant_bytes ||
        entry.scratch_bytes < 0 || entry.scratch_bytes > limits.buffer_bytes) {
      return fail(StatusCode::kInvalidArgument,
                  "Kernel '{}' of library '{}' asks for ({}) bindings, ({}) bytes of constants and ({}) of "
                  "scratch, and the most are ({}) bindings, ({}) bytes of constants and ({}) of scratch.",
                  entry.name, descriptor.label, entry.bindings, entry.constant_bytes, entry.scratch_bytes,
                  limits.bindings, limits.constant_bytes, limits.buffer_bytes);
    }
    CpuKernelEntry& kept = library->entries_.emplace_back(entry);
    kept.name = library->names_.emplace_back(entry.name);
    if (!library->by_name_.emplace(kept.name, library->entries_.size() - 1).second) {
      return fail(StatusCode::kAlreadyExists, "Library '{}' has two kernels of the name '{}'.",
                  descriptor.label, entry.name);
    }
  }
  return library;
}

Result<Ref<Kernel>> HostLibrary::kernel(std::string_view name) const {
  const auto found = by_name_.find(name);
  if (found == by_name_.end()) {
    const std::vector<std::string_view> known(names_.begin(), names_.end());
    return fail(StatusCode::kNotFound, "Library '{}' has no kernel '{}'{}.", label(), name,
                near_names(name, known));
  }
  return Ref<Kernel>(
      make_ref<HostKernel>(Ref<HostLibrary>(const_cast<HostLibrary*>(this)), entries_[found->second]));
}

std::vector<std::string> HostLibrary::kernel_names() const {
  return {names_.begin(), names_.end()};
}

}  // namespace weir
