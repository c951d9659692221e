// SPDX-License-Identifier: BSD-3-Clause
#include "file/merge.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#include "os/file.h"
#include "type/kernel.h"

enum {
    MERGE_RUNS = 64,
    WINDOW = 4 << 20,
    MERGE_GAP = 64 << 10, // that is read rather than passed by
    PIECES = 1024,        // of one call: the system takes no more
};

// ---- the stage

bool mlt_file_stage_init(mlt_file_stage *s, uint64_t room, void *data)
{
    uint64_t words = (room + 63) / 64 + 1; // one more: see mark
    *s = (mlt_file_stage){.room = room, .put = calloc(words, sizeof *s->put)};
    if (!data)
        s->own = data = malloc(room);
    s->data = data;
    if (s->data && s->put)
        return true;
    mlt_file_stage_fini(s);
    return false;
}

void mlt_file_stage_fini(mlt_file_stage *s)
{
    free(s->own);
    free(s->put);
}

void mlt_file_stage_move(mlt_file_stage *s, int64_t begin)
{
    if (s->high)
        memset(s->put + s->low / 64, 0, ((s->high + 63) / 64 - s->low / 64) * sizeof *s->put);
    s->begin = begin;
    s->low = UINT64_MAX;
    s->high = 0;
}

static void mark_long(uint64_t *put, uint64_t from, uint64_t length)
{
    uint64_t to = from + length, first = from / 64, last = to / 64;
    uint64_t head = ~UINT64_C(0) << from % 64, tail = ~(~UINT64_C(0) << to % 64);
    if (first == last) {
        put[first] |= head & tail;
        return;
    }
    put[first] |= head;
    memset(put + first + 1, 0xff, (last - first - 1) * sizeof *put);
    put[last] |= tail;
}

// The common case of short blocks has no branch: a shift may reach into the next word.
static void mark(uint64_t *put, uint64_t from, uint64_t length)
{
    if (length > 64) {
        mark_long(put, from, length);
        return;
    }
    uint64_t bits = ~UINT64_C(0) >> (64 - length), shift = from % 64;
    put[from / 64] |= bits << shift;
    put[from / 64 + 1] |= bits >> 1 >> (63 - shift);
}

void mlt_file_stage_mark(mlt_file_stage *s, const mlt_type_run *run)
{
    uint64_t at = (uint64_t)(run->at - s->begin);
    uint64_t stride = run->count > 1 ? (uint64_t)run->stride : run->length;
    uint64_t end = at + (run->count - 1) * stride + run->length;
    s->low = at < s->low ? at : s->low;
    s->high = end > s->high ? end : s->high;
    if (stride == run->length) {
        mark_long(s->put, at, run->length * run->count);
        return;
    }
    for (uint64_t i = 0; i < run->count; i++)
        mark(s->put, at + i * stride, run->length);
}

void mlt_file_stage_put(mlt_file_stage *s, const mlt_type_run *run, const void *data)
{
    uint64_t at = (uint64_t)(run->at - s->begin);
    int64_t stride = run->count > 1 ? run->stride : (int64_t)run->length;
    mlt_kernel_strided((char *)s->data + at, stride, data, (int64_t)run->length, run->length,
                       run->count);
    mlt_file_stage_mark(s, run);
}

// The first byte from `from` on that was put, or that was not; `end` if there is none.
static uint64_t find(const uint64_t *put, uint64_t from, uint64_t end, bool is_put)
{
    while (from < end) {
        uint64_t word = (is_put ? put[from / 64] : ~put[from / 64]) >> from % 64;
        if (word) {
            from += (uint64_t)__builtin_ctzll(word);
            return from < end ? from : end;
        }
        from = (from / 64 + 1) * 64;
    }
    return end;
}

