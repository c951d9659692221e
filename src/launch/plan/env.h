// SPDX-License-Identifier: BSD-3-Clause
// The environment of the job's processes.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "launch/plan/options.h"
#include "launch/plan/plan.h"

enum { MLT_ENV_OWN = 16 }; // variables that differ between processes, at most

typedef struct mlt_env {
    char **items; // NULL at the end; the last ones are the process's own
    size_t common;
    char *library_path; // "LD_LIBRARY_PATH=..." with this mpirun's library in front; may be NULL
    char own[MLT_ENV_OWN][64];
    char host[272]; // "MILLET_HOST=..." of a job over several: the name that the caller gave it
} mlt_env;

// What the caller of mpirun wants all processes of an app to have; freed by mlt_env_fini.
void mlt_env_collect(mlt_env *env, const mlt_options *options, const mlt_app *app);

// The same, and what this host adds to it: what all processes of an app have in common.
void mlt_env_init(mlt_env *env, const mlt_options *options, const mlt_app *app);

// True of a variable ("K=V") that means something on one host only, or in one login (HOSTNAME,
// SSH_AUTH_SOCK, DISPLAY of this host's screen), unless an option has set it. Processes on other
// hosts do not get it from mpirun but have what their own host's login says.
bool mlt_env_is_local(const char *variable, const mlt_options *options, const mlt_app *app);

// Adds such variables of this process to the list, if they are not in it. The texts stay.
void mlt_env_add_local(mlt_texts *list);
void mlt_env_fini(mlt_env *env);

// Adds or replaces "K=V" (the pointer is kept) among the common ones.
void mlt_env_put(mlt_env *env, char *variable);

// The value of a variable among the common ones; NULL if it is not there.
const char *mlt_env_value(const mlt_env *env, const char *name);

typedef struct mlt_env_proc {
    uint32_t proc;
    int job_fd, ctl_fd;
} mlt_env_proc;

// The environment of one process; valid until the next call.
char **mlt_env_for(mlt_env *env, const mlt_placement *plan, const mlt_env_proc *own);
