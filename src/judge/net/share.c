// SPDX-License-Identifier: BSD-3-Clause
#include "judge/net/share.h"

#include <stdlib.h>

#include "base/array.h"
#include "base/log.h"

static const double GREAT = 1e12; // of `served`: then all are made smaller, to stay exact

static void push(mlt_share *link, double end)
{
    MLT_ARRAY_WANT(link->ends, (size_t)link->count + 1, link->room);
    uint32_t at = link->count++;
    for (; at && link->ends[(at - 1) / 2] > end; at = (at - 1) / 2)
        link->ends[at] = link->ends[(at - 1) / 2];
    link->ends[at] = end;
    link->sum += end;
    link->most = end > link->most ? end : link->most;
}

static void pop(mlt_share *link)
{
    link->sum -= link->ends[0];
    double last = link->ends[--link->count];
    uint32_t at = 0;
    for (uint32_t child; (child = 2 * at + 1) < link->count; at = child) {
        if (child + 1 < link->count && link->ends[child + 1] < link->ends[child])
            child++;
        if (link->ends[child] >= last)
            break;
        link->ends[at] = link->ends[child];
    }
    link->ends[at] = last;
}

static void become_smaller(mlt_share *link)
{
    link->sum = 0;
    for (uint32_t i = 0; i < link->count; i++)
        link->sum += link->ends[i] -= link->served;
    link->most -= link->served;
    link->served = 0;
}

// Serves those under way until `now`.
static void advance(mlt_share *link, uint64_t now)
{
    mlt_assert(now >= link->now);
    double time = (double)(now - link->now);
    link->now = now;
    while (link->count) {
        double needed = (link->ends[0] - link->served) * link->count;
        if (needed > time) {
            link->served += time / link->count;
            break;
        }
        time -= needed;
        link->served = link->ends[0];
        pop(link);
    }
    if (!link->count)
        link->served = link->sum = link->most = 0;
    else if (link->served > GREAT)
        become_smaller(link);
}

// What those at and below a place of the heap are served until a message of `work` has ended.
static double others(const mlt_share *link, uint32_t at, double work, uint32_t *less)
{
    if (at >= link->count || link->ends[at] - link->served >= work)
        return 0;
    ++*less;
    return link->ends[at] - link->served + others(link, 2 * at + 1, work, less) +
           others(link, 2 * at + 2, work, less);
}

double mlt_share_add(mlt_share *link, uint64_t now, double work, uint64_t bytes)
{
    double delay = 0;
    advance(link, now);
    if (link->count && link->served + work >= link->most) {
        delay = link->sum - link->count * link->served;
    } else if (link->count) {
        uint32_t less = 0;
        delay = others(link, 0, work, &less);
        delay += (link->count - less) * work;
    }
    push(link, link->served + work);
    link->messages++;
    link->bytes += bytes;
    link->work += work;
    return delay;
}

void mlt_share_fini(mlt_share *link)
{
    free(link->ends);
    *link = (mlt_share){0};
}
