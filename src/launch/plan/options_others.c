// SPDX-License-Identifier: BSD-3-Clause
// Options that people type from habit of another MPI: what they mean here, or the nearest way.
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/text.h"
#include "launch/plan/options_table.h"
#include "launch/say.h"

enum { MOST_CORES = 1 << 16 };

typedef struct other {
    const char *names; // without dashes, separated by blanks
    int words;         // that follow it
    bool refused;      // the job would be another one; otherwise it starts, and a note is printed
    const char *nearest;
} other;

static const other others[] = {
    {"rankfile rf", 1, true,
     "there are no files of ranks; -hostfile or -host with slots, --map-by and --cpu-set say where "
     "ranks run, and --show-plan shows it"},
    {"with-ft enable-recovery", 1, true,
     "a job does not survive the failure of a rank; it is ended, and mpirun says which rank failed "
     "and why"},
    {"ckpointlib ckpoint-prefix ckpoint-interval", 1, true,
     "there are no checkpoints; the program must write its own"},
    {"disable-auto-cleanup", 0, false, "has no effect: a rank that fails in MPI ends the job"},
    {"print-all-exitcodes", 0, false,
     "has no effect: mpirun prints the first exit code that is not 0, and how many ranks failed"},
    {"stream-buffering", 1, false,
     "has no effect: each rank buffers its output as it would alone; `stdbuf -oL ./program` makes "
     "it write line by line"},
    {"get-stack-traces", 0, false,
     "has no effect: at a time limit mpirun prints the call of each rank; `gdb -p` shows the stack "
     "of a process that mpirun -v has named"},
    {"membind", 1, false,
     "has no effect: memory lies where the rank that touches it first is pinned; `numactl` before "
     "the program binds it"},
    {"tv debug debugger", 0, true,
     "start the debugger on mpirun, as in `totalview mpirun -a -n 4 ./program`, or let it attach; "
     "--gdb "
     "R starts rank R under gdb"},
    {"xml xml-file", 0, true, "output is not wrapped in XML; -l and --timestamp tell lines apart"},
};

bool mlt_option_lists(const char *list, const char *between, const char *word, size_t length)
{
    for (const char *at = list; *at; at += strspn(at, between)) {
        size_t n = strcspn(at, between);
        if (n == length && strncmp(at, word, n) == 0)
            return true;
        at += n;
    }
    return false;
}

bool mlt_option_of_others(mlt_option_reader *r)
{
    const char *name = r->option + strspn(r->option, "-");
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        const other *o = &others[i];
        if (!mlt_option_lists(o->names, " ", name, strlen(name)))
            continue;
        if (o->refused)
            mlt_quit(MLT_EXIT_USAGE, "option %s: %s", r->option, o->nearest);
        for (int w = 0; w < o->words; w++)
            (void)mlt_option_word(r);
        mlt_texts_add(&r->o->notes, mlt_text_of("option %s %s", r->option, o->nearest));
        return true;
    }
    return false;
}

// One word of --output, without qualifiers.
static bool take_one(mlt_options *o, const char *text, size_t n)
{
    static const struct {
        const char *word;
        size_t at;
    } flags[] = {{"tag", offsetof(mlt_options, label)},
                 {"rank", offsetof(mlt_options, label)},
                 {"timestamp", offsetof(mlt_options, timestamp)},
                 {"merge", offsetof(mlt_options, merge)},
                 {"merge-stderr-to-stdout", offsetof(mlt_options, merge)}};
    static const char *const folders[] = {"dir=", "directory="};
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
        if (strlen(flags[i].word) == n && strncasecmp(flags[i].word, text, n) == 0) {
            *(bool *)((char *)o + flags[i].at) = true;
            return true;
        }
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        size_t prefix = strlen(folders[i]);
        if (n <= prefix || strncasecmp(folders[i], text, prefix) != 0)
            continue;
        o->output_directory = mlt_text_of("%.*s", (int)(n - prefix), text + prefix);
        return true;
    }
    return false;
}

void mlt_option_take_output(mlt_option_reader *r, const mlt_option_row *row)
{
    const char *list = mlt_option_word(r);
    for (const char *at = list;; at++) {
        size_t n = strcspn(at, ",");
        if (!take_one(r->o, at, n))
            mlt_quit(MLT_EXIT_USAGE,
                     "option %s: '%.*s' should be tag, timestamp, merge or dir=DIR; "
                     "-outfile-pattern names a file for each rank",
                     r->option, (int)n, at);
        at += n;
        if (!*at)
            break;
    }
}

void mlt_option_take_cores(mlt_option_reader *r, const mlt_option_row *row)
{
    int64_t cores = mlt_option_number(r, 1, MOST_CORES);
    const char *map_by = r->o->map_by ? r->o->map_by : "slot";
    r->value = mlt_text_of("%s:PE=%lld", map_by, (long long)cores);
    mlt_option_take_mapping(r, row);
}
