// SPDX-License-Identifier: BSD-3-Clause
#include "win/help.h"

#include <stdlib.h>
#include <string.h>

#include "arch/arch.h"
#include "base/memory.h"
#include "os/jitter.h"
#include "os/os.h"
#include "win/across.h"
#include "win/packet.h"
#include "win/range.h"
#include "wire/wire.h"

enum {
    HELP_PATIENCE_NS = 3000, // about two calls of the kernel, which is what help saves
    INLINE_MOST = 2 << 10,   // bytes of data in a packet
    SWAP_MOST = 32,          // bytes of an element
    SHARE_LEAST = 64 << 10,  // bytes of a copy that lasts longer than telling the target
    WAKE_LEAST = 256 << 10,  // the same of waking it
    PIECE_LEAST = 32 << 10,
    PIECE_MOST = 256 << 10,
    PIECES = 8,            // of a copy, between these bounds
    PIECES_MOST = 250,     // a byte counts them
    HELP_STRIP = 64 << 10, // bytes of a long accumulate that are read and added at a time
    SHY_LEAST = 8,
    SHY_MOST = 1024,
    ASLEEP = 16, // short calls that a target may sleep through
};

#define NUMBER_SHIFT 16
#define BEGUN_SHIFT  8
#define COUNT        UINT64_C(0xff)

// A request as it travels; its data follow, or where they lie in the origin's memory.
typedef struct ask_head {
    int64_t disp;
    uint32_t bytes;
    uint16_t code; // of the basic type
    uint8_t verb, op;
} ask_head;
_Static_assert(sizeof(ask_head) == 16, "with a word and one to compare with, it fits into a slot");

// ---- both sides

// What the word of a mailbox begins with while it has that request.
static uint64_t number_of(const mlt_win_part *part, uint32_t ask)
{
    return (uint64_t)(part->id & 0xffff) << 32 | ask;
}

// Begins `most` pieces, or those that are left; returns how many, and the first one. 0: there are
// none, or the mailbox has another request.
static uint32_t begin(mlt_win_mailbox *mailbox, uint64_t number, uint32_t pieces, uint32_t most,
                      uint32_t *first)
{
    uint64_t word = atomic_load_explicit(&mailbox->word, memory_order_relaxed), n;
    do {
        *first = (uint32_t)(word >> BEGUN_SHIFT & COUNT);
        if (word >> NUMBER_SHIFT != number || *first >= pieces)
            return 0;
        n = pieces - *first < most ? pieces - *first : most;
    } while (!atomic_compare_exchange_weak_explicit(&mailbox->word, &word,
                                                    word + (n << BEGUN_SHIFT), memory_order_relaxed,
                                                    memory_order_relaxed));
    mlt_jitter();
    return (uint32_t)n;
}

// Release: what was done comes before.
static void is_done(mlt_win_mailbox *mailbox, uint32_t pieces)
{
    mlt_jitter();
    atomic_fetch_add_explicit(&mailbox->word, pieces, memory_order_release);
}

// A copy between an origin's memory and its target's, by both.
typedef struct copy {
    mlt_win_mailbox *mailbox;
    uint64_t number;
    uint32_t pieces;
    uint64_t piece, bytes;
    pid_t pid;   // of the other
    bool writes; // into the other's memory
    char *here;
    uint64_t there;
} copy;

static uint64_t piece_of(uint64_t bytes)
{
    enum { PAGE = 4096 };
    uint64_t piece = bytes / PIECES, least = bytes / PIECES_MOST + PAGE;
    piece = piece < PIECE_LEAST ? PIECE_LEAST : piece > PIECE_MOST ? PIECE_MOST : piece;
    piece = piece < least ? least : piece;
    return (piece + PAGE - 1) / PAGE * PAGE;
}

static uint32_t pieces_of(uint64_t bytes)
{
    return (uint32_t)((bytes + piece_of(bytes) - 1) / piece_of(bytes));
}

