// SPDX-License-Identifier: BSD-3-Clause
// Who waits for what, and who could serve it. Each file calls only those after it: hang.c makes the
// report, words.c words what a process waits for, graph.c builds the graph, things.c words what is
// waited for.
//
//     process --need--> side of a thing --claim--> process
//
// A thing is a channel, a barrier, a group, a PAR or a child that somebody waits for. A channel has
// two sides: those who wait to read it are served by those who write it, and the other way round.
// Processes claim to serve a side: they used that end last, they hold it (csp_hold), they are
// members of that PAR; or perhaps: an end is in their argument block, and what they do with it is
// not known.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "base/table.h"
#include "base/text.h"
#include "csp/chan.h"
#include "csp/state.h"
#include "csp/wait.h"
#include "fiber/fiber.h"

// ---- things.c

// Adds text; what is not printable becomes '?'.
void mlt_waitfor_add(mlt_text *words, const char *format, ...) MLT_PRINTF(2, 3);

void mlt_waitfor_add_barrier(mlt_text *words,
                             const csp_barrier *barrier); // "'z', where 3 of 4 ..."
void mlt_waitfor_add_group(mlt_text *words, const csp_group *group, uint64_t call); // as that
bool mlt_waitfor_group_is_wide(
    const csp_group *group); // other workers have members, or it is being made
void mlt_waitfor_add_port(mlt_text *words, const csp_port *port); // "port 'numbers'"
void mlt_waitfor_add_target(mlt_text *words, const csp_target *target);
void mlt_waitfor_add_far(mlt_text *words, const csp_chan *chan); // " of rank 3": stand-ins
bool mlt_chan_is_stand_in(const csp_chan *chan);
// ", whose writing end rank 2 has", or, after others, "; rank 2 has its writing end, too". False:
// nobody elsewhere has one, or who has it is not known here.
bool mlt_waitfor_add_far_ends(mlt_text *words, const csp_chan *chan, bool writers, bool others);

// Who uses an end of a channel with csp_chan.queue on other workers: "p[1] on rank 3 and r1 on rank
// 4", or "" (nobody). Returns how many they are.
uint32_t mlt_waitfor_elsewhere(const csp_chan *chan, bool writers, char *text, size_t size);

// ---- graph.c

#define MLT_NO_NODE UINT32_MAX

typedef enum mlt_waitfor_node_state {
    MLT_WAITFOR_NONE, // no process has that record now
    MLT_WAITFOR_RUNS,
    MLT_WAITFOR_STUCK,   // only another process of this worker can wake it
    MLT_WAITFOR_OUTSIDE, // it waits for time, a descriptor, a message: others can wake it
} mlt_waitfor_node_state;

typedef enum mlt_waitfor_side {
    MLT_WAITFOR_SIDE_READS,  // of those who wait to read (or at anything but a channel)
    MLT_WAITFOR_SIDE_WRITES, // of those who wait to write
    MLT_SIDES,
} mlt_waitfor_side;

typedef enum mlt_waitfor_claim_how {
    MLT_WAITFOR_CLAIM_USED,   // that end last
    MLT_WAITFOR_CLAIM_MEMBER, // of the PAR, or the child
    MLT_WAITFOR_CLAIM_HOLDS,
    MLT_WAITFOR_CLAIM_PERHAPS, // has its address
    MLT_WAITFOR_CLAIM_PARENT, // used or holds it, but waits for its own processes: they have it now, or
                              // nobody
} mlt_waitfor_claim_how;

// Claims count in turns: sure ones, if there are none those that may be, then the parents.
static inline int mlt_waitfor_claim_class(mlt_waitfor_claim_how how)
{
    return how < MLT_WAITFOR_CLAIM_PERHAPS ? 0 : how == MLT_WAITFOR_CLAIM_PERHAPS ? 1 : 2;
}

typedef struct mlt_waitfor_need {
    uint32_t node, thing;
    uint8_t side; // mlt_waitfor_side
    uint8_t kind; // mlt_csp_wait_kind: READ, WRITE, SYNC, GROUP, PAR, JOIN
} mlt_waitfor_need;

typedef struct mlt_waitfor_claim {
    uint32_t node, thing;
    uint32_t next;  // of that thing, sure ones first; UINT32_MAX: none
    uint8_t serves; // bits: 1 << mlt_waitfor_side
    uint8_t how;    // mlt_waitfor_claim_how
} mlt_waitfor_claim;

typedef struct mlt_waitfor_thing {
    uintptr_t
        hidden; // its address, inverted: graph.c looks for addresses, and not for its own notes
    uint32_t claims; // the first; UINT32_MAX: none
    bool chan;
} mlt_waitfor_thing;

static inline const void *mlt_waitfor_thing_at(const mlt_waitfor_thing *thing)
{
    return (const void *)~thing->hidden;
}

typedef struct mlt_waitfor_graph {
    const mlt_csp *csp;
    // Ranks' own fibers, then the pool's by their ids.
    uint32_t ranks, nodes;
    uint8_t *state;       // [nodes] mlt_waitfor_node_state
    uint32_t *first_need; // [nodes + 1]
    mlt_waitfor_need *needs;
    uint32_t need_count, need_room;
    mlt_waitfor_thing *things;
    uint32_t thing_count, thing_room;
    mlt_table thing_table; // of indices into things, by address
    mlt_waitfor_claim *claims;
    uint32_t claim_count, claim_room;
    uint32_t running, waiting; // processes, ranks' own included
} mlt_waitfor_graph;

void mlt_waitfor_graph_make(mlt_waitfor_graph *graph, const mlt_csp *csp);
void mlt_waitfor_graph_free(mlt_waitfor_graph *graph);

const mlt_fiber *mlt_waitfor_fiber(const mlt_waitfor_graph *graph, uint32_t node);
uint32_t mlt_waitfor_node(const mlt_waitfor_graph *graph,
                          const mlt_fiber *fiber); // or MLT_NO_NODE

// A cycle of processes of which none can go on, from its lowest on: a need of each, which the next
// one serves (or could serve, if perhaps). The caller frees it. NULL: none is known.
typedef struct mlt_waitfor_step {
    uint32_t node;
    mlt_waitfor_need need;
    bool perhaps;
} mlt_waitfor_step;
mlt_waitfor_step *mlt_waitfor_graph_cycle(const mlt_waitfor_graph *graph,
                                          uint32_t *length) MLT_MUST_CHECK;

// ---- words.c

// "csp_write to 'pick 1', which fork[1] reads", without the process's own name.
void mlt_waitfor_add_wait(mlt_text *words, const mlt_waitfor_graph *graph, uint32_t node);
// "waits to write 'pick 1', which fork[1] reads".
void mlt_waitfor_add_step(mlt_text *words, const mlt_waitfor_graph *graph,
                          const mlt_waitfor_step *step, uint32_t next);
void mlt_waitfor_add_name(mlt_text *words, const mlt_waitfor_graph *graph, uint32_t node);
