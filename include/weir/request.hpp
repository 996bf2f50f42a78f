// SPDX-License-Identifier: Apache-2.0
//
// Part of weir.hpp: requests, bindings and leases.
#ifndef WEIR_REQUEST_HPP_
#define WEIR_REQUEST_HPP_

#include <chrono>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "weir/request.h"
#include "weir/resources.hpp"
#include "weir/tensor.hpp"
#include "weir/trace.hpp"

namespace weir {
inline namespace abi1 {

// What becomes of a tensor that is handed over or bound.
struct Binding {
  weir_binding_answer answer = WEIR_BINDING_IN_PLACE;
  weir_copy_reasons reasons = 0;
  int64_t copied_bytes = 0;

  bool in_place() const { return answer == WEIR_BINDING_IN_PLACE; }
  std::string reasons_text() const {
    std::string text(weir_copy_reasons_text(reasons, nullptr, 0), '\0');
    weir_copy_reasons_text(reasons, &text[0], text.size() + 1);
    return text;
  }
};

struct Notice {
  weir_notice_kind kind = WEIR_INFO;
  std::string what;
  std::string reason;
  int64_t bytes = -1;
};

struct Port {
  std::string name;
  weir_element_type type = WEIR_FLOAT32;
  Shape shape;  // −1: open
};

// What is kept from run to run.
struct State {
  std::string name;
  std::string output;  // that it is fed from
  weir_element_type type = WEIR_FLOAT32;
  Shape shape;  // −1: open
};

namespace detail {

inline std::vector<weir_shape> shapes(const std::vector<Shape>& from) {
  std::vector<weir_shape> result;
  for (const Shape& shape : from) {
    result.push_back({shape.data(), static_cast<int32_t>(shape.size())});
  }
  return result;
}

inline Notice notice(const weir_notice& from) {
  return {from.kind, from.what, from.reason, from.bytes};
}

}  // namespace detail

// The right to read an output while its request refuses to run.
class Lease {
 public:
  explicit Lease(weir_lease* lease) : lease_(lease) {}
  Lease(Lease&& other) noexcept : lease_(std::exchange(other.lease_, nullptr)) {}
  Lease& operator=(Lease other) noexcept {
    std::swap(lease_, other.lease_);
    return *this;
  }
  ~Lease() { weir_lease_release(lease_); }

  TensorView tensor() const {
    weir_tensor tensor = WEIR_INIT(weir_tensor);
    check(weir_lease_tensor(lease_, &tensor));
    return TensorView(tensor);
  }

 private:
  weir_lease* lease_;
};

struct RequestOptions {
  int64_t shape_cache_bytes = 0;
  bool profile = false;
  bool lock_pages = false;
  Trace trace = nullptr;
};

class Request : public detail::Handle<weir_request, weir_request_retain, weir_request_release> {
 public:
  using Handle::Handle;

  weir_request_state state() const { return weir_request_get_state(get()); }
  // One shape an input, in the session's order.
  void prepare(const std::vector<Shape>& shapes = {}) const {
    const std::vector<weir_shape> c = detail::shapes(shapes);
    check(weir_request_prepare(get(), c.data(), static_cast<int32_t>(c.size())));
  }
  weir_prepare_report prepare_report() const {
    weir_prepare_report report = WEIR_INIT(weir_prepare_report);
    check(weir_request_get_prepare_report(get(), &report));
    return report;
  }

  // The request's own tensors.
  TensorView input(int32_t index) const { return tensor(weir_request_input, index); }
  TensorView output(int32_t index) const { return tensor(weir_request_output, index); }
  Lease lease_output(int32_t index) const {
    weir_lease* lease = nullptr;
    check(weir_request_lease_output(get(), index, &lease));
    return Lease(lease);
  }

  Binding input_verdict(int32_t index, const TensorView& tensor) const {
    return binding([&](weir_binding* b) { return weir_request_input_verdict(get(), index, &tensor.c(), b); });
  }
  Binding output_verdict(int32_t index, const TensorView& tensor) const {
    return binding(
        [&](weir_binding* b) { return weir_request_output_verdict(get(), index, &tensor.c(), b); });
  }
  Binding set_input(int32_t index, const TensorView& tensor,
                    weir_copy_policy policy = WEIR_COPY_ALLOW) const {
    return binding(
        [&](weir_binding* b) { return weir_request_set_input(get(), index, &tensor.c(), policy, b); });
  }
  Binding bind_input(int32_t index, const TensorView& tensor,
                     weir_copy_policy policy = WEIR_COPY_ALLOW) const {
    return binding(
        [&](weir_binding* b) { return weir_request_bind_input(get(), index, &tensor.c(), policy, b); });
  }
  Binding bind_output(int32_t index, const TensorView& tensor,
                      weir_copy_policy policy = WEIR_COPY_ALLOW) const {
    return binding(
        [&](weir_binding* b) { return weir_request_bind_output(get(), index, &tensor.c(), policy, b); });
  }
  void bind_input(int32_t index, const Buffer& buffer, int64_t offset = 0) const {
    check(weir_request_bind_input_buffer(get(), index, buffer.get(), offset));
  }
  void bind_output(int32_t index, const Buffer& buffer, int64_t offset = 0) const {
    check(weir_request_bind_output_buffer(get(), index, buffer.get(), offset));
  }
  // The request's own again.
  void unbind_input(int32_t index) const {
    check(weir_request_bind_input(get(), index, nullptr, WEIR_COPY_ALLOW, nullptr));
  }
  void unbind_output(int32_t index) const {
    check(weir_request_bind_output(get(), index, nullptr, WEIR_COPY_ALLOW, nullptr));
  }

  void run() const { check(weir_request_run(get())); }
  // Throws nothing but mistakes: see weir_submit_answer.
  weir_submit_answer start(std::initializer_list<weir_event_point> waits = {},
                           std::initializer_list<weir_event_point> signals = {},
                           void (*on_complete)(void* user, const weir_status* status) = nullptr,
                           void* user = nullptr) const {
    weir_start_desc desc = WEIR_INIT(weir_start_desc);
    desc.waits = waits.begin();
    desc.wait_count = static_cast<int32_t>(waits.size());
    desc.signals = signals.begin();
    desc.signal_count = static_cast<int32_t>(signals.size());
    desc.on_complete = on_complete;
    desc.user = user;
    weir_submit_answer answer = WEIR_COMPLETED;
    check(weir_request_start(get(), &desc, &answer));
    return answer;
  }
  // False after the timeout; throws the run's error.
  bool wait(std::chrono::nanoseconds timeout = forever) const {
    bool done = false;
    check(weir_request_wait(get(), detail::nanoseconds(timeout), &done));
    return done;
  }
  void cancel() const { weir_request_cancel(get()); }

  // Zero again.
  void reset_state() const { check(weir_request_reset_state(get())); }
  std::vector<unsigned char> save_state() const {
    int64_t bytes = 0;
    check(weir_request_save_state(get(), nullptr, 0, &bytes));
    std::vector<unsigned char> saved(static_cast<size_t>(bytes));
    check(weir_request_save_state(get(), saved.data(), bytes, &bytes));
    return saved;
  }
  void restore_state(const std::vector<unsigned char>& saved) const {
    check(weir_request_restore_state(get(), saved.data(), static_cast<int64_t>(saved.size())));
  }

  weir_ledger planned() const {
    weir_ledger ledger = WEIR_INIT(weir_ledger);
    check(weir_request_planned(get(), &ledger));
    return ledger;
  }
  weir_ledger counted() const {
    weir_ledger ledger = WEIR_INIT(weir_ledger);
    check(weir_request_counted(get(), &ledger));
    return ledger;
  }
  std::vector<Notice> notices() const {
    std::vector<Notice> notices;
    weir_notice notice = WEIR_INIT(weir_notice);
    for (int32_t i = 0; weir_request_notice(get(), i, &notice); ++i) {
      notices.push_back(detail::notice(notice));
    }
    return notices;
  }
  std::vector<weir_command_profile> profile() const {
    int32_t count = 0;
    const weir_command_profile* lines = weir_request_profile(get(), &count);
    return lines == nullptr ? std::vector<weir_command_profile>()
                            : std::vector<weir_command_profile>(lines, lines + count);
  }

 private:
  TensorView tensor(weir_status* (*ask)(weir_request*, int32_t, weir_tensor*), int32_t index) const {
    weir_tensor tensor = WEIR_INIT(weir_tensor);
    check(ask(get(), index, &tensor));
    return TensorView(tensor);
  }
  template <typename Ask>
  static Binding binding(Ask ask) {
    weir_binding c = WEIR_INIT(weir_binding);
    check(ask(&c));
    return {c.answer, c.reasons, c.copied_bytes};
  }
};

}  // namespace abi1
}  // namespace weir

#endif  // WEIR_REQUEST_HPP_
