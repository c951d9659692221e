// SPDX-License-Identifier: BSD-3-Clause
// The compressed form: what is written is read again, rank by rank; regular programs take little; what
// is corrupt is refused.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/unit_test.h"
#include "goal/image/head.h"
#include "goal/program_test.h"
#include "goal/regular/regular_int.h"
#include "goal/sched.h"

enum { N = 8 };

typedef struct file {
    unsigned char *bytes;
    size_t size;
    mlt_goal_regular_counts counts;
} file;

static file written(const mlt_goal_program *program)
{
    file f;
    char why[512] = "";
    if (mlt_goal_regular_write(program, &f.bytes, &f.size, &f.counts, why, sizeof why) != MLT_OK) {
        fprintf(stderr, "%s\n", why);
        CHECK(!"written");
    }
    CHECK(mlt_is_regular(f.bytes, f.size) && !mlt_is_image(f.bytes, f.size));
    return f;
}

static mlt_goal_regular *opened(const file *f)
{
    mlt_goal_regular *regular;
    char why[512] = "";
    if (mlt_goal_regular_open("it", f->bytes, f->size, &regular, why, sizeof why) != MLT_OK) {
        fprintf(stderr, "%s\n", why);
        CHECK(!"opened");
    }
    return regular;
}

static void check_rank(const mlt_goal_program *program, const mlt_goal_program *got, uint32_t rank)
{
    const mlt_goal_rank *a = &program->rank[rank], *b = &got->rank[0];
    CHECK(a->count == b->count && a->deps_count == b->deps_count);
    CHECK(a->buffers_count == b->buffers_count);
    for (uint32_t i = 0; i < a->count; i++) {
        mlt_goal_action was = a->actions[i];
        was.label = was.line = 0;
        CHECK(memcmp(&was, &b->actions[i], sizeof was) == 0);
    }
    CHECK(program_deps_equal(a, b));
    for (uint32_t i = 0; i < a->buffers_count; i++) {
        CHECK(a->buffers[i].size == b->buffers[i].size);
        CHECK(strcmp(mlt_goal_name_text(program, a->buffers[i].name),
                     mlt_goal_name_text(got, b->buffers[i].name)) == 0);
    }
}

// Written and read; `classes` and `bytes` are the most that it may take. Frees the program.
static void check_program(mlt_goal_program *program, uint32_t classes, size_t bytes)
{
    char why[512] = "";
    file f = written(program);
    mlt_goal_regular *regular = opened(&f);
    mlt_goal_program *one = mlt_goal_program_new(1), *all;
    CHECK(f.counts.classes <= classes);
    CHECK(f.size <= bytes);
    CHECK(mlt_goal_regular_ranks(regular) == program->ranks);
    CHECK(mlt_goal_regular_has_wildcards(regular) == mlt_goal_has_wildcards(program));
    for (int indexed = 0; indexed < 2; indexed++) {
        for (uint32_t r = program->ranks; r-- > 0;) {
            CHECK(mlt_goal_regular_rank(regular, r, one, why, sizeof why) == MLT_OK);
            check_rank(program, one, r);
        }
        mlt_goal_regular_index(regular);
        mlt_goal_regular_index(regular);
    }
    mlt_goal_regular_counts counts = mlt_goal_regular_count(regular);
    CHECK(counts.classes == f.counts.classes && counts.sets == f.counts.sets);
    CHECK(counts.actions == f.counts.actions);
    CHECK(mlt_goal_regular_program(regular, &all, why, sizeof why) == MLT_OK);
    file again = written(all);
    CHECK(again.size == f.size && memcmp(again.bytes, f.bytes, f.size) == 0);
    free(again.bytes);
    mlt_goal_program_free(all);
    mlt_goal_program_free(one);
    mlt_goal_program_free(program);
    mlt_goal_regular_free(regular);
    free(f.bytes);
}

static const mlt_goal_span at_0 = {MLT_GOAL_MEMORY, 0, N};

// Listing 2 of the paper, the ranks moved by `root`.
static mlt_goal_program *binomial(uint32_t ranks, uint32_t root)
{
    mlt_goal_program *p = mlt_goal_program_new(ranks);
    for (uint32_t i = 0; i < ranks; i++) {
        uint32_t rank = (i + root) % ranks, recv = MLT_GOAL_NONE, bit = 1;
        for (; bit < ranks && !(i & bit); bit *= 2)
            ;
        if (i)
            recv = mlt_goal_recv(p, rank, at_0, (int32_t)((i - bit + root) % ranks), 0);
        while (bit /= 2) {
            if (i + bit >= ranks)
                continue;
            uint32_t send = mlt_goal_send(p, rank, at_0, (int32_t)((i + bit + root) % ranks), 0);
            if (recv != MLT_GOAL_NONE)
                mlt_goal_require(p, rank, send, recv);
        }
    }
    return p;
}

