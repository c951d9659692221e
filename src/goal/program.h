// SPDX-License-Identifier: BSD-3-Clause
// A GOAL program: for each rank, actions and the dependencies between them. Text and Lua are read
// into it, algorithms emit it, passes change it; the checker, the simulator, the drawings and the
// assembler look at it.
//
// Meaning. Actions of a rank run in any order, or at once, as far as its dependencies allow. A
// message is matched statically: the n-th send from A to B with a tag, in the order in which they
// stand in A's program, meets the n-th receive from A with that tag in B's, whatever the order in
// which they run (pairs.h). Only receives from ANY rank or with ANY tag, which programs for the
// simulator have, are matched as they come.
//
// Memory. A span is (buffer, offset, size), in bytes. Each rank has its own buffers: MEMORY, the
// plain addresses of the paper, as large as the largest end that is used; named ones with a
// declared size; NOWHERE, for messages whose bytes do not matter (LogGOPSim's); ADDRESS,
// absolute addresses of the process, which only the library makes.
//
// A program is one owner's; it is no thread's in particular. Functions that add end the process if
// memory is exhausted.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "base/table.h"
#include "type/op.h"

typedef enum mlt_goal_kind {
    MLT_GOAL_SEND = 1,  // at[0] is sent to peer
    MLT_GOAL_RECV,      // at[0] is received from peer
    MLT_GOAL_EXEC,      // at[0] = at[0] op at[1], elements of `type`; sizes are equal
    MLT_GOAL_USER,      // function `peer` of the user with both; the first is the result
    MLT_GOAL_CALC,      // size[0] ns of work that touches nothing; the executor has nothing to do
    MLT_GOAL_NOP,       // nothing: it only carries dependencies
    MLT_GOAL_RECV_EXEC, // at[1] is received from peer, then at[0] = at[0] op at[1]
    MLT_GOAL_RECV_USER, // the same with function `user`
    MLT_GOAL_KINDS,
} mlt_goal_kind;

enum {
    MLT_GOAL_MEMORY = 0, // buffers 1, 2, ... are the rank's named ones
    MLT_GOAL_ANY = -1,   // peer or tag of a receive
    MLT_GOAL_MAX_RANKS = 1 << 28,
};
#define MLT_GOAL_ADDRESS (UINT32_MAX - 1)
#define MLT_GOAL_NOWHERE UINT32_MAX
#define MLT_GOAL_NONE    UINT32_MAX // no action

enum {                        // mlt_goal_action.flags
    MLT_GOAL_REVERSED = 1,    // at[0] = at[1] op at[0]: matters if op does not commute
    MLT_GOAL_SYNCHRONOUS = 2, // the send ends when it is matched
};

typedef struct mlt_goal_action {
    uint8_t kind;     // mlt_goal_kind
    uint8_t op;       // EXEC, RECV_EXEC: mlt_op
    uint8_t type;     // EXEC, RECV_EXEC: mlt_op_type
    uint8_t flags;    // MLT_GOAL_REVERSED, ...
    uint8_t cpu, nic; // for the simulator
    uint16_t user;    // USER, RECV_USER: number of the function
    int32_t peer;     // SEND, RECV*: a rank; RECV: or MLT_GOAL_ANY
    int32_t tag;      // SEND, RECV*: 0 or more; RECV: or MLT_GOAL_ANY
    uint32_t label;   // its name: place in the program's names; 0: none
    uint32_t line;    // of the text that it came from; 0: none
    uint32_t buf[2];  // the spans; [1] is used by EXEC, USER, RECV_EXEC, RECV_USER
    uint64_t at[2];   // offsets
    uint64_t size[2]; // bytes; CALC: ns in [0]
} mlt_goal_action;
_Static_assert(sizeof(mlt_goal_action) == 64, "programs of ten million actions are usual");

// `action` starts after `on` has finished; with MLT_GOAL_STARTED in on: after it has started.
#define MLT_GOAL_STARTED (UINT32_C(1) << 31)
typedef struct mlt_goal_dep {
    uint32_t action, on;
} mlt_goal_dep;

