// SPDX-License-Identifier: BSD-3-Clause
// --strict: what ranks left behind at MPI_Finalize. Ranks that left the same things, made at the same
// place, share a note.
#pragma once

#include <stddef.h>
#include <stdio.h>

#include "boot/ctl.h"

typedef struct mlt_leaks {
    mlt_ctl_leak *all; // all zero: none
    size_t count, room;
} mlt_leaks;

void mlt_leaks_add(mlt_leaks *leaks, const mlt_ctl_leak *records, size_t count);

// A line each, those that most ranks have first, 20 of them at most.
void mlt_leaks_print(mlt_leaks *leaks, FILE *out);

void mlt_leaks_free(mlt_leaks *leaks);
