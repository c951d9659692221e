// SPDX-License-Identifier: BSD-3-Clause
// The choice: who is asked in which order; what people write of it; that the built-in rules answer
// every question with an algorithm that serves it.
#include "coll/choose.h"
#include "coll/rules_cores.h"

#include <string.h>

#include "base/unit_test.h"
#include "coll/choice.h"

enum { WHY = 512 };

static char why[WHY];

static mlt_coll_question question(mlt_collective collective, uint32_t ranks, uint64_t bytes)
{
    return (mlt_coll_question){.collective = collective,
                               .ranks = ranks,
                               .all_ranks = ranks,
                               .bytes = bytes,
                               .op = MLT_OP_SUM,
                               .type = MLT_OP_INT32,
                               .element = 4,
                               .commutes = true,
                               .reach = MLT_REACH_HOST,
                               .comm = ""};
}

static bool is(const mlt_coll_choice *c, const char *name)
{
    return strcmp(c->alg->name, name) == 0;
}

// ---- the built-in rules

static bool can_be_done(const mlt_coll_question *q)
{
    const char *reason;
    for (int i = 0; mlt_coll_algs[i]; i++)
        if (mlt_coll_suits(mlt_coll_algs[i], q, &reason))
            return true;
    return false;
}

// Every question has an answer, which serves it. reduce_to and exchange have no rules: they are not
// chosen.
static void test_always_answers(void)
{
    static const uint64_t bytes[] = {0, 1, 8, 2048, 2052, 8192, 65536, 1 << 20, 1ull << 30};
    for (int c = 0; c < MLT_COLL_REDUCE_TO; c++)
        for (uint32_t ranks = 1; ranks <= 4096; ranks = ranks < 40 ? ranks + 1 : ranks * 2)
            for (size_t b = 0; b < sizeof bytes / sizeof *bytes; b++)
                for (int flags = 0; flags < 256; flags++) {
                    mlt_coll_question q = question((mlt_collective)c, ranks, bytes[b]);
                    q.commutes = flags & 1;
                    q.in_place = flags & 2;
                    q.uneven = (flags & 4) && (c == MLT_COLL_GATHER || c == MLT_COLL_SCATTER ||
                                               c == MLT_COLL_ALLGATHER || c == MLT_COLL_ALLTOALL ||
                                               c == MLT_COLL_REDUCE_SCATTER);
                    q.crowded = flags & 8;
                    q.sharing = q.crowded ? 2 + ranks % 16 : 1;
                    q.cores = q.crowded ? 2 : 1024;
                    q.reach = (uint8_t)((flags >> 4 & 3) % MLT_REACHES);
                    q.reproducible = flags & 64;
                    q.reads = flags & 128;
                    mlt_coll_choice choice;
                    const char *reason;
                    if (!can_be_done(&q))
                        continue;
                    mlt_coll_choose(NULL, &q, &choice, why, WHY);
                    CHECK(!*why && !*choice.passed && mlt_coll_suits(choice.alg, &q, &reason));
                    CHECK(strcmp(choice.by, "built in") == 0 && *choice.why);
                }
}

static void test_nothing_can(void)
{
    mlt_coll_question q = question(MLT_COLL_REDUCE_TO, 4, 8);
    mlt_coll_choice choice;
    q.uneven = true;
    CHECK(!can_be_done(&q));
    mlt_coll_choose(NULL, &q, &choice, why, WHY);
    CHECK(!choice.alg &&
          strstr(why, "no algorithm can do reduce_to with uneven blocks of 4 ranks"));
}

// The table itself: algorithms are there and take what they are given, and no rule is dead.
static void test_table(void)
{
    for (const mlt_coll_rule *r = mlt_coll_rules; r->alg; r++) {
        const mlt_coll_alg *alg = mlt_coll_named(mlt_coll_algs, NULL, r->collective, r->alg);
        CHECK(alg && r->why && r->by && mlt_coll_rule_takes(r, alg, why, WHY));
        CHECK(!r->ranks_to || r->ranks_from <= r->ranks_to);
        CHECK(!r->bytes_to || r->bytes_from <= r->bytes_to);
    }
}

