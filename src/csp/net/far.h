// SPDX-License-Identifier: BSD-3-Clause
// Between hosts: where a program that knows a name server's key can be reached over TCP, and how it
// is dialled and listened to. The greeting of src/net proves the key on each connection without
// sending it; what follows is the same as between programs of one host.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "net/dial.h"
#include "net/greet.h"
#include "net/listen.h"

enum { MLT_FAR_BYTES = 32, MLT_FAR_ADDRESSES = 6, MLT_FAR_GONE_MS = 10000 };

// A host, and where something on it can be reached from others. It travels as it is, so that
// mlt_far_good must be asked about one that has come.
typedef struct mlt_far_place {
    uint64_t host;                // mlt_far_here() there; 0: not known
    uint32_t number;              // of the one that listens, in greetings
    uint16_t port;                // 0: it cannot be reached from other hosts
    uint8_t used;                 // bytes of `bytes`
    uint8_t unused;               // 0
    uint8_t bytes[MLT_FAR_BYTES]; // for each address: 4 or 6, and its 4 or 16 bytes
} mlt_far_place;
_Static_assert(sizeof(mlt_far_place) == 48, "it is sent as it is");

bool mlt_far_good(const mlt_far_place *place);

// A number that the running system of this host has, and no other; never 0.
uint64_t mlt_far_here(void);

// Puts in as many of the addresses as there is room for, the first ones first. False: not one.
bool mlt_far_put(mlt_far_place *place, const mlt_address *addresses, uint32_t count);
uint32_t mlt_far_addresses(const mlt_far_place *place, mlt_address out[MLT_FAR_ADDRESSES]);

// Who greets. It must outlive what is dialled and listened with it, at the same address.
typedef struct mlt_far {
    mlt_key key;
    mlt_greet_self self;
    uint32_t number;
} mlt_far;

enum { MLT_FAR_SERVER = 1 }; // the number of a name server; others have higher ones

// Loads the cryptography. number: 0: a random one. On failure a message in why.
mlt_status mlt_far_begin(mlt_far *far, const unsigned char key[MLT_KEY_BYTES], uint32_t number,
                         char *why, size_t why_size) MLT_MUST_CHECK;

// Begins to dial that place. On failure a message in why.
mlt_status mlt_far_dial(mlt_far *far, const mlt_far_place *place, mlt_dial **out, char *why,
                        size_t why_size) MLT_MUST_CHECK;

// Why a dial came to nothing, in one line: "from 10.0.0.1 to 10.0.0.2:40000: refused; ...".
void mlt_far_tell(const mlt_dial *dial, char *why, size_t why_size);

// Listens at the addresses that `iface` chooses ("": all; net/iface.h), at a port of `ports` ("":
// any; first, if it is not 0, is tried before), and puts them into *place. On failure a message.
mlt_status mlt_far_listen(mlt_far *far, const char *iface, const char *ports, uint16_t first,
                          mlt_listen **out, mlt_far_place *place, char *why,
                          size_t why_size) MLT_MUST_CHECK;
