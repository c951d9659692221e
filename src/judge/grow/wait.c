// SPDX-License-Identifier: BSD-3-Clause
// Dependencies as rules that hold for all ranks of a kind and every time round of a loop.
//
// For each dependency that no rule explains yet, rules that would explain it are tried, the most
// general first; one that holds wherever it says something is taken. In the end all are explained.
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/compare.h"
#include "base/memory.h"
#include "judge/grow/grow_int.h"

// An action of an item: of a member, some time round.
typedef struct instance {
    uint32_t member, item, slot, round, position;
} instance;

typedef struct grow_wait_search {
    const mlt_goal_program *program;
    const mlt_grow_grid *grid;
    mlt_grow_kind *kind;
    uint64_t **deps;   // of each member: action << 32 | on, sorted
    uint32_t **starts; // of each member
    instance odd;
} grow_wait_search;

void mlt_grow_starts(const mlt_grow_kind *kind, const mlt_grow_grid *grid, uint32_t rank,
                     uint32_t *starts)
{
    starts[0] = 0;
    for (uint32_t i = 0; i < kind->count; i++)
        starts[i + 1] =
            starts[i] + kind->items[i].count * mlt_grow_times(kind->items[i].loop, grid, rank);
}

static uint32_t times(const mlt_grow_kind *kind, const uint32_t *starts, uint32_t item)
{
    return (starts[item + 1] - starts[item]) / kind->items[item].count;
}

mlt_grow_targets mlt_grow_targets_of(const mlt_grow_rule *rule, const mlt_grow_kind *kind,
                                     const uint32_t *starts, uint32_t item, uint32_t round,
                                     uint32_t position)
{
    mlt_grow_targets none = {0, 1, 0};
    if (round < rule->from || (rule->until && round >= rule->until))
        return none;
    if (rule->wait == MLT_GROW_PREVIOUS)
        return position ? (mlt_grow_targets){position - 1, 1, 1} : none;
    if (rule->wait == MLT_GROW_BEFORE)
        return starts[rule->item] ? (mlt_grow_targets){starts[rule->item] - 1, 1, 1} : none;
    uint32_t size = kind->items[rule->item].count, all = times(kind, starts, rule->item);
    uint32_t first = starts[rule->item] + rule->slot;
    switch (rule->wait) {
    case MLT_GROW_BACK:
        if (rule->item != item || round < rule->back)
            return none;
        return (mlt_grow_targets){first + (round - rule->back) * size, 1, 1};
    case MLT_GROW_EARLIER:
        return rule->item == item ? (mlt_grow_targets){first, size, round} : none;
    case MLT_GROW_SAME:
        return round < all ? (mlt_grow_targets){first + round * size, 1, 1} : none;
    case MLT_GROW_EACH:
        return (mlt_grow_targets){first, size, all};
    case MLT_GROW_FINAL:
        return all ? (mlt_grow_targets){first + (all - 1) * size, 1, 1} : none;
    default:
        return all ? (mlt_grow_targets){first, 1, 1} : none;
    }
}

static void search_init(grow_wait_search *s)
{
    const mlt_grow_kind *kind = s->kind;
    s->deps = mlt_xcalloc(kind->members_count, sizeof *s->deps);
    s->starts = mlt_xcalloc(kind->members_count, sizeof *s->starts);
    for (uint32_t m = 0; m < kind->members_count; m++) {
        const mlt_goal_rank *rank = &s->program->rank[kind->members[m]];
        s->deps[m] = mlt_xcalloc((size_t)rank->deps_count + 1, sizeof **s->deps);
        for (uint32_t d = 0; d < rank->deps_count; d++)
            s->deps[m][d] = (uint64_t)rank->deps[d].action << 32 | rank->deps[d].on;
        qsort(s->deps[m], rank->deps_count, sizeof **s->deps, mlt_compare_ascending);
        s->starts[m] = mlt_xcalloc((size_t)kind->count + 1, sizeof **s->starts);
        mlt_grow_starts(kind, s->grid, kind->members[m], s->starts[m]);
    }
}

static void search_fini(grow_wait_search *s)
{
    for (uint32_t m = 0; m < s->kind->members_count; m++) {
        free(s->deps[m]);
        free(s->starts[m]);
    }
    free(s->deps);
    free(s->starts);
}

static bool waits(const grow_wait_search *s, uint32_t member, uint32_t action, uint32_t on)
{
    uint64_t key = (uint64_t)action << 32 | on;
    uint32_t count = s->program->rank[s->kind->members[member]].deps_count;
    return bsearch(&key, s->deps[member], count, sizeof key, mlt_compare_ascending) != NULL;
}

