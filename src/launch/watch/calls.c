// SPDX-License-Identifier: BSD-3-Clause
#include "launch/watch/calls.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#include "arch/arch.h"
#include "base/numbers.h"
#include "boot/ctl.h"
#include "boot/recorder.h"
#include "os/os.h"

enum {
    CALLS_FEW_RANKS = 16, // have lines, unless --recorder all
    FEW_OF_PROC = 4,
    ANYONE = -1, // the values of the MPI ABI
    ANY_TAG = -2,
    NOBODY = -3,
    LONGEST_PERIOD = 8,
};

typedef struct call {
    uint16_t fn;
    uint8_t holds; // MLT_RECORD_*
    bool timed;
    int32_t rank, peer, tag;
    uint32_t context;
    uint64_t bytes, ago_ns; // bytes: or how often
} call;

typedef struct calls_lines {
    mlt_text *out;
    const mlt_recorder_names *names;
    uint32_t shown, most, left; // ranks: that have a line, that may have one, that have none
    uint32_t least;             // calls that a rank must have made
    int32_t only;               // rank; -1: all
} calls_lines;

// ---- what the segment holds

// The last of each MLT_RECORDER_STAMPED has a time.
static void read_time(const mlt_recorder_head *head, uint32_t place, call *to)
{
    uint32_t which = (place + 1) / MLT_RECORDER_STAMPED % MLT_RECORDER_STAMPS;
    uint64_t at = atomic_load_explicit(&head->stamps[which], memory_order_relaxed);
    uint64_t ticks = atomic_load_explicit(&head->begin_ticks, memory_order_relaxed);
    uint64_t ns = atomic_load_explicit(&head->begin_ns, memory_order_relaxed);
    uint64_t now_ticks = mlt_arch_cycles(), now_ns = mlt_os_now_ns();
    if ((place + 1) % MLT_RECORDER_STAMPED || at < ticks || now_ticks <= at || now_ns <= ns)
        return;
    to->timed = true;
    to->ago_ns =
        (uint64_t)((double)(now_ticks - at) * (double)(now_ns - ns) / (double)(now_ticks - ticks));
}

// False: there is none yet, or it is damaged.
static bool read_call(const mlt_recorder *r, const calls_lines *l, uint32_t place, call *to)
{
    const mlt_recorder_call *from = &r->calls[place];
    uint32_t fn = atomic_load_explicit(&from->fn, memory_order_relaxed);
    if (fn >= MLT_RECORDER_NAMES || !l->names->names[fn][0])
        return false;
    *to = (call){.fn = (uint16_t)fn,
                 .holds = l->names->holds[fn],
                 .rank = atomic_load_explicit(&from->rank, memory_order_relaxed),
                 .peer = atomic_load_explicit(&from->peer, memory_order_relaxed),
                 .tag = atomic_load_explicit(&from->tag, memory_order_relaxed),
                 .context = atomic_load_explicit(&from->context, memory_order_relaxed),
                 .bytes = atomic_load_explicit(&from->count, memory_order_relaxed)};
    if (to->holds & MLT_RECORD_BYTES)
        to->bytes *= atomic_load_explicit(&from->size, memory_order_relaxed);
    read_time(&r->head, place, to);
    return true;
}

// The oldest first. A worker that calls meanwhile may overwrite them: then once more.
static uint32_t read_calls(const mlt_recorder *r, const calls_lines *l, call *to)
{
    enum { TRIES = 4 };
    uint32_t count = 0;
    for (int i = 0; i < TRIES; i++) {
        uint64_t next = atomic_load_explicit(&r->head.next, memory_order_relaxed);
        uint32_t oldest = (uint32_t)(next / MLT_RECORDER_CALL_BYTES);
        count = 0;
        for (uint32_t n = 0; n < MLT_RECORDER_CALLS; n++)
            count += read_call(r, l, (oldest + n) % MLT_RECORDER_CALLS, &to[count]);
        if (atomic_load_explicit(&r->head.next, memory_order_relaxed) == next)
            break;
    }
    return count;
}

// ---- lines

static void calls_add_name(const calls_lines *l, uint16_t fn)
{
    const char *name = l->names->names[fn];
    for (int i = 0; i < MLT_RECORDER_NAME && name[i]; i++)
        mlt_text_add(l->out, "%c", isprint((unsigned char)name[i]) ? name[i] : '?');
}

static void add_peer(const calls_lines *l, const call *c)
{
    static const char *const words[] = {"", " to ", " from ", " root ", " at "};
    uint32_t kind = c->holds & MLT_RECORD_PEER;
    if (!kind || kind >= sizeof words / sizeof *words)
        return;
    if (c->peer == ANYONE)
        mlt_text_add(l->out, "%sany rank", words[kind]);
    else if (c->peer == NOBODY)
        mlt_text_add(l->out, "%sMPI_PROC_NULL", words[kind]);
    else
        mlt_text_add(l->out, "%s%d", words[kind], c->peer);
}

static void add_call(const calls_lines *l, const call *c)
{
    char number[MLT_NUMBER_BYTES];
    calls_add_name(l, c->fn);
    add_peer(l, c);
    if ((c->holds & MLT_RECORD_TAG) && c->tag == ANY_TAG)
        mlt_text_add(l->out, ", any tag");
    else if (c->holds & MLT_RECORD_TAG)
        mlt_text_add(l->out, ", tag %d", c->tag);
    // The first are MPI_COMM_WORLD's, then MPI_COMM_SELF's.
    if (c->context / MLT_CONTEXTS == 1)
        mlt_text_add(l->out, ", MPI_COMM_SELF");
    else if (c->context / MLT_CONTEXTS)
        mlt_text_add(l->out, ", communicator #%u", c->context / MLT_CONTEXTS);
    if (c->holds & MLT_RECORD_BYTES)
        mlt_text_add(l->out, " (%s)", mlt_bytes(number, c->bytes));
    if ((c->holds & MLT_RECORD_TIMES) && c->bytes > 1)
        mlt_text_add(l->out, " x %s", mlt_number(number, c->bytes));
}

