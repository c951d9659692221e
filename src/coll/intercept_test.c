// SPDX-License-Identifier: BSD-3-Clause
// Ways: which objects have one, the order of their wrappers, what is counted, and what is told.
#include "coll/intercept.h"

#include "base/unit_test.h"
#include "coll/choose.h"
#include "coll/ledger.h"

static uint32_t seen; // events of the function

static bool saw(mlt_coll_rulebook *rulebook, const mlt_intercept_wrapper *stage,
                const mlt_intercept_event *event, mlt_intercept_answer *answer, char *why,
                size_t why_size)
{
    CHECK(stage->function == 7 && event->bytes == 100);
    seen++;
    answer->delay_us = event->peer == 3 ? 50 : 0;
    return true;
}

static const mlt_intercept_wrapper all_stages[] = {{.kind = MLT_WRAP_COUNT},
                                                   {.kind = MLT_WRAP_DELAY, .delay_us = 20},
                                                   {.kind = MLT_WRAPPERS, .function = 7},
                                                   {.kind = MLT_WRAP_DELAY, .delay_us = 5}},
                                   count_stage[] = {{.kind = MLT_WRAP_COUNT}};
static const mlt_intercept_spec specs[] = {
    {MLT_INTERCEPT_MESSAGES, "ha?o", all_stages, 4, "a.lua:1"},
    {MLT_INTERCEPT_WINDOW, "*", count_stage, 1, "a.lua:2"},
    {MLT_INTERCEPT_MESSAGES, "h*", count_stage, 1, "a.lua:3"}};

// A message along the way of its communicator: the delays that it meets, in microseconds.
static uint64_t pass(mlt_interceptors *interceptors, const char *name, int32_t peer,
                     uint64_t delays[4])
{
    mlt_intercept_walk walk = {.interceptor =
                                   mlt_intercept_of(interceptors, MLT_INTERCEPT_MESSAGES, name, 4)};
    mlt_intercept_event event = {.name = name, .call = "MPI_Send", .peer = peer, .bytes = 100};
    uint64_t count = 0;
    for (uint64_t ns; (ns = mlt_intercept_before(interceptors, &walk, &event)) > 0;)
        delays[count++] = ns / 1000;
    mlt_intercept_after(interceptors, &walk, &event);
    return count;
}

static void check_names(mlt_interceptors *interceptors)
{
    mlt_interceptor *halo = mlt_intercept_of(interceptors, MLT_INTERCEPT_MESSAGES, "halo", 4);
    CHECK(halo && halo->spec == &specs[0] &&
          halo == mlt_intercept_of(interceptors, MLT_INTERCEPT_MESSAGES, "halo", 4));
    check_same_text("wrappers", halo->record.stack, "count, delay 20 us, function, delay 5 us");
    CHECK(mlt_intercept_of(interceptors, MLT_INTERCEPT_MESSAGES, "halo", 5) !=
          halo); // another one of that name
    CHECK(mlt_intercept_of(interceptors, MLT_INTERCEPT_WINDOW, "halo", 4)->spec == &specs[1]);
    CHECK(mlt_intercept_of(interceptors, MLT_INTERCEPT_MESSAGES, "haaalo", 4)->spec == &specs[2]);
    CHECK(!mlt_intercept_of(interceptors, MLT_INTERCEPT_MESSAGES, "grid", 4));
    CHECK(!mlt_intercept_of(interceptors, MLT_INTERCEPT_MESSAGES, "grid", 4)); // as remembered
    CHECK(mlt_intercept_of(interceptors, MLT_INTERCEPT_WINDOW, "grid", 4));
    CHECK(!mlt_intercept_of(interceptors, MLT_INTERCEPT_CHANNEL, "halo", 0));
    CHECK(mlt_intercept_matches(interceptors, MLT_INTERCEPT_MESSAGES, "halo") &&
          mlt_intercept_matches(interceptors, MLT_INTERCEPT_WINDOW, ""));
    CHECK(!mlt_intercept_matches(interceptors, MLT_INTERCEPT_CSP_PORT, "halo") &&
          !mlt_intercept_matches(interceptors, MLT_INTERCEPT_MESSAGES, "x"));
    char longest[200];
    memset(longest, 'h', sizeof longest);
    longest[sizeof longest - 1] = '\0';
    CHECK(mlt_intercept_of(interceptors, MLT_INTERCEPT_MESSAGES, longest, 1) ==
          mlt_intercept_of(interceptors, MLT_INTERCEPT_MESSAGES, longest, 1));
}

static void check_walks(mlt_interceptors *interceptors, const mlt_ledger *ledger)
{
    uint64_t delays[4];
    CHECK(pass(interceptors, "halo", 1, delays) == 2 && delays[0] == 20 && delays[1] == 5);
    CHECK(pass(interceptors, "halo", 3, delays) == 3 && delays[1] == 50 && delays[2] == 5);
    CHECK(seen == 2 && pass(interceptors, "hello", 1, delays) == 0 && seen == 2);
    mlt_interceptors_report(interceptors);
    CHECK(ledger->path_count == 2);
    const mlt_ctl_path *p = &ledger->path[0];
    check_same_text("name", p->object, "halo");
    check_same_text("kind", p->collective, "messages");
    CHECK(p->calls == 2 && p->bytes == 200 && p->ranks == 4 && p->workers == 0);
    CHECK(p->time[MLT_TIME_CALL].n == 2 && p->time[MLT_TIME_DELAY].n == 5);
    CHECK(p->time[MLT_TIME_DELAY].sum_ns == 100000 && p->time[MLT_TIME_DELAY].most_ns == 50000);
    mlt_interceptors_report(interceptors); // nothing twice
    CHECK(ledger->path_count == 2 && ledger->path[0].calls == 2);
    CHECK(pass(interceptors, "halo", 1, delays) == 2);
    mlt_interceptors_report(interceptors);
    CHECK(ledger->path_count == 2 && ledger->path[0].calls == 3);
}

// People outside see what is in the ledger, and what its ways have counted since, each once.
static void check_shown(const mlt_live_shown *shown)
{
    uint64_t calls = 0, sheets = 0;
    for (const mlt_live_sheet *s = shown->sheets; s; s = s->next, sheets++) {
        CHECK(s->magic == MLT_LIVE_SHEET && *s->place == s);
        for (uint64_t i = 0; i < s->count; i++)
            calls += strcmp(s->records[i].object, "halo") == 0 ? s->records[i].calls : 0;
    }
    CHECK(calls == 3 && sheets > 3);
}

int main(void)
{
    mlt_ledger ledger;
    mlt_coll_rulebook rulebook = {.saw = saw, .interceptors = specs, .interceptors_count = 3},
                      empty = {.saw = saw};
    mlt_live_shown shown = {0};
    mlt_ledger_init(&ledger);
    ledger.shown = &shown;
    CHECK(!mlt_interceptors_new(NULL, &ledger) && !mlt_interceptors_new(&empty, &ledger));
    mlt_interceptors *interceptors = mlt_interceptors_new(&rulebook, &ledger);
    mlt_interceptors_set(interceptors);
    CHECK(mlt_interceptors_current() == interceptors);
    check_names(interceptors);
    check_walks(interceptors, &ledger);
    check_shown(&shown);
    mlt_interceptors_set(NULL);
    mlt_interceptors_free(interceptors);
    mlt_interceptors_free(NULL);
    mlt_interceptors_report(NULL);
    mlt_ledger_fini(&ledger);
    CHECK(!shown.sheets);
    return 0;
}
