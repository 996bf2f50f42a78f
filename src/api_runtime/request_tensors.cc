// SPDX-License-Identifier: Apache-2.0
//
// The C interface: a request's tensors, arrays handed over, memory bound, leases.
#include <cstring>

#include "api_runtime/session_handles.h"

using namespace weir::api;
using weir::BindingAnswer;
using weir::BindingVerdict;
using weir::Buffer;
using weir::CopyPolicy;
using weir::Ref;
using weir::Result;
using weir::StatusCode;
using weir::TensorView;

static_assert(WEIR_BINDING_IN_PLACE == static_cast<int>(BindingAnswer::kInPlace) &&
              WEIR_BINDING_COPIED == static_cast<int>(BindingAnswer::kCopied) &&
              WEIR_BINDING_REFUSED == static_cast<int>(BindingAnswer::kRefused));
static_assert(weir_copy_reasons{WEIR_REASON_ELEMENT_TYPE} == uint32_t{weir::kReasonElementType} &&
              weir_copy_reasons{WEIR_REASON_SHAPE} == uint32_t{weir::kReasonShape} &&
              weir_copy_reasons{WEIR_REASON_STRIDES} == uint32_t{weir::kReasonStrides} &&
              weir_copy_reasons{WEIR_REASON_ALIGNMENT} == uint32_t{weir::kReasonAlignment} &&
              weir_copy_reasons{WEIR_REASON_MEMORY_NOT_SHARED} == uint32_t{weir::kReasonMemoryNotShared} &&
              weir_copy_reasons{WEIR_REASON_LENT} == uint32_t{weir::kReasonLent});

namespace {

weir::LeasedOutput* object(weir_lease* lease) {
  return reinterpret_cast<weir::LeasedOutput*>(lease);
}

weir_status* write_view(Result<TensorView> view, weir_tensor* tensor) {
  if (!view) {
    return failed(view);
  }
  write_tensor(*view, tensor);
  return nullptr;
}

weir_status* write_binding(Result<BindingVerdict> verdict, weir_binding* binding) {
  if (!verdict) {
    return failed(verdict);
  }
  if (binding != nullptr) {
    weir_binding own = read_struct<weir_binding>(nullptr);
    own.answer = static_cast<weir_binding_answer>(verdict->answer);
    own.reasons = verdict->reasons;
    own.copied_bytes = verdict->copied_bytes;
    write_struct(own, binding);
  }
  return nullptr;
}

Result<CopyPolicy> read_policy(const weir_request& request, weir_copy_policy policy) {
  if (policy != WEIR_COPY_ALLOW && policy != WEIR_COPY_FORBID) {
    return weir::fail(StatusCode::kInvalidArgument, "Copy policy ({}) is not one of (0, 1).", policy);
  }
  return policy == WEIR_COPY_FORBID || request.session->strict ? CopyPolicy::kForbid : CopyPolicy::kAllow;
}

// Does `action` with the tensor and the policy that hold.
template <typename Action>
weir_status* with_tensor(const weir_request* request, const weir_tensor* tensor, weir_copy_policy policy,
                         weir_binding* binding, Action action) {
  Result<CopyPolicy> own_policy = read_policy(*request, policy);
  if (!own_policy) {
    return failed(own_policy);
  }
  Result<TensorView> view = tensor == nullptr ? TensorView{} : read_tensor(*tensor);
  if (!view) {
    return failed(view);
  }
  return write_binding(action(*view, *own_policy), binding);
}

}  // namespace

