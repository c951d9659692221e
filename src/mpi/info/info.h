// SPDX-License-Identifier: BSD-3-Clause
// Info objects: strings by key, in the order in which the keys were first set.
//
// They belong to the process: made before MPI_Init, freed after MPI_Finalize, used by any thread.
// All functions that read or change keys take one lock, for a short time, so calls of several
// threads on one object come in some order. MPI_INFO_ENV is an object too: it is filled in when it
// is first asked for and never changes.
#pragma once

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "mpi/comm/comm.h"
#include "p2p/p2p.h"

enum { MLT_INFO_MAGIC = 0x01f0b1ec };

typedef struct mlt_info mlt_info;

// The object of a handle. NULL: MPI_INFO_NULL (ask for it first where it is allowed) or a bad
// handle, for which mlt_bad_info raises the error.
mlt_info *mlt_info_of(MPI_Info handle);
MPI_Info mlt_info_handle(const mlt_info *info);

// MPI_ERR_INFO: "argument info is ..., but should be a valid info object". me and comm may be NULL.
int mlt_bad_info(mlt_rank *me, mlt_comm *comm, uint16_t fn, MPI_Info handle) MLT_COLD;

// A new, empty one, or a copy with the same keys in the same order (from NULL: empty). Never NULL:
// the process ends with a message if memory is out. The caller's to free.
mlt_info *mlt_info_new(void);
mlt_info *mlt_info_dup(const mlt_info *from);
void mlt_info_free(mlt_info *info); // NULL is fine

// Sets a key, or changes its value; both strings are copied. They are not checked: a key has 1 to
// MPI_MAX_INFO_KEY - 1 bytes, a value 0 to MPI_MAX_INFO_VAL - 1.
void mlt_info_set(mlt_info *info, const char *key, const char *value);

// The value of a key; NULL: it is not set, or info is NULL. Valid until that key is set again or
// deleted, or the object is freed; the user must not do that during a call that got the object.
const char *mlt_info_get(const mlt_info *info, const char *key);

// For hints: true if the key is set to "true", false if it is set to "false", `otherwise` if it is
// not set or set to something else.
bool mlt_info_flag(const mlt_info *info, const char *key, bool otherwise);

// False if there was no such key.
bool mlt_info_delete(mlt_info *info, const char *key);

// How many keys there are, and the n-th of them (0 is the first that was set; NULL: there is no
// n-th). The key is valid as long as it is set.
int mlt_info_count(const mlt_info *info);
const char *mlt_info_key(const mlt_info *info, int n);
