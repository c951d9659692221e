// SPDX-License-Identifier: BSD-3-Clause
// Placing: the paper's blocks, pipelines that are cut as often as they must be, pairs that stay
// together, weights, pins, hostfiles and what is wrong with them; always the same.
#include "flow/place/place.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/unit_test.h"
#include "flow/place/hand_test.h"
#include "flow/place/place_int.h"

static mlt_flow_placing *place(const mlt_flow_graph *g, const mlt_flow_sites *s)
{
    char why[400] = "";
    mlt_flow_placing *p = mlt_flow_place(g, s, why, sizeof why);
    if (!p)
        fprintf(stderr, "%s\n", why);
    CHECK(p);
    return p;
}

// ---- sites

static void expect_hosts(uint32_t workers, const char *text, const char *expected)
{
    char why[200] = "", got[200] = "";
    mlt_flow_sites *s = mlt_flow_sites_new(workers, 2, text, why, sizeof why);
    if (s) {
        for (uint32_t w = 0; w < workers; w++)
            snprintf(got + strlen(got), sizeof got - strlen(got), "%s%s", w ? " " : "",
                     s->hosts[s->host_of[w]].name);
        CHECK(s->places == 2 * workers && s->worker_of[2 * workers - 1] == workers - 1);
    }
    if (strcmp(s ? got : why, expected))
        fprintf(stderr, "%s\nnot %s\n", s ? got : why, expected);
    CHECK(!strcmp(s ? got : why, expected));
    mlt_flow_sites_free(s);
}

static void test_sites(void)
{
    expect_hosts(3, NULL, "localhost localhost localhost");
    expect_hosts(3, "a\nb\nc", "a b c");
    expect_hosts(2, "a slots=2\nb\n", "a a");
    expect_hosts(4, "# two\n\n  a:2 # first\nb slots=3\n", "a a b b");
    expect_hosts(4, "a\nb\n", "a a b b");       // they go round
    expect_hosts(4, "a:2\r\nb:1\n", "a a a b"); // a has two more, of which one is left
    expect_hosts(3, "a\na\nb\n", "a a b");      // a line each time
    expect_hosts(1, "", "the hostfile names no host");
    expect_hosts(1, "# none\n", "the hostfile names no host");
    expect_hosts(1, "a\nb:x\n",
                 "hostfile, line 2: after the colon stands the number of workers, 1 to 65536: "
                 "\"b:x\"");
    expect_hosts(1, "b:0\n",
                 "hostfile, line 1: after the colon stands the number of workers, 1 to 65536: "
                 "\"b:0\"");
    expect_hosts(1, "b:65537\n",
                 "hostfile, line 1: after the colon stands the number of workers, 1 to 65536: "
                 "\"b:65537\"");
    expect_hosts(1, ":2\n", "hostfile, line 1: a host's name has 1 to 63 characters: \":2\"");
    const char *form =
        "hostfile, line 1: a line is \"name\", \"name:2\" or \"name slots=2\", with 1 to 65536 "
        "slots: \"%s\"";
    const char *wrong[] = {"a 2",         "a slots=",    "a slots=no",
                           "a slots=2 b", "a:2 slots=2", "a slot=2"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        char expected[300];
        snprintf(expected, sizeof expected, form, wrong[i]);
        expect_hosts(1, wrong[i], expected);
    }
    char name[80];
    memset(name, 'x', sizeof name);
    name[64] = 0;
    char why[200];
    CHECK(!mlt_flow_sites_new(1, 1, name, why, sizeof why));
    name[63] = 0;
    mlt_flow_sites *s = mlt_flow_sites_new(1, 1, name, why, sizeof why);
    CHECK(s && !strcmp(s->hosts[0].name, name));
    mlt_flow_sites_free(s);
    CHECK(!mlt_flow_sites_new(0, 1, NULL, why, sizeof why));
    CHECK(!strcmp(why, "0 workers with 1 places each are no job"));
    CHECK(!mlt_flow_sites_new(1, 0, NULL, why, sizeof why));
    mlt_flow_sites_free(NULL);
    mlt_flow_placing_free(NULL);
}

