// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/trace_only.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mpi_fn.h"

enum { RANGES = 64, WORD = 64, P2P = 3, PARTITIONED = 4, COLL = 6, TOPOLOGIES = 8, RMA = 12 };

bool mlt_trace_only_some;

static struct {
    uint32_t first, last;
} ranges[RANGES];
static uint32_t range_count;
static bool calls[MLT_FN_NAMES], some_calls;

static bool is_of_kind(int fn, const char *kind)
{
    int chapter = mlt_fn_table[fn].chapter;
    if (strcmp(kind, "p2p") == 0)
        return chapter == P2P || chapter == PARTITIONED;
    if (strcmp(kind, "coll") == 0)
        return chapter == COLL ||
               (chapter == TOPOLOGIES && strstr(mlt_fn_table[fn].name, "eighbor_"));
    return strcmp(kind, "rma") == 0 && chapter == RMA;
}

static bool take_call(const char *word)
{
    bool any = false;
    for (int fn = 1; fn < MLT_FN_NAMES; fn++)
        if (strcmp(mlt_fn_table[fn].name, word) == 0 || is_of_kind(fn, word))
            calls[fn] = any = true;
    some_calls |= any;
    return any;
}

static bool take_ranks(const char *word)
{
    char *end;
    errno = 0;
    unsigned long long first = strtoull(word, &end, 10), last = first;
    if (*end == '-' && end[1] >= '0' && end[1] <= '9')
        last = strtoull(end + 1, &end, 10);
    if (*end || errno || last < first || last > INT32_MAX || range_count == RANGES)
        return false;
    ranges[range_count].first = (uint32_t)first;
    ranges[range_count++].last = (uint32_t)last;
    return true;
}

mlt_status mlt_trace_only_read(const char *list, char *why, size_t why_size)
{
    range_count = 0;
    some_calls = false;
    memset(calls, 0, sizeof calls);
    mlt_trace_only_some = *list;
    for (const char *at = list, *next; *at; at = next) {
        char word[WORD];
        size_t length = strcspn(at, ",");
        next = at + length + (at[length] == ',');
        snprintf(word, sizeof word, "%.*s", (int)(length < WORD ? length : WORD - 1), at);
        bool ranks = word[0] >= '0' && word[0] <= '9';
        if (length < WORD && (ranks ? take_ranks(word) : take_call(word)))
            continue;
        return mlt_fail(
            MLT_ERR_INVALID, why, why_size,
            "setting 'trace_only' has '%s', but should have ranks (3, 0-7; at most %d), functions "
            "(MPI_Send) or kinds of them (p2p, coll, rma), with commas between them",
            word, RANGES);
    }
    return MLT_OK;
}

bool mlt_trace_only_rank(uint32_t rank)
{
    for (uint32_t i = 0; i < range_count; i++)
        if (rank >= ranges[i].first && rank <= ranges[i].last)
            return true;
    return range_count == 0;
}

bool mlt_trace_only_call(uint16_t fn)
{
    return !some_calls || calls[fn];
}
