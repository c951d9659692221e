// SPDX-License-Identifier: BSD-3-Clause
//
// Random partitioned messages: `part_random FIRST COUNT [THREADS [CHILDREN]]`. CHILDREN: the ranks
// spawn so many others, and the channels are between ranks of both jobs.
//
// All ranks draw the same channels from a seed: from one rank to another, perhaps the same, with a
// number of partitions of its own on either side, a datatype of its own on either side, and a tag.
// Channels run several rounds. In each, the sender fills a partition just before it says that it is
// ready, in a random order, by MPI_Pready, MPI_Pready_range and MPI_Pready_list; the receiver asks
// for partitions in a random order, and looks at one as soon as MPI_Parrived says that it is there.
// With THREADS (MPI_THREAD_MULTIPLE), so many threads of each rank share the partitions.
//
// A failure prints its seed.

#include <stdint.h>
#include <stdio.h>

#define CHECK_NOTE(rank) note(rank)
static void note(int rank);

#include "family.h"
#include "threads.h"

enum {
    RANKS = 64,    // most
    CHANNELS = 12, // of a seed, most
    PARTS = 40,    // of a side, most
    UNITS = 240,   // elements of a message, if it is a small one
    TAGS = 3,
};

// What each rank is at, for a failed check; ranks may share memory, so each has its place.
static uint64_t current[RANKS];

static void note(int rank)
{
    if (rank >= 0 && rank < RANKS)
        fprintf(stderr, "seed %llu: repeat it with the arguments %llu 1\n",
                (unsigned long long)current[rank], (unsigned long long)current[rank]);
}

enum shape { PLAIN, PAIR, GAPS, SHAPES };

static int shape_units(enum shape s)
{
    return s == PLAIN ? 1 : 2;
}

static int shape_extent(enum shape s) // in elements
{
    return s == PLAIN ? 1 : s == PAIR ? 2 : 3;
}

// PAIR is two elements, GAPS two with an empty one between them.
static MPI_Datatype shape_type(enum shape s)
{
    MPI_Datatype type;
    if (s == PLAIN)
        CHECK_OK(MPI_Type_dup(MPI_INT32_T, &type));
    else if (s == PAIR)
        CHECK_OK(MPI_Type_contiguous(2, MPI_INT32_T, &type));
    else
        CHECK_OK(MPI_Type_vector(2, 1, 2, MPI_INT32_T, &type));
    CHECK_OK(MPI_Type_commit(&type));
    return type;
}

// One side of a channel.
typedef struct side {
    int parts, items; // items of the datatype in a partition
    enum shape shape;
    int32_t *data;
    MPI_Datatype type;
    MPI_Request request;
    int order[PARTS];
} side;

typedef struct channel {
    int from, to, tag, units, number; // units: elements in all
    side send, recv;
} channel;

typedef struct scene {
    channel of[CHANNELS];
    int count, rounds, round, rank, size, threads;
    uint64_t seed;
    MPI_Comm all;
} scene;

static int32_t value_of(const scene *s, const channel *c, int unit)
{
    uint64_t state = s->seed * 1000003 + (uint64_t)(c->number * 64 + s->round);
    return (int32_t)(random_next(&state) + (uint64_t)unit * 7);
}

// Partitions and items such that their product with the shape's units is the message.
static void draw_side(uint64_t *state, side *s, int units)
{
    do
        s->shape = (enum shape)random_below(state, SHAPES);
    while (units % shape_units(s->shape) != 0);
    int items = units / shape_units(s->shape);
    do
        s->parts = 1 + random_below(state, PARTS);
    while (items % s->parts != 0);
    s->items = items / s->parts;
}

static void draw_scene(scene *s, uint64_t seed, int size)
{
    static const int units[] = {1, 2, 6, 12, 60, 120, UNITS, 36, 64, 30, 5040, 50400};
    uint64_t state = seed * 31 + 17;
    s->seed = seed;
    s->count = 1 + random_below(&state, CHANNELS);
    s->rounds = 1 + random_below(&state, 4);
    for (int i = 0; i < s->count; i++) {
        channel *c = &s->of[i];
        *c = (channel){.number = i};
        c->from = random_below(&state, size);
        c->to = random_below(&state, size);
        c->tag = random_below(&state, TAGS);
        c->units = units[random_below(&state, COUNT_OF(units) - (random_below(&state, 4) ? 2 : 0))];
        draw_side(&state, &c->send, c->units);
        draw_side(&state, &c->recv, c->units);
    }
}

