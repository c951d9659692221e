// SPDX-License-Identifier: BSD-3-Clause
// mpirun's options, one row each: spellings, help, and what taking one does. options.c reads the
// command line by it.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "launch/plan/options.h"

typedef struct mlt_option_reader {
    mlt_options *o;
    mlt_app *app;       // the current section's
    char **words;       // NULL at the end
    char *value;        // of "--option=value", until it is taken
    const char *option; // as the user wrote it
    bool in_file;       // words come from a -configfile
    bool ended;         // the section's program is next, whatever it begins with
    bool took_file;     // the current section named one ...
    size_t file_app;    // ... whose first section has this index
    size_t env_before;  // what o->env had when it began
} mlt_option_reader;

typedef struct mlt_option_row {
    const char *names;    // spellings, separated by blanks; one or two dashes make no difference
    const char *argument; // as --help shows it; NULL: none
    void (*take)(mlt_option_reader *reader, const struct mlt_option_row *row);
    size_t at;        // offset in mlt_options, of flags and texts
    const char *help; // NULL: accepted, not shown
} mlt_option_row;

// A row without names starts a group; its help is the group's title.
extern const mlt_option_row mlt_option_rows[];
extern const size_t mlt_option_row_count;

// These end mpirun with a sentence if a value is wrong.

// The option's value: what stands behind "=", or the next word.
char *mlt_option_word(mlt_option_reader *reader);

// The same as a whole number.
int64_t mlt_option_number(mlt_option_reader *reader, int64_t least, int64_t most);

// --map-by and --rank-by: `at` of the row is the text.
void mlt_option_take_mapping(mlt_option_reader *reader, const mlt_option_row *row);
void mlt_option_take_fan_out(mlt_option_reader *reader, const mlt_option_row *row);
double mlt_option_seconds(const char *where, const char *text);
int64_t mlt_option_silence(const char *where, const char *text); // in ms

// The first of some variables that is set and not empty, and its name; NULL: none. `names` ends with
// NULL.
char *mlt_option_variable(const char *const *names, const char **found);
bool mlt_option_is_yes(const char *variable);

// The list has a word of that length, whose words have such characters between them.
bool mlt_option_lists(const char *list, const char *between, const char *word, size_t length);

// ---- options_others.c: options of other MPIs' mpirun

// An option that is not in the table: true if it is known all the same, and was taken. Ends mpirun
// if nothing here does what it means, with the nearest way.
bool mlt_option_of_others(mlt_option_reader *reader);

// Open MPI's --output LIST, and its --cpus-per-rank N, which is --map-by PE=N.
void mlt_option_take_output(mlt_option_reader *reader, const mlt_option_row *row);
void mlt_option_take_cores(mlt_option_reader *reader, const mlt_option_row *row);

// What variables say about networks, before options do; and what holds when all is said.
void mlt_option_net_variables(mlt_options *options);
void mlt_option_settle_fabric(mlt_options *options);

// Options that read more options: in options.c.
void mlt_option_take_configfile(mlt_option_reader *reader, const mlt_option_row *row);
void mlt_option_take_help(mlt_option_reader *reader, const mlt_option_row *row);
