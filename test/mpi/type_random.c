// SPDX-License-Identifier: BSD-3-Clause
//
// Random nested datatypes against the naive reference of type_map.h: `type_random FIRST COUNT`.
//
// For each seed a signature (a list of basic types) is drawn, and two datatypes that have it, by
// splitting it in random ways into nested constructors. Two random ranks, perhaps the same, send
// from the one type to the other, in a random way; every byte of the receive buffer is compared,
// also those that must not change. All ranks draw the same, so nobody need be told what to expect.
// A failure prints its seed.
//
// MPICH 4.0 does not agree with the standard on negative extents and on messages that end inside an
// element; there these are left out.

#include <float.h>
#include <stdint.h>
#include <stdio.h>

#define CHECK_NOTE(rank) note(rank)
static void note(int rank);

#include "type_map.h"

enum {
    RANKS = 64, // most
    DEPTH = 6,
    SIGNATURE = 600, // most basic elements of a small message
    LARGE = 20,      // one seed in so many has a large message
    SPAN = 1 << 21,  // most bytes from the first to the last of a buffer
    MARGIN = 32,     // bytes around a buffer that must not change
    TAG = 11,
    BUFFERED = 1 << 22,
};

// What each rank is at, for a failed check; ranks may share memory, so each has its place.
static uint64_t current[RANKS];

static void note(int rank)
{
    if (rank >= 0 && rank < RANKS)
        fprintf(stderr, "seed %llu: repeat it with the arguments %llu 1\n",
                (unsigned long long)current[rank], (unsigned long long)current[rank]);
}

struct draw {
    uint64_t random;
    bool disjoint; // the data must not overlap: a receive buffer
};

static int below(struct draw *d, int limit)
{
    return random_below(&d->random, limit);
}

static int between(struct draw *d, int low, int high)
{
    return low + below(d, high - low + 1);
}

static bool sometimes(struct draw *d, int one_in)
{
    return below(d, one_in) == 0;
}

// ---- signatures

struct signature {
    unsigned char kind[SIGNATURE];
    int n;
};

// A few kinds, or a repeated or a composed piece, of at most `most` elements.
static void draw_signature(struct draw *d, struct signature *s, int most, int depth)
{
    int start = s->n, how = depth ? below(d, 4) : 0;
    if (how == 0 || most < 2) {
        int kind = below(d, KINDS), n = sometimes(d, 3) ? 1 : between(d, 1, most < 8 ? most : 8);
        for (int i = 0; i < n; i++)
            s->kind[s->n++] = (unsigned char)kind;
    } else if (how < 3) {
        draw_signature(d, s, most / 2, depth - 1);
        int piece = s->n - start, times = between(d, 1, most / piece < 6 ? most / piece : 6);
        for (int i = piece; i < piece * times; i++)
            s->kind[s->n++] = s->kind[start + i % piece];
    } else {
        draw_signature(d, s, most / 2, depth - 1);
        draw_signature(d, s, most - (s->n - start), depth - 1);
    }
}

// Whether the first `period` kinds, repeated, are all n.
static bool repeats(const unsigned char *kind, int n, int period)
{
    return n % period == 0 && memcmp(kind, kind + period, (size_t)(n - period)) == 0;
}

// A random period below n, or n if there is none.
static int draw_period(struct draw *d, const unsigned char *kind, int n)
{
    int found = n, seen = 0;
    for (int period = 1; period <= n / 2; period++)
        if (repeats(kind, n, period) && below(d, ++seen) == 0)
            found = period;
    return found;
}

static int draw_divisor(struct draw *d, int n)
{
    int found = 1, seen = 0;
    for (int k = 1; k <= n; k++)
        if (n % k == 0 && below(d, ++seen) == 0)
            found = k;
    return found;
}

// ---- types

static struct map draw_type(struct draw *d, const unsigned char *kind, int n, int depth);

static long span_of(const struct map *m)
{
    long first, end;
    map_span(m, &first, &end);
    return end - first;
}

// Elements of the type may follow each other without overlap.
static bool is_wide(const struct map *m)
{
    return labs(map_extent(m)) >= span_of(m);
}

