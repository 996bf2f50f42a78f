// SPDX-License-Identifier: Apache-2.0
//
// Session: a program on a device, with its constants resident and its kernels chosen. Request: its own
// inputs, outputs and arena, with the work recorded.
//
//   WEIR_ASSIGN(LoadedProgram loaded, read_program("model.weir"));
//   WEIR_ASSIGN(Ref<Session> session, Session::create(std::move(loaded), device, {}));
//   WEIR_ASSIGN(Ref<Request> request, session->create_request({}));
//   WEIR_TRY(request->prepare({{1, 3, 224, 224}}));          // a static program is prepared already
//   WEIR_ASSIGN(TensorView x, request->input(0));            // write into it
//   WEIR_TRY(request->run());
//   WEIR_ASSIGN(TensorView y, request->output(0));           // valid until the next run
//
// A Session is immutable and thread-safe; a Request is used by one thread at a time, except for state, wait,
// wait_for and cancel, which any thread may call. A request keeps its session alive, a session its device,
// and what was started keeps its request until it has ended. Between prepare and the end of run nothing is
// allocated.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "hal/device.h"
#include "program/program_file.h"
#include "program/report.h"
#include "runtime/binding.h"
#include "runtime/concrete.h"
#include "runtime/host_block.h"
#include "runtime/lease.h"
#include "runtime/recording.h"
#include "runtime/request_state.h"
#include "runtime/request_trace.h"

namespace weir {

// Another value for a constant of the model, by the name that the model gives it.
struct ConstantValue {
  std::string name;
  TensorView tensor;  // any strides; read while the session is created
};

struct SessionOptions {
  Isa isa = detect_isa();    // kernels of better instruction sets are not used
  int32_t participants = 0;  // among how many a step is split; 0: the device's
  std::string name;          // for messages; empty: the program's
  bool verify_constants = false;
  // Only reference implementations, for comparing. For programs that carry plain constants, or were compiled
  // so.
  bool reference_only = false;
  std::vector<ConstantValue> constants;
  Tracer* trace = nullptr;  // of loading; requests are traced by their own options
  // For programs with custom operators; null: none.
  std::shared_ptr<const CustomOperators> operators;
};

// The lines of the ledger, in bytes.
struct Ledger {
  int64_t constants = 0;    // weights, and what prepared shapes have computed from them
  int64_t activations = 0;  // peak of the activations alone
  int64_t workspace = 0;    // what the arena has beyond that
  int64_t scratch = 0;
  int64_t io = 0;
  int64_t state = 0;
  int64_t host = 0;
  int64_t total() const { return constants + activations + workspace + scratch + io + state + host; }
  friend bool operator==(const Ledger&, const Ledger&) = default;
};

class Request;

struct RequestOptions {
  // The arena, instead of one of the request's own: at least the planned size, and never grown.
  Ref<Buffer> arena;
  // Sealed recordings of shapes beyond the current one are kept up to this many bytes.
  int64_t shape_cache_bytes = int64_t{4} << 20;
  bool profile = false;
  bool lock = false;
  // Of preparing and running; the recordings keep timestamps for it, as with `profile`.
  Ref<Tracer> trace;
};

class Session : public RefCounted {
 public:
  // On a thread of its own queue, for example in a completion handler, it leaves the queue's end to another.
  ~Session() override;

  static Result<Ref<Session>> create(LoadedProgram loaded, Ref<Device> device, const SessionOptions& options);

  Result<Ref<Request>> create_request(const RequestOptions& options);

