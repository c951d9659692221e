// SPDX-License-Identifier: BSD-3-Clause
#include "win/op.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/memory.h"
#include "gpu/gpu.h"
#include "type/build.h"
#include "win/across.h"
#include "win/help.h"
#include "win/packet.h"
#include "win/range.h"
#include "win/side.h"
#include "win/stage.h"

enum {
    OP_RUNS = 64,       // of a piece
    PIECE = 32 << 10,   // bytes of data in a piece, if packets can be so long
    OP_PIECES = 32,     // of a rank, on the way
    OP_STRIP = 1024,    // bytes of data with gaps that are accumulated at a time
    OP_LONG = 64 << 10, // the same if a device's memory takes part: a copy costs as much as 64 KiB
};

// A piece as it travels: this, runs, data. The data of GET are not there; `bytes` says how many.
typedef struct piece_head {
    int64_t disp;
    uint32_t bytes;
    uint16_t runs;
    uint16_t code; // of the basic type
    uint8_t verb, op;
    uint16_t pair[2]; // instead of the code, of unnamed pairs
    uint8_t unused[2];
} piece_head;
_Static_assert(sizeof(piece_head) == 24, "no holes that would be sent");

// Before the data of DONE.
typedef struct done_head {
    uint32_t fault; // mlt_win_fault
    uint32_t bytes;
} done_head;

// An operation by packets.
typedef struct mlt_win_op {
    mlt_list_node node; // among those that have not left completely
    mlt_win_call call;
    mlt_type types[3]; // copies of derived ones
    mlt_win_side *side;
    uint64_t total, left, got; // bytes; those that have left, and whose answers came
    uint32_t number, flying;
    bool failed;        // so what came is not all
    mlt_win_kept *kept; // has what came as well, if it has a request; NULL: nobody asks
} mlt_win_op;

// ---- at once

static bool writes_result(uint8_t verb)
{
    return verb == MLT_WIN_GET || verb == MLT_WIN_FETCH || verb == MLT_WIN_SWAP;
}

// What a descriptor's memory needs: it is the host's, or a device's.
typedef void apply(mlt_win_part *part, mlt_win_descriptor *descriptor,
                   const mlt_win_operation *operation, char *memory, const mlt_type_run *runs,
                   uint32_t count, const char *in, char *out);

static apply *apply_of(const mlt_win_descriptor *descriptor)
{
    return mlt_win_is_on_device(descriptor) ? mlt_win_apply_device : mlt_win_apply;
}

// In strips of at most `room` bytes, by runs of the target.
static void do_strips_in(mlt_win_part *part, mlt_win_descriptor *descriptor,
                         const mlt_win_call *call, char *at, char *in, char *out, uint64_t room)
{
    mlt_type_run runs[OP_RUNS];
    const mlt_win_operation *operation = &call->operation;
    apply *change = apply_of(descriptor);
    uint64_t total = call->there.count * call->there.type->size;
    uint64_t most = room / operation->basic->size * operation->basic->size;
    for (uint64_t done = 0; done < total;) {
        uint32_t n = OP_RUNS;
        uint64_t bytes = total - done < most ? total - done : most;
        bytes = mlt_type_element_runs(call->there.type, operation->basic, done, bytes, runs, &n);
        if (mlt_win_reads_origin(operation))
            mlt_type_pack(call->origin.type, call->origin.buf, done, in, bytes);
        change(part, descriptor, operation, at, runs, n, in, out);
        if (writes_result(operation->verb))
            mlt_type_unpack(call->result.type, call->result.buf, done, out, bytes);
        done += bytes;
    }
}

static bool is_of_device(const mlt_win_data *data)
{
    return data->type && data->type->device;
}

// Elements with gaps somewhere, or in memory of a device.
static MLT_COLD void do_strips(mlt_win_part *part, mlt_win_descriptor *descriptor,
                               const mlt_win_call *call, char *at)
{
    _Alignas(16) char in[OP_STRIP], out[OP_STRIP];
    if (!mlt_win_is_on_device(descriptor) && !is_of_device(&call->origin) &&
        !is_of_device(&call->result)) {
        do_strips_in(part, descriptor, call, at, in, out, OP_STRIP);
        return;
    }
    char *room = mlt_xrealloc(NULL, 2, OP_LONG);
    do_strips_in(part, descriptor, call, at, room, room + OP_LONG, OP_LONG);
    free(room);
}

