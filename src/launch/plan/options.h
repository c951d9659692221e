// SPDX-License-Identifier: BSD-3-Clause
// mpirun's command line. One table (options.c) has every spelling, its argument and its help.
//
//     mpirun [options] program [arguments] [: [options] program [arguments]]...
//
// A section between colons is an app. Some options belong to their app, the rest to the job,
// wherever they stand.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "launch/plan/hosts.h"
#include "launch/plan/place.h"

// A growing list of texts, NULL at its end.
typedef struct mlt_texts {
    char **items;
    size_t count;
} mlt_texts;

void mlt_texts_add(mlt_texts *texts, char *text); // keeps the pointer
void mlt_texts_free(mlt_texts *texts);            // and the texts

typedef enum mlt_env_mode { MLT_ENV_ALL, MLT_ENV_NONE, MLT_ENV_LIST } mlt_env_mode;

typedef enum mlt_workers { MLT_WORKERS_AUTO, MLT_WORKERS_PROCESS, MLT_WORKERS_THREAD } mlt_workers;

// How fine ranks are: what each of them is, or what mpirun may make of them (launch/plan/grain.h).
typedef enum mlt_grain {
    MLT_GRAIN_AUTO,
    MLT_GRAIN_PROCESS,
    MLT_GRAIN_THREAD,
    MLT_GRAIN_FIBER,
} mlt_grain;

#define MLT_GRAIN_CHOICES "auto|process|thread|fiber" // in the order of the values

typedef struct mlt_app {
    char **argv;            // program and its arguments, NULL at the end
    uint32_t n;             // -n: workers; 0: not said
    uint32_t fine;          // -nfg: ranks a worker
    uint32_t per_host;      // -ppn, ppr:N:node: in place of the hosts' slots; 0: not said
    mlt_hosts *list, *file; // -host and -hostfile of this section; NULL: none
    const mlt_hosts *hosts; // where it may run, slots of at least 1; NULL: on this host only
    bool own_hosts;         // this section has named them, not one before
    mlt_workers workers;
    mlt_grain grain;
    bool said_fine, said_workers, said_grain; // in this section, not in one before
    uint32_t packed; // grain.h: -n counts ranks; those of a host share at most so many workers; 0:
                     // it counts workers
    char *told;      // grain.h: what was decided, for --report; NULL: nothing
    mlt_texts env;   // "K=V"
    mlt_env_mode env_mode;
    char *env_list;   // "A,B": MLT_ENV_LIST
    char *dir, *path; // -wdir, -path
    char *gpus;       // --gpus (launch/plan/deal.h); NULL: not said
} mlt_app;

typedef enum mlt_option_progress {
    MLT_PROGRESS_NONE,
    MLT_PROGRESS_LINE,  // on a terminal
    MLT_PROGRESS_PLAIN, // a line every few seconds, whatever standard error is
} mlt_option_progress;

enum { MLT_STDIN_NONE = -1, MLT_STDIN_ALL = -2 };

enum { MLT_SILENT_MS = 5000, MLT_FAN_OUT = 64 }; // what holds if nobody says otherwise

typedef struct mlt_options {
    mlt_app *apps;
    size_t app_count;
    mlt_texts env;     // "K=V", for all apps
    mlt_texts carried; // "K=V" of options that hold from their section on; in the apps' env, too
    mlt_env_mode env_mode;
    char *env_list, *dir;
    bool label, report, verbose, quiet, merge, no_local, show_plan;
    bool display_map, report_bindings, timestamp, no_oversubscribe;
    bool held;               // a debugger has started mpirun: processes wait for it (launch/mpir.h)
    mlt_texts notes;         // what is to be said about options that have no effect
    char *outfile, *errfile; // patterns; %r rank, %h host, %p process id, %% a percent sign
    char *output_directory;
    mlt_grain grain;    // MILLET_GRAIN: of sections that say nothing
    int64_t stdin_rank; // or MLT_STDIN_*
    int64_t stack_size; // 0: nobody asked
    double timeout_s;   // 0: none
    char *bind_to, *map_by, *rank_by, *cpu_set;
    mlt_mapping mapping; // what the last two say about hosts
    char *paths;         // where the path map goes; NULL: nobody asks
    char *trace;         // the file, an absolute path; NULL: nobody asks
    char *live;          // a socket's file (launch/live/live.h); NULL: none
    mlt_option_progress progress;
    char *record;       // the GOAL program that the run is to become; NULL: none
    bool trace_passing; // the trace is there for `record` only
    bool trace_part;    // --trace-only or --trace-paused
    int64_t gdb;        // rank, -1: none
    // Other hosts.
    char *rsh;         // the remote shell, with options
    char *allocation;  // where the hosts came from, if nobody named any: a sentence; NULL: they did
    char *agent;       // the program to start there; NULL: this one
    int64_t silent_ms; // a host that is silent for so long is lost
    int64_t fan_out;   // agents that one agent starts
    // Between hosts (net/iface.h): texts that can be read; NULL: every interface, any port.
    char *iface, *port_range;
    char *fabric;      // as the setting of that name; NULL: not asked for
    bool fabric_trust; // likewise
    bool encrypt;
    bool stage;            // copy programs to other hosts
    mlt_texts stage_files; // ... and these files
    const char
        *job; // the name of a spawned job (launch/children/children.h); "" or NULL: it is none
} mlt_options;

// Reads the command line and variables that stand for options. Ends mpirun on a mistake, --help and --version.
void mlt_options_read(int argc, char **argv, mlt_options *out);

// The same for a job that another one spawns (launch/children/task.h): options of the whole job, and for
// each section its options and its program with arguments. The lists have NULL at the end and live
// as long as the options.
void mlt_options_read_child(char **words, char ***sections, uint32_t count, mlt_options *out);

// The name of an initial error handler as the library knows it, whatever its case; NULL: it is none.
const char *mlt_option_errhandler(const char *name);

extern const char *const mlt_option_grains[]; // words of mlt_grain, by value

// ---- what --help prints, for mpirun's page in the manual

typedef struct mlt_option_text {
    const char *names;    // spellings, separated by blanks; NULL: a title, which is in `help`
    const char *argument; // NULL: none
    const char *help;     // NULL: accepted without effect
} mlt_option_text;

bool mlt_options_row(size_t i, mlt_option_text *out); // false: there are no more
extern const char mlt_options_usage[], mlt_options_codes[];
