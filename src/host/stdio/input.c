// SPDX-License-Identifier: BSD-3-Clause
#include "host/stdio/input.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <wchar.h>

#include "base/array.h"
#include "base/export.h"
#include "base/log.h"
#include "host/fork.h"
#include "host/globals.h"
#include "host/libc/block.h"
#include "host/libc/libc.h"
#include "host/own.h"
#include "host/settings.h"
#include "host/start.h"
#include "host/stdio/cxx.h"
#include "os/fd.h"
#include "os/file.h"

enum { READ_BYTES = 64 * 1024, INPUT_NOBODY = -1, EVERYBODY = -2 };

// A rank's own reading of input that all have.
typedef struct mlt_input {
    FILE *stream;
    bool begun; // it was opened
    bool file;  // freopen has led it to another file
    size_t at;  // in what was read
} mlt_input;

// Ranks that wait for the same bytes. The first one that sees them takes them out of the descriptor, so
// the others would not be woken: it rings for them, and who waits next does so elsewhere.
typedef struct input_waiters {
    int bell;
    uint32_t count;
} input_waiters;

static struct {
    int32_t reader; // a rank, NOBODY, EVERYBODY
    FILE *process, *nothing;
    // What all read, as far as one has read it; under `lock`.
    pthread_mutex_t lock;
    char *text;
    size_t length, room;
    bool ended;
    input_waiters *waiters; // NULL: nobody has waited since it was rung
} input_all = {.lock = PTHREAD_MUTEX_INITIALIZER};

// No lock of libc's is held while the stream waits for input: an fflush(NULL) of any rank would wait
// for it.
static void unlock(FILE *stream)
{
    if (stream)
        (void)__fsetlocking(stream, FSETLOCKING_BYCALLER);
}

bool mlt_input_init(char *why, size_t why_size)
{
    const char *who = mlt_host_settings.input;
    input_all.reader = strcmp(who, "all") == 0    ? EVERYBODY
                       : strcmp(who, "none") == 0 ? INPUT_NOBODY
                                                  : (int32_t)strtol(who, NULL, 10);
    input_all.process = stdin;
    unlock(stdin);
    input_all.nothing = fopen("/dev/null", "re");
    if (!input_all.nothing)
        mlt_fatal("no stream for the ranks' input: /dev/null: %s", strerror(errno));
    snprintf(why, why_size,
             "--stdin all would tear the input apart: several ranks share this process, and with "
             "their globals one standard input; start each rank as a process, or let rank 0 read "
             "and broadcast it");
    return input_all.reader != EVERYBODY || mlt_globals_are_own();
}

// ---- input that all have

// The following have the lock.

static input_waiters *join_waiters(void)
{
    input_waiters *waiters = input_all.waiters;
    if (!waiters) {
        waiters = input_all.waiters = mlt_xcalloc(1, sizeof *waiters);
        waiters->bell = mlt_os_eventfd_new();
        if (waiters->bell < 0)
            mlt_fatal("ranks cannot wait for input: %s", mlt_os_no_descriptor(errno));
    }
    waiters->count++;
    return waiters;
}

static void leave_waiters(input_waiters *waiters)
{
    if (--waiters->count > 0 || waiters == input_all.waiters)
        return;
    mlt_os_close(waiters->bell);
    free(waiters);
}

static void ring_waiters(void)
{
    if (!input_all.waiters || input_all.waiters->count == 0)
        return;
    mlt_os_eventfd_ring(input_all.waiters->bell);
    input_all.waiters = NULL;
}

// Reads once more from the process's descriptor, if something is there.
static void read_more(void)
{
    struct pollfd now = {.fd = STDIN_FILENO, .events = POLLIN};
    if (MLT_LIBC(poll)(&now, 1, 0) == 0)
        return;
    MLT_ARRAY_WANT(input_all.text, input_all.length + READ_BYTES, input_all.room);
    ssize_t n;
    do
        n = MLT_LIBC(read)(STDIN_FILENO, input_all.text + input_all.length, READ_BYTES);
    while (n < 0 && errno == EINTR);
    input_all.length += n > 0 ? (size_t)n : 0;
    input_all.ended = n <= 0;
    ring_waiters();
}

// Waits without the lock: others may not have read as much.
static ssize_t read_common(void *cookie, char *to, size_t size)
{
    mlt_input *own = cookie;
    bool comes = true;
    pthread_mutex_lock(&input_all.lock);
    while (own->at == input_all.length && !input_all.ended && comes) {
        input_waiters *waiters = join_waiters();
        pthread_mutex_unlock(&input_all.lock);
        comes = mlt_block_until_readable(STDIN_FILENO, waiters->bell);
        pthread_mutex_lock(&input_all.lock);
        leave_waiters(waiters);
        if (comes && own->at == input_all.length && !input_all.ended)
            read_more();
    }
    size_t n = input_all.length - own->at < size ? input_all.length - own->at : size;
    if (n)
        memcpy(to, input_all.text + own->at, n);
    own->at += n;
    pthread_mutex_unlock(&input_all.lock);
    return n || comes ? (ssize_t)n : -1;
}

static mlt_input *input_of(mlt_rank *me)
{
    mlt_rank_own *own = mlt_own_of(me);
    if (!own->input)
        own->input = mlt_xcalloc(1, sizeof *own->input);
    return own->input;
}

