// SPDX-License-Identifier: BSD-3-Clause
// The pattern of a program. Grids are tried, from simple ones to others, until the ranks of each
// kind can be read side by side: at each step, a loop or an action that all of them have there.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/memory.h"
#include "judge/grow/grow_int.h"

enum { LONGEST_BODY = 16, LEAST_RANKS = 4, NEAR_BY = 2, FLAT_TREE = 7 };

typedef struct find_reader {
    const mlt_goal_program *program;
    mlt_grow *pattern;
    mlt_grow_kind *kind;
    uint32_t *at;          // of each rank: how many of its actions are read
    uint64_t read;         // actions of all ranks
    uint32_t rank, action; // the first that fits no pattern
    bool waits;            // ... because of what it waits for
    bool early;            // loops may begin with computing, which else is that of before
} find_reader;

static const mlt_goal_action *action_at(const find_reader *r, uint32_t member, uint32_t ahead)
{
    uint32_t rank = r->kind->members[member];
    const mlt_goal_rank *program = &r->program->rank[rank];
    uint64_t at = (uint64_t)r->at[rank] + ahead;
    return at < program->count ? &program->actions[at] : NULL;
}

// ---- one action

static bool find_fits(const mlt_grow_slot *slot, const mlt_grow_grid *grid,
                      const mlt_goal_action *a, uint32_t rank, uint32_t v, uint32_t round)
{
    if (!a || !mlt_grow_same_kind(&slot->action, a))
        return false;
    if (!mlt_goal_is_message(a))
        return true; // times differ from rank to rank
    uint64_t size = (uint64_t)slot->size * (slot->doubling ? v : 1);
    return a->size[0] == size && a->peer == mlt_grow_peer(slot, grid, rank, v) &&
           a->tag == slot->tag + (int64_t)slot->tag_step * round;
}

// The functions that could give a rank its peer: the likeliest first. False: there are no more.
static bool next_fn(mlt_grow_slot *slot, const mlt_grow_grid *grid, uint32_t rank, int32_t peer,
                    bool loop, int *tried)
{
    static const mlt_grow_fn once[] = {MLT_GROW_NEAR,        MLT_GROW_SHIFT, MLT_GROW_PARENT_LOW,
                                       MLT_GROW_PARENT_HIGH, MLT_GROW_RANK,  MLT_GROW_LAST,
                                       MLT_GROW_NEAR};
    static const mlt_grow_fn looped[] = {MLT_GROW_PLUS, MLT_GROW_MINUS, MLT_GROW_XOR,
                                         MLT_GROW_OTHER};
    enum { ONCE = sizeof once / sizeof *once, LOOPED = sizeof looped / sizeof *looped };
    if (peer == MLT_GOAL_ANY) {
        slot->fn = MLT_GROW_ANY;
        return (*tried)++ == 0;
    }
    int i = (*tried)++;
    if (loop && i < LOOPED) {
        slot->fn = looped[i];
        return true;
    }
    i -= loop ? LOOPED : 0;
    if (i >= ONCE)
        return false;
    slot->fn = once[i];
    slot->at = (uint32_t)peer;
    if (slot->fn == MLT_GROW_LAST)
        slot->at = grid->ranks - 1 - (uint32_t)peer;
    mlt_grow_offset(grid, rank, (uint32_t)peer, slot->offset);
    if (slot->fn == MLT_GROW_SHIFT) {
        slot->at = (uint32_t)peer - rank;
        if (rank > (uint32_t)peer && rank - (uint32_t)peer > grid->ranks / 2)
            slot->at += grid->ranks;
        if (rank < (uint32_t)peer && (uint32_t)peer - rank > grid->ranks / 2)
            slot->at -= grid->ranks;
        if (abs((int32_t)slot->at) > NEAR_BY)
            return next_fn(slot, grid, rank, peer, loop, tried);
    }
    if (i == 0) // a neighbour, or something else that looks like one far away
        for (uint32_t d = 0; d < grid->dims; d++)
            if (abs(slot->offset[d]) > NEAR_BY)
                return next_fn(slot, grid, rank, peer, loop, tried);
    return true;
}

