// SPDX-License-Identifier: BSD-3-Clause
// What stands before a line that a rank has written, if mpirun was asked for it: "[3] " (-l), date and
// time (--timestamp), or both. mpirun writes it for processes of one rank, the library for others.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { MLT_LABEL_BYTES = 96 };

typedef struct mlt_label {
    bool time, rank;
    const char *job; // of a spawned job: its name; "": it is none
    uint32_t number; // the rank's
} mlt_label;

// "2026-11-18 09:30:01.125 [3] " in local time; returns its length. The first call of a process reads
// the time zone, which takes more stack than a fiber may have: so it is made before ranks run.
size_t mlt_label_write(const mlt_label *label, char text[MLT_LABEL_BYTES]);
