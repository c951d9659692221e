// SPDX-License-Identifier: BSD-3-Clause
// Programs on described machines: by hand; the limits, where a machine must be the plain LogGOPS;
// random messages on random networks against a plain network, and against flows that share links
// max-min fairly.
#include <math.h>

#include "base/unit_test.h"
#include "judge/net/route.h"
#include "judge/sim/sim.h"

static mlt_cluster *cluster_of(const char *text)
{
    char why[512];
    mlt_cluster *cluster;
    if (mlt_cluster_read("m", text, strlen(text), &cluster, why, sizeof why) != MLT_OK) {
        fprintf(stderr, "%s\n%s\n", text, why);
        CHECK(!"it can be read");
    }
    return cluster;
}

static mlt_sim_result *run(const mlt_goal_program *p, const mlt_cluster *cluster)
{
    mlt_sim_options options = {.cluster = cluster, .keep_times = true, .keep_path = true};
    mlt_sim_result *result;
    char why[1024];
    if (mlt_sim_simulate(p, &options, &result, why, sizeof why) != MLT_OK) {
        fprintf(stderr, "%s\n", why);
        CHECK(!"the simulation failed");
    }
    return result;
}

// A message on a CPU and a NIC of its own at both ends, `delay` ns after the beginning.
static void add_message(mlt_goal_program *p, uint32_t from, uint32_t to, uint64_t size,
                        uint64_t delay, uint8_t unit)
{
    mlt_goal_action wait = {.kind = MLT_GOAL_CALC, .cpu = unit, .size = {delay}};
    mlt_goal_action send = {.kind = MLT_GOAL_SEND,
                            .peer = (int32_t)to,
                            .tag = unit,
                            .cpu = unit,
                            .nic = unit,
                            .buf = {MLT_GOAL_NOWHERE},
                            .size = {size}};
    mlt_goal_action recv = send;
    recv.kind = MLT_GOAL_RECV;
    recv.peer = (int32_t)from;
    recv.cpu = recv.nic = (uint8_t)(unit + 100);
    uint32_t first = mlt_goal_add(p, from, &wait);
    mlt_goal_require(p, from, mlt_goal_add(p, from, &send), first);
    mlt_goal_add(p, to, &recv);
}

// When the message's first byte came, in ns.
static double came(const mlt_goal_program *p, const mlt_sim_result *r, uint32_t from, uint8_t unit)
{
    uint64_t number = 0;
    for (uint32_t rank = 0; rank < p->ranks; rank++)
        for (uint32_t a = 0; a < p->rank[rank].count; a++, number++)
            if (p->rank[rank].actions[a].kind == MLT_GOAL_RECV &&
                p->rank[rank].actions[a].peer == (int32_t)from &&
                p->rank[rank].actions[a].tag == unit)
                return (double)r->cpu_start_ps[number] / 1000;
    CHECK(!"there is such a message");
    return 0;
}

// ---- by hand. Far: o 10, L 100, G 1; links take 1 ns a byte and 5 ns; near: o 1, L 2, G 0.

static const char by_hand[] = "hosts 4\ncores 2\n"
                              "within-host L 2 o 1 g 0 G 0\nbetween-hosts L 100 o 10 g 0 G 1\n"
                              "network crossbar\nlink host latency 5 bandwidth 1\n";

