// SPDX-License-Identifier: BSD-3-Clause
//
// Random programs of one-sided communication against a plain model: `win_random FIRST COUNT`. With
// `win_random FIRST COUNT CHILDREN KEY VALUE` the ranks spawn so many others, with that key for
// MPI_Comm_spawn or none, and the windows are made of the ranks of both jobs.
//
// All ranks draw the same program from a seed: a window of some flavor, then rounds. In a round each
// rank has a list of transfers within epochs of one kind. The outcome is determined: a byte of a
// window belongs to one origin for the round, or is only read, or is accumulated to by any ranks
// with one commuting operation. Where an origin touches the same bytes again in a round, a flush
// lies between. Every rank plays all transfers of all ranks on a model, one after the other, and
// compares: its own memory after each round, and what it has fetched.
//
// Some cells are for chains: ranks add single bits, each its own, and fetch what was there. Whatever
// the order was, the fetched sets of bits must be a chain in which each one follows from the one
// before; otherwise an accumulate was not atomic.
//
// A failure prints its seed.

#include <stdint.h>
#include <stdio.h>

#define CHECK_NOTE(rank) note(rank)
static void note(int rank);

#include "family.h"
#include "win_check.h"

enum {
    RANKS = 64,  // most
    BITS = 448,  // bytes of integers, which may be anything
    FLOATS = 64, // bytes of doubles, which are small whole numbers
    CHAINS = 4,  // cells of chains
    CHAIN_AT = BITS + FLOATS,
    BYTES = CHAIN_AT + 8 * CHAINS,
    MOST = 24,  // transfers of a rank in a round
    ITEMS = 12, // elements of a transfer
    SPAN = 256, // bytes of a datatype, at most
    ROOM = SPAN + 16,
};

// What each rank is at, for a failed check; ranks may share memory, so each has its place.
static uint64_t current[RANKS];

static void note(int rank)
{
    if (rank >= 0 && rank < RANKS)
        fprintf(stderr, "seed %llu: repeat it with the arguments %llu 1\n",
                (unsigned long long)current[rank], (unsigned long long)current[rank]);
}

// ---- elements and operations

enum element { E_U8, E_U16, E_I32, E_U32, E_I64, E_U64, E_DOUBLE, ELEMENTS };

static const int element_bytes[ELEMENTS] = {1, 2, 4, 4, 8, 8, 8};

static MPI_Datatype element_type(enum element e)
{
    const MPI_Datatype types[] = {MPI_UINT8_T, MPI_UINT16_T, MPI_INT32_T, MPI_UINT32_T,
                                  MPI_INT64_T, MPI_UINT64_T, MPI_DOUBLE};
    return types[e];
}

enum operation {
    SUM,
    PROD,
    MAX,
    MIN,
    BAND,
    BOR,
    BXOR,
    LAND,
    LOR,
    LXOR,
    REPLACE,
    NO_OP,
    OPERATIONS
};

static MPI_Op op_of(enum operation op)
{
    const MPI_Op ops[] = {MPI_SUM,  MPI_PROD, MPI_MAX, MPI_MIN,  MPI_BAND,    MPI_BOR,
                          MPI_BXOR, MPI_LAND, MPI_LOR, MPI_LXOR, MPI_REPLACE, MPI_NO_OP};
    return ops[op];
}

// Signed sums and products may not overflow, doubles have no bits.
static int op_fits(enum operation op, enum element e)
{
    if (e == E_DOUBLE)
        return op == SUM || op == MAX || op == MIN || op == REPLACE;
    if (!STRICT && (op == MAX || op == MIN)) // MPICH takes unsigned types for signed ones
        return e == E_I32 || e == E_I64;
    return (op != SUM && op != PROD) || (e != E_I32 && e != E_I64);
}

static uint64_t word_get(const unsigned char *p, int bytes)
{
    uint64_t word = 0;
    for (int i = 0; i < bytes; i++)
        word |= (uint64_t)p[i] << (8 * i);
    return word;
}

static void word_put(unsigned char *p, int bytes, uint64_t word)
{
    for (int i = 0; i < bytes; i++)
        p[i] = (unsigned char)(word >> (8 * i));
}

static int word_less(enum element e, uint64_t a, uint64_t b)
{
    if (e == E_I32)
        return (int32_t)(uint32_t)a < (int32_t)(uint32_t)b;
    if (e == E_I64)
        return (int64_t)a < (int64_t)b;
    return a < b;
}

