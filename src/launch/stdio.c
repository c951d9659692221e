// SPDX-License-Identifier: BSD-3-Clause
#include "launch/stdio.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/list.h"
#include "base/memory.h"
#include "base/text.h"
#include "boot/label.h"
#include "launch/hosts/relay.h"
#include "launch/loop.h"
#include "launch/plan/hosts.h"
#include "launch/say.h"
#include "launch/trace.h"
#include "os/fd.h"
#include "os/os.h"

enum {
    STDIO_READ_BYTES = 64 << 10,
    SPOOL_STEP =
        1 << 20,        // of standard input for all: how far ahead of its fastest reader it is read
    WRITE_BYTES = 4096, // PIPE_BUF: a pipe that is ready takes that much without blocking
    STDIO_LONGEST_LINE = 8 << 20, // longer ones are passed on in parts
    QUEUE_FULL = 1 << 20,         // stop reading from ranks
    QUEUE_LOW = 256 << 10,        // go on reading
    STDIO_LAST_WORDS_MS = 500,    // that an interrupted mpirun waits for a reader
    MOMENT_NS = 100000000,
};

// Where lines go: mpirun's standard output or error.
typedef struct sink {
    mlt_loop_source source;
    mlt_stdio *io;
    char *queue;
    size_t start, length, room; // queue[start .. start+length)
    bool broken;                // nobody reads any more
    bool lost;                  // something could not be written: what comes is thrown away
    bool paused;                // its streams are not read
} sink;

// What a rank's process says: through a pipe, or in frames.
typedef struct stream {
    mlt_loop_source source; // fd -1: ended, or of another host
    mlt_stdio *io;
    sink *to;
    uint32_t rank;
    bool lines;    // it is passed on line by line ...
    bool labels;   // ... with labels
    bool inside;   // a part of the current line has been passed on, with its label
    bool shut;     // of another host: it knows that nobody reads
    uint64_t owed; // ... bytes that have come, for which it has not been told that there is room
    char *line;
    size_t length, room;
} stream;

// A process that gets standard input through a pipe, or in frames.
typedef struct stdio_feed {
    mlt_loop_source source; // fd -1: closed, or of another host
    mlt_stdio *io;
    bool early;    // of this host, and not started yet
    bool far;      // of another host, and open
    uint64_t room; // ... bytes that it takes now
    uint64_t done; // bytes that it has taken
} stdio_feed;

// What a process of another host has written of a trace, and is no whole chunk yet.
typedef struct stdio_part {
    char *bytes;
    size_t length, room;
    uint64_t owed; // bytes that it was not told to have been taken
    bool broken;
} stdio_part;

struct mlt_stdio {
    mlt_stdio_conf conf;
    const mlt_options *options;
    const mlt_placement *plan;
    mlt_relay *relay;     // an agent's
    char *trace_variable; // ... for the process that was started last
    int *trace_ends;      // ... [procs] the processes' ends of pipes for traces; NULL: none
    stdio_part *parts;    // mpirun's: [procs] of traces that come from other hosts; NULL: none
    uint64_t window;
    char *outfile, *errfile;     // absolute; %h is replaced, %r and %p are not
    bool out_shared, err_shared; // all ranks write into one file
    sink sinks[2];
    stream *streams; // [procs][2], if labelled, or if there are other hosts
    int *child_ends; // [3] of the process that is being started
    char *paths[2];  // of the process that is being started
    int null_fd;
    uint32_t stdin_proc; // UINT32_MAX: none
    stdio_feed *feeds;   // [procs], --stdin all, or a reader on another host
    mlt_loop_source input;
    // What somebody has read of it and others have not: they may never do so, and nobody waits for
    // them. In memory, from the slowest reader's place on.
    int spool;
    uint64_t spooled, dropped; // bytes that were written, and given back
    bool input_ended;
    bool hurried;
    uint64_t heard_ns; // when output of another host came last
    int patience_ms;   // with a reader that does not read, when nothing else is left to do; -1: for
                       // ever
};

// ---- Patterns of file names

static bool has(const char *pattern, char letter)
{
    for (const char *at = pattern; at && *at; at++) {
        if (*at != '%')
            continue;
        if (*++at == letter)
            return true;
        if (!*at)
            break;
    }
    return false;
}

// Replaces %<letter> by text; everything else, other percent signs included, is copied.
static char *stdio_expand(const char *pattern, char letter, const char *text)
{
    char *out = mlt_xcalloc(strlen(pattern) * (strlen(text) + 1) + 1, 1), *to = out;
    for (const char *at = pattern; *at; at++) {
        if (at[0] == '%' && at[1] == letter) {
            to = stpcpy(to, text);
            at++;
        } else {
            *to++ = *at;
            if (at[0] == '%' && at[1])
                *to++ = *++at;
        }
    }
    *to = '\0';
    return out;
}

