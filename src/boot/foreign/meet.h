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
#ifndef MLT_BOOT_FOREIGN_MEET_H
#define MLT_BOOT_FOREIGN_MEET_H

#include <stddef.h>
#include <stdint.h>
#include <sys/un.h>

#include "base/status.h"
#include "boot/foreign/launcher.h"
#include "boot/foreign/note.h"

typedef enum mlt_meet_type {
    MLT_MEET_HELLO = 1, // number, size; body: mlt_meet_hello
    MLT_MEET_WELCOME,   // number: the leader's; body, to process 0: where the agent listens
    MLT_MEET_CARDS,     // number: the first; body: an mlt_meet_proc for each
    MLT_MEET_NAME,      // number: a leader; body: its host's name
    MLT_MEET_KEY,       // body: mlt_meet_key
    MLT_MEET_GO,        // number: in the job; body: mlt_meet_go; descriptors
    MLT_MEET_SORRY,     // body: text
} mlt_meet_type;

enum {
    MLT_MEET_VERSION = 1,
    MLT_MEET_BODY = 16 << 10, // bytes at most
    MLT_MEET_FDS = 3,         // of GO: segment, control channel, lifeline
    MLT_MEET_LISTEN = 3,      // the agent finds its socket there
};

typedef struct mlt_meet {
    uint32_t type, version;
    uint32_t number, size;
} mlt_meet;

typedef struct mlt_meet_key {
    uint64_t identity;
    uint8_t key[MLT_NOTE_KEY];
    uint32_t where_size; // KEY; HELLO: how many bytes it may have
    uint8_t where[MLT_NOTE_WHERE];
} mlt_meet_key;

typedef struct mlt_meet_hello {
    uint32_t workers, ranks;
    mlt_meet_key key; // of process 0
} mlt_meet_hello;

typedef struct mlt_meet_proc {
    uint32_t leader, workers, ranks, app;
} mlt_meet_proc;

typedef struct mlt_meet_go {
    int32_t agent;  // its process
    uint32_t mixed; // 1: hosts have different formats of long double
} mlt_meet_go;

typedef struct mlt_meet_packet {
    mlt_meet head;
    union {
        char bytes[MLT_MEET_BODY + 1]; // with a NUL behind
        mlt_meet_hello hello;
        mlt_meet_key key;
        mlt_meet_go go;
        mlt_meet_proc procs[MLT_MEET_BODY / sizeof(mlt_meet_proc)];
    } body;
    size_t length; // of the body
    int fds[MLT_MEET_FDS];
    int fd_count;
} mlt_meet_packet;

// Sends one, with descriptors. Blocks, unless the socket does not.
mlt_status mlt_meet_send(int fd, const mlt_meet *head, const void *body, size_t length,
                         const int *fds, int fd_count) MLT_MUST_CHECK;

// Receives one. Its descriptors are the caller's. MLT_ERR_CLOSED: the other side is gone.
// MLT_PENDING: none is there, on a socket that does not block. MLT_ERR_INVALID: it is none.
mlt_status mlt_meet_receive(int fd, mlt_meet_packet *packet) MLT_MUST_CHECK;

// True if the other side of a connected socket is of this user; *pid: its process, 0 if that cannot
// be seen.
bool mlt_meet_is_ours(int fd, int *pid);

// The process's side, from a launcher that is open and has several processes: leaves the
// descriptors and number of this process in the environment as mpirun would have
// (MILLET_JOB_FD, ...). Waits for all processes of the job. On failure a message in why.
mlt_status mlt_meet_join(mlt_launcher *launcher, uint32_t workers, uint32_t ranks, char *why,
                         size_t why_size) MLT_MUST_CHECK;

#endif