extern "C" {

weir_status* weir_request_input(weir_request* request, int32_t index, weir_tensor* tensor) try {
  if (request == nullptr || tensor == nullptr) {
    return null_argument(__func__);
  }
  if (weir_status* unset = unset_size(__func__, tensor)) {
    return unset;
  }
  return write_view(request->request->input(index), tensor);
} catch (...) {
  return caught(__func__);
}

weir_status* weir_request_output(weir_request* request, int32_t index, weir_tensor* tensor) try {
  if (request == nullptr || tensor == nullptr) {
    return null_argument(__func__);
  }
  if (weir_status* unset = unset_size(__func__, tensor)) {
    return unset;
  }
  return write_view(request->request->output(index), tensor);
} catch (...) {
  return caught(__func__);
}

weir_status* weir_request_lease_output(weir_request* request, int32_t index, weir_lease** lease) try {
  if (request == nullptr || lease == nullptr) {
    return null_argument(__func__);
  }
  Result<weir::OutputLease> taken = request->request->lease_output(index);
  if (!taken) {
    return failed(taken);
  }
  *lease = reinterpret_cast<weir_lease*>(taken->detach());
  return nullptr;
} catch (...) {
  return caught(__func__);
}

weir_status* weir_lease_tensor(const weir_lease* lease, weir_tensor* tensor) try {
  if (lease == nullptr || tensor == nullptr) {
    return null_argument(__func__);
  }
  if (weir_status* unset = unset_size(__func__, tensor)) {
    return unset;
  }
  write_tensor(reinterpret_cast<const weir::LeasedOutput*>(lease)->tensor, tensor);
  return nullptr;
} catch (...) {
  return caught(__func__);
}

void weir_lease_release(weir_lease* lease) {
  if (lease != nullptr) {
    object(lease)->give_back();
  }
}

size_t weir_copy_reasons_text(weir_copy_reasons reasons, char* text, size_t room) try {
  const std::string whole = weir::reasons_text(reasons);
  if (text != nullptr && room > 0) {
    const size_t length = std::min(whole.size(), room - 1);
    std::memcpy(text, whole.data(), length);
    text[length] = '\0';
  }
  return whole.size();
} catch (const std::bad_alloc&) {
  if (text != nullptr && room > 0) {
    *text = '\0';
  }
  return 0;
}

weir_status* weir_request_input_verdict(const weir_request* request, int32_t index, const weir_tensor* tensor,
                                        weir_binding* binding) try {
  if (request == nullptr || tensor == nullptr || binding == nullptr) {
    return null_argument(__func__);
  }
  if (weir_status* unset = unset_size(__func__, binding)) {
    return unset;
  }
  return with_tensor(request, tensor, WEIR_COPY_ALLOW, binding, [&](const TensorView& view, CopyPolicy) {
    return request->request->input_verdict(index, view);
  });
} catch (...) {
  return caught(__func__);
}

weir_status* weir_request_output_verdict(const weir_request* request, int32_t index,
                                         const weir_tensor* tensor, weir_binding* binding) try {
  if (request == nullptr || tensor == nullptr || binding == nullptr) {
    return null_argument(__func__);
  }
  if (weir_status* unset = unset_size(__func__, binding)) {
    return unset;
  }
  return with_tensor(request, tensor, WEIR_COPY_ALLOW, binding, [&](const TensorView& view, CopyPolicy) {
    return request->request->output_verdict(index, view);
  });
} catch (...) {
  return caught(__func__);
}

weir_status* weir_request_set_input(weir_request* request, int32_t index, const weir_tensor* tensor,
                                    weir_copy_policy policy, weir_binding* binding) try {
  if (request == nullptr || tensor == nullptr) {
    return null_argument(__func__);
  }
  if (weir_status* unset = unset_size(__func__, binding)) {
    return unset;
  }
  return with_tensor(request, tensor, policy, binding, [&](const TensorView& view, CopyPolicy own) {
    return request->request->set_input(index, view, own);
  });
} catch (...) {
  return caught(__func__);
}

weir_status* weir_request_bind_input(weir_request* request, int32_t index, const weir_tensor* tensor,
                                     weir_copy_policy policy, weir_binding* binding) try {
  if (request == nullptr) {
    return null_argument(__func__);
  }
  if (weir_status* unset = unset_size(__func__, binding)) {
    return unset;
  }
  return with_tensor(request, tensor, policy, binding, [&](const TensorView& view, CopyPolicy own) {
    return request->request->bind_input(index, view, own);
  });
} catch (...) {
  return caught(__func__);
}

weir_status* weir_request_bind_output(weir_request* request, int32_t index, const weir_tensor* tensor,
                                      weir_copy_policy policy, weir_binding* binding) try {
  if (request == nullptr) {
    return null_argument(__func__);
  }
  if (weir_status* unset = unset_size(__func__, binding)) {
    return unset;
  }
  return with_tensor(request, tensor, policy, binding, [&](const TensorView& view, CopyPolicy own) {
    return request->request->bind_output(index, view, own);
  });
} catch (...) {
  return caught(__func__);
}

weir_status* weir_request_bind_input_buffer(weir_request* request, int32_t index, weir_buffer* buffer,
                                            int64_t offset) try {
  if (request == nullptr) {
    return null_argument(__func__);
  }
  Result<void> bound = request->request->bind_input(index, Ref<Buffer>(weir::api::object(buffer)), offset);
  return bound ? nullptr : failed(bound);
} catch (...) {
  return caught(__func__);
}

weir_status* weir_request_bind_output_buffer(weir_request* request, int32_t index, weir_buffer* buffer,
                                             int64_t offset) try {
  if (request == nullptr) {
    return null_argument(__func__);
  }
  Result<void> bound = request->request->bind_output(index, Ref<Buffer>(weir::api::object(buffer)), offset);
  return bound ? nullptr : failed(bound);
} catch (...) {
  return caught(__func__);
}

bool weir_request_notice(weir_request* request, int32_t index, weir_notice* notice) {
  if (request == nullptr || notice == nullptr || index < 0) {
    return false;
  }
  const auto inputs = static_cast<int32_t>(request->session->inputs.size());
  const auto outputs = static_cast<int32_t>(request->session->outputs.size());
  for (int32_t i = 0; i < inputs + outputs; ++i) {
    const bool is_input = i < inputs;
    const int32_t position = is_input ? i : i - inputs;
    const BindingVerdict& transfer =
        is_input ? request->request->input_transfer(position) : request->request->output_transfer(position);
    if (transfer.answer != BindingAnswer::kCopied || index-- > 0) {
      continue;
    }
    const weir_session::Port& port =
        (is_input ? request->session->inputs : request->session->outputs)[static_cast<size_t>(position)];
    weir_notice own = read_struct<weir_notice>(nullptr);
    own.kind = WEIR_COST;
    own.what = "copy";
    try {
      request->notice_text = fmt::format("{} '{}' is copied: {}", is_input ? "input" : "output", port.name,
                                         weir::reasons_text(transfer.reasons));
      own.reason = request->notice_text.c_str();
    } catch (const std::bad_alloc&) {
      own.reason = "there is no memory left to say why";
    }
    own.bytes = transfer.copied_bytes;
    write_struct(own, notice);
    return true;
  }
  return false;
}

}  // extern "C"
