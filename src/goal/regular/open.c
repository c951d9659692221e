// SPDX-License-Identifier: BSD-3-Clause
// Reading: opening walks over all classes and sets once; a rank's actions come from its class.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/memory.h"
#include "goal/image/head.h"
#include "goal/regular/regular_int.h"

const char mlt_goal_regular_magic[8] = {'\x89', 'G', 'O', 'A', 'R', '\r', '\n', '\x1a'};

typedef struct open_class {
    size_t at; // in the file
    uint32_t buffers, actions;
    uint64_t deps;
} open_class;

struct mlt_goal_regular {
    const unsigned char *bytes;
    size_t size;
    const char *name;
    mlt_regular_forms forms;
    bool wildcards;
    open_class *class;
    mlt_regular_set *set;
    uint32_t classes, sets;
    uint32_t *class_of; // [ranks]; NULL: not indexed
};

// What is being read; a fault ends it, as if the file did.
typedef struct regular_reader {
    const unsigned char *at, *end;
    const char *fault;
} regular_reader;

static void fail(regular_reader *in, const char *fault)
{
    if (!in->fault)
        in->fault = fault;
    in->at = in->end;
}

static uint64_t get_number(regular_reader *in)
{
    uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
        if (in->at == in->end) {
            fail(in, "it is cut short");
            return 0;
        }
        unsigned char byte = *in->at++;
        value |= (uint64_t)(byte & 127) << shift;
        if (byte < 128)
            return value;
    }
    fail(in, "a number is too long");
    return 0;
}

static uint64_t get_signed(regular_reader *in)
{
    uint64_t value = get_number(in);
    return value >> 1 ^ (value & 1 ? UINT64_MAX : 0);
}

static uint32_t get_up_to(regular_reader *in, uint64_t most, const char *fault)
{
    uint64_t value = get_number(in);
    if (value > most) {
        fail(in, fault);
        return 0;
    }
    return (uint32_t)value;
}

static void get_fields(regular_reader *in, uint32_t mask, uint64_t *field)
{
    for (uint32_t f = 0; f < FIELDS; f++)
        field[f] = mask >> f & 1 ? get_signed(in) : 0;
}

// ---- a class: walked over when the file is opened

static void skip_buffers(regular_reader *in, open_class *class)
{
    class->buffers = get_up_to(in, UINT32_MAX - 2, "a class has too many buffers");
    for (uint32_t b = 0; b < class->buffers && !in->fault; b++) {
        char name[256];
        uint32_t length =
            get_up_to(in, sizeof name - 1, "a buffer has a name of more than 255 bytes");
        if (length > in->end - in->at) {
            fail(in, "it is cut short");
            return;
        }
        memcpy(name, in->at, length);
        name[length] = 0;
        in->at += length;
        if (strlen(name) != length || mlt_goal_image_name_fault(name))
            fail(in, "a buffer has no name, or one with blanks or unprintable bytes");
        (void)get_number(in);
    }
}

// recent: how many dependencies the last actions have, by their numbers.
static void skip_again(regular_reader *in, open_class *class, uint32_t recent[REGULAR_LONGEST])
{
    uint64_t field[FIELDS], deps = 0;
    uint32_t length = get_up_to(in, REGULAR_LONGEST, "a group that comes again is too long");
    uint32_t times = get_up_to(in, REGULAR_MOST_ACTIONS, "a group comes again too often");
    uint32_t group[REGULAR_LONGEST], from = class->actions;
    if (!length || length > from || !times)
        fail(in, "a group that comes again is empty or not there");
    for (uint32_t t = 0; t < length && !in->fault; t++) {
        uint32_t mask = get_up_to(in, REGULAR_GROWS, "a group grows in what cannot grow");
        if (mask & ~REGULAR_GROWS)
            fail(in, "a group grows in what cannot grow");
        get_fields(in, mask, field);
        group[t] = recent[(from - length + t) % REGULAR_LONGEST];
        deps += group[t];
    }
    uint64_t actions = (uint64_t)length * times;
    if (from + actions > REGULAR_MOST_ACTIONS || class->deps + deps * times >= MLT_GOAL_STARTED)
        fail(in, "a class has too many actions");
    if (in->fault)
        return;
    for (uint64_t k = actions > REGULAR_LONGEST ? actions - REGULAR_LONGEST : 0; k < actions; k++)
        recent[(from + k) % REGULAR_LONGEST] = group[k % length];
    class->actions += (uint32_t)actions;
    class->deps += deps * times;
}

