// SPDX-License-Identifier: Apache-2.0
//
// Runs a recurrent network over frames twice, through weir.hpp: with its state declared, and fed by hand.
//
//   state_frames MODEL FRAMES OUT SIZE INPUT=OUTPUT,… [threads=N] [validation] [discrete]
//
// FRAMES holds float32 frames of SIZE elements, OUT gets for each frame the first output and then the states,
// which state.py compares with another runtime. That the two ways agree in every bit, and that save, restore
// and reset do what they say, is checked here: the exit code is 1 and the message says what differs.
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "weir/weir.hpp"

namespace {

constexpr size_t kHeaderBytes = 32;

struct Arguments {
  std::string model;
  std::string frames;
  std::string out;
  size_t size = 0;
  std::vector<weir::StateChoice> states;
  int threads = 2;
  weir::DeviceOptions device;
};

Arguments read_arguments(int argc, char** argv) {
  Arguments arguments;
  arguments.model = argv[1];
  arguments.frames = argv[2];
  arguments.out = argv[3];
  arguments.size = std::stoul(argv[4]);
  std::string pairs = argv[5];
  while (!pairs.empty()) {
    const std::string pair = pairs.substr(0, pairs.find(','));
    pairs.erase(0, pair.size() + 1);
    arguments.states.push_back({pair.substr(0, pair.find('=')), pair.substr(pair.find('=') + 1)});
  }
  for (int i = 6; i < argc; ++i) {
    const std::string word = argv[i];
    arguments.device.validation |= word == "validation";
    arguments.device.simulate_discrete |= word == "discrete";
    if (word.rfind("threads=", 0) == 0) {
      arguments.threads = std::stoi(word.substr(8));
    }
  }
  return arguments;
}

using Bytes = std::vector<unsigned char>;

Bytes bytes_of(const weir::TensorView& view) {
  const auto* data = reinterpret_cast<const unsigned char*>(view.as<float>());
  return Bytes(data, data + static_cast<size_t>(view.element_count()) * sizeof(float));
}

void write(const weir::TensorView& view, const Bytes& bytes) {
  std::memcpy(view.as<float>(), bytes.data(), bytes.size());
}

int failures = 0;
void expect_same(const Bytes& got, const Bytes& wanted, const std::string& what) {
  if (got != wanted) {
    std::printf("FAIL %s: other bits\n", what.c_str());
    ++failures;
  }
}

int run(const Arguments& arguments) {
  std::ifstream file(arguments.frames, std::ios::binary);
  const Bytes all((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  const size_t frame_bytes = arguments.size * sizeof(float);
  std::vector<Bytes> frames;
  for (size_t at = 0; at + frame_bytes <= all.size(); at += frame_bytes) {
    frames.emplace_back(all.begin() + static_cast<std::ptrdiff_t>(at),
                        all.begin() + static_cast<std::ptrdiff_t>(at + frame_bytes));
  }

  const weir::Runtime runtime(arguments.threads);
  const weir::Device device = weir::Device::cpu(runtime, arguments.device);
  weir::SessionOptions options;
  options.no_cache = true;
  const weir::Session plain(runtime, device, arguments.model, options);
  options.states = arguments.states;
  const weir::Session with_state(runtime, device, arguments.model, options);
  if (with_state.info().state_count != static_cast<int32_t>(arguments.states.size())) {
    std::printf("FAIL the session has (%d) states\n", with_state.info().state_count);
    return 1;
  }

  const weir::Shape shape = {1, static_cast<int64_t>(arguments.size)};
  std::vector<weir::Shape> shapes(static_cast<size_t>(plain.info().input_count));
  for (size_t i = 0; i < shapes.size(); ++i) {
    shapes[i] = plain.input(static_cast<int32_t>(i)).shape;
  }
  const std::string frame_name = with_state.input(0).name;
  shapes[static_cast<size_t>(plain.find_input(frame_name))] = shape;
  const weir::Request by_hand = plain.request();
  by_hand.prepare(shapes);
  const weir::Request kept = with_state.request();
  kept.prepare({shape});
  if (kept.planned().state != kept.counted().state || kept.planned().state <= 0) {
    std::printf("FAIL state: planned (%lld), counted (%lld)\n", static_cast<long long>(kept.planned().state),
                static_cast<long long>(kept.counted().state));
    ++failures;
  }

  std::ofstream out(arguments.out, std::ios::binary);
  const auto run_kept = [&](const weir::Request& request, const Bytes& frame) {
    write(request.input(0), frame);
    request.run();
    return bytes_of(request.output(0));
  };
  for (const weir::StateChoice& state : arguments.states) {
    const weir::TensorView view = by_hand.input(plain.find_input(state.input));
    std::memset(view.as<float>(), 0, static_cast<size_t>(view.element_count()) * sizeof(float));
  }
  std::vector<Bytes> answers;
  std::vector<Bytes> saved = {kept.save_state()};
  for (size_t i = 0; i < frames.size(); ++i) {
    write(by_hand.input(plain.find_input(frame_name)), frames[i]);
    by_hand.run();
    answers.push_back(run_kept(kept, frames[i]));
    const std::string what = "frame " + std::to_string(i);
    expect_same(answers.back(), bytes_of(by_hand.output(plain.find_output(with_state.output(0).name))), what);
    Bytes states;
    for (const weir::StateChoice& state : arguments.states) {
      const Bytes next = bytes_of(by_hand.output(plain.find_output(state.output)));
      states.insert(states.end(), next.begin(), next.end());
      write(by_hand.input(plain.find_input(state.input)), next);
    }
    saved.push_back(kept.save_state());
    const Bytes contents(saved.back().begin() + kHeaderBytes, saved.back().end());
    expect_same(contents, states, "state after " + what);
    out.write(reinterpret_cast<const char*>(answers.back().data()),
              static_cast<std::streamsize>(answers.back().size()));
    out.write(reinterpret_cast<const char*>(contents.data()), static_cast<std::streamsize>(contents.size()));
  }

  // From the middle on again, in this request and in another.
  const size_t middle = frames.size() / 2;
  const weir::Request other = with_state.request();
  other.prepare({shape});
  for (const weir::Request* request : {&kept, &other}) {
    request->restore_state(saved[middle]);
    for (size_t i = middle; i < frames.size(); ++i) {
      expect_same(run_kept(*request, frames[i]), answers[i], "restored, frame " + std::to_string(i));
    }
    expect_same(request->save_state(), saved.back(), "restored, the end");
  }
  kept.reset_state();
  for (size_t i = 0; i < middle; ++i) {
    expect_same(run_kept(kept, frames[i]), answers[i], "reset, frame " + std::to_string(i));
  }
  std::printf("%zu frames, %d failures\n", frames.size(), failures);
  return failures == 0 && !frames.empty() ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc < 6) {
    std::printf("state_frames MODEL FRAMES OUT SIZE INPUT=OUTPUT,… [threads=N] [validation] [discrete]\n");
    return 2;
  }
  return run(read_arguments(argc, argv));
} catch (const weir::Error& error) {
  std::printf("%s\n", error.what());
  return 1;
}
