// SPDX-License-Identifier: BSD-3-Clause
// A call first looks, by poll, whether it would block. If not, or if it must not (O_NONBLOCK), it is
// libc's. Otherwise the rank is parked until the IO scheduler says that it may go on, and looks
// again. If another thread or process takes what has come in between, libc's call blocks the worker:
// nothing can be done about that, and few programs read one descriptor in two places.
#include "host/libc/block.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <termios.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

#include "base/export.h"
#include "fiber/await.h"
#include "fiber/gate.h"
#include "host/caller.h"
#include "host/libc/libc.h"
#include "host/libc/signals.h"
#include "host/stdio/input.h"
#include "host/stdio/output.h"
#include "os/fd.h"
#include "os/os.h"

enum {
    SECOND = 1000000000,
    LOOK_NS = 10000000, // between looks at what cannot be watched
    FEW = 8,            // descriptors that are waited for without memory from the heap
};

// ---- who waits

static bool can_park(const mlt_sched *sched)
{
    return mlt_rank_self() && !sched->pinned && sched->current != &sched->home &&
           sched->current->state == MLT_FIBER_RUNNING && // others are inside the scheduler
           !mlt_signals_inside();
}

// The worker of the calling rank, if others run there meanwhile; NULL: libc's call is right.
static inline mlt_sched *worker_of(const void *caller)
{
    mlt_sched *sched = mlt_sched_self;
    if (MLT_LIKELY(!sched || !sched->stacks || mlt_os_foreign))
        return NULL;
    return can_park(sched) && !mlt_caller_is_ours(caller) ? sched : NULL;
}

// Nothing has come, and the caller does not wait: it will ask again.
static void let_others_run(void)
{
    int saved = errno;
    mlt_rank *me = mlt_rank_self();
    mlt_gate *gate = mlt_gate_in(mlt_sched_self);
    mlt_p2p_poll(me);
    mlt_gate_out(gate);
    errno = saved;
}

// ---- time

static MLT_FOR_TAKEN bool is_time(const struct timespec *t)
{
    return t && t->tv_sec >= 0 && t->tv_nsec >= 0 && t->tv_nsec < SECOND;
}

static int64_t in_ns(const struct timespec *t)
{
    return t->tv_sec < INT64_MAX / SECOND - 1 ? t->tv_sec * SECOND + t->tv_nsec : MLT_NEVER;
}

static int64_t after(int64_t ns)
{
    int64_t now = (int64_t)mlt_os_now_ns();
    return ns < MLT_NEVER - now ? now + ns : MLT_NEVER;
}

// True if a signal has ended the wait.
static bool wait_time(mlt_sched *sched, const char *call, int64_t deadline)
{
    bool stop = false, restarts;
    const mlt_wait wait = {.call = call, .kind = MLT_WAIT_TIME, .stop = &stop};
    mlt_rank *me = mlt_rank_self();
    mlt_signals_wait_begins(me);
    mlt_await_time(sched, &wait, deadline);
    return mlt_signals_wait_ends(me, &restarts) > 0;
}

static struct timespec in_time(int64_t ns)
{
    return (struct timespec){.tv_sec = ns / SECOND, .tv_nsec = ns % SECOND};
}

// 0; or EINTR, and *left. Time goes on even if it never comes: nobody must think that the rank
// waits in vain.
static MLT_FOR_TAKEN int block_nap(mlt_sched *sched, const char *call, int64_t ns,
                                   struct timespec *left)
{
    int64_t deadline = after(ns), now;
    if (ns == 0)
        let_others_run();
    while (!mlt_deadline_passed(deadline)) {
        if (!wait_time(sched, call, deadline == MLT_NEVER ? after(SECOND) : deadline))
            continue;
        now = (int64_t)mlt_os_now_ns();
        if (left)
            *left = in_time(deadline > now ? deadline - now : 0);
        return EINTR;
    }
    return 0;
}

static MLT_FOR_TAKEN int failed_with(int error)
{
    if (error)
        errno = error;
    return error ? -1 : 0;
}

