// SPDX-License-Identifier: BSD-3-Clause
// A model of how workers sleep and are woken (wire.c, boot/job.c), and a search through all of its
// states: whatever the order of steps, no sender's message stays behind in a worker that sleeps.
// Then the same with mistakes put in on purpose, each of which must be found.
//
// One thread receives, up to three send. Every step is one access to memory. Stores go into a
// buffer of their thread first, and reach memory later. Two machines:
//
//     TSO   buffers are first in, first out (x86-64)
//     WEAK  stores to different words pass each other, unless the later one is a release; an
//           exchange that only acquires may read its own thread's store out of the buffer, and
//           take effect with it (aarch64)
//
// Loads take place in the order of the program on both; aarch64 may do some of them earlier, so
// that on this point the model says less than the machine.
//
// A sender may be held up for ever after it has claimed the sleeper. Its own message may then stay
// behind, but nobody else's.
//
// The other three handshakes of a sleeper (room in a ring, chunks, the launcher's question) are the
// same two steps on each side: they are `simple` below.
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SENDERS = 3, THREADS = SENDERS + 1, RECEIVER = SENDERS, BUFFER = 4 };

// Words of memory. SIMPLE: what a simple handshake is about (chunk free, slots freed, question);
// STARVED: the extra flag of room in a ring.
enum {
    STAMP,
    ATTENDED = STAMP + SENDERS,
    BIT = ATTENDED + SENDERS,
    NEWS = BIT + SENDERS,
    ASLEEP,
    SIMPLE,
    STARVED,
    WORDS
};

enum { AWAKE, SLEEPS, LISTENS, ROUSED, RUNG, STATES = 8 }; // ASLEEP: state + STATES * nap

typedef enum mistake {
    NONE,
    NO_FENCE_AFTER_STAMP, // the sender looks at `attended` before its stamp can be seen
    NO_BARRIER_WHEN_LEAVING,
    NO_SECOND_LOOK, // after leaving the rings
    NO_FENCE_AFTER_ANNOUNCE,
    NO_RECHECK,        // of the news after announcing
    NEWS_CLEARED_LATE, // after the bits were looked at
    NEWS_CLEARED_BY_STORE,
    NEWS_SET_BY_STORE, // by the receiver, for a ring that it leaves
    NEWS_BEFORE_BIT,
    WAKE_BEFORE_NEWS,
    NOBODY_HELPS,           // the claim is AWAKE already: later senders take the sleeper for awake
    NO_NAP_NUMBERS,         // a late waker ends the claim on a later nap
    NO_FENCE_BEFORE_SIMPLE, // the waker looks at `state` before its change can be seen
    STARVED_AFTER_LOOK,     // for room
} mistake;

typedef struct setup {
    const char *name;
    uint8_t senders, messages; // messages of the first sender; each other sends one
    uint8_t hot_most;          // rings attended to at most
    bool membarrier, weak, doorbell, mixed, simple, starved, held_up;
    mistake mistake;
} setup;

typedef struct thread {
    uint8_t at, n; // where in its program; entries of the buffer
    uint8_t word[BUFFER], value[BUFFER], release[BUFFER];
    uint8_t i, seen;
} thread;

typedef struct state {
    uint8_t memory[WORDS];
    thread threads[THREADS];
    uint8_t got[SENDERS], sent[SENDERS], hot, other, nap, how, doorbells;
} state;
_Static_assert(sizeof(state) % sizeof(uint64_t) == 0, "hash reads whole words");

static const setup *now;

static bool wrong(mistake m)
{
    return now->mistake == m;
}

// ---- memory

static uint8_t load(const state *s, int t, int word)
{
    const thread *me = &s->threads[t];
    for (int i = me->n - 1; i >= 0; i--)
        if (me->word[i] == word)
            return me->value[i];
    return s->memory[word];
}

static bool store(state *s, int t, int word, int value, bool release)
{
    thread *me = &s->threads[t];
    if (me->n == BUFFER)
        return false;
    me->word[me->n] = (uint8_t)word;
    me->value[me->n] = (uint8_t)value;
    me->release[me->n++] = release;
    return true;
}

