// SPDX-License-Identifier: BSD-3-Clause
// mpirun's parsers end it with an error message if the input is wrong, and leave their memory to
// the system. Here they run again and again in one process: the linker hands their mlt_quit, exit
// and allocations to launcher.c (--wrap), which jumps back and cleans up. No parser touches a real
// file meanwhile.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// What every file is that is opened for reading from now on, except one whose name has "none" in
// it: that is missing.
void fuzz_file(const uint8_t *data, size_t size);

// Calls; true if the call came back, false if it ended mpirun.
bool fuzz_run(void (*call)(void *argument), void *argument);

// After that: what it said (mlt_say and mlt_quit: a line each), "" if nothing; and the exit code, 0
// if it came back.
const char *fuzz_said(size_t *size);
int fuzz_code(void);

// Frees and closes what the call has left.
void fuzz_release(void);

// A text with brackets that stand for more than some thousand hosts: it would only cost time.
bool fuzz_wide(const char *text);
