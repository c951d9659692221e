// SPDX-License-Identifier: BSD-3-Clause
// Wrong use: each ends the program with one error message. `csp_fault CASE`.
#include <stdatomic.h>

#include "csp_check.h"

// Of the workers of a process, one finds the other's.
static _Atomic(csp_in *) foreign;
static _Atomic(csp_child *) foreign_child;

static int nothing(void *arg)
{
    (void)arg;
    return 0;
}

static int reads(void *arg)
{
    int value;
    return (int)csp_read(arg, &value);
}

static int joins(void *arg)
{
    return csp_join(arg);
}

static int syncs(void *arg)
{
    return (int)csp_sync(arg);
}

static int reads_null(void *arg)
{
    (void)arg;
    int value;
    return (int)csp_read(NULL, &value);
}

static void channels(const char *what, csp_chan *c)
{
    int value = 0;
    csp_in *in = csp_chan_in(c);
    _Alignas(64) long words[64] = {0};
    if (strcmp(what, "read-null") == 0)
        csp_read(NULL, &value);
    else if (strcmp(what, "write-null") == 0)
        csp_write(NULL, &value);
    else if (strcmp(what, "poison-null") == 0)
        csp_poison((csp_out *)NULL);
    else if (strcmp(what, "write-in") == 0)
        csp_write((void *)in, &value);
    else if (strcmp(what, "read-out") == 0)
        csp_read((void *)csp_chan_out(c), &value);
    else if (strcmp(what, "read-chan") == 0)
        csp_read((void *)c, &value);
    else if (strcmp(what, "write-chan") == 0)
        csp_write((void *)c, &value);
    else if (strcmp(what, "free-in") == 0)
        csp_chan_free((void *)in);
    else if (strcmp(what, "free-out") == 0)
        csp_chan_free((void *)csp_chan_out(c));
    else if (strcmp(what, "alt-out") == 0) {
        csp_guard guards[] = {csp_on_read((void *)csp_chan_out(c), &value)};
        csp_pri_alt(guards, 1);
    } else if (strcmp(what, "process") == 0)
        CSP_PAR({reads_null, NULL, "guilty"});
    else if (strcmp(what, "free-twice") == 0) {
        csp_chan_free(c);
        csp_chan_free(c);
    } else if (strcmp(what, "no-end") == 0)
        csp_read((csp_in *)words, &value);
    else if (strcmp(what, "foreign") == 0) {
        csp_in *none = NULL;
        if (!atomic_compare_exchange_strong(&foreign, &none, in))
            csp_read(none, &value);
        csp_read(in, &value);
    } else if (strcmp(what, "foreign-child") == 0) {
        csp_child *none = NULL, *own = csp_fork(reads, in, NULL);
        if (!atomic_compare_exchange_strong(&foreign_child, &none, own))
            csp_join(none);
        csp_sleep(csp_after(1e6));
    } else if (strcmp(what, "free-waits") == 0) {
        csp_fork(reads, in, NULL);
        settle();
        csp_chan_free(c);
    } else if (strcmp(what, "retire-twice") == 0) {
        csp_retire(in);
        csp_retire(in);
    } else if (strcmp(what, "no-room") == 0)
        csp_chan_buffered("none", 4, 0);
    else if (strcmp(what, "huge") == 0)
        csp_chan_new("huge", (size_t)1 << 40);
    else if (strcmp(what, "huge-buffer") == 0)
        csp_chan_overwriting("huge", 4, (size_t)1 << 40);
    else if (strcmp(what, "hold-null") == 0)
        csp_hold((csp_out *)NULL);
    else if (strcmp(what, "id-size") == 0)
        csp_id(&(csp_pair){in, csp_chan_out(c), 8});
    else if (strcmp(what, "id-out-size") == 0)
        csp_id(&(csp_pair){in, csp_chan_out(csp_chan_new(NULL, 8)), 4});
    else if (strcmp(what, "successor-size") == 0)
        csp_successor(&(csp_pair){in, csp_chan_out(c), 8});
    else if (strcmp(what, "id-large") == 0)
        csp_id(&(csp_pair){in, csp_chan_out(c), 5000});
}

static void processes(const char *what)
{
    if (strcmp(what, "par-null") == 0)
        CSP_PAR({nothing, NULL}, {NULL, NULL});
    else if (strcmp(what, "par-no-array") == 0)
        csp_par(NULL, 3);
    else if (strcmp(what, "seq-null") == 0)
        CSP_SEQ({NULL, NULL});
    else if (strcmp(what, "each-null") == 0)
        csp_par_each(NULL, NULL, 1, 1, NULL, NULL);
    else if (strcmp(what, "fork-null") == 0)
        csp_fork(NULL, NULL, NULL);
    else if (strcmp(what, "join-null") == 0)
        csp_join(NULL);
    else if (strcmp(what, "too-many") == 0)
        csp_par(NULL, SIZE_MAX / 2);
    else if (strcmp(what, "join-twice") == 0) {
        csp_child *child = csp_fork(nothing, NULL, NULL);
        csp_join(child);
        csp_join(child);
    } else if (strcmp(what, "join-both") == 0) {
        csp_chan *c = csp_chan_new(NULL, 4);
        csp_child *child = csp_fork(reads, csp_chan_in(c), NULL);
        csp_fork(joins, child, NULL);
        settle();
        csp_join(child);
    }
}

static void barriers_and_guards(const char *what)
{
    csp_barrier *b = csp_barrier_new("empty", 0), *two = csp_barrier_new("two", 2);
    csp_guard guards[] = {csp_on_skip(), csp_on_sync(two), csp_on_sync(two)};
    if (strcmp(what, "sync-empty") == 0)
        csp_sync(b);
    else if (strcmp(what, "resign-empty") == 0)
        csp_barrier_resign(b);
    else if (strcmp(what, "sync-null") == 0)
        csp_sync(NULL);
    else if (strcmp(what, "barrier-waits") == 0) {
        csp_fork(syncs, two, NULL);
        settle();
        csp_barrier_free(two);
    } else if (strcmp(what, "barrier-freed") == 0) {
        csp_barrier_free(two);
        csp_sync(two);
    } else if (strcmp(what, "no-barrier") == 0)
        csp_sync((csp_barrier *)(void *)guards);
    else if (strcmp(what, "all-off") == 0) {
        guards[0].off = true;
        csp_alt(guards, 1);
    } else if (strcmp(what, "no-guards") == 0)
        csp_pri_alt(guards, 0);
    else if (strcmp(what, "sync-twice") == 0)
        csp_alt(guards, 3);
    else if (strcmp(what, "no-kind") == 0) {
        guards[0].kind = (csp_guard_kind)77;
        csp_alt(guards, 1);
    } else if (strcmp(what, "bad-fd") == 0) {
        guards[0] = csp_on_readable(987);
        csp_alt(guards, 1);
    } else if (strcmp(what, "alt-null") == 0) {
        guards[0] = csp_on_read(NULL, NULL);
        csp_alt(guards, 1);
    }
}

int main(int argc, char **argv)
{
    if (argc < 2)
        return 2;
    channels(argv[1], csp_chan_new("c", sizeof(int)));
    processes(argv[1]);
    barriers_and_guards(argv[1]);
    return 0; // it should not have come so far
}
