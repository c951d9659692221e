// SPDX-License-Identifier: BSD-3-Clause
// Reduction operations: the predefined ones are handle values, the user's are counted objects.
//
// An operation is alive as long as the user has its handle or a call under way holds it; without
// its handle it is refused as an argument. Objects belong to the process (registry.h), so ranks that
// share it may use each other's: MPI_Op variables of programs are often global.
//
// The user's functions compute inout = in op inout, which is "second op result" (reversed) to GOAL;
// the other order needs a copy, unless the operation commutes. Schedules call them on
// whatever stack of the worker drives the run, with the run's rank as the calling one, and inside
// the gate if there is one: like all functions of reductions they may ask about datatypes, but must
// not communicate, and not wait for a thread that is in MPI. MPI_Reduce_local calls them outside
// the gate, on the caller's stack. An int for the length is enough for any count, as they are
// called in pieces.
#pragma once

#include <mpi.h>
#include <stdbool.h>

#include "base/status.h"
#include "coll/alg/op.h"
#include "mpi/comm/comm.h"
#include "p2p/p2p.h"
#include "type/reduce.h"
#include "type/type.h"

typedef struct mlt_user_op mlt_user_op;

// The object of the user's operation; NULL: predefined, freed, or no operation.
mlt_user_op *mlt_op_object(MPI_Op handle);

// A call under way has it, has it no more. NULL, for a predefined one, is fine.
void mlt_op_hold(mlt_user_op *op);
void mlt_op_drop(mlt_user_op *op);

// For a call that was given the handle earlier, and holds the object: whether the handle is valid; what it was
// before. NULL is fine.
bool mlt_op_revive(mlt_user_op *op, bool valid);

// True if it is predefined, and which one.
bool mlt_op_predefined(MPI_Op handle, mlt_reduce_op *out);

// A predefined operation on a type that is predefined, named or not. False: `why` says why not.
bool mlt_op_reduction(mlt_reduce_op op, const mlt_type *type, mlt_reduction *out, char *why,
                      size_t size);

// How a collective operation reduces elements of `type` by it. False: it cannot, and *code says so,
// raised. Nothing is held: a caller that keeps *out longer than the call copies it with
// mlt_coll_op_copy, and holds the object and the type.
bool mlt_op_of(mlt_rank *me, mlt_comm *comm, MPI_Op handle, const mlt_type *type, mlt_coll_op *out,
               int *code) MLT_MUST_CHECK;

// The user's function, as MPI_Op_create, MPI_Op_create_c and Fortran's give it.
typedef union mlt_op_function {
    MPI_User_function *few;
    MPI_User_function_c *many;
    void (*fortran)(void *in, void *inout, void *len, MPI_Fint *datatype);
} mlt_op_function;

// large: it is `many`.
int mlt_op_create(mlt_rank *me, mlt_op_function fn, bool large, int commute, MPI_Op *handle);
