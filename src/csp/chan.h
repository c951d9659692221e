// SPDX-License-Identifier: BSD-3-Clause
// A channel: two queues of offers, of which at least one is empty (but for offers of settled
// alternations), and a buffer, if it has one. Both ends are the channel's own address under two
// names: whoever has an end has the channel; readers and writers are counted.
#ifndef MLT_CSP_CHAN_H
#define MLT_CSP_CHAN_H

#include <millet/csp.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "csp/alt.h"
#include "csp/state.h"

enum { MLT_CHAN_MAGIC = 0x63686e6c };

typedef enum mlt_chan_life {
    MLT_CHAN_LIVES,
    MLT_CHAN_RETIRED, // one side has gone; what is in the buffer can still be read
    MLT_CHAN_POISONED,
    MLT_CHAN_LOST,
} mlt_chan_life;

struct csp_chan {
    // The first line is all that a read or write touches of a channel without a buffer.
    _Alignas(64) uint32_t magic; // csp->chan_magic: it is a channel of this worker
    union {
        struct {
            uint8_t life; // mlt_chan_life
            bool remote;  // a stand-in for a channel of another program (net.h): `net` has its own
                          // record
        };
        uint16_t rare; // not 0: look closer
    };
    bool overwrites; // what does not fit pushes the oldest out
    bool buffered;
    uint32_t size;          // of a value
    uint32_t held;          // values in the buffer
    mlt_link reads, writes; // offers
    // Who used or holds each end last, for reports: a fiber of this worker, or NULL.
    const mlt_fiber *last_reader, *last_writer;

    mlt_csp *csp;
    // The buffer: `held` values from `first` on, round a ring; capacity 0: none.
    unsigned char *buffer;
    uint32_t capacity, first;
    uint32_t readers, writers;         // holders that have not retired
    uint32_t had_readers, had_writers; // ever
    bool registered;                   // other programs may have ends of it
    void *net;                         // stand-ins, and channels that others have ends of: net.c's
    void *queue;  // of a flow program: the layer above has it, reports call it so; else NULL
    mlt_link all; // in csp->chans
    uint64_t number;
    char name[40];                      // "": by its number
    mlt_csp_wait read_wait, write_wait; // of all plain reads and writes that wait here
};
_Static_assert(offsetof(csp_chan, csp) == 64, "a hop of a value touches one line of its channel");

static inline csp_chan *mlt_chan_of_in(csp_in *in)
{
    return (csp_chan *)in;
}

static inline csp_chan *mlt_chan_of_out(csp_out *out)
{
    return (csp_chan *)out;
}

// A new channel of this worker; a stand-in is made of one by setting `remote` and `net`. Never
// NULL.
csp_chan *mlt_chan_make(mlt_csp *csp, const char *name, size_t size, size_t capacity,
                        bool overwrites);

// Serves a read or write now if it can be, for a guard of `self` (NULL: a plain one), which is not
// settled; *status. Not for a remote one.
bool mlt_chan_try_write(csp_chan *chan, const void *value, const mlt_alt *self, csp_status *status);
bool mlt_chan_try_read(csp_chan *chan, void *value, const mlt_alt *self, csp_status *status);

// A read or write of a channel of another program that does not wait for its counterpart, but for
// the answer: CSP_LATE if there is none.
csp_status mlt_chan_far_now(csp_chan *chan, void *value, bool writes, const char *call);

// The end is one of this worker's channels; else the program ends with a sentence.
void mlt_chan_check(const mlt_csp *csp, const csp_chan *chan, const char *call);

// Frees those that are left when the worker's ranks have ended.
void mlt_chans_end(mlt_csp *csp);

// A channel with `net` is being freed (net/chan.c).
void mlt_chan_forget(csp_chan *chan);

// Poisons or retires, and settles what waits.
void mlt_chan_poison(csp_chan *chan, mlt_chan_life life);
void mlt_chan_retire(csp_chan *chan, bool writer);

// "numbers" or "channel 7". Returns text.
const char *mlt_chan_name(const csp_chan *chan, char *text, size_t size);

// What ends that another program's channel stands behind do instead (csp_chan.remote), in
// net/chan.c. offer puts one into a queue, unless it is served at once: true, and its alternation is
// settled by then, be it with CSP_POISONED. withdraw gives it back: true if the
// offer is out now; false if an answer is awaited, which settles it (the caller waits on; with
// CSP_LATE if the offer was not taken). Offers of an alternation that has been settled otherwise
// are always out then.
typedef struct mlt_chan_far {
    bool (*offer)(csp_chan *chan, mlt_offer *offer, bool writes);
    bool (*withdraw)(csp_chan *chan, mlt_offer *offer, bool writes);
    void (*poison)(csp_chan *chan, bool writer);
    void (*retire)(csp_chan *chan, bool writer);
    void (*take)(csp_chan *chan, bool writer); // one more end was taken here
} mlt_chan_far;
extern const mlt_chan_far mlt_chan_far_ops;

#endif
