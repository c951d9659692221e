// SPDX-License-Identifier: BSD-3-Clause
// What collective tasks of one worker do with elements: which brackets a Reduce has, what it writes
// to, how a shared element goes to all. Programs, several workers and faults:
// test/mpi/flow_reduce.c, flow_bcast.c, flow_deal.c.
#include <millet/csp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "coll/alg/tree.h"
#include "csp/chan.h"
#include "csp/state.h"
#include "flow/part/part_int.h"
#include "p2p/job_test.h"

// ---- a task by hand: inlets and outlets are channels with room for all

enum { MOST = 70, ROOM = 8 };

typedef struct hand {
    mlt_flow_program program;
    flow_instance task;
    mlt_flow_inlet in[MOST], to[MOST];
    mlt_flow_outlet out[MOST];
} hand;

static void make_inlet(hand *h, mlt_flow_inlet *inlet)
{
    csp_chan *chan = csp_chan_buffered("queue", sizeof(mlt_flow_element *), ROOM);
    *inlet = (mlt_flow_inlet){
        .program = &h->program, .chan = chan, .in = csp_chan_in(chan), .cap = ROOM};
}

static hand *make(uint32_t ins, uint32_t outs)
{
    hand *h = calloc(1, sizeof *h);
    h->program.csp = mlt_csp_enter("test");
    mlt_flow_self = &h->program;
    mlt_flow_elements_init(&h->program.elements);
    h->task = (flow_instance){
        .program = &h->program, .in = h->in, .out = h->out, .ins = ins, .outs = outs};
    for (uint32_t i = 0; i < ins; i++) {
        make_inlet(h, &h->in[i]);
        (void)csp_chan_out(h->in[i].chan);
    }
    for (uint32_t i = 0; i < outs; i++) {
        make_inlet(h, &h->to[i]);
        h->out[i] = (mlt_flow_outlet){
            .program = &h->program, .to = &h->to[i], .out = csp_chan_out(h->to[i].chan)};
    }
    return h;
}

static void unmake(hand *h)
{
    for (uint32_t i = 0; i < h->task.ins; i++)
        csp_chan_free(h->in[i].chan);
    for (uint32_t i = 0; i < h->task.outs; i++)
        csp_chan_free(h->to[i].chan);
    CHECK(h->program.elements.in_use == 0);
    mlt_pool_fini(&h->program.elements);
    mlt_flow_self = NULL;
    free(h);
}

static void put_text(hand *h, uint32_t inlet, const char *text, size_t bytes)
{
    mlt_flow_element *e = mlt_flow_element_new(bytes);
    e->value_bytes = (uint32_t)bytes;
    memset(mlt_flow_data(e), 0, bytes);
    memcpy(mlt_flow_data(e), text, strlen(text));
    mlt_flow_inlet_push(&h->in[inlet], e);
}

static void put_ints(hand *h, uint32_t inlet, int a, int b, uint32_t refs)
{
    int v[] = {a, b};
    mlt_flow_element *e = mlt_flow_element_new(sizeof v);
    e->kind = FLOW_INT;
    e->value_bytes = sizeof(int);
    e->refs = refs;
    memcpy(mlt_flow_data(e), v, sizeof v);
    mlt_flow_inlet_push(&h->in[inlet], e);
}

static void end_inlets(hand *h)
{
    for (uint32_t i = 0; i < h->task.ins; i++)
        mlt_flow_inlet_line_ended(&h->in[i]);
}

// ---- words

static void words(void)
{
    static const struct {
        uint64_t n;
        const char *text;
    } all[] = {{1, "1st"},   {2, "2nd"},     {3, "3rd"},     {4, "4th"},     {10, "10th"},
               {11, "11th"}, {12, "12th"},   {13, "13th"},   {20, "20th"},   {21, "21st"},
               {22, "22nd"}, {101, "101st"}, {111, "111th"}, {112, "112th"}, {1003, "1003rd"}};
    char text[32];
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        CHECK(strcmp(mlt_flow_ordinal(all[i].n, text, sizeof text), all[i].text) == 0);
}

// ---- brackets

enum { TEXT = 512 };

// (ab)
static void bracket(void *into, const void *with, size_t count)
{
    char text[TEXT];
    CHECK(count == 1);
    snprintf(text, sizeof text, "(%.250s%.250s)", (char *)into, (const char *)with);
    memcpy(into, text, sizeof text);
}

static char name_of(uint32_t i)
{
    return (char)(i < 26 ? 'a' + i : i < 52 ? 'A' + i - 26 : '0' + i - 52);
}

static void expect(char *text, uint32_t low, uint32_t high)
{
    if (high - low == 1) {
        strncat(text, (char[]){name_of(low), '\0'}, 2);
        return;
    }
    uint32_t split = mlt_canonical_split(low, high);
    strcat(text, "(");
    expect(text, low, split);
    expect(text, split, high);
    strcat(text, ")");
}

