// SPDX-License-Identifier: BSD-3-Clause
// What the parts of a reduction tell each other beside its schedule. The leader is the first worker
// that contributes; it knows what all have to agree about.
//
//     C: workers that contribute, R: workers that receive
//
//     ROUND   leader -> R only    round n comes, so many bytes of that type
//     TYPE    C -> leader,        from round n on, values have that type here, or there are none;
//             leader -> C         the other side compares that with its own
//     END     C -> all            its contributors have ended after n elements
//     PASSED  R -> leader         n rounds are over here; every MLT_FLOW_PASSED rounds
//     GO      leader -> C only    n rounds are over on all workers that receive
//     CLOSED  R -> leader         all its receivers have ended
//     STOP    leader -> all       all receivers of all workers have ended: round n is the first
//                                 that does not take place
//     HEARD   C -> leader         it will not start that round
//
// STOP. Others may have started rounds that the leader has not, and everybody must take part in
// those. So the leader starts none until all have heard of the stop. Meanwhile rounds that it has
// not started give no result. A worker that waits for results is at most MLT_FLOW_ROUNDS ahead of
// the leader; one that does not wait is at most MLT_FLOW_AHEAD ahead, which is more. There all
// stop.
//
// Packets are handled inside a progress step, which does not wait. They wake the part's processes,
// which look at what has changed.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/log.h"
#include "base/memory.h"
#include "flow/graph/ops.h"
#include "flow/part/part_int.h"

enum { CHANGES = 1024 }; // of types: those that are remembered

typedef enum kind { ROUND, TYPE, NEWS_END, PASSED, GO, NEWS_CLOSED, STOP, HEARD } kind;

typedef struct news {
    uint64_t n, bytes;
    uint32_t value_bytes, kind;
} news;
_Static_assert(sizeof(news) <= 32, "it lies in the slot of its packet");

static void tell(const mlt_flow_part *part, kind what, uint32_t member, const news *data)
{
    mlt_packet packet = {.kind = (uint16_t)(MLT_FLOW_PACKET_PART + what),
                         .object = part->number,
                         .src = (int32_t)part->self,
                         .dst = (int32_t)member};
    mlt_route *route = mlt_route_to_worker(part->program->csp, part->reduction->worker[member]);
    mlt_route_send(route, &packet, data, sizeof *data);
}

// ---- types

static const mlt_flow_change *own_at(const mlt_flow_part *part, uint64_t n)
{
    uint32_t i = part->own_count - 1;
    while (i > 0 && part->own[i].from > n)
        i--;
    mlt_assert(part->own[i].from <= n); // no part is that late
    return &part->own[i];
}

static const char *type_words(const mlt_flow_change *c, char *text, size_t size)
{
    if (c->empty)
        snprintf(text, size, "no values");
    else if (c->kind == FLOW_ANY)
        snprintf(text, size, "values of %u bytes each", c->value_bytes);
    else
        snprintf(text, size, "values of type %s", mlt_flow_type_name((flow_type)c->kind));
    return text;
}

static bool is_alike(const mlt_flow_change *a, const mlt_flow_change *b)
{
    return a->kind == b->kind && a->value_bytes == b->value_bytes && a->empty == b->empty;
}

// What another part said of a round that has started here.
static void compare(const mlt_flow_part *part, const mlt_flow_change *theirs)
{
    const mlt_flow_change *own = own_at(part, theirs->from);
    if (is_alike(own, theirs))
        return;
    const mlt_flow_combiner *c = &part->combiner;
    char one[96], other[96], nth[32], first[64], second[64];
    mlt_flow_fault(
        c->task, "reduction %s: the %s element of %s has %s, but that of %s has %s", c->name,
        mlt_flow_ordinal(theirs->from + 1, nth, sizeof nth),
        mlt_flow_feeder(part->program, mlt_flow_part_line(part, part->self), one, sizeof one),
        type_words(own, first, sizeof first),
        mlt_flow_feeder(part->program, mlt_flow_part_line(part, theirs->member), other,
                        sizeof other),
        type_words(theirs, second, sizeof second));
}

void mlt_flow_compare(mlt_flow_part *part)
{
    uint32_t left = 0;
    for (uint32_t i = 0; i < part->their_count; i++)
        if (part->theirs[i].from < part->started)
            compare(part, &part->theirs[i]);
        else
            part->theirs[left++] = part->theirs[i];
    part->their_count = left;
}

// The type may change with every element. Others are at most MLT_FLOW_AHEAD rounds away, and what
// they said of older rounds has come long ago.
static void forget_old(mlt_flow_part *part)
{
    if (part->own_count < CHANGES)
        return;
    part->own_count = CHANGES / 2;
    memmove(part->own, part->own + CHANGES / 2, part->own_count * sizeof *part->own);
}

static MLT_COLD void type_changes(mlt_flow_part *part, const mlt_flow_change *to)
{
    forget_old(part);
    *MLT_ARRAY_ADD(part->own, part->own_count, part->own_room) = *to;
    news data = {
        .n = to->from, .bytes = !to->empty, .value_bytes = to->value_bytes, .kind = to->kind};
    if (part->self != part->leader) {
        tell(part, TYPE, part->leader, &data);
        return;
    }
    for (uint32_t m = 0; m < part->reduction->members; m++)
        if (m != part->self && part->reduction->contributes[m])
            tell(part, TYPE, m, &data);
}

static void hear_type(mlt_flow_part *part, uint32_t member, const news *data)
{
    *MLT_ARRAY_ADD(part->theirs, part->their_count, part->their_room) =
        (mlt_flow_change){.from = data->n,
                          .value_bytes = data->value_bytes,
                          .member = member,
                          .kind = (uint8_t)data->kind,
                          .empty = data->bytes == 0};
    mlt_flow_compare(part);
}