// Until a clock shows that time. Some clocks can be set, so it looks once a second.
static MLT_FOR_TAKEN int nap_until(mlt_sched *sched, clockid_t clock, const struct timespec *until)
{
    int64_t end = in_ns(until), left;
    struct timespec now;
    while (clock_gettime(clock, &now) == 0 && (left = end - in_ns(&now)) > 0)
        if (wait_time(sched, "clock_nanosleep", after(left < SECOND ? left : SECOND)))
            return EINTR;
    return 0;
}

static MLT_FOR_TAKEN bool is_of_the_wall(clockid_t clock)
{
    return clock == CLOCK_REALTIME || clock == CLOCK_MONOTONIC || clock == CLOCK_BOOTTIME ||
           clock == CLOCK_TAI;
}

// ---- descriptors

// What a rank waits for: some descriptors, each in one direction, until a time.
typedef struct block_look {
    mlt_sched *sched;
    const char *call;
    mlt_await *fds; // `few`, or from the heap
    uint32_t count, room;
    bool first; // it is the one that the program knows of
    bool blind; // something else is to be looked at, which tells nobody
    mlt_await few[FEW];
} block_look;

static void look_begin(block_look *l, mlt_sched *sched, const char *call)
{
    l->sched = sched;
    l->call = call;
    l->fds = l->few;
    l->count = 0;
    l->room = FEW;
    l->first = l->blind = false;
}

static void look_end(block_look *l)
{
    if (l->fds != l->few)
        free(l->fds);
}

static bool look_grow(block_look *l)
{
    mlt_await *more = malloc(2 * (size_t)l->room * sizeof *more);
    if (!more)
        return false;
    for (uint32_t i = 0; i < l->count; i++)
        more[i] = l->fds[i];
    look_end(l);
    l->fds = more;
    l->room *= 2;
    return true;
}

static void look_add(block_look *l, int fd, bool writes)
{
    if (l->count == l->room && !look_grow(l))
        l->blind = true; // without memory it is looked at from time to time
    else
        l->fds[l->count++] = (mlt_await){.fd = fd, .writes = writes};
}

static int64_t sooner(int64_t deadline, int64_t other)
{
    return deadline < other ? deadline : other;
}

// Parks until it is worth another look. False, and errno, if a signal has ended the wait.
static bool look_later(block_look *l, int64_t deadline, bool restartable)
{
    bool stop = false, restarts;
    const mlt_wait wait = {.call = l->call,
                           .kind = MLT_WAIT_FD,
                           .fd = l->count == 1 || l->first ? l->fds[0].fd : -1,
                           .stop = &stop};
    mlt_rank *me = mlt_rank_self();
    int saved = errno;
    mlt_signals_wait_begins(me);
    if (l->blind)
        deadline = sooner(deadline, after(LOOK_NS));
    if (l->count == 0)
        mlt_await_time(l->sched, &wait, sooner(deadline, after(SECOND)));
    else if (mlt_await_fds(l->sched, &wait, l->fds, l->count, deadline) != MLT_OK)
        mlt_await_time(l->sched, &wait, sooner(deadline, after(LOOK_NS)));
    bool ends = mlt_signals_wait_ends(me, &restarts) > 0 && !(restarts && restartable);
    errno = ends ? EINTR : saved;
    return !ends;
}

static bool is_ready(int fd, short events)
{
    struct pollfd now = {.fd = fd, .events = events};
    return MLT_LIBC(poll)(&now, 1, 0) != 0; // or there is an error, which the call tells
}

// A terminal may be told to let a read wait for nothing, or for some time only.
static bool waits_by_itself(int fd)
{
    struct termios how;
    return tcgetattr(fd, &how) == 0 && !(how.c_lflag & ICANON) && how.c_cc[VMIN] == 0;
}

// How long a call on a socket may take.
static int64_t patience(int fd, bool writes)
{
    struct timeval limit = {0};
    socklen_t size = sizeof limit;
    if (getsockopt(fd, SOL_SOCKET, writes ? SO_SNDTIMEO : SO_RCVTIMEO, &limit, &size) != 0)
        return MLT_NEVER;
    int64_t ns = limit.tv_sec * (int64_t)SECOND + limit.tv_usec * INT64_C(1000);
    return ns > 0 ? after(ns) : MLT_NEVER;
}