static char *escape(const char *text)
{
    char *out = mlt_xcalloc(2 * strlen(text) + 1, 1), *to = out;
    for (; *text; text++) {
        *to++ = *text;
        if (*text == '%')
            *to++ = '%';
    }
    *to = '\0';
    return out;
}

// An absolute pattern with %h replaced: ranks may have other working directories.
static char *absolute(const mlt_stdio *io, const char *pattern)
{
    char *host =
        escape(io->conf.host < io->plan->host_count ? io->plan->hosts[io->conf.host].host.name
                                                    : mlt_hosts_own());
    char *named = stdio_expand(pattern, 'h', host);
    free(host);
    if (named[0] == '/')
        return named;
    char *here = io->conf.dir ? mlt_text_of("%s", io->conf.dir) : getcwd(NULL, 0);
    if (!here)
        mlt_quit(MLT_EXIT_SYSTEM, "the working directory has no name: %s", strerror(errno));
    char *base = escape(here);
    char *whole = mlt_text_of("%s/%s", base, named);
    free(here);
    free(base);
    free(named);
    return whole;
}

static void make_directories(char *path)
{
    for (char *at = path + 1; *at; at++) {
        if (*at != '/')
            continue;
        *at = '\0';
        (void)mkdir(path, 0777); // the last one tells
        *at = '/';
    }
    if (mkdir(path, 0777) != 0 && errno != EEXIST)
        mlt_quit(MLT_EXIT_USAGE, "directory '%s' for output cannot be made: %s", path,
                 strerror(errno));
}

static bool stdio_is_here(const mlt_stdio *io, uint32_t proc)
{
    return !io->conf.send || io->plan->procs[proc].host == io->conf.host;
}

// DIR/1/rank.R, for each rank of this host.
static void make_rank_directories(const mlt_stdio *io, const char *base)
{
    char *start = stdio_expand(base, '%', "%"); // a name, not a pattern
    bool first = true;
    for (uint32_t p = 0; p < io->plan->proc_count; p++) {
        const mlt_placement_proc *proc = &io->plan->procs[p];
        for (uint32_t r = 0; stdio_is_here(io, p) && r < proc->ranks; r++) {
            char *path = mlt_text_of("%s/1/rank.%u", start, proc->first_rank + r);
            if (first)
                make_directories(path);
            else if (mkdir(path, 0777) != 0 && errno != EEXIST)
                mlt_quit(MLT_EXIT_USAGE, "directory '%s' for output cannot be made: %s", path,
                         strerror(errno));
            first = false;
            free(path);
        }
    }
    free(start);
}

// Open MPI's layout: DIR/1/rank.R/stdout.
static void use_output_directory(mlt_stdio *io)
{
    char *name = mlt_text_of("%s", io->options->output_directory);
    static const char suffix[] = ":nocopy"; // always so here
    size_t length = strlen(name), most = sizeof suffix - 1;
    if (length >= most && strcmp(name + length - most, suffix) == 0)
        name[length - most] = '\0';
    char *escaped = escape(name);
    char *base = absolute(io, escaped);
    io->outfile = mlt_text_of("%s/1/rank.%%r/stdout", base);
    io->errfile = mlt_text_of("%s/1/rank.%%r/stderr", base);
    make_rank_directories(io, base);
    free(name);
    free(escaped);
    free(base);
}

// A file that all ranks share is emptied here, once; the ranks append to it.
static bool empty_shared(const char *pattern)
{
    if (has(pattern, 'r') || has(pattern, 'p'))
        return false;
    char *path = stdio_expand(pattern, '%', "%");
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd < 0)
        mlt_quit(MLT_EXIT_USAGE, "output file '%s' cannot be opened: %s", path, strerror(errno));
    close(fd);
    free(path);
    return true;
}

// ---- Lines from ranks

static void give_room(stream *s);

static void resume(mlt_stdio *io, sink *to)
{
    to->paused = false;
    for (size_t i = 0; i < 2 * (size_t)io->plan->proc_count; i++) {
        stream *s = &io->streams[i];
        if (s->to == to && s->source.fd >= 0)
            (void)mlt_loop_add(&s->source, EPOLLIN);
        else if (s->to == to)
            give_room(s);
    }
}

static void resume_if_low(sink *to)
{
    if (to->paused && to->length < QUEUE_LOW)
        resume(to->io, to);
}

static void pause_streams(mlt_stdio *io, sink *to)
{
    to->paused = true;
    for (size_t i = 0; i < 2 * (size_t)io->plan->proc_count; i++)
        if (io->streams[i].to == to)
            mlt_loop_remove(&io->streams[i].source);
}