static bool fence(const state *s, int t)
{
    return s->threads[t].n == 0;
}

// All threads' buffers are empty: what membarrier is for the others' programs.
static bool fence_all(const state *s)
{
    for (int t = 0; t < THREADS; t++)
        if (s->threads[t].n)
            return false;
    return true;
}

// An exchange that is at least a release, or TSO's: everything before it has reached memory.
static bool swap(state *s, int t, int word, int value)
{
    if (!fence(s, t))
        return false;
    s->memory[word] = (uint8_t)value;
    return true;
}

static bool swap_acquire(state *s, int t, int word, int value)
{
    thread *me = &s->threads[t];
    if (!now->weak)
        return swap(s, t, word, value);
    for (int i = me->n - 1; i >= 0; i--)
        if (me->word[i] == word) {
            me->value[i] = (uint8_t)value; // both at once, later
            return true;
        }
    s->memory[word] = (uint8_t)value;
    return true;
}

static bool may_drain(const thread *me, int i)
{
    if (i >= me->n || (i > 0 && (!now->weak || me->release[i])))
        return false;
    for (int k = 0; k < i; k++)
        if (me->word[k] == me->word[i])
            return false;
    return true;
}

static void drain(state *s, int t, int i)
{
    thread *me = &s->threads[t];
    s->memory[me->word[i]] = me->value[i];
    me->n--;
    for (int k = i; k < me->n; k++) {
        me->word[k] = me->word[k + 1];
        me->value[k] = me->value[k + 1];
        me->release[k] = me->release[k + 1];
    }
    me->word[me->n] = me->value[me->n] = me->release[me->n] = 0; // equal states look equal
}

// ---- senders

enum {
    S_PUBLISH,
    S_FENCE,
    S_ATTENDED,
    S_BIT,
    S_NEWS,
    S_WAKE,
    S_ASLEEP,
    S_CLAIM,
    S_CALL,
    S_UNCLAIM,
    S_NEXT,
    S_DONE,
    S_HELD_UP,
    S_SIMPLE,
    S_SIMPLE_FENCE,
    S_STARVED,
    R_PEEK,
    R_NEWS,
    R_GATHER,
    R_BITS,
    R_TAKE,
    R_ATTEND,
    R_EVICT,
    R_EVICTED,
    R_RETURN_BIT,
    R_RETURN_NEWS,
    R_LEAVE,
    R_LEFT,
    R_RELOOK,
    R_REATTEND,
    R_STARVE,
    R_STARVED,
    R_ANNOUNCE,
    R_ANNOUNCED,
    R_RECHECK,
    R_RECHECK_SIMPLE,
    R_BLOCK,
    R_BLOCKED,
    R_RISE,
    R_SATISFIED,
};

static int state_of(int word)
{
    return word % STATES;
}

static void wake_futex(state *s)
{
    thread *r = &s->threads[RECEIVER];
    if (r->at == R_BLOCKED && s->how == SLEEPS)
        r->at = R_RISE;
}

static bool claim(state *s, int t)
{
    thread *me = &s->threads[t];
    int seen = state_of(me->seen);
    if (seen == AWAKE || (wrong(NOBODY_HELPS) && (seen == ROUSED || seen == RUNG))) {
        me->at = S_NEXT;
        return true;
    }
    me->at = S_CALL;
    if (seen == ROUSED || seen == RUNG)
        return true;
    int claimed = me->seen - seen + (seen == SLEEPS ? ROUSED : RUNG);
    if (!fence(s, t))
        return false; // a compare and swap is an exchange
    if (s->memory[ASLEEP] == me->seen) {
        s->memory[ASLEEP] = (uint8_t)(wrong(NOBODY_HELPS) ? AWAKE : claimed);
        me->seen = (uint8_t)claimed;
    } else if (s->memory[ASLEEP] != claimed) {
        me->at = S_NEXT;
    } else {
        me->seen = (uint8_t)claimed;
    }
    return true;
}

