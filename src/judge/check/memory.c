// SPDX-License-Identifier: BSD-3-Clause
#include "judge/check/memory.h"

#include <string.h>

#include "base/array.h"
#include "judge/check/check_int.h"

void mlt_value_runs_add(mlt_value_runs *runs, uint64_t length, uint32_t value, uint64_t offset)
{
    if (!length)
        return;
    if (runs->count) {
        mlt_value_run *last = &runs->run[runs->count - 1];
        if (last->value == value && last->offset + last->length == offset) {
            last->length += length;
            return;
        }
    }
    *MLT_ARRAY_ADD(runs->run, runs->count, runs->room) = (mlt_value_run){length, offset, value};
}

// The first piece that ends after `at`; count if there is none.
static uint64_t find(const mlt_cells *cells, uint64_t at)
{
    return MLT_ARRAY_SEARCH(i, cells->count, cells->piece[i].to <= at);
}

void mlt_cells_read(const mlt_cells *cells, uint64_t from, uint64_t to, uint32_t before,
                    uint8_t *used, mlt_value_runs *runs)
{
    for (uint64_t i = find(cells, from); from < to; i++) {
        const mlt_cells_piece *piece = i < cells->count ? &cells->piece[i] : NULL;
        uint64_t begin = piece && piece->from < to ? piece->from : to;
        if (begin > from) {
            mlt_value_runs_add(runs, begin - from, before, from);
            from = begin;
        }
        if (from >= to)
            break;
        uint64_t end = piece->to < to ? piece->to : to;
        mlt_value_runs_add(runs, end - from, piece->value, piece->offset + (from - piece->from));
        if (used && piece->writer != MLT_GOAL_NONE)
            used[piece->writer] = 1;
        from = end;
    }
}

// Makes room for `added` pieces instead of first .. first + removed - 1.
static void replace(mlt_cells *cells, uint64_t first, uint64_t removed, uint64_t added)
{
    uint64_t count = cells->count - removed + added;
    MLT_ARRAY_WANT(cells->piece, count, cells->room);
    if (cells->count > first + removed)
        memmove(cells->piece + first + added, cells->piece + first + removed,
                (cells->count - first - removed) * sizeof *cells->piece);
    cells->count = count;
}

void mlt_cells_write(mlt_cells *cells, uint64_t from, const mlt_value_runs *runs, uint32_t writer)
{
    uint64_t length = 0;
    for (uint64_t i = 0; i < runs->count; i++)
        length += runs->run[i].length;
    if (!length)
        return;
    uint64_t to = from + length, first = find(cells, from), last = first;
    while (last < cells->count && cells->piece[last].from < to)
        last++;
    // What the pieces at both ends keep.
    mlt_cells_piece left = {0}, right = {0};
    bool keeps_left = first < last && cells->piece[first].from < from;
    bool keeps_right = first < last && cells->piece[last - 1].to > to;
    if (keeps_left) {
        left = cells->piece[first];
        left.to = from;
    }
    if (keeps_right) {
        right = cells->piece[last - 1];
        right.offset += to - right.from;
        right.from = to;
    }
    replace(cells, first, last - first, keeps_left + runs->count + keeps_right);
    mlt_cells_piece *out = &cells->piece[first];
    if (keeps_left)
        *out++ = left;
    for (uint64_t i = 0; i < runs->count; i++) {
        *out++ = (mlt_cells_piece){from, from + runs->run[i].length, runs->run[i].offset,
                                   runs->run[i].value, writer};
        from += runs->run[i].length;
    }
    if (keeps_right)
        *out++ = right;
}
