// SPDX-License-Identifier: BSD-3-Clause
// Perfetto's own format: packets of protocol buffers. A track for each worker, below it one for each rank; calls and waits are slices,
// messages are flows. Smaller than Chrome's JSON, and read faster.
#include <inttypes.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "tools/trace/causes.h"
#include "tools/trace/sequences.h"
#include "tools/trace/trace.h"
#include "tools/view/pack.h"

// Numbers of fields, as perfetto's trace_packet.proto, track_event.proto and track_descriptor.proto have them.
enum {
    TRACE_PACKET = 1,
    PACKET_TIME = 8,
    PACKET_SEQUENCE = 10,
    PACKET_EVENT = 11,
    PACKET_TRACK = 60,
    TRACK_UUID = 1,
    TRACK_NAME = 2,
    TRACK_PARENT = 5,
    EVENT_TYPE = 9,
    EVENT_TRACK = 11,
    EVENT_CATEGORY = 22,
    EVENT_NAME = 23,
    EVENT_FLOW = 47,
    EVENT_FLOW_ENDS = 48,
};
enum { SLICE_BEGINS = 1, SLICE_ENDS = 2, INSTANT = 3 };
enum { COPY_LANES = 4 }; // of a rank: copies that overlap are on tracks of their own
enum { NUMBER = 0, FIXED = 1, BYTES = 2 }; // how a field is coded

#define RANK_TRACK   (1ull << 32) // + rank
#define WORKER_TRACK (2ull << 32) // + worker
#define COPY_TRACK   (3ull << 32) // + rank * COPY_LANES + lane
#define INNER_TRACK  (1ull << 63) // + rank << 32 + process

typedef struct proto {
    FILE *out;
    const mlt_trace_facts_table *facts;
    mlt_sequences processes; // whose tracks are there
    uint64_t *lanes;         // [ranks * COPY_LANES] where the last copy ends; NULL: no copies
    mlt_text inner, packet, whole;
} proto;

static void put_field(mlt_text *to, uint64_t field, uint64_t n)
{
    mlt_pack_number(to, field << 3 | NUMBER);
    mlt_pack_number(to, n);
}

static void put_fixed(mlt_text *to, uint64_t field, uint64_t n)
{
    uint8_t bytes[8];
    mlt_pack_number(to, field << 3 | FIXED);
    for (int i = 0; i < 8; i++)
        bytes[i] = (uint8_t)(n >> 8 * i);
    mlt_text_put(to, bytes, sizeof bytes);
}

static void put_bytes(mlt_text *to, uint64_t field, const void *bytes, size_t count)
{
    mlt_pack_number(to, field << 3 | BYTES);
    mlt_pack_number(to, count);
    mlt_text_put(to, bytes, count);
}

// The packet whose fields are there, with the inner message as one of them.
static void end_packet(proto *p, uint64_t field)
{
    put_bytes(&p->packet, field, mlt_text_so_far(&p->inner), p->inner.length);
    put_bytes(&p->whole, TRACE_PACKET, mlt_text_so_far(&p->packet), p->packet.length);
    fwrite(p->whole.text, 1, p->whole.length, p->out);
    p->inner.length = p->packet.length = p->whole.length = 0;
}

static void put_track(proto *p, uint64_t uuid, uint64_t parent, const char *name)
{
    put_field(&p->packet, PACKET_SEQUENCE, 1);
    put_field(&p->inner, TRACK_UUID, uuid);
    put_bytes(&p->inner, TRACK_NAME, name, strlen(name));
    if (parent)
        put_field(&p->inner, TRACK_PARENT, parent);
    end_packet(p, PACKET_TRACK);
}

// flow: 0 for none; else a field and a number.
static void perfetto_put_event(proto *p, uint64_t track, uint64_t time, int type,
                               const char *category, const char *name, uint64_t flow_field,
                               uint64_t flow)
{
    put_field(&p->packet, PACKET_TIME, time);
    put_field(&p->packet, PACKET_SEQUENCE, 1);
    put_field(&p->inner, EVENT_TYPE, (uint64_t)type);
    put_field(&p->inner, EVENT_TRACK, track);
    if (name) {
        put_bytes(&p->inner, EVENT_CATEGORY, category, strlen(category));
        put_bytes(&p->inner, EVENT_NAME, name, strlen(name));
    }
    if (flow_field)
        put_fixed(&p->inner, flow_field, flow);
    end_packet(p, PACKET_EVENT);
}

static void put_tracks(proto *p, const mlt_story *s)
{
    char name[320];
    for (uint32_t i = 0; i < s->trace->facts.worker_count; i++) {
        const mlt_trace_worker *w = &s->trace->facts.workers[i];
        snprintf(name, sizeof name, "worker %u on %s", w->number, w->host);
        put_track(p, WORKER_TRACK + w->number, 0, name);
    }
    for (uint32_t rank = 0; rank < s->rank_count; rank++) {
        snprintf(name, sizeof name, "rank %u", rank);
        put_track(p, RANK_TRACK + rank, WORKER_TRACK + s->ranks[rank].worker, name);
    }
}

