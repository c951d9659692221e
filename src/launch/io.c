// SPDX-License-Identifier: BSD-3-Clause
#include "launch/io.h"

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
#include "launch/loop.h"
#include "launch/plan/hosts.h"
#include "launch/say.h"
#include "os/os.h"

enum {
    READ_BYTES = 64 << 10,
    SPOOL_STEP =
        1 << 20,        // of standard input for all: how far ahead of its fastest reader it is read
    WRITE_BYTES = 4096, // PIPE_BUF: a pipe that is ready takes that much without blocking
    LONGEST_LINE = 8 << 20, // longer ones are passed on in parts
    QUEUE_FULL = 1 << 20,   // stop reading from ranks
    QUEUE_LOW = 256 << 10,  // go on reading
    LAST_WORDS_MS = 500,    // that an interrupted mpirun waits for a reader
};

// Where lines go: mpirun's standard output or error.
typedef struct sink {
    mlt_source source;
    mlt_io *io;
    char *queue;
    size_t start, length, room; // queue[start .. start+length)
    bool broken;                // nobody reads any more
    bool lost;                  // something could not be written: what comes is thrown away
    bool paused;                // its streams are not read
} sink;

// A pipe from a rank.
typedef struct stream {
    mlt_source source; // fd -1: ended
    mlt_io *io;
    sink *to;
    uint32_t proc, rank;
    bool raw;    // its bytes are passed on as they come
    bool inside; // a part of the current line has been passed on, with its label
    char *line;
    size_t length, room;
} stream;

// A pipe to a process (--stdin all).
typedef struct feed {
    mlt_source source; // fd -1: closed
    mlt_io *io;
    uint64_t done; // bytes that it has taken
} feed;

