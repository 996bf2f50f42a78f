// SPDX-License-Identifier: Apache-2.0
//
// From the options of a command to a session that runs: model, device, kernels.
#pragma once

#include <string>
#include <vector>

#include "api/model.h"
#include "runtime/session.h"
#include "tools/weir/commands/options.h"
#include "tools/weir/commands/request_shape.h"
#include "tools/weir/io/npy.h"
#include "tools/weir/plan_report.h"

namespace weir::cli {

struct Engine {
  Ref<Device> device;
  Ref<Session> session;
  bool is_program = false;  // the file that was opened
  bool compiled = false;    // now, rather than found in the cache
  std::string cache_note;
  std::vector<ModelNotice> notices;  // of opening it
  int64_t import_ns = 0;
  int64_t compile_ns = 0;
  int64_t load_ns = 0;  // all of it, import and compile included
};

// What every command that opens a model takes.
struct EngineOptions {
  std::string model;
  ShapeOptions shapes;
  RunnerOptions runner;
  bool batch_of_one = false;
  bool materialize_steps = false;
  Ref<Tracer> trace;  // null: nothing is traced
};

// The operators that these shared libraries register; null for no library.
Result<std::shared_ptr<const CustomOperators>> load_operators(const std::vector<std::string>& paths);
Result<ModelOptions> model_options(const EngineOptions& options);
// Null for an empty path. What is written at the end, whatever the command's result was.
Ref<Tracer> make_trace(const std::string& path);
Result<void> write_trace(const Ref<Tracer>& trace, const std::string& path, Result<void> result);
Result<Ref<Device>> open_device(const RunnerOptions& runner);
// With the instruction set, constants and checks that the options ask for.
Result<Ref<Session>> make_session(LoadedProgram program, Ref<Device> device, const RunnerOptions& runner,
                                  Tracer* trace = nullptr);
// What is the compiler's to choose is an error for a program.
Result<void> check_program_options(const std::string& path, const ShapeOptions& options);
// --shape and --dim are for the compiler where the file is a model; where it is a program they are left to
// request_shape().
Result<Engine> open_engine(const EngineOptions& options, Ref<Device> device = {});

// "cpu, avx512, 2 threads".
std::string describe(const Device& device, const RunnerOptions& runner);

// The element types and shapes that the program takes, −1 where a dimension is open.
std::vector<int64_t> declared_shape(const Program& program, const ProgramPort& port);

// A ledger as reports have it.
PlanReport::Ledger lines_of(const Ledger& ledger);

// Every dimension of a program as people read it: a number, or an expression over the model's names.
Result<std::vector<Dim>> readable_dims(const Program& program);
// What is known of the shape of requests: the program's own numbers, and where the file that was opened is a
// program (`is_program`) those of --shape and --dim.
Result<RequestShape> request_shape(const Program& program, bool is_program, const ShapeOptions& options);

// Random numbers, the same each time.
Result<void> fill_inputs(Request& request, const Program& program);

// Copies between arrays and a request's tensors, which are row-major.
void copy_in(const Array& array, const TensorView& view);
Result<Array> copy_out(const TensorView& view);

}  // namespace weir::cli
