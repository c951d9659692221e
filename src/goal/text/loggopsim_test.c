// SPDX-License-Identifier: BSD-3-Clause
// LogGOPSim's binary file: a small one byte by byte, both versions, and everything that can be
// wrong with one.
#include "goal/text/loggopsim.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/unit_test.h"
#include "goal/program_test.h"
#include "goal/text/text.h"

static char why[512];

static mlt_goal_program *read_text(const char *text)
{
    mlt_goal_program *program;
    CHECK(mlt_goal_read("t", text, strlen(text), &program, NULL, why, sizeof why) == MLT_OK);
    return program;
}

static unsigned char *write_bytes(const mlt_goal_program *program, size_t *size)
{
    char *bytes;
    FILE *to = open_memstream(&bytes, size);
    CHECK(to && mlt_goal_loggopsim_write(program, 0.5, to) && fclose(to) == 0);
    return (unsigned char *)bytes;
}

static const char text[] = "num_ranks 3\n"
                           "rank 0 {\n"
                           "a: send 258b to 1 tag 5 cpu 1 nic 2\n"
                           "b: recv 7b from -1 tag -1\n"
                           "c: calc 9 cpu 3\n"
                           "b requires a\n"
                           "c requires a\n"
                           "c irequires b\n"
                           "c irequires b\n"
                           "}\n"
                           "rank 2 {\n"
                           "calc 1\n"
                           "}\n";

// The file of that text.
static const unsigned char bytes_of_text[] = {
    0x7f,
    0x10,
    0,
    0,
    0,
    0,
    0,
    0, // 4223
    3,
    0,
    0,
    0,
    3,
    2, // ranks, max cpu, max nic
    54,
    0,
    0,
    0,
    0,
    0,
    0,
    0,
    199,
    0,
    0,
    0,
    0,
    0,
    0,
    0, // rank 0: 8 + 4 + 3 * 39 + 16
       // bytes
    199,
    0,
    0,
    0,
    0,
    0,
    0,
    0,
    207,
    0,
    0,
    0,
    0,
    0,
    0,
    0, // rank 1
    207,
    0,
    0,
    0,
    0,
    0,
    0,
    0,
    2,
    1,
    0,
    0,
    0,
    0,
    0,
    0, // rank 2
    3,
    0,
    0,
    0,
    1,
    0,
    0,
    0,
    0,
    0,
    0,
    0, // nodes, roots, the root
    0,
    0,
    0,
    0,
    1,
    1,
    0,
    0,
    0,
    2,
    1,
    0,
    0,
    0,
    0,
    0,
    0,
    5,
    0,
    0,
    0,
    1,
    2, // a
    2,
    0,
    0,
    0,
    0,
    0,
    0,
    0,
    0,
    0,
    0,
    0,
    2,
    0,
    0,
    0,
    1,
    0,
    0,
    0,
    2,
    255,
    255,
    255,
    255,
    7,
    0,
    0,
    0,
    0,
    0,
    0,
    0,
    255,
    255,
    255,
    255,
    0,
    0, // b
    0,
    0,
    0,
    0,
    2,
    0,
    0,
    0,
    2,
    0,
    0,
    0,
    2,
    0,
    0,
    0,
    3,
    0,
    0,
    0,
    3,
    0,
    0,
    0,
    0,
    9,
    0,
    0,
    0,
    0,
    0,
    0,
    0,
    0,
    0,
    0,
    0,
    3,
    0, // c
    0,
    0,
    0,
    0,
    4,
    0,
    0,
    0,
    0,
    0,
    0,
    0,
    4,
    0,
    0,
    0,
    1,
    0,
    0,
    0,
    2,
    0,
    0,
    0,
    2,
    0,
    0,
    0,
    2,
    0,
    0,
    0, // edges
    0,
    0,
    0,
    0,
    0,
    0,
    0,
    0, // rank 1 has nothing
    1,
    0,
    0,
    0,
    1,
    0,
    0,
    0,
    0,
    0,
    0,
    0, // rank 2
    0,
    0,
    0,
    0,
    3,
    0,
    0,
    0,
    0,
    1,
    0,
    0,
    0,
    0,
    0,
    0,
    0,
    0,
    0,
    0,
    0,
    0,
    0,
    0,
    0,
    0,
    0,
    0,
    0,
    0,
    0,
    0,
    0,
    0,
    0,
    0,
    0,
    0,
    0,
};

