// SPDX-License-Identifier: BSD-3-Clause
// Plans of whole command lines: which host has which processes, workers and ranks.
#include "launch/plan/plan.h"

#include <stdlib.h>

#include "base/text.h"
#include "base/unit_test.h"
#include "launch/plan/env.h"
#include "launch/plan/grain.h"

enum { MOST_WORDS = 64, MOST_LINES = 100, LINE_BYTES = 200 };

// Reads a command line, whose words have blanks between them. What mpirun's options point to lives
// until it ends; so it does here.
static const mlt_options *read_line(const char *line)
{
    static mlt_options all[MOST_LINES];
    static char copies[MOST_LINES][LINE_BYTES];
    static int lines;
    CHECK(lines < MOST_LINES && strlen(line) + 8 < LINE_BYTES);
    char *words[MOST_WORDS + 1], *rest = copies[lines];
    int count = 0;
    snprintf(rest, LINE_BYTES, "mpirun %s", line);
    for (char *word; (word = strsep(&rest, " ")) && count < MOST_WORDS;)
        words[count++] = word;
    words[count] = NULL;
    mlt_options_read(count, words, &all[lines]);
    return &all[lines++];
}

// ... and makes the plan, for hosts of 4 cores.
static void make_plan(const char *line, mlt_placement *plan)
{
    static const char *const paths[] = {"/bin/sh", "/bin/sh", "/bin/sh"};
    mlt_options options = *read_line(line); // the apps are the same
    CHECK(options.app_count <= sizeof paths / sizeof *paths);
    mlt_grain_decide(&options, paths, 4);
    mlt_placement_make(&options, plan);
}

static void free_plan(mlt_placement *plan)
{
    free(plan->procs);
    free(plan->hosts);
    mlt_hosts_free(&plan->named);
}

// "a 0-3(2), b 4": a process on host a that has ranks 0 to 3 and 2 workers, and one on host b with
// one of each.
static char *text_of(const mlt_placement *plan)
{
    mlt_text text = {0};
    for (uint32_t p = 0; p < plan->proc_count; p++) {
        const mlt_placement_proc *proc = &plan->procs[p];
        const mlt_hosts_entry *host = &plan->hosts[proc->host].host;
        mlt_text_add(&text, "%s%s %u", p ? ", " : "", host->here ? "here" : host->name,
                     proc->first_rank);
        if (proc->ranks > 1)
            mlt_text_add(&text, "-%u", proc->first_rank + proc->ranks - 1);
        if (proc->workers > 1)
            mlt_text_add(&text, "(%u)", proc->workers);
    }
    return text.text;
}

static void check_sums(const mlt_placement *plan)
{
    uint32_t procs = 0, workers = 0, ranks = 0;
    uint32_t *local = calloc(plan->host_count, sizeof *local);
    CHECK(local);
    for (uint32_t p = 0; p < plan->proc_count; p++) {
        const mlt_placement_proc *proc = &plan->procs[p];
        CHECK(proc->first_rank == ranks && proc->first_worker == workers);
        CHECK(proc->first_local == local[proc->host] && proc->ranks >= proc->workers);
        CHECK(mlt_placement_proc_of(plan, proc->first_rank) == p);
        local[proc->host] += proc->ranks;
        workers += proc->workers;
        ranks += proc->ranks;
    }
    CHECK(workers == plan->workers && ranks == plan->ranks);
    for (uint32_t h = 0; h < plan->host_count; h++) {
        CHECK(local[h] == plan->hosts[h].ranks && local[h] > 0);
        procs += plan->hosts[h].procs;
        workers -= plan->hosts[h].workers;
    }
    CHECK(procs == plan->proc_count && workers == 0);
    free(local);
}

static void expect(const char *line, const char *wanted)
{
    mlt_placement plan;
    snprintf(now_testing, sizeof now_testing, "%s", line);
    make_plan(line, &plan);
    check_sums(&plan);
    char *is = text_of(&plan);
    check_same_text(line, is, wanted);
    free(is);
    free_plan(&plan);
}

