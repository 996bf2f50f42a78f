// SPDX-License-Identifier: Apache-2.0
//
// runtime_only PROGRAM.weir MODEL.onnx: a C program that knows libweir_runtime and no more. The program runs
// and its memory is as planned; the model is an error that says what to do.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "weir/weir.h"

static void stop_on(weir_status* status) {
  if (status != NULL) {
    fprintf(stderr, "runtime_only: %s\n", weir_status_text(status));
    weir_status_free(status);
    exit(1);
  }
}

static void stop_unless(int holds, const char* what) {
  if (!holds) {
    fprintf(stderr, "runtime_only: it does not hold that %s\n", what);
    exit(1);
  }
}

// Takes the status. `wanted` is its whole text.
static void stop_unless_fails(weir_status* status, weir_code code, const char* wanted) {
  if (weir_status_code(status) != code || strcmp(weir_status_text(status), wanted) != 0) {
    fprintf(stderr, "runtime_only: '%s' is said, and wanted is '%s'\n", weir_status_text(status), wanted);
    exit(1);
  }
  weir_status_free(status);
}

int main(int argc, char** argv) {
  stop_unless(argc == 3, "there are two arguments");
  weir_runtime* runtime = NULL;
  weir_device* device = NULL;
  weir_session* session = NULL;
  weir_request* request = NULL;
  stop_on(weir_runtime_create(NULL, &runtime));
  stop_on(weir_device_create_cpu(runtime, NULL, &device));
  stop_on(weir_session_open(runtime, device, argv[1], NULL, &session));
  stop_on(weir_request_create(session, NULL, &request));
  const int64_t dims[2] = {2, 2};
  const weir_shape shape = {dims, 2};
  stop_on(weir_request_prepare(request, &shape, 1));
  weir_tensor x = WEIR_INIT(weir_tensor);
  stop_on(weir_request_input(request, 0, &x));
  const float values[4] = {1, 0, 1, 1};
  memcpy(x.data, values, sizeof values);
  stop_on(weir_request_run(request));
  weir_tensor y = WEIR_INIT(weir_tensor);
  stop_on(weir_request_output(request, 0, &y));
  const float expected[6] = {1.5f, 2.25f, 3.125f, 5.5f, 7.25f, 9.125f};
  stop_unless(y.rank == 2 && y.shape[0] == 2 && y.shape[1] == 3, "y is 2 × 3");
  for (int i = 0; i < 6; ++i) {
    stop_unless(((const float*)y.data)[i] == expected[i], "y = x · w + b");
  }
  weir_ledger planned = WEIR_INIT(weir_ledger);
  weir_ledger counted = WEIR_INIT(weir_ledger);
  stop_on(weir_session_plan(session, &shape, 1, &planned));
  stop_on(weir_request_counted(request, &counted));
  stop_unless(memcmp(&planned, &counted, sizeof planned) == 0, "planned is counted");

  weir_session* model = NULL;
  char wanted[1024];
  snprintf(
      wanted, sizeof wanted,
      "File '%s' is no program file, and this library (libweir_runtime) has no compiler; compile the model "
      "with `weir compile MODEL -o FILE.weir`, or link libweir.\n  - while opening '%s'",
      argv[2], argv[2]);
  stop_unless_fails(weir_session_open(runtime, device, argv[2], NULL, &model), WEIR_UNIMPLEMENTED, wanted);
  weir_session_options options = WEIR_INIT(weir_session_options);
  const weir_dim_choice n = {"n", 2, 2};
  options.dims = &n;
  options.dim_count = 1;
  snprintf(
      wanted, sizeof wanted,
      "Program '%s' is compiled already, and its dimensions cannot be chosen any more; compile the model "
      "again.\n  - while opening '%s'",
      argv[1], argv[1]);
  stop_unless_fails(weir_session_open(runtime, device, argv[1], &options, &model), WEIR_INVALID_ARGUMENT,
                    wanted);

  weir_request_release(request);
  weir_session_release(session);
  weir_device_release(device);
  weir_runtime_release(runtime);
  return 0;
}
