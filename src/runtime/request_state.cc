// SPDX-License-Identifier: Apache-2.0
#include "runtime/request_state.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <utility>

#include "base/hash.h"
#include "runtime/measure.h"
#include "runtime/session.h"

namespace weir {
namespace {

// What a saved state begins with. In the byte order of the machine, like the elements behind it.
struct SavedHeader {
  std::array<char, 8> magic;
  uint32_t version;
  uint32_t states;
  uint64_t layout;  // layout_hash
  int64_t bytes;    // of all, this included
};
static_assert(sizeof(SavedHeader) == 32);
constexpr std::array<char, 8> kMagic = {'W', 'E', 'I', 'R', 'S', 'T', 'A', 'T'};
constexpr uint32_t kVersion = 1;

size_t tensor_bytes(const TensorSpec& spec) {
  return static_cast<size_t>(spec.extent_bytes());
}

}  // namespace

StorageMode RequestStates::mode(const Device& device) {
  return device.info().unified_memory ? StorageMode::kShared : StorageMode::kPrivate;
}

Result<void> RequestStates::prepare(std::span<const TensorSpec> specs, bool lock) {
  for (size_t i = 0; i < pairs_.size(); ++i) {
    Pair& pair = pairs_[i];
    if (pair.ready && pair.spec == specs[i]) {
      continue;
    }
    pair.ready = false;
    pair.spec = specs[i];
    for (Ref<Buffer>* buffer : {&pair.before, &pair.after}) {
      if (*buffer && (*buffer)->size() >= port_bytes(pair.spec)) {
        continue;
      }
      *buffer = {};  // before the new one, so that the two are never held together
      WEIR_ASSIGN(*buffer, device_->create_buffer({.size = port_bytes(pair.spec),
                                                   .mode = mode(*device_),
                                                   .category = MemoryCategory::kState,
                                                   .lock = lock,
                                                   .label = program_->states[i].name}));
    }
    WEIR_TRY(clear(*pair.before), "while clearing state '{}'", program_->states[i].name);
    pair.ready = true;
  }
  return {};
}

void RequestStates::forget_growth(std::span<int64_t> planned) {
  for (size_t i = 0; i < pairs_.size(); ++i) {
    Pair& pair = pairs_[i];
    const auto fits = [&](const Ref<Buffer>& buffer) { return buffer && buffer->size() <= planned[i]; };
    if (!fits(pair.before) || !fits(pair.after)) {
      pair = {};
      planned[i] = 0;
    }
  }
}

Result<void> RequestStates::bind(CommandBuffer& commands, int32_t first_slot) {
  for (size_t i = 0; i < pairs_.size(); ++i) {
    const int32_t slot = first_slot + 2 * static_cast<int32_t>(i);
    WEIR_TRY(commands.bind_slot(slot, *pairs_[i].before, 0), "while binding state '{}'",
             program_->states[i].name);
    WEIR_TRY(commands.bind_slot(slot + 1, *pairs_[i].after, 0), "while binding state '{}'",
             program_->states[i].name);
  }
  return {};
}

void RequestStates::advance() {
  for (Pair& pair : pairs_) {
    std::swap(pair.before, pair.after);
  }
}

Result<void> RequestStates::reset() {
  for (const Pair& pair : pairs_) {
    WEIR_TRY(clear(*pair.after));
  }
  advance();
  return {};
}

uint64_t RequestStates::layout_hash() const {
  std::string text;
  for (size_t i = 0; i < pairs_.size(); ++i) {
    text += fmt::format("{}:{}={}:{};", program_->states[i].name.size(), program_->states[i].name,
                        program_->states[i].output, pairs_[i].spec.to_string());
  }
  return hash64(std::as_bytes(std::span(text)));
}

int64_t RequestStates::saved_bytes() const {
  auto bytes = static_cast<int64_t>(sizeof(SavedHeader));
  for (const Pair& pair : pairs_) {
    bytes += pair.spec.extent_bytes();
  }
  return bytes;
}

Result<void> RequestStates::save(std::span<std::byte> target) {
  const SavedHeader header = {kMagic, kVersion, static_cast<uint32_t>(pairs_.size()), layout_hash(),
                              saved_bytes()};
  if (static_cast<int64_t>(target.size()) < header.bytes) {
    return fail(StatusCode::kOutOfRange, "The state takes ({}) bytes saved, and there is room for ({}).",
                header.bytes, target.size());
  }
  std::memcpy(target.data(), &header, sizeof(header));
  size_t at = sizeof(header);
  for (const Pair& pair : pairs_) {
    WEIR_TRY(read(*pair.before, target.subspan(at, tensor_bytes(pair.spec))));
    at += tensor_bytes(pair.spec);
  }
  return {};
}

Result<void> RequestStates::restore(std::span<const std::byte> source) {
  SavedHeader header;
  if (source.size() < sizeof(header)) {
    return fail(StatusCode::kInvalidArgument,
                "A saved state begins with ({}) bytes of header, and ({}) are given.", sizeof(header),
                source.size());
  }
  std::memcpy(&header, source.data(), sizeof(header));
  if (header.magic != kMagic || header.version != kVersion) {
    return fail(StatusCode::kInvalidArgument, "The ({}) bytes that are given are no saved state.",
                source.size());
  }
  if (header.states != pairs_.size() || header.layout != layout_hash()) {
    return fail(
        StatusCode::kInvalidArgument,
        "The saved state is of other states, types or shapes; restore it into a request of the program "
        "that it was saved from, prepared for the same shapes.");
  }
  if (header.bytes != saved_bytes() || static_cast<int64_t>(source.size()) != header.bytes) {
    return fail(StatusCode::kInvalidArgument, "A saved state has ({}) bytes here, and ({}) are given.",
                saved_bytes(), source.size());
  }
  size_t at = sizeof(header);
  for (const Pair& pair : pairs_) {
    WEIR_TRY(write(*pair.after, source.subspan(at, tensor_bytes(pair.spec))));
    at += tensor_bytes(pair.spec);
  }
  advance();
  return {};
}

int64_t RequestStates::counted() const {
  int64_t bytes = 0;
  for (const Pair& pair : pairs_) {
    for (const Ref<Buffer>* buffer : {&pair.before, &pair.after}) {
      bytes += *buffer ? device_->allocation_bytes((*buffer)->size(), (*buffer)->mode()) : 0;
    }
  }
  return bytes;
}

Result<void> RequestStates::clear(Buffer& buffer) {
  if (buffer.mode() == StorageMode::kShared) {
    WEIR_ASSIGN(const std::span<std::byte> bytes, buffer.contents());
    std::ranges::fill(bytes, std::byte{0});
    return {};
  }
  WEIR_ASSIGN(Ref<CommandBuffer> commands, device_->create_command_buffer({.label = "clear state"}));
  commands->encoder().fill(at(buffer), 0);
  return submit(*commands);
}

Result<void> RequestStates::write(Buffer& buffer, std::span<const std::byte> bytes) {
  if (buffer.mode() != StorageMode::kShared) {
    return stage(buffer, bytes, {});
  }
  WEIR_ASSIGN(const std::span<std::byte> contents, buffer.contents());
  std::ranges::copy(bytes, contents.begin());
  return {};
}

Result<void> RequestStates::read(Buffer& buffer, std::span<std::byte> bytes) {
  if (buffer.mode() != StorageMode::kShared) {
    return stage(buffer, {}, bytes);
  }
  WEIR_ASSIGN(const std::span<const std::byte> contents, std::as_const(buffer).read_contents());
  std::ranges::copy(contents.first(bytes.size()), bytes.begin());
  return {};
}

Result<void> RequestStates::stage(Buffer& buffer, std::span<const std::byte> in, std::span<std::byte> out) {
  const auto bytes = static_cast<int64_t>(std::max(in.size(), out.size()));
  if (bytes == 0) {
    return {};
  }
  WEIR_ASSIGN(Ref<Buffer> staging, device_->create_buffer({.size = bytes, .label = "state staging"}));
  WEIR_ASSIGN(const std::span<std::byte> window, staging->contents());
  WEIR_ASSIGN(Ref<CommandBuffer> commands, device_->create_command_buffer({.label = "state staging"}));
  if (out.empty()) {
    std::ranges::copy(in, window.begin());
    commands->encoder().copy(at(*staging, 0, bytes), at(buffer, 0, bytes));
  } else {
    commands->encoder().copy(at(buffer, 0, bytes), at(*staging, 0, bytes));
  }
  WEIR_TRY(submit(*commands));
  if (!out.empty()) {
    std::ranges::copy(window, out.begin());
  }
  return {};
}

Result<void> RequestStates::submit(CommandBuffer& commands) {
  WEIR_TRY(commands.seal());
  // A completion handler has the session's queue to itself until it returns.
  Ref<Queue> own;
  if (queue_->is_own_thread()) {
    WEIR_ASSIGN(own, device_->create_queue({.label = "state"}));
  }
  WEIR_TRY((own ? *own : *queue_).submit({.command_buffer = &commands}));
  return commands.wait();
}

// --- of the request

namespace {

Result<void> unprepared(const Session& session, std::string_view action) {
  return fail(StatusCode::kFailedPrecondition, "No shape is prepared yet for a request of '{}' to {}.",
              session.name(), action);
}

}  // namespace

Result<void> Request::reset_state() {
  WEIR_TRY(check_idle("reset its state"));
  if (!is_prepared()) {
    return unprepared(*session_, "reset its state");
  }
  WEIR_TRY(states_.reset(), "while resetting the state of a request of '{}'", session_->name());
  return {};
}

Result<int64_t> Request::saved_state_bytes() const {
  if (!is_prepared()) {
    WEIR_TRY(unprepared(*session_, "measure its state"));
  }
  return states_.saved_bytes();
}

Result<void> Request::save_state(std::span<std::byte> target) {
  WEIR_TRY(check_idle("save its state"));
  if (!is_prepared()) {
    return unprepared(*session_, "save its state");
  }
  WEIR_TRY(states_.save(target), "while saving the state of a request of '{}'", session_->name());
  return {};
}

Result<void> Request::restore_state(std::span<const std::byte> source) {
  WEIR_TRY(check_idle("restore its state"));
  if (!is_prepared()) {
    return unprepared(*session_, "restore its state");
  }
  WEIR_TRY(states_.restore(source), "while restoring the state of a request of '{}'", session_->name());
  return {};
}

}  // namespace weir
