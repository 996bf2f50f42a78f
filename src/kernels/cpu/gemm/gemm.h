// SPDX-License-Identifier: Apache-2.0
//
// For each instruction set: the kernel function that runs a GemmProblem (its constants); and its
// micro-kernels for `rows` (1 … gemm_tile_rows_of(vectors)) by `vectors` (1, 2, and 3 with AVX-512).
#pragma once

#include "hal/cpu_kernel.h"
#include "kernels/cpu/gemm/problem.h"
#include "kernels/cpu/gemm/tile.h"

namespace weir {
namespace N_SSE4 {
void run_gemm(const CpuInvocation& invocation);
void run_conv_transpose(const CpuInvocation& invocation);
GemmTileFunction gemm_tile_function_of(int64_t rows, int vectors);
int64_t gemm_tile_rows_of(int vectors);
int gemm_next_vectors_of(int64_t left);
}  // namespace N_SSE4
namespace N_AVX2 {
void run_gemm(const CpuInvocation& invocation);
void run_conv_transpose(const CpuInvocation& invocation);
GemmTileFunction gemm_tile_function_of(int64_t rows, int vectors);
int64_t gemm_tile_rows_of(int vectors);
int gemm_next_vectors_of(int64_t left);
}  // namespace N_AVX2
namespace N_AVX3 {
void run_gemm(const CpuInvocation& invocation);
void run_conv_transpose(const CpuInvocation& invocation);
GemmTileFunction gemm_tile_function_of(int64_t rows, int vectors);
int64_t gemm_tile_rows_of(int vectors);
int gemm_next_vectors_of(int64_t left);
}  // namespace N_AVX3
}  // namespace weir
