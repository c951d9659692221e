// SPDX-License-Identifier: BSD-3-Clause
// A trace file is a row of chunks, each of which is whole by itself: a head, then its data. Several
// processes append theirs to one file, each with a single write, in any order. A job that is killed
// leaves all chunks that were written; a reader that meets a damaged one looks for the next head.
//
// Chunks of events hold notes of one worker: note.h. Chunks of facts hold lines of text: a word, a
// tab, fields with tabs between them; see facts.h. All numbers are little-endian.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "trace/event.h"

typedef enum mlt_trace_chunk_kind {
    MLT_CHUNK_EVENTS = 1,
    MLT_CHUNK_FACTS = 2,
} mlt_trace_chunk_kind;

enum { MLT_CHUNK_MOST = 64 << 20 }; // bytes of a chunk

// At a time, the worker's counter and the clock of its host had these values.
typedef struct mlt_trace_stamp {
    uint64_t ticks, ns;
} mlt_trace_stamp;

typedef struct mlt_trace_head {
    char magic[8];        // "MLTRACE2"
    uint32_t kind, flags; // flags: 0
    uint32_t worker;
    uint32_t count;  // in a file 0; the reader puts here how many events it has
    uint64_t stored; // bytes of data
    mlt_trace_stamp first, last;
    uint64_t check; // of all before it and of the stored data
} mlt_trace_head;

// Fills in magic, stored and check of a head whose other fields are set.
void mlt_trace_seal(mlt_trace_head *head, const void *stored, size_t bytes);

// Whether bytes at `at` begin a head that can be one; its data need not be right yet.
bool mlt_trace_head_fits(const mlt_trace_head *head);
bool mlt_trace_sealed(const mlt_trace_head *head, const void *stored);
