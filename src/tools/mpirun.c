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
#include "tools/args.h"

void mlt_mpirun_beside(const char *name, char path[PATH_MAX])
{
    char self[PATH_MAX];
    if (!realpath(mlt_os_program(), self))
        mlt_args_failed("where Millet lies cannot be found: %s", strerror(errno));
    char *slash = strrchr(self, '/');
    if (slash)
        *slash = '\0';
    if (snprintf(path, PATH_MAX, "%s/%s", self, name) >= PATH_MAX || access(path, X_OK) != 0)
        mlt_args_failed("'%s' is missing, which belongs to Millet", path);
}

mlt_mpirun mlt_mpirun_find(const char *program)
{
    mlt_mpirun found;
    char name[64];
    snprintf(name, sizeof name, "../libexec/millet/%s", program);
    mlt_mpirun_beside("mpirun", found.path);
    mlt_mpirun_beside(name, found.ranks);
    return found;
}

void mlt_mpirun_run(const char *what, char *const *argv, void (*hear)(FILE *from, void *user),
                    void *user)
{
    int ends[2] = {-1, -1}, status;
    FILE *from = NULL;
    if (hear && pipe(ends) != 0)
        mlt_args_failed("no pipe can be made: %s", strerror(errno));
    if (hear && !(from = fdopen(ends[0], "r")))
        mlt_args_failed(MLT_NO_ROOM "what mpirun prints");
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
    if (child < 0)
        mlt_args_failed("mpirun cannot be started: %s", strerror(errno));
    if (hear) {
        close(ends[1]);
        hear(from, user);
        fclose(from);
    }
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            mlt_args_failed("waiting for mpirun failed: %s", strerror(errno));
    signal(SIGINT, old);
    if (WIFSIGNALED(status))
        mlt_args_failed("mpirun was ended by signal %d", WTERMSIG(status));
    if (WEXITSTATUS(status) != 0)
        mlt_args_failed("%s failed (mpirun's exit code is %d)", what, WEXITSTATUS(status));
}
