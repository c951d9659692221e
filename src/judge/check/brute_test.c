// SPDX-License-Identifier: BSD-3-Clause
// The checker before a judge that knows nothing of graphs: tiny random programs, of which every
// state is visited that any order of starts and ends can reach. What is found by looking at all of
// them must be what the checker says of cycles, deadlocks, races and barriers, and what the graph
// says of who comes before whom.
#include "goal/graph.h"
#include "goal/program_test.h"
#include "judge/check/check_test.h"

enum { MOST = 10, RANKS = 3, MEMORY = 8 }; // actions of all ranks: 3^10 states

static uint64_t number; // of the program

#define AGREE(condition) ((condition) ? (void)0 : differ(__LINE__, #condition))

static _Noreturn void differ(int line, const char *condition)
{
    fprintf(stderr, "program %llu: ", (unsigned long long)number);
    failed(__FILE__, line, condition);
}

// ---- programs

static mlt_goal_span span(uint32_t size)
{
    return (mlt_goal_span){below(8) ? MLT_GOAL_MEMORY : 1, below(MEMORY - size + 1), size};
}

// Sends and receives come in pairs; sometimes to oneself, synchronous, fused.
static void add_message(mlt_goal_program *p)
{
    uint32_t from = below(p->ranks), to = below(p->ranks), size = below(4);
    int32_t tag = below(5) == 0;
    mlt_goal_span a = span(size), b = span(size), c = span(size);
    mlt_goal_action recv = {.kind = MLT_GOAL_RECV,
                            .op = MLT_OP_SUM,
                            .type = MLT_OP_INT8,
                            .peer = (int32_t)from,
                            .tag = tag,
                            .buf = {b.buf, c.buf},
                            .at = {b.at, c.at},
                            .size = {size, size}};
    bool apart = b.buf != c.buf || b.at + size <= c.at || c.at + size <= b.at;
    if (apart && below(3) == 0)
        recv.kind = below(2) ? MLT_GOAL_RECV_EXEC : MLT_GOAL_RECV_USER;
    bool first = below(2);
    if (first)
        mlt_goal_add(p, to, &recv);
    uint32_t send = mlt_goal_send(p, from, a, (int32_t)to, tag);
    if (below(8) == 0)
        p->rank[from].actions[send].flags = MLT_GOAL_SYNCHRONOUS;
    if (!first)
        mlt_goal_add(p, to, &recv);
}

static void add_local(mlt_goal_program *p, uint32_t r)
{
    uint32_t size = below(4);
    mlt_goal_span a = span(size), b = span(size);
    bool apart = a.buf != b.buf || a.at + size <= b.at || b.at + size <= a.at;
    if (apart)
        mlt_goal_exec(p, r, below(2) ? MLT_OP_COPY : MLT_OP_SUM, MLT_OP_INT8, a, b);
    else
        mlt_goal_add(p, r, &(mlt_goal_action){.kind = MLT_GOAL_NOP});
}

// Chains in a random order, or a few dependencies, which may go round.
static void add_dependencies(mlt_goal_program *p, uint32_t r)
{
    uint32_t count = p->rank[r].count, place[MOST];
    for (uint32_t i = 0; i < count; i++) {
        uint32_t j = below(i + 1);
        place[i] = place[j];
        place[j] = i;
    }
    bool chain = below(2);
    for (uint32_t n = chain ? count : below(2 * count + 1), i = 1; i < n && count > 1; i++) {
        uint32_t late = chain ? i : 1 + below(count - 1), early = chain ? i - 1 : below(late);
        bool back = below(40) == 0;
        mlt_goal_require(p, r, place[back ? early : late],
                         place[back ? late : early] | (below(5) ? 0 : MLT_GOAL_STARTED));
    }
}

static mlt_goal_program *random_program(void)
{
    mlt_goal_program *p = mlt_goal_program_new(1 + below(RANKS));
    uint32_t left = MOST;
    for (uint32_t r = 0; r < p->ranks; r++)
        mlt_goal_buffer_add(p, r, "b", MEMORY);
    for (uint32_t n = 1 + below(6); n-- > 0 && left > 1;) {
        bool message = below(3) > 0;
        if (message)
            add_message(p);
        else
            add_local(p, below(p->ranks));
        left -= 1 + message;
    }
    for (uint32_t r = 0; r < p->ranks; r++)
        add_dependencies(p, r);
    return p;
}

