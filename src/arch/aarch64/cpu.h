// SPDX-License-Identifier: BSD-3-Clause
// aarch64; see arch.h.
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <ucontext.h>

#include "arch/arch.h"

// Measured on a Neoverse-V1: chunks beat reading at all sizes.
enum { MLT_ARCH_FRAME_BYTES = 160, MLT_ARCH_READS_PEERS = 0 };

typedef long double mlt_arch_quad;

// The frame of switch.S, lowest address first.
typedef struct mlt_arch_frame {
    uint64_t x29, x30; // first, so that a saved stack pointer is also a frame record
    uint64_t x19, x20, x21, x22, x23, x24, x25, x26, x27, x28;
    uint64_t d[8]; // d8 to d15
} mlt_arch_frame;

_Static_assert(sizeof(mlt_arch_frame) == MLT_ARCH_FRAME_BYTES, "switch.S counts on it");

// `yield` is a hint that cores without hardware threads execute as nothing, so that a waiting core
// sees the other's write at once. `isb` (which others use to wait longer between looks) would add
// tens of nanoseconds to a message; our rings have one reader and one writer, so there is no
// contention to calm.
static inline void mlt_arch_pause(void)
{
    __asm__ volatile("yield" ::: "memory");
}

static inline uint64_t mlt_arch_cycles(void)
{
    uint64_t now;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(now));
    return now;
}

static inline void mlt_arch_order(void)
{
    __asm__ volatile("dmb ish" ::: "memory");
}

// One instruction; gcc makes three of an atomic load.
static inline uint32_t mlt_arch_load_8(const void *from)
{
    uint32_t value;
    __asm__("ldrb %w0, %1" : "=r"(value) : "m"(*(const uint8_t *)from));
    return value;
}

// Four instructions; compilers make fourteen of seven atomic stores.
static inline void mlt_arch_store_call(void *to, uint32_t fn, int32_t rank, int32_t peer,
                                       int32_t tag, uint64_t count, uint64_t size, uint32_t context)
{
    __asm__("stp %w2, %w3, [%1]\n\tstp %w4, %w5, [%1, #8]\n\t"
            "stp %x6, %x7, [%1, #16]\n\tstr %w8, [%1, #32]"
            : "=m"(*(uint8_t(*)[64])to)
            : "r"(to), "rZ"(fn), "rZ"(rank), "rZ"(peer), "rZ"(tag), "rZ"(count), "rZ"(size),
              "rZ"(context));
}

static inline uint64_t mlt_arch_fp_mode(void)
{
    uint64_t fpcr;
    __asm__ volatile("mrs %0, fpcr" : "=r"(fpcr));
    return fpcr;
}

static inline void mlt_arch_fp_mode_set(uint64_t fpcr)
{
    __asm__ volatile("msr fpcr, %0" : : "r"(fpcr));
}

// Builds a frame below stack_top (a multiple of 16) from which mlt_arch_switch starts entry(arg);
// returns the stack pointer to load.
static inline void *mlt_arch_fiber_init(void *stack_top, void (*entry)(void *), void *arg)
{
    mlt_arch_frame *frame = (mlt_arch_frame *)((char *)stack_top - sizeof *frame);
    memset(frame, 0, sizeof *frame); // x29 = 0 ends the chain of frame records
    frame->x30 = (uint64_t)(uintptr_t)mlt_arch_start;
    frame->x19 = (uint64_t)(uintptr_t)entry;
    frame->x20 = (uint64_t)(uintptr_t)arg;
    return frame;
}

// Address at which the fiber with this saved stack pointer goes on.
static inline uint64_t mlt_arch_parked(const void *sp)
{
    return ((const mlt_arch_frame *)sp)->x30;
}

static inline const void *mlt_arch_signal_pc(const void *context)
{
    return (const void *)(uintptr_t)((const ucontext_t *)context)->uc_mcontext.pc;
}

static inline bool mlt_arch_peek_failed(void *context)
{
    mcontext_t *at = &((ucontext_t *)context)->uc_mcontext;
    if (at->pc != (uintptr_t)mlt_arch_peek_load)
        return false;
    at->pc = (uintptr_t)mlt_arch_peek_refused;
    return true;
}

#define MLT_ARCH_HANDLER

static inline long mlt_arch_signal_call(const void *context, bool *again, uint64_t arguments[3])
{
    enum { SVC = 0xd4000001u, PAGE = 4096 };
    const mcontext_t *at = &((const ucontext_t *)context)->uc_mcontext;
    const uint32_t *code = (const uint32_t *)(uintptr_t)at->pc;
    *again = *code == SVC;
    if (!*again && (at->pc % PAGE == 0 || code[-1] != SVC))
        return -1;
    for (int i = 0; i < 3; i++)
        arguments[i] = at->regs[i];
    return (long)at->regs[8];
}

static inline const char *mlt_arch_signal_sp(const void *context)
{
    return (const char *)(uintptr_t)((const ucontext_t *)context)->uc_mcontext.sp;
}
