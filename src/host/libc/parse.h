// SPDX-License-Identifier: BSD-3-Clause
// The parser of getopt and the like, as the GNU C library's: its state and its variables are the
// caller's, so that each rank can have its own. libc keeps both in its own memory, which the first
// rank reads at any time: ranks on other threads must not borrow them.
#pragma once

#include <getopt.h>
#include <stdbool.h>

typedef struct mlt_parse {
    int *optind, *opterr, *optopt; // the variables that the program sees
    char **optarg;
    // Between calls; zeros at the beginning.
    bool begun;
    enum { MLT_PARSE_PERMUTE, MLT_PARSE_STOP, MLT_PARSE_TELL } words; // that are no options
    char *next;                                                       // within a word such as -abc
    int first, last; // words that are no options and were passed: argv[first..last)
} mlt_parse;

typedef struct mlt_parse_call {
    int argc;
    char **argv;
    const char *shorts;
    const struct option *longs; // NULL: none
    int *index;
    bool long_only; // -name may be a long option, too
    bool posix;     // stop at the first word that is no option
} mlt_parse_call;

// What getopt, getopt_long and getopt_long_only return.
int mlt_parse_next(mlt_parse *p, const mlt_parse_call *call);
