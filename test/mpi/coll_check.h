// SPDX-License-Identifier: BSD-3-Clause
//
// A case is one collective call with all its arguments, the same on every rank that takes part:
// built (buffers and arguments), prepared (data), started in one of the forms, verified, freed.
//
// Ranks are numbered over both groups of an intercommunicator, the second from COLL_SECOND on; an
// intracommunicator is its own other side. Counts are in chunks: as many items of the sender's and
// of the receiver's datatype as hold the same number of units.

#pragma once

#include "coll_data.h"

enum { COLL_SECOND = 1000, COLL_UNUSED = -7, COLL_SIZES_MOST = 64 };

// What a whole run shares, for one rank.
struct coll_test {
    struct layout layouts[COLL_LAYOUTS], basic[COLL_LAYOUTS]; // basic: predefined types themselves
    MPI_Op ops[REDUCTIONS];
    uint64_t seed, random; // random: the same on all ranks of comm
    unsigned forms;        // bits by enum coll_form
    int rounds;            // 0: by the size
    MPI_Comm comm;         // of this size
    int n, me;
};

struct slot {
    MPI_Count chunks, item; // item: where it begins
    int source, dest;
};

struct coll_case {
    const struct coll_test *test;
    enum coll_kind kind;
    MPI_Comm comm;
    int n, me;        // of the local group
    int peers;        // of the group where data comes from and goes to
    int mine, theirs; // the numbers of the first rank of each
    int root;         // a rank of the group whose first rank is root_side
    int root_side;
    int in_place;
    const struct layout *slay, *rlay;
    int smul, rmul; // items of a chunk
    MPI_Count chunks;
    enum reduction red;
    uint64_t shape; // of uneven counts and displacements
    unsigned call;
    enum coll_form form;
    int sends, recvs; // slots
    struct slot *send_slots, *recv_slots;
    struct area send, recv;
    struct coll_args args;
};

static inline int case_is_inter(const struct coll_case *c)
{
    return c->mine != c->theirs;
}

static inline int case_is_root(const struct coll_case *c)
{
    return c->mine == c->root_side && c->me == c->root;
}

// Whether this rank is one of those that a root sends to or receives from.
static inline int case_is_leaf(const struct coll_case *c)
{
    return !case_is_inter(c) || c->mine != c->root_side;
}

static inline int case_is_uneven(const struct coll_case *c)
{
    return c->kind == GATHERV || c->kind == SCATTERV || c->kind == ALLGATHERV ||
           c->kind == ALLTOALLV || c->kind == ALLTOALLW;
}

static inline int case_is_reduction(const struct coll_case *c)
{
    return c->kind >= REDUCE && c->kind <= EXSCAN;
}

static inline const char *case_text(const struct coll_case *c, char text[512])
{
    snprintf(
        text, 512,
        "%s %s, rank %d of %d%s, root %d%s, %lld chunks of %d %s to %d %s, reduction %d, shape "
        "%llu, call %u, seed=%llu",
        coll_row_of(c->kind)->name, coll_form_name(c->form), c->me, c->n,
        case_is_inter(c) ? " (inter)" : "", c->root, c->in_place ? ", in place" : "",
        (long long)c->chunks, c->smul, c->slay->name, c->rmul, c->rlay->name, c->red,
        (unsigned long long)c->shape, c->call, (unsigned long long)c->test->seed);
    return text;
}

// How much of its neighbour's part a rank of a reduce-scatter takes: the total stays the same.
static inline MPI_Count case_part(const struct coll_case *c, int rank)
{
    MPI_Count even = case_is_inter(c) ? c->chunks * c->peers : c->chunks;
    int left = rank & ~1;
    uint64_t h = coll_mix(c->shape + (uint64_t)(c->mine + left));
    MPI_Count moved = h % 3 == 0 ? even : (MPI_Count)(h % (uint64_t)(even + 1));
    if (c->kind == REDUCE_SCATTER_BLOCK || left + 1 >= c->n)
        return even;
    return rank == left ? even - moved : even + moved;
}

