// SPDX-License-Identifier: BSD-3-Clause
#include "trace/note.h"

#include <string.h>

#include "base/log.h"

// A walk over the words of a chunk.
typedef struct walk {
    const uint8_t *at, *end; // of any alignment
    mlt_trace_like slots[MLT_NOTE_SLOTS];
    uint8_t filled[MLT_NOTE_SLOTS];
    uint32_t slot; // of the note
    uint64_t ended, span;
    uint32_t kinds; // that likenesses had so far, as bits
    bool known;     // when the note before ended
    bool bad;
} walk;

static void walk_begin(walk *w, const void *data, size_t bytes)
{
    w->at = data;
    w->end = w->at + bytes;
    w->known = w->bad = false;
    w->kinds = 0;
    memset(w->filled, 0, sizeof w->filled);
}

static bool is_kind(uint64_t kind)
{
    uint64_t did = kind & (MLT_NOTE_SENT | MLT_NOTE_POSTED | MLT_NOTE_MATCHED);
    return (kind & MLT_NOTE_KIND) < MLT_TRACE_KIND_COUNT &&
           (did == 0 || (kind & MLT_NOTE_KIND) == MLT_TRACE_CALL) && kind >> 32 == 0;
}

// The likeness at hand goes to its slot.
static bool take_whole(walk *w)
{
    uint64_t words[MLT_NOTE_WORDS];
    if (w->end - w->at < (ptrdiff_t)sizeof words)
        return false;
    memcpy(words, w->at, sizeof words);
    w->slot = (uint32_t)(words[0] >> 8);
    if (words[0] >> 16 || w->slot >= MLT_NOTE_SLOTS || !is_kind(words[6]))
        return false;
    w->slots[w->slot] = (mlt_trace_like){words[3], words[4], words[5], words[6]};
    w->filled[w->slot] = 1;
    w->kinds |= UINT32_C(1) << (words[6] & MLT_NOTE_KIND);
    w->known = true;
    w->ended = words[1];
    w->span = words[2];
    w->at += sizeof words;
    return true;
}

static bool take_word(walk *w, uint64_t word)
{
    w->slot = word & 0xff;
    w->ended += word >> 8 & ((1u << MLT_NOTE_BITS) - 1);
    w->span = word >> (8 + MLT_NOTE_BITS);
    w->at += sizeof word;
    return w->known && w->filled[w->slot];
}

// The note after this one; false: it was the last, or what follows is none.
static bool walk_on(walk *w)
{
    uint64_t word;
    while (w->end - w->at >= (ptrdiff_t)sizeof word) {
        memcpy(&word, w->at, sizeof word);
        bool whole = (word & 0xff) >= MLT_NOTE_SLOTS;
        w->bad = whole ? !take_whole(w) : !take_word(w, word);
        if (w->bad || (word & 0xff) != MLT_NOTE_LIKE)
            return !w->bad;
    }
    w->bad = w->at != w->end;
    return false;
}

static uint32_t events_of(uint64_t kind)
{
    bool waited = (kind & MLT_NOTE_POSTED) && (kind & MLT_NOTE_MATCHED);
    return 1u + !!(kind & MLT_NOTE_SENT) + !!(kind & MLT_NOTE_POSTED) +
           !!(kind & MLT_NOTE_MATCHED) + waited;
}

int64_t mlt_notes_look(const void *data, size_t bytes, uint32_t *kinds)
{
    walk w;
    int64_t events = 0;
    walk_begin(&w, data, bytes);
    while (walk_on(&w))
        events += events_of(w.slots[w.slot].kind);
    *kinds |= w.kinds;
    return w.bad ? -1 : events;
}

int64_t mlt_notes_count(const void *data, size_t bytes)
{
    uint32_t kinds = 0;
    return mlt_notes_look(data, bytes, &kinds);
}

// In the order in which they ended, as far as one note tells.
static mlt_trace_event *expand(const walk *w, mlt_trace_event *to)
{
    const mlt_trace_like *like = &w->slots[w->slot];
    mlt_trace_event call = {.time = w->span < w->ended ? w->ended - w->span : 0,
                            .span = w->span,
                            .bytes = like->bytes,
                            .rank = (uint32_t)(like->peer >> 32),
                            .peer = (int32_t)like->peer,
                            .tag = (int32_t)(like->tag >> 32),
                            .context = (uint32_t)like->tag,
                            .fn = (uint16_t)(like->kind >> 16),
                            .kind = like->kind & MLT_NOTE_KIND,
                            .how = (uint8_t)(like->kind >> 8)};
    bool sent = like->kind & MLT_NOTE_SENT, posted = like->kind & MLT_NOTE_POSTED;
    bool matched = like->kind & MLT_NOTE_MATCHED;
    mlt_trace_event moment = call;
    moment.span = moment.fn = 0;
    if (sent) {
        *to = moment;
        to++->kind = MLT_TRACE_SENT;
    }
    moment.how = 0;
    if (posted) {
        *to = moment;
        to++->kind = MLT_TRACE_POSTED;
    }
    moment.time = w->ended;
    if (matched) {
        *to = moment;
        to++->kind = MLT_TRACE_MATCHED;
    }
    if (posted && matched) {
        *to = call;
        to->kind = MLT_TRACE_WAIT;
        to->fn = 0;
        to++->bytes = 0;
    }
    if (sent || posted || matched)
        call.how = 0;
    *to++ = call;
    return to;
}

void mlt_notes_expand(const void *data, size_t bytes, mlt_trace_event *events)
{
    walk w;
    walk_begin(&w, data, bytes);
    while (walk_on(&w))
        events = expand(&w, events);
}

size_t mlt_notes_likes(const void *data, size_t bytes, uint64_t *to)
{
    walk w;
    uint64_t *begin = to;
    walk_begin(&w, data, bytes);
    while (walk_on(&w)) {
    }
    mlt_assert(!w.bad);
    for (uint32_t s = 0; s < MLT_NOTE_SLOTS; s++) {
        if (!w.filled[s])
            continue;
        const mlt_trace_like *like = &w.slots[s];
        const uint64_t whole[] = {
            MLT_NOTE_LIKE | s << 8, w.ended, 0, like->bytes, like->peer, like->tag, like->kind};
        memcpy(to, whole, sizeof whole);
        to += MLT_NOTE_WORDS;
    }
    return (size_t)(to - begin);
}