// ---- all states: an action has not started (0), has started (1), has ended (2)

typedef struct judge {
    const mlt_goal_program *program;
    mlt_goal_pairs *pairs;
    uint32_t count;
    mlt_goal_place place[MOST];
    bool alone, synchronous;          // alone: messages are waited for by nobody
    bool stuck, early;                // early: a rank was over before another one had begun
    bool not_before[MOST][MOST];      // [a][b]: b had started, a not ended
    bool not_started[MOST][MOST];     // ... a not even started
    bool at_once[MOST][MOST];         // both were under way
    uint8_t state[MOST], seen[59049]; // 3^MOST
} judge;

static bool may_start(const judge *j, uint32_t a)
{
    const mlt_goal_rank *rank = &j->program->rank[j->place[a].rank];
    uint32_t base = a - j->place[a].action;
    for (uint32_t d = 0; d < rank->deps_count; d++) {
        mlt_goal_dep dep = rank->deps[d];
        uint32_t on = mlt_goal_plain(dep.on);
        if (base + dep.action == a && j->state[base + on] < (on == dep.on ? 2 : 1))
            return false;
    }
    return true;
}

static bool may_end(const judge *j, uint32_t a)
{
    mlt_goal_place at = j->place[a];
    const mlt_goal_action *action = &j->program->rank[at.rank].actions[at.action];
    bool waits = action->kind == MLT_GOAL_SEND
                     ? j->synchronous || action->flags & MLT_GOAL_SYNCHRONOUS
                     : mlt_goal_is_recv(action);
    mlt_goal_place other = mlt_goal_partner(j->pairs, at.rank, at.action);
    return j->alone || !waits || j->state[j->pairs->first[other.rank] + other.action] > 0;
}

static void note(judge *j)
{
    bool over[RANKS] = {true, true, true}, begun[RANKS] = {false};
    for (uint32_t a = 0; a < j->count; a++) {
        over[j->place[a].rank] &= j->state[a] == 2;
        begun[j->place[a].rank] |= j->state[a] > 0;
        for (uint32_t b = 0; b < j->count; b++) {
            j->not_before[a][b] |= j->state[b] && j->state[a] < 2;
            j->not_started[a][b] |= j->state[b] && !j->state[a];
            j->at_once[a][b] |= j->state[a] == 1 && j->state[b] == 1;
        }
    }
    for (uint32_t r = 0; r < j->program->ranks; r++)
        for (uint32_t other = 0; other < j->program->ranks; other++)
            j->early |= r != other && over[r] && !begun[other];
}

static void visit(judge *j)
{
    uint32_t code = 0, ended = 0;
    for (uint32_t a = 0; a < j->count; a++) {
        code = 3 * code + j->state[a];
        ended += j->state[a] == 2;
    }
    if (j->seen[code])
        return;
    j->seen[code] = 1;
    note(j);
    bool moves = false;
    for (uint32_t a = 0; a < j->count; a++) {
        if (j->state[a] == 2 || !(j->state[a] ? may_end(j, a) : may_start(j, a)))
            continue;
        moves = true;
        j->state[a]++;
        visit(j);
        j->state[a]--;
    }
    j->stuck |= !moves && ended < j->count;
}

static void explore(judge *j, bool alone, bool synchronous)
{
    judge fresh = {.program = j->program, .pairs = j->pairs, .alone = alone};
    fresh.synchronous = synchronous;
    *j = fresh;
    for (uint32_t r = 0; r < j->program->ranks; r++)
        for (uint32_t a = 0; a < j->program->rank[r].count; a++)
            j->place[j->count++] = (mlt_goal_place){r, a};
    visit(j);
}

// ---- comparing