static bool send(state *s, int t)
{
    thread *me = &s->threads[t];
    switch (me->at) {
    case S_PUBLISH:
        me->at = now->simple ? S_SIMPLE : S_FENCE;
        if (now->simple)
            return true;
        s->sent[t]++;
        return store(s, t, STAMP + t, s->sent[t], true);
    case S_FENCE:
        me->at = S_ATTENDED;
        return now->membarrier || wrong(NO_FENCE_AFTER_STAMP) || fence(s, t);
    case S_ATTENDED:
        me->at = load(s, t, ATTENDED + t)  ? S_NEXT
                 : wrong(WAKE_BEFORE_NEWS) ? S_WAKE
                 : wrong(NEWS_BEFORE_BIT)  ? S_NEWS
                                           : S_BIT;
        return true;
    case S_BIT:
        me->at = wrong(NEWS_BEFORE_BIT) ? S_WAKE : S_NEWS;
        return swap(s, t, BIT + t, 1);
    case S_NEWS:
        me->at = wrong(NEWS_BEFORE_BIT) ? S_BIT : wrong(WAKE_BEFORE_NEWS) ? S_NEXT : S_WAKE;
        return swap(s, t, NEWS, 1);
    case S_SIMPLE: // a chunk is free, slots are free, a question is asked
        me->at = S_SIMPLE_FENCE;
        s->sent[t]++;
        return store(s, t, SIMPLE, s->sent[t], true);
    case S_SIMPLE_FENCE:
        me->at = now->starved ? S_STARVED : S_WAKE;
        return wrong(NO_FENCE_BEFORE_SIMPLE) || fence(s, t);
    case S_STARVED:
        me->at = load(s, t, STARVED) ? S_WAKE : S_NEXT;
        return true;
    case S_WAKE:
        me->at = S_ASLEEP;
        return wrong(NO_FENCE_BEFORE_SIMPLE) || fence(s, t);
    case S_ASLEEP:
        me->at = S_CLAIM;
        me->seen = load(s, t, ASLEEP);
        return true;
    case S_CLAIM:
        if (!claim(s, t))
            return false;
        if (me->at == S_NEXT && wrong(WAKE_BEFORE_NEWS))
            me->at = S_BIT;
        return true;
    case S_CALL:
        me->at = S_UNCLAIM;
        if (state_of(me->seen) == ROUSED)
            wake_futex(s);
        else
            s->doorbells = 1;
        return true;
    case S_UNCLAIM:
        me->at = wrong(WAKE_BEFORE_NEWS) ? S_BIT : S_NEXT;
        if (!fence(s, t))
            return false;
        if (s->memory[ASLEEP] == me->seen)
            s->memory[ASLEEP] = AWAKE;
        return true;
    case S_NEXT:
        me->seen = 0;
        me->at = s->sent[t] < (t == 0 ? now->messages : 1) ? S_PUBLISH : S_DONE;
        return true;
    default:
        return false;
    }
}

// ---- the receiver

static bool barrier(const state *s)
{
    return wrong(NO_BARRIER_WHEN_LEAVING) || (now->membarrier ? fence_all(s) : fence(s, RECEIVER));
}

// The first ring from `i` on that is attended to, or SENDERS.
static uint8_t next_hot(const state *s, uint8_t i)
{
    while (i < SENDERS && !(s->hot >> i & 1))
        i++;
    return i;
}

