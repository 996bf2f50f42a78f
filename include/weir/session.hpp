// SPDX-License-Identifier: Apache-2.0
//
// Part of weir.hpp: sessions.
#ifndef WEIR_SESSION_HPP_
#define WEIR_SESSION_HPP_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "weir/request.hpp"
#include "weir/session.h"

namespace weir {
inline namespace abi1 {

// A dimension by its name, or the shape of an input by its name (−1 keeps what the model says).
struct DimChoice {
  std::string name;
  int64_t min = 1;
  int64_t max = 1;
};
struct ShapeChoice {
  std::string input;
  Shape shape;
};

// An input that is kept from run to run, and the output that it is fed from.
struct StateChoice {
  std::string input;
  std::string output;
};

// Another value for a constant of the model.
struct ConstantValue {
  std::string name;
  weir_tensor tensor;
};

struct SessionOptions {
  std::string name;
  std::vector<DimChoice> dims;
  std::vector<ShapeChoice> shapes;
  std::string cache_folder;
  bool no_cache = false;
  bool verify_constants = false;
  int32_t participants = 0;
  std::string isa;
  weir_strictness strict = WEIR_STRICT_NONE;
  std::vector<StateChoice> states;
  Trace trace = nullptr;  // of opening it
  std::vector<ConstantValue> constants;
  int64_t cache_bytes = 0;  // 0: $WEIR_CACHE_LIMIT, else 2 GiB
};

class Session : public detail::Handle<weir_session, weir_session_retain, weir_session_release> {
 public:
  using Handle::Handle;
  // None: what an element of an array is before it is opened.
  Session() = default;
  // A model file or a program file.
  Session(const Runtime& runtime, const Device& device, const std::string& path,
          const SessionOptions& options = {})
      : Handle(open(runtime, device, path, options)) {}

  Request request(const RequestOptions& options = {}) const {
    weir_request_options c = WEIR_INIT(weir_request_options);
    c.shape_cache_bytes = options.shape_cache_bytes;
    c.profile = options.profile;
    c.lock_pages = options.lock_pages;
    c.trace = options.trace.get();
    weir_request* request = nullptr;
    check(weir_request_create(get(), &c, &request));
    return Request(request);
  }

  weir_session_info info() const {
    weir_session_info info = WEIR_INIT(weir_session_info);
    check(weir_session_get_info(get(), &info));
    return info;
  }
  Port input(int32_t index) const { return port(weir_session_get_input, index); }
  Port output(int32_t index) const { return port(weir_session_get_output, index); }
  State state(int32_t index) const {
    weir_state c = WEIR_INIT(weir_state);
    check(weir_session_get_state(get(), index, &c));
    return {c.name, c.output, c.type, Shape(c.shape, c.shape + c.rank)};
  }
  // −1 where there is none.
  int32_t find_input(const std::string& name) const { return weir_session_find_input(get(), name.c_str()); }
  int32_t find_output(const std::string& name) const { return weir_session_find_output(get(), name.c_str()); }
  // NULL where there is none.
  const char* metadata(const std::string& key) const {
    return weir_session_find_metadata(get(), key.c_str());
  }
  std::vector<std::pair<std::string, std::string>> metadata() const {
    std::vector<std::pair<std::string, std::string>> entries;
    const char* key = nullptr;
    const char* value = nullptr;
    for (int32_t i = 0; weir_session_metadata(get(), i, &key, &value); ++i) {
      entries.emplace_back(key, value);
    }
    return entries;
  }
  std::vector<Notice> notices() const {
    std::vector<Notice> notices;
    weir_notice notice = WEIR_INIT(weir_notice);
    for (int32_t i = 0; weir_session_notice(get(), i, &notice); ++i) {
      notices.push_back(detail::notice(notice));
    }
    return notices;
  }
  // Without running or allocating.
  weir_ledger plan(const std::vector<Shape>& shapes = {}) const {
    const std::vector<weir_shape> c = detail::shapes(shapes);
    weir_ledger ledger = WEIR_INIT(weir_ledger);
    check(weir_session_plan(get(), c.data(), static_cast<int32_t>(c.size()), &ledger));
    return ledger;
  }
  std::string report(const std::vector<Shape>& shapes = {}) const {
    const std::vector<weir_shape> c = detail::shapes(shapes);
    char* json = nullptr;
    check(weir_session_report(get(), c.data(), static_cast<int32_t>(c.size()), &json));
    std::string text(json);
    weir_text_free(json);
    return text;
  }

 private:
  static weir_session* open(const Runtime& runtime, const Device& device, const std::string& path,
                            const SessionOptions& options) {
    weir_session_options c = WEIR_INIT(weir_session_options);
    std::vector<weir_dim_choice> dims;
    for (const DimChoice& dim : options.dims) {
      dims.push_back({dim.name.c_str(), dim.min, dim.max});
    }
    std::vector<weir_shape_choice> shapes;
    for (const ShapeChoice& shape : options.shapes) {
      shapes.push_back({shape.input.c_str(), shape.shape.data(), static_cast<int32_t>(shape.shape.size())});
    }
    c.name = options.name.c_str();
    c.dims = dims.data();
    c.dim_count = static_cast<int32_t>(dims.size());
    c.shapes = shapes.data();
    c.shape_count = static_cast<int32_t>(shapes.size());
    c.cache_folder = options.cache_folder.c_str();
    c.no_cache = options.no_cache;
    c.trace = options.trace.get();
    c.cache_bytes = options.cache_bytes;
    c.verify_constants = options.verify_constants;
    c.participants = options.participants;
    c.isa = options.isa.c_str();
    c.strict = options.strict;
    std::vector<weir_state_choice> states;
    for (const StateChoice& state : options.states) {
      states.push_back({state.input.c_str(), state.output.c_str()});
    }
    c.states = states.data();
    c.state_count = static_cast<int32_t>(states.size());
    std::vector<weir_constant> constants;
    for (const ConstantValue& constant : options.constants) {
      constants.push_back({constant.name.c_str(), &constant.tensor});
    }
    c.constants = constants.data();
    c.constant_count = static_cast<int32_t>(constants.size());
    weir_session* session = nullptr;
    check(weir_session_open(runtime.get(), device.get(), path.c_str(), &c, &session));
    return session;
  }
  Port port(weir_status* (*ask)(const weir_session*, int32_t, weir_port*), int32_t index) const {
    weir_port c = WEIR_INIT(weir_port);
    check(ask(get(), index, &c));
    return {c.name, c.type, Shape(c.shape, c.shape + c.rank)};
  }
};

}  // namespace abi1
}  // namespace weir

#endif  // WEIR_SESSION_HPP_
