// SPDX-License-Identifier: BSD-3-Clause
#include "coll/way.h"

#include <fnmatch.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/memory.h"
#include "coll/choose.h"
#include "coll/ledger.h"
#include "os/os.h"

const char *const mlt_way_kind_names[MLT_WAY_KINDS] = {
    [MLT_WAY_MESSAGES] = "messages", [MLT_WAY_WINDOW] = "window", [MLT_WAY_CHANNEL] = "channel",
    [MLT_WAY_PORT] = "port",         [MLT_WAY_GROUP] = "group",   [MLT_WAY_QUEUE] = "queue",
};

struct mlt_ways {
    mlt_coll_book *book;
    mlt_ledger *ledger;
    mlt_way **all; // also those of objects without a way, whose spec is NULL
    uint32_t count;
    mlt_way *last[MLT_WAY_KINDS]; // that was asked for; NULL: none
};

mlt_ways *mlt_ways_new(mlt_coll_book *book, mlt_ledger *ledger)
{
    if (!book || !book->ways_count)
        return NULL;
    mlt_ways *ways = mlt_take(1, sizeof *ways);
    ways->book = book;
    ways->ledger = ledger;
    return ways;
}

static _Thread_local mlt_ways *here;

void mlt_ways_enter(mlt_ways *ways)
{
    here = ways;
}

mlt_ways *mlt_ways_here(void)
{
    return here;
}

void mlt_ways_free(mlt_ways *ways)
{
    if (!ways)
        return;
    for (uint32_t i = 0; i < ways->count; i++) {
        mlt_live_sheet_hide(&ways->all[i]->sheet);
        free(ways->all[i]);
    }
    free(ways->all);
    free(ways);
}

void mlt_ways_tell(mlt_ways *ways)
{
    for (uint32_t i = 0; ways && i < ways->count; i++) {
        mlt_way *way = ways->all[i];
        if (mlt_ctl_path_tells(&way->sum))
            mlt_ledger_note(ways->ledger, &way->sum);
        mlt_ledger_clear(&way->sum);
    }
}

// ---- the way of an object

static void name_stages(mlt_way *way)
{
    size_t at = 0;
    for (uint32_t i = 0; i < way->spec->count && at < sizeof way->sum.stack; i++) {
        const mlt_way_stage *s = &way->spec->stages[i];
        const char *name =
            s->wrapper < MLT_WRAPPERS ? mlt_coll_wrapper_names[s->wrapper] : "function";
        at += (size_t)snprintf(way->sum.stack + at, sizeof way->sum.stack - at, "%s%s",
                               i ? ", " : "", name);
        if (s->wrapper == MLT_WRAP_DELAY && at < sizeof way->sum.stack)
            at += (size_t)snprintf(way->sum.stack + at, sizeof way->sum.stack - at,
                                   " %" PRIu64 " us", s->delay_us);
        if (s->until_unlock && at < sizeof way->sum.stack)
            at +=
                (size_t)snprintf(way->sum.stack + at, sizeof way->sum.stack - at, " until unlock");
    }
}

static bool is_of(const mlt_way *way, mlt_way_kind kind, const char *name, uint32_t ranks)
{
    return way->kind == kind && way->sum.ranks == ranks &&
           strncmp(way->sum.comm, name, sizeof way->sum.comm - 1) == 0;
}

// The first line of the book that fits; NULL: none.
static const mlt_way_spec *find_spec(const mlt_coll_book *book, mlt_way_kind kind, const char *name)
{
    for (uint32_t i = 0; i < book->ways_count; i++)
        if (book->ways[i].kind == kind && fnmatch(book->ways[i].name, name, 0) == 0)
            return &book->ways[i];
    return NULL;
}

bool mlt_way_fits(const mlt_ways *ways, mlt_way_kind kind, const char *name)
{
    return find_spec(ways->book, kind, name) != NULL;
}

