// SPDX-License-Identifier: BSD-3-Clause
// What a relocation of an ELF file asks for, whatever the processor. Each is for a word of 8 bytes.
#ifndef MLT_ARCH_RELOC_H
#define MLT_ARCH_RELOC_H

typedef enum mlt_reloc_kind {
    MLT_RELOC_NONE,
    MLT_RELOC_RELATIVE,      // an address of the object itself: base + addend
    MLT_RELOC_SYMBOL,        // a symbol's address + addend, in data that may change later
    MLT_RELOC_SLOT,          // a symbol's address, in a table that only the loader writes
    MLT_RELOC_COPY,          // the contents of another object's variable
    MLT_RELOC_CHOICE,        // the address of the function that a function of the object chose
    MLT_RELOC_AS_LOADED,     // what the loader put there: the place of a thread-local variable
    MLT_RELOC_AS_LOADED_TWO, // ... in two words
    MLT_RELOC_UNKNOWN,
} mlt_reloc_kind;

// static inline mlt_reloc_kind mlt_arch_reloc_kind(uint32_t type);
#if defined(__aarch64__)
#include "arch/aarch64/reloc.h"
#elif defined(__x86_64__)
#include "arch/x86_64/reloc.h"
#endif

#endif
