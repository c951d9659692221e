// SPDX-License-Identifier: BSD-3-Clause
// Poison and retirement in every state of a channel, and how they spread.
#include "csp_check.h"

typedef struct who {
    csp_in *in;
    csp_out *out;
    int value;
    csp_status status;
    bool done;
} who;

static int reads(void *arg)
{
    who *my = arg;
    my->status = csp_read(my->in, &my->value);
    my->done = true;
    return (int)my->status;
}

static int reads_by(void *arg)
{
    who *my = arg;
    my->status = csp_read_by(my->in, &my->value, csp_after(1000));
    my->done = true;
    return (int)my->status;
}

static int writes(void *arg)
{
    who *my = arg;
    my->status = csp_write(my->out, &my->value);
    my->done = true;
    return (int)my->status;
}

static int alt_reads(void *arg)
{
    who *my = arg;
    csp_guard guards[] = {csp_on_time(CSP_NEVER), csp_on_read(my->in, &my->value)};
    CHECK_INT(csp_alt(guards, 2), 1);
    my->status = guards[1].status;
    my->done = true;
    return (int)my->status;
}

static int alt_writes(void *arg)
{
    who *my = arg;
    csp_guard guards[] = {csp_on_write(my->out, &my->value), csp_on_time(csp_after(1000))};
    CHECK_INT(csp_pri_alt(guards, 2), 0);
    my->status = guards[0].status;
    my->done = true;
    return (int)my->status;
}

typedef struct ends {
    csp_chan *chan;
    csp_in *in;
    csp_out *out;
} ends;

enum { PLAIN, BUFFERED, OVERWRITING, KINDS };

static ends make(int kind)
{
    csp_chan *c = kind == PLAIN      ? csp_chan_new("c", sizeof(int))
                  : kind == BUFFERED ? csp_chan_buffered("c", sizeof(int), 2)
                                     : csp_chan_overwriting("c", sizeof(int), 2);
    return (ends){c, csp_chan_in(c), csp_chan_out(c)};
}

static void both_say(ends e, csp_status status)
{
    int value = 7;
    for (int i = 0; i < 2; i++) {
        CHECK_INT(csp_read(e.in, &value), status);
        CHECK_INT(csp_write(e.out, &value), status);
        CHECK_INT(csp_read_by(e.in, &value, CSP_AT_ONCE), status);
        CHECK_INT(csp_write_by(e.out, &value, csp_after(1000)), status);
        csp_guard guards[] = {csp_on_skip(), csp_on_read(e.in, &value)};
        CHECK_INT(csp_alt(guards, 2), 1);
        CHECK_INT(guards[1].status, status);
        guards[1] = csp_on_write(e.out, &value);
        CHECK_INT(csp_pri_alt(guards, 2), 1);
        CHECK_INT(guards[1].status, status);
        CHECK_INT(value, 7);
    }
}

static void hurt(ends e, csp_status how, bool writer)
{
    if (how == CSP_POISONED && writer)
        csp_poison(e.out);
    else if (how == CSP_POISONED)
        csp_poison(e.in);
    else if (writer)
        csp_retire(e.out);
    else
        csp_retire(e.in);
}

// Nobody waits.
static void before(int kind, csp_status how, bool writer)
{
    ends e = make(kind);
    hurt(e, how, writer);
    both_say(e, how);
    if (how == CSP_POISONED) { // twice is no more than once
        csp_poison(e.in);
        csp_poison(e.out);
    }
    both_say(e, how);
    csp_chan_free(e.chan);
}

// Readers of all ways wait, or writers.
static void while_they_wait(int kind, csp_status how, bool by_writer, bool writers)
{
    csp_function *const ways[2][3] = {{reads, reads_by, alt_reads}, {writes, alt_writes, writes}};
    ends e = make(kind);
    who w[6];
    csp_child *child[6];
    int n = 0, value = 0;
    if (writers && kind == OVERWRITING)
        return csp_chan_free(e.chan); // they do not wait
    if (writers && kind == BUFFERED)
        for (int i = 0; i < 2; i++)
            CHECK_INT(csp_write(e.out, &value), CSP_OK);
    for (; n < 6; n++) {
        w[n] = (who){.in = e.in, .out = e.out, .value = -1};
        child[n] = csp_fork(ways[writers][n % 3], &w[n], NULL);
    }
    settle();
    for (int i = 0; i < n; i++)
        CHECK(!w[i].done);
    hurt(e, how, by_writer);
    for (int i = 0; i < n; i++) {
        CHECK_INT(csp_join(child[i]), how);
        CHECK_INT(w[i].value, -1);
    }
    if (how == CSP_POISONED || !(writers && by_writer && kind == BUFFERED))
        both_say(e, how);
    csp_chan_free(e.chan);
}

// Values that are in the buffer when its side goes.
static void with_values(int kind)
{
    int value;
    ends e = make(kind);
    for (int i = 0; i < 2; i++)
        CHECK_INT(csp_write(e.out, &i), CSP_OK);
    csp_retire(e.out); // what is in it can still be read
    for (int i = 0; i < 2; i++) {
        csp_guard guards[] = {csp_on_skip(), csp_on_read(e.in, &value)};
        if (i)
            CHECK_INT(csp_alt(guards, 2), 1);
        else
            CHECK_INT(csp_read(e.in, &value), CSP_OK);
        CHECK_INT(value, i);
    }
    both_say(e, CSP_RETIRED);
    csp_chan_free(e.chan);
    e = make(kind);
    CHECK_INT(csp_write(e.out, &value), CSP_OK);
    csp_poison(e.out); // values are lost
    both_say(e, CSP_POISONED);
    csp_chan_free(e.chan);
    e = make(kind);
    CHECK_INT(csp_write(e.out, &value), CSP_OK);
    csp_retire(e.in);
    both_say(e, CSP_RETIRED);
    csp_chan_free(e.chan);
    e = make(kind); // retired, then poisoned
    CHECK_INT(csp_write(e.out, &value), CSP_OK);
    csp_retire(e.out);
    csp_poison(e.in);
    both_say(e, CSP_POISONED);
    csp_chan_free(e.chan);
}

