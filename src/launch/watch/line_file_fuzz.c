// SPDX-License-Identifier: BSD-3-Clause
// Any bytes as a program's file: an answer, or none. Half of the inputs get a header that leads to the rest
// as the table of lines, which chance would not find.
#include "launch/watch/line_file.h"

#include <elf.h>
#include <fuzz/fuzz.h>
#include <stdlib.h>
#include <string.h>

typedef struct program {
    Elf64_Ehdr head;
    Elf64_Shdr sections[4];
    char names[48];
} program;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char names[] = "\0.debug_line\0.debug_line_str\0.debug_str";
    free(mlt_lines_file_of(data, size, size ? data[0] : 0));
    if (!size)
        return 0;
    program p = {.head = {.e_shoff = offsetof(program, sections),
                          .e_shentsize = sizeof(Elf64_Shdr),
                          .e_shnum = 4,
                          .e_shstrndx = 0},
                 .sections = {{.sh_offset = offsetof(program, names), .sh_size = sizeof names},
                              {.sh_name = 1, .sh_offset = sizeof p, .sh_size = size},
                              {.sh_name = 13, .sh_offset = sizeof p, .sh_size = size / 2},
                              {.sh_name = 29, .sh_offset = sizeof p, .sh_size = size / 3}}};
    memcpy(p.head.e_ident, ELFMAG, SELFMAG);
    p.head.e_ident[EI_CLASS] = ELFCLASS64;
    p.head.e_ident[EI_DATA] = ELFDATA2LSB;
    memcpy(p.names, names, sizeof names);
    uint8_t *whole = malloc(sizeof p + size);
    FUZZ_CHECK(whole);
    memcpy(whole, &p, sizeof p);
    memcpy(whole + sizeof p, data, size);
    free(mlt_lines_file_of(whole, sizeof p + size, data[size - 1] * UINT64_C(16)));
    free(whole);
    return 0;
}
