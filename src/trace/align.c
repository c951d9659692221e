// SPDX-License-Identifier: BSD-3-Clause
#include "trace/align.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/memory.h"
#include "base/table.h"

enum {
    HOSTS_MOST = 4096,    // for messages; the table of pairs grows with the square
    RANKS_MOST = 1 << 26, // more are a damaged file's
};
#define EARLY_MOST INT64_C(1000000000000000) // ns: clocks that differ by days are no clocks

#define NONE UINT32_MAX

// ---- by clocks

static uint32_t host_of_worker(const mlt_trace_facts_table *facts, uint32_t worker)
{
    for (uint32_t i = 0; i < facts->host_count; i++)
        if (worker >= facts->hosts[i].first &&
            worker - facts->hosts[i].first < facts->hosts[i].count)
            return facts->hosts[i].number;
    return NONE;
}

// How far the host's clock was ahead at that time of its own: between two measurements in proportion,
// before and after them as at the nearest.
static int64_t ahead_at(const mlt_trace_facts_table *facts, uint32_t host, uint64_t ns)
{
    const mlt_trace_ahead *before = NULL, *after = NULL;
    for (uint32_t i = 0; i < facts->ahead_count; i++) {
        const mlt_trace_ahead *a = &facts->aheads[i];
        if (a->host != host)
            continue;
        if (a->at_ns <= ns && (!before || a->at_ns > before->at_ns))
            before = a;
        if (a->at_ns > ns && (!after || a->at_ns < after->at_ns))
            after = a;
    }
    if (!before || !after)
        return before ? before->ahead_ns : after ? after->ahead_ns : 0;
    double part = (double)(ns - before->at_ns) / (double)(after->at_ns - before->at_ns);
    return before->ahead_ns + (int64_t)(part * (double)(after->ahead_ns - before->ahead_ns));
}

static uint64_t moved(uint64_t ns, int64_t by)
{
    return by < 0 && (uint64_t)-by >= ns ? 1 : ns + (uint64_t)by; // 0 stands for no time at all
}

static void find_ends(mlt_trace *trace)
{
    trace->begin_ns = trace->end_ns = 0;
    for (uint32_t i = 0; i < trace->clock_count; i++) {
        const mlt_trace_clock *c = &trace->clocks[i];
        if (trace->begin_ns == 0 || c->first.ns < trace->begin_ns)
            trace->begin_ns = c->first.ns;
        if (c->last.ns > trace->end_ns)
            trace->end_ns = c->last.ns;
    }
}

static void align_clocks(mlt_trace *trace)
{
    const mlt_trace_facts_table *facts = &trace->facts;
    for (uint32_t i = 0; i < trace->clock_count; i++) {
        mlt_trace_clock *c = &trace->clocks[i];
        uint32_t host = host_of_worker(facts, c->worker);
        c->first.ns = moved(c->first.ns, -ahead_at(facts, host, c->first.ns));
        c->last.ns = moved(c->last.ns, -ahead_at(facts, host, c->last.ns));
    }
}

// ---- by messages: the n-th that left is the n-th that was matched

// Messages between two ranks of different hosts with one context and tag.
typedef struct align_stream {
    uint32_t from, to, context;
    int32_t tag;
    uint32_t room;
    uint64_t sent, matched;
    uint64_t *times; // [sent]
} align_stream;

typedef struct messages {
    mlt_table table;
    uint32_t *rank_hosts; // [ranks]
    uint32_t ranks, hosts;
    int64_t *least; // [hosts * hosts]: how much more the second host must be moved than the first
    uint64_t pairs, early, early_ns; // early: came before they were sent
    bool pauses;                     // somebody's trace
} messages;

static align_stream *stream_of(messages *m, uint32_t from, uint32_t to, uint32_t context,
                               int32_t tag)
{
    uint64_t mixed = mlt_hash_mix(mlt_hash_mix(from, (uint64_t)to << 32 | context), (uint32_t)tag);
    uint32_t hash = (uint32_t)(mixed >> 16);
    for (mlt_table_look look = mlt_table_look_for(&m->table, hash); mlt_table_next(&look);) {
        align_stream *s = (align_stream *)look.word;
        if (s->from == from && s->to == to && s->context == context && s->tag == tag)
            return s;
    }
    align_stream *s = mlt_xcalloc(1, sizeof *s);
    *s = (align_stream){.from = from, .to = to, .context = context, .tag = tag};
    mlt_table_add(&m->table, hash, (uintptr_t)s);
    return s;
}

static uint32_t host_of_rank(const messages *m, uint64_t rank)
{
    return rank < m->ranks ? m->rank_hosts[rank] : NONE;
}

static void see(messages *m, const mlt_trace_event *e, bool sends)
{
    uint32_t from = sends ? e->rank : (uint32_t)e->peer, to = sends ? (uint32_t)e->peer : e->rank;
    uint32_t a = host_of_rank(m, from), b = host_of_rank(m, to);
    if (e->kind != (sends ? MLT_TRACE_SENT : MLT_TRACE_MATCHED) || a == NONE || b == NONE || a == b)
        return;
    align_stream *s = stream_of(m, from, to, e->context, e->tag);
    if (sends) {
        *MLT_ARRAY_ADD(s->times, s->sent, s->room) = e->time;
    } else if (s->matched < s->sent) {
        int64_t early = (int64_t)(s->times[s->matched++] - e->time);
        int64_t *least = &m->least[a * m->hosts + b];
        if (early > EARLY_MOST || early < -EARLY_MOST)
            return;
        *least = early > *least ? early : *least;
        m->pairs++;
        m->early += early > 0;
        m->early_ns = early > (int64_t)m->early_ns ? (uint64_t)early : m->early_ns;
    }
}