static inline MPI_Count case_block(const struct coll_case *c, int source, int dest)
{
    if (!case_is_uneven(c))
        return c->chunks;
    if (c->kind == GATHERV || c->kind == ALLGATHERV)
        dest = 0;
    if (c->kind == SCATTERV)
        source = 0;
    if (c->in_place && source > dest) { // what is exchanged in place has the same size both ways
        int lower = dest;
        dest = source;
        source = lower;
    }
    uint64_t h = coll_mix(c->shape + (uint64_t)source * 4096 + (uint64_t)dest);
    if (h % 4 < 2)
        return h % 4 ? c->chunks : 0;
    return (MPI_Count)((h >> 8) % (uint64_t)(c->chunks + 1));
}

static inline void case_count_slots(struct coll_case *c)
{
    int root = case_is_root(c), leaf = case_is_leaf(c), here = c->in_place;
    switch (c->kind) {
    case BCAST:
        c->recvs = root || leaf;
        return;
    case GATHER:
    case GATHERV:
    case REDUCE:
        c->sends = leaf && !(here && root);
        c->recvs = root ? (c->kind == REDUCE ? 1 : c->peers) : 0;
        return;
    case SCATTER:
    case SCATTERV:
        c->sends = root ? c->peers : 0;
        c->recvs = leaf && !(here && root);
        return;
    case ALLGATHER:
    case ALLGATHERV:
        c->sends = !here;
        c->recvs = c->peers;
        return;
    case ALLTOALL:
    case ALLTOALLV:
    case ALLTOALLW:
        c->sends = here ? 0 : c->peers;
        c->recvs = c->peers;
        return;
    case BARRIER:
        return;
    default:
        c->sends = !here;
        c->recvs = 1;
    }
}

// Data that all get is from the source to nobody (-1).
static inline void case_fill_slots(struct coll_case *c)
{
    int me = c->mine + c->me, root = c->root_side + c->root;
    int scatters = c->kind == SCATTER || c->kind == SCATTERV;
    int direct = c->kind >= ALLTOALL && c->kind <= ALLTOALLW;
    for (int j = 0; j < c->sends; j++) {
        struct slot *s = &c->send_slots[j];
        s->source = me;
        s->dest = scatters || direct ? c->theirs + j : -1;
        s->chunks = case_block(c, s->source, s->dest);
    }
    for (int j = 0; j < c->recvs; j++) {
        struct slot *s = &c->recv_slots[j];
        s->source = scatters || c->kind == BCAST ? root : c->theirs + j;
        s->dest = scatters || direct ? me : -1;
        s->chunks = case_block(c, s->source, s->dest);
    }
    if (c->kind != REDUCE_SCATTER && c->kind != REDUCE_SCATTER_BLOCK)
        return;
    MPI_Count total = 0;
    for (int rank = 0; rank < c->n; rank++)
        total += case_part(c, rank);
    c->recv_slots[0].chunks = case_part(c, c->me);
    if (c->sends)
        c->send_slots[0].chunks = total;
    else // the input is in the receive buffer
        c->recv_slots[0].chunks = total;
}

// Places blocks one after another; those of uneven kinds with gaps, and from the last to the first.
// Returns the items needed.
static inline MPI_Count case_place(const struct coll_case *c, struct slot *slots, int n, int mul)
{
    int uneven = case_is_uneven(c) && n > 1, backward = uneven && (c->shape & 1);
    int gap = uneven && (c->shape & 2);
    MPI_Count item = gap;
    for (int i = 0; i < n; i++) {
        struct slot *s = &slots[backward ? n - 1 - i : i];
        s->item = item;
        item += s->chunks * mul + gap;
    }
    return item;
}

