// SPDX-License-Identifier: BSD-3-Clause
// What a process leaves in its launcher's space of keys and values, as text that every launcher
// takes:
//
//     M1:LEADER:WORKERS:RANKS:APP:HOST                        every process
//     M1:LEADER:WORKERS:RANKS:APP:HOST:IDENTITY:KEY:WHERE     process 0; the last three in hex
//
// LEADER is the process that has started the agent of this host; so processes with the same leader
// share a host. Process 0 makes the job's identity and its key, and says where its agent listens.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "boot/foreign/launcher.h"

enum {
    MLT_KVS_NAME = 65,   // of a host; longer names are cut
    MLT_KVS_WHERE = 320, // bytes of an agent's card (net/card.h)
    MLT_KVS_KEY = 32,
    MLT_KVS_MOST_RANKS = 1 << 24, // of a worker
};

typedef struct mlt_kvs {
    uint32_t leader;
    uint32_t workers, ranks; // of the process; of each of its workers
    uint32_t app;
    char host[MLT_KVS_NAME];
    bool first; // it is process 0's, with:
    uint64_t identity;
    uint8_t key[MLT_KVS_KEY];
    uint8_t where[MLT_KVS_WHERE];
    uint32_t where_size;
} mlt_kvs;

void mlt_kvs_write(char text[MLT_LAUNCHER_VALUE], const mlt_kvs *note);

// False: it is none.
bool mlt_kvs_read(mlt_kvs *note, const char *text) MLT_MUST_CHECK;
