// SPDX-License-Identifier: Apache-2.0
//
// Weights in memory that only the device sees: staged through a Shared buffer, block by block, copied into a
// Private one by the device, and used from there. Runs on a device that is far away in all but name, so
// nothing works by accident.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "weir/weir.h"

enum { kWeights = 100000, kBlock = 4096 };  // floats

static void stop_on(weir_status* status) {
  if (status != NULL) {
    fprintf(stderr, "staged_weights: %s\n", weir_status_text(status));
    weir_status_free(status);
    exit(1);
  }
}

// out[0] = Σ weights, by one tile: a sum's order is part of the result.
static void sum(const weir_invocation* call) {
  const float* weights = call->bindings[0];
  double total = 0;
  for (int i = 0; i < kWeights; ++i) {
    total += weights[i];
  }
  *(float*)call->bindings[1] = (float)total;
}

static weir_buffer* make_buffer(weir_device* device, int64_t floats, weir_storage_mode mode,
                                const char* label) {
  weir_buffer_desc desc = WEIR_INIT(weir_buffer_desc);
  desc.size = floats * (int64_t)sizeof(float);
  desc.mode = mode;
  desc.label = label;
  weir_buffer* buffer = NULL;
  stop_on(weir_buffer_create(device, &desc, &buffer));
  return buffer;
}

static void run(weir_queue* queue, weir_command_buffer* commands) {
  weir_submission submission = WEIR_INIT(weir_submission);
  submission.commands = commands;
  weir_submit_answer answer = WEIR_COMPLETED;
  stop_on(weir_queue_submit(queue, &submission, &answer));
  stop_on(weir_command_buffer_wait(commands, -1));
}

int main(void) {
  weir_runtime* runtime = NULL;
  weir_device* device = NULL;
  weir_device_options options = WEIR_INIT(weir_device_options);
  options.simulate_discrete = true;
  stop_on(weir_runtime_create(NULL, &runtime));
  stop_on(weir_device_create_cpu(runtime, &options, &device));

  weir_buffer* weights = make_buffer(device, kWeights, WEIR_PRIVATE, "weights");
  weir_buffer* staging = make_buffer(device, kBlock, WEIR_SHARED, "staging");
  weir_buffer* result = make_buffer(device, 1, WEIR_SHARED, "result");

  void* contents = NULL;
  weir_status* refused = weir_buffer_contents(weights, &contents);
  printf("Asking for the contents: %s\n", weir_status_text(refused));
  if (weir_status_code(refused) != WEIR_FAILED_PRECONDITION) {
    return 1;
  }
  weir_status_free(refused);

  weir_queue_desc queue_desc = WEIR_INIT(weir_queue_desc);
  weir_queue* queue = NULL;
  stop_on(weir_queue_create(device, &queue_desc, &queue));
  stop_on(weir_buffer_contents(staging, &contents));

  // One recording for all blocks: where it copies to is a slot.
  weir_command_buffer_desc blit_desc = WEIR_INIT(weir_command_buffer_desc);
  blit_desc.slots = 1;
  blit_desc.label = "staging";
  weir_command_buffer* blit = NULL;
  stop_on(weir_command_buffer_create(device, &blit_desc, &blit));
  const int64_t block_bytes = kBlock * (int64_t)sizeof(float);
  const weir_range from = {staging, 0, 0, block_bytes};
  const weir_range to = {NULL, 0, 0, block_bytes};
  weir_encode_copy(blit, from, to);
  stop_on(weir_command_buffer_seal(blit));

  double expected = 0;
  int blocks = 0;
  for (int begin = 0; begin < kWeights; begin += kBlock, ++blocks) {
    // The last block overlaps the one before it, so that all have one size.
    const int first = begin + kBlock <= kWeights ? begin : kWeights - kBlock;
    float* block = contents;
    for (int i = 0; i < kBlock; ++i) {
      block[i] = (float)((first + i) % 7);
    }
    stop_on(weir_command_buffer_bind_slot(blit, 0, weights, first * (int64_t)sizeof(float)));
    run(queue, blit);
  }
  for (int i = 0; i < kWeights; ++i) {
    expected += i % 7;
  }

  weir_kernel_desc table = WEIR_INIT(weir_kernel_desc);
  table.name = "sum";
  table.function = sum;
  table.bindings = 2;
  weir_library* library = NULL;
  weir_kernel* kernel = NULL;
  stop_on(weir_library_create(device, "staged_weights", &table, 1, &library));
  stop_on(weir_library_get_kernel(library, "sum", &kernel));
  weir_command_buffer_desc use_desc = WEIR_INIT(weir_command_buffer_desc);
  use_desc.label = "use";
  weir_command_buffer* use = NULL;
  stop_on(weir_command_buffer_create(device, &use_desc, &use));
  const weir_range all_weights = {weights, 0, 0, -1};
  const weir_range all_result = {result, 0, 0, -1};
  weir_encode_kernel(use, kernel);
  weir_encode_buffer(use, 0, all_weights, WEIR_READ);
  weir_encode_buffer(use, 1, all_result, WEIR_WRITE);
  weir_encode_dispatch(use, 1, 1, 1);
  stop_on(weir_command_buffer_seal(use));
  run(queue, use);

  const void* out = NULL;
  float total = 0;
  stop_on(weir_buffer_read_contents(result, &out));
  memcpy(&total, out, sizeof(total));
  printf("%d weights staged in %d blocks; their sum on the device is %.0f of %.0f\n", kWeights, blocks, total,
         expected);

  weir_command_buffer_release(use);
  weir_command_buffer_release(blit);
  weir_kernel_release(kernel);
  weir_library_release(library);
  weir_queue_release(queue);
  weir_buffer_release(weights);
  weir_buffer_release(staging);
  weir_buffer_release(result);
  weir_device_release(device);
  weir_runtime_release(runtime);
  return total == (float)expected ? 0 : 1;
}