int mlt_file_stage_flush(mlt_file_stage *s, int fd, mlt_file_locks *locks)
{
    uint64_t at = s->high ? s->low : 0;
    int64_t from = s->begin + (int64_t)at, to = s->begin + (int64_t)s->high;
    int error = 0;
    mlt_file_share(locks, from, to);
    while (at < s->high && !error) {
        uint64_t end = find(s->put, at, s->high, false);
        size_t moved;
        if (mlt_os_file_write(fd, s->data + at, end - at, s->begin + (int64_t)at, &moved) != 0)
            error = errno;
        at = find(s->put, end, s->high, true);
    }
    mlt_file_unshare(locks, from, to);
    return error;
}

// ---- cutting

int64_t mlt_file_next(const mlt_file_access *a)
{
    return a->moved < a->bytes ? mlt_file_place(a->begin, a->view, a->from + a->moved) : INT64_MAX;
}

// The part of a run before `limit`, as whole blocks and the beginning of another one.
static uint32_t clip(const mlt_type_run *run, int64_t limit, mlt_type_run out[2])
{
    uint64_t stride = run->count > 1 ? (uint64_t)run->stride : run->length;
    if (run->at >= limit)
        return 0;
    uint64_t space = (uint64_t)(limit - run->at);
    uint64_t whole = space < run->length ? 0 : (space - run->length) / stride + 1;
    whole = whole < run->count ? whole : run->count;
    uint32_t n = 0;
    if (whole > 0) {
        out[n] = *run;
        out[n++].count = whole;
    }
    int64_t next = run->at + (int64_t)(whole * stride);
    if (whole < run->count && next < limit)
        out[n++] = (mlt_type_run){
            .at = next, .stride = run->stride, .length = (uint64_t)(limit - next), .count = 1};
    return n;
}

static uint64_t bytes_of(const mlt_type_run *run)
{
    return run->length * run->count;
}

void mlt_file_cut(mlt_file_access *a, int64_t limit, void *room, mlt_file_sink *sink, void *user)
{
    bool more = true;
    while (more && a->moved < a->bytes) {
        mlt_type_run runs[MERGE_RUNS];
        uint32_t count = MERGE_RUNS;
        uint64_t chunk = a->bytes - a->moved, begun = a->moved;
        if (!a->type->contiguous && chunk > MLT_FILE_CUT)
            chunk = MLT_FILE_CUT;
        chunk = mlt_type_runs(a->view, a->from + a->moved, chunk, runs, &count);
        const char *data = (const char *)a->buf + a->moved;
        bool packed = a->type->contiguous;
        for (uint32_t i = 0; i < count && more; i++) {
            mlt_type_run parts[2];
            uint64_t whole = bytes_of(&runs[i]), before = a->moved;
            runs[i].at += a->begin;
            uint32_t n = clip(&runs[i], limit, parts);
            if (n > 0 && !packed) {
                mlt_type_pack(a->type, a->buf, begun, room, chunk);
                data = room;
                packed = true;
            }
            for (uint32_t k = 0; k < n; k++) {
                sink(user, &parts[k], data + (a->moved - begun));
                a->moved += bytes_of(&parts[k]);
            }
            more = a->moved - before == whole;
        }
    }
}

// ---- all of them

static int by_place(const void *a, const void *b)
{
    int64_t x = mlt_file_next(*(mlt_file_access *const *)a);
    int64_t y = mlt_file_next(*(mlt_file_access *const *)b);
    return x < y ? -1 : x > y;
}

static void reverse(mlt_file_access **a, uint32_t count)
{
    for (uint32_t i = 0; i < count / 2; i++) {
        mlt_file_access *first = a[i];
        a[i] = a[count - 1 - i];
        a[count - 1 - i] = first;
    }
}

// Ranks come in the order of the file as a rule, or some of the last ones come before all others: those that
// came last to what they did before.
void mlt_file_sort(mlt_file_access **a, uint32_t count)
{
    uint32_t falls = 0, fall = 0;
    for (uint32_t i = 1; i < count && falls < 2; i++)
        if (mlt_file_next(a[i - 1]) > mlt_file_next(a[i])) {
            falls++;
            fall = i;
        }
    if (falls == 1 && mlt_file_next(a[count - 1]) <= mlt_file_next(a[0])) {
        reverse(a, fall);
        reverse(a + fall, count - fall);
        reverse(a, count);
    } else if (falls > 0) {
        qsort(a, count, sizeof *a, by_place);
    }
}

