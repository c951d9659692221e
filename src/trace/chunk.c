// SPDX-License-Identifier: BSD-3-Clause
#include "trace/chunk.h"

#include <string.h>

static const char magic[8] = {'M', 'L', 'T', 'R', 'A', 'C', 'E', '2'};

const char *const mlt_trace_kind_names[MLT_TRACE_KIND_COUNT] = {
#define NAME(kind, name, help) name,
    MLT_TRACE_KINDS(NAME)
#undef NAME
};

// ---- heads

static uint64_t hash(uint64_t state, const void *data, size_t bytes)
{
    const uint8_t *at = data;
    for (; bytes >= 8; bytes -= 8, at += 8) {
        uint64_t word;
        memcpy(&word, at, sizeof word);
        state = (state ^ word) * 0x9E3779B97F4A7C15u;
        state ^= state >> 29;
    }
    for (; bytes; bytes--, at++)
        state = (state ^ *at) * 0x100000001B3u;
    return state;
}

static uint64_t check_of(const mlt_trace_head *head, const void *stored)
{
    uint64_t state = hash(0xCBF29CE484222325u, head, offsetof(mlt_trace_head, check));
    return hash(state, stored, head->stored);
}

void mlt_trace_seal(mlt_trace_head *head, const void *stored, size_t bytes)
{
    memcpy(head->magic, magic, sizeof magic);
    head->stored = bytes;
    head->check = check_of(head, stored);
}

bool mlt_trace_head_fits(const mlt_trace_head *head)
{
    return memcmp(head->magic, magic, sizeof magic) == 0 &&
           (head->kind == MLT_CHUNK_EVENTS || head->kind == MLT_CHUNK_FACTS) && head->flags == 0 &&
           head->count == 0 && head->stored <= MLT_CHUNK_MOST &&
           head->last.ticks >= head->first.ticks && head->last.ns >= head->first.ns;
}

bool mlt_trace_sealed(const mlt_trace_head *head, const void *stored)
{
    return head->check == check_of(head, stored);
}
