// SPDX-License-Identifier: BSD-3-Clause
#include "fiber/stack.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "base/log.h"
#include "base/memory.h"
#include "fiber/sanitize.h"
#include "os/os.h"

#define FREE_BIT 0x80000000u

// Stacks of a process that mprotect may guard: with 65,530 mappings (Linux's default) those of the
// program, its libraries and its allocator must still find room.
enum { PROTECT_MAX = 28000 };

enum { AHEAD_PART = 16 };

// Up to so many fibers a process, so many usable bytes. Programs assume their shell's 8 MiB. A
// stack whose slot is 2 MiB or more costs a page-table page of its own (4 KiB), of smaller slots
// many share one: 1.1 MiB 2.1 KiB each, 240 KiB 0.5 and 64 KiB 0.25. The budget of a
// rank is 5 KiB in all where ranks are many: one page of stack, and 480 bytes of page tables.
static const struct {
    uint32_t fibers;
    size_t bytes;
} steps[] = {
    {4096, 8u << 20},
    {32768, 1u << 20},
    {UINT32_MAX, 176u << 10},
};

size_t mlt_stack_size_for(uint32_t process_fibers)
{
    size_t i = 0;
    while (process_fibers > steps[i].fibers)
        i++;
    return steps[i].bytes;
}

static size_t round_up(size_t n, size_t unit)
{
    return (n + unit - 1) / unit * unit;
}

static size_t guard_bytes(const mlt_stacks *stacks, uint32_t index)
{
    return index < stacks->wide ? MLT_STACK_GUARD_WIDE : MLT_STACK_GUARD_BYTES;
}

static char *slot_at(const mlt_stacks *stacks, uint32_t index)
{
    size_t slot = stacks->size + guard_bytes(stacks, index);
    return index < stacks->wide ? stacks->area + index * slot
                                : stacks->narrow + (index - stacks->wide) * slot;
}

static char *stack_at(const mlt_stacks *stacks, uint32_t index)
{
    return slot_at(stacks, index) + guard_bytes(stacks, index);
}

// The slot in which the address, which is in the area, lies.
static uint32_t index_of(const mlt_stacks *stacks, uintptr_t at)
{
    uintptr_t narrow = (uintptr_t)stacks->narrow;
    if (at < narrow)
        return (uint32_t)((at - (uintptr_t)stacks->area) / (stacks->size + MLT_STACK_GUARD_WIDE));
    return stacks->wide + (uint32_t)((at - narrow) / (stacks->size + MLT_STACK_GUARD_BYTES));
}

// Reserves the area for slots of that usable size.
static bool reserve(mlt_stacks *stacks, size_t size, uint32_t wide)
{
    if (size > SIZE_MAX / 4 / stacks->count)
        return false;
    size_t wide_bytes = (size + MLT_STACK_GUARD_WIDE) * wide;
    stacks->size = size;
    stacks->wide = wide;
    stacks->area_bytes = wide_bytes + (size + MLT_STACK_GUARD_BYTES) * (stacks->count - wide);
    stacks->area = mlt_os_map_stacks(stacks->area_bytes);
    stacks->narrow = stacks->area ? stacks->area + wide_bytes : NULL;
    return stacks->area != NULL;
}

// Each worker's share of what a process may have, which is at most what it has use for.
static uint32_t share(uint32_t most, uint32_t count, uint32_t process_fibers)
{
    return process_fibers <= most ? count : (uint32_t)((uint64_t)most * count / process_fibers);
}

// Valgrind 3.27 ends a program that has many guard pages; older ones know nothing of them.
static mlt_stack_guard best_guard(void)
{
    return mlt_sanitize_valgrind() ? MLT_STACK_GUARD_PROTECT : MLT_STACK_GUARD_PAGES;
}

uint32_t mlt_stack_guard_mappings(uint32_t fibers)
{
    size_t page = mlt_os_page_size();
    char *memory = mlt_os_map_stacks(2 * page);
    bool light = memory && best_guard() == MLT_STACK_GUARD_PAGES &&
                 mlt_os_guard_install(memory, page) == MLT_OK && mlt_os_is_guarded(memory);
    if (memory)
        mlt_os_unmap(memory, 2 * page);
    return light ? 0 : 2 * (fibers < PROTECT_MAX ? fibers : PROTECT_MAX);
}

