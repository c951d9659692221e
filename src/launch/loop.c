// SPDX-License-Identifier: BSD-3-Clause
#include "launch/loop.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>

#include "launch/say.h"
#include "os/fd.h"

int mlt_loop_new(void)
{
    int loop = epoll_create1(EPOLL_CLOEXEC);
    if (loop < 0)
        mlt_quit(MLT_EXIT_SYSTEM, "cannot wait for events: %s", mlt_os_no_descriptor(errno));
    return loop;
}

bool mlt_loop_add(int loop, mlt_loop_source *source, uint32_t events)
{
    if (source->added)
        return true;
    struct epoll_event event = {.events = events, .data.ptr = source};
    source->added = epoll_ctl(loop, EPOLL_CTL_ADD, source->fd, &event) == 0;
    return source->added;
}

void mlt_loop_remove(int loop, mlt_loop_source *source)
{
    if (source->added)
        (void)epoll_ctl(loop, EPOLL_CTL_DEL, source->fd, NULL);
    source->added = false;
}

void mlt_loop_alarm(const mlt_loop_source *timer, uint64_t when_ns)
{
    struct itimerspec when = {.it_value = {.tv_sec = (time_t)(when_ns / 1000000000),
                                           .tv_nsec = (long)(when_ns % 1000000000)}};
    (void)timerfd_settime(timer->fd, TFD_TIMER_ABSTIME, &when, NULL);
}

void mlt_loop_alarm_first(const mlt_loop_source *timer, const uint64_t *times, size_t count)
{
    uint64_t next = 0;
    for (size_t i = 0; i < count; i++)
        if (times[i] && (!next || times[i] < next))
            next = times[i];
    mlt_loop_alarm(timer, next);
}

void mlt_loop_turn(int loop)
{
    struct epoll_event events[64];
    int n = epoll_wait(loop, events, sizeof events / sizeof *events, -1);
    for (int i = 0; i < n; i++) {
        mlt_loop_source *source = events[i].data.ptr;
        if (source->added) // an earlier handler of this turn may have removed it
            source->ready(source, events[i].events);
    }
}
