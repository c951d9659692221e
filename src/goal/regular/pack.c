// SPDX-License-Identifier: BSD-3-Clause
// Writing: each rank is put into bytes as seen from where it stands; ranks with equal bytes are a class.
// Which of the few ways to see peers and offsets makes the fewest classes is tried on some ranks.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/memory.h"
#include "base/table.h"
#include "goal/image/head.h"
#include "goal/regular/regular_int.h"

enum { // ranks at each end of the program on which forms are tried, and their actions
    PACK_SAMPLE_LEAST = 32,
    PACK_SAMPLE_MOST = 1024,
    PACK_SAMPLE_ACTIONS = 20000,
};

typedef struct pack_bytes {
    unsigned char *at;
    size_t size, room;
} pack_bytes;

// A rank's part of the program as records.
typedef struct pack_rank {
    mlt_regular_record *record;
    uint64_t *first, *dep; // dependencies of action a: dep[first[a]] to dep[first[a + 1] - 1]
    size_t room, first_room, dep_room;
} pack_rank;

typedef struct pack_class {
    size_t at, size;             // in the bytes of all
    uint32_t first, last, count; // ranks, linked by pack.next
} pack_class;

typedef struct pack {
    const mlt_goal_program *program;
    mlt_regular_forms forms;
    pack_rank scratch;
    pack_bytes bytes;
    pack_class *class;
    size_t classes, classes_room;
    uint32_t *next; // [ranks]
    uint32_t sample;
    mlt_table table;
    mlt_regular_set *set;
    size_t sets, sets_room;
} pack;

// ---- numbers

static void pack_number(pack_bytes *to, uint64_t value)
{
    do {
        unsigned char low = value & 127;
        value >>= 7;
        *MLT_ARRAY_ADD(to->at, to->size, to->room) = (unsigned char)(low | (value ? 128 : 0));
    } while (value);
}

static void pack_signed(pack_bytes *to, uint64_t value)
{
    pack_number(to, value << 1 ^ (value >> 63 ? UINT64_MAX : 0));
}

static void pack_fields(pack_bytes *to, const uint64_t *field, uint32_t mask)
{
    for (uint32_t f = 0; f < FIELDS; f++)
        if (mask >> f & 1)
            pack_signed(to, field[f]);
}

static uint32_t mask_of(const uint64_t *field)
{
    uint32_t mask = 0;
    for (uint32_t f = 0; f < FIELDS; f++)
        mask |= field[f] ? UINT32_C(1) << f : 0;
    return mask;
}

// ---- a rank as records

static void see_span(const mlt_regular_forms *forms, uint32_t rank, const mlt_goal_action *action,
                     int which, uint64_t *field)
{
    uint32_t buf = action->buf[which];
    uint64_t at = action->at[which], size = action->size[which];
    field[0] = (uint32_t)(buf + 1);
    field[2] = at;
    field[3] = size;
    if (forms->blocks == MLT_REGULAR_ABSOLUTE || buf >= REGULAR_BLOCK_BUFFERS ||
        !(forms->mask >> buf & 1) || !size || at / size >= forms->ranks)
        return;
    field[1] = 1 + mlt_regular_seen(forms->blocks, forms->ranks,
                                    mlt_regular_origin(forms, rank, size), at / size);
    field[2] = at % size;
}

static void see_action(const mlt_regular_forms *forms, uint32_t rank, const mlt_goal_action *action,
                       int32_t *last, uint64_t *field)
{
    memset(field, 0, FIELDS * sizeof *field);
    field[F_KIND] = action->kind;
    field[F_OP] = action->op;
    field[F_TYPE] = action->type;
    field[F_FLAGS] = action->flags ^ mlt_regular_turns(forms, rank, action, last);
    field[F_CPU] = action->cpu;
    field[F_NIC] = action->nic;
    field[F_USER] = action->user;
    field[F_TAG] = (uint64_t)(int64_t)action->tag;
    if (!mlt_goal_is_message(action))
        field[F_PEER] = (uint64_t)(int64_t)action->peer;
    else if (action->peer == MLT_GOAL_ANY)
        field[F_ANY] = 1;
    else
        field[F_PEER] =
            mlt_regular_seen(forms->peers, forms->ranks, rank, (uint64_t)(uint32_t)action->peer);
    see_span(forms, rank, action, 0, field + F_BUF);
    see_span(forms, rank, action, 1, field + F_SECOND);
}