static void operate_double(enum operation op, unsigned char *at, const unsigned char *in)
{
    double a, b;
    memcpy(&a, at, sizeof a);
    memcpy(&b, in, sizeof b);
    a = op == SUM ? a + b : op == REPLACE ? b : (op == MAX) == (a < b) ? b : a;
    memcpy(at, &a, sizeof a);
}

static void operate(enum operation op, enum element e, unsigned char *at, const unsigned char *in)
{
    int n = element_bytes[e];
    if (op == NO_OP)
        return;
    if (e == E_DOUBLE) {
        operate_double(op, at, in);
        return;
    }
    uint64_t a = word_get(at, n), b = word_get(in, n);
    switch (op) {
    case SUM:
        a += b;
        break;
    case PROD:
        a *= b;
        break;
    case MAX:
        a = word_less(e, a, b) ? b : a;
        break;
    case MIN:
        a = word_less(e, b, a) ? b : a;
        break;
    case BAND:
        a &= b;
        break;
    case BOR:
        a |= b;
        break;
    case BXOR:
        a ^= b;
        break;
    case LAND:
        a = a && b;
        break;
    case LOR:
        a = a || b;
        break;
    case LXOR:
        a = !a != !b;
        break;
    default:
        a = b;
    }
    word_put(at, n, a);
}

// ---- layouts: where the elements of one side of a transfer are

typedef struct layout {
    int count;     // elements
    int at[ITEMS]; // bytes, from the address
    int way;       // how the datatype is made
    int repeats;   // of it
    int stride;    // of a vector, in elements
} layout;

enum { W_PLAIN, W_VECTOR, W_INDEXED, W_HINDEXED, W_STRUCT, W_TWICE, WAYS };

// Elements of so many bytes, from a random place within `room` bytes; returns that place.
static int layout_draw(uint64_t *state, layout *l, int count, int bytes, int room)
{
    int cells = room / bytes, used = 0;
    l->count = count;
    l->way = random_below(state, WAYS);
    l->repeats = 1;
    if (l->way == W_TWICE && count % 2 != 0)
        l->way = W_INDEXED;
    int spare = cells - count;
    if (l->way == W_PLAIN || spare < count) {
        l->way = W_PLAIN;
        used = count;
        for (int i = 0; i < count; i++)
            l->at[i] = i * bytes;
    } else if (l->way == W_VECTOR) {
        l->stride = 1 + random_below(state, 1 + spare / count);
        for (int i = 0; i < count; i++)
            l->at[i] = i * l->stride * bytes;
        used = (count - 1) * l->stride + 1;
    } else {
        int most = spare / count, half = l->way == W_TWICE ? count / 2 : count;
        for (int i = 0, cell = 0; i < half; i++) {
            cell += random_below(state, most + 1);
            l->at[i] = cell++ * bytes;
            used = cell;
        }
        for (int i = half; i < count; i++)
            l->at[i] = l->at[i - half] + used * bytes;
        used = half < count ? 2 * used : used;
    }
    return random_below(state, cells - used + 1) * bytes;
}

// Turns the order of the elements round now and then, where the way allows it.
static void layout_reverse(uint64_t *state, layout *l)
{
    if ((l->way != W_INDEXED && l->way != W_HINDEXED && l->way != W_STRUCT) ||
        random_below(state, 3))
        return;
    for (int i = 0; i < l->count / 2; i++) {
        int swap = l->at[i];
        l->at[i] = l->at[l->count - 1 - i];
        l->at[l->count - 1 - i] = swap;
    }
}

static MPI_Datatype layout_struct(const layout *l, MPI_Datatype base)
{
    MPI_Datatype type, types[ITEMS];
    int ones[ITEMS];
    MPI_Aint at[ITEMS];
    for (int i = 0; i < l->count; i++) {
        types[i] = base;
        ones[i] = 1;
        at[i] = l->at[i];
    }
    if (l->way == W_STRUCT)
        CHECK_OK(MPI_Type_create_struct(l->count, ones, at, types, &type));
    else
        CHECK_OK(MPI_Type_create_hindexed(l->count, ones, at, base, &type));
    return type;
}

static MPI_Datatype layout_indexed(const layout *l, MPI_Datatype base, int bytes, int count)
{
    MPI_Datatype type;
    int places[ITEMS];
    for (int i = 0; i < count; i++)
        places[i] = l->at[i] / bytes;
    CHECK_OK(MPI_Type_create_indexed_block(count, 1, places, base, &type));
    return type;
}

