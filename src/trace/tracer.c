// SPDX-License-Identifier: BSD-3-Clause
#include "trace/tracer.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "base/memory.h"
#include "os/os.h"

enum {
    BUFFER_WORDS = 16384, // 128 KB
    BUFFERS_MOST = 4,     // of a worker
    LIKES_MOST = MLT_NOTE_SLOTS * MLT_NOTE_WORDS,
    LOOK_NS = 250000000, // between looks at buffers that are not full
    NICE = 10,           // of the thread: ranks go first
    MEASURED_NS = 20000, // in which the counter's rate is measured
};

typedef struct mlt_trace_buffer {
    struct mlt_trace_buffer *next;
    mlt_tracer *owner; // NULL: it has ended
    uint32_t worker;
    uint32_t count, written;     // words: when it is full; that are in the file
    mlt_trace_stamp first, last; // of what is not written yet
    uint64_t words[BUFFER_WORDS];
} buffer;

// Everything but `runs`, `fd` and what is atomic is under the lock.
static struct {
    bool runs, barrier; // barrier: mlt_os_barrier reaches this process
    bool pipe;          // fd leads to the agent of this host, which sends on what comes
    double ticks_a_ns;
    int fd;
    char *path;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t full, freed; // something to write, or the end; a buffer is free again
    mlt_tracer *tracers;
    buffer *first, **last; // full, the oldest first
    buffer *free;
    bool ends;
    _Atomic bool broken; // a write failed, and that was said
    _Atomic uint64_t lost;
} writer = {.fd = -1, .lock = PTHREAD_MUTEX_INITIALIZER, .last = &writer.first};

static mlt_trace_stamp stamp(void)
{
    return (mlt_trace_stamp){mlt_arch_cycles(), mlt_os_now_ns()};
}

// The counter's rate is the machine's affair.
static double measure_ticks(void)
{
    mlt_trace_stamp begin = stamp(), now;
    do
        now = stamp();
    while (now.ns - begin.ns < MEASURED_NS);
    return (double)(now.ticks - begin.ticks) / (double)(now.ns - begin.ns);
}

uint64_t mlt_trace_ticks(uint64_t ns)
{
    return (uint64_t)((double)ns * writer.ticks_a_ns);
}

// ---- the thread

// A pipe takes a chunk in pieces, and threads of the process must not mix theirs.
static bool append_to_pipe(struct iovec *parts, int count)
{
    static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;
    bool fine = true;
    pthread_mutex_lock(&turn);
    for (int i = 0; i < count; i++) {
        const char *at = parts[i].iov_base;
        size_t left = parts[i].iov_len;
        while (left && fine) {
            ssize_t wrote = write(writer.fd, at, left);
            fine = wrote >= 0 || errno == EINTR;
            at += wrote > 0 ? wrote : 0;
            left -= wrote > 0 ? (size_t)wrote : 0;
        }
    }
    pthread_mutex_unlock(&turn);
    return fine;
}

// All of it, or nothing: what is cut off at a full disk is no chunk for a reader.
static bool append(const mlt_trace_head *head, const void *data)
{
    struct iovec parts[] = {{(void *)head, sizeof *head}, {(void *)data, head->stored}};
    if (writer.pipe)
        return append_to_pipe(parts, 2);
    ssize_t wrote;
    do
        wrote = writev(writer.fd, parts, 2);
    while (wrote < 0 && errno == EINTR);
    if (wrote == (ssize_t)(sizeof *head + head->stored))
        return true;
    if (wrote >= 0)
        errno = ENOSPC;
    return false;
}

static void store(mlt_trace_head *head, const void *data, size_t bytes)
{
    mlt_trace_seal(head, data, bytes);
    if (append(head, data))
        return;
    int why = errno;
    if (head->kind == MLT_CHUNK_EVENTS)
        writer.lost += (uint64_t)mlt_notes_count(data, bytes);
    if (!atomic_exchange(&writer.broken, true))
        mlt_log("the trace has gaps: cannot write %s: %s", writer.path, strerror(why));
}

