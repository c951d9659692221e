// SPDX-License-Identifier: BSD-3-Clause
#include "fiber/io.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include "base/array.h"
#include "base/log.h"
#include "base/memory.h"
#include "fiber/delegate.h"
#include "os/fd.h"
#include "os/jitter.h"
#include "os/os.h"

enum {
    EVENTS = 128,       // that one look takes
    GLANCE_NS = 20000,  // between looks at descriptors while there is other work: such a look
                        // costs some 300 ns
    PATROL_MOST = 4096, // such descriptors in one look; a call of 200 ns each
};

int64_t mlt_io_patrol_ns = 1000000000;

// In the heap the time lies beside the pointer: sifting touches no timers but those that move.
typedef struct due {
    uint64_t at_ns;
    mlt_timer *timer;
} due;

// A descriptor. Its watches are a ring without a head, so that the record may move in memory.
typedef struct file {
    mlt_list_node *first; // NULL: nobody watches
    uint32_t generation;  // how often the number was given to epoll; 0: never
} file;

typedef struct mlt_stdio {
    due *heap; // from 1
    uint32_t timers, heap_room;
    uint32_t watches;
    uint32_t changes;         // mlt_io_changes
    int epoll, doorbell;      // -1: none
    uint64_t doorbell_number; // of its file
    file *files;              // [files_room], by descriptor
    uint32_t files_room;
    uint32_t patrolled; // descriptors below were looked at in this round
    uint64_t patrol_ns; // when to look for closed ones next
    uint64_t looked_ns; // when epoll was asked last
    bool has_ports;
    mlt_io_rang *rang;
    void *rang_arg;
} mlt_stdio;

static const uint64_t BELL = UINT64_MAX; // epoll's data of it; no descriptor has that number

// Of a port: its number, and above it a generation that no descriptor has.
static const uint64_t PORT = (uint64_t)UINT32_MAX << 32;

static mlt_stdio *io_of(mlt_sched *sched)
{
    if (MLT_LIKELY(sched->io != NULL))
        return sched->io;
    mlt_stdio *io = mlt_xcalloc(1, sizeof *io);
    io->epoll = io->doorbell = -1;
    sched->io = io;
    return io;
}

void mlt_io_free(mlt_sched *sched)
{
    mlt_stdio *io = sched->io;
    if (!io)
        return;
    sched->io = NULL;
    mlt_os_close(io->epoll);
    free(io->heap);
    free(io->files);
    free(io);
}

// ---- Timers

static inline void place(mlt_stdio *io, uint32_t at, due d)
{
    io->heap[at] = d;
    d.timer->place = at;
}

// Puts d where it belongs, from the hole at `at` upwards or downwards.
static void sift_up(mlt_stdio *io, uint32_t at, due d)
{
    while (at > 1 && io->heap[at / 2].at_ns > d.at_ns) {
        place(io, at, io->heap[at / 2]);
        at /= 2;
    }
    place(io, at, d);
}

static void sift_down(mlt_stdio *io, uint32_t at, due d)
{
    for (;;) {
        uint32_t child = at * 2;
        if (child > io->timers)
            break;
        if (child < io->timers && io->heap[child + 1].at_ns < io->heap[child].at_ns)
            child++;
        if (io->heap[child].at_ns >= d.at_ns)
            break;
        place(io, at, io->heap[child]);
        at = child;
    }
    place(io, at, d);
}

static void sift(mlt_stdio *io, uint32_t at, due d)
{
    if (at > 1 && io->heap[at / 2].at_ns > d.at_ns)
        sift_up(io, at, d);
    else
        sift_down(io, at, d);
}

void mlt_timer_set(mlt_sched *sched, mlt_timer *timer, uint64_t at_ns)
{
    mlt_stdio *io = io_of(sched);
    io->changes++;
    due d = {at_ns, timer};
    timer->at_ns = at_ns;
    if (timer->place) {
        sift(io, timer->place, d);
        return;
    }
    MLT_ARRAY_WANT(io->heap, io->timers + (size_t)2, io->heap_room);
    sift_up(io, ++io->timers, d);
}

static void take_out(mlt_stdio *io, mlt_timer *timer)
{
    uint32_t at = timer->place;
    mlt_assert(at <= io->timers && io->heap[at].timer == timer);
    timer->place = 0;
    due last = io->heap[io->timers--];
    if (last.timer != timer)
        sift(io, at, last);
}

void mlt_timer_stop(mlt_sched *sched, mlt_timer *timer)
{
    if (timer->place)
        take_out(sched->io, timer);
}

// At most those that were set before: one that sets itself again for a time that has passed waits
// for the next look.
static bool fire_timers(mlt_stdio *io, uint64_t now)
{
    bool any = false;
    for (uint32_t n = io->timers; n > 0 && io->timers && io->heap[1].at_ns <= now; n--) {
        mlt_timer *timer = io->heap[1].timer;
        take_out(io, timer);
        timer->fire(timer);
        any = true;
    }
    return any;
}

