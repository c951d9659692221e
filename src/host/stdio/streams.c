// SPDX-License-Identifier: BSD-3-Clause
// What a rank does to its stdout and stderr, where it shares the process and both are the library's
// own streams (output.h): it does that for itself alone. Other streams are libc's.
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "base/export.h"
#include "host/libc/libc.h"
#include "host/own.h"
#include "host/stdio/input.h"
#include "host/stdio/output.h"

// The calling rank's line of a stream of the library's own, NULL for other streams and callers. Made
// if the rank has none yet.
static mlt_line *line_of(const FILE *stream, mlt_rank **me)
{
    int which = mlt_output_which(stream);
    *me = which < 0 ? NULL : mlt_output_rank();
    return *me ? &mlt_own_of(*me)->line[which] : NULL;
}

// ---- buffers

// True: it is a stream of our own, and done with.
static bool set_buffered(FILE *stream, bool buffered)
{
    mlt_rank *me;
    mlt_line *line = line_of(stream, &me);
    if (!line)
        return mlt_output_which(stream) >= 0;
    flockfile(stream);
    if (!buffered)
        (void)mlt_output_flush(me, mlt_output_which(stream)); // its error stays
    line->buffered = buffered;
    funlockfile(stream);
    return true;
}

MLT_INTERPOSE int setvbuf(FILE *restrict stream, char *restrict buffer, int mode, size_t size)
{
    return set_buffered(stream, mode != _IONBF) ? 0 : MLT_LIBC(setvbuf)(stream, buffer, mode, size);
}

MLT_INTERPOSE void setbuf(FILE *restrict stream, char *restrict buffer)
{
    if (!set_buffered(stream, buffer != NULL))
        MLT_LIBC(setbuf)(stream, buffer);
}

MLT_INTERPOSE void setbuffer(FILE *restrict stream, char *restrict buffer, size_t size)
{
    if (!set_buffered(stream, buffer != NULL))
        MLT_LIBC(setbuffer)(stream, buffer, size);
}

MLT_INTERPOSE void setlinebuf(FILE *stream)
{
    if (!set_buffered(stream, true))
        MLT_LIBC(setlinebuf)(stream);
}

static bool flush_own(FILE *stream)
{
    mlt_rank *me = mlt_output_rank();
    if (!me)
        return true;
    flockfile(stream);
    bool whole = mlt_output_flush(me, mlt_output_which(stream));
    funlockfile(stream);
    return whole;
}

MLT_INTERPOSE int fflush(FILE *stream)
{
    if (mlt_output_which(stream) >= 0)
        return flush_own(stream) ? 0 : EOF;
    int status = MLT_LIBC(fflush)(stream);
    if (!stream && mlt_output_which(stdout) >= 0)
        status |= flush_own(stdout) && flush_own(stderr) ? 0 : EOF;
    return status;
}

MLT_INTERPOSE int fflush_unlocked(FILE *stream)
{
    return fflush(stream);
}

// ---- other files

static void close_own(mlt_rank *me, mlt_line *line, int which)
{
    (void)mlt_output_flush(me, which); // its error stays
    if (line->file && fclose(line->file) != 0)
        line->error = line->error ? line->error : errno;
    line->file = NULL;
}

static FILE *lead_elsewhere(FILE *stream, const char *path, const char *mode)
{
    mlt_rank *me;
    mlt_line *line = line_of(stream, &me);
    if (!line)
        return NULL;
    flockfile(stream);
    close_own(me, line, mlt_output_which(stream));
    line->file = path ? fopen(path, mode) : NULL;
    line->closed = path && !line->file;
    funlockfile(stream);
    if (line->file && mlt_output_which(stream) == 1)
        setvbuf(line->file, NULL, _IONBF, 0);
    return line->closed ? NULL : stream;
}

// False: it is no standard stream of a rank's own.
static bool reopen_own(const char *path, const char *mode, FILE *stream, FILE **own)
{
    if (mlt_output_which(stream) < 0)
        return mlt_input_reopen(path, mode, stream, own);
    *own = lead_elsewhere(stream, path, mode);
    return true;
}

MLT_INTERPOSE FILE *freopen(const char *restrict path, const char *restrict mode,
                            FILE *restrict stream)
{
    FILE *own;
    return reopen_own(path, mode, stream, &own) ? own : MLT_LIBC(freopen)(path, mode, stream);
}

FILE *freopen64(const char *restrict path, const char *restrict mode, FILE *restrict stream);
MLT_INTERPOSE FILE *freopen64(const char *restrict path, const char *restrict mode,
                              FILE *restrict stream)
{
    FILE *own;
    return reopen_own(path, mode, stream, &own) ? own : MLT_LIBC(freopen64)(path, mode, stream);
}

MLT_INTERPOSE int fclose(FILE *stream)
{
    mlt_rank *me;
    int which = mlt_output_which(stream);
    if (which < 0)
        return mlt_input_keeps(stream) ? 0 : MLT_LIBC(fclose)(stream);
    mlt_line *line = line_of(stream, &me);
    if (!line)
        return 0;
    flockfile(stream);
    close_own(me, line, which);
    line->closed = true;
    int error = line->error;
    funlockfile(stream);
    errno = error ? error : errno;
    return error ? EOF : 0;
}

// ---- questions

static int number_of(FILE *stream)
{
    const mlt_rank *me = mlt_output_rank();
    const mlt_rank_own *own = me ? me->own : NULL;
    int which = mlt_output_which(stream);
    if (own && own->line[which].closed) {
        errno = EBADF;
        return -1;
    }
    return own && own->line[which].file ? fileno(own->line[which].file) : STDOUT_FILENO + which;
}

MLT_INTERPOSE int fileno(FILE *stream)
{
    return mlt_output_which(stream) < 0 ? MLT_LIBC(fileno)(stream) : number_of(stream);
}

MLT_INTERPOSE int fileno_unlocked(FILE *stream)
{
    return mlt_output_which(stream) < 0 ? MLT_LIBC(fileno_unlocked)(stream) : number_of(stream);
}

static int error_of(const FILE *stream)
{
    const mlt_rank *me = mlt_output_rank();
    const mlt_rank_own *own = me ? me->own : NULL;
    return own && own->line[mlt_output_which(stream)].error != 0;
}

#undef ferror
MLT_INTERPOSE int ferror(FILE *stream)
{
    return mlt_output_which(stream) < 0 ? MLT_LIBC(ferror)(stream) : error_of(stream);
}

// Headers may have it inline.
MLT_INTERPOSE int has_error(FILE *stream) __asm__("ferror_unlocked");
int has_error(FILE *stream)
{
    return mlt_output_which(stream) < 0 ? MLT_LIBC(ferror_unlocked)(stream) : error_of(stream);
}

// ---- what goes past C's streams (Fortran's units, std::cout on its own): labels and files only

bool mlt_output_write_fd(int fd, const void *data, size_t size, ssize_t *done)
{
    int which = fd == STDOUT_FILENO ? 0 : fd == STDERR_FILENO ? 1 : -1;
    FILE *stream = which == 0 ? stdout : stderr;
    if (which < 0 || !size || mlt_output_which(stream) != which || !mlt_output_is_sorted(which) ||
        !mlt_output_rank())
        return false;
    flockfile(stream);
    *done = mlt_output_write(which, data, size);
    funlockfile(stream);
    *done = *done ? *done : -1;
    return true;
}