// Copies pieces until all are begun.
static mlt_status copy_pieces(const copy *c)
{
    mlt_status status = MLT_OK;
    uint32_t index;
    while (begin(c->mailbox, c->number, c->pieces, 1, &index)) {
        uint64_t at = index * c->piece, n = c->bytes - at < c->piece ? c->bytes - at : c->piece;
        mlt_status one = c->writes ? mlt_os_write_peer(c->pid, c->there + at, c->here + at, n)
                                   : mlt_os_read_peer(c->pid, c->here + at, c->there + at, n);
        if (one != MLT_OK) {
            // Relaxed: is_done comes after it.
            atomic_store_explicit(&c->mailbox->refused, 1, memory_order_relaxed);
            status = one;
        }
        is_done(c->mailbox, 1);
    }
    return status;
}

// ---- the origin

// It looks at its ring, as far as can be told. One that computes does not, but nothing shows it.
static bool is_awake(const mlt_win_part *part, const mlt_win_peer *peer)
{
    const mlt_peer *to = mlt_wire_peer(part->worker->wire, peer->worker);
    return !to->waits && atomic_load_explicit(&to->tx.ring->attended, memory_order_relaxed) != 0;
}

// A target that did not come in time is not asked for a while; one that sleeps is woken now and then,
// because it looks at its rings for some time after that.
static bool is_to_be_asked(mlt_win_part *part, mlt_win_peer *peer)
{
    if (!part->worker->wire->membarrier)
        return false;
    if (MLT_UNLIKELY(peer->shy)) {
        peer->shy--;
        return false;
    }
    return true;
}

static void did_not_come(mlt_win_peer *peer)
{
    uint32_t late = 2u * peer->late + SHY_LEAST;
    peer->late = (uint16_t)(late < SHY_MOST ? late : SHY_MOST);
    peer->shy = peer->late;
}

// Lays a request on the mailbox. The packet that tells of it has its number.
static mlt_win_mailbox *help_lay_out(mlt_win_part *part)
{
    mlt_win_mailbox *mailbox = &mlt_win_block_of(part, &part->peers[part->place])->mailbox;
    mailbox->fault = MLT_WIN_FINE;
    mailbox->refused = 0;
    mailbox->done = 0;
    // Relaxed: the packet comes after it.
    atomic_store_explicit(&mailbox->word, number_of(part, ++part->asks) << NUMBER_SHIFT,
                          memory_order_relaxed);
    return mailbox;
}

static void tell(mlt_win_side *side, const mlt_win_call *call, mlt_win_packet_kind kind,
                 const void *data, uint64_t bytes)
{
    mlt_win_tell(side->part, kind, side->me, call->target, (int32_t)side->part->asks, data, bytes);
}

// The pieces that were begun are done.
static void await(mlt_win_mailbox *mailbox, uint32_t pieces)
{
    enum { SPINS = 20000 };
    // Acquire: pairs with is_done.
    for (uint32_t spins = 0;
         (atomic_load_explicit(&mailbox->word, memory_order_acquire) & COUNT) != pieces; spins++) {
        if (spins < SPINS)
            mlt_arch_pause();
        else
            mlt_os_yield();
    }
}

// The target has begun it; or the origin has taken it back, after a while.
static bool is_begun(mlt_win_part *part, mlt_win_mailbox *mailbox)
{
    enum { LOOKS = 16 }; // between two looks at the clock
    uint64_t since_ns = 0;
    uint32_t first;
    for (uint32_t looks = 1;; looks++) {
        if (atomic_load_explicit(&mailbox->word, memory_order_relaxed) >> BEGUN_SHIFT & COUNT)
            return true;
        mlt_arch_pause();
        if (looks % LOOKS)
            continue;
        uint64_t now_ns = mlt_os_now_ns();
        since_ns = since_ns ? since_ns : now_ns;
        if (now_ns - since_ns > HELP_PATIENCE_NS)
            return !begin(mailbox, number_of(part, part->asks), 1, 1, &first);
    }
}

static ask_head head_of(const mlt_win_call *call, uint64_t bytes)
{
    return (ask_head){.disp = call->disp,
                      .bytes = (uint32_t)bytes,
                      .code = call->operation.basic ? call->operation.basic->code : 0,
                      .verb = call->operation.verb,
                      .op = call->operation.op};
}