// The datatype, and how many of it; the caller frees all but predefined ones.
static MPI_Datatype layout_type(const layout *l, enum element e, int *count)
{
    MPI_Datatype base = element_type(e), type, inner;
    int bytes = element_bytes[e];
    *count = 1;
    switch (l->way) {
    case W_PLAIN:
        *count = l->count;
        return base;
    case W_VECTOR:
        CHECK_OK(MPI_Type_vector(l->count, 1, l->stride, base, &type));
        break;
    case W_INDEXED:
        type = layout_indexed(l, base, bytes, l->count);
        break;
    case W_TWICE:
        inner = layout_indexed(l, base, bytes, l->count / 2);
        CHECK_OK(MPI_Type_create_resized(inner, 0, l->at[l->count / 2] - l->at[0], &type));
        CHECK_OK(MPI_Type_free(&inner));
        *count = 2;
        break;
    default:
        type = layout_struct(l, base);
    }
    CHECK_OK(MPI_Type_commit(&type));
    return type;
}

// ---- programs

enum kind { PUT, GET, ACCUMULATE, GET_ACCUMULATE, FETCH, SWAP, CHAIN, FLUSH, KINDS };

typedef struct transfer {
    enum kind kind;
    int target, request; // request: by the form with one
    enum element element;
    enum operation op;
    layout here, there, result;
    int at; // byte of the window
    unsigned char data[ITEMS * 8], compare[8];
    unsigned char wanted[ITEMS * 8]; // what is fetched, by the model
    int fetches, determined;
    int bit;          // of a chain
    int flush;        // before it: 1 of its target, 2 of all
    uint64_t fetched; // of a chain
} transfer;

typedef struct list {
    int count;
    transfer of[MOST];
} list;

// How a byte of a window is used in a round.
typedef struct usage {
    unsigned char mode; // U_...
    short group;        // of accumulates: type and operation
    short origin;       // or MANY
    char pending;       // not flushed
} usage;

enum { U_FREE, U_READ, U_OWN, U_GROUP, MANY = 1000 };

typedef struct world {
    box b;
    uint64_t state;
    enum epoch epoch;
    unsigned char *model; // BYTES of each rank
    usage *uses;          // BYTES of each rank
    list *lists;          // of each rank
    char *access;         // access[origin * size + target]
    int *bits;            // of each chain: how many are used
    int exclusive;        // kind of locks of this round; or fences with assertions
} world;

static usage *uses_of(world *w, int rank)
{
    return w->uses + (size_t)rank * BYTES;
}

// Whether the transfer may touch this byte; sets `flush` if what the origin did before must end first.
static int byte_allows(const usage *u, const transfer *t, int origin, int group, int *flush)
{
    int mine = u->mode == U_FREE || u->origin == origin;
    if (u->mode == U_FREE)
        return 1;
    if (t->kind == GET && u->mode == U_READ)
        return 1;
    if (group >= 0 && u->mode == U_GROUP && u->group == group && (t->op != REPLACE || mine))
        return 1;
    if (!mine)
        return 0;
    if (u->pending)
        *flush = 1;
    return 1;
}

static void byte_use(usage *u, const transfer *t, int origin, int group)
{
    if (t->kind == GET && (u->mode == U_FREE || u->mode == U_READ)) {
        u->origin = u->mode == U_FREE || u->origin == origin ? (short)origin : MANY;
        u->mode = U_READ;
    } else if (group >= 0 && (u->mode == U_FREE || (u->mode == U_GROUP && u->group == group))) {
        u->origin = u->mode == U_FREE || u->origin == origin ? (short)origin : MANY;
        u->mode = U_GROUP;
        u->group = (short)group;
    } else {
        u->mode = U_OWN; // others do not wait for what this rank did before, so they may not join
        u->group = (short)group;
        u->origin = (short)origin;
    }
    u->pending = 1;
}

static int is_passive(const world *w)
{
    return w->epoch == LOCK || w->epoch == LOCK_ALL;
}

static void flushed(world *w, int origin, int target)
{
    usage *u = uses_of(w, target);
    for (int i = 0; i < BYTES; i++)
        if (u[i].origin == origin)
            u[i].pending = 0;
}