  const Program& program() const { return loaded_.program; }
  const std::string& name() const { return name_; }
  Device& device() const { return *device_; }
  Queue& queue() const { return *queue_; }
  int64_t file_bytes() const { return loaded_.file_bytes; }
  int32_t participants() const { return participants_; }
  // Null where none is registered.
  const CustomOperators* operators() const { return operators_.get(); }
  std::span<const StepKernel> kernels() const { return tables_.kernels; }
  std::span<const StepKernel> prepare_kernels() const { return tables_.prepare_kernels; }
  // Null where the program has no constants.
  Buffer* constants() const { return constants_.get(); }
  // Constants that were packed here or given another value; null where there are none.
  Buffer* own_constants() const { return own_constants_.get(); }
  const ConstantLayout& constant_layout() const { return constant_layout_; }
  // What opening the session made of the constants, beside what the program's own notices say.
  std::span<const NoticeReport> load_notices() const { return load_notices_; }
  // Whether the constants are used where the file is mapped, or were staged, and why.
  const std::string& constants_note() const { return constants_note_; }
  bool constants_copied() const { return constants_ && constants_->mode() == StorageMode::kPrivate; }

  // Positions of inputs and outputs by name; −1 where there is none.
  int32_t find_input(std::string_view name) const;
  int32_t find_output(std::string_view name) const;

  // The symbols' values for these input shapes, one list an input. Every dimension is checked.
  Result<std::vector<int64_t>> symbols_of(std::span<const std::vector<int64_t>> shapes) const;

  // What the session takes whatever its requests: constants, and the host's tables and program metadata.
  Ledger own_lines() const;
  // What one request takes at these symbols, with the session's own lines: known before anything is
  // allocated.
  Result<Ledger> planned(std::span<const int64_t> symbols) const;
  // Tensors with their places as a request of these symbols has them, steps, notices.
  Result<ProgramReport> report(std::span<const int64_t> symbols) const;

 private:
  friend class Request;
  struct Measured;
  // Bytes of one shape, as the device would charge them.
  struct PlannedBytes {
    int64_t prepared = 0;
    int64_t arena = 0;
    int64_t scratch = 0;
    int64_t io = 0;
    int64_t state = 0;
    int64_t host = 0;  // of the shape alone
  };
  PlannedBytes planned_bytes(const Measured& measured, const CommandBufferCounts& counts) const;
  Ledger ledger_of(const PlannedBytes& bytes, int64_t activations) const;
  Result<Measured> measure(std::span<const int64_t> symbols) const;
  Session(LoadedProgram loaded, Ref<Device> device)
      : loaded_(std::move(loaded)), device_(std::move(device)) {}
  // A packed operand that the session makes itself.
  struct Packing {
    int32_t storage = -1;  // kPacked
    int32_t source = -1;   // tensor: the plain constant
    PackRequest request;
  };
  // The constant of the program that has another value here, dense and row-major.
  struct Replacement {
    int32_t storage = -1;
    std::string name;
    std::vector<std::byte> bytes;
  };
  Result<void> choose_kernels(const SessionOptions& options, std::vector<Packing>& packings);
  Result<const Implementation*> choose(const Step& step, const SessionOptions& options) const;
  Result<std::vector<Replacement>> replacements(std::span<const ConstantValue> values) const;
  void lay_out_constants(std::span<const Replacement> replaced);
  Result<void> load_constants(std::span<const Packing> packings, std::span<const Replacement> replaced);
  Result<void> load_program_constants();
  Result<void> load_own_constants(std::span<const Packing> packings, std::span<const Replacement> replaced);
  Result<void> fill_own_constants(std::span<const Packing> packings, std::span<const Replacement> replaced,
                                  std::span<std::byte> own) const;
  Result<Ref<Buffer>> stage_constants(std::span<const std::byte> bytes);
  // "constants of NAME", for the account of who holds memory.
  std::string label(std::string_view what) const;

  LoadedProgram loaded_;
  MemoryCharge metadata_;  // of the program in `loaded_`
  Ref<Device> device_;
  Ref<Queue> queue_;
  Ref<Library> library_;
  Ref<Buffer> constants_;
  Ref<Buffer> own_constants_;
  ConstantLayout constant_layout_;
  std::vector<NoticeReport> load_notices_;
  std::string constants_note_;
  std::string name_;
  int32_t participants_ = 1;
  std::atomic<int64_t> requests_ = 0;  // that were ever made, to number them
  HostBlock block_;
  struct Tables {
    HostArray<StepKernel> kernels;
    HostArray<StepKernel> prepare_kernels;
    HostArray<int64_t> own_offset;  // of constant_layout_