// The same of the table of cores; and for ranks with a core each, the rules of a size are in one place.
static void test_cores_table(void)
{
    CHECK(mlt_cores_rules_count > 100);
    for (uint32_t i = 0; i < mlt_cores_rules_count; i++) {
        mlt_coll_rule r = mlt_cores_rule_at(i);
        const mlt_coll_alg *alg = mlt_coll_named(mlt_coll_algs, NULL, r.collective, r.alg);
        CHECK(alg && r.why && r.by && mlt_coll_rule_takes(&r, alg, why, WHY));
        CHECK(r.ranks_from > 2 && (!r.ranks_to || r.ranks_from <= r.ranks_to));
        CHECK(!r.bytes_to || r.bytes_from <= r.bytes_to);
    }
}

static const char *chosen(mlt_collective collective, uint32_t ranks, uint64_t bytes, uint32_t cores,
                          mlt_coll_reach reach, bool reads)
{
    mlt_coll_question q = question(collective, ranks, bytes);
    mlt_coll_choice choice;
    q.cores = cores;
    q.crowded = ranks > cores;
    q.sharing = mlt_coll_sharing(ranks, cores);
    q.reach = (uint8_t)reach;
    q.reads = reads;
    mlt_coll_choose(NULL, &q, &choice, why, WHY);
    return choice.alg->name;
}

// With 16 cores, what was measured to be slow is not chosen. With two, all is as it was: there
// three ranks are more than cores.
static void test_cores(void)
{
    const mlt_coll_reach threads = MLT_REACH_PROCESS, processes = MLT_REACH_HOST;
    const char *alg = chosen(MLT_COLL_ALLREDUCE, 16, 1 << 20, 16, threads, false);
    CHECK(strcmp(alg, "rabenseifner") == 0 || strcmp(alg, "circulant") == 0);
    alg = chosen(MLT_COLL_ALLGATHER, 16, 64 << 10, 16, threads, false);
    CHECK(strcmp(alg, "linear") == 0);
    alg = chosen(MLT_COLL_BCAST, 8, 64 << 10, 16, processes, true);
    CHECK(strcmp(alg, "scatter_allgather") != 0);
    CHECK(strcmp(chosen(MLT_COLL_BCAST, 2, 64 << 10, 2, processes, true), "binomial") == 0);
    CHECK(strcmp(chosen(MLT_COLL_BCAST, 2, 64 << 10, 2, processes, false), "chain") == 0);
    CHECK(strcmp(chosen(MLT_COLL_BCAST, 8, 64 << 10, 2, processes, true), "linear") == 0);
    CHECK(strcmp(chosen(MLT_COLL_ALLREDUCE, 2, 8, 2, threads, false), "recursive_doubling") == 0);
    // Two workers a core: with few cores one rank may do all the work, with many not.
    static const struct {
        mlt_collective collective;
        uint64_t bytes;
        const char *few, *many;
    } crowded[] = {
        {MLT_COLL_BCAST, 8, "linear", "linear"},
        {MLT_COLL_BCAST, 64 << 10, "linear", "binomial"},
        {MLT_COLL_BCAST, 1 << 20, "linear", "scatter_allgather"},
        {MLT_COLL_REDUCE, 8, "linear", "linear"},
        {MLT_COLL_REDUCE, 64 << 10, "linear", "rabenseifner"},
        {MLT_COLL_ALLREDUCE, 64 << 10, "binomial", "halving_doubling"},
        {MLT_COLL_SCAN, 8, "linear", "recursive_doubling"},
        {MLT_COLL_EXSCAN, 8, "linear", "recursive_doubling"},
        {MLT_COLL_BARRIER, 0, "linear", "linear"},
    };
    for (size_t i = 0; i < sizeof crowded / sizeof *crowded; i++) {
        alg = chosen(crowded[i].collective, 32, crowded[i].bytes, 2, processes, true);
        CHECK(strcmp(alg, crowded[i].few) == 0);
        alg = chosen(crowded[i].collective, 32, crowded[i].bytes, 16, processes, true);
        CHECK(strcmp(alg, crowded[i].many) == 0);
    }
    // Ranks that share workers, as in a flat team, have no core each.
    mlt_coll_question q = question(MLT_COLL_BARRIER, 100000, 0);
    mlt_coll_choice choice;
    q.cores = 2, q.reach = threads;
    mlt_coll_choose(NULL, &q, &choice, why, WHY);
    CHECK(strcmp(choice.why, "the fewest rounds for any number of ranks") == 0);
}

