// SPDX-License-Identifier: BSD-3-Clause
#include "coll/intercept.h"

#include <fnmatch.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/text.h"
#include "coll/choose.h"
#include "coll/ledger.h"
#include "os/os.h"

const char *const mlt_intercept_kind_names[MLT_INTERCEPT_KINDS] = {
    [MLT_INTERCEPT_MESSAGES] = "messages", [MLT_INTERCEPT_WINDOW] = "window",
    [MLT_INTERCEPT_FILE] = "file",         [MLT_INTERCEPT_CHANNEL] = "channel",
    [MLT_INTERCEPT_CSP_PORT] = "port",     [MLT_INTERCEPT_CSP_GROUP] = "group",
    [MLT_INTERCEPT_QUEUE] = "queue",
};

struct mlt_interceptors {
    mlt_coll_rulebook *rulebook;
    mlt_ledger *ledger;
    mlt_interceptor **all; // also those of objects without one, whose spec is NULL
    uint32_t count;
    mlt_interceptor *last[MLT_INTERCEPT_KINDS]; // that was asked for; NULL: none
};

mlt_interceptors *mlt_interceptors_new(mlt_coll_rulebook *rulebook, mlt_ledger *ledger)
{
    if (!rulebook || !rulebook->interceptors_count)
        return NULL;
    mlt_interceptors *interceptors = mlt_xcalloc(1, sizeof *interceptors);
    interceptors->rulebook = rulebook;
    interceptors->ledger = ledger;
    return interceptors;
}

static _Thread_local mlt_interceptors *intercept_here;

void mlt_interceptors_set(mlt_interceptors *interceptors)
{
    intercept_here = interceptors;
}

mlt_interceptors *mlt_interceptors_current(void)
{
    return intercept_here;
}

void mlt_interceptors_free(mlt_interceptors *interceptors)
{
    if (!interceptors)
        return;
    for (uint32_t i = 0; i < interceptors->count; i++) {
        mlt_live_sheet_hide(&interceptors->all[i]->sheet);
        free(interceptors->all[i]);
    }
    free(interceptors->all);
    free(interceptors);
}

void mlt_interceptors_report(mlt_interceptors *interceptors)
{
    for (uint32_t i = 0; interceptors && i < interceptors->count; i++) {
        mlt_interceptor *interceptor = interceptors->all[i];
        if (mlt_ctl_path_tells(&interceptor->record))
            mlt_ledger_note(interceptors->ledger, &interceptor->record);
        mlt_ledger_clear(&interceptor->record);
    }
}

// ---- the interceptor of an object

static bool is_of(const mlt_interceptor *interceptor, mlt_intercept_kind kind, const char *name,
                  uint32_t ranks)
{
    return interceptor->kind == kind && interceptor->record.ranks == ranks &&
           strncmp(interceptor->record.object, name, sizeof interceptor->record.object - 1) == 0;
}

// The first line of the rule book that fits; NULL: none.
static const mlt_intercept_spec *find_spec(const mlt_coll_rulebook *rulebook,
                                           mlt_intercept_kind kind, const char *name)
{
    for (uint32_t i = 0; i < rulebook->interceptors_count; i++)
        if (rulebook->interceptors[i].kind == kind &&
            fnmatch(rulebook->interceptors[i].name, name, 0) == 0)
            return &rulebook->interceptors[i];
    return NULL;
}

bool mlt_intercept_matches(const mlt_interceptors *interceptors, mlt_intercept_kind kind,
                           const char *name)
{
    return find_spec(interceptors->rulebook, kind, name) != NULL;
}

static mlt_interceptor *add(mlt_interceptors *interceptors, mlt_intercept_kind kind,
                            const char *name, uint32_t ranks)
{
    mlt_interceptor *interceptor = mlt_xcalloc(1, sizeof *interceptor);
    interceptor->kind = (uint8_t)kind;
    interceptor->record.ranks = ranks;
    snprintf(interceptor->record.object, sizeof interceptor->record.object, "%s", name);
    interceptor->spec = find_spec(interceptors->rulebook, kind, name);
    if (interceptor->spec) {
        mlt_text stack = mlt_text_on(interceptor->record.stack, sizeof interceptor->record.stack);
        for (uint32_t i = 0; i < interceptor->spec->count; i++) {
            const mlt_intercept_wrapper *w = &interceptor->spec->wrappers[i];
            mlt_coll_name_stage(&stack, i, w->kind, w->delay_us);
            if (w->until_unlock)
                mlt_text_add(&stack, " until unlock");
        }
        snprintf(interceptor->record.by, sizeof interceptor->record.by, "%s",
                 interceptor->spec->by);
        snprintf(interceptor->record.collective, sizeof interceptor->record.collective, "%s",
                 mlt_intercept_kind_names[kind]);
        interceptor->record.level = MLT_LEVEL_FLAT; // workers 0: no collective
        mlt_live_sheet_show(interceptors->ledger->shown, &interceptor->sheet, &interceptor->record,
                            1);
    }
    interceptors->all =
        mlt_xrealloc(interceptors->all, interceptors->count + 1ull, sizeof *interceptors->all);
    interceptors->all[interceptors->count++] = interceptor;
    return interceptor;
}