    template <typename Memory>
    void place(Memory& memory, const Program& program) {
      memory.place(kernels, program.steps.size());
      memory.place(prepare_kernels, program.prepare_steps.size());
      memory.place(own_offset, program.storages.size());
    }
  };
  Tables tables_;
  std::atomic<int32_t> traced_requests_{0};
  std::shared_ptr<const CustomOperators> operators_;  // null: none
};

// How long the parts of a prepare took, in nanoseconds.
struct PrepareReport {
  bool cached = false;
  int64_t expressions_ns = 0;  // dimensions, constraints, concrete operators
  int64_t placement_ns = 0;
  int64_t recording_ns = 0;
  int64_t growth_ns = 0;     // arena, scratch and tensors that had to grow
  int64_t constants_ns = 0;  // prepared constants
};

// Completed, failed and cancelled say how the last run since prepare went; they take what idle takes.
enum class RequestState : uint8_t { kUnprepared, kIdle, kQueued, kRunning, kCompleted, kFailed, kCancelled };
std::string_view to_string(RequestState state);

class Request : public RefCounted {
 public:
  ~Request() override;

  RequestState state() const;
  // Whether a prepared shape is there to run.
  bool is_prepared() const { return current_ != nullptr; }

  // Makes the request ready for inputs of these shapes, one list an input. A shape that was prepared before
  // is found in the cache. Contents of inputs and outputs are undefined afterwards; states whose extents
  // change become zero.
  Result<void> prepare(std::span<const std::vector<int64_t>> shapes);
  const PrepareReport& prepare_report() const { return report_; }

  // The request's own input, to write into. Its strides are row-major. An error while another tensor is bound
  // in its place.
  Result<TensorView> input(int32_t index);
  // The output, valid until the next run, prepare or bind. After a run that failed or was cancelled: its
  // error.
  Result<TensorView> output(int32_t index);
  // The same, and until it is given back this request answers `busy` to run, start and prepare.
  Result<OutputLease> lease_output(int32_t index);
  int32_t leases() const;
  TensorSpec input_spec(int32_t index) const;
  TensorSpec output_spec(int32_t index) const;

  // Uses the caller's buffer instead of the request's own from `offset` on, until another is bound (null: the
  // own).
  Result<void> bind_input(int32_t index, Ref<Buffer> buffer, int64_t offset);
  Result<void> bind_output(int32_t index, Ref<Buffer> buffer, int64_t offset);

  // What would become of a tensor of the caller's here; nothing changes.
  Result<BindingVerdict> input_verdict(int32_t index, const TensorView& tensor) const;
  Result<BindingVerdict> output_verdict(int32_t index, const TensorView& tensor) const;
  // Copies the elements into the request's own input, whatever their strides. Ends a binding.
  Result<BindingVerdict> set_input(int32_t index, const TensorView& from,
                                   CopyPolicy policy = CopyPolicy::kAllow);
  // Uses the caller's memory until another is bound, which lives as long: in place where the verdict says so;
  // else an input is copied when a run starts, and an output once run or wait returns, or before the
  // completion handler is called. Shapes that are prepared later must fit it. `data` null: the request's own.
  Result<BindingVerdict> bind_input(int32_t index, const TensorView& tensor,
                                    CopyPolicy policy = CopyPolicy::kAllow);
  Result<BindingVerdict> bind_output(int32_t index, const TensorView& tensor,
                                     CopyPolicy policy = CopyPolicy::kAllow);
  // How the tensor last came in or goes out: for notices.
  const BindingVerdict& input_transfer(int32_t index) const;
  const BindingVerdict& output_transfer(int32_t index) const;