// Waits until a call on the descriptor does not block, or an eventfd of ours (-1: none) has been rung.
// False, and errno, if it is too late for it.
static bool until_ready_or(mlt_sched *sched, const char *call, int fd, bool writes, int bell)
{
    short events = writes ? POLLOUT : POLLIN;
    if (MLT_LIKELY(is_ready(fd, events)))
        return true;
    int saved = errno, flags = fcntl(fd, F_GETFL);
    bool waits = flags >= 0 && !(flags & O_NONBLOCK) && (writes || !waits_by_itself(fd));
    int64_t deadline = waits ? patience(fd, writes) : 0;
    errno = saved;
    if (!waits)
        return true;
    block_look l;
    look_begin(&l, sched, call);
    look_add(&l, fd, writes);
    if (bell >= 0)
        look_add(&l, bell, false);
    l.first = true;
    do {
        if (mlt_deadline_passed(deadline)) {
            errno = EAGAIN;
            return false;
        }
        if (!look_later(&l, deadline, true))
            return false;
    } while (!is_ready(fd, events) && !(bell >= 0 && is_ready(bell, POLLIN)));
    return true;
}

bool mlt_block_until_readable(int fd, int bell)
{
    mlt_sched *sched = worker_of(NULL);
    if (sched)
        return until_ready_or(sched, "read", fd, false, bell);
    struct pollfd both[] = {{.fd = fd, .events = POLLIN}, {.fd = bell, .events = POLLIN}};
    while (MLT_LIBC(poll)(both, 2, -1) < 0)
        if (errno != EINTR)
            return false;
    return true;
}

// With a sanitizer, its own come first, and this library's calls look like the program's.
#if MLT_TAKES_OVER

static bool until_ready(mlt_sched *sched, const char *call, int fd, bool writes)
{
    return until_ready_or(sched, call, fd, writes, -1);
}

// A call that parks: `own` is what the rank gets. `is_libcs`: it is libc's all the same.
#define PARKS(type, name, parameters, arguments, is_libcs, own)                                    \
    MLT_INTERPOSE type name parameters                                                             \
    {                                                                                              \
        mlt_sched *sched = worker_of(MLT_CALLER);                                                  \
        return !sched || (is_libcs) ? MLT_LIBC(name) arguments : (own);                            \
    }

