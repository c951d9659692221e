// SPDX-License-Identifier: BSD-3-Clause
// The addresses of this host, and the choice among them that a user makes by --iface: a list such
// as "eth0,10.0.0.0/8,2001:db8::/32,192.168.1.5" of interfaces, subnets and addresses, or "^" and
// such a list: all but these.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "net/address.h"

enum { MLT_IFACE_CHOICES = 16 };

typedef struct mlt_iface_choice {
    mlt_address subnet; // if iface is ""
    char iface[MLT_ADDRESS_IFACE];
} mlt_iface_choice;

// What a user chose; all zero: everything.
typedef struct mlt_iface_filter {
    mlt_iface_choice choices[MLT_IFACE_CHOICES];
    uint32_t count;
    bool except; // all but these
} mlt_iface_filter;

// MLT_ERR_INVALID: the text is no such list; a message in why.
mlt_status mlt_iface_parse(mlt_iface_filter *filter, const char *text, char *why,
                           size_t why_size) MLT_MUST_CHECK;

bool mlt_iface_chosen(const mlt_iface_filter *filter, const mlt_address *address);

// The addresses of this host that are chosen, the most useful first: global, link-local, loopback;
// the last only if there are no others, `loopback` wants them, or the filter names them (an
// interface, or a subnet of them). At most
// MLT_ADDRESSES. MLT_ERR_NOT_FOUND: there is none; the message in why tells which there are.
mlt_status mlt_iface_addresses(mlt_address out[MLT_ADDRESSES], uint32_t *count,
                               const mlt_iface_filter *filter, bool loopback, char *why,
                               size_t why_size) MLT_MUST_CHECK;

// The same of a list that getifaddrs might have made.
struct ifaddrs;
mlt_status mlt_iface_select(mlt_address out[MLT_ADDRESSES], uint32_t *count,
                            const struct ifaddrs *list, const mlt_iface_filter *filter,
                            bool loopback, char *why, size_t why_size) MLT_MUST_CHECK;

// The same for people: what becomes of each address of this host.
typedef struct mlt_iface_fate {
    mlt_address address;
    const char *why_not; // NULL: it is one of those above
} mlt_iface_fate;
enum { MLT_IFACE_FATES = 2 * MLT_ADDRESSES };

// Returns how many there are in `out`, in the list's order; those beyond MLT_IFACE_FATES are left
// out.
uint32_t mlt_iface_fates(mlt_iface_fate out[MLT_IFACE_FATES], const struct ifaddrs *list,
                         const mlt_iface_filter *filter);

// A range of ports, "40000-40100", "40000:40100" or "40000"; "any", or both 0: whichever is free. MLT_ERR_INVALID:
// it is none; a message in why.
typedef struct mlt_iface_ports {
    uint16_t first, last;
} mlt_iface_ports;
mlt_status mlt_iface_ports_parse(mlt_iface_ports *ports, const char *text, char *why,
                                 size_t why_size) MLT_MUST_CHECK;
