// SPDX-License-Identifier: BSD-3-Clause
// Options of a command as a table: one line gives name, kind, where the value goes, and help.
//
//     uint64_t window = 0;
//     bool all = false;
//     const mlt_arg args[] = {
//         {"window", 'w', MLT_ARG_NUMBER, &window, "N",
//          .help = "at most N actions at once", .most = 1000},
//         {"all", 0, MLT_ARG_FLAG, &all, NULL, .help = "tell everything"},
//     };
//     const mlt_arg_group groups[] = {{NULL, args, 2}};
//     const mlt_arg_command command = {
//         .name = "millet goal check", .words = "FILE", .least = 1, .most = 1,
//         .purpose = "Proves a program.", .groups = groups, .count = 1};
//     mlt_arg_texts files = {NULL, 0};
//     int code = mlt_args_read(&command, argc, argv, &files, NULL);
//     if (code != MLT_ARGS_GO)
//         return code;
//
// Users write `--name value`, `--name=value`, `-w value`, `-w=value`; a single '-' is a word, no
// option. `--help` and `-h` are there always. The names of long options may be one letter: `--o`
// and `-o` are two things.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

typedef enum mlt_arg_kind {
    MLT_ARG_FLAG,   // bool: set to true
    MLT_ARG_NUMBER, // uint64_t
    MLT_ARG_SIZE,   // uint64_t: bytes; suffixes K, M, G (powers of 1024)
    MLT_ARG_REAL,   // double: 0 or more
    MLT_ARG_TEXT,   // const char *: borrowed from argv
    MLT_ARG_TEXTS,  // mlt_arg_texts: each time one more
    MLT_ARG_CHOICE, // int: index into choices
} mlt_arg_kind;

typedef struct mlt_arg_texts {
    const char **items; // borrowed from argv; the array is freed with mlt_arg_texts_free
    size_t count;
} mlt_arg_texts;

typedef struct mlt_arg {
    const char *name; // without dashes
    char letter;      // 0: none
    mlt_arg_kind kind;
    void *value;         // where it goes; stays as it is if the option is not given
    const char *word;    // the value's name in the help: "N", "FILE"; not for flags
    const char *help;    // one line; NULL: accepted, not shown
    uint64_t least;      // NUMBER, SIZE
    uint64_t most;       // NUMBER, SIZE; 0: 2^64 - 2
    const char *choices; // CHOICE: "paper|loggopsim"; a bar at the end is fine
} mlt_arg;

typedef struct mlt_arg_group {
    const char *title; // NULL: none
    const mlt_arg *args;
    size_t count;
} mlt_arg_group;

typedef struct mlt_arg_command {
    const char *name;    // "millet goal check": errors begin with it
    const char *words;   // the words that it takes, as the help shows them: "FILE..."
    size_t least, most;  // how many of them
    const char *purpose; // messages, shown below the usage
    const mlt_arg_group *groups;
    size_t count;
} mlt_arg_command;

enum {
    MLT_ARGS_GO = -1, // go on
    MLT_EXIT_FINE = 0,
    MLT_EXIT_FOUND = 1, // findings, or the input is at fault
    MLT_EXIT_WRONG = 2, // the command line is
};

// Reads argv[1..]. Returns MLT_ARGS_GO; or, after --help, --help=man (man.h) or an error message,
// the exit code, and then nothing is left to free. Words that are no options go to `words`.
// *behind: the words after `--`, whatever they are, up to a NULL. If behind is NULL, these words go
// to `words`, too.
int mlt_args_read(const mlt_arg_command *command, int argc, char **argv, mlt_arg_texts *words,
                  char ***behind) MLT_MUST_CHECK;

// Write "name: message" to standard error. They return MLT_EXIT_WRONG and MLT_EXIT_FOUND.
int mlt_args_wrong(const mlt_arg_command *command, const char *format, ...) MLT_PRINTF(2, 3);
int mlt_args_failed(const mlt_arg_command *command, const char *format, ...) MLT_PRINTF(2, 3);

void mlt_arg_texts_add(mlt_arg_texts *texts, const char *text);
void mlt_arg_texts_free(mlt_arg_texts *texts);

// One value, as the kind wants it; `what` is how errors call it ("option --window"). On a bad one:
// false and a message.
bool mlt_arg_parse(const mlt_arg *arg, const char *what, const char *text, char *why,
                   size_t why_size) MLT_MUST_CHECK;
