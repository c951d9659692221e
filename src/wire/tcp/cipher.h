// SPDX-License-Identifier: BSD-3-Clause
// Encryption of a link: the bytes of its frames travel in records.
//
//     length (4 bytes) | check (4) | seal (16) | so many bytes, encrypted
//
// The seal covers the first 8 bytes too. Each direction has a key of its own and counts its records:
// one that is changed, left out, repeated or moved does not open. The check is a keyed hash of the
// record's number and length: without it, a length that was changed to a larger one would be
// noticed only when so many bytes have come, which may be never.
//
// The writing half belongs to whoever has the pair's lock, the reading half to the link's.
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/status.h"
#include "net/crypt.h"

enum {
    MLT_CIPHER_RECORD = 8 << 10, // bytes of frames in one record
    MLT_CIPHER_HEAD = 8 + MLT_CRYPT_SEAL,
    MLT_CIPHER_IN = 2 * (MLT_CIPHER_HEAD + MLT_CIPHER_RECORD),
};

typedef struct mlt_cipher {
    mlt_crypt_keys keys, checks; // checks: for lengths
    uint64_t sent, received;     // records
    uint32_t out_at, out_end;
    uint32_t in_end;
    unsigned char out[MLT_CIPHER_HEAD + MLT_CIPHER_RECORD]; // a record that is being written
    unsigned char in[MLT_CIPHER_IN];                        // what was read
} mlt_cipher;

struct iovec;

// MLT_ERR_NO_MEMORY, MLT_ERR_UNSUPPORTED (libsodium is missing): a message in why.
mlt_status mlt_cipher_new(mlt_cipher **cipher, const uint8_t send_key[MLT_KEY_BYTES],
                          const uint8_t receive_key[MLT_KEY_BYTES], char *why,
                          size_t why_size) MLT_MUST_CHECK;
void mlt_cipher_free(mlt_cipher *cipher); // wipes the keys; NULL: nothing happens

// As mlt_os_tcp_send: takes some of the pieces, which are then copied. What it takes may not have
// been written yet: mlt_cipher_flush. True: there is nothing left to write; otherwise errno tells.
ssize_t mlt_cipher_send(mlt_cipher *cipher, int fd, const struct iovec *pieces, uint32_t count);
bool mlt_cipher_flush(mlt_cipher *cipher, int fd);

static inline bool mlt_cipher_pending(const mlt_cipher *cipher)
{
    return cipher && cipher->out_at != cipher->out_end;
}

// Reads records, and puts what is in them to `to`, which has room for at least one. How many bytes;
// as mlt_os_tcp_receive, and EBADMSG: what came was not sent by the other side.
ssize_t mlt_cipher_receive(mlt_cipher *cipher, int fd, unsigned char *to, uint64_t room);

// It has read a whole record that it has not opened.
bool mlt_cipher_has_record(const mlt_cipher *c);
