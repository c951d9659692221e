// SPDX-License-Identifier: BSD-3-Clause
#include "tools/view/levels.h"

#include <stdlib.h>

#include "base/memory.h"

enum {
    CELLS_LOG = 19,   // finest cells of a level
    ROWS_MOST = 8192, // of the first level
    ROWS_ENOUGH = 64, // levels with fewer rows are not needed: so many fit on any screen
    SLICES_LOG = 16,  // of the finest pyramid
    SLICES_LEAST = 8,
    STATES = MLT_DOES_COUNT,
};

typedef struct painter {
    float *cells; // [rows][slices][STATES]: nanoseconds
    float *row;
    uint32_t slices;
    double slice_ns;
} painter;

static void paint(void *user, unsigned what, uint64_t begin, uint64_t end)
{
    painter *p = user;
    double from = (double)begin, to = (double)end;
    uint32_t i = (uint32_t)(from / p->slice_ns);
    for (; i < p->slices && from < to; i++) {
        double stop = (i + 1) * p->slice_ns;
        stop = stop < to ? stop : to;
        if (stop > from)
            p->row[(size_t)i * STATES + what] += (float)(stop - from);
        from = stop > from ? stop : from;
    }
}

static void put_cell(mlt_text *data, const float *ns, float all)
{
    float value[STATES + 1], sum = 0;
    int first = 0, second = 0;
    for (int i = 0; i < STATES; i++)
        sum += value[i] = ns[i];
    value[STATES] = all > sum ? all - sum : 0;
    for (int i = 1; i <= STATES; i++)
        first = value[i] > value[first] ? i : first;
    second = first == 0;
    for (int i = 0; i <= STATES; i++)
        second = i != first && value[i] > value[second] ? i : second;
    float share = all > 0 ? value[first] / all : 1;
    second = value[second] > 0 ? second : first;
    unsigned bits = (unsigned)first | (unsigned)second << 5 | (unsigned)(share * 63 + 0.5f) << 10;
    uint8_t cell[2] = {(uint8_t)bits, (uint8_t)(bits >> 8)};
    mlt_text_put(data, cell, sizeof cell);
}

static void put_slices(const painter *p, const mlt_zoom_level *level, uint32_t ranks,
                       mlt_text *data)
{
    for (uint32_t row = 0; row < level->rows; row++) {
        uint32_t first = row << level->shift, group = 1u << level->shift;
        group = ranks - first < group ? ranks - first : group;
        for (uint32_t i = 0; i < p->slices; i++)
            put_cell(data, &p->cells[((size_t)row * p->slices + i) * STATES],
                     (float)(p->slice_ns * group));
    }
}

// Slices become twice as long.
static void halve(painter *p, uint32_t rows)
{
    size_t to = 0;
    for (size_t i = 0; i < (size_t)rows * p->slices; i += 2, to++)
        for (int s = 0; s < STATES; s++)
            p->cells[to * STATES + s] = p->cells[i * STATES + s] + p->cells[(i + 1) * STATES + s];
    p->slices /= 2;
    p->slice_ns *= 2;
}

// No finer than what there is to see.
static uint32_t log_of(const mlt_story *s, uint32_t rows)
{
    uint64_t most = 1;
    uint32_t log = SLICES_LEAST;
    for (uint32_t i = 0; i < s->rank_count; i++) {
        uint64_t spans = (uint64_t)s->ranks[i].call_count + s->ranks[i].wait_count;
        most = spans > most ? spans : most;
    }
    while (log < SLICES_LOG && (1ull << log) < 4 * most &&
           ((uint64_t)rows << (log + 1)) <= 1u << CELLS_LOG)
        log++;
    return log;
}

static void write_level(const mlt_causes *c, mlt_zoom_level *level, mlt_text *data)
{
    const mlt_story *s = c->story;
    painter p = {.slices = 1u << level->log};
    p.slice_ns = (double)(s->length_ns ? s->length_ns : 1) / p.slices;
    p.cells = mlt_xcalloc(((size_t)level->rows << level->log) * STATES, sizeof *p.cells);
    for (uint32_t rank = 0; rank < s->rank_count; rank++) {
        p.row = p.cells + ((size_t)(rank >> level->shift) << level->log) * STATES;
        if (s->ranks[rank].begin != MLT_STORY_UNKNOWN)
            mlt_causes_walk(c, rank, paint, &p);
    }
    for (;;) {
        put_slices(&p, level, s->rank_count, data);
        if (p.slices == 1)
            break;
        halve(&p, level->rows);
    }
    free(p.cells);
}

int mlt_levels_write(const mlt_causes *c, mlt_text *data, mlt_zoom_level levels[MLT_LEVELS_MOST])
{
    uint32_t ranks = c->story->rank_count, shift = 0;
    int count = 0;
    while (ranks >> shift > ROWS_MOST)
        shift += MLT_LEVEL_STEP;
    for (; count < MLT_LEVELS_MOST; shift += MLT_LEVEL_STEP) {
        uint32_t rows = (uint32_t)(((uint64_t)ranks + (1ull << shift) - 1) >> shift);
        mlt_zoom_level *level = &levels[count++];
        *level = (mlt_zoom_level){shift, rows, log_of(c->story, rows), data->length};
        write_level(c, level, data);
        if (rows <= ROWS_ENOUGH)
            break;
    }
    return count;
}
