// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/checked.h"
#include "runtime/prepared_shape.h"

namespace weir {

Request::Request(Ref<Session> session) : session_(std::move(session)) {}

Request::~Request() = default;

Result<Ref<Request>> Session::create_request(const RequestOptions& options) {
  Ref<Request> request = Ref<Request>::adopt(new Request(Ref<Session>(this)));
  request->options_ = options;
  request->arena_ = options.arena;
  const size_t inputs = program().inputs.size();
  const size_t outputs = program().outputs.size();
  request->inputs_.resize(inputs);
  request->bound_inputs_.resize(inputs);
  request->bound_input_offsets_.resize(inputs);
  request->outputs_.resize(outputs);
  request->bound_outputs_.resize(outputs);
  request->bound_output_offsets_.resize(outputs);
  request->input_bindings_.resize(inputs);
  request->output_bindings_.resize(outputs);
  for (size_t i = 0; i < outputs; ++i) {
    request->leased_.push_back(make_ref<LeasedOutput>());
  }
  if (program().is_static()) {
    WEIR_ASSIGN(auto shape, request->build({}), "while preparing a request of '{}'", name_);
    request->shapes_.push_front(std::move(shape));
    WEIR_TRY(request->make_current(*request->shapes_.front()), "while preparing a request of '{}'", name_);
  }
  return request;
}

Result<void> Request::prepare(std::span<const std::vector<int64_t>> shapes) {
  WEIR_TRY(check_idle("prepare"));
  if (const int32_t held = leases(); held > 0) {
    return fail(StatusCode::kFailedPrecondition,
                "A request of '{}' is busy and cannot prepare now: ({}) leases of its outputs are held.",
                session_->name(), held);
  }
  for (const Ref<LeasedOutput>& output : leased_) {
    output->buffer = {};
  }
  WEIR_ASSIGN(std::vector<int64_t> symbols, session_->symbols_of(shapes), "while preparing a request of '{}'",
              session_->name());
  report_ = {};
  if (current_ != nullptr && current_->measured.values.symbols == symbols) {
    report_.cached = true;
    ran_ = false;
    return {};
  }
  const auto known = std::ranges::find_if(
      shapes_, [&](const auto& shape) { return shape->measured.values.symbols == symbols; });
  if (known != shapes_.end()) {
    report_.cached = true;
    shapes_.splice(shapes_.begin(), shapes_, known);
  } else {
    WEIR_ASSIGN(auto shape, build(std::move(symbols)), "while preparing a request of '{}'", session_->name());
    WEIR_TRY(check_bindings(*shape), "while preparing a request of '{}'", session_->name());
    shapes_.push_front(std::move(shape));
  }
  if (report_.cached) {
    WEIR_TRY(check_bindings(*shapes_.front()), "while preparing a request of '{}'", session_->name());
  }
  if (auto made = make_current(*shapes_.front()); !made) {
    // Some of its memory may be of the new shape already, so the old one is not ready any more either.
    current_ = nullptr;
    (void)shapes_.front()->commands->release_bindings();
    if (!report_.cached) {
      shapes_.pop_front();
    }
    return made;
  }
  ran_ = false;
  evict();
  return {};
}

Result<std::unique_ptr<Request::PreparedShape>> Request::build(std::vector<int64_t> symbols) {
  const Program& program = session_->program();
  auto shape = std::make_unique<PreparedShape>();
  WEIR_ASSIGN(shape->measured, session_->measure(symbols));
  const Session::Measured& measured = shape->measured;
  const int64_t begin = steady_now_ns();
  WEIR_ASSIGN(shape->commands,
              session_->device().create_command_buffer({.slots = slot_layout(program).count,
                                                        .participants = session_->participants(),
                                                        .profile = options_.profile,
                                                        .label = session_->name()}));
  WEIR_TRY(record_steps(program, program.steps, measured.steps, session_->kernels(), measured.values,
                        measured.plan, 0, shape->commands->encoder()));
  shape->planned = session_->planned_bytes(measured, shape->commands->counts());
  WEIR_TRY(shape->commands->seal());
  report_.expressions_ns = measured.expressions_ns;
  report_.placement_ns = measured.placement_ns;
  report_.recording_ns = steady_now_ns() - begin;
  if (measured.plan.prepared_bytes > 0) {
    WEIR_ASSIGN(shape->prepared, session_->device().create_buffer({.size = measured.plan.prepared_bytes,
                                                                   .mode = StorageMode::kPrivate,
                                                                   .category = MemoryCategory::kConstants,
                                                                   .label = "prepared constants"}));
  }
  return shape;
}

Result<void> Request::make_current(PreparedShape& shape) {
  // The recordings of other shapes hold none of the request's buffers, so that one that grows is freed first.
  if (current_ != nullptr && current_ != &shape) {
    WEIR_TRY(current_->commands->release_bindings());
  }
  const int64_t begin = steady_now_ns();
  WEIR_TRY(grow(shape));
  report_.growth_ns = steady_now_ns() - begin;
  WEIR_TRY(bind(shape));
  if (shape.prepared && !shape.prepared_filled) {
    const int64_t start = steady_now_ns();
    WEIR_TRY(run_prepare_steps(shape));
    report_.constants_ns = steady_now_ns() - start;
  }
  current_ = &shape;
  const int64_t activations = shape.measured.plan.activation_bytes;
  largest_.arena = std::max(largest_.arena, shape.planned.arena);
  largest_.scratch = std::max(largest_.scratch, shape.planned.scratch);
  largest_activations_ = std::max(largest_activations_, activations);
  largest_.ports.resize(shape.planned.ports.size(), 0);
  for (size_t i = 0; i < largest_.ports.size(); ++i) {
    largest_.ports[i] = std::max(largest_.ports[i], shape.planned.ports[i]);
  }
  return {};
}

// Buffers only ever grow: the largest of all prepared shapes.
Result<void> Request::grow(const PreparedShape& shape) {
  Device& device = session_->device();
  const ShapePlan& plan = shape.measured.plan;
  if (options_.arena) {
    if (options_.arena->size() < plan.arena_bytes) {
      return fail(StatusCode::kResourceExhausted,
                  "The arena that was handed to a request of '{}' has ({}) bytes, and the shape takes ({}).",
                  session_->name(), options_.arena->size(), plan.arena_bytes);
    }
  } else if (plan.arena_bytes > 0 && (!arena_ || arena_->size() < plan.arena_bytes)) {
    arena_ = {};  // before the new one, so that the two are never held together
    WEIR_ASSIGN(arena_, device.create_buffer({.size = plan.arena_bytes,
                                              .mode = StorageMode::kPrivate,
                                              .category = MemoryCategory::kActivations,
                                              .lock = options_.lock,
                                              .label = "arena"}));
  }
  const int64_t scratch = shape.measured.scratch_bytes;
  if (scratch > 0 && (!scratch_ || scratch_->size() < scratch)) {
    scratch_ = {};
    WEIR_ASSIGN(scratch_, device.create_buffer({.size = scratch,
                                                .mode = StorageMode::kPrivate,
                                                .category = MemoryCategory::kScratch,
                                                .lock = options_.lock,
                                                .label = "scratch"}));
  }
  return grow_ports(shape);
}

Result<void> Request::grow_ports(const PreparedShape& shape) {
  const auto grow_all = [&](std::vector<Ref<Buffer>>& buffers, std::span<const int64_t> bytes,
                            std::span<const ProgramPort> ports) -> Result<void> {
    for (size_t i = 0; i < buffers.size(); ++i) {
      if (!buffers[i] || buffers[i]->size() < bytes[i]) {
        buffers[i] = {};
        WEIR_ASSIGN(buffers[i], session_->device().create_buffer({.size = bytes[i],
                                                                  .category = MemoryCategory::kIo,
                                                                  .lock = options_.lock,
                                                                  .label = ports[i].name}));
      }
    }
    return {};
  };
  WEIR_TRY(grow_all(inputs_, shape.measured.input_bytes, session_->program().inputs));
  return grow_all(outputs_, shape.measured.output_bytes, session_->program().outputs);
}

Result<void> Request::bind(PreparedShape& shape) {
  const SlotLayout slots = slot_layout(session_->program());
  CommandBuffer& commands = *shape.commands;
  for (size_t i = 0; i < inputs_.size(); ++i) {
    Buffer& buffer = bound_inputs_[i] ? *bound_inputs_[i] : *inputs_[i];
    WEIR_TRY(commands.bind_slot(static_cast<int32_t>(i), buffer, bound_input_offsets_[i]),
             "while binding input '{}'", session_->program().inputs[i].name);
  }
  for (size_t i = 0; i < outputs_.size(); ++i) {
    Buffer& buffer = bound_outputs_[i] ? *bound_outputs_[i] : *outputs_[i];
    WEIR_TRY(commands.bind_slot(slots.outputs + static_cast<int32_t>(i), buffer, bound_output_offsets_[i]),
             "while binding output '{}'", session_->program().outputs[i].name);
  }
  const auto bind_slot = [&](int32_t slot, const Ref<Buffer>& buffer) -> Result<void> {
    return buffer ? commands.bind_slot(slot, *buffer, 0) : Result<void>{};
  };
  WEIR_TRY(bind_slot(slots.arena, arena_));
  WEIR_TRY(bind_slot(slots.prepared, shape.prepared));
  WEIR_TRY(bind_slot(slots.constants, session_->constants_));
  if (commands.scratch_bytes() > 0) {
    WEIR_TRY(commands.bind_scratch(*scratch_, 0));
  }
  return {};
}

// Computes what depends on the shape only. Their command buffer is used once.
Result<void> Request::run_prepare_steps(PreparedShape& shape) {
  const Program& program = session_->program();
  const SlotLayout slots = slot_layout(program);
  WEIR_ASSIGN(
      Ref<CommandBuffer> commands,
      session_->device().create_command_buffer(
          {.slots = slots.count, .participants = session_->participants(), .label = "prepared constants"}));
  WEIR_TRY(record_steps(program, program.prepare_steps, shape.measured.prepare_steps,
                        session_->prepare_kernels(), shape.measured.values, shape.measured.plan, 0,
                        commands->encoder()));
  WEIR_TRY(commands->seal());
  WEIR_TRY(commands->bind_slot(slots.prepared, *shape.prepared, 0));
  if (session_->constants_) {
    WEIR_TRY(commands->bind_slot(slots.constants, *session_->constants_, 0));
  }
  if (commands->scratch_bytes() > 0) {
    WEIR_TRY(commands->bind_scratch(*scratch_, 0));
  }
  WEIR_TRY(session_->queue().submit({.command_buffer = commands.get()}));
  WEIR_TRY(commands->wait(), "while computing the prepared constants of '{}'", session_->name());
  shape.prepared_filled = true;
  return {};
}

void Request::evict() {
  int64_t bytes = 0;
  auto shape = shapes_.begin();
  while (shape != shapes_.end()) {
    bytes += (*shape)->commands->host_bytes() + (*shape)->measured.plan.prepared_bytes;
    const bool keep = shape->get() == current_ || bytes <= options_.shape_cache_bytes;
    shape = keep ? std::next(shape) : shapes_.erase(shape);
  }
}

TensorSpec Request::input_spec(int32_t index) const {
  const Program& program = session_->program();
  const auto tensor = static_cast<size_t>(program.inputs[static_cast<size_t>(index)].tensor);
  return concrete_tensor(program, program.tensors[tensor], current_->measured.values);
}

TensorSpec Request::output_spec(int32_t index) const {
  const Program& program = session_->program();
  const auto tensor = static_cast<size_t>(program.outputs[static_cast<size_t>(index)].tensor);
  return concrete_tensor(program, program.tensors[tensor], current_->measured.values);
}

int64_t Request::arena_bytes() const {
  return current_ == nullptr ? 0 : current_->measured.plan.arena_bytes;
}

const ShapeValues& Request::shape() const {
  return current_->measured.values;
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
  ledger.constants = charged(session_->constants_);
  for (const auto& shape : shapes_) {
    ledger.constants += charged(shape->prepared);
    ledger.host += shape->commands->host_bytes();
  }
  const int64_t arena = charged(arena_);
  ledger.activations = std::min(largest_activations_, arena);
  ledger.workspace = arena - ledger.activations;
  ledger.scratch = charged(scratch_);
  for (const auto* buffers : {&inputs_, &outputs_}) {
    for (const Ref<Buffer>& buffer : *buffers) {
      ledger.io += charged(buffer);
    }
  }
  return ledger;
}

}  // namespace weir