struct mlt_io {
    const mlt_options *options;
    const mlt_plan *plan;
    int loop;
    char *outfile, *errfile;     // absolute; %h is replaced, %r and %p are not
    bool out_shared, err_shared; // all ranks write into one file
    sink sinks[2];
    stream *streams; // [procs][2], if labelled
    int *child_ends; // [3] of the process that is being started
    char *paths[2];  // of the process that is being started
    int null_fd;
    uint32_t stdin_proc; // UINT32_MAX: none
    feed *feeds;         // [procs], --stdin all
    mlt_source input;
    // What somebody has read of it and others have not: they may never do so, and nobody waits for
    // them. In memory, from the slowest reader's place on.
    int spool;
    uint64_t spooled, dropped; // bytes that were written, and given back
    bool input_ended;
    void (*put)(void *user, uint32_t proc, int stream, const char *bytes, size_t count);
    void *user;      // of put, mlt_io_send_to
    int patience_ms; // with a reader that does not read, when nothing else is left to do; -1: for
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
static char *expand(const char *pattern, char letter, const char *text)
{
    char *out = mlt_take(strlen(pattern) * (strlen(text) + 1) + 1, 1), *to = out;
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
    char *out = mlt_take(2 * strlen(text) + 1, 1), *to = out;
    for (; *text; text++) {
        *to++ = *text;
        if (*text == '%')
            *to++ = '%';
    }
    *to = '\0';
    return out;
}

// An absolute pattern with %h replaced: ranks may have other working directories.
static char *absolute(const char *pattern)
{
    char *host = escape(mlt_hosts_own());
    char *named = expand(pattern, 'h', host);
    free(host);
    if (named[0] == '/')
        return named;
    char *here = getcwd(NULL, 0);
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

// Open MPI's layout: DIR/1/rank.R/stdout.
static void use_output_directory(mlt_io *io)
{
    char *name = mlt_text_of("%s", io->options->output_directory);
    static const char suffix[] = ":nocopy"; // always so here
    size_t length = strlen(name), most = sizeof suffix - 1;
    if (length >= most && strcmp(name + length - most, suffix) == 0)
        name[length - most] = '\0';
    char *escaped = escape(name);
    char *base = absolute(escaped);
    io->outfile = mlt_text_of("%s/1/rank.%%r/stdout", base);
    io->errfile = mlt_text_of("%s/1/rank.%%r/stderr", base);
    for (uint32_t r = 0; r < io->plan->ranks; r++) {
        char *path = mlt_text_of("%s/1/rank.%u", name, r);
        if (r == 0)
            make_directories(path);
        else if (mkdir(path, 0777) != 0 && errno != EEXIST)
            mlt_quit(MLT_EXIT_USAGE, "directory '%s' for output cannot be made: %s", path,
                     strerror(errno));
        free(path);
    }
    free(name);
    free(escaped);
    free(base);
}

// A file that all ranks share is emptied here, once; the ranks append to it.
static bool empty_shared(const char *pattern)
{
    if (has(pattern, 'r') || has(pattern, 'p'))
        return false;
    char *path = expand(pattern, '%', "%");
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd < 0)
        mlt_quit(MLT_EXIT_USAGE, "output file '%s' cannot be opened: %s", path, strerror(errno));
    close(fd);
    free(path);
    return true;
}

// ---- Lines from ranks

static void sink_ready(mlt_source *source, uint32_t events);

static void resume(mlt_io *io, sink *to)
{
    to->paused = false;
    for (size_t i = 0; i < 2 * (size_t)io->plan->proc_count; i++) {
        stream *s = &io->streams[i];
        if (s->to == to && s->source.fd >= 0)
            (void)mlt_loop_add(io->loop, &s->source, EPOLLIN);
    }
}

static void pause_streams(mlt_io *io, sink *to)
{
    to->paused = true;
    for (size_t i = 0; i < 2 * (size_t)io->plan->proc_count; i++)
        if (io->streams[i].to == to)
            mlt_loop_remove(io->loop, &io->streams[i].source);
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
            if (!mlt_loop_add(to->io->loop, &to->source, EPOLLOUT))
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
    mlt_loop_remove(to->io->loop, &to->source);
    to->start = 0;
    if (to->broken || to->lost)
        to->length = 0;
}

static void sink_ready(mlt_source *source, uint32_t events)
{
    sink *to = mlt_container_of(source, sink, source);
    sink_flush(to, false);
    if (to->paused && to->length < QUEUE_LOW)
        resume(to->io, to);
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

static void put_label(stream *s)
{
    char label[24];
    int n = snprintf(label, sizeof label, "[%u] ", s->rank);
    if (!s->inside)
        sink_put(s->to, label, (size_t)n);
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
    if (s->length > LONGEST_LINE) {
        put_label(s);
        sink_put(s->to, s->line, s->length);
        s->inside = true;
        s->length = 0;
    }
}

static int number_of(const stream *s)
{
    return s->to == &s->io->sinks[0] ? STDOUT_FILENO : STDERR_FILENO;
}

// Passes on what was read last.
static void pass_on(stream *s, size_t seen)
{
    if (!s->raw) {
        pass_lines(s, seen);
        return;
    }
    if (s->io->put)
        s->io->put(s->io->user, s->proc, number_of(s), s->line, s->length);
    else
        sink_put(s->to, s->line, s->length);
    s->length = 0;
}

static void pass_last(stream *s)
{
    if (s->length > 0 || s->inside) { // a last line without its end
        put_label(s);
        sink_put(s->to, s->line, s->length);
        sink_put(s->to, "\n", 1);
    }
    s->length = 0;
    s->inside = false;
}

static void stream_end(stream *s)
{
    if (s->source.fd < 0)
        return;
    pass_last(s);
    if (s->io->put)
        s->io->put(s->io->user, s->proc, number_of(s), NULL, 0);
    mlt_loop_remove(s->io->loop, &s->source);
    close(s->source.fd);
    s->source.fd = -1;
    free(s->line);
    s->line = NULL;
    s->length = s->room = 0;
    s->inside = false;
}

// Reads once. False: nothing there now, or ended.
static bool stream_read(stream *s)
{
    if (s->room - s->length < READ_BYTES) {
        s->room = s->length + 2 * READ_BYTES;
        s->line = mlt_take_more(s->line, s->room, 1);
    }
    ssize_t n = read(s->source.fd, s->line + s->length, s->room - s->length);
    if (n < 0 && (errno == EINTR || errno == EAGAIN))
        return errno == EINTR;
    if (n <= 0) {
        stream_end(s);
        return false;
    }
    s->length += (size_t)n;
    pass_on(s, s->length - (size_t)n);
    return true;
}

static void stream_ready(mlt_source *source, uint32_t events)
{
    stream *s = mlt_container_of(source, stream, source);
    (void)stream_read(s);
    sink_flush(s->to, false);
    if (s->to->broken) // the rank shall see what it would see without us: a broken pipe
        stream_end(s);
    else if (s->to->length > QUEUE_FULL)
        pause_streams(s->io, s->to);
}

// ---- Standard input for all

static void feed_close(feed *f)
{
    mlt_loop_remove(f->io->loop, &f->source);
    if (f->source.fd >= 0)
        close(f->source.fd);
    f->source.fd = -1;
}

// As much as the process takes now.
static void feed_step(feed *f)
{
    mlt_io *io = f->io;
    char piece[READ_BYTES];
    while (f->source.fd >= 0 && f->done < io->spooled) {
        ssize_t n = pread(io->spool, piece, sizeof piece, (off_t)f->done);
        if (n > 0)
            n = write(f->source.fd, piece, (size_t)n);
        if (n >= 0) {
            f->done += (uint64_t)n;
        } else if (errno == EAGAIN) {
            (void)mlt_loop_add(io->loop, &f->source, EPOLLOUT);
            return;
        } else if (errno != EINTR) {
            feed_close(f);
        }
    }
    mlt_loop_remove(io->loop, &f->source);
    if (io->input_ended)
        feed_close(f);
}

// Where the fastest and the slowest reader are; false: nobody reads.
static bool find_readers(const mlt_io *io, uint64_t *fastest, uint64_t *slowest)
{
    bool any = false;
    *fastest = 0;
    *slowest = UINT64_MAX;
    for (uint32_t p = 0; p < io->plan->proc_count; p++) {
        const feed *f = &io->feeds[p];
        if (f->source.fd < 0)
            continue;
        any = true;
        *fastest = f->done > *fastest ? f->done : *fastest;
        *slowest = f->done < *slowest ? f->done : *slowest;
    }
    return any;
}

static void spool_piece(mlt_io *io, const char *piece, size_t length)
{
    for (size_t at = 0; at < length;) {
        ssize_t n = pwrite(io->spool, piece + at, length - at, (off_t)io->spooled);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            mlt_quit(MLT_EXIT_SYSTEM,
                     MLT_NO_ROOM
                     "the input that some ranks have not read yet, with --stdin all (%s)",
                     strerror(errno));
        at += (size_t)n;
        io->spooled += (uint64_t)n;
    }
}

// Memory that all have read. In large steps: each is a system call.
static void drop_read(mlt_io *io, uint64_t slowest)
{
    if (slowest < io->dropped + SPOOL_STEP)
        return;
    uint64_t bytes = (slowest - io->dropped) / SPOOL_STEP * SPOOL_STEP;
    (void)fallocate(io->spool, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)io->dropped,
                    (off_t)bytes);
    io->dropped += bytes;
}

// Reads while somebody wants more, and hands out.
static void pump(mlt_io *io)
{
    uint64_t fastest, slowest;
    while (!io->input_ended && find_readers(io, &fastest, &slowest)) {
        char piece[READ_BYTES];
        drop_read(io, slowest);
        if (io->spooled - fastest >= SPOOL_STEP) { // nobody needs more now
            mlt_loop_remove(io->loop, &io->input);
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
        if (!io->input_ended && mlt_loop_add(io->loop, &io->input, EPOLLIN))
            return; // one piece an event, so that mpirun stays awake for the rest
    }
    if (io->input_ended || !find_readers(io, &fastest, &slowest))
        mlt_loop_remove(io->loop, &io->input);
}

static void input_ready(mlt_source *source, uint32_t events)
{
    pump(mlt_container_of(source, mlt_io, input));
}

static void feed_ready(mlt_source *source, uint32_t events)
{
    feed *f = mlt_container_of(source, feed, source);
    feed_step(f);
    if (f->io->input_ended || f->io->spooled - f->done >= SPOOL_STEP)
        return;
    if (!mlt_loop_add(f->io->loop, &f->io->input, EPOLLIN))
        pump(f->io);
}

void mlt_io_run(mlt_io *io)
{
    if (io->feeds && !mlt_loop_add(io->loop, &io->input, EPOLLIN))
        pump(io);
}

// ---- Processes

bool mlt_io_reads_terminal(const mlt_options *options)
{
    return options->stdin_rank == MLT_STDIN_ALL && isatty(STDIN_FILENO);
}

static void make_streams(mlt_io *io)
{
    const mlt_plan *plan = io->plan;
    io->streams = mlt_take(2 * (size_t)plan->proc_count, sizeof *io->streams);
    for (uint32_t p = 0; p < plan->proc_count; p++)
        for (uint32_t i = 0; i < 2; i++)
            io->streams[2 * p + i] =
                (stream){.source = {.fd = -1, .ready = stream_ready},
                         .io = io,
                         .to = &io->sinks[i],
                         .proc = p,
                         .rank = plan->procs[p].first_rank,
                         .raw = !io->options->label || plan->procs[p].ranks > 1};
}

mlt_io *mlt_io_new(const mlt_options *options, const mlt_plan *plan, int loop)
{
    mlt_io *io = mlt_take(1, sizeof *io);
    *io = (mlt_io){.options = options, .plan = plan, .loop = loop, .stdin_proc = UINT32_MAX};
    for (int i = 0; i < 2; i++)
        io->sinks[i] = (sink){.source = {.fd = STDOUT_FILENO + i, .ready = sink_ready}, .io = io};
    if (options->output_directory)
        use_output_directory(io);
    if (options->outfile)
        io->outfile = absolute(options->outfile);
    if (options->errfile)
        io->errfile = absolute(options->errfile);
    io->out_shared = io->outfile && empty_shared(io->outfile);
    io->err_shared = io->errfile && empty_shared(io->errfile);
    if (options->label || mlt_plan_other(plan))
        make_streams(io);
    io->child_ends = mlt_take(3, sizeof *io->child_ends);
    for (int i = 0; i < 3; i++)
        io->child_ends[i] = -1;
    io->null_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (options->gdb >= 0)
        io->stdin_proc = mlt_plan_proc_of(plan, (uint32_t)options->gdb);
    else if (options->stdin_rank >= (int64_t)plan->ranks)
        mlt_quit(MLT_EXIT_USAGE, "--stdin names rank %lld, but the job has ranks 0 to %u",
                 (long long)options->stdin_rank, plan->ranks - 1);
    else if (options->stdin_rank >= 0)
        io->stdin_proc = mlt_plan_proc_of(plan, (uint32_t)options->stdin_rank);
    else if (options->stdin_rank == MLT_STDIN_ALL)
        io->feeds = mlt_take(plan->proc_count, sizeof *io->feeds);
    io->spool = io->feeds ? mlt_os_memfd("millet-stdin", 0) : -1;
    if (io->feeds && io->spool < 0)
        mlt_quit(MLT_EXIT_SYSTEM, MLT_NO_ROOM "the input, with --stdin all (%s)", strerror(errno));
    io->input = (mlt_source){.fd = STDIN_FILENO, .ready = input_ready};
    for (uint32_t p = 0; io->feeds && p < plan->proc_count; p++)
        io->feeds[p] = (feed){.source = {.fd = -1, .ready = feed_ready}, .io = io};
    return io;
}

void mlt_io_env(mlt_io *io, uint32_t first_proc, mlt_env *env)
{
    if (io->plan->procs[first_proc].ranks == 1)
        return;
    if (io->options->label)
        mlt_env_put(env, mlt_text_of("MILLET_LABEL=1"));
    if (io->outfile)
        mlt_env_put(env, mlt_text_of("MILLET_OUTFILE=%s", io->outfile));
    if (io->errfile && !io->options->merge)
        mlt_env_put(env, mlt_text_of("MILLET_ERRFILE=%s", io->errfile));
    int64_t reader = io->options->gdb >= 0 ? io->options->gdb : io->options->stdin_rank;
    mlt_env_put(env, reader >= 0               ? mlt_text_of("MILLET_STDIN=%lld", (long long)reader)
                     : reader == MLT_STDIN_ALL ? mlt_text_of("MILLET_STDIN=all")
                                               : mlt_text_of("MILLET_STDIN=none"));
}

static bool open_pipe(mlt_io *io, int which, int *own, char *why, size_t why_size)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) {
        snprintf(why, why_size, "no pipe for a rank's %s: %s; see `ulimit -n`",
                 which ? "output" : "input", strerror(errno));
        return false;
    }
    // Input: the process reads. Output: it writes.
    io->child_ends[which] = ends[which != 0];
    *own = ends[which == 0];
    (void)fcntl(*own, F_SETFL, O_NONBLOCK);
    return true;
}

