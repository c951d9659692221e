// SPDX-License-Identifier: BSD-3-Clause
// The protocol between mpirun and the agents of other hosts: frames on the standard input and
// output of a remote shell. mpirun is the head; each host has an agent, and the agent of mpirun's
// own host is inside of mpirun, where the same frames are function calls (launch/agent/agent.h).
//
//     head --- agent of host 1 --- agent of host 3
//          \                   \-- agent of host 4         agents start further agents, if there
//           \- agent of host 2                             are many; they pass frames on
//
// Each side begins with MLT_FRAME_HELLO_BYTES bytes: the magic, and two versions. A login script
// may print before an agent does: what comes before the magic is no frame and is shown.
//
// A frame is a mlt_frame and `length` bytes. Its members are little-endian, as all processors that
// Millet runs on are. It says for which host it is, and is passed on along the tree until it is
// there; a frame for all hosts reaches every agent but the head. Frames between two hosts arrive in
// the order in which they were sent.
//
// A remote shell protects what passes. Where agents have connections of their own instead (another
// launcher has started the job), a channel is sealed: frame and body are encrypted one after the
// other, each followed by a seal of MLT_CRYPT_SEAL bytes. The first bytes are in the open.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "launch/loop.h"
#include "net/crypt.h"

enum {
    MLT_FRAME_HELLO_BYTES = 16,
    MLT_FRAME_MOST = 16 << 20,     // bytes of a body
    MLT_FRAME_PREFACE = 256 << 10, // bytes that may come before the magic
};

// How a process ended that somebody else has started.
enum { MLT_FRAME_UNKNOWN = -1 };

// Hosts are indices of the plan's. The head is an end of its own, also if its host has ranks.
#define MLT_FRAME_HEAD UINT32_MAX
#define MLT_FRAME_ALL  (UINT32_MAX - 1)

typedef enum mlt_frame_type {
    MLT_FRAME_BEAT = 1, // to the neighbour only, every second: I am here
    // ---- from the head
    MLT_FRAME_KEY,   // the job's key
    MLT_FRAME_TASK,  // the plan, programs, environment (launch/hosts/task.h)
    MLT_FRAME_PLACE, // about: the host that the receiver is; `value`: one after the last host below
    MLT_FRAME_STAGE, // value: what it is (launch/hosts/stage.h): body: a part of --stage; before START
    MLT_FRAME_START,  // all hosts are ready: start the processes; value: 1: they have different
                      // formats of long double
    MLT_FRAME_SIGNAL, // value: signal for all processes
    MLT_FRAME_KILL,   // value: 1: also those that crash (they may be writing a core file)
    MLT_FRAME_STOP,   // mpirun was told to stop: so are the processes, until SIGCONT comes
    MLT_FRAME_LOOK,   // value: number of the look; the answer is LOOKED
    MLT_FRAME_ASK,    // collect wait records: they come as CTL; STATES comes when all have answered
    MLT_FRAME_LIVE,   // value: number of the snapshot; the answer is LIVED
    MLT_FRAME_CHANGE, // body: a rule book that the job shall take, with a NUL (launch/watch/change.h)
    MLT_FRAME_KNOWN,   // value: the change of which all workers of all hosts know
    MLT_FRAME_DECIDED, // value: number of the decision; body: mlt_decision. The answer is KEPT
    MLT_FRAME_SPREAD,  // all hosts have it; body: mlt_decision
    MLT_FRAME_GATE,    // processes that wait for a debugger go on
    MLT_FRAME_TRACE,   // value: 1: workers shall write their trace, 0: pause
    MLT_FRAME_BYE,     // all processes of the job have ended: end
    // ---- to the head
    MLT_FRAME_READY,    // the host can start its processes; body: mlt_frame_ready
    MLT_FRAME_STAGED,   // value: bytes of --stage that the host has kept
    MLT_FRAME_SAY,      // text: a message for the user
    MLT_FRAME_FAILED,   // about: host; value: exit code; text: why its part of the job cannot run
    MLT_FRAME_LOST,     // about: host; text: why its agent is gone, with all below it
    MLT_FRAME_STARTED,  // about: process; value: its id; text: where it runs
    MLT_FRAME_CTL,      // about: process; body: a record of boot/ctl.h
    MLT_FRAME_ENDED,    // about: process; value: wait status, or MLT_FRAME_UNKNOWN; body: uint64_t,
                        // its peak memory, then text: its last calls, lines
    MLT_FRAME_LOOKED,   // value: number of the look; body: mlt_job_observation
    MLT_FRAME_UNLINKED, // about: process; value: the one to which it cannot have a connection; text
    MLT_FRAME_CALLS,    // before STATES. text: the last calls of the host's ranks, lines
    MLT_FRAME_STATES,   // body: a mlt_frame_state for each worker of the host
    MLT_FRAME_LIVED,    // value: number of the snapshot; body: a part (launch/live/snap.h)
    MLT_FRAME_KNOWS,    // value: the change of which all workers of the host know
    MLT_FRAME_KEPT,     // value: number of the decision
    // ---- standard streams
    MLT_FRAME_OUTPUT, // to the head. about: process; value: 1, 2 or MLT_RELAY_TRACE; body: bytes;
                      // none: the end
    MLT_FRAME_INPUT,  // from the head. about: process; body: bytes; none: the end
    MLT_FRAME_ROOM,   // about: process; value: stream 0 to 3 that may send more; body: uint64_t,
                      // how many bytes; none: nobody reads it any more
    // ---- between agents
    MLT_FRAME_CARD_WANTED, // the receiver's card, please
    MLT_FRAME_CARD,        // the sender's card (net/card.h)
    MLT_FRAME_DIAL_BACK,   // value: a process of the sender's host, which could not connect to
                           // process `about` of the receiver's: dial it; text: what was tried
    // ---- ranks that ask for another job (boot/child.h)
    MLT_FRAME_SPAWN,   // to the head. about: process; value: number of the ask; body: the request
    MLT_FRAME_SPAWNED, // from the head. value: number of the ask; body: an answer
    // ---- between the heads of a family (launch/children/children.h)
    MLT_FRAME_CHILD, // down, first. body: launch/children/task.h
    MLT_FRAME_BORN,  // up: all processes are in MPI_Init; body: lists, {host, workers, ...}
    MLT_FRAME_FELL,  // up: the job ends before that; value: exit code; text: why
    MLT_FRAME_FAILS, // both ways: the sender's job is being ended because of a failure
    MLT_FRAME_TIME,  // down: the time limit is over; value: it, in ms
    // ---- clocks of hosts, for a trace (launch/clocks.h)
    MLT_FRAME_CLOCK,   // from the head. value: number of the exchange; the answer is CLOCKED
    MLT_FRAME_CLOCKED, // to the head. value: number of the exchange; body: uint64_t, the host's clock
    MLT_FRAME_TYPES,   // how many there are, and one
} mlt_frame_type;

