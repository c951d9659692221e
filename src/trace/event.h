// SPDX-License-Identifier: BSD-3-Clause
// What a trace tells: one kind of record, and the table of what its fields mean.
#pragma once

#include <stdint.h>

// X(kind, name, what it tells; the fields that it uses beside time and rank)
//
// A moment has span 0. What takes time is one event, written when it ends: time is when it began.
#define MLT_TRACE_KINDS(X)                                                                         \
    X(CALL, "call", "a call of MPI; fn, and of calls that have them peer, tag, context, bytes")    \
    X(SENT, "sent", "a message left; peer (-1: it was cancelled), tag, context, bytes, how")       \
    X(POSTED, "posted", "a receive waits for its message; peer, tag, context, bytes")              \
    X(MATCHED, "matched", "a receive and its message met; peer, tag, context, bytes")              \
    X(UNEXPECTED, "unexpected", "a message came before its receive; peer, tag, context, bytes")    \
    X(LARGE, "large", "the data of a large message are fetched; bytes, how: by which way")         \
    X(WAIT, "wait", "the rank was parked; how: what for")                                          \
    X(PLANNED, "planned", "a collective was planned; how: which, peer: algorithm, tag: ranks")     \
    X(ONE_SIDED, "one-sided", "an operation on a window; peer, bytes, tag: which, how: distance")  \
    X(PART_SEND, "partitioned send", "it was started; peer, bytes, tag: partitions")               \
    X(PART_RECEIVE, "partitioned receive", "it was started; peer, bytes, tag: partitions")         \
    X(CSP, "csp", "a process waited; how: what for, peer: process, tag: channel, bytes: values")   \
    X(FLOW, "flow", "a module waited, or lived; how, peer: process, tag: queue, bytes: elements")  \
    X(WOKEN, "woken", "it can go on; how: after what, tag: process, peer: rank that let it")       \
    X(SLEPT, "slept", "the worker had nothing to do; span")                                        \
    X(POISONED, "poisoned", "a channel was; peer: process, tag: channel")                          \
    X(WINDOW, "window", "it waited; how: what for, peer: whose, tag: who had it, context: window") \
    X(READY, "ready", "it could run, but others did; tag: process, peer: the last of them; span")  \
    X(IDLE, "idle", "nothing on the worker could run, be it asleep or not; span")                  \
    X(CANCELLED, "cancelled", "a send was; peer, tag, context, bytes; span: since it had left")    \
    X(TRACED, "traced", "the worker's trace pauses here, or goes on; how: which of both")          \
    X(DEPTH, "depth", "a queue has so many elements from now on; tag: queue, bytes: elements")     \
    X(STARTED, "started", "a schedule was; tag: run, context, bytes: which; how: in any order")    \
    X(COPIED, "copied", "a device copied; bytes, how: by which way; span")

typedef enum mlt_trace_kind {
#define MLT_TRACE_ENUM(kind, name, help) MLT_TRACE_##kind,
    MLT_TRACE_KINDS(MLT_TRACE_ENUM)
#undef MLT_TRACE_ENUM
        MLT_TRACE_KIND_COUNT,
} mlt_trace_kind;

enum { MLT_TRACE_PAUSES, MLT_TRACE_GOES_ON }; // how of TRACED

#define MLT_TRACE_NOBODY UINT32_MAX // as rank: the worker itself

typedef struct mlt_trace_event {
    uint64_t time; // in a running job: mlt_arch_cycles(); read from a file: nanoseconds
    uint64_t span;
    uint64_t bytes;
    uint32_t rank; // in the world
    int32_t peer, tag;
    uint32_t context;
    uint16_t fn;
    uint8_t kind, how;
} mlt_trace_event;

extern const char *const mlt_trace_kind_names[MLT_TRACE_KIND_COUNT];