static inline void case_arrays(struct coll_case *c)
{
    struct coll_args *a = &c->args;
    int wide = c->kind == ALLTOALLW;
    for (int j = 0; j < a->slots; j++) {
        a->sendcounts[j] = a->recvcounts[j] = COLL_UNUSED;
        if (j < c->sends && case_is_uneven(c)) {
            a->sendcounts[j] = (int)(c->send_slots[j].chunks * c->smul);
            a->sdispls[j] = (int)c->send_slots[j].item * (wide ? c->slay->extent : 1);
            a->sendtypes[j] = c->slay->type;
        }
        if (j < c->recvs && case_is_uneven(c)) {
            a->recvcounts[j] = (int)(c->recv_slots[j].chunks * c->rmul);
            a->rdispls[j] = (int)c->recv_slots[j].item * (wide ? c->rlay->extent : 1);
            a->recvtypes[j] = c->rlay->type;
        }
        if (c->kind == REDUCE_SCATTER && j < c->n)
            a->recvcounts[j] = (int)(case_part(c, j) * c->rmul);
    }
    coll_args_widen(a);
}

static inline void case_arguments(struct coll_case *c)
{
    struct coll_args *a = &c->args;
    int rooted = c->kind >= BCAST && (c->kind <= SCATTERV || c->kind == REDUCE);
    a->comm = c->comm;
    a->op = c->test->ops[c->red];
    a->root = c->root;
    if (rooted && case_is_inter(c) && c->mine == c->root_side)
        a->root = c->me == c->root ? MPI_ROOT : MPI_PROC_NULL;
    a->sendbuf = area_base(&c->send);
    a->recvbuf = area_base(&c->recv);
    // What is not significant here is nonsense.
    a->sendcount = a->recvcount = COLL_UNUSED;
    if (c->sends) {
        a->sendcount = c->send_slots[0].chunks * c->smul;
        a->sendtype = c->slay->type;
    }
    if (c->recvs) {
        a->recvcount = c->recv_slots[0].chunks * c->rmul;
        a->recvtype = c->rlay->type;
    }
    if (c->in_place && (c->kind == SCATTER || c->kind == SCATTERV) && case_is_root(c))
        a->recvbuf = MPI_IN_PLACE;
    else if (c->in_place && !c->sends && c->recvs && c->kind != BCAST && c->kind != SCATTER &&
             c->kind != SCATTERV)
        a->sendbuf = MPI_IN_PLACE;
    if (case_is_reduction(c)) {
        a->recvtype = c->rlay->type;
        a->recvcount = c->chunks * c->rmul;
        if (c->kind == REDUCE_SCATTER_BLOCK)
            a->recvcount = case_part(c, c->me) * c->rmul;
    }
    if (case_is_inter(c) && rooted && a->root == MPI_PROC_NULL) { // nothing but the root matters
        a->sendcount = a->recvcount = STRICT ? COLL_UNUSED : 0;
        a->sendtype = STRICT ? MPI_DATATYPE_NULL : c->slay->type;
        a->recvtype = STRICT ? MPI_DATATYPE_NULL : c->rlay->type;
        a->op = STRICT ? MPI_OP_NULL : a->op;
        a->sendbuf = STRICT ? NULL : a->sendbuf;
        a->recvbuf = STRICT ? MPI_IN_PLACE : a->recvbuf;
    }
    if (ON_MPICH && c->kind == REDUCE && a->root == MPI_ROOT)
        a->sendbuf = a->sdispls; // MPICH wants one
    if (!ON_MPICH && c->kind == EXSCAN && c->me == 0 && !c->in_place && (c->shape & 4))
        a->recvbuf = NULL;
}

// Fills in what depends on the communicator; the caller has set the rest.
static inline void case_comm(struct coll_case *c, MPI_Comm comm)
{
    c->comm = comm;
    CHECK_OK(MPI_Comm_size(comm, &c->n));
    CHECK_OK(MPI_Comm_rank(comm, &c->me));
    c->peers = c->n;
    c->mine = c->theirs = c->root_side = 0;
}

