// SPDX-License-Identifier: Apache-2.0
//
// Two requests in flight: while one frame is computed, the result of the one before is read and the next is
// written. A handler says which request is ready; the work is done on this thread. docs/requests.md shows it.
#include <algorithm>
#include <array>
#include <condition_variable>
#include <cstdio>
#include <deque>
#include <mutex>
#include <weir/weir.hpp>

namespace {

constexpr int kFrames = 12;

class ReadyList;

// A request and the frame that it computes. Its address is what the handler is given.
struct Slot {
  weir::Request request;
  ReadyList* ready = nullptr;
  int frame = 0;
};

// Slots whose runs have ended, in that order.
class ReadyList {
 public:
  // Called on Weir's thread when the state is set: short, and without waiting for another run.
  static void completed(void* user, const weir_status*) {
    Slot* slot = static_cast<Slot*>(user);
    const std::lock_guard<std::mutex> lock(slot->ready->mutex_);
    slot->ready->slots_.push_back(slot);
    slot->ready->changed_.notify_one();
  }
  Slot& take() {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [&] { return !slots_.empty(); });
    Slot* slot = slots_.front();
    slots_.pop_front();
    return *slot;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Slot*> slots_;
};

// Stands for a camera.
void write_frame(const weir::TensorView& image, int frame) {
  float* pixels = image.as<float>();
  for (int64_t i = 0; i < image.element_count(); ++i) {
    pixels[i] = static_cast<float>((i * (frame + 1)) % 255) / 127.5f - 1.0f;
  }
}

void start(Slot& slot, int frame) {
  slot.frame = frame;
  write_frame(slot.request.input(0), frame);
  // A queue takes 32 submissions, and there are two; WEIR_WOULD_BLOCK is what a longer pipeline would wait
  // for.
  if (slot.request.start({}, {}, ReadyList::completed, &slot) != WEIR_QUEUED) {
    throw weir::Error(WEIR_RESOURCE_EXHAUSTED, "The queue is full.");
  }
}

}  // namespace

int main(int argc, char** argv) try {
  const weir::Runtime runtime;
  const weir::Device device = weir::Device::cpu(runtime);
  const weir::Session session(runtime, device, argc > 1 ? argv[1] : "model.onnx");

  ReadyList ready;
  std::array<Slot, 2> slots;  // released before `ready`, and with each of them its handler has ended
  int next = 0;
  for (Slot& slot : slots) {
    slot.ready = &ready;
    slot.request = session.request();
    slot.request.prepare({{1, 3, 48, 192}});
    start(slot, next++);
  }
  for (int done = 0; done < kFrames; ++done) {
    Slot& slot = ready.take();
    slot.request.wait();  // has ended: throws its error if it failed
    {
      // While the lease is held, the request refuses to start: nobody overwrites what is being read.
      const weir::Lease lease = slot.request.lease_output(0);
      const weir::TensorView scores = lease.tensor();
      const float* first = scores.as<float>();
      const float* best = std::max_element(first, first + scores.element_count());
      std::printf("frame %d: class %d with %.4f\n", slot.frame, static_cast<int>(best - first), *best);
    }
    if (next < kFrames) {
      start(slot, next++);
    }
  }
} catch (const weir::Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
