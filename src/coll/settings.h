// SPDX-License-Identifier: BSD-3-Clause
// Settings of collectives; read once before the first worker starts, constant afterwards.
#pragma once

#include <stdint.h>

#include "base/settings.h"

typedef struct mlt_coll_conf {
    const char *file;  // a rule book (rulebook.h); "": none
    const char *sum;   // of the rule book, as mpirun has proven it; "": not known
    const char *hosts; // of the job, in their order: "a,b"; "": one, or not known
    const char *force; // as mlt_coll_force_parse reads it; "": nothing
    const char *trace; // where traces go; "": standard error
    int64_t paths;     // 1: all calls are measured
    int64_t pretend_hosts, pretend_order; // where.h
} mlt_coll_conf;

extern mlt_coll_conf mlt_coll_conf_now;
extern const mlt_settings_table mlt_coll_settings;