static void check_by_hand(void)
{
    mlt_cluster *c = cluster_of(by_hand);
    mlt_goal_program *p = mlt_goal_program_new(8);
    add_message(p, 0, 1, 50, 0, 0);    // same host: 1 + 2
    add_message(p, 0, 2, 50, 0, 1);    // alone on its way: 10 + 2 * 5 + 100
    add_message(p, 1, 4, 30, 20, 2);   // shares host 0's link with 30 bytes of the one before
    add_message(p, 6, 5, 50, 1000, 3); // nobody is left
    mlt_sim_result *r = run(p, c);
    CHECK(came(p, r, 0, 0) == 3);
    CHECK(came(p, r, 0, 1) == 120);
    CHECK(came(p, r, 1, 2) == 20 + 120 + 30);
    CHECK(came(p, r, 6, 3) == 1000 + 120);
    CHECK(r->messages == 4 && r->network_messages == 3 && r->hops == 6);
    CHECK(r->links_count == 4);
    check_same_text("the busiest link", r->links[0].name, "host 0 to its switch");
    CHECK(r->links[0].messages == 2 && r->links[0].bytes == 80 && r->links[0].busy_ps == 80000);
    const mlt_sim_step *last = &r->path[r->path_count - 1]; // 6 to 5
    CHECK(last->cause == MLT_SIM_MESSAGE && last->network_ps == 110000 && last->contention_ps == 0);
    mlt_sim_result_free(r);
    mlt_goal_program_free(p);

    p = mlt_goal_program_new(8); // two come to host 1 at once; its link gives each a half
    add_message(p, 0, 2, 50, 0, 0);
    add_message(p, 4, 3, 50, 0, 1);
    r = run(p, c);
    CHECK(came(p, r, 0, 0) == 120 && came(p, r, 4, 1) == 170);
    last = &r->path[r->path_count - 1];
    CHECK(last->network_ps == 160000 && last->contention_ps == 50000);
    mlt_sim_result_free(r);
    mlt_goal_program_free(p);
    mlt_cluster_free(c);

    // A link of half the bandwidth lets the last of 51 bytes come 50 ns late.
    c = cluster_of("hosts 2\nbetween-hosts L 100 o 10 g 0 G 1\nnetwork crossbar\n"
                   "link host latency 5 bandwidth 0.5");
    p = mlt_goal_program_new(2);
    add_message(p, 0, 1, 51, 0, 0);
    r = run(p, c);
    CHECK(came(p, r, 0, 0) == 170);
    mlt_sim_result_free(r);
    mlt_goal_program_free(p);
    mlt_cluster_free(c);
}

// Three ranks on one processor: L 100, o 10, a change of ranks 7.
static void check_shared_by_hand(void)
{
    mlt_cluster *c = cluster_of("hosts 1\ncores 3\nprocessors 1 switch 7\n"
                                "within-host L 100 o 10 g 0 G 0\nnetwork crossbar\n");
    mlt_goal_program *p = mlt_goal_program_new(3);
    mlt_goal_action calc = {.kind = MLT_GOAL_CALC, .size = {50}};
    mlt_goal_action send = {
        .kind = MLT_GOAL_SEND, .peer = 1, .buf = {MLT_GOAL_NOWHERE}, .size = {1}};
    mlt_goal_action recv = send;
    recv.kind = MLT_GOAL_RECV;
    recv.peer = 0;
    // 0 computes and sends without a break, until 60; its message comes at 50 + 110 = 160.
    uint32_t first = mlt_goal_add(p, 0, &calc);
    mlt_goal_require(p, 0, mlt_goal_add(p, 0, &send), first);
    mlt_goal_add(p, 1, &recv);
    // 2 wanted to begin at 0, gets the processor at 60, begins at 67, and ends at 167. Then rank 1
    // may take up its message, after another change.
    calc.size[0] = 100;
    mlt_goal_add(p, 2, &calc);
    mlt_sim_result *r = run(p, c);
    CHECK(r->context_switches == 2);
    CHECK(r->rank_end_ps[0] == 60000 && r->rank_end_ps[2] == 167001 &&
          r->rank_end_ps[1] == 167001 + 17001);
    CHECK(r->path_count == 4 && r->path[0].place.rank == 0 && r->path[1].place.rank == 0);
    CHECK(r->path[2].place.rank == 2 && r->path[2].cause == MLT_SIM_SHARED_CORE);
    CHECK(r->path[3].place.rank == 1 && r->path[3].cause == MLT_SIM_SHARED_CORE);
    mlt_sim_result_free(r);
    c->processors = 3; // each its own: the message comes at 160
    r = run(p, c);
    CHECK(r->context_switches == 0 && r->rank_end_ps[2] == 100000 && r->rank_end_ps[1] == 170000);
    mlt_sim_result_free(r);
    mlt_goal_program_free(p);
    mlt_cluster_free(c);
}

