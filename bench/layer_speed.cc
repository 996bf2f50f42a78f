// SPDX-License-Identifier: Apache-2.0
//
// Speed of the convolutions and matrix products of known networks, layer by layer, on one thread:
//
//   layer_speed [--isa sse4|avx2|avx512] [--rounds N] [--parts N] bench/layers/resnet50.txt …
//
// A round runs all layers of a file once, in order, each with weights of its own and its input where the
// layer before left its output, so that caches are as warm as in an inference. Times are the least of all
// rounds. The peak is that of multiply-adds in registers, measured between rounds.
#include <fmt/format.h>
#include <immintrin.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <limits>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "base/checked.h"
#include "kernels/cpu/peak/peak_kernels.h"
#include "kernels/implementation.h"

namespace weir {
namespace {

// Of this thread: what others take from it does not count, what they do to its caches does.
double now() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

struct Free {
  void operator()(std::byte* data) const { std::free(data); }
};
using Memory = std::unique_ptr<std::byte[], Free>;
Memory allocate(int64_t bytes) {
  const auto size = static_cast<size_t>(align_up(std::max<int64_t>(bytes, 1), 64));
  Memory memory(static_cast<std::byte*>(std::aligned_alloc(64, size)));
  auto* floats = reinterpret_cast<float*>(memory.get());
  for (size_t i = 0; i < size / sizeof(float); ++i) floats[i] = static_cast<float>(i % 7) * 0.125f - 0.375f;
  return memory;
}

// One layer, ready to run.
struct Layer {
  std::string line;
  int64_t count = 1;
  double operations = 0;
  Op op = Op::kConv;
  Attributes attributes;
  std::vector<TensorSpec> inputs;
  std::vector<TensorSpec> outputs;
  std::vector<TensorType> types;
  bool constant_b = true;
  const Implementation* implementation = nullptr;
  std::vector<Memory> weights;  // `count` of them
  Memory bias;
  std::vector<std::byte> constants = std::vector<std::byte>(kMaxKernelConstants + 64);
  int64_t tiles = 0;
  int64_t scratch_bytes = 0;
  double best = std::numeric_limits<double>::infinity();  // of all `count` together
};

Epilogue epilogue_named(std::string_view name) {
  Epilogue epilogue({ElementType::kFloat32});
  if (name == "relu") epilogue.append(ScalarOp::kRelu, {0});
  if (name == "relu6") epilogue.append(ScalarOp::kClip, {0}, 0, 6);
  if (name == "silu") epilogue.append(ScalarOp::kSilu, {0});
  if (name == "hardswish") epilogue.append(ScalarOp::kHardSwish, {0});
  if (name == "gelu") epilogue.append(ScalarOp::kGelu, {0});
  if (name == "sigmoid") epilogue.append(ScalarOp::kSigmoid, {0});
  return epilogue.empty() ? Epilogue() : epilogue;
}

TensorSpec channels_last(std::vector<int64_t> shape) {
  TensorSpec spec = TensorSpec::dense(ElementType::kFloat32, shape);
  spec.strides = {shape[1] * shape[2] * shape[3], 1, shape[3] * shape[1], shape[1]};
  return spec;
}

std::optional<Layer> parse(const std::string& line) {
  std::istringstream text(line);
  std::string kind;
  Layer layer;
  layer.line = line;
  text >> kind >> layer.count;
  if (kind == "conv") {
    int64_t n, c, h, w, m, kh, kw, sh, sw, top, left, bottom, right, group;
    std::string name;
    text >> n >> c >> h >> w >> m >> kh >> kw >> sh >> sw >> top >> left >> bottom >> right >> group >> name;
    ConvAttributes attributes;
    attributes.strides = {sh, sw};
    attributes.dilations = {1, 1};
    attributes.pads_begin = {top, left};
    attributes.pads_end = {bottom, right};
    attributes.group = group;
    attributes.epilogue = epilogue_named(name);
    const int64_t channels = c / group;
    const int64_t oh = (h + top + bottom - kh) / sh + 1;
    const int64_t ow = (w + left + right - kw) / sw + 1;
    layer.attributes = attributes;
    layer.inputs = {channels_last({n, c, h, w}),
                    TensorSpec::dense(ElementType::kFloat32, std::vector<int64_t>{m, channels, kh, kw}),
                    TensorSpec::dense(ElementType::kFloat32, std::vector<int64_t>{m})};
    layer.outputs = {channels_last({n, m, oh, ow})};
    layer.operations = 2.0 * static_cast<double>(n * m * oh * ow) * static_cast<double>(channels * kh * kw);
  } else if (kind == "transpose") {
    int64_t n, c, h, w, m, kh, kw, sh, sw;
    std::string name;
    text >> n >> c >> h >> w >> m >> kh >> kw >> sh >> sw >> name;
    ConvAttributes attributes;
    attributes.strides = {sh, sw};
    attributes.dilations = {1, 1};
    attributes.pads_begin = {0, 0};
    attributes.pads_end = {0, 0};
    attributes.epilogue = epilogue_named(name);
    layer.op = Op::kConvTranspose;
    layer.attributes = attributes;
    layer.inputs = {channels_last({n, c, h, w}),
                    TensorSpec::dense(ElementType::kFloat32, std::vector<int64_t>{c, m, kh, kw}),
                    TensorSpec::dense(ElementType::kFloat32, std::vector<int64_t>{m})};
    layer.outputs = {channels_last({n, m, (h - 1) * sh + kh, (w - 1) * sw + kw})};
    layer.operations = 2.0 * static_cast<double>(n * m * h * w) * static_cast<double>(c * kh * kw);
  } else if (kind == "matmul") {
    int64_t batch, m, k, n;
    std::string constant;
    text >> batch >> m >> k >> n >> constant;
    layer.op = Op::kMatMul;
    layer.attributes = MatMulAttributes{};
    layer.constant_b = constant == "constant";
    const auto spec = [](std::vector<int64_t> shape) {
      return TensorSpec::dense(ElementType::kFloat32, shape);
    };
    layer.inputs = {spec({batch, m, k}), layer.constant_b ? spec({k, n}) : spec({batch, k, n}), spec({n})};
    layer.outputs = {spec({batch, m, n})};
    layer.operations = 2.0 * static_cast<double>(batch * m * n) * static_cast<double>(k);
  } else {
    return std::nullopt;
  }
  return layer;
}

// Where the kernel's constants start, aligned to a cache line.
std::byte* kernel_constants(Layer& layer) {
  void* start = layer.constants.data();
  size_t space = layer.constants.size();
  return static_cast<std::byte*>(std::align(64, kMaxKernelConstants, start, space));
}

void prepare(Layer& layer, Isa isa) {
  const auto make_types = [&] {
    layer.types.clear();
    for (const auto& specs : {layer.inputs, layer.outputs}) {
      for (const TensorSpec& spec : specs) {
        TensorType type;
        for (int i = 0; i < spec.rank; ++i) {
          type.shape.emplace_back(spec.shape[i]);
          type.strides.emplace_back(spec.strides[i]);
        }
        layer.types.push_back(type);
      }
    }
  };
  make_types();
  OpDesc desc;
  desc.op = layer.op;
  desc.attributes = &layer.attributes;
  for (size_t i = 0; i < layer.inputs.size(); ++i) desc.inputs.push_back(&layer.types[i]);
  desc.outputs = {&layer.types.back()};
  desc.constant = {false, layer.constant_b, true};
  for (const Implementation* candidate : implementations()) {
    if (candidate->op == layer.op && candidate->isa <= isa && candidate->supported(desc).ok()) {
      layer.implementation = candidate;
      break;
    }
  }
  if (layer.op == Op::kConv && layer.implementation->layouts != nullptr &&
      layer.implementation->layouts(desc)[0] == LayoutRule::kAny) {
    const auto& shape = layer.inputs[0].shape;
    layer.inputs[0] = TensorSpec::dense(ElementType::kFloat32, std::span(shape).first(4));
    make_types();
  }
  const int64_t weight_bytes = layer.inputs[1].extent_bytes();
  std::vector<PackRequest> requests;
  if (layer.implementation->pack != nullptr) requests = layer.implementation->pack(desc);
  for (int64_t i = 0; i < layer.count; ++i) {
    Memory plain = allocate(weight_bytes);
    for (const PackRequest& request : requests) {
      if (request.input != 1) continue;
      Memory packed = allocate(request.bytes);
      request.write(layer.inputs[1].at(plain.get()), packed.get());
      plain = std::move(packed);
    }
    layer.weights.push_back(std::move(plain));
  }
  layer.bias = allocate(layer.inputs[2].extent_bytes());
  const ConcreteOp op{layer.op, &layer.attributes, layer.inputs, layer.outputs};
  if (layer.implementation->plan != nullptr)
    layer.scratch_bytes = layer.implementation->plan(op).scratch_bytes;
  layer.tiles =
      layer.implementation->extent(op, std::span(kernel_constants(layer), kMaxKernelConstants)).tiles;
}

// Runs all `count` instances; the least time of one goes to layer.best.
// Runs the tiles in `parts` ranges, as so many threads would, one after another: the longest counts.
double run(Layer& layer, std::array<std::byte*, 2>& activations, std::byte* scratch, int parts) {
  double seconds = 0;
  for (int64_t i = 0; i < layer.count; ++i) {
    std::array<std::byte*, 4> bindings{activations[0], layer.weights[static_cast<size_t>(i)].get(),
                                       layer.bias.get(), activations[1]};
    CpuInvocation invocation;
    invocation.bindings = bindings;
    invocation.constants = kernel_constants(layer);
    invocation.scratch = scratch;
    double elapsed = 0;
    for (int part = 0; part < parts; ++part) {
      invocation.tile_begin = layer.tiles * part / parts;
      invocation.tile_end = layer.tiles * (part + 1) / parts;
      if (invocation.tile_begin == invocation.tile_end) continue;
      const double start = now();
      layer.implementation->kernel(invocation);
      elapsed = std::max(elapsed, now() - start);
    }
    layer.best = std::min(layer.best, elapsed * static_cast<double>(layer.count));
    seconds += elapsed;
    std::swap(activations[0], activations[1]);
  }
  return seconds;
}

int speed(const std::vector<std::string>& files, Isa isa, int rounds, int parts) {
  for (const std::string& file : files) {
    std::ifstream stream(file);
    if (!stream) {
      fmt::print(stderr, "File '{}' can't be read.\n", file);
      return 1;
    }
    std::vector<Layer> layers;
    for (std::string line; std::getline(stream, line);) {
      if (auto layer = parse(line)) layers.push_back(std::move(*layer));
    }
    int64_t activation_bytes = 0;
    int64_t scratch_bytes = 0;
    for (Layer& layer : layers) {
      prepare(layer, isa);
      scratch_bytes = std::max(scratch_bytes, layer.scratch_bytes);
      activation_bytes =
          std::max({activation_bytes, layer.inputs[0].extent_bytes(), layer.outputs[0].extent_bytes()});
      if (!layer.constant_b) {
        activation_bytes = std::max(activation_bytes, layer.inputs[1].extent_bytes());
      }
    }
    const Memory first = allocate(activation_bytes);
    const Memory second = allocate(activation_bytes);
    const Memory scratch = allocate(scratch_bytes);
    std::array<std::byte*, 2> activations{first.get(), second.get()};
    double peak = 0;
    double total_best = std::numeric_limits<double>::infinity();
    for (int round = 0; round < rounds; ++round) {
      peak = std::max(peak, fma_peak(isa));
      double total = 0;
      for (Layer& layer : layers) {
        const double seconds = run(layer, activations, scratch.get(), parts);
        total += seconds;
        // Values stay in range whatever the layers do to them.
        auto* values = reinterpret_cast<float*>(activations[0]);
        if (!(std::abs(values[0]) < 1e6f)) {
          for (int64_t i = 0; i < activation_bytes / 4; ++i)
            values[i] = static_cast<float>(i % 7) * 0.125f - 0.375f;
        }
      }
      total_best = std::min(total_best, total);
    }
    double operations = 0;
    double sum = 0;
    for (const Layer& layer : layers) {
      operations += layer.operations * static_cast<double>(layer.count);
      sum += layer.best;
    }
    fmt::print("{}: {:.3f} ms (sum of least {:.3f}), {:.2f} GFLOP, {:.1f} GFLOP/s = {:.0f} % of {:.1f}\n",
               file, total_best * 1e3, sum * 1e3, operations * 1e-9, operations / sum * 1e-9,
               operations / sum / peak * 1e-7, peak);
    for (const Layer& layer : layers) {
      const double rate = layer.operations * static_cast<double>(layer.count) / layer.best * 1e-9;
      fmt::print("  {:7.1f} us {:5.1f} %  {:6.1f} GFLOP/s {:3.0f} %  lost {:6.1f} us  {:<24} {}\n",
                 layer.best * 1e6, layer.best / sum * 100, rate, rate / peak * 100,
                 layer.best * 1e6 * (1 - rate / peak), layer.implementation->name, layer.line);
    }
  }
  return 0;
}

}  // namespace
}  // namespace weir

int main(int argc, char** argv) {
  std::vector<std::string> files;
  weir::Isa isa = weir::detect_isa();
  int rounds = 20;
  int parts = 1;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument == "--isa" && i + 1 < argc) {
      const std::string_view name = argv[++i];
      for (const auto each : {weir::Isa::kBaseline, weir::Isa::kAvx2, weir::Isa::kAvx512}) {
        if (weir::to_string(each) == name) isa = std::min(isa, each);
      }
    } else if (argument == "--rounds" && i + 1 < argc) {
      rounds = std::max(1, std::atoi(argv[++i]));
    } else if (argument == "--parts" && i + 1 < argc) {
      parts = std::max(1, std::atoi(argv[++i]));
    } else {
      files.emplace_back(argument);
    }
  }
  _mm_setcsr(_mm_getcsr() | 0x8040);  // denormals are flushed, as on the CPU device
  return weir::speed(files, isa, rounds, parts);
}
