// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/comm/agreement.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/table.h"
#include "mpi/comm/context.h"
#include "mpi/self.h"
#include "wire/wire.h"

// ---- parties

typedef struct seen {
    mlt_team_worker *at; // in the order of their first ranks
    uint32_t *place;     // [workers of the job] place in at, + 1; 0: none of its ranks so far
    uint32_t workers, ranks, last;
    bool contiguous, foreign;
} seen;

static void agreement_look_at(const mlt_worker *w, const mlt_map *map, seen *s)
{
    for (int32_t r = 0; map && r < map->size; r++, s->ranks++) {
        int32_t world = mlt_map_world(map, r);
        uint32_t worker = mlt_worker_of_rank(w, world);
        if (!s->place[worker]) {
            s->at[s->workers] = (mlt_team_worker){.first = s->ranks, .speaker = world};
            s->place[worker] = ++s->workers;
        } else if (worker != s->last) {
            s->contiguous = false;
        }
        s->foreign |= worker >= w->boot->job->workers;
        s->at[s->place[worker] - 1].present++;
        s->last = worker;
    }
}

mlt_members *mlt_members_new(const mlt_worker *w, const mlt_map *first, const mlt_map *second)
{
    uint32_t workers =
        w->wire && w->wire->worlds ? mlt_worlds_workers(w->wire->worlds) : w->boot->job->workers;
    seen s = {.at = mlt_xcalloc(workers, sizeof *s.at),
              .place = mlt_xcalloc(workers, sizeof *s.place),
              .contiguous = true};
    agreement_look_at(w, first, &s);
    agreement_look_at(w, second, &s);
    mlt_assert(s.place[w->index]);
    mlt_members *members = mlt_xcalloc(1, sizeof *members + s.workers * sizeof *members->at);
    *members = (mlt_members){.refs = 1,
                             .workers = s.workers,
                             .place = s.place[w->index] - 1,
                             .ranks = (int32_t)s.ranks,
                             .contiguous = s.contiguous,
                             .foreign = s.foreign};
    memcpy(members->at, s.at, s.workers * sizeof *s.at);
    free(s.at);
    free(s.place);
    return members;
}

mlt_members *mlt_members_hold(mlt_members *members)
{
    members->refs++;
    return members;
}

void mlt_members_drop(mlt_members *members)
{
    if (members && --members->refs == 0)
        free(members);
}

// ---- data

enum { USED = -1 }; // instead of an item's order: numbers that a worker uses

static void *add_room(mlt_agreement *m, uint64_t bytes)
{
    MLT_ARRAY_WANT(m->data, m->bytes + bytes, m->room);
    m->bytes += bytes;
    return m->data + m->bytes - bytes;
}

static void add_item(mlt_agreement *m, int32_t order, const void *mine, uint64_t bytes)
{
    uint64_t whole = (bytes + 7) & ~UINT64_C(7);
    mlt_agreement_item *item = add_room(m, sizeof *item + whole);
    *item = (mlt_agreement_item){.order = order, .bytes = bytes};
    memcpy(item + 1, mine, bytes);
    memset((char *)(item + 1) + bytes, 0, whole - bytes);
}

const mlt_agreement_item *mlt_agreement_next(const mlt_agreement *m, const mlt_agreement_item *item)
{
    uint64_t at = 0;
    if (item)
        at = (uint64_t)((const unsigned char *)item - m->data) + sizeof *item +
             ((item->bytes + 7) & ~UINT64_C(7));
    while (at < m->bytes) {
        item = (const mlt_agreement_item *)(m->data + at);
        if (item->order != USED)
            return item;
        at += sizeof *item + ((item->bytes + 7) & ~UINT64_C(7));
    }
    return NULL;
}

// ---- numbers of communicators over several jobs

static void add_used(mlt_agreement *m)
{
    uint32_t count;
    const uint32_t *used = mlt_context_abroad(m->worker, &count);
    if (count)
        add_item(m, USED, used, count * sizeof *used);
}

static uint32_t draw(const mlt_agreement *m)
{
    uint32_t *used = mlt_xrealloc(NULL, m->bytes / sizeof *used + 1, sizeof *used), count = 0;
    for (uint64_t at = 0; at < m->bytes;) {
        const mlt_agreement_item *item = (const mlt_agreement_item *)(m->data + at);
        if (item->order == USED) {
            memcpy(used + count, item + 1, item->bytes);
            count += (uint32_t)(item->bytes / sizeof *used);
        }
        at += sizeof *item + ((item->bytes + 7) & ~UINT64_C(7));
    }
    uint32_t number = mlt_context_draw(used, count);
    free(used);
    return number;
}

