// SPDX-License-Identifier: Apache-2.0
//
// Closes a file descriptor at the end of its scope.
#pragma once

#include <unistd.h>

namespace weir {

struct Descriptor {
  explicit Descriptor(int opened) : number(opened) {}
  ~Descriptor() {
    if (number >= 0) {
      ::close(number);
    }
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  const int number;  // −1: none
};

}  // namespace weir