static void fail_all(mlt_file_access **a, uint32_t count, int error)
{
    for (uint32_t i = 0; i < count; i++)
        if (a[i]->moved < a[i]->bytes || a[i]->writes)
            a[i]->error = error;
}

static bool is_plain(const mlt_file_access *a)
{
    return a->view->contiguous && a->type->contiguous;
}

// Plain writes, sorted: those that follow each other in the file are one call. 0 or errno's value.
static int write_plain(mlt_file_access **a, uint32_t count)
{
    struct iovec chunk[PIECES];
    for (uint32_t i = 0; i < count;) {
        int n = 0;
        int64_t begin = mlt_file_next(a[i]), end = begin;
        uint32_t first = i;
        for (; i < count && n < PIECES && mlt_file_next(a[i]) == end; i++) {
            chunk[n++] = (struct iovec){.iov_base = a[i]->buf, .iov_len = a[i]->bytes};
            end += (int64_t)a[i]->bytes;
        }
        size_t moved;
        mlt_file_share(a[first]->locks, begin, end);
        int failed = mlt_os_file_write_pieces(a[first]->fd, chunk, n, begin, &moved) ? errno : 0;
        mlt_file_unshare(a[first]->locks, begin, end);
        for (uint32_t k = first; k < i; k++) {
            a[k]->moved = moved < a[k]->bytes ? moved : a[k]->bytes;
            moved -= a[k]->moved;
        }
        if (failed)
            return failed;
    }
    return 0;
}

static bool overlap(mlt_file_access **a, uint32_t count)
{
    for (uint32_t i = 1; i < count; i++)
        if (mlt_file_next(a[i - 1]) + (int64_t)a[i - 1]->bytes > mlt_file_next(a[i]))
            return true;
    return false;
}

// ---- the queue

int64_t mlt_file_queue_next(const mlt_file_queue *q)
{
    int64_t next = q->begun < q->count ? mlt_file_next(q->all[q->begun]) : INT64_MAX;
    for (uint32_t i = 0; i < q->active_count; i++) {
        int64_t own = mlt_file_next(q->active[i]);
        next = own < next ? own : next;
    }
    return next;
}

void mlt_file_queue_begin(mlt_file_queue *q, int64_t limit)
{
    while (q->begun < q->count && mlt_file_next(q->all[q->begun]) < limit)
        q->active[q->active_count++] = q->all[q->begun++];
}

void mlt_file_queue_forget(mlt_file_queue *q)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < q->active_count; i++)
        if (q->active[i]->moved < q->active[i]->bytes)
            q->active[kept++] = q->active[i];
    q->active_count = kept;
}

// ---- by windows

typedef struct windows {
    mlt_file_queue queue;
    mlt_file_stage stage;
    void *room;
    uint64_t got; // reads: bytes of the window that are there
    bool ended;   // reads: the file ends before the window does
} windows;

static void merge_put(void *user, const mlt_type_run *run, const void *data)
{
    mlt_file_stage_put(user, run, data);
}

static int write_windows(windows *w)
{
    int error = 0;
    int64_t at;
    while (!error && (at = mlt_file_queue_next(&w->queue)) != INT64_MAX) {
        int64_t limit = at + (int64_t)w->stage.room;
        mlt_file_stage_move(&w->stage, at);
        mlt_file_queue_begin(&w->queue, limit);
        for (uint32_t i = 0; i < w->queue.active_count; i++)
            mlt_file_cut(w->queue.active[i], limit, w->room, merge_put, &w->stage);
        error = mlt_file_stage_flush(&w->stage, w->queue.all[0]->fd, w->queue.all[0]->locks);
        mlt_file_queue_forget(&w->queue);
    }
    return error;
}