// The bytes that it touches; 0 if another transfer is in the way.
static int claim(world *w, int origin, transfer *t)
{
    int group = -1, flush = 0, bytes = element_bytes[t->element];
    if (t->kind == ACCUMULATE || t->kind == GET_ACCUMULATE || t->kind == FETCH)
        group = t->element * OPERATIONS + t->op;
    usage *u = uses_of(w, t->target);
    for (int i = 0; i < t->there.count; i++)
        for (int k = 0; k < bytes; k++)
            if (!byte_allows(&u[t->at + t->there.at[i] + k], t, origin, group, &flush))
                return 0;
    if (flush && !is_passive(w))
        return 0;
    if (flush) {
        t->flush = w->epoch == LOCK_ALL ? 1 + random_below(&w->state, 2) : 1;
        for (int target = 0; target < w->b.size; target++)
            if (t->flush == 2 || target == t->target)
                flushed(w, origin, target);
    }
    for (int i = 0; i < t->there.count; i++)
        for (int k = 0; k < bytes; k++)
            byte_use(&u[t->at + t->there.at[i] + k], t, origin, group);
    return 1;
}

static void draw_data(uint64_t *state, enum element e, unsigned char *data, int count)
{
    for (int i = 0; i < count; i++) {
        double whole = random_below(state, 20);
        uint64_t word = random_below(state, 2) ? random_next(state) : random_next(state) % 4;
        if (e == E_DOUBLE)
            memcpy(data + i * 8, &whole, sizeof whole);
        else
            word_put(data + i * element_bytes[e], element_bytes[e], word);
    }
}

static int draw_chain(world *w, transfer *t)
{
    int cell = random_below(&w->state, CHAINS), *bits = &w->bits[t->target * CHAINS + cell];
    static const enum operation ops[] = {SUM, BOR, BXOR};
    if (*bits == 64)
        return 0;
    t->element = E_U64;
    t->op = ops[cell % 3];
    t->at = CHAIN_AT + 8 * cell;
    t->there = t->here = t->result = (layout){.count = 1};
    t->fetches = 1;
    t->bit = (*bits)++;
    word_put(t->data, 8, (uint64_t)1 << t->bit);
    return 1;
}

static void draw_kind(world *w, transfer *t)
{
    uint64_t *s = &w->state;
    static const enum kind kinds[] = {
        PUT,   PUT,  GET,   GET,   ACCUMULATE, ACCUMULATE, GET_ACCUMULATE,
        FETCH, SWAP, CHAIN, CHAIN, FLUSH};
    t->kind = kinds[random_below(s, COUNT_OF(kinds))];
    t->request = is_passive(w) && random_below(s, 3) == 0;
    t->element = (enum element)random_below(s, ELEMENTS);
    do
        t->op = (enum operation)random_below(s, NO_OP);
    while (!op_fits(t->op, t->element));
    if (t->kind == SWAP && t->element == E_DOUBLE)
        t->element = E_I64;
    t->fetches = t->kind == GET || t->kind == GET_ACCUMULATE || t->kind == FETCH || t->kind == SWAP;
}

// One transfer of a rank; 0 if it would collide with others.
static int draw(world *w, int origin, transfer *t)
{
    uint64_t *s = &w->state;
    *t = (transfer){.target = random_below(s, w->b.size)};
    if (!w->access[origin * w->b.size + t->target])
        return 0;
    draw_kind(w, t);
    if (t->kind == FLUSH)
        return is_passive(w);
    if (t->kind == CHAIN)
        return draw_chain(w, t);
    int count = t->kind == FETCH || t->kind == SWAP ? 1 : 1 + random_below(s, ITEMS),
        bytes = element_bytes[t->element];
    int room = t->element == E_DOUBLE ? FLOATS : SPAN,
        place = t->element == E_DOUBLE ? BITS : random_below(s, (BITS - SPAN) / 8 + 1) * 8;
    if (count * bytes > room)
        count = room / bytes;
    t->at = place + layout_draw(s, &t->there, count, bytes, room);
    layout_draw(s, &t->here, count, bytes, SPAN);
    layout_draw(s, &t->result, count, bytes, SPAN);
    layout_reverse(s, &t->there);
    layout_reverse(s, &t->here);
    if (t->kind == FETCH || t->kind == SWAP)
        t->here = t->result = t->there = (layout){.count = 1};
    draw_data(s, t->element, t->data, count);
    draw_data(s, t->element, t->compare, 1);
    return claim(w, origin, t);
}

// ---- the model

