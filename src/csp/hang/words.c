// SPDX-License-Identifier: BSD-3-Clause
#include <string.h>

#include "csp/hang/hang_int.h"
#include "csp/names/names.h"
#include "csp/proc.h"
#include "p2p/worker.h"

enum {
    WORDS_NAME_BYTES = 64,
    SERVERS_SHOWN = 3,
    GUARDS_SHOWN = 4,
    CLAIMS_SEEN = 64, // of a thing, for one line
    NAMES_BYTES = 256,
};

static void add_name(mlt_text *w, char *name)
{
    for (char *c = name; *c; c++) // it stays on its line
        if (*c == '\n')
            *c = '?';
    mlt_waitfor_add(w, "%s", name);
}

void mlt_waitfor_add_name(mlt_text *w, const mlt_waitfor_graph *g, uint32_t node)
{
    char name[WORDS_NAME_BYTES];
    const mlt_fiber *fiber = mlt_waitfor_fiber(g, node);
    const mlt_rank *rank = fiber->user;
    if (node < g->ranks && g->ranks == 1) { // the same words from each worker that does the same
        mlt_waitfor_add(w, "main");
        return;
    }
    if (node >= g->ranks && g->ranks > 1 && rank) // whose ranks may all have processes of that name
        mlt_waitfor_add(w, "rank %d's ", rank->world);
    mlt_proc_name(g->csp, fiber, name, sizeof name);
    add_name(w, name);
}

static void add_chan_name(mlt_text *w, const csp_chan *chan)
{
    char name[WORDS_NAME_BYTES];
    mlt_chan_name(chan, name, sizeof name);
    mlt_waitfor_add(w, "%s%s", chan->queue ? "queue " : "", chan->name[0] ? "'" : "");
    add_name(w, name);
    mlt_waitfor_add(w, chan->name[0] ? "'" : "");
    mlt_waitfor_add_far(w, chan);
}

// ---- who could serve

typedef struct servers {
    uint32_t node[SERVERS_SHOWN];
    uint32_t count; // all
    bool perhaps;
    bool more; // than were looked at
} servers;

// Those of the first class of claims that there are.
static servers servers_of(const mlt_waitfor_graph *g, const mlt_waitfor_need *need)
{
    servers s = {0};
    uint32_t seen = 0;
    int class = 0;
    for (uint32_t c = g->things[need->thing].claims; c != UINT32_MAX; c = g->claims[c].next) {
        const mlt_waitfor_claim *claim = &g->claims[c];
        if (++seen > CLAIMS_SEEN) {
            s.more = true;
            break;
        }
        if (!(claim->serves & 1 << need->side))
            continue;
        if (s.count > 0 && mlt_waitfor_claim_class(claim->how) != class)
            break;
        class = mlt_waitfor_claim_class(claim->how);
        bool again = false;
        for (uint32_t i = 0; i < s.count && i < SERVERS_SHOWN; i++)
            again |= s.node[i] == claim->node;
        if (again)
            continue;
        s.perhaps = claim->how == MLT_WAITFOR_CLAIM_PERHAPS;
        if (s.count < SERVERS_SHOWN)
            s.node[s.count] = claim->node;
        s.count++;
    }
    return s;
}

static void add_servers(mlt_text *w, const mlt_waitfor_graph *g, const servers *s)
{
    uint32_t shown = s->count <= SERVERS_SHOWN && !s->more ? s->count : SERVERS_SHOWN - 1;
    shown = shown < s->count ? shown : s->count;
    for (uint32_t i = 0; i < shown; i++) {
        if (i > 0)
            mlt_waitfor_add(w, i + 1 < s->count || s->more ? ", " : " and ");
        mlt_waitfor_add_name(w, g, s->node[i]);
    }
    if (s->more)
        mlt_waitfor_add(w, " and others");
    else if (shown < s->count)
        mlt_waitfor_add(w, " and %u others", s->count - shown);
}

// Those on other workers. After others: " and p[1] on rank 3".
static bool add_elsewhere_users(mlt_text *w, const csp_chan *chan, bool writers, bool others)
{
    char names[NAMES_BYTES];
    uint32_t count = chan->queue ? mlt_waitfor_elsewhere(chan, writers, names, sizeof names) : 0;
    if (count == 0)
        return false;
    mlt_waitfor_add(w, others ? " and " : ", which ");
    add_name(w, names);
    mlt_waitfor_add(w, " %s%s", writers ? "write" : "read", count == 1 ? "s" : "");
    return true;
}

