// SPDX-License-Identifier: Apache-2.0
//
// Weir for C++17: handles that release themselves, over the C interface of weir.h. Header-only.
//
//   weir::Runtime runtime;
//   weir::Device device = weir::Device::cpu(runtime);
//   weir::Session session(runtime, device, "model.onnx");
//   weir::Request request = session.request();
//   request.prepare({{1, 3, 224, 224}});
//   std::fill_n(request.input(0).as<float>(), 3 * 224 * 224, 0.5f);
//   request.run();
//   const float* scores = request.output(0).as<float>();
//
// and the resource model below it:
//
//   weir::BufferDesc desc;
//   desc.size = 4096;
//   weir::Buffer input = device.buffer(desc);
//   weir::Queue queue = device.queue("main");
//
// A handle is a reference: copying it takes another, and an empty one is false. Failures throw weir::Error,
// which has the code and the whole text; what is expected on the way (a full queue, a time-out) is a return
// value. Threads and ownership are as weir.h says.
#ifndef WEIR_WEIR_HPP_
#define WEIR_WEIR_HPP_

#include "weir/base.hpp"
#include "weir/custom_operator.hpp"
#include "weir/request.hpp"
#include "weir/resources.hpp"
#include "weir/session.hpp"
#include "weir/tensor.hpp"
#include "weir/trace.hpp"

#endif  // WEIR_WEIR_HPP_