mlt_status mlt_stacks_init(mlt_stacks *stacks, uint32_t count, uint32_t process_fibers,
                           size_t asked, mlt_stack_guard guard, char *why, size_t why_size)
{
    size_t page = mlt_os_page_size();
    mlt_assert(count > 0 && count < FREE_BIT && MLT_STACK_GUARD_BYTES % page == 0);
    memset(stacks, 0, sizeof *stacks);
    stacks->count = count;
    stacks->free = MLT_STACK_NONE;
    stacks->guard = guard == MLT_STACK_GUARD_BEST ? best_guard() : guard;
    if (process_fibers < count)
        process_fibers = count;
    stacks->protect_limit = share(PROTECT_MAX, count, process_fibers);
    uint32_t wide = share(MLT_STACK_WIDE_MOST, count, process_fibers);
    if (asked && asked < MLT_STACK_MIN)
        return mlt_fail(MLT_ERR_INVALID, why, why_size,
                        "a stack of %zu bytes is too small: at least %d KiB are needed", asked,
                        MLT_STACK_MIN / 1024);
    size_t size = asked;
    if (!asked)
        size = mlt_stack_size_for(process_fibers);
    else if (asked <= SIZE_MAX / 4)
        size = round_up(asked, page);
    // Narrow guards, and, if nobody asked for a size, less of it, are better than no stacks where
    // address space is limited (ulimit -v, strict overcommit).
    while (!reserve(stacks, size, wide) && !reserve(stacks, size, 0) && !asked &&
           size / 2 >= 64 * 1024)
        size = round_up(size / 2, page);
    if (!stacks->area)
        return mlt_fail(
            MLT_ERR_NO_MEMORY, why, why_size,
            "the system refuses address space for %u stacks of %zu KiB; fewer ranks, a smaller "
            "--stack-size, or a higher 'ulimit -v' would help",
            count, size / 1024);
    if (guard == MLT_STACK_GUARD_CANARY)
        stacks->bare_from = stacks->area;
    (void)madvise(stacks->area, stacks->area_bytes, MADV_DONTDUMP); // or core files are large
    stacks->owner = mlt_os_map(count * sizeof *stacks->owner);
    if (!stacks->owner) {
        mlt_stacks_fini(stacks);
        return mlt_fail(MLT_ERR_NO_MEMORY, why, why_size, MLT_NO_ROOM "the table of %u stacks",
                        count);
    }
    if (mlt_sanitize_valgrind())
        stacks->valgrind = mlt_os_map(count * sizeof *stacks->valgrind);
    return MLT_OK;
}

void mlt_stacks_fini(mlt_stacks *stacks)
{
    if (stacks->valgrind) {
        for (uint32_t i = 0; i < stacks->fresh; i++)
            mlt_sanitize_valgrind_forget(stacks->valgrind[i]);
        mlt_os_unmap(stacks->valgrind, stacks->count * sizeof *stacks->valgrind);
    }
    if (stacks->owner)
        mlt_os_unmap(stacks->owner, stacks->count * sizeof *stacks->owner);
    mlt_os_unmap(stacks->area, stacks->area_bytes);
    memset(stacks, 0, sizeof *stacks);
}

// First use of a slot. The first refusal of a kind decides for all later slots: a kernel without
// MADV_GUARD_INSTALL stays without, and a full map count stays full. Some emulators (qemu-user)
// accept an madvise that they do not know, so the first guard is tried.
static void guard_slot(mlt_stacks *stacks, uint32_t index, char *slot)
{
    if (stacks->guard == MLT_STACK_GUARD_PAGES) {
        if (mlt_os_guard_install(slot, guard_bytes(stacks, index)) == MLT_OK &&
            (index > 0 || mlt_os_is_guarded(slot)))
            return;
        stacks->guard = MLT_STACK_GUARD_PROTECT;
    }
    if (stacks->guard == MLT_STACK_GUARD_PROTECT) {
        if (index < stacks->protect_limit &&
            mlt_os_protect(slot, guard_bytes(stacks, index)) == MLT_OK)
            return;
        stacks->guard = MLT_STACK_GUARD_CANARY;
        stacks->bare = index;
        stacks->bare_from = slot;
    }
}