static void perfetto_see(void *user, uint32_t rank, unsigned frame, bool opens, uint64_t time)
{
    proto *p = user;
    bool wait = frame < MLT_CAUSE_COUNT;
    char room[32];
    if (opens)
        perfetto_put_event(p, RANK_TRACK + rank, time, SLICE_BEGINS, wait ? "wait" : "call",
                           wait ? mlt_cause_names[frame]
                                : mlt_facts_fn(p->facts, (uint16_t)(frame - MLT_CAUSE_COUNT), room),
                           0, 0);
    else
        perfetto_put_event(p, RANK_TRACK + rank, time, SLICE_ENDS, NULL, NULL, 0, 0);
}

// Of processes and workers; of the rank's own fiber the waits are there already.
static void put_other(void *user, uint32_t worker, const mlt_trace_event *e)
{
    proto *p = user;
    uint64_t track = WORKER_TRACK + worker;
    char room[32], words[160] = "asleep";
    bool inner = e->kind == MLT_TRACE_CSP || e->kind == MLT_TRACE_FLOW;
    const mlt_trace_channel *channel =
        inner ? mlt_facts_channel(p->facts, worker, (uint32_t)e->tag) : NULL;
    if (inner)
        snprintf(words, sizeof words, "%s%s%s", mlt_facts_how(p->facts, e->kind, e->how, room),
                 channel ? ": " : "", channel ? channel->name : "");
    if (inner && e->peer > 0) {
        track = INNER_TRACK + ((uint64_t)e->rank << 32) + (uint32_t)e->peer;
        if (mlt_sequence_of(&p->processes, e->rank, (uint32_t)e->peer, 0, 0)->sent++ == 0) {
            char name[128];
            const mlt_trace_process *own = mlt_facts_process(p->facts, worker, (uint32_t)e->peer);
            snprintf(name, sizeof name, "rank %u, %s%s%u", e->rank, own ? own->name : "process",
                     own ? ", process " : " ", (uint32_t)e->peer);
            put_track(p, track, RANK_TRACK + e->rank, name);
        }
    } else if (e->kind != MLT_TRACE_SLEPT) {
        return;
    }
    perfetto_put_event(p, track, e->time, SLICE_BEGINS, mlt_trace_kind_names[e->kind], words, 0, 0);
    perfetto_put_event(p, track, e->time + e->span, SLICE_ENDS, NULL, NULL, 0, 0);
}

// The first lane that is free; more copies at once than lanes are left out.
static void perfetto_put_copy(proto *p, const mlt_story_copy *copy, uint32_t ranks)
{
    char words[64], room[32];
    if (!p->lanes)
        p->lanes = mlt_xcalloc((size_t)ranks * COPY_LANES, sizeof *p->lanes);
    for (uint64_t lane = 0; lane < COPY_LANES; lane++) {
        uint64_t *ends = &p->lanes[(size_t)copy->rank * COPY_LANES + lane];
        uint64_t track = COPY_TRACK + (uint64_t)copy->rank * COPY_LANES + lane;
        if (*ends > copy->begin)
            continue;
        if (!*ends) {
            snprintf(words, sizeof words, "rank %u, GPU copies", copy->rank);
            put_track(p, track, RANK_TRACK + copy->rank, words);
        }
        *ends = copy->end + !copy->end;
        snprintf(words, sizeof words, "%s, %" PRIu64 " bytes",
                 mlt_facts_how(p->facts, MLT_TRACE_COPIED, copy->how, room), copy->bytes);
        perfetto_put_event(p, track, copy->begin, SLICE_BEGINS, "copied", words, 0, 0);
        perfetto_put_event(p, track, copy->end, SLICE_ENDS, NULL, NULL, 0, 0);
        return;
    }
}

void mlt_trace_perfetto(const mlt_causes *c, FILE *out)
{
    proto p = {.out = out, .facts = &c->story->trace->facts};
    put_tracks(&p, c->story);
    for (uint32_t rank = 0; rank < c->story->rank_count; rank++)
        mlt_causes_frames(c, rank, perfetto_see, &p);
    for (uint64_t i = 0; i < c->story->message_count; i++) {
        const mlt_story_message *m = &c->story->messages[i];
        if (m->sent == MLT_STORY_UNKNOWN || m->matched == MLT_STORY_UNKNOWN)
            continue;
        perfetto_put_event(&p, RANK_TRACK + m->from, m->sent, INSTANT, "message", "sent",
                           EVENT_FLOW, i + 1);
        perfetto_put_event(&p, RANK_TRACK + m->to, m->matched, INSTANT, "message", "received",
                           EVENT_FLOW_ENDS, i + 1);
    }
    for (uint64_t i = 0; i < c->story->copy_count; i++)
        perfetto_put_copy(&p, &c->story->copies[i], c->story->rank_count);
    (void)mlt_trace_walk(c->story->trace, put_other, &p);
}
