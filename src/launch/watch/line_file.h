// SPDX-License-Identifier: BSD-3-Clause
// Which file of the source an address of a program belongs to, by the program's table of lines in DWARF 5.
// addr2line of binutils 2.40 (Debian 12) gives the line of a header, but the name of the file that includes
// it, for code before the table first names a file. Older tables it reads well.
#pragma once

#include <stddef.h>
#include <stdint.h>

// elf: a whole file of 64 bits and little endian; anything else, and damage, has no answer. NULL: not
// known. The caller frees it.
char *mlt_lines_file_of(const void *elf, size_t bytes, uint64_t address);