// ---- Descriptors

static mlt_status grow_files(mlt_stdio *io, int fd)
{
    uint32_t before = io->files_room;
    if (!MLT_ARRAY_TRY(io->files, (size_t)fd + 1, io->files_room)) {
        errno = ENOMEM;
        return MLT_ERR_SYSTEM;
    }
    memset(io->files + before, 0, (io->files_room - before) * sizeof *io->files);
    return MLT_OK;
}

static inline mlt_io_watch *watch_of(mlt_list_node *node)
{
    return mlt_container_of(node, mlt_io_watch, node);
}

// Takes a watch out of its ring, or out of a list of those that are about to fire.
static void drop(mlt_stdio *io, mlt_io_watch *watch)
{
    mlt_list_node *node = &watch->node;
    file *f = &io->files[watch->fd];
    if (f->first == node)
        f->first = node->next == node ? NULL : node->next;
    mlt_list_remove(node);
    *node = (mlt_list_node){NULL, NULL};
    io->watches--;
}

// Tells epoll what the watches of this descriptor wait for: one shot. A number that was closed
// since, and perhaps belongs to another file now, is unknown to epoll. Its events tell by the
// generation which file they are of: a file that was closed here but lives on elsewhere (dup, fork)
// may still report. -1: errno tells.
static int arm(mlt_stdio *io, int fd)
{
    file *f = &io->files[fd];
    uint32_t events = EPOLLONESHOT;
    mlt_list_node *l = f->first;
    do {
        events |= watch_of(l)->writes ? EPOLLOUT : EPOLLIN;
        l = l->next;
    } while (l != f->first);
    uint64_t number = (uint32_t)fd;
    if (f->generation) {
        int done =
            mlt_os_epoll_change(io->epoll, fd, events, (uint64_t)f->generation << 32 | number);
        if (done == 0 || errno != ENOENT)
            return done;
    }
    if (++f->generation == UINT32_MAX)
        f->generation = 1;
    return mlt_os_epoll_add(io->epoll, fd, events, (uint64_t)f->generation << 32 | number);
}

static mlt_status open_epoll(mlt_stdio *io)
{
    if (io->epoll >= 0)
        return MLT_OK;
    io->epoll = mlt_os_epoll_new();
    return io->epoll < 0 ? MLT_ERR_SYSTEM : MLT_OK;
}

// A program may close descriptors that are not its own (all above 2, say), and other files may have
// their numbers now. So the old one is left alone, and a new one is told of everything. Where that
// fails, the patrol will see it.
static MLT_COLD mlt_status renew_epoll(mlt_stdio *io)
{
    int fd = mlt_os_epoll_new();
    if (fd < 0)
        return MLT_ERR_SYSTEM;
    io->epoll = fd;
    for (uint32_t i = 0; i < io->files_room; i++)
        if (io->files[i].first)
            (void)arm(io, (int)i);
    if (io->doorbell >= 0 && mlt_os_file_number(io->doorbell) == io->doorbell_number)
        (void)mlt_os_epoll_add(fd, io->doorbell, EPOLLIN, BELL);
    if (io->has_ports)
        (void)io->rang(io->rang_arg, (uint32_t)MLT_IO_PORTS_LOST);
    return MLT_OK;
}

mlt_status mlt_io_watch_start(mlt_sched *sched, mlt_io_watch *watch)
{
    mlt_stdio *io = io_of(sched);
    mlt_assert(!watch->node.next);
    io->changes++;
    if (watch->fd < 0) {
        errno = EBADF;
        return MLT_ERR_SYSTEM;
    }
    if (open_epoll(io) != MLT_OK ||
        ((uint32_t)watch->fd >= io->files_room && grow_files(io, watch->fd) != MLT_OK))
        return MLT_ERR_SYSTEM;
    file *f = &io->files[watch->fd];
    if (f->first) {
        mlt_list_push_back(f->first, &watch->node);
    } else {
        mlt_list_init(&watch->node);
        f->first = &watch->node;
    }
    if (io->watches++ == 0)
        io->patrol_ns = 0; // a first patrol sets the time
    int saved = errno;
    if (arm(io, watch->fd) == 0)
        return MLT_PENDING;
    int why = errno;
    drop(io, watch);
    errno = why == EPERM ? saved : why;
    return why == EPERM ? MLT_OK : MLT_ERR_SYSTEM;
}

void mlt_io_watch_stop(mlt_sched *sched, mlt_io_watch *watch)
{
    if (watch->node.next) // what epoll still says about it will find nobody
        drop(sched->io, watch);
}

