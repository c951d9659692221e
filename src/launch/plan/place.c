// SPDX-License-Identifier: BSD-3-Clause
#include "launch/plan/place.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/memory.h"
#include "launch/plan/bind.h"

enum { MOST_PER_HOST = INT32_MAX };

// ---- Words

// The word up to its modifiers, such as ":OVERSUBSCRIBE" or ":PE=2".
static bool place_is_word(const char *text, const char *word)
{
    size_t n = strlen(word);
    return text && strncasecmp(text, word, n) == 0 && (!text[n] || text[n] == ':');
}

// "ppr:N:node", perhaps with modifiers.
static bool read_ppr(const char *text, mlt_mapping *out, char *why, size_t why_size)
{
    const char *number = text + 3 + (text[3] == ':');
    size_t digits = strspn(number, "0123456789");
    const char *end = number + digits;
    unsigned long n = digits && digits <= 10 ? strtoul(number, NULL, 10) : 0;
    mlt_bind_modifiers modifiers;
    char ignored[256];
    if (n == 0 || n > MOST_PER_HOST || *end != ':' ||
        !mlt_bind_word_read(end + 1, &modifiers, ignored, sizeof ignored))
        return mlt_deny(why, why_size,
                        "'%s' should be ppr:N:node, with the number of ranks of a host", text);
    if (place_is_word(end + 1, "node"))
        out->per_host = (uint32_t)n;
    else
        out->local = text;
    return true;
}

bool mlt_mapping_read(const char *map_by, const char *rank_by, mlt_mapping *out, char *why,
                      size_t why_size)
{
    mlt_bind_modifiers modifiers = {.each = 0}, ignored;
    *out = (mlt_mapping){.by_node = place_is_word(map_by, "node")};
    out->rank_by_node = rank_by ? place_is_word(rank_by, "node") : out->by_node;
    if (rank_by && !place_is_word(rank_by, "fill") && !place_is_word(rank_by, "span") &&
        !mlt_bind_word_read(rank_by, &ignored, why, why_size))
        return mlt_deny(why, why_size, "'%s' should be slot or node", rank_by);
    bool known = !map_by || mlt_bind_word_known(map_by);
    if (!known)
        snprintf(why, why_size, "'%s' should be slot, node, ppr:N:node, core, socket or numa",
                 map_by);
    if (!known || (map_by && !mlt_bind_word_read(map_by, &modifiers, why, why_size)))
        return false;
    out->each = modifiers.each;
    out->no_oversubscribe = modifiers.no_oversubscribe;
    out->no_local = modifiers.no_local;
    if (place_is_word(map_by, "seq") || place_is_word(map_by, "dist"))
        out->local = map_by;
    return !place_is_word(map_by, "ppr") || read_ppr(map_by, out, why, why_size);
}

// ---- Counts

// How often all hosts have been filled.
static uint64_t rounds_done(const mlt_place *p)
{
    uint64_t least = UINT64_MAX;
    for (uint32_t h = 0; h < p->hosts; h++)
        if (p->used[h] / p->slots[h] < least)
            least = p->used[h] / p->slots[h];
    return least;
}

// Fills hosts that have room, in their order or in turn; returns what is left of n.
static uint32_t place_fill(const mlt_place *p, uint32_t *room, bool by_node, uint32_t n)
{
    for (bool any = true; n && any;) {
        any = false;
        for (uint32_t h = 0; h < p->hosts && n; h++) {
            uint32_t more = by_node && room[h] ? 1 : room[h] < n ? room[h] : n;
            p->counts[h] += more;
            room[h] -= more;
            n -= more;
            any |= more > 0;
        }
    }
    return n;
}

void mlt_place_count(const mlt_place *place, bool by_node, uint32_t n)
{
    uint32_t *room = mlt_xcalloc(place->hosts, sizeof *room);
    uint64_t sum = 0, round = rounds_done(place);
    for (uint32_t h = 0; h < place->hosts; h++) {
        place->counts[h] = 0;
        uint64_t full = (round + 1) * place->slots[h];
        room[h] = full > place->used[h] ? (uint32_t)(full - place->used[h]) : 0;
        sum += place->slots[h];
    }
    n = place_fill(place, room, by_node, n); // the round that has begun
    for (uint32_t h = 0; h < place->hosts; h++) {
        place->counts[h] += (uint32_t)(n / sum * place->slots[h]);
        room[h] = place->slots[h];
    }
    (void)place_fill(place, room, by_node, (uint32_t)(n % sum));
    free(room);
}

void mlt_place_deal(const mlt_place *p, uint32_t *host_of)
{
    uint32_t *open = mlt_xcalloc(p->hosts, sizeof *open);
    uint32_t count = 0, next = 0;
    for (uint32_t h = 0; h < p->hosts; h++)
        if (p->counts[h])
            open[count++] = h;
    for (uint32_t turn = 1; count; turn++) {
        uint32_t still = 0;
        for (uint32_t i = 0; i < count; i++) {
            uint32_t h = open[i];
            host_of[next++] = h;
            if (p->counts[h] > turn)
                open[still++] = h;
        }
        count = still;
    }
    free(open);
}
