// SPDX-License-Identifier: BSD-3-Clause
#include "launch/watch/hang.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fiber/wait.h"
#include "os/os.h"

static int failures;

enum { SMALL = 4, MILLION = 1000000 };

static mlt_ctl_wait receive(int32_t rank, int32_t peer, int32_t tag)
{
    return (mlt_ctl_wait){.rank = rank,
                          .peer = peer,
                          .tag = tag,
                          .bytes = 8,
                          .kind = MLT_WAIT_RECV,
                          .all = 1,
                          .open = 1,
                          .call = "MPI_Recv"};
}

static mlt_ctl_wait barrier(int32_t rank)
{
    return (mlt_ctl_wait){.rank = rank,
                          .peer = -1,
                          .kind = MLT_WAIT_COLLECTIVE,
                          .all = 1,
                          .open = 1,
                          .call = "MPI_Barrier"};
}

static char *print(mlt_hang *hang)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        exit(1);
    mlt_hang_print(hang, out);
    fclose(out);
    mlt_hang_free(hang);
    return text;
}

static void expect(const char *name, mlt_hang *hang, const char *wanted)
{
    char *text = print(hang);
    if (strcmp(text, wanted) != 0) {
        failures++;
        fprintf(stderr, "%s: wanted\n%s\nbut got\n%s\n", name, wanted, text);
    }
    free(text);
}

static void expect_part(const char *name, mlt_hang *hang, const char *part, bool there)
{
    char *text = print(hang);
    if ((strstr(text, part) != NULL) != there) {
        failures++;
        fprintf(stderr, "%s: '%s' should %sbe in\n%s\n", name, part, there ? "" : "not ", text);
    }
    free(text);
}

static void test_ring_of_four(void)
{
    mlt_hang *hang = mlt_hang_new(SMALL);
    for (int32_t r = 0; r < SMALL; r++) {
        mlt_ctl_wait w = receive(r, (r + 3) % 4, 7);
        mlt_hang_add(hang, &w, 1);
    }
    expect("ring", hang,
           "rank 0: MPI_Recv from rank 3, tag 7, MPI_COMM_WORLD (8 bytes)\n"
           "rank 1: MPI_Recv from rank 0, tag 7, MPI_COMM_WORLD (8 bytes)\n"
           "rank 2: MPI_Recv from rank 1, tag 7, MPI_COMM_WORLD (8 bytes)\n"
           "rank 3: MPI_Recv from rank 2, tag 7, MPI_COMM_WORLD (8 bytes)\n"
           "cycle: 0 -> 3 -> 2 -> 1 -> 0\n");
}

static void test_words(void)
{
    mlt_hang *hang = mlt_hang_new(8);
    mlt_ctl_wait records[] = {
        receive(0, -1, MLT_WAIT_ANY_TAG),
        {.rank = 1,
         .peer = 0,
         .tag = 3,
         .context = 17,
         .bytes = 100,
         .kind = MLT_WAIT_SEND,
         .all = 1,
         .open = 1,
         .call = "MPI_Ssend"},
        {.rank = 2,
         .peer = 1,
         .tag = 3,
         .kind = MLT_WAIT_PROBE,
         .all = 1,
         .open = 1,
         .call = "MPI_Probe"},
        {.rank = 3,
         .peer = 1,
         .tag = 3,
         .bytes = 4,
         .kind = MLT_WAIT_RECV,
         .all = 1,
         .open = 1,
         .call = "MPI_Wait"},
        {.rank = 4,
         .peer = 1,
         .tag = 3,
         .bytes = 4,
         .kind = MLT_WAIT_RECV,
         .all = 0,
         .open = 20,
         .call = "MPI_Waitany"},
        {.rank = 4,
         .peer = 6,
         .tag = 4,
         .bytes = 4,
         .kind = MLT_WAIT_SEND,
         .all = 0,
         .open = 20,
         .call = "MPI_Waitany"},
        barrier(5),
        {.rank = 6, .ended = 1},
        receive(9, 0, 0), // no such rank
        receive(-1, 0, 0),
    };
    mlt_hang_add(hang, records, sizeof records / sizeof *records);
    mlt_hang_set(hang, 7, 1, MLT_HANG_UNBORN);
    expect("words", hang,
           "rank 0: MPI_Recv from any rank, any tag, MPI_COMM_WORLD (8 bytes)\n"
           "rank 1: MPI_Ssend to rank 0, tag 3, communicator #2 (100 bytes)\n"
           "rank 2: MPI_Probe from rank 1, tag 3, MPI_COMM_WORLD\n"
           "rank 3: MPI_Wait for a receive from rank 1, tag 3, MPI_COMM_WORLD (4 bytes)\n"
           "rank 4: MPI_Waitany for one of 20 open operations: a receive from rank 1, tag 3, "
           "MPI_COMM_WORLD (4 bytes); a send to rank 6, tag 4, MPI_COMM_WORLD (4 bytes) (which has "
           "ended); and 18 more\n"
           "rank 5: MPI_Barrier on MPI_COMM_WORLD\n"
           "rank 6: has ended\n"
           "rank 7: has not started MPI\n"
           "rank 4 waits for rank 6, which has ended\n"
           "rank 5 waits in a barrier for rank 6, which has ended\n");
}

