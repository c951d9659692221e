// SPDX-License-Identifier: BSD-3-Clause
// Writes a trace of a run that never was, to try `millet view` on: `view RANKS STEPS FILE`. Ranks of 16 workers pass messages round a
// ring, STEPS times; in every eighth step ranks 3 to 66 wait longer. A step of a rank is six events.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "trace/chunk.h"
#include "trace/note.h"

enum { WORKERS = 16, WORDS = 1 << 17, STEP = 40000, WAIT = 10000, RECV = 1, SEND = 2, MESSAGE = 1 };

static FILE *out;

static void put_chunk(mlt_trace_head *head, const void *data, size_t bytes)
{
    mlt_trace_seal(head, data, bytes);
    fwrite(head, sizeof *head, 1, out);
    fwrite(data, 1, bytes, out);
}

static void put_facts(uint32_t ranks, uint32_t each)
{
    char text[4096];
    int length = snprintf(text, sizeof text,
                          "job\t%u\ta run that never was\nfn\t%d\tMPI_Recv\nfn\t%d\tMPI_Send\n"
                          "how\twait\t%d\ta message\n",
                          ranks, RECV, SEND, MESSAGE);
    for (uint32_t w = 0; w < WORKERS; w++)
        length += snprintf(text + length, sizeof text - (size_t)length,
                           "worker\t%u\thost%u\t%u\t%u\t%u\n", w, w / 8, 1000 + w, w * each, each);
    length += snprintf(text + length, sizeof text - (size_t)length, "end\t0\n");
    mlt_trace_head head = {.kind = MLT_CHUNK_FACTS};
    put_chunk(&head, text, (size_t)length);
}

typedef struct buffer {
    uint64_t words[WORDS];
    mlt_trace_like slots[MLT_NOTE_SLOTS];
    size_t used;
    uint32_t worker;
    uint64_t last; // the end of the note before
} buffer;

static void flush(buffer *b)
{
    mlt_trace_head head = {
        .kind = MLT_CHUNK_EVENTS, .worker = b->worker, .first = {1, 1}, .last = {b->last, b->last}};
    if (b->used)
        put_chunk(&head, b->words, b->used * sizeof *b->words);
    b->used = 0;
    memset(b->slots, 0, sizeof b->slots);
}

static void note(buffer *b, const mlt_trace_like *like, uint64_t end, uint64_t span)
{
    if (b->used + MLT_NOTE_WORDS > WORDS)
        flush(b);
    b->used += mlt_trace_put(&b->words[b->used], b->slots, b->last, like, end, span);
    b->last = end;
}

// A rank of the worker sends to its right neighbour.
static void put_send(buffer *b, uint32_t rank, uint32_t ranks, uint64_t at)
{
    mlt_trace_like like = mlt_trace_like_of(8, rank, (int32_t)((rank + 1) % ranks), 0, 0, SEND, 0,
                                            MLT_TRACE_CALL | MLT_NOTE_SENT);
    note(b, &like, at, 20);
}

// ... and waits for its left one: longer in some steps.
static void put_receive(buffer *b, uint32_t rank, uint32_t ranks, uint64_t step, uint64_t at)
{
    bool late = step % 8 == 0 && rank >= 3 && rank < 67;
    mlt_trace_like like =
        mlt_trace_like_of(8, rank, (int32_t)((rank + ranks - 1) % ranks), 0, 0, RECV, MESSAGE,
                          MLT_TRACE_CALL | MLT_NOTE_POSTED | MLT_NOTE_MATCHED);
    note(b, &like, at, (late ? 3 : 1) * WAIT + (rank * 2654435761u + step * 40503u) % 997);
}

static void put_worker(buffer *b, uint32_t each, uint32_t ranks, uint64_t steps)
{
    uint32_t first = b->worker * each;
    b->last = 0;
    for (uint64_t step = 0; step < steps; step++) {
        for (uint32_t i = 0; i < each; i++)
            put_send(b, first + i, ranks, step * STEP + 100 + i % 64);
        for (uint32_t i = 0; i < each; i++)
            put_receive(b, first + i, ranks, step, step * STEP + 35000 + i % 64);
    }
    flush(b);
}

int main(int argc, char **argv)
{
    uint32_t each = argc == 4 ? (uint32_t)strtoul(argv[1], NULL, 10) / WORKERS : 0;
    uint64_t steps = argc == 4 ? strtoull(argv[2], NULL, 10) : 0;
    if (each == 0 || steps == 0 || !(out = fopen(argv[3], "w"))) {
        fprintf(stderr, "usage: view RANKS STEPS FILE; there are %d ranks at least\n", WORKERS);
        return 2;
    }
    put_facts(each * WORKERS, each);
    buffer *b = mlt_xcalloc(1, sizeof *b);
    for (; b->worker < WORKERS; b->worker++)
        put_worker(b, each, each * WORKERS, steps);
    free(b);
    return fclose(out) != 0;
}
