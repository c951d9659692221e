// SPDX-License-Identifier: BSD-3-Clause
// The stacks of one worker: one address area, carved into slots of equal size, a guard at the low
// end of each. Address space is reserved for all of them at once and costs nothing; a stack costs
// what its fiber touches. A shallow fiber touches one page, the top one.
//
//     area                                        narrow
//      | guard 1 MiB | usable ..... <- top | ...  | guard 64 KiB | usable ..... <- top | ...
//      |<------------- slot 0 ------------>|      |<------------ slot `wide` --------->|
//
// The compiler's probes step 64 KiB on aarch64, so they could jump over a smaller guard. A function
// that was compiled without probes jumps over any guard that is smaller than its frame. So the
// first slots, which are all of them unless fibers are many, have a guard as large as Linux's own
// below a process's stack. More wide guards would cost page tables: 2 KiB for each MiB.
//
// Guards are made when a slot is first used. Where fibers are many, those of the next slots are
// made at once, with their top pages: a system call and a fault less for each. Used stacks go to a
// last-in-first-out list: the next fiber gets the one whose pages are warm. Bookkeeping is 4 bytes
// a slot, so a million slots cost little.
//
// One thread uses it. Nothing here suspends.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

enum {
    MLT_STACK_GUARD_BYTES = 64 * 1024,
    MLT_STACK_GUARD_WIDE = 1024 * 1024,
    MLT_STACK_WIDE_MOST = 4096, // slots of a process with wide guards
    MLT_STACK_MIN = 4 * 1024,
    MLT_STACK_ROOMY = 16 * 1024, // of smaller ones the library spares what it can (deep.h)
};
#define MLT_STACK_NONE UINT32_MAX // no slot, no owner

// Best first; each falls back to the next where the system refuses.
typedef enum mlt_stack_guard {
    MLT_STACK_GUARD_BEST,
    MLT_STACK_GUARD_PAGES,   // MADV_GUARD_INSTALL: no mapping of its own
    MLT_STACK_GUARD_PROTECT, // mprotect: two mappings a stack, of the process's 65,530
    MLT_STACK_GUARD_CANARY,  // nothing faults: see mlt_stack_intact
} mlt_stack_guard;

typedef struct mlt_stacks {
    char *area;   // first slot
    char *narrow; // first slot with a narrow guard
    size_t area_bytes;
    size_t size;     // usable bytes
    uint32_t count;  // slots
    uint32_t wide;   // the first ones have wide guards
    uint32_t fresh;  // slots from here on were never used
    uint32_t ready;  // those before have what a first use makes
    bool one_by_one; // the system prepares no slots ahead
    uint32_t free;   // last given back, or MLT_STACK_NONE
    uint32_t free_count;
    uint32_t free_clean;    // that many at the end of the free list have no pages
    mlt_stack_guard guard;  // what the next fresh slot gets
    uint32_t protect_limit; // so many may be guarded by mprotect
    uint32_t bare;          // slots from here on have no guard pages (MLT_STACK_GUARD_CANARY)
    char *bare_from;        // the first of them; NULL: there is none
    uint32_t *owner;    // [count] fiber id; of a free slot the next free one, with the top bit set
    unsigned *valgrind; // [count] its names of our stacks; NULL unless it runs us
} mlt_stacks;

// The size a stack gets if nobody asked for one: see stack.c for the steps.
size_t mlt_stack_size_for(uint32_t process_fibers);

// The mappings that guards of so many stacks of a process take, at most. Asks the system.
uint32_t mlt_stack_guard_mappings(uint32_t fibers);

// Reserves count stacks. asked: bytes, 0 for the size that suits process_fibers, which shrinks if
// the system refuses so much address space. On failure a message in why.
mlt_status mlt_stacks_init(mlt_stacks *stacks, uint32_t count, uint32_t process_fibers,
                           size_t asked, mlt_stack_guard guard, char *why,
                           size_t why_size) MLT_MUST_CHECK;
void mlt_stacks_fini(mlt_stacks *stacks);

// The lowest usable byte of a stack for that fiber; its top is stacks->size above. There is always
// one, since there are as many slots as fibers.
char *mlt_stack_take(mlt_stacks *stacks, uint32_t owner);

// May be called while running on it: its memory stays as it is until somebody takes it.
void mlt_stack_give(mlt_stacks *stacks, char *stack);

// Gives back the pages of free stacks. Returns the bytes offered.
uint64_t mlt_stacks_trim_free(mlt_stacks *stacks);

// The owner of the guard in which the address lies, or MLT_STACK_NONE. Safe in a signal handler.
uint32_t mlt_stack_guard_owner(const mlt_stacks *stacks, const void *address);

// Core files leave the area out, since most of it is nothing (230 GiB of it with a million fibers),
// and gdb's gcore gives up at guard pages. This puts [from, the stack's top) in. Safe in a signal
// handler; costs two mappings.
void mlt_stack_expose(const mlt_stacks *stacks, const char *stack, const void *from);

// Of a stack without guard pages: the gap below it has never been written, so the gap's highest
// line must read as zero. Reading an untouched page costs no memory. False if the stack overflowed.
static inline bool mlt_stack_intact(const mlt_stacks *stacks, const char *stack)
{
    if (!stacks->bare_from || stack < stacks->bare_from)
        return true; // has guard pages, which must not be read
    const uint64_t *line = (const uint64_t *)(stack - 64);
    return !(line[0] | line[1] | line[2] | line[3] | line[4] | line[5] | line[6] | line[7]);
}