// ---- shapes

// Figure 3 of the paper: c[16] ||| r(sum) on 8 nodes, two of them each.
static void test_blocks(void)
{
    mlt_flow_graph *g = hand_new();
    uint32_t c = hand_add(g, "c", MLT_FLOW_MODULE, 16, 1);
    uint32_t r = hand_add(g, "r", MLT_FLOW_REDUCE, 0, 0);
    for (uint32_t i = 0; i < 16; i++)
        hand_wire(g, c + i, 1, r, 0);
    for (uint32_t i = 0; i < 16; i++)
        hand_wire(g, r, 0, c + i, 0);
    hand_done(g);
    for (uint32_t a_worker = 1; a_worker <= 3; a_worker++) {
        mlt_flow_sites *s = hand_sites(8, a_worker, 1);
        mlt_flow_placing *p = place(g, s);
        for (uint32_t i = 0; i < 16; i++) {
            CHECK(mlt_flow_worker_of(p, c + i) == i / 2);
            CHECK(p->place_of[c + i] == i / 2 * a_worker + (a_worker > 1 ? i % 2 : 0));
        }
        CHECK(p->cut == 0 && p->edges == 0 && p->weight[3] == 2 && p->place_of[r] == 0);
        mlt_flow_placing_free(p);
        mlt_flow_sites_free(s);
    }
    // More workers than instances: one each, from the first on.
    mlt_flow_sites *s = hand_sites(40, 1, 1);
    mlt_flow_placing *p = place(g, s);
    for (uint32_t i = 0; i < 16; i++)
        CHECK(p->place_of[c + i] == i);
    mlt_flow_placing_free(p);
    mlt_flow_sites_free(s);
    hand_free(g);
}

// A pipeline of `length` whose modules are declared in a random order.
static void test_pipelines(void)
{
    for (uint32_t length = 2; length <= 120; length += length < 10 ? 1 : 11)
        for (uint32_t workers = 1; workers <= 20; workers++) {
            mlt_flow_graph *g = hand_new();
            hand_add(g, "m", MLT_FLOW_MODULE, length, 1);
            uint32_t *at = mlt_xcalloc(length, sizeof *at);
            for (uint32_t i = 0; i < length; i++)
                at[i] = i;
            for (uint32_t i = length - 1; i > 0; i--) {
                uint32_t j = below(i + 1), t = at[i];
                at[i] = at[j];
                at[j] = t;
            }
            for (uint32_t i = 1; i < length; i++)
                hand_wire(g, at[i - 1], 1, at[i], 0);
            hand_done(g);
            mlt_flow_sites *s = hand_sites(workers, 1, 1);
            mlt_flow_placing *p = place(g, s);
            CHECK(p->edges == length - 1);
            CHECK(p->cut == (workers < length ? workers : length) - 1);
            for (uint32_t w = 0; w < workers; w++)
                CHECK(p->weight[w] <= (length + workers - 1) / workers + length / workers / 10);
            mlt_flow_placing_free(p);
            mlt_flow_sites_free(s);
            hand_free(g);
            free(at);
        }
}

