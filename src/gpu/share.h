// SPDX-License-Identifier: BSD-3-Clause
// Memory of a device that another process of the host reads and writes. An allocation has a number, which
// changes when its address is given out again, and a handle, by which others open it.
//
// Whatever was opened stays open, as opening takes longer than any message: until its owner has
// something else at that address, or too much is open.
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { MLT_GPU_HANDLE_BYTES = 64 };

// Where data lie: in an allocation of this process.
typedef struct mlt_gpu_spot {
    uint64_t id, offset;
} mlt_gpu_spot;

// False: it is no memory of a device, or cannot be shared (pools, other systems than Linux, containers).
bool mlt_gpu_show(const void *at, mlt_gpu_spot *spot);

// What another process needs to open an allocation that was shown. False: something else was shown in
// its place since.
typedef struct mlt_gpu_key {
    uint64_t id, start, bytes; // start: in its owner
    unsigned char handle[MLT_GPU_HANDLE_BYTES];
} mlt_gpu_key;

bool mlt_gpu_key_of(uint64_t id, mlt_gpu_key *key);

typedef enum mlt_gpu_seen {
    MLT_GPU_SEEN,    // *at is where it lies in this process, until mlt_gpu_unsee
    MLT_GPU_UNSEEN,  // it has not been opened: ask for the key
    MLT_GPU_REFUSED, // it could not be opened
} mlt_gpu_seen;

// A spot of the process with that number, of this host's.
mlt_gpu_seen mlt_gpu_see(uint32_t process, const mlt_gpu_spot *spot, void **at);

// The same, of several such spots at once: what mlt_gpu_transfer_look finds out of a transfer from there
// to there, without asking for each. `to` and `from` are where it lies.
struct mlt_gpu_transfer;
mlt_gpu_seen mlt_gpu_see_known(uint32_t process, const mlt_gpu_spot *spot,
                               struct mlt_gpu_transfer *known);

void mlt_gpu_unsee(uint32_t process, uint64_t id);

// Opens it, in the context of `like`, memory of this process. Whether that worked, mlt_gpu_see tells.
void mlt_gpu_open(uint32_t process, const mlt_gpu_key *key, const void *like);
