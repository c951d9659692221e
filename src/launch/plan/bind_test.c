// SPDX-License-Identifier: BSD-3-Clause
// Which jobs are pinned without being asked for; that jobs do not take each other's cores; how many
// processors a worker has.
#include "launch/plan/bind.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>

#include "base/unit_test.h"

static void test_due(void)
{
    CHECK(mlt_bind_by_default(2, 2, 9)); // more than half: as others have less
    CHECK(mlt_bind_by_default(16, 16, 9) && mlt_bind_by_default(9, 16, 9));
    CHECK(mlt_bind_by_default(4, 16, 1) &&
          mlt_bind_by_default(2, 128, 1)); // nothing but mpirun runs
    CHECK(!mlt_bind_by_default(8, 16, 2) && !mlt_bind_by_default(2, 128, UINT32_MAX));
    CHECK(!mlt_bind_by_default(1, 1, 1) &&
          !mlt_bind_by_default(1, 16, 1)); // one goes where there is room
    CHECK(!mlt_bind_by_default(17, 16, 1) && !mlt_bind_by_default(2, 1, 1));
}

static void test_running(void)
{
    CHECK(mlt_bind_parse_loadavg("0.20 0.18 0.12 1/80 11206\n") == 1);
    CHECK(mlt_bind_parse_loadavg("12.00 8.01 4.50 17/1200 99\n") == 17);
    CHECK(mlt_bind_parse_loadavg("") == UINT32_MAX &&
          mlt_bind_parse_loadavg("no numbers") == UINT32_MAX);
}

// Within what this process may use, and not twice.
static void test_claims(void)
{
    cpu_set_t all, one;
    CHECK(sched_getaffinity(0, sizeof all, &all) == 0);
    uint32_t cpus = (uint32_t)CPU_COUNT(&all);
    mlt_bind first, second, told;
    mlt_cpus set;
    mlt_bind_plan(&told, "hwthread", NULL, 1);
    CHECK(told.count == cpus && told.claim_count <= cpus); // others may have some
    mlt_bind_plan(&second, NULL, NULL, cpus);              // those that `told` has, and others
    CHECK(second.count == 0 && second.claim_count == 0);
    mlt_bind_fini(&told);
    CHECK(told.count == 0);
    mlt_bind_plan(&first, NULL, NULL, cpus);
    if (first.count == 0) { // one processor, two a core, or somebody else's job is pinned
        puts("two jobs at once were not tried");
        return;
    }
    CHECK(first.count == cpus && first.claim_count == cpus);
    mlt_bind_plan(&second, NULL, NULL, cpus);
    CHECK(second.count == 0 && !mlt_bind_workers_cpus(&second, 0, 1, &set));
    // Only what is allowed.
    CPU_ZERO(&one);
    for (int cpu = 0, found = 0; found < 1; cpu++)
        if (CPU_ISSET(cpu, &all)) {
            CPU_SET(cpu, &one);
            found++;
        }
    CHECK(sched_setaffinity(0, sizeof one, &one) == 0);
    mlt_bind_plan(&told, "core", NULL, 4);
    CHECK(mlt_bind_workers_cpus(&told, 3, 1, &set) && told.count == 1);
    CHECK(memcmp(&set, &told.places[0], sizeof set) == 0);
    CHECK(CPU_COUNT_S(sizeof set, (cpu_set_t *)&set) == 1 && told.claim_count == 0);
    mlt_bind_fini(&told);
    CHECK(sched_setaffinity(0, sizeof all, &all) == 0);
    mlt_bind_fini(&first);
    mlt_bind_plan(&second, NULL, NULL, cpus);
    CHECK(second.count == cpus); // the first has ended
    mlt_bind_fini(&second);
}

// Words, and what may follow them. `each` 0: not said.
static void expect_word(const char *word, bool good, uint32_t each)
{
    mlt_bind_modifiers m;
    char why[256] = "";
    bool known = mlt_bind_word_read(word, &m, why, sizeof why);
    CHECK(known == good && known == !why[0]);
    CHECK(!known || m.each == each);
}

static void test_words(void)
{
    expect_word("core", true, 0);
    expect_word("Socket:PE=2", true, 2);
    expect_word(":OVERSUBSCRIBE", true, 0);
    expect_word("slot:SPAN,pe=16:inherit", true, 16);
    expect_word("core:2", true, 2);
    expect_word("ppr:3:node:PE=4", true, 4);
    expect_word("core:overload-allowed", true, 0);
    static const char *const wrong[] = {
        "",       "heart",         "core:PE=abc", "core:PE=", "core:PE=0",   "core:PE=2x",
        "core:,", "core:sideways", "user:0,1",    "core:-2",  ":PE-LIST=0,2"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        expect_word(wrong[i], false, 0);
    mlt_bind_modifiers m;
    char why[256];
    CHECK(mlt_bind_word_read("node:NOOVERSUBSCRIBE:NOLOCAL", &m, why, sizeof why));
    CHECK(m.no_oversubscribe && m.no_local);
}

// Each worker has N processors that follow each other; what is left over nobody has.
static void test_each(void)
{
    cpu_set_t all;
    CHECK(sched_getaffinity(0, sizeof all, &all) == 0);
    size_t cpus = (size_t)CPU_COUNT(&all);
    for (size_t each = 1; each <= cpus; each++) {
        mlt_bind bind;
        char map_by[32];
        snprintf(map_by, sizeof map_by, "slot:PE=%zu", each);
        mlt_bind_plan(&bind, "hwthread", map_by, 1);
        CHECK(bind.count == cpus / each && !bind.lacks);
        for (size_t i = 0; i < bind.count; i++)
            CHECK((size_t)CPU_COUNT_S(sizeof *bind.places, (cpu_set_t *)&bind.places[i]) == each);
        CHECK(bind.claim_count <= cpus);
        mlt_bind_fini(&bind);
    }
    mlt_bind bind;
    mlt_bind_plan(&bind, "hwthread", "numa:PE=65536", 1);
    CHECK(bind.count == 0 && bind.lacks == 65536);
    mlt_bind_fini(&bind);
}

static void test_restrict(void)
{
    cpu_set_t all, now;
    char why[256] = "", list[32];
    CHECK(sched_getaffinity(0, sizeof all, &all) == 0);
    int cpu = 0;
    while (!CPU_ISSET(cpu, &all))
        cpu++;
    CHECK(!mlt_bind_restrict("", why, sizeof why) && why[0]);
    CHECK(!mlt_bind_restrict("0,", why, sizeof why));
    CHECK(!mlt_bind_restrict("99999", why, sizeof why) && strstr(why, "they may use"));
    CHECK(sched_getaffinity(0, sizeof now, &now) == 0 && CPU_EQUAL(&now, &all));
    snprintf(list, sizeof list, "%d", cpu);
    CHECK(mlt_bind_restrict(list, why, sizeof why));
    CHECK(sched_getaffinity(0, sizeof now, &now) == 0 && CPU_COUNT(&now) == 1);
    CHECK(sched_setaffinity(0, sizeof all, &all) == 0);
}

int main(void)
{
    test_due();
    test_running();
    test_claims();
    test_words();
    test_each();
    test_restrict();
    return 0;
}
