// SPDX-License-Identifier: BSD-3-Clause
// Thousands of programs that differ a little from the algorithms' are put before the checker and
// before an oracle that shares no code with it:
//
//     bounds, sizes, n-th send with n-th receive    by looking at every action and pair
//     races      all pairs of actions of a rank and all their bytes, with the closure of the
//                rank's dependencies by Warshall
//     deadlock   one run with synchronous sends: what can happen early never hinders anything, so
//                a run that stops has a deadlock and one that ends shows that there is none
//     result     a run with random bytes everywhere, compared with the operation done by hand
//                (hand_test.h). Without races every run gives the same. If operands must stay in
//                order, sumInt64 is taken for the composition of maps x -> ax + b, which does not
//                commute
//     barrier    for each rank a run in which it does nothing: whoever finishes has not waited
//
// A mutation matters if the oracle rejects the program. The checker must say the same of each one.
// Those with races also run in many orders, in which receives spoil their bytes from the start and
// sends read theirs late: the test prints how many of them are seen to go wrong.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "coll/alg/alg.h"
#include "coll/alg/hand_test.h"
#include "coll/alg/shape_test.h"
#include "judge/check/check.h"

static uint64_t seed = 1;

static uint64_t draw(uint64_t below)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    uint64_t x = seed ^ seed >> 29;
    return (x * 0xbf58476d1ce4e5b9u >> 24) % below;
}