  // Runs and waits, on the calling thread where the device can. Error: what went wrong, with the step; in a
  // completion handler also where that would wait for the handler's own thread.
  Result<void> run();
  // Hands the work to the queue; kBusy and kWouldBlock are answers, not errors. The handler is called when
  // the state is set and may start or drop any request. Inputs that are copied are read now, whatever is
  // waited for.
  Result<SubmitAnswer> start(std::span<const EventPoint> waits = {}, std::span<const EventPoint> signals = {},
                             CompletionHandler on_complete = {});
  // The result of the last run. kReached, or kTimedOut while it is under way. In a completion handler of its
  // own session a wait for ever is an error where it would be one for the handler's own thread.
  Result<EventWait> wait_for(std::chrono::nanoseconds timeout);
  Result<void> wait();
  // Ends a run that waits for events, and stops one that is under way before its next step. Without one it
  // does nothing, and one that has completed stays so.
  void cancel();
  // Until no run is under way, no handler of it is being called, and the caller's is the only reference left.
  // Not in a handler.
  void settle();

  // Lines of this request and its session as planned, and as counted by what allocates. Buffers keep the size
  // of the largest shape that was prepared; recordings and prepared constants add up over the cached shapes.
  Result<Ledger> planned() const;
  Ledger counted() const;

  // Makes every state zero, as in a fresh request. These four are errors before a shape is prepared, and
  // `busy` while a run is under way. Where host and device share memory they allocate nothing.
  Result<void> reset_state();
  // Writes the states, with a header of 32 bytes, into the beginning of `target`.
  Result<int64_t> saved_state_bytes() const;
  Result<void> save_state(std::span<std::byte> target);
  // Refuses what is not all that save_state wrote for the same states with the same types and extents, and
  // then nothing has changed.
  Result<void> restore_state(std::span<const std::byte> source);
  // Of the prepared shape.
  TensorSpec state_spec(int32_t index) const;

  // Of the last run; only with RequestOptions::profile.
  std::span<const CommandProfile> profile() const;
  Session& session() const { return *session_; }
  int64_t arena_bytes() const;
  // The values of the program's symbols; of a prepared request.
  std::span<const int64_t> symbols() const;

 private:
  friend class Session;
  struct PreparedShape;
  explicit Request(Ref<Session> session);

  Result<void> prepare_new(std::span<const int64_t> symbols);
  Result<std::unique_ptr<PreparedShape>> build(const Session::Measured& measured);
  // `measured` of a shape that is new: its prepared constants are computed. Null where it is known.
  Result<void> make_current(PreparedShape& shape, const Session::Measured* measured);
  Result<void> grow(const PreparedShape& shape);
  Result<void> grow_ports(const PreparedShape& shape);
  // After a growth that failed: what is larger than planned, or was given up for it, begins anew.
  void forget_growth();
  Result<void> bind(PreparedShape& shape);
  Result<void> run_prepare_steps(PreparedShape& shape, const Session::Measured& measured);
  void evict();
  // A tensor of the caller's in the place of an input or output, or the last that was copied into it.
  struct Binding {
    TensorView tensor;
    bool copied = false;  // at every run
    BindingVerdict verdict;
  };
  // Inputs or outputs, with what is bound to them.
  struct Side {
    bool output;
    std::span<const ProgramPort> ports;
    std::span<Ref<Buffer>> own;
    std::span<Ref<Buffer>> bound;
    std::span<int64_t> offsets;
    std::span<Binding> bindings;
    int32_t first_slot;
  };
  Side inputs_side();
  Side outputs_side();
  Result<void> bind_buffer(const Side& side, int32_t index, Ref<Buffer> buffer, int64_t offset);
  Result<BindingVerdict> bind_tensor(const Side& side, int32_t index, const TensorView& tensor,
                                     CopyPolicy policy);
  Result<BindingVerdict> verdict(bool output, int32_t index, const TensorView& tensor) const;
  Result<void> check_index(bool output, int32_t index) const;
  // Whether everything bound fits this shape, and no output and nothing else share bytes of bound memory.
  Result<void> check_bindings(const PreparedShape& shape);
  Result<void> check_binding(const Side& side, size_t i, const TensorSpec& wanted) const;
  std::string port_name(bool output, int32_t index) const;

