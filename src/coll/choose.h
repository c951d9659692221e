// SPDX-License-Identifier: BSD-3-Clause
// The choice of an algorithm: one table of rules, the first that fits decides. The same for
// blocking, nonblocking and persistent calls. The same question gets the same answer on every rank:
// it depends on nothing but the question and the rule books.
//
// A rule book is a list of rules, and of algorithms beside the built-in ones. The built-in rule book
// (rules.c) answers every question. A user's rule book (lua/rulebook.h) is asked before it.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "coll/alg/alg.h"

struct mlt_text;

// How far apart the ranks of a schedule are.
typedef enum mlt_coll_reach {
    MLT_REACH_WORKER,  // fibers of one worker
    MLT_REACH_PROCESS, // threads of one process
    MLT_REACH_HOST,    // processes of one host
    MLT_REACH_NETWORK, // several hosts
    MLT_REACHES,
} mlt_coll_reach;
extern const char *const mlt_coll_reach_names[MLT_REACHES]; // "worker", ..., "network"

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
    bool reproducible; // only canonical algorithms (alg.h)
    bool combines;     // the ranks of a worker combine in any case: rules that say flat do not fit
    // Of one host. In reach of the network hosts may differ, so they are false, 1 and 0 there.
    bool crowded;     // the job has more workers than the host has cores
    uint32_t sharing; // workers for each core, rounded up; 0 counts as 1
    uint32_t cores;   // that the job may use; 0: not known
    uint8_t reach;    // mlt_coll_reach
    bool reads; // reach host: long messages are read by the receiver from the sender's memory, in
                // one copy; else they go in two, through memory that both map
    const struct mlt_coll_hosts *hosts; // alg/hosts/map.h: reach network; NULL: a rank a host
    const char *comm;                   // its MPI name; "": none
} mlt_coll_question;

// question.sharing
static inline uint32_t mlt_coll_sharing(uint32_t workers, uint32_t cores)
{
    return cores ? (workers + cores - 1) / cores : 1;
}

enum { MLT_COLL_PASSED = 200 };

typedef struct mlt_coll_choice {
    const mlt_coll_alg *alg;
    uint64_t segment; // bytes; 0: the algorithm's own choice
    uint32_t radix, window;
    bool flat;       // the ranks of a worker do not combine first
    const char *by;  // where the rule stands: "built in", "my.lua:12"
    const char *why; // one line: what the rule says of itself; never NULL
    // Where a user's rule asked for something else, but its algorithm cannot: which, and why not.
    char passed[MLT_COLL_PASSED]; // "": nothing was passed over
} mlt_coll_choice;

typedef struct mlt_coll_rule {
    mlt_collective collective;
    uint32_t ranks_from, ranks_to;     // of question.ranks, inclusive; to 0: no end
    uint64_t bytes_from, bytes_to;     // inclusive; to 0: no end
    uint64_t total_from, total_to;     // the same of bytes * ranks: what lies in P n of spec.h
    uint32_t sharing_from, sharing_to; // workers for each core, inclusive; to 0: no end
    uint32_t cores_from, cores_to;     // of question.cores, the same; 0 fits no `from`
    uint32_t hosts_from, hosts_to;     // of question.hosts; no map: as many as ranks
    uint32_t each_from, each_to;       // ranks of the host that has most of them
    uint8_t reach;                     // 1 << mlt_coll_reach; 0: any
    int8_t crowded, reads;             // 1: only if; -1: only if not; 0: either
    const char *comm;                  // NULL: any
    const char *alg;                   // "binomial"
    uint64_t segment;                  // bytes
    uint32_t radix, window;
    bool flat;
    const char *by, *why;
} mlt_coll_rule;

// What stands around a collective (path.h): wrappers, the outermost first.
typedef enum mlt_coll_wrapper {
    MLT_WRAP_COUNT,   // calls and bytes
    MLT_WRAP_TRACE,   // a line for each call
    MLT_WRAP_DELAY,   // waits before it goes on
    MLT_WRAP_CHECK,   // arguments agree on all ranks
    MLT_WRAP_COMBINE, // the ranks of a worker combine first
    MLT_WRAP_CACHE,   // of interceptors only (intercept.h): earlier gets from a window answer
    MLT_WRAP_MAP,     // the user's functions map what passes (alter.h)
    MLT_WRAP_DROP,    // what some bring does not count
    MLT_WRAP_OP,      // combines in another way
    MLT_WRAP_REMOTE,  // the stage between hosts combines on a host of the user's choice
    MLT_WRAPPERS,
} mlt_coll_wrapper;
extern const char mlt_coll_forced[]; // mlt_coll_choice.by: the user has forced it, for all calls
extern const char *const mlt_coll_wrapper_names[MLT_WRAPPERS]; // "count"