// Appends the notes of a buffer up to `count` words that are not in the file yet.
static void write_notes(buffer *b, uint32_t count)
{
    mlt_trace_head head = {
        .kind = MLT_CHUNK_EVENTS, .worker = b->worker, .first = b->first, .last = b->last};
    if (count == b->written)
        return;
    if (b->written == 0) {
        store(&head, b->words, count * sizeof *b->words);
    } else {
        uint64_t *room = mlt_xcalloc(LIKES_MOST + count - b->written, sizeof *room);
        size_t likes = mlt_notes_likes(b->words, b->written * sizeof *b->words, room);
        memcpy(room + likes, b->words + b->written, (count - b->written) * sizeof *room);
        store(&head, room, (likes + count - b->written) * sizeof *room);
        free(room);
    }
    b->written = count;
    b->first = b->last;
}

// The barrier pairs with mlt_tracer_publish: what workers wrote before the `at` that was read is there.
// Where the system has none, what was there a look ago surely is by now.
static void write_news(void)
{
    for (mlt_tracer *t = writer.tracers; t; t = t->next) {
        t->before = t->seen;
        t->seen = atomic_load_explicit(&t->at, memory_order_acquire);
    }
    bool all = writer.barrier && mlt_os_barrier() == MLT_OK;
    for (mlt_tracer *t = writer.tracers; t; t = t->next) {
        t->buffer->last = stamp();
        write_notes(t->buffer, (uint32_t)((all ? t->seen : t->before) - t->buffer->words));
    }
}

// The oldest full buffer; NULL: it is time to look at the others, or the end.
static buffer *next_full(void)
{
    struct timespec until;
    int late = 0;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += LOOK_NS;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    while (!writer.first && !writer.ends && late == 0)
        late = pthread_cond_timedwait(&writer.full, &writer.lock, &until);
    buffer *b = writer.first;
    if (b && !(writer.first = b->next))
        writer.last = &writer.first;
    return b;
}

static void give_back(buffer *b)
{
    if (b->owner)
        b->owner->held--;
    b->next = writer.free;
    writer.free = b;
    pthread_cond_broadcast(&writer.freed);
}

static void *write_all(void *arg)
{
    (void)setpriority(PRIO_PROCESS, 0, NICE); // Linux: of the calling thread
    pthread_mutex_lock(&writer.lock);
    while (!writer.ends || writer.first) {
        buffer *b = next_full();
        if (b) {
            pthread_mutex_unlock(&writer.lock); // nobody else knows the buffer now
            write_notes(b, b->count);
            pthread_mutex_lock(&writer.lock);
            give_back(b);
        } else {
            write_news();
        }
    }
    pthread_mutex_unlock(&writer.lock);
    return NULL;
}

// ---- the process

static mlt_status start_thread(void)
{
    sigset_t all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old); // signals are the program's
    int failed = pthread_create(&writer.thread, NULL, write_all, NULL);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    errno = failed;
    return failed ? MLT_ERR_SYSTEM : MLT_OK;
}

mlt_status mlt_trace_begin(const char *path, char *why, size_t why_size)
{
    writer.fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
    if (writer.fd < 0)
        return mlt_fail(MLT_ERR_SYSTEM, why, why_size, "cannot write the trace %s: %s", path,
                        strerror(errno));
    struct stat status;
    writer.pipe = fstat(writer.fd, &status) == 0 && S_ISFIFO(status.st_mode);
    writer.barrier = mlt_os_barrier_join() == MLT_OK;
    writer.ticks_a_ns = measure_ticks();
    writer.path = strdup(path);
    writer.ends = false;
    writer.broken = false;
    writer.lost = 0;
    if (!writer.path || start_thread() != MLT_OK) {
        snprintf(why, why_size, "cannot start the thread that writes the trace: %s",
                 strerror(errno));
        close(writer.fd);
        free(writer.path);
        writer.path = NULL;
        return MLT_ERR_SYSTEM;
    }
    writer.runs = true;
    return MLT_OK;
}

bool mlt_trace_runs(void)
{
    return writer.runs;
}

void mlt_trace_facts(uint32_t worker, const char *text, size_t bytes)
{
    if (!writer.runs || bytes == 0 || bytes > MLT_CHUNK_MOST)
        return;
    mlt_trace_stamp now = stamp();
    mlt_trace_head head = {.kind = MLT_CHUNK_FACTS, .worker = worker, .first = now, .last = now};
    store(&head, text, bytes);
}

