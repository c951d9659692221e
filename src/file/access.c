// SPDX-License-Identifier: BSD-3-Clause
#include "file/access.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "file/merge.h"
#include "os/file.h"
#include "type/kernel.h"

enum {
    ACCESS_RUNS = 64,
    ROOM = 1 << 20,        // of memory that data are packed into
    SPAN = 4 << 20,        // bytes of the file that are read at once
    ACCESS_GAP = 16 << 10, // that are read rather than passed by
    SHORT = 128 << 10,     // a write that is not worth another thread
};

// ---- places

int64_t mlt_file_place(int64_t begin, const mlt_type *view, uint64_t at)
{
    if (view->contiguous)
        return begin + (int64_t)at;
    mlt_type_run run;
    uint32_t count = 1;
    (void)mlt_type_runs(view, at, 1, &run, &count);
    return begin + run.at;
}

// Bytes of a run's blocks that lie before `place`.
static uint64_t run_before(const mlt_type_run *run, int64_t place)
{
    if (place <= run->at)
        return 0;
    uint64_t stride = run->count > 1 ? (uint64_t)run->stride : UINT64_MAX;
    uint64_t past = (uint64_t)(place - run->at), whole = past / stride;
    if (whole >= run->count)
        return run->count * run->length;
    uint64_t inside = past - whole * stride;
    return whole * run->length + (inside < run->length ? inside : run->length);
}

uint64_t mlt_file_data_before(int64_t begin, const mlt_type *view, int64_t place, bool once)
{
    int64_t past = place - begin;
    if (past <= 0)
        return 0;
    if (view->contiguous)
        return once && (uint64_t)past > view->size ? view->size : (uint64_t)past;
    // The element before the one that holds it may reach beyond, if its extent is less.
    uint64_t whole = view->extent > 0 && !once ? (uint64_t)(past / view->extent) : 0;
    whole -= whole > 0;
    uint64_t found = whole * view->size;
    for (;;) {
        mlt_type_run runs[ACCESS_RUNS];
        uint32_t count = ACCESS_RUNS;
        uint64_t left = once ? view->size - found : view->size;
        uint64_t bytes = left ? mlt_type_runs(view, found, left, runs, &count) : 0;
        count = bytes ? count : 0;
        for (uint32_t i = 0; i < count; i++) {
            uint64_t before = run_before(&runs[i], past);
            found += before;
            if (before < runs[i].length * runs[i].count)
                return found;
        }
        if (bytes == 0)
            return found;
    }
}

bool mlt_file_in_order(const mlt_type *view, bool overlap, bool once)
{
    if (view->contiguous || view->size == 0)
        return true;
    if (view->true_lb < 0 || (view->extent <= 0 && !once))
        return false;
    int64_t last = 0; // where the last block begins (overlap) or ends
    uint64_t end = once ? view->size : 2 * view->size; // the second element follows the first
    for (uint64_t at = 0; at < end;) {
        mlt_type_run runs[ACCESS_RUNS];
        uint32_t count = ACCESS_RUNS;
        uint64_t bytes = mlt_type_runs(view, at, end - at, runs, &count);
        for (uint32_t i = 0; i < count; i++) {
            const mlt_type_run *run = &runs[i];
            int64_t least = overlap ? 0 : (int64_t)run->length;
            if (run->at < last || (run->count > 1 && run->stride < least))
                return false;
            last = run->at + (int64_t)(run->count - 1) * (run->count > 1 ? run->stride : 0) + least;
        }
        at += bytes;
    }
    return true;
}

// ---- memory

// The packed form of [at, at + bytes), in the elements themselves if they have no gaps.
static char *packed(const mlt_file_access *a, uint64_t at, char *room)
{
    return a->type->contiguous ? (char *)a->buf + at : room;
}

static bool fails(mlt_file_access *a, int result)
{
    if (result != 0)
        a->error = errno;
    return result != 0;
}

// Adds what has arrived to what was moved, and puts it where it belongs.
static void arrived(mlt_file_access *a, const char *at, uint64_t bytes)
{
    if (!a->writes && !a->type->contiguous)
        mlt_type_unpack(a->type, a->buf, a->moved, at, bytes);
    a->moved += bytes;
}

// ---- one block after the other in the file

