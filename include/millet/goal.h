// SPDX-License-Identifier: BSD-3-Clause
// GOAL in C: group operations as small programs of send, receive and local work with dependencies.
//
//     GOAL_Goal g = GOAL_Create();
//     if (rank == 0) {
//         GOAL_id r = GOAL_Recv(g, in, n, 1);
//         GOAL_id e = GOAL_Exec(g, GOAL_sumFloat64, sum, n, in, n); // sum = sum + in
//         GOAL_Requ(g, e, r);                                       // e after r
//     } else if (rank == 1)
//         GOAL_Send(g, sum, n, 0);
//     GOAL_Sched s = GOAL_Compile(g);
//     GOAL_Free(&g);
//     GOAL_Sched_run(s);                 // as often as you like; or:
//     MPI_Request req;
//     GOAL_Sched_start(s, &req);         // then MPI_Wait, MPI_Test, MPI_Waitany, ...
//
// Every rank builds its own part. Sizes are bytes, peers are ranks of the schedule's communicator
// (MPI_COMM_WORLD unless set). The n-th send from A to B with a tag meets the n-th receive from A
// with that tag in B's program. All ranks of the communicator start its schedules in the same
// order, as they do collective calls.
//
// Errors are raised as MPI's are, by the handler of the schedule's communicator; functions that
// return an id or an object then return a negative id or NULL.
#ifndef MILLET_GOAL_H
#define MILLET_GOAL_H

#include <mpi.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct GOAL_Goal_s *GOAL_Goal;   // being built
typedef struct GOAL_Sched_s *GOAL_Sched; // compiled
typedef int GOAL_id;  // an action: 0, 1, ... in the order in which they are added
typedef int GOAL_fid; // a function: the user's (0, 1, ...) or a predefined one

// buf1 is the result. The function must not call MPI, and changes nothing except buf1. It runs on
// any stack and thread of the process; with GOAL_OFFLOAD, functions that do not depend on each
// other run at the same time.
typedef void GOAL_Func(void *buf1, int size1, void *buf2, int size2);

// Predefined functions: GOAL_sumInt8, ..., GOAL_copyFloat64: operation x type, 1 << 16 | op << 8 |
// type. Int8 to Float64 as the names say, Float16 is IEEE half. copy copies buf2 onto buf1.
#define GOAL_FUNCTIONS_OF(op, n)                                                                   \
    GOAL_##op##Int8 = 1 << 16 | (n) << 8, GOAL_##op##Int16, GOAL_##op##Int32, GOAL_##op##Int64,    \
    GOAL_##op##UInt8, GOAL_##op##UInt16, GOAL_##op##UInt32, GOAL_##op##UInt64, GOAL_##op##Float16, \
    GOAL_##op##Float32, GOAL_##op##Float64
enum {
    GOAL_FUNCTIONS_OF(max, 0),
    GOAL_FUNCTIONS_OF(min, 1),
    GOAL_FUNCTIONS_OF(sum, 2),
    GOAL_FUNCTIONS_OF(prod, 3),
    GOAL_FUNCTIONS_OF(land, 4),
    GOAL_FUNCTIONS_OF(lor, 5),
    GOAL_FUNCTIONS_OF(lxor, 6),
    GOAL_FUNCTIONS_OF(band, 7),
    GOAL_FUNCTIONS_OF(bor, 8),
    GOAL_FUNCTIONS_OF(bxor, 9),
    GOAL_FUNCTIONS_OF(copy, 10)
};

// ---- building

GOAL_Goal GOAL_Create(void);
int GOAL_Free(GOAL_Goal *goal);
GOAL_fid GOAL_Reg_func(GOAL_Goal goal, GOAL_Func *func);
GOAL_id GOAL_Send(GOAL_Goal goal, const void *buf, size_t size, int dest);
GOAL_id GOAL_Recv(GOAL_Goal goal, void *buf, size_t size, int source);
GOAL_id GOAL_Exec(GOAL_Goal goal, GOAL_fid func, void *buf1, size_t size1, const void *buf2,
                  size_t size2);