static inline void case_build(struct coll_case *c)
{
    int a = c->slay->units, b = c->rlay->units;
    c->smul = a == b ? 1 : b;
    c->rmul = a == b ? 1 : a;
    c->sends = c->recvs = 0;
    c->send = c->recv = (struct area){0};
    case_count_slots(c);
    c->send_slots = calloc((size_t)c->sends + 1, sizeof(struct slot));
    c->recv_slots = calloc((size_t)c->recvs + 1, sizeof(struct slot));
    CHECK(c->send_slots && c->recv_slots);
    case_fill_slots(c);
    MPI_Count out = case_place(c, c->send_slots, c->sends, c->smul);
    MPI_Count in = case_place(c, c->recv_slots, c->recvs, c->rmul);
    if (c->sends)
        area_init(&c->send, c->slay, out);
    if (c->recvs)
        area_init(&c->recv, c->rlay, in);
    coll_args_init(&c->args, c->n > c->peers ? c->n : c->peers);
    case_arrays(c);
    case_arguments(c);
}

static inline void case_free(struct coll_case *c)
{
    area_fini(&c->send);
    area_fini(&c->recv);
    free(c->send_slots);
    free(c->recv_slots);
    coll_args_free(&c->args);
}

static inline void case_put(const struct coll_case *c, unsigned char *base, const struct slot *s,
                            const struct layout *l, int mul, int source, int dest)
{
    coll_put(base, l, s->item, s->chunks * mul * l->units, coll_key(c->call, source, dest));
}

static inline void case_prepare_reduction(struct coll_case *c)
{
    const struct layout *l = c->rlay;
    const struct slot *in = &c->recv_slots[0];
    int me = c->mine + c->me, from = c->theirs, to = c->theirs + c->peers;
    MPI_Count first = 0, units = c->recvs ? in->chunks * l->units : 0;
    if (c->sends)
        coll_put_reduction(area_base(&c->send), l, c->send_slots[0].chunks * l->units, 0, c->red,
                           c->call, me, me + 1);
    else if (c->recvs)
        coll_put_reduction(area_base(&c->recv), l, units, 0, c->red, c->call, me, me + 1);
    area_expect(&c->send);
    area_expect(&c->recv);
    if (!c->recvs)
        return;
    if (c->kind == SCAN || c->kind == EXSCAN)
        to = c->me + (c->kind == SCAN);
    if (c->kind == REDUCE_SCATTER || c->kind == REDUCE_SCATTER_BLOCK) {
        units = case_part(c, c->me) * l->units;
        for (int rank = 0; rank < c->me; rank++)
            first += case_part(c, rank) * l->units;
    }
    if (to > from) // an exclusive scan leaves the first rank's buffer alone, if in place
        coll_put_reduction(area_wanted(&c->recv), l, units, first, c->red, c->call, from, to);
}

// New data in all buffers. The request, if any, is not active.
static inline void case_prepare(struct coll_case *c)
{
    c->call++;
    area_poison(&c->send);
    area_poison(&c->recv);
    if (case_is_reduction(c)) {
        case_prepare_reduction(c);
        return;
    }
    int me = c->mine + c->me;
    int direct = c->kind >= ALLTOALL && c->kind <= ALLTOALLW;
    for (int j = 0; j < c->sends; j++)
        case_put(c, area_base(&c->send), &c->send_slots[j], c->slay, c->smul, me,
                 c->send_slots[j].dest);
    for (int j = 0; j < c->recvs; j++) {
        const struct slot *s = &c->recv_slots[j];
        if (c->in_place && direct)
            case_put(c, area_base(&c->recv), s, c->rlay, c->rmul, me, j);
        else if (s->source == me && (c->kind == BCAST || (c->in_place && c->sends == 0)))
            case_put(c, area_base(&c->recv), s, c->rlay, c->rmul, me, -1);
    }
    area_expect(&c->send);
    area_expect(&c->recv);
    for (int j = 0; j < c->recvs; j++) {
        const struct slot *s = &c->recv_slots[j];
        case_put(c, area_wanted(&c->recv), s, c->rlay, c->rmul, s->source, s->dest);
    }
}

// Creates the request and starts it, or makes the whole call.
static inline void case_start(struct coll_case *c, enum coll_form form, MPI_Request *request)
{
    char text[512];
    c->form = form;
    int code = coll_row_of(c->kind)->call[form](&c->args, request);
    if (code != MPI_SUCCESS)
        check_fail(__FILE__, __LINE__, "code %d of %s", code, case_text(c, text));
    if (coll_is_persistent(form))
        CHECK_OK(MPI_Start(request));
}