// Two ranks on one processor: L 100, o 10, a change of ranks 7, waking one 30.
static void check_waking_by_hand(void)
{
    mlt_cluster *c = cluster_of("hosts 1\ncores 2\nprocessors 1 switch 7 wake 30\n"
                                "within-host L 100 o 10 g 0 G 0\nnetwork crossbar\n");
    mlt_goal_program *p = mlt_goal_program_new(2);
    mlt_goal_action calc = {.kind = MLT_GOAL_CALC, .size = {57}};
    mlt_goal_action to = {.kind = MLT_GOAL_SEND, .peer = 1, .buf = {MLT_GOAL_NOWHERE}, .size = {1}};
    mlt_goal_action from = to, back = to, got = to;
    from.kind = got.kind = MLT_GOAL_RECV;
    from.peer = back.peer = 0;
    // 0 sends until 10; the message comes at 110, and finds the processor idle: 1 takes it up from 140
    // to 150. Its answer, from 150 to 160, comes at 260. 0 was woken by then at 290, and ends at 300.
    mlt_goal_add(p, 0, &to);
    mlt_goal_add(p, 0, &got);
    mlt_goal_require(p, 1, mlt_goal_add(p, 1, &back), mlt_goal_add(p, 1, &from));
    mlt_sim_result *r = run(p, c);
    CHECK(r->context_switches == 2 && r->rank_end_ps[1] == 160000 && r->rank_end_ps[0] == 300000);
    CHECK(r->path[r->path_count - 1].end_ps == r->total_ps);
    mlt_sim_result_free(r);
    // Now 1 computes, too. It has the processor from 10 on, was woken at 30, and ends at 87. The processor
    // is its own then: 1 waits for 23 until the message comes, and needs as long to be awake again.
    mlt_goal_add(p, 1, &calc);
    r = run(p, c);
    CHECK(r->context_switches == 2 && r->rank_end_ps[1] == 110000 + 23000 + 20000);
    CHECK(r->rank_end_ps[0] == 143000 + 110000 + 30000 + 10000);
    mlt_sim_result_free(r);
    mlt_goal_program_free(p);
    mlt_cluster_free(c);
}

// ---- within a host: two sockets of two NUMA nodes of two cores. o 1, L 2, G 1; above 1000 bytes o 4,
// L 20. A node's memory takes 3 ns and 1 ns a byte; another node is 10 ns away, another socket 100.

static const char inside[] = "hosts 1\ncores 8\nsockets 2\nnuma 4\nS 1000\nnetwork crossbar\n"
                             "within-host L 2 o 1 g 0 G 1\nlarge L 20 o 4 g 0 G 1\n"
                             "link memory latency 3 bandwidth 1\nlink numa latency 10\n"
                             "link socket latency 100\n";

static void check_inside_by_hand(void)
{
    mlt_cluster *c = cluster_of(inside);
    mlt_goal_program *p = mlt_goal_program_new(8);
    add_message(p, 0, 1, 50, 0, 0);       // the same node
    add_message(p, 0, 2, 50, 1000, 1);    // another one
    add_message(p, 0, 4, 50, 2000, 2);    // of the other socket
    add_message(p, 0, 1, 1001, 3000, 3);  // a large message
    add_message(p, 6, 7, 100, 10000, 4);  // these share the memory of the last node
    add_message(p, 7, 6, 100, 10000, 5);  //
    add_message(p, 4, 5, 100, 10000, 6);  // and this does not
    add_message(p, 2, 3, 1001, 20000, 7); // comes to the memory at 20004,
    add_message(p, 3, 2, 1000, 20001, 8); // and this one, though sent later, at 20002
    mlt_sim_result *r = run(p, c);
    CHECK(came(p, r, 0, 0) == 1 + 3 + 2);
    CHECK(came(p, r, 0, 1) == 1000 + 1 + 3 + 10 + 2);
    CHECK(came(p, r, 0, 2) == 2000 + 1 + 3 + 10 + 100 + 2);
    CHECK(came(p, r, 0, 3) == 3000 + 4 + 3 + 20);
    CHECK(came(p, r, 6, 4) == 10000 + 6 && came(p, r, 7, 5) == 10000 + 6 + 100);
    CHECK(came(p, r, 4, 6) == 10000 + 6);
    CHECK(came(p, r, 3, 8) == 20001 + 6);
    CHECK(came(p, r, 2, 7) == 20000 + 27 + 998); // 2 of the 1000 bytes had gone before
    CHECK(r->messages == 9 && r->network_messages == 0 && r->links_count == 4);
    check_same_text("the busiest", r->links[0].name, "host 0, memory of node 1");
    mlt_sim_result_free(r);
    mlt_goal_program_free(p);
    mlt_cluster_free(c);
}