// A call on `fd` that is libc's, once the descriptor can be read from, if the call would wait for that.
#define READS(type, name, parameters, arguments, waits)                                            \
    MLT_INTERPOSE type name parameters                                                             \
    {                                                                                              \
        mlt_sched *sched = worker_of(MLT_CALLER);                                                  \
        bool in_time = !sched || !(waits) || until_ready(sched, #name, fd, false);                 \
        return in_time ? MLT_LIBC(name) arguments : -1;                                            \
    }

// ---- sleeping

MLT_INTERPOSE unsigned sleep(unsigned seconds)
{
    mlt_sched *sched = worker_of(MLT_CALLER);
    if (!sched)
        return MLT_LIBC(sleep)(seconds);
    struct timespec left = {0};
    (void)block_nap(sched, "sleep", seconds * (int64_t)SECOND, &left);
    return (unsigned)left.tv_sec;
}

PARKS(int, usleep, (useconds_t us), (us), false,
      failed_with(block_nap(sched, "usleep", (int64_t)us * 1000, NULL)))
PARKS(int, nanosleep, (const struct timespec *time, struct timespec *left), (time, left),
      !is_time(time), failed_with(block_nap(sched, "nanosleep", in_ns(time), left)))
PARKS(int, thrd_sleep, (const struct timespec *time, struct timespec *left), (time, left),
      !is_time(time), block_nap(sched, "thrd_sleep", in_ns(time), left) ? -1 : 0)
PARKS(int, pause, (void), (), false, failed_with(block_nap(sched, "pause", MLT_NEVER, NULL)))

MLT_INTERPOSE int clock_nanosleep(clockid_t clock, int flags, const struct timespec *time,
                                  struct timespec *left)
{
    mlt_sched *sched = worker_of(MLT_CALLER);
    if (!sched || !is_time(time) || !is_of_the_wall(clock) || (flags & ~TIMER_ABSTIME))
        return MLT_LIBC(clock_nanosleep)(clock, flags, time, left);
    if (flags & TIMER_ABSTIME)
        return nap_until(sched, clock, time);
    return block_nap(sched, "clock_nanosleep", in_ns(time), left);
}

// ---- poll and its like

static void look_add_poll(block_look *l, const struct pollfd *fds, nfds_t count)
{
    const short reads = POLLIN | POLLRDNORM, writes = POLLOUT | POLLWRNORM;
    for (nfds_t i = 0; i < count; i++) {
        if (fds[i].fd < 0)
            continue;
        if (fds[i].events & reads)
            look_add(l, fds[i].fd, false);
        if (fds[i].events & writes)
            look_add(l, fds[i].fd, true);
        if (!(fds[i].events & (reads | writes)) || (fds[i].events & ~(reads | writes)))
            l->blind = true; // only its end, or something urgent
    }
}

// A call whose first look is its last one: something is ready, or it does not wait.
static bool is_answered(int ready, int64_t deadline)
{
    if (ready == 0 && deadline == 0)
        let_others_run();
    return ready != 0 || deadline == 0;
}

static int poll_until(mlt_sched *sched, const char *call, struct pollfd *fds, nfds_t count,
                      int64_t deadline)
{
    int ready = MLT_LIBC(poll)(fds, count, 0);
    if (is_answered(ready, deadline))
        return ready;
    block_look l;
    look_begin(&l, sched, call);
    look_add_poll(&l, fds, count);
    while (ready == 0 && !mlt_deadline_passed(deadline))
        ready = look_later(&l, deadline, false) ? MLT_LIBC(poll)(fds, count, 0) : -1;
    look_end(&l);
    return ready;
}

static int64_t after_ms(int ms)
{
    return ms < 0 ? MLT_NEVER : ms == 0 ? 0 : after(ms * INT64_C(1000000));
}

static int64_t after_time(const struct timespec *time)
{
    return !time ? MLT_NEVER : in_ns(time) == 0 ? 0 : after(in_ns(time));
}

PARKS(int, poll, (struct pollfd * fds, nfds_t count, int timeout_ms), (fds, count, timeout_ms),
      false, poll_until(sched, "poll", fds, count, after_ms(timeout_ms)))

// With a mask of signals it is libc's: only the kernel can change the mask and wait at once.
PARKS(int, ppoll,
      (struct pollfd * fds, nfds_t count, const struct timespec *time, const sigset_t *mask),
      (fds, count, time, mask), mask || (time && !is_time(time)),
      poll_until(sched, "ppoll", fds, count, after_time(time)))

typedef struct fd_sets {
    fd_set *set[3]; // to read, to write, exceptions; NULL: none
    fd_set asked[3];
} fd_sets;

static void sets_keep(fd_sets *s, fd_set *reads, fd_set *writes, fd_set *exceptions)
{
    *s = (fd_sets){.set = {reads, writes, exceptions}};
    for (int i = 0; i < 3; i++)
        if (s->set[i])
            s->asked[i] = *s->set[i];
}

static int sets_look(fd_sets *s, int count)
{
    struct timeval at_once = {0};
    return MLT_LIBC(select)(count, s->set[0], s->set[1], s->set[2], &at_once);
}

// For another look.
static void sets_restore(fd_sets *s)
{
    for (int i = 0; i < 3; i++)
        if (s->set[i])
            *s->set[i] = s->asked[i];
}

static void look_add_sets(block_look *l, const fd_sets *s, int count)
{
    for (int fd = 0; fd < count; fd++) {
        if (s->set[0] && FD_ISSET(fd, &s->asked[0]))
            look_add(l, fd, false);
        if (s->set[1] && FD_ISSET(fd, &s->asked[1]))
            look_add(l, fd, true);
        if (s->set[2] && FD_ISSET(fd, &s->asked[2]))
            l->blind = true;
    }
}

static int select_until(mlt_sched *sched, const char *call, int count, fd_sets *s, int64_t deadline)
{
    int ready = sets_look(s, count);
    if (is_answered(ready, deadline))
        return ready;
    block_look l;
    look_begin(&l, sched, call);
    look_add_sets(&l, s, count);
    while (ready == 0 && !mlt_deadline_passed(deadline)) {
        sets_restore(s);
        ready = look_later(&l, deadline, false) ? sets_look(s, count) : -1;
    }
    look_end(&l);
    return ready;
}

// As Linux does it, the time that is left is told.
static void tell_left(struct timeval *time, int64_t deadline)
{
    int64_t left = deadline == 0 ? 0 : deadline - (int64_t)mlt_os_now_ns();
    if (!time || deadline == MLT_NEVER)
        return;
    left = left > 0 ? left : 0;
    *time = (struct timeval){.tv_sec = left / SECOND, .tv_usec = left % SECOND / 1000};
}

MLT_INTERPOSE int select(int count, fd_set *reads, fd_set *writes, fd_set *exceptions,
                         struct timeval *time)
{
    mlt_sched *sched = worker_of(MLT_CALLER);
    if (!sched || count > FD_SETSIZE || (time && (time->tv_sec < 0 || time->tv_usec < 0)))
        return MLT_LIBC(select)(count, reads, writes, exceptions, time);
    struct timespec exact = {0};
    if (time)
        exact = (struct timespec){.tv_sec = time->tv_sec + time->tv_usec / 1000000,
                                  .tv_nsec = time->tv_usec % 1000000 * 1000};
    int64_t deadline = after_time(time ? &exact : NULL);
    fd_sets sets;
    sets_keep(&sets, reads, writes, exceptions);
    int ready = select_until(sched, "select", count, &sets, deadline);
    tell_left(time, deadline);
    return ready;
}

MLT_INTERPOSE int pselect(int count, fd_set *reads, fd_set *writes, fd_set *exceptions,
                          const struct timespec *time, const sigset_t *mask)
{
    mlt_sched *sched = worker_of(MLT_CALLER);
    if (!sched || mask || count > FD_SETSIZE || (time && !is_time(time)))
        return MLT_LIBC(pselect)(count, reads, writes, exceptions, time, mask);
    fd_sets sets;
    sets_keep(&sets, reads, writes, exceptions);
    return select_until(sched, "pselect", count, &sets, after_time(time));
}

static int epoll_until(mlt_sched *sched, const char *call, int epoll, struct epoll_event *events,
                       int most, int64_t deadline)
{
    block_look l;
    look_begin(&l, sched, call);
    look_add(&l, epoll, false); // which is ready when one of its descriptors is
    for (;;) {
        int ready = MLT_LIBC(epoll_wait)(epoll, events, most, 0);
        if (ready == 0 && deadline == 0)
            let_others_run();
        if (ready != 0 || mlt_deadline_passed(deadline))
            return ready;
        if (!look_later(&l, deadline, false))
            return -1;
    }
}

PARKS(int, epoll_wait, (int epoll, struct epoll_event *events, int most, int timeout_ms),
      (epoll, events, most, timeout_ms), false,
      epoll_until(sched, "epoll_wait", epoll, events, most, after_ms(timeout_ms)))
PARKS(int, epoll_pwait,
      (int epoll, struct epoll_event *events, int most, int timeout_ms, const sigset_t *mask),
      (epoll, events, most, timeout_ms, mask), mask != NULL,
      epoll_until(sched, "epoll_pwait", epoll, events, most, after_ms(timeout_ms)))

// ---- reading

MLT_INTERPOSE ssize_t read(int fd, void *to, size_t bytes)
{
    ssize_t done;
    if (fd == STDIN_FILENO && mlt_input_read(to, bytes, &done))
        return done;
    mlt_sched *sched = worker_of(MLT_CALLER);
    if (sched && bytes > 0 && !until_ready(sched, "read", fd, false))
        return -1;
    return MLT_LIBC(read)(fd, to, bytes);
}

READS(ssize_t, readv, (int fd, const struct iovec *parts, int count), (fd, parts, count), true)

static bool must_not_wait(int flags)
{
    return flags & (MSG_DONTWAIT | MSG_ERRQUEUE);
}

// MSG_WAITALL: piece by piece, until all has come, or an end or an error.
static ssize_t receive_all(mlt_sched *sched, const char *call, int fd, char *to, size_t bytes,
                           int flags)
{
    size_t got = 0;
    ssize_t n = 0;
    do {
        n = until_ready(sched, call, fd, false)
                ? MLT_LIBC(recv)(fd, to + got, bytes - got, (flags & ~MSG_WAITALL) | MSG_DONTWAIT)
                : -1;
        got += n > 0 ? (size_t)n : 0;
    } while (got < bytes && n > 0);
    return got > 0 ? (ssize_t)got : n;
}

static bool wants_all(int fd, int flags)
{
    return (flags & MSG_WAITALL) && !(flags & (MSG_PEEK | MSG_DONTWAIT)) && mlt_os_is_stream(fd);
}

MLT_INTERPOSE ssize_t recv(int fd, void *to, size_t bytes, int flags)
{
    mlt_sched *sched = worker_of(MLT_CALLER);
    if (sched && wants_all(fd, flags))
        return receive_all(sched, "recv", fd, to, bytes, flags);
    if (sched && !must_not_wait(flags) && !until_ready(sched, "recv", fd, false))
        return -1;
    return MLT_LIBC(recv)(fd, to, bytes, flags);
}

MLT_INTERPOSE ssize_t recvfrom(int fd, void *restrict to, size_t bytes, int flags,
                               struct sockaddr *restrict address, socklen_t *restrict length)
{
    mlt_sched *sched = worker_of(MLT_CALLER);
    if (sched && !address && wants_all(fd, flags))
        return receive_all(sched, "recvfrom", fd, to, bytes, flags);
    if (sched && !must_not_wait(flags) && !until_ready(sched, "recvfrom", fd, false))
        return -1;
    return MLT_LIBC(recvfrom)(fd, to, bytes, flags, address, length);
}

READS(ssize_t, recvmsg, (int fd, struct msghdr *message, int flags), (fd, message, flags),
      !must_not_wait(flags))

static bool listens(int fd)
{
    int yes = 0, saved = errno;
    socklen_t size = sizeof yes;
    bool known = getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &yes, &size) == 0;
    errno = saved;
    return known && yes; // to what does not, a connection never comes
}