// What the standard leaves open is taken as it is.
static inline void case_excuse(struct coll_case *c)
{
    if (c->kind == EXSCAN && c->me == 0 && !c->in_place)
        area_expect(&c->recv);
    if (c->in_place && (c->kind == REDUCE_SCATTER || c->kind == REDUCE_SCATTER_BLOCK)) {
        ptrdiff_t from = c->recv.origin + c->rlay->lb;
        MPI_Count end = c->recv_slots[0].chunks * c->rlay->extent;
        MPI_Count mine = case_part(c, c->me) * c->rlay->extent;
        memcpy(c->recv.want + from + mine, c->recv.memory + from + mine, (size_t)(end - mine));
    }
}

static inline void case_verify(struct coll_case *c)
{
    char text[512];
    case_excuse(c);
    if (area_fault(&c->send) < 1LL << 60)
        check_fail(__FILE__, __LINE__, "byte %lld of the send buffer has changed: %s",
                   area_fault(&c->send), case_text(c, text));
    if (area_fault(&c->recv) < 1LL << 60)
        check_fail(__FILE__, __LINE__, "byte %lld of %lld of the receive buffer is wrong: %s",
                   area_fault(&c->recv), (long long)c->recv.size - 2 * COLL_MARGIN,
                   case_text(c, text));
}

// The whole of a case in one form.
static inline void case_run(struct coll_case *c, enum coll_form form)
{
    MPI_Request request = MPI_REQUEST_NULL;
    case_prepare(c);
    case_start(c, form, &request);
    CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    case_verify(c);
    if (!coll_is_persistent(form)) {
        CHECK(request == MPI_REQUEST_NULL);
        return;
    }
    CHECK(request != MPI_REQUEST_NULL);
    case_prepare(c);
    CHECK_OK(MPI_Start(&request));
    CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    case_verify(c);
    CHECK_OK(MPI_Request_free(&request));
}

// Builds it, runs it blocking, nonblocking and persistent, and frees it. Calls with an odd shape
// have large counts.
static inline void case_try(struct coll_case *c)
{
    case_build(c);
    for (int f = 0; f < COLL_BASIC_FORMS; f++) {
        int form = c->shape % 2 && COLL_FORMS > f + 3 ? f + 3 : f;
        if (c->test->forms >> form & 1)
            case_run(c, (enum coll_form)form);
    }
    case_free(c);
}

// So many bytes of a block keep a test of n ranks short.
static inline MPI_Count coll_limit(enum coll_kind kind, int n)
{
    int one = kind == BCAST || (kind >= REDUCE && kind <= ALLREDUCE) || kind >= SCAN;
    if (n <= 4)
        return one ? 530000 : 70000;
    if (n <= 8)
        return one ? 140000 : 20000;
    if (n <= 17)
        return one ? 20000 : 4200;
    return one ? 9000 : 600;
}

// A number of chunks around a size where algorithms change.
static inline MPI_Count coll_random_chunks(uint64_t *random, MPI_Count limit, int chunk_bytes)
{
    static const int points[] = {0, 8, 64, 256, 2048, 4096, 8192, 65536, 524288};
    MPI_Count bytes;
    do {
        bytes = points[random_below(random, COUNT_OF(points))];
    } while (bytes > limit);
    MPI_Count chunks = bytes / chunk_bytes + random_below(random, 3) - 1;
    if (random_below(random, 4) == 0 && limit > 64)
        chunks = random_below(random, 3000) % (limit / chunk_bytes);
    return chunks < 0 ? 0 : chunks;
}

static inline int layout_bytes(const struct layout *l)
{
    int sum = 0;
    for (int u = 0; u < l->units; u++)
        sum += l->bytes[u];
    return sum;
}

