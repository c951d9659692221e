// SPDX-License-Identifier: BSD-3-Clause
#include "launch/loop.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/array.h"
#include "launch/say.h"
#include "os/fd.h"
#include "os/os.h"

static struct {
    int fd, clock;          // clock: a timerfd, for the first timer
    mlt_loop_timer *timers; // those that have a time
    uint64_t turn;
    bool turning;
    void **spent; // to be freed after the turn
    size_t spent_count, spent_room;
} loop = {.fd = -1, .clock = -1};

static _Noreturn void refuse_loop(void)
{
    mlt_quit(MLT_EXIT_SYSTEM, "cannot wait for events: %s", mlt_os_no_descriptor(errno));
}

bool mlt_loop_add(mlt_loop_source *source, uint32_t events)
{
    if (source->added)
        return true;
    struct epoll_event event = {.events = events, .data.ptr = source};
    source->added = epoll_ctl(loop.fd, EPOLL_CTL_ADD, source->fd, &event) == 0;
    return source->added;
}

void mlt_loop_need(mlt_loop_source *source, uint32_t events)
{
    if (!mlt_loop_add(source, events))
        refuse_loop();
}

void mlt_loop_remove(mlt_loop_source *source)
{
    if (source->added)
        (void)epoll_ctl(loop.fd, EPOLL_CTL_DEL, source->fd, NULL);
    source->added = false;
}

void mlt_loop_close(mlt_loop_source *source)
{
    mlt_loop_remove(source);
    mlt_os_close_once(&source->fd);
}

// ---- Timers

static void set_clock(void)
{
    uint64_t first = 0;
    for (const mlt_loop_timer *t = loop.timers; t; t = t->next)
        first = !first || t->at_ns < first ? t->at_ns : first;
    struct itimerspec when = {.it_value = {.tv_sec = (time_t)(first / 1000000000),
                                           .tv_nsec = (long)(first % 1000000000)}};
    (void)timerfd_settime(loop.clock, TFD_TIMER_ABSTIME, &when, NULL);
}

static void take_out(const mlt_loop_timer *timer)
{
    mlt_loop_timer **at = &loop.timers;
    while (*at && *at != timer)
        at = &(*at)->next;
    if (*at)
        *at = timer->next;
}

void mlt_loop_alarm(mlt_loop_timer *timer, uint64_t when_ns)
{
    if (timer->at_ns == when_ns)
        return;
    if (timer->at_ns)
        take_out(timer);
    timer->at_ns = when_ns;
    timer->turn = loop.turn;
    if (when_ns) {
        timer->next = loop.timers;
        loop.timers = timer;
    }
    set_clock();
}

void mlt_loop_alarm_first(mlt_loop_timer *timer, const uint64_t *times, size_t count)
{
    uint64_t next = 0;
    for (size_t i = 0; i < count; i++)
        if (times[i] && (!next || times[i] < next))
            next = times[i];
    mlt_loop_alarm(timer, next);
}

void mlt_loop_alarm_every(mlt_loop_timer *timer, uint64_t ns)
{
    timer->every_ns = ns;
    mlt_loop_alarm(timer, mlt_os_now_ns() + ns);
}

static mlt_loop_timer *due_timer(uint64_t now)
{
    mlt_loop_timer *t = loop.timers;
    while (t && (t->at_ns > now || t->turn == loop.turn))
        t = t->next;
    return t;
}

// What timers set now rings in the next turn.
static void ring_timers(void)
{
    uint64_t count, now = mlt_os_now_ns();
    (void)!read(loop.clock, &count, sizeof count);
    loop.turn++;
    for (mlt_loop_timer *t; (t = due_timer(now));) {
        mlt_loop_alarm(t, t->every_ns ? now + t->every_ns : 0);
        t->ring(t);
    }
    set_clock();
}

// ---- The loop

int mlt_loop_new(void)
{
    if (loop.fd >= 0) {
        close(loop.fd);
        close(loop.clock);
    }
    loop.timers = NULL;
    loop.turning = false; // a child that was forked within a turn begins its own
    loop.spent = NULL;
    loop.spent_count = loop.spent_room = 0;
    loop.fd = epoll_create1(EPOLL_CLOEXEC);
    loop.clock = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    struct epoll_event event = {.events = EPOLLIN};
    if (loop.fd < 0 || loop.clock < 0 || epoll_ctl(loop.fd, EPOLL_CTL_ADD, loop.clock, &event) != 0)
        refuse_loop();
    return loop.fd;
}

void mlt_loop_turn(void)
{
    struct epoll_event events[64];
    int n = epoll_wait(loop.fd, events, sizeof events / sizeof *events, -1);
    bool rings = false;
    loop.turning = true;
    for (int i = 0; i < n; i++) {
        mlt_loop_source *source = events[i].data.ptr;
        rings |= !source;
        if (source && source->added) // an earlier handler of this turn may have removed it
            source->ready(source, events[i].events);
    }
    if (rings)
        ring_timers();
    loop.turning = false;
    while (loop.spent_count > 0)
        free(loop.spent[--loop.spent_count]);
}

void mlt_loop_free(void *memory)
{
    if (!loop.turning) {
        free(memory);
        return;
    }
    *MLT_ARRAY_ADD(loop.spent, loop.spent_count, loop.spent_room) = memory;
}