static FILE *own_reading(mlt_rank *me)
{
    mlt_input *own = input_of(me);
    if (!own->stream && !own->begun) {
        own->begun = true;
        own->stream = fopencookie(own, "r", (cookie_io_functions_t){.read = read_common});
        unlock(own->stream);
    }
    return own->stream ? own->stream : input_all.nothing;
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
    return input_all.reader == me->world || (own && own->process_input);
}

static FILE *stream_of(mlt_rank *me)
{
    if (input_all.reader == EVERYBODY)
        return own_reading(me);
    return is_reader(me) ? input_all.process : input_all.nothing;
}

void mlt_input_rank(mlt_rank *me)
{
    FILE **own = mlt_globals_are_own() ? mlt_globals_variable(me, &stdin) : NULL;
    if (!own)
        return;
    *own = stream_of(me);
    if (own == &stdin) // the original: its library is bound already
        mlt_cxx_rebind(NULL, input_all.process, *own);
}

void mlt_input_take(mlt_rank *me)
{
    if (!input_all.process || input_all.reader == EVERYBODY)
        return;
    mlt_own_of(me)->process_input = true;
    mlt_input_rank(me);
}

// NULL: the process's input is right.
static mlt_rank *input_caller(void)
{
    return input_all.process ? mlt_thread_sharer() : NULL;
}

bool mlt_input_keeps(const FILE *stream)
{
    const mlt_rank *me = stream ? input_caller() : NULL;
    const mlt_rank_own *own = me ? me->own : NULL;
    if (own && own->input && own->input->stream == stream)
        own->input->stream = NULL; // nothing is left to be closed when it ends
    return me &&
           (stream == input_all.nothing || (stream == input_all.process && !mlt_fork_is_child()));
}

// libc cannot lead a stream of fopencookie elsewhere.
static bool is_leadable(const mlt_rank *me, const FILE *stream)
{
    const mlt_rank_own *own = me->own;
    return stream == input_all.nothing ||
           (own && own->input && own->input->stream == stream && !own->input->file);
}

bool mlt_input_reopen(const char *path, const char *mode, FILE *stream, FILE **out)
{
    mlt_rank *me = stream ? input_caller() : NULL;
    FILE **own = me && is_leadable(me, stream) ? mlt_globals_variable(me, &stdin) : NULL;
    if (!own)
        return false;
    *out = path ? fopen(path, mode) : stream;
    if (!path || !*out)
        return true;
    mlt_cxx_rebind(me, stream, *out);
    if (stream != input_all.nothing)
        (void)MLT_LIBC(fclose)(stream);
    *own = input_of(me)->stream = *out;
    input_of(me)->file = true;
    return true;
}

int mlt_input_of_child(const mlt_rank *me)
{
    bool none = input_all.process && input_all.reader != EVERYBODY && !is_reader(me);
    return none ? fileno(input_all.nothing) : STDIN_FILENO;
}

void mlt_input_forked(mlt_rank *me)
{
    pthread_mutex_init(&input_all.lock, NULL); // another rank may have had it
    input_all.waiters = NULL;                  // the parent's ranks are not here
    if (mlt_input_of_child(me) != STDIN_FILENO)
        (void)dup2(mlt_input_of_child(me), STDIN_FILENO);
}

bool mlt_input_read(void *to, size_t size, ssize_t *done)
{
    mlt_rank *me = mlt_fork_is_child() ? NULL : input_caller();
    if (!me || is_reader(me))
        return false;
    const mlt_rank_own *own = me->own;
    if (own && own->input && own->input->file && own->input->stream)
        *done = MLT_LIBC(read)(fileno(own->input->stream), to, size);
    else if (input_all.reader == EVERYBODY && own_reading(me) != input_all.nothing)
        *done = read_common(mlt_own_of(me)->input, to, size);
    else
        *done = 0;
    return true;
}

// The stream that functions read which name none.
static FILE *current(void)
{
    mlt_rank *me = input_caller();
    if (!me)
        return stdin;
    FILE **own = mlt_globals_are_own() ? mlt_globals_variable(me, &stdin) : NULL;
    return own ? *own : stream_of(me);
}

// ---- what programs call

// Headers may have them inline.
MLT_INTERPOSE int read_char(void) __asm__("getchar");
MLT_INTERPOSE int read_char_unlocked(void) __asm__("getchar_unlocked");

int read_char(void)
{
    return getc(current());
}

int read_char_unlocked(void)
{
    return getc_unlocked(current());
}

MLT_INTERPOSE wint_t getwchar(void)
{
    return getwc(current());
}

MLT_INTERPOSE wint_t getwchar_unlocked(void)
{
    return getwc_unlocked(current());
}

// There is a scanf for each meaning that a standard has given to formats; headers choose.
#define SCAN(prefix, name, vname, kind, parser)                                                    \
    int prefix##_parse(FILE *, const kind *, va_list) __asm__(parser);                             \
    MLT_INTERPOSE int prefix##_scan(const kind *format, ...) __asm__(name);                        \
    MLT_INTERPOSE int prefix##_scan_list(const kind *format, va_list more) __asm__(vname);         \
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