static bool receive_messages(state *s)
{
    thread *me = &s->threads[RECEIVER];
    const int t = RECEIVER;
    switch (me->at) {
    case R_PEEK:
        me->i = next_hot(s, me->i);
        if (me->i == SENDERS)
            me->at = R_NEWS;
        else if (load(s, t, STAMP + me->i) > s->got[me->i])
            s->got[me->i]++;
        else
            me->i++;
        return true;
    case R_NEWS:
        me->i = 0;
        me->at = !load(s, t, NEWS) ? R_LEAVE : wrong(NEWS_CLEARED_LATE) ? R_BITS : R_GATHER;
        return true;
    case R_GATHER:
        me->at = wrong(NEWS_CLEARED_LATE) ? R_PEEK : R_BITS;
        me->i = 0;
        return wrong(NEWS_CLEARED_BY_STORE) ? store(s, t, NEWS, 0, false)
                                            : swap_acquire(s, t, NEWS, 0);
    case R_BITS:
        if (me->i == SENDERS) {
            me->i = 0;
            me->at = wrong(NEWS_CLEARED_LATE) ? R_GATHER : R_PEEK;
        } else if (load(s, t, BIT + me->i)) {
            me->at = R_TAKE;
        } else {
            me->i++;
        }
        return true;
    case R_TAKE:
        me->at = R_ATTEND;
        return swap_acquire(s, t, BIT + me->i, 0);
    case R_ATTEND: {
        uint8_t others = (uint8_t)(s->hot & ~(1 << me->i));
        if (others && __builtin_popcount(s->hot | 1u << me->i) > now->hot_most) {
            s->other = (uint8_t)__builtin_ctz(others);
            me->at = R_EVICT;
            return store(s, t, ATTENDED + s->other, 0, false);
        }
        s->hot |= (uint8_t)(1 << me->i);
        me->at = R_BITS;
        return store(s, t, ATTENDED + me->i++, 1, false);
    }
    case R_EVICT:
        me->at = R_EVICTED;
        return barrier(s);
    case R_EVICTED:
        s->hot &= (uint8_t) ~(1 << s->other);
        me->at = !wrong(NO_SECOND_LOOK) && load(s, t, STAMP + s->other) > s->got[s->other]
                     ? R_RETURN_BIT
                     : R_ATTEND;
        return true;
    case R_RETURN_BIT:
        me->at = R_RETURN_NEWS;
        return swap(s, t, BIT + s->other, 1);
    case R_RETURN_NEWS:
        me->at = R_ATTEND;
        return wrong(NEWS_SET_BY_STORE) ? store(s, t, NEWS, 1, false) : swap(s, t, NEWS, 1);
    default:
        return false;
    }
}

static bool leave_rings(state *s)
{
    thread *me = &s->threads[RECEIVER];
    const int t = RECEIVER;
    me->i = me->at == R_LEFT ? 0 : next_hot(s, me->i);
    switch (me->at) {
    case R_LEAVE:
        if (me->i < SENDERS)
            return store(s, t, ATTENDED + me->i++, 0, false);
        me->at = R_LEFT;
        return true;
    case R_LEFT:
        me->at = R_RELOOK;
        return barrier(s);
    case R_RELOOK:
        if (me->i == SENDERS || wrong(NO_SECOND_LOOK)) {
            s->hot = me->i = 0;
            me->at = now->starved && !wrong(STARVED_AFTER_LOOK) ? R_STARVE : R_ANNOUNCE;
        } else if (load(s, t, STAMP + me->i) > s->got[me->i]) {
            me->i = 0;
            me->at = R_REATTEND;
        } else {
            me->i++;
        }
        return true;
    default: // R_REATTEND
        if (me->i < SENDERS)
            return store(s, t, ATTENDED + me->i++, 1, false);
        me->i = 0;
        me->at = R_PEEK;
        return true;
    }
}

// In a simple handshake the sleeper is content when it has seen all changes.
static bool is_content(const state *s)
{
    return load(s, RECEIVER, SIMPLE) == now->messages;
}