static mlt_grow_slot slot_of(const mlt_goal_action *a)
{
    mlt_grow_slot slot = {.action = *a, .size = (double)a->size[0], .tag = a->tag};
    slot.action.label = slot.action.line = 0;
    slot.action.at[0] = 0;
    slot.action.buf[0] = MLT_GOAL_NOWHERE;
    return slot;
}

static void add_item(find_reader *r, mlt_grow_item item, const mlt_grow_slot *slots)
{
    mlt_grow_kind *kind = r->kind;
    item.slots = mlt_xcalloc(item.count, sizeof *item.slots);
    memcpy(item.slots, slots, item.count * sizeof *slots);
    for (uint32_t k = 0; k < item.count; k++) { // times: the mean of all
        double sum = 0;
        uint64_t count = 0;
        for (uint32_t m = 0; m < kind->members_count; m++) {
            uint32_t n = mlt_grow_times(item.loop, &r->pattern->grid, kind->members[m]);
            for (uint32_t i = 0; i < n; i++, count++)
                sum += (double)action_at(r, m, i * item.count + k)->size[0];
        }
        if (!mlt_goal_is_message(&item.slots[k].action) && count)
            item.slots[k].size = sum / (double)count;
    }
    for (uint32_t m = 0; m < kind->members_count; m++) {
        uint32_t rank = kind->members[m];
        uint32_t count = item.count * mlt_grow_times(item.loop, &r->pattern->grid, rank);
        r->at[rank] += count;
        r->read += count;
    }
    *MLT_ARRAY_ADD(kind->items, kind->count, kind->room) = item;
}

// ---- loops

// The slot's action is there in all rounds of the member.
static bool fits_member(const find_reader *r, const mlt_grow_item *item, const mlt_grow_slot *slot,
                        uint32_t place, uint32_t member)
{
    const mlt_grow_grid *grid = &r->pattern->grid;
    uint32_t rank = r->kind->members[member], n = mlt_grow_times(item->loop, grid, rank);
    for (uint32_t i = 0; i < n; i++)
        if (!find_fits(slot, grid, action_at(r, member, i * item->count + place), rank,
                       mlt_grow_value(item, grid, rank, i), i))
            return false;
    return true;
}

static bool fits_all(const find_reader *r, const mlt_grow_item *item, const mlt_grow_slot *slot,
                     uint32_t place, uint32_t likely)
{
    if (!fits_member(r, item, slot, place, likely))
        return false;
    for (uint32_t m = 0; m < r->kind->members_count; m++)
        if (!fits_member(r, item, slot, place, m))
            return false;
    return true;
}

// What the first two rounds of a member tell of size and tag.
static bool guess(const find_reader *r, const mlt_grow_item *item, mlt_grow_slot *slot,
                  uint32_t place, uint32_t member)
{
    const mlt_grow_grid *grid = &r->pattern->grid;
    uint32_t rank = r->kind->members[member];
    const mlt_goal_action *a = action_at(r, member, place);
    const mlt_goal_action *b = action_at(r, member, place + item->count);
    if (a && mlt_grow_times(item->loop, grid, rank) == 1) {
        *slot = slot_of(a);
        return true;
    }
    if (!a || !b || !mlt_grow_same_kind(a, b))
        return false;
    *slot = slot_of(a);
    slot->tag_step = b->tag - a->tag;
    if (!mlt_goal_is_message(a) || a->size[0] == b->size[0])
        return true;
    uint64_t v = mlt_grow_value(item, grid, rank, 0), w = mlt_grow_value(item, grid, rank, 1);
    slot->doubling = true;
    slot->size = (double)(a->size[0] / v);
    return a->size[0] % v == 0 && a->size[0] / v * w == b->size[0];
}

// The actions are there once more, `ahead` of where reading is.
static bool is_more(const find_reader *r, const mlt_grow_item *item, const mlt_grow_slot *slots,
                    uint32_t member, int64_t ahead)
{
    uint32_t rank = r->kind->members[member];
    const mlt_goal_rank *program = &r->program->rank[rank];
    int64_t at = (int64_t)r->at[rank] + ahead, round = ahead / (int64_t)item->count;
    if (at < 0 || at + item->count > program->count)
        return false;
    for (uint32_t k = 0; k < item->count; k++)
        if (!find_fits(&slots[k], &r->pattern->grid, &program->actions[at + k], rank, 0,
                       (uint32_t)round))
            return false;
    return true;
}

