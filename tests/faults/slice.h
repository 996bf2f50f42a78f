// SPDX-License-Identifier: Apache-2.0
//
// The vertical slice through the C interface, cut into scenarios, in which faults are injected. Their bodies
// allocate nothing themselves, so every call that fails is Weir's own or one of its libraries'.
//
//   for (const Scenario& scenario : scenarios()) {
//     scenario.before();                 // outside of the window
//     scenario.body(outcome);            // inside: stops at the first error, and always gives back what it
//     has taken scenario.after(outcome);           // outside: what must hold whatever has failed
//   }
#pragma once

#include <cstring>
#include <span>

#include "weir/weir.h"

namespace weir::faults {

struct Outcome {
  weir_code code = WEIR_OK;
  char text[600] = "";
  const char* where = "";
  bool noted = false;  // a notice says that the program is not in the cache
  bool wrong = false;  // an answer has other bits than without a fault

  bool ok() const { return code == WEIR_OK; }
  // Takes the status and whether to go on.
  bool take(const char* step, weir_status* status) {
    if (status == nullptr) {
      return true;
    }
    code = weir_status_code(status);
    where = step;
    std::strncpy(text, weir_status_text(status), sizeof(text) - 1);
    weir_status_free(status);
    return false;
  }
};

struct Scenario {
  const char* name;
  void (*before)();
  void (*body)(Outcome& outcome);
  void (*after)(const Outcome& outcome);
  void (*release)();          // what `before` has made
  bool keeps_device = false;  // `before` makes the device, not the body
};

// Writes the models and records what the right answers are.
void make_models();
void remove_models();
std::span<const Scenario> scenarios();

// The device's memory limit for the scenarios from now on; 0: none.
void set_memory_limit(int64_t bytes);
// Of the device of the last scenario that ran.
int64_t last_memory_peak();

}  // namespace weir::faults
