// SPDX-License-Identifier: BSD-3-Clause
// Memory that other processes of the job on this host can map: one memfd of the process, divided
// into blocks. MPI_Alloc_mem gives it out, and windows lie in it (win/part.h), which are mapped.
//
// All functions may be called by any thread at any time; one lock guards them.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { MLT_SHMEM_ALIGN = 64 };

// At least `bytes` bytes (0: an address of its own all the same), aligned to MLT_SHMEM_ALIGN or to
// `align`, a power of two, whichever is more. Their contents are undefined. NULL: the system gives
// no more.
void *mlt_shmem_alloc(size_t bytes, size_t align);

// False, and nothing done: the address is none that mlt_shmem_alloc gave, or it was freed.
bool mlt_shmem_free(void *address);

// True if all these bytes lie in memory of this kind: *segment is the number of the process's memfd
// (0, there is one), *offset where in it they begin. Whether they are allocated is not asked.
bool mlt_shmem_find(const void *address, size_t bytes, uint32_t *segment, uint64_t *offset);

// The descriptor of a segment, the process's own; -1: there is none (yet).
int mlt_shmem_fd(uint32_t segment);
