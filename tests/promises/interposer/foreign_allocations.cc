// SPDX-License-Identifier: Apache-2.0
//
// A library that allocates, built twice: under a name of its own, and under a driver's.
#include <cstdlib>
#include <string>

extern "C" __attribute__((visibility("default"))) void* foreign_malloc(size_t size) {
  void* volatile memory =
      std::malloc(size);  // volatile: a jump in place of the call would hide this function
  return memory;
}

// Through libstdc++, whose code is the direct caller of operator new.
extern "C" __attribute__((visibility("default"))) std::string* foreign_grow(std::string* text, size_t size) {
  text->reserve(size);
  return text;
}
