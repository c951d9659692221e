// SPDX-License-Identifier: BSD-3-Clause
// The choice of an algorithm: one table of rules, the first that fits decides. The same for
// blocking, nonblocking and persistent calls. Whoever asks the same question gets the same answer,
// on every rank: nothing here depends on anything but the question and the books.
//
// A book is a list of rules, and of algorithms beside the built-in ones. The built-in book
// (rules.c) answers every question. A user's book (lua/book.h) is asked before it.
#ifndef MLT_COLL_CHOOSE_H
#define MLT_COLL_CHOOSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "coll/coll.h"

// How far apart the ranks of a schedule are.
typedef enum mlt_coll_reach {
    MLT_REACH_WORKER,  // fibers of one worker
    MLT_REACH_PROCESS, // threads of one process
    MLT_REACH_HOST,    // processes of one host
    MLT_REACHES,
} mlt_coll_reach;
extern const char *const mlt_coll_reach_names[MLT_REACHES]; // "worker", "process", "host"

typedef struct mlt_coll_question {
    mlt_collective collective;
    uint32_t ranks;     // of the schedule: workers, if those of a worker combine first
    uint32_t all_ranks; // of the communicator
    uint64_t bytes;     // n of spec.h; of blocks that differ the mean
    mlt_op op;          // reductions; MLT_OPS: the user's
    mlt_op_type type;
    uint32_t element; // bytes
    bool commutes;    // reductions: operands may come in any order
    bool in_place, uneven;
    bool reproducible; // only canonical algorithms (coll.h)
    bool crowded;      // the job has more workers than the host has cores
    uint8_t reach;     // mlt_coll_reach
    const char *comm;  // its MPI name; "": none
} mlt_coll_question;

typedef struct mlt_coll_choice {
    const mlt_coll_alg *alg;
    uint64_t segment; // bytes; 0: the algorithm's own choice
    uint32_t radix, window;
    bool flat;       // the ranks of a worker do not combine first
    const char *by;  // where the rule stands: "built in", "my.lua:12"
    const char *why; // one sentence: what the rule says of itself; never NULL
} mlt_coll_choice;

typedef struct mlt_coll_rule {
    mlt_collective collective;
    uint32_t ranks_from, ranks_to; // of question.ranks, inclusive; to 0: no end
    uint64_t bytes_from, bytes_to; // inclusive; to 0: no end
    uint8_t reach;                 // 1 << mlt_coll_reach; 0: any
    int8_t crowded;                // 1: only if; -1: only if not; 0: either
    const char *comm;              // NULL: any
    const char *alg;               // "binomial"
    uint64_t segment;              // bytes
    uint32_t radix, window;
    bool flat;
    const char *by, *why;
} mlt_coll_rule;

// A user's book: rules and algorithms beside the built-in ones.
typedef struct mlt_coll_book mlt_coll_book;
struct mlt_coll_book {
    // True: it has an answer. `by` and `why` live as long as the book. On a fault of the book's (a
    // rule names an algorithm that refuses) false, and a sentence in why; else why is "".
    bool (*choose)(mlt_coll_book *book, const mlt_coll_question *question, mlt_coll_choice *out,
                   char *why, size_t why_size);
    void (*free)(mlt_coll_book *book);
};

// True if the algorithm can serve the question; else a static sentence in *why.
bool mlt_coll_suits(const mlt_coll_alg *alg, const mlt_coll_question *question, const char **why);

// True if the rule speaks of the question; does not ask the algorithm.
bool mlt_coll_rule_fits(const mlt_coll_rule *rule, const mlt_coll_question *question);

// Asks `book` (NULL: none), then the built-in rules, which always answer. If the book has a fault,
// its sentence is in why, else why is "".
void mlt_coll_choose(mlt_coll_book *book, const mlt_coll_question *question, mlt_coll_choice *out,
                     char *why, size_t why_size);

// The shape that an answer makes of a question. root, contributes and so on are left to the caller.
mlt_coll_shape mlt_coll_choice_shape(const mlt_coll_question *question,
                                     const mlt_coll_choice *choice);

// The built-in rules in the order in which they are asked; the end has alg NULL.
extern const mlt_coll_rule mlt_coll_rules[];

#endif
