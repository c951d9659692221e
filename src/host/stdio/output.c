// SPDX-License-Identifier: BSD-3-Clause
#include "host/stdio/output.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/array.h"
#include "base/log.h"
#include "base/memory.h"
#include "boot/label.h"
#include "host/fork.h"
#include "host/own.h"
#include "host/settings.h"
#include "host/start.h"
#include "host/stdio/cxx.h"
#include "host/stdio/pattern.h"
#include "os/fd.h"

enum {
    LINE_FIRST = 128,
    LINE_MOST = 64 * 1024, // a longer line is written in pieces, of which the first has the label
    FILES_OPEN = 256,      // more are opened and closed for each line
    PATH_BYTES = 4096,
};

static _Atomic int files_open; // relaxed everywhere: only a bound
static FILE *output_own[2];    // in the place of stdout, stderr; NULL: one rank. Before ranks run
static char *job_folder;       // for names of files that are relative; NULL: there are none

static const char *pattern_of(int which)
{
    const char *pattern = which ? mlt_host_settings.errfile : mlt_host_settings.outfile;
    return pattern && *pattern ? pattern : NULL;
}

// The errno of what stopped it, or 0.
static int output_write_all(int fd, struct iovec *parts, int count)
{
    while (count > 0) {
        ssize_t done = writev(fd, parts, count);
        if (done < 0 && errno == EAGAIN) // somebody made the descriptor nonblocking
            (void)poll(&(struct pollfd){.fd = fd, .events = POLLOUT}, 1, -1);
        if (done < 0 && (errno == EINTR || errno == EAGAIN))
            continue;
        if (done < 0)
            return errno;
        for (; count > 0 && (size_t)done >= parts->iov_len; parts++, count--)
            done -= (ssize_t)parts->iov_len;
        if (count > 0) {
            parts->iov_base = (char *)parts->iov_base + done;
            parts->iov_len -= (size_t)done;
        }
    }
    return 0;
}

// Makes the folders that the path goes through.
static void make_folders(char *path)
{
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        (void)mkdir(path, 0777); // if it fails, open says so
        *slash = '/';
    }
}

// A file of the rank's own is emptied when it is first opened. One that several ranks share, or
// both streams of a rank, is the launcher's to empty.
static bool is_shared(int which)
{
    return !mlt_pattern_names_rank(pattern_of(which)) ||
           (which == 1 && pattern_of(0) && strcmp(pattern_of(0), pattern_of(1)) == 0);
}

// Opens the rank's file. The path is not on the stack: a rank's may be small.
static void open_file(mlt_rank *me, mlt_line *line, int which)
{
    char *path = mlt_xrealloc(NULL, 1, PATH_BYTES);
    bool relative = job_folder && pattern_of(which)[0] != '/'; // to the job's directory
    int n = relative ? snprintf(path, PATH_BYTES, "%s/", job_folder) : 0;
    mlt_pattern_name(path + n, PATH_BYTES - (size_t)n, pattern_of(which), me->world);
    int flags = O_WRONLY | O_CREAT | O_CLOEXEC | O_APPEND |
                (line->created || is_shared(which) ? 0 : O_TRUNC);
    line->fd = open(path, flags, 0666);
    if (line->fd < 0 && errno == ENOENT) {
        make_folders(path);
        line->fd = open(path, flags, 0666);
    }
    if (line->fd < 0)
        mlt_fatal("rank %d cannot write its output to '%s': %s", me->world, path, strerror(errno));
    line->created = 1;
    free(path);
    atomic_fetch_add_explicit(&files_open, 1, memory_order_relaxed);
}

static void close_file(mlt_line *line)
{
    if (line->fd < 0)
        return;
    close(line->fd);
    line->fd = -1;
    atomic_fetch_sub_explicit(&files_open, 1, memory_order_relaxed);
}

static bool has_labels(void)
{
    return mlt_host_settings.label || mlt_host_settings.timestamp;
}

static size_t write_label(char text[MLT_LABEL_BYTES], uint32_t rank)
{
    mlt_label label = {mlt_host_settings.timestamp != 0, mlt_host_settings.label != 0,
                       mlt_host_settings.job, rank};
    return mlt_label_write(&label, text);
}

