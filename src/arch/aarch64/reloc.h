// SPDX-License-Identifier: BSD-3-Clause
// What the relocation types of this processor ask for.
#pragma once

#include <elf.h>
#include <stdint.h>

#include "arch/reloc.h"

static inline mlt_reloc_kind mlt_arch_reloc_kind(uint32_t type)
{
    switch (type) {
    case R_AARCH64_NONE:
        return MLT_RELOC_NONE;
    case R_AARCH64_RELATIVE:
        return MLT_RELOC_RELATIVE;
    case R_AARCH64_ABS64:
        return MLT_RELOC_SYMBOL;
    case R_AARCH64_GLOB_DAT:
    case R_AARCH64_JUMP_SLOT:
        return MLT_RELOC_SLOT;
    case R_AARCH64_COPY:
        return MLT_RELOC_COPY;
    case R_AARCH64_IRELATIVE:
        return MLT_RELOC_CHOICE;
    case R_AARCH64_TLS_DTPMOD:
    case R_AARCH64_TLS_DTPREL:
    case R_AARCH64_TLS_TPREL:
        return MLT_RELOC_AS_LOADED;
    case R_AARCH64_TLSDESC:
        return MLT_RELOC_AS_LOADED_TWO;
    default:
        return MLT_RELOC_UNKNOWN;
    }
}