void mlt_trace_end(void)
{
    if (!writer.runs)
        return;
    pthread_mutex_lock(&writer.lock);
    writer.ends = true;
    pthread_cond_signal(&writer.full);
    pthread_mutex_unlock(&writer.lock);
    pthread_join(writer.thread, NULL);
    while (writer.free) {
        buffer *b = writer.free;
        writer.free = b->next;
        free(b);
    }
    if (writer.lost)
        mlt_log("%llu events of the trace are lost", (unsigned long long)writer.lost);
    close(writer.fd);
    free(writer.path);
    writer.path = NULL;
    writer.fd = -1;
    writer.runs = false;
}

void mlt_trace_forget(void)
{
    writer.runs = false;
    if (writer.fd >= 0)
        close(writer.fd);
    writer.fd = -1;
}

// ---- a worker

// Under the lock.
static void take_buffer(mlt_tracer *tracer)
{
    while (!writer.free && tracer->held == BUFFERS_MOST)
        pthread_cond_wait(&writer.freed, &writer.lock);
    buffer *b = writer.free;
    if (b)
        writer.free = b->next;
    else
        b = mlt_xcalloc(1, sizeof *b);
    b->owner = tracer;
    b->worker = tracer->worker;
    b->written = 0;
    b->first = stamp();
    tracer->held++;
    tracer->buffer = b;
    tracer->seen = tracer->before = b->words;
    tracer->end = b->words + BUFFER_WORDS - MLT_NOTE_WORDS;
    memset(tracer->slots, 0xff, sizeof tracer->slots); // nothing is like that
    atomic_store_explicit(&tracer->at, b->words, memory_order_release);
}

static void hand_over(mlt_tracer *tracer)
{
    buffer *b = tracer->buffer;
    b->count = (uint32_t)(atomic_load_explicit(&tracer->at, memory_order_relaxed) - b->words);
    b->last = stamp();
    b->next = NULL;
    *writer.last = b;
    writer.last = &b->next;
    pthread_cond_signal(&writer.full);
}

mlt_tracer *mlt_tracer_new(uint32_t worker)
{
    mlt_tracer *tracer = mlt_xcalloc(1, sizeof *tracer);
    tracer->worker = worker;
    pthread_mutex_lock(&writer.lock);
    take_buffer(tracer);
    tracer->next = writer.tracers;
    writer.tracers = tracer;
    pthread_mutex_unlock(&writer.lock);
    return tracer;
}

static void leave_list(const mlt_tracer *tracer)
{
    mlt_tracer **at = &writer.tracers;
    while (*at != tracer)
        at = &(*at)->next;
    *at = tracer->next;
}

// Until it has a new buffer, the thread must not look at the old one a second time.
void mlt_tracer_turn(mlt_tracer *tracer)
{
    if (!writer.runs) { // a child that was forked
        atomic_store_explicit(&tracer->at, tracer->buffer->words, memory_order_relaxed);
        return;
    }
    pthread_mutex_lock(&writer.lock);
    leave_list(tracer);
    hand_over(tracer);
    take_buffer(tracer);
    tracer->next = writer.tracers;
    writer.tracers = tracer;
    pthread_mutex_unlock(&writer.lock);
}

// On the worker's thread, so that all notes up to `at` are seen.
void mlt_tracer_write(mlt_tracer *tracer)
{
    if (!writer.runs)
        return;
    pthread_mutex_lock(&writer.lock);
    while (tracer->held > 1) // the full buffers first
        pthread_cond_wait(&writer.freed, &writer.lock);
    buffer *b = tracer->buffer;
    b->last = stamp();
    write_notes(b, (uint32_t)(atomic_load_explicit(&tracer->at, memory_order_relaxed) - b->words));
    pthread_mutex_unlock(&writer.lock);
}

void mlt_tracer_end(mlt_tracer *tracer)
{
    if (writer.runs) {
        pthread_mutex_lock(&writer.lock);
        leave_list(tracer);
        hand_over(tracer);
        while (tracer->held)
            pthread_cond_wait(&writer.freed, &writer.lock);
        pthread_mutex_unlock(&writer.lock);
    }
    free(tracer);
}