static mlt_ctl_wait collective(int32_t rank, const char *label, uint64_t number)
{
    mlt_ctl_wait w = barrier(rank);
    snprintf(w.label, sizeof w.label, "%s", label);
    snprintf(w.call, sizeof w.call, "MPI_%s", label);
    w.number = (uint32_t)number;
    return w;
}

static void test_collectives(void)
{
    mlt_hang *hang = mlt_hang_new(4);
    mlt_ctl_wait w[] = {collective(0, "Allreduce", 6), collective(1, "Allreduce", 6),
                        collective(2, "Iallreduce", 6), collective(3, "Bcast", 6)};
    w[0].missing = 2;
    w[1].awaited = 1 + 3;
    snprintf(w[2].call, sizeof w[2].call, "MPI_Wait");
    mlt_hang_add(hang, w, 4);
    expect("a collective that is another one elsewhere", hang,
           "rank 0: MPI_Allreduce on MPI_COMM_WORLD (call 7), where 2 ranks of its worker have not "
           "come\n"
           "rank 1: MPI_Allreduce on MPI_COMM_WORLD (call 7), which waits for rank 3\n"
           "rank 2: MPI_Wait for MPI_Iallreduce on MPI_COMM_WORLD (call 7)\n"
           "rank 3: MPI_Bcast on MPI_COMM_WORLD (call 7)\n"
           "call 7 on MPI_COMM_WORLD is not the same everywhere: ranks 0-2 are in MPI_Allreduce, "
           "rank 3 is in MPI_Bcast\n");

    // Calls that do not meet, and forms of one that do.
    hang = mlt_hang_new(4);
    w[3] = collective(3, "Bcast", 5);
    w[1] = collective(1, "Allreduce_init", 6);
    mlt_hang_add(hang, w, 4);
    expect_part("no mismatch", hang, "not the same", false);
    hang = mlt_hang_new(4);
    w[3] = collective(3, "Bcast", 6);
    w[3].context = 24; // another communicator
    mlt_hang_add(hang, w, 4);
    expect_part("another communicator", hang, "not the same", false);

    // Many: a line for all of them says only what holds for all.
    hang = mlt_hang_new(100);
    for (int32_t r = 0; r < 100; r++) {
        mlt_ctl_wait one = collective(r, "Barrier", 0);
        one.awaited = 1 + (uint32_t)(r + 1) % 100;
        mlt_hang_add(hang, &one, 1);
    }
    expect("many in one", hang, "ranks 0-99 (100): MPI_Barrier on MPI_COMM_WORLD\n");
}