mlt_interceptor *mlt_intercept_of(mlt_interceptors *interceptors, mlt_intercept_kind kind,
                                  const char *name, uint32_t ranks)
{
    mlt_interceptor *interceptor = interceptors->last[kind];
    if (!interceptor || !is_of(interceptor, kind, name, ranks)) {
        interceptor = NULL;
        for (uint32_t i = 0; i < interceptors->count && !interceptor; i++)
            if (is_of(interceptors->all[i], kind, name, ranks))
                interceptor = interceptors->all[i];
        interceptors->last[kind] = interceptor =
            interceptor ? interceptor : add(interceptors, kind, name, ranks);
    }
    return interceptor->spec ? interceptor : NULL;
}

// ---- an operation

static void log_line(mlt_interceptors *interceptors, const mlt_intercept_event *event,
                     const char *line)
{
    char text[512];
    snprintf(text, sizeof text, "%.6f rank %d: %s, %s: %s\n", (double)mlt_os_now_ns() / 1e9,
             (int)event->rank, event->name, event->call, line);
    mlt_ledger_trace(interceptors->ledger, text);
}

// A user's function; returns how long to wait.
static uint64_t ask(mlt_interceptors *interceptors, const mlt_interceptor *interceptor,
                    const mlt_intercept_wrapper *wrapper, const mlt_intercept_event *event)
{
    mlt_intercept_answer answer = {0};
    char why[512] = "";
    if (!interceptors->rulebook->saw(interceptors->rulebook, wrapper, event, &answer, why,
                                     sizeof why))
        mlt_fatal("%s of %s, path %s: %s", event->call, event->name, interceptor->spec->by, why);
    if (answer.line[0])
        log_line(interceptors, event, answer.line);
    return answer.delay_us;
}

uint64_t mlt_intercept_before(mlt_interceptors *interceptors, mlt_intercept_walk *walk,
                              const mlt_intercept_event *event)
{
    mlt_interceptor *interceptor = walk->interceptor;
    while (walk->next < interceptor->spec->count) {
        const mlt_intercept_wrapper *w = &interceptor->spec->wrappers[walk->next++];
        uint64_t us = 0;
        walk->at_cache = w->kind == MLT_WRAP_CACHE && walk->can_cache;
        if (walk->at_cache)
            return 0;
        walk->counts |= w->kind == MLT_WRAP_COUNT;
        walk->traces |= w->kind == MLT_WRAP_TRACE;
        if ((walk->counts || walk->traces) && !walk->since_ns)
            walk->since_ns = (uint64_t)mlt_os_now_ns();
        if (w->kind == MLT_WRAP_DELAY)
            us = w->delay_us;
        else if (w->kind == MLT_WRAPPERS)
            us = ask(interceptors, interceptor, w, event);
        if (us) {
            mlt_clock_add(&interceptor->record.time[MLT_TIME_DELAY],
                          &(mlt_ctl_clock){1, us * 1000, us * 1000, us * 1000});
            return us * 1000;
        }
    }
    return 0;
}

void mlt_intercept_cache_asked(const mlt_intercept_walk *walk, bool hit, uint64_t ns)
{
    mlt_clock_add(&walk->interceptor->record.time[hit ? MLT_TIME_HIT : MLT_TIME_MISS],
                  &(mlt_ctl_clock){1, ns, ns, ns});
}

void mlt_intercept_after(mlt_interceptors *interceptors, const mlt_intercept_walk *walk,
                         const mlt_intercept_event *event)
{
    mlt_interceptor *interceptor = walk->interceptor;
    uint64_t ns = walk->since_ns ? (uint64_t)mlt_os_now_ns() - walk->since_ns : 0;
    if (walk->counts) {
        interceptor->record.calls++;
        interceptor->record.bytes += event->bytes;
        mlt_clock_add(&interceptor->record.time[MLT_TIME_CALL], &(mlt_ctl_clock){1, ns, ns, ns});
    }
    if (walk->traces) {
        char line[160];
        snprintf(line, sizeof line, "peer %d, tag %d, %" PRIu64 " bytes; us call %.3f",
                 (int)event->peer, (int)event->tag, event->bytes, (double)ns / 1e3);
        log_line(interceptors, event, line);
    }
}
