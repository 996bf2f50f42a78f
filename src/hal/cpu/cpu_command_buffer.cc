// SPDX-License-Identifier: Apache-2.0
#include "hal/cpu/cpu_command_buffer.h"

#include <pthread.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstring>
#include <memory>
#include <thread>

#include "base/checked.h"
#include "hal/cpu/cpu_device_impl.h"
#include "hal/software/host_library.h"

namespace weir {
namespace {

constexpr int kMostPieces = 4;

// The place in a table of a line a command (or stage) and a column a participant.
size_t share_of(int32_t line, int32_t participant, int32_t participants) {
  return static_cast<size_t>(line) * static_cast<size_t>(participants) + static_cast<size_t>(participant);
}

// Fills and copies are split into tiles of this many bytes.
constexpr int64_t kBlitTileBytes = 64 << 10;
// How late a far device completes.
constexpr std::chrono::microseconds kFarDelay{100};

struct FillConstants {
  int64_t size;
  uint8_t value;
};

struct CopyConstants {
  int64_t size;
};

struct HostCallConstants {
  HostCall call;
  void* user;
};

static_assert(sizeof(FillConstants) <= 64 && sizeof(CopyConstants) <= 64 && sizeof(HostCallConstants) <= 64);

void fill_kernel(const CpuInvocation& invocation) {
  const auto& c = invocation.constants_as<FillConstants>();
  const int64_t begin = invocation.tile_begin * kBlitTileBytes;
  const int64_t end = std::min(invocation.tile_end * kBlitTileBytes, c.size);
  std::memset(invocation.bindings[0] + begin, c.value, static_cast<size_t>(end - begin));
}

void copy_kernel(const CpuInvocation& invocation) {
  const auto& c = invocation.constants_as<CopyConstants>();
  const int64_t begin = invocation.tile_begin * kBlitTileBytes;
  const int64_t end = std::min(invocation.tile_end * kBlitTileBytes, c.size);
  std::memmove(invocation.bindings[1] + begin, invocation.bindings[0] + begin,
               static_cast<size_t>(end - begin));
}

void host_call_kernel(const CpuInvocation& invocation) {
  const auto& c = invocation.constants_as<HostCallConstants>();
  c.call(c.user);
}

// Share `p` of `tiles` begins here; the first shares are the larger ones.
int64_t share_begin(int64_t tiles, int32_t p, int32_t participants) {
  const int64_t each = tiles / participants;
  const int64_t more = tiles % participants;
  return each * p + std::min<int64_t>(more, p);
}

int32_t piece_count(int64_t length, int32_t participants) {
  if (participants == 1 || length <= 1) {
    return length > 0 ? 1 : 0;
  }
  return std::min(kMostPieces, static_cast<int>(std::bit_width(static_cast<uint64_t>(length))));
}

// Piece `i` of `count` of a share of `length` tiles begins here.
int64_t piece_begin(int64_t length, int32_t i, int32_t count) {
  return i == count ? length : length - (length >> i);
}

int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace

// Offsets into the block; every part begins on a cache line.
struct CpuCommandBuffer::Layout {
  explicit Layout(const CommandBufferCounts& counts)
      : commands(take<Command>(counts.commands)),
        bindings(take<std::byte*>(counts.bindings)),
        slot_uses(take<SlotUse>(counts.slot_uses)),
        slot_ends(take<int32_t>(counts.slots)),
        stages(take<Stage>(stage_count(counts))),
        before(take<uint16_t>(counts.commands * counts.participants)),
        totals(take<uint16_t>(stage_count(counts) * counts.participants)),
        constants(take<std::byte>(counts.constant_bytes)),
        // Fills, copies and host calls keep theirs here.
        blit_constants(take<std::byte>(counts.blits * 64)),
        buffers(take<Buffer*>(counts.buffers)),
        kernels(take<Kernel*>(counts.kernels)),
        profile(take<CommandProfile>(counts.profile ? counts.commands : 0)),
        participant_profile(
            take<ParticipantProfile>(counts.profile ? counts.commands * counts.participants : 0)) {}

  static int64_t stage_count(const CommandBufferCounts& counts) {
    return counts.commands > 0 ? counts.barriers + 1 : 0;
  }

  template <typename T>
  int64_t take(int64_t count) {
    const int64_t offset = end;
    // T may be a pointer. NOLINTNEXTLINE(bugprone-sizeof-expression)
    end = align_up(end + count * static_cast<int64_t>(sizeof(T)), 64);
    return offset;
  }

