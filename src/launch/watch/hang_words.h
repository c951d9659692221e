// SPDX-License-Identifier: BSD-3-Clause
// What a rank does, in words.
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "launch/watch/hang_records.h"

// "MPI_COMM_WORLD", "communicator #3".
void mlt_hang_say_communicator(const mlt_ctl_wait *wait, FILE *out);

// ", tag 5, MPI_COMM_WORLD (8 bytes)".
void mlt_hang_say_envelope(const mlt_ctl_wait *wait, bool with_bytes, FILE *out);

// The whole line of a blocked rank, after "rank 3: ". Several threads follow each other.
// `bytes`: with sizes, and numbers of actions.
void mlt_hang_say_blocked(const mlt_hang *hang, uint32_t rank, mlt_hang_relation how, bool bytes,
                          FILE *out);

// "; 2 other threads not blocked in MPI", or nothing.
void mlt_hang_say_others(const mlt_hang *hang, uint32_t rank, FILE *out);

const char *mlt_hang_state_text(uint8_t state);
