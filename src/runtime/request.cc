// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/checked.h"
#include "base/out_of_memory.h"
#include "runtime/prepared_shape.h"

namespace weir {

Request::Request(Ref<Session> session) : session_(std::move(session)) {}

Request::~Request() = default;

Result<Ref<Request>> Session::create_request(const RequestOptions& options) {
  Ref<Request> request = Ref<Request>::adopt(new Request(Ref<Session>(this)));
  request->number_ = ++requests_;
  request->options_ = options;
  if (options.trace) {
    request->options_.profile = true;
    request->tracer_.emplace(options.trace, fmt::format("{} request {}", name_, ++traced_requests_));
  }
  request->arena_ = options.arena;
  WEIR_ASSIGN(request->block_,
              HostBlock::allocate(*device_, host_bytes<Request::Tables>(program()), request->label("tables")),
              "while creating a request of '{}'", name_);
  request->tables_.place(request->block_, program());
  for (Ref<LeasedOutput>& output : request->tables_.leased) {
    output = make_ref<LeasedOutput>();
  }
  request->states_ = RequestStates(program(), *device_, *queue_, request->tables_.states);
  if (program().is_static()) {
    const TraceSpan span(request->trace(), request->text(&RequestTrace::prepare));
    WEIR_TRY(request->prepare_new({}), "while preparing a request of '{}'", name_);
  }
  return request;
}

std::string Request::label() const {
  return session_->label(fmt::format("request {}", number_));
}

std::string Request::label(std::string_view what) const {
  return fmt::format("{} of {}", what, label());
}

Result<void> Request::prepare(std::span<const std::vector<int64_t>> shapes) {
  WEIR_TRY(check_idle("prepare"));
  if (const int32_t held = leases(); held > 0) {
    return fail(StatusCode::kFailedPrecondition,
                "A request of '{}' is busy and cannot prepare now: ({}) leases of its outputs are held.",
                session_->name(), held);
  }
  for (const Ref<LeasedOutput>& output : tables_.leased) {
    output->buffer = {};
  }
  const TraceSpan span(trace(), text(&RequestTrace::prepare));
  WEIR_ASSIGN(std::vector<int64_t> symbols, session_->symbols_of(shapes), "while preparing a request of '{}'",
              session_->name());
  report_ = {};
  const auto is_same = [&](const PreparedShape& shape) {
    return std::ranges::equal(shape.tables.symbols, symbols);
  };
  if (current_ != nullptr && is_same(*current_)) {
    report_.cached = true;
    set_active(current_->commands.get());
    return {};
  }
  const auto known = std::ranges::find_if(shapes_, [&](const auto& shape) { return is_same(*shape); });
  if (known == shapes_.end()) {
    WEIR_TRY(prepare_new(symbols), "while preparing a request of '{}'", session_->name());
  } else {
    report_.cached = true;
    shapes_.splice(shapes_.begin(), shapes_, known);
    WEIR_TRY(check_bindings(*shapes_.front()), "while preparing a request of '{}'", session_->name());
    WEIR_TRY(make_current(*shapes_.front(), nullptr));
  }
  evict();
  return {};
}

Result<void> Request::prepare_new(std::span<const int64_t> symbols) {
  const int64_t begin = steady_now_ns();
  WEIR_ASSIGN(const Session::Measured measured, session_->measure(symbols));
  if (tracer_) {
    trace()->add_part(tracer_->expressions, begin, measured.expressions_ns);
    trace()->add_part(tracer_->placement, begin + measured.expressions_ns, measured.placement_ns);
  }
  WEIR_ASSIGN(std::unique_ptr<PreparedShape> shape, build(measured));
  WEIR_TRY(check_bindings(*shape));
  shapes_.push_front(std::move(shape));
  if (auto made = make_current(*shapes_.front(), &measured); !made) {
    shapes_.pop_front();
    return made;
  }
  return {};
}

Result<std::unique_ptr<Request::PreparedShape>> Request::build(const Session::Measured& measured) {
  const Program& program = session_->program();
  Device& device = session_->device();
  auto shape = std::make_unique<PreparedShape>();
  const int64_t begin = steady_now_ns();
  WEIR_ASSIGN(shape->commands, device.create_command_buffer({.slots = slot_layout(program).count,
                                                             .participants = session_->participants(),
                                                             .profile = options_.profile,
                                                             .label = label()}));
  record_steps(program, program.steps, measured.steps, session_->kernels(), measured.values, measured.plan,
               session_->constant_layout_, 0, shape->commands->encoder());
  const CommandBufferCounts counts = shape->commands->counts();
  shape->planned = session_->planned_bytes(measured, counts);
  WEIR_TRY(shape->commands->seal());
  WEIR_ASSIGN(shape->block, HostBlock::allocate(device, host_bytes<PreparedShape::Tables>(program),
                                                label("tables of a shape")));
  shape->tables.place(shape->block, program);
  std::ranges::copy(measured.values.symbols, shape->tables.symbols.begin());
  const auto specs = [&](std::span<const ProgramPort> ports, HostArray<TensorSpec>& into) {
    for (size_t i = 0; i < ports.size(); ++i) {
      into[i] =
          concrete_tensor(program, program.tensors[static_cast<size_t>(ports[i].tensor)], measured.values);
    }
  };
  specs(program.inputs, shape->tables.inputs);
  specs(program.outputs, shape->tables.outputs);
  for (size_t i = 0; i < program.states.size(); ++i) {
    shape->tables.states[i] = concrete_tensor(
        program, program.tensors[static_cast<size_t>(program.states[i].before)], measured.values);
  }
  shape->arena_bytes = measured.plan.arena_bytes;
  shape->activation_bytes = measured.plan.activation_bytes;
  shape->scratch_bytes = measured.scratch_bytes;
  shape->prepared_bytes = measured.plan.prepared_bytes;
  report_.expressions_ns = measured.expressions_ns;
  report_.placement_ns = measured.placement_ns;
  report_.recording_ns = steady_now_ns() - begin;
  if (tracer_) {
    trace()->add_part(tracer_->recording, begin, report_.recording_ns);
    shape->traced_steps = tracer_->steps_of(program, measured.steps, measured.values, session_->kernels());
  }
  if (shape->prepared_bytes > 0) {
    WEIR_ASSIGN(shape->prepared, device.create_buffer({.size = shape->prepared_bytes,
                                                       .mode = StorageMode::kPrivate,
                                                       .category = MemoryCategory::kConstants,
                                                       .label = label("prepared constants")}));
  }
  return shape;
}

Result<void> Request::make_current(PreparedShape& shape, const Session::Measured* measured) {
  // The recordings of other shapes hold none of the request's buffers, so that one that grows is freed first.
  if (current_ != nullptr && current_ != &shape) {
    WEIR_TRY(current_->commands->release_bindings());
  }
  // Until all is done: some of its memory may be of the new shape already, and the old one not ready any
  // more.
  current_ = nullptr;
  set_active(nullptr);
  const int64_t begin = steady_now_ns();
  const auto take_memory = [&]() -> Result<void> {
    WEIR_TRY(grow(shape));
    report_.growth_ns = steady_now_ns() - begin;
    if (tracer_) {
      trace()->add_part(tracer_->growth, begin, report_.growth_ns);
    }
    WEIR_TRY(bind(shape));
    if (shape.prepared && measured != nullptr) {
      const int64_t start = steady_now_ns();
      WEIR_TRY(run_prepare_steps(shape, *measured));
      report_.constants_ns = steady_now_ns() - start;
      if (tracer_) {
        trace()->add_part(tracer_->prepared_constants, start, report_.constants_ns);
      }
    }
    return {};
  };
  if (auto taken = with_memory_guard(take_memory); !taken) {
    (void)shape.commands->release_bindings();
    forget_growth();
    return taken;
  }
  current_ = &shape;
  set_active(shape.commands.get());
  largest_.arena = std::max(largest_.arena, shape.planned.arena);
  largest_.scratch = std::max(largest_.scratch, shape.planned.scratch);
  largest_activations_ = std::max(largest_activations_, shape.activation_bytes);
  const auto raise = [](std::span<int64_t> bytes, std::span<const TensorSpec> specs) {
    for (size_t i = 0; i < bytes.size(); ++i) {
      bytes[i] = std::max(bytes[i], port_bytes(specs[i]));
    }
  };
  raise(tables_.input_bytes, shape.tables.inputs);
  raise(tables_.output_bytes, shape.tables.outputs);
  raise(tables_.state_bytes, shape.tables.states);
  return {};
}

// Buffers only ever grow: the largest of all prepared shapes.
Result<void> Request::grow(const PreparedShape& shape) {
  Device& device = session_->device();
  if (options_.arena) {
    if (options_.arena->size() < shape.arena_bytes) {
      return fail(StatusCode::kResourceExhausted,
                  "The arena that was handed to a request of '{}' has ({}) bytes, and the shape takes ({}).",
                  session_->name(), options_.arena->size(), shape.arena_bytes);
    }
  } else if (shape.arena_bytes > 0 && (!arena_ || arena_->size() < shape.arena_bytes)) {
    arena_ = {};  // before the new one, so that the two are never held together
    WEIR_ASSIGN(arena_, device.create_buffer({.size = shape.arena_bytes,
                                              .mode = StorageMode::kPrivate,
                                              .category = MemoryCategory::kActivations,
                                              .lock = options_.lock,
                                              .label = label("arena")}));
  }
  const int64_t scratch = shape.scratch_bytes;
  if (scratch > 0 && (!scratch_ || scratch_->size() < scratch)) {
    scratch_ = {};
    WEIR_ASSIGN(scratch_, device.create_buffer({.size = scratch,
                                                .mode = StorageMode::kPrivate,
                                                .category = MemoryCategory::kScratch,
                                                .lock = options_.lock,
                                                .label = label("scratch")}));
  }
  WEIR_TRY(states_.prepare(shape.tables.states, options_.lock), "while preparing the states");
  return grow_ports(shape);
}

void Request::forget_growth() {
  const Device& device = session_->device();
  const auto fits = [&device](const Ref<Buffer>& buffer, int64_t planned) {
    return buffer && device.allocation_bytes(buffer->size(), buffer->mode()) <= planned;
  };
  if (!options_.arena && !fits(arena_, largest_.arena)) {
    arena_ = {};
    largest_.arena = largest_activations_ = 0;
  }
  if (!fits(scratch_, largest_.scratch)) {
    scratch_ = {};
    largest_.scratch = 0;
  }
  const auto forget = [](std::span<Ref<Buffer>> buffers, std::span<int64_t> planned) {
    for (size_t i = 0; i < buffers.size(); ++i) {
      if (!buffers[i] || buffers[i]->size() > planned[i]) {
        buffers[i] = {};
        planned[i] = 0;
      }
    }
  };
  forget(tables_.inputs, tables_.input_bytes);
  forget(tables_.outputs, tables_.output_bytes);
  states_.forget_growth(tables_.state_bytes);
}

Result<void> Request::grow_ports(const PreparedShape& shape) {
  const auto grow_all = [&](std::string_view kind, std::span<Ref<Buffer>> buffers,
                            std::span<const TensorSpec> specs,
                            std::span<const ProgramPort> ports) -> Result<void> {
    for (size_t i = 0; i < buffers.size(); ++i) {
      const int64_t bytes = port_bytes(specs[i]);
      if (!buffers[i] || buffers[i]->size() < bytes) {
        buffers[i] = {};
        const std::string holder = label(fmt::format("{} {}", kind, ports[i].name));
        WEIR_ASSIGN(
            buffers[i],
            session_->device().create_buffer(
                {.size = bytes, .category = MemoryCategory::kIo, .lock = options_.lock, .label = holder}));
      }
    }
    return {};
  };
  WEIR_TRY(grow_all("input", tables_.inputs, shape.tables.inputs, session_->program().inputs));
  return grow_all("output", tables_.outputs, shape.tables.outputs, session_->program().outputs);
}

Result<void> Request::bind(PreparedShape& shape) {
  const SlotLayout slots = slot_layout(session_->program());
  CommandBuffer& commands = *shape.commands;
  for (size_t i = 0; i < tables_.inputs.size(); ++i) {
    Buffer& buffer = tables_.bound_inputs[i] ? *tables_.bound_inputs[i] : *tables_.inputs[i];
    WEIR_TRY(commands.bind_slot(static_cast<int32_t>(i), buffer, tables_.bound_input_offsets[i]),
             "while binding input '{}'", session_->program().inputs[i].name);
  }
  for (size_t i = 0; i < tables_.outputs.size(); ++i) {
    Buffer& buffer = tables_.bound_outputs[i] ? *tables_.bound_outputs[i] : *tables_.outputs[i];
    WEIR_TRY(
        commands.bind_slot(slots.outputs + static_cast<int32_t>(i), buffer, tables_.bound_output_offsets[i]),
        "while binding output '{}'", session_->program().outputs[i].name);
  }
  WEIR_TRY(states_.bind(commands, slots.states));
  const auto bind_slot = [&](int32_t slot, const Ref<Buffer>& buffer) -> Result<void> {
    return buffer ? commands.bind_slot(slot, *buffer, 0) : Result<void>{};
  };
  WEIR_TRY(bind_slot(slots.arena, arena_));
  WEIR_TRY(bind_slot(slots.prepared, shape.prepared));
  WEIR_TRY(bind_slot(slots.constants, session_->constants_));
  WEIR_TRY(bind_slot(slots.own_constants, session_->own_constants_));
  if (commands.scratch_bytes() > 0) {
    WEIR_TRY(commands.bind_scratch(*scratch_, 0));
  }
  return {};
}

// Computes what depends on the shape only. Their command buffer is used once.
Result<void> Request::run_prepare_steps(PreparedShape& shape, const Session::Measured& measured) {
  const Program& program = session_->program();
  const SlotLayout slots = slot_layout(program);
  WEIR_ASSIGN(
      Ref<CommandBuffer> commands,
      session_->device().create_command_buffer(
          {.slots = slots.count, .participants = session_->participants(), .label = "prepared constants"}));
  record_steps(program, program.prepare_steps, measured.prepare_steps, session_->prepare_kernels(),
               measured.values, measured.plan, session_->constant_layout_, 0, commands->encoder());
  WEIR_TRY(commands->seal());
  WEIR_TRY(commands->bind_slot(slots.prepared, *shape.prepared, 0));
  if (session_->constants_) {
    WEIR_TRY(commands->bind_slot(slots.constants, *session_->constants_, 0));
  }
  if (session_->own_constants_) {
    WEIR_TRY(commands->bind_slot(slots.own_constants, *session_->own_constants_, 0));
  }
  if (commands->scratch_bytes() > 0) {
    WEIR_TRY(commands->bind_scratch(*scratch_, 0));
  }
  // In a completion handler the session's queue may need this very thread.
  Ref<Queue> queue(&session_->queue());
  if (queue->is_own_thread()) {
    WEIR_ASSIGN(queue, session_->device().create_queue({.max_in_flight = 1, .label = "prepared constants"}));
  }
  WEIR_TRY(queue->submit({.command_buffer = commands.get()}));
  WEIR_TRY(commands->wait(), "while computing the prepared constants of '{}'", session_->name());
  return {};
}

void Request::evict() {
  int64_t bytes = 0;
  auto shape = shapes_.begin();
  while (shape != shapes_.end()) {
    bytes += (*shape)->host_bytes() + (*shape)->prepared_bytes;
    const bool keep = shape->get() == current_ || bytes <= options_.shape_cache_bytes;
    shape = keep ? std::next(shape) : shapes_.erase(shape);
  }
}

TensorSpec Request::input_spec(int32_t index) const {
  return current_->tables.inputs[static_cast<size_t>(index)];
}

TensorSpec Request::output_spec(int32_t index) const {
  return current_->tables.outputs[static_cast<size_t>(index)];
}

TensorSpec Request::state_spec(int32_t index) const {
  return current_->tables.states[static_cast<size_t>(index)];
}

int64_t Request::arena_bytes() const {
  return current_ == nullptr ? 0 : current_->arena_bytes;
}

std::span<const int64_t> Request::symbols() const {
  return current_->tables.symbols;
}

std::span<const CommandProfile> Request::profile() const {
  return current_ == nullptr ? std::span<const CommandProfile>{} : current_->commands->profile();
}

Result<Ledger> Request::planned() const {
  if (current_ == nullptr) {
    return fail(StatusCode::kFailedPrecondition, "A request of '{}' has no plan before a shape is prepared.",
                session_->name());
  }
  Session::PlannedBytes bytes = largest_;
  for (const HostArray<int64_t>* ports : {&tables_.input_bytes, &tables_.output_bytes}) {
    for (int64_t size : *ports) {
      bytes.io += session_->device().allocation_bytes(size, StorageMode::kShared);
    }
  }
  for (int64_t size : tables_.state_bytes) {
    bytes.state += 2 * session_->device().allocation_bytes(size, RequestStates::mode(session_->device()));
  }
  for (const auto& shape : shapes_) {
    bytes.prepared += shape->planned.prepared;
    bytes.host += shape->planned.host;
  }
  return session_->ledger_of(bytes, largest_activations_);
}

Ledger Request::counted() const {
  const auto charged = [&](const Ref<Buffer>& buffer) {
    return buffer ? session_->device().allocation_bytes(buffer->size(), buffer->mode()) : 0;
  };
  Ledger ledger;
  ledger.host = session_->metadata_.bytes() + session_->block_.bytes() + block_.bytes();
  ledger.constants = charged(session_->constants_) + charged(session_->own_constants_);
  for (const auto& shape : shapes_) {
    ledger.constants += charged(shape->prepared);
    ledger.host += shape->host_bytes();
  }
  const int64_t arena = charged(arena_);
  ledger.activations = std::min(largest_activations_, arena);
  ledger.workspace = arena - ledger.activations;
  ledger.scratch = charged(scratch_);
  ledger.state = states_.counted();
  for (const auto* buffers : {&tables_.inputs, &tables_.outputs}) {
    for (const Ref<Buffer>& buffer : *buffers) {
      ledger.io += charged(buffer);
    }
  }
  return ledger;
}

}  // namespace weir
