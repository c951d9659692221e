// SPDX-License-Identifier: BSD-3-Clause
// The IO scheduler of a worker: timers, and descriptors that somebody waits for. It is the one
// place where time and the outside world wake fibers; the idle function looks at it whenever
// nothing is runnable, and sleeps in it when there is nothing else to sleep for.
//
// A timer or a watch is the caller's memory (on the waiter's stack, or in an object of its own) and
// fires once: it is taken out, then its function is called, on the worker's thread, from the idle
// or breathe function; that may wake fibers and set timers and watches, but must not suspend.
//
//     timers    a heap of pointers by time; set, stop and fire cost O(log n)
//     watches   a list a descriptor; epoll tells, one shot each, which are ready
//
// Its owner may close a descriptor while nobody watches it, and the number may be used again: every
// watch arms it anew. A descriptor that is closed while it is watched fires too, but only when the
// next patrol comes by, within some seconds: nobody tells of a close. What epoll does not know (a
// regular file) is always ready.
//
// Made at first use. Everything is the worker's thread's. Nothing here suspends a fiber;
// mlt_io_block blocks the thread.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "base/status.h"
#include "fiber/fiber.h"

typedef struct mlt_timer {
    uint64_t at_ns; // mlt_os_now_ns
    uint32_t place; // in the heap, from 1; 0: not set
    void (*fire)(struct mlt_timer *timer);
} mlt_timer;

// A zeroed timer with `fire` filled in is not set. A timer that is set may be set again.
void mlt_timer_set(mlt_sched *sched, mlt_timer *timer, uint64_t at_ns);
void mlt_timer_stop(mlt_sched *sched, mlt_timer *timer); // not set: nothing happens

typedef struct mlt_io_watch {
    mlt_list_node node; // zeroed: it watches nothing
    int fd;
    bool writes; // false: for something to read, or its end
    void (*fire)(struct mlt_io_watch *watch);
} mlt_io_watch;

// MLT_ERR_SYSTEM: it is no descriptor (errno tells); MLT_PENDING: it watches, and will fire;
// MLT_OK: the descriptor is always ready, and nothing will fire.
mlt_status mlt_io_watch_start(mlt_sched *sched, mlt_io_watch *watch) MLT_MUST_CHECK;
void mlt_io_watch_stop(mlt_sched *sched, mlt_io_watch *watch); // watches nothing: nothing happens

// ---- for the idle function

// Makes it, so that the idle function looks at it: it takes calls of other threads, too (delegate.h).
void mlt_io_use(mlt_sched *sched);

// Somebody has ever waited for time, or for a descriptor. (Ports do not count.)
bool mlt_io_was_used(const mlt_sched *sched);

// Somebody waits for time, or for a descriptor; or a thread may call.
bool mlt_io_waits(const mlt_sched *sched);
bool mlt_io_watches(const mlt_sched *sched); // for a descriptor
bool mlt_io_expects(
    const mlt_sched *sched); // the same but for threads that may call, which takes a look at them

// Fires what is due and what is ready, without blocking. True if anything fired. glance: for a
// worker that has other work; looks at descriptors only if it has not for some time.
bool mlt_io_look(mlt_sched *sched);
bool mlt_io_glance(mlt_sched *sched);

// How often timers and watches were set: a thread that sleeps for those of a worker with a gate does
// not know of later ones.
uint32_t mlt_io_changes(const mlt_sched *sched);

// Nanoseconds until the next timer is due, 0 if it is, or until threads are to be looked at;
// MLT_OS_FOREVER: neither.
int64_t mlt_io_patience(const mlt_sched *sched);

// Blocks the thread until a descriptor is ready, the next timer is due, timeout_ns (or
// MLT_OS_FOREVER) are over, or the doorbell rings; fires what is to be fired. Only with mlt_io_watches,
// or ports: a worker that waits for timers alone sleeps where it always does, for mlt_io_patience.
// False: nothing has happened but that time has passed.
bool mlt_io_block(mlt_sched *sched, int64_t timeout_ns);

// The doorbell: a descriptor that is part of every block and look, read empty when it rings. It stays
// the owner's (see boot/doorbell.h: another process rings it).
mlt_status mlt_io_set_doorbell(mlt_sched *sched, int fd) MLT_MUST_CHECK;

// False: none was set, or the program has closed it or epoll's descriptor: set another one. Ask
// before each sleep, though it takes two system calls: nobody else would tell.
bool mlt_io_has_doorbell(const mlt_sched *sched);

// Ports: descriptors of the library's own that end every block while they are ready (to be read
// from, or written to as well), until they are dropped or closed. Setting one again changes it. They are no
// watches: who waits for nothing else waits for messages. `rang` is told in every block and look;
// of MLT_IO_PORTS_LOST if the program has closed epoll's descriptor, so that all are to be set
// again. False: the system refuses it.
//
// A port may stay ready though there is nothing to do. So a look believes `rang`, which returns true if
// its owner would not see by itself what has come: otherwise a worker that looks would never sleep.
enum { MLT_IO_PORTS_LOST = -1 };
typedef bool mlt_io_rang(void *arg, uint32_t number);
void mlt_io_ports(mlt_sched *sched, mlt_io_rang *rang, void *arg);
bool mlt_io_port_set(mlt_sched *sched, int fd, uint32_t number, bool writes) MLT_MUST_CHECK;
void mlt_io_port_drop(mlt_sched *sched, int fd);

// Looks at the ports (and everything else) without blocking. True: something has come, and fibers may
// run again.
bool mlt_io_look_at_ports(mlt_sched *sched);

// Blocks as mlt_io_block, with a doorbell and ports, for at most that time; fires nothing, so that
// other threads may use the worker meanwhile. Look afterwards. True: there is something to see.
bool mlt_io_nap(mlt_sched *sched, int64_t timeout_ns);

// Between patrols: a second. Sleep lasts no longer than that at a time. Tests have their own.
extern int64_t mlt_io_patrol_ns;

// mlt_sched_free calls it.
void mlt_io_free(mlt_sched *sched);