static inline bool is_plain(const mlt_win_data *data)
{
    return MLT_LIKELY(!data->type || data->type->contiguous);
}

// Of a swap, what its two operands are, and room for what was there.
static void fetch_operands(const mlt_win_call *call, uint64_t bytes, char *in)
{
    mlt_type_pack(call->origin.type, call->origin.buf, 0, in, bytes);
    mlt_type_pack(call->origin.type, call->compare, 0, in + bytes, bytes);
}

static MLT_COLD void swap_device(mlt_win_part *part, mlt_win_descriptor *descriptor,
                                 const mlt_win_call *call, char *at)
{
    char in[64], out[32];
    uint64_t bytes = call->operation.basic->size;
    const mlt_type_run run = {.length = bytes, .count = 1};
    fetch_operands(call, bytes, in);
    apply_of(descriptor)(part, descriptor, &call->operation, at, &run, 1, in, out);
    mlt_type_unpack(call->result.type, call->result.buf, 0, out, bytes);
}

static void do_swap(mlt_win_part *part, mlt_win_descriptor *descriptor, const mlt_win_call *call,
                    char *at)
{
    char in[64];
    uint64_t bytes = call->operation.basic->size;
    memcpy(in, call->origin.buf, bytes);
    memcpy(in + bytes, call->compare, bytes);
    mlt_win_apply_plain(part, descriptor, &call->operation, at, bytes, in, call->result.buf);
}

static void do_here(mlt_win_part *part, mlt_win_descriptor *descriptor, const mlt_win_call *call,
                    char *at)
{
    const mlt_win_operation *operation = &call->operation;
    uint64_t bytes = call->there.count * call->there.type->size;
    if (operation->verb == MLT_WIN_SWAP)
        (is_plain(&call->origin) ? do_swap : swap_device)(part, descriptor, call, at);
    else if (is_plain(&call->there) && is_plain(&call->origin) && is_plain(&call->result))
        mlt_win_apply_plain(part, descriptor, operation, at, bytes, call->origin.buf,
                            call->result.buf);
    else if (operation->verb == MLT_WIN_PUT)
        mlt_type_move(call->there.type, at, call->origin.type, call->origin.buf, 0, bytes);
    else if (operation->verb == MLT_WIN_GET)
        mlt_type_move(call->result.type, call->result.buf, call->there.type, at, 0, bytes);
    else
        do_strips(part, descriptor, call, at);
}

// ---- at once, in memory of a device of this process

// Between origin or result and the window, block by block: each may lie in another memory.
static void move_blocks(const mlt_win_call *call, char *at)
{
    bool puts = call->operation.verb == MLT_WIN_PUT;
    const mlt_win_data *own = puts ? &call->origin : &call->result;
    uint64_t total = call->there.count * call->there.type->size;
    for (uint64_t done = 0; done < total;) {
        mlt_type_run runs[OP_RUNS];
        uint32_t n = OP_RUNS;
        (void)mlt_type_runs(call->there.type, done, total - done, runs, &n);
        for (uint32_t r = 0; r < n; r++)
            for (uint64_t i = 0; i < runs[r].count; i++, done += runs[r].length) {
                // Both sides count bytes of the packed form.
                char *there = at + runs[r].at + (int64_t)i * runs[r].stride - done;
                if (puts)
                    mlt_gpu_move(NULL, there, own->type, own->buf, done, runs[r].length);
                else
                    mlt_gpu_move(own->type, own->buf, NULL, there, done, runs[r].length);
            }
    }
}