// Writes what can be written without blocking, or all of it if `block`.
static void sink_flush(sink *to, bool block)
{
    while (to->length > 0 && !to->broken && !to->lost) {
        struct pollfd room = {.fd = to->source.fd, .events = POLLOUT};
        if (poll(&room, 1, block ? to->io->patience_ms : 0) == 0) {
            if (block) {
                to->broken = true;
                break;
            }
            if (!mlt_loop_add(&to->source, EPOLLOUT))
                (void)poll(&room, 1, 10);
            return;
        }
        size_t n = to->length < WRITE_BYTES ? to->length : WRITE_BYTES;
        ssize_t done = write(to->source.fd, to->queue + to->start, n);
        if (done < 0 && (errno == EINTR || errno == EAGAIN))
            continue;
        if (done < 0 && errno == EPIPE) {
            to->broken = true;
            break;
        }
        if (done < 0) {
            mlt_say("the ranks' %s cannot be written and is lost: %s",
                    to->source.fd == STDOUT_FILENO ? "output" : "standard error", strerror(errno));
            to->lost = true;
            break;
        }
        to->start += (size_t)done;
        to->length -= (size_t)done;
    }
    mlt_loop_remove(&to->source);
    to->start = 0;
    if (to->broken || to->lost)
        to->length = 0;
}

static void sink_ready(mlt_loop_source *source, uint32_t events)
{
    sink *to = mlt_container_of(source, sink, source);
    sink_flush(to, false);
    resume_if_low(to);
}

static void sink_put(sink *to, const char *text, size_t n)
{
    if (to->broken || to->lost)
        return;
    if (to->start + to->length + n > to->room) {
        if (to->length)
            memmove(to->queue, to->queue + to->start, to->length);
        to->start = 0;
        MLT_ARRAY_WANT(to->queue, to->length + n, to->room);
    }
    memcpy(to->queue + to->start + to->length, text, n);
    to->length += n;
}

static bool is_labelled(const mlt_stdio *io)
{
    return io->options->label || io->options->timestamp;
}

static void put_label(stream *s)
{
    const mlt_options *o = s->io->options;
    char text[MLT_LABEL_BYTES];
    if (s->inside || !s->labels)
        return;
    mlt_label label = {o->timestamp, o->label, o->job ? o->job : "", s->rank};
    sink_put(s->to, text, mlt_label_write(&label, text));
}

// Passes whole lines on and keeps the rest. The first `seen` bytes hold no end of a line.
static void pass_lines(stream *s, size_t seen)
{
    size_t at = 0;
    char *end;
    while ((end = memchr(s->line + seen, '\n', s->length - seen))) {
        size_t n = (size_t)(end - (s->line + at)) + 1;
        put_label(s);
        sink_put(s->to, s->line + at, n);
        s->inside = false;
        seen = at += n;
    }
    s->length -= at;
    memmove(s->line, s->line + at, s->length);
    if (s->length > STDIO_LONGEST_LINE) {
        put_label(s);
        sink_put(s->to, s->line, s->length);
        s->inside = true;
        s->length = 0;
    }
}

// Nothing more comes. A last line without its end gets one.
static void stream_end(stream *s)
{
    if (s->length > 0 || s->inside) {
        put_label(s);
        sink_put(s->to, s->line, s->length);
        if (s->labels)
            sink_put(s->to, "\n", 1);
    }
    mlt_loop_close(&s->source);
    free(s->line);
    s->line = NULL;
    s->length = s->room = 0;
    s->inside = false;
}

static void want_room(stream *s)
{
    if (s->room - s->length >= STDIO_READ_BYTES)
        return;
    s->room = s->length + 2 * STDIO_READ_BYTES;
    s->line = mlt_xrealloc(s->line, s->room, 1);
}

// Reads once. False: nothing there now, or ended.
static bool stream_read(stream *s)
{
    want_room(s);
    ssize_t n = read(s->source.fd, s->line + s->length, s->room - s->length);
    if (n < 0 && (errno == EINTR || errno == EAGAIN))
        return errno == EINTR;
    if (n <= 0) {
        stream_end(s);
        return false;
    }
    s->length += (size_t)n;
    pass_lines(s, s->length - (size_t)n);
    return true;
}

static void stream_ready(mlt_loop_source *source, uint32_t events)
{
    stream *s = mlt_container_of(source, stream, source);
    (void)stream_read(s);
    sink_flush(s->to, false);
    if (s->to->broken) // the rank shall see what it would see without us: a broken pipe
        stream_end(s);
    else if (s->to->length > QUEUE_FULL)
        pause_streams(s->io, s->to);
}

// ---- Output of other hosts

