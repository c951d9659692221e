// SPDX-License-Identifier: BSD-3-Clause
// Speed and memory of the simulator: a binomial broadcast, the case that simulators publish, and a
// pairwise exchange, where many wait for the same NIC. On described machines: a stencil of 65,536
// ranks in two dimensions, and an exchange of EXCHANGE ranks (1024).
//
//     ninja -C build bench_sim && build/bench/sim [RANKS [REPEATS [EXCHANGE]]]
//
// The program is made once and simulated REPEATS times (5); the best time counts. Time includes
// laying out the program and pairing its messages, but not making the program. Lines are `key value
// unit`.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "judge/net/cluster.h"
#include "judge/sim/sim.h"
#include "os/os.h"

static mlt_goal_span span(uint64_t size)
{
    return (mlt_goal_span){MLT_GOAL_NOWHERE, 0, size};
}

// The paper's Listing 2: a rank receives in the round of its highest bit and sends in all later
// ones.
static mlt_goal_program *broadcast(uint32_t ranks)
{
    mlt_goal_program *program = mlt_goal_program_new(ranks);
    for (uint32_t i = 0; i < ranks; i++) {
        uint32_t recv = MLT_GOAL_NONE;
        uint64_t bit = 1;
        if (i) {
            while (2 * bit <= i)
                bit *= 2;
            recv = mlt_goal_recv(program, i, span(8), (int32_t)(i - bit), 0);
            bit *= 2;
        }
        for (; i + bit < ranks; bit *= 2) {
            uint32_t send = mlt_goal_send(program, i, span(8), (int32_t)(i + bit), 0);
            if (recv != MLT_GOAL_NONE)
                mlt_goal_require(program, i, send, recv);
        }
    }
    return program;
}

static mlt_goal_program *exchange(uint32_t ranks)
{
    mlt_goal_program *program = mlt_goal_program_new(ranks);
    for (uint32_t i = 0; i < ranks; i++)
        for (uint32_t d = 1; d < ranks; d++) {
            mlt_goal_send(program, i, span(64), (int32_t)((i + d) % ranks), 0);
            mlt_goal_recv(program, i, span(64), (int32_t)((i + ranks - d) % ranks), 0);
        }
    return program;
}

// Ten steps of computing and an exchange with four neighbours, around the ends.
static mlt_goal_program *stencil(uint32_t side)
{
    enum { STEPS = 10, NEIGHBOURS = 4 };
    mlt_goal_program *program = mlt_goal_program_new(side * side);
    for (uint32_t r = 0; r < side * side; r++) {
        uint32_t x = r % side, y = r / side, before[2 * NEIGHBOURS];
        const uint32_t near[NEIGHBOURS] = {
            y * side + (x + 1) % side, y * side + (x + side - 1) % side, (y + 1) % side * side + x,
            (y + side - 1) % side * side + x};
        for (int step = 0; step < STEPS; step++) {
            mlt_goal_action work = {.kind = MLT_GOAL_CALC, .size = {20000}};
            uint32_t calc = mlt_goal_add(program, r, &work);
            for (int i = 0; step > 0 && i < 2 * NEIGHBOURS; i++)
                mlt_goal_require(program, r, calc, before[i]);
            for (int i = 0; i < NEIGHBOURS; i++) {
                before[2 * i] = mlt_goal_send(program, r, span(4096), (int32_t)near[i], i);
                before[2 * i + 1] = mlt_goal_recv(program, r, span(4096), (int32_t)near[i], i ^ 1);
                mlt_goal_require(program, r, before[2 * i], calc);
                mlt_goal_require(program, r, before[2 * i + 1], calc);
            }
        }
    }
    return program;
}

static const char costs[] =
    "cores 16\nwithin-host L 150 o 80 g 60 G 0.08\n"
    "between-hosts L 600 o 250 g 100 G 0.04\nS 16384\n"
    "link host latency 100 bandwidth 25\nlink switch latency 150 bandwidth 25\n"
    "link global latency 400 bandwidth 25\nnetwork ";