static bool prepare_output(mlt_io *io, uint32_t proc, int i, mlt_spawn_stream *to, char *why,
                           size_t why_size)
{
    uint32_t rank = io->plan->procs[proc].first_rank;
    const char *file = io->plan->procs[proc].ranks > 1 ? NULL : i == 0 ? io->outfile : io->errfile;
    if (i == 1 && io->options->merge)
        return true;
    if (file) {
        char number[16];
        snprintf(number, sizeof number, "%u", rank);
        io->paths[i] = expand(file, 'r', number);
        to->file = io->paths[i];
        // The same name for both: the first one empties it.
        bool twin = i == 1 && io->outfile && strcmp(io->outfile, file) == 0;
        to->append = twin || (i == 0 ? io->out_shared : io->err_shared);
        return true;
    }
    if (!io->options->label && !io->put)
        return true;
    stream *s = &io->streams[2 * proc + (uint32_t)i];
    if (!open_pipe(io, 1 + i, &s->source.fd, why, why_size))
        return false;
    to->fd = io->child_ends[1 + i];
    return true;
}

bool mlt_io_prepare(mlt_io *io, uint32_t proc, mlt_spawn *spawn, char *why, size_t why_size)
{
    for (int i = 0; i < 3; i++)
        spawn->streams[i] = (mlt_spawn_stream){.fd = -1};
    spawn->merge = io->options->merge;
    if (io->feeds) {
        feed *f = &io->feeds[proc];
        if (!open_pipe(io, 0, &f->source.fd, why, why_size))
            return false;
        spawn->streams[0].fd = io->child_ends[0];
    } else if (proc != io->stdin_proc) {
        spawn->streams[0].fd = io->null_fd;
    }
    bool several = io->plan->procs[proc].ranks > 1; // the library does the rest, with files too
    for (int i = 0; i < 2 && (!several || io->put); i++)
        if (!prepare_output(io, proc, i, &spawn->streams[1 + i], why, why_size))
            return false;
    return true;
}