  Result<void> copy_bound_inputs();
  Result<void> bind_states();
  Result<void> copy_bound_outputs();
  Result<void> deliver();
  // Handlers of the queue: of what `start` and `run` submitted.
  static void start_ended(void* user, const Status* status);
  static void run_ended(void* user, const Status* status);
  void end_run(const Status* status);
  // Makes the shape of `commands` (null: none) the one that runs from now on.
  void set_active(CommandBuffer* commands);
  // A submission of `active_` follows; under completion_mutex_.
  void begin_run(bool queued, CompletionHandler on_complete);
  void abandon_run();
  // The end of a run, with all that follows it: sets the state. Returns the handler to call.
  CompletionHandler conclude(const Result<void>& result);
  Result<void> with_step_name(Result<void> result) const;
  std::unexpected<Status> busy(std::string_view action) const;
  Result<void> check_idle(std::string_view action) const;
  // "request 2 of NAME", for the account of who holds memory; and what of it.
  std::string label() const;
  std::string label(std::string_view what) const;
  bool is_idle() const;

  // For spans: null where nothing is traced.
  Tracer* trace() const { return tracer_ ? tracer_->trace() : nullptr; }
  TraceText text(const TraceText RequestTrace::* name) const { return tracer_ ? (*tracer_).*name : -1; }

  Ref<Session> session_;
  int64_t number_ = 0;  // the session's first is 1
  RequestOptions options_;
  std::optional<RequestTrace> tracer_;
  Session::PlannedBytes largest_;  // of all shapes that were prepared
  int64_t largest_activations_ = 0;
  std::list<std::unique_ptr<PreparedShape>> shapes_;  // most recently used first
  PreparedShape* current_ = nullptr;
  PrepareReport report_;
  Ref<Buffer> arena_;
  Ref<Buffer> scratch_;
  HostBlock block_;
  struct Tables {
    HostArray<Ref<Buffer>> inputs;  // the request's own
    HostArray<Ref<Buffer>> outputs;
    HostArray<Ref<Buffer>> bound_inputs;  // the caller's, where bound
    HostArray<Ref<Buffer>> bound_outputs;
    HostArray<int64_t> bound_input_offsets;
    HostArray<int64_t> bound_output_offsets;
    HostArray<Binding> input_bindings;
    HostArray<Binding> output_bindings;
    HostArray<Ref<LeasedOutput>> leased;  // one an output
    HostArray<int64_t> input_bytes;       // of the largest shape that was prepared
    HostArray<int64_t> output_bytes;
    HostArray<RequestStates::Pair> states;
    HostArray<int64_t> state_bytes;  // as input_bytes

    template <typename Memory>
    void place(Memory& memory, const Program& program) {
      for (auto* array : {&inputs, &bound_inputs}) {
        memory.place(*array, program.inputs.size());
      }
      for (auto* array : {&outputs, &bound_outputs}) {
        memory.place(*array, program.outputs.size());
      }
      memory.place(bound_input_offsets, program.inputs.size());
      memory.place(bound_output_offsets, program.outputs.size());
      memory.place(input_bindings, program.inputs.size());
      memory.place(output_bindings, program.outputs.size());
      memory.place(leased, program.outputs.size());
      memory.place(input_bytes, program.inputs.size());
      memory.place(output_bytes, program.outputs.size());
      memory.place(states, program.states.size());
      memory.place(state_bytes, program.states.size());
    }
  };
  Tables tables_;
  RequestStates states_;

  mutable std::mutex completion_mutex_;  // guards what is below, which any thread may ask for
  mutable std::condition_variable completion_;
  Ref<CommandBuffer> active_;      // of current_
  bool in_flight_ = false;         // from before a submission until all that follows its end is done
  bool queued_ = false;            // the run in flight went through the queue, or will
  uint64_t ended_ = 0;             // of active_ when the run in flight was submitted
  CompletionHandler on_complete_;  // of the run in flight
  int32_t handlers_ = 0;           // of this request that are being called
  RequestState outcome_ = RequestState::kUnprepared;  // while none is in flight
  std::optional<Status> error_;                       // where the outcome is failed or cancelled
};

}  // namespace weir