static void do_device(mlt_win_part *part, mlt_win_descriptor *descriptor, const mlt_win_call *call,
                      char *at)
{
    uint64_t bytes = call->there.count * call->there.type->size;
    mlt_type twin;
    mlt_gpu_make_twin(&twin, call->there.type);
    if (call->operation.verb == MLT_WIN_SWAP)
        swap_device(part, descriptor, call, at);
    else if (call->operation.verb != MLT_WIN_PUT && call->operation.verb != MLT_WIN_GET)
        do_strips(part, descriptor, call, at);
    else if (part->flavor == MLT_WIN_DYNAMIC && !call->there.type->contiguous)
        move_blocks(call, at);
    else if (call->operation.verb == MLT_WIN_PUT)
        mlt_type_move(&twin, at, call->origin.type, call->origin.buf, 0, bytes);
    else
        mlt_type_move(call->result.type, call->result.buf, &twin, at, 0, bytes);
}

// In this process, but not by loads and stores alone: the window's memory is a device's, or may be.
static MLT_COLD mlt_status do_near(mlt_win_part *part, mlt_win_peer *peer, const mlt_win_call *call,
                                   mlt_win_fault *fault)
{
    mlt_win_descriptor *descriptor = &peer->descriptors[call->target - peer->first];
    uint64_t at;
    *fault = mlt_win_check(descriptor, (mlt_win_flavor)part->flavor, call->disp, call->there.count,
                           call->there.type, &at);
    if (*fault != MLT_WIN_FINE)
        return MLT_ERR_INVALID;
    char *memory = (char *)(uintptr_t)(descriptor->base + at);
    if (call->there.count && call->there.type->size)
        (mlt_win_is_on_device(descriptor) ? do_device : do_here)(part, descriptor, call, memory);
    return MLT_OK;
}

// ---- by packets: the origin

static void keep_type(mlt_win_data *data, mlt_type *copy)
{
    if (!data->type || data->type->code)
        return;
    mlt_type_make_dup(copy, data->type);
    data->type = copy;
}

static void drop_type(mlt_type *copy)
{
    if (copy->magic)
        mlt_type_unmake(copy);
}

static uint32_t open_number(mlt_win_busy *busy, mlt_win_op *op)
{
    uint32_t n = 0;
    while (n < busy->open_room && busy->open[n])
        n++;
    if (n == busy->open_room) {
        busy->open_room = n ? 2 * n : 4;
        busy->open = mlt_xrealloc(busy->open, busy->open_room, sizeof(mlt_win_op *));
        memset(busy->open + n, 0, (busy->open_room - n) * sizeof(mlt_win_op *));
    }
    busy->open[n] = op;
    return n;
}

// Fills in the data of a piece; how many bytes they take.
static uint64_t fill_data(const mlt_win_op *op, uint64_t bytes, char *to)
{
    const mlt_win_call *call = &op->call;
    if (!mlt_win_reads_origin(&call->operation))
        return 0;
    if (call->operation.verb == MLT_WIN_SWAP) {
        fetch_operands(call, bytes, to);
        return 2 * bytes;
    }
    mlt_type_pack(call->origin.type, call->origin.buf, op->left, to, bytes);
    return bytes;
}

static uint64_t piece_room(const mlt_win_part *part, int32_t target)
{
    uint32_t to = part->peers[mlt_win_place_of(part, target)].worker;
    uint64_t most = mlt_p2p_packet_most(part->worker, to);
    uint64_t rest = sizeof(piece_head) + OP_RUNS * sizeof(mlt_type_run);
    mlt_assert(most > 2 * rest);
    return most - rest < PIECE ? most - rest : PIECE;
}

static void send_piece(mlt_win_op *op)
{
    mlt_win_part *part = op->side->part;
    const mlt_win_call *call = &op->call;
    const mlt_type *there = call->there.type, *basic = call->operation.basic;
    uint64_t room = piece_room(part, call->target), bytes = op->total - op->left;
    uint32_t n = OP_RUNS;
    mlt_type_run runs[OP_RUNS];
    bytes = bytes < room ? bytes : room;
    bytes = basic ? mlt_type_element_runs(there, basic, op->left, bytes / basic->size * basic->size,
                                          runs, &n)
                  : mlt_type_runs(there, op->left, bytes, runs, &n);
    char *piece = mlt_xrealloc(NULL, 1, sizeof(piece_head) + n * sizeof *runs + 2 * bytes);
    *(piece_head *)piece = (piece_head){.disp = call->disp,
                                        .bytes = (uint32_t)bytes,
                                        .runs = (uint16_t)n,
                                        .code = basic ? basic->code : 0,
                                        .pair = {call->operation.pair[0], call->operation.pair[1]},
                                        .verb = call->operation.verb,
                                        .op = call->operation.op};
    uint64_t length = sizeof(piece_head) + n * sizeof *runs;
    memcpy(piece + sizeof(piece_head), runs, n * sizeof *runs);
    length += fill_data(op, bytes, piece + length);
    op->left += bytes;
    op->flying++;
    op->side->busy->flying++;
    mlt_win_tell(part, MLT_WIN_PACKET_OP, op->side->me, call->target, (int32_t)op->number, piece,
                 length);
    free(piece);
}