void mlt_io_started(mlt_io *io, uint32_t proc)
{
    for (int i = 0; i < 3; i++) {
        if (io->child_ends[i] >= 0)
            close(io->child_ends[i]);
        io->child_ends[i] = -1;
    }
    for (int i = 0; i < 2; i++) {
        free(io->paths[i]);
        io->paths[i] = NULL;
        stream *s = io->streams ? &io->streams[2 * proc + (uint32_t)i] : NULL;
        if (s && s->source.fd >= 0 && !s->to->paused)
            (void)mlt_loop_add(io->loop, &s->source, EPOLLIN);
    }
}

void mlt_io_send_to(mlt_io *io,
                    void (*put)(void *user, uint32_t proc, int stream, const char *bytes,
                                size_t count),
                    void *user)
{
    io->put = put;
    io->user = user;
    if (!io->streams)
        make_streams(io);
    for (uint32_t i = 0; i < 2 * io->plan->proc_count; i++)
        io->streams[i].raw = true; // whole lines are made where they are written
}

void mlt_io_ended(mlt_io *io, uint32_t proc)
{
    for (uint32_t i = 0; i < 2; i++) {
        stream *s = &io->streams[2 * proc + i];
        while (s->source.fd >= 0 && stream_read(s))
            ;
    }
}