static mlt_way *add(mlt_ways *ways, mlt_way_kind kind, const char *name, uint32_t ranks)
{
    mlt_way *way = mlt_take(1, sizeof *way);
    way->kind = (uint8_t)kind;
    way->sum.ranks = ranks;
    snprintf(way->sum.comm, sizeof way->sum.comm, "%s", name);
    way->spec = find_spec(ways->book, kind, name);
    if (way->spec) {
        name_stages(way);
        snprintf(way->sum.by, sizeof way->sum.by, "%s", way->spec->by);
        snprintf(way->sum.collective, sizeof way->sum.collective, "%s", mlt_way_kind_names[kind]);
        way->sum.level = MLT_LEVEL_FLAT; // workers 0: no collective
        mlt_live_sheet_show(ways->ledger->shown, &way->sheet, &way->sum, 1);
    }
    ways->all = mlt_take_more(ways->all, ways->count + 1ull, sizeof *ways->all);
    ways->all[ways->count++] = way;
    return way;
}

mlt_way *mlt_way_of(mlt_ways *ways, mlt_way_kind kind, const char *name, uint32_t ranks)
{
    mlt_way *way = ways->last[kind];
    if (!way || !is_of(way, kind, name, ranks)) {
        way = NULL;
        for (uint32_t i = 0; i < ways->count && !way; i++)
            if (is_of(ways->all[i], kind, name, ranks))
                way = ways->all[i];
        ways->last[kind] = way = way ? way : add(ways, kind, name, ranks);
    }
    return way->spec ? way : NULL;
}

// ---- an operation

static void log_line(mlt_ways *ways, const mlt_way_event *event, const char *line)
{
    char text[512];
    snprintf(text, sizeof text, "%.6f rank %d: %s, %s: %s\n", (double)mlt_os_now_ns() / 1e9,
             (int)event->rank, event->name, event->call, line);
    mlt_ledger_trace(ways->ledger, text);
}

// A user's function; returns how long to wait.
static uint64_t ask(mlt_ways *ways, const mlt_way *way, uint32_t stage, const mlt_way_event *event)
{
    mlt_way_answer answer = {0};
    char why[512] = "";
    if (!ways->book->saw(ways->book, &way->spec->stages[stage], event, &answer, why, sizeof why))
        mlt_fatal("%s of %s, path %s: %s", event->call, event->name, way->spec->by, why);
    if (answer.line[0])
        log_line(ways, event, answer.line);
    return answer.delay_us;
}

uint64_t mlt_way_pass(mlt_ways *ways, mlt_way_walk *walk, const mlt_way_event *event)
{
    mlt_way *way = walk->way;
    while (walk->stage < way->spec->count) {
        const mlt_way_stage *s = &way->spec->stages[walk->stage++];
        uint64_t us = 0;
        walk->at_cache = s->wrapper == MLT_WRAP_CACHE && walk->gets;
        if (walk->at_cache)
            return 0;
        walk->counts |= s->wrapper == MLT_WRAP_COUNT;
        walk->traces |= s->wrapper == MLT_WRAP_TRACE;
        if ((walk->counts || walk->traces) && !walk->since_ns)
            walk->since_ns = (uint64_t)mlt_os_now_ns();
        if (s->wrapper == MLT_WRAP_DELAY)
            us = s->delay_us;
        else if (s->wrapper == MLT_WRAPPERS)
            us = ask(ways, way, walk->stage - 1, event);
        if (us) {
            mlt_clock_add(&way->sum.time[MLT_TIME_DELAY],
                          &(mlt_ctl_clock){1, us * 1000, us * 1000, us * 1000});
            return us * 1000;
        }
    }
    return 0;
}

void mlt_way_asked(const mlt_way_walk *walk, bool hit, uint64_t ns)
{
    mlt_clock_add(&walk->way->sum.time[hit ? MLT_TIME_HIT : MLT_TIME_MISS],
                  &(mlt_ctl_clock){1, ns, ns, ns});
}

void mlt_way_passed(mlt_ways *ways, const mlt_way_walk *walk, const mlt_way_event *event)
{
    mlt_way *way = walk->way;
    uint64_t ns = walk->since_ns ? (uint64_t)mlt_os_now_ns() - walk->since_ns : 0;
    if (walk->counts) {
        way->sum.calls++;
        way->sum.bytes += event->bytes;
        mlt_clock_add(&way->sum.time[MLT_TIME_CALL], &(mlt_ctl_clock){1, ns, ns, ns});
    }
    if (walk->traces) {
        char line[160];
        snprintf(line, sizeof line, "peer %d, tag %d, %" PRIu64 " bytes; us call %.3f",
                 (int)event->peer, (int)event->tag, event->bytes, (double)ns / 1e3);
        log_line(ways, event, line);
    }
}
