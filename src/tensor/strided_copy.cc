// SPDX-License-Identifier: Apache-2.0
#include "tensor/strided_copy.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <utility>

#include "base/checked.h"

namespace weir {
namespace {

// An axis of both views, strides in bytes.
struct Axis {
  int64_t extent = 1;
  int64_t from = 0;
  int64_t to = 0;
};

// By insertion: a handful of axes, nothing allocated, equal ones stay in order.
template <typename T, typename Before>
void sort_axes(T* axes, int count, Before before) {
  for (int i = 1; i < count; ++i) {
    for (int j = i; j > 0 && before(axes[j], axes[j - 1]); --j) {
      std::swap(axes[j], axes[j - 1]);
    }
  }
}

// The axes without those of extent 1, the target's widest stride first, neighbours that walk on in both views
// made one. The last is the innermost.
int merge_axes(const TensorView& from, const TensorView& to, int64_t element, Axis (&axes)[kMaxRank]) {
  int count = 0;
  for (int i = 0; i < to.rank; ++i) {
    if (to.shape[i] != 1) {
      axes[count++] = {to.shape[i], from.strides[i] * element, to.strides[i] * element};
    }
  }
  sort_axes(axes, count, [](const Axis& a, const Axis& b) { return std::abs(a.to) > std::abs(b.to); });
  int last = 0;
  for (int i = 1; i < count; ++i) {
    Axis& outer = axes[last];
    const Axis& inner = axes[i];
    if (outer.from == inner.from * inner.extent && outer.to == inner.to * inner.extent) {
      outer = {outer.extent * inner.extent, inner.from, inner.to};
    } else {
      axes[++last] = inner;
    }
  }
  return count == 0 ? 0 : last + 1;
}

template <int64_t kBytes>
void copy_run(const std::byte* from, int64_t from_stride, std::byte* to, int64_t to_stride, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    std::memcpy(to + i * to_stride, from + i * from_stride, kBytes);
  }
}

void copy_row(const std::byte* from, std::byte* to, const Axis& axis, int64_t element) {
  if (axis.from == element && axis.to == element) {
    std::memcpy(to, from, static_cast<size_t>(axis.extent * element));
    return;
  }
  switch (element) {
    case 1:
      return copy_run<1>(from, axis.from, to, axis.to, axis.extent);
    case 2:
      return copy_run<2>(from, axis.from, to, axis.to, axis.extent);
    case 4:
      return copy_run<4>(from, axis.from, to, axis.to, axis.extent);
    default:
      return copy_run<8>(from, axis.from, to, axis.to, axis.extent);
  }
}

}  // namespace

Result<ByteRange> byte_range(const TensorSpec& spec) {
  int64_t first = 0;
  int64_t last = 0;
  for (int i = 0; i < spec.rank; ++i) {
    if (spec.shape[i] == 0) {
      return ByteRange{};
    }
    WEIR_ASSIGN(const int64_t span, checked_mul(spec.shape[i] - 1, spec.strides[i]));
    WEIR_ASSIGN(first, checked_add(first, std::min<int64_t>(span, 0)));
    WEIR_ASSIGN(last, checked_add(last, std::max<int64_t>(span, 0)));
  }
  const int64_t bits = bit_width(spec.type);
  WEIR_ASSIGN(const int64_t begin_bits, checked_mul(first, bits));
  WEIR_ASSIGN(const int64_t end, checked_add(last, 1));
  WEIR_ASSIGN(const int64_t end_bits, checked_mul(end, bits));
  return ByteRange{begin_bits / 8, end_bits / 8 + (end_bits % 8 != 0 ? 1 : 0)};
}

bool has_distinct_elements(const TensorSpec& spec) {
  std::array<std::pair<int64_t, int64_t>, kMaxRank> axes{};  // stride, extent
  int count = 0;
  for (int i = 0; i < spec.rank; ++i) {
    if (spec.shape[i] == 0) {
      return true;
    }
    if (spec.shape[i] > 1) {
      axes[static_cast<size_t>(count++)] = {std::abs(spec.strides[i]), spec.shape[i]};
    }
  }
  sort_axes(axes.data(), count, std::less());
  int64_t inside = 0;  // the furthest element that the axes so far reach
  for (int i = 0; i < count; ++i) {
    const auto& [stride, extent] = axes[static_cast<size_t>(i)];
    if (stride <= inside) {
      return false;
    }
    inside += stride * (extent - 1);
  }
  return true;
}

TensorSpec spec_of(const TensorView& view) {
  return {view.type, view.rank, view.shape, view.strides};
}

void copy_elements(const TensorView& from, const TensorView& to) {
  if (to.element_count() == 0) {
    return;
  }
  if (bit_width(to.type) < 8) {
    std::memcpy(to.data, from.data, static_cast<size_t>(byte_size(to.type, to.element_count())));
    return;
  }
  const int64_t element = bit_width(to.type) / 8;
  Axis axes[kMaxRank];
  const int count = merge_axes(from, to, element, axes);
  if (count == 0) {
    std::memcpy(to.data, from.data, static_cast<size_t>(element));
    return;
  }
  std::array<int64_t, kMaxRank> index{};
  const std::byte* source = from.data;
  std::byte* target = to.data;
  while (true) {
    copy_row(source, target, axes[count - 1], element);
    int axis = count - 2;
    for (; axis >= 0; --axis) {
      const Axis& a = axes[axis];
      source += a.from;
      target += a.to;
      if (++index[static_cast<size_t>(axis)] < a.extent) {
        break;
      }
      source -= a.from * a.extent;
      target -= a.to * a.extent;
      index[static_cast<size_t>(axis)] = 0;
    }
    if (axis < 0) {
      return;
    }
  }
}

}  // namespace weir