// Pieces leave as long as few are on the way.
static void pump(mlt_win_side *side)
{
    mlt_win_busy *busy = side->busy;
    mlt_win_op *op;
    while (busy->flying < OP_PIECES && (op = MLT_LIST_FIRST(&busy->ops, mlt_win_op, node))) {
        if (op->left == op->total)
            mlt_list_remove(&op->node);
        else
            send_piece(op);
    }
}

static mlt_status start(mlt_win_side *side, const mlt_win_call *call)
{
    mlt_win_op *op = mlt_xcalloc(1, sizeof *op);
    mlt_win_busy *busy = mlt_win_busy_of(side);
    op->call = *call;
    op->side = side;
    op->total = call->there.count * call->there.type->size;
    keep_type(&op->call.there, &op->types[0]);
    keep_type(&op->call.origin, &op->types[1]);
    keep_type(&op->call.result, &op->types[2]);
    op->number = open_number(busy, op);
    mlt_list_push_back(&busy->ops, &op->node);
    side->pending++;
    pump(side);
    return MLT_PENDING;
}

// Before the user can change what came.
static void keep_result(const mlt_win_op *op)
{
    const mlt_win_data *result = &op->call.result;
    if (op->kept && !op->failed)
        mlt_win_kept_fill(op->kept, &(mlt_win_buffer){result->buf, result->type});
    mlt_win_kept_drop(op->kept);
}

static void finish(mlt_win_op *op)
{
    mlt_win_side *side = op->side;
    mlt_list_remove(&op->node);
    side->busy->open[op->number] = NULL;
    if (op->call.req)
        keep_result(op);
    for (int i = 0; i < 3; i++)
        drop_type(&op->types[i]);
    if (op->call.req)
        mlt_req_complete(op->call.req);
    free(op);
    side->pending--;
    mlt_win_wake_flushers(side);
}

bool mlt_win_op_goes_to(const mlt_win_side *side, int32_t target)
{
    const mlt_win_busy *busy = side->busy;
    for (uint32_t n = 0; busy && n < busy->open_room; n++)
        if (busy->open[n] && busy->open[n]->call.target == target)
            return true;
    return false;
}

bool mlt_win_op_keep(mlt_win_side *side, const mlt_req *req, mlt_win_kept *kept)
{
    mlt_win_busy *busy = side->busy;
    for (uint32_t n = 0; busy && n < busy->open_room; n++)
        if (busy->open[n] && busy->open[n]->call.req == req) {
            busy->open[n]->kept = kept;
            return true;
        }
    return false;
}

void mlt_win_done_came(mlt_win_part *part, const mlt_packet *packet, const void *data,
                       uint64_t bytes)
{
    mlt_win_side *side = mlt_win_side_of(part, packet->dst);
    mlt_win_busy *busy = side->busy;
    uint32_t number = (uint32_t)packet->word;
    mlt_win_op *op = busy && number < busy->open_room ? busy->open[number] : NULL;
    done_head head;
    if (!op || op->flying == 0 || packet->src != op->call.target || bytes < sizeof head)
        return;
    memcpy(&head, data, sizeof head);
    if (head.bytes > op->left - op->got || (writes_result(op->call.operation.verb) && !head.fault &&
                                            bytes != sizeof head + head.bytes))
        return;
    if (head.fault && !busy->fault) {
        busy->fault = head.fault < MLT_WIN_NONE ? (mlt_win_fault)head.fault : MLT_WIN_NONE;
        busy->fault_target = packet->src;
    } else if (!head.fault && writes_result(op->call.operation.verb))
        mlt_type_unpack(op->call.result.type, op->call.result.buf, op->got,
                        (const char *)data + sizeof head, head.bytes);
    op->failed |= head.fault != MLT_WIN_FINE;
    op->got += head.bytes;
    op->flying--;
    busy->flying--;
    pump(side);
    if (op->got == op->total)
        finish(op);
}

