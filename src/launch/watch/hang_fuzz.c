// SPDX-License-Identifier: BSD-3-Clause
// Any bytes as wait records of ranks (what MLT_CTL_WAITS carries): the hang report is lines that a
// terminal can show, ends, and is no longer than the job is large; a small job has a line for each
// rank.
//
// The input: number of ranks (2 bytes), state of the ranks' workers (8 bytes), records in packets
// of 1 to 4; what is left is too short for a record, and what two workers say of their processes.
#include "launch/watch/hang.h"

#include <fuzz/fuzz.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_RANKS = 300, FEW_RANKS = 16, STATES = 8, LONGEST_LINE = 4096, MOST_LINES = 64 + 100 };

static void check_text(const char *text, size_t size, uint32_t ranks)
{
    size_t lines = 0, length = 0;
    fuzz_check_lines(text, size);
    for (size_t i = 0; i < size; i++) {
        lines += text[i] == '\n';
        length = text[i] == '\n' ? 0 : length + 1;
        FUZZ_CHECK(length < LONGEST_LINE);
    }
    FUZZ_CHECK(lines > 0 && lines < MOST_LINES);
    const char *at = text;
    for (uint32_t r = 0; ranks <= FEW_RANKS && r < ranks; r++) {
        char wanted[24];
        snprintf(wanted, sizeof wanted, "rank %u: ", r);
        FUZZ_CHECK(strncmp(at, wanted, strlen(wanted)) == 0);
        at = strchr(at, '\n') + 1;
    }
}

// Each line begins with its word; words of ranks bring no tab and no end of line.
static void check_facts(const char *text)
{
    FUZZ_CHECK(strncmp(text, "hang\tasked\n", 11) == 0);
    for (const char *at = strchr(text, '\n') + 1; *at; at = strchr(at, '\n') + 1) {
        int tabs = 0;
        for (const char *c = at; *c != '\n'; c++)
            tabs += *c == '\t';
        FUZZ_CHECK((strncmp(at, "stuck\t", 6) == 0 && tabs == 3) ||
                   (strncmp(at, "cycle\t", 6) == 0 && tabs == 1));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint16_t number;
    uint8_t states[STATES];
    fuzz_take(&data, &size, &number, sizeof number);
    fuzz_take(&data, &size, states, sizeof states);
    uint32_t ranks = 1 + number % MOST_RANKS;
    mlt_hang *hang = mlt_hang_new(ranks);
    for (uint32_t i = 0; i < STATES; i++) // workers of 8 ranks; the last ones may not exist
        mlt_hang_set(hang, i * 8, 8 + states[i] / 8,
                     (mlt_hang_state)(states[i] % MLT_HANG_BLOCKED));
    for (size_t count = 1; size >= sizeof(mlt_ctl_wait); count = 1 + count % 4) {
        mlt_ctl_wait records[4];
        size_t whole = size / sizeof *records;
        size_t n = whole < count ? whole : count;
        fuzz_take(&data, &size, records, n * sizeof *records);
        mlt_hang_add(hang, records, n);
    }
    const char *said = (const char *)data;
    mlt_hang_add_procs(hang, number % 8, states[0], said, size);
    mlt_hang_add_procs(hang, number % 16, states[1] % 16, said, size - size % 2);
    for (int time = 0; time < 2; time++) { // a report may be asked for again
        char *text = NULL;
        size_t text_size = 0;
        FILE *out = open_memstream(&text, &text_size);
        FUZZ_CHECK(out);
        mlt_hang_print(hang, out);
        fclose(out);
        check_text(text, text_size, ranks);
        free(text);
        out = open_memstream(&text, &text_size);
        FUZZ_CHECK(out);
        mlt_hang_facts(hang, "asked", out);
        fclose(out);
        check_facts(text);
        free(text);
    }
    mlt_hang_free(hang);
    return 0;
}