// The action of an `on`, or of a neighbour in a graph, whatever it is waited for.
static inline uint32_t mlt_goal_plain(uint32_t on)
{
    return on & ~(uint32_t)MLT_GOAL_STARTED;
}

typedef struct mlt_goal_buffer {
    uint32_t name; // place in the program's names
    uint32_t line;
    uint64_t size;
} mlt_goal_buffer;

typedef struct mlt_goal_rank {
    mlt_goal_action *actions;
    mlt_goal_dep *deps;
    mlt_goal_buffer *buffers; // buffer id b is buffers[b - 1]
    uint32_t count, deps_count, buffers_count;
    uint32_t room, deps_room, buffers_room; // private
} mlt_goal_rank;

typedef struct mlt_goal_program {
    uint32_t ranks;
    mlt_goal_rank *rank; // [ranks]
    char *names;         // NUL-terminated, one after the other; names[0] is ""
    uint32_t names_size, names_room;
    mlt_table name_table; // private
} mlt_goal_program;

mlt_goal_program *mlt_goal_program_new(uint32_t ranks);
mlt_goal_program *mlt_goal_program_copy(const mlt_goal_program *program);
void mlt_goal_program_free(mlt_goal_program *program); // NULL is fine

// A program of one rank, borrowed, as `rank` of so many; no other of them may be looked at.
static inline mlt_goal_program mlt_goal_program_as_rank(const mlt_goal_program *program,
                                                        uint32_t rank, uint32_t ranks)
{
    mlt_goal_program view = *program;
    view.ranks = ranks;
    view.rank = (mlt_goal_rank *)((uintptr_t)program->rank - rank * sizeof *program->rank);
    return view;
}

// More ranks; fewer is not possible.
void mlt_goal_program_grow(mlt_goal_program *program, uint32_t ranks);

// The place of a name in the program's names; the same text has one place.
uint32_t mlt_goal_name(mlt_goal_program *program, const char *text, size_t length);

static inline const char *mlt_goal_name_text(const mlt_goal_program *program, uint32_t name)
{
    return program->names + name;
}

// Room of exactly so many actions and dependencies in a rank that is to be filled anew: what it had
// is lost, its counts are the caller's.
void mlt_goal_room(mlt_goal_rank *rank, uint64_t actions, uint64_t deps);

// Adds to a rank; returns the new action's index, or the buffer's id.
uint32_t mlt_goal_add(mlt_goal_program *program, uint32_t rank, const mlt_goal_action *action);
void mlt_goal_require(mlt_goal_program *program, uint32_t rank, uint32_t action, uint32_t on);
uint32_t mlt_goal_buffer_add(mlt_goal_program *program, uint32_t rank, const char *name,
                             uint64_t size);
// By name; MLT_GOAL_NOWHERE if the rank has none of that name.
uint32_t mlt_goal_buffer_find(const mlt_goal_program *program, uint32_t rank, const char *name);

// ---- shorthands for emitting. Spans are (buffer, offset, size).

typedef struct mlt_goal_span {
    uint32_t buf;
    uint64_t at, size;
} mlt_goal_span;

uint32_t mlt_goal_send(mlt_goal_program *program, uint32_t rank, mlt_goal_span span, int32_t to,
                       int32_t tag);
uint32_t mlt_goal_recv(mlt_goal_program *program, uint32_t rank, mlt_goal_span span, int32_t from,
                       int32_t tag);

// ---- looking

static inline bool mlt_goal_is_recv(const mlt_goal_action *action)
{
    return action->kind == MLT_GOAL_RECV || action->kind == MLT_GOAL_RECV_EXEC ||
           action->kind == MLT_GOAL_RECV_USER;
}

static inline bool mlt_goal_is_message(const mlt_goal_action *action)
{
    return action->kind == MLT_GOAL_SEND || mlt_goal_is_recv(action);
}

