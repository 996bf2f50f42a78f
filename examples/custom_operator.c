// SPDX-License-Identifier: Apache-2.0
//
// An operator of one's own, in C: com.example.TopPercentClip, which takes the outliers out of each row.
//
//   y, thresholds = TopPercentClip(x) percent=5
//
// x is float32[…, n]. In each row the largest `percent` of the elements become as large as the largest of the
// others, the row's threshold. Rows are tiles; a row is sorted in scratch, and y may lie in x's memory.
//
// The file is a program, which runs a model that needs the operator, and a library for the command line as
// well:
//
//   gcc examples/custom_operator.c -Iinclude -Lbuild -lweir -Wl,-rpath,$PWD/build -o clip
//   ./clip MODEL.onnx
//   gcc -shared -fPIC examples/custom_operator.c -Iinclude -o clip.so
//   weir run MODEL.onnx --operators ./clip.so …
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "weir/weir.h"

// What extent tells run.
typedef struct clip_parameters {
  int64_t columns;
  int64_t kept;  // how many of a row are no outliers
} clip_parameters;

static void clip_shape(void* user, weir_node* node) {
  (void)user;
  const int32_t rank = weir_node_input_rank(node, 0);
  if (weir_node_input_type(node, 0) != WEIR_FLOAT32 || rank < 1) {
    weir_node_fail(node, "TopPercentClip takes float32 of rank 1 or more.");
    return;
  }
  const double percent = weir_node_real(node, "percent", 5.0);
  if (!(percent >= 0 && percent < 100)) {
    weir_node_fail(node, "TopPercentClip takes a percentage from 0 to below 100.");
    return;
  }
  // Dimensions may be open: nothing here asks for numbers.
  const weir_dim* rows[WEIR_MAX_RANK];
  for (int32_t axis = 0; axis + 1 < rank; ++axis) {
    rows[axis] = weir_node_input_dim(node, 0, axis);
  }
  weir_node_set_output_like(node, 0, 0);
  weir_node_set_output(node, 1, WEIR_FLOAT32, rank - 1, rows);
}

static void clip_plan(void* user, weir_node* node, const weir_operator_shapes* shapes,
                      weir_operator_plan* plan) {
  (void)user;
  (void)node;
  const weir_tensor* x = shapes->inputs[0];
  plan->scratch_bytes = x->shape[x->rank - 1] * (int64_t)sizeof(float);
}

static void clip_extent(void* user, weir_node* node, const weir_operator_shapes* shapes,
                        weir_operator_extent* extent) {
  (void)user;
  const weir_tensor* x = shapes->inputs[0];
  clip_parameters* parameters = extent->parameters;
  parameters->columns = x->shape[x->rank - 1];
  const double share = weir_node_real(node, "percent", 5.0) / 100;
  parameters->kept = parameters->columns - (int64_t)((double)parameters->columns * share);
  extent->parameter_bytes = sizeof(clip_parameters);
  extent->tiles = parameters->columns == 0 ? 0 : weir_tensor_element_count(x) / parameters->columns;
  if (parameters->columns == 0 && weir_tensor_element_count(shapes->outputs[1]) > 0) {
    weir_node_fail(node, "TopPercentClip takes rows of at least one element.");
  }
}

// The element that would be at `rank` were they sorted. Reorders them.
static float select_element(float* values, int64_t count, int64_t rank) {
  int64_t low = 0;
  int64_t high = count - 1;
  while (low < high) {
    const float pivot = values[low + (high - low) / 2];
    int64_t i = low;
    int64_t j = high;
    while (i <= j) {
      while (values[i] < pivot) ++i;
      while (values[j] > pivot) --j;
      if (i <= j) {
        const float held = values[i];
        values[i++] = values[j];
        values[j--] = held;
      }
    }
    if (rank <= j) {
      high = j;
    } else if (rank >= i) {
      low = i;
    } else {
      break;
    }
  }
  return values[rank];
}

