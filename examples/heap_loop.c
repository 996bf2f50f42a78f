// SPDX-License-Identifier: Apache-2.0
//
// The life cycle in four phases: constants once; a heap sized from the plan, every page touched; a loop that
// only reuses, with no allocation; and a clean-up that returns every byte.
//
// A little network by hand: y = relu(x · w + b) over vectors, its two temporaries in one heap.
#include <stdio.h>
#include <stdlib.h>

#include "base/allocation_window.h"
#include "weir/weir.h"

enum { kElements = 4096, kFrames = 1000 };

static void stop_on(weir_status* status) {
  if (status != NULL) {
    fprintf(stderr, "heap_loop: %s\n", weir_status_text(status));
    weir_status_free(status);
    exit(1);
  }
}

static void multiply(const weir_invocation* call) {
  const float* a = call->bindings[0];
  const float* b = call->bindings[1];
  float* c = call->bindings[2];
  for (int64_t i = call->tile_begin; i < call->tile_end; ++i) {
    c[i] = a[i] * b[i];
  }
}

static void add(const weir_invocation* call) {
  const float* a = call->bindings[0];
  const float* b = call->bindings[1];
  float* c = call->bindings[2];
  for (int64_t i = call->tile_begin; i < call->tile_end; ++i) {
    c[i] = a[i] + b[i];
  }
}

static void relu(const weir_invocation* call) {
  const float* a = call->bindings[0];
  float* c = call->bindings[1];
  for (int64_t i = call->tile_begin; i < call->tile_end; ++i) {
    c[i] = a[i] > 0 ? a[i] : 0;
  }
}

static weir_buffer* make_buffer(weir_device* device, weir_category category, const char* label) {
  weir_buffer_desc desc = WEIR_INIT(weir_buffer_desc);
  desc.size = kElements * (int64_t)sizeof(float);
  desc.category = category;
  desc.label = label;
  weir_buffer* buffer = NULL;
  stop_on(weir_buffer_create(device, &desc, &buffer));
  return buffer;
}

static float* floats(weir_buffer* buffer) {
  void* bytes = NULL;
  stop_on(weir_buffer_contents(buffer, &bytes));
  return bytes;
}

static weir_range whole(weir_buffer* buffer) {
  const weir_range range = {buffer, 0, 0, -1};
  return range;
}

static weir_kernel* kernel(weir_library* library, const char* name) {
  weir_kernel* found = NULL;
  stop_on(weir_library_get_kernel(library, name, &found));
  return found;
}