static mlt_cluster *machine(const char *network)
{
    char text[1000], why[512];
    mlt_cluster *cluster;
    snprintf(text, sizeof text, "%s%s\n", costs, network);
    if (mlt_cluster_read(network, text, strlen(text), &cluster, why, sizeof why) != MLT_OK) {
        fprintf(stderr, "sim: %s\n", why);
        exit(1);
    }
    return cluster;
}

static void measure_on(const char *name, mlt_goal_program *program, int repeats, bool keep_path,
                       const mlt_cluster *cluster)
{
    mlt_sim_options options = {
        .machine = mlt_loggops_default, .cluster = cluster, .keep_path = keep_path};
    double best = 1e30;
    uint64_t events = 0, total = 0, hops = 0;
    for (int i = 0; i < repeats; i++) {
        mlt_sim_result *result;
        char why[512];
        if (mlt_sim_simulate(program, &options, &result, why, sizeof why) != MLT_OK) {
            fprintf(stderr, "sim: %s\n", why);
            exit(1);
        }
        best = result->seconds < best ? result->seconds : best;
        events = result->events;
        total = result->total_ps;
        hops = result->hops;
        mlt_sim_result_free(result);
    }
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    printf("%s.events %" PRIu64 " events\n%s.simulated %.3f us\n%s.seconds %.4f s\n"
           "%s.rate %.2f Mevents/s\n%s.peak %.1f MiB\n",
           name, events, name, (double)total / 1e6, name, best, name, (double)events / best / 1e6,
           name, (double)usage.ru_maxrss / 1024);
    if (cluster)
        printf("%s.links %" PRIu64 " links\n%s.linkrate %.2f Mlinks/s\n", name, hops, name,
               (double)hops / best / 1e6);
}

static void measure(const char *name, mlt_goal_program *program, int repeats, bool keep_path)
{
    measure_on(name, program, repeats, keep_path, NULL);
}

static void measure_machines(const char *name, mlt_goal_program *program, int repeats)
{
    static const struct {
        const char *name, *network;
    } all[] = {{"fat_tree", "fat-tree levels 3 radix 64 oversubscription 2"},
               {"torus", "torus 16x16x16"},
               {"dragonfly", "dragonfly groups 33 routers 16 hosts 8 links 4"}};
    char title[64];
    snprintf(title, sizeof title, "%s.plain", name);
    measure(title, program, repeats, false);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        mlt_cluster *cluster = machine(all[i].network);
        snprintf(title, sizeof title, "%s.%s", name, all[i].name);
        measure_on(title, program, repeats, false, cluster);
        mlt_cluster_free(cluster);
    }
    mlt_goal_program_free(program);
}

int main(int argc, char **argv)
{
    uint32_t ranks = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 0) : 1u << 20;
    int repeats = argc > 2 ? atoi(argv[2]) : 5;
    uint32_t crowd = argc > 3 ? (uint32_t)strtoul(argv[3], NULL, 0) : 1024;
    if (ranks < 2 || ranks > MLT_GOAL_MAX_RANKS || repeats < 1 || crowd < 2 || crowd > 1 << 16) {
        fprintf(stderr,
                "usage: sim [RANKS [REPEATS [EXCHANGE]]]: 2 to %d ranks (1048576), 1 repeat or "
                "more, an exchange of 2 to 65536 ranks\n",
                MLT_GOAL_MAX_RANKS);
        return 2;
    }
    uint64_t began = mlt_os_now_ns();
    mlt_goal_program *program = broadcast(ranks);
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    printf("program.seconds %.4f s\nprogram.peak %.1f MiB\n",
           (double)(mlt_os_now_ns() - began) / 1e9, (double)usage.ru_maxrss / 1024);
    measure("bcast", program, repeats, false);
    measure("bcast_path", program, repeats, true);
    mlt_goal_program_free(program);
    program = exchange(1024);
    measure("exchange", program, repeats, false);
    mlt_goal_program_free(program);
    measure_machines("stencil", stencil(256), repeats);
    measure_machines("alltoall", exchange(crowd), repeats);
    return 0;
}