static size_t side_elements(const side *s)
{
    return (size_t)(s->parts * s->items * shape_extent(s->shape));
}

static void side_open(side *s)
{
    s->type = shape_type(s->shape);
    s->data = must_alloc(side_elements(s) * sizeof *s->data);
}

static void side_close(side *s)
{
    CHECK_OK(MPI_Request_free(&s->request));
    CHECK(s->request == MPI_REQUEST_NULL);
    CHECK_OK(MPI_Type_free(&s->type));
    free(s->data);
}

// Where element `unit` of a message is.
static int32_t *unit_at(const side *s, int unit)
{
    int units = shape_units(s->shape), item = unit / units, k = unit % units;
    return s->data + item * shape_extent(s->shape) + (s->shape == GAPS ? 2 * k : k);
}

static int units_of_part(const side *s)
{
    return s->items * shape_units(s->shape);
}

static void shuffle(uint64_t *state, int *order, int count)
{
    for (int i = 0; i < count; i++)
        order[i] = i;
    for (int i = count - 1; i > 0; i--) {
        int k = random_below(state, i + 1), swap = order[i];
        order[i] = order[k];
        order[k] = swap;
    }
}

// ---- what a thread does: its part of each channel's partitions

static void fill(const scene *s, const channel *c, int part)
{
    int n = units_of_part(&c->send);
    for (int unit = part * n; unit < (part + 1) * n; unit++)
        *unit_at(&c->send, unit) = value_of(s, c, unit);
}

// Partitions first to last - 1 of the order, one by one or as a list.
static void ready_some(const scene *s, channel *c, int first, int last, uint64_t *state)
{
    int list[PARTS], count = 0;
    for (int i = first; i < last; i++) {
        int part = c->send.order[i];
        fill(s, c, part);
        if (random_below(state, 2)) {
            CHECK_OK(MPI_Pready(part, c->send.request));
            continue;
        }
        list[count++] = part;
        if (random_below(state, 3) == 0) {
            CHECK_OK(MPI_Pready_list(count, list, c->send.request));
            count = 0;
        }
    }
    CHECK_OK(MPI_Pready_list(count, list, c->send.request));
}

// A range, in the order of memory.
static void ready_range(const scene *s, channel *c, int first, int last)
{
    for (int part = first; part < last; part++)
        fill(s, c, part);
    if (first < last)
        CHECK_OK(MPI_Pready_range(first, last - 1, c->send.request));
}

static void send_part(const scene *s, channel *c, int thread, uint64_t *state, int ranges)
{
    int first = c->send.parts * thread / s->threads,
        last = c->send.parts * (thread + 1) / s->threads;
    if (ranges) // all threads of a round do, so that none says a partition twice
        ready_range(s, c, first, last);
    else
        ready_some(s, c, first, last, state);
}

static void look(const scene *s, const channel *c, int part)
{
    int n = units_of_part(&c->recv);
    for (int unit = part * n; unit < (part + 1) * n; unit++)
        if (*unit_at(&c->recv, unit) != value_of(s, c, unit))
            check_fail(__FILE__, __LINE__,
                       "channel %d, round %d: element %d of partition %d of %d is wrong", c->number,
                       s->round, unit - part * n, part, c->recv.parts);
}

// Some are asked for, once or until they are there; whoever sends must not depend on this rank then.
static void ask(const scene *s, const channel *c, int thread, uint64_t *state, int patient)
{
    int first = c->recv.parts * thread / s->threads,
        last = c->recv.parts * (thread + 1) / s->threads;
    for (int i = first; i < last; i++) {
        int part = c->recv.order[i], here = 0;
        if (random_below(state, 3) == 0)
            continue;
        do
            CHECK_OK(MPI_Parrived(c->recv.request, part, &here));
        while (patient && !here);
        if (here)
            look(s, c, part);
    }
}

static void work(team *t, int thread)
{
    scene *s = t->data;
    uint64_t state = s->seed + (uint64_t)(s->round * 1000 + s->rank * 20 + thread);
    for (int i = 0; i < s->count; i++) {
        channel *c = &s->of[i];
        uint64_t same = s->seed + (uint64_t)(s->round * 100 + i);
        if (c->from == s->rank)
            send_part(s, c, thread, &state, random_below(&same, 3) == 0);
    }
    for (int i = 0; i < s->count; i++)
        if (s->of[i].to == s->rank)
            ask(s, &s->of[i], thread, &state, s->round % 2);
}

// ---- a rank

