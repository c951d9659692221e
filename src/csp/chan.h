// SPDX-License-Identifier: BSD-3-Clause
// A channel: two queues of offers, of which at least one is empty (except for offers of settled
// alternations), and a buffer, if it has one. An end is an address inside of the channel: whoever has
// an end has the channel; readers and writers are counted.
//
// Programs hand ends on as void *, so a function may get the other end, or the channel itself. Each of
// the three has its own distance from the channel's beginning, and a function looks for the channel's
// mark where its own kind of address has it. With another kind it looks at a pointer instead: marks are
// odd, pointers are not.
#pragma once

#include <millet/csp.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "boot/live.h"
#include "csp/alt.h"
#include "csp/state.h"

enum { MLT_CHAN_MAGIC = 0x63686e6d, MLT_CHAN_IN = 8, MLT_CHAN_OUT = 24 };

typedef enum mlt_chan_life {
    MLT_CHAN_LIVES,
    MLT_CHAN_RETIRED, // one side has gone; what is in the buffer can still be read
    MLT_CHAN_POISONED,
    MLT_CHAN_LOST,
} mlt_chan_life;

// The sides of a channel: `false` and `true` where a parameter is called `writes` or `writer`.
enum { MLT_READS, MLT_WRITES };

struct csp_chan {
    // The first line is all that a read or write touches of a channel without a buffer.
    _Alignas(64) mlt_list_node offers[2];
    uint32_t magic; // csp->chan_magic: it is a channel of this worker
    union {
        struct {
            uint8_t life; // mlt_chan_life
            // csp/net serves it: it is a stand-in for a channel of another worker, or one that
            // other workers may have ends of. `net` is not NULL.
            bool remote : 1;
            bool wrapped : 1; // it has a way (coll/intercept.h)
        };
        uint16_t rare; // not 0: look closer
    };
    bool overwrites; // what does not fit pushes the oldest out
    bool buffered;
    // Who used or holds each end last, for reports: a fiber of this worker, or NULL.
    const mlt_fiber *last_user[2];
    uint32_t size; // of a value
    uint32_t held; // values in the buffer

    mlt_csp *csp;
    // The buffer: `held` values from `first` on, round a ring; capacity 0: none.
    unsigned char *buffer;
    uint32_t capacity, first;
    uint32_t holders[2];     // that have not retired
    uint32_t had_holders[2]; // ever
    bool registered;         // it has, or had, a name that others find it by
    bool told;               // a trace knows its name
    void *net;               // mlt_remote_chan (net/chan.h), if remote
    void *queue;       // of a flow program: the layer above has it, reports call it so; else NULL
    mlt_list_node all; // in csp->chans
    uint64_t number;
    char name[40];         // "": by its number
    mlt_csp_wait waits[2]; // of all plain reads and writes that wait here
};
_Static_assert(offsetof(csp_chan, csp) == 64, "a hop of a value touches one line of its channel");

// The mark of a worker's channels.
static inline uint32_t mlt_chan_magic(uint32_t worker)
{
    return MLT_CHAN_MAGIC + 2 * worker;
}

static inline csp_in *mlt_chan_in(csp_chan *chan)
{
    return chan ? (csp_in *)((char *)chan + MLT_CHAN_IN) : NULL;
}

static inline csp_out *mlt_chan_out(csp_chan *chan)
{
    return chan ? (csp_out *)((char *)chan + MLT_CHAN_OUT) : NULL;
}

// Not to be looked into before mlt_chan_is says yes, or mlt_chan_check returns. Of NULL: NULL.
static inline csp_chan *mlt_chan_of_in(csp_in *in)
{
    return in ? (csp_chan *)(void *)((char *)in - MLT_CHAN_IN) : NULL;
}

static inline csp_chan *mlt_chan_of_out(csp_out *out)
{
    return out ? (csp_chan *)(void *)((char *)out - MLT_CHAN_OUT) : NULL;
}

// Whether it has that mark. Of an address that was no such end, the place of the mark need not be
// that of a channel.
static inline bool mlt_chan_is(const csp_chan *chan, uint32_t magic)
{
    return *(const uint32_t *)(const void *)((const char *)chan + offsetof(csp_chan, magic)) ==
           magic;
}

// A new channel of this worker, never NULL. net/chan.c makes a stand-in of one by setting `remote`
// and `net`.
csp_chan *mlt_chan_make(mlt_csp *csp, const char *name, size_t size, size_t capacity,
                        bool overwrites);

// Serves a read or write at once if it can be served, for a guard of `self` (NULL: a plain one),
// which is not settled. True: *status tells. Not for a remote channel.
bool mlt_chan_try_write(csp_chan *chan, const void *value, const mlt_alt *self, csp_status *status);
bool mlt_chan_try_read(csp_chan *chan, void *value, const mlt_alt *self, csp_status *status);

// A read or write of a remote channel. It waits for the answer of the channel's worker, but not for
// a counterpart: CSP_LATE if there is none.
csp_status mlt_chan_far_now(csp_chan *chan, void *value, bool writes, const char *call);

// What a call at the channel returns: CSP_OK while it lives, else why not.
csp_status mlt_chan_status(const csp_chan *chan);

// Ends the program with a message unless it is an end of one of this worker's channels.
void mlt_chan_check(const mlt_csp *csp, const csp_chan *chan, const char *call);

// Where people outside find the queues among them (boot/live.h).
mlt_live_queues mlt_chans_shown(const mlt_csp *csp);

// Frees those that are left when the worker's ranks have ended.
void mlt_chans_end(mlt_csp *csp);

// A channel with `net` is being freed (net/chan.c).
void mlt_chan_forget(csp_chan *chan);

// Poisons it, or retires one holder of that end, and settles what waits.
void mlt_chan_poison(csp_chan *chan);
void mlt_chan_retire(csp_chan *chan, bool writer);

// "numbers" or "channel 7". Returns text.
const char *mlt_chan_name(const csp_chan *chan, char *text, size_t size);

// What net/chan.c does for remote channels. offer: serves the offer at once and returns true (its
// alternation is settled then, perhaps with CSP_POISONED), or puts it into a queue and returns
// false. withdraw: true if the offer is out of the queue now. False: an answer is on its way and
// will settle the alternation, with CSP_LATE if the offer was not taken; the caller waits on. An
// offer of an alternation that has been settled otherwise is always out afterwards.
bool mlt_chan_far_offer(csp_chan *chan, mlt_offer *offer, bool writes);
bool mlt_chan_far_withdraw(csp_chan *chan, mlt_offer *offer, bool writes);
void mlt_chan_far_poison(csp_chan *chan);
void mlt_chan_far_retire(csp_chan *chan, bool writer);
void mlt_chan_far_take(csp_chan *chan, bool writer); // one more end was taken here