static void see_rank(pack *p, uint32_t rank)
{
    const mlt_goal_rank *r = &p->program->rank[rank];
    pack_rank *to = &p->scratch;
    int32_t last = MLT_GOAL_ANY;
    MLT_ARRAY_WANT(to->record, r->count + (size_t)1, to->room);
    MLT_ARRAY_WANT(to->first, r->count + (size_t)2, to->first_room);
    MLT_ARRAY_WANT(to->dep, r->deps_count + (size_t)1, to->dep_room);
    for (uint32_t a = 0; a < r->count; a++)
        see_action(&p->forms, rank, &r->actions[a], &last, to->record[a].field);
    memset(to->first, 0, (r->count + (size_t)2) * sizeof *to->first);
    for (uint32_t d = 0; d < r->deps_count; d++)
        to->first[r->deps[d].action + 2]++;
    for (uint32_t a = 1; a <= r->count; a++)
        to->first[a + 1] += to->first[a];
    for (uint32_t d = 0; d < r->deps_count; d++) {
        uint32_t action = r->deps[d].action, on = r->deps[d].on;
        int64_t distance = (int64_t)action - (int64_t)mlt_goal_plain(on);
        to->dep[to->first[action + 1]++] = (uint64_t)distance * 2 + (mlt_goal_plain(on) != on);
    }
}

// ---- groups that come again

static bool same_deps(const pack_rank *r, uint32_t a, uint32_t b)
{
    uint64_t count = r->first[a + 1] - r->first[a];
    return count == r->first[b + 1] - r->first[b] &&
           memcmp(r->dep + r->first[a], r->dep + r->first[b], count * sizeof *r->dep) == 0;
}

// Action b follows a as a followed the one before: by the given steps; or any, which are noted.
static bool grows(const pack_rank *r, uint32_t a, uint32_t b, uint64_t *step, bool notes)
{
    if (!same_deps(r, a, b))
        return false;
    for (uint32_t f = 0; f < FIELDS; f++) {
        uint64_t grown = r->record[b].field[f] - r->record[a].field[f];
        if (notes ? grown && !(REGULAR_GROWS >> f & 1) : grown != step[f])
            return false;
        step[f] = grown;
    }
    return true;
}

// How often the `length` actions before `at` come again from there on; steps: [length][FIELDS].
static uint32_t times_again(const pack_rank *r, uint32_t count, uint32_t at, uint32_t length,
                            uint64_t *steps)
{
    uint32_t n = 0;
    while (n < count - at) {
        uint32_t t = n % length;
        if (!grows(r, at + n - length, at + n, steps + t * FIELDS, n < length))
            break;
        n++;
    }
    return n / length;
}

static uint32_t put_again(pack_bytes *to, const pack_rank *r, uint32_t count, uint32_t at)
{
    uint64_t steps[REGULAR_LONGEST * FIELDS];
    uint32_t best = 0, length = 0;
    for (uint32_t l = 1; l <= REGULAR_LONGEST && l <= at; l++) {
        uint32_t n = l * times_again(r, count, at, l, steps);
        if (n > best) {
            best = n;
            length = l;
        }
    }
    if (!best)
        return 0;
    uint32_t times = times_again(r, count, at, length, steps);
    pack_number(to, REGULAR_AGAIN);
    pack_number(to, length);
    pack_number(to, times);
    for (uint32_t t = 0; t < length; t++) {
        uint32_t mask = mask_of(steps + t * FIELDS);
        pack_number(to, mask);
        pack_fields(to, steps + t * FIELDS, mask);
    }
    return best;
}