static void test_cycles(void)
{
    // Through a barrier: 0 waits for 2, which is in the barrier, which waits for 0.
    mlt_hang *hang = mlt_hang_new(3);
    mlt_ctl_wait records[] = {receive(0, 2, 1), barrier(1), barrier(2)};
    mlt_hang_add(hang, records, 3);
    expect_part("barrier", hang, "cycle: 0 -> 2 -> 0\n", true);

    // To itself.
    hang = mlt_hang_new(2);
    records[0] = receive(1, 1, 1);
    mlt_hang_add(hang, records, 1);
    expect_part("self", hang, "cycle: 1 -> 1\n", true);

    // The second of two operations closes it.
    hang = mlt_hang_new(3);
    mlt_ctl_wait all[] = {receive(0, 2, 1), receive(0, 1, 1), receive(1, 0, 1)};
    all[0].open = all[1].open = 2;
    mlt_hang_add(hang, all, 3);
    expect_part("waitall", hang, "cycle: 0 -> 1 -> 0\n", true);

    // A chain is no cycle; a running rank ends it.
    hang = mlt_hang_new(3);
    mlt_ctl_wait chain[] = {receive(0, 1, 1), receive(1, 2, 1)};
    mlt_hang_add(hang, chain, 2);
    mlt_hang_set(hang, 2, 1, MLT_HANG_RUNNING);
    expect_part("chain", hang, "cycle", false);

    // Ranks that go on make none, though each seems to wait for the other.
    hang = mlt_hang_new(4);
    mlt_ctl_wait both[] = {receive(0, 1, 1), receive(1, 0, 1), receive(2, 3, 1), receive(3, 2, 1)};
    mlt_hang_add(hang, both, 4);
    mlt_hang_moves(hang, 1, 1);
    expect_part("one goes on", hang, "cycle: 2 -> 3 -> 2\n", true);
}

static mlt_ctl_wait held(int32_t rank, int32_t from, int32_t tag, bool open)
{
    return (mlt_ctl_wait){
        .rank = rank, .peer = from, .tag = tag, .bytes = 8, .kind = MLT_WAIT_HELD, .all = open};
}

// Ranks that wait for the outside world.
static void test_outside(void)
{
    mlt_hang *hang = mlt_hang_new(3);
    mlt_ctl_wait one = {.peer = -1, .open = 1, .all = 1}, records[] = {one, one, one};
    for (int i = 0; i < 3; i++) {
        records[i].rank = i;
        records[i].kind = i ? MLT_WAIT_FD : MLT_WAIT_TIME;
        records[i].tag = i == 1 ? 7 : -1;
        snprintf(records[i].call, sizeof records[i].call, "%s",
                 i ? i == 1 ? "read" : "poll" : "sleep");
    }
    mlt_hang_add(hang, records, 3);
    expect("outside", hang,
           "rank 0: sleep: it sleeps\n"
           "rank 1: read of descriptor 7\n"
           "rank 2: poll of descriptors\n");
}

static void test_held(void)
{
    mlt_hang *hang = mlt_hang_new(4);
    mlt_ctl_wait records[] = {
        receive(0, 1, 7),
        {.rank = 1,
         .peer = -1,
         .kind = MLT_WAIT_OTHER,
         .open = 1,
         .all = 1,
         .call = "MPI_Finalize"},
        {.rank = 2, .ended = 1},
        receive(3, 1, 7),
        held(0, 1, 6, false), // of a rank in MPI_Finalize, which does not wait for this one
        held(2, 1, 9, true),  // ... and for this one does
        held(2, 0, 8, true),  // nobody asks for it: not told
        held(3, 0, 5, true),  // may be taken yet
    };
    mlt_hang_add(hang, records, sizeof records / sizeof *records);
    mlt_hang_moves(hang, 3, 1);
    expect(
        "held", hang,
        "rank 0: MPI_Recv from rank 1, tag 7, MPI_COMM_WORLD (8 bytes)\n"
        "rank 1: MPI_Finalize\n"
        "rank 2: has ended\n"
        "rank 3: MPI_Recv from rank 1, tag 7, MPI_COMM_WORLD (8 bytes)\n"
        "rank 0 holds a message from rank 1, tag 6, MPI_COMM_WORLD (8 bytes), which its MPI_Recv "
        "does not take\n"
        "rank 1 waits in MPI_Finalize for its send to rank 2, tag 9, MPI_COMM_WORLD (8 bytes), "
        "which nobody receives\n");
    // Many are counted.
    hang = mlt_hang_new(1);
    mlt_ctl_wait one = receive(0, 0, 7), more = held(0, 0, 6, false);
    mlt_hang_add(hang, &one, 1);
    for (int i = 0; i < 20; i++)
        mlt_hang_add(hang, &more, 1);
    expect_part("many held", hang, "and there are 12 more messages that no receive takes\n", true);
}

