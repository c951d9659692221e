// SPDX-License-Identifier: BSD-3-Clause
//
// What every multi-rank test uses: checks that name rank and place and then end the job, byte
// patterns, and a small generator of reproducible random numbers.
//
// Several ranks may share one address space, and with it every writable global. So nothing here,
// and nothing in a test, is a mutable global or a static local: all state lives on the stack or the
// heap.

#pragma once

#include <mpi.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Tests are validated with another MPI (`run_mpi --peer`), compiled with -DPEER. MPICH 4.0 does not
// set all that the standard wants of a status: "not cancelled" after a probe, MPI_ERROR of an empty
// one, the empty one of MPI_Testany without an active request, that of nonblocking receives from
// MPI_PROC_NULL, and that of a nonblocking sendrecv (which crashes with MPI_PROC_NULL). Its
// error message on truncation does not name the lengths.
#ifdef PEER
enum { STRICT = 0 };
#else
enum { STRICT = 1 };
#endif

// The condition holds, or the job ends.
#define CHECK(cond) ((cond) ? (void)0 : check_fail(__FILE__, __LINE__, "%s", #cond))

// Two integers are equal; prints both when they are not.
#define CHECK_INT(got, want) check_int(__FILE__, __LINE__, #got, #want, (got), (want))

// An MPI call returns MPI_SUCCESS; prints the error message when it does not.
#define CHECK_OK(call) check_ok(__FILE__, __LINE__, #call, (call))