// What it fetches, and what it leaves.
static void model_apply(world *w, transfer *t)
{
    unsigned char *memory = w->model + (size_t)t->target * BYTES + t->at;
    int bytes = element_bytes[t->element];
    for (int i = 0; i < t->there.count; i++) {
        unsigned char *cell = memory + t->there.at[i];
        memcpy(t->wanted + i * bytes, cell, (size_t)bytes);
        if (t->kind == PUT)
            memcpy(cell, t->data + i * bytes, (size_t)bytes);
        else if (t->kind == SWAP && memcmp(cell, t->compare, (size_t)bytes) == 0)
            memcpy(cell, t->data, (size_t)bytes);
        else if (t->kind == ACCUMULATE || t->kind == GET_ACCUMULATE || t->kind == FETCH ||
                 t->kind == CHAIN)
            operate(t->op, t->element, cell, t->data + i * bytes);
    }
}

// A comparison that holds now and then: with what is there by the model.
static void model_compare(world *w, transfer *t)
{
    if (t->kind == SWAP && random_below(&w->state, 2))
        memcpy(t->compare, w->model + (size_t)t->target * BYTES + t->at,
               (size_t)element_bytes[t->element]);
}

// What is fetched is determined unless other ranks accumulate to the same bytes.
static void model_determine(world *w, transfer *t)
{
    const usage *u = uses_of(w, t->target);
    t->determined = t->kind != CHAIN;
    for (int i = 0; i < t->there.count && t->kind != CHAIN; i++)
        for (int k = 0; k < element_bytes[t->element]; k++) {
            const usage *byte = &u[t->at + t->there.at[i] + k];
            if (byte->mode == U_GROUP && byte->origin == MANY)
                t->determined = 0;
        }
}

// All ranks' transfers of a round, drawn in turns, so that all of them find room.
static void draw_round(world *w)
{
    int most = 1 + random_below(&w->state, MOST), size = w->b.size;
    memset(w->uses, 0, (size_t)size * BYTES * sizeof *w->uses);
    memset(w->bits, 0, (size_t)size * CHAINS * sizeof *w->bits);
    for (int rank = 0; rank < size; rank++)
        w->lists[rank].count = 0;
    for (int i = 0; i < most; i++)
        for (int rank = 0; rank < size; rank++) {
            transfer *t = &w->lists[rank].of[w->lists[rank].count];
            if (!draw(w, rank, t))
                continue;
            model_compare(w, t);
            model_apply(w, t);
            w->lists[rank].count++;
        }
    for (int rank = 0; rank < size; rank++)
        for (int i = 0; i < w->lists[rank].count; i++)
            model_determine(w, &w->lists[rank].of[i]);
}

// ---- what a rank does

// A transfer under way, with its buffers.
typedef struct active {
    transfer *t;
    MPI_Datatype here, there, result;
    int heres, theres, results;
    unsigned char out[ROOM], in[ROOM], single[8];
    MPI_Request request;
} active;

static void type_free(MPI_Datatype *type, const layout *l)
{
    if (l->way != W_PLAIN)
        CHECK_OK(MPI_Type_free(type));
}

static void active_open(active *a, transfer *t)
{
    int bytes = element_bytes[t->element];
    *a = (active){.t = t, .request = MPI_REQUEST_NULL};
    memset(a->out, 0xdd, sizeof a->out);
    memset(a->in, 0xee, sizeof a->in);
    for (int i = 0; i < t->here.count; i++)
        memcpy(a->out + t->here.at[i], t->data + i * bytes, (size_t)bytes);
    a->here = layout_type(&t->here, t->element, &a->heres);
    a->there = layout_type(&t->there, t->element, &a->theres);
    a->result = layout_type(&t->result, t->element, &a->results);
}

static void start_move(const world *w, active *a, MPI_Aint disp)
{
    const transfer *t = a->t;
    MPI_Win win = w->b.win;
    if (t->kind == PUT && t->request)
        CHECK_OK(MPI_Rput(a->out, a->heres, a->here, t->target, disp, a->theres, a->there, win,
                          &a->request));
    else if (t->kind == PUT)
        CHECK_OK(MPI_Put(a->out, a->heres, a->here, t->target, disp, a->theres, a->there, win));
    else if (t->request)
        CHECK_OK(MPI_Rget(a->in, a->results, a->result, t->target, disp, a->theres, a->there, win,
                          &a->request));
    else
        CHECK_OK(MPI_Get(a->in, a->results, a->result, t->target, disp, a->theres, a->there, win));
}