int GOAL_Requ(GOAL_Goal goal, GOAL_id a, GOAL_id b);       // a starts after b has finished
int GOAL_Requ_start(GOAL_Goal goal, GOAL_id a, GOAL_id b); // a starts after b has started

GOAL_id GOAL_Send_tag(GOAL_Goal goal, const void *buf, size_t size, int dest, int tag);
GOAL_id GOAL_Recv_tag(GOAL_Goal goal, void *buf, size_t size, int source, int tag);
GOAL_id GOAL_Exec_reversed(GOAL_Goal goal, GOAL_fid func, void *buf1, size_t size1,
                           const void *buf2, size_t size2); // buf1 = buf2 op buf1: of the same size
GOAL_id GOAL_Nop(GOAL_Goal goal);

// Bytes [base, base + size) are the buffer `name`. Actions on them are kept as (name, offset), so a
// schedule can be saved, and bound to another address before each start. Buffers do not overlap,
// and an action lies inside one of them or outside all.
int GOAL_Buffer(GOAL_Goal goal, const char *name, void *base, size_t size);
// Zeroed memory as a buffer of that name. It lives as long as the goal or any schedule compiled
// from it.
void *GOAL_Alloc(GOAL_Goal goal, const char *name, size_t size);

enum {
    GOAL_AUTO = 1,    // 1: dependencies are derived from the buffers, in the order of adding
    GOAL_WINDOW = 2,  // at most so many actions at once; 0: no limit (setting goal_window)
    GOAL_OFFLOAD = 3, // of a schedule; 1: an extra thread drives it, one for all ranks of a worker
                      // (setting goal_offload)
    GOAL_PLAIN = 4,   // 1: messages meet by source and tag as they come, so that GOAL_Recv may have
                      // MPI_ANY_SOURCE; set it on all ranks. No rank that sends to such a receive
                      // may be 4,096 starts ahead of the receiver
    GOAL_ORDER = 5,   // of a schedule; 1: runs note the order in which actions finish
    GOAL_CALC = 6     // of a schedule; 1: calc keeps its processor busy for its time; 0: it does
                      // nothing, because time passes in the simulator only
};
int GOAL_Set(GOAL_Goal goal, int what, long value); // GOAL_AUTO, GOAL_WINDOW, GOAL_PLAIN
int GOAL_Set_comm(GOAL_Goal goal, MPI_Comm comm);

// ---- schedules

GOAL_Sched GOAL_Compile(GOAL_Goal goal); // on the goal's communicator
int GOAL_Sched_text(const char *text, MPI_Comm comm, GOAL_Sched *sched); // own part of a text
int GOAL_Sched_load(const char *path, MPI_Comm comm, GOAL_Sched *sched); // text or binary file
int GOAL_Sched_save(GOAL_Sched sched, const char *path);                 // own part, binary
int GOAL_Sched_free(GOAL_Sched *sched); // if it runs, it is freed when it is done

int GOAL_Sched_run(GOAL_Sched sched);                         // start and wait
int GOAL_Sched_start(GOAL_Sched sched, MPI_Request *request); // one run of a schedule at a time
int GOAL_Sched_init(GOAL_Sched sched, MPI_Request *request);  // persistent: MPI_Start starts it

int GOAL_Sched_set(GOAL_Sched sched, int what, long value); // GOAL_OFFLOAD, GOAL_ORDER, _CALC
// With GOAL_ORDER: the actions of the last run in the order in which they finished. *count is how
// many there were; at most `size` of them are in ids. Schedules from binary files do not know the
// program's numbers; their ids are places in the code.
int GOAL_Sched_order(GOAL_Sched sched, GOAL_id *ids, int size, int *count);
// Between runs: binds a named buffer to an address; "" is the plain memory. NULL binds it to memory
// of the schedule, as all buffers of schedules from texts and files are at first.
int GOAL_Sched_bind(GOAL_Sched sched, const char *name, void *base);
int GOAL_Sched_buffer(GOAL_Sched sched, const char *name, void **base, size_t *size);
int GOAL_Sched_func(GOAL_Sched sched, GOAL_fid number, GOAL_Func *func); // for `exec user N`

#ifdef __cplusplus
}
#endif

#endif