// s -> Broadcast -> a[n] => b[n] => c[n] -> z: a[i], b[i] and c[i] stay together.
static void test_pairs(void)
{
    for (uint32_t workers = 2; workers <= 7; workers++) {
        uint32_t n = 50;
        mlt_flow_graph *g = hand_new();
        uint32_t z = hand_add(g, "z", MLT_FLOW_MODULE, 0, 1);
        uint32_t c = hand_add(g, "c", MLT_FLOW_MODULE, n, 1);
        uint32_t a = hand_add(g, "a", MLT_FLOW_MODULE, n, 1);
        uint32_t b = hand_add(g, "b", MLT_FLOW_MODULE, n, 1);
        uint32_t s = hand_add(g, "s", MLT_FLOW_MODULE, 0, 1);
        uint32_t all = hand_add(g, "all", MLT_FLOW_BROADCAST, 0, 0);
        hand_wire(g, s, 1, all, 0);
        for (uint32_t i = 0; i < n; i++)
            hand_wire(g, all, 0, a + i, 0);
        for (uint32_t i = 0; i < n; i++)
            hand_wire(g, a + i, 1, b + i, 0);
        for (uint32_t i = 0; i < n; i++)
            hand_wire(g, b + i, 1, c + i, 0);
        for (uint32_t i = 0; i < n; i++)
            hand_wire(g, c + i, 1, z, 0);
        hand_done(g);
        mlt_flow_sites *sites = hand_sites(workers, 2, 1);
        mlt_flow_placing *p = place(g, sites);
        uint32_t apart = 0, far = 0;
        for (uint32_t i = 0; i < n; i++) {
            apart += mlt_flow_worker_of(p, a + i) != mlt_flow_worker_of(p, b + i) ||
                     mlt_flow_worker_of(p, b + i) != mlt_flow_worker_of(p, c + i);
            far += mlt_flow_worker_of(p, c + i) != mlt_flow_worker_of(p, z);
        }
        CHECK(apart <= workers - 1);
        CHECK(p->cut <= far + apart && p->edges == 3 * n);
        mlt_flow_placing_free(p);
        mlt_flow_sites_free(sites);
        hand_free(g);
    }
}

// A vector that is a square with wires to the right and down: stripes, or blocks.
static void test_square(void)
{
    enum { SIDE = 24 };
    mlt_flow_graph *g = hand_new();
    hand_add(g, "p", MLT_FLOW_MODULE, SIDE * SIDE, 1);
    for (uint32_t y = 0; y < SIDE; y++)
        for (uint32_t x = 0; x < SIDE; x++) {
            if (x + 1 < SIDE)
                hand_wire(g, y * SIDE + x, 1, y * SIDE + x + 1, 0);
            if (y + 1 < SIDE)
                hand_wire(g, y * SIDE + x, 3, y * SIDE + x + SIDE, 2);
        }
    hand_done(g);
    for (uint32_t workers = 2; workers <= 6; workers++) {
        mlt_flow_sites *s = hand_sites(workers, 1, 1);
        mlt_flow_placing *p = place(g, s);
        CHECK(p->cut <= (workers - 1) * (SIDE + 1));
        mlt_flow_placing_free(p);
        mlt_flow_sites_free(s);
    }
    // Stripes would cut 15 * 24 = 360 wires, blocks 2 * 3 * 24 = 144; this is nearer to blocks.
    mlt_flow_sites *s = hand_sites(16, 1, 1);
    mlt_flow_placing *p = place(g, s);
    CHECK(p->cut <= 220);
    for (uint32_t w = 0; w < 16; w++)
        CHECK(p->weight[w] >= 32 && p->weight[w] <= 40);
    mlt_flow_placing_free(p);
    mlt_flow_sites_free(s);
    hand_free(g);
}

// One heavy module has a worker for itself.
static void test_weights(void)
{
    mlt_flow_graph *g = hand_new();
    uint32_t a = hand_add(g, "a", MLT_FLOW_MODULE, 10, 1);
    uint32_t heavy = hand_add(g, "heavy", MLT_FLOW_MODULE, 0, 10);
    for (uint32_t i = 0; i < 9; i++)
        hand_wire(g, a + i, 1, a + i + 1, 0);
    hand_wire(g, a + 9, 1, heavy, 0);
    hand_done(g);
    mlt_flow_sites *s = hand_sites(2, 1, 1);
    mlt_flow_placing *p = place(g, s);
    CHECK(p->cut == 1 && p->weight[0] == 10 && p->weight[1] == 10);
    mlt_flow_placing_free(p);
    mlt_flow_sites_free(s);
    hand_free(g);
}