static void trees(void)
{
    check_program(binomial(1 << 12, 0), 13, 1500);
    check_program(binomial(1 << 12, 77), 13, 1500);
    check_program(binomial(4001, 0), 24, 3000);
    check_program(binomial(1, 0), 1, 200);
}

// A chain of pieces: 2 records and one group, however many there are.
static mlt_goal_program *chain(uint32_t ranks, uint32_t pieces)
{
    mlt_goal_program *p = mlt_goal_program_new(ranks);
    for (uint32_t r = 0; r < ranks; r++) {
        uint32_t buf = mlt_goal_buffer_add(p, r, "data", (uint64_t)pieces * N);
        for (uint32_t i = 0; i < pieces; i++) {
            mlt_goal_span span = {buf, (uint64_t)i * N, N};
            uint32_t recv = r ? mlt_goal_recv(p, r, span, (int32_t)r - 1, (int32_t)i) : 0;
            uint32_t send =
                r + 1 < ranks ? mlt_goal_send(p, r, span, (int32_t)r + 1, (int32_t)i) : 0;
            if (r && r + 1 < ranks)
                mlt_goal_require(p, r, send, recv | (i % 2 ? 0 : MLT_GOAL_STARTED));
        }
    }
    return p;
}

static void loops(void)
{
    check_program(chain(100, 1000), 3, 300);
    check_program(chain(2, 3), 2, 200);
    check_program(chain(40, 1), 3, 250);
}

// Blocks that go round: each rank sends the one that it has just got.
static mlt_goal_program *ring(uint32_t ranks)
{
    mlt_goal_program *p = mlt_goal_program_new(ranks);
    for (uint32_t r = 0; r < ranks; r++)
        for (uint32_t k = 0; k + 1 < ranks; k++) {
            mlt_goal_span out = {MLT_GOAL_MEMORY, (r + ranks - k) % ranks * N, N};
            mlt_goal_span in = {MLT_GOAL_MEMORY, (r + ranks - k - 1) % ranks * N, N};
            uint32_t send = mlt_goal_send(p, r, out, (int32_t)((r + 1) % ranks), 0);
            uint32_t recv = mlt_goal_recv(p, r, in, (int32_t)((r + ranks - 1) % ranks), 0);
            if (k)
                mlt_goal_require(p, r, send, recv - 2);
        }
    return p;
}

// Partners by xor, each half of the data, and an operation in the order of ranks.
static mlt_goal_program *doubling(uint32_t ranks)
{
    mlt_goal_program *p = mlt_goal_program_new(ranks);
    for (uint32_t r = 0; r < ranks; r++)
        for (uint32_t bit = 1; bit < ranks; bit *= 2) {
            uint32_t other = r ^ bit;
            uint64_t size = (uint64_t)bit * N;
            mlt_goal_span out = {MLT_GOAL_MEMORY, r / bit * size, size};
            mlt_goal_span in = {MLT_GOAL_MEMORY, other / bit * size, size};
            mlt_goal_send(p, r, out, (int32_t)other, (int32_t)bit);
            uint32_t recv = mlt_goal_recv(p, r, in, (int32_t)other, (int32_t)bit);
            uint32_t exec = mlt_goal_exec(p, r, MLT_OP_SUM, MLT_OP_INT32, out, in);
            p->rank[r].actions[exec].flags = other < r ? MLT_GOAL_REVERSED : 0;
            mlt_goal_require(p, r, exec, recv);
        }
    return p;
}

static void blocks(void)
{
    check_program(ring(50), 1, 250);
    check_program(doubling(256), 1, 450);
}

