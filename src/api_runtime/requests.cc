// SPDX-License-Identifier: Apache-2.0
//
// The C interface: requests, their life from create to release.
#include <array>
#include <span>

#include "api_runtime/session_handles.h"

using namespace weir::api;
using weir::EventPoint;
using weir::Ledger;
using weir::Ref;
using weir::Result;
using weir::StatusCode;
using weir::SubmitAnswer;

static_assert(WEIR_REQUEST_UNPREPARED == static_cast<int>(weir::RequestState::kUnprepared) &&
              WEIR_REQUEST_IDLE == static_cast<int>(weir::RequestState::kIdle) &&
              WEIR_REQUEST_QUEUED == static_cast<int>(weir::RequestState::kQueued) &&
              WEIR_REQUEST_RUNNING == static_cast<int>(weir::RequestState::kRunning) &&
              WEIR_REQUEST_COMPLETED == static_cast<int>(weir::RequestState::kCompleted) &&
              WEIR_REQUEST_FAILED == static_cast<int>(weir::RequestState::kFailed) &&
              WEIR_REQUEST_CANCELLED == static_cast<int>(weir::RequestState::kCancelled));

weir_request::~weir_request() {
  if (!request) {
    return;
  }
  request->cancel();
  // What is in flight holds on to the request. In a handler this thread may be the one that its end needs.
  if (!weir::in_completion_handler()) {
    request->settle();
  }
}

namespace {

Result<std::span<const EventPoint>> read_points(const weir_event_point* points, int32_t count,
                                                std::array<EventPoint, weir::kMaxEventsPerSubmission>& own,
                                                std::string_view what) {
  if (count < 0 || count > weir::kMaxEventsPerSubmission || (count > 0 && points == nullptr)) {
    return weir::fail(StatusCode::kInvalidArgument,
                      "A start has ({}) {}, and the allowed numbers are (0 to {}), with an array of them.",
                      count, what, weir::kMaxEventsPerSubmission);
  }
  for (int32_t i = 0; i < count; ++i) {
    own[static_cast<size_t>(i)] = {object(points[i].event), points[i].value};
  }
  return std::span<const EventPoint>(own.data(), static_cast<size_t>(count));
}

}  // namespace