// ", which fork[1] reads".
static void add_chan_servers(mlt_text *w, const mlt_waitfor_graph *g, const mlt_waitfor_need *need)
{
    const csp_chan *chan = mlt_waitfor_thing_at(&g->things[need->thing]);
    bool writes = need->kind == MLT_CSP_WRITE; // whoever waits
    const mlt_fiber *last = chan->last_user[!writes];
    servers s = servers_of(g, need);
    if (mlt_chan_is_stand_in(chan)) {
        (void)mlt_waitfor_add_far_ends(w, chan, !writes, false);
        return;
    }
    if (s.count == 1 && s.node[0] == need->node && !s.perhaps) {
        mlt_waitfor_add(w, ", which it %ss itself", writes ? "read" : "write");
        (void)mlt_waitfor_add_far_ends(w, chan, !writes, true);
    } else if (s.count > 0) {
        mlt_waitfor_add(w, ", which ");
        add_servers(w, g, &s);
        mlt_waitfor_add(w, " %s%s%s", s.perhaps ? "may " : "", writes ? "read" : "write",
                        s.count == 1 && !s.perhaps && !s.more ? "s" : "");
        (void)add_elsewhere_users(w, chan, !writes, true);
        (void)mlt_waitfor_add_far_ends(w, chan, !writes, true);
    } else if (add_elsewhere_users(w, chan, !writes, false) ||
               mlt_waitfor_add_far_ends(w, chan, !writes, false)) {
        return;
    } else if (chan->registered) {
        mlt_waitfor_add(w, ", which other workers may %s", writes ? "read" : "write");
    } else if (last) {
        mlt_waitfor_add(w, ", whose last %s has ended without csp_retire",
                        writes ? "reader" : "writer");
    } else if (chan->had_holders[!writes] == 0) {
        mlt_waitfor_add(w, ", whose %s end nobody has", writes ? "reading" : "writing");
    } else {
        mlt_waitfor_add(w, ", which nobody has %s so far", writes ? "read" : "written");
    }
}

// ---- what a process waits for

static void add_need_words(mlt_text *w, const mlt_waitfor_graph *g, const mlt_waitfor_need *need)
{
    const mlt_waitfor_thing *thing = &g->things[need->thing];
    if (thing->chan) {
        add_chan_name(w, mlt_waitfor_thing_at(thing));
        add_chan_servers(w, g, need);
        return;
    }
    servers s = servers_of(g, need);
    if (need->kind == MLT_CSP_SYNC || need->kind == MLT_CSP_GROUP) {
        const mlt_csp_wait *own = mlt_waitfor_fiber(g, need->node)->wait->csp;
        if (need->kind == MLT_CSP_SYNC)
            mlt_waitfor_add_barrier(w, mlt_waitfor_thing_at(thing));
        else
            mlt_waitfor_add_group(w, mlt_waitfor_thing_at(thing), own->number);
        if (s.count > 0) {
            mlt_waitfor_add(w, ", but not ");
            add_servers(w, g, &s);
        }
        return;
    }
    const mlt_csp_wait *team = mlt_waitfor_thing_at(thing);
    if (need->kind == MLT_CSP_PAR && team->number > 1)
        mlt_waitfor_add(w, "%llu processes%s", (unsigned long long)team->number,
                        s.count ? ": " : "");
    if (need->kind == MLT_CSP_PAR && s.more) {
        s.more = false;
        s.count = (uint32_t)team->number;
    }
    add_servers(w, g, &s);
}

static void add_alt(mlt_text *w, const mlt_waitfor_graph *g, uint32_t node, const mlt_alt *alt)
{
    uint32_t open = 0, shown = 0, need = g->first_need[node];
    for (uint32_t i = 0; i < alt->count; i++)
        open += !alt->guards[i].off;
    mlt_waitfor_add(w, " over %u guard%s: ", open, open == 1 ? "" : "s");
    for (uint32_t i = 0; i < alt->count; i++) {
        const csp_guard *guard = &alt->guards[i];
        if (guard->off)
            continue;
        if (shown++ == GUARDS_SHOWN) {
            mlt_waitfor_add(w, "; and %u more", open - GUARDS_SHOWN);
            return;
        }
        mlt_waitfor_add(w, shown > 1 ? "; " : "");
        switch (guard->kind) {
        case CSP_GUARD_READ:
        case CSP_GUARD_WRITE:
        case CSP_GUARD_SYNC:
            mlt_waitfor_add(w, "%s ",
                            guard->kind == CSP_GUARD_READ    ? "read"
                            : guard->kind == CSP_GUARD_WRITE ? "write"
                                                             : "sync on");
            add_need_words(w, g, &g->needs[need++]);
            break;
        case CSP_GUARD_READABLE:
        case CSP_GUARD_WRITABLE:
            mlt_waitfor_add(w, "descriptor %d %s", guard->fd,
                            guard->kind == CSP_GUARD_READABLE ? "readable" : "writable");
            break;
        case CSP_GUARD_PORT:
            mlt_waitfor_add(w, "receive at ");
            mlt_waitfor_add_port(w, guard->port);
            break;
        default:
            mlt_waitfor_add(w, "time");
            break;
        }
    }
}