static void skip_record(regular_reader *in, uint32_t mask, open_class *class,
                        uint32_t recent[REGULAR_LONGEST])
{
    uint64_t field[FIELDS];
    get_fields(in, mask, field);
    uint32_t deps = get_up_to(in, MLT_GOAL_STARTED - 1, "an action has too many dependencies");
    for (uint32_t d = 0; d < deps && !in->fault; d++)
        (void)get_signed(in);
    if (class->actions == REGULAR_MOST_ACTIONS || class->deps + deps >= MLT_GOAL_STARTED)
        fail(in, "a class has too many actions");
    recent[class->actions++ % REGULAR_LONGEST] = deps;
    class->deps += deps;
}

static open_class skip_class(regular_reader *in, const mlt_goal_regular *regular)
{
    open_class class = {.at = (size_t)(in->at - regular->bytes)};
    uint32_t recent[REGULAR_LONGEST] = {0};
    skip_buffers(in, &class);
    while (!in->fault) {
        uint32_t mask = get_up_to(in, REGULAR_AGAIN, "a record has fields that do not exist");
        if (mask == REGULAR_END)
            break;
        if (mask == REGULAR_AGAIN)
            skip_again(in, &class, recent);
        else
            skip_record(in, mask, &class, recent);
    }
    return class;
}

// ---- sets

static uint64_t set_last(const mlt_regular_set *set)
{
    return set->first + (uint64_t)set->step * (set->count - 1) +
           (uint64_t)set->stride * (set->times - 1);
}

static mlt_regular_set get_set(regular_reader *in, const mlt_goal_regular *regular,
                               uint64_t *members)
{
    static const char *const beyond = "a set has ranks that the program has not";
    uint32_t ranks = regular->forms.ranks;
    mlt_regular_set set;
    set.first = get_up_to(in, ranks - 1, beyond);
    set.step = get_up_to(in, ranks, beyond);
    set.count = get_up_to(in, ranks, beyond);
    set.stride = get_up_to(in, ranks, beyond);
    set.times = get_up_to(in, ranks, beyond);
    set.class = get_up_to(in, UINT32_MAX, "a set has no class");
    if (in->fault)
        return set;
    if (!set.step || !set.count || !set.stride || !set.times || set_last(&set) >= ranks)
        fail(in, beyond);
    else if (set.class >= regular->classes)
        fail(in, "a set has no class");
    else if (set.times > 1 && set.step * (uint64_t)(set.count - 1) >= set.stride)
        fail(in, "a set runs into itself");
    *members += (uint64_t)set.count * set.times;
    if (*members > 2 * (uint64_t)ranks)
        fail(in, "its sets have more ranks than there are");
    return set;
}

static bool set_has(const mlt_regular_set *set, uint32_t rank)
{
    if (rank < set->first)
        return false;
    uint32_t from = rank - set->first;
    if (set->times > 1) {
        if (from / set->stride >= set->times)
            return false;
        from %= set->stride;
    }
    return from % set->step == 0 && from / set->step < set->count;
}

// ---- opening

static mlt_status regular_refuse(const char *name, const char *fault, char *why, size_t why_size)
{
    return mlt_fail(MLT_ERR_INVALID, why, why_size, "%s is corrupt: %s", name, fault);
}

bool mlt_is_regular(const void *bytes, size_t size)
{
    return size >= sizeof mlt_goal_regular_magic &&
           memcmp(bytes, mlt_goal_regular_magic, sizeof mlt_goal_regular_magic) == 0;
}

static mlt_status regular_header(const char *name, const void *bytes, size_t size,
                                 mlt_goal_image_header *h, char *why, size_t why_size)
{
    if (!mlt_is_regular(bytes, size))
        return mlt_fail(MLT_ERR_INVALID, why, why_size,
                        "%s is no compressed GOAL program: it begins with other bytes", name);
    if (size >= sizeof *h)
        memcpy(h, bytes, sizeof *h);
    if (size < sizeof *h || size < h->size)
        return mlt_fail(MLT_ERR_INVALID, why, why_size, "%s is cut short: it has %zu bytes", name,
                        size);
    if (h->order != MLT_GOAL_IMAGE_ORDER)
        return mlt_fail(MLT_ERR_INVALID, why, why_size,
                        "%s was written on a machine of the other byte order: write it here again",
                        name);
    if (h->version != REGULAR_VERSION)
        return mlt_fail(MLT_ERR_INVALID, why, why_size,
                        "%s has version %u of the format, and this Millet reads version %d: write "
                        "it again",
                        name, h->version, REGULAR_VERSION);
    if (size > h->size || size % 8 || mlt_goal_image_checksum(bytes, size) != h->checksum)
        return regular_refuse(name, "its size or its checksum is wrong", why, why_size);
    if (!h->ranks || h->ranks > MLT_GOAL_MAX_RANKS || h->names)
        return regular_refuse(name, "its number of ranks is wrong", why, why_size);
    return MLT_OK;
}

