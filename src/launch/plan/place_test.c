// SPDX-License-Identifier: BSD-3-Clause
// How many workers each host gets, against a slow one that places them one by one.
#include "launch/plan/place.h"

#include "base/text.h"
#include "base/unit_test.h"

enum { MOST = 12 };

static void expect(bool by_node, uint32_t n, uint32_t hosts, const uint32_t *slots,
                   const uint32_t *used, const char *wanted)
{
    uint32_t counts[MOST];
    char is[200];
    mlt_text text = mlt_text_on(is, sizeof is);
    mlt_place place = {hosts, slots, used, counts};
    mlt_place_count(&place, by_node, n);
    for (uint32_t h = 0; h < hosts; h++)
        mlt_text_add(&text, "%s%u", h ? " " : "", counts[h]);
    check_same_text("counts", is, wanted);
}

#define HOSTS(...)                                                                                 \
    (const uint32_t[])                                                                             \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }

static void check_plain(void)
{
    const uint32_t *none = HOSTS(0, 0, 0, 0);
    expect(false, 3, 3, HOSTS(2, 2, 2), none, "2 1 0");
    expect(true, 3, 3, HOSTS(2, 2, 2), none, "1 1 1");
    expect(false, 2, 4, HOSTS(1, 1, 1, 1), none, "1 1 0 0"); // more hosts than workers
    expect(true, 2, 4, HOSTS(9, 9, 9, 9), none, "1 1 0 0");
    expect(false, 6, 3, HOSTS(1, 4, 1), none, "1 4 1");
    expect(true, 5, 3, HOSTS(1, 4, 1), none, "1 3 1");
    expect(false, 13, 3, HOSTS(1, 4, 1), none, "3 8 2"); // twice round, and one
    expect(true, 13, 3, HOSTS(1, 4, 1), none, "3 8 2");
    expect(true, 14, 3, HOSTS(1, 4, 1), none, "3 9 2");
    expect(false, 5, 1, HOSTS(1), none, "5");
    expect(false, INT32_MAX, 2, HOSTS(1, 1), none, "1073741824 1073741823");
    expect(true, INT32_MAX, 2, HOSTS(1, 3), none, "536870912 1610612735");
    expect(true, INT32_MAX, 2, HOSTS(INT32_MAX, INT32_MAX), none, "1073741824 1073741823");
}

static void check_after_others(void)
{
    expect(false, 3, 2, HOSTS(2, 2), HOSTS(1, 0), "1 2");
    expect(true, 3, 2, HOSTS(2, 2), HOSTS(1, 0), "1 2");
    expect(false, 1, 2, HOSTS(1, 1), HOSTS(1, 1), "1 0");
    expect(false, 1, 2, HOSTS(1, 1), HOSTS(2, 1), "0 1");
    expect(false, 6, 2, HOSTS(2, 2), HOSTS(9, 0), "2 4"); // one was filled by somebody else
}

// One at a time, as the header says it.
static void place_slowly(const mlt_place *p, bool by_node, uint32_t n)
{
    uint32_t has[MOST];
    memcpy(has, p->used, p->hosts * sizeof *has);
    uint32_t round = UINT32_MAX;
    for (uint32_t h = 0; h < p->hosts; h++)
        round = has[h] / p->slots[h] < round ? has[h] / p->slots[h] : round;
    memcpy(p->counts, (uint32_t[MOST]){0}, p->hosts * sizeof *p->counts);
    // The rounds after the first begin from nothing: `has` is what a host has of the round.
    for (uint32_t h = 0; h < p->hosts; h++) {
        uint64_t full = (uint64_t)(round + 1) * p->slots[h];
        has[h] = full > has[h] ? p->slots[h] - (uint32_t)(full - has[h]) : p->slots[h];
    }
    while (n) {
        bool any = false;
        for (uint32_t h = 0; h < p->hosts && n; h++)
            while (has[h] < p->slots[h] && n) {
                has[h]++, p->counts[h]++, n--;
                any = true;
                if (by_node)
                    break;
            }
        if (!any)
            memset(has, 0, sizeof has);
    }
}

static void check_random(void)
{
    for (now_seed = 1; now_seed <= 20000; now_seed++) {
        random_state = now_seed;
        uint32_t slots[MOST], used[MOST], counts[MOST], wanted[MOST];
        mlt_place p = {1 + below(MOST), slots, used, counts}, slow = p;
        slow.counts = wanted;
        for (uint32_t h = 0; h < p.hosts; h++) {
            slots[h] = 1 + below(below(2) ? 3 : 40);
            used[h] = below(2) ? 0 : below(60);
        }
        uint32_t n = 1 + below(below(2) ? 10 : 1000);
        bool by_node = below(2);
        mlt_place_count(&p, by_node, n);
        place_slowly(&slow, by_node, n);
        CHECK(memcmp(counts, wanted, p.hosts * sizeof *counts) == 0);
    }
    now_seed = 0;
}

static void check_deal(void)
{
    uint32_t host_of[7];
    mlt_place place = {3, NULL, NULL, (uint32_t[]){2, 0, 5}};
    mlt_place_deal(&place, host_of);
    CHECK(memcmp(host_of, (uint32_t[]){0, 2, 0, 2, 2, 2, 2}, sizeof host_of) == 0);
}

// "N 3 x": by node, ranks too, three a host, a word for one host. wanted NULL: refused.
static void expect_words(const char *map_by, const char *rank_by, const char *wanted)
{
    mlt_mapping m;
    char why[200] = "", is[200];
    bool good = mlt_mapping_read(map_by, rank_by, &m, why, sizeof why);
    CHECK(good == !!wanted && good == !why[0]);
    if (!good)
        return;
    snprintf(is, sizeof is, "%s %s %u %s", m.by_node ? "node" : "slot",
             m.rank_by_node ? "node" : "slot", m.per_host, m.local ? m.local : "-");
    check_same_text(map_by ? map_by : "no word", is, wanted);
}

static void check_words(void)
{
    expect_words(NULL, NULL, "slot slot 0 -");
    expect_words("slot", NULL, "slot slot 0 -");
    expect_words("core", "slot", "slot slot 0 -");
    expect_words("Node:OVERSUBSCRIBE", NULL, "node node 0 -");
    expect_words("node", "slot", "node slot 0 -");
    expect_words("socket:PE=2", "node", "slot node 0 -");
    expect_words(NULL, "fill", "slot slot 0 -");
    expect_words("ppr:3:node", NULL, "slot slot 3 -");
    expect_words("PPR:3:NODE:PE=2", NULL, "slot slot 3 -");
    expect_words("ppr:2147483647:node", NULL, "slot slot 2147483647 -");
    expect_words("ppr:2:socket", NULL, "slot slot 0 ppr:2:socket");
    expect_words("seq", NULL, "slot slot 0 seq");
    expect_words(":OVERSUBSCRIBE", NULL, "slot slot 0 -");
    static const char *const wrong[] = {"",
                                        "nodes",
                                        "ppr",
                                        "ppr:",
                                        "ppr:3",
                                        "ppr:0:node",
                                        "ppr:x:node",
                                        "ppr:-1:node",
                                        "ppr:3:hut",
                                        "ppr:3:",
                                        "ppr:+3:node",
                                        "ppr:3:node:PE=x",
                                        "socket:PE=abc",
                                        ":sideways",
                                        "ppr:2147483648:node",
                                        "ppr:99999999999999999999:node"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        expect_words(wrong[i], NULL, NULL);
    expect_words(NULL, "table", NULL);
}

int main(void)
{
    check_plain();
    check_after_others();
    check_random();
    check_deal();
    check_words();
    return 0;
}