static void check_bytes(void)
{
    size_t size;
    mlt_goal_program *program = read_text(text), *again;
    unsigned char *bytes = write_bytes(program, &size);
    CHECK(size == sizeof bytes_of_text);
    for (size_t i = 0; i < size; i++)
        if (bytes[i] != bytes_of_text[i]) {
            fprintf(stderr, "byte %zu is %u, but should be %u\n", i, bytes[i], bytes_of_text[i]);
            exit(1);
        }
    CHECK(mlt_goal_is_loggopsim(bytes, size) && !mlt_goal_is_loggopsim(bytes, 7));
    CHECK(!mlt_goal_is_loggopsim(text, sizeof text));
    CHECK(mlt_goal_loggopsim_read("f", bytes, size, &again, why, sizeof why) == MLT_OK);
    CHECK(mlt_goal_program_equal(program, again) && why[0] == 0);
    free(bytes);
    mlt_goal_program_free(program);
    mlt_goal_program_free(again);
}

// The same file with the nodes of the later version.
static unsigned char *later(const unsigned char *bytes, size_t size, size_t *later_size)
{
    enum { MORE = 104 - 39 };
    uint32_t ranks, nodes, roots;
    memcpy(&ranks, bytes + 8, 4);
    unsigned char *to = malloc(size * 4);
    CHECK(to);
    size_t used = 14 + 16 * (size_t)ranks;
    memcpy(to, bytes, used);
    for (uint32_t r = 0; r < ranks; r++) {
        uint64_t start, end, at = used - 8;
        memcpy(&start, bytes + 14 + 16 * r, 8);
        memcpy(&end, bytes + 14 + 16 * r + 8, 8);
        const unsigned char *part = bytes + 8 + start;
        memcpy(&nodes, part, 4);
        memcpy(&roots, part + 4, 4);
        memcpy(to + used, part, 8 + 4 * (size_t)roots);
        used += 8 + 4 * (size_t)roots;
        const unsigned char *node = part + 8 + 4 * (size_t)roots;
        for (uint32_t n = 0; n < nodes; n++, node += 39) {
            memcpy(to + used, node, 39);
            memset(to + used + 39, 0xee, MORE); // nobody sets what it does not use
            used += 104;
        }
        memcpy(to + used, node, (size_t)(bytes + 8 + end - node));
        used += (size_t)(bytes + 8 + end - node);
        uint64_t stop = used - 8;
        memcpy(to + 14 + 16 * r, &at, 8);
        memcpy(to + 14 + 16 * r + 8, &stop, 8);
    }
    *later_size = used;
    return to;
}

static void check_later(void)
{
    size_t size;
    mlt_goal_program *program = read_text(text), *again;
    unsigned char *bytes = later(bytes_of_text, sizeof bytes_of_text, &size);
    CHECK(mlt_goal_loggopsim_read("f", bytes, size, &again, why, sizeof why) == MLT_OK);
    CHECK(mlt_goal_program_equal(program, again) && why[0] == 0);
    mlt_goal_program_free(again);
    // An operation of the later simulator is none of GOAL's.
    bytes[8 + 54 + 12 + 4] = 4;
    CHECK(mlt_goal_loggopsim_read("f", bytes, size, &again, why, sizeof why) == MLT_ERR_INVALID);
    CHECK(strcmp(why,
                 "f: byte 78: node 0 of rank 0 has the type 4, but there are 1 (send), 2 (recv) "
                 "and 3 (calc)") == 0);
    free(bytes);
    mlt_goal_program_free(program);
}

// ---- wrong files: one byte of the good one is another

typedef struct wrong {
    size_t at;
    unsigned char byte;
    const char *said;
} wrong;

enum { PART = 62, NODE = PART + 12, EDGES = NODE + 3 * 39 };