static void put_record(pack_bytes *to, const pack_rank *r, uint32_t action)
{
    uint32_t mask = mask_of(r->record[action].field);
    pack_number(to, mask);
    pack_fields(to, r->record[action].field, mask);
    pack_number(to, r->first[action + 1] - r->first[action]);
    for (uint64_t d = r->first[action]; d < r->first[action + 1]; d++)
        pack_signed(to, r->dep[d]);
}

static void put_rank(pack *p, uint32_t rank)
{
    const mlt_goal_rank *r = &p->program->rank[rank];
    pack_bytes *to = &p->bytes;
    see_rank(p, rank);
    pack_number(to, r->buffers_count);
    for (uint32_t b = 0; b < r->buffers_count; b++) {
        const char *name = mlt_goal_name_text(p->program, r->buffers[b].name);
        pack_number(to, strlen(name));
        for (; *name; name++)
            *MLT_ARRAY_ADD(to->at, to->size, to->room) = (unsigned char)*name;
        pack_number(to, r->buffers[b].size);
    }
    for (uint32_t a = 0; a < r->count;) {
        uint32_t again = put_again(to, &p->scratch, r->count, a);
        if (!again)
            put_record(to, &p->scratch, a);
        a += again ? again : 1;
    }
    pack_number(to, REGULAR_END);
}

// ---- classes

static uint32_t pack_hash(const unsigned char *at, size_t size)
{
    uint64_t hash = 14695981039346656037u;
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ at[i]) * 1099511628211u;
    return (uint32_t)(hash ^ hash >> 32);
}

// The bytes of a rank stay if no other had the same.
static void add_rank(pack *p, uint32_t rank)
{
    size_t at = p->bytes.size;
    put_rank(p, rank);
    size_t size = p->bytes.size - at;
    uint32_t hash = pack_hash(p->bytes.at + at, size);
    for (mlt_table_look look = mlt_table_look_for(&p->table, hash); mlt_table_next(&look);) {
        pack_class *c = &p->class[look.word];
        if (c->size != size || memcmp(p->bytes.at + c->at, p->bytes.at + at, size) != 0)
            continue;
        p->bytes.size = at;
        p->next[c->last] = rank;
        c->last = rank;
        c->count++;
        return;
    }
    mlt_table_add(&p->table, hash, p->classes);
    *MLT_ARRAY_ADD(p->class, p->classes, p->classes_room) =
        (pack_class){.at = at, .size = size, .first = rank, .last = rank, .count = 1};
}

static void pack_reset(pack *p)
{
    mlt_table_free(&p->table);
    p->table = (mlt_table){0};
    p->classes = p->bytes.size = 0;
}

// ---- how ranks are seen

static size_t try_forms(pack *p, mlt_regular_forms forms)
{
    uint32_t ranks = p->program->ranks;
    pack_reset(p);
    p->forms = forms;
    for (uint32_t r = 0; r < ranks; r++) {
        if (r >= p->sample && r < ranks - p->sample)
            r = ranks - p->sample;
        add_rank(p, r);
    }
    return p->bytes.size;
}

// Takes `next` in place of *best if it makes less.
static void try_next(pack *p, mlt_regular_forms next, mlt_regular_forms *best, size_t *least)
{
    size_t size = try_forms(p, next);
    if (size >= *least)
        return;
    *least = size;
    *best = next;
}

// What the program says of its size: how many buffers a rank has, how large the smallest message is,
// how many ranks at each end are enough to tell which form is best.
static void look_at_program(pack *p, uint32_t *buffers, uint64_t *unit)
{
    const mlt_goal_program *program = p->program;
    uint64_t actions = 1;
    *buffers = 0;
    *unit = UINT64_MAX;
    for (uint32_t r = 0; r < program->ranks; r++) {
        const mlt_goal_rank *rank = &program->rank[r];
        actions += rank->count;
        *buffers = rank->buffers_count > *buffers ? rank->buffers_count : *buffers;
        for (uint32_t a = 0; a < rank->count; a++) {
            uint64_t size = mlt_goal_is_message(&rank->actions[a])
                                ? mlt_goal_message_bytes(&rank->actions[a])
                                : 0;
            *unit = size && size < *unit ? size : *unit;
        }
    }
    uint64_t sample = PACK_SAMPLE_ACTIONS / (actions / program->ranks + 1);
    p->sample = (uint32_t)(sample < PACK_SAMPLE_LEAST  ? PACK_SAMPLE_LEAST
                           : sample > PACK_SAMPLE_MOST ? PACK_SAMPLE_MOST
                                                       : sample);
    if (p->sample > program->ranks / 2)
        p->sample = program->ranks;
    *buffers = *buffers + 1 < REGULAR_BLOCK_BUFFERS ? *buffers + 1 : REGULAR_BLOCK_BUFFERS;
}