// Where the rule says something about this instance, it is so.
static bool holds(const grow_wait_search *s, const mlt_grow_rule *rule, const instance *at)
{
    mlt_grow_targets t = mlt_grow_targets_of(rule, s->kind, s->starts[at->member], at->item,
                                             at->round, at->position);
    for (uint32_t i = 0; i < t.count; i++)
        if (!waits(s, at->member, at->position, (t.from + i * t.step) | rule->started))
            return false;
    return true;
}

static bool explains(const grow_wait_search *s, const mlt_grow_rule *rule, const instance *at,
                     uint32_t on)
{
    mlt_grow_targets t = mlt_grow_targets_of(rule, s->kind, s->starts[at->member], at->item,
                                             at->round, at->position);
    return (on & MLT_GOAL_STARTED) == rule->started && mlt_grow_is_target(t, mlt_goal_plain(on));
}

// The instances of a slot: first times round (late 0), second ones (1), later ones (2); false: there
// are no more.
static bool next_instance(const grow_wait_search *s, instance *at, uint32_t late)
{
    for (;;) {
        uint32_t all = times(s->kind, s->starts[at->member], at->item);
        at->round++;
        if (at->round < all && (at->round == late || late == MLT_GROW_TIMES - 1)) {
            at->position = s->starts[at->member][at->item] +
                           at->round * s->kind->items[at->item].count + at->slot;
            return true;
        }
        if (++at->member == s->kind->members_count)
            return false;
        at->round = late - 1;
    }
}

static instance before_first(uint32_t item, uint32_t slot, uint32_t late)
{
    return (instance){0, item, slot, late - 1, 0};
}

typedef bool fits_rule(grow_wait_search *s, mlt_grow_rule *rule, const instance *like,
                       uint32_t late);

// If it does not hold, and yet does for more than half, the first instance where it does not is odd.
static bool holds_always(grow_wait_search *s, mlt_grow_rule *rule, const instance *like,
                         uint32_t late)
{
    instance at = before_first(like->item, like->slot, late), odd = at;
    uint64_t good = 0, bad = 0;
    while (next_instance(s, &at, late)) {
        if (holds(s, rule, &at))
            good++;
        else if (bad++ == 0)
            odd = at;
    }
    if (bad && good > bad)
        s->odd = odd;
    return bad == 0;
}

static uint32_t longest(const grow_wait_search *s, uint32_t item)
{
    uint32_t most = 0;
    for (uint32_t m = 0; m < s->kind->members_count; m++) {
        uint32_t n = times(s->kind, s->starts[m], item);
        most = n > most ? n : most;
    }
    return most;
}

// A loop with a window waits for `back` times round before, but the first times for something else,
// or for nothing. So a rule on times before may begin late, and another one may end. Two times
// round after that must show it, or the last one would only be odd.
static bool holds_in_part(grow_wait_search *s, mlt_grow_rule *rule, const instance *like,
                          uint32_t late)
{
    uint32_t most = longest(s, like->item);
    if (late != MLT_GROW_TIMES - 1 || rule->wait == MLT_GROW_PREVIOUS ||
        rule->wait == MLT_GROW_EARLIER)
        return false;
    if (rule->wait == MLT_GROW_BACK) {
        rule->from = like->round;
        return rule->from + 2 <= most && holds_always(s, rule, like, late);
    }
    instance at = before_first(like->item, like->slot, late);
    uint32_t until = most;
    while (next_instance(s, &at, late))
        if (at.round < until && !holds(s, rule, &at))
            until = at.round;
    rule->until = until;
    return until > like->round && until + 2 <= most;
}

// Where a rule ends, one on times before must begin: that is a window.
static bool window_begins(const mlt_grow_rules *rules, uint32_t round)
{
    for (uint32_t r = 0; r < rules->count; r++) {
        const mlt_grow_rule *rule = &rules->all[r];
        uint32_t begin = rule->from > rule->back ? rule->from : rule->back;
        if (rule->wait == MLT_GROW_BACK && begin == round)
            return true;
    }
    return false;
}

static bool are_windows(grow_wait_search *s, const mlt_grow_rules *rules, uint32_t item,
                        uint32_t slot, uint32_t late)
{
    for (uint32_t r = 0; r < rules->count; r++) {
        uint32_t until = rules->all[r].until;
        if (!until || window_begins(rules, until))
            continue;
        s->odd = before_first(item, slot, late);
        while (next_instance(s, &s->odd, late) && s->odd.round != until)
            ;
        return false;
    }
    return true;
}

// The action before an item between the one that is waited for and this one.
static bool find_before(grow_wait_search *s, const instance *at, uint32_t on, uint32_t item,
                        uint32_t late, fits_rule *fits, mlt_grow_rule *out)
{
    for (uint32_t i = item + 1; i <= at->item; i++) {
        mlt_grow_rule rule =
            (mlt_grow_rule){.wait = MLT_GROW_BEFORE, .item = i, .started = on & MLT_GOAL_STARTED};
        if (explains(s, &rule, at, on) && fits(s, &rule, at, late)) {
            *out = rule;
            return true;
        }
    }
    return false;
}