static void test_fits(void)
{
    mlt_coll_rule rule = {.collective = MLT_COLL_BCAST,
                          .ranks_from = 3,
                          .ranks_to = 5,
                          .bytes_from = 10,
                          .bytes_to = 20};
    mlt_coll_question q = question(MLT_COLL_BCAST, 3, 10);
    CHECK(mlt_coll_rule_fits(&rule, &q));
    q.ranks = 5, q.bytes = 20;
    CHECK(mlt_coll_rule_fits(&rule, &q));
    q.ranks = 6;
    CHECK(!mlt_coll_rule_fits(&rule, &q));
    q.ranks = 2;
    CHECK(!mlt_coll_rule_fits(&rule, &q));
    q.ranks = 4, q.bytes = 21;
    CHECK(!mlt_coll_rule_fits(&rule, &q));
    q.bytes = 9;
    CHECK(!mlt_coll_rule_fits(&rule, &q));
    q.bytes = 15, rule.reach = 1 << MLT_REACH_WORKER;
    CHECK(!mlt_coll_rule_fits(&rule, &q));
    rule.reach = 1 << MLT_REACH_HOST, rule.crowded = 1;
    CHECK(!mlt_coll_rule_fits(&rule, &q));
    rule.crowded = -1;
    CHECK(mlt_coll_rule_fits(&rule, &q));
    rule.sharing_from = 2, rule.sharing_to = 4;
    CHECK(!mlt_coll_rule_fits(&rule, &q));
    q.sharing = 5;
    CHECK(!mlt_coll_rule_fits(&rule, &q));
    q.sharing = mlt_coll_sharing(7, 2);
    CHECK(mlt_coll_rule_fits(&rule, &q));
    rule.cores_from = 4, rule.cores_to = 8;
    CHECK(!mlt_coll_rule_fits(&rule, &q));
    q.cores = 8;
    CHECK(mlt_coll_rule_fits(&rule, &q));
    q.cores = 9;
    CHECK(!mlt_coll_rule_fits(&rule, &q));
    rule.cores_from = rule.cores_to = 0;
    rule.reads = 1;
    CHECK(!mlt_coll_rule_fits(&rule, &q));
    q.reads = true;
    CHECK(mlt_coll_rule_fits(&rule, &q));
    rule.reads = -1;
    CHECK(!mlt_coll_rule_fits(&rule, &q));
    rule.reads = 0;
    rule.total_from = 60, rule.total_to = 60;
    CHECK(mlt_coll_rule_fits(&rule, &q));
    q.ranks = 5;
    CHECK(!mlt_coll_rule_fits(&rule, &q));
    q.ranks = 3;
    CHECK(!mlt_coll_rule_fits(&rule, &q));
    rule.total_from = rule.total_to = 0;
    rule.comm = "A";
    CHECK(!mlt_coll_rule_fits(&rule, &q));
    q.comm = "A";
    CHECK(mlt_coll_rule_fits(&rule, &q));
}

// ---- what people write

static void test_parse(void)
{
    mlt_coll_rule r;
    CHECK(mlt_coll_choice_parse("chain segment=64K", MLT_COLL_BCAST, NULL, &r, why, WHY) == MLT_OK);
    CHECK(strcmp(r.alg, "chain") == 0 && r.segment == 65536 && !r.flat && !r.ranks_to);
    CHECK(mlt_coll_choice_parse(" knomial:radix=4,flat ", MLT_COLL_BCAST, NULL, &r, why, WHY) ==
          MLT_OK);
    CHECK(strcmp(r.alg, "knomial") == 0 && r.radix == 4 && r.flat);
    static const struct {
        const char *text, *sentence;
    } wrongs[] = {
        {"", "no algorithm is named for bcast"},
        {"chian", "there is no algorithm 'chian' for bcast; the nearest are chain, "},
        {"linear segment=8", "bcast.linear takes no segment"},
        {"chain segments=8", "there is no parameter 'segments'; the nearest are segment, "},
        {"chain segment", "'segment' is no parameter; they are written segment=8192"},
        {"chain segment=", "'segment=' is no parameter"},
        {"chain segment=0", "'segment=0' is no parameter"},
        {"chain segment=8X", "no parameter"},
        {"chain segment=8KK", "no parameter"},
        {"chain segment=99999999999999999999", "no parameter"},
        {"chain segment=99999999999G", "no parameter"},
        {"knomial radix=1G", "'radix=1G' is no parameter; they are written radix=4"},
        {"chain flat=1", "they are written flat"},
        {"chain window=4", "bcast.chain takes no window"},
    };
    for (size_t i = 0; i < sizeof wrongs / sizeof *wrongs; i++) {
        why[0] = '\0';
        mlt_status s = mlt_coll_choice_parse(wrongs[i].text, MLT_COLL_BCAST, NULL, &r, why, WHY);
        if (s != MLT_ERR_INVALID || !strstr(why, wrongs[i].sentence))
            fprintf(stderr, "%s: '%s'\n", wrongs[i].text, why);
        CHECK(s == MLT_ERR_INVALID && strstr(why, wrongs[i].sentence));
    }
}