static void run_straight(mlt_file_access *a, char *room)
{
    while (a->moved < a->bytes && !a->error) {
        uint64_t left = a->bytes - a->moved, chunk = left;
        if (room && chunk > ROOM)
            chunk = ROOM;
        char *at = packed(a, a->moved, room);
        int64_t place = a->begin + (int64_t)(a->from + a->moved);
        size_t moved;
        if (a->writes && room)
            mlt_type_pack(a->type, a->buf, a->moved, at, chunk);
        int result = a->writes ? mlt_os_file_write(a->fd, at, chunk, place, &moved)
                               : mlt_os_file_read(a->fd, at, chunk, place, &moved);
        (void)fails(a, result);
        arrived(a, at, moved);
        if (moved < chunk)
            return;
    }
}

// ---- writes with gaps

// Blocks of a run from packed data; returns how many bytes were written.
static uint64_t write_run(mlt_file_access *a, const mlt_type_run *run, const char *from)
{
    uint64_t done = 0;
    for (uint64_t i = 0; i < run->count; i++) {
        size_t moved;
        int64_t place = a->begin + run->at + (int64_t)i * run->stride;
        bool failed = fails(a, mlt_os_file_write(a->fd, from + done, run->length, place, &moved));
        done += moved;
        if (failed)
            break;
    }
    return done;
}

static void write_gaps(mlt_file_access *a, char *room)
{
    while (a->moved < a->bytes && !a->error) {
        mlt_type_run runs[ACCESS_RUNS];
        uint32_t count = ACCESS_RUNS;
        uint64_t chunk = a->bytes - a->moved, done = 0;
        if (room && chunk > ROOM)
            chunk = ROOM;
        chunk = mlt_type_runs(a->view, a->from + a->moved, chunk, runs, &count);
        char *at = packed(a, a->moved, room);
        if (room)
            mlt_type_pack(a->type, a->buf, a->moved, at, chunk);
        for (uint32_t i = 0; i < count && !a->error; i++)
            done += write_run(a, &runs[i], at + done);
        a->moved += done;
    }
}

// ---- sieved writes

static int64_t end_of(const mlt_file_access *a)
{
    return mlt_file_place(a->begin, a->view, a->from + a->bytes - 1) + 1;
}

// Blocks lie close together in the mean, judged by the length of the first ones.
static bool is_dense(const mlt_file_access *a)
{
    mlt_type_run runs[ACCESS_RUNS];
    uint32_t count = ACCESS_RUNS;
    uint64_t bytes = mlt_type_runs(a->view, a->from, a->bytes, runs, &count), blocks = 0;
    for (uint32_t i = 0; i < count; i++)
        blocks += runs[i].count;
    uint64_t span = (uint64_t)(end_of(a) - mlt_file_next(a)), block = (bytes + blocks - 1) / blocks;
    uint64_t all = a->bytes / block;
    return all > 1 && span / all <= a->near;
}

typedef struct section {
    char *data;
    int64_t begin, high; // of the file; where what was put ends
} section;

static void access_put(void *user, const mlt_type_run *run, const void *data)
{
    section *s = user;
    int64_t stride = run->count > 1 ? run->stride : (int64_t)run->length;
    mlt_kernel_strided(s->data + (run->at - s->begin), stride, data, (int64_t)run->length,
                       run->length, run->count);
    s->high = run->at + (int64_t)(run->count - 1) * stride + (int64_t)run->length;
}

// The part of an access that lies before `limit`, in a stripe that is this writer's. False: it could
// not be read or written, perhaps because of what lies between the blocks.
static bool write_part(mlt_file_access *a, section *s, int64_t limit, char *room)
{
    uint64_t before = a->moved;
    size_t bytes = (size_t)(limit - s->begin), got, moved;
    if (mlt_os_file_read(a->fd, s->data, bytes, s->begin, &got) != 0)
        return false;
    memset(s->data + got, 0, bytes - got); // the file ends here: so does what is written
    mlt_file_cut(a, limit, room, access_put, s);
    if (mlt_os_file_write(a->fd, s->data, (size_t)(s->high - s->begin), s->begin, &moved) == 0)
        return true;
    a->moved = before;
    return false;
}