static void open_channels(scene *s)
{
    for (int i = 0; i < s->count; i++) { // channels of the same ranks and tag match in this order
        channel *c = &s->of[i];
        if (c->to == s->rank) {
            side_open(&c->recv);
            CHECK_OK(MPI_Precv_init(c->recv.data, c->recv.parts, c->recv.items, c->recv.type,
                                    c->from, c->tag, s->all, MPI_INFO_NULL, &c->recv.request));
        }
        if (c->from == s->rank) {
            side_open(&c->send);
            CHECK_OK(MPI_Psend_init(c->send.data, c->send.parts, c->send.items, c->send.type, c->to,
                                    c->tag, s->all, MPI_INFO_NULL, &c->send.request));
        }
    }
}

static void start_round(scene *s)
{
    uint64_t state = s->seed + (uint64_t)s->round;
    for (int i = 0; i < s->count; i++) {
        channel *c = &s->of[i];
        shuffle(&state, c->send.order, c->send.parts);
        shuffle(&state, c->recv.order, c->recv.parts);
        if (c->to == s->rank) {
            memset(c->recv.data, 0xee, side_elements(&c->recv) * sizeof(int32_t));
            CHECK_OK(MPI_Start(&c->recv.request));
        }
        if (c->from == s->rank) {
            memset(c->send.data, 0xdd, side_elements(&c->send) * sizeof(int32_t));
            CHECK_OK(MPI_Start(&c->send.request));
        }
    }
}

// Everything has come, and gaps are as they were.
static void check_message(const scene *s, const channel *c)
{
    for (int part = 0; part < c->recv.parts; part++)
        look(s, c, part);
    for (int i = 0; c->recv.shape == GAPS && i < c->recv.parts * c->recv.items; i++)
        CHECK_INT((uint32_t)c->recv.data[3 * i + 1], 0xeeeeeeeeu);
}

static void end_round(scene *s)
{
    MPI_Request all[2 * CHANNELS];
    MPI_Status statuses[2 * CHANNELS];
    int count = 0;
    for (int i = 0; i < s->count; i++) {
        if (s->of[i].to == s->rank)
            all[count++] = s->of[i].recv.request;
        if (s->of[i].from == s->rank)
            all[count++] = s->of[i].send.request;
    }
    CHECK_OK(MPI_Waitall(count, all, statuses));
    count = 0;
    for (int i = 0; i < s->count; i++) {
        const channel *c = &s->of[i];
        if (c->to == s->rank) {
            if (STRICT)
                CHECK_STATUS(&statuses[count], c->from, c->tag, 4 * (long long)c->units);
            count++;
            check_message(s, c);
        }
        count += c->from == s->rank;
    }
}

static void close_channels(scene *s)
{
    for (int i = 0; i < s->count; i++) {
        if (s->of[i].to == s->rank)
            side_close(&s->of[i].recv);
        if (s->of[i].from == s->rank)
            side_close(&s->of[i].send);
    }
}

static void run_seed(scene *s, uint64_t seed)
{
    draw_scene(s, seed, s->size);
    open_channels(s);
    for (s->round = 0; s->round < s->rounds; s->round++) {
        team t = {.work = work, .data = s};
        start_round(s);
        if (s->threads == 1) {
            work(&t, 0);
        } else {
            team_start(&t, s->threads);
            team_join(&t);
        }
        end_round(s);
    }
    close_channels(s);
}

int main(int argc, char **argv)
{
    uint64_t first = argc > 1 ? strtoull(argv[1], NULL, 10) : 0;
    uint64_t count = argc > 2 ? strtoull(argv[2], NULL, 10) : 20;
    scene *s = must_alloc(sizeof *s);
    s->threads = argc > 3 ? atoi(argv[3]) : 1;
    if (s->threads > 1)
        init_level(MPI_THREAD_MULTIPLE);
    else
        CHECK_OK(MPI_Init(&argc, &argv));
    char *seeds[] = {argc > 2 ? argv[1] : NULL, argc > 2 ? argv[2] : NULL,
                     argc > 3 ? argv[3] : NULL, NULL};
    s->all = family_new(argv[0], seeds, argc > 4 ? atoi(argv[4]) : 0, NULL, NULL);
    CHECK_OK(MPI_Comm_size(s->all, &s->size));
    CHECK_OK(MPI_Comm_rank(s->all, &s->rank));
    CHECK(s->size <= RANKS);
    for (uint64_t seed = first; seed < first + count; seed++) {
        current[world_rank()] = seed;
        run_seed(s, seed);
    }
    family_free(&s->all);
    free(s);
    CHECK_OK(MPI_Finalize());
    return 0;
}