static bool doze(state *s, bool listens)
{
    thread *me = &s->threads[RECEIVER];
    const int t = RECEIVER;
    switch (me->at) {
    case R_STARVE:
        me->at = R_STARVED;
        return store(s, t, STARVED, 1, false);
    case R_STARVED:
        me->at = wrong(STARVED_AFTER_LOOK) ? R_BLOCK : R_ANNOUNCE;
        return fence(s, t);
    case R_ANNOUNCE:
        s->nap = (uint8_t)(wrong(NO_NAP_NUMBERS) ? 0 : (s->nap + STATES) % 256);
        s->how = listens ? LISTENS : SLEEPS;
        me->at = R_ANNOUNCED;
        return store(s, t, ASLEEP, s->nap + s->how, true);
    case R_ANNOUNCED:
        me->at = wrong(NO_RECHECK) ? R_BLOCK : R_RECHECK;
        return wrong(NO_FENCE_AFTER_ANNOUNCE) || fence(s, t);
    case R_RECHECK:
        me->at = load(s, t, NEWS) ? R_RISE : now->simple ? R_RECHECK_SIMPLE : R_BLOCK;
        return true;
    case R_RECHECK_SIMPLE:
        me->at = is_content(s) ? R_RISE : wrong(STARVED_AFTER_LOOK) ? R_STARVE : R_BLOCK;
        return true;
    case R_BLOCK: // the system looks at the word itself, but only for a futex
        if (!fence(s, t))
            return false;
        me->at = s->how == LISTENS || s->memory[ASLEEP] == s->nap + s->how ? R_BLOCKED : R_RISE;
        return true;
    case R_BLOCKED:
        me->at = R_RISE;
        if (s->how == SLEEPS || !s->doorbells)
            return false;
        s->doorbells = 0;
        return true;
    default: // R_RISE
        me->at = now->simple && is_content(s) ? R_SATISFIED : R_PEEK;
        me->i = 0;
        return store(s, t, ASLEEP, AWAKE, false);
    }
}

static bool receive(state *s, bool listens)
{
    int at = s->threads[RECEIVER].at;
    return at < R_LEAVE    ? receive_messages(s)
           : at < R_STARVE ? leave_rings(s)
           : at <= R_RISE  ? doze(s, listens)
                           : false;
}

// ---- all states

// Choices of a thread: its next step; the same, listening; being held up; a store reaches memory.
enum { STEP, STEP_LISTENING, HELD_UP, DRAIN, CHOICES = DRAIN + BUFFER };

static bool choose(state *s, int t, int choice)
{
    thread *me = &s->threads[t];
    if (choice >= DRAIN) {
        if (!may_drain(me, choice - DRAIN))
            return false;
        drain(s, t, choice - DRAIN);
        return true;
    }
    if (choice == HELD_UP) {
        bool claimed = now->held_up && t < SENDERS && me->at == S_CALL;
        if (claimed)
            me->at = S_HELD_UP;
        return claimed;
    }
    if (t < SENDERS)
        return choice == STEP && t < now->senders && send(s, t);
    if (choice == STEP_LISTENING && (me->at != R_ANNOUNCE || !now->mixed))
        return false;
    return receive(s, now->mixed ? choice == STEP_LISTENING : now->doorbell);
}

// Steps that touch nothing but their own thread's state are taken at once, together with the step
// before: nobody can see the difference, and there are far fewer states.
static bool is_private(const state *s, int t)
{
    const thread *me = &s->threads[t];
    switch (me->at) {
    case S_NEXT:
    case S_FENCE:
    case S_WAKE:
    case S_SIMPLE_FENCE:
    case R_STARVED:
    case R_ANNOUNCED:
        return me->n == 0;
    case R_LEFT:
    case R_EVICT:
        return me->n == 0 && !now->membarrier;
    default:
        return false;
    }
}

static void take_private_steps(state *s)
{
    for (int t = 0; t < THREADS; t++)
        while (is_private(s, t) && choose(s, t, STEP))
            ;
}

// Nobody can do anything: then whoever has sent all was heard.
static bool is_well(const state *s)
{
    for (int t = 0; t < now->senders; t++)
        if (s->threads[t].at != S_HELD_UP && s->threads[t].at != S_DONE)
            return false;
    if (now->simple)
        return s->threads[RECEIVER].at == R_SATISFIED;
    for (int t = 0; t < now->senders; t++)
        if (s->threads[t].at == S_DONE && s->got[t] != s->sent[t])
            return false;
    return true;
}

static uint64_t *seen;
static uint64_t seen_room, seen_count;

static uint64_t hash(const state *s)
{
    uint64_t h = UINT64_C(0x9e3779b97f4a7c15), word;
    for (size_t i = 0; i < sizeof *s; i += sizeof word) {
        memcpy(&word, (const char *)s + i, sizeof word);
        h = (h ^ word) * UINT64_C(0xff51afd7ed558ccd);
        h ^= h >> 32;
    }
    return h ? h : 1;
}