// For types whose elements shall follow each other: if they overlap and must not, a wider one.
static struct map widened(struct draw *d, struct map m)
{
    long first, end;
    if (!d->disjoint || is_wide(&m))
        return m;
    map_span(&m, &first, &end);
    long extent = end - first + below(d, 9);
    struct map wide = map_resized(&m, first - below(d, 5),
                                  STRICT && sometimes(d, 4) ? -extent : extent, sometimes(d, 2));
    map_free(&m);
    return wide;
}

// Places for blocks of these lengths (in some unit), in a random order and with gaps; or anywhere.
static void draw_places(struct draw *d, int n, const long *lengths, long *at)
{
    int order[MOST_PARTS] = {0};
    long cursor = between(d, -9, 9);
    for (int i = 0; i < n; i++) {
        int k = below(d, i + 1);
        order[i] = order[k];
        order[k] = i;
    }
    if (sometimes(d, 2)) // mostly in order
        for (int i = 0; i < n; i++)
            order[i] = i;
    for (int i = 0; i < n; i++) {
        at[order[i]] = cursor;
        cursor += lengths[order[i]] + (sometimes(d, 2) ? 0 : between(d, 0, 5));
        if (!d->disjoint && sometimes(d, 4))
            cursor = between(d, -9, 9);
    }
}

// total = lengths[0] + ... ; some of them 0.
static int draw_lengths(struct draw *d, int total, int *lengths)
{
    int n = 0;
    while (total > 0 && n < MOST_PARTS - 1) {
        int length = n == MOST_PARTS - 2 ? total : between(d, 0, total);
        lengths[n++] = length;
        total -= length;
    }
    return n;
}

static struct map draw_indexed(struct draw *d, const struct map *old, int times)
{
    int lengths[MOST_PARTS], n, length = 0;
    long sizes[MOST_PARTS] = {0}, at[MOST_PARTS] = {0}, extent = map_extent(old), first, end;
    bool blocks = sometimes(d, 2), bytes = sometimes(d, 2);
    map_span(old, &first, &end);
    if (blocks) {
        n = draw_divisor(d, times);
        n = n > MOST_PARTS ? 1 : n;
        length = times / n;
    } else {
        n = draw_lengths(d, times, lengths);
    }
    for (int i = 0; i < n; i++) {
        long elements = blocks ? length : lengths[i];
        sizes[i] = bytes ? (elements ? labs(extent) * (elements - 1) + end - first : 0) : elements;
    }
    draw_places(d, n, sizes, at);
    for (int i = 0; i < n && bytes; i++) { // the block's first byte is to be there
        long elements = blocks ? length : lengths[i];
        at[i] -= first + (extent < 0 ? extent * (elements - 1) : 0);
    }
    return map_indexed(old, n, blocks ? NULL : lengths, length, at, bytes, sometimes(d, 2));
}

static struct map draw_vector(struct draw *d, const struct map *old, int times)
{
    int count = draw_divisor(d, times), length = times / count;
    bool bytes = sometimes(d, 2);
    long stride = length + between(d, 0, 3);
    if (!d->disjoint)
        stride = between(d, -4, 6);
    if (bytes)
        stride = stride * labs(map_extent(old)) + between(d, 0, 7);
    if (sometimes(d, 3))
        stride = -stride;
    return map_vector(old, count, length, stride, bytes, sometimes(d, 2));
}

// Up to three dimensions whose counts multiply to `times`.
static int draw_counts(struct draw *d, int times, int *counts)
{
    int n = between(d, 1, MOST_DIMS);
    for (int i = 0; i < n - 1; i++) {
        counts[i] = draw_divisor(d, times);
        times /= counts[i];
    }
    counts[n - 1] = times;
    return n;
}

static struct map draw_subarray(struct draw *d, const struct map *old, int times)
{
    int counts[MOST_DIMS], n = draw_counts(d, times, counts);
    struct dim dims[MOST_DIMS];
    for (int i = 0; i < n; i++) {
        dims[i].count = counts[i];
        dims[i].start = below(d, 3);
        dims[i].size = dims[i].start + dims[i].count + below(d, 3);
    }
    return map_subarray(old, n, dims, sometimes(d, 2) ? MPI_ORDER_C : MPI_ORDER_FORTRAN,
                        sometimes(d, 2));
}