// One piece, which is the target's.
static mlt_status await_answer(mlt_win_part *part, mlt_win_peer *peer, mlt_win_mailbox *mailbox,
                               const mlt_win_call *call, uint64_t bytes, uint64_t *done,
                               mlt_win_fault *fault)
{
    if (!is_begun(part, mailbox)) {
        did_not_come(peer);
        return MLT_PENDING;
    }
    await(mailbox, 1);
    peer->late = 0;
    *fault = (mlt_win_fault)mailbox->fault;
    *done = mailbox->done;
    if (*fault != MLT_WIN_FINE)
        return MLT_ERR_INVALID;
    if (mailbox->refused) {
        peer->shy = SHY_MOST;
        return MLT_PENDING;
    }
    if (call->operation.verb != MLT_WIN_ACCUMULATE && call->operation.verb != MLT_WIN_PUT)
        memcpy(call->result.buf, mailbox->answer, bytes);
    return MLT_OK;
}

static mlt_status ask_short(mlt_win_side *side, mlt_win_peer *peer, const mlt_win_call *call,
                            uint64_t bytes, uint64_t *done, mlt_win_fault *fault)
{
    char data[sizeof(ask_head) + INLINE_MOST];
    ask_head head = head_of(call, bytes);
    uint64_t length = sizeof head;
    memcpy(data, &head, sizeof head);
    if (mlt_win_reads_origin(&call->operation)) {
        memcpy(data + length, call->origin.buf, bytes);
        length += bytes;
    }
    if (call->operation.verb == MLT_WIN_SWAP) {
        memcpy(data + length, call->compare, bytes);
        length += bytes;
    }
    mlt_win_mailbox *mailbox = help_lay_out(side->part);
    tell(side, call, MLT_WIN_PACKET_ASK, data, length);
    return await_answer(side->part, peer, mailbox, call, bytes, done, fault);
}

static void tell_long(mlt_win_side *side, const mlt_win_call *call, uint64_t bytes, const void *buf)
{
    struct {
        ask_head head;
        uint64_t from;
    } data = {.head = head_of(call, bytes), .from = (uintptr_t)buf};
    tell(side, call, MLT_WIN_PACKET_ASK_LONG, &data, sizeof data);
}

static mlt_status share_copy(mlt_win_side *side, mlt_win_peer *peer, const mlt_win_call *call,
                             uint64_t at, uint64_t bytes)
{
    bool put = call->operation.verb == MLT_WIN_PUT;
    char *buf = put ? call->origin.buf : call->result.buf;
    mlt_win_mailbox *mailbox = help_lay_out(side->part);
    copy c = {.mailbox = mailbox,
              .number = number_of(side->part, side->part->asks),
              .pieces = pieces_of(bytes),
              .piece = piece_of(bytes),
              .bytes = bytes,
              .pid = mlt_win_process_of(side->part, peer),
              .writes = put,
              .here = buf,
              .there = at};
    tell_long(side, call, bytes, buf);
    mlt_status status = copy_pieces(&c);
    await(mailbox, c.pieces);
    // Whatever it was, one call for all of it finds out.
    if (status != MLT_OK || mailbox->refused || mailbox->fault != MLT_WIN_FINE) {
        peer->shy = SHY_MOST;
        return MLT_PENDING;
    }
    return MLT_OK;
}

// What it finds on the mailbox is not for it.
static void wake_it(mlt_win_side *side, const mlt_win_call *call)
{
    mlt_win_mailbox *mailbox = help_lay_out(side->part);
    uint32_t first;
    (void)begin(mailbox, number_of(side->part, side->part->asks), 1, 1, &first);
    tell_long(side, call, PIECE_LEAST, NULL);
}

// What is worth asking for, if the target looks.
typedef enum ask_kind { ASK_NOT, ASK_SHORT, ASK_LONG, ASK_SHARE } ask_kind;