// It calls a function of the user's.
static inline bool mlt_goal_is_user(const mlt_goal_action *action)
{
    return action->kind == MLT_GOAL_USER || action->kind == MLT_GOAL_RECV_USER;
}

// It combines: both its spans count.
static inline bool mlt_goal_has_two(const mlt_goal_action *action)
{
    return action->kind == MLT_GOAL_EXEC || action->kind == MLT_GOAL_RECV_EXEC ||
           mlt_goal_is_user(action);
}

static inline mlt_goal_span mlt_goal_span_of(const mlt_goal_action *action, int which)
{
    return (mlt_goal_span){action->buf[which], action->at[which], action->size[which]};
}

static inline void mlt_goal_span_set(mlt_goal_action *action, int which, mlt_goal_span span)
{
    action->buf[which] = span.buf;
    action->at[which] = span.at;
    action->size[which] = span.size;
}

static inline bool mlt_goal_spans_same(mlt_goal_span a, mlt_goal_span b)
{
    return a.buf == b.buf && a.at == b.at && a.size == b.size;
}

// They have bytes in common.
static inline bool mlt_goal_spans_meet(mlt_goal_span a, mlt_goal_span b)
{
    return a.buf == b.buf && a.at < b.at + b.size && b.at < a.at + a.size;
}

// Bytes of the message of a send or receive.
static inline uint64_t mlt_goal_message_bytes(const mlt_goal_action *action)
{
    return action->size[action->kind == MLT_GOAL_RECV_EXEC || action->kind == MLT_GOAL_RECV_USER];
}

// What an action does to memory: up to two spans, each read, written or both. How many there are;
// spans of no bytes and of NOWHERE are left out. A user's function reads and writes its first and
// reads its second. COPY only writes its first; reversed it keeps it, and so counts as a reader.
typedef struct mlt_goal_access {
    mlt_goal_span span;
    bool reads, writes;
} mlt_goal_access;
int mlt_goal_accesses(const mlt_goal_action *action, mlt_goal_access out[2]);

// Size of a buffer of the rank: declared, or for MEMORY the largest end used. O(actions) for
// MEMORY.
uint64_t mlt_goal_buffer_size(const mlt_goal_program *program, uint32_t rank, uint32_t buf);

// "rank 3, action 2 (e1: exec sumInt8 with 501,1 503,1), line 7": for findings and errors. Returns
// text.
char *mlt_goal_describe(const mlt_goal_program *program, uint32_t rank, uint32_t action, char *text,
                        size_t size);

// True if a receive of any rank takes ANY source or tag.
bool mlt_goal_has_wildcards(const mlt_goal_program *program);

// What holds by construction for programs of Millet's own readers and algorithms, to be asked of a
// program from elsewhere: kinds, ops, peers, actions of dependencies, buffers, sizes. Bytes beyond
// the end of a declared buffer are no fault here; the checker finds them. On failure an error
// message.
mlt_status mlt_goal_program_valid(const mlt_goal_program *program, char *why,
                                  size_t why_size) MLT_MUST_CHECK;

// What mlt_goal_program_valid has against an action; NULL: nothing.
const char *mlt_goal_action_fault(const mlt_goal_program *program, const mlt_goal_rank *rank,
                                  const mlt_goal_action *action);

// Why nothing can be said about an action of the rank; and why it has no meaning though all its
// parts are there. NULL: it is fine.
const char *mlt_goal_action_broken(const mlt_goal_program *program, const mlt_goal_rank *rank,
                                   const mlt_goal_action *action);
const char *mlt_goal_action_senseless(const mlt_goal_program *program,
                                      const mlt_goal_action *action);

// To be asked before a rank of a text runs: no action of it reaches beyond the end of a declared
// buffer. On failure an error message.
mlt_status mlt_goal_rank_in_bounds(const mlt_goal_program *program, uint32_t rank, char *why,
                                   size_t why_size) MLT_MUST_CHECK;