// From mpirun to an agent; a body stays as it is.
static void stdio_send(const mlt_stdio *io, mlt_frame_type type, uint32_t proc, uint32_t which,
                       const void *body, size_t length)
{
    mlt_frame frame = mlt_frame_down(type, io->plan->procs[proc].host, proc, which, length);
    io->conf.send(io->conf.user, &frame, (char *)(uintptr_t)body);
}

static void send_room(const stream *s, const void *body, uint32_t length)
{
    uint32_t at = (uint32_t)(s - s->io->streams);
    stdio_send(s->io, MLT_FRAME_ROOM, at / 2, 1 + at % 2, body, length);
}

// Lets the other host send more, if what it has sent is written, or about to be.
static void give_room(stream *s)
{
    if (s->to->paused || s->owed < s->io->window / 2)
        return;
    send_room(s, &s->owed, sizeof s->owed);
    s->owed = 0;
}

static void stream_bytes(stream *s, const char *bytes, size_t count)
{
    if (!s->lines) {
        sink_put(s->to, bytes, count);
        return;
    }
    while (count > 0) {
        size_t n = count < STDIO_READ_BYTES ? count : STDIO_READ_BYTES;
        want_room(s);
        memcpy(s->line + s->length, bytes, n);
        s->length += n;
        pass_lines(s, s->length - n);
        bytes += n;
        count -= n;
    }
}

static void take_output(stream *s, const char *bytes, size_t count)
{
    s->io->heard_ns = mlt_os_now_ns();
    if (count == 0)
        stream_end(s);
    else if (!s->to->broken)
        stream_bytes(s, bytes, count);
    sink_flush(s->to, s->io->hurried);
    resume_if_low(s->to); // more has come while it was paused, and all of it is written
    if (s->to->broken && !s->io->hurried) {
        if (!s->shut)
            send_room(s, NULL, 0);
        s->shut = true;
        return;
    }
    if (s->to->length > QUEUE_FULL)
        pause_streams(s->io, s->to);
    s->owed += count;
    give_room(s);
}

bool mlt_stdio_writes(const mlt_stdio *io)
{
    return io->sinks[0].length + io->sinks[1].length > 0 ||
           mlt_os_now_ns() - io->heard_ns < MOMENT_NS;
}

void mlt_stdio_hurry(mlt_stdio *io)
{
    io->hurried = true;
    io->patience_ms = STDIO_LAST_WORDS_MS;
    for (int i = 0; i < 2; i++) {
        sink_flush(&io->sinks[i], true);
        resume(io, &io->sinks[i]);
    }
}

void mlt_stdio_host_ended(mlt_stdio *io, uint32_t host)
{
    for (uint32_t p = 0; p < io->plan->proc_count; p++)
        if (io->plan->procs[p].host == host && !stdio_is_here(io, p)) {
            stream_end(&io->streams[2 * p]);
            stream_end(&io->streams[2 * p + 1]);
            if (io->feeds)
                io->feeds[p].far = false;
        }
    for (int i = 0; i < 2; i++) {
        sink_flush(&io->sinks[i], false);
        resume_if_low(&io->sinks[i]);
    }
}

// ---- Standard input for all

static bool is_open(const stdio_feed *f)
{
    return f->far || f->source.fd >= 0;
}

static void send_input(const stdio_feed *f, const void *piece, size_t bytes)
{
    stdio_send(f->io, MLT_FRAME_INPUT, (uint32_t)(f - f->io->feeds), 0, piece, bytes);
}

static void feed_close(stdio_feed *f)
{
    if (f->far)
        send_input(f, NULL, 0);
    f->far = false;
    mlt_loop_close(&f->source);
}

// Passes a piece on, to a pipe or to another host; what write(2) would return.
static ssize_t feed_piece(stdio_feed *f, const char *piece, size_t bytes)
{
    if (!f->far)
        return write(f->source.fd, piece, bytes);
    if (f->room == 0) {
        errno = EAGAIN;
        return -1;
    }
    size_t n = bytes < f->room ? bytes : (size_t)f->room;
    send_input(f, piece, n);
    f->room -= n;
    return (ssize_t)n;
}

// As much as the process takes now.
static void feed_step(stdio_feed *f)
{
    mlt_stdio *io = f->io;
    char piece[STDIO_READ_BYTES];
    while (is_open(f) && f->done < io->spooled) {
        ssize_t n = pread(io->spool, piece, sizeof piece, (off_t)f->done);
        if (n > 0)
            n = feed_piece(f, piece, (size_t)n);
        if (n >= 0) {
            f->done += (uint64_t)n;
        } else if (errno == EAGAIN) {
            if (!f->far)
                (void)mlt_loop_add(&f->source, EPOLLOUT);
            return;
        } else if (errno != EINTR) {
            feed_close(f);
        }
    }
    mlt_loop_remove(&f->source);
    if (io->input_ended)
        feed_close(f);
}

