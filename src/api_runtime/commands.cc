// SPDX-License-Identifier: Apache-2.0
//
// The C interface: kernels, recording, events, queues.
#include <array>
#include <deque>
#include <span>
#include <vector>

#include "api_runtime/handles.h"

using namespace weir::api;
using weir::BufferRange;
using weir::CommandBuffer;
using weir::CpuInvocation;
using weir::CpuKernelEntry;
using weir::Encoder;
using weir::Event;
using weir::EventPoint;
using weir::EventWait;
using weir::Fence;
using weir::Kernel;
using weir::Library;
using weir::Queue;
using weir::Ref;
using weir::RefCounted;
using weir::Result;
using weir::Status;
using weir::StatusCode;
using weir::SubmitAnswer;

namespace {

struct CKernel {
  weir_kernel_function function;
  void* user;
};

// Lives as long as the library whose entries point into it.
class CKernels final : public RefCounted {
 public:
  std::deque<CKernel> kernels;
};

void call_c(const CpuInvocation& invocation) {
  const auto* kernel = static_cast<const CKernel*>(invocation.user);
  static_assert(sizeof(void*) == sizeof(std::byte*));
  const weir_invocation c{.struct_size = sizeof(weir_invocation),
                          .bindings = reinterpret_cast<void* const*>(invocation.bindings.data()),
                          .binding_count = static_cast<int32_t>(invocation.bindings.size()),
                          .step = invocation.step,
                          .constants = invocation.constants,
                          .parameters = invocation.parameters,
                          .scratch = invocation.scratch,
                          .tile_begin = invocation.tile_begin,
                          .tile_end = invocation.tile_end,
                          .user = kernel->user,
                          .status = invocation.status};
  kernel->function(&c);
}

BufferRange range_of(const weir_range& range) {
  return {.buffer = object(range.buffer), .slot = range.slot, .offset = range.offset, .size = range.size};
}

weir_status* status_of(Result<void> result) {
  return result ? nullptr : failed(result);
}

// A mistake in a call that has no status of its own.
void refuse(Encoder& encoder, const char* function) {
  encoder.refuse(
      Status(StatusCode::kInvalidArgument,
             fmt::format("Function '{}' was given a null argument where it needs an object.", function)));
}

// Sealing tells that memory ran out, as it tells of any mistake.
template <typename Action>
void encode(weir_command_buffer* commands, Action action) noexcept {
  if (commands == nullptr) {
    return;
  }
  try {
    action(object(commands)->encoder());
  } catch (const std::bad_alloc&) {
    try {
      object(commands)->encoder().refuse(weir::out_of_memory());
    } catch (const std::bad_alloc&) {  // NOLINT(bugprone-empty-catch)
      // The mistake is kept, only its place is not.
    }
  }
}

void tell_c(const weir::CompletionHandler& handler, const Status* status) {
  const auto function = reinterpret_cast<void (*)(void*, const weir_status*)>(handler.foreign);
  if (status == nullptr) {
    function(handler.user, nullptr);
    return;
  }
  weir_status* told = failed(*status);
  function(handler.user, told);
  weir_status_free(told);
}

}  // namespace

weir::CompletionHandler weir::api::c_handler(void (*on_complete)(void* user, const weir_status* status),
                                             void* user) {
  return {.user = user,
          .adapter = on_complete == nullptr ? nullptr : tell_c,
          .foreign = reinterpret_cast<void (*)()>(on_complete)};
}

