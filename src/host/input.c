// SPDX-License-Identifier: BSD-3-Clause
#include "host/input.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <wchar.h>

#include "base/array.h"
#include "base/export.h"
#include "base/log.h"
#include "host/cxx.h"
#include "host/entry.h"
#include "host/fork.h"
#include "host/globals.h"
#include "host/libc.h"
#include "host/own.h"
#include "host/settings.h"
#include "host/start.h"

enum { READ_BYTES = 64 * 1024, NOBODY = -1, EVERYBODY = -2 };

// A rank's own reading of input that all have.
typedef struct mlt_input {
    FILE *stream;
    size_t at; // in what was read
} mlt_input;

static struct {
    int32_t reader; // a rank, NOBODY, EVERYBODY
    FILE *process, *nothing;
    // What all read, as far as one has read it; under `lock`.
    pthread_mutex_t lock;
    char *text;
    size_t length, room;
    bool ended;
} all = {.lock = PTHREAD_MUTEX_INITIALIZER};

bool mlt_input_init(char *why, size_t why_size)
{
    const char *who = mlt_host_settings.input;
    all.reader = strcmp(who, "all") == 0    ? EVERYBODY
                 : strcmp(who, "none") == 0 ? NOBODY
                                            : (int32_t)strtol(who, NULL, 10);
    all.process = stdin;
    all.nothing = fopen("/dev/null", "re");
    if (!all.nothing)
        mlt_fatal("no stream for the ranks' input: /dev/null: %s", strerror(errno));
    snprintf(why, why_size,
             "--stdin all would tear the input apart: several ranks share this process, and with "
             "their globals one standard input; start each rank as a process, or let rank 0 read "
             "and broadcast it");
    return all.reader != EVERYBODY || mlt_globals_are_own();
}

// ---- input that all have

// Reads once more from the process's descriptor. With the lock: it blocks the ranks of other threads
// that have read as much, which wait for the same.
static void read_more(void)
{
    MLT_ARRAY_WANT(all.text, all.length + READ_BYTES, all.room);
    ssize_t n;
    do
        n = MLT_LIBC(read)(STDIN_FILENO, all.text + all.length, READ_BYTES);
    while (n < 0 && errno == EINTR);
    all.length += n > 0 ? (size_t)n : 0;
    all.ended = n <= 0;
}

static ssize_t read_common(void *cookie, char *to, size_t size)
{
    mlt_input *own = cookie;
    pthread_mutex_lock(&all.lock);
    if (own->at == all.length && !all.ended)
        read_more();
    size_t n = all.length - own->at < size ? all.length - own->at : size;
    memcpy(to, all.text + own->at, n);
    own->at += n;
    pthread_mutex_unlock(&all.lock);
    return (ssize_t)n;
}

static FILE *own_reading(mlt_rank *me)
{
    mlt_rank_own *own = mlt_own_of(me);
    if (!own->input) {
        own->input = mlt_take(1, sizeof *own->input);
        own->input->stream =
            fopencookie(own->input, "r", (cookie_io_functions_t){.read = read_common});
    }
    return own->input->stream ? own->input->stream : all.nothing;
}

void mlt_input_free(mlt_input *own)
{
    if (own && own->stream)
        (void)MLT_LIBC(fclose)(own->stream);
    free(own);
}

// ---- a rank's

static bool is_reader(const mlt_rank *me)
{
    const mlt_rank_own *own = me->own;
    return all.reader == me->world || (own && own->process_input);
}

static FILE *stream_of(mlt_rank *me)
{
    if (all.reader == EVERYBODY)
        return own_reading(me);
    return is_reader(me) ? all.process : all.nothing;
}

void mlt_input_rank(mlt_rank *me)
{
    FILE **own = mlt_globals_are_own() ? mlt_globals_variable(me, &stdin) : NULL;
    if (!own)
        return;
    *own = stream_of(me);
    if (own == &stdin) // the original: its library is bound already
        mlt_cxx_rebind(all.process, *own);
}

void mlt_input_take(mlt_rank *me)
{
    if (!all.process || all.reader == EVERYBODY)
        return;
    mlt_own_of(me)->process_input = true;
    mlt_input_rank(me);
}

bool mlt_input_is_common(const FILE *stream)
{
    return stream && stream == all.nothing;
}

// NULL: the process's input is right.
static mlt_rank *caller(void)
{
    mlt_rank *me = all.process && mlt_entry_many() ? mlt_thread_rank() : NULL;
    return me && me->worker && !me->ended ? me : NULL;
}

bool mlt_input_read(void *to, size_t size, ssize_t *done)
{
    mlt_rank *me = mlt_fork_is_child() ? NULL : caller();
    if (!me || is_reader(me))
        return false;
    *done = 0;
    if (all.reader == EVERYBODY && own_reading(me) != all.nothing)
        *done = read_common(mlt_own_of(me)->input, to, size);
    return true;
}

// The stream that functions read which name none.
static FILE *current(void)
{
    mlt_rank *me = caller();
    if (!me)
        return stdin;
    FILE **own = mlt_globals_are_own() ? mlt_globals_variable(me, &stdin) : NULL;
    return own ? *own : stream_of(me);
}

// ---- what programs call

MLT_EXPORT int getchar(void)
{
    return getc(current());
}

MLT_EXPORT int getchar_unlocked(void)
{
    return getc_unlocked(current());
}

MLT_EXPORT wint_t getwchar(void)
{
    return getwc(current());
}

MLT_EXPORT wint_t getwchar_unlocked(void)
{
    return getwc_unlocked(current());
}

// There is a scanf for each meaning that a standard has given to formats; headers choose.
#define SCAN(prefix, name, vname, kind, parser)                                                    \
    int prefix##_parse(FILE *, const kind *, va_list) __asm__(parser);                             \
    MLT_EXPORT int prefix##_scan(const kind *format, ...) __asm__(name);                           \
    MLT_EXPORT int prefix##_scan_list(const kind *format, va_list more) __asm__(vname);            \
    int prefix##_scan(const kind *format, ...)                                                     \
    {                                                                                              \
        va_list more;                                                                              \
        va_start(more, format);                                                                    \
        int n = prefix##_parse(current(), format, more);                                           \
        va_end(more);                                                                              \
        return n;                                                                                  \
    }                                                                                              \
    int prefix##_scan_list(const kind *format, va_list more)                                       \
    {                                                                                              \
        return prefix##_parse(current(), format, more);                                            \
    }

SCAN(gnu, "scanf", "vscanf", char, "vfscanf")
SCAN(gnu_wide, "wscanf", "vwscanf", wchar_t, "vfwscanf")
SCAN(c99, "__isoc99_scanf", "__isoc99_vscanf", char, "__isoc99_vfscanf")
SCAN(c99_wide, "__isoc99_wscanf", "__isoc99_vwscanf", wchar_t, "__isoc99_vfwscanf")
#if __GLIBC_PREREQ(2, 38)
SCAN(c23, "__isoc23_scanf", "__isoc23_vscanf", char, "__isoc23_vfscanf")
SCAN(c23_wide, "__isoc23_wscanf", "__isoc23_vwscanf", wchar_t, "__isoc23_vfwscanf")
#endif
