// SPDX-License-Identifier: Apache-2.0
//
// A shared library that registers nothing.
int weir_has_nothing_to_register(void);
int weir_has_nothing_to_register(void) {
  return 1;
}
