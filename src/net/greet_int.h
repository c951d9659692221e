// SPDX-License-Identifier: BSD-3-Clause
// Where the parts of a message lie, for greet.c and those who forge messages to test it.
#pragma once

#include "net/greet.h"

enum {
    MLT_GREET_AT_VERSION = 8,
    MLT_GREET_AT_KIND = 12,
    MLT_GREET_AT_FLAGS = 13,
    MLT_GREET_AT_REASON = 14,
    MLT_GREET_AT_JOB = 16,
    MLT_GREET_AT_FROM = 24,
    MLT_GREET_AT_TO = 28,
    MLT_GREET_AT_TYPES = 32,
    MLT_GREET_AT_NONCE = 48,
    MLT_GREET_AT_HASH = 96,
};
enum { MLT_GREET_HELLO = 1, MLT_GREET_IS_ANSWER, MLT_GREET_CONFIRM, MLT_GREET_REFUSAL };

// The hash of message `n` (0: HELLO, 1: ANSWER or REFUSAL, 2: CONFIRM). `said`: all messages, one
// after the other.
void mlt_greet_hash(uint8_t out[MLT_CRYPT_HASH], const mlt_key *key, const void *said, int n);
