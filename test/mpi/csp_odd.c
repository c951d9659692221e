// SPDX-License-Identifier: BSD-3-Clause
// What happens between the moment in which somebody is served and that in which it runs: things are
// freed, poisoned and served again meanwhile. And the edges: nothing, no size, times that cannot
// be.
#include "csp_check.h"

#include <math.h>

enum { MANY = 12, DEEP = 300 };

// ---- channels and barriers that go while offers of settled alternations stand in them

typedef struct chooser {
    csp_guard *guards;
    int count, chosen;
    csp_status status;
} chooser;

static int chooses(void *arg)
{
    chooser *my = arg;
    my->chosen = csp_alt(my->guards, (size_t)my->count);
    my->status = my->guards[my->chosen].status;
    return 0;
}

static void frees_behind_alt(int which)
{
    csp_chan *c[MANY];
    csp_guard guards[MANY + 1];
    int values[MANY], seven = 7;
    csp_out *out[MANY];
    csp_barrier *b = csp_barrier_new("b", 2);
    for (int i = 0; i < MANY; i++) {
        c[i] = csp_chan_new(NULL, sizeof(int));
        guards[i] = csp_on_read(csp_chan_in(c[i]), &values[i]);
        out[i] = csp_chan_out(c[i]);
    }
    guards[MANY] = csp_on_sync(b);
    chooser my = {.guards = guards, .count = MANY + 1};
    csp_child *child = csp_fork(chooses, &my, "chooser");
    settle();
    if (which < MANY)
        CHECK_INT(csp_write(out[which], &seven), CSP_OK);
    else
        CHECK_INT(csp_sync(b), CSP_OK);
    for (int i = 0; i < MANY; i++)
        csp_chan_free(c[i]);
    csp_barrier_free(b);
    CHECK_INT(csp_join(child), 0);
    CHECK_INT(my.chosen, which);
    CHECK_INT(my.status, CSP_OK);
    if (which < MANY)
        CHECK_INT(values[which], 7);
}

static int reads(void *arg)
{
    int value = 0;
    csp_status status = csp_read(*(csp_in **)arg, &value);
    return status == CSP_OK ? value : -(int)status;
}

static int reads_late(void *arg)
{
    int value = 0;
    csp_status status = csp_read_by(*(csp_in **)arg, &value, csp_after(1e4));
    return status == CSP_OK ? value : -(int)status;
}

static int syncs_late(void *arg)
{
    return (int)csp_sync_by(arg, csp_after(1e4));
}

static void frees_behind_plain(csp_function *reader)
{
    csp_chan *c = csp_chan_new(NULL, sizeof(int));
    csp_in *in = csp_chan_in(c);
    csp_out *out = csp_chan_out(c);
    csp_child *child = csp_fork(reader, &in, NULL);
    int seven = 7;
    settle();
    CHECK_INT(csp_write(out, &seven), CSP_OK);
    csp_chan_free(c);
    CHECK_INT(csp_join(child), 7);

    csp_barrier *b = csp_barrier_new(NULL, 2);
    child = csp_fork(syncs_late, b, NULL);
    settle();
    csp_barrier_resign(b);
    csp_barrier_free(b);
    CHECK_INT(csp_join(child), CSP_OK);
}

// Poison and retirement after service, before the process runs: what was served stays so.
static void poisons_behind(void)
{
    csp_chan *a = csp_chan_new("a", sizeof(int)), *b = csp_chan_new("b", sizeof(int));
    int x = 0, y = 0, one = 1;
    csp_guard guards[] = {csp_on_read(csp_chan_in(a), &x), csp_on_read(csp_chan_in(b), &y)};
    csp_out *to_a = csp_chan_out(a), *to_b = csp_chan_out(b);
    chooser my = {.guards = guards, .count = 2};
    csp_child *child = csp_fork(chooses, &my, NULL);
    settle();
    CHECK_INT(csp_write(to_a, &one), CSP_OK);
    csp_poison(to_b);
    csp_poison(to_a);
    CHECK_INT(csp_write_by(to_b, &one, CSP_AT_ONCE), CSP_POISONED);
    csp_join(child);
    CHECK_INT(my.chosen, 0);
    CHECK_INT(my.status, CSP_OK);
    CHECK_INT(x, 1);
    CHECK_INT(y, 0);
    csp_retire(to_a); // after poison: nothing more
    CHECK_INT(csp_read(csp_chan_in(a), &x), CSP_POISONED);
    csp_chan_free(a);
    csp_chan_free(b);
}

