// SPDX-License-Identifier: BSD-3-Clause
// Lines of source in crash reports: a rank's last words name functions, and addr2line, if this
// machine has it, knows where they stand in the source.
#pragma once

// The text, with " at FILE:LINE" at the end of each line "PROGRAM(FUNCTION+0xOFFSET)[...]" that
// addr2line knows. Programs are looked for in dir (NULL: here). Takes two seconds at most. The
// caller frees it.
char *mlt_lines_add(const char *text, const char *dir);