// Neighbours as often as there are other ranks, neither more nor less: rounds of a ring.
static bool is_rounds(const find_reader *r, const mlt_grow_item *item, const mlt_grow_slot *slots,
                      uint32_t member)
{
    bool message = false;
    for (uint32_t k = 0; k < item->count; k++) {
        message = message || mlt_goal_is_message(&slots[k].action);
        if (slots[k].doubling)
            return false;
    }
    int64_t all = (int64_t)item->count * (r->pattern->grid.ranks - 1);
    return item->loop == MLT_GROW_ALL && !item->down && message &&
           !is_more(r, item, slots, member, all) &&
           !is_more(r, item, slots, member, -(int64_t)item->count);
}

static bool read_body(find_reader *r, const mlt_grow_item *item, uint32_t member)
{
    mlt_grow_slot slots[LONGEST_BODY];
    const mlt_grow_grid *grid = &r->pattern->grid;
    uint32_t rank = r->kind->members[member];
    bool looped = false;
    bool single =
        mlt_grow_times(item->loop, grid, rank) == 1; // nothing else shows that it is a loop
    for (uint32_t k = 0; k < item->count; k++) {
        mlt_grow_slot *slot = &slots[k];
        if (!guess(r, item, slot, k, member))
            return false;
        bool found = false;
        int32_t peer = action_at(r, member, k)->peer;
        if (!mlt_goal_is_message(&slot->action))
            found = fits_all(r, item, slot, k, member);
        else
            for (int tried = 0; !found && next_fn(slot, grid, rank, peer, true, &tried);)
                found = (slot->fn != MLT_GROW_OTHER || item->loop == MLT_GROW_ALL) &&
                        fits_all(r, item, slot, k, member);
        bool counts = found && mlt_goal_is_message(&slot->action) && slot->fn >= MLT_GROW_PLUS;
        if (!found || (single && !counts))
            return false;
        looped = looped || counts;
    }
    bool rounds = !looped && is_rounds(r, item, slots, member);
    if (looped || rounds)
        add_item(r, *item, slots);
    return looped || rounds;
}

// How often round a loop shows. Trees of so few ranks have nobody but a root with two children.
// once: a loop that goes round once, which is what is left where an action will not do.
static bool is_seen(const mlt_grow_grid *grid, mlt_grow_loop loop, uint32_t most, bool once)
{
    bool kids = loop == MLT_GROW_KIDS_LOW || loop == MLT_GROW_KIDS_HIGH;
    if (once)
        return kids && grid->ranks < FLAT_TREE && most == 1;
    return most >= (loop == MLT_GROW_ALL ? 3 : 2);
}

static bool read_loop(find_reader *r, bool once)
{
    const mlt_grow_grid *grid = &r->pattern->grid;
    for (mlt_grow_loop loop = MLT_GROW_ALL; loop < MLT_GROW_LOOPS; loop++) {
        uint32_t member = 0, most = 0;
        for (uint32_t m = 0; m < r->kind->members_count; m++) {
            uint32_t n = mlt_grow_times(loop, grid, r->kind->members[m]);
            if (n > most) {
                most = n;
                member = m;
            }
        }
        const mlt_goal_action *first = action_at(r, member, 0);
        if (!is_seen(grid, loop, most, once) || !first ||
            (!r->early && !mlt_goal_is_message(first)))
            continue;
        for (uint32_t body = 1; body <= LONGEST_BODY; body++) {
            if (!action_at(r, member, body * most - 1))
                break;
            for (int down = 0; down < 2; down++) {
                mlt_grow_item item = {.loop = loop, .down = down, .count = body};
                if (read_body(r, &item, member))
                    return true;
            }
        }
    }
    return false;
}

// ---- actions

// How many ranks of the kind the slot fits, and the first that it does not.
static uint32_t count_fits(const find_reader *r, const mlt_grow_slot *slot, uint32_t *odd)
{
    uint32_t count = 0;
    *odd = UINT32_MAX;
    for (uint32_t m = 0; m < r->kind->members_count; m++)
        if (find_fits(slot, &r->pattern->grid, action_at(r, m, 0), r->kind->members[m], 0, 0))
            count++;
        else if (*odd == UINT32_MAX)
            *odd = m;
    return count;
}

