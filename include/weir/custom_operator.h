// SPDX-License-Identifier: Apache-2.0
//
// Part of weir.h: operators of one's own, for nodes that Weir does not know. docs/custom-operators.md has the
// whole story, examples/custom_operator.c one operator from end to end.
//
// Four functions describe an operator, each asked for less than the one before:
//   shape   types and shapes of the outputs, from those of the inputs and the attributes. Dimensions may be
//           symbols there, so that a dynamic model stays dynamic. Asked when a model is imported and checked.
//   plan    workspace and scratch bytes, for numbers. Asked when a shape is prepared.
//   extent  into how many tiles the work is cut, and parameters that the run reads. Asked after plan.
//   run     computes a range of tiles. Allocates nothing, takes no lock, gives the same bits for a tile
//           whatever the range and the thread.
// shape, plan and extent answer by their arguments alone: equal questions get equal answers. All four are
// called from any thread, run from several at the same time.
//
// What they answer is checked: nonsense is an error that names the operator and the node.
#ifndef WEIR_CUSTOM_OPERATOR_H_
#define WEIR_CUSTOM_OPERATOR_H_

#include "weir/base.h"
#include "weir/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

// Inputs and outputs of one node together.
#define WEIR_OPERATOR_MAX_TENSORS 24
#define WEIR_OPERATOR_MAX_PARAMETER_BYTES 512

// ------------------------------------------------------------------------------------------------------------------
// A node, as shape, plan and extent see it. It, its dimensions and what it hands out are valid until the
// function that was given it returns.

typedef struct weir_node weir_node;

WEIR_API const char* weir_node_name(const weir_node* node);
// The version of the domain's operator set that the model was written for.
WEIR_API int64_t weir_node_opset(const weir_node* node);

// The question cannot be answered: the first message becomes the error. One full sentence.
WEIR_API void weir_node_fail(weir_node* node, const char* message);

// Attributes by name. An absent one gives `otherwise`, or NULL and a count of 0; one of another kind fails
// the node.
WEIR_API bool weir_node_has_attribute(const weir_node* node, const char* name);
WEIR_API int64_t weir_node_integer(weir_node* node, const char* name, int64_t otherwise);
WEIR_API double weir_node_real(weir_node* node, const char* name, double otherwise);
WEIR_API const char* weir_node_text(weir_node* node, const char* name, const char* otherwise);
WEIR_API const int64_t* weir_node_integers(weir_node* node, const char* name, int64_t* count);
WEIR_API const double* weir_node_reals(weir_node* node, const char* name, int64_t* count);
// False where it is absent. The data may only be read.
WEIR_API bool weir_node_tensor(weir_node* node, const char* name, weir_tensor* tensor);

// ------------------------------------------------------------------------------------------------------------------
// Shapes. Only in the shape function.

WEIR_API int32_t weir_node_input_count(const weir_node* node);
// How many the node of the model has; each is to be set.
WEIR_API int32_t weir_node_output_count(const weir_node* node);
// 0 where the input is absent.
WEIR_API weir_element_type weir_node_input_type(const weir_node* node, int32_t input);
// −1 where the input is absent.
WEIR_API int32_t weir_node_input_rank(const weir_node* node, int32_t input);

// A dimension: a number, or an expression over the model's open dimensions. NULL stands for a mistake that
// the node remembers, so that results need not be looked at one by one.
typedef struct weir_dim weir_dim;

WEIR_API const weir_dim* weir_node_input_dim(weir_node* node, int32_t input, int32_t axis);
WEIR_API const weir_dim* weir_dim_number(weir_node* node, int64_t value);
WEIR_API const weir_dim* weir_dim_add(weir_node* node, const weir_dim* a, const weir_dim* b);
WEIR_API const weir_dim* weir_dim_subtract(weir_node* node, const weir_dim* a, const weir_dim* b);
WEIR_API const weir_dim* weir_dim_multiply(weir_node* node, const weir_dim* a, const weir_dim* b);
WEIR_API const weir_dim* weir_dim_floor_divide(weir_node* node, const weir_dim* a, const weir_dim* b);
WEIR_API const weir_dim* weir_dim_ceil_divide(weir_node* node, const weir_dim* a, const weir_dim* b);
WEIR_API const weir_dim* weir_dim_modulo(weir_node* node, const weir_dim* a, const weir_dim* b);
WEIR_API const weir_dim* weir_dim_min(weir_node* node, const weir_dim* a, const weir_dim* b);
WEIR_API const weir_dim* weir_dim_max(weir_node* node, const weir_dim* a, const weir_dim* b);
// Whether it is a number, and which.
WEIR_API bool weir_dim_value(const weir_dim* dim, int64_t* value);
// What it may be: bounds that hold for every shape of the model.
WEIR_API void weir_dim_range(const weir_dim* dim, int64_t* min, int64_t* max);

// What has to hold: proved now, an error now, or checked whenever a request is prepared. `what` ends the
// sentence "com.example.Clip 'clip_3' needs …".
WEIR_API void weir_node_require_equal(weir_node* node, const weir_dim* a, const weir_dim* b,
                                      const char* what);
WEIR_API void weir_node_require_at_least(weir_node* node, const weir_dim* a, const weir_dim* b,
                                         const char* what);