static uint64_t total_of(const mlt_goal_program *p, const mlt_cluster *c, uint64_t seed)
{
    mlt_sim_options options = {.cluster = c, .seed = seed};
    mlt_sim_result *result;
    char why[512];
    CHECK(mlt_sim_simulate(p, &options, &result, why, sizeof why) == MLT_OK);
    uint64_t total = result->total_ps;
    mlt_sim_result_free(result);
    return total;
}

// Noise makes messages later by its part of their time, three times as much at most.
static void check_noise(void)
{
    mlt_cluster *c = cluster_of(inside);
    mlt_goal_program *p = mlt_goal_program_new(2);
    add_message(p, 0, 1, 51, 0, 0);
    uint64_t quiet = total_of(p, c, 0), least = UINT64_MAX, most = 0, sum = 0;
    enum { SEEDS = 1000 };
    c->noise = 0.5;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        uint64_t total = total_of(p, c, seed);
        CHECK(total == total_of(p, c, seed));
        least = total < least ? total : least;
        most = total > most ? total : most;
        sum += total - quiet;
    }
    const uint64_t time = 1000 + 2000 + 50 * 1000; // o, L and the bytes
    CHECK(least >= quiet && most <= quiet + time * 3 / 2 && most > quiet + time);
    CHECK(sum / SEEDS > time * 4 / 10 && sum / SEEDS < time * 6 / 10);
    mlt_goal_program_free(p);
    mlt_cluster_free(c);
}

static void check_refused(void)
{
    mlt_cluster *c = cluster_of("hosts 2\nnetwork crossbar");
    mlt_goal_program *p = mlt_goal_program_new(3);
    mlt_sim_options options = {.cluster = c};
    mlt_sim_result *result;
    char why[512];
    CHECK(mlt_sim_simulate(p, &options, &result, why, sizeof why) == MLT_ERR_INVALID && !result);
    check_same_text("too many ranks", why,
                    "the program has 3 ranks, but the machine has room for 2: 2 hosts with 1 core");
    mlt_goal_program_free(p);
    mlt_cluster_free(c);
}

// ---- random messages on random networks

enum { RANKS = 12, ROUNDS = 3, MOST = RANKS * ROUNDS };

typedef struct message {
    uint32_t from, to; // ranks
    uint64_t size, delay;
    uint8_t unit;
    uint32_t number; // of its send
} message;

typedef struct crowd {
    mlt_cluster *cluster;
    mlt_network net;
    uint32_t nic[RANKS];
    message all[MOST];
    int count;
    mlt_goal_program *program;
    mlt_sim_result *result;
} crowd;

static mlt_cluster *random_cluster(void)
{
    static const char *const shapes[] = {"crossbar",
                                         "fat-tree levels 2 radix 6",
                                         "fat-tree levels 3 radix 4 oversubscription 3",
                                         "torus 3x4",
                                         "torus 2x2x3",
                                         "dragonfly groups 3 routers 2 hosts 2 links 1",
                                         ("dragonfly groups 4 routers 3 hosts 1 links 1 routing "
                                          "valiant")};
    static const char *const places[] = {"block", "round-robin"};
    static const char *const hosts[] = {"", " bandwidth 1", " bandwidth 2", " bandwidth 3"};
    char text[600];
    uint32_t nics = 1 + below(2);
    snprintf(text, sizeof text,
             "hosts 12\ncores %u\nnics %u\nplace %s\nwithin-host L %u o %u\n"
             "between-hosts L %u o %u G %u\nnetwork %s\nlink host latency %u%s\n"
             "link switch latency %u bandwidth 0.%u\nlink global latency %u%s\n",
             1 + below(3), nics, places[below(2)], below(50), below(20), below(200), below(20),
             below(3), shapes[below(7)], below(20), hosts[below(4)], below(30), 1 + below(9),
             below(100), below(2) ? " bandwidth 0.7" : "");
    return cluster_of(text);
}