// False: it was there. Only hashes are kept: of some million states two with one hash are a matter
// of a chance in a million.
static bool remember(uint64_t h)
{
    if (seen_count * 2 >= seen_room) {
        uint64_t *old = seen, room = seen_room;
        seen_room = room ? room * 2 : 1 << 16;
        seen = calloc(seen_room, sizeof *seen);
        if (!seen)
            abort();
        seen_count = 0;
        for (uint64_t i = 0; i < room; i++)
            if (old[i])
                (void)remember(old[i]);
        free(old);
    }
    uint64_t at = h * UINT64_C(0x9e3779b97f4a7c15) >> 20 & (seen_room - 1);
    while (seen[at] && seen[at] != h)
        at = (at + 1) & (seen_room - 1);
    if (seen[at])
        return false;
    seen[at] = h;
    seen_count++;
    return true;
}

typedef struct visit {
    state s;
    uint8_t choice, stuck;
} visit;

static visit *path;
static size_t path_room;

static void push(size_t depth, const state *s)
{
    if (depth == path_room) {
        path_room = path_room ? path_room * 2 : 1024;
        path = realloc(path, path_room * sizeof *path);
        if (!path)
            abort();
    }
    path[depth] = (visit){.s = *s, .stuck = true};
}

static void print_state(const state *s)
{
    printf("    steps");
    for (int t = 0; t < THREADS; t++)
        printf(" %d", s->threads[t].at);
    printf(", memory");
    for (int w = 0; w < WORDS; w++)
        printf(" %d", s->memory[w]);
    printf(", got %d %d %d\n", s->got[0], s->got[1], s->got[2]);
}

// False: somebody was not heard; the path leads there.
static bool search(size_t *depth)
{
    state first;
    memset(&first, 0, sizeof first);
    first.threads[RECEIVER].at = R_PEEK;
    push(0, &first);
    (void)remember(hash(&first));
    for (*depth = 1; *depth > 0;) {
        visit *v = &path[*depth - 1];
        if (v->choice == THREADS * CHOICES) {
            if (v->stuck && !is_well(&v->s))
                return false;
            --*depth;
            continue;
        }
        int t = v->choice / CHOICES, choice = v->choice % CHOICES;
        v->choice++;
        state next = v->s;
        if (!choose(&next, t, choice))
            continue;
        take_private_steps(&next);
        v->stuck = false;
        if (remember(hash(&next)))
            push((*depth)++, &next);
    }
    return true;
}

static bool run(const setup *s)
{
    size_t depth;
    now = s;
    bool well = search(&depth), expected = (s->mistake == NONE) == well;
    printf("%-44s %9llu states  %s\n", s->name, (unsigned long long)seen_count,
           well ? "nobody is left behind" : "somebody is left behind");
    if (!expected)
        for (size_t i = 0; i < depth; i++)
            print_state(&path[i].s);
    free(seen);
    seen = NULL;
    seen_room = seen_count = 0;
    return expected;
}