WEIR_API void weir_node_set_output(weir_node* node, int32_t output, weir_element_type type, int32_t rank,
                                   const weir_dim* const* dims);
// The element type and shape of an input.
WEIR_API void weir_node_set_output_like(weir_node* node, int32_t output, int32_t input);

// ------------------------------------------------------------------------------------------------------------------
// Plan and extent: the same node with numbers.

typedef struct weir_operator_shapes {
  size_t struct_size;
  const weir_tensor* const* inputs;  // without data; NULL where absent
  const weir_tensor* const* outputs;
  int32_t input_count;
  int32_t output_count;
} weir_operator_shapes;

typedef struct weir_operator_plan {
  size_t struct_size;
  int64_t workspace_bytes;      // of the step, whatever the threads; contents undefined
  int64_t workspace_alignment;  // a power of two up to 4096; 0: 64
  int64_t scratch_bytes;        // of each participant; contents undefined; aligned to 64
} weir_operator_plan;

typedef struct weir_operator_extent {
  size_t struct_size;
  int64_t tiles;            // 1 unless set
  void* parameters;         // WEIR_OPERATOR_MAX_PARAMETER_BYTES zeros to write into; the run reads a copy
  int64_t parameter_bytes;  // how many were written
} weir_operator_extent;

// ------------------------------------------------------------------------------------------------------------------
// Run: tiles from `tile_begin` to before `tile_end`. Tiles of one step run in any order and at the same time,
// so no tile reads what another writes, workspace included.

typedef struct weir_operator_call {
  size_t struct_size;
  const weir_tensor* const* inputs;  // NULL where absent; a tensor without elements may have no data
  const weir_tensor* const* outputs;
  int32_t input_count;
  int32_t output_count;
  const void* parameters;  // 64-byte aligned
  void* workspace;         // NULL where plan asked for none
  int64_t workspace_bytes;
  void* scratch;  // this participant's own; NULL where plan asked for none
  int64_t scratch_bytes;
  int64_t tile_begin;
  int64_t tile_end;
  int32_t participant;  // from 0
  int32_t step;
  void* user;
  void* status;  // for weir_operator_call_fail
} weir_operator_call;

// The run cannot be completed: the first such call becomes the request's error, its outputs are withheld. The
// text is copied, up to 199 bytes. Go on or return afterwards.
WEIR_API void weir_operator_call_fail(const weir_operator_call* call, weir_code code, const char* message);

// ------------------------------------------------------------------------------------------------------------------
// Registering

// What the strides of inputs and outputs are. What lies otherwise is copied before the step, which is a
// listed cost.
typedef int32_t weir_operator_layout;
enum {
  WEIR_LAYOUT_ROW_MAJOR = 0,    // dense, row-major
  WEIR_LAYOUT_INNER_DENSE = 1,  // the last axis has stride 1, the others any
  WEIR_LAYOUT_ANY = 2,          // any strides of at least 0
};

// Output `output` may lie in the memory of input `input` (equal type, shape and strides): whatever a tile
// writes there, only this tile reads of the input, and before it writes.
typedef struct weir_operator_in_place {
  int32_t output;
  int32_t input;
} weir_operator_in_place;

typedef struct weir_operator_desc {
  size_t struct_size;
  const char* domain;   // as nodes of the model have it, "com.example"; "" or "ai.onnx": ONNX's own
  const char* name;     // the operator's type, "TopPercentClip"
  int64_t version;      // of what is registered here; raise it when shapes, needs or results change
  int64_t first_opset;  // versions of the domain's operator set that it takes; 0: from the first
  int64_t last_opset;   // 0: to the last
  int32_t min_inputs;   // inputs after these may be absent
  int32_t max_inputs;   // 0: min_inputs
  int32_t min_outputs;  // 0: 1
  int32_t max_outputs;  // 0: min_outputs
  weir_operator_layout layout;
  const weir_operator_in_place* in_place;
  int32_t in_place_count;
  void (*shape)(void* user, weir_node* node);
  // May be NULL: needs nothing.
  void (*plan)(void* user, weir_node* node, const weir_operator_shapes* shapes, weir_operator_plan* plan);
  // May be NULL: one tile, no parameters.
  void (*extent)(void* user, weir_node* node, const weir_operator_shapes* shapes,
                 weir_operator_extent* extent);
  void (*run)(const weir_operator_call* call);
  void* user;
  // Called once when nothing uses the operator any more, on the thread that dropped the last reference. May
  // be NULL. Not called when registering fails.
  void (*release)(void* user);
} weir_operator_desc;

// For models and programs that are opened afterwards with this runtime. It goes before Weir's own operator of
// that name. WEIR_ALREADY_EXISTS where the runtime has one of this domain and name.
WEIR_API WEIR_MUST_USE weir_status* weir_runtime_register_operator(weir_runtime* runtime,
                                                                   const weir_operator_desc* desc);

// Opens the shared library at `path` and calls its function
//   weir_status* weir_register_operators(weir_runtime* runtime);
// which registers its operators. The library stays loaded until the process ends.
WEIR_API WEIR_MUST_USE weir_status* weir_runtime_load_operators(weir_runtime* runtime, const char* path);

#ifdef __cplusplus
}  // extern "C"
#endif

#endif  // WEIR_CUSTOM_OPERATOR_H_
