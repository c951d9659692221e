// SPDX-License-Identifier: BSD-3-Clause
#include "launch/live/snap.h"

#include <stdlib.h>
#include <string.h>

#include "base/unit_test.h"
#include "launch/live/write.h"

enum { RANKS = 4 };

// Two workers of two ranks: rank 0 and 3 wait for rank 1, which computes; rank 2 has ended.
static mlt_live_snap host_of(uint32_t host, const char *call)
{
    mlt_live_snap s = {0};
    s.workers = calloc(2, sizeof *s.workers);
    s.procs = calloc(1, sizeof *s.procs);
    s.ranks = calloc(RANKS, sizeof *s.ranks);
    for (uint32_t w = 0; w < 2; w++)
        s.workers[w] = (mlt_live_worker){.worker = 2 * host + w,
                                         .host = host,
                                         .first_rank = RANKS * host + 2 * w,
                                         .ranks = 2,
                                         .waiting = 1,
                                         .ended = w,
                                         .messages = {1, 2, 3, 4},
                                         .bytes = {10, 20, 30, 40},
                                         .held = 5};
    s.procs[0] = (mlt_live_proc){.host = host, .pid = 1, .memory = 4096, .cpu_ns = 7};
    uint16_t number = mlt_live_snap_call(&s, call);
    for (uint32_t r = 0; r < RANKS; r++)
        s.ranks[r] = (mlt_live_rank){.rank = RANKS * host + r,
                                     .peer = (int32_t)(RANKS * host + 1),
                                     .call = number,
                                     .doing = r == 1   ? MLT_LIVE_COMPUTES
                                              : r == 2 ? MLT_LIVE_ENDED
                                                       : MLT_LIVE_WAITS};
    s.queues = calloc(2, sizeof *s.queues);
    for (uint32_t q = 0; q < 2; q++)
        s.queues[q] = (mlt_live_queue){
            .name = "q\a", .worker = 2 * host + q, .held = host + q, .room = 4, .blocked = 1};
    s.queue_count = s.queue_room = 2;
    mlt_ctl_path path = {.object = "halo", .by = "a.lua:1", .stack = "count", .calls = 3 + host};
    strcpy(path.collective, "messages");
    path.time[MLT_TIME_CALL] = (mlt_ctl_clock){1, 7, 7, 7};
    mlt_path_map_paths(&s.map, &path, 1);
    s.worker_count = 2;
    s.proc_count = 1;
    s.rank_count = RANKS;
    return s;
}

static mlt_live_snap two_hosts(void)
{
    mlt_live_snap all = {0};
    const char *calls[] = {"MPI_Send", "MPI_Recv"};
    for (uint32_t h = 0; h < 2; h++) {
        mlt_live_snap host = host_of(h, calls[h]);
        mlt_text part = {0};
        mlt_live_snap_pack(&host, h, &part);
        CHECK(mlt_live_snap_add(&all, part.text, part.length));
        // A part that lacks a byte, or has one more, is none, and changes nothing.
        CHECK(!mlt_live_snap_add(&all, part.text, part.length - 1));
        mlt_text_put(&part, "", 1);
        CHECK(!mlt_live_snap_add(&all, part.text, part.length));
        CHECK(all.worker_count == 2 * (h + 1));
        mlt_text_free(&part);
        mlt_live_snap_fini(&host);
    }
    return all;
}

static void test_sums(void)
{
    mlt_live_snap s = two_hosts();
    mlt_live_sum sum = mlt_live_snap_sum(&s);
    CHECK(sum.waiting == 4 && sum.ended == 2 && sum.computing == 2 && sum.unborn == 0);
    CHECK(sum.messages[3] == 16 && sum.bytes[0] == 40 && sum.held == 20);
    CHECK(sum.memory == 8192 && sum.cpu_ns == 14);
    uint32_t *calls = mlt_live_snap_calls(&s);
    CHECK(s.call_count == 2 && calls[0] == 2 && calls[1] == 2);
    free(calls);
    mlt_live_snap_fini(&s);
}