// Where the fastest and the slowest reader are; false: nobody reads.
static bool find_readers(const mlt_stdio *io, uint64_t *fastest, uint64_t *slowest)
{
    bool any = false;
    *fastest = 0;
    *slowest = UINT64_MAX;
    for (uint32_t p = 0; p < io->plan->proc_count; p++) {
        const stdio_feed *f = &io->feeds[p];
        if (!is_open(f) && !f->early)
            continue;
        any = true;
        *fastest = f->done > *fastest ? f->done : *fastest;
        *slowest = f->done < *slowest ? f->done : *slowest;
    }
    return any;
}

static void spool_piece(mlt_stdio *io, const char *piece, size_t length)
{
    for (size_t at = 0; at < length;) {
        ssize_t n = pwrite(io->spool, piece + at, length - at, (off_t)io->spooled);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            mlt_quit(MLT_EXIT_SYSTEM, MLT_NO_ROOM "the input that ranks have not read yet (%s)",
                     strerror(errno));
        at += (size_t)n;
        io->spooled += (uint64_t)n;
    }
}

// Memory that all have read. In large steps: each is a system call.
static void drop_read(mlt_stdio *io, uint64_t slowest)
{
    if (slowest < io->dropped + SPOOL_STEP)
        return;
    uint64_t bytes = (slowest - io->dropped) / SPOOL_STEP * SPOOL_STEP;
    (void)fallocate(io->spool, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)io->dropped,
                    (off_t)bytes);
    io->dropped += bytes;
}

// Reads while somebody wants more, and hands out.
static void pump(mlt_stdio *io)
{
    uint64_t fastest, slowest;
    while (!io->input_ended && find_readers(io, &fastest, &slowest)) {
        char piece[STDIO_READ_BYTES];
        drop_read(io, slowest);
        if (io->spooled - fastest >= SPOOL_STEP) { // nobody needs more now
            mlt_loop_remove(&io->input);
            return;
        }
        ssize_t n = read(STDIN_FILENO, piece, sizeof piece);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            break;
        io->input_ended = n <= 0;
        if (n > 0)
            spool_piece(io, piece, (size_t)n);
        for (uint32_t p = 0; p < io->plan->proc_count; p++)
            feed_step(&io->feeds[p]);
        if (!io->input_ended && mlt_loop_add(&io->input, EPOLLIN))
            return; // one piece an event, so that mpirun stays awake for the rest
    }
    if (io->input_ended || !find_readers(io, &fastest, &slowest))
        mlt_loop_remove(&io->input);
}

static void stdio_input_ready(mlt_loop_source *source, uint32_t events)
{
    pump(mlt_container_of(source, mlt_stdio, input));
}

// The process may take more.
static void feed_on(stdio_feed *f)
{
    feed_step(f);
    if (f->io->input_ended || f->io->spooled - f->done >= SPOOL_STEP)
        return;
    if (!mlt_loop_add(&f->io->input, EPOLLIN))
        pump(f->io);
}

static void feed_ready(mlt_loop_source *source, uint32_t events)
{
    feed_on(mlt_container_of(source, stdio_feed, source));
}

static void feed_room(stdio_feed *f, const mlt_frame *frame, const char *body)
{
    uint64_t bytes;
    if (frame->length != sizeof bytes) { // nobody reads there any more
        f->far = false;
        return;
    }
    memcpy(&bytes, body, sizeof bytes);
    f->room += bytes;
    if (f->far)
        feed_on(f);
}

// Chunks of several processes must not mix, so each is written when all of it is there.
static void stdio_take_trace(mlt_stdio *io, uint32_t proc, const char *body, size_t bytes)
{
    if (!io->parts)
        io->parts = mlt_xcalloc(io->plan->proc_count, sizeof *io->parts);
    stdio_part *p = &io->parts[proc];
    if (!p->broken) {
        MLT_ARRAY_WANT(p->bytes, p->length + bytes, p->room);
        memcpy(p->bytes + p->length, body, bytes);
        p->length += bytes;
        int64_t taken = mlt_launch_trace_chunks(io->options, p->bytes, p->length);
        p->broken = taken < 0;
        p->length -= taken > 0 ? (size_t)taken : 0;
        if (taken > 0)
            memmove(p->bytes, p->bytes + taken, p->length);
    }
    p->owed += bytes;
    if (p->owed < io->window / 2)
        return;
    stdio_send(io, MLT_FRAME_ROOM, proc, MLT_RELAY_TRACE, &p->owed, sizeof p->owed);
    p->owed = 0;
}