READS(int, accept, (int fd, struct sockaddr *restrict address, socklen_t *restrict length),
      (fd, address, length), listens(fd))
READS(int, accept4,
      (int fd, struct sockaddr *restrict address, socklen_t *restrict length, int flags),
      (fd, address, length, flags), listens(fd))

// ---- writing

// A pipe or a terminal that can be written to has room for so much; other things take all at once.
static bool is_narrow(int fd, size_t bytes)
{
    struct stat about;
    if (bytes <= PIPE_BUF && is_ready(fd, POLLOUT))
        return false;
    int saved = errno, flags = fcntl(fd, F_GETFL);
    bool narrow = flags >= 0 && !(flags & O_NONBLOCK) && fstat(fd, &about) == 0 &&
                  (S_ISFIFO(about.st_mode) || S_ISSOCK(about.st_mode) || S_ISCHR(about.st_mode));
    errno = saved;
    return narrow;
}

// One piece, which does not block: of a socket what fits, of others what surely does.
static ssize_t write_piece(int fd, const char *from, size_t bytes, int flags, bool socket)
{
    if (socket)
        return MLT_LIBC(send)(fd, from, bytes, flags | MSG_DONTWAIT);
    return MLT_LIBC(write)(fd, from, bytes < PIPE_BUF ? bytes : PIPE_BUF);
}

