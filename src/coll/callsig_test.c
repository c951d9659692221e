// SPDX-License-Identifier: BSD-3-Clause
// Call signatures: every field counts in the code, small differences of one never give the same code, and
// which differences are of kind only.
#include "coll/callsig.h"

#include <stdio.h>
#include <string.h>

#include "base/unit_test.h"
#include "boot/job.h"
#include "goal/spec.h"
#include "type/op.h"

static const mlt_coll_callsig reduce = {.count = 4,
                                        .root = 2,
                                        .element = 4,
                                        .kind = 515,
                                        .collective = MLT_COLL_REDUCE,
                                        .op = MLT_OP_SUM,
                                        .type = MLT_OP_INT32};

// Any other value of any 16-bit word has another code.
static void check_codes(void)
{
    uint16_t code = mlt_coll_callsig_code(&reduce);
    for (size_t at = 0; at < sizeof reduce; at += 2)
        for (uint32_t change = 1; change <= UINT16_MAX; change++) {
            mlt_coll_callsig other = reduce;
            uint16_t word;
            memcpy(&word, (char *)&other + at, sizeof word);
            word = (uint16_t)(word + change);
            memcpy((char *)&other + at, &word, sizeof word);
            CHECK(mlt_coll_callsig_code(&other) != code);
        }
}

static mlt_coll_callsigs compare(mlt_coll_callsig other)
{
    return mlt_coll_callsigs_compare(&reduce, &other);
}

static void check_kinds(void)
{
    mlt_coll_callsig other = reduce;
    CHECK(compare(other) == MLT_CLAIMS_AGREE);
    other.kind = 0; // several, or packed
    CHECK(compare(other) == MLT_CLAIMS_AGREE);
    other.kind = 516;
    CHECK(compare(other) == MLT_CLAIMS_KIND);
    other.type = MLT_OP_UINT32;
    CHECK(compare(other) == MLT_CLAIMS_KIND);
    other.type = MLT_OP_FLOAT32;
    CHECK(compare(other) == MLT_CLAIMS_DIFFER);
    other = reduce;
    other.root = 1;
    CHECK(compare(other) == MLT_CLAIMS_DIFFER);
    other = reduce;
    other.op = MLT_OP_MAX;
    CHECK(compare(other) == MLT_CLAIMS_DIFFER);
    other = reduce;
    other.count = 5;
    CHECK(compare(other) == MLT_CLAIMS_DIFFER);
}

// What another host notes is on the board when all its words have come.
static void check_notes(void)
{
    static const uint32_t one[] = {1};
    mlt_job_plan plan = {
        .procs = 1, .workers_of_proc = one, .ranks_a_worker = one, .app_of_proc = one, .cores = 1};
    mlt_boot boot = {0};
    mlt_worker worker = {.boot = &boot};
    char why[200];
    int fd = -1;
    CHECK(mlt_job_new(&plan, &boot.job, &fd, why, sizeof why) == MLT_OK);
    uint16_t code = mlt_coll_callsig_code(&reduce);
    uint64_t word[4];
    mlt_coll_callsig found;
    memcpy(word, &reduce, sizeof word);
    for (uint64_t i = 0; i < 4; i++) {
        CHECK(!mlt_coll_callsig_find(&worker, code, &found));
        CHECK(
            mlt_coll_callsig_noted(&worker, UINT64_C(1) << 63 | (uint64_t)code << 8 | i, word[i]));
    }
    CHECK(mlt_coll_callsig_find(&worker, code, &found) && !memcmp(&found, &reduce, sizeof found));
    CHECK(mlt_coll_callsig_noted(&worker, UINT64_C(1) << 63 | (uint64_t)code << 8 | 4, 0));
    CHECK(!mlt_coll_callsig_noted(&worker, 1, 0)); // somebody else's
    mlt_job_close(boot.job);
}

static void check_words(void)
{
    char text[160];
    mlt_coll_callsig bcast = {
        .count = 8, .element = 1, .kind = 515, .collective = MLT_COLL_BCAST, .root = 7};
    mlt_coll_callsig_words(&reduce, &bcast, NULL, text, sizeof text);
    CHECK(strcmp(text, "MPI_Reduce (sum of 4 Int32), root 2") == 0);
    mlt_coll_callsig_words(&bcast, &reduce, "csp_group_bcast", text, sizeof text);
    CHECK(strcmp(text, "csp_group_bcast (8 bytes), root 7") == 0);
    mlt_coll_callsig list = {.collective = MLT_COLL_EXCHANGE, .form = MLT_FORM_GATHERV, .root = 1};
    mlt_coll_callsig_words(&list, &reduce, NULL, text, sizeof text);
    CHECK(strcmp(text, "MPI_Gatherv, root 1") == 0);
}

int main(void)
{
    check_codes();
    check_kinds();
    check_notes();
    check_words();
    return 0;
}
