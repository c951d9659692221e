// SPDX-License-Identifier: BSD-3-Clause
// A job's key: 256 random bits, which prove that a process belongs to the job. It travels through
// descriptors only (an inherited pipe, the standard input of a remote shell). It is never printed,
// and never in arguments, the environment or a file with a name.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

enum { MLT_KEY_BYTES = 32 };

typedef struct mlt_key {
    uint8_t bytes[MLT_KEY_BYTES];
} mlt_key;

// A new key. MLT_ERR_SYSTEM: the system has no random bytes; a message in why.
mlt_status mlt_key_new(mlt_key *key, char *why, size_t why_size) MLT_MUST_CHECK;

// Overwrites the key, and is not optimised away.
void mlt_key_wipe(mlt_key *key);
