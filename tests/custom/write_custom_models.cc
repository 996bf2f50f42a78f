// SPDX-License-Identifier: Apache-2.0
//
// write_custom_models FOLDER: the models of examples/custom_operator.c and .cpp, clip.onnx and blur.onnx.
#include "custom_models.h"

int main(int argc, char** argv) {
  if (argc != 2) {
    return 2;
  }
  const std::string folder = argv[1];
  custom_models::Model clip;
  clip.op = "TopPercentClip";
  clip.outputs = 2;
  clip.reals = {{"percent", 5.0F}};
  custom_models::write(clip, folder + "/clip.onnx");
  custom_models::Model blur;
  blur.op = "BoxBlur";
  blur.doubled = false;
  blur.dims = {"N", "3", "H", "W"};
  blur.integers = {{"radius", 2}};
  custom_models::write(blur, folder + "/blur.onnx");
  return 0;
}
