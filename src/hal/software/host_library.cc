// SPDX-License-Identifier: Apache-2.0
#include "hal/software/host_library.h"

#include <algorithm>

namespace weir {
namespace {

// Edits that turn one name into the other, for "did you mean".
size_t distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) {
    row[j] = j;
  }
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t above = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, diagonal + (a[i - 1] == b[j - 1] ? 0 : 1)});
      diagonal = above;
    }
  }
  return row[b.size()];
}

constexpr size_t kNamesInError = 3;

}  // namespace

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
        entry.scratch_bytes < 0) {
      return fail(StatusCode::kInvalidArgument,
                  "Kernel '{}' of library '{}' asks for ({}) bindings, ({}) bytes of constants and ({}) of "
                  "scratch, and "
                  "the most are ({}) bindings and ({}) bytes.",
                  entry.name, descriptor.label, entry.bindings, entry.constant_bytes, entry.scratch_bytes,
                  limits.bindings, limits.constant_bytes);
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
    std::vector<std::string> names = kernel_names();
    std::stable_sort(names.begin(), names.end(), [&](const std::string& a, const std::string& b) {
      return distance(a, name) < distance(b, name);
    });
    names.resize(std::min(names.size(), kNamesInError));
    return fail(StatusCode::kNotFound, "Library '{}' has no kernel '{}'; the nearest names are ({}).",
                label(), name, fmt::join(names, ", "));
  }
  return Ref<Kernel>(
      make_ref<HostKernel>(Ref<HostLibrary>(const_cast<HostLibrary*>(this)), entries_[found->second]));
}

std::vector<std::string> HostLibrary::kernel_names() const {
  return {names_.begin(), names_.end()};
}

}  // namespace weir