static void start_accumulate(const world *w, active *a, MPI_Aint disp)
{
    const transfer *t = a->t;
    MPI_Win win = w->b.win;
    MPI_Op op = op_of(t->op);
    if (t->kind == ACCUMULATE && t->request)
        CHECK_OK(MPI_Raccumulate(a->out, a->heres, a->here, t->target, disp, a->theres, a->there,
                                 op, win, &a->request));
    else if (t->kind == ACCUMULATE)
        CHECK_OK(MPI_Accumulate(a->out, a->heres, a->here, t->target, disp, a->theres, a->there, op,
                                win));
    else if (t->request)
        CHECK_OK(MPI_Rget_accumulate(a->out, a->heres, a->here, a->in, a->results, a->result,
                                     t->target, disp, a->theres, a->there, op, win, &a->request));
    else
        CHECK_OK(MPI_Get_accumulate(a->out, a->heres, a->here, a->in, a->results, a->result,
                                    t->target, disp, a->theres, a->there, op, win));
}

static void start(const world *w, active *a)
{
    const transfer *t = a->t;
    MPI_Aint disp = box_disp(&w->b, t->target, (size_t)t->at);
    if (t->kind == PUT || t->kind == GET)
        start_move(w, a, disp);
    else if (t->kind == ACCUMULATE || t->kind == GET_ACCUMULATE)
        start_accumulate(w, a, disp);
    else if (t->kind == SWAP)
        CHECK_OK(MPI_Compare_and_swap(a->out, t->compare, a->in, element_type(t->element),
                                      t->target, disp, w->b.win));
    else
        CHECK_OK(MPI_Fetch_and_op(a->out, a->in, element_type(t->element), t->target, disp,
                                  op_of(t->op), w->b.win));
}

// What was fetched is as wanted, and nothing beside it was written. After the epoch.
static void active_close(active *a)
{
    transfer *t = a->t;
    unsigned char want[ROOM];
    int bytes = element_bytes[t->element];
    memset(want, 0xee, sizeof want);
    for (int i = 0; t->fetches && i < t->result.count; i++)
        memcpy(want + t->result.at[i],
               t->determined ? t->wanted + i * bytes : a->in + t->result.at[i], (size_t)bytes);
    if (memcmp(a->in, want, sizeof want) != 0)
        check_fail(__FILE__, __LINE__,
                   "kind %d of %d elements %d, operation %d, at byte %d of rank %d: fetched what "
                   "was not there",
                   t->kind, t->there.count, t->element, t->op, t->at, t->target);
    if (t->kind == CHAIN)
        t->fetched = word_get(a->in, 8);
    type_free(&a->here, &t->here);
    type_free(&a->there, &t->there);
    type_free(&a->result, &t->result);
}

static void flush(const world *w, const transfer *t, uint64_t *state)
{
    MPI_Win win = w->b.win;
    switch (t->kind == FLUSH ? random_below(state, 4) : t->flush - 1) {
    case 0:
        CHECK_OK(MPI_Win_flush(t->target, win));
        break;
    case 1:
        if (w->epoch == LOCK_ALL)
            CHECK_OK(MPI_Win_flush_all(win));
        else
            CHECK_OK(MPI_Win_flush(t->target, win));
        break;
    case 2:
        CHECK_OK(MPI_Win_flush_local(t->target, win));
        break;
    default:
        CHECK_OK(MPI_Win_flush_local_all(win));
    }
}

// This rank's transfers to a target, or to all (-1). Requests are waited for in between, or at the end.
static int go(world *w, active *actives, int target, uint64_t *state)
{
    list *own = &w->lists[w->b.rank];
    int count = 0;
    for (int i = 0; i < own->count; i++) {
        transfer *t = &own->of[i];
        if (target >= 0 && t->target != target)
            continue;
        if (t->flush || t->kind == FLUSH)
            flush(w, t, state);
        if (t->kind == FLUSH)
            continue;
        active *a = &actives[count++];
        active_open(a, t);
        start(w, a);
        if (a->request != MPI_REQUEST_NULL && random_below(state, 2))
            CHECK_OK(MPI_Wait(&a->request, MPI_STATUS_IGNORE));
    }
    for (int i = 0; i < count; i++)
        CHECK_OK(MPI_Wait(&actives[i].request, MPI_STATUS_IGNORE));
    return count;
}

static MPI_Group some_of(const world *w, int origins)
{
    int members[RANKS], count = 0, size = w->b.size;
    MPI_Group group;
    for (int i = 0; i < size; i++)
        if (w->access[origins ? i * size + w->b.rank : w->b.rank * size + i])
            members[count++] = i;
    CHECK_OK(MPI_Group_incl(w->b.group, count, members, &group));
    return group;
}