// The last of several holders decides.
static void holders(void)
{
    ends e = make(PLAIN);
    csp_in *in2 = csp_chan_in(e.chan);
    csp_out *out2 = csp_chan_out(e.chan);
    who r = {.in = in2};
    csp_child *child = csp_fork(reads, &r, NULL);
    int value = 3;
    csp_retire(e.out);
    csp_retire(e.in);
    settle();
    CHECK(!r.done);
    CHECK_INT(csp_write(out2, &value), CSP_OK);
    CHECK_INT(csp_join(child), 0);
    child = csp_fork(reads, &r, NULL);
    settle();
    csp_retire(out2);
    CHECK_INT(csp_join(child), CSP_RETIRED);
    csp_chan_free(e.chan);
}

// ---- spreading

typedef struct stage {
    csp_in *in;
    csp_out *out[6];
    int outs, count;
} stage;

static int copies(void *arg)
{
    stage *my = arg;
    int value;
    csp_status status = CSP_OK;
    csp_hold(my->in);
    for (int i = 0; i < my->outs; i++)
        csp_hold(my->out[i]);
    while (status == CSP_OK) {
        status = csp_read(my->in, &value);
        for (int i = 0; i < my->outs && status == CSP_OK; i++)
            status = csp_write(my->out[i], &value);
    }
    return (int)status;
}

static int produces(void *arg)
{
    stage *my = arg;
    csp_status status = CSP_OK;
    for (int i = 0; i < my->outs; i++)
        csp_hold(my->out[i]);
    for (int i = 0; i < my->count && status == CSP_OK; i++)
        status = csp_write(my->out[0], &i);
    return (int)status;
}

static int consumes(void *arg)
{
    stage *my = arg;
    int value;
    csp_status status = CSP_OK;
    csp_hold(my->in);
    for (int i = 0; i < my->count && status == CSP_OK; i++)
        status = csp_read(my->in, &value);
    return status == CSP_OK ? CSP_POISONED : (int)status;
}

// A producer that ends, or a consumer that has enough, ends a pipeline of any length.
static void spread(csp_status how)
{
    enum { N = 20 };
    csp_chan *c[N];
    stage s[N + 1];
    csp_proc procs[N + 1];
    for (int i = 0; i < N; i++)
        c[i] = i % 3 ? csp_chan_new(NULL, sizeof(int)) : csp_chan_buffered(NULL, sizeof(int), 2);
    for (int i = 0; i <= N; i++) {
        s[i] = (stage){.in = i ? csp_chan_in(c[i - 1]) : NULL, .outs = i < N};
        if (i < N)
            s[i].out[0] = csp_chan_out(c[i]);
        procs[i] = (csp_proc){i == 0 ? produces : i == N ? consumes : copies, &s[i], NULL, 0};
    }
    s[0].count = how == CSP_RETIRED ? 50 : 1000000000;
    s[N].count = how == CSP_RETIRED ? 1000000000 : 50;
    CHECK_INT(csp_par(procs, N + 1), how);
    for (int i = how == CSP_RETIRED; i <= N; i++)
        CHECK_INT(procs[i].result, how);
    for (int i = 0; i < N; i++)
        csp_chan_free(c[i]);
}

// More ends than a process has room for, and one that it retires by itself.
static int holds_many(void *arg)
{
    stage *my = arg;
    csp_hold(my->in);
    for (int round = 0; round < 4; round++)
        for (int i = 0; i < my->outs; i++)
            csp_hold(my->out[i]);
    csp_retire(my->out[5]);
    csp_retire(my->out[0]);
    return my->count;
}

static void hold(csp_status how)
{
    csp_chan *c[7];
    stage s = {.outs = 6, .count = (int)how};
    int value;
    for (int i = 0; i < 7; i++)
        c[i] = csp_chan_new(NULL, sizeof(int));
    s.in = csp_chan_in(c[6]);
    csp_out *out = csp_chan_out(c[6]);
    for (int i = 0; i < 6; i++)
        for (int k = 0; k < 4; k++)
            s.out[i] = csp_chan_out(c[i]);
    csp_in *one_more = csp_chan_in(c[5]);
    CHECK_INT(CSP_PAR({holds_many, &s, "holds", 0}), how);
    for (int i = 0; i < 6; i++)
        CHECK_INT(csp_read(i < 5 ? csp_chan_in(c[i]) : one_more, &value),
                  how == CSP_POISONED ? CSP_POISONED : CSP_RETIRED);
    CHECK_INT(csp_write(out, &value), how == CSP_POISONED ? CSP_POISONED : CSP_RETIRED);
    for (int i = 0; i < 7; i++)
        csp_chan_free(c[i]);
}

int main(void)
{
    for (int kind = 0; kind < KINDS; kind++)
        for (int writer = 0; writer < 2; writer++)
            for (int i = 0; i < 2; i++) {
                csp_status how = i ? CSP_POISONED : CSP_RETIRED;
                before(kind, how, writer);
                while_they_wait(kind, how, writer, false);
                while_they_wait(kind, how, writer, true);
            }
    with_values(BUFFERED);
    with_values(OVERWRITING);
    holders();
    spread(CSP_RETIRED);
    spread(CSP_POISONED);
    hold(CSP_OK);
    hold(CSP_POISONED);
    return 0;
}
