// SPDX-License-Identifier: BSD-3-Clause
#include "net/peer.h"

void mlt_net_peer_of(mlt_net_peer *peer, mlt_greet *greet, const mlt_address *address,
                     uint16_t port)
{
    *peer = (mlt_net_peer){.fd = greet->poll.fd,
                           .process = greet->peer,
                           .own = greet->own,
                           .types = greet->peer_types,
                           .keys = greet->keys,
                           .address = *address,
                           .port = port};
    mlt_greet_fini(greet);
}
