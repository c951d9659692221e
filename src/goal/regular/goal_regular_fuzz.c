// SPDX-License-Identifier: BSD-3-Clause
// Any bytes as a compressed program. The first byte is even: the header and the checksum are put right
// first, so that what is behind them is reached; odd: the rest is taken as it is.
//
// Refused with a message; or a program: then every rank is refused or valid, the same with the index as
// without, and what all are together is written and read again as it was.
#include <fuzz/fuzz.h>
#include <stdlib.h>
#include <string.h>

#include "goal/image/head.h"
#include "goal/program_test.h"
#include "goal/regular/regular_int.h"

enum { MOST_RANKS = 64, MOST_ACTIONS = 5000 };

static void there_and_back(const mlt_goal_program *program)
{
    char why[512];
    unsigned char *bytes;
    size_t size;
    mlt_goal_regular *again;
    mlt_goal_program *read;
    if (mlt_goal_regular_write(program, &bytes, &size, NULL, why, sizeof why) != MLT_OK) {
        fuzz_check_sentence(why, sizeof why);
        return;
    }
    FUZZ_CHECK(mlt_goal_regular_open("again", bytes, size, &again, why, sizeof why) == MLT_OK);
    FUZZ_CHECK(mlt_goal_regular_program(again, &read, why, sizeof why) == MLT_OK);
    FUZZ_CHECK(mlt_goal_program_equal(program, read));
    mlt_goal_program_free(read);
    mlt_goal_regular_free(again);
    free(bytes);
}

static void expand_all(mlt_goal_regular *regular)
{
    char why[512];
    mlt_goal_program *one = mlt_goal_program_new(1), *all;
    bool fine[MOST_RANKS], whole = true;
    uint32_t ranks = mlt_goal_regular_ranks(regular);
    for (uint32_t r = 0; r < ranks; r++) {
        fine[r] = mlt_goal_regular_rank(regular, r, one, why, sizeof why) == MLT_OK;
        whole &= fine[r];
        if (!fine[r])
            fuzz_check_sentence(why, sizeof why);
    }
    mlt_goal_regular_index(regular);
    for (uint32_t r = 0; r < ranks; r++)
        FUZZ_CHECK(fine[r] == (mlt_goal_regular_rank(regular, r, one, why, sizeof why) == MLT_OK));
    FUZZ_CHECK(whole == (mlt_goal_regular_program(regular, &all, why, sizeof why) == MLT_OK));
    if (whole) {
        FUZZ_CHECK(mlt_goal_program_valid(all, why, sizeof why) == MLT_OK);
        there_and_back(all);
    }
    mlt_goal_program_free(all);
    mlt_goal_program_free(one);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t kind;
    fuzz_take(&data, &size, &kind, 1);
    uint8_t *bytes = malloc(size ? size : 1);
    FUZZ_CHECK(bytes);
    if (size)
        memcpy(bytes, data, size);
    if (kind % 2 == 0 && size >= sizeof(mlt_goal_image_header)) {
        mlt_goal_image_header header, right = {.version = REGULAR_VERSION,
                                               .order = MLT_GOAL_IMAGE_ORDER,
                                               .size = size & ~(size_t)7};
        memcpy(right.magic, mlt_goal_regular_magic, sizeof right.magic);
        size = right.size;
        memcpy(&header, bytes, sizeof header);
        memcpy(&header, &right, offsetof(mlt_goal_image_header, checksum));
        header.names = 0;
        memcpy(bytes, &header, sizeof header);
        header.checksum = mlt_goal_image_checksum(bytes, size);
        memcpy(bytes, &header, sizeof header);
    }
    mlt_goal_regular *regular;
    char why[512];
    memset(why, 'x', sizeof why);
    if (mlt_goal_regular_open("file", bytes, size, &regular, why, sizeof why) != MLT_OK) {
        FUZZ_CHECK(!regular);
        fuzz_check_sentence(why, sizeof why);
        free(bytes);
        return 0;
    }
    FUZZ_CHECK(mlt_is_regular(bytes, size));
    if (mlt_goal_regular_ranks(regular) <= MOST_RANKS &&
        mlt_goal_regular_count(regular).actions <= MOST_ACTIONS)
        expand_all(regular);
    mlt_goal_regular_free(regular);
    free(bytes);
    return 0;
}
