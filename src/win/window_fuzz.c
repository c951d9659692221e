// SPDX-License-Identifier: BSD-3-Clause
// Any packet about a window, from a process of the job: what is not meant is answered with a fault
// or ignored, and nothing outside of the window's memory is touched. What a job sends that has no
// part of the window is ignored. Each case is some packets: kind, word, rank, length, data.
#include <fuzz/fuzz.h>
#include <stdlib.h>
#include <string.h>

#include "base/upcalls.h"
#include "boot/ctl.h"
#include "p2p/worker.h"
#include "win/op.h"
#include "win/packet.h"
#include "win/part.h"
#include "win/settings.h"
#include "win/side.h"

const mlt_upcall_table mlt_upcalls = {.packet = mlt_win_packet};

enum { MEMORY = 256, ID = 24 };

static int32_t world(const void *group, int32_t rank)
{
    (void)group;
    return rank;
}

static mlt_worker *new_worker(void)
{
    static mlt_boot boot = {.ctl = -1};
    static mlt_worker worker = {.boot = &boot, .count = 1, .world_size = 1, .ranks_a_worker = 1};
    uint32_t one[] = {1}, app[] = {0};
    mlt_job_plan plan = {
        .procs = 1, .workers_of_proc = one, .ranks_a_worker = one, .app_of_proc = app, .cores = 1};
    char why[256];
    int fd;
    if (!boot.job)
        FUZZ_CHECK(mlt_job_new(&plan, &boot.job, &fd, why, sizeof why) == MLT_OK);
    return &worker;
}

static mlt_win_part *new_part(mlt_worker *worker, mlt_win_side *side, char *memory)
{
    mlt_win_card card;
    mlt_win_part *part = mlt_win_part_new(&(mlt_win_facts){.worker = worker,
                                                           .flavor = MLT_WIN_CREATED,
                                                           .ranks = 1,
                                                           .workers = 1,
                                                           .contiguous = true,
                                                           .even = 1,
                                                           .world = world});
    mlt_win_join join = {.side = side, .base = (uintptr_t)memory, .size = MEMORY, .unit = 1};
    mlt_win_part_peer(part, 0, 0, 0);
    mlt_win_part_join(part, &join);
    FUZZ_CHECK(mlt_win_part_block(part, 1, 0, &card) == MLT_OK);
    mlt_win_part_card(part, 0, &card);
    mlt_win_part_open(part, ID);
    return part;
}

static void drop_claims(mlt_win_part *part)
{
    mlt_list_node *l;
    while ((l = mlt_list_pop_front(&part->claims)))
        free(l); // the node is the first of a claim
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    mlt_win_side side = {.flags = 0};
    char *memory = calloc(1, MEMORY); // its bounds are the sanitizer's
    mlt_win_part *part = new_part(new_worker(), &side, memory);
    while (size >= 4) {
        mlt_packet packet = {.kind = (uint16_t)(MLT_WIN_PACKET_FIRST + data[0] % 16),
                             .object = ID,
                             .word = data[1],
                             .dst = data[2] == 255};
        size_t bytes = data[3] < size - 4 ? data[3] : size - 4;
        bool had_busy = side.busy != NULL;
        char *copy = malloc(bytes + 1);
        memcpy(copy, data + 4, bytes);
        if (data[2] == 254) { // of another job
            char before[MEMORY];
            memcpy(before, memory, MEMORY);
            mlt_win_packet(part->worker, 1, &packet, copy, bytes);
            FUZZ_CHECK(memcmp(before, memory, MEMORY) == 0 && !side.busy == !had_busy);
        } else
            mlt_win_packet(part->worker, 0, &packet, copy, bytes);
        free(copy);
        data += 4 + bytes;
        size -= 4 + bytes;
    }
    drop_claims(part);
    mlt_win_busy_free(&side);
    mlt_win_part_drop(part);
    free(memory);
    return 0;
}