  int64_t end = 0;
  int64_t commands;
  int64_t bindings;
  int64_t slot_uses;
  int64_t slot_ends;
  int64_t stages;
  int64_t before;
  int64_t totals;
  int64_t constants;
  int64_t blit_constants;
  int64_t buffers;
  int64_t kernels;
  int64_t profile;
  int64_t participant_profile;
};

namespace {

template <typename T>
std::span<T> construct(std::byte* block, int64_t offset, int64_t count) {
  T* first = reinterpret_cast<T*>(block + offset);
  std::uninitialized_value_construct_n(first, count);
  return {first, static_cast<size_t>(count)};
}

}  // namespace

int64_t CpuCommandBuffer::bytes(const CommandBufferCounts& counts) {
  return Layout(counts).end;
}

CpuCommandBuffer::CpuCommandBuffer(CpuDevice& device, const CommandBufferDescriptor& descriptor,
                                   int32_t participants)
    : SoftwareCommandBuffer(device, descriptor, participants), device_(&device) {
  TeamJob::participants = participants;
}

CpuCommandBuffer::~CpuCommandBuffer() {
  for (Buffer* buffer : buffers_) {
    buffer->release();
  }
  for (Kernel* kernel : kernels_) {
    kernel->release();
  }
}

Result<void> CpuCommandBuffer::seal_commands(const Recorder& recording, std::span<std::byte> storage) {
  const CommandBufferCounts& counts = recording.counts();
  const Layout layout(counts);
  std::byte* block = storage.data();
  for (const Ref<Kernel>& kernel : recording.kernels()) {
    if (dynamic_cast<HostKernel*>(kernel.get()) == nullptr) {
      return fail(StatusCode::kInvalidArgument, "Kernel '{}' is of another device than '{}'.", kernel->name(),
                  device_->info().name);
    }
  }
  commands_ = construct<Command>(block, layout.commands, counts.commands);
  const std::span<std::byte*> bindings = construct<std::byte*>(block, layout.bindings, counts.bindings);
  slot_uses_ = construct<SlotUse>(block, layout.slot_uses, counts.slot_uses);
  slot_ends_ = construct<int32_t>(block, layout.slot_ends, counts.slots);
  stages_ = construct<Stage>(block, layout.stages, Layout::stage_count(counts));
  before_ = construct<uint16_t>(block, layout.before, counts.commands * counts.participants);
  totals_ = construct<uint16_t>(block, layout.totals, Layout::stage_count(counts) * counts.participants);
  profile_ = construct<CommandProfile>(block, layout.profile, counts.profile ? counts.commands : 0);
  participant_profile_ = construct<ParticipantProfile>(
      block, layout.participant_profile, counts.profile ? counts.commands * counts.participants : 0);
  buffers_ = construct<Buffer*>(block, layout.buffers, counts.buffers);
  kernels_ = construct<Kernel*>(block, layout.kernels, counts.kernels);
  for (size_t i = 0; i < buffers_.size(); ++i) {
    buffers_[i] = Ref<Buffer>(recording.buffers()[i]).detach();
  }
  for (size_t i = 0; i < kernels_.size(); ++i) {
    kernels_[i] = Ref<Kernel>(recording.kernels()[i]).detach();
  }
  std::copy(recording.constants().begin(), recording.constants().end(), block + layout.constants);
  place_bindings(recording, bindings, slot_uses_);
  place_commands(recording, bindings, block + layout.constants, block + layout.blit_constants);
  place_stages(recording);
  return {};
}

void CpuCommandBuffer::place_bindings(const Recorder& recording, std::span<std::byte*> bindings,
                                      std::span<SlotUse> uses) {
  for (size_t i = 0; i < bindings.size(); ++i) {
    const RecordedBinding& binding = recording.bindings()[i];
    if (!binding.null && binding.range.buffer == nullptr) {
      ++slot_ends_[static_cast<size_t>(binding.range.slot)];
    }
  }
  int32_t end = 0;
  for (int32_t& slot_end : slot_ends_) {
    const int32_t count = slot_end;
    slot_end = end;  // where this slot's uses begin, until they are filled in below
    end += count;
  }
  for (size_t i = 0; i < bindings.size(); ++i) {
    const RecordedBinding& binding = recording.bindings()[i];
    if (binding.null) {
      continue;
    }
    if (binding.range.buffer != nullptr) {
      bindings[i] = binding.range.buffer->device_bytes() + binding.range.offset;
    } else {
      const int32_t use = slot_ends_[static_cast<size_t>(binding.range.slot)]++;
      uses[static_cast<size_t>(use)] = {.binding = &bindings[i], .offset = binding.range.offset};
    }
  }
}

void CpuCommandBuffer::place_commands(const Recorder& recording, std::span<std::byte* const> bindings,
                                      const std::byte* constants, std::byte* blit_constants) {
  const auto blit = [&](Command& command, CpuKernelFunction function, const auto& values, int64_t tiles) {
    std::memcpy(blit_constants, &values, sizeof(values));
    command.function = function;
    command.constants = blit_constants;
    command.tiles = tiles;
    blit_constants += 64;
  };
  for (size_t i = 0; i < commands_.size(); ++i) {
    const RecordedCommand& recorded = recording.commands()[i];
    Command& command = commands_[i];
    command.bindings = bindings.data() + recorded.first_binding;
    command.binding_count = static_cast<int32_t>(recorded.binding_count);
    command.parameter_offset = recorded.parameter_offset;
    command.step = recorded.step;
    command.recorded = static_cast<int32_t>(i);
    const int64_t size =
        recorded.kind == RecordedCommand::Kind::kFill || recorded.kind == RecordedCommand::Kind::kCopy
            ? recording.bindings()[recorded.first_binding].range.size
            : 0;
    switch (recorded.kind) {
      case RecordedCommand::Kind::kDispatch: {
        const auto* kernel = static_cast<const HostKernel*>(recorded.kernel);
        command.function = kernel->function();
        command.user = kernel->user();
        command.constants = constants + recorded.first_constant;
        command.tiles = recorded.tiles;
        break;
      }
      case RecordedCommand::Kind::kFill:
        blit(command, fill_kernel, FillConstants{.size = size, .value = recorded.value},
             ceil_div(size, kBlitTileBytes));
        break;
      case RecordedCommand::Kind::kCopy:
        blit(command, copy_kernel, CopyConstants{.size = size}, ceil_div(size, kBlitTileBytes));
        break;
      case RecordedCommand::Kind::kHostCall:
        blit(command, host_call_kernel, HostCallConstants{.call = recorded.call, .user = recorded.user}, 1);
        break;
    }
  }
}

void CpuCommandBuffer::place_stages(const Recorder& recording) {
  size_t stage = 0;
  int32_t group = 0;
  for (size_t i = 0; i < commands_.size(); ++i) {
    if (i == 0) {
      group = recording.commands()[i].group;
    } else if (recording.commands()[i].group != group) {
      group = recording.commands()[i].group;
      ++stage;
      stages_[stage].first = static_cast<int32_t>(i);
    }
    ++stages_[stage].count;
  }
  if (device_->toggles().simulate_discrete) {
    shuffle(device_->toggles().shuffle_seed);
  }
  wants_team = false;
  const int32_t shares = TeamJob::participants;
  for (size_t s = 0; s < stages_.size(); ++s) {
    int32_t total = 0;
    for (int32_t p = 0; p < shares; ++p) {
      int32_t sum = 0;
      for (int32_t c = stages_[s].first; c < stages_[s].first + stages_[s].count; ++c) {
        const int64_t tiles = commands_[static_cast<size_t>(c)].tiles;
        before_[share_of(c, p, shares)] = static_cast<uint16_t>(sum);
        sum += piece_count(share_begin(tiles, p + 1, shares) - share_begin(tiles, p, shares), shares);
      }
      totals_[share_of(static_cast<int32_t>(s), p, shares)] = static_cast<uint16_t>(sum);
      total += sum;
    }
    wants_team = wants_team || total > 1;
  }
}

// As a device may that runs independent commands in any order. The generator is SplitMix64.
void CpuCommandBuffer::shuffle(uint64_t seed) {
  const auto next = [&seed] {
    uint64_t z = seed += 0x9E3779B97F4A7C15;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
    return z ^ (z >> 31);
  };
  for (const Stage& stage : stages_) {
    const std::span<Command> commands =
        commands_.subspan(static_cast<size_t>(stage.first), static_cast<size_t>(stage.count));
    for (size_t i = commands.size(); i > 1; --i) {
      std::swap(commands[i - 1], commands[next() % i]);
    }
  }
}

void CpuCommandBuffer::slot_bound(int32_t slot, std::byte* bytes) {
  const auto index = static_cast<size_t>(slot);
  const int32_t begin = slot == 0 ? 0 : slot_ends_[index - 1];
  for (int32_t use = begin; use < slot_ends_[index]; ++use) {
    const SlotUse& one = slot_uses_[static_cast<size_t>(use)];
    *one.binding = bytes + one.offset;
  }
}

Result<void> CpuCommandBuffer::execute(StatusRecord& record) {
  record_ = &record;
  stopped_.store(false, std::memory_order_relaxed);
  clear_profile();
  {
    const SoftwareDevice::Access access(*device_);
    WEIR_TRY(access.granted(), "while running command buffer '{}'", label());
    device_->pool().run(*this);
  }
  sum_profile();
  if (device_->toggles().simulate_discrete) {
    std::this_thread::sleep_for(kFarDelay);
  }
  if (stopped_.load(std::memory_order_relaxed)) {
    return fail(StatusCode::kCancelled, "Command buffer '{}' was cancelled while it ran.", label());
  }
  return {};
}

int32_t CpuCommandBuffer::pieces(int32_t stage, int32_t participant) const {
  return totals_[share_of(stage, participant, TeamJob::participants)];
}

void CpuCommandBuffer::run_piece(int32_t stage, int32_t participant, int32_t piece, int32_t member) {
  const int32_t shares = TeamJob::participants;
  const Stage& range = stages_[static_cast<size_t>(stage)];
  // The last command of the stage before which no more pieces of this share come than `piece`.
  int32_t low = range.first;
  int32_t high = range.first + range.count;
  while (high - low > 1) {
    const int32_t middle = (low + high) / 2;
    if (before_[share_of(middle, participant, shares)] <= piece) {
      low = middle;
    } else {
      high = middle;
    }
  }
  if (cancelled()) {
    stopped_.store(true, std::memory_order_relaxed);
    return;
  }
  const Command& command = commands_[static_cast<size_t>(low)];
  const int32_t index = piece - before_[share_of(low, participant, shares)];
  const int64_t begin = share_begin(command.tiles, participant, shares);
  const int64_t length = share_begin(command.tiles, participant + 1, shares) - begin;
  const int32_t count = piece_count(length, shares);
  call(command, begin + piece_begin(length, index, count), begin + piece_begin(length, index + 1, count),
       member);
}

void CpuCommandBuffer::run_stage(int32_t stage) {
  const Stage& range = stages_[static_cast<size_t>(stage)];
  for (int32_t c = range.first; c < range.first + range.count; ++c) {
    if (c > range.first && cancelled()) {  // the first was asked about by next_stage
      stopped_.store(true, std::memory_order_relaxed);
      return;
    }
    const Command& command = commands_[static_cast<size_t>(c)];
    call(command, 0, command.tiles, 0);
  }
}

int32_t CpuCommandBuffer::next_stage(int32_t stage) {
  if (stage + 1 == static_cast<int32_t>(stages_.size())) {
    return -1;
  }
  if (cancelled()) {
    stopped_.store(true, std::memory_order_relaxed);
    return -1;
  }
  return stage + 1;
}

void CpuCommandBuffer::call(const Command& command, int64_t begin, int64_t end, int32_t member) {
  const CpuInvocation invocation{
      .bindings = {command.bindings, static_cast<size_t>(command.binding_count)},
      .constants = command.constants,
      .parameters = parameters_ == nullptr ? nullptr : parameters_ + command.parameter_offset,
      .scratch = scratch_ == nullptr ? nullptr : scratch_ + member * scratch_stride(),
      .tile_begin = begin,
      .tile_end = end,
      .step = command.step,
      .status = record_,
      .user = command.user,
      .participant = member};
  if (profile_.empty()) {
    command.function(invocation);
    return;
  }
  const int64_t from = now_ns();
  command.function(invocation);
  const int64_t to = now_ns();
  // Each member writes a line of its own.
  ParticipantProfile& line = participant_profile_[share_of(command.recorded, member, TeamJob::participants)];
  line.begin_ns = line.end_ns == 0 ? from : line.begin_ns;
  line.end_ns = to;
  line.busy_ns += to - from;
  line.thread = static_cast<uint64_t>(pthread_self());
}

void CpuCommandBuffer::clear_profile() {
  for (ParticipantProfile& line : participant_profile_) {
    line = {};
  }
}

void CpuCommandBuffer::sum_profile() {
  const auto shares = static_cast<size_t>(TeamJob::participants);
  for (const Command& command : profile_.empty() ? std::span<Command>() : commands_) {
    const auto recorded = static_cast<size_t>(command.recorded);
    CommandProfile& sum = profile_[recorded];
    sum = {.step = command.step};
    for (size_t p = 0; p < shares; ++p) {
      ParticipantProfile& line = participant_profile_[recorded * shares + p];
      line.step = command.step;
      line.participant = static_cast<int32_t>(p);
      if (line.end_ns != 0) {
        sum.begin_ns = sum.end_ns == 0 ? line.begin_ns : std::min(sum.begin_ns, line.begin_ns);
        sum.end_ns = std::max(sum.end_ns, line.end_ns);
        sum.busy_ns += line.busy_ns;
      }
    }
  }
}

}  // namespace weir
