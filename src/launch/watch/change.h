// SPDX-License-Identifier: BSD-3-Clause
// Rule books for a running job (mpi/coll/outside.h): the head's part of the agreement between hosts.
//
//     head                                  agents
//     CHANGE(rule book) -----------------------> ask their workers to look
//               <-------------------------- KNOWS(change): all of this host's have
//     all hosts know: KNOWN(change) ------> on their boards
//               <-------------------------- rank 0 of a communicator decides: it waits before a call
//     DECIDED(number, the decision) ------> on their boards
//               <-------------------------- KEPT(number)
//     all hosts have it: SPREAD -----------> on the board of rank 0's host: rank 0 goes on
//
// A job on one host needs CHANGE only.
#pragma once

#include <stdint.h>

#include "launch/hosts/frame.h"

typedef struct mlt_changes mlt_changes;

// Sends a frame to the agent of a host, or to MLT_FRAME_ALL. Agents may answer before it returns.
typedef void mlt_changes_send(void *user, const mlt_frame *frame, char *body);

// What rank 0 decides: the communicator's key and the word for it (boot/board.h).
typedef struct mlt_decision {
    uint64_t key, word;
} mlt_decision;

mlt_changes *mlt_changes_new(uint32_t hosts, mlt_changes_send *send, void *user);
void mlt_changes_free(mlt_changes *changes);

// The job shall take the rule book; its number.
uint32_t mlt_changes_begin(mlt_changes *changes, const char *file);

// What agents tell. Numbers that make no sense are dropped.
void mlt_changes_knows(mlt_changes *changes, uint32_t host, int64_t change);
void mlt_changes_decides(mlt_changes *changes, uint32_t host, const mlt_decision *decision);
void mlt_changes_kept(mlt_changes *changes, uint32_t host, int64_t number);

// It answers nothing any more.
void mlt_changes_lost(mlt_changes *changes, uint32_t host);
