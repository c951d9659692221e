// SPDX-License-Identifier: BSD-3-Clause
// The broker connects processes of this host with processes of other hosts. It is a part of a
// host's agent, and the only one on this host that listens, dials, greets and knows the job's key:
//
//     process 3 -- WANT 7 --> its agent                     agent of 7's host
//                               dials         -- greeting "from 3 to 7" -->
//     process 3 <-- LINK 7 ---- link(3, 7)                  link(7, 3) --- LINK 3 --> process 7
//
// One listener serves all processes of the host. Where it is to be reached is on the host's card,
// which the agents spread (mlt_broker_card, mlt_broker_learn). A wanted connection waits until the
// card of the other host is known, however long that takes.
//
// Dials are bounded, all together and for each host, so that a broker has at most about 200
// descriptors open, whatever is wanted. A dial that fails is tried twice more, with pauses, unless
// the other side has proven the key and refused; so a crowd at the other side's door, or a host
// that was stopped for some seconds, does no harm. Once a dial was given up, later ones to that host
// fail at once, until its card comes again.
//
// Two processes that want each other may get two connections. If the other side's dial is complete
// first, the own one is given up; if both are, both sides get both.
//
// One thread. link() and failed() are called by sources of the loop only, card_wanted() also by
// mlt_broker_want. None of them may free the broker.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "boot/ctl.h"
#include "net/card.h"
#include "net/iface.h"
#include "net/key.h"

typedef struct mlt_broker_conf {
    const uint32_t *host_of; // [procs], copied: the host of each process of the job
    uint32_t procs, hosts;
    uint32_t host;          // this one
    uint64_t job;           // mlt_job.identity
    const mlt_key *key;     // must outlive the broker
    const char *name;       // of this host, for its card
    mlt_iface_filter iface; // --iface; all zero: every interface
    mlt_iface_ports ports;  // --port-range; both 0: any
    bool encrypt;           // --encrypt
    uint32_t gone_ms;       // a host that does not acknowledge for so long is gone

    // `process` of this host has a connection. The descriptor is the callback's: it does not block,
    // and is closed by exec. *link is valid during the call only, and wiped after it.
    void (*link)(void *user, uint32_t process, const mlt_ctl_link *link, int fd);

    // Called once, when `process` of this host cannot have the connection to `peer` that it wants.
    // `text` has several lines: which connection, and what was tried from where to where, with the
    // error of each try. The last line has no newline.
    void (*failed)(void *user, uint32_t process, uint32_t peer, const char *text);

    // The card of that host is wanted for the first time; mlt_broker_learn brings it. NULL: cards
    // come by themselves.
    void (*card_wanted)(void *user, uint32_t host);
    void *user;
} mlt_broker_conf;

typedef struct mlt_broker mlt_broker;

// Loads libsodium and listens. On failure a message in why, which needs 512 bytes: libsodium is
// missing, no interface fits --iface, no port of the range is free, no descriptors.
mlt_status mlt_broker_new(mlt_broker **out, const mlt_broker_conf *conf, char *why,
                          size_t why_size) MLT_MUST_CHECK;

// Gives up all dials and closes the listener. NULL is fine.
void mlt_broker_free(mlt_broker *broker);

// This host's card, for mlt_broker_learn on all others. Returns its size.
size_t mlt_broker_card(const mlt_broker *broker, uint8_t out[MLT_CARD_BYTES]);

// Another host's card. Wants that waited for it go on. A second card of a host replaces the first.
// MLT_ERR_INVALID: there is no such host, or it is no card; a message in why.
mlt_status mlt_broker_learn(mlt_broker *broker, uint32_t host, const void *card, size_t size,
                            char *why, size_t why_size) MLT_MUST_CHECK;

// `process` of this host wants a connection to `peer`: link() or failed() comes, but not for a pair
// that has a connection already, or has asked before. MLT_ERR_INVALID: `process` is not of this
// host, or `peer` is, or there is no such process; nothing was done. (Both numbers may come from a
// process of the user's, which can send what it likes.)
mlt_status mlt_broker_want(mlt_broker *broker, uint32_t process, uint32_t peer) MLT_MUST_CHECK;

// True if failed() was called for this pair, and it has got no connection since: the other host may
// have dialled.
bool mlt_broker_failed(const mlt_broker *broker, uint32_t process, uint32_t peer);

// The process has ended: what it wants is not dialled any more, and no link or failed is called for
// it. A connection that comes for it gets an end mark (mlt_ctl_end_mark) and is closed.
void mlt_broker_ended(mlt_broker *broker, uint32_t process);