void mlt_stdio_take(mlt_stdio *io, const mlt_frame *frame, const char *body)
{
    uint32_t proc = frame->about;
    if (io->relay) {
        mlt_relay_take(io->relay, frame, body);
        return;
    }
    if (proc >= io->plan->proc_count || stdio_is_here(io, proc))
        return;
    bool output = frame->value == 1 || frame->value == 2;
    if (frame->type == MLT_FRAME_OUTPUT && output)
        take_output(&io->streams[2 * proc + (uint32_t)frame->value - 1], body, frame->length);
    else if (frame->type == MLT_FRAME_OUTPUT && frame->value == MLT_RELAY_TRACE)
        stdio_take_trace(io, proc, body, frame->length);
    else if (frame->type == MLT_FRAME_ROOM && frame->value == 0 && io->feeds)
        feed_room(&io->feeds[proc], frame, body);
}

void mlt_stdio_hear(mlt_stdio *io, uint32_t proc)
{
    mlt_relay_hear(io->relay, proc);
}

void mlt_stdio_drain(mlt_stdio *io)
{
    mlt_relay_drain(io->relay);
}

bool mlt_stdio_drained(const mlt_stdio *io)
{
    return mlt_relay_drained(io->relay);
}

void mlt_stdio_run(mlt_stdio *io)
{
    if (io->feeds && !mlt_loop_add(&io->input, EPOLLIN))
        pump(io);
}

// ---- Processes

// The process that reads standard input; UINT32_MAX: none, or all.
static uint32_t reader_of(const mlt_options *options, const mlt_placement *plan)
{
    if (options->gdb >= 0)
        return mlt_placement_proc_of(plan, (uint32_t)options->gdb);
    if (options->stdin_rank >= (int64_t)plan->ranks)
        mlt_quit(MLT_EXIT_USAGE, "--stdin names rank %lld, but the job has ranks 0 to %u",
                 (long long)options->stdin_rank, plan->ranks - 1);
    return options->stdin_rank >= 0 ? mlt_placement_proc_of(plan, (uint32_t)options->stdin_rank)
                                    : UINT32_MAX;
}

bool mlt_stdio_reads_terminal(const mlt_options *options, const mlt_placement *plan, uint32_t host)
{
    uint32_t reader = reader_of(options, plan);
    bool far = reader != UINT32_MAX && plan->procs[reader].host != host;
    return (far || options->stdin_rank == MLT_STDIN_ALL) && isatty(STDIN_FILENO);
}

static void open_files(mlt_stdio *io)
{
    const mlt_options *options = io->options;
    if (options->output_directory)
        use_output_directory(io);
    if (options->outfile)
        io->outfile = absolute(io, options->outfile);
    if (options->errfile)
        io->errfile = absolute(io, options->errfile);
    io->out_shared = io->outfile && empty_shared(io->outfile);
    io->err_shared = io->errfile && empty_shared(io->errfile);
}

static void init_stream(mlt_stdio *io, uint32_t proc, int i)
{
    const mlt_placement_proc *of = &io->plan->procs[proc];
    bool labels = is_labelled(io);
    io->streams[2 * proc + (uint32_t)i] =
        (stream){.source = {.fd = -1, .ready = stream_ready},
                 .io = io,
                 .to = &io->sinks[i],
                 .rank = of->first_rank,
                 .lines = labels,
                 .labels = labels && of->ranks == 1}; // others label by themselves
}

// Who gets standard input from mpirun: all, or one of another host.
static void init_feeds(mlt_stdio *io)
{
    const mlt_placement *plan = io->plan;
    bool all = io->options->stdin_rank == MLT_STDIN_ALL && io->options->gdb < 0;
    io->stdin_proc = reader_of(io->options, plan);
    bool far = io->stdin_proc != UINT32_MAX && !stdio_is_here(io, io->stdin_proc);
    if (io->conf.agent || (!all && !far))
        return;
    io->feeds = mlt_xcalloc(plan->proc_count, sizeof *io->feeds);
    for (uint32_t p = 0; p < plan->proc_count; p++)
        io->feeds[p] = (stdio_feed){.source = {.fd = -1, .ready = feed_ready},
                                    .io = io,
                                    .early = all && stdio_is_here(io, p),
                                    .far = (all || p == io->stdin_proc) && !stdio_is_here(io, p),
                                    .room = io->window};
    io->spool = mlt_os_memfd("millet-stdin", 0);
    if (io->spool < 0)
        mlt_quit(MLT_EXIT_SYSTEM, MLT_NO_ROOM "the input of ranks (%s)", strerror(errno));
}

