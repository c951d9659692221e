// SPDX-License-Identifier: BSD-3-Clause
// The engine over several hosts: everything that engine_test.c does inside a process, and what only
// connections can do: fill up, cross, end and break.
#include "p2p/hosts_test.h"

#include "base/settings.h"
#include "fiber/sanitize.h"
#include "p2p/exchange_test.h"
#include "p2p/settings.h"

const mlt_above_calls mlt_above = {.packet = packet_came};

// With an argument: half round trip of the first ranks of two hosts.
static void pingpong(void *rank)
{
    mlt_rank *me = rank;
    enum { ROUNDS = 20000 };
    uint64_t value = 0;
    uint64_t start = 0;
    for (int i = -100; i < ROUNDS; i++) {
        mlt_req req;
        if (i == 0)
            start = mlt_os_now_ns();
        for (int turn = 0; turn < 2; turn++)
            if (turn == me->world) {
                CHECK(
                    mlt_p2p_send_now(me, &value, 8, MLT_CODE_BYTE, 1 - me->world, me->world, 0, 0));
            } else {
                start_recv(&req, me, &value, 8, 1 - me->world, 0, MLT_TYPE_BYTE);
                mlt_req_wait(&req, "pingpong");
            }
    }
    if (me->world == 0)
        printf("half round trip %.1f ns\n", (double)(mlt_os_now_ns() - start) / ROUNDS / 2);
}

static void encrypted(hosts_shape shape, void (*entry)(void *rank))
{
    hosts_job j = {.shape = shape, .encrypts = true};
    mlt_conf.sched = "direct";
    snprintf(now_testing, sizeof now_testing, "%u workers a process, encrypted", shape.workers);
    hosts_run_with(&j, entry);
}

static void try_all(hosts_shape shape, const char *policy)
{
    hosts_run(shape, policy, all_to_all);
    hosts_run(shape, policy, with_gaps);
    hosts_run(shape, policy, flood);
    hosts_run(shape, policy, cancels);
    hosts_run(shape, policy, packets_flow);
}

int main(int argc, char **argv)
{
    char why[256];
    if (mlt_settings_read(mlt_p2p_settings, mlt_p2p_settings_count, why, sizeof why)) {
        fprintf(stderr, "%s\n", why);
        return 1;
    }
    if (argc > 1 && strcmp(argv[1], "--bench") == 0) {
        hosts_run((hosts_shape){2, 1, 1, 1}, "direct", pingpong);
        return 0;
    }
    // Only threads interest TSan.
    static const hosts_shape shapes[] = {{2, 1, 2, 1}, {2, 1, 1, 1}, {2, 2, 1, 1},
                                         {2, 1, 1, 3}, {3, 1, 2, 1}, {2, 1, 3, 2}};
    for (size_t i = 0; i < (MLT_SANITIZED_THREAD ? 1 : sizeof shapes / sizeof *shapes); i++)
        try_all(shapes[i], i % 2 ? "random:5" : "direct");
    encrypted((hosts_shape){2, 1, 1, 1}, all_to_all);
    encrypted((hosts_shape){2, 1, 2, 1}, all_to_all);
    encrypted((hosts_shape){2, 1, 2, 1}, with_gaps);
    encrypted((hosts_shape){2, 1, 1, 2}, flood);
    return 0;
}
