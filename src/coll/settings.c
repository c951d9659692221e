// SPDX-License-Identifier: BSD-3-Clause
#include "coll/settings.h"

mlt_coll_conf mlt_coll_conf_now;

static const mlt_setting settings[] = {
    {"coll", MLT_SETTING_TEXT, "", NULL,
     "a Lua file of rules and algorithms for collectives; mpirun --coll sets and checks it",
     &mlt_coll_conf_now.file, MLT_SCOPE_JOB},
    {"coll_sum", MLT_SETTING_TEXT, "", NULL,
     "the sum of the bytes of that file, which mpirun sets; a process that finds another one ends",
     &mlt_coll_conf_now.sum, MLT_SCOPE_INTERNAL},
    {"coll_hosts", MLT_SETTING_TEXT, "", NULL,
     "the names of the job's hosts, for paths that name one; mpirun sets it if there is such a "
     "file",
     &mlt_coll_conf_now.hosts, MLT_SCOPE_INTERNAL},
    {"force", MLT_SETTING_TEXT, "", NULL,
     "algorithms whatever the rules say, such as allreduce=ring:segment=8K,bcast=chain; mpirun "
     "--force sets and checks it",
     &mlt_coll_conf_now.force, MLT_SCOPE_JOB},
    {"coll_trace", MLT_SETTING_TEXT, "", NULL,
     "the file that paths with `trace` append their lines to; empty: standard error",
     &mlt_coll_conf_now.trace, MLT_SCOPE_PROCESS},
    {"paths", MLT_SETTING_BOOL, "no", NULL,
     "measure the stages of all collectives, also of those without a path; mpirun --paths sets it",
     &mlt_coll_conf_now.paths, MLT_SCOPE_JOB},
    {"pretend_hosts", MLT_SETTING_INT, "0", NULL,
     "divide the workers of a job on one host among so many hosts for collectives, as if they were "
     "there: to study and test collectives over hosts on one machine",
     &mlt_coll_conf_now.pretend_hosts, MLT_SCOPE_INTERNAL},
    {"pretend_order", MLT_SETTING_CHOICE, "blocks", "blocks|turn",
     "how pretend_hosts divides them: in blocks, or in turn, as mpirun --map-by node does",
     &mlt_coll_conf_now.pretend_order, MLT_SCOPE_INTERNAL},
};

const mlt_settings_table mlt_coll_settings = {"coll", settings, sizeof settings / sizeof *settings};