// Ranks of hosts: sets within sets; and what no form fits.
static void irregular(void)
{
    mlt_goal_program *p = mlt_goal_program_new(640);
    for (uint32_t r = 0; r < 640; r++)
        if (r % 64)
            mlt_goal_send(p, r, at_0, (int32_t)(r - r % 64), 0);
        else
            for (uint32_t i = 1; i < 64; i++)
                mlt_goal_recv(p, r, at_0, (int32_t)(r + i), 0);
    check_program(p, 64, 3500);
    p = mlt_goal_program_new(100);
    uint64_t random = 1;
    for (uint32_t r = 0; r < 100; r++)
        for (uint32_t i = 0; i < r % 7; i++) {
            random = random * 6364136223846793005u + 1442695040888963407u;
            mlt_goal_action action = {.kind = MLT_GOAL_RECV,
                                      .peer = i % 3 ? (int32_t)(random >> 40) % 100 : MLT_GOAL_ANY,
                                      .tag = i % 4 ? (int32_t)(random >> 34) : MLT_GOAL_ANY,
                                      .cpu = (uint8_t)(random >> 50),
                                      .nic = (uint8_t)(random >> 51),
                                      .at = {random},
                                      .size = {UINT64_MAX - random},
                                      .buf = {i % 2 ? MLT_GOAL_NOWHERE : MLT_GOAL_MEMORY}};
            mlt_goal_add(p, r, &action);
            if (i > 1)
                mlt_goal_require(p, r, i - 2, i); // the other way round
        }
    check_program(p, 100, 100000);
}

// ---- refusals

static void check_refused(file *f, const char *what)
{
    mlt_goal_regular *regular = NULL;
    char why[512] = "";
    CHECK(mlt_goal_regular_open("it", f->bytes, f->size, &regular, why, sizeof why) != MLT_OK);
    if (!strstr(why, what))
        fprintf(stderr, "%s\n", why);
    CHECK(strstr(why, what) && !regular);
}

static void seal(file *f)
{
    mlt_goal_image_header *h = (mlt_goal_image_header *)f->bytes;
    h->checksum = mlt_goal_image_checksum(f->bytes, f->size);
}

static void corrupt(void)
{
    mlt_goal_program *p = chain(10, 10);
    file f = written(p);
    mlt_goal_image_header *h = (mlt_goal_image_header *)f.bytes, good = *h;
    for (size_t i = 0; i < f.size; i++) {
        f.bytes[i] ^= 4;
        check_refused(&f, "it ");
        f.bytes[i] ^= 4;
    }
    size_t size = f.size;
    for (f.size = 0; f.size < size; f.size++)
        check_refused(&f, f.size < 8 ? "begins with other bytes" : "cut short");
    h->version = 9;
    check_refused(&f, "has version 9 of the format");
    *h = good;
    h->order = __builtin_bswap32(h->order);
    check_refused(&f, "other byte order");
    *h = good;
    h->ranks = 0;
    seal(&f);
    check_refused(&f, "number of ranks");
    *h = good;
    h->ranks = 9; // sets have ten
    seal(&f);
    check_refused(&f, "ranks that the program has not");
    *h = good;
    h->held = 4;
    seal(&f);
    check_refused(&f, "corrupt");
    *h = good;
    h->buffers = 1;
    seal(&f);
    check_refused(&f, "something stands after its end");
    free(f.bytes);
    mlt_goal_program_free(p);
}

static void cannot_be_written(void)
{
    unsigned char *bytes;
    size_t size;
    char why[512] = "";
    mlt_goal_program *p = mlt_goal_program_new(2);
    mlt_goal_send(p, 1, (mlt_goal_span){MLT_GOAL_ADDRESS, 64, 8}, 0, 0);
    CHECK(mlt_goal_regular_write(p, &bytes, &size, NULL, why, sizeof why) != MLT_OK && !bytes);
    CHECK(strstr(why, "action 0 of rank 1 has an address of a process"));
    mlt_goal_program_free(p);
    p = mlt_goal_program_new(2);
    mlt_goal_buffer_add(p, 0, "two words", 8);
    CHECK(mlt_goal_regular_write(p, &bytes, &size, NULL, why, sizeof why) != MLT_OK && !bytes);
    CHECK(strstr(why, "buffer 1 of rank 0 has a name with blanks"));
    mlt_goal_program_free(p);
    p = mlt_goal_program_new(2);
    mlt_goal_send(p, 1, at_0, 2, 0);
    CHECK(mlt_goal_regular_write(p, &bytes, &size, NULL, why, sizeof why) != MLT_OK && !bytes);
    CHECK(strstr(why, "no rank of the program"));
    mlt_goal_program_free(p);
}

int main(void)
{
    trees();
    loops();
    blocks();
    irregular();
    corrupt();
    cannot_be_written();
    return 0;
}