static void brackets(void)
{
    static const flow_op op = {.name = "bracket", .combine = bracket, .ordered = true};
    for (uint32_t n = 1; n <= MOST; n++) {
        hand *h = make(n, 0);
        mlt_flow_combiner c = {.task = &h->task, .op = &op, .name = "r"};
        char canonical[TEXT] = "", chain[TEXT] = "";
        expect(canonical, 0, n);
        memset(chain, '(', n - 1);
        for (uint32_t i = 0; i < n; i++)
            strncat(chain, (char[]){name_of(i), i ? ')' : '\0', '\0'}, 3);
        for (int round = 0; round < 4; round++) {
            for (uint32_t i = 0; i < n; i++)
                put_text(h, i, (char[]){name_of(i), '\0'}, TEXT);
            c.brackets = round % 2;
            mlt_flow_element *e = mlt_flow_combine_next(&c);
            CHECK(e && e->bytes == TEXT && e->refs == 1);
            CHECK(strcmp(mlt_flow_data(e), round % 2 ? canonical : chain) == 0);
            mlt_flow_element_drop(e);
        }
        end_inlets(h);
        CHECK(mlt_flow_combine_next(&c) == NULL && c.taken == 4);
        mlt_flow_combiner_fini(&c);
        unmake(h);
    }
}

// ---- what is written to

// Whoever shares an element does not see it change; of operands that nobody shares one is the
// result.
static void sharing(void)
{
    static const flow_op op = {.name = "sum"};
    for (uint32_t mask = 0; mask < 8; mask++) {
        hand *h = make(3, 0);
        mlt_flow_combiner c = {.task = &h->task, .op = &op, .name = "r", .brackets = true};
        mlt_flow_element *at[3];
        for (uint32_t i = 0; i < 3; i++) {
            put_ints(h, i, (int)i + 1, 10 * (int)i, mask >> i & 1 ? 2 : 1);
            memcpy(&at[i], h->in[i].chan->buffer, sizeof at[i]);
        }
        mlt_flow_element *e = mlt_flow_combine_next(&c);
        const int *sum = mlt_flow_data(e);
        bool own = false;
        CHECK(e->refs == 1 && e->kind == FLOW_INT && e->value_bytes == 4 && e->bytes == 8);
        CHECK(sum[0] == 6 && sum[1] == 30);
        for (uint32_t i = 0; i < 3; i++)
            if (mask >> i & 1) {
                const int *v = mlt_flow_data(at[i]);
                CHECK(e != at[i] && at[i]->refs == 1 && v[0] == (int)i + 1 && v[1] == 10 * (int)i);
                mlt_flow_element_drop(at[i]);
            } else {
                own |= e == at[i];
            }
        CHECK(own == ((mask & 3) != 3)); // of the first two one at least could be written to
        mlt_flow_element_drop(e);
        mlt_flow_combiner_fini(&c);
        unmake(h);
    }
}

// Types may change from round to round; how to combine each is found once.
static void changing(void)
{
    static const flow_op op = {.name = "sum"};
    hand *h = make(2, 0);
    mlt_flow_combiner c = {.task = &h->task, .op = &op, .name = "r"};
    for (int round = 0; round < 6; round++) {
        for (uint32_t i = 0; i < 2; i++) {
            put_ints(h, i, 1, 2, 1);
            if (round % 2) {
                mlt_flow_element *e;
                memcpy(&e, h->in[i].chan->buffer + h->in[i].chan->first * sizeof e, sizeof e);
                e->kind = FLOW_LONG;
                e->value_bytes = 8;
            }
        }
        mlt_flow_element *e = mlt_flow_combine_next(&c);
        CHECK(e->kind == (round % 2 ? FLOW_LONG : FLOW_INT));
        CHECK(((const int *)mlt_flow_data(e))[1] == 4);
        mlt_flow_element_drop(e);
    }
    CHECK(c.hows && c.hows->next && !c.hows->next->next);
    mlt_flow_combiner_fini(&c);
    unmake(h);
}

// ---- handing out

static void spreading(void)
{
    for (uint32_t outs = 1; outs <= 5; outs++) {
        hand *h = make(0, outs);
        mlt_flow_element *e = mlt_flow_element_new(8), *got;
        CHECK(mlt_flow_spread(&h->task, e) && e->refs == outs);
        for (uint32_t i = 0; i < outs; i++) {
            got = mlt_flow_take(&h->to[i]);
            CHECK(got == e && e->refs == outs - i);
            mlt_flow_element_drop(got);
        }
        // One after the other ends.
        for (uint32_t i = 0; i < outs; i++) {
            mlt_chan_retire(h->to[i].chan, false);
            e = mlt_flow_element_new(8);
            CHECK(mlt_flow_spread(&h->task, e) == (i + 1 < outs));
            for (uint32_t k = i + 1; k < outs; k++)
                mlt_flow_element_drop(mlt_flow_take(&h->to[k]));
        }
        unmake(h);
    }
}

static void all(void *rank)
{
    (void)rank;
    words();
    brackets();
    sharing();
    changing();
    spreading();
}

int main(void)
{
    test_job_run(1, 1, "direct", all, mlt_csp_end);
    return 0;
}
