// SPDX-License-Identifier: BSD-3-Clause
// The engine's settings; read once before the first worker starts, constant afterwards.
#pragma once

#include <stdint.h>

typedef enum mlt_large {
    MLT_LARGE_AUTO,
    MLT_LARGE_CHUNKS, // both copy, through the segment, in a pipeline
    MLT_LARGE_READ,   // the receiver reads the sender's memory (process_vm_readv)
} mlt_large;

typedef enum mlt_mismatch { // kind.h
    MLT_MISMATCH_NOTE,
    MLT_MISMATCH_ERROR,
    MLT_MISMATCH_IGNORE,
} mlt_mismatch;

typedef struct mlt_p2p_conf {
    const char *sched;
    int64_t stack_size;
    int64_t eager_worker, eager_thread, eager_process, eager_read, eager_host;
    int64_t large; // mlt_large
    int64_t spin_us;
    int64_t hold;
    int64_t type_mismatch; // mlt_mismatch
} mlt_p2p_conf;

extern mlt_p2p_conf mlt_conf;
