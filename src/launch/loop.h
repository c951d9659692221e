// SPDX-License-Identifier: BSD-3-Clause
// mpirun's event loop: descriptors, and what to do when they are ready; times, and what to do when
// they have come. A process has one loop and one thread.
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

// Makes the loop, and returns its descriptor, which can be polled. Ends mpirun on failure. Once;
// tests may call it again for an empty loop.
int mlt_loop_new(void);

// False if the descriptor cannot be waited for (a regular file: always ready).
bool mlt_loop_add(mlt_loop_source *source, uint32_t events);
void mlt_loop_remove(mlt_loop_source *source);

// The same for a source without which mpirun cannot go on: ends it on failure.
void mlt_loop_need(mlt_loop_source *source, uint32_t events);

// Removes it and closes its descriptor, if it has one.
void mlt_loop_close(mlt_loop_source *source);

// ---- Timers. Deadlines are times of mlt_os_now_ns, 0 if there is none.

typedef struct mlt_loop_timer mlt_loop_timer;
struct mlt_loop_timer {
    void (*ring)(mlt_loop_timer *timer);
    uint64_t at_ns, every_ns;
    uint64_t turn; // of the loop, when it was set
    mlt_loop_timer *next;
};

// Lets the timer ring at that time; 0: never. Before its memory is freed, never.
void mlt_loop_alarm(mlt_loop_timer *timer, uint64_t when_ns);

// Lets it ring at the first of these times.
void mlt_loop_alarm_first(mlt_loop_timer *timer, const uint64_t *times, size_t count);

// Lets it ring each time that so long has passed.
void mlt_loop_alarm_every(mlt_loop_timer *timer, uint64_t ns);

// True, once, if the time of a deadline has come.
static inline bool mlt_loop_due(uint64_t *at, uint64_t now)
{
    if (!*at || *at > now)
        return false;
    *at = 0;
    return true;
}

// Waits for events and handles them; then timers ring. A handler may remove any source.
void mlt_loop_turn(void);

// Frees memory that had sources: after this turn, which may still hold events of theirs.
void mlt_loop_free(void *memory);
