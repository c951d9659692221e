// SPDX-License-Identifier: BSD-3-Clause
// How the processes that a foreign launcher has started on a host become the processes of a job,
// with an agent that mpirun's own would be (launch/hosts/adopt.h). Packets on a Unix socket of the
// abstract name space, whose name all processes of the job can tell:
//
//     process                                     the host's agent
//       HELLO   who I am                     -->
//                                            <--  WELCOME  who is the leader here
//     (leaves its card, and waits until all have)
//       CARDS, NAME  all processes and hosts -->           from process 0
//       KEY     where process 0's agent is   -->           from the leader of another host
//                                            <--  GO       segment, control channel, lifeline
//                                            <--  SORRY    why there is no job; text
//
// The first process of a host that binds the name is its leader: it starts the agent, which
// inherits the socket. Both sides look at the other's user.
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/un.h>

#include "base/status.h"
#include "boot/foreign/kvs.h"
#include "boot/foreign/launcher.h"

typedef enum mlt_adoption_type {
    MLT_ADOPTION_HELLO = 1, // number, size; body: mlt_adoption_hello
    MLT_ADOPTION_WELCOME,   // number: the leader's; body, to process 0: where the agent listens
    MLT_ADOPTION_CARDS,     // number: the first; body: an mlt_adoption_proc for each
    MLT_ADOPTION_NAME,      // number: a leader; body: its host's name
    MLT_ADOPTION_KEY,       // body: mlt_adoption_key
    MLT_ADOPTION_GO,        // number: in the job; body: mlt_adoption_go; descriptors
    MLT_ADOPTION_SORRY,     // body: text
} mlt_adoption_type;

enum {
    MLT_ADOPTION_VERSION = 1,
    MLT_ADOPTION_BODY = 16 << 10, // bytes at most
    MLT_ADOPTION_FDS = 3,         // of GO: segment, control channel, lifeline
    MLT_ADOPTION_LISTEN = 3,      // the agent finds its socket there
};

typedef struct mlt_adoption {
    uint32_t type, version;
    uint32_t number, size;
} mlt_adoption;

typedef struct mlt_adoption_key {
    uint64_t identity;
    uint8_t key[MLT_KVS_KEY];
    uint32_t where_size; // KEY; HELLO: how many bytes it may have
    uint8_t where[MLT_KVS_WHERE];
} mlt_adoption_key;

typedef struct mlt_adoption_hello {
    uint32_t workers, ranks;
    mlt_adoption_key key; // of process 0
} mlt_adoption_hello;

typedef struct mlt_adoption_proc {
    uint32_t leader, workers, ranks, app;
} mlt_adoption_proc;

typedef struct mlt_adoption_go {
    int32_t agent;  // its process
    uint32_t mixed; // 1: hosts have different formats of long double
} mlt_adoption_go;

typedef struct mlt_adoption_packet {
    mlt_adoption head;
    union {
        char bytes[MLT_ADOPTION_BODY + 1]; // with a NUL behind
        mlt_adoption_hello hello;
        mlt_adoption_key key;
        mlt_adoption_go go;
        mlt_adoption_proc procs[MLT_ADOPTION_BODY / sizeof(mlt_adoption_proc)];
    } body;
    size_t length; // of the body
    int fds[MLT_ADOPTION_FDS];
    int fd_count;
} mlt_adoption_packet;

// Sends one, with descriptors. Blocks, unless the socket does not.
mlt_status mlt_adoption_send(int fd, const mlt_adoption *head, const void *body, size_t length,
                             const int *fds, int fd_count) MLT_MUST_CHECK;

// Receives one. Its descriptors are the caller's. MLT_ERR_CLOSED: the other side is gone.
// MLT_PENDING: none is there, on a socket that does not block. MLT_ERR_INVALID: it is none.
mlt_status mlt_adoption_receive(int fd, mlt_adoption_packet *packet) MLT_MUST_CHECK;

// True if the other side of a connected socket is of this user; *pid: its process, 0 if that cannot
// be seen.
bool mlt_adoption_is_ours(int fd, int *pid);

// The process's side, from a launcher that is open and has several processes: leaves the
// descriptors and number of this process in the environment as mpirun would have
// (MILLET_JOB_FD, ...). Waits for all processes of the job. On failure a message in why.
mlt_status mlt_adoption_join(mlt_launcher *launcher, uint32_t workers, uint32_t ranks, char *why,
                             size_t why_size) MLT_MUST_CHECK;