static MLT_COLD void choose_forms(pack *p)
{
    uint32_t buffers;
    uint64_t unit;
    mlt_regular_forms best = {.ranks = p->program->ranks};
    size_t least = SIZE_MAX;
    look_at_program(p, &buffers, &unit);
    for (int peers = 0; peers < MLT_REGULAR_MODES; peers++)
        for (int turns = 0; turns < 2; turns++) {
            mlt_regular_forms own = {
                best.ranks, (mlt_regular_mode)peers, MLT_REGULAR_ABSOLUTE, 0, 0, turns};
            size_t size = SIZE_MAX;
            try_next(p, own, &own, &size);
            for (int way = 0; way < 3; way++) {
                mlt_regular_forms with = own;
                size_t now = size;
                if (way == 2 && unit == UINT64_MAX)
                    continue;
                with.blocks = way ? MLT_REGULAR_XOR : MLT_REGULAR_SUM;
                with.unit = way == 2 ? unit : 0;
                with.mask = 0;
                for (uint32_t b = 0; b < buffers; b++) {
                    mlt_regular_forms next = with;
                    next.mask |= UINT32_C(1) << b;
                    try_next(p, next, &with, &now);
                }
                if (now < size) {
                    size = now;
                    own = with;
                }
            }
            if (size < least) {
                least = size;
                best = own;
            }
        }
    pack_reset(p);
    p->forms = best;
}

// ---- sets

static void set_add(pack *p, mlt_regular_set next, size_t from)
{
    mlt_regular_set *last = p->sets > from ? &p->set[p->sets - 1] : NULL;
    uint32_t stride = last ? next.first - last->first : 0;
    if (last && next.step == last->step && next.count == last->count &&
        (last->times == 1 || stride == last->stride * last->times)) {
        if (last->times == 1)
            last->stride = stride;
        last->times++;
        return;
    }
    *MLT_ARRAY_ADD(p->set, p->sets, p->sets_room) = next;
}

static void put_sets(pack *p, uint32_t class)
{
    size_t from = p->sets;
    uint32_t rank = p->class[class].first, left = p->class[class].count;
    while (left) {
        mlt_regular_set set = {
            .first = rank, .step = 1, .count = 1, .stride = 1, .times = 1, .class = class};
        for (uint32_t last = rank; --left; last = rank, set.count++) {
            rank = p->next[last];
            if (set.count == 1)
                set.step = rank - last;
            else if (rank - last != set.step)
                break;
        }
        set_add(p, set, from);
    }
}

// The largest class comes last, and has all that the others have not.
static void make_sets(pack *p)
{
    uint32_t ranks = p->program->ranks, largest = 0;
    for (uint32_t c = 1; c < p->classes; c++)
        if (p->class[c].count > p->class[largest].count)
            largest = c;
    for (uint32_t c = 0; c < p->classes; c++)
        if (c != largest)
            put_sets(p, c);
    *MLT_ARRAY_ADD(p->set, p->sets, p->sets_room) =
        (mlt_regular_set){.step = 1, .count = ranks, .stride = 1, .times = 1, .class = largest};
}

// ---- the file