static bool conflict(const mlt_goal_action *x, const mlt_goal_action *y)
{
    mlt_goal_access a[2], b[2];
    int n = mlt_goal_accesses(x, a), m = mlt_goal_accesses(y, b);
    for (int i = 0; i < n; i++)
        for (int k = 0; k < m; k++)
            for (uint64_t byte = 0; byte < a[i].span.size; byte++)
                if (a[i].span.buf == b[k].span.buf && a[i].span.at + byte >= b[k].span.at &&
                    a[i].span.at + byte < b[k].span.at + b[k].span.size &&
                    (a[i].writes || b[k].writes))
                    return true;
    return false;
}

static uint64_t count_races(const judge *j)
{
    uint64_t races = 0;
    for (uint32_t a = 0; a < j->count; a++)
        for (uint32_t b = 0; b < a; b++) {
            const mlt_goal_rank *rank = &j->program->rank[j->place[a].rank];
            races +=
                j->place[a].rank == j->place[b].rank && j->at_once[a][b] &&
                conflict(&rank->actions[j->place[a].action], &rank->actions[j->place[b].action]);
        }
    return races;
}

static void compare_graph(const judge *j, uint32_t r)
{
    mlt_goal_graph *graph = mlt_goal_graph_new(&j->program->rank[r]);
    uint64_t first = j->pairs->first[r];
    for (uint32_t a = 0; a < graph->count; a++)
        for (uint32_t b = 0; b < graph->count; b++) {
            if (a == b)
                continue;
            AGREE(mlt_goal_before(graph, a, b) == !j->not_before[first + a][first + b]);
            AGREE(mlt_goal_chain(graph, a, b, true) == !j->not_before[first + a][first + b]);
            AGREE(mlt_goal_chain(graph, a, b, false) == !j->not_started[first + a][first + b]);
        }
    mlt_goal_graph_free(graph);
}

typedef struct tally {
    uint64_t cycles, races, buffered, synchronous, fine, barriers;
} tally;

static void compare(const mlt_goal_program *p, judge *j, tally *t)
{
    static const mlt_goal_spec barrier = {.collective = MLT_COLL_BARRIER};
    mlt_goal_verdict *verdict = ask(p, &barrier);
    const uint64_t *found = verdict->found;
    j->program = p;
    j->pairs = mlt_goal_pairs_new(p);
    explore(j, true, false);
    AGREE((found[MLT_FAULT_CYCLE] > 0) == j->stuck);
    t->cycles += j->stuck;
    if (!j->stuck) {
        uint64_t races = count_races(j);
        AGREE(found[MLT_FAULT_RACE] == races);
        for (uint32_t r = 0; r < p->ranks; r++)
            compare_graph(j, r);
        explore(j, false, false);
        bool buffered = j->stuck;
        AGREE(buffered || (found[MLT_FAULT_RESULT] > 0) == j->early);
        t->barriers += p->ranks > 1 && !buffered && !j->early;
        explore(j, false, true);
        AGREE(found[MLT_FAULT_DEADLOCK] == (buffered || j->stuck));
        AGREE(j->stuck || !buffered);
        t->races += races > 0;
        t->buffered += buffered;
        t->synchronous += j->stuck && !buffered;
        t->fine += !races && !j->stuck;
    }
    mlt_goal_pairs_free(j->pairs);
    mlt_goal_verdict_free(verdict);
}

int main(int argc, char **argv)
{
    uint64_t programs = argc > 1 ? strtoull(argv[1], NULL, 10) : 3000;
    judge *j = malloc(sizeof *j);
    tally t = {0};
    CHECK(j);
    for (number = 1; number <= programs; number++) {
        random_state = number;
        mlt_goal_program *p = random_program();
        compare(p, j, &t);
        mlt_goal_program_free(p);
    }
    free(j);
    printf("%llu programs: %llu with cycles, %llu with races, %llu that hang, %llu more if sends "
           "are synchronous, %llu without any; %llu are barriers\n",
           (unsigned long long)programs, (unsigned long long)t.cycles, (unsigned long long)t.races,
           (unsigned long long)t.buffered, (unsigned long long)t.synchronous,
           (unsigned long long)t.fine, (unsigned long long)t.barriers);
    CHECK(t.cycles && t.races && t.buffered && t.synchronous && t.fine && t.barriers);
    return 0;
}
