// SPDX-License-Identifier: BSD-3-Clause
// The report of a run (flow/stats.h), for colours: found by the two ends of a line.
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/numbers.h"
#include "tools/args.h"
#include "tools/draw/flow.h"

enum { COLUMNS = 8 };

typedef struct entry {
    const char *queue, *from;
    mlt_flow_warmth warmth;
} entry;

struct mlt_flow_heat {
    entry *entries; // sorted by from, queue
    size_t count;
};

static int flow_heat_by_ends(const void *a, const void *b)
{
    const entry *x = a, *y = b;
    int c = strcmp(x->from, y->from);
    return c ? c : strcmp(x->queue, y->queue);
}

static bool number(const char *text, uint64_t *out)
{
    char *end;
    errno = 0;
    *out = strtoull(text, &end, 10);
    return isdigit((unsigned char)*text) && !*end && !errno;
}

// A line of the file, which is cut into its columns.
static bool flow_heat_read_line(char *line, entry *e)
{
    char *column[COLUMNS];
    for (int i = 0; i < COLUMNS; i++) {
        column[i] = line;
        line += strcspn(line, "\t");
        if (i + 1 < COLUMNS && *line != '\t')
            return false;
        if (*line)
            *line++ = '\0';
    }
    e->queue = column[0];
    e->from = column[1];
    mlt_flow_warmth *w = &e->warmth;
    return *column[0] && *column[1] && number(column[2], &w->elements) &&
           number(column[3], &w->bytes) && number(column[4], &w->deepest) &&
           number(column[5], &w->blocked_ns) && number(column[6], &w->starved_ns);
}

mlt_flow_heat *mlt_flow_heat_read(const char *path, char *text)
{
    mlt_flow_heat *h = mlt_xcalloc(1, sizeof *h);
    size_t lines = 1, room = 0;
    for (const char *c = text; *c; c++)
        room += *c == '\n';
    h->entries = mlt_xcalloc(room + 1, sizeof *h->entries);
    for (char *line = text; *line; lines++) {
        char *next = line + strcspn(line, "\n");
        if (*next)
            *next++ = '\0';
        if (*line && *line != '#') {
            if (!flow_heat_read_line(line, &h->entries[h->count]))
                mlt_args_failed("'%s': line %zu is none of a report of flow_report: queue, from, "
                                "elements, bytes, deepest, blocked_ns, starved_ns and place have "
                                "tabs between",
                                path, lines);
            h->count++;
        }
        line = next;
    }
    qsort(h->entries, h->count, sizeof *h->entries, flow_heat_by_ends);
    return h;
}

bool mlt_flow_heat_of(const mlt_flow_heat *heat, const char *from, const char *queue,
                      mlt_flow_warmth *sum)
{
    entry key = {.queue = queue, .from = from};
    const entry *e = bsearch(&key, heat->entries, heat->count, sizeof key, flow_heat_by_ends);
    if (!e)
        return false;
    while (e > heat->entries && flow_heat_by_ends(e - 1, &key) == 0)
        e--;
    for (; e < heat->entries + heat->count && flow_heat_by_ends(e, &key) == 0; e++) {
        sum->elements += e->warmth.elements;
        sum->bytes += e->warmth.bytes;
        sum->blocked_ns += e->warmth.blocked_ns;
        sum->starved_ns += e->warmth.starved_ns;
        if (e->warmth.deepest > sum->deepest)
            sum->deepest = e->warmth.deepest;
    }
    return true;
}

void mlt_flow_heat_apply(mlt_scene *s, const mlt_flow_warmth *warmth, const bool *known)
{
    uint64_t longest = 0, most = 0;
    for (uint32_t i = 0; i < s->link_count; i++) {
        longest = known[i] && warmth[i].blocked_ns > longest ? warmth[i].blocked_ns : longest;
        most = known[i] && warmth[i].bytes > most ? warmth[i].bytes : most;
    }
    char a[MLT_NUMBER_BYTES], b[MLT_NUMBER_BYTES], c[MLT_NUMBER_BYTES];
    for (uint32_t i = 0; i < s->link_count; i++) {
        mlt_scene_link *l = &s->links[i];
        if (!known[i])
            continue;
        double part = longest ? (double)warmth[i].blocked_ns / (double)longest : 0;
        l->heat = (int)(part * (MLT_HEATS - 1) + 0.999);
        // Bytes differ by powers: thickness goes with the square root.
        l->thickness =
            1.2 + (most ? 4.8 * mlt_scene_root((double)warmth[i].bytes / (double)most) : 0);
        size_t used = strlen(l->tip);
        snprintf(l->tip + used, sizeof l->tip - used, "\n%s elements, %s, blocked %s",
                 mlt_number(a, warmth[i].elements), mlt_bytes(b, warmth[i].bytes),
                 mlt_time(c, warmth[i].blocked_ns));
    }
    snprintf(s->legend, sizeof s->legend, "senders blocked up to %s; width: up to %s",
             mlt_time(a, longest), mlt_bytes(b, most));
}
