// SPDX-License-Identifier: Apache-2.0
//
// Weir's C interface. Stable: structs begin with `struct_size`, which the caller sets to sizeof the struct it
// was compiled with, and grow at the end; fields left at zero mean the default. WEIR_INIT(type) does both.
//
//   weir_runtime* runtime = NULL;
//   weir_status* status = weir_runtime_create(NULL, &runtime);
//   if (status != NULL) { fprintf(stderr, "%s\n", weir_status_text(status)); weir_status_free(status); … }
//
// Errors. A function that can fail returns a weir_status*: NULL is success, anything else belongs to the
// caller, who frees it with weir_status_free. Results come through the last parameters, which are left alone
// on failure. A null handle or pointer where one is needed is WEIR_INVALID_ARGUMENT; functions without a
// status ignore it or return 0.
//
// Ownership. A handle that a function creates is one reference, which the caller drops with the type's
// _release; _retain takes another. Objects keep what they need alive: a buffer its device, a command buffer
// its buffers and kernels. Strings and structs that are passed in are copied; strings that are handed out
// live as long as the object that they were asked from.
//
// Threads. All functions may be called from any thread. Calls on one command buffer that record or bind must
// not happen at the same time, nor calls on one request (see there); everything else may.
//
// Where this says "allocates nothing", it means success: an error allocates its text.
#ifndef WEIR_WEIR_H_
#define WEIR_WEIR_H_

#include "weir/base.h"
#include "weir/custom_operator.h"
#include "weir/request.h"
#include "weir/resources.h"
#include "weir/session.h"
#include "weir/tensor.h"
#include "weir/trace.h"

#endif  // WEIR_WEIR_H_