// A rule for a dependency of an instance.
static bool find_rule(grow_wait_search *s, const instance *at, uint32_t on, uint32_t late,
                      fits_rule *fits, mlt_grow_rule *out)
{
    const uint32_t *starts = s->starts[at->member];
    uint32_t plain = mlt_goal_plain(on), item = 0;
    while (starts[item + 1] <= plain)
        item++;
    uint32_t size = s->kind->items[item].count, round = (plain - starts[item]) / size;
    const mlt_grow_rule like = {.item = item,
                                .slot = (plain - starts[item]) % size,
                                .back = at->round - round,
                                .started = on & MLT_GOAL_STARTED};
    static const mlt_grow_wait others[] = {MLT_GROW_PREVIOUS, MLT_GROW_EACH, MLT_GROW_SAME,
                                           MLT_GROW_FINAL, MLT_GROW_FIRST};
    static const mlt_grow_wait own[] = {MLT_GROW_PREVIOUS, MLT_GROW_EARLIER, MLT_GROW_BACK,
                                        MLT_GROW_FIRST};
    bool is_own = item == at->item;
    // After a loop, for it may be empty; of an item that is there once, it itself is likelier.
    bool once = s->kind->items[item].loop == MLT_GROW_ONCE;
    if (!once && find_before(s, at, on, item, late, fits, out))
        return true;
    size_t count = is_own ? sizeof own / sizeof *own : sizeof others / sizeof *others;
    for (size_t i = 0; i < count; i++) {
        mlt_grow_rule rule = like;
        rule.wait = is_own ? own[i] : others[i];
        if (rule.wait == MLT_GROW_BACK && round > at->round)
            continue;
        if (rule.wait == MLT_GROW_EARLIER && times(s->kind, starts, item) < 3)
            continue; // it would be the one before, which is likelier
        if (explains(s, &rule, at, on) && fits(s, &rule, at, late)) {
            *out = rule;
            return true;
        }
    }
    return once && find_before(s, at, on, item, late, fits, out);
}

static bool find_rules_of(grow_wait_search *s, mlt_grow_slot *slot, instance at, uint32_t late)
{
    mlt_grow_rules *rules = &slot->wait[late];
    bool any = false;
    while (next_instance(s, &at, late)) {
        any = true;
        uint32_t count = s->program->rank[s->kind->members[at.member]].deps_count;
        const uint64_t *deps = s->deps[at.member];
        uint32_t first = MLT_ARRAY_SEARCH(i, count, deps[i] >> 32 < at.position);
        for (uint32_t i = first; i < count && deps[i] >> 32 == at.position; i++) {
            uint32_t on = (uint32_t)deps[i], r = 0;
            while (r < rules->count && !explains(s, &rules->all[r], &at, on))
                r++;
            if (r < rules->count)
                continue;
            MLT_ARRAY_WANT(rules->all, rules->count + 1, rules->room);
            s->odd = at;
            mlt_grow_rule *rule = &rules->all[rules->count];
            if (!find_rule(s, &at, on, late, holds_always, rule) &&
                !find_rule(s, &at, on, late, holds_in_part, rule))
                return false;
            rules->count++;
        }
    }
    bool loop = s->kind->items[at.item].loop != MLT_GROW_ONCE;
    if (!are_windows(s, rules, at.item, at.slot, late))
        return false;
    if (!any && late && loop && slot->wait[late - 1].count) {
        // Loops that were never that long: as the time before.
        const mlt_grow_rules *before = &slot->wait[late - 1];
        MLT_ARRAY_WANT(rules->all, before->count, rules->room);
        memcpy(rules->all, before->all, before->count * sizeof *rules->all);
        rules->count = before->count;
    }
    return true;
}

bool mlt_grow_find_rules(const mlt_goal_program *program, const mlt_grow *pattern,
                         mlt_grow_kind *kind, uint32_t *rank, uint32_t *action)
{
    grow_wait_search s = {.program = program, .grid = &pattern->grid, .kind = kind};
    bool good = true;
    search_init(&s);
    for (uint32_t i = 0; good && i < kind->count; i++)
        for (uint32_t k = 0; good && k < kind->items[i].count; k++)
            for (uint32_t late = 0; good && late < MLT_GROW_TIMES; late++) {
                good = find_rules_of(&s, &kind->items[i].slots[k], before_first(i, k, late), late);
            }
    if (!good) {
        *rank = kind->members[s.odd.member];
        *action = s.odd.position;
    }
    search_fini(&s);
    return good;
}