static const setup setups[] = {
    {.name = "fences", .senders = 2, .messages = 2, .hot_most = 3},
    {.name = "fences, weak", .senders = 2, .messages = 2, .hot_most = 3, .weak = true},
    {.name = "membarrier", .senders = 2, .messages = 2, .hot_most = 3, .membarrier = true},
    {.name = "membarrier, weak",
     .senders = 2,
     .messages = 1,
     .hot_most = 3,
     .membarrier = true,
     .weak = true},
    {.name = "doorbell", .senders = 2, .messages = 2, .hot_most = 3, .doorbell = true},
    {.name = "futex or doorbell, membarrier",
     .senders = 2,
     .messages = 2,
     .hot_most = 3,
     .membarrier = true,
     .mixed = true},
    {.name = "one ring attended", .senders = 2, .messages = 2, .hot_most = 1},
    {.name = "one ring attended, weak", .senders = 2, .messages = 2, .hot_most = 1, .weak = true},
    {.name = "one ring attended, membarrier",
     .senders = 2,
     .messages = 2,
     .hot_most = 1,
     .membarrier = true},
    {.name = "a waker is held up", .senders = 2, .messages = 2, .hot_most = 3, .held_up = true},
    {.name = "a waker is held up, futex or doorbell",
     .senders = 2,
     .messages = 2,
     .hot_most = 3,
     .membarrier = true,
     .mixed = true,
     .held_up = true},
    {.name = "three senders, held up", .senders = 3, .messages = 1, .hot_most = 3, .held_up = true},
    {.name = "chunk, question",
     .senders = 1,
     .messages = 2,
     .hot_most = 3,
     .simple = true,
     .weak = true},
    {.name = "room",
     .senders = 1,
     .messages = 2,
     .hot_most = 3,
     .simple = true,
     .starved = true,
     .weak = true},
    {.name = "room, doorbell",
     .senders = 1,
     .messages = 2,
     .hot_most = 3,
     .simple = true,
     .starved = true,
     .doorbell = true},

    {.name = "mistake: no fence after the stamp",
     .senders = 2,
     .messages = 2,
     .hot_most = 3,
     .mistake = NO_FENCE_AFTER_STAMP},
    {.name = "mistake: no barrier when leaving, membarrier",
     .senders = 2,
     .messages = 2,
     .hot_most = 3,
     .membarrier = true,
     .mistake = NO_BARRIER_WHEN_LEAVING},
    {.name = "mistake: no barrier when leaving",
     .senders = 2,
     .messages = 2,
     .hot_most = 3,
     .mistake = NO_BARRIER_WHEN_LEAVING},
    {.name = "mistake: no second look",
     .senders = 2,
     .messages = 2,
     .hot_most = 3,
     .mistake = NO_SECOND_LOOK},
    {.name = "mistake: no fence after announcing",
     .senders = 2,
     .messages = 2,
     .hot_most = 3,
     .mistake = NO_FENCE_AFTER_ANNOUNCE},
    {.name = "mistake: no fence after announcing, doorbell",
     .senders = 2,
     .messages = 2,
     .hot_most = 3,
     .doorbell = true,
     .mistake = NO_FENCE_AFTER_ANNOUNCE},
    {.name = "mistake: news not looked at again",
     .senders = 2,
     .messages = 2,
     .hot_most = 3,
     .mistake = NO_RECHECK},
    {.name = "mistake: news cleared late",
     .senders = 2,
     .messages = 2,
     .hot_most = 3,
     .mistake = NEWS_CLEARED_LATE},
    {.name = "mistake: news cleared by a store",
     .senders = 2,
     .messages = 2,
     .hot_most = 3,
     .mistake = NEWS_CLEARED_BY_STORE},
    {.name = "mistake: news set by a store, weak",
     .senders = 3,
     .messages = 1,
     .hot_most = 1,
     .weak = true,
     .mistake = NEWS_SET_BY_STORE},
    {.name = "mistake: news before the bit",
     .senders = 2,
     .messages = 2,
     .hot_most = 3,
     .mistake = NEWS_BEFORE_BIT},
    {.name = "mistake: wake before the news",
     .senders = 2,
     .messages = 2,
     .hot_most = 3,
     .mistake = WAKE_BEFORE_NEWS},
    {.name = "mistake: nobody helps",
     .senders = 2,
     .messages = 1,
     .hot_most = 3,
     .held_up = true,
     .mistake = NOBODY_HELPS},
    {.name = "mistake: no numbers of naps",
     .senders = 3,
     .messages = 1,
     .hot_most = 3,
     .held_up = true,
     .mistake = NO_NAP_NUMBERS},
    {.name = "mistake: no fence before looking, chunk",
     .senders = 1,
     .messages = 1,
     .hot_most = 3,
     .simple = true,
     .mistake = NO_FENCE_BEFORE_SIMPLE},
    {.name = "mistake: starved raised after the look",
     .senders = 1,
     .messages = 1,
     .hot_most = 3,
     .simple = true,
     .starved = true,
     .weak = true,
     .mistake = STARVED_AFTER_LOOK},
};

int main(void)
{
    int failures = 0;
    for (size_t i = 0; i < sizeof setups / sizeof *setups; i++)
        failures += !run(&setups[i]);
    free(path);
    printf("%s\n", failures ? "not as expected" : "all right");
    return failures != 0;
}