// Two datatypes that fit: mostly plain ones.
static inline void case_random_layouts(struct coll_case *c, const struct coll_test *t,
                                       uint64_t *random)
{
    int pick = random_below(random, 8);
    if (case_is_reduction(c)) {
        enum coll_layout which = reduction_layout(c->red);
        c->slay = c->rlay = which < L_PAIR ? &t->basic[which] : &t->layouts[which];
    } else if (pick < 3) {
        c->slay = c->rlay = &t->basic[pick];
    } else if (pick < 5) {
        c->slay = c->rlay = &t->layouts[random_below(random, COLL_LAYOUTS)];
    } else {
        int ints = L_LAST_INTS - L_FIRST_INTS + 1;
        int s = L_FIRST_INTS + random_below(random, ints + 1);
        int r = L_FIRST_INTS + random_below(random, ints + 1);
        c->slay = &t->layouts[s > L_LAST_INTS ? L_INT : s];
        c->rlay = &t->layouts[r > L_LAST_INTS ? L_INT : r];
    }
    if (c->kind == BCAST) // a broadcast's one buffer is received
        c->slay = c->rlay;
}

// Creates the user's operations when they are first needed: what only moves data needs none of
// them. Before a test is copied, for other communicators or threads, it needs them too.
static inline void coll_need_ops(struct coll_test *t)
{
    for (int i = WRAP; i < REDUCTIONS && t->ops[i] == MPI_OP_NULL; i++)
        t->ops[i] = reduction_op((enum reduction)i);
}

// Any arguments, the same on all ranks of t->comm.
static inline struct coll_case case_random(struct coll_test *t, enum coll_kind kind)
{
    struct coll_case c = {.test = t, .kind = kind};
    uint64_t *random = &t->random;
    if (case_is_reduction(&c))
        coll_need_ops(t);
    case_comm(&c, t->comm);
    c.root = random_below(random, c.n);
    c.red = (enum reduction)random_below(random, REDUCTIONS);
    c.in_place = kind != BCAST && kind != BARRIER && random_below(random, 4) == 0;
    c.shape = random_next(random);
    c.call = (unsigned)random_below(random, 1000000);
    case_random_layouts(&c, t, random);
    if (ON_MPICH && kind == REDUCE && c.root)
        c.in_place = 0;
    if (ON_MPICH && c.slay->units == 3)
        c.slay = c.rlay = &t->basic[L_INT];
    if (c.in_place)
        c.slay = c.rlay;
    c.chunks = coll_random_chunks(random, coll_limit(kind, c.n),
                                  layout_bytes(c.slay) *
                                      (c.slay->units == c.rlay->units ? 1 : c.rlay->units));
    return c;
}

// A plain case: ints, root 0 and nothing special.
static inline struct coll_case case_plain(struct coll_test *t, enum coll_kind kind,
                                          MPI_Count chunks)
{
    struct coll_case c = {.test = t, .kind = kind, .chunks = chunks, .red = SUM_INT};
    if (case_is_reduction(&c))
        coll_need_ops(t);
    case_comm(&c, t->comm);
    c.slay = c.rlay = &t->basic[L_INT];
    c.shape = random_next(&t->random);
    c.call = (unsigned)random_below(&t->random, 1000000);
    return c;
}

static inline int coll_rounds(const struct coll_test *t)
{
    if (t->rounds)
        return t->rounds;
    return t->n <= 4 ? 24 : t->n <= 8 ? 16 : t->n <= 17 ? 8 : 5;
}

// One kind of collective: every root, with few bytes, then random arguments.
static inline void coll_try_kind(struct coll_test *t, enum coll_kind kind)
{
    int roots = kind <= SCATTERV || kind == REDUCE ? t->n : 1;
    for (int root = 0; root<roots; root += t->n> 17 ? 7 : 1) {
        struct coll_case c = case_plain(t, kind, 1 + root % 3);
        c.root = root;
        case_try(&c);
    }
    for (int i = 0; i < coll_rounds(t); i++) {
        struct coll_case c = case_random(t, kind);
        case_try(&c);
    }
}