static void clip_run(const weir_operator_call* call) {
  const clip_parameters* p = call->parameters;
  float* sorted = call->scratch;
  for (int64_t row = call->tile_begin; row < call->tile_end; ++row) {
    const float* x = (const float*)call->inputs[0]->data + row * p->columns;
    float* y = (float*)call->outputs[0]->data + row * p->columns;
    for (int64_t i = 0; i < p->columns; ++i) {
      if (isnan(x[i])) {
        weir_operator_call_fail(call, WEIR_OUT_OF_RANGE, "TopPercentClip met an element that is no number.");
        return;
      }
      sorted[i] = x[i];
    }
    const float threshold = select_element(sorted, p->columns, p->kept - 1);
    for (int64_t i = 0; i < p->columns; ++i) {
      y[i] = x[i] < threshold ? x[i] : threshold;
    }
    ((float*)call->outputs[1]->data)[row] = threshold;
  }
}

// What `weir … --operators` calls.
#if defined(_WIN32)
__declspec(dllexport)
#else
__attribute__((visibility("default")))
#endif
weir_status*
weir_register_operators(weir_runtime* runtime) {
  static const weir_operator_in_place in_place = {0, 0};
  weir_operator_desc desc = WEIR_INIT(weir_operator_desc);
  desc.domain = "com.example";
  desc.name = "TopPercentClip";
  desc.version = 1;
  desc.min_inputs = 1;
  desc.min_outputs = 2;
  desc.in_place = &in_place;
  desc.in_place_count = 1;
  desc.shape = clip_shape;
  desc.plan = clip_plan;
  desc.extent = clip_extent;
  desc.run = clip_run;
  return weir_runtime_register_operator(runtime, &desc);
}

static void stop_on(weir_status* status) {
  if (status != NULL) {
    fprintf(stderr, "custom_operator: %s\n", weir_status_text(status));
    weir_status_free(status);
    exit(1);
  }
}

// The model is y, thresholds = TopPercentClip(x + x), of float32[rows, n] with both open.
int main(int argc, char** argv) {
  enum { kRows = 3, kColumns = 200 };
  weir_runtime* runtime = NULL;
  weir_device* device = NULL;
  weir_session* session = NULL;
  weir_request* request = NULL;
  stop_on(weir_runtime_create(NULL, &runtime));
  stop_on(weir_register_operators(runtime));
  stop_on(weir_device_create_cpu(runtime, NULL, &device));
  stop_on(weir_session_open(runtime, device, argc > 1 ? argv[1] : "clip.onnx", NULL, &session));

  const int64_t dims[2] = {kRows, kColumns};
  const weir_shape shape = {dims, 2};
  weir_ledger planned = WEIR_INIT(weir_ledger);
  stop_on(weir_session_plan(session, &shape, 1, &planned));
  printf("planned: %lld bytes, %lld of them scratch\n", (long long)planned.total, (long long)planned.scratch);

  stop_on(weir_request_create(session, NULL, &request));
  stop_on(weir_request_prepare(request, &shape, 1));
  weir_tensor x = WEIR_INIT(weir_tensor);
  stop_on(weir_request_input(request, 0, &x));
  for (int64_t i = 0; i < kRows * kColumns; ++i) {
    ((float*)x.data)[i] = (float)((i * 37) % kColumns);  // every row has 0 … 199 in some order
  }
  stop_on(weir_request_run(request));

  weir_tensor y = WEIR_INIT(weir_tensor);
  weir_tensor thresholds = WEIR_INIT(weir_tensor);
  stop_on(weir_request_output(request, 0, &y));
  stop_on(weir_request_output(request, 1, &thresholds));
  // 5 of 100 are outliers: of twice 0 … 199 the ten from 380 on.
  for (int64_t row = 0; row < kRows; ++row) {
    const float threshold = ((const float*)thresholds.data)[row];
    printf("row %lld: threshold %g\n", (long long)row, (double)threshold);
    if (threshold != 378.0f) {
      return 1;
    }
  }
  for (int64_t i = 0; i < kRows * kColumns; ++i) {
    const float twice = (float)(2 * ((i * 37) % kColumns));
    if (((const float*)y.data)[i] != (twice < 378.0f ? twice : 378.0f)) {
      fprintf(stderr, "custom_operator: element %lld is wrong\n", (long long)i);
      return 1;
    }
  }

  weir_request_release(request);
  weir_session_release(session);
  weir_device_release(device);
  weir_runtime_release(runtime);
  return 0;
}