extern "C" {

weir_status* weir_request_create(weir_session* session, const weir_request_options* options,
                                 weir_request** request) try {
  if (session == nullptr || request == nullptr) {
    return null_argument(__func__);
  }
  if (weir_status* unset = unset_size(__func__, options)) {
    return unset;
  }
  const weir_request_options own = read_struct(options);
  weir::RequestOptions request_options;
  if (own.shape_cache_bytes > 0) {
    request_options.shape_cache_bytes = own.shape_cache_bytes;
  }
  request_options.profile = own.profile;
  request_options.lock = own.lock_pages;
  request_options.trace = Ref<weir::Tracer>(object(own.trace));
  Result<Ref<weir::Request>> created = session->session->create_request(request_options);
  if (!created) {
    return failed(created);
  }
  Ref<weir_request> made = weir::make_ref<weir_request>();
  made->session = Ref<weir_session>(session);
  made->request = *std::move(created);
  *request = made.detach();
  return nullptr;
} catch (...) {
  return caught(__func__);
}

weir_request* weir_request_retain(weir_request* request) {
  if (request != nullptr) {
    request->retain();
  }
  return request;
}

void weir_request_release(weir_request* request) {
  if (request != nullptr) {
    request->release();
  }
}

weir_request_state weir_request_get_state(const weir_request* request) try {
  return request == nullptr ? WEIR_REQUEST_UNPREPARED
                            : static_cast<weir_request_state>(request->request->state());
} catch (const std::bad_alloc&) {
  return WEIR_REQUEST_FAILED;  // only a failure's reason takes memory
}

weir_status* weir_request_prepare(weir_request* request, const weir_shape* shapes, int32_t count) try {
  if (request == nullptr) {
    return null_argument(__func__);
  }
  auto given = read_shapes(*request->session, shapes, count);
  if (!given) {
    return failed(given);
  }
  Result<void> prepared = request->request->prepare(*given);
  return prepared ? nullptr : failed(prepared);
} catch (...) {
  return caught(__func__);
}

weir_status* weir_request_get_prepare_report(const weir_request* request, weir_prepare_report* report) try {
  if (request == nullptr || report == nullptr) {
    return null_argument(__func__);
  }
  if (weir_status* unset = unset_size(__func__, report)) {
    return unset;
  }
  const weir::PrepareReport& from = request->request->prepare_report();
  weir_prepare_report own = read_struct<weir_prepare_report>(nullptr);
  own.cached = from.cached;
  own.expressions_ns = from.expressions_ns;
  own.placement_ns = from.placement_ns;
  own.recording_ns = from.recording_ns;
  own.growth_ns = from.growth_ns;
  own.constants_ns = from.constants_ns;
  write_struct(own, report);
  return nullptr;
} catch (...) {
  return caught(__func__);
}

weir_status* weir_request_run(weir_request* request) try {
  if (request == nullptr) {
    return null_argument(__func__);
  }
  Result<void> ran = request->request->run();
  return ran ? nullptr : failed(ran);
} catch (...) {
  return caught(__func__);
}

weir_status* weir_request_start(weir_request* request, const weir_start_desc* desc,
                                weir_submit_answer* answer) try {
  if (request == nullptr || answer == nullptr) {
    return null_argument(__func__);
  }
  if (weir_status* unset = unset_size(__func__, desc)) {
    return unset;
  }
  const weir_start_desc own = read_struct(desc);
  std::array<EventPoint, weir::kMaxEventsPerSubmission> wait_points;
  std::array<EventPoint, weir::kMaxEventsPerSubmission> signal_points;
  auto waits = read_points(own.waits, own.wait_count, wait_points, "waits");
  if (!waits) {
    return failed(waits);
  }
  auto signals = read_points(own.signals, own.signal_count, signal_points, "signals");
  if (!signals) {
    return failed(signals);
  }
  Result<SubmitAnswer> started =
      request->request->start(*waits, *signals, c_handler(own.on_complete, own.user));
  if (!started) {
    return failed(started);
  }
  *answer = static_cast<weir_submit_answer>(*started);
  return nullptr;
} catch (...) {
  return caught(__func__);
}

weir_status* weir_request_wait(weir_request* request, int64_t timeout_ns, bool* done) try {
  if (request == nullptr) {
    return null_argument(__func__);
  }
  Result<weir::EventWait> waited = request->request->wait_for(timeout(timeout_ns));
  if (!waited) {
    return failed(waited);
  }
  if (done != nullptr) {
    *done = *waited == weir::EventWait::kReached;
  }
  return nullptr;
} catch (...) {
  return caught(__func__);
}

void weir_request_cancel(weir_request* request) {
  if (request != nullptr) {
    request->request->cancel();
  }
}

weir_status* weir_request_planned(const weir_request* request, weir_ledger* ledger) try {
  if (request == nullptr || ledger == nullptr) {
    return null_argument(__func__);
  }
  if (weir_status* unset = unset_size(__func__, ledger)) {
    return unset;
  }
  Result<Ledger> planned = request->request->planned();
  if (!planned) {
    return failed(planned);
  }
  write_ledger(*planned, ledger);
  return nullptr;
} catch (...) {
  return caught(__func__);
}

weir_status* weir_request_counted(const weir_request* request, weir_ledger* ledger) try {
  if (request == nullptr || ledger == nullptr) {
    return null_argument(__func__);
  }
  if (weir_status* unset = unset_size(__func__, ledger)) {
    return unset;
  }
  write_ledger(request->request->counted(), ledger);
  return nullptr;
} catch (...) {
  return caught(__func__);
}

const weir_command_profile* weir_request_profile(const weir_request* request, int32_t* count) {
  const std::span<const weir::CommandProfile> lines =
      request == nullptr ? std::span<const weir::CommandProfile>() : request->request->profile();
  if (count != nullptr) {
    *count = static_cast<int32_t>(lines.size());
  }
  // The layouts are the same: commands.cc asserts it.
  return lines.empty() ? nullptr : reinterpret_cast<const weir_command_profile*>(lines.data());
}

}  // extern "C"
