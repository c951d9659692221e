// SPDX-License-Identifier: BSD-3-Clause
// Processes that can never go on, or crash, as the first argument says. Some are fine, and must not
// be taken for a deadlock.
#include <millet/csp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

// ---- those who can go on

static int sleeps(void *arg)
{
    csp_sleep(0.8);
    return 0;
}

static void waits(void)
{
    CSP_PAR({sleeps, NULL, "sleeper"});
    puts("fine");
}

// Most are stuck, one sleeps for long: what a report shows that somebody asked for.
static int sleeps_long(void *arg)
{
    csp_sleep(60);
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
    } all[] = {{"pair", pair},   {"spoken", spoken}, {"self", self},   {"child", child},
               {"waits", waits}, {"partly", partly}, {"crash", crash}, {"overflow", overflow}};
    const char *what = argc > 1 ? argv[1] : "";
    if (strcmp(what, "ring") == 0)
        ring(argc > 2 ? (size_t)atol(argv[2]) : 5);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (strcmp(what, all[i].name) == 0)
            all[i].run();
    return 0;
}
