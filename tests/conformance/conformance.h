// SPDX-License-Identifier: Apache-2.0
//
// The conformance suite: what every device must do, compiled once and run on each of backends(). A test that
// needs results asks `executes()` and checks the rest of its claims without.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstring>
#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include "base/testing/results.h"
#include "hal/device.h"

namespace weir::conformance {

struct Backend {
  std::string name;
  bool validation = false;
  std::function<Result<Ref<Device>>(int64_t memory_limit)> create;  // 0: the default
};

inline void PrintTo(const Backend& backend, std::ostream* out) {
  *out << backend.name;
}

std::vector<Backend> backends();

// Kernels of the suite, over int32 elements; a tile is one element.
//   add    c[i] = a[i] + b[i] + k; bindings a, b, c; constants {int32 k}
//   bump   a[i] += 1; binding a
//   gather c[i] = a[clamp(b[i])]; bindings a, b, c; constants {int32 extent}
//   scratch   writes its scratch before it reads it: a[i] = i; binding a
//   parameter c[i] = the int32 in its parameters; binding c
//   optional  c[i] = b null ? −1 : b[i]; bindings b, c
struct AddConstants {
  int32_t k = 0;
};
Ref<Library> test_library(Device& device);

class ConformanceTest : public ::testing::TestWithParam<Backend> {
 protected:
  void SetUp() override {
    auto device = GetParam().create(0);
    ASSERT_TRUE(device) << device.error().to_string();
    device_ = *std::move(device);
    library_ = test_library(*device_);
    auto queue = device_->create_queue({.label = "test queue"});
    ASSERT_TRUE(queue) << queue.error().to_string();
    queue_ = *std::move(queue);
  }

  bool executes() const { return device_->info().executes; }
  bool host_calls() const { return executes() && device_->info().capabilities.host_calls; }

  Ref<Buffer> buffer(int64_t elements, std::string_view label = "buffer",
                     StorageMode mode = StorageMode::kShared) {
    return must(device_->create_buffer({.size = elements * 4, .mode = mode, .label = label}));
  }
  Ref<Buffer> filled(const std::vector<int32_t>& values, std::string_view label = "input") {
    Ref<Buffer> result = buffer(static_cast<int64_t>(values.size()), label);
    write(*result, values);
    return result;
  }
  void write(Buffer& target, const std::vector<int32_t>& values) {
    std::memcpy(must(target.contents()).data(), values.data(), values.size() * 4);
  }
  std::vector<int32_t> read(Buffer& source) {
    std::vector<int32_t> values(static_cast<size_t>(source.size()) / 4);
    std::memcpy(values.data(), must(source.read_contents()).data(), values.size() * 4);
    return values;
  }
  Ref<Kernel> kernel(std::string_view name) { return must(library_->kernel(name)); }
  Ref<CommandBuffer> commands(const CommandBufferDescriptor& descriptor = {.label = "commands"}) {
    return must(device_->create_command_buffer(descriptor));
  }
  // Records a dispatch of `add` over `n` elements.
  void add(Encoder& encoder, const BufferRange& a, const BufferRange& b, const BufferRange& c, int64_t n,
           int32_t k = 0) {
    encoder.set_kernel(*kernel("add"));
    encoder.set_buffer(0, a, Access::kRead);
    encoder.set_buffer(1, b, Access::kRead);
    encoder.set_buffer(2, c, Access::kWrite);
    const AddConstants constants{.k = k};
    encoder.set_constants(std::as_bytes(std::span(&constants, 1)));
    encoder.dispatch(n);
  }
  void bump(Encoder& encoder, const BufferRange& a, int64_t n) {
    encoder.set_kernel(*kernel("bump"));
    encoder.set_buffer(0, a, Access::kReadWrite);
    encoder.dispatch(n);
  }
  // Submits and waits; the result of the run.
  Result<void> run(CommandBuffer& command_buffer) {
    WEIR_TRY(queue_->submit({.command_buffer = &command_buffer}));
    return command_buffer.wait();
  }

  Ref<Device> device_;
  Ref<Library> library_;
  Ref<Queue> queue_;
};

}  // namespace weir::conformance