// One action that all ranks of the kind have. If there is none, the one that differs from what most
// of the others have.
static bool read_action(find_reader *r)
{
    uint32_t best = 0, odd = 0, all = r->kind->members_count;
    for (uint32_t m = 0; m < all && best < all; m++) {
        const mlt_goal_action *a = action_at(r, m, 0);
        if (!a)
            continue;
        mlt_grow_slot slot = slot_of(a);
        bool message = mlt_goal_is_message(a);
        for (int tried = 0; message ? next_fn(&slot, &r->pattern->grid, r->kind->members[m],
                                              a->peer, false, &tried)
                                    : tried++ == 0;) {
            uint32_t other, count = count_fits(r, &slot, &other);
            if (count == all) {
                mlt_grow_item item = {.loop = MLT_GROW_ONCE, .count = 1};
                add_item(r, item, &slot);
                return true;
            }
            if (count > best) {
                best = count;
                odd = other;
            }
        }
        if (m == 1) // two tell what there is to tell; the rest is like them, or odd
            break;
    }
    r->rank = r->kind->members[odd];
    r->action = r->at[r->rank];
    return false;
}

static bool is_at_end(const find_reader *r)
{
    for (uint32_t m = 0; m < r->kind->members_count; m++)
        if (action_at(r, m, 0))
            return false;
    return true;
}

static bool read_kind(find_reader *r, mlt_grow_kind *kind)
{
    r->kind = kind;
    while (!is_at_end(r))
        if (!read_loop(r, false) && !read_action(r) && !read_loop(r, true))
            return false;
    r->waits = true;
    if (!mlt_grow_find_rules(r->program, r->pattern, kind, &r->rank, &r->action))
        return false;
    r->waits = false;
    return true;
}

// ---- grids

static mlt_grow *pattern_new(const mlt_grow_grid *grid, uint32_t low, uint32_t high)
{
    mlt_grow *pattern = mlt_xcalloc(1, sizeof *pattern);
    *pattern =
        (mlt_grow){.grid = *grid, .goal = *grid, .low = low, .high = high, .sized = grid->ranks};
    pattern->kinds_count = mlt_grow_kinds(grid, low, high);
    pattern->kinds = mlt_xcalloc(pattern->kinds_count, sizeof *pattern->kinds);
    for (int round = 0; round < 2; round++)
        for (uint32_t r = 0; r < grid->ranks; r++) {
            mlt_grow_kind *kind = &pattern->kinds[mlt_grow_kind_of(grid, low, high, r)];
            if (round == 0) {
                kind->room++; // of members, so far
                continue;
            }
            if (!kind->members)
                kind->members = mlt_xcalloc(kind->room, sizeof *kind->members);
            kind->members[kind->members_count++] = r;
        }
    for (uint32_t k = 0; k < pattern->kinds_count; k++)
        pattern->kinds[k].room = 0;
    return pattern;
}

void mlt_grow_free(mlt_grow *pattern)
{
    if (!pattern)
        return;
    for (uint32_t k = 0; k < pattern->kinds_count; k++) {
        mlt_grow_kind *kind = &pattern->kinds[k];
        for (uint32_t i = 0; i < kind->count; i++) {
            for (uint32_t s = 0; s < kind->items[i].count; s++)
                for (int late = 0; late < MLT_GROW_TIMES; late++)
                    free(kind->items[i].slots[s].wait[late].all);
            free(kind->items[i].slots);
        }
        free(kind->items);
        free(kind->members);
    }
    free(pattern->kinds);
    free(pattern);
}

// Every dimension has neighbours in it alone: else the grid is made up, and its corners hide ranks
// that are odd.
static bool grid_shows(const mlt_grow *pattern)
{
    bool shows[MLT_GROW_DIMS] = {false};
    for (uint32_t k = 0; k < pattern->kinds_count; k++)
        for (uint32_t i = 0; i < pattern->kinds[k].count; i++)
            for (uint32_t s = 0; s < pattern->kinds[k].items[i].count; s++) {
                const mlt_grow_slot *slot = &pattern->kinds[k].items[i].slots[s];
                uint32_t used = 0, last = 0;
                for (uint32_t d = 0; d < pattern->grid.dims; d++)
                    if (slot->offset[d]) {
                        used++;
                        last = d;
                    }
                if (mlt_goal_is_message(&slot->action) && slot->fn == MLT_GROW_NEAR && used == 1)
                    shows[last] = true;
            }
    for (uint32_t d = 0; d < pattern->grid.dims; d++)
        if (!shows[d])
            return false;
    return true;
}