// Appends the i-th stage of a path to the words for it: ", delay 100 us". MLT_WRAPPERS: a function.
void mlt_coll_name_stage(struct mlt_text *to, uint32_t i, uint8_t wrapper, uint64_t delay_us);

typedef struct mlt_coll_stage {
    uint8_t wrapper;   // mlt_coll_wrapper
    uint64_t delay_us; // MLT_WRAP_DELAY
    // MAP, DROP, OP (alter.h).
    uint8_t type;  // mlt_op_type: of elements; MLT_OP_TYPES: what the call says
    uint8_t op;    // OP: mlt_op, in place of which it stands; MLT_OPS: any
    bool neutral;  // proven to leave results as they are
    bool commutes; // OP
    bool filled;   // DROP: `fill` stands for what is dropped
    bool whole;    // DROP: it is `fill_whole`, too
    int function
        [2]; // the rule book's: for operands (DROP: whether, OP: combines), for results; 0: none
    double fill;
    int64_t fill_whole;
    const char *host, *protocol; // REMOTE; protocol NULL: any
} mlt_coll_stage;

// Appends the i-th stage to the words for a path, with all that it says.
void mlt_coll_tell_stage(struct mlt_text *to, uint32_t i, const mlt_coll_stage *stage);

// What is said of a stage that changes what passes: " neutral", " changes results", or "".
const char *mlt_coll_stage_claim(const mlt_coll_stage *stage);

typedef struct mlt_coll_path {
    mlt_collective collective; // MLT_COLLECTIVES: any
    const char *comm;          // NULL: any
    const mlt_coll_stage *stages;
    uint32_t count;
    const char *by; // "my.lua:12"
} mlt_coll_path;

struct mlt_coll_passing;
struct mlt_intercept_answer;
struct mlt_intercept_event;
struct mlt_intercept_spec;
struct mlt_intercept_wrapper;

// A user's rule book: rules and algorithms beside the built-in ones. Everything it points to lives as
// long as the rule book does. It belongs to one thread; its functions run on a stack of its own, so that
// fibers with small ones may call them. Nothing in it changes after it was opened (coll/rulebook.h).
typedef struct mlt_coll_rulebook mlt_coll_rulebook;
struct mlt_coll_rulebook {
    // True: it has an answer. False: it has none, or, with a message in why, a rule of it failed (a
    // function raised an error, or answered nonsense). A rule that fits but whose algorithm refuses
    // the question is passed over; out->passed, which is written in any case, names the first one.
    bool (*choose)(mlt_coll_rulebook *rulebook, const mlt_coll_question *question,
                   mlt_coll_choice *out, char *why, size_t why_size);
    // To be asked before a program of one of its algorithms is made. Proves exactly this shape, all
    // ranks together, if that does not take long (docs/reference/collectives-choice.md), and
    // remembers that it has. Algorithms that are not the rule book's are fine. The answer depends on
    // nothing but the shape, so all ranks get the same. If it is MLT_OK, the algorithm's emit ends
    // the process only where not all ranks could be tried.
    mlt_status (*prove)(mlt_coll_rulebook *rulebook, const mlt_coll_alg *alg,
                        const mlt_coll_shape *shape, char *why, size_t why_size);
    // A wrapper of a way (intercept.h) that is a function: false, and a message in why, if it fails.
    bool (*saw)(mlt_coll_rulebook *rulebook, const struct mlt_intercept_wrapper *wrapper,
                const struct mlt_intercept_event *event, struct mlt_intercept_answer *answer,
                char *why, size_t why_size);
    // Functions of wrappers that change what passes (alter.h), by their numbers: map elements, tell
    // whether what is brought does not count, result = lower op higher for elements of which result
    // is one of both. False: a message.
    bool (*map)(mlt_coll_rulebook *rulebook, int function, const struct mlt_coll_passing *passing,
                mlt_op_type type, void *data, uint64_t count, char *why, size_t why_size);
    bool (*drops)(mlt_coll_rulebook *rulebook, int function, const struct mlt_coll_passing *passing,
                  bool *drops, char *why, size_t why_size);
    bool (*fold)(mlt_coll_rulebook *rulebook, int function, mlt_op_type type, void *result,
                 const void *lower, const void *higher, uint64_t count, char *why, size_t why_size);
    void (*free)(mlt_coll_rulebook *rulebook);
    const char *file;
    const mlt_coll_rule *rules; // as they are asked; alg NULL: a function, by says where
    const mlt_coll_alg *const *algs;
    const mlt_coll_path *paths;
    const struct mlt_intercept_spec *interceptors;
    uint32_t rules_count, algs_count, paths_count, interceptors_count;
};