// Queues of all hosts, the fullest first; what was measured along a path is added up.
static void test_queues_and_paths(void)
{
    mlt_live_snap s = two_hosts();
    mlt_live_snap_sort(&s);
    CHECK(s.queue_count == 4 && s.queues[0].held == 2 && s.queues[0].worker == 3);
    CHECK(s.queues[1].held == 1 && s.queues[1].worker == 1 && s.queues[3].held == 0);
    check_same_text("name", s.queues[0].name, "q?");
    CHECK(s.map.path_count == 1 && s.map.paths[0].calls == 7);
    CHECK(s.map.paths[0].time[MLT_TIME_CALL].n == 2);
    mlt_live_job job = {.pid = 1, .program = "p"};
    mlt_text out = {0};
    mlt_live_write_metrics(&job, &s, &out);
    CHECK(strstr(out.text,
                 "millet_queue_elements{job=\"1\",program=\"p\",queue=\"q?\",worker=\"3\"} 2\n"));
    CHECK(strstr(out.text, "millet_path_calls_total{job=\"1\",program=\"p\",kind=\"messages\",name="
                           "\"halo\",by=\"a.lua:1\"} 7\n"));
    mlt_text_free(&out);
    mlt_live_snap_fini(&s);
}

static void test_late(void)
{
    mlt_live_snap s = two_hosts();
    mlt_live_late late[1];
    CHECK(mlt_live_snap_late(&s, late, 1) == 2);
    CHECK(late[0].rank == 1 && late[0].others == 2);
    for (uint32_t i = 0; i < s.rank_count; i++) { // in a collective call they wait for all others
        s.ranks[i].peer = -1;
        s.ranks[i].in_collective = 1;
    }
    CHECK(mlt_live_snap_late(&s, late, 1) == 2 && late[0].others == 4);
    for (uint32_t i = 0; i < s.rank_count; i++)
        s.ranks[i].in_collective = i == 0; // too few
    CHECK(mlt_live_snap_late(&s, NULL, 0) == 0);
    mlt_live_snap_fini(&s);
}

// Whatever comes from another host or another version is refused or added, and leads nowhere.
static void test_damage(void)
{
    mlt_live_snap host = host_of(0, "MPI_Recv");
    mlt_text part = {0};
    mlt_live_snap_pack(&host, 0, &part);
    for (size_t i = 0; i < part.length; i++) {
        mlt_live_snap s = {0};
        mlt_live_late late[4];
        part.text[i] = (char)~part.text[i];
        if (mlt_live_snap_add(&s, part.text, part.length)) {
            mlt_text out = {0};
            mlt_live_job job = {.pid = 1};
            (void)mlt_live_snap_late(&s, late, 4);
            mlt_live_write_metrics(&job, &s, &out);
            mlt_live_write_json(&job, &s, &out);
            mlt_text_free(&out);
        }
        part.text[i] = (char)~part.text[i];
        mlt_live_snap_fini(&s);
    }
    mlt_text_free(&part);
    mlt_live_snap_fini(&host);
}

static void test_quotes(void)
{
    mlt_live_job job = {.pid = 1, .program = "a\"b\\c\nd\te"};
    mlt_live_snap s = {0};
    mlt_text out = {0};
    mlt_live_write_metrics(&job, &s, &out);
    CHECK(strstr(out.text, "\"a\\\"b\\\\c\\nd e\""));
    mlt_text_free(&out);
    mlt_live_write_json(&job, &s, &out);
    CHECK(strstr(out.text, "\"a\\u0022b\\u005cc\\u000ad\\u0009e\""));
    mlt_text_free(&out);
}

int main(void)
{
    test_sums();
    test_late();
    test_queues_and_paths();
    test_damage();
    test_quotes();
    return 0;
}
