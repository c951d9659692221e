// SPDX-License-Identifier: BSD-3-Clause
// The ready-made processes: id, successor, prefix, delta, tee, merge.
#include "csp_check.h"

typedef struct tap {
    csp_in *in;
    csp_out *out;
    int count;
    long sum;
    size_t size;
    bool poison;
} tap;

static int counts(void *arg) // takes so many, then poisons
{
    tap *my = arg;
    int value;
    csp_hold(my->in);
    for (int i = 0; i < my->count; i++) {
        CHECK_INT(csp_read(my->in, &value), CSP_OK);
        CHECK_INT(value, i);
    }
    return CSP_POISONED;
}

static void commstime(csp_function *delta)
{
    csp_chan *a = csp_chan_new("a", sizeof(int)), *b = csp_chan_new("b", sizeof(int)),
             *c = csp_chan_new("c", sizeof(int)), *d = csp_chan_new("d", sizeof(int));
    int zero = 0;
    csp_out *outs[] = {csp_chan_out(c), csp_chan_out(d)};
    csp_prefix_args prefix = {csp_chan_in(b), csp_chan_out(a), sizeof(int), &zero};
    csp_delta_args split = {csp_chan_in(a), outs, 2, sizeof(int)};
    csp_pair successor = {csp_chan_in(c), csp_chan_out(b), sizeof(int)};
    tap consumer = {.in = csp_chan_in(d), .count = 200};
    csp_proc procs[] = {{csp_prefix, &prefix, "prefix", 0},
                        {delta, &split, "delta", 0},
                        {csp_successor, &successor, "successor", 0},
                        {counts, &consumer, "consumer", 0}};
    CHECK_INT(csp_par(procs, 4), CSP_POISONED);
    for (int i = 0; i < 4; i++)
        CHECK_INT(procs[i].result, CSP_POISONED);
    csp_chan_free(a);
    csp_chan_free(b);
    csp_chan_free(c);
    csp_chan_free(d);
}

static int fills(void *arg)
{
    tap *my = arg;
    unsigned char value[4096];
    csp_hold(my->out);
    for (int i = 0; i < my->count; i++) {
        memset(value, i, sizeof value);
        CHECK_INT(csp_write(my->out, value), CSP_OK);
    }
    return my->poison ? CSP_POISONED : 0;
}

static int takes(void *arg)
{
    tap *my = arg;
    unsigned char value[4096];
    csp_status status;
    csp_hold(my->in);
    while ((status = csp_read(my->in, value)) == CSP_OK) {
        my->count++;
        my->sum += my->size ? value[0] : 0;
        for (size_t i = 0; i < my->size; i++)
            CHECK_INT(value[i], value[0]);
    }
    return (int)status;
}

static void ids(size_t size, bool poison)
{
    csp_chan *a = csp_chan_new(NULL, size), *b = csp_chan_new(NULL, size);
    tap w = {.out = csp_chan_out(a), .count = 20, .poison = poison};
    tap r = {.in = csp_chan_in(b), .size = size};
    csp_pair id = {csp_chan_in(a), csp_chan_out(b), size};
    int want = poison ? CSP_POISONED : CSP_RETIRED;
    csp_proc procs[] = {{fills, &w, NULL, 0}, {csp_id, &id, "id", 0}, {takes, &r, NULL, 0}};
    CHECK_INT(csp_par(procs, 3), want);
    CHECK_INT(procs[2].result, want);
    CHECK(poison || r.count == 20);
    CHECK(poison || size == 0 || r.sum == 190);
    csp_chan_free(a);
    csp_chan_free(b);
}

// Many outs, and together again; an in that has retired leaves the others.
static void split_and_merge(csp_function *delta, size_t n)
{
    csp_chan *a = csp_chan_new(NULL, sizeof(int)), *z = csp_chan_new(NULL, sizeof(int)), *c[12];
    csp_out *outs[12];
    csp_in *ins[12];
    for (size_t i = 0; i < n; i++) {
        c[i] = i % 2 ? csp_chan_new(NULL, sizeof(int)) : csp_chan_buffered(NULL, sizeof(int), 1);
        outs[i] = csp_chan_out(c[i]);
        ins[i] = csp_chan_in(c[i]);
    }
    tap w = {.out = csp_chan_out(a), .count = 20};
    tap r = {.in = csp_chan_in(z), .size = sizeof(int)};
    csp_delta_args split = {csp_chan_in(a), outs, n, sizeof(int)};
    csp_merge_args merge = {ins, n, csp_chan_out(z), sizeof(int)};
    csp_proc procs[] = {{fills, &w, NULL, 0},
                        {delta, &split, NULL, 0},
                        {csp_merge, &merge, NULL, 0},
                        {takes, &r, NULL, 0}};
    CHECK_INT(csp_par(procs, 4), CSP_RETIRED);
    CHECK_INT(r.count, 20 * (long)n);
    CHECK_INT(r.sum, 190 * (long)n);
    csp_chan_free(a);
    csp_chan_free(z);
    for (size_t i = 0; i < n; i++)
        csp_chan_free(c[i]);
}

int main(void)
{
    commstime(csp_tee);
    commstime(csp_delta);
    ids(0, false);
    ids(1, false);
    ids(64, true);
    ids(65, false);
    ids(4096, true);
    for (size_t n = 1; n < 12; n += 5) {
        split_and_merge(csp_delta, n);
        split_and_merge(csp_tee, n);
    }
    return 0;
}
