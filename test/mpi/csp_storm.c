// SPDX-License-Identifier: BSD-3-Clause
// Everything at once: processes read, write, alternate and meet, all with deadlines that pass about
// when they are served, while channels are poisoned and replaced. What was written was read once.
// `csp_storm SEEDS`.
#include "csp_check.h"

enum { CHANS = 4, PROCS = 12, STEPS = 400, GUARDS = 10 };

typedef struct storm {
    csp_chan *chans[CHANS];
    csp_barrier *barrier;
    long written, taken, count_in, count_out;
    int pipe[2];
} storm;

typedef struct member {
    storm *all;
    unsigned seed;
} member;

static unsigned pick(member *my, unsigned n)
{
    my->seed = my->seed * 1103515245u + 12345u;
    return (my->seed >> 16) % n;
}

static csp_time soon(member *my)
{
    static const csp_time delays[] = {0, 1, 500, 2000, 20000, 200000};
    return csp_now() + delays[pick(my, 6)];
}

static void note_write(storm *s, long value, csp_status status)
{
    if (status == CSP_OK) {
        s->written += value;
        s->count_in++;
    }
}

static void note_read(storm *s, long value, csp_status status)
{
    if (status == CSP_OK) {
        s->taken += value;
        s->count_out++;
    }
}

static void alternates(member *my)
{
    storm *s = my->all;
    csp_guard guards[GUARDS];
    long in[GUARDS], out[GUARDS];
    unsigned n = 1 + pick(my, GUARDS);
    for (unsigned i = 0; i < n; i++) {
        csp_chan *c = s->chans[pick(my, CHANS)];
        in[i] = 0;
        out[i] = 1 + (long)pick(my, 1000);
        switch (i ? pick(my, 8) : 7) {
        case 0:
        case 1:
        case 2:
            guards[i] = csp_on_read(csp_chan_in(c), &in[i]);
            break;
        case 3:
        case 4:
            guards[i] = csp_on_write(csp_chan_out(c), &out[i]);
            break;
        case 5:
            guards[i] = pick(my, 2) ? csp_on_readable(s->pipe[0]) : csp_on_time(CSP_NEVER);
            break;
        case 6:
            guards[i] = pick(my, 8) ? csp_on_time(soon(my)) : csp_on_skip();
            break;
        default:
            guards[i] = csp_on_time(soon(my));
        }
        guards[i].off = i && pick(my, 5) == 0;
    }
    int k = pick(my, 2) ? csp_alt(guards, n) : csp_pri_alt(guards, n);
    CHECK(k >= 0 && (unsigned)k < n && !guards[k].off);
    for (unsigned i = 0; i < n; i++)
        if ((int)i != k)
            CHECK_INT(in[i], 0);
    if (guards[k].kind == CSP_GUARD_WRITE)
        note_write(s, out[k], guards[k].status);
    else if (guards[k].kind == CSP_GUARD_READ)
        note_read(s, in[k], guards[k].status);
    else
        CHECK_INT(guards[k].status, CSP_OK);
}

static int lives(void *arg)
{
    member *my = arg;
    storm *s = my->all;
    for (int i = 0; i < STEPS; i++) {
        csp_chan *c = s->chans[pick(my, CHANS)];
        long value = 1 + (long)pick(my, 1000);
        csp_status status;
        switch (pick(my, 6)) {
        case 0:
            status = csp_write_by(csp_chan_out(c), &value, soon(my));
            note_write(s, value, status);
            break;
        case 1:
            status = csp_read_by(csp_chan_in(c), &value, soon(my));
            note_read(s, value, status);
            break;
        case 2:
            (void)csp_sync_by(s->barrier, soon(my));
            break;
        case 3:
            csp_yield();
            break;
        default:
            alternates(my);
        }
    }
    csp_barrier_resign(s->barrier);
    return 0;
}

// Poisons the last channel again and again; who was in the middle of a call finds out.
static int poisons(void *arg)
{
    member *my = arg;
    storm *s = my->all;
    for (int i = 0; i < 20; i++) {
        csp_sleep(csp_after((double)pick(my, 50) / 1e6));
        csp_poison(csp_chan_in(s->chans[CHANS - 1]));
        csp_chan_free(s->chans[CHANS - 1]); // it served everybody, and nobody waits any more
        s->chans[CHANS - 1] = csp_chan_new("p", sizeof(long));
        (void)csp_chan_in(s->chans[CHANS - 1]);
        (void)csp_chan_out(s->chans[CHANS - 1]);
    }
    return 0;
}

static void blows(unsigned seed)
{
    storm s = {.written = 0};
    member my[PROCS];
    csp_proc procs[PROCS + 1];
    long value;
    CHECK_INT(pipe(s.pipe), 0);
    s.barrier = csp_barrier_new("all", PROCS);
    for (int i = 0; i < CHANS; i++) {
        s.chans[i] = i == 1   ? csp_chan_buffered("b", sizeof(long), 1)
                     : i == 2 ? csp_chan_buffered("c", sizeof(long), 3)
                              : csp_chan_new("a", sizeof(long));
        (void)csp_chan_in(s.chans[i]);
        (void)csp_chan_out(s.chans[i]);
    }
    member killer = {&s, seed};
    for (int i = 0; i < PROCS; i++) {
        my[i] = (member){&s, seed * 100 + (unsigned)i};
        procs[i] = (csp_proc){lives, &my[i], "member", 0};
    }
    procs[PROCS] = (csp_proc){poisons, &killer, "poisons", 0};
    CHECK_INT(csp_par(procs, PROCS + 1), 0);
    for (int i = 0; i < CHANS; i++) {
        while (csp_read_by(csp_chan_in(s.chans[i]), &value, CSP_AT_ONCE) == CSP_OK)
            note_read(&s, value, CSP_OK);
        csp_chan_free(s.chans[i]);
    }
    CHECK_INT(s.count_out, s.count_in);
    CHECK_INT(s.taken, s.written);
    csp_barrier_free(s.barrier);
    close(s.pipe[0]);
    close(s.pipe[1]);
}

int main(int argc, char **argv)
{
    int seeds = argc > 1 ? atoi(argv[1]) : 5;
    for (int i = 0; i < seeds; i++)
        blows((unsigned)(i + 1000 * csp_node()));
    return 0;
}
