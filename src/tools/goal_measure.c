// SPDX-License-Identifier: BSD-3-Clause
// `millet goal measure`: LogGOPS's parameters between two ranks of this machine. It starts mpirun,
// found beside itself, with the program goalmeasure, which does the measuring and prints a file of
// parameters; lines with '@' tell how far it is.
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools/args.h"
#include "tools/goal.h"
#include "tools/machine.h"
#include "tools/progress.h"
#include "tools/sink.h"

enum { MOST_TEXT = 4096, WHY_BYTES = 512 };

static const char *const worker_names[] = {"process", "thread"};

// bin/millet -> bin/mpirun, libexec/millet/goalmeasure.
static int find_program(const mlt_arg_command *command, const char *below, char path[PATH_MAX])
{
    char self[PATH_MAX - 64];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    if (n < 0)
        return mlt_args_failed(command, "/proc/self/exe cannot be read: %s", strerror(errno));
    self[n] = '\0';
    char *slash = strrchr(self, '/');
    if (slash)
        *slash = '\0';
    snprintf(path, PATH_MAX, "%s/%s", self, below);
    if (access(path, X_OK) != 0)
        return mlt_args_failed(command, "'%s' is missing, which belongs to Millet", path);
    return MLT_ARGS_GO;
}

// The job's lines until it ends: how far it is to the progress bar, all others into text.
static void hear(FILE *from, char text[MOST_TEXT])
{
    mlt_progress progress;
    char line[256];
    size_t length = 0;
    mlt_progress_begin(&progress, "measuring");
    while (fgets(line, sizeof line, from)) {
        size_t n = strlen(line);
        if (line[0] == '@')
            mlt_progress_step(&progress, strtod(line + 1, NULL));
        else if (length + n < MOST_TEXT) {
            memcpy(text + length, line, n + 1);
            length += n;
        }
    }
    mlt_progress_end(&progress);
}

static int wait_for(const mlt_arg_command *command, pid_t child)
{
    int status;
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            return mlt_args_failed(command, "mpirun is lost: %s", strerror(errno));
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return MLT_ARGS_GO;
    if (WIFSIGNALED(status))
        return mlt_args_failed(command, "mpirun was ended by signal %d", WTERMSIG(status));
    return mlt_args_failed(command, "the measurement failed (mpirun's exit code is %d)",
                           WEXITSTATUS(status));
}

static int start(const mlt_arg_command *command, char *const *argv, char text[MOST_TEXT])
{
    int ends[2];
    if (pipe(ends) != 0)
        return mlt_args_failed(command, "there is no pipe: %s", strerror(errno));
    FILE *from = fdopen(ends[0], "r");
    if (!from)
        return mlt_args_failed(command, "there is no memory");
    fflush(NULL);
    // Ctrl-C goes to both; mpirun knows what to do, and this process tells how it ended.
    void (*old)(int) = signal(SIGINT, SIG_IGN);
    pid_t child = fork();
    if (child == 0) {
        signal(SIGINT, old);
        dup2(ends[1], STDOUT_FILENO);
        close(ends[0]);
        close(ends[1]);
        execv(argv[0], argv);
        _exit(127);
    }
    close(ends[1]);
    int code;
    if (child < 0) {
        code = mlt_args_failed(command, "mpirun cannot be started: %s", strerror(errno));
    } else {
        hear(from, text);
        code = wait_for(command, child);
    }
    fclose(from);
    signal(SIGINT, old);
    return code;
}

// What came must be whole: a parameter that is not there would silently be LogGOPSim's.
static int check_text(const mlt_arg_command *command, const char *text)
{
    mlt_loggops machine = {-1, -1, -1, -1, -1, UINT64_MAX, -1};
    char why[WHY_BYTES];
    if (!mlt_machine_parse("goalmeasure", text, &machine, why, sizeof why))
        return mlt_args_failed(command, "%s", why);
    if (machine.L < 0 || machine.o < 0 || machine.g < 0 || machine.G < 0 || machine.O < 0 ||
        machine.S == UINT64_MAX || machine.exec < 0)
        return mlt_args_failed(command, "goalmeasure ended without all parameters");
    return MLT_ARGS_GO;
}

static int measure(const mlt_arg_command *command, const char *workers, bool quick, const char *out)
{
    char mpirun[PATH_MAX], ranks[PATH_MAX], text[MOST_TEXT] = "";
    mlt_sink sink;
    int code = mlt_sink_open(&sink, command, out); // before the work, not after it
    if (code != MLT_ARGS_GO)
        return code;
    code = find_program(command, "mpirun", mpirun);
    if (code == MLT_ARGS_GO)
        code = find_program(command, "../libexec/millet/goalmeasure", ranks);
    if (code == MLT_ARGS_GO) {
        char how[16];
        snprintf(how, sizeof how, "%s", workers);
        char *argv[] = {mpirun, "-n", "2", "--workers", how, ranks, how, quick ? "--quick" : NULL,
                        NULL};
        code = start(command, argv, text);
    }
    if (code == MLT_ARGS_GO)
        code = check_text(command, text);
    if (code == MLT_ARGS_GO)
        fputs(text, sink.to);
    int closed = mlt_sink_close(&sink, command, code == MLT_ARGS_GO);
    return code == MLT_ARGS_GO ? closed : code;
}

int mlt_goal_measure_main(int argc, char **argv)
{
    int workers = 0;
    bool quick = false;
    const char *out = NULL;
    const mlt_arg args[] = {
        {.name = "workers",
         .kind = MLT_ARG_CHOICE,
         .value = &workers,
         .word = "HOW",
         .choices = "process|thread",
         .help = "what the two ranks are: process or thread (process)"},
        {.name = "output",
         .letter = 'o',
         .kind = MLT_ARG_TEXT,
         .value = &out,
         .word = "FILE",
         .help = "write to FILE, not to standard output"},
        {.name = "quick", .kind = MLT_ARG_FLAG, .value = &quick, .help = "an eighth of the work"},
    };
    const mlt_arg_group groups[] = {{NULL, args, sizeof args / sizeof *args}};
    const mlt_arg_command command = {
        .name = "millet goal measure",
        .words = "",
        .purpose = "Measures L, o, g, G, O, S and the price of a local operation between two ranks "
                   "of this machine, in a few seconds, and prints them for `millet goal sim "
                   "--params FILE`. Let nothing else run meanwhile.",
        .groups = groups,
        .count = 1};
    mlt_arg_texts words = {NULL, 0}; // it takes none
    int code = mlt_args_read(&command, argc, argv, &words, NULL);
    return code == MLT_ARGS_GO ? measure(&command, worker_names[workers], quick, out) : code;
}
