// SPDX-License-Identifier: BSD-3-Clause
#include "launch/plan/allocation.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "launch/program/program.h"
#include "launch/say.h"

static const char slurm_nodes[] = "SLURM_JOB_NODELIST", slurm_counts[] = "SLURM_TASKS_PER_NODE";

// ---- Slurm

static _Noreturn void refuse_counts(const char *text)
{
    mlt_quit(MLT_EXIT_USAGE, "%s is '%s', but should be as '4(x2),3' is", slurm_counts, text);
}

// Digits; returns their end.
static const char *allocation_take_number(const char *whole, const char *at, uint32_t most,
                                          uint32_t *out)
{
    char *end;
    if (!isdigit((unsigned char)*at))
        refuse_counts(whole);
    errno = 0;
    unsigned long n = strtoul(at, &end, 10);
    if (errno || n > most)
        refuse_counts(whole);
    *out = (uint32_t)n;
    return end;
}

// "4(x2),3": the slots of the hosts, in their order.
static void set_slurm_slots(mlt_hosts *hosts, const char *text)
{
    uint32_t next = 0, slots, times;
    for (const char *at = text;; at++) {
        at = allocation_take_number(text, at, MLT_HOSTS_MOST_SLOTS, &slots);
        times = 1;
        if (strncmp(at, "(x", 2) == 0) {
            at = allocation_take_number(text, at + 2, MLT_HOSTS_MOST, &times);
            if (*at++ != ')')
                refuse_counts(text);
        }
        for (; times > 0 && next < hosts->count; times--)
            hosts->hosts[next++].slots = slots;
        if (times > 0 || (*at && *at != ','))
            refuse_counts(text);
        if (!*at)
            break;
    }
    if (next < hosts->count)
        mlt_quit(MLT_EXIT_USAGE, "%s '%s' is for %u hosts, but %s names %u", slurm_counts, text,
                 next, slurm_nodes, hosts->count);
}

void mlt_allocation_read_slurm(mlt_hosts *hosts, const char *nodes, const char *counts)
{
    mlt_hosts_add_list(hosts, slurm_nodes, nodes);
    if (counts && *counts)
        set_slurm_slots(hosts, counts);
}

static void read_slurm(mlt_hosts *hosts, const char *variable, const char *value)
{
    mlt_allocation_read_slurm(hosts, value, getenv(slurm_counts));
}

// ---- Others

void mlt_allocation_read_pairs(mlt_hosts *hosts, const char *source, const char *text)
{
    char *copy = mlt_text_of("%s", text), *rest = NULL;
    for (char *name = strtok_r(copy, " \t\n", &rest); name; name = strtok_r(NULL, " \t\n", &rest)) {
        const char *slots = strtok_r(NULL, " \t\n", &rest);
        if (!slots)
            mlt_quit(MLT_EXIT_USAGE, "%s names '%s' without a number of slots", source, name);
        char *word = mlt_text_of("%s:%s", name, slots);
        mlt_hosts_add_list(hosts, source, word);
        free(word);
    }
    free(copy);
}

static void read_pe_hostfile(mlt_hosts *hosts, const char *variable, const char *value)
{
    mlt_hosts_add_columns(hosts, value);
}

static void read_nodefile(mlt_hosts *hosts, const char *variable, const char *value)
{
    mlt_hosts_add_file(hosts, value);
}

// ---- The systems

// srun passes on bytes as they come with -u, and lines without.
static char *slurm_remote_shell(void)
{
    const char *job = getenv("SLURM_JOB_ID");
    bool number = job && *job && job[strspn(job, "0123456789")] == '\0';
    return mlt_text_of("srun%s%s -N1 -n1 --overlap --mpi=none --cpu-bind=none --mem=0 "
                       "--gres=none -u -Q -w",
                       number ? " --jobid=" : "", number ? job : "");
}

typedef struct batch_system {
    const char *name, *variable;
    void (*read)(mlt_hosts *hosts, const char *variable, const char *value);
    const char *tool, *shell; // the words that come before a host; tool NULL: ssh
} batch_system;

static const batch_system systems[] = {
    {"Slurm", slurm_nodes, read_slurm, "srun", NULL},
    {"PBS", "PBS_NODEFILE", read_nodefile, NULL, NULL},
    {"LSF", "LSB_DJOB_HOSTFILE", read_nodefile, "blaunch", "blaunch"},
    {"LSF", "LSB_MCPU_HOSTS", mlt_allocation_read_pairs, "blaunch", "blaunch"},
    {"Grid Engine", "PE_HOSTFILE", read_pe_hostfile, "qrsh", "qrsh -inherit"},
    {"OAR", "OAR_NODEFILE", read_nodefile, "oarsh", "oarsh"},
};

static char *remote_shell_of(const batch_system *system)
{
    if (!system->tool || !mlt_program_is_there(system->tool, NULL, NULL))
        return NULL;
    return system->shell ? mlt_text_of("%s", system->shell) : slurm_remote_shell();
}

bool mlt_allocation_find(mlt_allocation *found, mlt_hosts *hosts)
{
    for (size_t i = 0; i < sizeof systems / sizeof *systems; i++) {
        const batch_system *system = &systems[i];
        const char *value = getenv(system->variable);
        if (!value || !*value)
            continue;
        system->read(hosts, system->variable, value);
        *found = (mlt_allocation){system->name, system->variable, remote_shell_of(system)};
        return true;
    }
    return false;
}
