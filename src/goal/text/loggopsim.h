// SPDX-License-Identifier: BSD-3-Clause
// LogGOPSim's binary file: read in both of its versions (39- and 104-byte nodes), written in the
// first. Little-endian, unaligned; nothing in it is believed before it is checked.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/status.h"
#include "goal/program.h"

// True if the bytes begin with one of its cookies.
bool mlt_goal_is_loggopsim(const void *bytes, size_t size);

// On an error a message that names `name` and the place in the file.
mlt_status mlt_goal_loggopsim_read(const char *name, const void *bytes, size_t size,
                                   mlt_goal_program **out, char *why,
                                   size_t why_size) MLT_MUST_CHECK;

// Memory is lost, as in the text dialect. False: writing failed, errno tells.
bool mlt_goal_loggopsim_write(const mlt_goal_program *program, double exec_ns_per_byte, FILE *to);