// A dimension of which the process has `count` elements.
static struct dim draw_share(struct draw *d, int count)
{
    struct dim m = {.size = count,
                    .distribution = MPI_DISTRIBUTE_NONE,
                    .arg = MPI_DISTRIBUTE_DFLT_DARG,
                    .processes = 1,
                    .block = count};
    if (sometimes(d, 3))
        return m;
    m.processes = between(d, 1, 3);
    m.coordinate = below(d, m.processes);
    if (sometimes(d, 2)) {
        m.distribution = MPI_DISTRIBUTE_BLOCK;
        m.arg = count;
        m.size = between(d, count * (m.coordinate + 1), count * m.processes);
        if (sometimes(d, 2) && (m.size + m.processes - 1) / m.processes == count)
            m.arg = MPI_DISTRIBUTE_DFLT_DARG;
    } else {
        m.distribution = MPI_DISTRIBUTE_CYCLIC;
        m.arg = m.block = between(d, 1, count < 4 ? count : 4);
        int whole = count / m.block, rest = count % m.block;
        int end = (whole * m.processes + m.coordinate) * m.block; // where its next block begins
        m.size = end + rest;
        if (rest == 0) // or any end before that, behind its last block
            m.size = between(d, end - (m.processes - 1) * m.block, end);
        if (m.block == 1 && sometimes(d, 2))
            m.arg = MPI_DISTRIBUTE_DFLT_DARG;
    }
    // The ABI's value of the default is an argument that could be meant as such.
    if (m.arg == MPI_DISTRIBUTE_DFLT_DARG && m.distribution == MPI_DISTRIBUTE_BLOCK)
        m.block = (m.size + m.processes - 1) / m.processes;
    return m;
}

static struct map draw_darray(struct draw *d, const struct map *old, int times)
{
    int counts[MOST_DIMS], n = draw_counts(d, times, counts);
    struct dim dims[MOST_DIMS];
    for (int i = 0; i < n; i++) {
        dims[i] = draw_share(d, counts[i]);
        if (counts[i] == MPI_DISTRIBUTE_DFLT_DARG) // would be taken for the default
            return map_contiguous(old, times, sometimes(d, 2));
    }
    return map_darray(old, n, dims, sometimes(d, 2) ? MPI_ORDER_C : MPI_ORDER_FORTRAN,
                      sometimes(d, 2));
}

// n kinds that are a piece, repeated.
static struct map draw_repeated(struct draw *d, const unsigned char *kind, int n, int period,
                                int depth)
{
    struct map old = widened(d, draw_type(d, kind, period, depth - 1)), m;
    int times = n / period;
    switch (below(d, 6)) {
    case 0:
        m = map_contiguous(&old, times, sometimes(d, 2));
        break;
    case 1:
        m = draw_vector(d, &old, times);
        break;
    case 2:
        m = draw_subarray(d, &old, times);
        break;
    case 3:
        m = draw_darray(d, &old, times);
        break;
    default:
        m = draw_indexed(d, &old, times);
    }
    map_free(&old);
    return m;
}

// n kinds in up to three parts, and perhaps parts without any element.
static struct map draw_struct(struct draw *d, const unsigned char *kind, int n, int depth)
{
    struct map part[3];
    const struct map *parts[MOST_PARTS] = {0};
    int lengths[MOST_PARTS] = {0}, count = 0, made = 0;
    long sizes[MOST_PARTS] = {0}, at[MOST_PARTS] = {0}, first[MOST_PARTS] = {0}, end;
    while (n > 0) {
        int take = made == 2 ? n : between(d, 1, n), period = draw_period(d, kind, take);
        if (sometimes(d, 2))
            period = take;
        part[made] = draw_type(d, kind, period, depth - 1);
        if (period < take)
            part[made] = widened(d, part[made]);
        parts[count] = &part[made++];
        lengths[count] = take / period;
        map_span(parts[count], &first[count], &end);
        long extent = map_extent(parts[count]);
        sizes[count] = labs(extent) * (lengths[count] - 1) + end - first[count];
        if (extent < 0)
            first[count] += extent * (lengths[count] - 1);
        count++;
        if (sometimes(d, 6)) {
            parts[count] = parts[count - 1];
            lengths[count] = sizes[count] = first[count] = 0;
            count++;
        }
        kind += take;
        n -= take;
    }
    draw_places(d, count, sizes, at);
    for (int i = 0; i < count; i++)
        at[i] -= first[i];
    struct map m = map_struct(count, lengths, at, parts, sometimes(d, 2));
    for (int i = 0; i < made; i++)
        map_free(&part[i]);
    return m;
}

