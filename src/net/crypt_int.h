// SPDX-License-Identifier: BSD-3-Clause
// libsodium's functions, as its documentation declares them, and how they are found. For
// crypt.c and its test, which lets the search fail at each function.
#pragma once

#include <stddef.h>

#include "base/status.h"

// Its names so far; what Millet uses of it is the same in both. Debian 13 and older have the first.
#define MLT_SODIUM_NAMES                                                                           \
    {                                                                                              \
        "libsodium.so.23", "libsodium.so.26"                                                       \
    }
#define MLT_SODIUM_PACKAGES "libsodium23 or libsodium26"

typedef struct mlt_sodium {
    int (*init)(void);
    int (*hash)(unsigned char *out, size_t out_bytes, const unsigned char *in,
                unsigned long long in_bytes, const unsigned char *key, size_t key_bytes);
    int (*short_hash)(unsigned char *out, const unsigned char *in, unsigned long long in_bytes,
                      const unsigned char *key);
    int (*compare)(const void *a, const void *b, size_t bytes);
    int (*pair)(unsigned char *open, unsigned char *secret);
    int (*dialler_keys)(unsigned char *receive, unsigned char *send, const unsigned char *open,
                        const unsigned char *secret, const unsigned char *peer);
    int (*answerer_keys)(unsigned char *receive, unsigned char *send, const unsigned char *open,
                         const unsigned char *secret, const unsigned char *peer);
    int (*encrypt)(unsigned char *to, unsigned char *seal, unsigned long long *seal_bytes,
                   const unsigned char *from, unsigned long long bytes, const unsigned char *head,
                   unsigned long long head_bytes, const unsigned char *unused,
                   const unsigned char *nonce, const unsigned char *key);
    int (*decrypt)(unsigned char *to, unsigned char *unused, const unsigned char *from,
                   unsigned long long bytes, const unsigned char *seal, const unsigned char *head,
                   unsigned long long head_bytes, const unsigned char *nonce,
                   const unsigned char *key);
} mlt_sodium;

// Fills in the functions by `find` (dlsym, which gets `object`), asks the library for its sizes,
// and initialises it. MLT_ERR_UNSUPPORTED: a message in why.
mlt_status mlt_sodium_fill(mlt_sodium *out, void *(*find)(void *object, const char *name),
                           void *object, char *why, size_t why_size) MLT_MUST_CHECK;

// Loads the first library of these names that is there, and fills in its functions.
mlt_status mlt_sodium_load(mlt_sodium *out, const char *const *names, size_t count, char *why,
                           size_t why_size) MLT_MUST_CHECK;