// Prepares some more fresh slots with narrow guards at once: a sixteenth of those in use, so that
// the memory of what is never used is small, too. False: there is nothing to gain, or the system
// does not do it (before Linux 6.13, and in some sandboxes).
static bool prepare_ahead(mlt_stacks *stacks, uint32_t index)
{
    uint32_t count = index / AHEAD_PART, left = stacks->count - index;
    size_t slot = stacks->size + MLT_STACK_GUARD_BYTES, page = mlt_os_page_size();
    count = count < MLT_OS_RANGES ? count : MLT_OS_RANGES;
    count = count < left ? count : left;
    if (count < 2 || index < stacks->wide || stacks->guard != MLT_STACK_GUARD_PAGES ||
        stacks->one_by_one)
        return false;
    char *at = slot_at(stacks, index);
    if (mlt_os_guard_ranges(at, MLT_STACK_GUARD_BYTES, slot, count) != MLT_OK) {
        stacks->one_by_one = true;
        return false;
    }
    mlt_os_fault_in_ranges(at + slot - page, page, slot, count);
    stacks->ready = index + count;
    return true;
}

static void prepare(mlt_stacks *stacks, uint32_t index)
{
    if (index < stacks->ready || prepare_ahead(stacks, index))
        return;
    guard_slot(stacks, index, slot_at(stacks, index));
    stacks->ready = index + 1;
}

// Apart: a stack that was used before, as most are, saves no registers for it.
static __attribute__((noinline)) char *take_fresh(mlt_stacks *stacks, uint32_t owner)
{
    mlt_assert(stacks->fresh < stacks->count);
    uint32_t index = stacks->fresh++;
    char *stack = stack_at(stacks, index);
    prepare(stacks, index);
    if (stacks->valgrind)
        stacks->valgrind[index] = mlt_sanitize_valgrind_tell(stack, stack + stacks->size);
    stacks->owner[index] = owner;
    mlt_sanitize_fresh(stack, stacks->size);
    return stack;
}

char *mlt_stack_take(mlt_stacks *stacks, uint32_t owner)
{
    uint32_t index = stacks->free;
    if (MLT_UNLIKELY(index == MLT_STACK_NONE))
        return take_fresh(stacks, owner);
    // The one used last: its pages are warm.
    uint32_t next = stacks->owner[index] & ~FREE_BIT;
    stacks->free = next == (MLT_STACK_NONE & ~FREE_BIT) ? MLT_STACK_NONE : next;
    stacks->free_count--;
    if (stacks->free_clean > stacks->free_count)
        stacks->free_clean = stacks->free_count;
    stacks->owner[index] = owner;
    char *stack = stack_at(stacks, index);
    mlt_sanitize_fresh(stack, stacks->size);
    return stack;
}

void mlt_stack_give(mlt_stacks *stacks, char *stack)
{
    uint32_t index = index_of(stacks, (uintptr_t)stack);
    mlt_assert(index < stacks->fresh && !(stacks->owner[index] & FREE_BIT));
    stacks->owner[index] = stacks->free | FREE_BIT;
    stacks->free = index;
    stacks->free_count++;
}

uint64_t mlt_stacks_trim_free(mlt_stacks *stacks)
{
    uint64_t offered = 0;
    uint32_t index = stacks->free;
    for (uint32_t n = stacks->free_count; n > stacks->free_clean; n--) {
        mlt_os_discard(stack_at(stacks, index), stacks->size);
        offered += stacks->size;
        index = stacks->owner[index] & ~FREE_BIT;
    }
    stacks->free_clean = stacks->free_count;
    return offered;
}

void mlt_stack_expose(const mlt_stacks *stacks, const char *stack, const void *from)
{
    uintptr_t low = (uintptr_t)stack, top = low + stacks->size, at = (uintptr_t)from;
    if (at < low || at >= top)
        at = low;
    at -= at % mlt_os_page_size();
    (void)madvise((void *)at, top - at, MADV_DODUMP);
}

uint32_t mlt_stack_guard_owner(const mlt_stacks *stacks, const void *address)
{
    uintptr_t at = (uintptr_t)address, area = (uintptr_t)stacks->area;
    if (!stacks->area || at < area || at - area >= stacks->area_bytes)
        return MLT_STACK_NONE;
    uint32_t index = index_of(stacks, at);
    if (index >= stacks->fresh || at >= (uintptr_t)stack_at(stacks, index))
        return MLT_STACK_NONE;
    uint32_t owner = stacks->owner[index];
    return owner & FREE_BIT ? MLT_STACK_NONE : owner;
}
