// SPDX-License-Identifier: BSD-3-Clause
// The card of a process: where it can be reached. Cards travel through launchers and files of
// others, so that one is read as carefully as a stranger's bytes.
//
//     0  1  version of the form: 1
//     1  1  number of addresses, at most MLT_ADDRESSES
//     2  1  bytes of the host's name, at least 1
//     3  1  0
//     4  2  port, little-endian, not 0
//     6     the name: letters, digits, '.', '-', '_'
//           for each address: 4 or 6; bits of its subnet; 4 or 16 bytes
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "net/address.h"

enum { MLT_CARD_BYTES = 1024, MLT_CARD_NAME = 256 };

typedef struct mlt_card {
    uint16_t port;
    uint32_t count;
    char name[MLT_CARD_NAME]; // of the host
    mlt_address addresses[MLT_ADDRESSES];
} mlt_card;

// Returns the size. Characters that a name cannot have become '-'; an empty one is "host".
size_t mlt_card_write(uint8_t out[MLT_CARD_BYTES], const mlt_card *card);

// MLT_ERR_INVALID: it is no card; a message in why.
mlt_status mlt_card_read(mlt_card *card, const void *bytes, size_t size, char *why,
                         size_t why_size) MLT_MUST_CHECK;
