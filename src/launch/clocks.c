// SPDX-License-Identifier: BSD-3-Clause
#include "launch/clocks.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

void mlt_clocks_init(mlt_clocks *c, uint32_t hosts)
{
    *c = (mlt_clocks){.best = mlt_xcalloc(hosts + 1, sizeof *c->best), .hosts = hosts};
}

void mlt_clocks_fini(mlt_clocks *c)
{
    free(c->best);
    c->best = NULL;
}

static void begin_round(mlt_clocks *c, uint32_t others, uint64_t now_ns)
{
    for (uint32_t h = 0; h < c->hosts; h++)
        c->best[h].answered = false;
    c->open = others;
    c->number++;
    c->asked_ns = now_ns;
}

void mlt_clocks_begin(mlt_clocks *c, uint32_t others, uint64_t now_ns)
{
    memset(c->best, 0, c->hosts * sizeof *c->best);
    c->round = others ? 1 : 0;
    begin_round(c, others, now_ns);
}

bool mlt_clocks_take(mlt_clocks *c, uint32_t host, int64_t number, uint64_t theirs_ns,
                     uint64_t now_ns, uint32_t others)
{
    if (!c->round || host >= c->hosts || number != c->number || c->best[host].answered)
        return false;
    mlt_clocks_best *best = &c->best[host];
    uint64_t half = (now_ns - c->asked_ns) / 2;
    best->answered = true;
    if (!best->known || half < best->error_ns)
        *best = (mlt_clocks_best){.at_ns = theirs_ns,
                                  .ahead_ns = (int64_t)(theirs_ns - (c->asked_ns + half)),
                                  .error_ns = half,
                                  .known = true,
                                  .answered = true};
    if (--c->open > 0)
        return false;
    c->round = c->round == MLT_CLOCKS_ROUNDS ? 0 : c->round + 1;
    if (c->round)
        begin_round(c, others, now_ns);
    return c->round > 0;
}

void mlt_clocks_tell(mlt_clocks *c, mlt_text *facts)
{
    for (uint32_t h = 0; h < c->hosts; h++)
        if (c->best[h].known)
            mlt_text_add(facts, "clock\t%u\t%" PRIu64 "\t%s\t%" PRIu64 "\t%" PRIu64 "\n", h,
                         c->best[h].at_ns, c->best[h].ahead_ns < 0 ? "behind" : "ahead",
                         (uint64_t)llabs((long long)c->best[h].ahead_ns), c->best[h].error_ns);
}
