// SPDX-License-Identifier: BSD-3-Clause
// Calls of libc that block: where several ranks share a worker, they park the calling rank only.
// A rank that is alone in its worker, threads of the program and this library get libc's own.
#ifndef MLT_HOST_BLOCK_H
#define MLT_HOST_BLOCK_H

#include <stddef.h>
#include <sys/types.h>

// read(2) for the calling rank, whoever calls it. May suspend.
ssize_t mlt_block_read(int fd, void *to, size_t bytes);

#endif