static void test_million(void)
{
    mlt_hang *hang = mlt_hang_new(MILLION);
    for (int32_t r = 0; r < MILLION; r++) {
        mlt_ctl_wait w = receive(r, (r + 1) % MILLION, 7);
        mlt_hang_add(hang, &w, 1);
    }
    uint64_t start = mlt_os_now_ns();
    expect("million", hang,
           "ranks 0-999999 (1,000,000): MPI_Recv from rank+1, tag 7, MPI_COMM_WORLD (8 bytes), "
           "modulo 1000000\n"
           "cycle of 1,000,000 ranks: 0 -> 1 -> 2 -> 3 -> 4 -> 5 -> ... -> 999997 -> 999998 -> "
           "999999 -> 0\n");
    printf("a million ranks in %.3f s\n", (double)(mlt_os_now_ns() - start) / 1e9);

    // A chain to one that has ended, and all the rest at one master with different sizes.
    hang = mlt_hang_new(MILLION);
    mlt_hang_set(hang, 0, 1, MLT_HANG_ENDED);
    for (int32_t r = 1; r < MILLION / 2; r++) {
        mlt_ctl_wait w = receive(r, r - 1, 7);
        mlt_hang_add(hang, &w, 1);
    }
    for (int32_t r = MILLION / 2; r < MILLION; r++) {
        mlt_ctl_wait w = receive(r, 1, 8);
        w.bytes = (uint64_t)r;
        mlt_hang_add(hang, &w, 1);
    }
    expect("chain and master", hang,
           "rank 0: has ended\n"
           "rank 1: MPI_Recv from rank 0, tag 7, MPI_COMM_WORLD (8 bytes) (which has ended)\n"
           "ranks 2-499999 (499,998): MPI_Recv from rank-1, tag 7, MPI_COMM_WORLD (8 bytes)\n"
           "ranks 500000-999999 (500,000): MPI_Recv from rank 1, tag 8, MPI_COMM_WORLD\n"
           "1 rank waits for rank 0, which has ended\n");
}

static void test_groups(void)
{
    // Every rank something else: the report stays short.
    enum { MANY = 100000 };
    mlt_hang *hang = mlt_hang_new(MANY);
    for (int32_t r = 0; r < MANY; r++) {
        mlt_ctl_wait w = receive(r, (int32_t)(((uint32_t)r * 7919u + 13u) % MANY), r);
        mlt_hang_add(hang, &w, 1);
    }
    expect_part("all different", hang, "and 99,968 ranks in 99,968 more groups\n", true);

    // Even ranks run, odd ones wait for their left and right neighbours.
    hang = mlt_hang_new(40);
    for (int32_t r = 1; r < 40; r += 2) {
        mlt_ctl_wait two[] = {receive(r, r - 1, 1), receive(r, (r + 1) % 40, 1)};
        two[0].open = two[1].open = 2;
        strcpy(two[0].call, "MPI_Waitall");
        strcpy(two[1].call, "MPI_Waitall");
        mlt_hang_add(hang, two, 2);
    }
    expect("neighbours", hang,
           "ranks 0,2,4,6,8,10,... (20): not in an MPI call\n"
           "ranks 1,3,5,7,9,11,... (20): MPI_Waitall for all of 2 open operations: a receive from "
           "rank-1, tag 1, MPI_COMM_WORLD (8 bytes); a receive from rank+1, tag 1, MPI_COMM_WORLD "
           "(8 bytes), modulo 40\n");

    // "Any rank" is not the left neighbour.
    hang = mlt_hang_new(20);
    for (int32_t r = 0; r < 20; r++) {
        mlt_ctl_wait w = receive(r, r < 10 ? -1 : r - 1, 1);
        mlt_hang_add(hang, &w, 1);
    }
    expect("any", hang,
           "ranks 0-9 (10): MPI_Recv from any rank, tag 1, MPI_COMM_WORLD (8 bytes)\n"
           "ranks 10-19 (10): MPI_Recv from rank-1, tag 1, MPI_COMM_WORLD (8 bytes)\n");

    hang = mlt_hang_new(100);
    mlt_hang_set(hang, 0, 50, MLT_HANG_ENDED);
    mlt_hang_set(hang, 50, 1000, MLT_HANG_RUNNING);
    expect("states", hang,
           "ranks 0-49 (50): have ended\nranks 50-99 (50): running, not blocked in MPI\n");
}

