// SPDX-License-Identifier: BSD-3-Clause
// Addresses of IPv4 and IPv6: as text, for sockets, and which of a peer's are the likely ones.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "base/status.h"

enum {
    MLT_ADDRESSES = 32,     // of a host, at most
    MLT_ADDRESS_IFACE = 16, // bytes of an interface's name, with the 0 at its end
    MLT_ADDRESS_BYTES = 16, // of the longest address
    MLT_ADDRESS_TEXT = 80,  // of an address with interface and port as text
};

typedef struct mlt_address {
    uint8_t family; // 4 or 6
    uint8_t prefix; // bits that the addresses of its subnet have in common
    uint8_t bytes[MLT_ADDRESS_BYTES];
    uint32_t scope; // link-local IPv6: the interface of this host that leads there; else 0
    char iface[MLT_ADDRESS_IFACE]; // of this host; "": not known
} mlt_address;

// Bytes of an address of that family; bits of the longest prefix.
static inline size_t mlt_address_size(const mlt_address *address)
{
    return address->family == 4 ? 4 : 16;
}

// "10.0.0.1" or "2001:db8::1", without port, prefix or scope. False: it is none.
bool mlt_address_read(mlt_address *address, const char *text) MLT_MUST_CHECK;

// "10.0.0.1:40000", "[fe80::1%eth0]:40000"; without the port and the brackets if it is 0.
const char *mlt_address_text(char text[MLT_ADDRESS_TEXT], const mlt_address *address,
                             uint16_t port);

// For the system, and from it; *port may be of either. False: a family that is neither.
socklen_t mlt_address_to_socket(struct sockaddr_storage *to, const mlt_address *address,
                                uint16_t port);
bool mlt_address_of_socket(mlt_address *address, uint16_t *port,
                           const struct sockaddr *from) MLT_MUST_CHECK;

bool mlt_address_loopback(const mlt_address *address);
bool mlt_address_link_local(const mlt_address *address);
bool mlt_address_same(const mlt_address *a, const mlt_address *b); // without prefix and scope

// Whether the first `prefix` bits are the same.
bool mlt_address_within(const mlt_address *a, const mlt_address *b, uint32_t prefix);

// Puts the addresses of a peer in the order in which they are worth trying from this host: those of
// a subnet that this host has, those of the same kind (private or public), others, link-local ones,
// those that this host has itself (bridges of containers, say, are the same everywhere), loopback.
// A link-local address of IPv6 comes once for each own interface that has one. Returns how many
// there are in `out`, at most `room`.
uint32_t mlt_address_likely(mlt_address *out, uint32_t room, const mlt_address *own,
                            uint32_t own_count, const mlt_address *peers, uint32_t peers_count);
