// SPDX-License-Identifier: Apache-2.0
//
// A first inference (first_inference.cpp) in C: open a model, see what it takes, write an input, run, read
// the output.
#include <stdio.h>
#include <stdlib.h>

#include "weir/weir.h"

static void stop_on(weir_status* status) {
  if (status != NULL) {
    fprintf(stderr, "first_inference: %s\n", weir_status_text(status));
    weir_status_free(status);
    exit(1);
  }
}

int main(int argc, char** argv) {
  weir_runtime* runtime = NULL;
  weir_device* device = NULL;
  weir_session* session = NULL;
  stop_on(weir_runtime_create(NULL, &runtime));
  stop_on(weir_device_create_cpu(runtime, NULL, &device));
  // Compiled the first time, then found in a cache.
  stop_on(weir_session_open(runtime, device, argc > 1 ? argv[1] : "model.onnx", NULL, &session));

  // The model leaves some dimensions open; this is the shape that we want to run.
  const int64_t wanted[4] = {1, 3, 48, 192};
  weir_port port = WEIR_INIT(weir_port);
  stop_on(weir_session_get_input(session, 0, &port));
  for (int i = 0; i < port.rank && i < 4; ++i) {
    if (port.shape[i] < 0) {
      port.shape[i] = wanted[i];
    }
  }
  const weir_shape shape = {port.shape, port.rank};
  // Memory is known before anything is allocated, line by line.
  weir_ledger plan = WEIR_INIT(weir_ledger);
  stop_on(weir_session_plan(session, &shape, 1, &plan));
  printf("planned: %lld bytes (%lld of them constants)\n", (long long)plan.total, (long long)plan.constants);

  weir_request* request = NULL;
  stop_on(weir_request_create(session, NULL, &request));
  stop_on(weir_request_prepare(request, &shape, 1));
  weir_ledger counted = WEIR_INIT(weir_ledger);
  stop_on(weir_request_counted(request, &counted));
  printf("counted: %lld bytes\n", (long long)counted.total);

  weir_tensor input = WEIR_INIT(weir_tensor);
  stop_on(weir_request_input(request, 0, &input));  // the request's own tensor: nothing is copied
  float* values = input.data;
  for (int64_t i = 0; i < weir_tensor_element_count(&input); ++i) {
    values[i] = (float)(i % 255) / 127.5f - 1.0f;
  }
  stop_on(weir_request_run(request));  // allocates nothing

  weir_tensor output = WEIR_INIT(weir_tensor);
  stop_on(weir_request_output(request, 0, &output));
  const float* scores = output.data;
  int64_t best = 0;
  for (int64_t i = 1; i < weir_tensor_element_count(&output); ++i) {
    best = scores[i] > scores[best] ? i : best;
  }
  printf("best: class %lld with %.4f\n", (long long)best, scores[best]);

  weir_request_release(request);
  weir_session_release(session);
  weir_device_release(device);
  weir_runtime_release(runtime);
  return plan.total == counted.total ? 0 : 1;
}