// Threads of a rank have a part of its line each. A rank of which another thread runs is in no
// cycle.
static void test_threads(void)
{
    mlt_hang *hang = mlt_hang_new(2);
    mlt_ctl_wait records[] = {receive(0, 1, 1), receive(0, 1, 2), receive(0, 1, 3),
                              receive(1, 0, 4)};
    records[0].thread = 1;
    records[1].thread = records[2].thread = 3;
    records[1].open = records[2].open = 2;
    strcpy(records[1].call, "MPI_Waitall");
    strcpy(records[2].call, "MPI_Waitall");
    mlt_hang_add(hang, records, 4);
    expect("threads", hang,
           "rank 0: thread 1 in MPI_Recv from rank 1, tag 1, MPI_COMM_WORLD (8 bytes); thread 3 in "
           "MPI_Waitall for all of 2 open operations: a receive from rank 1, tag 2, MPI_COMM_WORLD "
           "(8 bytes); a receive from rank 1, tag 3, MPI_COMM_WORLD (8 bytes)\n"
           "rank 1: MPI_Recv from rank 0, tag 4, MPI_COMM_WORLD (8 bytes)\n"
           "cycle: 0 -> 1 -> 0\n");

    hang = mlt_hang_new(20);
    for (int32_t r = 0; r < 20; r++) {
        mlt_ctl_wait w = receive(r, (r + 1) % 20, 1);
        w.thread = 2;
        w.others = 3;
        mlt_hang_add(hang, &w, 1);
    }
    expect("threads that run", hang,
           "ranks 0-19 (20): thread 2 in MPI_Recv from rank+1, tag 1, MPI_COMM_WORLD (8 bytes), "
           "modulo 20; 3 other threads not blocked in MPI\n");
}

// What a schedule waits for, as GOAL writes it.
static void test_actions(void)
{
    mlt_hang *hang = mlt_hang_new(3);
    mlt_ctl_wait records[] = {receive(0, 2, -77), receive(0, 1, -78), receive(1, 0, -5),
                              receive(2, 0, 4)};
    for (int i = 0; i < 3; i++) {
        strcpy(records[i].call, i < 2 ? "GOAL_Sched_run" : "MPI_Wait");
        records[i].action = 6 + (uint32_t)i;
        records[i].open = i < 2 ? 7 : 1;
    }
    strcpy(records[0].label, "r2");
    records[1].kind = MLT_WAIT_SEND;
    records[1].bytes = 1;
    records[2].context = 25;
    records[2].label[0] = '\033';
    mlt_hang_add(hang, records, 4);
    expect("actions", hang,
           "rank 0: GOAL_Sched_run: recv 8 bytes from rank 2 (action 5, r2); send 1 byte to rank 1 "
           "(action 6); and 5 more\n"
           "rank 1: MPI_Wait for a schedule: recv 8 bytes from rank 0, communicator #3 (action 7, "
           "?)\n"
           "rank 2: MPI_Recv from rank 0, tag 4, MPI_COMM_WORLD (8 bytes)\n"
           "cycle: 0 -> 2 -> 0\n");

    for (uint32_t same = 0; same < 2; same++) {
        hang = mlt_hang_new(20);
        for (int32_t r = 0; r < 20; r++) {
            mlt_ctl_wait w = receive(r, (r + 1) % 20, -r);
            strcpy(w.call, "GOAL_Sched_run");
            w.action = 1 + (same ? 4 : (uint32_t)r);
            mlt_hang_add(hang, &w, 1);
        }
        expect_part("actions of many", hang,
                    same ? "ranks 0-19 (20): GOAL_Sched_run: recv 8 bytes from rank+1 (action 4), "
                           "modulo 20\n"
                         : "ranks 0-19 (20): GOAL_Sched_run: recv from rank+1, modulo 20\n",
                    true);
    }
}

