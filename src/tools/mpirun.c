// SPDX-License-Identifier: BSD-3-Clause
#include "tools/mpirun.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/memory.h"
#include "os/os.h"

static int mpirun_find(const mlt_arg_command *command, const char *below, const char *name,
                       char path[PATH_MAX])
{
    char self[PATH_MAX];
    if (!realpath(mlt_os_program(), self))
        return mlt_args_failed(command, "where Millet lies cannot be found: %s", strerror(errno));
    char *slash = strrchr(self, '/');
    if (slash)
        *slash = '\0';
    if (snprintf(path, PATH_MAX, "%s/%s%s", self, below, name) >= PATH_MAX ||
        access(path, X_OK) != 0)
        return mlt_args_failed(command, "'%s' is missing, which belongs to Millet", path);
    return MLT_ARGS_GO;
}

int mlt_mpirun_find(const mlt_arg_command *command, const char *program, mlt_mpirun *out)
{
    int code = mpirun_find(command, "", "mpirun", out->path);
    return code == MLT_ARGS_GO ? mpirun_find(command, "../libexec/millet/", program, out->ranks)
                               : code;
}

static int mpirun_wait_for(const mlt_arg_command *command, const char *what, pid_t child)
{
    int status;
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            return mlt_args_failed(command, "waiting for mpirun failed: %s", strerror(errno));
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return MLT_ARGS_GO;
    if (WIFSIGNALED(status))
        return mlt_args_failed(command, "mpirun was ended by signal %d", WTERMSIG(status));
    return mlt_args_failed(command, "%s failed (mpirun's exit code is %d)", what,
                           WEXITSTATUS(status));
}

int mlt_mpirun_run(const mlt_arg_command *command, const char *what, char *const *argv,
                   void (*hear)(FILE *from, void *user), void *user)
{
    int ends[2] = {-1, -1};
    FILE *from = NULL;
    if (hear && pipe(ends) != 0)
        return mlt_args_failed(command, "no pipe can be made: %s", strerror(errno));
    if (hear && !(from = fdopen(ends[0], "r"))) {
        close(ends[0]);
        close(ends[1]);
        return mlt_args_failed(command, MLT_NO_ROOM "what mpirun prints");
    }
    fflush(NULL);
    // Ctrl-C goes to both; mpirun knows what to do, and this process tells how it ended.
    void (*old)(int) = signal(SIGINT, SIG_IGN);
    pid_t child = fork();
    if (child == 0) {
        signal(SIGINT, old);
        if (hear) {
            dup2(ends[1], STDOUT_FILENO);
            close(ends[0]);
            close(ends[1]);
        }
        execv(argv[0], argv);
        _exit(127);
    }
    int code = MLT_ARGS_GO;
    if (child < 0)
        code = mlt_args_failed(command, "mpirun cannot be started: %s", strerror(errno));
    if (hear) {
        close(ends[1]);
        if (child > 0)
            hear(from, user);
        fclose(from);
    }
    if (child > 0)
        code = mpirun_wait_for(command, what, child);
    signal(SIGINT, old);
    return code;
}
