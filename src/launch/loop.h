// SPDX-License-Identifier: BSD-3-Clause
// mpirun's event loop: descriptors and what to do when they are ready. One thread.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct mlt_loop_source mlt_loop_source;
struct mlt_loop_source {
    int fd;
    bool added;
    void (*ready)(mlt_loop_source *source, uint32_t events); // EPOLLIN, ...
};

// Returns the loop's descriptor; ends mpirun on failure.
int mlt_loop_new(void);

// False if the descriptor cannot be waited for (a regular file: always ready).
bool mlt_loop_add(int loop, mlt_loop_source *source, uint32_t events);
void mlt_loop_remove(int loop, mlt_loop_source *source);

// ---- Timers: sources that are timerfds of the monotonic clock. Their owners keep deadlines, each a
// time of mlt_os_now_ns, 0 if there is none.

// Lets the timer ring at that time; 0: never.
void mlt_loop_alarm(const mlt_loop_source *timer, uint64_t when_ns);

// Lets it ring at the first of these times.
void mlt_loop_alarm_first(const mlt_loop_source *timer, const uint64_t *times, size_t count);

// True, once, if the time of a deadline has come.
static inline bool mlt_loop_due(uint64_t *at, uint64_t now)
{
    if (!*at || *at > now)
        return false;
    *at = 0;
    return true;
}

// Waits for events and handles them. A handler may remove any source, but memory of sources stays.
void mlt_loop_turn(int loop);
