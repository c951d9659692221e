// SPDX-License-Identifier: BSD-3-Clause
// The greeting on a fresh connection between two processes of a job. Both prove that they know the
// job's key, and the one that was dialled that it is the process that was wanted. docs/internals/
// hosts.md argues why nobody else can.
//
//     dialler                                answerer
//       HELLO    nonce D, from, to, ...  -->   checks the hash, or closes without a word
//                                        <--   ANSWER   nonce A, from, to, ...   (or REFUSAL)
//       checks the hash
//       CONFIRM                          -->   checks the hash
//
// Every message has MLT_GREET_BYTES bytes. Numbers are little-endian, whatever the hosts are:
//
//     0   8  magic
//     8   4  version of Millet: major, minor, patch: 2^16 major + 2^8 minor + patch
//    12   1  kind: 1 HELLO, 2 ANSWER, 3 CONFIRM, 4 REFUSAL
//    13   1  flags: 1: encrypts
//    14   2  REFUSAL: why (mlt_greet_fault); else 0
//    16   8  number of the job
//    24   4  number of the process that sends this
//    28   4  ... that it is for
//    32  16  byte order and sizes of types (mlt_greet_types)
//    48  32  HELLO, ANSWER: a nonce; if the job encrypts, the open half of a pair for one exchange,
//            which is new each time and as good a nonce. Others: 0
//    80  16  0, and not looked at
//    96  32  keyed hash over everything that both sides have sent before, and the 96 bytes above
//
// Before the hash is checked only magic and version are looked at. Later versions keep the places
// of magic, version and hash and what is hashed, so that a refusal of another version can be
// trusted as any other message can.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "net/crypt.h"
#include "net/key.h"
#include "net/poll.h"

enum { MLT_GREET_BYTES = 128, MLT_GREET_TYPES = 16, MLT_GREET_WHY = 200 };

// Why a greeting failed.
typedef enum mlt_greet_fault {
    MLT_GREET_FINE,
    MLT_GREET_GARBAGE, // it does not begin as a greeting of Millet
    MLT_GREET_CUT,     // the other side closed the connection
    MLT_GREET_SLOW,    // the time was up
    MLT_GREET_KEY,     // the first message does not prove the job's key
    MLT_GREET_REPLAY,  // the first message did, but what came then fits no fresh nonce
    MLT_GREET_VERSION, // another version of Millet
    MLT_GREET_JOB,     // another job
    MLT_GREET_PROCESS, // not the process that was wanted
    MLT_GREET_TYPES_DIFFER,
    MLT_GREET_ENCRYPT, // one side encrypts, the other does not
    MLT_GREET_SYSTEM,  // a system call failed
    MLT_GREET_FAULTS,
} mlt_greet_fault;

// Byte order and sizes, as a host has them: a byte each.
typedef struct mlt_greet_types {
    uint8_t order; // 1: the least byte first; 2: the greatest
    uint8_t size_short, size_int, size_long, size_long_long, size_pointer, size_bool, size_wchar;
    uint8_t size_float, size_double, double_digits;
    // Hosts may differ in these.
    uint8_t size_long_double, long_double_digits, char_signed, wchar_signed;
    uint8_t unused;
} mlt_greet_types;
_Static_assert(sizeof(mlt_greet_types) == MLT_GREET_TYPES, "sent as it is");

mlt_greet_types mlt_greet_types_here(void);

// The version of this Millet, as greetings have it, and how it is written ("0.3.0").
uint32_t mlt_greet_version(void);
enum { MLT_GREET_VERSION_TEXT = 24 };
const char *mlt_greet_version_text(char text[MLT_GREET_VERSION_TEXT], uint32_t version);

// Which process greets: the same for all connections of a process, and constant while any of its
// greetings lasts.
typedef struct mlt_greet_self mlt_greet_self;
struct mlt_greet_self {
    const mlt_key *key;
    uint64_t job;
    uint32_t process;
    // One that answers for several processes: whether a connection between these two is welcome.
    // NULL: it must be for `process`. Called only with numbers that came with a right hash.
    bool (*welcomes)(const mlt_greet_self *self, uint32_t from, uint32_t to);
    uint32_t version; // mlt_greet_version()
    mlt_greet_types types;
    bool encrypts;
};

// A side of this build, which welcomes connections to its own process only.
mlt_greet_self mlt_greet_self_of(const mlt_key *key, uint64_t job, uint32_t process, bool encrypts);

// A greeting. Its members are read only; `fault` and `why` (one line) are valid after it has
// failed, the others after it has succeeded.
typedef struct mlt_greet {
    const mlt_greet_self *self;
    mlt_poll poll; // what it waits for now
    uint32_t peer; // number of the process on the other side
    uint32_t own;  // ... and on this side
    mlt_greet_types peer_types;
    mlt_crypt_keys keys; // if the job encrypts
    bool dials;
    bool proven; // a message of the other side has had the right hash
    mlt_greet_fault fault;
    char why[MLT_GREET_WHY];
    // own
    uint8_t state, moved; // bytes of the message that comes or goes
    uint8_t said[3][MLT_GREET_BYTES];
    mlt_crypt_pair pair;
} mlt_greet;

// Begins a greeting on a connected stream that does not block. The descriptor stays the caller's.
// Wants mlt_crypt_load. `wanted`: the process that is dialled.
void mlt_greet_dial(mlt_greet *greet, const mlt_greet_self *self, int fd, uint32_t wanted,
                    uint64_t deadline_ns);
void mlt_greet_answer(mlt_greet *greet, const mlt_greet_self *self, int fd, uint64_t deadline_ns);

// Goes on as far as it can. MLT_OK: done; not one byte behind the greeting has been read.
// MLT_PENDING: see greet->poll. Anything else: greet->fault and greet->why tell.
mlt_status mlt_greet_step(mlt_greet *greet, uint64_t now_ns) MLT_MUST_CHECK;

// Wipes the keys.
void mlt_greet_fini(mlt_greet *greet);
