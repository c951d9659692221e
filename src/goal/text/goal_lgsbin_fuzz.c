// SPDX-License-Identifier: BSD-3-Clause
// Any bytes as LogGOPSim's binary: refused with a message, or a valid program that is the same
// after writing and reading, in binary and in text.
#include <fuzz/goal_text.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char why[512], fault[256];
    mlt_goal_program *program;
    mlt_status status = mlt_goal_loggopsim_read("b", data, size, &program, why, sizeof why);
    FUZZ_CHECK((status == MLT_OK) == (program != NULL));
    if (!program) {
        fuzz_check_sentence(why, sizeof why);
        FUZZ_CHECK(strncmp(why, "b: ", 3) == 0);
        return 0;
    }
    FUZZ_CHECK(mlt_goal_is_loggopsim(data, size));
    FUZZ_CHECK(mlt_goal_program_valid(program, fault, sizeof fault) == MLT_OK);
    fuzz_goal_binary(program, program);
    if (program->ranks <= FUZZ_RANKS)
        mlt_goal_program_free(fuzz_goal_again(program, MLT_GOAL_LOGGOPSIM, true));
    mlt_goal_program_free(program);
    return 0;
}
