// SPDX-License-Identifier: BSD-3-Clause
// Slots of the board: each key has its own until all are taken.
#include "boot/board.h"

#include <stdlib.h>

#include "base/unit_test.h"

static void test_slots(mlt_job_board *board)
{
    uint64_t one = mlt_board_key(0, 8), other = mlt_board_key(1, 8);
    CHECK(one != other && mlt_board_key(0, 16) != one);
    CHECK(mlt_board_word(board, one) == 0 && !mlt_board_slot(board, one, false));
    CHECK(mlt_board_write(board, one, 5) && mlt_board_write(board, other, 6));
    CHECK(mlt_board_write(board, MLT_BOARD_ANSWERS | one, 7));
    CHECK(mlt_board_write(board, MLT_BOARD_KNOWN, 8) && mlt_board_write(board, MLT_BOARD_FULL, 0));
    CHECK(mlt_board_word(board, one) == 5 && mlt_board_word(board, other) == 6);
    CHECK(mlt_board_word(board, MLT_BOARD_ANSWERS | one) == 7);
    CHECK(mlt_board_word(board, MLT_BOARD_ANSWERS | other) == 0);
    CHECK(mlt_board_word(board, MLT_BOARD_KNOWN) == 8);
    CHECK(mlt_board_write(board, one, 9) && mlt_board_word(board, one) == 9);
    CHECK(mlt_board_slot(board, one, true) == mlt_board_slot(board, one, false));
}

static void test_full(mlt_job_board *board)
{
    uint32_t made = 0;
    while (mlt_board_write(board, mlt_board_key(made, 800), made + 1))
        made++;
    CHECK(made == MLT_JOB_BOARD_ENTRIES - 5);
    for (uint32_t i = 0; i < made; i++)
        CHECK(mlt_board_word(board, mlt_board_key(i, 800)) == i + 1);
    CHECK(mlt_board_write(board, MLT_BOARD_FULL, 1) && mlt_board_word(board, MLT_BOARD_FULL) == 1);
    CHECK(mlt_board_word(board, mlt_board_key(made, 800)) == 0);
}

int main(void)
{
    mlt_job_board *board =
        aligned_alloc(MLT_LINE, (sizeof *board + MLT_LINE) / MLT_LINE * MLT_LINE);
    CHECK(board);
    *board = (mlt_job_board){0};
    test_slots(board);
    test_full(board);
    free(board);
    return 0;
}