// ---- pins

static void test_pins(void)
{
    mlt_flow_graph *g = hand_new();
    uint32_t p = hand_add(g, "p", MLT_FLOW_MODULE, 24, 1);
    uint32_t r = hand_add(g, "r", MLT_FLOW_REDUCE, 0, 0);
    uint32_t d = hand_add(g, "d", MLT_FLOW_DEAL, 2, 0);
    for (uint32_t i = 0; i < 24; i++)
        hand_wire(g, p + i, 1, r, 0);
    hand_wire(g, r, 0, p, 0);
    for (uint32_t i = 0; i < 8; i++)
        hand_pin(g, p + i, "h1", -1, 7); // p[0:7] @ h1
    hand_pin(g, p + 8, NULL, 0, 8);
    hand_pin(g, p + 9, NULL, 7, 9);
    hand_pin(g, p + 10, "h1", 3, 10);
    hand_pin(g, p + 10, "h1", 3, 11); // the same again
    hand_pin(g, r, "h1", -1, 12);
    hand_pin(g, d, "h0", 1, 13);
    hand_done(g);
    mlt_flow_sites *s = hand_sites(4, 2, 2); // places 0-3 on h0, 4-7 on h1
    mlt_flow_placing *at = place(g, s);
    for (uint32_t i = 0; i < 8; i++)
        CHECK(s->host_of[mlt_flow_worker_of(at, p + i)] == 1);
    CHECK(at->place_of[p + 8] == 0 && at->place_of[p + 9] == 7 && at->place_of[p + 10] == 7);
    CHECK(at->place_of[r] >= 4 && at->place_of[d] == 1 && at->place_of[d + 1] == 0);
    uint64_t total = 0;
    for (uint32_t w = 0; w < 4; w++) {
        CHECK(at->weight[w] == 6); // pins count
        total += at->weight[w];
    }
    CHECK(total == 24);
    mlt_flow_placing_free(at);
    mlt_flow_sites_free(s);
    // More on a worker than its share: the others share the rest.
    g->pin_count = 0;
    for (uint32_t i = 0; i < 15; i++)
        hand_pin(g, p + i, NULL, 1, 1);
    s = hand_sites(4, 1, 1);
    at = place(g, s);
    CHECK(at->weight[0] == 3 && at->weight[1] == 15 && at->weight[2] == 3 && at->weight[3] == 3);
    mlt_flow_placing_free(at);
    mlt_flow_sites_free(s);
    hand_free(g);
}

static void expect_refused(const char *host, long at, const char *again, const char *expected)
{
    mlt_flow_graph *g = hand_new();
    hand_add(g, "p", MLT_FLOW_MODULE, 2, 1);
    hand_pin(g, 1, host, at, 12);
    if (again)
        hand_pin(g, 1, again, -1, 14);
    hand_done(g);
    char why[400] = "";
    mlt_flow_sites *s = mlt_flow_sites_new(2, 2, "one\ntwo\nthree", why, sizeof why);
    CHECK(s && !mlt_flow_place(g, s, why, sizeof why));
    if (strcmp(why, expected))
        fprintf(stderr, "%s\n", why);
    CHECK(!strcmp(why, expected));
    mlt_flow_sites_free(s);
    hand_free(g);
}

// A program that says where things run still runs alone.
static void test_alone(void)
{
    mlt_flow_graph *g = hand_new();
    hand_add(g, "p", MLT_FLOW_MODULE, 2, 1);
    hand_pin(g, 1, "elsewhere", 3, 12);
    hand_done(g);
    char why[400] = "";
    mlt_flow_sites *s = mlt_flow_sites_new(1, 1, NULL, why, sizeof why);
    mlt_flow_placing *placing = mlt_flow_place(g, s, why, sizeof why);
    CHECK(placing && placing->place_of[0] == 0 && placing->place_of[1] == 0);
    mlt_flow_placing_free(placing);
    mlt_flow_sites_free(s);
    hand_free(g);
}

