// SPDX-License-Identifier: Apache-2.0
//
// A libFuzzer program over the entry of one target. WEIR_FUZZ_ENTRY is the header of the entry;
// WEIR_FUZZ_MUTATOR, where it is defined, that of a mutator that knows the format.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include WEIR_FUZZ_ENTRY
#ifdef WEIR_FUZZ_MUTATOR
#include WEIR_FUZZ_MUTATOR

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

// Half of the changes are of bytes.
extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned int seed) {
  return seed % 2 == 0 ? LLVMFuzzerMutate(data, size, max_size)
                       : weir::fuzz::mutate(data, size, max_size, seed / 2);
}
#endif

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  weir::fuzz::entry(std::as_bytes(std::span(data, size)));
  return 0;
}
