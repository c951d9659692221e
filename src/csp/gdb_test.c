// SPDX-License-Identifier: BSD-3-Clause
// Tests share/millet-gdb.py with processes: runs itself under gdb until all of them wait, then asks
// for them, by number and by name. Ranks and core files are tried by fiber/gdb_test.c.
#include <millet/csp.h>
#include <source_dir.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/unit_test.h"
#include "base/upcalls.h"
#include "boot/job.h"
#include "csp/state.h"
#include "fiber/sanitize.h"
#include "p2p/settings.h"
#include "p2p/worker.h"

enum { FEW = 3, MANY = 100 };

static size_t workers;

void stop_here(void);

__attribute__((noinline)) void stop_here(void)
{
    __asm__ volatile("" ::: "memory");
}

static void all_wait(mlt_worker *worker)
{
    (void)worker;
    stop_here();
    exit(0);
}

const mlt_upcall_table mlt_upcalls = {.deadlock = all_wait};

static __attribute__((noinline)) int reads(void *arg)
{
    int my_value = 42;
    csp_status status = csp_read(*(csp_in **)arg, &my_value);
    __asm__ volatile("" : : "r"(&my_value) : "memory");
    return (int)status;
}

static int chooses(void *arg)
{
    int v;
    csp_guard guards[] = {csp_on_read(*(csp_in **)arg, &v), csp_on_read(*(csp_in **)arg, &v)};
    return csp_alt(guards, 2);
}

static int many_read(void *arg)
{
    return csp_par_each(reads, arg, workers, sizeof(csp_in *), "worker", NULL);
}

static void rank_main(void *rank)
{
    (void)rank;
    csp_in **ins = calloc(workers, sizeof *ins);
    for (size_t i = 0; ins && i < workers; i++) {
        char name[32];
        snprintf(name, sizeof name, "c%zu", i);
        ins[i] = csp_chan_in(csp_chan_new(name, sizeof(int)));
    }
    CSP_PAR({.run = many_read, .arg = ins, .name = "many"},
            {.run = chooses, .arg = ins, .name = "teller"}, {.run = reads, .arg = ins});
}

static int debugged(size_t count)
{
    uint32_t one = 1;
    mlt_job_plan plan = {.procs = 1,
                         .workers_of_proc = &one,
                         .ranks_a_worker = &one,
                         .app_of_proc = &(uint32_t){0},
                         .cores = 2};
    mlt_job *job;
    mlt_worker *w;
    int fd = -1;
    char why[256];
    workers = count;
    mlt_conf.sched = "direct";
    if (mlt_job_new(&plan, &job, &fd, why, sizeof why) != MLT_OK)
        return 1;
    mlt_boot boot = {.job = job, .ctl = -1};
    if (mlt_worker_new(&boot, 0, 1, &w, why, sizeof why) != MLT_OK)
        return 1;
    mlt_worker_run(w, rank_main);
    return 1;
}

// ---- the other side

static char output[1 << 18];

static bool ask(const char *self, int count, const char *questions)
{
    static const char script[] = MLT_SOURCE_DIR "/share/millet-gdb.py";
    char command[4096];
    if (access(script, R_OK) != 0)
        return false;
    snprintf(
        command, sizeof command,
        "gdb -nx -batch -ex 'set debuginfod enabled off' -ex 'source %s' -ex 'break stop_here' "
        "-ex 'run --debugged %d > /dev/null' %s %s 2>&1",
        script, count, questions, self);
    FILE *gdb = popen(command, "r");
    size_t n = gdb ? fread(output, 1, sizeof output - 1, gdb) : 0;
    output[n] = '\0';
    if (gdb)
        pclose(gdb);
    return n > 0;
}

static bool says(const char *words)
{
    bool found = strstr(output, words) != NULL;
    if (!found)
        fprintf(stderr, "gdb does not say '%s', but:\n%s\n", words, output);
    return found;
}

static void test_few(const char *self)
{
    if (!ask(self, FEW,
             "-ex 'millet ranks' -ex 'millet procs' -ex 'millet bt worker[1]' -ex 'millet bt p2' "
             "-ex 'millet enter p5' -ex 'frame function reads' -ex 'print my_value' "
             "-ex 'millet leave' -ex 'millet procs ell' -ex 'millet bt nobody' -ex 'millet bt p99' "
             "-ex 'millet bt'") ||
        strstr(output, "ptrace") || strstr(output, "Undefined command") ||
        strstr(output, "Exec format error"))
        exit(77); // gdb cannot do it here, or the program is another processor's
    CHECK(says("1 ranks in 1 workers\n       0  parked in csp_par, waits for 3 of its processes"));
    CHECK(says("6 processes in 1 workers\n"
               "  p1      many: parked in csp_par_each, waits for 3 of its processes"));
    CHECK(says("  p2      teller: parked in csp_alt, waits for one of 2 guards"));
    CHECK(says("  p3      3: parked in csp_read, waits to read channel 'c0'"));
    CHECK(says("  p5      worker[1]: parked in csp_read, waits to read channel 'c1'"));
    const char *trace = strstr(output, "process worker[1] (p5): parked in csp_read");
    CHECK(trace && strstr(trace, "reads (arg="));
    CHECK(says("process teller (p2): parked in csp_alt"));
    CHECK(says("$1 = 42"));
    CHECK(says("1 processes in 1 workers\n  p2      teller: parked in csp_alt"));
    CHECK(says("no process nobody in this program"));
    CHECK(says("no process p99 in this program"));
    CHECK(says("which rank or process?"));
    CHECK(!strstr(output, "Traceback"));
}

int main(int argc, char **argv)
{
    if (argc > 2 && strcmp(argv[1], "--debugged") == 0)
        return debugged((size_t)atol(argv[2]));
    if (MLT_SANITIZED || system("gdb --version > /dev/null 2>&1") != 0)
        return 77;
    char self[1024];
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    if (length <= 0)
        return 77;
    self[length] = '\0';
    test_few(self);
    ask(self, MANY, "-ex 'millet procs'");
    CHECK(
        says("103 processes in 1 workers\n  100 worker: parked in csp_read, waits to read channel "
             "'c0' (p4; the others alike)\n      p 4-103\n"));
    return 0;
}