// False: some part is left, which must be tried block by block. Locks of the file system keep
// writers apart that have opened the file by themselves and sieve, too; without such locks nothing
// is sieved.
static bool write_sieved(mlt_file_access *a, char *room, char *data)
{
    int64_t end = end_of(a);
    bool good = true;
    while (a->moved < a->bytes && good) {
        section s = {.data = data, .begin = mlt_file_next(a)};
        int64_t limit = (s.begin / MLT_FILE_STRIPE + 1) * MLT_FILE_STRIPE;
        limit = limit < end ? limit : end;
        mlt_file_seize(a->locks, s.begin);
        good = a->atomic || mlt_os_file_lock(a->fd, false, s.begin, limit) == 0;
        if (good) {
            good = write_part(a, &s, limit, room);
            if (!a->atomic)
                (void)mlt_os_file_unlock(a->fd, s.begin, limit);
        }
        mlt_file_release(a->locks, s.begin);
    }
    return good;
}

static bool try_sieve(mlt_file_access *a)
{
    if (!a->locks || a->sieve == MLT_FILE_SIEVE_NEVER ||
        (a->sieve == MLT_FILE_SIEVE_DENSE && !is_dense(a)))
        return false;
    char *data = malloc(MLT_FILE_STRIPE), *room = malloc(MLT_FILE_CUT);
    bool done = data && room && write_sieved(a, room, data);
    free(room);
    free(data);
    return done;
}

// ---- reads with gaps

// The next part of the view's data that one read fetches: from where, how many bytes of the file.
typedef struct span {
    int64_t begin;
    uint64_t bytes; // of the file
    uint64_t data;  // of the view
} span;

// How many blocks of a run lie within `room` bytes of the file from its first one on.
static uint64_t blocks_within(const mlt_type_run *run, uint64_t room)
{
    if (run->count == 1 || run->stride == 0)
        return run->length <= room ? run->count : 0;
    if (run->length > room)
        return 0;
    uint64_t n = (room - run->length) / (uint64_t)run->stride + 1;
    return n < run->count ? n : run->count;
}

// Takes as much of `runs` as lies close together, with gaps of up to `gap` bytes. The first block is always part of it, but no more
// than SPAN bytes of it.
static span find_span(const mlt_type_run *runs, uint32_t count, int64_t gap)
{
    span s = {.begin = runs[0].at};
    int64_t end = s.begin;
    for (uint32_t i = 0; i < count; i++) {
        const mlt_type_run *run = &runs[i];
        if (run->at < s.begin || run->at - end > gap || run->at - s.begin >= SPAN)
            break;
        bool spread =
            run->count > 1 && (run->stride < 0 || run->stride - (int64_t)run->length > gap);
        uint64_t n = blocks_within(run, (uint64_t)(SPAN - (run->at - s.begin)));
        if (spread && n > 1)
            n = 1;
        if (n == 0 && i > 0)
            break;
        if (n == 0) // a long block alone
            return (span){.begin = s.begin, .bytes = SPAN, .data = SPAN};
        int64_t reach = run->at + (int64_t)(n - 1) * run->stride + (int64_t)run->length;
        end = reach > end ? reach : end;
        s.data += n * run->length;
        if (n < run->count)
            break;
    }
    s.bytes = (uint64_t)(end - s.begin);
    return s;
}

// Copies `data` bytes of blocks that lie in what was read to `to`; returns how many there were
// before the end of what was read.
static uint64_t pick(const span *s, const char *read, uint64_t got, const mlt_type_run *runs,
                     char *to)
{
    uint64_t done = 0;
    for (const mlt_type_run *run = runs; done < s->data; run++) {
        uint64_t left = s->data - done, n = left / run->length, at = (uint64_t)(run->at - s->begin);
        n = n < run->count ? n : run->count;
        uint64_t within = at < got ? blocks_within(run, got - at) : 0;
        uint64_t whole = n < within ? n : within;
        mlt_kernel_strided(to + done, (int64_t)run->length, read + at, run->stride, run->length,
                           whole);
        done += whole * run->length;
        if (whole == n && n == run->count)
            continue;
        at += whole * (uint64_t)run->stride;
        uint64_t part = whole < n || n == 0 ? run->length : 0;
        part = part < s->data - done ? part : s->data - done;
        part = at < got ? (part < got - at ? part : got - at) : 0;
        memcpy(to + done, read + at, part);
        return done + part;
    }
    return done;
}