// ---- by packets: the target

// A piece that was taken apart.
typedef struct piece {
    piece_head head;
    mlt_win_operation operation;
    mlt_type_run runs[OP_RUNS];
    mlt_type pair; // an unnamed pair of value and index; magic 0: none
    const char *in;
} piece;

static bool is_named(const mlt_type *type, uint16_t code)
{
    return type->magic == MLT_TYPE_MAGIC && type->code == code && type->size > 0;
}

// An unnamed pair, laid out as a C struct; unmade by unmake_pair.
static bool make_pair(piece *p)
{
    const mlt_type *types[] = {mlt_type_coded(p->head.pair[0]), mlt_type_coded(p->head.pair[1])};
    mlt_reduction reduction;
    char why[8];
    if (!is_named(types[0], p->head.pair[0]) || !is_named(types[1], p->head.pair[1]) ||
        !mlt_reduce_find_pair(MLT_REDUCE_MAXLOC, types[0]->code, types[1]->code, &reduction, why,
                              sizeof why))
        return false;
    int64_t align = INT64_C(1) << types[1]->align;
    int64_t begin = ((int64_t)types[0]->size + align - 1) / align * align;
    return mlt_type_make_struct(&p->pair, 2, (const int64_t[]){1, 1}, (const int64_t[]){0, begin},
                                types) == MLT_OK;
}

static bool find_pair_kernel(piece *p)
{
    mlt_reduction reduction;
    char why[8];
    if (p->head.verb == MLT_WIN_SWAP || !make_pair(p))
        return false;
    p->operation = (mlt_win_operation){.verb = p->head.verb, .op = p->head.op, .basic = &p->pair};
    if (p->head.op == MLT_REDUCE_REPLACE || p->head.op == MLT_REDUCE_NO_OP)
        return true;
    if (p->head.op >= MLT_REDUCE_OPS ||
        !mlt_reduce_find_pair((mlt_reduce_op)p->head.op, p->head.pair[0], p->head.pair[1],
                              &reduction, why, sizeof why))
        return false;
    mlt_win_find_kernels(&p->operation, &reduction);
    return true;
}

static bool find_kernel(piece *p)
{
    const piece_head *head = &p->head;
    if (head->pair[0] && head->verb != MLT_WIN_PUT && head->verb != MLT_WIN_GET)
        return find_pair_kernel(p);
    return mlt_win_operation_make(&p->operation, head->verb, head->op, head->code) &&
           (head->verb != MLT_WIN_SWAP || p->operation.basic->size == head->bytes);
}

// The runs have as many bytes as the piece says, in whole elements.
static bool runs_fit(const piece *p)
{
    const mlt_type *basic = p->operation.basic;
    uint64_t left = p->head.bytes;
    for (uint32_t r = 0; r < p->head.runs; r++) {
        uint64_t length = p->runs[r].length, count = p->runs[r].count;
        if (basic && !basic->contiguous) {
            if (length != (uint64_t)basic->extent)
                return false;
            length = basic->size;
        } else if (basic && length % basic->size)
            return false;
        if (length == 0 || count > left / length)
            return false;
        left -= length * count;
    }
    return left == 0;
}

// True: the bytes are a piece.
static bool take_apart(piece *p, const void *data, uint64_t bytes)
{
    if (bytes < sizeof p->head)
        return false;
    memcpy(&p->head, data, sizeof p->head);
    uint64_t runs = p->head.runs * sizeof *p->runs, rest = bytes - sizeof p->head;
    if (p->head.runs > OP_RUNS || rest < runs || p->head.verb >= MLT_WIN_VERBS ||
        p->head.bytes > PIECE)
        return false;
    memcpy(p->runs, (const char *)data + sizeof p->head, runs);
    p->in = (const char *)data + sizeof p->head + runs;
    if (!find_kernel(p) || !runs_fit(p))
        return false;
    uint64_t in = mlt_win_reads_origin(&p->operation) ? p->head.bytes : 0;
    return rest - runs == (p->head.verb == MLT_WIN_SWAP ? 2 * in : in);
}

