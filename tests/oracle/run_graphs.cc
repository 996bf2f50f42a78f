// SPDX-License-Identifier: Apache-2.0
//
// Runs models with given inputs through the public interface, for random_graphs.py to compare.
//
//   run_graphs FOLDER
//
// FOLDER/cases has lines of words: "model FILE ISA DEVICE" (a hyphen: the best; "cpu", "validating" or "far")
// begins a model, "run" a run of it, and "input TYPE DIM…" is its next input, whose elements come next in
// FOLDER/inputs, dense and row-major. Prints "output TYPE DIM…" for every output of a run, in order, and
// appends its elements to FOLDER/outputs; then "ran", or "error" and a text where something fails. A run that
// does not give the same bits a second time, inputs bound rather than copied, or takes other memory than
// planned fails too.
#include <cstring>
#include <fstream>
#include <iostream>
#include <sstream>
#include <weir/weir.hpp>

namespace {

struct Input {
  weir_element_type type = WEIR_FLOAT32;
  weir::Shape shape;
  std::vector<char> bytes;
};

size_t bytes_of(weir_element_type type, int64_t count) {
  return static_cast<size_t>(count) * static_cast<size_t>(weir_element_type_bits(type)) / 8;
}

std::vector<char> bytes_of(const weir::TensorView& view) {
  const size_t bytes = bytes_of(view.type(), view.element_count());
  const char* first = static_cast<const char*>(view.data());
  return bytes == 0 ? std::vector<char>() : std::vector<char>(first, first + bytes);
}

std::string one_line(std::string text) {
  for (char& c : text) {
    c = c == '\n' ? ' ' : c;
  }
  return text;
}

class Runner {
 public:
  explicit Runner(const std::string& folder)
      : folder_(folder),
        data_(folder + "/inputs", std::ios::binary),
        results_(folder + "/outputs", std::ios::binary) {}

  void line(const std::string& text) {
    std::istringstream words(text);
    std::string kind;
    words >> kind;
    if (kind == "input") {
      Input input;
      words >> input.type;
      int64_t count = 1;
      for (int64_t extent = 0; words >> extent;) {
        input.shape.push_back(extent);
        count *= extent;
      }
      input.bytes.resize(bytes_of(input.type, count));
      data_.read(input.bytes.data(), static_cast<std::streamsize>(input.bytes.size()));
      inputs_.push_back(std::move(input));
      return;
    }
    run();
    if (kind == "model") {
      std::string isa;
      std::string file;
      std::string device;
      words >> file >> isa >> device;
      error_.clear();
      request_ = weir::Request();
      try {
        weir::SessionOptions options;
        options.no_cache = true;
        // What the processor lacks is left out.
        options.isa = isa == "-" || (isa == "avx2" && std::string(device_.info().isa) == "sse4") ? "" : isa;
        session_ = weir::Session(runtime_,
                                 device == "validating" ? validating_
                                 : device == "far"      ? far_
                                                        : device_,
                                 folder_ + "/" + file, options);
        request_ = session_.request();
      } catch (const weir::Error& error) {
        error_ = one_line(error.what());
      }
    }
    pending_ = kind == "run";
  }

  void run() {
    if (!std::exchange(pending_, false)) {
      return;
    }
    const std::vector<Input> inputs = std::exchange(inputs_, {});
    try {
      if (!error_.empty()) {
        throw std::runtime_error(error_);
      }
      std::vector<weir::Shape> shapes;
      for (const Input& input : inputs) {
        shapes.push_back(input.shape);
      }
      request_.prepare(shapes);
      for (size_t i = 0; i < inputs.size(); ++i) {
        request_.unbind_input(static_cast<int32_t>(i));
        request_.set_input(static_cast<int32_t>(i), view_of(inputs[i]));
      }
      const std::vector<std::vector<char>> outputs = results();
      for (size_t i = 0; i < inputs.size(); ++i) {
        request_.bind_input(static_cast<int32_t>(i), view_of(inputs[i]));
      }
      if (results() != outputs) {
        throw std::runtime_error("a second run gives other bits");
      }
      for (int32_t i = 0; i < session_.info().output_count; ++i) {
        write(request_.output(i), outputs[static_cast<size_t>(i)]);
      }
      for (size_t i = 0; i < inputs.size(); ++i) {
        request_.unbind_input(static_cast<int32_t>(i));
      }
      if (request_.planned().total != request_.counted().total) {
        throw std::runtime_error("the plan is not what was counted");
      }
      std::cout << "ran\n" << std::flush;
    } catch (const std::exception& error) {
      std::cout << "error " << one_line(error.what()) << '\n' << std::flush;
    }
  }

 private:
  static weir::TensorView view_of(const Input& input) {
    static char none = 0;  // a tensor without elements has an address too
    return weir::TensorView::of(input.bytes.empty() ? &none : const_cast<char*>(input.bytes.data()),
                                input.type, input.shape);
  }

  std::vector<std::vector<char>> results() {
    request_.run();
    std::vector<std::vector<char>> outputs;
    for (int32_t i = 0; i < session_.info().output_count; ++i) {
      outputs.push_back(bytes_of(request_.output(i)));
    }
    return outputs;
  }

  void write(const weir::TensorView& view, const std::vector<char>& bytes) {
    results_.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    std::cout << "output " << view.type();
    for (const int64_t extent : view.shape()) {
      std::cout << ' ' << extent;
    }
    std::cout << '\n';
  }

  static weir::DeviceOptions options(bool validation, bool discrete) {
    weir::DeviceOptions options;
    options.validation = validation;
    options.simulate_discrete = discrete;
    return options;
  }

  std::string folder_;
  std::ifstream data_;
  std::ofstream results_;
  weir::Runtime runtime_{2};
  weir::Device device_ = weir::Device::cpu(runtime_);
  weir::Device validating_ = weir::Device::cpu(runtime_, options(true, false));
  weir::Device far_ = weir::Device::cpu(runtime_, options(false, true));
  std::string error_;
  weir::Session session_;
  weir::Request request_;
  std::vector<Input> inputs_;
  bool pending_ = false;
};

}  // namespace

int main(int argc, char** argv) try {
  if (argc != 2) {
    std::cerr << "usage: run_graphs FOLDER\n";
    return 2;
  }
  std::ifstream cases(std::string(argv[1]) + "/cases");
  Runner runner(argv[1]);
  for (std::string text; std::getline(cases, text);) {
    runner.line(text);
  }
  runner.run();
  return 0;
} catch (const std::exception& error) {
  std::cerr << error.what() << '\n';
  return 1;
}