static void align_see_all(const mlt_trace *trace, messages *m, bool sends)
{
    for (uint64_t i = 0; i < trace->count; i++) {
        mlt_trace_event *events = mlt_xcalloc(trace->chunks[i].head.count + 1, sizeof *events);
        if (mlt_trace_load(trace, i, events))
            for (uint32_t e = 0; e < trace->chunks[i].head.count; e++) {
                m->pauses |= events[e].kind == MLT_TRACE_TRACED;
                see(m, &events[e], sends);
            }
        free(events);
    }
}

static void find_ranks(const mlt_trace *trace, messages *m)
{
    const mlt_trace_facts_table *facts = &trace->facts;
    m->ranks = facts->ranks <= RANKS_MOST ? facts->ranks : 0;
    m->rank_hosts = mlt_xcalloc(m->ranks + 1, sizeof *m->rank_hosts);
    for (uint32_t r = 0; r < m->ranks; r++)
        m->rank_hosts[r] = NONE;
    for (uint32_t i = 0; i < facts->worker_count; i++) {
        const mlt_trace_worker *w = &facts->workers[i];
        uint32_t host = host_of_worker(facts, w->number);
        for (uint32_t r = 0; host < m->hosts && r < w->count && r < m->ranks; r++)
            if ((uint64_t)w->first + r < m->ranks)
                m->rank_hosts[w->first + r] = host;
    }
}

// The least moves that satisfy all pairs, found as longest ways: after as many rounds as there are
// hosts nothing changes any more, unless messages went backwards both ways. False: they did.
static bool find_moves(const messages *m, int64_t *moves)
{
    bool changed = true;
    for (uint32_t round = 0; changed && round <= m->hosts; round++) {
        changed = false;
        for (uint32_t a = 0; a < m->hosts; a++)
            for (uint32_t b = 0; b < m->hosts; b++) {
                int64_t least = m->least[a * m->hosts + b];
                if (least == INT64_MIN || moves[a] + least <= moves[b])
                    continue;
                moves[b] = moves[a] + least;
                changed = true;
            }
    }
    return !changed;
}

static void move_hosts(mlt_trace *trace, const messages *m)
{
    int64_t *moves = mlt_xcalloc(m->hosts, sizeof *moves);
    trace->crossed = !find_moves(m, moves);
    for (uint32_t i = 0; i < trace->clock_count && !trace->crossed; i++) {
        uint32_t host = host_of_worker(&trace->facts, trace->clocks[i].worker);
        int64_t by = host < m->hosts ? moves[host] : 0;
        trace->clocks[i].first.ns = moved(trace->clocks[i].first.ns, by);
        trace->clocks[i].last.ns = moved(trace->clocks[i].last.ns, by);
        trace->moved_ns = (uint64_t)by > trace->moved_ns ? (uint64_t)by : trace->moved_ns;
    }
    free(moves);
}

static void align_messages(mlt_trace *trace)
{
    messages m = {.hosts = 0};
    for (uint32_t i = 0; i < trace->facts.host_count; i++)
        if (trace->facts.hosts[i].number >= m.hosts && trace->facts.hosts[i].number < HOSTS_MOST)
            m.hosts = trace->facts.hosts[i].number + 1;
    if (m.hosts < 2)
        return;
    m.least = mlt_xcalloc((size_t)m.hosts * m.hosts, sizeof *m.least);
    for (size_t i = 0; i < (size_t)m.hosts * m.hosts; i++)
        m.least[i] = INT64_MIN;
    find_ranks(trace, &m);
    align_see_all(trace, &m, true);
    align_see_all(trace, &m, false);
    if (m.pairs && !m.pauses) {
        trace->crossings = m.pairs;
        trace->early = m.early;
        trace->early_ns = m.early_ns;
        move_hosts(trace, &m);
    }
    for (size_t i = 0; i < m.table.size; i++) {
        if (!m.table.slots[i].used)
            continue;
        free(((align_stream *)m.table.slots[i].word)->times);
        free((align_stream *)m.table.slots[i].word);
    }
    mlt_table_free(&m.table);
    free(m.rank_hosts);
    free(m.least);
}

// As the user named them: what hosts call themselves may be the same.
static void name_hosts(mlt_trace_facts_table *facts)
{
    for (uint32_t w = 0; w < facts->worker_count; w++)
        for (uint32_t i = 0; i < facts->host_count; i++) {
            const mlt_trace_host *h = &facts->hosts[i];
            if (facts->workers[w].number < h->first ||
                facts->workers[w].number - h->first >= h->count)
                continue;
            facts->workers[w].host = h->name;
            break;
        }
}

void mlt_trace_align(mlt_trace *trace)
{
    if (trace->facts.host_count < 2)
        return;
    name_hosts(&trace->facts);
    align_clocks(trace);
    find_ends(trace);
    align_messages(trace);
    find_ends(trace);
}