static void crowd_init(crowd *x, uint32_t apart, uint64_t size)
{
    char why[200];
    *x = (crowd){.cluster = random_cluster(), .program = mlt_goal_program_new(RANKS)};
    CHECK(mlt_network_init(&x->net, x->cluster));
    CHECK(mlt_cluster_ranks(x->cluster, RANKS, x->nic, why, sizeof why) == MLT_OK);
    for (uint8_t round = 0; round < ROUNDS; round++) {
        uint32_t shift = 1 + below(RANKS - 1);
        for (uint32_t r = 0; r < RANKS; r++) // no two begin at once
            x->all[x->count++] =
                (message){.from = r,
                          .to = (r + shift) % RANKS,
                          .size = size ? size : 1 + below(below(3) ? 500 : 5000),
                          .delay = (uint64_t)below(apart) * MOST + round * RANKS + r,
                          .unit = round};
    }
    for (int i = 0; i < x->count; i++) {
        message *m = &x->all[i];
        add_message(x->program, m->from, m->to, m->size, m->delay, m->unit);
    }
    uint32_t number = 0;
    for (uint32_t r = 0; r < RANKS; r++)
        for (uint32_t a = 0; a < x->program->rank[r].count; a++, number++)
            for (int i = 0; i < x->count; i++)
                if (x->program->rank[r].actions[a].kind == MLT_GOAL_SEND && x->all[i].from == r &&
                    x->all[i].unit == x->program->rank[r].actions[a].tag)
                    x->all[i].number = number;
    x->result = run(x->program, x->cluster);
}

static void crowd_fini(crowd *x)
{
    mlt_sim_result_free(x->result);
    mlt_goal_program_free(x->program);
    mlt_cluster_free(x->cluster);
}

static bool near(const crowd *x, const message *m)
{
    uint32_t nics = x->cluster->nics;
    return x->nic[m->from] / nics == x->nic[m->to] / nics;
}

static double ns_a_byte(const crowd *x, uint32_t link)
{
    double bandwidth = x->cluster->cost[mlt_network_kind_of(&x->net, link)].bandwidth;
    return bandwidth > 0 ? 1 / bandwidth : 0;
}

// ---- the plain network: heads in the order of their times, links with all that they ever served

typedef struct head {
    double time, late;
    uint32_t hop;
    bool done;
} head;

typedef struct served {
    double left[MOST], now;
    int count;
} served;

static void serve(served *link, double now)
{
    double time = now - link->now;
    link->now = now;
    for (;;) {
        double least = INFINITY;
        int active = 0;
        for (int i = 0; i < link->count; i++)
            if (link->left[i] > 1e-9) {
                active++;
                least = fmin(least, link->left[i]);
            }
        if (!active || time < 1e-9)
            return;
        double each = fmin(least, time / active);
        for (int i = 0; i < link->count; i++)
            link->left[i] = link->left[i] > 1e-9 ? link->left[i] - each : 0;
        time -= each * active;
    }
}

static double share(served *link, double now, double work)
{
    double delay = 0;
    serve(link, now);
    for (int i = 0; i < link->count; i++)
        delay += fmin(link->left[i], work);
    link->left[link->count++] = work;
    return delay;
}

// The first of those on their way; equal times: the one that was sent first.
static int first_head(const crowd *x, const head *heads)
{
    int first = -1;
    for (int i = 0; i < x->count; i++)
        if (!heads[i].done &&
            (first < 0 || heads[i].time < heads[first].time - 1e-6 ||
             (heads[i].time < heads[first].time + 1e-6 && x->all[i].delay < x->all[first].delay)))
            first = i;
    return first;
}

static void plain_play(const crowd *x, double *arrival)
{
    const mlt_loggops *m = &x->cluster->between;
    served *links = calloc(x->net.links, sizeof *links);
    head heads[MOST];
    for (int i = 0; i < x->count; i++) {
        double sent = (double)x->all[i].delay + m->o;
        heads[i] = (head){.time = sent, .late = sent, .done = near(x, &x->all[i])};
    }
    for (int i; (i = first_head(x, heads)) >= 0;) {
        const message *it = &x->all[i];
        head *h = &heads[i];
        uint32_t link =
            mlt_network_hop(&x->net, x->nic[it->from], x->nic[it->to], it->number, h->hop++);
        double byte = ns_a_byte(x, link), latency;
        if (byte > 0) {
            double delay = share(&links[link], h->time, (double)it->size * byte);
            h->late = fmax(h->late, h->time + delay + (double)(it->size - 1) * (byte - m->G));
        }
        latency = x->cluster->cost[mlt_network_kind_of(&x->net, link)].latency;
        h->late += latency;
        h->time += latency;
        h->done = mlt_network_is_last(&x->net, link);
        arrival[i] = fmax(h->late, h->time) + m->L;
    }
    free(links);
}