void mlt_io_output(mlt_io *io, uint32_t proc, int number, const char *bytes, size_t count)
{
    stream *s = &io->streams[2 * proc + (number == STDERR_FILENO)];
    MLT_ARRAY_WANT(s->line, s->length + count, s->room);
    if (count)
        memcpy(s->line + s->length, bytes, count);
    s->length += count;
    if (count)
        pass_on(s, s->length - count);
    else
        pass_last(s);
    sink_flush(s->to, false);
}

bool mlt_io_finish(mlt_io *io, bool interrupted)
{
    bool whole = true;
    io->patience_ms = interrupted ? LAST_WORDS_MS : -1;
    for (uint32_t p = 0; p < io->plan->proc_count; p++) {
        for (uint32_t i = 0; io->streams && i < 2; i++) {
            stream *s = &io->streams[2 * p + i];
            while (s->source.fd >= 0 && stream_read(s))
                sink_flush(s->to, true);
            stream_end(s);
            pass_last(s); // of another host
            free(s->line);
        }
        if (io->feeds)
            feed_close(&io->feeds[p]);
    }
    for (int i = 0; i < 2; i++) {
        sink_flush(&io->sinks[i], true);
        whole = whole && !io->sinks[i].lost;
        free(io->sinks[i].queue);
    }
    mlt_loop_remove(io->loop, &io->input);
    if (io->null_fd >= 0)
        close(io->null_fd);
    if (io->spool >= 0)
        close(io->spool);
    free(io->streams);
    free(io->feeds);
    free(io->child_ends);
    free(io->outfile);
    free(io->errfile);
    free(io);
    return whole;
}