static void read_gaps(mlt_file_access *a, char *room, char *sieve)
{
    bool ended = false;
    while (a->moved < a->bytes && !a->error && !ended) {
        mlt_type_run runs[ACCESS_RUNS];
        uint32_t count = ACCESS_RUNS;
        uint64_t chunk = a->bytes - a->moved;
        chunk = chunk < ROOM ? chunk : ROOM;
        (void)mlt_type_runs(a->view, a->from + a->moved, chunk, runs, &count);
        span s = find_span(runs, count, a->sieve == MLT_FILE_SIEVE_NEVER ? 0 : ACCESS_GAP);
        char *at = packed(a, a->moved, room);
        size_t got;
        uint64_t done;
        if (s.bytes == s.data) { // no gap: straight to where it belongs
            (void)fails(a, mlt_os_file_read(a->fd, at, s.data, a->begin + s.begin, &got));
            done = got;
        } else {
            (void)fails(a, mlt_os_file_read(a->fd, sieve, s.bytes, a->begin + s.begin, &got));
            done = pick(&s, sieve, got, runs, at);
        }
        ended = done < s.data;
        arrived(a, at, done);
    }
}

// ---- the whole

static bool lock(mlt_file_access *a, int64_t *from, int64_t *to)
{
    *from = mlt_file_place(a->begin, a->view, a->from);
    *to = mlt_file_place(a->begin, a->view, a->from + a->bytes - 1) + 1;
    if (*to <= *from) // blocks that are not in order
        *to = 0;
    return !fails(a, mlt_os_file_lock(a->fd, !a->writes, *from, *to));
}

// Writes nothing but its own bytes, together with others that do so.
static void write_shared(mlt_file_access *a, char *room)
{
    int64_t from = mlt_file_next(a), to = end_of(a);
    mlt_file_share(a->locks, from, to);
    if (a->view->contiguous)
        run_straight(a, room);
    else
        write_gaps(a, room);
    mlt_file_unshare(a->locks, from, to);
}

static void run(mlt_file_access *a)
{
    if (a->writes && !a->view->contiguous && try_sieve(a))
        return;
    char *room = NULL, *sieve = NULL;
    if (!a->type->contiguous)
        room = malloc(a->bytes < ROOM ? a->bytes : ROOM);
    if (!a->view->contiguous && !a->writes)
        sieve = malloc(SPAN);
    if ((!a->type->contiguous && !room) || (!a->view->contiguous && !a->writes && !sieve))
        a->error = ENOMEM;
    else if (a->writes)
        write_shared(a, room);
    else if (a->view->contiguous)
        run_straight(a, room);
    else
        read_gaps(a, room, sieve);
    free(sieve);
    free(room);
}

void mlt_file_access_run(mlt_file_access *a)
{
    a->moved = 0;
    a->error = 0;
    if (a->bytes == 0)
        return;
    int64_t from = 0, to = 0;
    if (a->atomic && !lock(a, &from, &to))
        return;
    run(a);
    if (a->atomic && mlt_os_file_unlock(a->fd, from, to) != 0 && !a->error)
        a->error = errno;
}

bool mlt_file_access_is_short(const mlt_file_access *a)
{
    return !a->atomic && a->type->contiguous && a->view->contiguous && a->bytes <= SHORT;
}

bool mlt_file_access_now(mlt_file_access *a)
{
    if (a->bytes == 0) {
        mlt_file_access_run(a);
        return true;
    }
    if (!mlt_file_access_is_short(a))
        return false;
    int64_t from = a->begin + (int64_t)a->from, to = from + (int64_t)a->bytes;
    if (a->writes && !mlt_file_share_try(a->locks, from, to))
        return false; // somebody sieves there
    if (a->writes) {
        a->moved = 0;
        a->error = 0;
        run_straight(a, NULL);
        mlt_file_unshare(a->locks, from, to);
        return true;
    }
    size_t moved;
    if (mlt_os_file_read_now(a->fd, a->buf, a->bytes, a->begin + (int64_t)a->from, &moved) != 0 ||
        moved < a->bytes) // perhaps the end of the file, perhaps the end of what is in memory
        return false;
    a->moved = moved;
    a->error = 0;
    return true;
}