// What an access wants of the window; it goes on with the next one.
static void take(windows *w, mlt_file_access *a)
{
    int64_t limit = w->stage.begin + (int64_t)w->got;
    bool more = true;
    while (more && a->moved < a->bytes) {
        mlt_type_run runs[MERGE_RUNS];
        uint32_t count = MERGE_RUNS;
        uint64_t chunk = a->bytes - a->moved, done = 0;
        if (!a->type->contiguous && chunk > MLT_FILE_CUT)
            chunk = MLT_FILE_CUT;
        (void)mlt_type_runs(a->view, a->from + a->moved, chunk, runs, &count);
        char *to = a->type->contiguous ? (char *)a->buf + a->moved : w->room;
        for (uint32_t i = 0; i < count && more; i++) {
            mlt_type_run parts[2];
            uint64_t before = done;
            runs[i].at += a->begin;
            uint32_t n = clip(&runs[i], limit, parts);
            for (uint32_t k = 0; k < n; k++) {
                mlt_kernel_strided(to + done, (int64_t)parts[k].length,
                                   (const char *)w->stage.data + (parts[k].at - w->stage.begin),
                                   parts[k].stride, parts[k].length, parts[k].count);
                done += bytes_of(&parts[k]);
            }
            more = done - before == bytes_of(&runs[i]);
        }
        if (!a->type->contiguous)
            mlt_type_unpack(a->type, a->buf, a->moved, w->room, done);
        a->moved += done;
    }
}

// How far the window reaches: as long as somebody begins close to where it ended so far. What active
// ones want is not known beforehand, so they get a whole window.
static int64_t reach(const windows *w, int64_t at, int64_t limit)
{
    int64_t end = at;
    if (w->queue.active_count > 0)
        return limit;
    for (uint32_t i = w->queue.begun; i < w->queue.count; i++) {
        const mlt_file_access *a = w->queue.all[i];
        int64_t begin = mlt_file_next(a);
        if (begin - end > MERGE_GAP || begin >= limit)
            break;
        if (!a->view->contiguous)
            return limit;
        int64_t last = begin + (int64_t)a->bytes;
        end = last > end ? last : end;
    }
    return end < limit ? end : limit;
}

static int read_windows(windows *w)
{
    int64_t at;
    while ((at = mlt_file_queue_next(&w->queue)) != INT64_MAX) {
        int64_t limit = reach(w, at, at + (int64_t)w->stage.room);
        size_t got;
        w->stage.begin = at;
        if (mlt_os_file_read(w->queue.all[0]->fd, w->stage.data, (size_t)(limit - at), at, &got) !=
            0)
            return errno;
        w->got = got;
        mlt_file_queue_begin(&w->queue, limit);
        for (uint32_t i = 0; i < w->queue.active_count; i++)
            take(w, w->queue.active[i]);
        if ((int64_t)got < limit - at) // the file ends here
            return 0;
        mlt_file_queue_forget(&w->queue);
    }
    return 0;
}

static int by_windows(mlt_file_access **a, uint32_t count)
{
    windows w = {
        .queue = {.all = a, .count = count, .active = malloc(count * sizeof(mlt_file_access *))},
        .room = malloc(MLT_FILE_CUT)};
    bool fits = mlt_file_stage_init(&w.stage, WINDOW, NULL);
    int error = ENOMEM;
    if (fits && w.queue.active && w.room) {
        mlt_file_stage_move(&w.stage, 0);
        error = a[0]->writes ? write_windows(&w) : read_windows(&w);
    }
    if (fits)
        mlt_file_stage_fini(&w.stage);
    free(w.room);
    free(w.queue.active);
    return error;
}

void mlt_file_merge(mlt_file_access **a, uint32_t count)
{
    bool plain = true;
    uint32_t some = 0;
    for (uint32_t i = 0; i < count; i++) {
        a[i]->moved = 0;
        a[i]->error = 0;
        plain &= is_plain(a[i]);
        if (a[i]->bytes > 0) // the others are done
            a[some++] = a[i];
    }
    if (some == 0)
        return;
    if (some == 1) {
        mlt_file_access_run(a[0]);
        return;
    }
    mlt_file_sort(a, some);
    int error =
        a[0]->writes && plain && !overlap(a, some) ? write_plain(a, some) : by_windows(a, some);
    if (error)
        fail_all(a, some, error);
}
