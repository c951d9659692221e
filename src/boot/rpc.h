// SPDX-License-Identifier: BSD-3-Clause
// RPC: how a rank asks its agent (mpirun, or the agent of another host) for ports and for
// connections to other jobs. A stream of its own for each conversation: the rank makes a pair of
// sockets and sends one end through the control channel (MLT_CTL_RPC). Each message is a head and a
// body; each question has one answer, which may take as long as somebody else takes to connect. The
// rank gives up by closing its end.
//
//     question            body                            answer
//     OPEN                                                NAME: the port's name
//     CLOSE               the port's name                 DONE
//     ACCEPT              the port's name                 LINE: mlt_rpc_line, and a descriptor
//     CONNECT             a port's name                   LINE: the same
//     JOIN                mlt_rpc_bond, mlt_rpc_run[]     CARD: this host's card
//     LEARN               mlt_rpc_card, card; ...         DONE
//     WATCH               uint64_t, the bond              DONE
//     SEAL                uint64_t, the bond              SEALS: mlt_rpc_seal[]
//
// Any of them may be answered by ERROR, with a sentence.
//
// A *line* is a connection between the roots of two sides that become connected. A *bond* is what
// the agents know of two sides: their processes and hosts, numbered one side after the other, and the
// key under which they may be connected. A process that has joined a bond asks for connections by
// MLT_CTL_WANT, and gives it up by MLT_CTL_PARTED.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

typedef enum mlt_rpc_type {
    MLT_RPC_OPEN = 1,
    MLT_RPC_CLOSE,
    MLT_RPC_ACCEPT,
    MLT_RPC_CONNECT,
    MLT_RPC_JOIN,
    MLT_RPC_LEARN,
    MLT_RPC_WATCH,
    MLT_RPC_SEAL,
    MLT_RPC_NAME = 100,
    MLT_RPC_LINE,
    MLT_RPC_CARD,
    MLT_RPC_DONE,
    MLT_RPC_ERROR,
    MLT_RPC_SEALS,
} mlt_rpc_type;

enum { MLT_RPC_MOST = 64 << 20, MLT_RPC_SEALED = 96, MLT_RPC_CARD_MOST = 1024, MLT_RPC_OTHER = 96 };

typedef struct mlt_rpc_head {
    uint32_t type, length;
} mlt_rpc_head;

// The bond's number and its key, which only the agents of this job can read.
typedef struct mlt_rpc_line {
    uint64_t bond;
    uint8_t sealed[MLT_RPC_SEALED];
    uint32_t encrypts, unused; // --encrypt
} mlt_rpc_line;

// The same for the agents of another job, which share an older bond with those of this one.
typedef struct mlt_rpc_seal {
    uint64_t via; // that bond
    uint8_t sealed[MLT_RPC_SEALED];
} mlt_rpc_seal;

typedef struct mlt_rpc_bond {
    uint64_t bond;
    uint64_t via; // the bond under whose key it is sealed; 0: under the job's own
    uint8_t sealed[MLT_RPC_SEALED];
    uint32_t encrypts;
    uint32_t procs, hosts;       // of all jobs in it
    uint32_t own_proc, own_host; // where those of this job begin
    uint32_t runs;               // mlt_rpc_run that follow
    char other[MLT_RPC_OTHER];   // the other side, for messages
} mlt_rpc_bond;

typedef struct mlt_rpc_run { // processes that follow each other on one host
    uint32_t host, procs;
} mlt_rpc_run;

typedef struct mlt_rpc_card { // the card follows, filled up to a multiple of 4
    uint32_t host, bytes;
} mlt_rpc_card;

// What has come of a message.
typedef struct mlt_rpc_in {
    unsigned char *bytes;
    size_t count, room;
    int fd; // that came with it; -1: none
} mlt_rpc_in;

// A new rpc at the agent behind that control channel; *fd is the caller's, and does not block.
mlt_status mlt_rpc_open(int ctl, int *fd) MLT_MUST_CHECK;

// Writes a message; blocks the thread until it is written. pass: a descriptor that goes with it, or
// -1; it stays the caller's.
mlt_status mlt_rpc_say(int fd, mlt_rpc_type type, const void *body, size_t length,
                       int pass) MLT_MUST_CHECK;

// Reads on, without blocking. MLT_OK: a message is there, in `in` (head and body) until the next
// call; a zero byte follows it. MLT_PENDING, MLT_ERR_CLOSED; MLT_ERR_INVALID: it is too long.
mlt_status mlt_rpc_hear(int fd, mlt_rpc_in *in, mlt_rpc_head *head) MLT_MUST_CHECK;
void mlt_rpc_in_fini(mlt_rpc_in *in);

static inline unsigned char *mlt_rpc_body(const mlt_rpc_in *in)
{
    return in->bytes + sizeof(mlt_rpc_head);
}