static bool calls_alike(const call *a, const call *b)
{
    return a->fn == b->fn && a->peer == b->peer && a->tag == b->tag && a->context == b->context &&
           a->bytes == b->bytes && !b->timed;
}

// How often the first `period` of the calls come one after the other.
static uint32_t times(const call *c, uint32_t count, uint32_t period)
{
    uint32_t same = period;
    while (same < count && calls_alike(&c[same - period], &c[same]))
        same++;
    return same / period;
}

// What the next calls are: `period` of them, so many times.
static uint32_t find_period(const call *c, uint32_t count, uint32_t *most)
{
    uint32_t best = 1;
    *most = times(c, count, 1);
    for (uint32_t p = 2; p <= LONGEST_PERIOD && 2 * p <= count; p++) {
        uint32_t n = times(c, count, p);
        if (n > 1 && n * p > *most * best) {
            best = p;
            *most = n;
        }
    }
    return best;
}

static void add_calls(const calls_lines *l, const call *c, uint32_t count)
{
    char number[MLT_NUMBER_BYTES];
    for (uint32_t i = 0, often; i < count;) {
        uint32_t period = find_period(c + i, count - i, &often);
        if (c[i].timed)
            mlt_text_add(l->out, "[%s ago] ", mlt_time(number, c[i].ago_ns));
        mlt_text_add(l->out, "%s", period > 1 ? "(" : "");
        for (uint32_t k = 0; k < period; k++) {
            mlt_text_add(l->out, "%s", k ? "; " : "");
            add_call(l, &c[i + k]);
        }
        mlt_text_add(l->out, "%s", period > 1 ? ")" : "");
        if (often > 1)
            mlt_text_add(l->out, " x %u", often);
        i += period * often;
        mlt_text_add(l->out, "%s", i < count ? "; " : "\n");
    }
}

static void add_rank(calls_lines *l, const call *c, uint32_t count, int32_t rank)
{
    call own[MLT_RECORDER_CALLS];
    uint32_t n = 0;
    for (uint32_t i = 0; i < count; i++)
        if (c[i].rank == rank)
            own[n++] = c[i];
    if (n == 0 || n < l->least)
        return;
    if (l->shown == l->most) {
        l->left++;
        return;
    }
    l->shown++;
    mlt_text_add(l->out, "rank %d's last calls: ", rank);
    add_calls(l, own, n);
}

// Its ranks by number: at most MLT_RECORDER_CALLS of them have a call.
static void calls_add_worker(calls_lines *l, const mlt_recorder *r, int32_t first, uint32_t ranks)
{
    call calls[MLT_RECORDER_CALLS];
    uint32_t count = read_calls(r, l, calls);
    for (int32_t from = first;;) {
        int32_t next = INT32_MAX;
        for (uint32_t i = 0; i < count; i++)
            if (calls[i].rank >= from && calls[i].rank < next &&
                (uint32_t)(calls[i].rank - first) < ranks)
                next = calls[i].rank;
        if (next == INT32_MAX)
            return;
        if (l->only < 0 || l->only == next)
            add_rank(l, calls, count, next);
        from = next + 1;
    }
}

static void calls_add_proc(calls_lines *l, mlt_job *job, const mlt_placement *plan, uint32_t proc)
{
    for (uint32_t i = 0; i < plan->procs[proc].workers; i++) {
        uint32_t worker = plan->procs[proc].first_worker + i, first;
        uint32_t ranks = mlt_placement_ranks_of(plan, worker, &first);
        const mlt_recorder *r = mlt_recorder_at(job, mlt_job_location_at(job, worker)->local);
        if (atomic_load_explicit(&r->head.mode, memory_order_relaxed) == MLT_RECORDER_ALL)
            l->most = UINT32_MAX;
        calls_add_worker(l, r, (int32_t)first, ranks);
    }
}

static void add_left(const calls_lines *l)
{
    char number[MLT_NUMBER_BYTES];
    if (l->left)
        mlt_text_add(l->out, "and those of %s more rank%s; mpirun --recorder all shows them\n",
                     mlt_number(number, l->left), l->left == 1 ? "" : "s");
}

void mlt_calls_of_proc(mlt_text *out, mlt_job *job, const mlt_placement *plan, uint32_t proc,
                       int32_t rank)
{
    calls_lines l = {
        .out = out, .names = mlt_recorder_names_at(job), .most = FEW_OF_PROC, .only = rank};
    calls_add_proc(&l, job, plan, proc);
    add_left(&l);
}

void mlt_calls_of_host(mlt_text *out, mlt_job *job, const mlt_placement *plan, uint32_t host)
{
    calls_lines l = {.out = out,
                     .names = mlt_recorder_names_at(job),
                     .most = CALLS_FEW_RANKS,
                     .least = 2,
                     .only = -1};
    for (uint32_t p = 0; p < plan->proc_count; p++)
        if (plan->procs[p].host == host)
            calls_add_proc(&l, job, plan, p);
    add_left(&l);
}
