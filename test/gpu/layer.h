// SPDX-License-Identifier: BSD-3-Clause
// What the files of the layer share (layer.c says what it is). The functions that gen_layer.py writes look so:
//
//     int MPI_Send(const void *buf, int count, ...)
//     {
//         call *c = layer_begin("MPI_Send");
//         layer_add(c, buf, layer_elements(count, datatype), READS);
//         layer_place(c);
//         int code = PMPI_Send(layer_at(c, 0), count, ...);
//         return layer_end(c, code);
//     }
#pragma once

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// A row of a hash table of so many bits, for a handle.
static inline size_t layer_row(uintptr_t handle, int bits)
{
    return (size_t)(handle * 0x9e3779b97f4a7c15u >> (64 - bits));
}

// ---- which bytes of the program's a buffer has: from `from` on, as seen from its address

typedef struct span {
    intptr_t from;
    size_t bytes; // 0: none, or nobody knows; such a buffer is left alone
} span;

// An array of counts, displacements or types, of either width.
typedef struct list {
    const void *at;
    size_t width;
} list;

#define LIST(array) ((list){(array), sizeof *(array)})
#define NOTHING     ((span){0, 0})

span layer_bytes(MPI_Count bytes);
span layer_elements(MPI_Count count, MPI_Datatype type);
span layer_blocks(int blocks, MPI_Count count, MPI_Datatype type);
span layer_sum(int blocks, list counts, MPI_Datatype type); // one behind the other
span layer_places(int blocks, list counts, list displs, MPI_Datatype type);
span layer_typed(int blocks, list counts, list displs, const MPI_Datatype *types);

// What the layer knows of types and communicators: it asks when they are made, for asking about a wrong
// handle would raise an error.
void layer_type_made(int code, const MPI_Datatype *type);
void layer_comm_made(int code, const MPI_Comm *comm);
void layer_comm_copied(int code, MPI_Comm from, const MPI_Comm *comm);

typedef struct team {
    bool known, inter;
    int rank, local, peers, in, out; // in, out: neighbours
} team;

team layer_team(MPI_Comm comm);
bool layer_is_root(team t, int root); // it has the data of all
bool layer_is_leaf(team t, int root); // it has its own

// ---- a call

typedef enum use { READS, WRITES } use; // WRITES: it may read, too

typedef struct call call;

call *layer_begin(const char *function);
void layer_add(call *c, const void *buf, span s, use use); // the next buffer of the call
void layer_place(call *c);
void *layer_at(const call *c, int buffer); // what MPI is given for it

// How a call ends; all return `code`. The buffers are the program's again ...
int layer_end(call *c, int code);                                 // now,
int layer_started(call *c, int code, const MPI_Request *request); // with that request,
int layer_kept(call *c, int code, const MPI_Request *request);    // with each of its turns,
int layer_on_window(call *c, int code, int target, MPI_Win win); // with the next flush or the like,
int layer_split(call *c, int code, MPI_File fh);                 // with the second half.
void layer_parts(call *c, int partitions, MPI_Count count, MPI_Datatype type); // before layer_kept

// ---- what layer_calls.c needs

call *layer_take(MPI_Request request); // out of the table, unless it is persistent; NULL: nothing
void layer_put_back(call *c);          // it is not complete
void layer_completed(call *c);
void layer_peek(MPI_Request request);                        // complete, but the request lives
void layer_freed(MPI_Request request);                       // before MPI_Request_free
void layer_start(MPI_Request request);                       // before MPI_Start
void layer_part_ready(MPI_Request request, int partition);   // before MPI_Pready
void layer_part_arrived(MPI_Request request, int partition); // after MPI_Parrived
void layer_look_around(void); // after a call by which the program may learn that something came

// Ends the window's operations that began before the turn.
enum { ALL_TARGETS = -100 };
uint64_t layer_turn(void);
void layer_window_synchronised(int code, uint64_t turn, int target, MPI_Win win);

call *layer_take_split(MPI_File fh);
void *layer_split_buffer(const call *c, const void *buf);
void layer_split_over(call *c, int code);
