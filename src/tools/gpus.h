// SPDX-License-Identifier: BSD-3-Clause
// `millet info`: which GPUs there are, and what works with them.
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum { MLT_GPUS_MOST = 64, MLT_GPUS_NAME = 128 };

typedef struct mlt_gpus_one {
    char name[MLT_GPUS_NAME];
    char address[32]; // on the bus: "0000:19:00"
    uint64_t bytes;
    int major, minor; // compute capability
    int processors;
    bool unified; // its addresses are no one else's: what MPI calls on its memory need
    bool managed;
    uint64_t peers; // bit d: its kernels and copies reach the memory of GPU d
} mlt_gpus_one;

typedef struct mlt_gpus {
    char why[256]; // there are none; "": there are some
    int version;   // of the driver's interface, 13020 is 13.2
    int count;
    mlt_gpus_one at[MLT_GPUS_MOST];
} mlt_gpus;

// Loads CUDA's driver and asks it.
void mlt_gpus_find(mlt_gpus *out);

// A line for each GPU, or one that says why there is none; each line begins with a word of what it
// is about, as the facts of `millet info`.
void mlt_gpus_say(void);

// The same as the value of a JSON object's field.
void mlt_gpus_json(void);

// `millet info --gpus`: all of it, and whether another process can open memory of each, which is
// tried.
void mlt_info_gpus(void);
