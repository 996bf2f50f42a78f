// SPDX-License-Identifier: Apache-2.0
//
// What the tests of the promises run: real networks, compiled once a process, at several shapes; and a small
// one that is generated, so that no promise is without a test where the files of the others are absent.
//
//   for (const PromiseModel& model : promise_models()) …
//   const std::optional<std::string> path = model_path(model);       // nothing: the model is not here
//   ModelShelf shelf;
//   Result<LoadedProgram> program = shelf.dynamic(model);
//   Ref<Session> session = make_session(*program, make_device(2));
//   Outputs outputs = run_once(*session, model.shapes[0], seed);
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "compile/compile.h"
#include "program/program_file.h"
#include "runtime/session.h"

namespace weir::promises {

using Shapes = std::vector<std::vector<int64_t>>;  // one list an input

struct PromiseModel {
  std::string name;
  std::string file;
  std::vector<Shapes> shapes;
  bool large = false;  // takes longer than a second or two: fewer repetitions
  std::vector<StateChoice> states;
};

inline void PrintTo(const PromiseModel& model, std::ostream* out) {
  *out << model.name;
}

// The last is "small", which needs no file of others.
std::vector<PromiseModel> promise_models();

// In the folders of the environment variables WEIR_TEST_MODELS and WEIR_FILLED_MODELS; of the generated
// model, a temporary file that lives as long as the process.
std::optional<std::string> model_path(const std::string& file);

// Compiled programs of models, without a cache on disk: a test must see the compiler of this build.
class ModelShelf {
 public:
  Result<LoadedProgram> dynamic(const PromiseModel& model);
  // The program of one shape.
  Result<LoadedProgram> fixed(const PromiseModel& model, const Shapes& shapes);

 private:
  std::map<std::string, LoadedProgram> programs_;
};

Ref<Device> make_device(int32_t threads, bool simulate_discrete = false);
Ref<Session> make_session(const LoadedProgram& program, Ref<Device> device);
Ref<Request> make_request(Session& session, const Shapes& shapes);

// Numbers that depend on the seed only: normal ones, token ids below 1000, masks of ones with a zero at the
// end.
void fill_input(const TensorView& view, const std::string& name, uint32_t seed);
// Of a request whose states are reset, so that what it computes depends on the seed alone.
void fill_inputs(Request& request, uint32_t seed);

using Outputs = std::vector<std::vector<std::byte>>;
Outputs read_outputs(Request& request);
Outputs run_once(Session& session, const Shapes& shapes, uint32_t seed);

// How many outputs' bytes differ in each output, for a message; empty where none does.
std::string difference(const Outputs& got, const Outputs& wanted);

}  // namespace weir::promises
