// SPDX-License-Identifier: BSD-3-Clause
// Calls of libc that block: where several ranks share a worker, they park the calling rank only.
// A rank that is alone in its worker, threads of the program and this library get libc's own.
#pragma once

#include <stdbool.h>

// Waits until the descriptor can be read, or an eventfd of ours has been rung: parks the calling rank,
// if that is possible, whoever calls it. False, and errno: it is too late, or a signal has ended the wait.
bool mlt_block_until_readable(int fd, int bell);
