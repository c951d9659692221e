// SPDX-License-Identifier: BSD-3-Clause
// Writing: what the lanes of a pair hold goes out in as few calls as it takes.
#include <errno.h>
#include <sys/uio.h>

#include "os/tcp.h"
#include "wire/tcp/tcp_int.h"

enum { PIECES = 48 };

mlt_spsc *mlt_tcp_queue(const tcp_pair *pair, uint32_t worker)
{
    tcp_lane *lane = atomic_load_explicit(&pair->lanes[worker], memory_order_acquire);
    return lane ? atomic_load_explicit(&lane->out, memory_order_acquire) : NULL;
}

ssize_t mlt_tcp_send(tcp_link *link, const struct iovec *pieces, uint32_t count)
{
    return link->cipher ? mlt_cipher_send(link->cipher, link->fd, pieces, count)
                        : mlt_os_tcp_send(link->fd, pieces, count);
}

bool mlt_tcp_is_full(int error)
{
    return error == EAGAIN || error == ENOBUFS || error == ENOMEM;
}

bool mlt_tcp_is_sealed(tcp_pair *pair)
{
    const tcp_link *link = atomic_load_explicit(&pair->links[0], memory_order_acquire);
    // A look without the lock: whoever has it looks again.
    return link && link->cipher && atomic_load_explicit(&pair->sealed, memory_order_relaxed);
}

// Something is to be written.
static bool is_pending(tcp_pair *pair)
{
    if (mlt_tcp_is_sealed(pair))
        return true;
    bool out =
        mlt_switchover_is_out(pair); // references that are being read are nothing to be written
    for (uint32_t i = 0; i < pair->endpoint->workers; i++) {
        const mlt_spsc *queue = mlt_tcp_queue(pair, i);
        if (queue && !(out ? mlt_spsc_has_no_frames(queue) : mlt_spsc_is_empty(queue)))
            return true;
    }
    return false;
}

// Nobody will read it.
static bool drop_all(tcp_pair *pair)
{
    bool any = false;
    for (uint32_t i = 0; i < pair->endpoint->workers; i++) {
        mlt_spsc *queue = mlt_tcp_queue(pair, i);
        if (!queue || mlt_spsc_is_empty(queue))
            continue;
        any = true;
        if (mlt_spsc_drop(queue))
            mlt_tcp_wake(pair->endpoint, i);
    }
    return any;
}

// What one call of the system is given: pieces of some lanes, the one that was cut short last time
// first.
typedef struct batch {
    struct iovec pieces[PIECES];
    uint32_t count, lanes;
    uint64_t bytes;
    struct {
        mlt_spsc *queue;
        uint32_t worker;
        uint64_t bytes;
    } lane[PIECES];
} batch;

static void out_gather(const tcp_pair *pair, batch *b)
{
    uint32_t workers = pair->endpoint->workers;
    b->count = b->lanes = 0;
    b->bytes = 0;
    for (uint32_t k = 0; k < workers && b->count < PIECES; k++) {
        uint32_t worker = pair->turn + k < workers ? pair->turn + k : pair->turn + k - workers;
        mlt_spsc *queue = mlt_tcp_queue(pair, worker);
        uint32_t n = queue ? mlt_spsc_pieces(queue, b->pieces + b->count, PIECES - b->count) : 0;
        uint64_t bytes = 0;
        for (uint32_t i = 0; i < n; i++)
            bytes += b->pieces[b->count++].iov_len;
        if (!n)
            continue;
        b->lane[b->lanes].queue = queue;
        b->lane[b->lanes].worker = worker;
        b->lane[b->lanes++].bytes = bytes;
        b->bytes += bytes;
    }
}

// The lanes have got rid of so many bytes. The last of them may be inside of a frame: it goes on
// next time.
static void account(tcp_pair *pair, const batch *b, uint64_t written)
{
    for (uint32_t i = 0; i < b->lanes && written; i++) {
        uint64_t bytes = b->lane[i].bytes < written ? b->lane[i].bytes : written;
        written -= bytes;
        pair->turn = b->lane[i].worker;
        if (mlt_spsc_wrote(b->lane[i].queue, bytes))
            mlt_tcp_wake(pair->endpoint, b->lane[i].worker);
    }
}

// One call. False: no more for now.
static bool write_some(tcp_pair *pair, tcp_link *link, bool *any)
{
    batch b;
    out_gather(pair, &b);
    bool sealed = mlt_cipher_pending(link->cipher);
    if (!b.count && !sealed)
        return false;
    ssize_t n = b.count                                    ? mlt_tcp_send(link, b.pieces, b.count)
                : mlt_cipher_flush(link->cipher, link->fd) ? 0
                                                           : -1;
    atomic_store_explicit(&pair->sealed, mlt_cipher_pending(link->cipher), memory_order_relaxed);
    if (n < 0) {
        bool full = mlt_tcp_is_full(errno);
        if (!full) {
            pair->mute = true;
            pair->error = errno;
        }
        atomic_store_explicit(&pair->blocked, 1, memory_order_relaxed);
        return false;
    }
    *any = true;
    account(pair, &b, (uint64_t)n);
    // A record may take less than there is, though there is room for more.
    bool whole = (uint64_t)n == b.bytes,
         full = link->cipher ? mlt_cipher_pending(link->cipher) : !whole;
    atomic_store_explicit(&pair->blocked, full, memory_order_relaxed);
    pair->inside = !whole || b.count == PIECES;
    return !full && pair->inside;
}

static bool write_all(tcp_pair *pair)
{
    // acquire: pairs with add_link.
    tcp_link *link = atomic_load_explicit(&pair->links[0], memory_order_acquire);
    bool any = false;
    if (atomic_load_explicit(&pair->gone, memory_order_relaxed)) {
        atomic_store_explicit(&pair->sealed, 0, memory_order_relaxed);
        if (pair->switchover)
            mlt_switchover_begin_drop(pair);
        any = drop_all(pair);
        if (pair->switchover)
            mlt_switchover_end_drop(pair);
        return any;
    }
    if (!link || pair->mute || atomic_load_explicit(&link->state, memory_order_relaxed) == TCP_SHUT)
        return false;
    if (pair->switchover && mlt_switchover_is_out(pair))
        return mlt_switchover_write(pair);
    if (pair->switchover && !pair->inside && !mlt_switchover_write_control(pair, link))
        return false;
    while (write_some(pair, link, &any)) {
    }
    if (pair->switchover && !pair->inside && !pair->mute && mlt_switchover_switch(pair, link))
        any |= mlt_switchover_write(pair);
    return any;
}

static bool can_go_on(const tcp_pair *pair)
{
    return !atomic_load_explicit(&pair->blocked, memory_order_relaxed) &&
           atomic_load_explicit(&pair->links[0], memory_order_relaxed);
}

bool mlt_tcp_carry(tcp_pair *pair)
{
    bool any = false, again;
    do {
        // A worker that published, and does not get the lock, leaves it to the holder, who looks
        // again after letting go.
        if (pair->endpoint->workers > 1)
            atomic_thread_fence(memory_order_seq_cst);
        if (!tcp_try_lock(&pair->writing))
            return any;
        mlt_jitter();
        bool some = write_all(pair);
        any |= some;
        tcp_unlock(&pair->writing);
        mlt_jitter();
        again = false;
        if (pair->endpoint->workers > 1) {
            atomic_thread_fence(memory_order_seq_cst);
            again = can_go_on(pair) && is_pending(pair);
        }
    } while (again);
    return any;
}
