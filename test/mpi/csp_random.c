// SPDX-License-Identifier: BSD-3-Clause
// Random programs of processes and channels, checked against a model of what must come out: every
// value that was written is read once, in the order of its writer (but for those that an
// overwriting channel drops, or poison loses), and a process leaves with the status that its
// channel has. Usage: csp_random [programs [seed]]. Run under random schedules too.
#include "csp_check.h"

enum { CHANS = 6, PROCS = 24, GUARDS = 5, STEPS = 40 };

typedef struct chan {
    csp_chan *chan;
    int kind; // 0: unbuffered, 1: buffered, 2: overwriting
    bool poisoned;
    long written, read;          // values that have been, surely
    bool seen[PROCS][2 * STEPS]; // of each writer, the values that were read
    int readers, writers;        // holders that have not retired
} chan;

typedef struct world {
    chan chans[CHANS];
    csp_barrier *barrier;
    int members;
    bool poison;
} world;

typedef struct proc {
    world *w;
    int number;
    uint64_t random;
    csp_in *in[CHANS]; // NULL: holds none
    csp_out *out[CHANS];
    int next[CHANS];        // its next value for each channel
    int last[CHANS][PROCS]; // of each writer, the last value that it read
    bool enrolled;
} proc;

typedef struct value {
    int writer, serial;
} value;

static uint32_t pick(uint64_t *random, uint32_t n)
{
    *random = *random * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((*random >> 33) % n);
}

static void was_read(proc *my, int c, value v)
{
    chan *at = &my->w->chans[c];
    CHECK(v.writer >= 0 && v.writer < PROCS);
    CHECK(v.serial >= 0 && v.serial < 2 * STEPS);
    CHECK(!at->seen[v.writer][v.serial]);        // once
    CHECK(v.serial > my->last[c][v.writer] - 1); // in the order of its writer
    at->seen[v.writer][v.serial] = true;
    my->last[c][v.writer] = v.serial + 1;
    at->read++;
}

// What a channel said that is not fine. True: this process leaves it.
static bool was_refused(proc *my, int c, csp_status status, bool writes)
{
    chan *at = &my->w->chans[c];
    if (status == CSP_LATE)
        return false;
    if (status == CSP_POISONED)
        CHECK(at->poisoned);
    else
        CHECK(status == CSP_RETIRED && (writes ? at->readers : at->writers) == 0);
    return true;
}

static void leave(proc *my, int c, bool writes)
{
    chan *at = &my->w->chans[c];
    if (writes) {
        at->writers--; // before others can see it
        csp_retire(my->out[c]);
        my->out[c] = NULL;
    } else {
        at->readers--;
        csp_retire(my->in[c]);
        my->in[c] = NULL;
    }
}

static csp_time some_time(proc *my)
{
    switch (pick(&my->random, 4)) {
    case 0:
        return CSP_AT_ONCE;
    case 1:
        return csp_after(0.0002);
    default:
        return csp_after(0.002);
    }
}

static void read_one(proc *my, int c)
{
    value v;
    csp_status status = csp_read_by(my->in[c], &v, some_time(my));
    if (status == CSP_OK)
        was_read(my, c, v);
    else if (was_refused(my, c, status, false))
        leave(my, c, false);
}

static void write_one(proc *my, int c)
{
    value v = {my->number, my->next[c]};
    csp_status status = csp_write_by(my->out[c], &v, some_time(my));
    if (status == CSP_OK) {
        my->next[c]++;
        my->w->chans[c].written++;
    } else if (was_refused(my, c, status, true)) {
        leave(my, c, true);
    }
}

// An alternation of some of all that it could do.
static void alternate(proc *my)
{
    csp_guard guards[2 * CHANS + 3];
    value in[CHANS], out[CHANS];
    int of[2 * CHANS + 3], n = 0;
    for (int c = 0; c < CHANS; c++) {
        if (my->in[c] && pick(&my->random, 3)) {
            of[n] = c;
            guards[n++] = csp_on_read(my->in[c], &in[c]);
        }
        if (my->out[c] && pick(&my->random, 3)) {
            of[n] = c;
            out[c] = (value){my->number, my->next[c]};
            guards[n++] = csp_on_write(my->out[c], &out[c]);
        }
    }
    if (my->enrolled && pick(&my->random, 2))
        guards[n++] = csp_on_sync(my->w->barrier);
    guards[n++] = pick(&my->random, 3) ? csp_on_time(some_time(my)) : csp_on_skip();
    for (int i = 0; i + 1 < n; i++)
        guards[i].off = pick(&my->random, 8) == 0;
    int k = pick(&my->random, 2) ? csp_alt(guards, (size_t)n) : csp_pri_alt(guards, (size_t)n);
    CHECK(k >= 0 && k < n && !guards[k].off);
    if (guards[k].kind == CSP_GUARD_READ && guards[k].status == CSP_OK) {
        was_read(my, of[k], in[of[k]]);
    } else if (guards[k].kind == CSP_GUARD_WRITE && guards[k].status == CSP_OK) {
        my->next[of[k]]++;
        my->w->chans[of[k]].written++;
    } else if (guards[k].kind == CSP_GUARD_READ || guards[k].kind == CSP_GUARD_WRITE) {
        bool writes = guards[k].kind == CSP_GUARD_WRITE;
        if (was_refused(my, of[k], guards[k].status, writes))
            leave(my, of[k], writes);
    } else {
        CHECK_INT(guards[k].status, CSP_OK);
    }
}

