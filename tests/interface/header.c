// SPDX-License-Identifier: Apache-2.0
//
// Compiles: weir.h is C11 without extensions, alone and twice.
#include "weir/weir.h"

weir_code use_everything(weir_runtime* runtime, weir_device* device);

weir_code use_everything(weir_runtime* runtime, weir_device* device) {
  weir_session_options options = WEIR_INIT(weir_session_options);
  options.strict = WEIR_STRICT_COSTS;
  const weir_state_choice states[] = {{"h", "hn"}};
  options.states = states;
  options.state_count = 1;
  weir_session* session = NULL;
  weir_status* status = weir_session_open(runtime, device, "model.onnx", &options, &session);
  const weir_code code = weir_status_code(status);
  weir_status_free(status);
  return code;
}