static int by_groups(world *w, active *actives, uint64_t *state)
{
    MPI_Group origins = some_of(w, 1), targets = some_of(w, 0);
    MPI_Win win = w->b.win;
    CHECK_OK(MPI_Win_post(origins, random_below(state, 2) ? MPI_MODE_NOSTORE : 0, win));
    CHECK_OK(MPI_Win_start(targets, 0, win));
    int count = go(w, actives, -1, state), done = 0;
    CHECK_OK(MPI_Win_complete(win));
    for (int i = 0; !done && i < 3 && random_below(state, 2); i++)
        CHECK_OK(MPI_Win_test(win, &done));
    if (!done)
        CHECK_OK(MPI_Win_wait(win));
    CHECK_OK(MPI_Group_free(&origins));
    CHECK_OK(MPI_Group_free(&targets));
    return count;
}

// A lock for each target in turn; transfers to a target keep their order.
static int by_locks(world *w, active *actives, uint64_t *state)
{
    int count = 0, first = random_below(state, w->b.size);
    for (int i = 0; i < w->b.size; i++) {
        int target = (first + i) % w->b.size;
        if (!w->access[w->b.rank * w->b.size + target])
            continue;
        CHECK_OK(
            MPI_Win_lock(w->exclusive ? MPI_LOCK_EXCLUSIVE : MPI_LOCK_SHARED, target, 0, w->b.win));
        count += go(w, actives + count, target, state);
        CHECK_OK(MPI_Win_unlock(target, w->b.win));
    }
    return count;
}

static int play(world *w, active *actives)
{
    uint64_t own = w->state + (uint64_t)w->b.rank;
    MPI_Win win = w->b.win;
    int count = 0;
    switch (w->epoch) {
    case FENCE:
        CHECK_OK(MPI_Win_fence(w->exclusive ? MPI_MODE_NOPRECEDE : 0, win));
        count = go(w, actives, -1, &own);
        CHECK_OK(MPI_Win_fence(MPI_MODE_NOSUCCEED | (random_below(&own, 2) ? MPI_MODE_NOSTORE : 0),
                               win));
        break;
    case GROUPS:
        count = by_groups(w, actives, &own);
        break;
    case LOCK:
        count = by_locks(w, actives, &own);
        break;
    default:
        CHECK_OK(MPI_Win_lock_all(random_below(&own, 2) ? MPI_MODE_NOCHECK : 0, win));
        count = go(w, actives, -1, &own);
        CHECK_OK(MPI_Win_unlock_all(win));
    }
    for (int i = 0; i < count; i++)
        active_close(&actives[i]);
    CHECK_OK(MPI_Barrier(w->b.comm));
    return count;
}

// What this rank's own memory holds; with locks it may only be looked at in an epoch.
static void compare(const world *w)
{
    const unsigned char *want = w->model + (size_t)w->b.rank * BYTES;
    if (is_passive(w))
        CHECK_OK(MPI_Win_lock(MPI_LOCK_SHARED, w->b.rank, 0, w->b.win));
    for (int i = 0; i < BYTES; i++)
        if (w->b.base[i] != want[i])
            check_fail(__FILE__, __LINE__, "byte %d is %d, should be %d (window %s, epochs %d)", i,
                       w->b.base[i], want[i], flavor_name(w->b.flavor), w->epoch);
    if (is_passive(w))
        CHECK_OK(MPI_Win_unlock(w->b.rank, w->b.win));
}

// ---- chains

// Of each bit, what was there before it was added, from all ranks.
static void check_chain(const world *w, int target, int cell, const uint64_t *before)
{
    int bits = w->bits[target * CHAINS + cell];
    uint64_t have = 0;
    for (int step = 0; step < bits; step++) {
        int next = -1;
        for (int bit = 0; bit < bits; bit++)
            if (!(have >> bit & 1) && before[bit] == have)
                next = bit;
        if (next < 0)
            check_fail(__FILE__, __LINE__,
                       "cell %d of rank %d: after bits %llx no accumulate followed", cell, target,
                       (unsigned long long)have);
        have |= (uint64_t)1 << next;
    }
}

// Cells begin a round with 0, so the sets of bits are what the round has added.
static void check_chains(world *w)
{
    int size = w->b.size, cells = size * CHAINS;
    uint64_t *all = calloc((size_t)cells * 64, sizeof *all);
    CHECK(all != NULL);
    list *own = &w->lists[w->b.rank];
    for (int i = 0; i < own->count; i++) {
        const transfer *t = &own->of[i];
        if (t->kind == CHAIN)
            all[(t->target * CHAINS + (t->at - CHAIN_AT) / 8) * 64 + t->bit] = t->fetched;
    }
    CHECK_OK(MPI_Allreduce(MPI_IN_PLACE, all, cells * 64, MPI_UINT64_T, MPI_BOR, w->b.comm));
    for (int target = 0; target < size; target++)
        for (int cell = 0; cell < CHAINS; cell++)
            check_chain(w, target, cell, all + (target * CHAINS + cell) * 64);
    free(all);
}