static const wrong wrongs[] = {
    {0, 0x26, "byte 0: this is no binary program of LogGOPSim's"},
    {8, 0, "byte 8: a program has 1 to 268435456 ranks, not 0"},
    {11, 255, "byte 8: a program has 1 to 268435456 ranks, not 4278190083"},
    {8, 255, "byte 266: the file ends within the table of its 255 ranks"},
    {14, 200,
     "byte 14: the part of rank 0 goes from 200 to 199, but there are 258 bytes after the "
     "cookie"},
    {14, 50,
     "byte 58: the part of rank 0 has 149 bytes, which is no room for 0 nodes of 39 bytes, 3 "
     "roots and whole edges"},
    {46, 53,
     "byte 61: the part of rank 2 has 205 bytes, which is no room for 768 nodes of 39 bytes, "
     "256 roots and whole edges"},
    {54, 3,
     "byte 46: the part of rank 2 goes from 207 to 259, but there are 258 bytes after the "
     "cookie"},
    {PART, 4,
     "byte 62: the part of rank 0 has 145 bytes, which is no room for 4 nodes of 39 bytes, 1 "
     "roots and whole edges"},
    {PART + 3, 255,
     "byte 62: the part of rank 0 has 145 bytes, which is no room for 4278190083 nodes "
     "of 39 bytes, 1 roots and whole edges"},
    {PART + 4, 2, "byte 78: the nodes of rank 0 count 14 edges, but 3 are there"},
    {PART + 8, 1,
     "byte 70: root 0 of rank 0 is node 1, which is not there, has dependencies, or was "
     "a root already"},
    {PART + 8, 3,
     "byte 70: root 0 of rank 0 is node 3, which is not there, has dependencies, or was "
     "a root already"},
    {NODE, 1, "byte 74: node 0 of rank 0 says that it has 1 dependencies, but 0 edges lead to it"},
    {NODE + 4, 0,
     "byte 78: node 0 of rank 0 has the type 0, but there are 1 (send), 2 (recv) and 3 "
     "(calc)"},
    {NODE + 4, 129,
     "byte 78: node 0 of rank 0 has the type 129, but there are 1 (send), 2 (recv) and "
     "3 (calc)"},
    {NODE + 5, 3, "byte 79: node 0 of rank 0 names rank 3, but there are 3 ranks"},
    {NODE + 8, 255, "byte 79: node 0 of rank 0 names rank 4278190081, but there are 3 ranks"},
    {NODE + 20, 128,
     "byte 91: node 0 of rank 0 has the tag 2147483653, but tags are at most "
     "2147483647"},
    {NODE + 21, 4,
     "byte 95: node 0 of rank 0 has cpu 4 and nic 2, but the file says at most 3 and 2"},
    {NODE + 22, 9,
     "byte 95: node 0 of rank 0 has cpu 1 and nic 9, but the file says at most 3 and 2"},
    {NODE + 23, 3, "byte 74: the nodes of rank 0 count 5 edges, but 4 are there"},
    {NODE + 27, 3, "byte 97: node 0 of rank 0 has the edges from 3 on, 2 of them, but there are 4"},
    {NODE + 30, 255,
     "byte 97: node 0 of rank 0 has the edges from 4278190080 on, 2 of them, but there "
     "are 4"},
    {NODE + 27, 1,
     "byte 113: node 1 of rank 0 says that it has 1 dependencies, but 0 edges lead to "
     "it"},
    {EDGES, 3, "byte 191: an edge leads to node 3 of rank 0, which has 3 nodes"},
    {EDGES, 2,
     "byte 113: node 1 of rank 0 says that it has 1 dependencies, but 0 edges lead to it"},
    {EDGES, 0, "byte 74: node 0 of rank 0 says that it has 0 dependencies, but 1 edges lead to it"},
};

