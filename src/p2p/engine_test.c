// SPDX-License-Identifier: BSD-3-Clause
// The engine without MPI above it: workers as threads, each with some ranks, that exchange messages
// of all sizes and modes and check every byte. Run under ASan, UBSan and TSan.
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/upcalls.h"
#include "fiber/sanitize.h"
#include "os/os.h"
#include "p2p/exchange_test.h"
#include "p2p/job_test.h"
#include "p2p/p2p.h"
#include "p2p/settings.h"
#include "p2p/worker.h"

// Rank 0 takes message by message of one peer, which has many for it: what the other has sent is
// seen all the same.
static _Atomic uint32_t senders_ready;

static void nobody_starves(void *rank)
{
    enum { FLOOD = 100, GO = 60, MANY, ONE };
    mlt_rank *me = rank;
    unsigned char byte = 0;
    for (uint32_t turn = 0; turn < 2; turn++) {
        int flooder = turn ? 2 : 1;
        mlt_req one, many;
        if (me->world == 0) {
            start_recv(&one, me, &byte, 1, 3 - flooder, ONE, MLT_TYPE_BYTE);
            for (int to = 1; to <= 2; to++) {
                start_send(&many, me, &byte, 1, to, GO, MLT_MODE_STANDARD, MLT_TYPE_BYTE);
                mlt_req_wait(&many, "starve");
            }
            while (atomic_load(&senders_ready) < 2 * (turn + 1))
                mlt_os_yield();
            for (int i = 0; i < FLOOD; i++) {
                start_recv(&many, me, &byte, 1, flooder, MANY, MLT_TYPE_BYTE);
                mlt_req_wait(&many, "starve");
            }
            CHECK(one.done);
            continue;
        }
        start_recv(&one, me, &byte, 1, 0, GO, MLT_TYPE_BYTE);
        mlt_req_wait(&one, "starve");
        for (int i = 0; i < (me->world == flooder ? FLOOD : 1); i++) {
            start_send(&one, me, &byte, 1, 0, me->world == flooder ? MANY : ONE, MLT_MODE_STANDARD,
                       MLT_TYPE_BYTE);
            mlt_req_wait(&one, "starve");
        }
        atomic_fetch_add(&senders_ready, 1);
    }
}

static void run(uint32_t workers, uint32_t ranks, const char *policy, void (*entry)(void *rank))
{
    test_job_run(workers, ranks, policy, entry, NULL);
}

const mlt_upcall_table mlt_upcalls = {.packet = packet_came};

int main(int argc, char **argv)
{
    char why[256];
    if (mlt_settings_read(mlt_p2p_settings, mlt_p2p_settings_count, why, sizeof why)) {
        fprintf(stderr, "%s\n", why);
        return 1;
    }
    if (argc > 1 && strcmp(argv[1], "--bench") == 0) {
        run(2, 1, "direct", pingpong);
        run(1, 2, "direct", pingpong);
        return 0;
    }
    run(3, 1, "direct", nobody_starves);
    run(2, 1, "direct", packets_flow);
    run(4, 1, "direct", packets_flow);
    run(3, 2, "random:3", packets_flow);
    // Policies choose within a worker, which is one thread: TSan sees all it can with two of them.
    static const char *const policies[] = {"direct", "random:7", "rr", "priority"};
    for (size_t p = 0; p < (MLT_SANITIZED_THREAD ? 2 : 4); p++) {
        static const uint32_t shapes[][2] = {{1, 4}, {2, 1}, {2, 3}, {4, 1}, {3, 2}};
        for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
            run(shapes[s][0], shapes[s][1], policies[p], all_to_all);
            if (p == 0)
                run(shapes[s][0], shapes[s][1], policies[p], with_gaps);
            run(shapes[s][0], shapes[s][1], policies[p], flood);
            run(shapes[s][0], shapes[s][1], policies[p], cancels);
        }
    }
    return 0;
}
