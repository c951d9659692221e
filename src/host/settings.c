// SPDX-License-Identifier: BSD-3-Clause
#include "host/settings.h"

#include "image/mode.h"

mlt_host_conf mlt_host_settings;

static const mlt_setting settings[] = {
    {"globals", MLT_SETTING_CHOICE, MLT_GLOBALS_DEFAULT, MLT_GLOBALS_CHOICES,
     "whose the program's global variables are where ranks share a process. private: each rank has "
     "its own, or the job does not start; auto: each has its own where that is possible; shared: "
     "they have them in common. mpirun --globals sets it",
     &mlt_host_settings.globals, MLT_SCOPE_LAUNCH},
    {"globals_mappings", MLT_SETTING_INT, "0", NULL,
     "the most mappings of a process (vm.max_map_count) that copies of globals take; 0: all but "
     "4,096. Where that is too few for all ranks, ranks share mappings, which may then be written "
     "and executed",
     &mlt_host_settings.globals_mappings, MLT_SCOPE_LAUNCH},
    {"private_libraries", MLT_SETTING_TEXT, "", NULL,
     "libraries of which each rank has its own copy, too, though Millet usually shares them: the "
     "beginnings of their names, with commas between",
     &mlt_host_settings.private_libraries, MLT_SCOPE_LAUNCH},
    {"shared_libraries", MLT_SETTING_TEXT, "", NULL,
     "libraries of which ranks have no copy of their own: the beginnings of their names, with "
     "commas between",
     &mlt_host_settings.shared_libraries, MLT_SCOPE_LAUNCH},
    {"label", MLT_SETTING_BOOL, "no", NULL,
     "each line of output begins with [rank], in processes that hold several ranks; mpirun -l sets "
     "it",
     &mlt_host_settings.label, MLT_SCOPE_LAUNCH},
    {"timestamp", MLT_SETTING_BOOL, "no", NULL,
     "each line of output begins with date and time, in processes that hold several ranks; mpirun "
     "--timestamp sets it",
     &mlt_host_settings.timestamp, MLT_SCOPE_LAUNCH},
    {"job", MLT_SETTING_TEXT, "", NULL,
     "the name of a job that MPI_Comm_spawn has started, which stands in its labels: [1:rank]; "
     "mpirun sets it",
     &mlt_host_settings.job, MLT_SCOPE_INTERNAL},
    {"outfile", MLT_SETTING_TEXT, "", NULL,
     "standard output of each rank goes into a file of this name, in which %r is the rank, %h the "
     "host and %p the process id; mpirun -outfile-pattern sets it",
     &mlt_host_settings.outfile, MLT_SCOPE_LAUNCH},
    {"errfile", MLT_SETTING_TEXT, "", NULL,
     "standard error of each rank goes into a file of this name, in which %r is the rank, %h the "
     "host and %p the process id; mpirun -errfile-pattern sets it",
     &mlt_host_settings.errfile, MLT_SCOPE_LAUNCH},
    {"stdin", MLT_SETTING_TEXT, "0", NULL,
     "the rank that has standard input, or all, or none, in processes that hold several ranks; "
     "mpirun --stdin sets it",
     &mlt_host_settings.input, MLT_SCOPE_LAUNCH},
    {"nfg", MLT_SETTING_INT, "1", NULL,
     "ranks of each worker of a process that mpirun has not started: under srun or another MPI's "
     "launcher N processes make N times as many ranks. Under mpirun -nfg says it",
     &mlt_host_settings.nfg, MLT_SCOPE_LAUNCH},
    {"threads", MLT_SETTING_INT, "1", NULL,
     "workers of a process that mpirun has not started, each a thread with nfg ranks",
     &mlt_host_settings.threads, MLT_SCOPE_LAUNCH},
    {"alone", MLT_SETTING_BOOL, "no", NULL,
     "makes each process that mpirun has not started a job of its own, whatever launcher has",
     &mlt_host_settings.alone, MLT_SCOPE_LAUNCH},
};

const mlt_settings_table mlt_host_settings_table = {"host", settings,
                                                    sizeof settings / sizeof *settings};