static void test_refused(void)
{
    test_alone();
    expect_refused("four", -1, NULL,
                   "12: p[1] @ four: there is no such host; the hosts are one, two, three");
    expect_refused("three", -1, NULL, "12: p[1] @ three: this job has no worker on that host");
    expect_refused("two", 2, NULL, "12: p[1] @ two:2: that host has the places 0 to 1");
    expect_refused(NULL, 4, NULL, "12: p[1] @ 4: this job has the places 0 to 3");
    expect_refused(NULL, -3, NULL, "12: p[1] @ -3: this job has the places 0 to 3");
    expect_refused("one", -1, "two", "14: p[1] @ two: another line places it elsewhere");
}

// ---- random graphs

static mlt_flow_graph *random_graph(uint32_t *most_weight)
{
    mlt_flow_graph *g = hand_new();
    uint32_t vectors = 1 + below(6), same = below(2);
    *most_weight = 1;
    for (uint32_t v = 0; v < vectors; v++) {
        uint32_t weight = same ? 1 : 1 + below(9);
        *most_weight = weight > *most_weight ? weight : *most_weight;
        hand_add(g, "m", MLT_FLOW_MODULE, 1 + below(30), weight);
    }
    uint32_t modules = g->node_count, others = below(6);
    for (uint32_t i = 0; i < others; i++)
        hand_add(g, "c", (mlt_flow_kind)(1 + below(MLT_FLOW_KINDS - 1)), 0, 0);
    for (uint32_t e = below(3 * g->node_count); e > 0; e--) {
        uint32_t from = below(g->node_count), to = below(g->node_count);
        if (from < modules || to < modules)
            hand_wire(g, from, 1, to, 0);
    }
    return hand_done(g);
}

// Some nodes have to be on a place, some on a host that has a worker.
static void pin_some(mlt_flow_graph *g, const mlt_flow_sites *s)
{
    for (uint32_t n = 0; n < g->node_count; n++) {
        const mlt_flow_host *host = &s->hosts[s->host_of[below(s->workers)]];
        if (!below(4))
            hand_pin(g, n, below(2) ? NULL : host->name, below(2) ? 0 : -1, 1);
    }
    for (uint32_t i = 0; i < g->pin_count; i++)
        if (!g->pins[i].host)
            g->pins[i].place = below(s->places);
}

static void check_pins(const mlt_flow_graph *g, const mlt_flow_placing *p)
{
    const mlt_flow_sites *s = p->sites;
    for (uint32_t i = 0; i < g->pin_count; i++) {
        const mlt_flow_pin *pin = &g->pins[i];
        uint32_t at = p->place_of[pin->node], host = s->host_of[s->worker_of[at]];
        if (!pin->host)
            CHECK(at == pin->place);
        else
            CHECK(!strcmp(s->hosts[host].name, pin->host));
        if (pin->host && !pin->place)
            CHECK(at == 0 || s->host_of[s->worker_of[at - 1]] != host);
    }
}