extern "C" {

void weir_invocation_index_out_of_range(const weir_invocation* invocation, int64_t index, int64_t extent) {
  if (invocation != nullptr && invocation->status != nullptr) {
    static_cast<weir::StatusRecord*>(invocation->status)
        ->set(invocation->step, weir::StatusRecord::Code::kIndexOutOfRange, index, extent);
  }
}

weir_status* weir_library_create(weir_device* device, const char* label, const weir_kernel_desc* kernels,
                                 int32_t count, weir_library** library) try {
  if (device == nullptr || library == nullptr || (kernels == nullptr && count > 0)) {
    return null_argument(__func__);
  }
  if (count < 0) {
    return failed(
        Status(StatusCode::kInvalidArgument,
               fmt::format("A library is asked for with ({}) kernels, and (0) is the least.", count)));
  }
  if (weir_status* unset = unset_size(__func__, count > 0 ? kernels : nullptr)) {
    return unset;
  }
  if (count > 0 && kernels->struct_size % alignof(weir_kernel_desc) != 0) {
    return failed(
        Status(StatusCode::kInvalidArgument,
               fmt::format("The kernels of a library are structs of ({}) bytes, and a multiple of ({}) "
                           "lets each be read.",
                           kernels->struct_size, alignof(weir_kernel_desc))));
  }
  Ref<CKernels> kept = weir::make_ref<CKernels>();
  std::vector<CpuKernelEntry> entries;
  const auto* next = reinterpret_cast<const std::byte*>(kernels);
  for (int32_t i = 0; i < count; ++i) {
    const auto* given = reinterpret_cast<const weir_kernel_desc*>(next);
    const weir_kernel_desc own = read_struct(given);
    next += kernels->struct_size;
    kept->kernels.push_back({.function = own.function, .user = own.user});
    entries.push_back({.name = text(own.name),
                       .function = own.function == nullptr ? nullptr : call_c,
                       .bindings = own.bindings,
                       .constant_bytes = own.constant_bytes,
                       .scratch_bytes = own.scratch_bytes,
                       .user = &kept->kernels.back()});
  }
  Result<Ref<Library>> created =
      object(device)->create_library({.label = text(label), .cpu = entries, .keep_alive = kept});
  if (!created) {
    return failed(created);
  }
  *library = handle(*std::move(created));
  return nullptr;
} catch (...) {
  return caught(__func__);
}

weir_library* weir_library_retain(weir_library* library) {
  return retain(library);
}

void weir_library_release(weir_library* library) {
  release(library);
}

weir_status* weir_library_get_kernel(const weir_library* library, const char* name,
                                     weir_kernel** kernel) try {
  if (library == nullptr || name == nullptr || kernel == nullptr) {
    return null_argument(__func__);
  }
  Result<Ref<Kernel>> found = object(library)->kernel(name);
  if (!found) {
    return failed(found);
  }
  *kernel = handle(*std::move(found));
  return nullptr;
} catch (...) {
  return caught(__func__);
}

weir_kernel* weir_kernel_retain(weir_kernel* kernel) {
  return retain(kernel);
}

void weir_kernel_release(weir_kernel* kernel) {
  release(kernel);
}

weir_status* weir_command_buffer_create(weir_device* device, const weir_command_buffer_desc* desc,
                                        weir_command_buffer** commands) try {
  if (device == nullptr || commands == nullptr) {
    return null_argument(__func__);
  }
  if (weir_status* unset = unset_size(__func__, desc)) {
    return unset;
  }
  const weir_command_buffer_desc own = read_struct(desc);
  Result<Ref<CommandBuffer>> created =
      object(device)->create_command_buffer({.slots = own.slots,
                                             .participants = own.participants,
                                             .parameter_bytes = own.parameter_bytes,
                                             .profile = own.profile,
                                             .label = text(own.label)});
  if (!created) {
    return failed(created);
  }
  *commands = handle(*std::move(created));
  return nullptr;
} catch (...) {
  return caught(__func__);
}

weir_command_buffer* weir_command_buffer_retain(weir_command_buffer* commands) {
  return retain(commands);
}

void weir_command_buffer_release(weir_command_buffer* commands) {
  release(commands);
}

void weir_encode_step(weir_command_buffer* commands, int32_t step) {
  encode(commands, [&](Encoder& encoder) { encoder.set_step(step); });
}

void weir_encode_kernel(weir_command_buffer* commands, weir_kernel* kernel) {
  encode(commands, [&, function = __func__](Encoder& encoder) {
    kernel == nullptr ? refuse(encoder, function) : encoder.set_kernel(*object(kernel));
  });
}

void weir_encode_buffer(weir_command_buffer* commands, int32_t index, weir_range range, weir_access access) {
  encode(commands, [&](Encoder& encoder) {
    const bool known = access >= WEIR_READ && access <= WEIR_READ_WRITE;
    encoder.set_buffer(index, range_of(range), static_cast<weir::Access>(known ? access : 0));
  });
}

void weir_encode_null(weir_command_buffer* commands, int32_t index) {
  encode(commands, [&](Encoder& encoder) { encoder.set_null(index); });
}

void weir_encode_constants(weir_command_buffer* commands, const void* bytes, size_t size) {
  encode(commands, [&, function = __func__](Encoder& encoder) {
    bytes == nullptr&& size > 0 ? refuse(encoder, function)
                                : encoder.set_constants({static_cast<const std::byte*>(bytes), size});
  });
}

void weir_encode_scratch(weir_command_buffer* commands, int64_t bytes_per_participant) {
  encode(commands, [&](Encoder& encoder) { encoder.set_scratch(bytes_per_participant); });
}

void weir_encode_parameters(weir_command_buffer* commands, int64_t offset) {
  encode(commands, [&](Encoder& encoder) { encoder.set_parameters(offset); });
}

void weir_encode_dispatch(weir_command_buffer* commands, int64_t x, int64_t y, int64_t z) {
  encode(commands, [&](Encoder& encoder) { encoder.dispatch(x, y, z); });
}

void weir_encode_barrier(weir_command_buffer* commands) {
  encode(commands, [&](Encoder& encoder) { encoder.barrier(); });
}

void weir_encode_update_fence(weir_command_buffer* commands, weir_fence* fence) {
  encode(commands, [&, function = __func__](Encoder& encoder) {
    fence == nullptr ? refuse(encoder, function) : encoder.update_fence(*object(fence));
  });
}

void weir_encode_wait_fence(weir_command_buffer* commands, weir_fence* fence) {
  encode(commands, [&, function = __func__](Encoder& encoder) {
    fence == nullptr ? refuse(encoder, function) : encoder.wait_fence(*object(fence));
  });
}

void weir_encode_fill(weir_command_buffer* commands, weir_range target, uint8_t value) {
  encode(commands, [&](Encoder& encoder) { encoder.fill(range_of(target), value); });
}

void weir_encode_copy(weir_command_buffer* commands, weir_range source, weir_range target) {
  encode(commands, [&](Encoder& encoder) { encoder.copy(range_of(source), range_of(target)); });
}

void weir_encode_host_call(weir_command_buffer* commands, void (*call)(void* user), void* user) {
  encode(commands, [&](Encoder& encoder) { encoder.host_call(call, user); });
}

weir_status* weir_command_buffer_seal(weir_command_buffer* commands) try {
  return commands == nullptr ? null_argument(__func__) : status_of(object(commands)->seal());
} catch (...) {
  return caught(__func__);
}

int64_t weir_command_buffer_host_bytes(const weir_command_buffer* commands) {
  return commands == nullptr ? 0 : object(commands)->host_bytes();
}

int64_t weir_command_buffer_scratch_bytes(const weir_command_buffer* commands) {
  return commands == nullptr ? 0 : object(commands)->scratch_bytes();
}

const char* weir_command_buffer_note(const weir_command_buffer* commands, int32_t index) {
  if (commands == nullptr || index < 0) {
    return nullptr;
  }
  const std::vector<std::string>& notes = object(commands)->notes();
  return static_cast<size_t>(index) < notes.size() ? notes[static_cast<size_t>(index)].c_str() : nullptr;
}

weir_status* weir_command_buffer_bind_scratch(weir_command_buffer* commands, weir_buffer* buffer,
                                              int64_t offset) try {
  return commands == nullptr || buffer == nullptr
             ? null_argument(__func__)
             : status_of(object(commands)->bind_scratch(*object(buffer), offset));
} catch (...) {
  return caught(__func__);
}

weir_status* weir_command_buffer_bind_parameters(weir_command_buffer* commands, weir_buffer* buffer,
                                                 int64_t offset) try {
  return commands == nullptr || buffer == nullptr
             ? null_argument(__func__)
             : status_of(object(commands)->bind_parameters(*object(buffer), offset));
} catch (...) {
  return caught(__func__);
}

weir_status* weir_command_buffer_bind_slot(weir_command_buffer* commands, int32_t slot, weir_buffer* buffer,
                                           int64_t offset) try {
  return commands == nullptr || buffer == nullptr
             ? null_argument(__func__)
             : status_of(object(commands)->bind_slot(slot, *object(buffer), offset));
} catch (...) {
  return caught(__func__);
}

void weir_command_buffer_cancel(weir_command_buffer* commands) {
  if (commands != nullptr) {
    object(commands)->cancel();
  }
}

weir_status* weir_command_buffer_wait(weir_command_buffer* commands, int64_t timeout_ns) try {
  return commands == nullptr ? null_argument(__func__)
                             : status_of(object(commands)->wait(timeout(timeout_ns)));
} catch (...) {
  return caught(__func__);
}

const weir_command_profile* weir_command_buffer_profile(const weir_command_buffer* commands, int32_t* count) {
  static_assert(sizeof(weir_command_profile) == sizeof(weir::CommandProfile) &&
                offsetof(weir_command_profile, busy_ns) == offsetof(weir::CommandProfile, busy_ns));
  const std::span<const weir::CommandProfile> lines =
      commands == nullptr ? std::span<const weir::CommandProfile>() : object(commands)->profile();
  if (count != nullptr) {
    *count = static_cast<int32_t>(lines.size());
  }
  return lines.empty() ? nullptr : reinterpret_cast<const weir_command_profile*>(lines.data());
}

weir_status* weir_fence_create(weir_device* device, const char* label, weir_fence** fence) try {
  if (device == nullptr || fence == nullptr) {
    return null_argument(__func__);
  }
  Result<Ref<Fence>> created = object(device)->create_fence(text(label));
  if (!created) {
    return failed(created);
  }
  *fence = handle(*std::move(created));
  return nullptr;
} catch (...) {
  return caught(__func__);
}

weir_fence* weir_fence_retain(weir_fence* fence) {
  return retain(fence);
}

void weir_fence_release(weir_fence* fence) {
  release(fence);
}

weir_status* weir_event_create(weir_device* device, const char* label, weir_event** event) try {
  if (device == nullptr || event == nullptr) {
    return null_argument(__func__);
  }
  Result<Ref<Event>> created = object(device)->create_event(text(label));
  if (!created) {
    return failed(created);
  }
  *event = handle(*std::move(created));
  return nullptr;
} catch (...) {
  return caught(__func__);
}

weir_event* weir_event_retain(weir_event* event) {
  return retain(event);
}

void weir_event_release(weir_event* event) {
  release(event);
}

uint64_t weir_event_value(const weir_event* event) {
  return event == nullptr ? 0 : object(event)->value();
}

weir_status* weir_event_wait(weir_event* event, uint64_t value, int64_t timeout_ns, bool* reached) try {
  if (event == nullptr) {
    return null_argument(__func__);
  }
  Result<EventWait> result = object(event)->wait(value, timeout(timeout_ns));
  if (!result) {
    return failed(result);
  }
  if (reached != nullptr) {
    *reached = *result == EventWait::kReached;
  }
  return nullptr;
} catch (...) {
  return caught(__func__);
}

weir_status* weir_event_signal(weir_event* event, uint64_t value) try {
  return event == nullptr ? null_argument(__func__) : status_of(object(event)->signal(value));
} catch (...) {
  return caught(__func__);
}

weir_status* weir_event_fail(weir_event* event, uint64_t value, weir_code code, const char* message) try {
  if (event == nullptr) {
    return null_argument(__func__);
  }
  const bool known = code > WEIR_OK && code <= WEIR_DATA_LOSS;
  return status_of(object(event)->fail(
      value,
      Status(known ? static_cast<StatusCode>(code) : StatusCode::kUnknown, std::string(text(message)))));
} catch (...) {
  return caught(__func__);
}

weir_status* weir_queue_create(weir_device* device, const weir_queue_desc* desc, weir_queue** queue) try {
  if (device == nullptr || queue == nullptr) {
    return null_argument(__func__);
  }
  if (weir_status* unset = unset_size(__func__, desc)) {
    return unset;
  }
  const weir_queue_desc own = read_struct(desc);
  const weir::QueueDescriptor defaults;
  Result<Ref<Queue>> created = object(device)->create_queue(
      {.max_in_flight = own.max_in_flight == 0 ? defaults.max_in_flight : own.max_in_flight,
       .lanes = own.lanes == 0 ? defaults.lanes : own.lanes,
       .label = text(own.label)});
  if (!created) {
    return failed(created);
  }
  *queue = handle(*std::move(created));
  return nullptr;
} catch (...) {
  return caught(__func__);
}

weir_queue* weir_queue_retain(weir_queue* queue) {
  return retain(queue);
}

void weir_queue_release(weir_queue* queue) {
  release(queue);
}

weir_status* weir_queue_submit(weir_queue* queue, const weir_submission* submission,
                               weir_submit_answer* answer) try {
  if (queue == nullptr || submission == nullptr || answer == nullptr) {
    return null_argument(__func__);
  }
  if (weir_status* unset = unset_size(__func__, submission)) {
    return unset;
  }
  const weir_submission own = read_struct(submission);
  if ((own.wait_count > 0 && own.waits == nullptr) || (own.signal_count > 0 && own.signals == nullptr)) {
    return null_argument(__func__);
  }
  if (own.wait_count < 0 || own.wait_count > weir::kMaxEventsPerSubmission || own.signal_count < 0 ||
      own.signal_count > weir::kMaxEventsPerSubmission) {
    return failed(Status(
        StatusCode::kInvalidArgument,
        fmt::format("A submission to queue '{}' has ({}) waits and ({}) signals, and the most are ({}) "
                    "of each.",
                    object(queue)->label(), own.wait_count, own.signal_count,
                    weir::kMaxEventsPerSubmission)));
  }
  std::array<EventPoint, weir::kMaxEventsPerSubmission> waits;
  std::array<EventPoint, weir::kMaxEventsPerSubmission> signals;
  for (int32_t i = 0; i < own.wait_count; ++i) {
    waits[static_cast<size_t>(i)] = {object(own.waits[i].event), own.waits[i].value};
  }
  for (int32_t i = 0; i < own.signal_count; ++i) {
    signals[static_cast<size_t>(i)] = {object(own.signals[i].event), own.signals[i].value};
  }
  Result<SubmitAnswer> result = object(queue)->submit(
      {.command_buffer = object(own.commands),
       .waits = std::span(waits).first(static_cast<size_t>(own.wait_count)),
       .signals = std::span(signals).first(static_cast<size_t>(own.signal_count)),
       .on_full = own.refuse_when_full ? weir::OnFull::kWouldBlock : weir::OnFull::kWait,
       .may_run_inline = !own.never_inline,
       .on_complete = c_handler(own.on_complete, own.user)});
  if (!result) {
    return failed(result);
  }
  *answer = static_cast<weir_submit_answer>(*result);
  return nullptr;
} catch (...) {
  return caught(__func__);
}

void weir_queue_wait_idle(weir_queue* queue) {
  if (queue != nullptr) {
    object(queue)->wait_idle();
  }
}

weir_status* weir_queue_get_stats(const weir_queue* queue, weir_queue_stats* stats) try {
  if (queue == nullptr || stats == nullptr) {
    return null_argument(__func__);
  }
  if (weir_status* unset = unset_size(__func__, stats)) {
    return unset;
  }
  const weir::QueueStats from = object(queue)->stats();
  write_struct({.struct_size = 0,
                .in_flight = from.in_flight,
                .most_in_flight = from.most_in_flight,
                .submitted = from.submitted,
                .completed = from.completed,
                .failed = from.failed},
               stats);
  return nullptr;
} catch (...) {
  return caught(__func__);
}

}  // extern "C"