static void check_against_plain(void)
{
    for (now_seed = 1; now_seed <= 400; now_seed++) {
        crowd x;
        double arrival[MOST];
        crowd_init(&x, 1 + below(200), 0);
        plain_play(&x, arrival);
        for (int i = 0; i < x.count; i++) {
            const message *m = &x.all[i];
            const mlt_loggops *w = &x.cluster->within;
            double wanted = near(&x, m) ? (double)m->delay + w->o + w->L : arrival[i];
            CHECK(fabs(came(x.program, x.result, m->from, m->unit) - wanted) < 0.05);
        }
        crowd_fini(&x);
    }
    now_seed = 0;
}

// ---- flows: at any time the rates of all messages under way are max-min fair

static const double DONE = 1e-3; // bytes that are left

static void fair_rates(const crowd *x, const double *left, double *rate, uint32_t (*way)[32])
{
    uint32_t *users = calloc(x->net.links, sizeof *users);
    double *room = calloc(x->net.links, sizeof *room);
    bool fixed[MOST];
    for (int i = 0; i < x->count; i++) {
        fixed[i] = left[i] <= DONE;
        rate[i] = 0;
        for (int k = 0; !fixed[i] && way[i][k] != UINT32_MAX; k++) {
            users[way[i][k]]++;
            room[way[i][k]] = 1 / ns_a_byte(x, way[i][k]);
        }
    }
    for (;;) {
        double G = x->cluster->between.G, least = G > 0 ? 1 / G : INFINITY;
        uint32_t tight = UINT32_MAX;
        for (uint32_t l = 0; l < x->net.links; l++)
            if (users[l] && room[l] / users[l] < least) {
                least = room[l] / users[l];
                tight = l;
            }
        bool any = false;
        for (int i = 0; i < x->count; i++) {
            bool on = tight == UINT32_MAX;
            for (int k = 0; !fixed[i] && way[i][k] != UINT32_MAX; k++)
                on = on || way[i][k] == tight;
            if (fixed[i] || !on)
                continue;
            any = fixed[i] = true;
            rate[i] = isinf(least) ? 1e6 : least;
            for (int k = 0; way[i][k] != UINT32_MAX; k++) {
                users[way[i][k]]--;
                room[way[i][k]] -= rate[i];
            }
        }
        if (!any)
            break;
    }
    free(users);
    free(room);
}

// When the last byte of the last message has left the network, without latencies.
static double fair_end(const crowd *x)
{
    uint32_t way[MOST][32];
    double left[MOST] = {0}, rate[MOST], now = 0;
    bool begun[MOST] = {false};
    for (int i = 0; i < x->count; i++) {
        uint32_t link = 0, n = 0;
        begun[i] = near(x, &x->all[i]);
        for (uint32_t hop = 0; !begun[i] && (hop == 0 || !mlt_network_is_last(&x->net, link));
             hop++) {
            link = mlt_network_hop(&x->net, x->nic[x->all[i].from], x->nic[x->all[i].to],
                                   x->all[i].number, hop);
            if (ns_a_byte(x, link) > 0)
                way[i][n++] = link;
        }
        way[i][n] = UINT32_MAX;
    }
    for (double end = 0;;) {
        fair_rates(x, left, rate, way);
        double next = INFINITY;
        for (int i = 0; i < x->count; i++) {
            if (!begun[i])
                next = fmin(next, fmax(now, (double)x->all[i].delay));
            if (left[i] > DONE)
                next = fmin(next, now + left[i] / rate[i]);
        }
        if (isinf(next))
            return end;
        for (int i = 0; i < x->count; i++) {
            if (left[i] > DONE) {
                left[i] -= rate[i] * (next - now);
                end = fmax(end, next);
            }
            if (!begun[i] && (double)x->all[i].delay <= next) {
                begun[i] = true;
                left[i] = (double)x->all[i].size;
            }
        }
        now = next;
    }
}

