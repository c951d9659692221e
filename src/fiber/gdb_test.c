// SPDX-License-Identifier: BSD-3-Clause
// Tests share/millet-gdb.py: runs itself under gdb until its fibers are parked, then asks for ranks
// and stacks, live, from a core file of gdb, and from one of the kernel.
#include "fiber/fiber.h"

#include <signal.h>
#include <source_dir.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/unit_test.h"
#include "fiber/fault.h"
#include "fiber/sanitize.h"

enum { FEW = 6, MANY = 200, FIRST = 100 };

// What the script looks for in the p2p layer's structure of this name.
typedef struct mlt_rank {
    void *others[3];
    int32_t world;
} mlt_rank;

static mlt_sched *sched;
static mlt_rank ranks[MANY + 1];

static bool crashes; // instead of ending

void stop_here(void);

__attribute__((noinline)) void stop_here(void)
{
    __asm__ volatile("" ::: "memory");
}

static void idle_stops(void *arg)
{
    (void)arg;
    stop_here();
    if (crashes)
        abort();
    exit(0);
}

static __attribute__((noinline)) void waits_deep(mlt_rank *rank, int depth)
{
    mlt_wait wait = {.call = "MPI_Recv",
                     .kind = MLT_WAIT_RECV,
                     .peer = rank->world + 1,
                     .tag = 7,
                     .context = 3,
                     .bytes = 1024};
    if (depth > 0)
        waits_deep(rank, depth - 1);
    else
        mlt_fiber_park(sched, &wait);
    __asm__ volatile("" : : "r"(&wait) : "memory"); // no tail call
}

static void rank_main(void *user)
{
    mlt_rank *rank = user;
    mlt_wait barrier = {.call = "MPI_Barrier", .kind = MLT_WAIT_COLLECTIVE};
    mlt_wait any = {.call = "MPI_Waitany", .kind = MLT_WAIT_ANY, .n = 4};
    if (rank->world == FIRST)
        mlt_fiber_park(sched, &barrier);
    else if (rank->world == FIRST + 1)
        mlt_fiber_park(sched, &any);
    else if (rank->world > FIRST + 2)
        waits_deep(rank, 3);
    __asm__ volatile("" : : "r"(&any), "r"(&barrier) : "memory");
}

static int debugged(uint32_t count)
{
    char why[256];
    mlt_fault_install(NULL);
    mlt_sched_conf conf = {.policy = "rr", .fibers = count + 1, .idle = idle_stops};
    if (mlt_sched_new(&conf, &sched, why, sizeof why) != MLT_OK)
        return 1;
    for (uint32_t i = 0; i < count; i++) {
        ranks[i].world = FIRST + (int32_t)i;
        mlt_fiber_spawn(sched, rank_main, &ranks[i]);
    }
    mlt_sched_run(sched);
    return 1;
}

// ---- The other side

static char output[1 << 20];

static bool ask(const char *self, const char *arguments)
{
    static const char script[] = MLT_SOURCE_DIR "/share/millet-gdb.py";
    char command[4096];
    if (access(script, R_OK) != 0)
        return false;
    snprintf(command, sizeof command,
             "gdb -nx -batch -ex 'set debuginfod enabled off' -ex 'source %s' %s %s 2>&1", script,
             arguments, self);
    FILE *gdb = popen(command, "r");
    size_t n = gdb ? fread(output, 1, sizeof output - 1, gdb) : 0;
    output[n] = '\0';
    if (gdb)
        pclose(gdb);
    return true;
}

static bool says(const char *words)
{
    bool found = strstr(output, words) != NULL;
    if (!found)
        fprintf(stderr, "gdb does not say '%s', but:\n%s\n", words, output);
    return found;
}

static void check_answers(void)
{
    CHECK(says("6 ranks in 1 workers"));
    CHECK(says("100  parked in MPI_Barrier, waits for the other ranks"));
    CHECK(says("101  parked in MPI_Waitany, waits for one of 4 operations"));
    CHECK(says("102  ended"));
    CHECK(says("104  parked in MPI_Recv, waits for a message from rank 105 "
               "(tag 7, communicator 3, 1024 bytes)"));
    // A parked stack, from the call that parked to the first frame, and no further.
    const char *trace = strstr(output, "rank 103: parked in MPI_Recv");
    CHECK(trace != NULL);
    CHECK(trace && strstr(trace, "waits_deep (rank=") && strstr(trace, "=3)"));
    CHECK(trace && strstr(trace, "rank_main (user="));
    const char *first = trace ? strstr(trace, "mlt_arch_start") : NULL;
    CHECK(first != NULL);
    CHECK(first && strncmp(strchr(first, '\n') + 1, "rank 102", 8) != 0);
    CHECK(!strstr(output, "corrupt stack") && !strstr(output, "Traceback"));
    CHECK(says("rank 102 has no stack: it has ended"));
}

