// SPDX-License-Identifier: BSD-3-Clause
// Reports of processes that are made up: records of fibers, waits and channels, with nobody behind.
// What real ones say is tried by test/launch/run.
#include "csp/hang/hang.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "csp/chan.h"
#include "csp/proc.h"
#include "csp/wait.h"
#include "os/os.h"

enum { FEW = 16, CHANS = 8, MANY = 200000, SIZE = 16 * 1024 };

static int failures;

static mlt_fiber home, *fibers;
static mlt_proc *procs;
static mlt_rank rank;
static mlt_worker worker;
static mlt_sched sched;
static mlt_fiber_pool pool;
static mlt_csp csp;
static mlt_proc_team_of all;
static csp_chan chans[CHANS];
static mlt_csp_wait waits[FEW];
static char text[SIZE];

static const char *const names[FEW] = {"anna", "bert", "cara", "dora", "emil", "fred"};

// `count` processes that run, in a PAR of main's; channels "a", "b", ... that have both ends.
static void begin(uint32_t count)
{
    free(fibers);
    free(procs);
    fibers = calloc(count, sizeof *fibers);
    procs = calloc(count, sizeof *procs);
    if (!fibers || !procs)
        exit(77);
    memset(chans, 0, sizeof chans);
    rank = (mlt_rank){.worker = &worker, .fiber = &home};
    worker = (mlt_worker){.sched = &sched, .ranks = &rank, .count = 1};
    pool = (mlt_fiber_pool){.fibers = fibers, .limit = count, .count = count, .alive = count};
    sched.pool = &pool;
    csp = (mlt_csp){.worker = &worker, .sched = &sched, .procs = procs};
    for (uint32_t i = 0; i < count; i++) {
        fibers[i] = (mlt_fiber){.id = i, .state = MLT_FIBER_RUNNABLE, .pool = true, .user = &rank};
        procs[i] =
            (mlt_proc){.number = i + 1, .index = i, .of = &all, .name = i < FEW ? names[i] : NULL};
    }
    for (int i = 0; i < CHANS; i++) {
        snprintf(chans[i].name, sizeof chans[i].name, "%c", 'a' + i);
        chans[i].had_holders[MLT_READS] = chans[i].had_holders[MLT_WRITES] = 1;
    }
    all = (mlt_proc_team_of){0};
    home = (mlt_fiber){.state = MLT_FIBER_PARKED,
                       .id = MLT_FIBER_HOME,
                       .user = &rank,
                       .wait = mlt_csp_wait_for(&all.wait, "csp_par", MLT_CSP_PAR, NULL, count)};
}

static void park(uint32_t i, const char *call, mlt_csp_wait_kind kind, const void *what)
{
    fibers[i].state = MLT_FIBER_PARKED;
    fibers[i].wait = mlt_csp_wait_for(&waits[i], call, kind, what, 0);
}

static void reads(uint32_t i, int c)
{
    park(i, "csp_read", MLT_CSP_READ, &chans[c]);
    chans[c].last_user[MLT_READS] = &fibers[i];
}

static void writes(uint32_t i, int c)
{
    park(i, "csp_write", MLT_CSP_WRITE, &chans[c]);
    chans[c].last_user[MLT_WRITES] = &fibers[i];
}

static void alts(uint32_t i, mlt_alt *alt, csp_guard *guards, uint32_t count)
{
    *alt = (mlt_alt){.guards = guards, .count = count, .chosen = MLT_ALT_OPEN};
    park(i, "csp_alt", MLT_CSP_ALT, alt);
}

static csp_guard on_read(int c)
{
    return (csp_guard){.kind = CSP_GUARD_READ, .in = mlt_chan_in(&chans[c])};
}

static csp_guard on_write(int c)
{
    return (csp_guard){.kind = CSP_GUARD_WRITE, .out = mlt_chan_out(&chans[c])};
}

static void expect(const char *name, const char *wanted)
{
    size_t length = mlt_csp_hang_lines(&csp, text, sizeof text);
    if (length != strlen(text) || strcmp(text, wanted) != 0) {
        failures++;
        fprintf(stderr, "%s: wanted\n%s\nbut got\n%s\n", name, wanted, text);
    }
}