// Counts are only believed as far as what follows bears them out: each takes some bytes.
static void get_all(mlt_goal_regular *regular, const mlt_goal_image_header *h, regular_reader *in)
{
    uint32_t room = 0;
    uint64_t members = 0;
    uint32_t flags =
        get_up_to(in, REGULAR_WILDCARDS | REGULAR_TURNS, "it has flags that do not exist");
    regular->wildcards = flags & REGULAR_WILDCARDS;
    regular->forms = (mlt_regular_forms){.ranks = h->ranks, .turns = flags & REGULAR_TURNS};
    static const char *const mode = "it sees peers or blocks in a way that does not exist";
    regular->forms.peers = (mlt_regular_mode)get_up_to(in, MLT_REGULAR_MODES - 1, mode);
    regular->forms.blocks = (mlt_regular_mode)get_up_to(in, MLT_REGULAR_MODES - 1, mode);
    regular->forms.unit = get_number(in);
    regular->forms.mask = get_up_to(in, UINT32_MAX, mode);
    for (uint32_t c = 0; c < h->held && !in->fault; c++)
        *MLT_ARRAY_ADD(regular->class, regular->classes, room) = skip_class(in, regular);
    room = 0;
    for (uint32_t s = 0; s < h->buffers && !in->fault; s++)
        *MLT_ARRAY_ADD(regular->set, regular->sets, room) = get_set(in, regular, &members);
    if (!in->fault && in->end - in->at >= 8)
        fail(in, "something stands after its end");
    while (!in->fault && in->at < in->end)
        if (*in->at++)
            fail(in, "something stands after its end");
}

mlt_status mlt_goal_regular_open(const char *name, const void *bytes, size_t size,
                                 mlt_goal_regular **out, char *why, size_t why_size)
{
    mlt_goal_image_header h = {.version = 0};
    *out = NULL;
    mlt_status status = regular_header(name, bytes, size, &h, why, why_size);
    if (status != MLT_OK)
        return status;
    mlt_goal_regular *regular = mlt_xcalloc(1, sizeof *regular);
    regular->bytes = bytes;
    regular->size = size;
    regular->name = name;
    regular_reader in = {regular->bytes + sizeof h, regular->bytes + size, NULL};
    get_all(regular, &h, &in);
    if (in.fault) {
        mlt_goal_regular_free(regular);
        return regular_refuse(name, in.fault, why, why_size);
    }
    *out = regular;
    return MLT_OK;
}

void mlt_goal_regular_free(mlt_goal_regular *regular)
{
    if (!regular)
        return;
    free(regular->class);
    free(regular->set);
    free(regular->class_of);
    free(regular);
}

uint32_t mlt_goal_regular_ranks(const mlt_goal_regular *regular)
{
    return regular->forms.ranks;
}

bool mlt_goal_regular_has_wildcards(const mlt_goal_regular *regular)
{
    return regular->wildcards;
}

void mlt_goal_regular_index(mlt_goal_regular *regular)
{
    uint32_t ranks = regular->forms.ranks;
    if (regular->class_of)
        return;
    regular->class_of = mlt_xcalloc(ranks, sizeof *regular->class_of);
    memset(regular->class_of, 0xff, ranks * sizeof *regular->class_of);
    for (uint32_t s = regular->sets; s-- > 0;) { // the first that has a rank is written last
        const mlt_regular_set *set = &regular->set[s];
        for (uint32_t t = 0; t < set->times; t++)
            for (uint32_t i = 0; i < set->count; i++)
                regular->class_of[set->first + t * set->stride + i * set->step] = set->class;
    }
}

// NULL: the rank does nothing.
static const open_class *regular_class_of(const mlt_goal_regular *regular, uint32_t rank)
{
    if (regular->class_of)
        return regular->class_of[rank] == UINT32_MAX ? NULL
                                                     : &regular->class[regular->class_of[rank]];
    for (uint32_t s = 0; s < regular->sets; s++)
        if (set_has(&regular->set[s], rank))
            return &regular->class[regular->set[s].class];
    return NULL;
}