// Does it, and fills in the answer: a head, and what was fetched. Returns its length.
static uint64_t do_piece(mlt_win_part *part, int32_t target, const piece *p, done_head *answer)
{
    uint64_t at = 0;
    mlt_win_descriptor *descriptor = mlt_win_descriptor_of(part, target);
    answer->bytes = p->head.bytes;
    answer->fault = mlt_win_check_runs(descriptor, (mlt_win_flavor)part->flavor, p->head.disp,
                                       p->runs, p->head.runs, &at);
    if (answer->fault != MLT_WIN_FINE)
        return sizeof *answer;
    char *memory = (char *)((uintptr_t)mlt_win_memory(part, target) + at);
    apply_of(descriptor)(part, descriptor, &p->operation, memory, p->runs, p->head.runs, p->in,
                         (char *)(answer + 1));
    return sizeof *answer + (writes_result(p->head.verb) ? p->head.bytes : 0);
}

void mlt_win_op_came(mlt_win_part *part, const mlt_packet *packet, const void *data, uint64_t bytes)
{
    piece p = {.in = NULL};
    bool good = take_apart(&p, data, bytes);
    done_head *answer = mlt_xrealloc(NULL, 1, sizeof *answer + (good ? p.head.bytes : 0));
    *answer = (done_head){.fault = MLT_WIN_NONE};
    uint64_t length = good ? do_piece(part, packet->dst, &p, answer) : sizeof *answer;
    mlt_win_tell(part, MLT_WIN_PACKET_DONE, packet->dst, packet->src, packet->word, answer, length);
    drop_type(&p.pair);
    free(answer);
}

// ---- both

// Where in the target's process a call without gaps works; MLT_ERR_UNSUPPORTED: the system refuses.
static mlt_status find_beside(mlt_win_part *part, const mlt_win_peer *peer,
                              const mlt_win_call *call, uint64_t *at, mlt_win_fault *fault)
{
    mlt_win_descriptor *descriptor = &peer->descriptors[call->target - peer->first];
    uint64_t bytes = call->there.count * call->there.type->size;
    if (part->flavor == MLT_WIN_DYNAMIC) {
        *at = (uint64_t)call->disp;
        return mlt_win_check_peer(&part->seen, mlt_win_process_of(part, peer), descriptor, *at,
                                  bytes, fault);
    }
    *fault = mlt_win_check(descriptor, MLT_WIN_CREATED, call->disp, call->there.count,
                           call->there.type, at);
    *at += descriptor->base;
    return MLT_OK;
}

// By packets from now on.
static mlt_status start_always(mlt_win_side *side, const mlt_win_call *call)
{
    side->part->across = false;
    return start(side, call);
}

// With buffers in memory of a device: by way of host memory, a part at a time.
static mlt_status do_beside_parts(mlt_win_part *part, const mlt_win_peer *peer,
                                  const mlt_win_call *call, uint64_t at)
{
    mlt_win_descriptor *descriptor = &peer->descriptors[call->target - peer->first];
    uint64_t total = call->there.count * call->there.type->size;
    uint64_t element = call->operation.basic ? call->operation.basic->size : 1;
    uint64_t most = OP_LONG / element * element;
    char *in = mlt_xrealloc(NULL, 2, OP_LONG), *out = in + OP_LONG;
    mlt_status status = MLT_OK;
    mlt_win_call one = *call;
    one.origin = (mlt_win_data){.buf = call->origin.type ? in : NULL};
    one.result = (mlt_win_data){.buf = call->result.type ? out : NULL};
    one.compare = in + element;
    for (uint64_t done = 0; done < total && status == MLT_OK;) {
        uint64_t bytes = total - done < most ? total - done : most;
        if (call->operation.verb == MLT_WIN_SWAP)
            fetch_operands(call, bytes, in);
        else if (call->origin.type)
            mlt_type_pack(call->origin.type, call->origin.buf, done, in, bytes);
        one.there = (mlt_win_data){.count = bytes, .type = MLT_TYPE_BYTE};
        status = mlt_win_do_across(part, peer, descriptor, &one, at + done, 0);
        if (status == MLT_OK && call->result.type)
            mlt_type_unpack(call->result.type, call->result.buf, done, out, bytes);
        done += bytes;
    }
    free(in);
    return status;
}