// Writes what the line holds and a piece, with the label if labels are wanted.
static void emit(mlt_rank *me, mlt_line *line, int which, const char *text, size_t length)
{
    char text_of_label[MLT_LABEL_BYTES];
    struct iovec parts[3];
    int n = 0, error;
    if (pattern_of(which)) {
        if (line->fd < 0)
            open_file(me, line, which);
        parts[n++] = (struct iovec){line->text, line->length};
        parts[n++] = (struct iovec){(void *)(uintptr_t)text, length};
        error = output_write_all(line->fd, parts, n);
        if (atomic_load_explicit(&files_open, memory_order_relaxed) > FILES_OPEN)
            close_file(line);
    } else {
        if (has_labels() && !line->inside)
            parts[n++] =
                (struct iovec){text_of_label, write_label(text_of_label, (uint32_t)me->world)};
        parts[n++] = (struct iovec){line->text, line->length};
        parts[n++] = (struct iovec){(void *)(uintptr_t)text, length};
        error = output_write_all(which ? STDERR_FILENO : STDOUT_FILENO, parts, n);
    }
    line->inside = length > 0 && text[length - 1] != '\n';
    line->length = 0;
    line->error = line->error ? line->error : error;
}

static void keep(mlt_line *line, const char *text, size_t length)
{
    size_t whole = line->length + length;
    MLT_ARRAY_WANT(line->text, whole < LINE_FIRST ? LINE_FIRST : whole, line->room);
    memcpy(line->text + line->length, text, length);
    line->length += (uint32_t)length;
}

// True if whole lines are told apart: pieces must wait, whatever the program wants.
static bool is_labelled(int which)
{
    return has_labels() && !pattern_of(which);
}

bool mlt_output_is_sorted(int which)
{
    return has_labels() || pattern_of(which);
}

static void output_write_lines(mlt_rank *me, mlt_line *line, int which, const char *text,
                               size_t size)
{
    const char *at = text, *end = text + size;
    while (at < end) {
        const char *newline = is_labelled(which) ? memchr(at, '\n', (size_t)(end - at))
                                                 : memrchr(at, '\n', (size_t)(end - at));
        size_t length = (size_t)((newline ? newline + 1 : end) - at);
        if (newline || line->length + length > LINE_MOST || !(line->buffered || is_labelled(which)))
            emit(me, line, which, at, length);
        else
            keep(line, at, length);
        at += length;
    }
}

mlt_rank *mlt_output_rank(void)
{
    return output_own[0] ? mlt_thread_sharer() : NULL;
}

static ssize_t write_plainly(int which, const char *text, size_t size)
{
    struct iovec all = {(void *)(uintptr_t)text, size};
    errno = output_write_all(which ? STDERR_FILENO : STDOUT_FILENO, &all, 1);
    return errno ? 0 : (ssize_t)size; // 0 is a cookie's way to say that it failed
}

// True for whole lines, or a piece that goes out at once, of a rank that has nothing of its own:
// most ranks never do more.
static bool is_plain(const mlt_rank *me, int which, const char *text, size_t size)
{
    return !me->own && !mlt_output_is_sorted(which) && (which == 1 || text[size - 1] == '\n');
}

// The stream's lock keeps a rank's threads apart.
ssize_t mlt_output_write(int which, const char *text, size_t size)
{
    mlt_rank *me = mlt_output_rank();
    if (size == 0 || !me || is_plain(me, which, text, size))
        return size ? write_plainly(which, text, size) : 0;
    mlt_line *line = &mlt_own_of(me)->line[which];
    if (line->closed || line->file) {
        errno = line->closed ? EBADF : 0;
        size_t done = line->closed ? 0 : fwrite(text, 1, size, line->file);
        line->error = done < size && !line->error ? errno : line->error;
        return done < size ? 0 : (ssize_t)size;
    }
    output_write_lines(me, line, which, text, size);
    errno = line->error ? line->error : errno;
    return line->error ? 0 : (ssize_t)size;
}

static ssize_t write_out(void *cookie, const char *text, size_t size)
{
    return mlt_output_write(0, text, size);
}

static ssize_t write_err(void *cookie, const char *text, size_t size)
{
    return mlt_output_write(1, text, size);
}