// The same data otherwise: another name, other bounds, another place, with nothing added.
static struct map draw_wrapped(struct draw *d, const unsigned char *kind, int n, int depth)
{
    struct map old = draw_type(d, kind, n, depth - 1), m, none;
    long first, end, at = between(d, -40, 40), places[2] = {at, 7};
    int lengths[2] = {1, 1};
    const struct map *parts[2] = {&old, &none};
    map_span(&old, &first, &end);
    switch (below(d, STRICT ? 5 : 4)) { // MPICH counts a part without data among the bounds
    case 0:
        m = map_dup(&old);
        break;
    case 1:
        m = map_resized(&old, between(d, -20, 20), between(d, STRICT ? -40 : 1, 80),
                        sometimes(d, 2));
        break;
    case 2:
        m = map_resized(&old, first, end - first, sometimes(d, 2));
        break;
    case 3:
        m = map_indexed(&old, 1, NULL, 1, &at, true, sometimes(d, 2));
        break;
    default: // beside a type without data
        none = map_contiguous(&old, 0, sometimes(d, 2));
        m = map_struct(2, lengths, places, parts, sometimes(d, 2));
        map_free(&none);
    }
    map_free(&old);
    return m;
}

static struct map draw_basic(struct draw *d, const unsigned char *kind, int n)
{
    struct map one = map_basic(kind[0]), other, m;
    if (n == 1)
        return one;
    if (n == 2 && kind[1] == INT_KIND && sometimes(d, 2)) {
        if (kind[0] == DOUBLE_KIND)
            return map_free(&one), map_pair(MPI_DOUBLE_INT, DOUBLE_KIND);
        if (kind[0] == SHORT_KIND)
            return map_free(&one), map_pair(MPI_SHORT_INT, SHORT_KIND);
        if (kind[0] == FLOAT_KIND)
            return map_free(&one), map_pair(MPI_FLOAT_INT, FLOAT_KIND);
    }
    int run = 1, lengths[2] = {1, 1};
    while (run < n && kind[run] == kind[0])
        run++;
    m = map_contiguous(&one, run, sometimes(d, 2));
    map_free(&one);
    if (run == n)
        return m;
    other = draw_basic(d, kind + run, n - run);
    long at[2] = {0, 0}, first, end, mine, rest;
    const struct map *parts[2] = {&m, &other};
    map_span(&m, &mine, &end);
    map_span(&other, &first, &rest);
    at[1] = end - first + below(d, 4);
    one = map_struct(2, lengths, at, parts, sometimes(d, 2));
    map_free(&m);
    map_free(&other);
    return one;
}

static struct map draw_type(struct draw *d, const unsigned char *kind, int n, int depth)
{
    if (depth == 0 || (n == 1 && sometimes(d, 2)))
        return draw_basic(d, kind, n);
    int period = draw_period(d, kind, n), how = below(d, 8);
    if (how < 4 && period < n)
        return draw_repeated(d, kind, n, period, depth);
    if (how < 6 && n > 1)
        return draw_struct(d, kind, n, depth);
    return draw_wrapped(d, kind, n, depth);
}

// ---- messages

// A type, how many of it, and the memory for `room` of it (more than there is data for).
struct side {
    struct map map;
    int count, room;
    char *memory, *buf; // all bytes; where the elements are
    size_t bytes;
};

// Where the first byte of `count` elements is, and the one behind the last.
static void range_of(const struct map *m, int count, long *first, long *end)
{
    map_span(m, first, end);
    long last = (count - 1) * map_extent(m);
    *first += last < 0 ? last : 0;
    *end += last > 0 ? last : 0;
}