// The pattern in this grid, or NULL; `best` remembers the try that came furthest.
static mlt_grow *try_grid(const mlt_goal_program *program, const mlt_grow_grid *grid, uint32_t low,
                          uint32_t high, bool early, find_reader *best)
{
    find_reader r = {.program = program, .pattern = pattern_new(grid, low, high), .early = early};
    r.at = mlt_xcalloc(program->ranks, sizeof *r.at);
    bool good = true;
    for (uint32_t k = 0; good && k < r.pattern->kinds_count; k++)
        good = read_kind(&r, &r.pattern->kinds[k]);
    free(r.at);
    bool shown = grid->dims == 1 || (good && grid_shows(r.pattern));
    if (good && shown)
        return r.pattern;
    mlt_grow_free(r.pattern);
    if (good)
        return NULL;
    if (r.read > best->read || !best->program)
        *best = r;
    return NULL;
}

static mlt_grow *try_all(const mlt_goal_program *program, bool early, find_reader *best)
{
    static const struct {
        uint32_t low, high;
    } ends[] = {{0, 0}, {1, 0}, {0, 1}, {1, 1}, {2, 2}};
    for (uint32_t dims = 1; dims <= MLT_GROW_DIMS; dims++)
        for (size_t e = 0; e < sizeof ends / sizeof *ends; e++) {
            uint32_t low = ends[e].low, high = ends[e].high;
            mlt_grow_grid grid = {.ranks = program->ranks, .dims = dims};
            if (dims > 1 && low != high)
                continue;
            while (mlt_grow_next_grid(&grid, mlt_grow_least(low, high))) {
                mlt_grow *found = try_grid(program, &grid, low, high, early, best);
                if (found)
                    return found;
            }
        }
    return NULL;
}

static mlt_status refuse_kinds(const mlt_goal_program *program, char *why, size_t why_size)
{
    char text[400];
    for (uint32_t r = 0; r < program->ranks; r++)
        for (uint32_t a = 0; a < program->rank[r].count; a++) {
            uint8_t kind = program->rank[r].actions[a].kind;
            if (kind == MLT_GOAL_SEND || kind == MLT_GOAL_RECV || kind == MLT_GOAL_CALC ||
                kind == MLT_GOAL_NOP)
                continue;
            return mlt_fail(MLT_ERR_INVALID, why, why_size,
                            "%s works on memory; sends, receives, calc and nop can be extrapolated "
                            "(`millet goal fmt --dialect loggopsim` makes them of all actions)",
                            mlt_goal_describe(program, r, a, text, sizeof text));
        }
    return MLT_OK;
}

static void count_slot(mlt_grow *pattern, const mlt_grow_item *item, mlt_grow_slot *slot,
                       void *user)
{
    slot->number = pattern->slots_count++;
}

mlt_status mlt_grow_find(const mlt_goal_program *program, mlt_grow **out, char *why,
                         size_t why_size)
{
    *out = NULL;
    if (program->ranks < LEAST_RANKS)
        return mlt_fail(MLT_ERR_INVALID, why, why_size,
                        "the program has %u rank%s; a pattern shows from %d ranks on",
                        program->ranks, program->ranks == 1 ? "" : "s", LEAST_RANKS);
    mlt_status status = refuse_kinds(program, why, why_size);
    if (status != MLT_OK)
        return status;
    find_reader best = {.program = NULL};
    *out = try_all(program, false, &best);
    if (!*out)
        *out = try_all(program, true, &best);
    if (*out) {
        mlt_grow_for_slots(*out, count_slot, NULL);
        return MLT_OK;
    }
    char text[400];
    if (best.action < program->rank[best.rank].count)
        return mlt_fail(MLT_ERR_INVALID, why, why_size, "%s fits no pattern%s",
                        mlt_goal_describe(program, best.rank, best.action, text, sizeof text),
                        best.waits ? ": ranks like it wait for other actions" : "");
    return mlt_fail(MLT_ERR_INVALID, why, why_size,
                    "rank %u ends after %u actions, where ranks like it go on: it fits no pattern",
                    best.rank, best.action);
}
