// SPDX-License-Identifier: BSD-3-Clause
// An endpoint of libfabric for a process: packets in order to other endpoints, and reading their
// memory. libfabric.so.1 is loaded by the first call that wants it, and where it is missing, or was
// missing when Millet was built (none.c), these calls say so.
//
// One thread at a time calls the functions of a fabric: the providers are told so (FI_THREAD_DOMAIN)
// and take no locks of their own. None blocks.
//
// Packets to one endpoint arrive once and in order (FI_ORDER_SAS). Memory is bounded: so many packets
// are on their way at most, and so many bytes wait to be taken; whoever sends more is held up by the
// provider (FI_RM_ENABLED), so users keep count of what their peers have taken.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/status.h"

typedef struct mlt_fabric mlt_fabric;

// What the setting MILLET_FABRIC asks for: tcp, auto, ofi, ofi:PROVIDER.
typedef struct mlt_fabric_choice {
    bool wanted;        // false: tcp
    bool demanded;      // ofi: without it the job must not run
    bool trusts;        // a provider whose keys can be guessed is taken, too
    char provider[48];  // "": one of those that are worth it
    uint32_t processes; // of the job; 0: not known
} mlt_fabric_choice;

// MLT_ERR_INVALID: it is none of them.
mlt_status mlt_fabric_choose(const char *text, mlt_fabric_choice *choice) MLT_MUST_CHECK;

enum {
    MLT_FABRIC_PACKET_LEAST = 16 << 10,        // bytes of the largest packet: at least,
    MLT_FABRIC_PACKET_MOST = (16 << 10) + 512, // ... and at most
    MLT_FABRIC_ADDRESS = 256,                  // bytes of the longest address
    MLT_FABRIC_NAME = 48,
    MLT_FABRIC_WHY = 256,
};

// NULL, and why[] says why; "": the choice was auto, and this host has no network that is worth it.
mlt_fabric *mlt_fabric_open(const mlt_fabric_choice *choice, char *why, size_t why_size);
void mlt_fabric_close(mlt_fabric *fabric);

typedef struct mlt_fabric_facts {
    const char *name;      // "tcp;ofi_rxm"; the same on both sides of a pair, or they cannot talk
    bool reads;            // memory of others can be read
    int fd;                // can be read when there is something to poll for; -1: the provider has
                           // none, so somebody has to poll from time to time
    uint32_t packet_bytes; // of the largest packet
    uint32_t address_bytes;
    unsigned char address[MLT_FABRIC_ADDRESS]; // its own
    char why[MLT_FABRIC_WHY];                  // the last call with MLT_ERR_SYSTEM has failed
} mlt_fabric_facts;

const mlt_fabric_facts *mlt_fabric_about(const mlt_fabric *fabric);

// Another endpoint, by its address: a number for it. MLT_ERR_SYSTEM: facts.why.
mlt_status mlt_fabric_meet(mlt_fabric *fabric, const unsigned char *address,
                           uint64_t *number) MLT_MUST_CHECK;

// ---- Packets

// Room for the largest, at a multiple of 64; NULL: too many are on their way. It
// is the caller's until it is sent or given back.
unsigned char *mlt_fabric_packet(mlt_fabric *fabric);
void mlt_fabric_give_back(mlt_fabric *fabric, unsigned char *packet);

// MLT_OK: the packet is the fabric's from now on. If that fails later, MLT_FABRIC_FAILED has the
// owner. MLT_PENDING: not now, the packet is still the caller's. MLT_ERR_SYSTEM: never; facts.why.
mlt_status mlt_fabric_send(mlt_fabric *fabric, uint64_t to, unsigned char *packet, uint32_t bytes,
                           void *owner) MLT_MUST_CHECK;

// ---- Memory

// Memory that others may read. Nothing else of the process can be read: a provider's endpoint listens
// to everybody who reaches its network and asks for nothing but a key, so each window has its own
// key of 64 random bits, for as long as it is open. A provider that chooses keys itself, or only takes
// short ones, is refused unless the choice trusts it.
typedef struct mlt_fabric_window {
    uint64_t address, key; // by which they do
    void *handle;          // the fabric's
} mlt_fabric_window;

// MLT_ERR_SYSTEM: the provider refuses it. A window is closed when nobody reads from it any more, and
// before the memory is freed: registrations are not kept, because memory that was freed and mapped
// again would be read as it was. (Providers that keep them watch what the program frees.)
mlt_status mlt_fabric_expose(mlt_fabric *fabric, const void *memory, uint64_t bytes,
                             mlt_fabric_window *window) MLT_MUST_CHECK;
void mlt_fabric_conceal(mlt_fabric *fabric, mlt_fabric_window *window);

// As mlt_fabric_send; MLT_FABRIC_READ tells when it is there.
mlt_status mlt_fabric_read(mlt_fabric *fabric, uint64_t from, uint64_t address, uint64_t key,
                           void *memory, uint64_t bytes, void *owner) MLT_MUST_CHECK;

// ---- What happened

typedef struct mlt_fabric_event {
    enum {
        MLT_FABRIC_CAME,
        MLT_FABRIC_READ,
        MLT_FABRIC_FAILED,
        MLT_FABRIC_READ_FAILED,
    } kind;
    uint32_t bytes;
    unsigned char *packet; // CAME: valid until it is released
    void *owner;           // all others; NULL: nobody's
    uint32_t room;         // CAME: for mlt_fabric_release
    int error;             // FAILED: mlt_fabric_error
} mlt_fabric_event;

// Makes progress. Returns how many events.
uint32_t mlt_fabric_poll(mlt_fabric *fabric, mlt_fabric_event *events, uint32_t most);
void mlt_fabric_release(mlt_fabric *fabric, const mlt_fabric_event *event);
const char *mlt_fabric_error(const mlt_fabric *fabric, int error);

// Before a sleep on facts.fd. False: there is something to poll for.
bool mlt_fabric_may_sleep(mlt_fabric *fabric);

// ---- For people

// Each provider of this host, a line each: whether it would be taken, and why (not).
void mlt_fabric_list(FILE *out, const mlt_fabric_choice *choice);