static void step(proc *my)
{
    int c = (int)pick(&my->random, CHANS);
    switch (pick(&my->random, 12)) {
    case 0:
        csp_yield();
        break;
    case 1:
        if (my->enrolled)
            (void)csp_sync_by(my->w->barrier, some_time(my));
        break;
    case 2:
        if (my->enrolled && pick(&my->random, 8) == 0) {
            csp_barrier_resign(my->w->barrier);
            my->enrolled = false;
        }
        break;
    case 3:
        if (my->w->poison && pick(&my->random, 30) == 0 && (my->in[c] || my->out[c])) {
            my->w->chans[c].poisoned = true;
            if (my->in[c])
                csp_poison(my->in[c]);
            else
                csp_poison(my->out[c]);
        }
        break;
    case 4:
    case 5:
        if (my->in[c])
            read_one(my, c);
        break;
    case 6:
    case 7:
        if (my->out[c])
            write_one(my, c);
        break;
    default:
        alternate(my);
    }
}

static int runs(void *arg)
{
    proc *my = arg;
    for (int i = 0; i < STEPS; i++)
        step(my);
    // What is left is read, then all is left.
    for (int c = 0; c < CHANS; c++)
        if (my->out[c])
            leave(my, c, true);
    for (int c = 0; c < CHANS; c++) {
        value v;
        csp_status status = CSP_OK;
        while (my->in[c] && status == CSP_OK) {
            status = csp_read(my->in[c], &v);
            if (status == CSP_OK)
                was_read(my, c, v);
            else if (was_refused(my, c, status, false))
                leave(my, c, false);
        }
    }
    if (my->enrolled)
        csp_barrier_resign(my->w->barrier);
    return 0;
}

static void set_up(world *w, proc *procs, int n, uint64_t *random)
{
    *w = (world){.poison = pick(random, 2)};
    for (int c = 0; c < CHANS; c++) {
        chan *at = &w->chans[c];
        at->kind = (int)pick(random, 4) % 3;
        size_t capacity = 1 + pick(random, 4);
        at->chan = at->kind == 0   ? csp_chan_new(NULL, sizeof(value))
                   : at->kind == 1 ? csp_chan_buffered(NULL, sizeof(value), capacity)
                                   : csp_chan_overwriting(NULL, sizeof(value), capacity);
    }
    for (int i = 0; i < n; i++) {
        procs[i] = (proc){.w = w, .number = i, .random = *random + (uint64_t)i * 77};
        procs[i].enrolled = pick(random, 2);
        w->members += procs[i].enrolled;
        for (int c = 0; c < CHANS; c++) {
            if (pick(random, 3) == 0) {
                procs[i].in[c] = csp_chan_in(w->chans[c].chan);
                w->chans[c].readers++;
            }
            if (pick(random, 3) == 0) {
                procs[i].out[c] = csp_chan_out(w->chans[c].chan);
                w->chans[c].writers++;
            }
        }
    }
    // Where nobody ever wrote or read, nobody would ever retire.
    for (int c = 0; c < CHANS; c++) {
        if (w->chans[c].writers == 0 && w->chans[c].readers > 0) {
            procs[0].out[c] = csp_chan_out(w->chans[c].chan);
            w->chans[c].writers++;
        }
    }
    w->barrier = csp_barrier_new(NULL, (size_t)w->members);
}

static void program(uint64_t random)
{
    world w;
    proc *procs = malloc(PROCS * sizeof *procs);
    int n = 2 + (int)pick(&random, PROCS - 1);
    set_up(&w, procs, n, &random);
    CHECK_INT(csp_par_each(runs, procs, (size_t)n, sizeof *procs, "proc", NULL), 0);
    for (int c = 0; c < CHANS; c++) {
        const chan *at = &w.chans[c];
        CHECK(at->read <= at->written);
        // What was written to a plain channel was read; from others it may have been left behind by
        // readers that retired, or been lost by poison.
        if (at->kind == 0)
            CHECK_INT(at->read, at->written);
        csp_chan_free(at->chan);
    }
    csp_barrier_free(w.barrier);
    free(procs);
}

int main(int argc, char **argv)
{
    int programs = argc > 1 ? atoi(argv[1]) : 20;
    uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
    for (int i = 0; i < programs; i++)
        program((seed + (uint64_t)i * 1000 + (uint64_t)csp_node()) * 0x9e3779b97f4a7c15u);
    return 0;
}
