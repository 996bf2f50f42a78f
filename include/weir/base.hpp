// SPDX-License-Identifier: Apache-2.0
//
// Part of weir.hpp: errors, handles, the runtime.
#ifndef WEIR_BASE_HPP_
#define WEIR_BASE_HPP_

#include <chrono>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include "weir/base.h"

namespace weir {
inline namespace abi1 {

class Error : public std::runtime_error {
 public:
  Error(weir_code code, const std::string& text) : std::runtime_error(text), code_(code) {}
  weir_code code() const noexcept { return code_; }

 private:
  weir_code code_;
};

// Throws what `status` says, and frees it; nothing for success.
inline void check(weir_status* status) {
  if (status != nullptr) {
    const std::unique_ptr<weir_status, void (*)(weir_status*)> owned(status, weir_status_free);
    throw Error(weir_status_code(status), weir_status_text(status));
  }
}

namespace detail {

// One reference to an object of the C interface.
template <typename T, T* (*Retain)(T*), void (*Release)(T*)>
class Handle {
 public:
  Handle() = default;
  // Takes over the reference.
  explicit Handle(T* handle) : handle_(handle) {}
  Handle(const Handle& other) : handle_(Retain(other.handle_)) {}
  Handle(Handle&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Handle& operator=(Handle other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Handle() { Release(handle_); }

  T* get() const noexcept { return handle_; }
  explicit operator bool() const noexcept { return handle_ != nullptr; }

 private:
  T* handle_ = nullptr;
};

// What is left until a moment that has passed is less than nothing, and not for ever as in C.
inline int64_t nanoseconds(std::chrono::nanoseconds timeout) {
  return timeout == std::chrono::nanoseconds::max() ? -1 : timeout.count() < 0 ? 0 : timeout.count();
}

}  // namespace detail

inline constexpr std::chrono::nanoseconds forever = std::chrono::nanoseconds::max();

class Runtime : public detail::Handle<weir_runtime, weir_runtime_retain, weir_runtime_release> {
 public:
  // 0: as many as are useful here.
  explicit Runtime(int32_t threads = 0) : Handle(create(threads)) {}
  int32_t threads() const { return weir_runtime_threads(get()); }

 private:
  static weir_runtime* create(int32_t threads) {
    weir_runtime_options options = WEIR_INIT(weir_runtime_options);
    options.threads = threads;
    weir_runtime* runtime = nullptr;
    check(weir_runtime_create(&options, &runtime));
    return runtime;
  }
};

}  // namespace abi1
}  // namespace weir

#endif  // WEIR_BASE_HPP_
