// SPDX-License-Identifier: Apache-2.0
//
// What a checked command buffer looks at before and after each command, from host calls between them.
// Commands run one after another here, so what changes between the two looks is the command's doing.
#include <algorithm>
#include <cstring>

#include "base/out_of_memory.h"
#include "hal/validation/validation_command_buffer.h"

namespace weir {
namespace {

// Not a number as float, and a large negative integer.
constexpr int kPoison = 0xFF;
constexpr int64_t kWindowBytes = 64;

}  // namespace

template <typename... Args>
void ValidationCommandBuffer::violate(const RecordedCommand& command, StatusCode code,
                                      fmt::format_string<Args...> format, Args&&... args) {
  if (!violation_) {
    violation_.emplace(
        code, fmt::format("{} {}", describe(command), fmt::format(format, std::forward<Args>(args)...)));
    violation_->add_context(fmt::format("while running command buffer '{}'", label()));
  }
}

template <typename Look>
void ValidationCommandBuffer::guarded(const Look& look) {
  const Result<void> looked = with_memory_guard([&]() -> Result<void> {
    look();
    return {};
  });
  if (!looked) {
    windows_.clear();  // one of them may lack its bytes in `kept_`
    if (!violation_) {
      violation_.emplace(out_of_memory());
    }
  }
}

void ValidationCommandBuffer::before(size_t index) {
  guarded([&] { look_before(index); });
}

void ValidationCommandBuffer::after(size_t index) {
  guarded([&] { look_after(index); });
}

void ValidationCommandBuffer::look_before(size_t index) {
  if (cancelled_.load(std::memory_order_relaxed)) {
    inner_->cancel();
  }
  const RecordedCommand& command = recorder_.commands()[index];
  check_written(command);
  windows_.clear();
  kept_.clear();
  if (command.kind != RecordedCommand::Kind::kDispatch) {
    return;
  }
  std::vector<Bytes> bytes;
  for (const RecordedBinding& binding : bindings_of(command)) {
    if (const std::optional<Bytes> one = resolve(binding)) {
      bytes.push_back(*one);
    }
  }
  poison(command, bytes);
  keep_windows(bytes);
}

void ValidationCommandBuffer::check_written(const RecordedCommand& command) {
  const std::span<const RecordedBinding> bindings = bindings_of(command);
  for (size_t b = 0; b < bindings.size(); ++b) {
    const std::optional<Bytes> bytes = resolve(bindings[b]);
    if (!bytes || bindings[b].access == Access::kWrite || bindings[b].range.block < 0) {
      continue;
    }
    const int64_t missing = bytes->buffer->storage().first_unwritten(bytes->begin, bytes->end);
    if (missing < bytes->end) {
      violate(command, StatusCode::kFailedPrecondition,
              "reads bytes ({} to {}) of buffer '{}' at binding ({}), and nothing has written byte ({}).",
              bytes->begin - bytes->buffer->storage_offset(), bytes->end - bytes->buffer->storage_offset(),
              bytes->buffer->label(), b, missing - bytes->buffer->storage_offset());
    }
  }
}

void ValidationCommandBuffer::poison(const RecordedCommand& command, std::span<const Bytes> bytes) {
  if (command.scratch_bytes > 0 && checked_scratch_) {
    std::memset(checked_scratch_->device_bytes(), kPoison, static_cast<size_t>(checked_scratch_->size()));
  }
  for (const Bytes& target : bytes) {
    const bool whole = target.binding->access == Access::kWrite && target.binding->range.block == 0;
    const bool shared = std::ranges::any_of(bytes, [&](const Bytes& other) {
      return &other != &target && &other.buffer->storage() == &target.buffer->storage() &&
             other.begin < target.end && target.begin < other.end;
    });
    if (whole && !shared) {
      std::byte* base = target.buffer->storage().inner().device_bytes() + target.buffer->storage().front();
      std::memset(base + target.begin, kPoison, static_cast<size_t>(target.end - target.begin));
    }
  }
}

void ValidationCommandBuffer::keep_windows(std::span<const Bytes> bytes) {
  for (const Bytes& target : bytes) {
    const CheckedStorage& storage = target.buffer->storage();
    const int64_t begin = target.begin + storage.front();
    const int64_t end = target.end + storage.front();
    const int64_t all = storage.inner().size();
    for (auto [from, to] : {std::pair(std::max<int64_t>(0, begin - kWindowBytes), begin),
                            std::pair(end, std::min(all, end + kWindowBytes))}) {
      // What else the command may write there is not beside its ranges.
      const bool clear = std::ranges::none_of(bytes, [&](const Bytes& other) {
        return other.binding->access != Access::kRead && &other.buffer->storage() == &storage &&
               other.begin + storage.front() < to && from < other.end + storage.front();
      });
      if (clear && from < to) {
        const std::byte* data = storage.inner().device_bytes();
        windows_.push_back({.buffer = target.buffer, .begin = from, .end = to, .kept = kept_.size()});
        kept_.insert(kept_.end(), data + from, data + to);
      }
    }
  }
}

// Whether anything but what each participant asked for has lost its poison.
void ValidationCommandBuffer::check_scratch(const RecordedCommand& command) {
  if (command.kind != RecordedCommand::Kind::kDispatch || command.scratch_bytes == 0 || !checked_scratch_) {
    return;
  }
  const int64_t all = inner_->scratch_bytes();
  const int64_t stride = all / participants();
  const std::byte* first = checked_scratch_->device_bytes() + (checked_scratch_->size() - all);
  const auto lost = [](std::byte byte) { return byte != std::byte{kPoison}; };
  for (int32_t p = 0; p < participants(); ++p) {
    const std::byte* begin = first + p * stride + command.scratch_bytes;
    const std::byte* end = first + (p + 1) * stride;
    if (const std::byte* found = std::find_if(begin, end, lost); found != end) {
      violate(command, StatusCode::kOutOfRange,
              "has written byte ({}) of the scratch of participant ({}), and it asked for ({}) bytes.",
              found - (first + p * stride), p, command.scratch_bytes);
    }
  }
  const std::byte* front = checked_scratch_->device_bytes();
  if (const std::byte* found = std::find_if(front, first, lost); found != first) {
    violate(command, StatusCode::kOutOfRange,
            "has written byte ({}) of the scratch of participant (0), before its first.", found - first);
  }
}

void ValidationCommandBuffer::look_after(size_t index) {
  const RecordedCommand& command = recorder_.commands()[index];
  check_scratch(command);
  for (const Window& window : windows_) {
    const CheckedStorage& storage = window.buffer->storage();
    const std::byte* data = storage.inner().device_bytes();
    for (int64_t i = window.begin; i < window.end; ++i) {
      if (data[i] != kept_[window.kept + static_cast<size_t>(i - window.begin)]) {
        violate(command, StatusCode::kOutOfRange,
                "has changed byte ({}) of buffer '{}', beside the ranges that it is bound to; the buffer has "
                "({}) bytes.",
                i - storage.front() - window.buffer->storage_offset(), window.buffer->label(),
                window.buffer->size());
        break;
      }
    }
  }
  for (const RecordedBinding& binding : bindings_of(command)) {
    const std::optional<Bytes> bytes = resolve(binding);
    if (bytes && binding.access != Access::kRead) {
      bytes->buffer->storage().mark_written(bytes->begin, bytes->end);
    }
  }
}

}  // namespace weir
