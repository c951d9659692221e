// SPDX-License-Identifier: BSD-3-Clause
#include "boot/foreign/launcher.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

long mlt_launcher_env_number(const char *variable)
{
    const char *text = getenv(variable);
    if (!text)
        return -1;
    char *end;
    errno = 0;
    long n = strtol(text, &end, 10);
    return errno || end == text || *end || n < 0 ? -1 : n;
}

// ---- Launchers that can be talked to

// Who stands behind a protocol, by the variables that it sets besides. Only for messages.
static const char *name_of(const char *otherwise)
{
    static const struct {
        const char *variable, *name;
    } names[] = {
        {"SLURM_STEP_ID", "Slurm's srun"},
        {"FLUX_JOB_ID", "flux"},
        {"PALS_APID", "PALS"},
        {"JSM_NAMESPACE_SIZE", "jsrun"},
        {"PRTE_LAUNCHED", "prterun"},
        {"OMPI_COMM_WORLD_SIZE", "Open MPI's mpirun"},
        {"HYDI_CONTROL_FD", "Hydra's mpiexec"},
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (getenv(names[i].variable))
            return names[i].name;
    return otherwise;
}

static bool has_pmi(void)
{
    return getenv("PMI_FD") || getenv("PMI_PORT");
}

static bool has_pmix(void)
{
    return getenv("PMIX_RANK") != NULL;
}

// The only process of its launcher needs nobody to talk to.
static bool is_singleton(void)
{
    if (has_pmi() && mlt_launcher_env_number("PMI_SIZE") == 1)
        return true;
    return has_pmix() && (mlt_launcher_env_number("OMPI_COMM_WORLD_SIZE") == 1 ||
                          mlt_launcher_env_number("SLURM_STEP_NUM_TASKS") == 1);
}

// ---- Launchers that cannot be talked to

typedef struct silent_launcher {
    const char *variable, *also; // that its processes have
    const char *size;            // how many of them there are
    const char *name, *remedy;
} silent_launcher;

static const silent_launcher silent_launchers[] = {
    {"OMPI_COMM_WORLD_SIZE", NULL, "OMPI_COMM_WORLD_SIZE", "Open MPI's mpirun",
     "it offers no PMIx here; use Millet's mpirun"},
    {"PALS_RANKID", NULL, "PALS_SIZE", "PALS's mpiexec",
     "let it offer PMIx (mpiexec --pmi=pmix), or use Millet's mpirun inside the allocation"},
    {"FLUX_TASK_RANK", NULL, "FLUX_JOB_SIZE", "flux",
     "let it offer PMI (flux run -o pmi=simple), or use Millet's mpirun inside the allocation"},
    {"JSM_NAMESPACE_RANK", NULL, "JSM_NAMESPACE_SIZE", "jsrun",
     "it offers no PMIx here; use Millet's mpirun inside the allocation"},
    {"PMI_RANK", NULL, "PMI_SIZE", "a launcher that speaks PMI",
     "it has set neither PMI_FD nor PMI_PORT; use Millet's mpirun"},
    {"MPIRUN_RANK", NULL, "MPIRUN_NPROCS", "MVAPICH's mpirun_rsh", "use Millet's mpirun"},
    {"SLURM_PROCID", "SLURM_STEP_ID", "SLURM_STEP_NUM_TASKS", "Slurm's srun",
     "start the program with srun --mpi=pmi2 or --mpi=pmix, or with Millet's mpirun inside the "
     "allocation"},
};

// NULL: none, or one that has started this process only.
static const silent_launcher *find_silent(void)
{
    for (size_t i = 0; i < sizeof silent_launchers / sizeof *silent_launchers; i++)
        if (getenv(silent_launchers[i].variable) &&
            (!silent_launchers[i].also || getenv(silent_launchers[i].also)) &&
            mlt_launcher_env_number(silent_launchers[i].size) > 1)
            return &silent_launchers[i];
    return NULL;
}

static bool wants_alone(void)
{
    const char *alone = getenv("MILLET_ALONE");
    return alone && (strcmp(alone, "1") == 0 || strcmp(alone, "yes") == 0 ||
                     strcmp(alone, "on") == 0 || strcmp(alone, "true") == 0);
}

mlt_status mlt_launcher_find(mlt_launcher *l, char *why, size_t why_size)
{
    *l = (mlt_launcher){.fd = -1};
    if (wants_alone() || is_singleton())
        return MLT_OK;
    if (has_pmi() || has_pmix()) {
        l->protocol = has_pmi() ? &mlt_protocol_pmi : &mlt_protocol_pmix;
        l->name = name_of(has_pmi() ? "a PMI launcher" : "a PMIx launcher");
        return MLT_OK;
    }
    const silent_launcher *found = find_silent();
    if (!found)
        return MLT_OK;
    return mlt_fail(
        MLT_ERR_UNSUPPORTED, why, why_size,
        "this program was started by %s as one of %ld processes, but has no way to talk to "
        "it: %s. MILLET_ALONE=1 makes each process a job of its own",
        found->name, mlt_launcher_env_number(found->size), found->remedy);
}