static FILE *stream(cookie_write_function_t *write_function)
{
    FILE *f = fopencookie(NULL, "w", (cookie_io_functions_t){.write = write_function});
    if (!f)
        mlt_fatal("no stream for the ranks' output: %s", strerror(errno));
    // No buffer of its own: it would hold bytes of several ranks.
    setvbuf(f, NULL, _IONBF, 0);
    return f;
}

void mlt_output_init(void)
{
    if (pattern_of(0) || pattern_of(1))
        job_folder = getcwd(NULL, 0); // a rank may leave it
    char first[MLT_LABEL_BYTES];
    (void)write_label(first, 0); // on this stack
    fflush(stdout);
    output_own[0] = stream(write_out);
    output_own[1] = stream(write_err);
    mlt_cxx_rebind(NULL, stdout, output_own[0]);
    mlt_cxx_rebind(NULL, stderr, output_own[1]);
    stdout = output_own[0];
    stderr = output_own[1];
}

int mlt_output_which(const FILE *stream)
{
    return !stream ? -1 : stream == output_own[0] ? 0 : stream == output_own[1] ? 1 : -1;
}

bool mlt_output_flush(mlt_rank *me, int which)
{
    mlt_rank_own *mine = me->own;
    mlt_line *line = mine ? &mine->line[which] : NULL;
    if (!line)
        return true;
    if (line->file)
        return fflush(line->file) == 0;
    if (line->length > 0 && !is_labelled(which))
        emit(me, line, which, "", 0);
    errno = line->error ? line->error : errno;
    return !line->error;
}

void mlt_output_rescue(const mlt_rank *me)
{
    const mlt_rank_own *mine = me ? me->own : NULL;
    const mlt_line *line = mine ? &mine->line[0] : NULL;
    const char *text = line ? line->text : NULL;
    size_t length = line && !line->file ? line->length : 0;
    int fd = line && line->fd >= 0 ? line->fd : STDOUT_FILENO;
    if (!output_own[0])
        length = mlt_os_stream_holds(stdout, &text, &fd);
    if (length)
        (void)!write(fd, text, length); // EFAULT: it is no text
}

void mlt_output_forked(mlt_rank *me)
{
    mlt_rank_own *mine = me->own;
    for (int which = 0; mine && which < 2; which++)
        mine->line[which].length = 0;
}

// A child's last line, if exit ends it.
__attribute__((destructor)) static void child_ends(void)
{
    mlt_rank *me = mlt_fork_rank();
    if (me && me->own)
        (void)mlt_output_end(me); // its exit status is decided; the message was written
}

static void tell_loss(int32_t rank, int which, int error)
{
    char who[32] = "";
    if (rank >= 0)
        snprintf(who, sizeof who, "rank %d: ", rank);
    mlt_log("%ssome of its %s was lost: %s", who, which ? "standard error" : "standard output",
            error ? strerror(error) : "a write failed; is a disk full?");
}

bool mlt_output_is_lost(int32_t rank)
{
    FILE *const streams[] = {stdout, stderr};
    bool lost = false;
    for (int which = 0; which < 2; which++) {
        if (output_own[which] || fileno(streams[which]) < 0) // lines know; the program closed it
            continue;
        errno = 0; // which tells why, unless an earlier write failed: streams do not keep it
        if (fflush(streams[which]) != 0 || ferror(streams[which])) {
            tell_loss(rank, which, errno);
            lost = true;
        }
    }
    return lost;
}

bool mlt_output_end(mlt_rank *me)
{
    mlt_rank_own *mine = me->own;
    bool whole = true;
    for (int which = 0; which < 2; which++) {
        mlt_line *line = &mine->line[which];
        if (output_own[which])
            flockfile(output_own[which]); // a thread of the rank may write
        if (line->length > 0 || (line->inside && is_labelled(which)))
            emit(me, line, which, "\n", is_labelled(which) ? 1 : 0);
        close_file(line);
        free(line->text);
        if (line->file && fclose(line->file) != 0)
            line->error = line->error ? line->error : errno;
        bool lost = line->error && !line->closed;
        if (lost)
            tell_loss(me->world, which, line->error);
        whole = whole && !lost;
        *line = (mlt_line){.fd = -1};
        if (output_own[which])
            funlockfile(output_own[which]);
    }
    return whole;
}