typedef struct mlt_frame {
    uint32_t type;
    uint32_t length; // bytes that follow
    uint32_t from, to;
    uint32_t about, unused;
    int64_t value;
} mlt_frame;
_Static_assert(sizeof(mlt_frame) == 32, "sent as it is");

// A frame from the agent of a host to the head, and one from the head to a host or to MLT_FRAME_ALL.
static inline mlt_frame mlt_frame_up(mlt_frame_type type, uint32_t from, uint32_t about,
                                     int64_t value, size_t length)
{
    return (mlt_frame){type, (uint32_t)length, from, MLT_FRAME_HEAD, about, 0, value};
}

static inline mlt_frame mlt_frame_down(mlt_frame_type type, uint32_t to, uint32_t about,
                                       int64_t value, size_t length)
{
    return (mlt_frame){type, (uint32_t)length, MLT_FRAME_HEAD, to, about, 0, value};
}

// Writes this side's first bytes.
void mlt_frame_hello(uint8_t out[MLT_FRAME_HELLO_BYTES]);

typedef enum mlt_frame_found {
    MLT_FRAME_MORE,  // not enough bytes to tell
    MLT_FRAME_FOUND, // the other side's first bytes are at *at
    MLT_FRAME_OTHER, // they are, but of another version, which `version` names
    MLT_FRAME_NONE,  // there are too many bytes before
} mlt_frame_found;

// Looks for the other side's first bytes. MORE: the bytes before *at are not part of them.
mlt_frame_found mlt_frame_seek(const void *bytes, size_t count, size_t *at, char version[32]);

// Takes the first frame of the bytes: its size with the body, 0 if it is not complete, -1 if it is
// no frame.
int64_t mlt_frame_next(const void *bytes, size_t count, mlt_frame *frame);

// ---- A channel: both directions of a neighbour

typedef struct mlt_channel mlt_channel;
struct mlt_channel {
    mlt_loop_source in, out;                                                // fd -1: closed
    void (*take)(mlt_channel *channel, const mlt_frame *frame, char *body); // body: writable, and a
                                                                            // NUL behind it
    // What comes before the magic, in pieces.
    void (*preface)(mlt_channel *channel, const char *text, size_t bytes);
    // Called once. `why` is a sentence without a subject ("ended", "is of version ..."); the caller
    // closes the channel. From then on nothing is taken. NULL: nobody needs to know.
    void (*ended)(mlt_channel *channel, const char *why);
    bool greeted; // its first bytes have come
    bool heard;   // something has come since somebody cleared this
    bool dead;
    size_t seen; // bytes of the preface
    char *got, *queue;
    size_t got_start, got_end, got_room;
    size_t start, end, room; // of queue
    // A sealed channel.
    bool sealed;
    bool head_open; // the frame at got_start is decrypted, its body is not
    mlt_crypt_keys keys;
    uint64_t seals_sent, seals_taken;
};

// The descriptors become the channel's, and nonblocking. Sends this side's first bytes. The
// callbacks are set before. False: they cannot be waited for.
bool mlt_channel_open(mlt_channel *channel, int in_fd, int out_fd);

// From here on frames are encrypted with these keys, which are wiped. Before mlt_channel_open.
void mlt_channel_seal(mlt_channel *channel, mlt_crypt_keys *keys);

// Puts a frame into the queue and writes what the system takes now. `body` has frame->length bytes.
void mlt_channel_send(mlt_channel *channel, const mlt_frame *frame, const void *body);

// Writes all that waits, for at most that time. For the last words of an agent.
void mlt_channel_flush(mlt_channel *channel, int limit_ms);

void mlt_channel_close(mlt_channel *channel); // may be called again

// ---- Bodies

typedef struct mlt_frame_ready {
    uint32_t cores, unused;
    uint8_t types[16]; // mlt_greet_types
} mlt_frame_ready;

// What a worker does at the time of a hang report.
typedef struct mlt_frame_state {
    uint8_t state;  // mlt_hang_state
    uint8_t stands; // it has slept in the same epoch for two looks
} mlt_frame_state;