// In another process of this host, whose memory is not mapped. MLT_PENDING: by packets, or with
// others.
static MLT_COLD mlt_status do_beside(mlt_win_side *side, const mlt_win_call *call,
                                     mlt_win_peer *peer, mlt_win_fault *fault)
{
    mlt_win_part *part = side->part;
    uint64_t at, bytes = call->there.count * call->there.type->size;
    bool device = is_of_device(&call->origin) || is_of_device(&call->result);
    bool plain =
        is_plain(&call->there) && (device || (is_plain(&call->origin) && is_plain(&call->result)));
    bool small = !device && call->operation.verb == MLT_WIN_PUT && bytes <= MLT_WIN_STAGE_MOST &&
                 peer->written && !call->req;
    if (!small)
        mlt_win_stage_leave(side);
    // Accumulates keep their order: none overtakes one that goes by packets.
    bool overtakes = call->operation.verb >= MLT_WIN_ACCUMULATE && side->pending;
    if (peer->reach != MLT_WIN_HOST || !part->across || !plain || overtakes ||
        mlt_win_is_on_device(&peer->descriptors[call->target - peer->first]))
        return start(side, call);
    mlt_status status = find_beside(part, peer, call, &at, fault);
    if (status == MLT_ERR_UNSUPPORTED)
        return start_always(side, call);
    if (*fault != MLT_WIN_FINE)
        return MLT_ERR_INVALID;
    if (small && mlt_win_stage_put(side, peer, call->target, at, call->origin.buf, bytes))
        return MLT_PENDING;
    uint64_t done;
    status = device ? MLT_PENDING : mlt_win_ask(side, peer, call, at, &done, fault);
    if (status != MLT_PENDING)
        return status;
    status = device ? do_beside_parts(part, peer, call, at)
                    : mlt_win_do_across(part, peer, &peer->descriptors[call->target - peer->first],
                                        call, at, done);
    if (status == MLT_ERR_UNSUPPORTED)
        return start_always(side, call);
    peer->written |= call->operation.verb == MLT_WIN_PUT && status == MLT_OK;
    // The window reaches beyond what the process has.
    *fault = part->flavor == MLT_WIN_DYNAMIC ? MLT_WIN_UNATTACHED : MLT_WIN_BEYOND;
    return status == MLT_OK ? MLT_OK : MLT_ERR_INVALID;
}

mlt_status mlt_win_do(mlt_win_side *side, const mlt_win_call *call, mlt_win_fault *fault)
{
    mlt_win_part *part = side->part;
    mlt_win_peer *peer = mlt_win_peer_of(part, call->target);
    uint64_t at;
    uint64_t bytes = call->there.count * call->there.type->size;
    if (MLT_UNLIKELY(!peer->direct) && peer->reach == MLT_WIN_NEAR)
        return do_near(part, peer, call, fault);
    if (MLT_UNLIKELY(!peer->direct))
        return bytes ? do_beside(side, call, peer, fault) : MLT_OK;
    mlt_win_descriptor *descriptor = &peer->descriptors[call->target - peer->first];
    *fault = mlt_win_check(descriptor, (mlt_win_flavor)part->flavor, call->disp, call->there.count,
                           call->there.type, &at);
    if (MLT_UNLIKELY(*fault != MLT_WIN_FINE))
        return MLT_ERR_INVALID;
    if (MLT_LIKELY(bytes))
        do_here(part, descriptor, call,
                (char *)(uintptr_t)(descriptor->base + (uint64_t)peer->shift + at));
    return MLT_OK;
}