static ask_kind kind_of(const mlt_win_call *call, uint64_t bytes)
{
    const mlt_win_operation *operation = &call->operation;
    bool named = operation->basic && operation->basic->code && !operation->pair[0];
    if (bytes > UINT32_MAX)
        return ASK_NOT;
    switch ((mlt_win_verb)operation->verb) {
    case MLT_WIN_PUT: // short ones are staged
        return bytes >= SHARE_LEAST ? ASK_SHARE : ASK_NOT;
    case MLT_WIN_GET:
        if (bytes <= SWAP_MOST && mlt_win_asks_first())
            return ASK_SHORT;
        return bytes >= SHARE_LEAST ? ASK_SHARE : ASK_NOT;
    case MLT_WIN_ACCUMULATE:
        return !named ? ASK_NOT : bytes <= INLINE_MOST ? ASK_SHORT : ASK_LONG;
    default:
        return named && bytes <= SWAP_MOST ? ASK_SHORT : ASK_NOT;
    }
}

mlt_status mlt_win_ask(mlt_win_side *side, mlt_win_peer *peer, const mlt_win_call *call,
                       uint64_t at, uint64_t *done, mlt_win_fault *fault)
{
    mlt_win_part *part = side->part;
    uint64_t bytes = call->there.count * call->there.type->size;
    ask_kind kind = kind_of(call, bytes);
    *done = 0;
    if (kind == ASK_NOT || !is_to_be_asked(part, peer))
        return MLT_PENDING;
    if (kind == ASK_SHARE && bytes < WAKE_LEAST && !is_awake(part, peer))
        return MLT_PENDING;
    if (MLT_UNLIKELY(kind != ASK_SHARE && !is_awake(part, peer))) {
        wake_it(side, call);
        peer->shy = kind == ASK_SHORT ? ASLEEP : 1;
        return MLT_PENDING;
    }
    if (kind == ASK_SHARE)
        return share_copy(side, peer, call, at, bytes);
    if (kind == ASK_SHORT)
        return ask_short(side, peer, call, bytes, done, fault);
    mlt_win_mailbox *mailbox = help_lay_out(part);
    tell_long(side, call, bytes, call->origin.buf);
    return await_answer(part, peer, mailbox, call, bytes, done, fault);
}

mlt_status mlt_win_ask_put(mlt_win_side *side, mlt_win_peer *peer, int32_t target, int64_t disp,
                           const void *from, uint64_t bytes)
{
    const mlt_win_call call = {.operation = {.verb = MLT_WIN_PUT},
                               .target = target,
                               .disp = disp,
                               .origin = {.buf = (void *)(uintptr_t)from}};
    uint64_t done;
    mlt_win_fault fault;
    if (!mlt_win_asks_first() || bytes > INLINE_MOST || !is_to_be_asked(side->part, peer) ||
        !is_awake(side->part, peer))
        return MLT_PENDING;
    return ask_short(side, peer, &call, bytes, &done, &fault);
}

// ---- the target

typedef struct request {
    ask_head head;
    mlt_win_operation operation;
    mlt_win_peer *origin;
    mlt_win_mailbox *mailbox;
    uint64_t number;
    mlt_win_descriptor *descriptor;
    char *memory;
} request;

static bool find_operation(request *r)
{
    if (!mlt_win_operation_make(&r->operation, r->head.verb, r->head.op, r->head.code))
        return false;
    const mlt_type *basic = r->operation.basic;
    return !basic || (basic->contiguous && r->head.bytes % basic->size == 0 &&
                      (r->head.verb != MLT_WIN_SWAP || basic->size == r->head.bytes));
}

// True: its memory is in the window.
static bool find_memory(mlt_win_part *part, int32_t target, request *r, mlt_win_fault *fault)
{
    const mlt_type_run run = {.length = r->head.bytes, .count = 1};
    uint64_t at = 0;
    r->descriptor = mlt_win_descriptor_of(part, target);
    *fault =
        mlt_win_check_runs(r->descriptor, (mlt_win_flavor)part->flavor, r->head.disp, &run, 1, &at);
    r->memory = (char *)((uintptr_t)mlt_win_memory(part, target) + at);
    return *fault == MLT_WIN_FINE;
}