static void expect_part(const char *name, const char *wanted, bool there)
{
    mlt_csp_hang_lines(&csp, text, sizeof text);
    if ((strstr(text, wanted) != NULL) != there) {
        failures++;
        fprintf(stderr, "%s: %s\n%s\nin\n%s\n", name, there ? "wanted" : "not wanted", wanted,
                text);
    }
}

// ---- channels

static void test_channels(void)
{
    begin(2);
    writes(0, 0);
    writes(1, 1);
    chans[0].last_user[MLT_READS] = &fibers[1];
    chans[1].last_user[MLT_READS] = &fibers[0];
    expect("who used it", "  main: csp_par waits for 2 processes: anna and bert\n"
                          "  anna: csp_write to 'a', which bert reads\n"
                          "  bert: csp_write to 'b', which anna reads\n"
                          "  the cycle of 2 processes:\n"
                          "    anna waits to write 'a', which bert reads\n"
                          "    bert waits to write 'b', which anna reads\n");

    begin(2);
    writes(0, 0);
    writes(1, 1);
    procs[1].held[1] = (mlt_held)&chans[0];
    mlt_held more[] = {(mlt_held)&chans[3], (mlt_held)&chans[1], 0};
    procs[0].more = more;
    expect_part("who holds it", "    bert waits to write 'b', which anna reads\n", true);

    // The writing end of what one waits to write is no help.
    procs[0].more = NULL;
    procs[0].held[0] = (mlt_held)&chans[1] | 1;
    expect("who holds the other end", "  main: csp_par waits for 2 processes: anna and bert\n"
                                      "  anna: csp_write to 'a', which bert reads\n"
                                      "  bert: csp_write to 'b', which nobody has read so far\n");

    begin(3);
    reads(0, 0);
    reads(1, 1);
    fibers[2].state = MLT_FIBER_ENDED;
    chans[0].last_user[MLT_WRITES] = &fibers[2];
    chans[1].had_holders[MLT_WRITES] = 0;
    strcpy(chans[1].name, "");
    chans[1].number = 7;
    expect("nobody", "  main: csp_par waits for 3 processes: anna and bert\n"
                     "  anna: csp_read from 'a', whose last writer has ended without csp_retire\n"
                     "  bert: csp_read from channel 7, whose writing end nobody has\n");

    begin(6);
    for (uint32_t i = 0; i < 6; i++)
        reads(i, i > 0);
    for (uint32_t i = 1; i < 6; i++)
        procs[i].held[0] = (mlt_held)&chans[0] | 1;
    strcpy(chans[1].name, "a\n\033[2J");
    expect_part("many who hold it", "anna: csp_read from 'a'", true);
    expect_part("a name", "bert: csp_read from 'a??[2J', which nobody has written so far\n", true);
}

// Ends in argument blocks: who has one may use it, unless he does what the waiting one does.
static void test_arguments(void)
{
    struct {
        csp_chan *in, *out;
    } args[3] = {{&chans[1], &chans[0]}, {&chans[0], &chans[1]}, {&chans[0], NULL}};
    char byte;
    if (!mlt_os_read_own(&byte, args, 1))
        return; // under qemu
    begin(3);
    for (int i = 0; i < 3; i++)
        procs[i].arg = &args[i];
    writes(0, 0);
    writes(1, 1);
    reads(2, 2);
    expect("argument blocks", "  main: csp_par waits for 3 processes: anna, bert and cara\n"
                              "  anna: csp_write to 'a', which bert and cara may read\n"
                              "  bert: csp_write to 'b', which anna may read\n"
                              "  cara: csp_read from 'c', which nobody has written so far\n"
                              "  the cycle of 2 processes:\n"
                              "    anna waits to write 'a', which bert may read\n"
                              "    bert waits to write 'b', which anna may read\n");
    procs[0].arg = (void *)UINT64_C(0x10000000000008); // no address at all
    procs[1].arg = (void *)8;
    procs[2].arg = (void *)UINT64_MAX;
    expect_part("no addresses", "anna: csp_write to 'a', which nobody has read so far\n", true);
}

// ---- alternations