mlt_goal_regular_counts mlt_goal_regular_count(const mlt_goal_regular *regular)
{
    mlt_goal_regular_counts counts = {regular->classes, regular->sets, 0};
    for (uint32_t r = 0; r < regular->forms.ranks; r++) {
        const open_class *class = regular_class_of(regular, r);
        counts.actions += class ? class->actions : 0;
    }
    return counts;
}

// ---- a rank

typedef struct expansion {
    const mlt_regular_forms *forms;
    uint32_t rank;
    mlt_goal_program *program;
    mlt_goal_rank *to;
    mlt_regular_record recent[REGULAR_LONGEST]; // by action
    uint32_t dep[REGULAR_LONGEST];              // where its dependencies begin
    int32_t last;                               // mlt_regular_turns
    const char *fault;
} expansion;

static uint64_t below(expansion *e, uint64_t value, uint64_t most)
{
    if (value > most)
        e->fault = "a field is too large";
    return value;
}

static void place_span(expansion *e, const uint64_t *field, mlt_goal_action *out, int which)
{
    uint64_t at = field[F_AT - F_BUF], size = field[F_SIZE - F_BUF], form = field[F_FORM - F_BUF];
    out->buf[which] = (uint32_t)below(e, field[0], UINT32_MAX) - 1;
    if (form) {
        uint64_t place = mlt_regular_place(e->forms->blocks, e->forms->ranks,
                                           mlt_regular_origin(e->forms, e->rank, size), form - 1),
                 from;
        if (__builtin_mul_overflow(size, place, &from) || __builtin_add_overflow(from, at, &at))
            e->fault = "an offset is too large";
    }
    out->at[which] = at;
    out->size[which] = size;
}

static void place_action(expansion *e, const uint64_t *field, mlt_goal_action *out)
{
    *out = (mlt_goal_action){.kind = (uint8_t)below(e, field[F_KIND], UINT8_MAX),
                             .op = (uint8_t)below(e, field[F_OP], UINT8_MAX),
                             .type = (uint8_t)below(e, field[F_TYPE], UINT8_MAX),
                             .flags = (uint8_t)below(e, field[F_FLAGS], UINT8_MAX),
                             .cpu = (uint8_t)below(e, field[F_CPU], UINT8_MAX),
                             .nic = (uint8_t)below(e, field[F_NIC], UINT8_MAX),
                             .user = (uint16_t)below(e, field[F_USER], UINT16_MAX)};
    int64_t tag = (int64_t)field[F_TAG], peer = (int64_t)field[F_PEER];
    if (mlt_goal_is_message(out) && field[F_ANY])
        peer = MLT_GOAL_ANY;
    else if (mlt_goal_is_message(out))
        peer =
            (int64_t)mlt_regular_place(e->forms->peers, e->forms->ranks, e->rank, (uint64_t)peer);
    if (tag < INT32_MIN || tag > INT32_MAX || peer < INT32_MIN || peer > INT32_MAX)
        e->fault = "a tag or a peer is too large";
    out->tag = (int32_t)tag;
    out->peer = (int32_t)peer;
    out->flags ^= mlt_regular_turns(e->forms, e->rank, out, &e->last);
    place_span(e, field + F_BUF, out, 0);
    place_span(e, field + F_SECOND, out, 1);
    if (out->buf[0] == MLT_GOAL_ADDRESS || out->buf[1] == MLT_GOAL_ADDRESS)
        e->fault = "it has an address of a process";
}

// The next action, whose record is there.
static void expand_add(expansion *e)
{
    uint32_t n = e->to->count++;
    place_action(e, e->recent[n % REGULAR_LONGEST].field, &e->to->actions[n]);
}

static void depend(expansion *e, uint32_t action, int64_t distance, bool started)
{
    int64_t on = (int64_t)action - distance;
    if (on < 0 || on >= MLT_GOAL_STARTED)
        e->fault = "a dependency names an action that is not there";
    e->to->deps[e->to->deps_count++] =
        (mlt_goal_dep){action, (uint32_t)on | (started ? MLT_GOAL_STARTED : 0)};
}

static void expand_again(expansion *e, regular_reader *in)
{
    uint64_t step[REGULAR_LONGEST][FIELDS];
    uint32_t length = (uint32_t)get_number(in), times = (uint32_t)get_number(in);
    for (uint32_t t = 0; t < length; t++)
        get_fields(in, (uint32_t)get_number(in), step[t]);
    for (uint32_t n = 0; n < length * times && !e->fault; n++) {
        uint32_t action = e->to->count, before = action - length, own = e->to->deps_count;
        uint32_t from = e->dep[before % REGULAR_LONGEST];
        mlt_regular_record *next = &e->recent[action % REGULAR_LONGEST];
        *next = e->recent[before % REGULAR_LONGEST];
        for (uint32_t f = 0; f < FIELDS; f++)
            next->field[f] += step[n % length][f];
        e->dep[action % REGULAR_LONGEST] = own;
        expand_add(e);
        for (; from < own && e->to->deps[from].action == before; from++) {
            uint32_t on = mlt_goal_plain(e->to->deps[from].on);
            depend(e, action, (int64_t)before - (int64_t)on, on != e->to->deps[from].on);
        }
    }
}

