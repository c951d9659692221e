// SPDX-License-Identifier: BSD-3-Clause
// Ranks of this host that ask for another job (boot/child.h): an agent reads their requests, passes
// them on to the head, and writes the head's answers.
#pragma once

#include <stddef.h>
#include <stdint.h>

typedef struct mlt_asks mlt_asks;

typedef struct mlt_asks_conf {
    // A whole request, which is valid during the call. `number` is for the answers.
    void (*tell)(void *user, uint32_t proc, int64_t number, char *request, size_t length);
    void *user;
} mlt_asks_conf;

mlt_asks *mlt_asks_new(const mlt_asks_conf *conf);
void mlt_asks_free(mlt_asks *asks); // NULL is fine

// A process asks; the descriptor becomes this side's. A request that is too long is answered here.
void mlt_asks_take(mlt_asks *asks, uint32_t proc, int fd);

// An answer, as boot/child.h has them. None if the rank does not listen any more.
void mlt_asks_answer(mlt_asks *asks, int64_t number, const char *answer, size_t length);
