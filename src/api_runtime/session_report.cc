// SPDX-License-Identifier: Apache-2.0
//
// weir_session_report: what is known of a session and one shape without running it, as JSON with the keys of
// `weir plan --json`.
#include <cstdlib>
#include <cstring>

#include "api_runtime/json_text.h"
#include "api_runtime/session_handles.h"

using namespace weir::api;

using weir::Ledger;
using weir::ProgramReport;
using weir::Result;
using weir::StorageKind;

namespace {

void write_numbers(JsonText& json, std::string_view key, std::span<const int32_t> numbers) {
  json.key(key).array([&] {
    for (const int32_t number : numbers) {
      json.value(number);
    }
  });
}

void write_ports(JsonText& json, std::string_view key, std::span<const weir_session::Port> ports) {
  json.key(key).array([&] {
    for (const weir_session::Port& port : ports) {
      json.object([&] {
        json.key("name").value(port.name);
        json.key("type").value(weir::to_string(port.type));
        json.key("shape").array([&] {
          for (const int64_t extent : port.shape) {
            json.value(extent);
          }
        });
      });
    }
  });
}

void write_states(JsonText& json, std::span<const weir_session::State> states, const ProgramReport* report) {
  json.key("states").array([&] {
    for (size_t i = 0; i < states.size(); ++i) {
      json.object([&] {
        json.key("name").value(states[i].port.name);
        json.key("output").value(states[i].output);
        json.key("type").value(weir::to_string(states[i].port.type));
        json.key("shape").array([&] {
          for (const int64_t extent : states[i].port.shape) {
            json.value(extent);
          }
        });
        if (report != nullptr) {
          json.key("bytes").value(report->states[i].bytes);
          json.key("before").value(report->states[i].before);
          json.key("after").value(report->states[i].after);
        }
      });
    }
  });
}

void write_planned(JsonText& json, const Ledger& ledger, const ProgramReport& report) {
  json.key("planned").object([&] {
    json.key("constants").value(ledger.constants);
    json.key("activations").value(ledger.activations);
    json.key("workspace").value(ledger.workspace);
    json.key("scratch").value(ledger.scratch);
    json.key("io").value(ledger.io);
    json.key("state").value(ledger.state);
    json.key("host").value(ledger.host);
    json.key("total").value(ledger.total());
  });
  json.key("sum_bytes").value(report.sum_bytes);
  json.key("peak_bytes").value(report.peak_bytes);
  json.key("lower_bound_bytes").value(report.lower_bound_bytes);
  json.key("unfused_bound_bytes").value(report.unfused_bound_bytes);
  json.key("tensors").array([&] {
    for (const weir::TensorReport& tensor : report.tensors) {
      const bool in_arena = tensor.kind == StorageKind::kActivation || tensor.kind == StorageKind::kWorkspace;
      json.object([&] {
        json.key("name").value(tensor.name);
        json.key("offset").value(in_arena ? tensor.offset : int64_t{-1});
        json.key("bytes").value(tensor.bytes);
        json.key("first_step").value(tensor.first_step);
        json.key("last_step").value(tensor.last_step);
        json.key("kind").value(to_string(tensor.kind));
        json.key("alias_of").value(tensor.alias_of);
      });
    }
  });
}

// `report` is null where no shape is given.
void write_steps(JsonText& json, const weir::Session& session, const ProgramReport* report) {
  json.key("steps").array([&] {
    for (size_t i = 0; i < session.program().steps.size(); ++i) {
      const weir::Step& step = session.program().steps[i];
      json.object([&] {
        json.key("name").value(step.name);
        json.key("op").value(step.origin);
        json.key("implementation").value(session.kernels()[i].implementation->name);
        if (report != nullptr) {
          write_numbers(json, "reads", report->steps[i].reads);
          write_numbers(json, "writes", report->steps[i].writes);
        }
        json.key("refused").array([&] {
          for (const weir::Refusal& refusal : step.refused) {
            json.object([&] {
              json.key("name").value(refusal.implementation);
              json.key("reason").value(refusal.reason);
            });
          }
        });
      });
    }
  });
}

void write_notice(JsonText& json, bool cost, std::string_view what, int64_t bytes, std::string_view reason) {
  json.object([&] {
    json.key("kind").value(cost ? "cost" : "info");
    json.key("what").value(what);
    json.key("bytes").value(bytes);
    json.key("reason").value(reason);
  });
}

// With a shape the program's own notices, which are the first of the session's, have their bytes.
void write_notices(JsonText& json, const weir_session& session, const ProgramReport* report) {
  json.key("notices").array([&] {
    for (size_t i = 0; i < session.notices.size(); ++i) {
      const weir_session::Notice& notice = session.notices[i];
      const bool of_program = report != nullptr && i < report->notices.size();
      write_notice(json, notice.kind == WEIR_COST, notice.what,
                   of_program ? report->notices[i].bytes : notice.bytes, notice.reason);
    }
  });
}

Result<std::string> report_json(const weir_session& session, const weir_shape* shapes, int32_t count) {
  const weir::Session& own = *session.session;
  Ledger ledger;
  ProgramReport report;
  const bool planned = count > 0 || own.program().is_static();
  if (planned) {
    WEIR_ASSIGN(const auto given, read_shapes(session, shapes, count));
    WEIR_ASSIGN(const std::vector<int64_t> symbols, own.symbols_of(given));
    WEIR_ASSIGN(ledger, own.planned(symbols));
    WEIR_ASSIGN(report, own.report(symbols));
  }
  const ProgramReport* of_shape = planned ? &report : nullptr;
  JsonText json;
  json.object([&] {
    json.key("model").value(session.path);
    json.key("name").value(own.name());
    json.key("device").value(own.device().info().name);
    json.key("isa").value(session.isa);
    json.key("participants").value(own.participants());
    json.key("target").value(own.program().target);
    json.key("static").value(own.program().is_static());
    json.key("file_bytes").value(own.file_bytes());
    write_ports(json, "inputs", session.inputs);
    write_ports(json, "outputs", session.outputs);
    write_states(json, session.states, of_shape);
    if (planned) {
      write_planned(json, ledger, report);
    } else {
      json.key("planned").null();
    }
    write_steps(json, own, of_shape);
    write_notices(json, session, of_shape);
  });
  return json.text();
}

}  // namespace

extern "C" {

weir_status* weir_session_report(const weir_session* session, const weir_shape* shapes, int32_t count,
                                 char** json) try {
  if (session == nullptr || json == nullptr) {
    return null_argument(__func__);
  }
  Result<std::string> text = report_json(*session, shapes, count);
  if (!text) {
    text.error().add_context(fmt::format("while reporting '{}'", session->session->name()));
    return failed(text);
  }
  char* copy = static_cast<char*>(std::malloc(text->size() + 1));
  if (copy == nullptr) {
    return out_of_memory_status();
  }
  std::memcpy(copy, text->c_str(), text->size() + 1);
  *json = copy;
  return nullptr;
} catch (...) {
  return caught(__func__);
}

void weir_text_free(char* text) {
  std::free(text);
}

}  // extern "C"
