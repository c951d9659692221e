// SPDX-License-Identifier: BSD-3-Clause
// Processes that can never go on, or crash, as the first argument says. Some are fine, and must not
// be taken for a deadlock.
#include <millet/csp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct ends {
    csp_in *in;
    csp_out *out;
} ends;

static csp_chan *chan(const char *name, int i)
{
    char text[40];
    snprintf(text, sizeof text, name, i);
    return csp_chan_new(text, sizeof(int));
}

// ---- two who both write first, and one who writes to itself

static int writes_then_reads(void *arg)
{
    ends *my = arg;
    int v = 1;
    csp_write(my->out, &v);
    return csp_read(my->in, &v);
}

static void pair(void)
{
    csp_chan *a = chan("a", 0), *b = chan("b", 0);
    ends left = {csp_chan_in(b), csp_chan_out(a)}, right = {csp_chan_in(a), csp_chan_out(b)};
    CSP_PAR({writes_then_reads, &left, "left"}, {writes_then_reads, &right, "right"});
}

// As pair, but they have spoken before, so that it is known who reads what.
static int speaks_then_sticks(void *arg)
{
    ends *my = arg;
    int v = 1;
    if (csp_read(my->in, &v) == CSP_OK)
        csp_write(my->out, &v);
    return csp_read(my->in, &v);
}

static int sticks_too(void *arg)
{
    ends *my = arg;
    int v = 1;
    if (csp_write(my->out, &v) == CSP_OK)
        csp_read(my->in, &v);
    return csp_read(my->in, &v);
}

static void spoken(void)
{
    csp_chan *a = chan("a", 0), *b = chan("b", 0);
    ends left = {csp_chan_in(b), csp_chan_out(a)}, right = {csp_chan_in(a), csp_chan_out(b)};
    CSP_PAR({speaks_then_sticks, &left, "left"}, {sticks_too, &right, "right"});
}

static void self(void)
{
    csp_chan *own = chan("own", 0);
    ends both = {csp_chan_in(own), csp_chan_out(own)};
    csp_hold(both.in);
    writes_then_reads(&both);
}

// ---- a child that waits for nobody; its parents in PAR and join

static int reads(void *arg)
{
    int v;
    return csp_read(arg, &v);
}

static int joins(void *arg)
{
    return csp_join(csp_fork(reads, arg, "reader"));
}

static void child(void)
{
    CSP_PAR({joins, csp_chan_in(chan("nothing", 0)), "parent"});
}

// ---- a ring of readers

static void ring(size_t count)
{
    csp_chan **chans = malloc(count * sizeof *chans);
    ends *all = malloc(count * sizeof *all);
    for (size_t i = 0; i < count; i++)
        chans[i] = chan("ring[%d]", (int)i);
    for (size_t i = 0; i < count; i++)
        all[i] = (ends){csp_chan_in(chans[i]), csp_chan_out(chans[(i + 1) % count])};
    csp_par_each(speaks_then_sticks, all, count, sizeof *all, "node", NULL);
}

// ---- philosophers; each takes the fork at his left, then all the one at their right

enum { PHILOSOPHERS = 5 };

typedef struct seat {
    csp_out *left, *right; // a write takes the fork, the next one lays it down
    csp_barrier *all;
} seat;

static int philosopher(void *arg)
{
    seat *my = arg;
    int hand = 1;
    csp_write(my->left, &hand);
    csp_sync(my->all);
    csp_write(my->right, &hand);
    return 0;
}

// Whoever takes it lays it down.
static int fork_of(void *arg)
{
    csp_in **users = arg;
    int hand, user;
    do {
        csp_guard guards[] = {csp_on_read(users[0], &hand), csp_on_read(users[1], &hand)};
        user = csp_alt(guards, 2);
    } while (csp_read(users[user], &hand) == CSP_OK);
    return 0;
}

typedef struct table {
    seat seats[PHILOSOPHERS];
    csp_in *users[PHILOSOPHERS][2];
} table;

static int all_think(void *arg)
{
    table *t = arg;
    return csp_par_each(philosopher, t->seats, PHILOSOPHERS, sizeof *t->seats, "philosopher", NULL);
}

static int all_lie(void *arg)
{
    table *t = arg;
    return csp_par_each(fork_of, t->users, PHILOSOPHERS, sizeof *t->users, "fork", NULL);
}

static void forks(void)
{
    table t;
    csp_barrier *all = csp_barrier_new("all have one", PHILOSOPHERS);
    for (int i = 0; i < PHILOSOPHERS; i++) {
        int right = (i + 1) % PHILOSOPHERS;
        csp_chan *at_left = chan("left of %d", i), *at_right = chan("right of %d", i);
        t.seats[i] = (seat){csp_chan_out(at_left), csp_chan_out(at_right), all};
        t.users[i][0] = csp_chan_in(at_left);
        t.users[right][1] = csp_chan_in(at_right);
    }
    CSP_PAR({all_think, &t, "table"}, {all_lie, &t, "cutlery"});
}

// The same with forks that are tokens in channels.
typedef struct place {
    csp_in *left, *right;
    csp_out *left_down, *right_down;
    csp_barrier *all;
} place;