// The first path of the rule book for it; NULL: none. rule book NULL is fine.
const mlt_coll_path *mlt_coll_rulebook_path(const mlt_coll_rulebook *rulebook,
                                            mlt_collective collective, const char *comm);

// The stage of a path that says on which host the stage between hosts combines; NULL: none does.
const mlt_coll_stage *mlt_coll_remote_stage(const mlt_coll_stage *stages, uint32_t count);
// mlt_coll_shape.center of a path, by the names of the hosts.
uint32_t mlt_coll_remote_host(const mlt_coll_path *path, const char *const *names, uint32_t hosts);
// If the path has such a stage, the choice becomes the algorithm over hosts that can do it; if that
// cannot do what is asked, the choice says so.
void mlt_coll_remote(const mlt_coll_path *path, const mlt_coll_question *question,
                     mlt_coll_choice *choice);

// Hosts of the question, and ranks of the one that has most of them.
uint32_t mlt_coll_question_hosts(const mlt_coll_question *question);
uint32_t mlt_coll_question_each(const mlt_coll_question *question);

// True if the algorithm can serve the question; else *why says why not, a static text.
bool mlt_coll_suits(const mlt_coll_alg *alg, const mlt_coll_question *question, const char **why);

// The same of a rule's algorithm, and of what else the rule demands.
bool mlt_coll_rule_suits(const mlt_coll_rule *rule, const mlt_coll_alg *alg,
                         const mlt_coll_question *question, const char **why);

// True if the rule speaks of the question; does not ask the algorithm.
bool mlt_coll_rule_fits(const mlt_coll_rule *rule, const mlt_coll_question *question);

// Asks `rule book` (NULL: none), then the built-in rules. If a rule of the rule book failed, why has its
// message, and the answer is the built-in one. If there is no algorithm for the question, why says
// so, and out->alg is NULL. Else why is "".
void mlt_coll_choose(mlt_coll_rulebook *rulebook, const mlt_coll_question *question,
                     mlt_coll_choice *out, char *why, size_t why_size);

// The sources of rules, in the order in which they are asked: what the job forces, what the
// communicator says of itself (its info keys), the rule book that was loaded for it, the job's rule book, the
// built-in rules. One for each communicator; zeroed: only the built-in rules. One thread's.
typedef struct mlt_coll_sources {
    const mlt_coll_rule *forced; // mlt_coll_force_parse; NULL: nothing
    mlt_coll_rule *own;          // [MLT_COLLECTIVES], private; alg NULL: nothing
    mlt_coll_rulebook *own_rulebook, *rulebook;
    uint32_t generation; // changes with the sources: answers that are kept must be asked again
} mlt_coll_sources;

// As mlt_coll_choose.
void mlt_coll_ask(const mlt_coll_sources *sources, const mlt_coll_question *question,
                  mlt_coll_choice *out, char *why, size_t why_size);

// The communicator says "ring segment=8192" (mlt_coll_choice_parse) of a collective; "": nothing
// any more. On failure an error message, and everything stays.
mlt_status mlt_coll_sources_say(mlt_coll_sources *sources, mlt_collective collective,
                                const char *text, char *why, size_t why_size) MLT_MUST_CHECK;
// Takes another rule book for the communicator (NULL: none) and returns the one before, which the caller
// frees when no answer of it is in use any more.
mlt_coll_rulebook *mlt_coll_sources_load(mlt_coll_sources *sources, mlt_coll_rulebook *rulebook);
void mlt_coll_sources_fini(mlt_coll_sources *sources); // not the rule books

// The shape that an answer makes of a question. root, contributes and so on are left to the caller.
mlt_coll_shape mlt_coll_choice_shape(const mlt_coll_question *question,
                                     const mlt_coll_choice *choice);

// The built-in rules in the order in which they are asked; the end has alg NULL.
extern const mlt_coll_rule mlt_coll_rules[];