// An MPI call fails with this class, and its error message holds both words (normally the name of
// the function and the offending value). Needs errors_return().
#define CHECK_ERROR(call, class, function, value)                                                  \
    check_error(__FILE__, __LINE__, #call, (call), (class), (class), (function), (value))

// As above where the standard leaves two classes open.
#define CHECK_ERROR2(call, class1, class2, function, value)                                        \
    check_error(__FILE__, __LINE__, #call, (call), (class1), (class2), (function), (value))

// A status of a received message. `bytes` is compared with MPI_Get_count of MPI_BYTE.
#define CHECK_STATUS(status, source, tag, bytes)                                                   \
    check_status(__FILE__, __LINE__, (status), (source), (tag), (bytes))

// The empty status: any source, any tag, success, no elements, not cancelled.
#define CHECK_EMPTY(status) check_empty(__FILE__, __LINE__, (status))

// A buffer holds what pattern_fill with the same arguments wrote.
#define CHECK_PATTERN(buf, n, seed) check_pattern(__FILE__, __LINE__, (buf), (n), (seed))

// A test may say more about a failure: CHECK_NOTE(rank) is a call that prints it.
#ifndef CHECK_NOTE
#define CHECK_NOTE(rank) (void)0
#endif

// What is called all over a program, but only waits there for the unlikely: inlined each time it
// would double the time that it takes to compile some two hundred of them.
#define OUT_OF_LINE __attribute__((noinline, unused))

#define COUNT_OF(array) ((int)(sizeof(array) / sizeof((array)[0])))

_Noreturn OUT_OF_LINE static void check_fail(const char *file, int line, const char *format, ...)
{
    int inited = 0, finalized = 0, rank = -1;
    char text[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    MPI_Initialized(&inited);
    MPI_Finalized(&finalized);
    if (inited && !finalized)
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    fprintf(stderr, "rank %d: %s:%d: failed: %s\n", rank, file, line, text);
    CHECK_NOTE(rank);
    fflush(NULL);
    if (inited && !finalized)
        MPI_Abort(MPI_COMM_WORLD, 1);
    exit(1);
}

static inline void check_int(const char *file, int line, const char *got_text,
                             const char *want_text, long long got, long long want)
{
    if (got != want)
        check_fail(file, line, "%s is %lld, should be %s = %lld", got_text, got, want_text, want);
}

OUT_OF_LINE static void check_ok(const char *file, int line, const char *call, int code)
{
    if (code == MPI_SUCCESS)
        return;
    char text[MPI_MAX_ERROR_STRING + 1] = "";
    int length = 0;
    MPI_Error_string(code, text, &length);
    check_fail(file, line, "%s returned %d: %s", call, code, text);
}

OUT_OF_LINE static void check_error(const char *file, int line, const char *call, int code,
                                    int class1, int class2, const char *function, const char *value)
{
    char text[MPI_MAX_ERROR_STRING + 1] = "";
    int length = -1, class = -1;
    if (code == MPI_SUCCESS)
        check_fail(file, line, "%s succeeded, should fail with class %d", call, class1);
    if (MPI_Error_class(code, &class) != MPI_SUCCESS)
        check_fail(file, line, "%s: MPI_Error_class of code %d failed", call, code);
    if (MPI_Error_string(code, text, &length) != MPI_SUCCESS)
        check_fail(file, line, "%s: MPI_Error_string of code %d failed", call, code);
    if (class != class1 && class != class2)
        check_fail(file, line, "%s: class %d, should be %d or %d: %s", call, class, class1, class2,
                   text);
    if (length != (int)strlen(text) || length == 0)
        check_fail(file, line, "%s: length %d of error text: %s", call, length, text);
    if (!strstr(text, function) || !strstr(text, value))
        check_fail(file, line, "%s: error text lacks '%s' or '%s': %s", call, function, value,
                   text);
}

OUT_OF_LINE static void check_status(const char *file, int line, const MPI_Status *status,
                                     int source, int tag, long long bytes)
{
    int cancelled = -1;
#if MPI_VERSION >= 4
    MPI_Count count = -1;
    MPI_Get_count_c(status, MPI_BYTE, &count);
#else
    int count = -1;
    MPI_Get_count(status, MPI_BYTE, &count);
#endif
    MPI_Test_cancelled(status, &cancelled);
    if (!STRICT)
        cancelled = 0;
    if (status->MPI_SOURCE != source || status->MPI_TAG != tag || count != bytes || cancelled != 0)
        check_fail(file, line,
                   "status has source %d tag %d bytes %lld cancelled %d, "
                   "should have source %d tag %d bytes %lld cancelled 0",
                   status->MPI_SOURCE, status->MPI_TAG, (long long)count, cancelled, source, tag,
                   bytes);
}

OUT_OF_LINE static void check_empty(const char *file, int line, const MPI_Status *status)
{
    check_status(file, line, status, MPI_ANY_SOURCE, MPI_ANY_TAG, 0);
    if (STRICT && status->MPI_ERROR != MPI_SUCCESS)
        check_fail(file, line, "an empty status has MPI_ERROR %d", status->MPI_ERROR);
}

// Errors on the world, and those that belong to no communicator (which go to MPI_COMM_SELF),
// return.
OUT_OF_LINE static void errors_return(void)
{
    CHECK_OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    CHECK_OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
}

OUT_OF_LINE static int world_rank(void)
{
    int rank = -1;
    CHECK_OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
    return rank;
}

OUT_OF_LINE static int world_size(void)
{
    int size = -1;
    CHECK_OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
    return size;
}

OUT_OF_LINE static int error_class(int code)
{
    int class = -1;
    CHECK_OK(MPI_Error_class(code, &class));
    return class;
}

// Byte i of the pattern with a seed. It changes with every 256 and every 65,536 bytes, so that a
// block that lands at a wrong offset is seen.
static inline unsigned char pattern_byte(size_t i, unsigned seed)
{
    return (unsigned char)(seed * 29u + i + (i >> 8) * 7u + (i >> 16) * 11u + 1u);
}

// The tests move many megabytes, so both go by blocks of 256 bytes, which are a part of this table:
// memcpy and memcmp are fast with a sanitizer, too, which looks at the ends of a block only.
#define RAMP_4(x)  (x), (x) + 1, (x) + 2, (x) + 3
#define RAMP_16(x) RAMP_4(x), RAMP_4((x) + 4), RAMP_4((x) + 8), RAMP_4((x) + 12)
#define RAMP_64(x) RAMP_16(x), RAMP_16((x) + 16), RAMP_16((x) + 32), RAMP_16((x) + 48)
#define RAMP_256   RAMP_64(0), RAMP_64(64), RAMP_64(128), RAMP_64(192)
static const unsigned char pattern_ramp[512] = {RAMP_256, RAMP_256};

OUT_OF_LINE static void pattern_fill(void *buf, size_t n, unsigned seed)
{
    unsigned char *p = buf;
    for (size_t i = 0; i < n; i += 256)
        memcpy(p + i, pattern_ramp + pattern_byte(i, seed), n - i < 256 ? n - i : 256);
}

OUT_OF_LINE static int pattern_holds(const void *buf, size_t n, unsigned seed)
{
    const unsigned char *p = buf;
    for (size_t i = 0; i < n; i += 256)
        if (memcmp(p + i, pattern_ramp + pattern_byte(i, seed), n - i < 256 ? n - i : 256) != 0)
            return 0;
    return 1;
}

OUT_OF_LINE static void check_pattern(const char *file, int line, const void *buf, size_t n,
                                      unsigned seed)
{
    const unsigned char *p = buf;
    if (pattern_holds(buf, n, seed))
        return;
    for (size_t i = 0; i < n; i++)
        if (p[i] != pattern_byte(i, seed))
            check_fail(file, line, "byte %zu of %zu is %d, should be %d (pattern %u)", i, n, p[i],
                       pattern_byte(i, seed), seed);
}

// Never NULL, also for 0 bytes.
static inline void *must_alloc(size_t n)
{
    void *p = malloc(n ? n : 1);
    CHECK(p != NULL);
    return p;
}

// Programs that run under hundreds of random schedules (run_mpi --seeds) prove there what depends
// on who goes when. Long messages within a worker all go the same way, so the longest are left out.
static inline int seeded(void)
{
    const char *sched = getenv("MILLET_SCHED");
    return sched && strncmp(sched, "random:", 7) == 0;
}

static inline int too_long(long long n)
{
    return n > 100000 && seeded();
}

// splitmix64: every state is good, so a seed may be any number.
static inline uint64_t random_next(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static inline int random_below(uint64_t *state, int limit)
{
    return (int)(random_next(state) % (uint64_t)limit);
}