static void test_random(void)
{
    for (now_seed = 1; now_seed <= 1000; now_seed++) {
        random_state = now_seed;
        uint32_t most, workers = 1 + below(17), hosts = 1 + below(4), a_worker = 1 + below(3);
        mlt_flow_graph *g = random_graph(&most);
        mlt_flow_sites *s = hand_sites(workers, a_worker, hosts < workers ? hosts : workers);
        if (now_seed % 3 == 0)
            pin_some(g, s);
        mlt_flow_placing *p = place(g, s), *q = place(g, s);
        check_pins(g, p);
        uint64_t total = 0, edges = 0, cut = 0, *weight = mlt_xcalloc(workers, sizeof *weight);
        uint32_t *worker = mlt_xcalloc(g->node_count, sizeof *worker);
        for (uint32_t n = 0; n < g->node_count; n++) {
            CHECK(p->place_of[n] < s->places && p->place_of[n] == q->place_of[n]);
            if (mlt_flow_is_module(g, n))
                weight[mlt_flow_worker_of(p, n)] += mlt_flow_weight(g, n);
        }
        for (uint32_t e = 0; e < g->edge_count; e++) {
            uint32_t from = g->edges[e].from, to = g->edges[e].to;
            bool wire = mlt_flow_is_module(g, from) && mlt_flow_is_module(g, to);
            edges += wire;
            cut += wire && mlt_flow_worker_of(p, from) != mlt_flow_worker_of(p, to);
        }
        CHECK(p->edges == edges && p->cut == cut && q->cut == cut);
        for (uint32_t w = 0; w < workers; w++) {
            CHECK(p->weight[w] == weight[w]);
            total += weight[w];
        }
        for (uint32_t w = 0; w < workers && !g->pin_count; w++)
            CHECK(weight[w] <= total / workers + total / workers / 10 + 1 ||
                  weight[w] <= total / workers + most);
        free(weight);
        free(worker);
        mlt_flow_placing_free(p);
        mlt_flow_placing_free(q);
        mlt_flow_sites_free(s);
        hand_free(g);
    }
    now_seed = 0;
}

// Pairs in the wrong order find each other by moves and exchanges.
static void test_moves(void)
{
    enum { N = 400 };
    mlt_flow_graph *g = hand_new();
    hand_add(g, "m", MLT_FLOW_MODULE, N, 1);
    for (uint32_t i = 0; i < N / 2; i++)
        hand_wire(g, i, 1, N - 1 - i, 0);
    hand_done(g);
    mlt_flow_sites *s = hand_sites(4, 1, 1);
    mlt_flow_wishes wishes = {mlt_xcalloc(N, sizeof(uint32_t)), mlt_xcalloc(N, sizeof(uint32_t))};
    memset(wishes.place, 0xff, N * sizeof(uint32_t));
    memset(wishes.host, 0xff, N * sizeof(uint32_t));
    uint32_t row[N], worker[N];
    uint64_t load[4] = {0};
    for (uint32_t i = 0; i < N; i++) {
        row[i] = i;
        worker[i] = i / (N / 4);
        load[worker[i]]++;
    }
    mlt_flow_near near = mlt_flow_near_new(g);
    uint64_t before = mlt_flow_cost(g, &near, s, worker);
    mlt_flow_moves(g, &near, s, &wishes, row, N, worker, load);
    uint64_t after = mlt_flow_cost(g, &near, s, worker), count[4] = {0};
    CHECK(before == N / 2 * MLT_FLOW_WIRE && after == 0);
    for (uint32_t i = 0; i < N; i++)
        count[worker[i]]++;
    for (uint32_t w = 0; w < 4; w++)
        CHECK(load[w] == count[w] && count[w] >= 90 && count[w] <= 110);
    // Whoever has a wish stays.
    for (uint32_t i = 0; i < N; i++) {
        wishes.place[i] = worker[i] = i / (N / 4);
        row[i] = i;
    }
    mlt_flow_moves(g, &near, s, &wishes, row, N, worker, load);
    for (uint32_t i = 0; i < N; i++)
        CHECK(worker[i] == i / (N / 4));
    mlt_flow_near_free(&near);
    free(wishes.place);
    free(wishes.host);
    mlt_flow_sites_free(s);
    hand_free(g);
}