static bool overlaps(const struct map *m, int count)
{
    long first, end;
    range_of(m, count, &first, &end);
    char *seen = calloc((size_t)(end - first) + 1, 1);
    bool twice = false;
    CHECK(seen != NULL);
    for (int i = 0; i < count && !twice; i++)
        for (long k = 0; k < m->n; k++) {
            char *at = seen + (i * map_extent(m) + m->entry[k].at - first);
            for (int b = 0; b < kind_of(m->entry[k].kind).size; b++) {
                twice = twice || at[b];
                at[b] = 1;
            }
        }
    free(seen);
    return twice;
}

// Draws until the memory is not too large, and what is received does not overlap. `times` pieces.
static void draw_side(struct draw *d, struct side *s, const struct signature *piece, int times,
                      bool receives)
{
    for (int depth = DEPTH;; depth -= depth > 0) {
        unsigned char *kinds = must_alloc((size_t)piece->n * (size_t)times);
        int together = piece->n * times <= 4 * SIGNATURE ? draw_divisor(d, times) : 1;
        long first, end;
        for (int i = 0; i < together; i++)
            memcpy(kinds + i * piece->n, piece->kind, (size_t)piece->n);
        // With overlap where parts may interleave; if that does not work out, without.
        d->disjoint = receives && (depth < DEPTH || sometimes(d, 2));
        s->map = draw_type(d, kinds, together * piece->n, below(d, depth + 1));
        s->count = times / together;
        s->room = s->count + (receives && sometimes(d, 3));
        free(kinds);
        if (s->room > 1)
            s->map = widened(d, s->map);
        range_of(&s->map, s->room, &first, &end);
        if (end - first <= SPAN && !(receives && overlaps(&s->map, s->room))) {
            s->bytes = (size_t)(end - first) + 2 * MARGIN;
            s->memory = must_alloc(s->bytes);
            s->buf = (char *)((uintptr_t)s->memory + MARGIN - (uintptr_t)first);
            CHECK_OK(MPI_Type_commit(&s->map.type));
            map_check(&s->map);
            return;
        }
        map_free(&s->map);
    }
}

// Where the buffer begins in other memory for the same side. It may lie outside of that memory, as a
// type's first byte may be anywhere, so compilers must not look at it as at a part of an object.
static char *buf_in(char *memory, const struct side *s)
{
    return (char *)((uintptr_t)memory + ((uintptr_t)s->buf - (uintptr_t)s->memory));
}

static void free_side(struct side *s)
{
    map_free(&s->map);
    free(s->memory);
}

// What both ranks know of a seed.
struct job {
    uint64_t seed;
    int way, from, to; // ranks
    struct side out, in;
    char *packed; // the data, as the reference packs it
    long bytes, elements;
    char *expected; // all of the receiver's memory
    bool sends, receives;
};

enum way {
    SEND,
    SSEND,
    BSEND,
    RSEND,
    ISEND,
    ISSEND,
    SENDRECV,
    PERSISTENT,
    MPROBE,
    LARGE_COUNT,
    PACKED_OUT,
    PACKED_IN,
    PARTLY,
    WAYS,
};

static void prepare(struct job *j)
{
    struct draw d = {.random = j->seed * 7919 + 1};
    struct signature piece = {.n = 0};
    j->way = below(&d, STRICT ? WAYS : PARTLY);
    j->from = below(&d, world_size());
    j->to = below(&d, world_size());
    int rank = world_rank();
    j->sends = rank == j->from;
    j->receives = rank == j->to;
    if (!j->sends && !j->receives)
        return;
    bool large = sometimes(&d, LARGE);
    draw_signature(&d, &piece, large ? 24 : sometimes(&d, 2) ? 60 : SIGNATURE, 4);
    int times = large ? between(&d, 200, 4000) : between(&d, 1, 8);
    draw_side(&d, &j->out, &piece, times, false);
    draw_side(&d, &j->in, &piece, times, true);
    j->elements = (long)piece.n * times;
    j->bytes = map_bytes(&j->out.map) * j->out.count;
    CHECK_INT(map_bytes(&j->in.map) * j->in.count, j->bytes);
    pattern_fill(j->out.memory, j->out.bytes, (unsigned)j->seed);
    pattern_fill(j->in.memory, j->in.bytes, (unsigned)j->seed + 77);
    j->packed = must_alloc((size_t)j->bytes);
    map_pack(&j->out.map, j->out.count, j->out.buf, j->packed);
    j->expected = must_alloc(j->in.bytes);
    memcpy(j->expected, j->in.memory, j->in.bytes);
    map_unpack(&j->in.map, j->in.count, buf_in(j->expected, &j->in), j->packed, j->bytes);
}