static ssize_t block_write_all(mlt_sched *sched, const char *call, int fd, const char *from,
                               size_t bytes, int flags, bool socket)
{
    size_t done = 0;
    while (done < bytes) {
        if (!until_ready(sched, call, fd, true))
            break;
        ssize_t n = write_piece(fd, from + done, bytes - done, flags, socket);
        if (n < 0 && socket && errno == EAGAIN)
            continue; // a little room is not enough for a datagram
        if (n < 0)
            break;
        done += (size_t)n;
    }
    return done > 0 || bytes == 0 ? (ssize_t)done : -1;
}

static bool is_socket(int fd)
{
    struct stat about;
    return fstat(fd, &about) == 0 && S_ISSOCK(about.st_mode);
}

MLT_INTERPOSE ssize_t write(int fd, const void *from, size_t bytes)
{
    ssize_t done;
    if (fd <= STDERR_FILENO && !mlt_caller_is_ours(MLT_CALLER) &&
        mlt_output_write_fd(fd, from, bytes, &done))
        return done;
    mlt_sched *sched = worker_of(MLT_CALLER);
    if (!sched || bytes == 0 || !is_narrow(fd, bytes))
        return MLT_LIBC(write)(fd, from, bytes);
    return block_write_all(sched, "write", fd, from, bytes, 0, is_socket(fd));
}