static int takes_tokens(void *arg)
{
    place *my = arg;
    int fork;
    csp_read(my->left, &fork);
    csp_sync(my->all);
    csp_read(my->right, &fork);
    csp_write(my->left_down, &fork);
    csp_write(my->right_down, &fork);
    return 0;
}

static void tokens(void)
{
    place places[PHILOSOPHERS];
    csp_chan *tokens[PHILOSOPHERS];
    csp_barrier *all = csp_barrier_new(NULL, PHILOSOPHERS);
    for (int i = 0; i < PHILOSOPHERS; i++) {
        char name[40];
        snprintf(name, sizeof name, "fork[%d]", i);
        tokens[i] = csp_chan_buffered(name, sizeof(int), 1);
        csp_write(csp_chan_out(tokens[i]), &i);
    }
    for (int i = 0; i < PHILOSOPHERS; i++) {
        csp_chan *left = tokens[i], *right = tokens[(i + 1) % PHILOSOPHERS];
        places[i] = (place){csp_chan_in(left), csp_chan_in(right), csp_chan_out(left),
                            csp_chan_out(right), all};
    }
    csp_par_each(takes_tokens, places, PHILOSOPHERS, sizeof *places, "philosopher", NULL);
}

// ---- a barrier where one is missing, and alternations that nobody serves

typedef struct crowd {
    csp_barrier *all;
    csp_in *in;
} crowd;

static int meets(void *arg)
{
    crowd *my = arg;
    int v;
    if (my->in)
        csp_read(my->in, &v);
    return csp_sync(my->all);
}

static void barrier(void)
{
    csp_barrier *all = csp_barrier_new("start", 3);
    crowd crowds[] = {{all, NULL}, {all, csp_chan_in(chan("late", 0))}, {all, NULL}};
    csp_par_each(meets, crowds, 3, sizeof *crowds, "runner", NULL);
}

static int chooses(void *arg)
{
    ends *my = arg;
    int v = 0;
    csp_guard guards[] = {csp_on_read(my->in, &v), csp_on_write(my->out, &v), csp_on_skip()};
    guards[2].off = true;
    return csp_alt(guards, 3);
}

static void alt(void)
{
    csp_chan *a = chan("a", 0), *b = chan("b", 0), *c = chan("c", 0);
    ends one = {csp_chan_in(a), csp_chan_out(b)};
    ends two = {csp_chan_in(c), csp_chan_out(csp_chan_new(NULL, sizeof(int)))};
    csp_chan_out(a);
    csp_chan_in(b);
    csp_hold(two.in);
    CSP_PAR({chooses, &one, "one"}, {chooses, &two, "two"});
}

// ---- those who can go on

static int sleeps(void *arg)
{
    csp_sleep(csp_after(0.8));
    return 0;
}

static int reads_pipe(void *arg)
{
    char c;
    return csp_fd_read(*(int *)arg, &c, 1) != 1;
}

static int fills_pipe(void *arg)
{
    csp_sleep(csp_after(0.8));
    return csp_fd_write(*(int *)arg, "x", 1) != 1;
}

static void waits(void)
{
    int fds[2];
    if (pipe(fds) != 0)
        exit(3);
    CSP_PAR({sleeps, NULL, "sleeper"});
    CSP_PAR({reads_pipe, &fds[0], "reader"}, {fills_pipe, &fds[1], "writer"});
    puts("fine");
}

// Most are stuck, one sleeps for long: what a report shows that somebody asked for.
static int sleeps_long(void *arg)
{
    csp_sleep(csp_after(60));
    return 0;
}

static void partly(void)
{
    csp_chan *a = chan("a", 0), *b = chan("b", 0);
    ends left = {csp_chan_in(b), csp_chan_out(a)}, right = {csp_chan_in(a), csp_chan_out(b)};
    CSP_PAR({writes_then_reads, &left, "left"}, {writes_then_reads, &right, "right"},
            {sleeps_long, NULL, "sleeper"});
}

// ---- crashes

static int crashes(void *arg)
{
    if (*(int *)arg == 3)
        *(volatile int *)8 = 1;
    return 0;
}

static int overflows(void *arg)
{
    volatile char page[4096];
    page[0] = 1;
    return arg ? overflows((void *)page) + page[0] : 0;
}

static void crash(void)
{
    int numbers[] = {0, 1, 2, 3};
    csp_par_each(crashes, numbers, 4, sizeof *numbers, "worker", NULL);
}

static void overflow(void)
{
    CSP_PAR({overflows, "", "deep"});
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } all[] = {{"pair", pair},   {"spoken", spoken}, {"self", self},       {"child", child},
               {"waits", waits}, {"partly", partly}, {"crash", crash},     {"overflow", overflow},
               {"forks", forks}, {"tokens", tokens}, {"barrier", barrier}, {"alt", alt}};
    const char *what = argc > 1 ? argv[1] : "";
    if (strcmp(what, "ring") == 0)
        ring(argc > 2 ? (size_t)atol(argv[2]) : 5);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (strcmp(what, all[i].name) == 0)
            all[i].run();
    return 0;
}
