// SPDX-License-Identifier: BSD-3-Clause
// Settings: one declarative table a layer, read once from the environment (MILLET_<NAME>), printed
// by `millet info`, unknown names refused. mpirun's options set the same variables.
#pragma once

#include <stddef.h>

#include "base/status.h"

typedef enum mlt_setting_kind {
    MLT_SETTING_INT,    // int64_t
    MLT_SETTING_SIZE,   // int64_t; suffixes K, M, G (powers of 1024)
    MLT_SETTING_BOOL,   // int64_t 0 or 1; 0/1, no/yes, off/on, false/true
    MLT_SETTING_CHOICE, // int64_t index into choices
    MLT_SETTING_TEXT,   // const char *, borrowed from the environment or the default
} mlt_setting_kind;

// Who shares a setting's value, and until when it can change. The tool interface reads it
// (mpi/tool/cvar.h).
typedef enum mlt_setting_scope {
    MLT_SCOPE_JOB,      // all processes of a job have the same value, from its start on
    MLT_SCOPE_PROCESS,  // a process may have its own, from its start on
    MLT_SCOPE_WORKER,   // a worker may have its own, and take another one while it runs
    MLT_SCOPE_LAUNCH,   // what starts the process has acted on it before the program runs
    MLT_SCOPE_INTERNAL, // as JOB, but mpirun's own, or for tests: users are not shown it
} mlt_setting_scope;

typedef struct mlt_setting {
    const char *name; // lower case; the variable is MILLET_ and its upper case
    mlt_setting_kind kind;
    const char *initial; // the default, as a user would write it
    const char *choices; // MLT_SETTING_CHOICE: "a|b|c"
    const char *help;    // one line: what it does and why the default is what it is
    void *value;         // where the parsed value goes: int64_t * or const char **
    mlt_setting_scope scope;
} mlt_setting;

typedef struct mlt_settings_table {
    const char *layer;
    const mlt_setting *settings;
    size_t count;
} mlt_settings_table;

enum { MLT_SETTINGS_MOST = 16 }; // tables of all layers

// Reads every setting of the tables from the environment. On a bad value or an unknown MILLET_
// variable: a message in why[why_size] and MLT_ERR_INVALID.
mlt_status mlt_settings_read(const mlt_settings_table *tables, size_t count, char *why,
                             size_t why_size) MLT_MUST_CHECK;

// The same of one table, whatever other variables there are: for who cannot wait until all are read.
mlt_status mlt_settings_read_own(const mlt_settings_table *table, char *why,
                                 size_t why_size) MLT_MUST_CHECK;

// Parses one value as the setting's kind wants it; used for mpirun's options too.
mlt_status mlt_setting_parse(const mlt_setting *setting, const char *text, char *why,
                             size_t why_size) MLT_MUST_CHECK;

// Its environment variable: "MILLET_SPIN_US".
void mlt_setting_variable(const mlt_setting *setting, char *out, size_t size);