// ---- rounds

// The owners store into their windows; and every chain begins anew.
static void store(world *w)
{
    unsigned char *own = w->model + (size_t)w->b.rank * BYTES;
    for (int rank = 0; rank < w->b.size; rank++) {
        unsigned char *memory = w->model + (size_t)rank * BYTES;
        for (int n = random_below(&w->state, 20); n > 0; n--)
            memory[random_below(&w->state, BITS)] = (unsigned char)random_next(&w->state);
        memset(memory + CHAIN_AT, 0, 8 * CHAINS);
    }
    CHECK_OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, w->b.rank, 0, w->b.win));
    memcpy(w->b.base, own, BYTES);
    CHECK_OK(MPI_Win_unlock(w->b.rank, w->b.win));
    CHECK_OK(MPI_Barrier(w->b.comm));
}

static void round_of(world *w, active *actives)
{
    int size = w->b.size, sparse = random_below(&w->state, 3);
    w->epoch = (enum epoch)random_below(&w->state, EPOCHS);
    w->exclusive = random_below(&w->state, 2);
    for (int i = 0; i < size * size; i++)
        w->access[i] = !sparse || random_below(&w->state, 2);
    store(w);
    draw_round(w);
    play(w, actives);
    compare(w);
    check_chains(w);
}

static MPI_Info draw_hints(uint64_t *state)
{
    MPI_Info info;
    if (random_below(state, 2))
        return MPI_INFO_NULL;
    CHECK_OK(MPI_Info_create(&info));
    CHECK_OK(MPI_Info_set(info, "same_size", "true"));
    if (random_below(state, 2))
        CHECK_OK(MPI_Info_set(info, "same_disp_unit", "true"));
    if (random_below(state, 2))
        CHECK_OK(MPI_Info_set(info, "alloc_shared_noncontig", "true"));
    return info;
}

static void run_seed(MPI_Comm all, uint64_t seed)
{
    world w = {.state = seed * 77 + 5};
    enum flavor flavor = (enum flavor)random_below(&w.state, FLAVORS);
    MPI_Info info = draw_hints(&w.state);
    w.b = box_new_on(all, flavor, BYTES, 1, info);
    if (info != MPI_INFO_NULL)
        CHECK_OK(MPI_Info_free(&info));
    size_t size = (size_t)w.b.size;
    w.model = must_alloc(size * BYTES);
    w.uses = must_alloc(size * BYTES * sizeof *w.uses);
    w.lists = must_alloc(size * sizeof *w.lists);
    w.access = must_alloc(size * size);
    w.bits = must_alloc(size * CHAINS * sizeof *w.bits);
    active *actives = must_alloc(MOST * sizeof *actives);
    memset(w.model, 0, size * BYTES);
    for (size_t i = 0; i < size * BYTES; i++)
        if (i % BYTES < BITS)
            w.model[i] = (unsigned char)random_next(&w.state);
    for (int rounds = 1 + random_below(&w.state, 4); rounds > 0; rounds--)
        round_of(&w, actives);
    box_free(&w.b);
    free(w.model);
    free(w.uses);
    free(w.lists);
    free(w.access);
    free(w.bits);
    free(actives);
}

int main(int argc, char **argv)
{
    uint64_t first = argc > 1 ? strtoull(argv[1], NULL, 10) : 0;
    uint64_t count = argc > 2 ? strtoull(argv[2], NULL, 10) : 20;
    char *seeds[] = {argc > 2 ? argv[1] : NULL, argc > 2 ? argv[2] : NULL, NULL};
    int size;
    CHECK_OK(MPI_Init(&argc, &argv));
    MPI_Comm all = family_new(argv[0], seeds, argc > 3 ? atoi(argv[3]) : 0,
                              argc > 5 ? argv[4] : NULL, argc > 5 ? argv[5] : NULL);
    CHECK_OK(MPI_Comm_size(all, &size));
    CHECK(size <= RANKS);
    for (uint64_t seed = first; seed < first + count; seed++) {
        current[world_rank()] = seed;
        run_seed(all, seed);
    }
    family_free(&all);
    CHECK_OK(MPI_Finalize());
    return 0;
}