int main(void) {
  weir_runtime* runtime = NULL;
  weir_device* device = NULL;
  stop_on(weir_runtime_create(NULL, &runtime));
  stop_on(weir_device_create_cpu(runtime, NULL, &device));

  // 1. Constants, once.
  weir_buffer* w = make_buffer(device, WEIR_CONSTANTS, "w");
  weir_buffer* b = make_buffer(device, WEIR_CONSTANTS, "b");
  for (int i = 0; i < kElements; ++i) {
    floats(w)[i] = 2;
    floats(b)[i] = (float)(-i);
  }

  // 2. A heap for the temporaries; x and y have buffers of their own.
  weir_heap_desc heap_desc = WEIR_INIT(weir_heap_desc);
  heap_desc.size = 2 * kElements * (int64_t)sizeof(float);
  heap_desc.category = WEIR_ACTIVATIONS;
  heap_desc.label = "arena";
  weir_heap* heap = NULL;
  stop_on(weir_heap_create(device, &heap_desc, &heap));
  weir_buffer* product = NULL;
  weir_buffer* sum = NULL;
  stop_on(weir_heap_create_buffer(heap, 0, heap_desc.size / 2, 0, "product", &product));
  stop_on(weir_heap_create_buffer(heap, heap_desc.size / 2, heap_desc.size / 2, 0, "sum", &sum));
  weir_buffer* x = make_buffer(device, WEIR_IO, "x");
  weir_buffer* y = make_buffer(device, WEIR_IO, "y");

  weir_kernel_desc table[3] = {WEIR_INIT(weir_kernel_desc), WEIR_INIT(weir_kernel_desc),
                               WEIR_INIT(weir_kernel_desc)};
  table[0].name = "multiply";
  table[0].function = multiply;
  table[0].bindings = 3;
  table[1].name = "add";
  table[1].function = add;
  table[1].bindings = 3;
  table[2].name = "relu";
  table[2].function = relu;
  table[2].bindings = 2;
  weir_library* library = NULL;
  stop_on(weir_library_create(device, "heap_loop", table, 3, &library));

  weir_command_buffer_desc commands_desc = WEIR_INIT(weir_command_buffer_desc);
  commands_desc.label = "y = relu(x w + b)";
  weir_command_buffer* commands = NULL;
  stop_on(weir_command_buffer_create(device, &commands_desc, &commands));
  weir_kernel* kernels[3] = {kernel(library, "multiply"), kernel(library, "add"), kernel(library, "relu")};
  weir_encode_kernel(commands, kernels[0]);
  weir_encode_buffer(commands, 0, whole(x), WEIR_READ);
  weir_encode_buffer(commands, 1, whole(w), WEIR_READ);
  weir_encode_buffer(commands, 2, whole(product), WEIR_WRITE);
  weir_encode_dispatch(commands, kElements, 1, 1);
  weir_encode_barrier(commands);
  weir_encode_kernel(commands, kernels[1]);
  weir_encode_buffer(commands, 0, whole(product), WEIR_READ);
  weir_encode_buffer(commands, 1, whole(b), WEIR_READ);
  weir_encode_buffer(commands, 2, whole(sum), WEIR_WRITE);
  weir_encode_dispatch(commands, kElements, 1, 1);
  weir_encode_barrier(commands);
  weir_encode_kernel(commands, kernels[2]);
  weir_encode_buffer(commands, 0, whole(sum), WEIR_READ);
  weir_encode_buffer(commands, 1, whole(y), WEIR_WRITE);
  weir_encode_dispatch(commands, kElements, 1, 1);
  stop_on(weir_command_buffer_seal(commands));

  weir_queue_desc queue_desc = WEIR_INIT(weir_queue_desc);
  queue_desc.label = "frames";
  weir_queue* queue = NULL;
  weir_event* done = NULL;
  stop_on(weir_queue_create(device, &queue_desc, &queue));
  stop_on(weir_event_create(device, "done", &done));

  // 3. The loop.
  float* in = floats(x);
  const float* out = floats(y);
  double checksum = 0;
  weir_allocations_begin();
  for (int frame = 1; frame <= kFrames; ++frame) {
    for (int i = 0; i < kElements; ++i) {
      in[i] = (float)frame;
    }
    const weir_event_point signal = {done, (uint64_t)frame};
    weir_submission submission = WEIR_INIT(weir_submission);
    submission.commands = commands;
    submission.signals = &signal;
    submission.signal_count = 1;
    weir_submit_answer answer = WEIR_COMPLETED;
    stop_on(weir_queue_submit(queue, &submission, &answer));
    stop_on(weir_event_wait(done, (uint64_t)frame, -1, NULL));
    checksum += out[0] + out[2 * frame - 1] + out[2 * frame];
  }
  const weir_allocations allocations = weir_allocations_end();

  // out[0] = 2 frame, out[2 frame − 1] = 1, out[2 frame] = 0.
  const double expected = (double)kFrames * (kFrames + 1) + kFrames;
  int64_t peak = 0;
  stop_on(weir_device_memory(device, WEIR_ALL_CATEGORIES, NULL, &peak));
  if (allocations.counted) {
    printf("%d frames: %lld allocations, ", kFrames, (long long)allocations.allocations);
  } else {
    printf("%d frames: allocations not counted, ", kFrames);
  }
  printf("peak %lld bytes, checksum %.0f of %.0f\n", (long long)peak, checksum, expected);

  // 4. Clean-up.
  weir_event_release(done);
  weir_queue_release(queue);
  weir_command_buffer_release(commands);
  for (int i = 0; i < 3; ++i) {
    weir_kernel_release(kernels[i]);
  }
  weir_library_release(library);
  weir_buffer* buffers[] = {w, b, product, sum, x, y};
  for (int i = 0; i < 6; ++i) {
    weir_buffer_release(buffers[i]);
  }
  weir_heap_release(heap);
  int64_t left = 0;
  stop_on(weir_device_memory(device, WEIR_ALL_CATEGORIES, &left, NULL));
  printf("left after clean-up: %lld bytes\n", (long long)left);
  weir_device_release(device);
  weir_runtime_release(runtime);
  return checksum == expected && left == 0 && allocations.allocations == 0 ? 0 : 1;
}
