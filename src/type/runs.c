// SPDX-License-Identifier: BSD-3-Clause
// Where the bytes of elements lie, as runs of blocks.
#include "type/cursor.h"
#include "type/type.h"

static uint64_t runs_least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

// The blocks at the cursor that one run tells, at most `bytes`.
static mlt_type_run next_run(cursor *c, uint64_t bytes)
{
    const mlt_layout *node = c->top->node;
    mlt_type_run run = {.at = (int64_t)(item_at(c->top) + c->inside), .count = 1};
    uint64_t left = item_length(c->top) - c->inside;
    uint64_t items = node->kind == LAYOUT_LOOP && !c->inside ? bytes / left : 0;
    if (items > 1) {
        run.count = runs_least(items, node->n - c->top->i);
        run.length = left;
        run.stride = node->stride;
        cursor_next(c, run.count);
        return run;
    }
    run.length = runs_least(left, bytes);
    cursor_step(c, run.length);
    return run;
}

// Adds a run, or makes the last one longer. False: there is no room.
static bool add(mlt_type_run *runs, uint32_t *n, uint32_t most, mlt_type_run run)
{
    mlt_type_run *last = *n ? &runs[*n - 1] : NULL;
    if (last && last->length == run.length && run.count == 1) {
        int64_t step = run.at - (last->at + (int64_t)(last->count - 1) * last->stride);
        if (last->count == 1 || step == last->stride) {
            last->stride = step;
            last->count++;
            return true;
        }
    }
    if (*n == most)
        return false;
    runs[(*n)++] = run;
    return true;
}

uint64_t mlt_type_runs(const mlt_type *type, uint64_t from, uint64_t bytes, mlt_type_run *runs,
                       uint32_t *count)
{
    uint32_t most = *count;
    *count = 0;
    if (bytes == 0)
        return 0;
    if (type->contiguous) {
        *count = 1;
        runs[0] = (mlt_type_run){.at = (int64_t)from, .length = bytes, .count = 1};
        return bytes;
    }
    cursor c;
    cursor_init(&c, __builtin_alloca(cursor_frames(type)), type, NULL, from);
    uint64_t done = 0;
    while (done < bytes) {
        mlt_type_run run = next_run(&c, bytes - done);
        if (!add(runs, count, most, run))
            break;
        done += run.length * run.count;
    }
    return done;
}

// Skips the bytes of one element.
static void skip(cursor *c, uint64_t bytes)
{
    while (bytes) {
        uint64_t n = runs_least(bytes, item_length(c->top) - c->inside);
        cursor_step(c, n);
        bytes -= n;
    }
}

uint64_t mlt_type_element_runs(const mlt_type *type, const mlt_type *basic, uint64_t from,
                               uint64_t bytes, mlt_type_run *runs, uint32_t *count)
{
    uint32_t most = *count;
    if (basic->contiguous)
        return mlt_type_runs(type, from, bytes, runs, count);
    *count = 0;
    if (bytes == 0)
        return 0;
    cursor c;
    cursor_init(&c, __builtin_alloca(cursor_frames(type)), type, NULL, from);
    uint64_t done = 0;
    for (; done < bytes; done += basic->size) {
        mlt_type_run run = {.at = (int64_t)(item_at(c.top) + c.inside),
                            .length = (uint64_t)basic->extent,
                            .count = 1};
        if (!add(runs, count, most, run))
            break;
        skip(&c, basic->size);
    }
    return done;
}