static void check_local(void)
{
    expect("x", "here 0");
    expect("-n 2 x", "here 0, here 1");
    expect("-ppn 2 x", "here 0, here 1");
    expect("-n 2 -nfg 3 x", "here 0-5(2)");
    expect("-n 2 -nfg 3 --workers process x", "here 0-2, here 3-5");
    expect("-H localhost:2 x : x", "here 0, here 1, here 2");
    expect("--map-by ppr:2:node x", "here 0, here 1");
    expect("--map-by ppr:2:socket -n 1 x", "here 0");
    expect("-nolocal --bynode -n 1 x", "here 0");
    expect("-n 10 --grain fiber x", "here 0-9(4)");
}

static void check_slots(void)
{
    expect("-H a,b:2,c x", "a 0, b 1, b 2, c 3");
    expect("-H a,b:2,c -n 2 x", "a 0, b 1");
    expect("-H a,b -n 1 x", "a 0"); // more hosts than ranks
    expect("-H a,b:2 -n 5 x", "a 0, a 1, b 2, b 3, b 4");
    expect("-H a:0,b x", "b 0");
    expect("-H a,localhost,a:1,127.0.0.1 x", "a 0, a 1, here 2, here 3");
    expect("-nolocal -H localhost,a -n 2 x", "a 0, a 1");
    expect("-H a -H b x", "a 0, b 1");
}

static void check_mappings(void)
{
    expect("--map-by node -H a:2,b:2 -n 3 x", "a 0, b 1, a 2");
    expect("--bynode -H a:1,b:3 x", "a 0, b 1, b 2, b 3");
    expect("--bynode --byslot -H a:2,b:2 -n 3 x", "a 0, a 1, b 2");
    expect("--map-by node --rank-by slot -H a:2,b:2 -n 3 x", "a 0, a 1, b 2");
    expect("--rank-by node -H a:2,b:2 -n 3 x", "a 0, b 1, a 2");
    expect("-ppn 2 -H a,b x", "a 0, a 1, b 2, b 3");
    expect("-N 2 -H a:9,b:9 -n 3 x", "a 0, a 1, b 2");
    expect("-ppn 1 -H a:9,b:9 -n 3 x", "a 0, a 1, b 2");
    expect("-npernode 1 -H a:9,b:0 x", "a 0");
    expect("--map-by ppr:2:node -H a,b x", "a 0, a 1, b 2, b 3");
    expect("--map-by ppr:2:node -ppn 1 -H a,b x", "a 0, b 1");
}

static void check_threads(void)
{
    expect("-n 4 -nfg 2 -H a:2,b:2 x", "a 0-3(2), b 4-7(2)");
    expect("-n 3 -nfg 2 --workers process -H a:2,b:2 x", "a 0-1, a 2-3, b 4-5");
    expect("-n 4 --workers thread --bynode -H a:2,b:2 x", "a 0-1(2), b 2-3(2)");
    expect("-n 4 --grain thread -H a:3,b x", "a 0-2(3), b 3");
    expect("-n 20 --grain fiber -H a,b x", "a 0-9(4), b 10-19(4)");
    expect("-n 20 --grain fiber -H a:9,b x", "a 0-17(4), b 18-19(2)");
    expect("-n 5 --grain fiber --workers process --bynode -H a,b x", "a 0, a 1, a 2, b 3, b 4");
}

static void check_sections(void)
{
    expect("-H a:2,b:2 -n 1 x : -n 3 y", "a 0, a 1, b 2, b 3");
    expect("-H a:2,b:2 -n 1 x : y", "a 0, a 1"); // -n counts, as nobody named hosts again
    expect("-H a:2 x : -H b y : -n 1 z", "a 0, a 1, b 2, b 3");
    expect("-n 1 x : -H b:2,localhost y", "here 0, b 1, b 2, here 3");
    expect("-H a,b -n 2 x : -n 1 y : -n 1 z", "a 0, b 1, a 2, b 3");
    expect("-H a,b --bynode -n 2 x : -H b,c -n 2 y", "a 0, b 1, b 2, c 3");
    expect("-H me@a x : -H a y", "a 0, a 1");
}

