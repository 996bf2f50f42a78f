// SPDX-License-Identifier: Apache-2.0
//
// Part of weir.hpp: traces.
//
//   const weir::Trace trace;
//   const weir::Session session(runtime, device, path, {.trace = trace});   // C++20; set the field in C++17
//   const weir::Request request = session.request({.trace = trace});
//   request.run();
//   trace.write("run.json");
#ifndef WEIR_TRACE_HPP_
#define WEIR_TRACE_HPP_

#include <cstddef>
#include <cstdint>
#include <string>

#include "weir/base.hpp"
#include "weir/trace.h"

namespace weir {
inline namespace abi1 {

class Trace : public detail::Handle<weir_trace, weir_trace_retain, weir_trace_release> {
 public:
  // 0: 131,072.
  explicit Trace(int64_t events = 0) : Handle(create(events)) {}
  // No trace.
  Trace(std::nullptr_t) {}

  int64_t kept() const { return weir_trace_kept(get()); }
  int64_t dropped() const { return weir_trace_dropped(get()); }
  void write(const std::string& path) const { check(weir_trace_write(get(), path.c_str())); }

 private:
  static weir_trace* create(int64_t events) {
    weir_trace* trace = nullptr;
    check(weir_trace_create(events, &trace));
    return trace;
  }
};

}  // namespace abi1
}  // namespace weir

#endif  // WEIR_TRACE_HPP_