// A process that waits in MPI; what its rank waits for has wait records.
static void add_mpi(mlt_text *w, const mlt_waitfor_graph *g, uint32_t node, const mlt_wait *wait)
{
    const mlt_rank *rank = mlt_waitfor_fiber(g, node)->user;
    mlt_waitfor_add(w, "%s", wait->call ? wait->call : "a call");
    bool receives = wait->kind == MLT_WAIT_RECV || wait->kind == MLT_WAIT_PROBE;
    if (wait->kind == MLT_WAIT_ALL || wait->kind == MLT_WAIT_ANY)
        mlt_waitfor_add(w, " for %s of %u operations", wait->kind == MLT_WAIT_ALL ? "all" : "one",
                        wait->n);
    if (!receives && wait->kind != MLT_WAIT_SEND)
        return;
    int32_t peer = wait->peer;
    if (receives && peer >= 0 && rank)
        peer = mlt_worker_world_rank(rank, wait->context, peer);
    mlt_waitfor_add(w, receives ? " from " : " to ");
    if (peer < 0)
        mlt_waitfor_add(w, "any rank");
    else
        mlt_waitfor_add(w, "rank %d", peer);
    if (wait->tag >= 0)
        mlt_waitfor_add(w, ", tag %d", wait->tag);
}

static void add_elsewhere(mlt_text *w, const mlt_csp_wait *wait)
{
    const void *what = wait->what;
    if (wait->kind == MLT_CSP_FD) {
        mlt_waitfor_add(w, " of descriptor %llu", (unsigned long long)wait->number);
    } else if (wait->kind == MLT_CSP_RECEIVE) {
        mlt_waitfor_add(w, " at ");
        mlt_waitfor_add_port(w, what);
    } else if (wait->kind == MLT_CSP_SEND) {
        mlt_waitfor_add(w, " to ");
        mlt_waitfor_add_target(w, what);
        mlt_waitfor_add(w, ", where there is no room");
    } else if (wait->kind == MLT_CSP_NAME && what) {
        mlt_waitfor_add(w, ": nothing has the name '%.60s' so far%s", (const char *)what,
                        mlt_names_hint(mlt_csp_self));
    } else if (wait->kind == MLT_CSP_REMOTE && what) {
        mlt_waitfor_add(w, " of ");
        add_chan_name(w, what);
    } else if (wait->kind == MLT_CSP_UPPER) {
        mlt_waitfor_add(w, " %.300s", (const char *)what);
    }
}

void mlt_waitfor_add_wait(mlt_text *w, const mlt_waitfor_graph *g, uint32_t node)
{
    const mlt_wait *wait = mlt_waitfor_fiber(g, node)->wait;
    if (wait->kind != MLT_WAIT_CSP) {
        add_mpi(w, g, node, wait);
        return;
    }
    const mlt_csp_wait *own = wait->csp;
    const mlt_waitfor_need *need = &g->needs[g->first_need[node]];
    mlt_waitfor_add(w, "%s", wait->call ? wait->call : "a call");
    static const char *const before[] = {
        [MLT_CSP_READ] = " from ",     [MLT_CSP_WRITE] = " to ", [MLT_CSP_SYNC] = " on ",
        [MLT_CSP_PAR] = " waits for ", [MLT_CSP_JOIN] = " of ",  [MLT_CSP_GROUP] = " of ",
        [MLT_CSP_UPPER] = NULL,
    };
    if (own->kind == MLT_CSP_ALT) {
        add_alt(w, g, node, own->what);
    } else if (before[own->kind]) {
        mlt_waitfor_add(w, "%s", before[own->kind]);
        add_need_words(w, g, need);
    } else {
        add_elsewhere(w, own);
    }
}

void mlt_waitfor_add_step(mlt_text *w, const mlt_waitfor_graph *g, const mlt_waitfor_step *step,
                          uint32_t next)
{
    bool itself = next == step->node;
    mlt_waitfor_add_name(w, g, step->node);
    if (step->need.kind == MLT_CSP_READ || step->need.kind == MLT_CSP_WRITE) {
        bool reads = step->need.kind == MLT_CSP_READ;
        mlt_waitfor_add(w, " waits to %s ", reads ? "read" : "write");
        add_chan_name(w, mlt_waitfor_thing_at(&g->things[step->need.thing]));
        mlt_waitfor_add(w, itself ? ", which it" : ", which ");
        if (!itself)
            mlt_waitfor_add_name(w, g, next);
        mlt_waitfor_add(w, " %s%s%s%s", step->perhaps ? "may " : "", reads ? "write" : "read",
                        step->perhaps ? "" : "s", itself ? " itself" : "");
        return;
    }
    mlt_waitfor_add(w, step->need.kind == MLT_CSP_SYNC    ? " waits at a barrier for "
                       : step->need.kind == MLT_CSP_GROUP ? " waits in its group for "
                       : step->need.kind == MLT_CSP_JOIN  ? " waits to join "
                                                          : " waits for its process ");
    mlt_waitfor_add_name(w, g, next);
}