// A second writer must not serve an alternation again that has been, nor be lost.
static void never_twice(void)
{
    csp_chan *a = csp_chan_new("a", sizeof(int)), *b = csp_chan_new("b", sizeof(int));
    int x = 0, two = 2, three = 3;
    csp_in *in_a = csp_chan_in(a), *in_b = csp_chan_in(b);
    csp_guard guards[] = {csp_on_read(in_a, &x), csp_on_read(in_a, &x), csp_on_read(in_b, &x)};
    csp_out *to_a = csp_chan_out(a), *to_b = csp_chan_out(b);
    chooser my = {.guards = guards, .count = 3};
    csp_child *child = csp_fork(chooses, &my, NULL);
    settle();
    CHECK_INT(csp_write(to_a, &two), CSP_OK);
    CHECK_INT(csp_write_by(to_a, &three, CSP_AT_ONCE), CSP_LATE);
    CHECK_INT(csp_write_by(to_b, &three, csp_after(1e-4)), CSP_LATE);
    csp_join(child);
    CHECK(my.chosen == 0 || my.chosen == 1);
    CHECK_INT(x, 2);
    csp_chan_free(a);
    csp_chan_free(b);
}

// One process reads and writes the same channel, and meets another that does the same.
typedef struct both {
    csp_in *in;
    csp_out *out;
    int sent, got, wrote;
} both;

static int does_both(void *arg)
{
    both *my = arg;
    csp_guard guards[] = {csp_on_read(my->in, &my->got), csp_on_write(my->out, &my->sent)};
    my->wrote = csp_alt(guards, 2);
    return guards[my->wrote].status;
}

static void meets_itself(csp_chan *c, bool loses)
{
    csp_in *in = csp_chan_in(c);
    csp_out *out = csp_chan_out(c);
    both my[] = {
        {in, out, 1, 0, -1}, {in, out, 2, 0, -1}, {in, out, 3, 0, -1}, {in, out, 4, 0, -1}};
    CHECK_INT(csp_par_each(does_both, my, 4, sizeof my[0], "both", NULL), 0);
    int sent = 0, got = 0;
    for (int i = 0; i < 4; i++) {
        sent += my[i].wrote ? my[i].sent : 0;
        got += my[i].wrote ? 0 : my[i].got;
    }
    int left;
    while (csp_read_by(in, &left, CSP_AT_ONCE) == CSP_OK)
        got += left;
    if (loses)
        CHECK(got <= sent);
    else
        CHECK_INT(got, sent);
    csp_chan_free(c);
}

// ---- the edges

static int nothing(void *arg)
{
    return arg ? *(int *)arg : 0;
}

static int nests(void *arg)
{
    int *depth = arg;
    if (*depth == 0)
        return 5;
    int next = *depth - 1;
    return CSP_PAR({.run = nests, .arg = &next});
}

static void edges(void)
{
    CHECK_INT(csp_par(NULL, 0), 0);
    CHECK_INT(csp_seq(NULL, 0), 0);
    CHECK_INT(csp_par_each(nothing, NULL, 0, 8, "none", NULL), 0);
    CHECK_INT(csp_par_each(nothing, NULL, 5, 0, "none", NULL), 0);
    int depth = DEEP;
    CHECK_INT(nests(&depth), 5);

    csp_chan *c = csp_chan_buffered("signal", 0, 3);
    csp_out *out = csp_chan_out(c);
    csp_in *in = csp_chan_in(c);
    for (int i = 0; i < 3; i++)
        CHECK_INT(csp_write(out, NULL), CSP_OK);
    CHECK_INT(csp_write_by(out, NULL, -5), CSP_LATE);
    csp_retire(out);
    for (int i = 0; i < 3; i++)
        CHECK_INT(csp_read(in, NULL), CSP_OK);
    CHECK_INT(csp_read(in, NULL), CSP_RETIRED);
    csp_chan_free(c);
}