// Fires the watches of the descriptor in these directions, and arms it for the others.
static bool fire_watches(mlt_stdio *io, int fd, bool reads, bool writes)
{
    file *f = &io->files[fd];
    if (!f->first)
        return false;
    mlt_list_node ready, *end = f->first->prev, *next = f->first, *l;
    mlt_list_init(&ready);
    do {
        l = next;
        next = l->next;
        if (!(watch_of(l)->writes ? writes : reads))
            continue;
        if (f->first == l)
            f->first = l->next == l ? NULL : l->next;
        mlt_list_remove(l);
        mlt_list_push_back(&ready, l);
    } while (l != end);
    bool any = false;
    while (!mlt_list_empty(&ready)) { // one may stop others, and start any
        mlt_io_watch *watch = watch_of(ready.next);
        drop(io, watch);
        watch->fire(watch);
        any = true;
    }
    // If that fails the descriptor was closed, and the patrol will see it.
    if (io->files[fd].first)
        (void)arm(io, fd);
    return any;
}

// Nobody tells that a descriptor was closed while it was watched. So all are armed again from time
// to time. Where that fails, the watches fire, and the waiter's next call says why.
static MLT_COLD bool patrol(mlt_stdio *io, uint64_t now)
{
    bool first = io->patrol_ns == 0, any = false;
    io->patrol_ns = now + (uint64_t)mlt_io_patrol_ns;
    if (first)
        return false;
    for (uint32_t n = 0; io->patrolled < io->files_room && n < PATROL_MOST; io->patrolled++) {
        int fd = (int)io->patrolled;
        if (!io->files[fd].first)
            continue;
        n++;
        uint32_t generation = io->files[fd].generation;
        if (arm(io, fd) != 0 || io->files[fd].generation != generation)
            any |= fire_watches(io, fd, true, true);
    }
    if (io->patrolled == io->files_room)
        io->patrolled = 0;
    return any;
}

static MLT_COLD _Noreturn void no_epoll(const mlt_stdio *io)
{
    if (io->epoll < 0)
        mlt_fatal("this process has no descriptor left by which Millet could wait for others; "
                  "`ulimit -n` may set a limit");
    mlt_fatal("the program has closed descriptor %d, by which Millet waits for others, and the "
              "system has no new one",
              io->epoll);
}

static bool ask(mlt_stdio *io, int64_t timeout_ns)
{
    struct epoll_event events[EVENTS];
    bool any = false;
    mlt_jitter();
    int n = mlt_os_epoll_wait(io->epoll, events, EVENTS, timeout_ns);
    if (MLT_UNLIKELY(n < 0)) {
        if (renew_epoll(io) != MLT_OK)
            no_epoll(io);
        any = true; // ports are to be told of again
    }
    for (int i = 0; i < n; i++) {
        uint32_t what = events[i].events;
        uint64_t data = events[i].data.u64;
        if (data == BELL) {
            mlt_os_doorbell_drain(io->doorbell);
            any = true;
            continue;
        }
        if (data >= PORT) {
            bool news = io->rang(io->rang_arg, (uint32_t)data);
            any |= news || timeout_ns; // a sleep ends with every ring
            continue;
        }
        int fd = (int)(uint32_t)data;
        if (io->files[fd].generation != data >> 32)
            continue;
        bool broken = what & (EPOLLERR | EPOLLHUP);
        any |= fire_watches(io, fd, broken || what & EPOLLIN, broken || what & EPOLLOUT);
    }
    io->looked_ns = mlt_os_now_ns();
    if (MLT_UNLIKELY(io->looked_ns >= io->patrol_ns))
        any |= patrol(io, io->looked_ns);
    return any;
}

mlt_status mlt_io_set_doorbell(mlt_sched *sched, int fd)
{
    mlt_stdio *io = io_of(sched);
    bool again = io->doorbell >= 0; // the last one was lost, and epoll may be another's, too
    io->doorbell = -1;
    if ((again ? renew_epoll(io) : open_epoll(io)) != MLT_OK ||
        mlt_os_epoll_add(io->epoll, fd, EPOLLIN, BELL) != 0)
        return MLT_ERR_SYSTEM;
    io->doorbell = fd;
    io->doorbell_number = mlt_os_file_number(fd);
    return MLT_OK;
}

bool mlt_io_has_doorbell(const mlt_sched *sched)
{
    const mlt_stdio *io = sched->io;
    int saved = errno;
    // epoll knows the doorbell's file by its number only if both are what they were.
    bool has = io && io->doorbell >= 0 && mlt_os_file_number(io->doorbell) == io->doorbell_number &&
               mlt_os_epoll_change(io->epoll, io->doorbell, EPOLLIN, BELL) == 0;
    errno = saved;
    return has;
}

// ---- Ports

