// SPDX-License-Identifier: BSD-3-Clause
// The cryptography that jobs over several hosts use. All of it is libsodium's, which is loaded by
// the first call of mlt_crypt_load; a job on one host never loads it. All other functions here want
// a load that succeeded.
//
//   keyed hash    crypto_generichash (BLAKE2b), 256 bits
//   short hash    crypto_shorthash (SipHash-2-4), 64 bits
//   comparison    sodium_memcmp, whose time does not depend on the bytes
//   key exchange  crypto_kx (X25519), new keys for each connection
//   data          crypto_aead_chacha20poly1305_ietf, detached, with a counter as its nonce
//
// Why not crypto_secretstream: it puts a byte before the data and its tag behind them, so that
// every message is copied once on each side, and it begins with a message of its own. The detached
// form encrypts and decrypts in the user's buffer. A counter is a safe nonce because each direction
// of each connection has a key of its own, which is never used again. TCP keeps the order; a
// message that is lost, repeated or moved does not fit its counter and fails. What secretstream
// would add, a mark at the end of the stream, the transport has anyway: a connection that ends
// without it was cut.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "net/key.h"

enum {
    MLT_CRYPT_HASH = 32,  // bytes of a keyed hash
    MLT_CRYPT_POINT = 32, // ... of either half of a pair for an exchange
    MLT_CRYPT_SEAL = 16,  // ... that encryption adds to a message
};

// Loads libsodium; any thread, any number of times. MLT_ERR_UNSUPPORTED: it is missing, or not as
// expected; a message in why, which names the package.
mlt_status mlt_crypt_load(char *why, size_t why_size) MLT_MUST_CHECK;

// A keyed hash over pieces, at most MLT_CRYPT_PIECES bytes together.
typedef struct mlt_crypt_piece {
    const void *data;
    size_t bytes;
} mlt_crypt_piece;
enum { MLT_CRYPT_PIECES = 512 };
void mlt_crypt_hash(uint8_t out[MLT_CRYPT_HASH], const mlt_key *key, const mlt_crypt_piece *pieces,
                    size_t count);

// A hash of two numbers that takes 20 ns, with half of a key that is used for nothing else. It is
// no proof of who sent them, but accidents and blind changes do not pass.
uint64_t mlt_crypt_short(const mlt_key *key, uint64_t number, uint64_t value);

// Whether both are the same, in a time that does not tell where they differ.
bool mlt_crypt_same(const void *a, const void *b, size_t bytes);

// A pair for one exchange: `open` goes to the peer, `secret` is wiped after the exchange.
typedef struct mlt_crypt_pair {
    uint8_t open[MLT_CRYPT_POINT], secret[MLT_CRYPT_POINT];
} mlt_crypt_pair;
void mlt_crypt_pair_new(mlt_crypt_pair *pair);

// The keys of a connection. The dialler's `send` is the answerer's `receive`.
typedef struct mlt_crypt_keys {
    mlt_key send, receive;
} mlt_crypt_keys;
mlt_status mlt_crypt_exchange(mlt_crypt_keys *keys, const mlt_crypt_pair *own,
                              const uint8_t peer[MLT_CRYPT_POINT],
                              bool dials) MLT_MUST_CHECK; // MLT_ERR_INVALID: no point of the curve

// Encrypts the data where they are. `number` must differ in each call with the same key; `head`
// (may be empty) travels in the open but cannot be changed either.
void mlt_crypt_seal(uint8_t seal[MLT_CRYPT_SEAL], void *data, size_t bytes, const void *head,
                    size_t head_bytes, uint64_t number, const mlt_key *key);

// Decrypts. False: something was changed, or it is another message's; the data are then of no use.
bool mlt_crypt_open(const uint8_t seal[MLT_CRYPT_SEAL], void *data, size_t bytes, const void *head,
                    size_t head_bytes, uint64_t number, const mlt_key *key) MLT_MUST_CHECK;