// What --show-plan prints; the caller frees it.
static char *shown(const char *line)
{
    char *text = NULL;
    size_t size = 0;
    mlt_placement plan;
    const mlt_options *options = read_line(line);
    mlt_placement_make(options, &plan);
    FILE *out = open_memstream(&text, &size);
    CHECK(out);
    mlt_placement_show(&plan, options, out);
    CHECK(fclose(out) == 0);
    free_plan(&plan);
    return text;
}

static void check_show(void)
{
    char *text = shown("-H me@a:20,b --bynode -n 22 x : -n 2 -nfg 2000 y");
    check_same_text("the table", text,
                    "4,022 ranks in 24 workers, 24 processes, on 2 hosts\n"
                    "\n"
                    "host  slots  processes  workers  ranks  which ranks  program\n"
                    "me@a     20         21       21     21  0,2-21       x\n"
                    "b         1          1        1      1  1            x\n"
                    "me@a     20          1        1   2000  22-2021      y\n"
                    "b         1          1        1   2000  2022-4021    y\n");
    free(text);
    text = shown("-H a:20,b:20 --bynode x"); // a list of ranks is cut
    CHECK(strstr(text, "  0,2,4,6,8,...,38  ") && strstr(text, "  1,3,5,7,9,...,39  "));
    free(text);
}

static void expect_variable(char **env, const char *wanted)
{
    while (*env && strcmp(*env, wanted) != 0)
        env++;
    snprintf(now_testing, sizeof now_testing, "%s", wanted);
    CHECK(*env);
}

// Scripts ask for the place among the ranks of their host.
static void check_variables(void)
{
    mlt_placement plan;
    mlt_env env;
    const mlt_options *options = read_line("-H a:3,b:2 --bynode x");
    mlt_placement_make(options, &plan);
    mlt_env_init(&env, options, &options->apps[0]);
    char **third = mlt_env_for(&env, &plan, &(mlt_env_proc){.proc = 3}); // on b: 1 and 3
    expect_variable(third, "OMPI_COMM_WORLD_RANK=3");
    expect_variable(third, "OMPI_COMM_WORLD_SIZE=5");
    expect_variable(third, "OMPI_COMM_WORLD_LOCAL_RANK=1");
    expect_variable(third, "OMPI_COMM_WORLD_LOCAL_SIZE=2");
    expect_variable(third, "OMPI_COMM_WORLD_NODE_RANK=1");
    expect_variable(third, "MPI_LOCALRANKID=1");
    expect_variable(third, "MPI_LOCALNRANKS=2");
    mlt_env_fini(&env);
    free_plan(&plan);
}

static void check_many(void)
{
    mlt_placement plan;
    static const char *const lines[] = {"-H n[1-10000]:4 x", "--bynode -H n[1-10000]:4 x"};
    for (int i = 0; i < 2; i++) {
        make_plan(lines[i], &plan);
        check_sums(&plan);
        CHECK(plan.ranks == 40000 && plan.host_count == 10000);
        CHECK(plan.procs[9999].host == (i ? 9999 : 2499));
        CHECK(mlt_placement_other(&plan) == &plan.hosts[0]);
        free_plan(&plan);
    }
    make_plan("-H n[1-10000]:64 -nfg 1000 x : -n 10000 x", &plan);
    check_sums(&plan);
    CHECK(plan.ranks == 640010000 && plan.proc_count == 20000 && plan.workers == 650000);
    free_plan(&plan);
}

int main(void)
{
    check_local();
    check_slots();
    check_mappings();
    check_threads();
    check_sections();
    check_show();
    check_variables();
    check_many();
    return 0;
}