static void finish(struct job *j)
{
    free_side(&j->out);
    free_side(&j->in);
    free(j->packed);
    free(j->expected);
}

// MPI_Pack and MPI_Unpack against the reference, in two steps.
static void check_packing(struct job *j)
{
    int size = -1, at = 0;
    int first = j->out.count / 2;
    char *to = must_alloc((size_t)j->bytes);
    long extent = map_extent(&j->out.map);
    CHECK_OK(MPI_Pack_size(j->out.count, j->out.map.type, MPI_COMM_WORLD, &size));
    CHECK(size >= j->bytes);
    CHECK_OK(MPI_Pack(j->out.buf, first, j->out.map.type, to, (int)j->bytes, &at, MPI_COMM_WORLD));
    CHECK_OK(MPI_Pack(j->out.buf + first * extent, j->out.count - first, j->out.map.type, to,
                      (int)j->bytes, &at, MPI_COMM_WORLD));
    CHECK_INT(at, j->bytes);
    CHECK(memcmp(to, j->packed, (size_t)j->bytes) == 0);
    free(to);
}

// A long double of 80 bits has bytes that mean nothing, and random ones that are no number.
static bool is_exact(const struct map *m)
{
    for (long i = 0; i < m->n && LDBL_MANT_DIG == 64; i++)
        if (m->entry[i].kind == LONG_DOUBLE_KIND)
            return false;
    return true;
}

static void check_external(struct job *j)
{
    MPI_Aint size = -1, at = 0;
    char *memory = must_alloc(j->in.bytes);
    char *buf = buf_in(memory, &j->in);
    memcpy(memory, j->in.memory, j->in.bytes);
    CHECK_OK(MPI_Pack_external_size("external32", j->out.count, j->out.map.type, &size));
    CHECK_INT(size, j->bytes); // none of these kinds has another size there
    char *to = must_alloc((size_t)size);
    CHECK_OK(
        MPI_Pack_external("external32", j->out.buf, j->out.count, j->out.map.type, to, size, &at));
    CHECK_INT(at, size);
    at = 0;
    CHECK_OK(MPI_Unpack_external("external32", to, size, &at, buf, j->in.count, j->in.map.type));
    CHECK_INT(at, size);
    CHECK(memcmp(memory, j->expected, j->in.bytes) == 0);
    free(to);
    free(memory);
}

// What has arrived is what was sent: counts, every byte, and nothing else.
static void check_received(struct job *j, const MPI_Status *status)
{
    int count = -1, want = j->in.count;
    MPI_Count elements = -1;
    CHECK_STATUS(status, j->from, TAG, j->bytes);
    CHECK_OK(MPI_Get_count(status, j->in.map.type, &count));
    CHECK_INT(count, want);
    for (size_t i = 0; i < j->in.bytes; i++)
        if (j->in.memory[i] != j->expected[i])
            check_fail(__FILE__, __LINE__, "byte %ld behind the first element is %d, should be %d",
                       (long)(j->in.memory + i - j->in.buf), j->in.memory[i], j->expected[i]);
    if (!STRICT)
        return; // MPICH ends the program for some combiners
    CHECK_OK(MPI_Get_elements_c(status, j->in.map.type, &elements));
    CHECK_INT(elements, j->elements);
}