// Four workers on two hosts. Two cliques of four modules each, of every other one; each needs two
// workers, and they shall be of one host.
static void test_hosts(void)
{
    enum { N = 8 };
    mlt_flow_graph *g = hand_new();
    hand_add(g, "m", MLT_FLOW_MODULE, N, 1);
    hand_add(g, "r", MLT_FLOW_REDUCE, 1, 0);
    for (uint32_t a = 0; a < N; a++)
        for (uint32_t b = a % 2; b < a; b += 2)
            hand_wire(g, a, 1, b, 0);
    hand_wire(g, 0, 1, N, 0);
    hand_wire(g, 1, 1, N, 0);
    hand_done(g);
    mlt_flow_sites *s = hand_sites(4, 1, 2);
    mlt_flow_near near = mlt_flow_near_new(g);
    const uint32_t apart[N + 1] = {0, 1, 0, 1, 2, 3, 2, 3, MLT_FLOW_NOWHERE};
    const uint32_t together[N + 1] = {0, 2, 0, 2, 1, 3, 1, 3, MLT_FLOW_NOWHERE};
    // Each clique has 4 wires between two workers. The reduction has neighbours on 2 workers.
    CHECK(mlt_flow_cost(g, &near, s, apart) == 8 * MLT_FLOW_FAR + 1);
    CHECK(mlt_flow_cost(g, &near, s, together) == 8 * MLT_FLOW_WIRE + MLT_FLOW_FAR_WIRES);
    mlt_flow_placing *p = place(g, s);
    for (uint32_t i = 0; i < N; i++)
        CHECK(s->host_of[mlt_flow_worker_of(p, i)] == s->host_of[mlt_flow_worker_of(p, i % 2)]);
    mlt_flow_placing_free(p);
    // One that may move goes where its host has most of its neighbours, if not its worker.
    mlt_flow_wishes wishes = {mlt_xcalloc(N + 1, sizeof(uint32_t)),
                              mlt_xcalloc(N + 1, sizeof(uint32_t))};
    uint32_t row[] = {0}, worker[N + 1] = {0, 1, 2, 0, 3, 1, 3, 1, MLT_FLOW_NOWHERE};
    uint64_t load[4] = {2, 3, 1, 2};
    memset(wishes.place, 0xff, (N + 1) * sizeof(uint32_t));
    memset(wishes.host, 0xff, (N + 1) * sizeof(uint32_t));
    mlt_flow_moves(g, &near, s, &wishes, row, 1, worker, load);
    CHECK(s->host_of[worker[0]] == 1);
    mlt_flow_near_free(&near);
    free(wishes.place);
    free(wishes.host);
    mlt_flow_sites_free(s);
    hand_free(g);
}

static void test_real_hosts(void)
{
    char why[200];
    mlt_flow_host names[] = {{.name = "a.example"}, {.name = "b"}};
    uint32_t in_order[] = {0, 0, 1}, in_turns[] = {0, 1, 0};
    mlt_flow_graph *g = hand_new();
    hand_add(g, "m", MLT_FLOW_MODULE, 3, 1);
    hand_pin(g, 0, "b", -1, 1);
    hand_pin(g, 1, "a", -1, 2);
    hand_done(g);
    mlt_flow_sites *s = mlt_flow_sites_new(3, 1, NULL, why, sizeof why);
    mlt_flow_sites_set(s, in_order, names, 2);
    CHECK(s->host_count == 2 && s->hosts[0].slots == 2 && s->hosts[1].slots == 1 && !s->mixed);
    mlt_flow_placing *p = place(g, s);
    CHECK(mlt_flow_worker_of(p, 0) == 2 && mlt_flow_worker_of(p, 1) < 2);
    mlt_flow_placing_free(p);
    mlt_flow_sites_set(s, in_turns, names, 2);
    CHECK(s->host_count == 1 && s->mixed);
    CHECK(!mlt_flow_place(g, s, why, sizeof why) && strstr(why, "--map-by slot"));
    mlt_flow_sites_free(s);
    hand_free(g);
}

int main(void)
{
    test_sites();
    test_hosts();
    test_real_hosts();
    test_blocks();
    test_pipelines();
    test_pairs();
    test_square();
    test_weights();
    test_pins();
    test_refused();
    test_moves();
    test_random();
    return 0;
}