static void test_alternations(void)
{
    mlt_alt alt[2];
    begin(3);
    csp_guard one[] = {on_read(0), on_write(1), on_read(2)};
    csp_guard two[] = {on_write(0), on_read(3), on_read(4), on_read(5), on_read(6), on_read(7)};
    one[2].off = true;
    alts(0, &alt[0], one, 3);
    alts(1, &alt[1], two, 6);
    two[0].off = true;
    writes(2, 2);
    chans[0].last_user[MLT_WRITES] = &fibers[1];
    chans[1].last_user[MLT_READS] = &fibers[2];
    chans[2].last_user[MLT_READS] = &fibers[0];
    expect(
        "alternations",
        "  main: csp_par waits for 3 processes: anna, bert and cara\n"
        "  anna: csp_alt over 2 guards: read 'a', which bert writes; write 'b', which cara reads\n"
        "  bert: csp_alt over 5 guards: read 'd', which nobody has written so far; read 'e', "
        "which nobody has written so far; read 'f', which nobody has written so far; read 'g', "
        "which nobody has written so far; and 1 more\n"
        "  cara: csp_write to 'c', which anna reads\n"
        "  the cycle of 2 processes:\n"
        "    anna waits to write 'b', which cara reads\n"
        "    cara waits to write 'c', which anna reads\n");

    // Time will serve it.
    two[1] = (csp_guard){.kind = CSP_GUARD_TIME, .at = 5};
    two[2] = (csp_guard){.kind = CSP_GUARD_READABLE, .fd = 9};
    two[3].off = two[4].off = two[5].off = true;
    expect_part("time", "bert: csp_alt over 2 guards: time; descriptor 9 readable\n", true);
    expect_part("bert may serve anna, who may serve cara", "cycle", false);
}

// ---- those who run

static void test_running(void)
{
    begin(3);
    writes(0, 0);
    writes(1, 1);
    chans[0].last_user[MLT_READS] = &fibers[1];
    chans[1].last_user[MLT_READS] = &fibers[0];
    expect_part("a cycle beside one that runs", "  1 process runs\n  the cycle of 2", true);
    procs[2].held[0] = (mlt_held)&chans[1];
    expect_part("one that runs may serve it", "cycle", false);

    begin(2);
    fibers[0].state = MLT_FIBER_PARKED;
    mlt_wait mpi = {.call = "MPI_Recv", .kind = MLT_WAIT_RECV, .peer = 3, .tag = 7};
    fibers[0].wait = &mpi;
    park(1, "csp_sleep", MLT_CSP_SLEEP, NULL);
    expect("outside", "  main: csp_par waits for 2 processes: anna and bert\n"
                      "  anna: MPI_Recv from rank 3, tag 7\n"
                      "  bert: csp_sleep\n");
}

// A PAR waits for all its members, so one that runs is no help.
static void test_teams(void)
{
    static mlt_proc_team_of team;
    begin(3);
    team = (mlt_proc_team_of){0};
    fibers[0].state = MLT_FIBER_PARKED;
    fibers[0].wait = mlt_csp_wait_for(&team.wait, "csp_par_each", MLT_CSP_PAR, NULL, 2);
    team.vector = true;
    procs[1].of = procs[2].of = &team;
    procs[1].index = 0;
    procs[2].index = 1;
    procs[1].name = procs[2].name = "row";
    reads(1, 0);
    chans[0].last_user[MLT_WRITES] = &fibers[0];
    expect("a parent that would write",
           "  main: csp_par waits for 3 processes: anna\n"
           "  anna: csp_par_each waits for 2 processes: row[0] and row[1]\n"
           "  row[0]: csp_read from 'a', which anna writes\n"
           "  1 process runs\n"
           "  the cycle of 2 processes:\n"
           "    anna waits for its process row[0]\n"
           "    row[0] waits to read 'a', which anna writes\n");
    fibers[1].state = MLT_FIBER_RUNNABLE;
    expect_part("all members run", "cycle", false);
}

// ---- many

