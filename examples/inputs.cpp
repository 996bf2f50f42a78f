// SPDX-License-Identifier: Apache-2.0
//
// The three ways to hand in an input, with the same result: write into the request's own tensor, hand over an
// array, bind memory of one's own. docs/requests.md shows parts of it.
#include <cstdio>
#include <cstring>
#include <vector>
#include <weir/weir.hpp>

namespace {

const weir::Shape kShape = {1, 3, 48, 192};
constexpr int64_t kPixels = 48 * 192;

// An image with its colours side by side, as cameras have it.
std::vector<float> make_image() {
  std::vector<float> image(3 * kPixels);
  for (size_t i = 0; i < image.size(); ++i) {
    image[i] = static_cast<float>(i % 255) / 127.5f - 1.0f;
  }
  return image;
}

void write_own(const weir::Request& request, const std::vector<float>& image) {
  // Valid until the next prepare; another run may be started with it again and again.
  float* x = request.input(0).as<float>();
  for (int64_t i = 0; i < kPixels; ++i) {
    for (int64_t colour = 0; colour < 3; ++colour) {
      x[colour * kPixels + i] = image[i * 3 + colour];
    }
  }
}

void hand_over(const weir::Request& request, const std::vector<float>& image) {
  // Strides, in elements, say where each axis goes: the copy puts the colours apart.
  const weir::TensorView view(image.data(), kShape, {3 * kPixels, 1, 192 * 3, 3});
  const weir::Binding binding = request.set_input(0, view);
  std::printf("%lld bytes copied: %s\n", static_cast<long long>(binding.copied_bytes),
              binding.reasons_text().c_str());
}

void bind(const weir::Request& request, std::vector<float>& planes) {
  // Used where it lies if the device can, and then WEIR_COPY_FORBID costs nothing; else an error says why
  // not.
  const weir::Binding binding =
      request.bind_input(0, weir::TensorView(planes.data(), kShape), WEIR_COPY_FORBID);
  std::printf("in place: %s\n", binding.in_place() ? "yes" : "no");
}

std::vector<float> run(const weir::Request& request) {
  request.run();
  const weir::TensorView y = request.output(0);
  return std::vector<float>(y.as<float>(), y.as<float>() + y.element_count());
}

}  // namespace

int main(int argc, char** argv) try {
  const weir::Runtime runtime;
  const weir::Device device = weir::Device::cpu(runtime);
  const weir::Session session(runtime, device, argc > 1 ? argv[1] : "model.onnx");
  const weir::Request request = session.request();
  request.prepare({kShape});

  const std::vector<float> image = make_image();
  write_own(request, image);
  const std::vector<float> first = run(request);
  const weir::TensorView own = request.input(0);
  std::vector<float> planes(own.as<float>(), own.as<float>() + own.element_count());

  hand_over(request, image);
  const std::vector<float> second = run(request);

  bind(request, planes);
  const std::vector<float> third = run(request);  // and whatever `planes` holds at the next run
  request.unbind_input(0);

  const bool same = first == second && second == third;
  std::printf("the same result: %s\n", same ? "yes" : "no");
  return same ? 0 : 1;
} catch (const weir::Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