static void say(mlt_hang *hang, uint32_t first, uint32_t ranks, const char *text)
{
    mlt_hang_add_procs(hang, first, ranks, text, strlen(text));
}

// What workers say of their processes comes in the order of ranks, once if it is the same, and
// cannot look like words of mpirun.
static void test_procs(void)
{
    mlt_hang *hang = mlt_hang_new(4);
    mlt_hang_set(hang, 0, 4, MLT_HANG_RUNNING);
    say(hang, 2, 2, "  a: csp_read\n  b: csp_write\n");
    say(hang, 1, 1, "mpirun: c\033[2J\n\n  d");
    say(hang, 0, 1, "  a: csp_read\n  b: csp_write\n");
    say(hang, 3, 2, "  of ranks that do not exist\n");
    say(hang, 3, 0, "  of nobody\n");
    expect("processes", hang,
           "rank 0: running, not blocked in MPI\n"
           "rank 1: running, not blocked in MPI\n"
           "rank 2: running, not blocked in MPI\n"
           "rank 3: running, not blocked in MPI\n"
           "processes of rank 0, and the same of 1 other worker:\n"
           "  a: csp_read\n"
           "  b: csp_write\n"
           "processes of rank 1:\n"
           "  mpirun: c?[2J\n"
           "  d\n");

    hang = mlt_hang_new(1000);
    for (uint32_t r = 0; r < 1000; r++) {
        char text[32];
        snprintf(text, sizeof text, "  p%u\n", r);
        say(hang, r, 1, text);
    }
    char *text = print(hang);
    if (!strstr(text, "processes of rank 7:\n  p7\nand processes of 992 more workers\n")) {
        failures++;
        fprintf(stderr, "many workers:\n%s\n", text);
    }
    free(text);

    // Lines without end.
    hang = mlt_hang_new(1);
    static char many[100000];
    memset(many, 'x', sizeof many - 1);
    for (size_t i = 0; i < 5000; i += 2)
        many[i] = '\n';
    say(hang, 0, 1, many);
    text = print(hang);
    if (strlen(text) > 20000 || text[strlen(text) - 1] != '\n') {
        failures++;
        fprintf(stderr, "long lines: %zu bytes\n", strlen(text));
    }
    free(text);
}

// For a trace: who waits for whom.
static void test_facts(void)
{
    mlt_hang *hang = mlt_hang_new(SMALL);
    mlt_ctl_wait waits[] = {receive(0, 1, 7), receive(1, 0, 7), barrier(2)};
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        exit(1);
    mlt_hang_add(hang, waits, sizeof waits / sizeof *waits);
    mlt_hang_facts(hang, "deadlock", out);
    fclose(out);
    mlt_hang_free(hang);
    const char *wanted = "hang\tdeadlock\n"
                         "stuck\t0\t1\tMPI_Recv from rank 1, tag 7, MPI_COMM_WORLD (8 bytes)\n"
                         "stuck\t1\t0\tMPI_Recv from rank 0, tag 7, MPI_COMM_WORLD (8 bytes)\n"
                         "stuck\t2\t*\tMPI_Barrier on MPI_COMM_WORLD\n"
                         "cycle\t0,1\n";
    if (strcmp(text, wanted) != 0) {
        failures++;
        fprintf(stderr, "facts: wanted\n%s\nbut got\n%s\n", wanted, text);
    }
    free(text);
}

int main(void)
{
    test_facts();
    test_procs();
    test_actions();
    test_ring_of_four();
    test_words();
    test_threads();
    test_collectives();
    test_cycles();
    test_groups();
    test_held();
    test_outside();
    test_million();
    if (!failures)
        puts("all right");
    return failures != 0;
}