// False: gdb wrote no core file, because it can call nothing in a process here.
static bool test_live(const char *self, const char *core)
{
    char arguments[1024];
    snprintf(arguments, sizeof arguments,
             "-ex 'break stop_here' -ex 'run --debugged %d > /dev/null' -ex 'millet ranks' "
             "-ex 'millet bt 103' -ex 'millet bt 105' -ex 'millet enter 104' "
             "-ex 'frame function waits_deep' -ex 'print wait.peer' "
             "-ex 'millet leave' -ex bt -ex 'millet gcore %s' -ex 'millet bt 102'",
             FEW, core);
    if (!ask(self, arguments) || strstr(output, "ptrace") || strstr(output, "Undefined command") ||
        strstr(output, "Exec format error"))
        exit(77); // gdb cannot do it here, or the program is another processor's
    check_answers();
    CHECK(says("$1 = 105")); // a local variable of a parked rank
    CHECK(says("#0  stop_here"));
    CHECK(says("idle_stops"));
    return !strstr(output, "this gdb cannot call functions here");
}

static void test_core(const char *self, const char *core)
{
    char arguments[1024];
    snprintf(arguments, sizeof arguments,
             "-ex 'millet ranks' -ex 'millet bt 103' -ex 'millet enter 104' "
             "-ex 'frame function waits_deep' -ex 'print wait.peer' "
             "-ex 'millet bt 102' --core=%s",
             core);
    ask(self, arguments);
    check_answers();
    CHECK(says("$1 = 105"));
}

// Where the kernel writes core files to the working directory: all ranks are in it, and it is
// small.
static void test_crash(const char *self)
{
    char directory[] = "/tmp/millet_gdb_test.XXXXXX", command[4096], where[64], pattern[16] = "";
    FILE *file = fopen("/proc/sys/kernel/core_pattern", "r");
    if (file && !fgets(pattern, sizeof pattern, file))
        pattern[0] = '\0';
    if (file)
        fclose(file);
    if (strcmp(pattern, "core\n") != 0 || !mkdtemp(directory))
        return;
    snprintf(command, sizeof command,
             "cd %s && ulimit -c unlimited && %s --crash %d > /dev/null 2>&1", directory, self,
             FEW);
    int status = system(command);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 128 + SIGABRT);
    snprintf(where, sizeof where, "%s/core", directory);
    if (access(where, R_OK) != 0) { // with the process's number, on some systems
        snprintf(command, sizeof command, "mv %s/core.* %s 2> /dev/null", directory, where);
        CHECK(system(command) == 0);
    }
    struct stat size;
    CHECK(stat(where, &size) == 0 && size.st_size < 16 << 20);
    test_core(self, where);
    snprintf(command, sizeof command, "rm -r %s", directory);
    CHECK(system(command) == 0);
}

int main(int argc, char **argv)
{
    crashes = argc > 2 && strcmp(argv[1], "--crash") == 0;
    if (crashes || (argc > 2 && strcmp(argv[1], "--debugged") == 0))
        return debugged((uint32_t)atol(argv[2]));
    if (MLT_SANITIZED || system("gdb --version > /dev/null 2>&1") != 0)
        return 77;
    char self[1024], core[64], arguments[1024];
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    if (length <= 0)
        return 77;
    self[length] = '\0';
    snprintf(core, sizeof core, "/tmp/millet_gdb_test.%ld", (long)getpid());
    if (test_live(self, core))
        test_core(self, core);
    unlink(core);
    test_crash(self);

    snprintf(arguments, sizeof arguments,
             "-ex 'break stop_here' -ex 'run --debugged %d > /dev/null' -ex 'millet ranks'", MANY);
    ask(self, arguments);
    CHECK(says("197 parked in MPI_Recv, waits for a message from the rank +1 from itself"));
    CHECK(says("103-299"));
    return 0;
}