static void *take(size_t count, size_t size)
{
    void *memory = calloc(count ? count : 1, size);
    if (!memory) {
        fprintf(stderr, "no memory\n");
        exit(1);
    }
    return memory;
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

// ---- the oracle: what can be seen without running

enum { MOST_ACTIONS = 512 }; // of a rank

static bool has_second(const mlt_goal_action *a)
{
    return a->kind == MLT_GOAL_EXEC || a->kind == MLT_GOAL_RECV_EXEC || a->kind == MLT_GOAL_USER;
}

static bool sound_action(const mlt_goal_program *p, uint32_t r, const mlt_goal_action *a)
{
    if (a->kind == MLT_GOAL_NOP || a->kind == MLT_GOAL_CALC)
        return true;
    for (int w = 0; w <= has_second(a); w++)
        if (a->buf[w] != MLT_GOAL_NOWHERE &&
            a->at[w] + a->size[w] > p->rank[r].buffers[a->buf[w] - 1].size)
            return false;
    if (a->kind == MLT_GOAL_USER)
        return true; // what else it may be cannot be said without its function
    if (a->kind != MLT_GOAL_EXEC && (a->peer < 0 || (uint32_t)a->peer >= p->ranks))
        return false;
    if (!has_second(a))
        return true;
    bool apart = a->buf[0] != a->buf[1] || a->at[0] >= a->at[1] + a->size[1] ||
                 a->at[1] >= a->at[0] + a->size[0] || a->at[0] == a->at[1];
    return apart && a->size[0] == a->size[1] && a->size[0] % mlt_op_type_bytes[a->type] == 0;
}

// How many sends of rank r to peer with that tag (or receives) stand before action `before`; or
// where the n-th one is.
static uint32_t count_flow(const mlt_goal_rank *rank, bool sends, int32_t peer, int32_t tag,
                           uint32_t before, uint32_t nth, uint32_t *where)
{
    uint32_t n = 0;
    for (uint32_t a = 0; a < before; a++) {
        const mlt_goal_action *action = &rank->actions[a];
        if (!mlt_goal_is_message(action) || (action->kind == MLT_GOAL_SEND) != sends ||
            action->peer != peer || action->tag != tag)
            continue;
        if (n++ == nth)
            *where = a;
    }
    return n;
}

static mlt_goal_place partner(const mlt_goal_program *p, uint32_t r, uint32_t a)
{
    const mlt_goal_action *action = &p->rank[r].actions[a];
    bool send = action->kind == MLT_GOAL_SEND;
    mlt_goal_place other = {(uint32_t)action->peer, MLT_GOAL_NONE};
    uint32_t nth = count_flow(&p->rank[r], send, action->peer, action->tag, a, UINT32_MAX, NULL);
    const mlt_goal_rank *peer = &p->rank[action->peer];
    count_flow(peer, !send, (int32_t)r, action->tag, peer->count, nth, &other.action);
    return other;
}

typedef struct closure {
    bool before[MOST_ACTIONS][MOST_ACTIONS]; // the first has finished before the second starts
} closure;

// False: there is a cycle. The algorithms' dependencies are all on ends.
static bool close_rank(const mlt_goal_rank *rank, closure *c)
{
    uint32_t n = rank->count;
    for (uint32_t i = 0; i < n; i++)
        memset(c->before[i], 0, n);
    for (uint32_t d = 0; d < rank->deps_count; d++)
        c->before[rank->deps[d].on][rank->deps[d].action] = true;
    for (uint32_t k = 0; k < n; k++)
        for (uint32_t i = 0; i < n; i++)
            if (c->before[i][k])
                for (uint32_t j = 0; j < n; j++)
                    c->before[i][j] |= c->before[k][j];
    for (uint32_t i = 0; i < n; i++)
        if (c->before[i][i])
            return false;
    return true;
}

static bool conflict(const mlt_goal_action *one, const mlt_goal_action *other)
{
    mlt_goal_access a[2], b[2];
    int an = mlt_goal_accesses(one, a), bn = mlt_goal_accesses(other, b);
    for (int x = 0; x < an; x++)
        for (int y = 0; y < bn; y++)
            if ((a[x].writes || b[y].writes) && a[x].span.buf == b[y].span.buf &&
                a[x].span.at < b[y].span.at + b[y].span.size &&
                b[y].span.at < a[x].span.at + a[x].span.size)
                return true;
    return false;
}

static bool has_race(const mlt_goal_rank *rank, const closure *c)
{
    for (uint32_t i = 0; i < rank->count; i++)
        for (uint32_t j = 0; j < i; j++)
            if (!c->before[i][j] && !c->before[j][i] &&
                conflict(&rank->actions[i], &rank->actions[j]))
                return true;
    return false;
}

// ---- the oracle: running

enum { WAITS, RUNS, SENT, DONE };

typedef struct machine {
    const mlt_goal_program *p;
    const mlt_goal_spec *is;
    bool synchronous, spoils;
    unsigned char ***memory; // [rank][buffer - 1]
    mlt_goal_place **other;  // [rank][action]
    uint8_t **state;
    uint32_t **open;          // dependencies that are left
    uint64_t **priority;      // NULL: the first that can go goes
    unsigned char ***message; // [rank][send]
    uint32_t idle;            // a rank that does nothing; UINT32_MAX: none
} machine;

static void machine_init(machine *m, const mlt_goal_program *p, const mlt_goal_spec *is)
{
    *m = (machine){.p = p, .is = is, .idle = UINT32_MAX};
    m->memory = take(p->ranks, sizeof *m->memory);
    m->other = take(p->ranks, sizeof *m->other);
    m->state = take(p->ranks, sizeof *m->state);
    m->open = take(p->ranks, sizeof *m->open);
    m->message = take(p->ranks, sizeof *m->message);
    for (uint32_t r = 0; r < p->ranks; r++) {
        const mlt_goal_rank *rank = &p->rank[r];
        m->memory[r] = take(rank->buffers_count, sizeof **m->memory);
        m->other[r] = take(rank->count, sizeof **m->other);
        m->state[r] = take(rank->count, 1);
        m->open[r] = take(rank->count, sizeof **m->open);
        m->message[r] = take(rank->count, sizeof **m->message);
        for (uint32_t b = 0; b < rank->buffers_count; b++) {
            m->memory[r][b] = take(rank->buffers[b].size, 1);
            for (uint64_t i = 0; i < rank->buffers[b].size; i++)
                m->memory[r][b][i] = (unsigned char)draw(256);
        }
        for (uint32_t d = 0; d < rank->deps_count; d++)
            m->open[r][rank->deps[d].action]++;
        for (uint32_t a = 0; a < rank->count; a++)
            if (mlt_goal_is_message(&rank->actions[a]))
                m->other[r][a] = partner(p, r, a);
    }
}

static void machine_fini(machine *m)
{
    for (uint32_t r = 0; r < m->p->ranks; r++) {
        for (uint32_t b = 0; b < m->p->rank[r].buffers_count; b++)
            free(m->memory[r][b]);
        for (uint32_t a = 0; a < m->p->rank[r].count; a++)
            free(m->message[r][a]);
        free(m->memory[r]);
        free(m->other[r]);
        free(m->state[r]);
        free(m->open[r]);
        free(m->message[r]);
        if (m->priority)
            free(m->priority[r]);
    }
    free(m->memory);
    free(m->other);
    free(m->state);
    free(m->open);
    free(m->message);
    free(m->priority);
}

static unsigned char *bytes_of(const machine *m, uint32_t r, const mlt_goal_action *a, int which)
{
    static unsigned char nowhere[4096];
    return a->buf[which] == MLT_GOAL_NOWHERE ? nowhere
                                             : m->memory[r][a->buf[which] - 1] + a->at[which];
}

// The map a x + b as a in the lower and b in the upper half; left after right.
static uint64_t compose(uint64_t left, uint64_t right)
{
    uint32_t a = (uint32_t)left * (uint32_t)right;
    uint32_t b = (uint32_t)left * (uint32_t)(right >> 32) + (uint32_t)(left >> 32);
    return a | (uint64_t)b << 32;
}

static void operate(const machine *m, mlt_op op, mlt_op_type type, bool reversed, void *to,
                    const void *from, uint64_t size)
{
    bool maps =
        !m->is->commutes && op == MLT_OP_SUM && (type == MLT_OP_INT64 || type == MLT_OP_UINT64);
    if (!maps) {
        mlt_op_kernels[op][type](to, from, size / mlt_op_type_bytes[type]);
        return;
    }
    for (uint64_t i = 0; i < size; i += 8) {
        uint64_t one, other;
        memcpy(&one, (unsigned char *)to + i, 8);
        memcpy(&other, (const unsigned char *)from + i, 8);
        one = reversed ? compose(other, one) : compose(one, other);
        memcpy((unsigned char *)to + i, &one, 8);
    }
}

// A user's function whose operands overlap in part may do anything.
static void call_user(const machine *m, uint32_t r, const mlt_goal_action *a)
{
    bool apart = a->buf[0] != a->buf[1] || a->at[0] == a->at[1] ||
                 a->at[0] >= a->at[1] + a->size[1] || a->at[1] >= a->at[0] + a->size[0];
    uint8_t *to = bytes_of(m, r, a, 0);
    if (apart && a->size[0] == a->size[1])
        hand_user(m->is->commutes, to, bytes_of(m, r, a, 1), a->size[0],
                  a->flags & MLT_GOAL_REVERSED);
    else
        for (uint64_t i = 0; i < a->size[0]; i++)
            to[i] = (uint8_t)draw(256);
}

static void finish(machine *m, uint32_t r, uint32_t a)
{
    const mlt_goal_rank *rank = &m->p->rank[r];
    const mlt_goal_action *action = &rank->actions[a];
    if (mlt_goal_is_recv(action)) {
        mlt_goal_place from = m->other[r][a];
        memcpy(bytes_of(m, r, action, action->kind != MLT_GOAL_RECV),
               m->message[from.rank][from.action], mlt_goal_message_bytes(action));
    }
    if (action->kind == MLT_GOAL_USER)
        call_user(m, r, action);
    else if (has_second(action))
        operate(m, action->op, action->type, action->flags & MLT_GOAL_REVERSED,
                bytes_of(m, r, action, 0), bytes_of(m, r, action, 1), action->size[0]);
    m->state[r][a] = DONE;
    for (uint32_t d = 0; d < rank->deps_count; d++)
        if (rank->deps[d].on == a)
            m->open[r][rank->deps[d].action]--;
}

static bool can_step(const machine *m, uint32_t r, uint32_t a)
{
    const mlt_goal_action *action = &m->p->rank[r].actions[a];
    mlt_goal_place other = m->other[r][a];
    switch (m->state[r][a]) {
    case WAITS:
        return !m->open[r][a];
    case RUNS:
        if (mlt_goal_is_recv(action))
            return m->state[other.rank][other.action] >= SENT;
        return action->kind != MLT_GOAL_SEND || !m->synchronous ||
               m->state[other.rank][other.action] >= RUNS;
    case SENT:
        return true;
    default:
        return false;
    }
}

static void step(machine *m, uint32_t r, uint32_t a)
{
    const mlt_goal_action *action = &m->p->rank[r].actions[a];
    uint64_t size = mlt_goal_message_bytes(action);
    if (m->state[r][a] == WAITS) {
        m->state[r][a] = RUNS;
        if (m->spoils && mlt_goal_is_recv(action))
            memset(bytes_of(m, r, action, action->kind != MLT_GOAL_RECV), (int)draw(256), size);
    } else if (m->state[r][a] == RUNS && action->kind == MLT_GOAL_SEND) {
        m->message[r][a] = take(size, 1);
        memcpy(m->message[r][a], bytes_of(m, r, action, 0), size);
        m->state[r][a] = SENT;
    } else {
        finish(m, r, a);
    }
}

// Until nothing more can happen.
static void run(machine *m)
{
    for (;;) {
        uint64_t best = 0;
        uint32_t best_r = UINT32_MAX, best_a = 0;
        bool any = false;
        for (uint32_t r = 0; r < m->p->ranks; r++)
            for (uint32_t a = 0; a < m->p->rank[r].count && r != m->idle; a++)
                while (can_step(m, r, a)) {
                    if (!m->priority) {
                        step(m, r, a);
                        any = true;
                        continue;
                    }
                    if (best_r == UINT32_MAX || m->priority[r][a] > best) {
                        best = m->priority[r][a];
                        best_r = r;
                        best_a = a;
                    }
                    break;
                }
        if (best_r != UINT32_MAX)
            step(m, best_r, best_a);
        else if (!any)
            return;
    }
}

static bool rank_done(const machine *m, uint32_t r)
{
    for (uint32_t a = 0; a < m->p->rank[r].count; a++)
        if (m->state[r][a] != DONE)
            return false;
    return true;
}

// ---- the oracle: the operation by hand

static uint8_t *named(void *of, uint32_t r, const char *name)
{
    const machine *m = of;
    uint32_t buf = mlt_goal_buffer_find(m->p, r, name);
    return buf == MLT_GOAL_NOWHERE ? NULL : m->memory[r][buf - 1];
}

static void combine(const void *user, void *to, const void *from, uint64_t bytes)
{
    const machine *m = user;
    if (m->is->op == MLT_OPS)
        hand_user(m->is->commutes, to, from, bytes, false);
    else
        operate(m, m->is->op, m->is->type, false, to, from, bytes);
}

static hand hand_of(machine *m)
{
    hand h = {.is = m->is,
              .ranks = m->p->ranks,
              .element = m->is->element,
              .n = m->is->bytes,
              .combine = combine,
              .user = m};
    hand_begin(&h, named, m);
    return h;
}

// Beside the result: of a scatter in place the root's block is where it was.
static bool rank_right(machine *m, const hand *h, uint32_t r)
{
    const mlt_goal_spec *is = m->is;
    bool stays = is->collective == MLT_COLL_SCATTER && is->in_place && r == is->root;
    if (stays)
        return memcmp(named(m, r, "in") + hand_start(h, r), h->in[r] + hand_start(h, r),
                      hand_block(h, r)) == 0;
    return hand_right(h, r, named(m, r, is->collective == MLT_COLL_BCAST ? "buf" : "out"));
}

// One run to its end: no deadlock and the right result. priority: a random one, with an action that
// comes as early as it can and one as late as it can (of rank 0's numbers; rank UINT32_MAX: none).
static bool run_right(const mlt_goal_program *p, const mlt_goal_spec *is, bool synchronous,
                      bool random, mlt_goal_place early, mlt_goal_place late)
{
    machine m;
    machine_init(&m, p, is);
    m.synchronous = synchronous;
    m.spoils = random;
    if (random) {
        m.priority = take(p->ranks, sizeof *m.priority);
        for (uint32_t r = 0; r < p->ranks; r++) {
            m.priority[r] = take(p->rank[r].count, sizeof **m.priority);
            for (uint32_t a = 0; a < p->rank[r].count; a++)
                m.priority[r][a] = 1 + draw(1000000);
        }
        if (early.rank != UINT32_MAX) {
            m.priority[early.rank][early.action] = UINT64_MAX;
            m.priority[late.rank][late.action] = 0;
        }
    }
    hand h = hand_of(&m);
    run(&m);
    bool right = true;
    for (uint32_t r = 0; r < p->ranks; r++)
        right = right && rank_done(&m, r);
    for (uint32_t r = 0; r < p->ranks && right; r++)
        right = rank_right(&m, &h, r);
    hand_end(&h);
    machine_fini(&m);
    return right;
}

// Nobody finishes while one rank does nothing.
static bool barrier_right(const mlt_goal_program *p, const mlt_goal_spec *is)
{
    bool right = true;
    for (uint32_t idle = 0; idle < p->ranks && right; idle++) {
        machine m;
        machine_init(&m, p, is);
        m.idle = idle;
        run(&m);
        for (uint32_t r = 0; r < p->ranks; r++)
            right = right && (r == idle || !rank_done(&m, r));
        machine_fini(&m);
    }
    return right;
}

typedef enum verdict { RIGHT, UNSOUND, UNMATCHED, CYCLE, RACE, STUCK, WRONG, VERDICTS } verdict;
static const char *const verdict_names[VERDICTS] = {"right",  "unsound",  "unmatched",   "cycle",
                                                    "racing", "deadlock", "wrong result"};

// runs: with other bytes each.
static verdict oracle(const mlt_goal_program *p, const mlt_goal_spec *is, int runs)
{
    static closure c;
    bool race = false;
    for (uint32_t r = 0; r < p->ranks; r++)
        for (uint32_t a = 0; a < p->rank[r].count; a++)
            if (!sound_action(p, r, &p->rank[r].actions[a]))
                return UNSOUND;
    for (uint32_t r = 0; r < p->ranks; r++)
        for (uint32_t a = 0; a < p->rank[r].count; a++) {
            const mlt_goal_action *action = &p->rank[r].actions[a];
            if (!mlt_goal_is_message(action))
                continue;
            mlt_goal_place other = partner(p, r, a);
            if (other.action == MLT_GOAL_NONE ||
                mlt_goal_message_bytes(action) !=
                    mlt_goal_message_bytes(&p->rank[other.rank].actions[other.action]))
                return UNMATCHED;
        }
    for (uint32_t r = 0; r < p->ranks; r++) {
        if (!close_rank(&p->rank[r], &c))
            return CYCLE;
        race |= has_race(&p->rank[r], &c);
    }
    mlt_goal_place none = {UINT32_MAX, 0};
    mlt_goal_spec barrier = {.collective = MLT_COLL_BARRIER}; // only that it ends
    if (!run_right(p, &barrier, true, false, none, none))
        return STUCK;
    if (race)
        return RACE;
    if (is->collective == MLT_COLL_BARRIER)
        return barrier_right(p, is) ? RIGHT : WRONG;
    bool right = true;
    for (int i = 0; i < runs && right; i++)
        right = run_right(p, is, true, false, none, none);
    return right ? RIGHT : WRONG;
}

// ---- mutations

typedef struct mutation {
    const char *name;
    // Changes the program; false: it has nothing that could be changed so. Two actions that a race
    // may be between go to early and late.
    bool (*change)(mlt_goal_program *p, mlt_goal_place *early, mlt_goal_place *late);
} mutation;

static bool is_message(const mlt_goal_action *a)
{
    return mlt_goal_is_message(a);
}

static bool any_action(const mlt_goal_action *a)
{
    return true;
}

static bool has_memory(const mlt_goal_action *a)
{
    return a->kind != MLT_GOAL_NOP && a->kind != MLT_GOAL_CALC && a->size[0];
}

static bool combines(const mlt_goal_action *a)
{
    return has_second(a) && a->op != MLT_OP_COPY;
}

// A random action of that sort; action MLT_GOAL_NONE: there is none.
static mlt_goal_place pick(const mlt_goal_program *p, bool (*sort)(const mlt_goal_action *a))
{
    uint64_t count = 0;
    mlt_goal_place place = {0, MLT_GOAL_NONE};
    for (uint32_t r = 0; r < p->ranks; r++)
        for (uint32_t a = 0; a < p->rank[r].count; a++)
            if (sort(&p->rank[r].actions[a]) && draw(++count) == 0)
                place = (mlt_goal_place){r, a};
    return place;
}

static bool pick_dep(const mlt_goal_program *p, uint32_t *rank, uint32_t *dep)
{
    uint64_t count = 0;
    for (uint32_t r = 0; r < p->ranks; r++)
        for (uint32_t d = 0; d < p->rank[r].deps_count; d++)
            if (draw(++count) == 0) {
                *rank = r;
                *dep = d;
            }
    return count > 0;
}

static mlt_goal_action *action_at(mlt_goal_program *p, mlt_goal_place place)
{
    return &p->rank[place.rank].actions[place.action];
}

static bool drop_dependency(mlt_goal_program *p, mlt_goal_place *early, mlt_goal_place *late)
{
    uint32_t r, d;
    if (!pick_dep(p, &r, &d))
        return false;
    mlt_goal_rank *rank = &p->rank[r];
    *early = (mlt_goal_place){r, rank->deps[d].action};
    *late = (mlt_goal_place){r, rank->deps[d].on};
    rank->deps[d] = rank->deps[--rank->deps_count];
    return true;
}

static bool turn_dependency(mlt_goal_program *p, mlt_goal_place *early, mlt_goal_place *late)
{
    uint32_t r, d;
    if (!pick_dep(p, &r, &d))
        return false;
    mlt_goal_dep *dep = &p->rank[r].deps[d];
    *dep = (mlt_goal_dep){dep->on, dep->action};
    return true;
}

static bool wrong_peer(mlt_goal_program *p, mlt_goal_place *early, mlt_goal_place *late)
{
    mlt_goal_place place = pick(p, is_message);
    if (place.action == MLT_GOAL_NONE)
        return false;
    mlt_goal_action *a = action_at(p, place);
    a->peer = (int32_t)(((uint32_t)a->peer + 1 + draw(p->ranks)) % (p->ranks + 1));
    return true;
}

// A message to another rank on both sides: the data goes astray but everything fits.
static bool wrong_receiver(mlt_goal_program *p, mlt_goal_place *early, mlt_goal_place *late)
{
    mlt_goal_place one = pick(p, is_message), two = pick(p, is_message);
    if (one.action == MLT_GOAL_NONE)
        return false;
    mlt_goal_action *a = action_at(p, one), *b = action_at(p, two);
    if (a->kind != MLT_GOAL_SEND || b->kind != MLT_GOAL_SEND || one.rank != two.rank || a == b ||
        a->size[0] != b->size[0])
        return false;
    uint64_t at = a->at[0]; // what the two send is exchanged
    uint32_t buf = a->buf[0];
    a->at[0] = b->at[0];
    a->buf[0] = b->buf[0];
    b->at[0] = at;
    b->buf[0] = buf;
    return true;
}

static bool wrong_tag(mlt_goal_program *p, mlt_goal_place *early, mlt_goal_place *late)
{
    mlt_goal_place place = pick(p, is_message);
    if (place.action == MLT_GOAL_NONE)
        return false;
    action_at(p, place)->tag += 1 + (int32_t)draw(3);
    return true;
}

static bool wrong_size(mlt_goal_program *p, mlt_goal_place *early, mlt_goal_place *late)
{
    mlt_goal_place place = pick(p, has_memory);
    if (place.action == MLT_GOAL_NONE)
        return false;
    mlt_goal_action *a = action_at(p, place);
    uint64_t bytes = draw(4) ? 8 : 1 + draw(16);
    bool more = draw(2) || a->size[0] < bytes;
    for (int w = 0; w <= has_second(a); w++)
        a->size[w] = more ? a->size[w] + bytes : a->size[w] - bytes;
    return true;
}

static bool wrong_offset(mlt_goal_program *p, mlt_goal_place *early, mlt_goal_place *late)
{
    mlt_goal_place place = pick(p, has_memory);
    if (place.action == MLT_GOAL_NONE)
        return false;
    mlt_goal_action *a = action_at(p, place);
    int w = has_second(a) && draw(2);
    uint64_t bytes = draw(4) ? 8 : 1 + draw(16);
    a->at[w] = draw(2) || a->at[w] < bytes ? a->at[w] + bytes : a->at[w] - bytes;
    return true;
}

static bool wrong_buffer(mlt_goal_program *p, mlt_goal_place *early, mlt_goal_place *late)
{
    mlt_goal_place place = pick(p, has_memory);
    if (place.action == MLT_GOAL_NONE || p->rank[place.rank].buffers_count < 2)
        return false;
    mlt_goal_action *a = action_at(p, place);
    int w = has_second(a) && draw(2);
    uint32_t buffers = p->rank[place.rank].buffers_count;
    a->buf[w] = 1 + (a->buf[w] + (uint32_t)draw(buffers - 1)) % buffers;
    return true;
}

static bool wrong_op(mlt_goal_program *p, mlt_goal_place *early, mlt_goal_place *late)
{
    mlt_goal_place place = pick(p, combines);
    if (place.action == MLT_GOAL_NONE)
        return false;
    mlt_goal_action *a = action_at(p, place);
    a->op = (uint8_t)((a->op + 1 + draw(MLT_OPS - 1)) % MLT_OPS);
    return true;
}

static bool wrong_type(mlt_goal_program *p, mlt_goal_place *early, mlt_goal_place *late)
{
    mlt_goal_place place = pick(p, has_second);
    if (place.action == MLT_GOAL_NONE)
        return false;
    mlt_goal_action *a = action_at(p, place);
    a->type = (uint8_t)((a->type + 1 + draw(MLT_OP_TYPES - 1)) % MLT_OP_TYPES);
    return true;
}

static bool swap_operands(mlt_goal_program *p, mlt_goal_place *early, mlt_goal_place *late)
{
    mlt_goal_place place = pick(p, combines);
    if (place.action == MLT_GOAL_NONE)
        return false;
    action_at(p, place)->flags ^= MLT_GOAL_REVERSED;
    return true;
}

// All that waits for `a` waits for `also` too.
static void wait_also(mlt_goal_program *p, uint32_t r, uint32_t a, uint32_t also)
{
    uint32_t count = p->rank[r].deps_count;
    for (uint32_t d = 0; d < count; d++)
        if (p->rank[r].deps[d].on == a && p->rank[r].deps[d].action != also)
            mlt_goal_require(p, r, p->rank[r].deps[d].action, also);
}

static bool twice(mlt_goal_program *p, mlt_goal_place *early, mlt_goal_place *late)
{
    mlt_goal_place place = pick(p, combines);
    if (place.action == MLT_GOAL_NONE || action_at(p, place)->kind != MLT_GOAL_EXEC)
        return false;
    mlt_goal_action copy = *action_at(p, place);
    uint32_t again = mlt_goal_add(p, place.rank, &copy);
    wait_also(p, place.rank, place.action, again);
    mlt_goal_require(p, place.rank, again, place.action);
    return true;
}

static bool left_out(mlt_goal_program *p, mlt_goal_place *early, mlt_goal_place *late)
{
    mlt_goal_place place = pick(p, has_memory);
    if (place.action == MLT_GOAL_NONE)
        return false;
    action_at(p, place)->kind = MLT_GOAL_NOP;
    return true;
}

// Two actions change places in the order of the program; dependencies go with them. It matters for
// messages of one flow.
static bool swap_places(mlt_goal_program *p, mlt_goal_place *early, mlt_goal_place *late)
{
    mlt_goal_place place = pick(p, any_action);
    if (place.action == MLT_GOAL_NONE || p->rank[place.rank].count < 2)
        return false;
    mlt_goal_rank *rank = &p->rank[place.rank];
    uint32_t a = place.action, b = (a + 1 + (uint32_t)draw(rank->count - 1)) % rank->count;
    mlt_goal_action action = rank->actions[a];
    rank->actions[a] = rank->actions[b];
    rank->actions[b] = action;
    for (uint32_t d = 0; d < rank->deps_count; d++) {
        mlt_goal_dep *dep = &rank->deps[d];
        dep->action = dep->action == a ? b : dep->action == b ? a : dep->action;
        dep->on = dep->on == a ? b : dep->on == b ? a : dep->on;
    }
    return true;
}

static bool add_dependency(mlt_goal_program *p, mlt_goal_place *early, mlt_goal_place *late)
{
    mlt_goal_place place = pick(p, any_action);
    if (place.action == MLT_GOAL_NONE || p->rank[place.rank].count < 2)
        return false;
    uint32_t count = p->rank[place.rank].count;
    mlt_goal_require(p, place.rank, place.action,
                     (place.action + 1 + (uint32_t)draw(count - 1)) % count);
    return true;
}

static const mutation harmful[] = {
    {"a dropped dependency", drop_dependency},
    {"a turned dependency", turn_dependency},
    {"a wrong peer", wrong_peer},
    {"exchanged contents", wrong_receiver},
    {"a wrong tag", wrong_tag},
    {"a wrong size", wrong_size},
    {"a wrong offset", wrong_offset},
    {"a wrong buffer", wrong_buffer},
    {"a wrong operation", wrong_op},
    {"a wrong type", wrong_type},
    {"swapped operands", swap_operands},
    {"a contribution twice", twice},
    {"an action left out", left_out},
    {"exchanged places", swap_places},
    {"one dependency more", add_dependency},
};

// ---- changes that change nothing, by construction

static bool implied_dependency(mlt_goal_program *p, mlt_goal_place *early, mlt_goal_place *late)
{
    static closure c;
    mlt_goal_place place = pick(p, any_action);
    if (place.action == MLT_GOAL_NONE)
        return false;
    close_rank(&p->rank[place.rank], &c);
    uint32_t count = p->rank[place.rank].count, on = (uint32_t)draw(count);
    for (uint32_t i = 0; i < count; i++, on = (on + 1) % count)
        if (c.before[on][place.action]) {
            mlt_goal_require(p, place.rank, place.action, on);
            return true;
        }
    return false;
}

// One that others imply.
static bool drop_redundant(mlt_goal_program *p, mlt_goal_place *early, mlt_goal_place *late)
{
    static closure c;
    uint32_t r = (uint32_t)draw(p->ranks);
    mlt_goal_rank *rank = &p->rank[r];
    for (uint32_t d = 0; d < rank->deps_count; d++) {
        mlt_goal_dep dep = rank->deps[d], last = rank->deps[rank->deps_count - 1];
        rank->deps[d] = last;
        rank->deps_count--;
        close_rank(rank, &c);
        if (c.before[dep.on][dep.action])
            return true;
        rank->deps[rank->deps_count++] = last;
        rank->deps[d] = dep;
    }
    return false;
}

static bool add_noop(mlt_goal_program *p, mlt_goal_place *early, mlt_goal_place *late)
{
    mlt_goal_place place = pick(p, any_action);
    if (place.action == MLT_GOAL_NONE)
        return false;
    mlt_goal_action action = {.kind = draw(2) ? MLT_GOAL_NOP : MLT_GOAL_CALC, .size = {17}};
    uint32_t added = mlt_goal_add(p, place.rank, &action);
    wait_also(p, place.rank, place.action, added);
    mlt_goal_require(p, place.rank, added, place.action);
    return true;
}

static bool rename_labels(mlt_goal_program *p, mlt_goal_place *early, mlt_goal_place *late)
{
    for (uint32_t r = 0; r < p->ranks; r++)
        for (uint32_t a = 0; a < p->rank[r].count; a++) {
            char name[32];
            int n = snprintf(name, sizeof name, "l%" PRIu64, draw(50));
            p->rank[r].actions[a].label = mlt_goal_name(p, name, (size_t)n);
        }
    return true;
}

// Tags by a function of the old tag and both ranks that has one value for each old tag.
static bool change_tags(mlt_goal_program *p, mlt_goal_place *early, mlt_goal_place *late)
{
    uint32_t a = (uint32_t)draw(7), b = (uint32_t)draw(7), c = (uint32_t)draw(100);
    for (uint32_t r = 0; r < p->ranks; r++)
        for (uint32_t i = 0; i < p->rank[r].count; i++) {
            mlt_goal_action *action = &p->rank[r].actions[i];
            if (!mlt_goal_is_message(action))
                continue;
            bool send = action->kind == MLT_GOAL_SEND;
            uint32_t from = send ? r : (uint32_t)action->peer,
                     to = send ? (uint32_t)action->peer : r;
            action->tag += (int32_t)(a * from + b * to + c);
        }
    return true;
}

static bool one_flow(const mlt_goal_action *a, const mlt_goal_action *b)
{
    return mlt_goal_is_message(a) && mlt_goal_is_message(b) && a->peer == b->peer &&
           a->tag == b->tag && (a->kind == MLT_GOAL_SEND) == (b->kind == MLT_GOAL_SEND);
}

// Neighbours of different flows change places, many times.
static bool reorder(mlt_goal_program *p, mlt_goal_place *early, mlt_goal_place *late)
{
    for (uint32_t r = 0; r < p->ranks; r++) {
        mlt_goal_rank *rank = &p->rank[r];
        for (uint32_t k = 0; rank->count > 1 && k < 4 * rank->count; k++) {
            uint32_t a = (uint32_t)draw(rank->count - 1), b = a + 1;
            mlt_goal_action action = rank->actions[a];
            if (one_flow(&action, &rank->actions[b]))
                continue;
            rank->actions[a] = rank->actions[b];
            rank->actions[b] = action;
            for (uint32_t d = 0; d < rank->deps_count; d++) {
                mlt_goal_dep *dep = &rank->deps[d];
                dep->action = dep->action == a ? b : dep->action == b ? a : dep->action;
                dep->on = dep->on == a ? b : dep->on == b ? a : dep->on;
            }
        }
    }
    return true;
}

// The second half of the elements becomes an action of its own.
static bool split_exec(mlt_goal_program *p, mlt_goal_place *early, mlt_goal_place *late)
{
    mlt_goal_place place = pick(p, has_second);
    if (place.action == MLT_GOAL_NONE || action_at(p, place)->kind != MLT_GOAL_EXEC)
        return false;
    mlt_goal_action *first = action_at(p, place), second = *first;
    uint64_t element = mlt_op_type_bytes[first->type], elements = first->size[0] / element;
    if (elements < 2)
        return false;
    for (int w = 0; w < 2; w++) {
        uint64_t half = elements / 2 * element;
        first->size[w] = half;
        second.at[w] += half;
        second.size[w] -= half;
    }
    uint32_t added = mlt_goal_add(p, place.rank, &second);
    wait_also(p, place.rank, place.action, added);
    uint32_t count = p->rank[place.rank].deps_count;
    for (uint32_t d = 0; d < count; d++)
        if (p->rank[place.rank].deps[d].action == place.action)
            mlt_goal_require(p, place.rank, added, p->rank[place.rank].deps[d].on);
    return true;
}

static bool synchronous_send(mlt_goal_program *p, mlt_goal_place *early, mlt_goal_place *late)
{
    mlt_goal_place place = pick(p, is_message);
    if (place.action == MLT_GOAL_NONE || action_at(p, place)->kind != MLT_GOAL_SEND)
        return false;
    action_at(p, place)->flags |= MLT_GOAL_SYNCHRONOUS;
    return true;
}

static const mutation harmless[] = {
    {"an implied dependency", implied_dependency},
    {"a redundant dependency less", drop_redundant},
    {"a no-op", add_noop},
    {"other labels", rename_labels},
    {"other tags on both sides", change_tags},
    {"another order of independent actions", reorder},
    {"an exec in two parts", split_exec},
    {"a synchronous send", synchronous_send},
};

// ---- the test

typedef struct tally {
    uint64_t matter, rejected; // mutations that matter by the oracle
    uint64_t idle, accepted;   // that change nothing
    uint64_t by[VERDICTS];
    uint64_t races_shown;
} tally;

static bool accepts(const mlt_goal_program *p, const mlt_goal_spec *is, bool tell)
{
    mlt_goal_verdict *v = mlt_goal_check(p, &(mlt_goal_check_options){.is = is, .limit = 3});
    bool ok = mlt_goal_verdict_ok(v);
    if (tell)
        mlt_goal_verdict_print(v, stderr);
    mlt_goal_verdict_free(v);
    return ok;
}

static _Noreturn void disagree(const mlt_goal_program *p, const mlt_goal_spec *is, const char *what,
                               verdict truth)
{
    fprintf(stderr, "the oracle calls it %s, the checker does not: %s\n", verdict_names[truth],
            what);
    for (uint32_t r = 0; r < p->ranks; r++) {
        for (uint32_t a = 0; a < p->rank[r].count; a++) {
            char text[512];
            fprintf(stderr, "%s\n", mlt_goal_describe(p, r, a, text, sizeof text));
        }
        for (uint32_t d = 0; d < p->rank[r].deps_count; d++)
            fprintf(stderr, "  %" PRIu32 " requires %" PRIu32 "\n", p->rank[r].deps[d].action,
                    p->rank[r].deps[d].on);
    }
    accepts(p, is, true);
    exit(1);
}

// Whether some order of the racing program gives something wrong.
static bool race_shows(const mlt_goal_program *p, const mlt_goal_spec *is, mlt_goal_place early,
                       mlt_goal_place late)
{
    mlt_goal_place none = {UINT32_MAX, 0};
    for (int i = 0; i < 6; i++)
        if (!run_right(p, is, false, true, i < 3 ? early : none, late))
            return true;
    return false;
}

static void try_one(const mlt_goal_program *original, const mlt_goal_spec *is, const mutation *m,
                    bool must_be_right, const char *name, tally *t)
{
    mlt_goal_program *p = mlt_goal_program_copy(original);
    mlt_goal_place early = {UINT32_MAX, 0}, late = {UINT32_MAX, 0};
    char what[256];
    uint64_t before = seed;
    if (m->change(p, &early, &late)) {
        snprintf(what, sizeof what, "%s over %" PRIu32 " ranks with %s (seed %" PRIu64 ")", name,
                 p->ranks, m->name, before);
        // A sum of halves is often that of the whole, if nothing is carried: other bytes show it.
        verdict truth = oracle(p, is, m->change == wrong_type ? 20 : 1);
        bool accepted = accepts(p, is, false);
        if (accepted != (truth == RIGHT) || (must_be_right && truth != RIGHT))
            disagree(p, is, what, truth);
        t->by[truth]++;
        if (truth == RACE)
            t->races_shown += race_shows(p, is, early, late);
        t->matter += truth != RIGHT;
        t->rejected += truth != RIGHT && !accepted;
        t->idle += truth == RIGHT;
        t->accepted += truth == RIGHT && accepted;
    }
    mlt_goal_program_free(p);
}

static mlt_goal_program *make(const mlt_coll_alg *alg, const mlt_coll_shape *shape)
{
    mlt_goal_program *p = NULL;
    char why[512];
    if (alg->refuses && alg->refuses(shape))
        return NULL;
    if (mlt_coll_program(alg, shape, NULL, NULL, &p, why, sizeof why) != MLT_OK) {
        fprintf(stderr, "%s\n", why);
        exit(1);
    }
    return p;
}

static bool small_enough(const mlt_goal_program *p)
{
    for (uint32_t r = 0; r < p->ranks; r++)
        if (p->rank[r].count > MOST_ACTIONS / 2)
            return false;
    return true;
}

static void mutate(const mlt_coll_alg *alg, const mlt_coll_shape *shape, int tries, tally *t)
{
    char name[128];
    snprintf(name, sizeof name, "%s.%s", mlt_collective_names[alg->collective], alg->name);
    mlt_goal_program *p = make(alg, shape);
    if (!p)
        return;
    mlt_goal_spec is = mlt_coll_spec(alg, shape);
    verdict truth = oracle(p, &is, 1);
    if (truth != RIGHT || !accepts(p, &is, false))
        disagree(p, &is, name, truth);
    for (int i = 0; i < tries && small_enough(p); i++) {
        for (size_t m = 0; m < sizeof harmful / sizeof *harmful; m++)
            try_one(p, &is, &harmful[m], false, name, t);
        for (size_t m = 0; m < sizeof harmless / sizeof *harmless; m++)
            try_one(p, &is, &harmless[m], true, name, t);
    }
    mlt_goal_program_free(p);
}

// Plain shapes, and what else the algorithm can.
enum { IN_PLACE = 3, UNEVEN, BOTH, USER, KINDS };

static void mutate_kind(const mlt_coll_alg *alg, uint32_t ranks, int kind, int tries, tally *t)
{
    static const uint64_t counts[] = {5, 1, 8, 3}, segments[] = {2, 0, 3, 0};
    static const uint32_t radices[] = {0, 2, 3, 0};
    int plain = kind < IN_PLACE ? kind : 3;
    mlt_coll_shape shape = {.ranks = ranks,
                            .root = (ranks - 1) / 2,
                            .count = counts[plain],
                            .op = MLT_OP_SUM,
                            .type = MLT_OP_INT64,
                            .segment = segments[plain],
                            .radix = radices[plain],
                            .window = plain < 2 ? 0 : 2,
                            .in_place = kind == IN_PLACE || kind == BOTH};
    bool uneven = kind == UNEVEN || kind == BOTH;
    if (kind == USER) {
        shape.op = MLT_OPS;
        shape.element = HAND_ELEMENT;
        uneven = alg->uneven;
    }
    if ((shape.in_place && !alg->in_place) || (uneven && !alg->uneven) ||
        (kind == USER && !mlt_collective_reduces(alg->collective)))
        return;
    arrays a = arrays_new(&shape, alg, uneven, &seed);
    mutate(alg, &shape, tries, t);
    arrays_free(&a, ranks);
}

// coll_alg_mutate [TRIES]: of each mutation on each program.
int main(int argc, char **argv)
{
    int tries = argc > 1 ? atoi(argv[1]) : 1;
    tally t = {0};
    double begin = now();
    for (int i = 0; mlt_coll_algs[i]; i++)
        for (uint32_t ranks = 1; ranks <= 9; ranks++)
            for (int kind = 0; kind < KINDS; kind++)
                mutate_kind(mlt_coll_algs[i], ranks, kind, tries, &t);
    printf("rejected %" PRIu64 " of %" PRIu64 " mutations that matter, accepted %" PRIu64
           " of %" PRIu64 " that change nothing, in %.2f s\n",
           t.rejected, t.matter, t.accepted, t.idle, now() - begin);
    for (int v = 0; v < VERDICTS; v++)
        printf("%8" PRIu64 " %s\n", t.by[v], verdict_names[v]);
    printf("of those that race, %" PRIu64 " were seen to go wrong\n", t.races_shown);
    bool enough =
        t.rejected == t.matter && t.accepted == t.idle && t.matter >= 300 && t.idle >= 300;
    for (int v = 0; v < VERDICTS; v++)
        enough &= t.by[v] >= 10; // each sort of fault is tried
    if (!enough)
        fprintf(stderr, "too few mutations of some sort\n");
    return enough ? 0 : 1;
}
