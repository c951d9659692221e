// SPDX-License-Identifier: BSD-3-Clause
// A program from what the user gave: a file (text of either dialect, an image, LogGOPSim's binary:
// told apart by content; '-' is standard input), a Lua script with --ranks, or an algorithm with its
// shape: a built-in one by --alg, or one of a rule book (lua/rulebook.h), FILE.lua or FILE.lua:NAME.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "coll/alg/alg.h"
#include "coll/alg/hosts/map.h"
#include "coll/choose.h"
#include "goal/program.h"
#include "goal/regular/regular.h"
#include "goal/text/text.h"
#include "tools/args.h"

enum { MLT_SOURCE_ARGS = 17 };

// What the user asked for, of options that say which program.
typedef struct mlt_source_options {
    mlt_arg_texts algs;
    const char *op, *type, *blocks, *contributors, *receivers;
    uint64_t ranks, hosts, count, root, segment, radix, throttle, steps;
    bool in_place, in_turn;
    mlt_arg_texts set;
    bool files_have_op; // what says how the result is, such as --op and --root, is for files too
    bool scripts;       // standard input is a Lua script
    bool regular;       // a compressed program need not be expanded
    bool shared;        // others read with these options too: what is not for files is no fault
} mlt_source_options;

extern mlt_source_options mlt_source_asked;
extern mlt_arg mlt_source_args[MLT_SOURCE_ARGS];

// Gives an option another name, where a command has one of that name itself.
void mlt_source_rename(const char *name, const char *other);

// The first of these options that was given; NULL: none was.
const char *mlt_source_given(const char *names);

typedef enum mlt_source_form {
    MLT_SOURCE_TEXT,
    MLT_SOURCE_IMAGE,
    MLT_SOURCE_REGULAR,   // the compressed form
    MLT_SOURCE_LOGGOPSIM, // its binary
    MLT_SOURCE_LUA,
    MLT_SOURCE_ALG,
} mlt_source_form;

typedef struct mlt_source {
    mlt_goal_program *program;
    mlt_goal_regular *regular; // then `program` is one rank, for mlt_source_part; NULL: it is all
    char name[64];             // for titles and tables: the file's name, or the algorithm's
    mlt_source_form form;
    mlt_goal_dialect dialect;    // TEXT
    const mlt_coll_alg *alg;     // ALG
    mlt_coll_shape shape;        // ALG
    uint64_t *starts;            // of --blocks, in elements, for files in bytes; NULL: not given
    mlt_coll_rulebook *rulebook; // ALG of a rule book
} mlt_source;

// True if the file is a Lua script, by its name.
bool mlt_source_is_script(const char *file);

// Reads a file, or with file NULL what `alg` says. The program can be freed when it has served; the rest
// stays.
void mlt_source_read(const char *file, const char *alg, mlt_source *out);

// A rank of `regular`, as rank 0 of `program`, until the next call.
const mlt_goal_program *mlt_source_part(void *source, uint32_t rank);

// For commands of one program: the one file of words, or --alg. It stays until the process ends.
const mlt_source *mlt_source_read_one(const mlt_arg_texts *words);

// It was written for LogGOPSim, in text or binary, and is simulated as there.
bool mlt_source_is_loggopsim(const mlt_source *source);

// The ranks that --contributors or --receivers names, as [ranks] 0 or 1; NULL: the option is not given.
uint8_t *mlt_source_ranks(const char *option, const char *list, uint32_t ranks);

// The type that an option names; `option` is what messages call it.
mlt_op_type mlt_source_type(const char *option, const char *text);

// The bytes of a file, mapped if it can be. mlt_source_file_drop gives them back.
typedef struct mlt_source_file {
    const char *bytes;
    size_t size;
    bool mapped;
} mlt_source_file;
mlt_source_file mlt_source_file_read(const char *file);
void mlt_source_file_drop(mlt_source_file *bytes);

// The text of a file, with a 0 after it; path NULL: NULL.
char *mlt_source_text(const char *path);