static void check_wrong(void)
{
    mlt_goal_program *program;
    for (size_t i = 0; i < sizeof wrongs / sizeof *wrongs; i++) {
        const wrong *w = &wrongs[i];
        unsigned char *bytes = malloc(sizeof bytes_of_text);
        CHECK(bytes);
        memcpy(bytes, bytes_of_text, sizeof bytes_of_text);
        CHECK(bytes[w->at] != w->byte);
        bytes[w->at] = w->byte;
        CHECK(mlt_goal_loggopsim_read("f", bytes, sizeof bytes_of_text, &program, why,
                                      sizeof why) == MLT_ERR_INVALID);
        CHECK(!program && strncmp(why, "f: byte ", 8) == 0 && !strchr(why, '\n'));
        if (strcmp(why + 3, w->said) != 0) {
            fprintf(stderr, "wrong %zu: was said\n%s\nbut should\n%s\n", i, why + 3, w->said);
            exit(1);
        }
        free(bytes);
    }
    // Cut off anywhere.
    for (size_t size = 0; size < sizeof bytes_of_text; size++) {
        unsigned char *bytes = malloc(size ? size : 1);
        CHECK(bytes);
        memcpy(bytes, bytes_of_text, size);
        CHECK(mlt_goal_loggopsim_read("f", bytes, size, &program, why, sizeof why) ==
              MLT_ERR_INVALID);
        CHECK(!program && strncmp(why, "f: ", 3) == 0 && !strchr(why, '\n'));
        free(bytes);
    }
    // Two ranks share a part.
    unsigned char shared[sizeof bytes_of_text];
    memcpy(shared, bytes_of_text, sizeof shared);
    memcpy(shared + 30, shared + 46, 16);
    CHECK(mlt_goal_loggopsim_read("f", shared, sizeof shared, &program, why, sizeof why) ==
          MLT_ERR_INVALID);
    CHECK(strcmp(why, "f: byte 46: the part of rank 2 begins at 207, within what comes before it, "
                      "which ends at 258") == 0);
    static const unsigned char spoiled[8] = {0x26, 0x09};
    CHECK(mlt_goal_is_loggopsim(spoiled, 8));
    CHECK(mlt_goal_loggopsim_read("f", spoiled, 8, &program, why, sizeof why) == MLT_ERR_INVALID);
    CHECK(strcmp(why, "f: byte 0: the simulator has run on this file and spoiled it; make it anew "
                      "from its text") == 0);
    CHECK(mlt_goal_loggopsim_read("f", "01234567", 8, &program, why, sizeof why) ==
          MLT_ERR_INVALID);
    CHECK(strcmp(why, "f: byte 0: this is no binary program of LogGOPSim's") == 0);
}

// A rank of which the table says nothing, as files of texts without its block have it.
static void check_missing(void)
{
    static const unsigned char bytes[] = {0x7f, 0x10, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0,
                                          0,    0,    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
                                          0,    0,    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
    mlt_goal_program *program;
    CHECK(mlt_goal_loggopsim_read("f", bytes, sizeof bytes, &program, why, sizeof why) == MLT_OK);
    CHECK(program->ranks == 2 && program->rank[0].count == 0);
    mlt_goal_program_free(program);
}

// What a program of the paper's becomes: the same as in LogGOPSim's text.
static void check_lowering(void)
{
    mlt_goal_program *paper = read_text("rank #0 { buffer x 8; a: recv x,8 from 1 tag 4 then "
                                        "sumInt8 with 8,8 cpu 1; b: nop; c: exec "
                                        "user 3 with 0,7 8,9; d: send x,4 to 1 sync nic 4; requ b "
                                        "-> a; irequ c -> a; requ d -> b; }");
    mlt_goal_program *simulated = read_text(
        "num_ranks 2\nrank 0 {\na: recv 8b from 1 tag 4 cpu 1\na2: calc 4 cpu 1\nb: calc 0\nc: "
        "calc "
        "4\nd: send 4b to 1 nic 4\na2 requires a\nb requires a2\nc irequires a\nd requires b\n}\n");
    size_t size;
    unsigned char *bytes = write_bytes(paper, &size);
    mlt_goal_program *again;
    CHECK(mlt_goal_loggopsim_read("f", bytes, size, &again, why, sizeof why) == MLT_OK);
    CHECK(mlt_goal_program_equal(simulated, again));
    free(bytes);
    mlt_goal_program_free(paper);
    mlt_goal_program_free(simulated);
    mlt_goal_program_free(again);
}

static void check_failure(void)
{
    FILE *full = fopen("/dev/full", "w");
    if (!full)
        return; // no such device here

    mlt_goal_program *program = read_text(text);
    CHECK(!mlt_goal_loggopsim_write(program, 0, full));
    fclose(full);
    mlt_goal_program_free(program);
}

int main(void)
{
    check_bytes();
    check_later();
    check_wrong();
    check_missing();
    check_lowering();
    check_failure();
    return 0;
}
