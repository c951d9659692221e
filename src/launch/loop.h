// SPDX-License-Identifier: BSD-3-Clause
// mpirun's event loop: descriptors and what to do when they are ready. One thread.
#ifndef MLT_LAUNCH_LOOP_H
#define MLT_LAUNCH_LOOP_H

#include <stdbool.h>
#include <stdint.h>

typedef struct mlt_source mlt_source;
struct mlt_source {
    int fd;
    bool added;
    void (*ready)(mlt_source *source, uint32_t events); // EPOLLIN, ...
};

// Returns the loop's descriptor; ends mpirun on failure.
int mlt_loop_new(void);

// False if the descriptor cannot be waited for (a regular file: always ready).
bool mlt_loop_add(int loop, mlt_source *source, uint32_t events);
void mlt_loop_remove(int loop, mlt_source *source);

// Waits for events and handles them. A handler may remove any source, but memory of sources stays.
void mlt_loop_turn(int loop);

#endif
