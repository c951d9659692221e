// SPDX-License-Identifier: BSD-3-Clause
#include "launch/sweep.h"

#include <ctype.h>
#include <dirent.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/memory.h"
#include "os/os.h"

enum { SWEEP_MOST_ROUNDS = 1000 }; // of a millisecond

typedef struct sweep_entry {
    pid_t pid, parent;
    bool ours;
} sweep_entry;

static size_t list_processes(sweep_entry **out)
{
    sweep_entry *list = NULL;
    size_t count = 0;
    DIR *proc = opendir("/proc");
    for (struct dirent *e; proc && (e = readdir(proc));) {
        if (!isdigit((unsigned char)e->d_name[0]))
            continue;
        list = mlt_xrealloc(list, count + 1, sizeof *list);
        sweep_entry *next = &list[count++];
        *next = (sweep_entry){.pid = (pid_t)atol(e->d_name)};
        (void)mlt_os_state_of(next->pid, 0, &next->parent);
    }
    if (proc)
        closedir(proc);
    *out = list;
    return count;
}

static bool sweep_is_ours(const sweep_entry *list, size_t count, pid_t pid)
{
    if (pid == getpid())
        return true;
    for (size_t i = 0; i < count; i++)
        if (list[i].pid == pid)
            return list[i].ours;
    return false;
}

static void kill_descendants(void)
{
    sweep_entry *list;
    size_t count = list_processes(&list);
    for (bool again = true; again;) {
        again = false;
        for (size_t i = 0; i < count; i++)
            if (!list[i].ours && list[i].parent > 0 && sweep_is_ours(list, count, list[i].parent))
                again = list[i].ours = true;
    }
    for (size_t i = 0; i < count; i++)
        if (list[i].ours)
            (void)kill(list[i].pid, SIGKILL);
    free(list);
}

void mlt_sweep(void)
{
    for (int round = 0; round < SWEEP_MOST_ROUNDS; round++) {
        pid_t pid;
        while ((pid = waitpid(-1, NULL, WNOHANG)) > 0)
            ;
        if (pid < 0)
            return; // no child left
        kill_descendants();
        (void)nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
}