static void start_send(struct job *j, MPI_Request *r)
{
    const struct side *s = &j->out;
    int size = 0, dest = j->to;
    MPI_Datatype type = s->map.type;
    *r = MPI_REQUEST_NULL;
    switch (j->way) {
    case SSEND:
        CHECK_OK(MPI_Issend(s->buf, s->count, type, dest, TAG, MPI_COMM_WORLD, r));
        if (j->from != j->to)
            CHECK_OK(MPI_Wait(r, MPI_STATUS_IGNORE));
        break;
    case BSEND:
        CHECK_OK(MPI_Bsend(s->buf, s->count, type, dest, TAG, MPI_COMM_WORLD));
        break;
    case RSEND: // the receive is there
        if (j->from != j->to)
            CHECK_OK(MPI_Recv(&size, 1, MPI_INT, dest, TAG + 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        CHECK_OK(MPI_Irsend(s->buf, s->count, type, dest, TAG, MPI_COMM_WORLD, r));
        break;
    case ISSEND:
        CHECK_OK(MPI_Issend(s->buf, s->count, type, dest, TAG, MPI_COMM_WORLD, r));
        break;
    case PERSISTENT:
        CHECK_OK(MPI_Send_init(s->buf, s->count, type, dest, TAG, MPI_COMM_WORLD, r));
        CHECK_OK(MPI_Start(r));
        break;
    case LARGE_COUNT:
        CHECK_OK(MPI_Isend_c(s->buf, s->count, type, dest, TAG, MPI_COMM_WORLD, r));
        break;
    case PACKED_OUT:
        CHECK_OK(MPI_Isend(j->packed, (int)j->bytes, MPI_PACKED, dest, TAG, MPI_COMM_WORLD, r));
        break;
    case SEND:
        if (j->from != j->to) {
            CHECK_OK(MPI_Send(s->buf, s->count, type, dest, TAG, MPI_COMM_WORLD));
            break;
        }
        // fall through
    default:
        CHECK_OK(MPI_Isend(s->buf, s->count, type, dest, TAG, MPI_COMM_WORLD, r));
    }
}

static void end_send(struct job *j, MPI_Request *r)
{
    CHECK_OK(MPI_Wait(r, MPI_STATUS_IGNORE));
    if (j->way == PERSISTENT)
        CHECK_OK(MPI_Request_free(r));
}

// Receives as bytes and unpacks, in two steps.
static void receive_packed(struct job *j, MPI_Status *status)
{
    int at = 0, first = j->in.count / 2, got = -1;
    char *from = must_alloc((size_t)j->bytes);
    long extent = map_extent(&j->in.map);
    CHECK_OK(MPI_Recv(from, (int)j->bytes, MPI_PACKED, j->from, TAG, MPI_COMM_WORLD, status));
    CHECK_OK(MPI_Get_count(status, MPI_PACKED, &got));
    CHECK_INT(got, j->bytes);
    CHECK_OK(MPI_Unpack(from, got, &at, j->in.buf, first, j->in.map.type, MPI_COMM_WORLD));
    CHECK_OK(MPI_Unpack(from, got, &at, j->in.buf + first * extent, j->in.count - first,
                        j->in.map.type, MPI_COMM_WORLD));
    CHECK_INT(at, j->bytes);
    free(from);
}

static void receive(struct job *j, MPI_Request *posted, MPI_Status *status)
{
    const struct side *s = &j->in;
    MPI_Message message;
    MPI_Request r;
    switch (j->way) {
    case RSEND:
    case ISEND:
        CHECK_OK(MPI_Wait(posted, status));
        break;
    case PERSISTENT:
        CHECK_OK(MPI_Recv_init(s->buf, s->room, s->map.type, j->from, TAG, MPI_COMM_WORLD, &r));
        CHECK_OK(MPI_Start(&r));
        CHECK_OK(MPI_Wait(&r, status));
        CHECK_OK(MPI_Request_free(&r));
        break;
    case MPROBE:
        CHECK_OK(MPI_Mprobe(j->from, TAG, MPI_COMM_WORLD, &message, status));
        CHECK_OK(MPI_Mrecv(s->buf, s->room, s->map.type, &message, status));
        break;
    case LARGE_COUNT:
        CHECK_OK(MPI_Recv_c(s->buf, s->room, s->map.type, j->from, TAG, MPI_COMM_WORLD, status));
        break;
    case PACKED_IN:
        receive_packed(j, status);
        break;
    default:
        CHECK_OK(MPI_Recv(s->buf, s->room, s->map.type, j->from, TAG, MPI_COMM_WORLD, status));
    }
}

// Both send to each other, or a rank to itself.
static void exchange(struct job *j)
{
    MPI_Status status;
    int peer = j->sends ? j->to : j->from;
    CHECK_OK(MPI_Sendrecv(j->out.buf, j->out.count, j->out.map.type, peer, TAG, j->in.buf,
                          j->in.room, j->in.map.type, peer, TAG, MPI_COMM_WORLD, &status));
    j->from = peer;
    check_received(j, &status);
}

// Only the first basic elements are sent, as bytes; MPI_Get_elements counts them.
static void receive_partly(struct job *j)
{
    MPI_Status status;
    MPI_Count elements = -1;
    int count = -1;
    struct draw d = {.random = j->seed + 5};
    long bytes = 0, n = below(&d, (int)j->elements + 1);
    const struct map *m = &j->in.map;
    for (long i = 0; i < n; i++)
        bytes += kind_of(m->entry[i % m->n].kind).size;
    bool cut = n < j->elements && kind_of(m->entry[n % m->n].kind).size > 1 && sometimes(&d, 3);
    bytes += cut;
    CHECK_OK(MPI_Sendrecv(j->packed, (int)bytes, MPI_PACKED, 0, TAG, j->in.buf, j->in.room, m->type,
                          0, TAG, MPI_COMM_SELF, &status));
    if (STRICT) {
        CHECK_OK(MPI_Get_elements_c(&status, m->type, &elements));
        CHECK_INT(elements, cut ? MPI_UNDEFINED : n);
    }
    CHECK_OK(MPI_Get_count(&status, m->type, &count));
    CHECK_INT(count, cut || n % m->n ? MPI_UNDEFINED : n / m->n);
    pattern_fill(j->expected, j->in.bytes, (unsigned)j->seed + 77);
    map_unpack(m, j->in.count, buf_in(j->expected, &j->in), j->packed, bytes);
    CHECK(memcmp(j->in.memory, j->expected, j->in.bytes) == 0);
}

static void run_job(struct job *j)
{
    MPI_Request sent = MPI_REQUEST_NULL, posted = MPI_REQUEST_NULL;
    MPI_Status status;
    check_packing(j);
    if (STRICT && is_exact(&j->in.map)) // MPICH's does not know all types
        check_external(j);
    if (j->way == SENDRECV) {
        exchange(j);
        return;
    }
    if (j->way == PARTLY) {
        receive_partly(j);
        return;
    }
    if (j->receives && (j->way == RSEND || j->way == ISEND))
        CHECK_OK(MPI_Irecv(j->in.buf, j->in.room, j->in.map.type, j->from, TAG, MPI_COMM_WORLD,
                           &posted));
    if (j->receives && j->way == RSEND && j->from != j->to)
        CHECK_OK(MPI_Send(&j->way, 1, MPI_INT, j->from, TAG + 1, MPI_COMM_WORLD));
    if (j->sends)
        start_send(j, &sent);
    if (j->receives) {
        receive(j, &posted, &status);
        check_received(j, &status);
    }
    if (j->sends)
        end_send(j, &sent);
}

int main(int argc, char **argv)
{
    uint64_t first = argc > 1 ? strtoull(argv[1], NULL, 10) : 0;
    uint64_t count = argc > 2 ? strtoull(argv[2], NULL, 10) : 100;
    char *buffer = must_alloc(BUFFERED);
    int size = 0;
    CHECK_OK(MPI_Init(&argc, &argv));
    CHECK(world_size() <= RANKS);
    CHECK_OK(MPI_Buffer_attach(buffer, BUFFERED));
    for (uint64_t seed = first; seed < first + count; seed++) {
        struct job j = {.seed = seed};
        current[world_rank()] = seed;
        prepare(&j);
        if (!j.sends && !j.receives)
            continue;
        run_job(&j);
        finish(&j);
    }
    CHECK_OK(MPI_Buffer_detach(&buffer, &size));
    free(buffer);
    CHECK_OK(MPI_Finalize());
    return 0;
}