static void test_force(void)
{
    mlt_coll_rule *r;
    CHECK(mlt_coll_force_parse("allreduce=ring,,bcast=chain:segment=8192:flat,", NULL, &r, why,
                               WHY) == MLT_OK);
    CHECK(r[0].collective == MLT_COLL_ALLREDUCE && strcmp(r[0].alg, "ring") == 0);
    CHECK(r[1].collective == MLT_COLL_BCAST && r[1].segment == 8192 && r[1].flat && !r[2].alg);
    free(r);
    CHECK(mlt_coll_force_parse("", NULL, &r, why, WHY) == MLT_OK && !r[0].alg);
    free(r);
    static const struct {
        const char *text, *sentence;
    } wrongs[] = {
        {"ring", "'ring' should be COLLECTIVE=ALGORITHM"},
        {"allredcue=ring", "there is no collective 'allredcue'; the nearest are allreduce, "},
        {"allreduce=rung", "there is no algorithm 'rung' for allreduce; the nearest are ring, "},
        {"bcast=chain,bcast=linear", "bcast comes twice"},
        {"bcast=", "no algorithm is named for bcast"},
        {"=chain", "there is no collective ''"},
    };
    for (size_t i = 0; i < sizeof wrongs / sizeof *wrongs; i++) {
        CHECK(mlt_coll_force_parse(wrongs[i].text, NULL, &r, why, WHY) == MLT_ERR_INVALID);
        if (!strstr(why, wrongs[i].sentence))
            fprintf(stderr, "%s: '%s'\n", wrongs[i].text, why);
        CHECK(strstr(why, wrongs[i].sentence));
    }
}

static void test_nearest(void)
{
    static const char *const names[] = {"alpha", "beta", "gamma", "delta"};
    char text[100] = "x";
    mlt_coll_nearest("delto", 5, names, 4, text, sizeof text);
    CHECK(strcmp(text, "; the nearest are delta, beta and alpha") == 0 ||
          strstr(text, "; the nearest are delta, beta"));
    mlt_coll_nearest("x", 1, names, 2, text, sizeof text);
    CHECK(strcmp(text, "; there are beta and alpha") == 0);
    mlt_coll_nearest("x", 1, names, 1, text, sizeof text);
    CHECK(strcmp(text, "; there is alpha") == 0);
    mlt_coll_nearest("x", 1, names, 0, text, sizeof text);
    CHECK(!*text);
}

// ---- who is asked

typedef struct fake { // a rule book whose answer is told beforehand
    mlt_coll_rulebook base;
    const char *alg, *fault, *passed;
    int asked;
} fake;

static bool fake_choose(mlt_coll_rulebook *rulebook, const mlt_coll_question *q,
                        mlt_coll_choice *out, char *own, size_t size)
{
    fake *f = (fake *)rulebook;
    f->asked++;
    snprintf(own, size, "%s", f->fault ? f->fault : "");
    snprintf(out->passed, sizeof out->passed, "%s", f->passed ? f->passed : "");
    if (!f->alg)
        return false;
    out->alg = mlt_coll_named(mlt_coll_algs, NULL, q->collective, f->alg);
    out->by = "fake";
    out->why = "";
    return true;
}