mlt_stdio *mlt_stdio_new(const mlt_stdio_conf *conf)
{
    mlt_stdio *io = mlt_xcalloc(1, sizeof *io);
    *io = (mlt_stdio){.conf = *conf,
                      .options = conf->options,
                      .plan = conf->plan,
                      .window = mlt_relay_window(conf->plan->proc_count),
                      .spool = -1};
    for (int i = 0; i < 2; i++)
        io->sinks[i] = (sink){.source = {.fd = STDOUT_FILENO + i, .ready = sink_ready}, .io = io};
    open_files(io);
    io->child_ends = mlt_xcalloc(3, sizeof *io->child_ends);
    for (int i = 0; i < 3; i++)
        io->child_ends[i] = -1;
    io->null_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    io->input = (mlt_loop_source){.fd = STDIN_FILENO, .ready = stdio_input_ready};
    init_feeds(io);
    if (conf->agent)
        io->relay = mlt_relay_new(&(mlt_relay_conf){.procs = io->plan->proc_count,
                                                    .host = conf->host,
                                                    .send = conf->send,
                                                    .user = conf->user});
    else if (is_labelled(io) || conf->send)
        io->streams = mlt_xcalloc(2 * (size_t)io->plan->proc_count, sizeof *io->streams);
    for (uint32_t p = 0; io->streams && p < io->plan->proc_count; p++)
        for (int i = 0; i < 2; i++)
            init_stream(io, p, i);
    return io;
}

// Fortran's lines would die with a rank that is killed: libgfortran writes each at once, except into
// files. (C's: host/entry.c.)
static bool is_file(int fd)
{
    struct stat about;
    return fstat(fd, &about) == 0 && S_ISREG(about.st_mode);
}

static void put_fortran(const mlt_stdio *io, mlt_env *env)
{
    static const char name[] = "GFORTRAN_UNBUFFERED_PRECONNECTED";
    if ((io->outfile || io->errfile || is_file(STDOUT_FILENO) || is_file(STDERR_FILENO)) &&
        !mlt_env_value(env, name))
        mlt_env_put(env, mlt_text_of("%s=y", name));
}

void mlt_stdio_env(mlt_stdio *io, uint32_t first_proc, mlt_env *env)
{
    put_fortran(io, env);
    if (io->plan->procs[first_proc].ranks == 1)
        return;
    if (io->options->label)
        mlt_env_put(env, mlt_text_of("MILLET_LABEL=1"));
    if (io->options->timestamp)
        mlt_env_put(env, mlt_text_of("MILLET_TIMESTAMP=1"));
    if (io->outfile)
        mlt_env_put(env, mlt_text_of("MILLET_OUTFILE=%s", io->outfile));
    if (io->errfile && !io->options->merge)
        mlt_env_put(env, mlt_text_of("MILLET_ERRFILE=%s", io->errfile));
    int64_t reader = io->options->gdb >= 0 ? io->options->gdb : io->options->stdin_rank;
    mlt_env_put(env, reader >= 0               ? mlt_text_of("MILLET_STDIN=%lld", (long long)reader)
                     : reader == MLT_STDIN_ALL ? mlt_text_of("MILLET_STDIN=all")
                                               : mlt_text_of("MILLET_STDIN=none"));
}

static bool open_pipe(mlt_stdio *io, int which, int *own, char *why, size_t why_size)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        return mlt_deny(why, why_size, "no pipe for a rank's %s: %s", which ? "output" : "input",
                        mlt_os_no_descriptor(errno));
    // Input: the process reads. Output: it writes.
    io->child_ends[which] = ends[which != 0];
    *own = ends[which == 0];
    (void)fcntl(*own, F_SETFL, O_NONBLOCK);
    return true;
}

static bool prepare_output(mlt_stdio *io, uint32_t proc, int i, mlt_spawn_stream *to, char *why,
                           size_t why_size)
{
    uint32_t rank = io->plan->procs[proc].first_rank;
    const char *file = i == 0 ? io->outfile : io->errfile;
    bool alone = io->plan->procs[proc].ranks == 1; // else the library labels, and opens files
    if (i == 1 && io->options->merge)
        return true;
    if (file && alone) {
        char number[16];
        snprintf(number, sizeof number, "%u", rank);
        io->paths[i] = stdio_expand(file, 'r', number);
        to->file = io->paths[i];
        // The same name for both: the first one empties it.
        bool twin = i == 1 && io->outfile && strcmp(io->outfile, file) == 0;
        to->append = twin || (i == 0 ? io->out_shared : io->err_shared);
        return true;
    }
    if (!io->relay && !(is_labelled(io) && alone))
        return true;
    int own;
    if (!open_pipe(io, 1 + i, &own, why, why_size))
        return false;
    to->fd = io->child_ends[1 + i];
    if (io->relay)
        mlt_relay_add(io->relay, proc, 1 + (uint32_t)i, own);
    else
        io->streams[2 * proc + (uint32_t)i].source.fd = own;
    return true;
}