static void test_groups(void)
{
    begin(200);
    static mlt_proc_team_of team;
    static csp_chan many[200];
    static mlt_csp_wait many_waits[200];
    team = (mlt_proc_team_of){.vector = true};
    for (uint32_t i = 0; i < 200; i++) {
        many[i] = (csp_chan){.had_holders[MLT_WRITES] = 1, .number = 500 + i};
        if (i < 100)
            snprintf(many[i].name, sizeof many[i].name, "in %u", (i + 3) % 100);
        procs[i] = (mlt_proc){.number = i + 1, .index = i, .of = &team, .name = "cell"};
        if (i >= 100)
            procs[i].name = NULL;
        fibers[i].state = MLT_FIBER_PARKED;
        fibers[i].wait = mlt_csp_wait_for(&many_waits[i], "csp_read", MLT_CSP_READ, &many[i], 0);
    }
    many[150].had_holders[MLT_WRITES] = 0;
    expect("groups",
           "  main: csp_par waits for 200 processes\n"
           "  cell[0-99] (100): csp_read from 'in i+3', which nobody has written so far (except "
           "3)\n"
           "  process 101-150,152-200 (99): csp_read from channel i+499, which nobody has written "
           "so far\n"
           "  process 151: csp_read from channel 650, whose writing end nobody has\n");

    // All differ: few lines, whatever their number.
    for (uint32_t i = 0; i < 200; i++) {
        memset(many[i].name, 'a' + (int)i % 26, 1 + i / 26);
        many[i].name[1 + i / 26] = '\0';
    }
    mlt_csp_hang_lines(&csp, text, sizeof text);
    size_t lines = 0;
    for (const char *c = text; *c; c++)
        lines += *c == '\n';
    if (lines > 30 || !strstr(text, " processes that wait for other things\n")) {
        failures++;
        fprintf(stderr, "all differ: %zu lines\n%s\n", lines, text);
    }
}

static void test_very_many(void)
{
    begin(MANY);
    csp_chan *many = calloc(MANY, sizeof *many);
    mlt_csp_wait *many_waits = calloc(MANY, sizeof *many_waits);
    if (!many || !many_waits)
        exit(77);
    for (uint32_t i = 0; i < MANY; i++) {
        many[i].number = i + 1;
        many[i].had_holders[MLT_WRITES] = 1;
        many[i].last_user[MLT_WRITES] = &fibers[(i + MANY - 1) % MANY];
        procs[i].name = NULL;
        fibers[i].state = MLT_FIBER_PARKED;
        fibers[i].wait = mlt_csp_wait_for(&many_waits[i], "csp_read", MLT_CSP_READ, &many[i], 0);
    }
    clock_t start = clock(); // of the processor: a busy machine takes no more
    mlt_csp_hang_patience_ns = 0;
    expect_part("no patience", "  and 200,001 processes that wait, and were not looked at\n", true);
    mlt_csp_hang_patience_ns = UINT64_MAX;
    expect_part("very many",
                "  process 1-200000 (200,000): csp_read from channel i, which process i-1 "
                "writes (except 1)\n"
                "  the cycle of 200,000 processes:\n"
                "    process 1 waits to read channel 1, which process 200000 writes\n",
                true);
    double seconds = (double)(clock() - start) / CLOCKS_PER_SEC;
    printf("%d processes in %.3f s of a processor, %zu bytes\n", MANY, seconds, strlen(text));
    if (seconds > 30)
        failures++;
    free(many);
    free(many_waits);
}

// Whole lines, however little room there is.
static void test_room(void)
{
    begin(6);
    for (uint32_t i = 0; i < 6; i++)
        reads(i, (int)i);
    for (size_t size = 1; size < SIZE; size += 7) {
        memset(text, 'x', sizeof text);
        size_t length = mlt_csp_hang_lines(&csp, text, size);
        if (length >= size || text[size] != 'x' || (length > 0 && text[length - 1] != '\n')) {
            failures++;
            fprintf(stderr, "%zu bytes of %zu\n", length, size);
        }
    }
}

int main(void)
{
    test_channels();
    test_arguments();
    test_alternations();
    test_running();
    test_teams();
    test_groups();
    test_room();
    test_very_many();
    free(fibers);
    free(procs);
    if (!failures)
        puts("all right");
    return failures != 0;
}