PARKS(ssize_t, send, (int fd, const void *from, size_t bytes, int flags), (fd, from, bytes, flags),
      bytes == 0 || (flags & MSG_DONTWAIT) || !is_narrow(fd, bytes),
      block_write_all(sched, "send", fd, from, bytes, flags, true))

// ---- the names that -D_FORTIFY_SOURCE gives them; libc's own end the program

int __poll_chk(struct pollfd *fds, nfds_t count, int timeout_ms, size_t room);
int __ppoll_chk(struct pollfd *fds, nfds_t count, const struct timespec *time, const sigset_t *mask,
                size_t room);
ssize_t __read_chk(int fd, void *to, size_t bytes, size_t room);
ssize_t __recv_chk(int fd, void *to, size_t bytes, size_t room, int flags);
ssize_t __recvfrom_chk(int fd, void *restrict to, size_t bytes, size_t room, int flags,
                       struct sockaddr *restrict address, socklen_t *restrict length);

PARKS(int, __poll_chk, (struct pollfd * fds, nfds_t count, int timeout_ms, size_t room),
      (fds, count, timeout_ms, room), room / sizeof *fds < count,
      poll_until(sched, "poll", fds, count, after_ms(timeout_ms)))
PARKS(int, __ppoll_chk,
      (struct pollfd * fds, nfds_t count, const struct timespec *time, const sigset_t *mask,
       size_t room),
      (fds, count, time, mask, room),
      mask || (time && !is_time(time)) || room / sizeof *fds < count,
      poll_until(sched, "ppoll", fds, count, after_time(time)))

MLT_INTERPOSE ssize_t __read_chk(int fd, void *to, size_t bytes, size_t room)
{
    ssize_t done;
    if (fd == STDIN_FILENO && bytes <= room && mlt_input_read(to, bytes, &done))
        return done;
    mlt_sched *sched = worker_of(MLT_CALLER);
    if (sched && bytes > 0 && bytes <= room && !until_ready(sched, "read", fd, false))
        return -1;
    return MLT_LIBC(__read_chk)(fd, to, bytes, room);
}

MLT_INTERPOSE ssize_t __recv_chk(int fd, void *to, size_t bytes, size_t room, int flags)
{
    mlt_sched *sched = worker_of(MLT_CALLER);
    if (sched && bytes <= room && wants_all(fd, flags))
        return receive_all(sched, "recv", fd, to, bytes, flags);
    if (sched && bytes <= room && !must_not_wait(flags) && !until_ready(sched, "recv", fd, false))
        return -1;
    return MLT_LIBC(__recv_chk)(fd, to, bytes, room, flags);
}

MLT_INTERPOSE ssize_t __recvfrom_chk(int fd, void *restrict to, size_t bytes, size_t room,
                                     int flags, struct sockaddr *restrict address,
                                     socklen_t *restrict length)
{
    mlt_sched *sched = worker_of(MLT_CALLER);
    if (sched && bytes <= room && !must_not_wait(flags) &&
        !until_ready(sched, "recvfrom", fd, false))
        return -1;
    return MLT_LIBC(__recvfrom_chk)(fd, to, bytes, room, flags, address, length);
}

#endif
