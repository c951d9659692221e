// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/comm/context.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/array.h"
#include "base/log.h"
#include "base/table.h"
#include "mpi/comm/comm.h"
#include "mpi/self.h"
#include "os/os.h"

_Static_assert(MLT_CONTEXT_LEVEL == 4 && MLT_CONTEXT_GROUPS == 16 && MLT_CONTEXT_FIRST % 8 == 0 &&
                   MLT_CONTEXT_ABROAD % 8 == 0,
               "mlt_p2p_is_agreement says so, too");

enum { NOTE_CONTEXT = 1 };
#define NONE UINT32_MAX

// A number of this worker's own: how many workers still use it, or which free number is next. Free
// ones form a queue, so that a number rests as long as possible.
typedef struct number {
    uint32_t users; // 0: free
    uint32_t next;
} number;

struct mlt_contexts {
    number *numbers;
    uint32_t count, room;
    uint32_t first_free, last_free; // NONE: none
    uint32_t *abroad;               // of communicators over several jobs
    uint32_t abroad_count, abroad_room;
};

struct mlt_contexts *mlt_contexts_new(void)
{
    struct mlt_contexts *c = mlt_xcalloc(1, sizeof *c);
    c->first_free = NONE;
    return c;
}

void mlt_contexts_free(struct mlt_contexts *c)
{
    if (c) {
        free(c->numbers);
        free(c->abroad);
    }
    free(c);
}

static struct mlt_contexts *contexts_of(const mlt_worker *worker)
{
    return ((mlt_mpi_worker *)worker->mpi)->contexts;
}

static uint32_t new_number(struct mlt_contexts *c, uint32_t workers)
{
    if (c->count == (MLT_CONTEXT_COMMS_LAST - MLT_CONTEXT_FIRST) / MLT_CONTEXTS / workers)
        return NONE;
    MLT_ARRAY_WANT(c->numbers, c->count + 1, c->room);
    return c->count++;
}

uint32_t mlt_context_take(mlt_worker *worker, uint32_t users)
{
    struct mlt_contexts *c = contexts_of(worker);
    uint32_t workers = worker->boot->job->workers, n = c->first_free;
    if (n != NONE)
        c->first_free = c->numbers[n].next;
    else if ((n = new_number(c, workers)) == NONE)
        return 0;
    c->numbers[n] = (number){.users = users, .next = NONE};
    return MLT_CONTEXT_FIRST + MLT_CONTEXTS * (n * workers + worker->index);
}

static bool is_abroad(uint32_t first)
{
    return first >= MLT_CONTEXT_ABROAD && first <= MLT_CONTEXT_ABROAD_LAST;
}

const uint32_t *mlt_context_abroad(const mlt_worker *worker, uint32_t *count)
{
    const struct mlt_contexts *c = contexts_of(worker);
    *count = c->abroad_count;
    return c->abroad;
}

uint32_t mlt_context_draw(const uint32_t *used, uint32_t count)
{
    enum { NUMBERS = (MLT_CONTEXT_ABROAD_LAST - MLT_CONTEXT_ABROAD + 1) / MLT_CONTEXTS };
    static _Atomic uint64_t drawn;
    uint64_t hash = mlt_hash_mix(mlt_os_now_ns(), (uint64_t)getpid() << 32);
    for (;;) {
        hash = mlt_hash_mix(hash, atomic_fetch_add_explicit(&drawn, 1, memory_order_relaxed));
        uint32_t first = MLT_CONTEXT_ABROAD + (uint32_t)(hash >> 24) % NUMBERS * MLT_CONTEXTS;
        uint32_t i = 0;
        while (i < count && used[i] != first)
            i++;
        if (i == count)
            return first;
    }
}

static void note_abroad(mlt_worker *worker, uint32_t first)
{
    struct mlt_contexts *c = contexts_of(worker);
    for (uint32_t i = 0; i < c->abroad_count; i++)
        if (c->abroad[i] == first)
            mlt_fatal(
                "two communicators over several jobs that were made at the same time have got "
                "one number; make one after the other");
    *MLT_ARRAY_ADD(c->abroad, c->abroad_count, c->abroad_room) = first;
}

static void forget_abroad(const mlt_context *context)
{
    struct mlt_contexts *c = contexts_of(context->worker);
    for (uint32_t i = 0; i < c->abroad_count; i++)
        if (c->abroad[i] == context->first) {
            c->abroad[i] = c->abroad[--c->abroad_count];
            return;
        }
}

mlt_context *mlt_context_join(mlt_worker *worker, uint32_t first)
{
    if (is_abroad(first))
        note_abroad(worker, first);
    mlt_context *context = mlt_xcalloc(1, sizeof *context);
    *context = (mlt_context){.refs = 1, .first = first, .worker = worker};
    return context;
}

mlt_context *mlt_context_hold(mlt_context *context)
{
    context->refs++;
    return context;
}

void mlt_context_drop(mlt_context *context)
{
    if (!context || --context->refs > 0)
        return;
    mlt_worker *worker = context->worker;
    if (is_abroad(context->first)) {
        forget_abroad(context);
        free(context);
        return;
    }
    uint32_t giver =
        (context->first - MLT_CONTEXT_FIRST) / MLT_CONTEXTS % worker->boot->job->workers;
    mlt_p2p_note(worker, giver, NOTE_CONTEXT, context->first);
    free(context);
}

void mlt_context_noted(mlt_worker *worker, uint32_t from, uint64_t what, uint64_t value)
{
    mlt_assert(what == NOTE_CONTEXT);
    if (!worker->mpi)
        return; // it has ended
    struct mlt_contexts *c = contexts_of(worker);
    uint32_t n = ((uint32_t)value - MLT_CONTEXT_FIRST) / MLT_CONTEXTS / worker->boot->job->workers;
    mlt_assert(n < c->count && c->numbers[n].users > 0);
    if (--c->numbers[n].users > 0)
        return;
    c->numbers[n].next = NONE;
    if (c->first_free == NONE)
        c->first_free = n;
    else
        c->numbers[c->last_free].next = n;
    c->last_free = n;
}
