// SPDX-License-Identifier: BSD-3-Clause
// Speed and memory of the simulator: a binomial broadcast, the case that simulators publish, and a
// pairwise exchange, where many wait for the same NIC.
//
//     ninja -C build bench_sim && build/bench/sim [RANKS [REPEATS]]
//
// The program is made once and simulated REPEATS times (5); the best time counts. Time includes
// laying out the program and pairing its messages, but not making the program. Lines are `key value
// unit`.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

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

static void measure(const char *name, mlt_goal_program *program, int repeats, bool keep_path)
{
    mlt_sim_options options = {.machine = mlt_loggops_default, .keep_path = keep_path};
    double best = 1e30;
    uint64_t events = 0, total = 0;
    for (int i = 0; i < repeats; i++) {
        mlt_sim_result *result;
        char why[512];
        if (mlt_goal_simulate(program, &options, &result, why, sizeof why) != MLT_OK) {
            fprintf(stderr, "sim: %s\n", why);
            exit(1);
        }
        best = result->seconds < best ? result->seconds : best;
        events = result->events;
        total = result->total_ps;
        mlt_sim_result_free(result);
    }
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    printf("%s.events %" PRIu64 " events\n%s.simulated %.3f us\n%s.seconds %.4f s\n"
           "%s.rate %.2f Mevents/s\n%s.peak %.1f MiB\n",
           name, events, name, (double)total / 1e6, name, best, name, (double)events / best / 1e6,
           name, (double)usage.ru_maxrss / 1024);
}

int main(int argc, char **argv)
{
    uint32_t ranks = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 0) : 1u << 20;
    int repeats = argc > 2 ? atoi(argv[2]) : 5;
    if (ranks < 2 || ranks > MLT_GOAL_MAX_RANKS || repeats < 1) {
        fprintf(stderr, "usage: sim [RANKS [REPEATS]]: 2 to %d ranks (1048576), 1 repeat or more\n",
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
    return 0;
}