static void do_short(mlt_win_part *part, int32_t target, request *r, const char *in,
                     uint64_t length)
{
    uint64_t want = mlt_win_reads_origin(&r->operation) ? r->head.bytes : 0;
    mlt_win_fault fault = MLT_WIN_NONE;
    want *= r->head.verb == MLT_WIN_SWAP ? 2 : 1;
    bool answers = r->head.verb != MLT_WIN_ACCUMULATE && r->head.verb != MLT_WIN_PUT;
    if (length == want && (!answers || r->head.bytes <= sizeof r->mailbox->answer) &&
        find_memory(part, target, r, &fault))
        mlt_win_apply_plain(part, r->descriptor, &r->operation, r->memory, r->head.bytes, in,
                            r->mailbox->answer);
    r->mailbox->fault = fault;
}

// Reads the data from the origin's memory as it goes on.
static void do_long(mlt_win_part *part, int32_t target, request *r, uint64_t from)
{
    mlt_win_fault fault = MLT_WIN_NONE;
    bool good = r->head.verb == MLT_WIN_ACCUMULATE && find_memory(part, target, r, &fault);
    r->mailbox->fault = fault;
    if (!good)
        return;
    pid_t pid = mlt_win_process_of(part, r->origin);
    uint64_t strip = HELP_STRIP / r->operation.basic->size * r->operation.basic->size, done = 0;
    char *in = mlt_xrealloc(NULL, HELP_STRIP, 1);
    while (done < r->head.bytes) {
        uint64_t n = r->head.bytes - done < strip ? r->head.bytes - done : strip;
        if (mlt_os_read_peer(pid, in, from + done, n) != MLT_OK)
            break;
        mlt_win_apply_plain(part, r->descriptor, &r->operation, r->memory + done, n, in, NULL);
        done += n;
    }
    free(in);
    r->mailbox->done = done;
    r->mailbox->refused = done < r->head.bytes;
}

static void do_copy(mlt_win_part *part, int32_t target, request *r, uint64_t from)
{
    mlt_win_fault fault;
    if (r->head.bytes < SHARE_LEAST || !find_memory(part, target, r, &fault))
        return; // the origin does all of it, and finds out
    copy c = {.mailbox = r->mailbox,
              .number = r->number,
              .pieces = pieces_of(r->head.bytes),
              .piece = piece_of(r->head.bytes),
              .bytes = r->head.bytes,
              .pid = mlt_win_process_of(part, r->origin),
              .writes = r->head.verb == MLT_WIN_GET,
              .here = r->memory,
              .there = from};
    (void)copy_pieces(&c); // the mailbox tells the origin
}

void mlt_win_ask_came(mlt_win_part *part, const mlt_packet *packet, const void *data,
                      uint64_t bytes)
{
    request r = {.number = number_of(part, (uint32_t)packet->word),
                 .origin = mlt_win_peer_of(part, packet->src)};
    bool is_long = packet->kind == MLT_WIN_PACKET_ASK_LONG;
    uint64_t from = 0, rest = bytes - sizeof r.head;
    uint32_t first;
    if (r.origin->reach != MLT_WIN_HOST || bytes < sizeof r.head ||
        (is_long && rest != sizeof from))
        return;
    memcpy(&r.head, data, sizeof r.head);
    const char *in = (const char *)data + sizeof r.head;
    r.mailbox = &mlt_win_block_of(part, r.origin)->mailbox;
    if (is_long)
        memcpy(&from, in, sizeof from);
    if (!find_operation(&r))
        return;
    if (is_long && r.head.verb <= MLT_WIN_GET) {
        do_copy(part, packet->dst, &r, from);
        return;
    }
    if (!begin(r.mailbox, r.number, 1, 1, &first))
        return; // the origin has taken it back
    if (is_long)
        do_long(part, packet->dst, &r, from);
    else
        do_short(part, packet->dst, &r, in, rest);
    is_done(r.mailbox, 1);
}
