// SPDX-License-Identifier: Apache-2.0
//
// What the handles of sessions and requests stand for, and how their structs are read and written.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "api_runtime/handles.h"
#include "runtime/session.h"

struct weir_session : public weir::RefCounted {
  struct Notice {
    weir_notice_kind kind = WEIR_INFO;
    std::string what;
    std::string reason;
    int64_t bytes = -1;
  };
  struct Port {
    std::string name;
    weir::ElementType type = weir::ElementType::kFloat32;
    std::vector<int64_t> shape;  // −1: open
  };

  struct State {
    Port port;
    std::string output;
  };

  weir::Ref<weir::Session> session;
  std::string path;
  std::string isa;
  std::string cache_note;
  bool compiled = false;
  bool strict = false;
  int64_t load_ns = 0;
  int64_t import_ns = 0;
  int64_t compile_ns = 0;
  std::vector<Port> inputs;
  std::vector<Port> outputs;
  std::vector<State> states;
  std::vector<Notice> notices;
};

struct weir_request : public weir::RefCounted {
  ~weir_request() override;

  weir::Ref<weir_session> session;
  weir::Ref<weir::Request> request;
  std::string notice_text;  // what weir_request_notice handed out last
};

namespace weir::api {

Result<TensorView> read_tensor(const weir_tensor& given);
void write_tensor(const TensorView& view, weir_tensor* target);

// One list an input.
Result<std::vector<std::vector<int64_t>>> read_shapes(const weir_session& session, const weir_shape* shapes,
                                                      int32_t count);

void write_ledger(const Ledger& ledger, weir_ledger* target);

}  // namespace weir::api