// ---- the exchange
//
// The workers of the members form a binomial tree by their places: the parent of p is p without its
// lowest bit, its children are p + 1, p + 2, p + 4 ... below that bit. One request is under way at
// a time; each message is a head, and the data if there is any.

typedef enum stage {
    UP,   // from a child
    GIVE, // to the parent
    DOWN, // from the parent
    CAST, // to a child
    OVER,
} stage;

static void step(mlt_work *work);

static void moved(mlt_req *req)
{
    mlt_agreement *m = mlt_container_of(req, mlt_agreement, req);
    if (!m->stepping)
        mlt_worker_later(m->worker, &m->work);
}

static uint32_t lowest_bit(uint32_t place, uint32_t workers)
{
    if (place)
        return place & -place;
    uint32_t bit = 1; // above everybody
    while (bit < workers)
        bit *= 2;
    return bit;
}

// The i-th child (distance 2^i); UINT32_MAX: there is none any more.
static uint32_t child_of(const mlt_members *members, uint32_t i)
{
    uint32_t distance = UINT32_C(1) << i, child = members->place + distance;
    bool has = distance < lowest_bit(members->place, members->workers) && child < members->workers;
    return has ? child : UINT32_MAX;
}

// By what a message names its sender: the same for all members.
static int32_t agreement_name_of(const mlt_agreement *m, uint32_t place)
{
    int32_t world = m->place.members->at[place].speaker;
    if (m->place.by_place)
        return (int32_t)place;
    if (MLT_LIKELY(!m->place.members->foreign))
        return world;
    uint64_t identity;
    uint32_t rank;
    mlt_worlds_tell(m->worker->wire->worlds, m->worker->boot->job, world, &identity, &rank);
    return (int32_t)(mlt_hash_mix(mlt_hash_mix(0, identity), rank) >> 33);
}

static void agreement_start(mlt_agreement *m, mlt_req_kind kind, uint32_t place, void *data,
                            uint64_t bytes)
{
    const mlt_members *members = m->place.members;
    const mlt_team_worker *own = &members->at[members->place], *peer = &members->at[place];
    mlt_req_init(&m->req, &m->worker->ranks[own->speaker - m->worker->first_rank], kind);
    mlt_req_message(
        &m->req, data, bytes, MLT_TYPE_BYTE, m->place.context, agreement_name_of(m, members->place),
        kind == MLT_REQ_SEND ? peer->speaker : agreement_name_of(m, place), m->place.tag);
    m->req.on_done = moved;
    if (kind == MLT_REQ_SEND)
        mlt_p2p_send(&m->req);
    else
        mlt_p2p_recv(&m->req);
}

// Two agreements with the same context and tag at a time would mix their messages: only a program
// that makes communicators of the same group, with the same tag, by several threads at once gets
// there.
static void check_head(const mlt_agreement *m)
{
    if (m->head.check != m->place.key)
        mlt_fatal("two different communicators are being made by the same ranks with the same tag "
                  "at the same time; use different tags");
}

static uint32_t parent_of(const mlt_members *members)
{
    return members->place & (members->place - 1);
}

// The message of a stage: the head, and then the data if there is any (`with_data`).
static void start_stage(mlt_agreement *m, stage now, bool with_data)
{
    const mlt_members *members = m->place.members;
    bool sends = now == GIVE || now == CAST, to_child = now == UP || now == CAST;
    uint32_t place = to_child ? child_of(members, m->child) : parent_of(members);
    void *data = &m->head;
    uint64_t bytes = sizeof m->head;
    if (with_data) {
        bytes = m->head.bytes;
        data = sends ? m->data : add_room(m, bytes);
    }
    m->stage = (uint8_t)now;
    m->with_data = with_data;
    agreement_start(m, sends ? MLT_REQ_SEND : MLT_REQ_RECV, place, data, bytes);
}

static void start_cast(mlt_agreement *m)
{
    m->context = m->head.context;
    if (child_of(m->place.members, m->child) == UINT32_MAX)
        m->stage = OVER;
    else
        start_stage(m, CAST, false);
}