static void test_sources(void)
{
    fake first = {.base.choose = fake_choose}, second = {.base.choose = fake_choose};
    mlt_coll_sources s = {.rulebook = &second.base};
    mlt_coll_choice c;
    mlt_coll_question q = question(MLT_COLL_ALLGATHER, 6, 8);
    mlt_coll_ask(&s, &q, &c, why, WHY);
    CHECK(strcmp(c.by, "built in") == 0 && second.asked == 1 && !*why && !*c.passed);
    second.alg = "ring";
    mlt_coll_ask(&s, &q, &c, why, WHY);
    CHECK(strcmp(c.by, "fake") == 0 && is(&c, "ring"));

    // The communicator's own rule book comes before; a new generation.
    CHECK(s.generation == 0 && !mlt_coll_sources_load(&s, &first.base) && s.generation == 1);
    mlt_coll_ask(&s, &q, &c, why, WHY);
    CHECK(is(&c, "ring") && first.asked == 1);
    first.alg = "bruck", first.passed = "first";
    mlt_coll_ask(&s, &q, &c, why, WHY);
    CHECK(is(&c, "bruck") && strcmp(c.passed, "first") == 0);
    // What the first passed over is told, not what the second did.
    first.alg = NULL, second.passed = "second";
    mlt_coll_ask(&s, &q, &c, why, WHY);
    CHECK(is(&c, "ring") && strcmp(c.passed, "first") == 0);
    // A rule that fails: nobody else of the user's is asked.
    second.asked = 0, first.fault = "it failed";
    mlt_coll_ask(&s, &q, &c, why, WHY);
    CHECK(strcmp(c.by, "built in") == 0 && strcmp(why, "it failed") == 0 && !second.asked);
    first.fault = first.passed = second.passed = NULL;

    // What the communicator says of itself comes before its rule books.
    CHECK(mlt_coll_sources_say(&s, MLT_COLL_ALLGATHER, "linear", why, WHY) == MLT_OK);
    CHECK(s.generation == 2);
    mlt_coll_ask(&s, &q, &c, why, WHY);
    CHECK(is(&c, "linear") && strcmp(c.by, "the communicator's info") == 0);
    CHECK(mlt_coll_sources_say(&s, MLT_COLL_ALLGATHER, "lienar", why, WHY) == MLT_ERR_INVALID);
    CHECK(strstr(why, "the nearest are linear") && s.generation == 2);
    mlt_coll_ask(&s, &q, &c, why, WHY);
    CHECK(is(&c, "linear"));
    // ... unless it cannot be.
    CHECK(mlt_coll_sources_say(&s, MLT_COLL_ALLGATHER, "recursive_doubling", why, WHY) == MLT_OK);
    mlt_coll_ask(&s, &q, &c, why, WHY);
    CHECK(is(&c, "ring") && !*why && strstr(c.passed, "recursive_doubling is not for this"));
    CHECK(mlt_coll_sources_say(&s, MLT_COLL_ALLGATHER, " ", why, WHY) == MLT_OK);
    mlt_coll_ask(&s, &q, &c, why, WHY);
    CHECK(is(&c, "ring") && !*c.passed);

    // What is forced comes first of all.
    mlt_coll_rule *forced;
    CHECK(mlt_coll_sources_say(&s, MLT_COLL_ALLGATHER, "linear", why, WHY) == MLT_OK);
    CHECK(mlt_coll_force_parse("bcast=linear,allgather=bruck", NULL, &forced, why, WHY) == MLT_OK);
    s.forced = forced;
    mlt_coll_ask(&s, &q, &c, why, WHY);
    CHECK(is(&c, "bruck") && strcmp(c.by, "forced") == 0);
    mlt_coll_sources_fini(&s);
    free(forced);
}

// A communicator that names an algorithm of a rule book that is gone.
static void test_replaced_rulebook(void)
{
    static const mlt_coll_alg gone = {.collective = MLT_COLL_BCAST, .name = "gone"};
    const mlt_coll_alg *const algs[] = {&gone};
    fake rulebook = {.base = {.choose = fake_choose, .algs = algs, .algs_count = 1}};
    mlt_coll_sources s = {.forced = NULL};
    mlt_coll_choice c;
    mlt_coll_question q = question(MLT_COLL_BCAST, 6, 8);
    CHECK(mlt_coll_sources_say(&s, MLT_COLL_BCAST, "gone", why, WHY) == MLT_ERR_INVALID);
    mlt_coll_sources_load(&s, &rulebook.base);
    CHECK(mlt_coll_sources_say(&s, MLT_COLL_BCAST, "gone", why, WHY) == MLT_OK);
    mlt_coll_ask(&s, &q, &c, why, WHY);
    CHECK(c.alg == &gone && !*why);
    CHECK(mlt_coll_sources_load(&s, NULL) == &rulebook.base);
    mlt_coll_ask(&s, &q, &c, why, WHY);
    CHECK(strstr(why, "there is no algorithm bcast.gone any more") && c.alg != &gone);
    mlt_coll_sources_fini(&s);
}

int main(void)
{
    test_table();
    test_cores_table();
    test_cores();
    test_fits();
    test_always_answers();
    test_nothing_can();
    test_nearest();
    test_parse();
    test_force();
    test_sources();
    test_replaced_rulebook();
    return 0;
}