// The end of all against flows: what docs/reference/goal-machine.md says of the error.
static void check_against_flows(void)
{
    double sum = 0, worst = 0;
    int count = 0;
    for (now_seed = 1; now_seed <= 200; now_seed++) {
        crowd x;
        crowd_init(&x, 1 + below(100), now_seed % 2 ? 2000 : 0);
        for (int k = 0; k < MLT_NETWORK_KINDS; k++)
            x.cluster->cost[k].latency = 0;
        x.cluster->between.L = x.cluster->between.o = 0;
        mlt_sim_result_free(x.result);
        x.result = run(x.program, x.cluster);
        double fair = fair_end(&x), end = 0;
        for (int i = 0; i < x.count; i++)
            if (!near(&x, &x.all[i]))
                end = fmax(end, came(x.program, x.result, x.all[i].from, x.all[i].unit) +
                                    (double)x.all[i].size * x.cluster->between.G);
        if (fair > 0) {
            double error = end / fair - 1;
            sum += fabs(error);
            worst = fabs(error) > fabs(worst) ? error : worst;
            count++;
            CHECK(error > -0.5 && error < 0.5);
        }
        crowd_fini(&x);
    }
    now_seed = 0;
    printf("the end against max-min fair flows: %d networks, error %.1f %% in the mean, %.1f %% at "
           "most\n",
           count, 100 * sum / count, 100 * worst);
    CHECK(sum / count < 0.15);
}

// What all CPUs of a host are busy with, in ps.
static uint64_t busy(const mlt_goal_program *p, const mlt_cluster *c)
{
    double sum = 0;
    for (uint32_t r = 0; r < p->ranks; r++)
        for (uint32_t a = 0; a < p->rank[r].count; a++) {
            const mlt_goal_action *action = &p->rank[r].actions[a];
            sum += action->kind == MLT_GOAL_CALC ? (double)action->size[0] : c->within.o;
        }
    return (uint64_t)(sum * 1000);
}

// With a processor for each CPU, sharing changes nothing; with fewer, they are never busier than
// they can be, a free change makes nothing slower than a dear one, and the path's steps follow each
// other.
static void check_sharing(void)
{
    for (now_seed = 1; now_seed <= 200; now_seed++) {
        crowd x;
        crowd_init(&x, 1 + below(50), 0);
        x.cluster->processors = MLT_CLUSTER_PROCESSORS;
        x.cluster->change = 1e6;
        mlt_sim_result *r = run(x.program, x.cluster);
        CHECK(r->total_ps == x.result->total_ps && r->context_switches == 0);
        for (uint64_t a = 0; a < r->actions; a++)
            CHECK(r->action_end_ps[a] == x.result->action_end_ps[a]);
        mlt_sim_result_free(r);
        mlt_cluster *one = cluster_of("hosts 1\ncores 12\nprocessors 2 switch 40\n"
                                      "within-host L 30 o 20 g 0 G 0\nnetwork crossbar\n");
        one->processors = 1 + below(3);
        one->wake = now_seed % 2 ? 100 : 0;
        r = run(x.program, one);
        CHECK(r->total_ps * one->processors >= busy(x.program, one) + r->context_switches * 40000);
        CHECK(r->path[0].cause == MLT_SIM_FIRST &&
              r->path[r->path_count - 1].end_ps == r->total_ps);
        for (uint64_t i = 1; i < r->path_count; i++) {
            const mlt_sim_step *step = &r->path[i], *before = step - 1;
            CHECK(step->start_ps >= before->start_ps);
            if (step->cause == MLT_SIM_SHARED_CORE)
                CHECK(step->start_ps >= before->end_ps + 40001 &&
                      step->start_ps <= before->end_ps + (now_seed % 2 ? 100001 : 40001));
        }
        mlt_sim_result_free(r);
        mlt_cluster_free(one);
        crowd_fini(&x);
    }
    now_seed = 0;
}

// Nodes and memory without latency and limits change nothing.
static void check_idle_nodes(void)
{
    for (now_seed = 1; now_seed <= 200; now_seed++) {
        crowd x;
        crowd_init(&x, 1 + below(50), 0);
        x.cluster->numa = 1 + below(4);
        mlt_sim_result *r = run(x.program, x.cluster);
        CHECK(r->total_ps == x.result->total_ps &&
              r->network_messages == x.result->network_messages);
        for (uint64_t a = 0; a < r->actions; a++)
            CHECK(r->action_end_ps[a] == x.result->action_end_ps[a]);
        mlt_sim_result_free(r);
        crowd_fini(&x);
    }
    now_seed = 0;
}

int main(void)
{
    check_by_hand();
    check_inside_by_hand();
    check_noise();
    check_shared_by_hand();
    check_waking_by_hand();
    check_refused();
    check_against_plain();
    check_against_flows();
    check_sharing();
    check_idle_nodes();
    return 0;
}