static void times(void)
{
    csp_time start = csp_now();
    csp_sleep(csp_after(0));
    csp_sleep(csp_after(-1));
    csp_sleep(csp_after(NAN));
    csp_sleep(csp_after(-INFINITY));
    csp_sleep(CSP_AT_ONCE);
    csp_sleep(INT64_MIN);
    CHECK(csp_now() - start < 15000000000); // only a hang takes so long
    CHECK(csp_after(INFINITY) == CSP_NEVER);
    CHECK(csp_after(1e300) == CSP_NEVER);
    CHECK(csp_after(9.3e9) == CSP_NEVER);
    CHECK(csp_after(-1e300) > 0);
    csp_guard guards[] = {csp_on_time(CSP_NEVER), csp_on_time(csp_after(0.001)),
                          csp_on_time(CSP_NEVER - 1)};
    CHECK_INT(csp_alt(guards, 3), 1);
    guards[1].off = true;
    guards[0].at = INT64_MIN;
    CHECK_INT(csp_pri_alt(guards, 3), 0);
    csp_child *child = csp_fork(nothing, NULL, NULL);
    int result = 7;
    CHECK_INT(csp_join_by(child, &result, INT64_MIN), CSP_LATE);
    CHECK_INT(csp_join_by(child, &result, CSP_NEVER - 1), CSP_OK);
    CHECK_INT(result, 0);
}

// More ends than a process has room for, some let go in between; one is held twice.
static int holds(void *arg)
{
    csp_chan **c = arg;
    csp_out *outs[MANY];
    for (int i = 0; i < MANY; i++)
        csp_hold(outs[i] = csp_chan_out(c[i]));
    csp_hold(csp_chan_out(c[0]));
    for (int i = 0; i < MANY; i += 2)
        csp_retire(outs[i]);
    csp_hold(csp_chan_out(c[4]));
    return 0;
}

static void held(void)
{
    csp_chan *c[MANY];
    int value;
    for (int i = 0; i < MANY; i++)
        c[i] = csp_chan_new(NULL, sizeof(int));
    CHECK_INT(CSP_PAR({.run = holds, .arg = c}), 0);
    for (int i = 0; i < MANY; i++) {
        CHECK_INT(csp_read(csp_chan_in(c[i]), &value), CSP_RETIRED);
        csp_chan_free(c[i]);
    }
}

// ---- left behind when main returns: everything that one can wait for

static int sleeps(void *arg)
{
    csp_sleep(csp_after(arg ? 1e-3 : 1e6));
    for (;;)
        csp_yield();
    return 0;
}

static int reads_fd(void *fd)
{
    char c;
    return (int)csp_fd_read_by(*(int *)fd, &c, 1, csp_after(1e6));
}

static void leaves_behind(void)
{
    static const int one = 1;
    csp_in **c = malloc(sizeof *c);
    csp_guard *guards = malloc(5 * sizeof *guards);
    chooser *my = malloc(sizeof *my);
    int *ends = malloc(2 * sizeof *ends), *value = malloc(sizeof *value);
    CHECK_INT(pipe(ends), 0);
    *c = csp_chan_in(csp_chan_new("left", sizeof(int)));
    guards[0] = csp_on_read(*c, value);
    guards[1] = csp_on_time(csp_after(1e6));
    guards[2] = csp_on_readable(ends[0]);
    guards[3] = csp_on_sync(csp_barrier_new("left", 5));
    guards[4] = csp_on_write(csp_chan_out(csp_chan_new("left", sizeof(int))), value);
    *my = (chooser){.guards = guards, .count = 5};
    csp_fork(chooses, my, "alt");
    csp_fork(sleeps, NULL, "sleeps");
    csp_fork(sleeps, (void *)&one, "polls");
    csp_fork(reads, c, "reads");
    csp_fork(reads_late, c, "reads late");
    csp_fork(reads_fd, ends, "fd");
    csp_fork(nothing, NULL, "never runs");
    for (int i = 0; i < 20; i++)
        csp_yield();
    csp_fork(nothing, NULL, "never runs");
}

int main(void)
{
    for (int i = 0; i <= MANY; i++)
        frees_behind_alt(i);
    frees_behind_plain(reads);
    frees_behind_plain(reads_late);
    poisons_behind();
    never_twice();
    meets_itself(csp_chan_new("one", sizeof(int)), false);
    meets_itself(csp_chan_buffered("two", sizeof(int), 1), false);
    meets_itself(csp_chan_overwriting("three", sizeof(int), 1), true);
    edges();
    times();
    held();
    leaves_behind();
    return 0;
}