static inline unsigned coll_forms_of(const char *letters)
{
    static const char all[] = "bnpBNP";
    unsigned forms = 0;
    for (; *letters; letters++) {
        const char *at = strchr(all, *letters);
        CHECK(at != NULL);
        forms |= 1u << (at - all);
    }
    return forms;
}

// Arguments: seed=N, rounds=N, forms=LETTERS (b, n, p: blocking, nonblocking, persistent; capitals:
// large counts), and numbers: the sizes of communicators to try. Returns how many sizes; by default
// 1 to 17, 31, 32, 33 and 64, as far as there are ranks.
static inline int coll_options(struct coll_test *t, int argc, char **argv, int *sizes)
{
    int count = 0, world = world_size();
    for (int i = 1; i < argc; i++) {
        if (!strncmp(argv[i], "seed=", 5))
            t->seed = strtoull(argv[i] + 5, NULL, 10);
        else if (!strncmp(argv[i], "rounds=", 7))
            t->rounds = atoi(argv[i] + 7);
        else if (!strncmp(argv[i], "forms=", 6))
            t->forms = coll_forms_of(argv[i] + 6);
        else if (count < COLL_SIZES_MOST && atoi(argv[i]) > 0)
            sizes[count++] = atoi(argv[i]);
    }
    for (int n = 1; n <= 64 && count == 0; n++)
        if (n <= world && (n <= 17 || (n >= 31 && n <= 33) || n == 64))
            sizes[n - 1] = n;
    if (count)
        return count;
    for (int n = 0; n < COLL_SIZES_MOST; n++)
        if (sizes[n])
            sizes[count++] = sizes[n];
    return count;
}

static inline void coll_test_init(struct coll_test *t)
{
    *t = (struct coll_test){.seed = 1, .comm = MPI_COMM_NULL};
    t->forms = coll_forms_of(ON_MPICH ? "bnBN" : "bnpBNP");
    for (int i = 0; i < COLL_LAYOUTS; i++)
        t->layouts[i] = layout_of((enum coll_layout)i);
    for (int i = 0; i < L_PAIR; i++)
        t->basic[i] = layout_predefined((enum coll_layout)i);
    for (int i = 0; i < REDUCTIONS; i++)
        t->ops[i] = i < WRAP ? MPI_SUM : MPI_OP_NULL;
}

static inline void coll_test_fini(struct coll_test *t)
{
    for (int i = 0; i < COLL_LAYOUTS; i++)
        CHECK_OK(MPI_Type_free(&t->layouts[i].type));
    for (int i = WRAP; i < REDUCTIONS && t->ops[i] != MPI_OP_NULL; i++)
        CHECK_OK(MPI_Op_free(&t->ops[i]));
}

// Points the test to a communicator; random arguments depend on the seed and its size.
static inline void coll_use(struct coll_test *t, MPI_Comm comm)
{
    t->comm = comm;
    CHECK_OK(MPI_Comm_size(comm, &t->n));
    CHECK_OK(MPI_Comm_rank(comm, &t->me));
    t->random = t->seed * 1000003 + (uint64_t)t->n;
}

// Runs a test on a communicator of each size. Which ranks are in it changes with the size.
static inline int coll_main(int argc, char **argv, void (*body)(struct coll_test *))
{
    struct coll_test t;
    int sizes[COLL_SIZES_MOST] = {0};
    CHECK_OK(MPI_Init(&argc, &argv));
    coll_test_init(&t);
    int count = coll_options(&t, argc, argv, sizes), rank = world_rank(), world = world_size();
    for (int i = 0; i < count; i++) {
        MPI_Comm comm;
        CHECK(sizes[i] <= world);
        int inside = (rank + sizes[i]) % world < sizes[i];
        CHECK_OK(MPI_Comm_split(MPI_COMM_WORLD, inside ? 0 : MPI_UNDEFINED, rank, &comm));
        if (comm == MPI_COMM_NULL)
            continue;
        coll_use(&t, comm);
        body(&t);
        CHECK_OK(MPI_Comm_free(&comm));
    }
    coll_test_fini(&t);
    CHECK_OK(MPI_Finalize());
    return 0;
}