// ---- rounds

void mlt_flow_tell_round(mlt_flow_part *part, const mlt_flow_element *e)
{
    mlt_flow_change now = {.from = part->started,
                           .value_bytes = e->value_bytes,
                           .member = part->self,
                           .kind = e->kind,
                           .empty = e->bytes == 0};
    if (MLT_UNLIKELY(!part->own_count || !is_alike(&part->own[part->own_count - 1], &now)))
        type_changes(part, &now);
    if (part->self != part->leader || part->contributors == part->reduction->members)
        return;
    news data = {
        .n = part->started, .bytes = e->bytes, .value_bytes = e->value_bytes, .kind = e->kind};
    for (uint32_t m = 0; m < part->reduction->members; m++)
        if (!part->reduction->contributes[m])
            tell(part, ROUND, m, &data);
}

static MLT_COLD void coming_grow(mlt_flow_part *part)
{
    uint64_t room = part->coming_room ? 2 * part->coming_room : MLT_FLOW_AHEAD;
    mlt_flow_coming *coming = mlt_xcalloc(room, sizeof *coming);
    for (uint64_t n = part->started; n < part->announced; n++)
        coming[n % room] = part->coming[n % part->coming_room];
    free(part->coming);
    part->coming = coming;
    part->coming_room = room;
}

static void hear_round(mlt_flow_part *part, const news *data)
{
    mlt_assert(data->n == part->announced && !part->contributes);
    if (part->announced - part->started == part->coming_room)
        coming_grow(part);
    part->coming[part->announced++ % part->coming_room] = (mlt_flow_coming){
        .bytes = data->bytes, .value_bytes = data->value_bytes, .kind = (uint8_t)data->kind};
}

// ---- the end of contributors

static void hear_end(mlt_flow_part *part, uint32_t member, uint64_t n)
{
    part->ended++;
    if (n < part->ends_at) {
        part->ends_at = n;
        part->ends_who = member;
    }
    if (part->contributes && part->started > part->ends_at)
        mlt_flow_unequal(&part->combiner, mlt_flow_part_line(part, part->ends_who), part->ends_at,
                         mlt_flow_part_line(part, part->self));
}

void mlt_flow_tell_end(mlt_flow_part *part)
{
    news data = {.n = part->started};
    for (uint32_t m = 0; m < part->reduction->members; m++)
        if (m != part->self)
            tell(part, NEWS_END, m, &data);
    hear_end(part, part->self, part->started);
    mlt_flow_part_wake(part);
}

// ---- how far everybody is

static void hear_passed(mlt_flow_part *part, uint32_t member, uint64_t n)
{
    const mlt_flow_reduction *r = part->reduction;
    uint64_t least = UINT64_MAX;
    part->passed[member] = n;
    for (uint32_t m = 0; m < r->members; m++)
        if (r->receives[m] && part->passed[m] < least)
            least = part->passed[m];
    part->go = least;
    if (least == part->go_told)
        return;
    part->go_told = least;
    news data = {.n = least};
    for (uint32_t m = 0; m < r->members; m++)
        if (m != part->self && r->contributes[m] && !r->receives[m])
            tell(part, GO, m, &data);
}

void mlt_flow_tell_retired(mlt_flow_part *part)
{
    if (part->retired - part->passed_told < MLT_FLOW_PASSED)
        return;
    part->passed_told = part->retired;
    if (part->self == part->leader) {
        hear_passed(part, part->self, part->retired);
        mlt_flow_part_wake(part);
    } else {
        news data = {.n = part->retired};
        tell(part, PASSED, part->leader, &data);
    }
}

// ---- the end of receivers

static void hear_closed(mlt_flow_part *part)
{
    if (++part->closed < part->receivers)
        return;
    part->stops_at = part->started + MLT_FLOW_AHEAD;
    part->deaf = part->contributors - 1;
    news data = {.n = part->stops_at};
    for (uint32_t m = 0; m < part->reduction->members; m++)
        if (m != part->self)
            tell(part, STOP, m, &data);
}

void mlt_flow_tell_closed(mlt_flow_part *part)
{
    if (part->self == part->leader) {
        hear_closed(part);
        mlt_flow_part_wake(part);
    } else {
        news data = {0};
        tell(part, NEWS_CLOSED, part->leader, &data);
    }
}

// ---- packets

void mlt_flow_part_packet(mlt_flow_program *program, mlt_route *route, const mlt_packet *packet,
                          const void *data, uint64_t bytes)
{
    const struct mlt_flow_parts *parts = program->parts;
    news said;
    (void)route;
    mlt_assert(bytes == sizeof said && packet->object < parts->count && parts->of[packet->object]);
    memcpy(&said, data, sizeof said);
    mlt_flow_part *part = parts->of[packet->object];
    uint32_t member = (uint32_t)packet->src;
    mlt_assert(member < part->reduction->members);
    switch ((kind)(packet->kind - MLT_FLOW_PACKET_PART)) {
    case ROUND:
        hear_round(part, &said);
        break;
    case TYPE:
        hear_type(part, member, &said);
        break;
    case NEWS_END:
        hear_end(part, member, said.n);
        break;
    case PASSED:
        hear_passed(part, member, said.n);
        break;
    case GO:
        part->go = said.n;
        break;
    case NEWS_CLOSED:
        hear_closed(part);
        break;
    case STOP:
        mlt_assert(part->started <= said.n);
        part->stops_at = said.n;
        if (part->contributes)
            tell(part, HEARD, member, &said);
        break;
    case HEARD:
        part->deaf--;
        break;
    default:
        mlt_fatal("a part of a reduction got a packet of kind %d", packet->kind);
    }
    mlt_flow_part_wake(part);
}
