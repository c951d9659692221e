// SPDX-License-Identifier: BSD-3-Clause
// Commands and their options as tables: a line gives an option's name, kind, where the value goes, and help.
//
//     static uint64_t window;
//     static bool all;
//     static mlt_arg args[] = {
//         {"window", 'w', MLT_ARG_NUMBER, &window, "N",
//          .help = "at most N actions at once", .most = 1000},
//         {"all", 0, MLT_ARG_FLAG, &all, NULL, .help = "tell everything"},
//     };
//     const mlt_command mlt_goal_check = {
//         .name = "millet goal check", .help = "prove a program", .words = "FILE", .least = 1,
//         .most = 1, .purpose = "Proves a program.", .groups = {{NULL, MLT_ARG_LIST(args)}},
//         .run = check};
//
// Users write `--name value`, `--name=value`, `-w value`, `-w=value`; a single '-' is a word, no
// option. `--help` and `-h` are there always. The names of long options may be one letter: `--o`
// and `-o` are two things.
//
// A process runs one command. What ends it (mlt_args_wrong, mlt_args_failed) does so at once, and what
// it holds goes with the process; files that must not stay are removed at exit (goal/sink.h, flow/make.h).
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

typedef enum mlt_arg_kind {
    MLT_ARG_FLAG, // bool: set to true. With a word: what stands after '=' is a word of the command
    MLT_ARG_NUMBER, // uint64_t
    MLT_ARG_SIZE,   // uint64_t: bytes; suffixes K, M, G (powers of 1024)
    MLT_ARG_REAL,   // double: 0 or more
    MLT_ARG_TEXT,   // const char *: borrowed from argv
    MLT_ARG_TEXTS,  // mlt_arg_texts: each time one more
    MLT_ARG_CHOICE, // int: index into choices
} mlt_arg_kind;

typedef struct mlt_arg_texts {
    const char **items; // borrowed from argv
    size_t count;
} mlt_arg_texts;

typedef struct mlt_arg {
    const char *name; // without dashes
    char letter;      // 0: none
    mlt_arg_kind kind;
    void *value;         // where it goes; stays as it is if the option is not given
    const char *word;    // the value's name in the help: "N", "FILE"
    const char *help;    // one line; NULL: accepted, not shown
    uint64_t least;      // NUMBER, SIZE
    uint64_t most;       // NUMBER, SIZE; 0: 2^64 - 2
    const char *choices; // CHOICE: "paper|loggopsim"; a bar at the end is fine
    bool glued;          // the value may follow the letter at once: -DN=32
    bool one_dash;       // the name may have one dash: -nfg
    bool given;          // set by mlt_args_read
} mlt_arg;

typedef struct mlt_arg_group {
    const char *title; // NULL: none
    mlt_arg *args;
    size_t count;
} mlt_arg_group;

#define MLT_ARG_LIST(args) (args), sizeof(args) / sizeof *(args)

enum { MLT_ARG_GROUPS = 7 }; // the last one stays empty

typedef struct mlt_command mlt_command;
struct mlt_command {
    const char *name;    // "millet goal check": messages begin with it, users say its last word
    const char *help;    // one line, for the list of its family
    const char *words;   // that it takes, as the help shows them: "FILE..."; NULL: none
    size_t least, most;  // how many of them
    const char *purpose; // a paragraph, shown below the usage
    mlt_arg_group groups[MLT_ARG_GROUPS]; // up to the first that is empty
    void (*prepare)(void);                // called before the words are read; may be NULL
    char **
        *behind; // the words after `--`, whatever they are, up to a NULL; NULL: they are words, too
    // If not NULL: takes words that are no options of the table, and says how many; 0: it is none.
    size_t (*other)(char **words);
    int (*run)(const mlt_arg_texts *words); // returns the exit code
    // Of a family of commands:
    const mlt_command *const *all; // NULL at the end
    const char *codes;             // what exit codes mean: "0: all is well; ..."
    const char *more;              // examples, for its page in the manual (man.h)
    const mlt_command *number;     // of a number instead of a command; NULL: none
};

enum {
    MLT_EXIT_FINE = 0,
    MLT_EXIT_FOUND = 1, // findings, or the input is at fault
    MLT_EXIT_WRONG = 2, // the command line is
};

// Reads the words after the command's name; ends with a message if something is wrong with them. False
// after --help and --help=man (man.h): there is nothing more to do.
bool mlt_args_read(const mlt_command *command, char **argv, mlt_arg_texts *words) MLT_MUST_CHECK;

// The name of the command that runs.
const char *mlt_args_command(void);

// Write "name: message" to standard error and end with MLT_EXIT_WRONG or MLT_EXIT_FOUND.
_Noreturn void mlt_args_wrong(const char *format, ...) MLT_PRINTF(1, 2);
_Noreturn void mlt_args_failed(const char *format, ...) MLT_PRINTF(1, 2);

// For calls that have a message where they fail: mlt_args_must(mlt_goal_read(..., MLT_ARGS_WHY)).
enum { MLT_ARGS_WHY_BYTES = 4096 };
extern char mlt_args_why[MLT_ARGS_WHY_BYTES];
#define MLT_ARGS_WHY mlt_args_why, sizeof mlt_args_why
void mlt_args_must(mlt_status status); // unless it is MLT_OK, ends with that message

// The first of these options (names between blanks) that was given; NULL: none was.
const char *mlt_args_given(const mlt_arg *args, size_t count, const char *names);

void mlt_arg_texts_add(mlt_arg_texts *texts, const char *text);

// One value, as the kind wants it; `what` is how errors call it ("option --window"). On a bad one:
// false and a message in mlt_args_why.
bool mlt_arg_parse(const mlt_arg *arg, const char *what, const char *text) MLT_MUST_CHECK;