static void expand_record(expansion *e, uint32_t mask, regular_reader *in)
{
    uint32_t action = e->to->count;
    get_fields(in, mask, e->recent[action % REGULAR_LONGEST].field);
    e->dep[action % REGULAR_LONGEST] = e->to->deps_count;
    expand_add(e);
    uint64_t deps = get_number(in);
    for (uint64_t d = 0; d < deps && !e->fault; d++) {
        uint64_t value = get_signed(in); // doubled, so its sign is that of the distance
        depend(e, action, (int64_t)value >> 1, value & 1);
    }
}

static void expand_buffers(expansion *e, const open_class *class, regular_reader *in)
{
    (void)get_number(in);
    for (uint32_t b = 0; b < class->buffers; b++) {
        uint32_t length = (uint32_t)get_number(in);
        uint32_t name = mlt_goal_name(e->program, (const char *)in->at, length);
        in->at += length;
        uint64_t size = get_number(in);
        MLT_ARRAY_WANT(e->to->buffers, b + 1, e->to->buffers_room);
        e->to->buffers[e->to->buffers_count++] = (mlt_goal_buffer){.name = name, .size = size};
    }
}

// What mlt_goal_program_valid asks, of one rank.
static const char *rank_fault(const expansion *e)
{
    mlt_goal_program view = *e->program;
    view.ranks = e->forms->ranks;
    for (uint32_t a = 0; a < e->to->count; a++) {
        const char *fault = mlt_goal_action_fault(&view, e->to, &e->to->actions[a]);
        if (fault)
            return fault;
    }
    for (uint32_t d = 0; d < e->to->deps_count; d++)
        if (mlt_goal_plain(e->to->deps[d].on) >= e->to->count)
            return "a dependency names an action that is not there";
    return NULL;
}

static const char *expand(const mlt_goal_regular *regular, uint32_t rank, mlt_goal_program *program,
                          mlt_goal_rank *to)
{
    const open_class *class = regular_class_of(regular, rank);
    to->count = to->deps_count = to->buffers_count = 0;
    if (!class)
        return NULL;
    expansion e = {
        .forms = &regular->forms, .rank = rank, .program = program, .to = to, .last = MLT_GOAL_ANY};
    regular_reader in = {regular->bytes + class->at, regular->bytes + regular->size, NULL};
    mlt_goal_room(to, class->actions, class->deps);
    expand_buffers(&e, class, &in);
    while (!e.fault) {
        uint32_t mask = (uint32_t)get_number(&in);
        if (mask == REGULAR_END)
            break;
        if (mask == REGULAR_AGAIN)
            expand_again(&e, &in);
        else
            expand_record(&e, mask, &in);
    }
    return e.fault ? e.fault : rank_fault(&e);
}

static mlt_status expand_to(const mlt_goal_regular *regular, uint32_t rank,
                            mlt_goal_program *program, mlt_goal_rank *to, char *why,
                            size_t why_size)
{
    const char *fault = expand(regular, rank, program, to);
    if (!fault)
        return MLT_OK;
    to->count = to->deps_count = 0;
    return mlt_fail(MLT_ERR_INVALID, why, why_size, "%s is corrupt: of rank %" PRIu32 ", %s",
                    regular->name, rank, fault);
}

mlt_status mlt_goal_regular_rank(const mlt_goal_regular *regular, uint32_t rank,
                                 mlt_goal_program *into, char *why, size_t why_size)
{
    return expand_to(regular, rank, into, &into->rank[0], why, why_size);
}

mlt_status mlt_goal_regular_program(const mlt_goal_regular *regular, mlt_goal_program **out,
                                    char *why, size_t why_size)
{
    mlt_goal_program *program = mlt_goal_program_new(regular->forms.ranks);
    mlt_status status = MLT_OK;
    for (uint32_t r = 0; r < program->ranks && status == MLT_OK; r++)
        status = expand_to(regular, r, program, &program->rank[r], why, why_size);
    if (status != MLT_OK) {
        mlt_goal_program_free(program);
        program = NULL;
    }
    *out = program;
    return status;
}