static bool prepare_input(mlt_stdio *io, uint32_t proc, mlt_spawn_stream *to, char *why,
                          size_t why_size)
{
    bool all = io->options->stdin_rank == MLT_STDIN_ALL && io->options->gdb < 0;
    bool reads = all || proc == io->stdin_proc;
    int own;
    if (!reads)
        to->fd = io->null_fd;
    if (!reads || (!all && !io->relay)) // it has mpirun's own
        return true;
    if (!open_pipe(io, 0, &own, why, why_size))
        return false;
    to->fd = io->child_ends[0];
    if (io->relay)
        mlt_relay_add(io->relay, proc, 0, own);
    else
        io->feeds[proc].source.fd = own;
    return true;
}

bool mlt_stdio_prepare(mlt_stdio *io, uint32_t proc, mlt_spawn *spawn, char *why, size_t why_size)
{
    for (int i = 0; i < 3; i++)
        spawn->streams[i] = (mlt_spawn_stream){.fd = -1};
    spawn->merge = io->options->merge;
    if (!prepare_input(io, proc, &spawn->streams[0], why, why_size))
        return false;
    for (int i = 0; i < 2; i++)
        if (!prepare_output(io, proc, i, &spawn->streams[1 + i], why, why_size))
            return false;
    return true;
}

// The pipe has no name but the one that the system gives to descriptors of this process, which keeps
// its other end open: the process opens it when it begins to trace, if it does.
bool mlt_stdio_trace(mlt_stdio *io, uint32_t proc, mlt_env *env, char *why, size_t why_size)
{
    const char *file = mlt_env_value(env, "MILLET_TRACE");
    int ends[2];
    if (!io->relay || !file || !*file)
        return true;
    if (pipe2(ends, O_CLOEXEC) != 0)
        return mlt_deny(why, why_size, "no pipe for a rank's trace: %s",
                        mlt_os_no_descriptor(errno));
    if (!io->trace_ends) {
        io->trace_ends = mlt_xcalloc(io->plan->proc_count, sizeof *io->trace_ends);
        for (uint32_t p = 0; p < io->plan->proc_count; p++)
            io->trace_ends[p] = -1;
    }
    io->trace_ends[proc] = ends[1];
    mlt_relay_add(io->relay, proc, MLT_RELAY_TRACE, ends[0]);
    char *variable = mlt_text_of("MILLET_TRACE=/proc/%d/fd/%d", (int)getpid(), ends[1]);
    mlt_env_put(env, variable);
    free(io->trace_variable);
    io->trace_variable = variable;
    return true;
}

void mlt_stdio_started(mlt_stdio *io, uint32_t proc)
{
    for (int i = 0; i < 3; i++)
        mlt_os_close_once(&io->child_ends[i]);
    if (io->feeds && io->feeds[proc].early) {
        io->feeds[proc].early = false;
        feed_step(&io->feeds[proc]); // what has been read already
    }
    for (int i = 0; i < 2; i++) {
        free(io->paths[i]);
        io->paths[i] = NULL;
        stream *s = io->streams ? &io->streams[2 * proc + (uint32_t)i] : NULL;
        if (s && s->source.fd >= 0 && !s->to->paused)
            (void)mlt_loop_add(&s->source, EPOLLIN);
    }
}

bool mlt_stdio_finish(mlt_stdio *io, bool interrupted)
{
    bool whole = true;
    io->patience_ms = interrupted ? STDIO_LAST_WORDS_MS : -1;
    for (uint32_t p = 0; p < io->plan->proc_count; p++) {
        for (uint32_t i = 0; io->streams && i < 2; i++) {
            stream *s = &io->streams[2 * p + i];
            while (s->source.fd >= 0 && stream_read(s))
                sink_flush(s->to, true);
            stream_end(s);
        }
        if (io->feeds)
            feed_close(&io->feeds[p]);
    }
    for (int i = 0; i < 2; i++) {
        sink_flush(&io->sinks[i], true);
        whole = whole && !io->sinks[i].lost;
        free(io->sinks[i].queue);
    }
    mlt_loop_remove(&io->input);
    mlt_relay_free(io->relay);
    for (uint32_t p = 0; p < io->plan->proc_count; p++) {
        if (io->trace_ends && io->trace_ends[p] >= 0)
            close(io->trace_ends[p]);
        if (io->parts)
            free(io->parts[p].bytes);
    }
    free(io->trace_ends);
    free(io->trace_variable);
    free(io->parts);
    mlt_os_close(io->null_fd);
    mlt_os_close(io->spool);
    free(io->streams);
    free(io->feeds);
    free(io->child_ends);
    free(io->outfile);
    free(io->errfile);
    free(io);
    return whole;
}
