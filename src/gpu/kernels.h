// SPDX-License-Identifier: BSD-3-Clause
// What the kernels of kernels.cu and those who start them (kernel.c) agree on. For nvcc, and for C.
#pragma once

#include <stdint.h>

enum { MLT_GPU_THREADS = 256 };     // of a block
enum { MLT_GPU_OPERANDS = 16 };     // whose addresses are parameters; a list has those of more
enum { MLT_GPU_LARGEST_UNIT = 16 }; // bytes that a thread loads at once

// Operations of reductions. Whole numbers are told by their width: only their order knows of signs.
enum {
    MLT_GPU_MAX,
    MLT_GPU_MIN,
    MLT_GPU_MAX_UNSIGNED,
    MLT_GPU_MIN_UNSIGNED,
    MLT_GPU_SUM,
    MLT_GPU_PROD,
    MLT_GPU_LAND,
    MLT_GPU_LOR,
    MLT_GPU_LXOR,
    MLT_GPU_BAND,
    MLT_GPU_BOR,
    MLT_GPU_BXOR,
};

// The kind of a number of a pair: its bytes, and one of these.
enum { MLT_GPU_SIGNED = 0x10, MLT_GPU_UNSIGNED = 0x20, MLT_GPU_FLOAT = 0x40, MLT_GPU_BYTES = 0xf };

// A run of mlt_type_runs (type/type.h), which C has under its own name.
typedef struct mlt_gpu_run {
    int64_t at, stride;
    uint64_t length, count;
} mlt_gpu_run;

// One of many copies.
typedef struct mlt_gpu_copy_item {
    uint64_t to, from, bytes; // to, from: addresses
} mlt_gpu_copy_item;
