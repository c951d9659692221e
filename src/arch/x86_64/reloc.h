// SPDX-License-Identifier: BSD-3-Clause
// What the relocation types of this processor ask for.
#pragma once

#include <elf.h>
#include <stdint.h>

#include "arch/reloc.h"

static inline mlt_reloc_kind mlt_arch_reloc_kind(uint32_t type)
{
    switch (type) {
    case R_X86_64_NONE:
        return MLT_RELOC_NONE;
    case R_X86_64_RELATIVE:
        return MLT_RELOC_RELATIVE;
    case R_X86_64_64:
        return MLT_RELOC_SYMBOL;
    case R_X86_64_GLOB_DAT:
    case R_X86_64_JUMP_SLOT:
        return MLT_RELOC_SLOT;
    case R_X86_64_COPY:
        return MLT_RELOC_COPY;
    case R_X86_64_IRELATIVE:
        return MLT_RELOC_CHOICE;
    case R_X86_64_DTPMOD64:
    case R_X86_64_DTPOFF64:
    case R_X86_64_TPOFF64:
    case R_X86_64_SIZE64:
        return MLT_RELOC_AS_LOADED;
    case R_X86_64_TLSDESC:
        return MLT_RELOC_AS_LOADED_TWO;
    default:
        return MLT_RELOC_UNKNOWN;
    }
}