static mlt_status can_pack(const mlt_goal_program *program, char *why, size_t why_size)
{
    for (uint32_t r = 0; r < program->ranks; r++) {
        const mlt_goal_rank *rank = &program->rank[r];
        if (rank->count > REGULAR_MOST_ACTIONS)
            return mlt_fail(MLT_ERR_INVALID, why, why_size,
                            "rank %u has %u actions; a compressed file has at most %d for a rank",
                            r, rank->count, REGULAR_MOST_ACTIONS);
        for (uint32_t b = 0; b < rank->buffers_count; b++) {
            const char *name = mlt_goal_name_text(program, rank->buffers[b].name);
            const char *fault = mlt_goal_image_name_fault(name);
            if (fault)
                return mlt_fail(MLT_ERR_INVALID, why, why_size, "buffer %u of rank %u %s", b + 1, r,
                                fault);
        }
        for (uint32_t a = 0; a < rank->count; a++)
            for (int i = 0; i < 2; i++)
                if (rank->actions[a].buf[i] == MLT_GOAL_ADDRESS)
                    return mlt_fail(MLT_ERR_INVALID, why, why_size,
                                    "action %u of rank %u has an address of a process, which means "
                                    "nothing in a file",
                                    a, r);
    }
    return mlt_goal_program_valid(program, why, why_size);
}

static void put_all(pack *p, pack_bytes *to)
{
    mlt_goal_image_header header = {.version = REGULAR_VERSION,
                                    .order = MLT_GOAL_IMAGE_ORDER,
                                    .ranks = p->program->ranks,
                                    .held = (uint32_t)p->classes,
                                    .buffers = (uint32_t)p->sets};
    memcpy(header.magic, mlt_goal_regular_magic, sizeof header.magic);
    MLT_ARRAY_WANT(to->at, sizeof header + p->bytes.size, to->room);
    to->size = sizeof header;
    pack_number(to, (mlt_goal_has_wildcards(p->program) ? REGULAR_WILDCARDS : 0) |
                        (p->forms.turns ? REGULAR_TURNS : 0));
    pack_number(to, p->forms.peers);
    pack_number(to, p->forms.blocks);
    pack_number(to, p->forms.unit);
    pack_number(to, p->forms.mask);
    for (size_t i = 0; i < p->bytes.size; i++)
        *MLT_ARRAY_ADD(to->at, to->size, to->room) = p->bytes.at[i];
    for (size_t s = 0; s < p->sets; s++) {
        const mlt_regular_set *set = &p->set[s];
        pack_number(to, set->first);
        pack_number(to, set->step);
        pack_number(to, set->count);
        pack_number(to, set->stride);
        pack_number(to, set->times);
        pack_number(to, set->class);
    }
    while (to->size % 8)
        *MLT_ARRAY_ADD(to->at, to->size, to->room) = 0;
    header.size = to->size;
    memcpy(to->at, &header, sizeof header);
    header.checksum = mlt_goal_image_checksum(to->at, to->size);
    memcpy(to->at, &header, sizeof header);
}

mlt_status mlt_goal_regular_write(const mlt_goal_program *program, unsigned char **bytes,
                                  size_t *size, mlt_goal_regular_counts *counts, char *why,
                                  size_t why_size)
{
    pack p = {.program = program};
    pack_bytes file = {NULL, 0, 0};
    *bytes = NULL;
    mlt_status status = can_pack(program, why, why_size);
    if (status != MLT_OK)
        return status;
    p.next = mlt_xcalloc(program->ranks, sizeof *p.next);
    choose_forms(&p);
    for (uint32_t r = 0; r < program->ranks; r++)
        add_rank(&p, r);
    make_sets(&p);
    put_all(&p, &file);
    if (counts) {
        *counts = (mlt_goal_regular_counts){(uint32_t)p.classes, (uint32_t)p.sets, 0};
        for (uint32_t r = 0; r < program->ranks; r++)
            counts->actions += program->rank[r].count;
    }
    free(p.scratch.record);
    free(p.scratch.first);
    free(p.scratch.dep);
    free(p.bytes.at);
    free(p.class);
    free(p.next);
    free(p.set);
    mlt_table_free(&p.table);
    *bytes = file.at;
    *size = file.size;
    return MLT_OK;
}
