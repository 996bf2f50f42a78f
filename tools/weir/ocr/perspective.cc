// SPDX-License-Identifier: Apache-2.0
#include "tools/weir/ocr/perspective.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace weir::cli {
namespace {

// Weights of the four pixels around a point that lies a fraction `t` past the second. Source: R. Keys, "Cubic
// convolution interpolation for digital image processing", 1981.
std::array<float, 4> cubic_weights(float t) {
  constexpr float kA = -0.75f;
  const auto near = [](float d) { return ((kA + 2) * d - (kA + 3)) * d * d + 1; };
  const float before = ((kA * (t + 1) - 5 * kA) * (t + 1) + 8 * kA) * (t + 1) - 4 * kA;
  const float first = near(t);
  const float second = near(1 - t);
  return {before, first, second, 1.0f - before - first - second};
}

// One axis of a sample: four positions, continued at the border, and their weights.
struct Taps {
  std::array<int, 4> positions;
  std::array<float, 4> weights;
};

Taps taps_at(double position, int extent) {
  // Beyond the border all samples are alike, so far away (what is no number included) may be near.
  position = position > -4.0 ? std::min(position, extent + 4.0) : -4.0;
  const int whole = static_cast<int>(std::floor(position));
  Taps taps{{}, cubic_weights(static_cast<float>(position - whole))};
  for (int k = 0; k < 4; ++k)
    taps.positions[static_cast<size_t>(k)] = std::clamp(whole - 1 + k, 0, extent - 1);
  return taps;
}

Result<Transform> inverse(const Transform& m) {
  const Transform adjugate = {
      m[4] * m[8] - m[5] * m[7], m[2] * m[7] - m[1] * m[8], m[1] * m[5] - m[2] * m[4],
      m[5] * m[6] - m[3] * m[8], m[0] * m[8] - m[2] * m[6], m[2] * m[3] - m[0] * m[5],
      m[3] * m[7] - m[4] * m[6], m[1] * m[6] - m[0] * m[7], m[0] * m[4] - m[1] * m[3]};
  const double determinant = m[0] * adjugate[0] + m[1] * adjugate[3] + m[2] * adjugate[6];
  if (!(std::abs(determinant) > 0)) {
    return fail(StatusCode::kInvalidArgument, "The perspective transform ({}) has no inverse.",
                fmt::join(m, ", "));
  }
  Transform result;
  for (size_t i = 0; i < 9; ++i) result[i] = adjugate[i] / determinant;
  return result;
}

}  // namespace

Result<Transform> perspective_transform(const Quad& from, const Quad& to) {
  // X = (a x + b y + c) / (g x + h y + 1), Y = (d x + e y + f) / (g x + h y + 1): eight equations for a … h,
  // and the right-hand side in column 8.
  std::array<std::array<double, 9>, 8> rows{};
  for (size_t i = 0; i < 4; ++i) {
    const auto [x, y] = from[i];
    rows[i] = {x, y, 1, 0, 0, 0, -x * to[i].x, -y * to[i].x, to[i].x};
    rows[i + 4] = {0, 0, 0, x, y, 1, -x * to[i].y, -y * to[i].y, to[i].y};
  }
  for (size_t column = 0; column < 8; ++column) {
    size_t pivot = column;
    for (size_t row = column + 1; row < 8; ++row) {
      if (std::abs(rows[row][column]) > std::abs(rows[pivot][column])) pivot = row;
    }
    if (!(std::abs(rows[pivot][column]) > 1e-10)) {
      return fail(
          StatusCode::kInvalidArgument,
          "The corners ({}, {}), ({}, {}), ({}, {}) and ({}, {}) make no perspective transform: three "
          "of four may not lie on a line.",
          from[0].x, from[0].y, from[1].x, from[1].y, from[2].x, from[2].y, from[3].x, from[3].y);
    }
    std::swap(rows[pivot], rows[column]);
    for (size_t row = column + 1; row < 8; ++row) {
      const double factor = rows[row][column] / rows[column][column];
      for (size_t k = column; k < 9; ++k) rows[row][k] -= factor * rows[column][k];
    }
  }
  Transform result{};
  result[8] = 1;
  for (size_t row = 8; row-- > 0;) {
    double sum = rows[row][8];
    for (size_t k = row + 1; k < 8; ++k) sum -= rows[row][k] * result[k];
    result[row] = sum / rows[row][row];
  }
  return result;
}

Result<Image> warp_perspective(const Image& image, const Transform& transform, int width, int height) {
  WEIR_ASSIGN(const Transform back, inverse(transform));
  WEIR_ASSIGN(Image result, make_image(width, height, image.channels));
  const int channels = image.channels;
  for (int y = 0; y < height; ++y) {
    uint8_t* to = result.row(y);
    for (int x = 0; x < width; ++x) {
      const double w = back[6] * x + back[7] * y + back[8];
      const Taps across = taps_at((back[0] * x + back[1] * y + back[2]) / w, image.width);
      const Taps down = taps_at((back[3] * x + back[4] * y + back[5]) / w, image.height);
      for (int c = 0; c < channels; ++c) {
        float sum = 0;
        for (size_t ky = 0; ky < 4; ++ky) {
          const uint8_t* row = image.row(down.positions[ky]) + c;
          float line = 0;
          for (size_t kx = 0; kx < 4; ++kx) line += across.weights[kx] * row[across.positions[kx] * channels];
          sum += down.weights[ky] * line;
        }
        *to++ = static_cast<uint8_t>(std::clamp(static_cast<int>(std::lrint(sum)), 0, 255));
      }
    }
  }
  return result;
}

}  // namespace weir::cli