static void start_up(mlt_agreement *m)
{
    const mlt_members *members = m->place.members;
    if (child_of(members, m->child) != UINT32_MAX) {
        start_stage(m, UP, false);
        return;
    }
    m->head.bytes = m->bytes;
    m->head.check = m->place.key;
    m->child = 0;
    if (members->place > 0) {
        start_stage(m, GIVE, false);
        return;
    }
    // The root: all data is here.
    m->head.context = !m->place.wants_id ? 0
                      : members->foreign ? draw(m)
                                         : mlt_context_take(m->worker, members->workers);
    start_cast(m);
}

// What follows when the request of the stage is done.
static void next_stage(mlt_agreement *m)
{
    stage now = (stage)m->stage;
    if (!m->with_data && (now == UP || now == DOWN))
        check_head(m);
    if (!m->with_data && now == DOWN)
        m->bytes = 0; // what comes is the data of all
    if (!m->with_data && m->head.bytes) {
        start_stage(m, now, true);
        return;
    }
    if (now == GIVE) {
        start_stage(m, DOWN, false);
        return;
    }
    m->child += now == UP || now == CAST;
    if (now == UP)
        start_up(m);
    else
        start_cast(m);
}

static void agreement_end(mlt_agreement *m)
{
    mlt_sched *sched = m->worker->sched;
    m->place.finish(m);
    for (mlt_participant *g = m->participants, *next; g; g = next) {
        next =
            g->next; // the participant may be gone when its fiber has run or its request is complete
        bool heap = g->heap;
        g->over = true;
        if (g->req)
            mlt_req_complete(g->req);
        else if (g->fiber)
            mlt_fiber_wake(sched, g->fiber);
        if (heap)
            free(g);
    }
    mlt_members_drop(m->place.members);
    free(m->data);
    free(m);
}

static void step(mlt_work *work)
{
    mlt_agreement *m = mlt_container_of(work, mlt_agreement, work);
    m->stepping = true;
    while (m->stage != OVER && m->req.done)
        next_stage(m);
    m->stepping = false;
    if (m->stage == OVER)
        agreement_end(m);
}

// ---- participants

static mlt_agreement *agreement_find(const mlt_agreement_place *place)
{
    MLT_LIST_EACH(mlt_agreement, m, place->list, link)
        if (m->place.key == place->key && m->place.context == place->context &&
            m->place.tag == place->tag)
            return m;
    return NULL;
}

bool mlt_agreement_is_open(const mlt_agreement_place *place)
{
    return agreement_find(place) != NULL;
}

static mlt_agreement *open_agreement(mlt_worker *worker, const mlt_agreement_place *place)
{
    mlt_agreement *m = mlt_xcalloc(1, sizeof *m);
    m->place = *place;
    m->place.members = place->members ? mlt_members_hold(place->members)
                                      : mlt_members_new(worker, place->group[0], place->group[1]);
    m->end = &m->participants;
    m->worker = worker;
    m->work.run = step;
    mlt_list_push_back(place->list, &m->link);
    return m;
}

void mlt_agreement_come(mlt_participant *participant, const mlt_agreement_place *place,
                        const void *mine, uint64_t bytes)
{
    mlt_agreement *m = agreement_find(place);
    if (!m)
        m = open_agreement(participant->rank->worker, place);
    participant->over = false;
    participant->fiber = NULL;
    participant->next = NULL;
    *m->end = participant;
    m->end = &participant->next;
    if (bytes)
        add_item(m, participant->order, mine, bytes);
    if (++m->came < m->place.members->at[m->place.members->place].present)
        return;
    mlt_list_remove(&m->link); // who comes now comes to the next one
    if (MLT_UNLIKELY(m->place.members->foreign) && m->place.wants_id)
        add_used(m);
    m->stepping = true;
    start_up(m);
    step(&m->work);
}

void mlt_agreement_wait(mlt_participant *participant, uint32_t context)
{
    mlt_rank *me = participant->rank;
    mlt_wait wait = {
        .call = mlt_mpi_call(me),
        .kind = MLT_WAIT_COLLECTIVE,
        .context = context,
    };
    participant->fiber = mlt_rank_fiber(me);
    while (!participant->over)
        mlt_fiber_park(me->worker->sched, &wait);
}