void mlt_io_ports(mlt_sched *sched, mlt_io_rang *rang, void *arg)
{
    mlt_stdio *io = io_of(sched);
    io->rang = rang;
    io->rang_arg = arg;
}

bool mlt_io_port_set(mlt_sched *sched, int fd, uint32_t number, bool writes)
{
    mlt_stdio *io = io_of(sched);
    int saved = errno;
    uint32_t events = EPOLLIN | (writes ? EPOLLOUT : 0);
    bool done = open_epoll(io) == MLT_OK &&
                (mlt_os_epoll_change(io->epoll, fd, events, PORT | number) == 0 ||
                 (errno == ENOENT && mlt_os_epoll_add(io->epoll, fd, events, PORT | number) == 0));
    io->has_ports |= done;
    errno = saved;
    return done;
}

void mlt_io_port_drop(mlt_sched *sched, int fd)
{
    int saved = errno;
    (void)mlt_os_epoll_remove(sched->io->epoll, fd);
    errno = saved;
}

// ---- Looking and blocking

bool mlt_io_was_used(const mlt_sched *sched)
{
    return sched->io && (sched->io->heap || sched->io->files_room);
}

void mlt_io_use(mlt_sched *sched)
{
    (void)io_of(sched);
}

bool mlt_io_waits(const mlt_sched *sched)
{
    return sched->io && (sched->io->timers || sched->io->watches ||
                         (sched->delegates && mlt_delegates_wait(sched->delegates)));
}

bool mlt_io_expects(const mlt_sched *sched)
{
    return sched->io && (sched->io->timers || sched->io->watches ||
                         (sched->delegates && mlt_delegates_watch_words(sched->delegates)));
}

bool mlt_io_watches(const mlt_sched *sched)
{
    return sched->io && sched->io->watches;
}

uint32_t mlt_io_changes(const mlt_sched *sched)
{
    return sched->io ? sched->io->changes : 0;
}

int64_t mlt_io_patience(const mlt_sched *sched)
{
    int64_t most = sched->delegates ? mlt_delegates_patience(sched->delegates) : MLT_OS_FOREVER;
    if (!sched->io || !sched->io->timers)
        return most;
    uint64_t at = sched->io->heap[1].at_ns, now = mlt_os_now_ns();
    uint64_t left = at > now ? at - now : 0;
    if (most >= 0 && left > (uint64_t)most)
        return most;
    return left < INT64_MAX ? (int64_t)left : INT64_MAX;
}

static bool look(mlt_stdio *io, uint64_t between_ns)
{
    if (!io->timers && !io->watches)
        return false;
    int saved = errno;
    uint64_t now = mlt_os_now_ns();
    bool any = fire_timers(io, now);
    if (io->watches && now - io->looked_ns >= between_ns)
        any |= ask(io, 0);
    errno = saved;
    return any;
}

static inline bool look_at_calls(mlt_sched *sched)
{
    return MLT_UNLIKELY(sched->delegates != NULL) && mlt_delegates_look(sched->delegates);
}

bool mlt_io_look(mlt_sched *sched)
{
    bool any = look_at_calls(sched);
    return (sched->io && look(sched->io, 0)) || any;
}

bool mlt_io_glance(mlt_sched *sched)
{
    bool any = look_at_calls(sched);
    return (sched->io && look(sched->io, GLANCE_NS)) || any;
}

bool mlt_io_block(mlt_sched *sched, int64_t timeout_ns)
{
    mlt_stdio *io = sched->io;
    mlt_assert(mlt_io_watches(sched) || io->has_ports);
    int saved = errno;
    int64_t patience = mlt_io_patience(sched);
    int64_t least = io->watches ? mlt_io_patrol_ns : INT64_MAX;
    if (timeout_ns >= 0 && timeout_ns < least)
        least = timeout_ns;
    if (patience >= 0 && patience < least)
        least = patience;
    bool any = ask(io, least == INT64_MAX ? MLT_OS_FOREVER : least);
    any |= fire_timers(io, mlt_os_now_ns());
    any |= look_at_calls(sched);
    errno = saved;
    return any;
}

bool mlt_io_look_at_ports(mlt_sched *sched)
{
    int saved = errno;
    bool any = ask(sched->io, 0);
    errno = saved;
    return any;
}

bool mlt_io_nap(mlt_sched *sched, int64_t timeout_ns)
{
    // epoll's own descriptor: its events stay there for the look.
    struct pollfd epoll = {.fd = sched->io->epoll, .events = POLLIN};
    int64_t ms = timeout_ns < 0 ? -1 : (timeout_ns + 999999) / 1000000;
    int saved = errno;
    bool any = mlt_os_poll(&epoll, 1, ms > INT_MAX ? INT_MAX : (int)ms) != 0;
    errno = saved;
    return any;
}
