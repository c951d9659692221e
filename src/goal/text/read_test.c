// SPDX-License-Identifier: BSD-3-Clause
// The reader: what each dialect means, and for every kind of wrong text the message, its place, the
// line and the caret.
#include "goal/text/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/unit_test.h"
#include "goal/program_test.h"
#include "goal/text/read_int.h"

static char why[1024];
static mlt_goal_dialect dialect;

static mlt_goal_program *read_text(const char *text)
{
    mlt_goal_program *program;
    // In memory of exactly its size: nothing behind it may be looked at.
    size_t length = strlen(text);
    char *own = malloc(length ? length : 1);
    CHECK(own);
    memcpy(own, text, length);
    if (mlt_goal_read("t", own, length, &program, &dialect, why, sizeof why) != MLT_OK) {
        fprintf(stderr, "%s\nwas said of\n%s\n", why, text);
        exit(1);
    }
    free(own);
    char fault[256];
    CHECK(why[0] == 0 && mlt_goal_program_valid(program, fault, sizeof fault) == MLT_OK);
    return program;
}

// ---- wrong texts

typedef struct wrong {
    const char *text, *said; // without the name
} wrong;

static const wrong wrongs[] = {
    // clang-format off
    {"", "1:1: there is nothing to read: a program has at least one action, rank block or 'ranks N;'"},
    {"# nothing but a comment\n", "2:1: there is nothing to read: a program has at least one action, rank block or 'ranks N;'"},
    {"send 0,1 to 1", "1:14: here should be ';', not the end of the text"},
    {"send 0,1 to 1\nsend 0,1 to 1;", "1:14: here should be ';', not the end of the line"},
    {"send 0,1 to 1 recv 0,1 from 1;", "1:15: here should be ';', not 'recv'"},
    {"r1 recv 0,1 from 1;", "1:1: 'r1' begins no statement; here should be send, recv, exec, calc, nop, requ, irequ, buffer, or a label and ':'"},
    {"r1: ;", "1:5: here should be send, recv, exec, calc or nop, not ';'"},
    {"r1: requ a -> b;", "1:5: here should be send, recv, exec, calc or nop, not 'requ'"},
    {"7: send 0,1 to 1;", "1:1: here should be an action, a label, 'requ' or 'buffer', not '7'"},
    {"sned 0,1 to 1;", "1:1: 'sned' begins no statement; here should be send, recv, exec, calc, nop, requ, irequ, buffer, or a label and ':'"},
    {"send 0 to 1;", "1:8: here should be ',' and a size in bytes, not 'to'"},
    {"send ,1 to 1;", "1:6: here should be a buffer or an address, not ','"},
    {"send 0,x to 1;", "1:8: here should be a size in bytes, not 'x'"},
    {"send 0,1 from 1;", "1:10: here should be 'to' and a rank, not 'from'"},
    {"recv 0,1 to 1;", "1:10: here should be 'from' and a rank, not 'to'"},
    {"send 0,1 to ;", "1:13: here should be a rank, not ';'"},
    {"send 0,1 to any;", "1:13: here should be a rank, not 'any'"},
    {"send 0,1 to -1;", "1:13: here should be a rank, not '-'"},
    {"send 0,12ab to 1;", "1:8: here should be a size in bytes; '12ab' is no number"},
    {"send 0x,1 to 1;", "1:6: here should be a buffer or an address; '0x' is no number"},
    {"send 18446744073709551616,1 to 1;", "1:6: here should be a buffer or an address of at most 18446744073709551615; 18446744073709551616 is too large"},
    {"send 0x10000000000000000,1 to 1;", "1:6: here should be a buffer or an address of at most 18446744073709551615; 0x10000000000000000 is too large"},
    {"send 0,18446744073709551616 to 1;", "1:8: here should be a size in bytes of at most 18446744073709551615; 18446744073709551616 is too large"},
    {"send 18446744073709551615,2 to 1;", "1:27: these bytes end beyond 2^64"},
    {"send 0,1 to 1048576;", "1:13: rank 1048576 is beyond the 1048576 ranks that a text may have without saying so; if it is meant, write 'ranks N;' at the beginning"},
    {"send 0,1 to 1 tag 2147483648;", "1:19: here should be a tag of at most 2147483647; 2147483648 is too large"},
    {"send 0,1 to 1 tag any;", "1:19: here should be a tag, not 'any'"},
    {"send 0,1 to 1 tag 1 tag 2;", "1:21: 'tag' stands twice in this action"},
    {"recv 0,1 from 1 sync;", "1:17: 'sync' belongs to a send"},
    {"send 0,1 to 1 reversed;", "1:15: 'reversed' belongs to an operation"},
    {"send 0,1 to 1 then sumInt8 with 4,1;", "1:15: 'then' belongs to a receive"},
    {"send 0,1 to 1 cpu 256;", "1:19: here should be the number of a CPU of at most 255; 256 is too large"},
    {"send 0,1 to 1 nic;", "1:18: here should be the number of a NIC, not ';'"},
    {"calc;", "1:5: here should be a time in nanoseconds, not ';'"},
    {"calc 5 tag 1;", "1:8: 'tag' belongs to a send or a receive"},
    {"nop 5;", "1:5: here should be ';', not '5'"},
    {"// a comment\nsend 0,1 to 1;", "1:1: here should be an action, a label, 'requ' or 'buffer', not '/'; comments begin with '#'"},
    {"send 0,1 to 1; @", "1:16: here should be an action, a label, 'requ' or 'buffer', not '@'"},
    {"send 0,1 to 1;\n\001", "2:1: here should be an action, a label, 'requ' or 'buffer', not '?'"},
    {"send: send 0,1 to 1;", "1:1: 'send' is a word of the language and cannot be the name of a label"},
    {"any: nop;", "1:1: 'any' is a word of the language and cannot be the name of a label"},
    {"requ: nop;", "1:1: 'requ' is a word of the language and cannot be the name of a label"},
    {"a: nop;\n# a comment\na: nop;", "3:1: rank 0 has a label 'a' already, in line 1; names of a rank differ"},
    {"rank #0 { a: nop; }\nrank #1 { a: nop; }\nrank #0..1 { a: nop; }", "3:14: rank 0 has a label 'a' already, in line 1; names of a rank differ"},
    {"a: nop; requ a -> b;", "1:19: rank 0 has no action with the label 'b'"},
    {"a: nop; requ b -> a;", "1:14: rank 0 has no action with the label 'b'"},
    {"a: nop; requ a b;", "1:16: here should be '->' and the label of an action that comes before, not 'b'"},
    {"a: nop; requ a ->;", "1:18: here should be a label, not ';'"},
    {"a: nop; irequ 5 -> a;", "1:15: here should be a label, not '5'"},
    {"rank #0 { a: nop; } rank #1 { b: nop; requ b -> a; }", "1:49: rank 1 has no action with the label 'a'"},
    {"exec sumInt8 with 0,1;", "1:22: here should be a buffer or an address, not ';'"},
    {"exec sumInt8 with 0,1,,1,1;", "1:23: here should be a buffer or an address, not ','"},
    {"exec sumInt8 0,1 1,1;", "1:14: here should be 'with' and two buffers, not '0'"},
    {"exec foo with 0,1 1,1;", "1:6: 'foo' is no operation; there are max, min, sum, prod, land, lor, lxor, band, bor, bxor, copy"},
    {"exec subInt8 with 0,1 1,1;", "1:6: 'sub' is no operation; there are max, min, sum, prod, land, lor, lxor, band, bor, bxor, copy"},
    {"exec sum with 0,1 1,1;", "1:9: here should be the type of its elements: one of Int8, Int16, Int32, Int64, UInt8, UInt16, UInt32, UInt64, Float16, Float32, Float64"},
    {"exec sumInt9 with 0,1 1,1;", "1:9: 'Int9' is no type; there are Int8, Int16, Int32, Int64, UInt8, UInt16, UInt32, UInt64, Float16, Float32, Float64"},
    {"exec sumFloat8 with 0,1 1,1;", "1:9: Float8 is refused, for nobody has said what its bits mean; there are Float16, Float32 and Float64"},
    {"exec Int8 with 0,1 1,1;", "1:6: here should be an operation: one of max, min, sum, prod, land, lor, lxor, band, bor, bxor, copy"},
    {"exec 5 with 0,1 1,1;", "1:6: here should be an operation such as sumInt32, or 'user N', not '5'"},
    {"exec sumInt32 with 0,6 8,6;", "1:22: 6 bytes are no whole number of Int32, which have 4 bytes each"},
    {"exec sumInt32 with 0,4 8,8;", "1:26: the two buffers of an operation have the same size, but these have 4 and 8 bytes"},
    {"exec user with 0,1 1,1;", "1:11: here should be the number of a function, not 'with'"},
    {"exec user 65536 with 0,1 1,1;", "1:11: here should be the number of a function of at most 65535; 65536 is too large"},
    {"exec sumInt8 with none,1 1,1;", "1:19: 'none' is for plain messages; an operation needs memory"},
    {"exec sumInt8 with 1,1 none,1;", "1:23: 'none' is for plain messages; an operation needs memory"},
    {"exec sumInt8 with 0,1 1,1 sync;", "1:27: 'sync' belongs to a send"},
    {"recv 0,4 from 1 then sumInt32 with 8,8;", "1:38: the two buffers of an operation have the same size, but these have 4 and 8 bytes"},
    {"recv 0,3 from 1 then sumInt32 with 8,3;", "1:8: 3 bytes are no whole number of Int32, which have 4 bytes each"},
    {"recv 0,4 from 1 then with 8,4;", "1:22: 'with' is no operation; there are max, min, sum, prod, land, lor, lxor, band, bor, bxor, copy"},
    {"recv none,4 from 1 then sumInt32 with 8,4;", "1:6: 'none' is for plain messages; an operation needs memory"},
    {"recv 0,4 from 1 then sumInt32 8,4;", "1:31: here should be 'with' and a buffer, not '8'"},
    {"recv 0,4 from 1 reversed then sumInt32 with 8,4;", "1:17: 'reversed' belongs to an operation"},
    {"recv 0,4 from 1 then sumInt32 with 8,4 then sumInt32 with 8,4;", "1:40: 'then' stands twice in this action"},
    {"buffer 5 1;", "1:8: here should be the name of a buffer, not '5'"},
    {"buffer in;", "1:10: here should be a size in bytes, not ';'"},
    {"buffer to 5;", "1:8: 'to' is a word of the language and cannot be the name of a buffer"},
    {"buffer in 8; buffer in 8;", "1:21: rank 0 has a buffer 'in' already, in line 1; names of a rank differ"},
    {"send in,8 to 1;", "1:6: rank 0 has no buffer 'in'; declare it first, with 'buffer in SIZE;'"},
    {"buffer in 8; send in+x,8 to 1;", "1:22: here should be an offset in bytes, not 'x'"},
    {"buffer in 8; send in 8 to 1;", "1:22: here should be ',' and a size in bytes, not '8'"},
    {"rank #0 { buffer in 8; }\nrank #1 { send in,8 to 0; }", "2:16: rank 1 has no buffer 'in'; declare it first, with 'buffer in SIZE;'"},
    {"ranks 0;", "1:7: a program has at least 1 rank"},
    {"ranks 268435457;", "1:7: here should be a number of ranks of at most 268435456; 268435457 is too large"},
    {"ranks 4", "1:8: here should be ';', not the end of the text"},
    {"ranks 4; ranks 4;", "1:10: 'ranks N;' stands once, before everything else"},
    {"rank #0 { nop; } ranks 4;", "1:18: 'ranks N;' stands once, before everything else"},
    {"ranks 2;\nrank #0 {\n  send 0,1 to 2;\n}", "3:15: there is no rank 2: the program has the ranks 0 to 1"},
    {"ranks 2; rank #2 { nop; }", "1:16: there is no rank 2: the program has the ranks 0 to 1"},
    {"rank {nop; }", "1:6: here should be a rank, not '{'"},
    {"rank # a comment\n0 {\n", "1:8: here should be a rank, not 'a'"},
    {"rank #0 nop;", "1:9: here should be ',' and a further rank, or '{', not 'nop'"},
    {"rank #0, { nop; }", "1:10: here should be a rank, not '{'"},
    {"rank #0 #1 { nop; }", "1:8: here should be ',' and a further rank, or '{', not the end of the text"},
    {"rank #3..1 { nop; }", "1:10: this range ends before it begins"},
    {"rank #0.. { nop; }", "1:11: here should be the last rank of the range, not '{'"},
    {"rank #0, #4..7, #5 { nop; }", "1:17: rank 5 stands twice in this list"},
    {"rank #0 {\n  nop;\n", "2:7: the block that begins in line 1 has no '}'"},
    {"rank #0 {\n  nop;\nrank #1 { nop; }", "3:1: the block that begins in line 1 is still open here; close it with '}'"},
    {"rank #0 { nop; } }", "1:18: here should be a rank block, 'rank #N {', or the end, not '}'"},
    {"nop; rank #0 { nop; }", "1:6: there are statements before this block; in a text with rank blocks each statement stands in one"},
    {"rank #0 { nop; } nop;", "1:18: here should be a rank block, 'rank #N {', or the end, not 'nop'"},
    {"rank #0 { nop }", "1:15: here should be ';', not '}'"},
    {"num_ranks", "1:10: here should be a number of ranks, not the end of the text"},
    {"num_ranks 0\n", "1:11: a program has at least 1 rank"},
    {"num_ranks x\n", "1:11: here should be a number of ranks, not 'x'"},
    {"num_ranks 4b\n", "1:11: here should be a number of ranks, not '4b'"},
    {"num_ranks 2\nnum_ranks 2\n", "2:1: num_ranks stands once, before the first rank"},
    {"rank 0 {\n}\nnum_ranks 2\n", "3:1: num_ranks stands once, before the first rank"},
    {"num_ranks 2\nrank 2 {\n}\n", "2:6: there is no rank 2: the program has the ranks 0 to 1"},
    {"num_ranks 2\nrank #0 {\n}\n", "2:6: LogGOPSim's dialect, in which this text begins, writes 'rank N {' without '#'"},
    {"num_ranks 2\nrank 0\nsend 5b to 1\n", "2:7: here should be '{', not the end of the line"},
    {"num_ranks 2\nrank 0 {\nsend 5b to 1\n", "3:13: the block of rank 0, which begins in line 2, has no '}'"},
    {"num_ranks 2\nrank 0 {\nrank 1 {\n}\n}\n", "3:1: the block of rank 0 is still open here; close it with '}'"},
    {"num_ranks 2\nsend 5b to 1\n", "2:1: here should be 'num_ranks N' or 'rank N {', not 'send'"},
    {"num_ranks 2\nrank 0 {\n}\n}\n", "4:1: here should be 'rank N {' or the end, not '}'"},
    {"num_ranks 2\nrank 0 {\nsend 5b to 2\n}\n", "3:12: there is no rank 2: the program has the ranks 0 to 1"},
    {"num_ranks 2\nrank 0 {\nsend 5b to -1\n}\n", "3:12: here should be a rank, not a negative number"},
    {"num_ranks 2\nrank 0 {\nsend 5b to 1 tag -1\n}\n", "3:18: here should be a tag, not a negative number"},
    {"num_ranks 2\nrank 0 {\nrecv 5b from -2\n}\n", "3:14: here should be a rank, or -1 for any, not a negative number"},
    {"num_ranks 2\nrank 0 {\nrecv 5b from - 1\n}\n", "3:14: here should be a rank, or -1 for any, not a negative number"},
    {"num_ranks 2\nrank 0 {\nsend b to 1\n}\n", "3:6: here should be a size such as 10b, not 'b'"},
    {"num_ranks 2\nrank 0 {\nsend 5c to 1\n}\n", "3:6: here should be a size such as 10b; '5c' is no number"},
    {"num_ranks 2\nrank 0 {\nsend 5b\nto 1\n}\n", "3:8: here should be 'to' and a rank, not the end of the line"},
    {"num_ranks 2\nrank 0 {\nsend 5b to\n1\n}\n", "3:11: here should be a rank, not the end of the line"},
    {"num_ranks 2\nrank 0 {\nsend 5b to 1 tag\n}\n", "3:17: here should be a tag, not the end of the line"},
    {"num_ranks 2\nrank 0 {\nsend 5b to 1 cpu 256\n}\n", "3:18: here should be a number of at most 255; 256 is too large"},
    {"num_ranks 2\nrank 0 {\nsend 5b to 1 cpu 1 cpu 1\n}\n", "3:20: 'cpu' stands twice in this statement"},
    {"num_ranks 2\nrank 0 {\ncalc 5 tag 1\n}\n", "3:8: calc takes a cpu, but no tag"},
    {"num_ranks 2\nrank 0 {\ncalc 5b\n}\n", "3:6: here should be a time, not '5b'"},
    {"num_ranks 2\nrank 0 {\ncalc 18446744073709551616\n}\n", "3:6: here should be a time of at most 18446744073709551615; 18446744073709551616 is too large"},
    {"num_ranks 2\nrank 0 {\nl1: send 5b to 1\nl1: send 5b to 1\n}\n", "4:1: rank 0 has a label 'l1' already, in line 3; names of a rank differ"},
    {"num_ranks 2\nrank 0 {\ntag: send 5b to 1\n}\n", "3:1: 'tag' is a word of the language and cannot be the name of a label"},
    {"num_ranks 2\nrank 0 {\nl1: requires l2\n}\n", "3:5: here should be send, recv or calc, not 'requires'"},
    {"num_ranks 2\nrank 0 {\nl1 needs l2\n}\n", "3:4: here should be ':', 'requires' or 'irequires' after 'l1', not 'needs'"},
    {"num_ranks 2\nrank 0 {\nl1: calc 5\nl1 requires\n}\n", "4:12: here should be a label, not the end of the line"},
    {"num_ranks 2\nrank 0 {\nl1: calc 5\nl1 requires l2\n}\n", "4:13: rank 0 has no action with the label 'l2'"},
    {"num_ranks 2\nrank 0 {\nl1: calc 5\nl2 irequires l1\n}\n", "4:1: rank 0 has no action with the label 'l2'"},
    {"num_ranks 2\n/* a comment\nrank 0 {\n}\n", "2:1: this comment has no end; close it with */"},
    {"num_ranks 2\nrank 0 {\n{\n}\n", "3:1: here should be a statement or '}', not '{'"},
    {"num_ranks 2\nrank 0 {\ncalc 5;\n}\n", "3:7: here should be a statement or '}', not ';'"},
    // clang-format on
};

static const char *line_of(const char *text, unsigned long line, size_t *length)
{
    for (; line > 1; line--)
        text = strchr(text, '\n') + 1;
    *length = strcspn(text, "\n");
    return text;
}

static void check_wrong(const wrong *w)
{
    mlt_goal_program *program;
    mlt_status status =
        mlt_goal_read("t", w->text, strlen(w->text), &program, &dialect, why, sizeof why);
    size_t said = strlen(w->said);
    bool good = status == MLT_ERR_INVALID && !program && strncmp(why, "t:", 2) == 0 &&
                strncmp(why + 2, w->said, said) == 0 && why[2 + said] == '\n';
    if (good) {
        // The line as it is (but for control characters), and the caret in its column.
        char *end;
        unsigned long line = strtoul(w->said, &end, 10), column = strtoul(end + 1, NULL, 10);
        size_t length;
        const char *source = line_of(w->text, line, &length), *shown = why + 2 + said + 1;
        good = strcspn(shown, "\n") == length;
        for (size_t i = 0; i < length && good; i++)
            good = shown[i] == (source[i] < ' ' ? '?' : source[i]);
        const char *caret = shown + length + 1;
        good = good && strspn(caret, " ") == column - 1 && strcmp(caret + column - 1, "^") == 0;
    }
    if (!good) {
        fprintf(stderr, "of\n%s\nwas said\n%s\nbut should\nt:%s\n", w->text, why, w->said);
        exit(1);
    }
}

static void check_shown(const char *text, size_t length, const char *said)
{
    mlt_goal_program *program;
    CHECK(mlt_goal_read("t", text, length, &program, NULL, why, sizeof why) == MLT_ERR_INVALID);
    if (strcmp(why, said) != 0) {
        fprintf(stderr, "shown was\n%s\nbut should\n%s\n", why, said);
        exit(1);
    }
}

// Lines that are long, or that a terminal should not get.
static void check_lines(void)
{
    char text[600], sent[64];
    memset(text, ' ', sizeof text);
    memcpy(text, "nop;", 4);
    memcpy(text + 300, "oops;", 5);
    check_shown(text, 500,
                "t:1:301: 'oops' begins no statement; here should be send, recv, exec, calc, nop, "
                "requ, irequ, buffer, or a label and ':'\n"
                "...                                                            oops;              "
                "                     ...\n"
                "                                                               ^");
    check_shown("\033[2Jx", 5,
                "t:1:1: here should be an action, a label, 'requ' or 'buffer', not '?'\n?[2Jx\n^");
    check_shown("\tnop nop;", 9, "t:1:6: here should be ';', not 'nop'\n nop nop;\n     ^");
    check_shown("nop; # gr\xc3\xbc\xc3\x9f\nnop; /* \xc3\xbc */", 27,
                "t:2:6: here should be an action, a label, 'requ' or 'buffer', not '/'; comments "
                "begin with '#'\nnop; /* \xc3\xbc */\n     ^");
    check_shown("nop; \xc3\xbc x", 9,
                "t:1:6: here should be an action, a label, 'requ' or 'buffer', not '\xc3\xbc'\n"
                "nop; \xc3\xbc x\n     ^");
    check_shown("nop; \xe2\x80\xae x \xff \xc2\x9b", 15,
                "t:1:6: here should be an action, a label, 'requ' or 'buffer', not '?'\n"
                "nop; ? x ? ?\n     ^");
    check_shown("nop;\0nop;", 9,
                "t:1:5: here should be an action, a label, 'requ' or 'buffer', not '?'\n"
                "nop;?nop;\n    ^");
    check_shown("nop\r\nnop;\r\n", 11,
                "t:1:4: here should be ';', not the end of the line\nnop\n   ^");
    // A long word is shortened in the sentence, a small buffer is not overrun.
    memset(text, 'x', 100);
    text[100] = ';';
    mlt_goal_program *program;
    CHECK(mlt_goal_read("t", text, 101, &program, NULL, why, sizeof why) == MLT_ERR_INVALID);
    CHECK(strstr(why, "'xxxxxxxxxxxxxxxxxxxxxxxx...' begins no statement"));
    for (size_t size = 1; size < sizeof sent; size++) {
        memset(sent, 'Z', sizeof sent);
        CHECK(mlt_goal_read("t", text, 101, &program, NULL, sent, size) == MLT_ERR_INVALID);
        CHECK(memchr(sent, 0, size));
        for (size_t i = size; i < sizeof sent; i++)
            CHECK(sent[i] == 'Z');
    }
}

// ---- the paper's dialect

static const char example_2[] = "rank #0 {\n"
                                "  r1: recv 503,1 from 1;\n"
                                "  r2: recv 504,1 from 2;\n"
                                "  e1: exec sumInt8 with 501,1 503,1;\n"
                                "  e2: exec sumInt8 with 502,1 504,1;\n"
                                "  requ e1 -> r1;\n"
                                "  requ e2 -> r2;\n"
                                "}\n"
                                "rank #1, #2 {\n"
                                "  send 501,1 to 0;\n"
                                "}\n";

static void check_example(void)
{
    mlt_goal_program *program = read_text(example_2);
    CHECK(dialect == MLT_GOAL_PAPER && program->ranks == 3);
    const mlt_goal_rank *rank = &program->rank[0];
    CHECK(rank->count == 4 && rank->deps_count == 2 && rank->buffers_count == 0);
    const mlt_goal_action *r1 = &rank->actions[0], *e2 = &rank->actions[3];
    CHECK(r1->kind == MLT_GOAL_RECV && r1->peer == 1 && r1->tag == 0 && r1->line == 2);
    CHECK(r1->buf[0] == MLT_GOAL_MEMORY && r1->at[0] == 503 && r1->size[0] == 1);
    CHECK(strcmp(mlt_goal_name_text(program, r1->label), "r1") == 0);
    CHECK(e2->kind == MLT_GOAL_EXEC && e2->op == MLT_OP_SUM && e2->type == MLT_OP_INT8);
    CHECK(e2->at[0] == 502 && e2->at[1] == 504 && e2->size[0] == 1 && e2->size[1] == 1);
    CHECK(rank->deps[0].action == 2 && rank->deps[0].on == 0);
    CHECK(rank->deps[1].action == 3 && rank->deps[1].on == 1);
    for (int r = 1; r <= 2; r++) {
        rank = &program->rank[r];
        CHECK(rank->count == 1 && rank->deps_count == 0);
        CHECK(rank->actions[0].kind == MLT_GOAL_SEND && rank->actions[0].peer == 0);
        CHECK(rank->actions[0].label == 0 && rank->actions[0].line == 10);
    }
    mlt_goal_program_free(program);
}

// Two texts, the same program.
static void same(const char *one, const char *other)
{
    mlt_goal_program *a = read_text(one), *b = read_text(other);
    if (!mlt_goal_program_equal(a, b)) {
        fprintf(stderr, "these differ:\n%s\nand\n%s\n", one, other);
        exit(1);
    }
    mlt_goal_program_free(a);
    mlt_goal_program_free(b);
}

static void differ(const char *one, const char *other)
{
    mlt_goal_program *a = read_text(one), *b = read_text(other);
    if (mlt_goal_program_equal(a, b)) {
        fprintf(stderr, "these do not differ:\n%s\nand\n%s\n", one, other);
        exit(1);
    }
    mlt_goal_program_free(a);
    mlt_goal_program_free(b);
}

static void check_liberties(void)
{
    // What the paper leaves open.
    same("exec sumInt8 with 0,1 8,1;", "exec sumInt8 with 0,1, 8,1;");
    same("exec\tsumInt8\nwith\r\n0 , 1\n,\n8 , 1 ;", "exec sumInt8 with 0,1 8,1;");
    same("rank #1, #2 { nop; }", "rank # 1 ,\n#2{nop;}");
    same("rank #1, #2 { nop; }", "rank #1, 2 { nop; }");
    same("rank #0..3 { nop; }", "rank #0..#3 { nop; }");
    same("rank #0..3 { nop; }", "rank #2..3, #0, #1 { nop; }");
    same("nop; # comment, #3\n#\nnop;", "nop; nop;");
    same("rank #0 { # comment\n nop; # }\n }", "rank #0 { nop; }");
    same("nop;", "\xef\xbb\xbfnop;");
    same("nop;", "; ; nop ; ;");
    same("rank #0 { nop; };", "rank #0 { nop; }");
    same("nop;", "rank #0 { nop; }");
    same("send 0,1 to 3;", "ranks 4; send 0,1 to 3;");
    differ("send 0,1 to 3;", "ranks 5; send 0,1 to 3;");
    same("rank #5 { }", "ranks 6;");
    same("send 16,0x20 to 0x1;", "send 0X10,32 to 1;");
    // Blocks of one rank add up, in any order of ranks; labels hold over all of them.
    same("rank #1 { a: nop; } rank #0 { nop; } rank #1 { b: nop; requ b -> a; }",
         "rank #0 { nop; } rank #1 { a: nop; b: nop; requ b -> a; }");
    same("rank #1 { requ b -> a; } rank #1 { a: nop; } rank #1 { b: nop; }",
         "rank #0 { } rank #1 { a: nop; b: nop; requ b -> a; }");
    same(
        "rank #0..1 { buffer x 8; } rank #0, #1 { a: send x,8 to 1; } rank #1 { b: nop; requ a -> "
        "b; }",
        "rank #0 { buffer x 8; a: send x,8 to 1; } rank #1 { buffer x 8; a: send x,8 to 1; b: nop; "
        "requ a -> b; }");
    // A block of several ranks: a name may stand for different things.
    same(
        "rank #0 { buffer a 1; buffer b 2; } rank #1 { buffer b 2; buffer a 1; } rank #0..1 { send "
        "b,2 to 0; }",
        "rank #0 { buffer a 1; buffer b 2; send b+0,2 to 0; } rank #1 { buffer b 2; buffer a 1; "
        "send b+0,2 to 0; }");
    // Duplicates count, and the order of dependencies does not.
    same("a: nop; b: nop; c: nop; requ c -> a; requ c -> b;",
         "a: nop; b: nop; c: nop; requ c -> b; requ c -> a;");
    differ("a: nop; b: nop; requ b -> a;", "a: nop; b: nop; requ b -> a; requ b -> a;");
    differ("a: nop; b: nop; requ b -> a;", "a: nop; b: nop; irequ b -> a;");
    differ("exec minInt8 with 0,1 8,1;", "exec minUInt8 with 0,1 8,1;");
    differ("exec minInt8 with 0,1 8,1;", "exec minInt8 with 0,1 8,1 reversed;");
    differ("exec user 1 with 0,1 8,1;", "exec user 2 with 0,1 8,1;");
    differ("send 0,1 to 1;", "send 0,1 to 1 sync;");
    differ("send 0,1 to 1;", "send none,1 to 1;");
    differ("buffer a 8; send a,1 to 1;", "buffer b 8; send b,1 to 1;");
    differ("buffer a 8; send a,1 to 1;", "buffer a 9; send a,1 to 1;");
}

static const mlt_goal_action *only(mlt_goal_program **program, const char *text)
{
    mlt_goal_program_free(*program);
    *program = read_text(text);
    const mlt_goal_rank *rank = &(*program)->rank[0];
    CHECK(rank->count == 1);
    return &rank->actions[0];
}

static void check_extensions(void)
{
    mlt_goal_program *program = NULL;
    const mlt_goal_action *a = only(&program, "buffer in 1024; buffer out 64; send out+8,16 to 7 "
                                              "sync tag 5 nic 2 cpu 255;");
    CHECK(program->ranks == 8 && program->rank[0].buffers_count == 2);
    CHECK(program->rank[0].buffers[0].size == 1024 && program->rank[0].buffers[1].line == 1);
    CHECK(a->kind == MLT_GOAL_SEND && a->buf[0] == 2 && a->at[0] == 8 && a->size[0] == 16);
    CHECK(a->peer == 7 && a->tag == 5 && a->cpu == 255 && a->nic == 2);
    CHECK(a->flags == MLT_GOAL_SYNCHRONOUS);
    a = only(&program, "recv none,64 from any tag any;");
    CHECK(a->kind == MLT_GOAL_RECV && a->buf[0] == MLT_GOAL_NOWHERE && a->size[0] == 64);
    CHECK(a->peer == MLT_GOAL_ANY && a->tag == MLT_GOAL_ANY);
    a = only(&program, "recv 8,4 from 3 tag 2147483647 then maxUInt32 with 0,4 reversed cpu 1;");
    CHECK(a->kind == MLT_GOAL_RECV_EXEC && a->op == MLT_OP_MAX && a->type == MLT_OP_UINT32);
    CHECK(a->at[0] == 0 && a->at[1] == 8 && a->size[0] == 4 && a->size[1] == 4 && a->peer == 3);
    CHECK(a->tag == 2147483647 && a->flags == MLT_GOAL_REVERSED && a->cpu == 1);
    a = only(&program, "recv 8,4 from 3 then user 9 with 0,16;");
    CHECK(a->kind == MLT_GOAL_RECV_USER && a->user == 9 && a->size[0] == 16 && a->size[1] == 4);
    a = only(&program, "exec user 65535 with 0,16, 4,1;");
    CHECK(a->kind == MLT_GOAL_USER && a->user == 65535 && a->size[0] == 16 && a->size[1] == 1);
    a = only(&program, "calc 18446744073709551615 cpu 3;");
    CHECK(a->kind == MLT_GOAL_CALC && a->size[0] == UINT64_MAX && a->cpu == 3);
    a = only(&program, "nop;");
    CHECK(a->kind == MLT_GOAL_NOP);
    // Beyond a declared buffer: for the checker to say.
    a = only(&program, "buffer in 4; send in+2,16 to 1;");
    CHECK(a->at[0] == 2 && a->size[0] == 16);
    CHECK(mlt_goal_rank_in_bounds(program, 0, why, sizeof why) == MLT_ERR_INVALID);
    CHECK(strcmp(why,
                 "rank 0, action 0 (send in+2,16 to 1), line 1 reaches beyond 'in', which has 4 "
                 "bytes") == 0);
    only(&program, "buffer in 4; send in+18446744073709551614,1 to 1;");
    CHECK(mlt_goal_rank_in_bounds(program, 0, why, sizeof why) == MLT_ERR_INVALID);
    only(&program, "buffer in 4; exec sumInt32 with 4,4 in,4;");
    CHECK(mlt_goal_rank_in_bounds(program, 0, why, sizeof why) == MLT_OK);
    only(&program, "buffer in 4; send in+9,0 to 1;"); // no bytes
    CHECK(mlt_goal_rank_in_bounds(program, 0, why, sizeof why) == MLT_OK);
    for (int op = 0; op < MLT_OPS; op++)
        for (int type = 0; type < MLT_OP_TYPES; type++) {
            char text[64];
            snprintf(text, sizeof text, "exec %s%s with 0,16 16,16;", mlt_op_names[op],
                     mlt_op_type_names[type]);
            a = only(&program, text);
            CHECK(a->kind == MLT_GOAL_EXEC && a->op == op && a->type == type);
        }
    mlt_goal_program_free(program);
    program = read_text("a: nop; b: nop; irequ a -> b; requ a -> a;");
    CHECK(program->rank[0].deps[0].on == (1 | MLT_GOAL_STARTED));
    CHECK(program->rank[0].deps[1].on == 0 && program->rank[0].deps[1].action == 0);
    mlt_goal_program_free(program);
}

// ---- LogGOPSim's dialect

static void check_loggopsim(void)
{
    mlt_goal_program *program = read_text("num_ranks 3\r\n\r\nrank 1 {\r\n"
                                          "l1: send 10b to 2 tag 5 cpu 1 nic 2\r\n"
                                          "l2: recv 20b from -1 tag -1\r\n"
                                          "calc 100 cpu 3\r\n"
                                          "l1 requires l2\r\nl1 requires l2\r\nl2 irequires l1\r\n"
                                          "}\r\nrank 0 {\r\n}\r\n");
    CHECK(dialect == MLT_GOAL_LOGGOPSIM && program->ranks == 3);
    CHECK(program->rank[0].count == 0 && program->rank[2].count == 0);
    const mlt_goal_rank *rank = &program->rank[1];
    CHECK(rank->count == 3 && rank->deps_count == 3);
    const mlt_goal_action *a = rank->actions;
    CHECK(a[0].kind == MLT_GOAL_SEND && a[0].buf[0] == MLT_GOAL_NOWHERE && a[0].size[0] == 10);
    CHECK(a[0].peer == 2 && a[0].tag == 5 && a[0].cpu == 1 && a[0].nic == 2 && a[0].line == 4);
    CHECK(a[1].kind == MLT_GOAL_RECV && a[1].peer == MLT_GOAL_ANY && a[1].tag == MLT_GOAL_ANY);
    CHECK(a[2].kind == MLT_GOAL_CALC && a[2].size[0] == 100 && a[2].cpu == 3 && a[2].label == 0);
    CHECK(rank->deps[1].action == 0 && rank->deps[1].on == 1);
    CHECK(rank->deps[2].action == 1 && rank->deps[2].on == (0 | MLT_GOAL_STARTED));
    mlt_goal_program_free(program);

    const char *plain = "num_ranks 2\nrank 0 {\na: send 5b to 1\nb: calc 7\nb requires a\n}\n";
    same(plain, "num_ranks 2 rank 0 { a: send 5b to 1 b: calc 7 b requires a }");
    same(plain, "num_ranks 2\nrank 0\n{\na: send 5 b to 1\nb: calc 7\nb requires a }");
    same(plain, "num_ranks 2\nrank 0 {\na: send 5 to 1\nb: calc 7\nb requires a\n}");
    same(plain, "// c\nnum_ranks 2 /* x\n*/ rank 0 { // }\n\na: send 5b/**/to 1\nb:calc 7 # x\nb "
                "requires a\n}\n");
    same(plain, "rank 0 {\nb requires a\na: send 5b to 1\nb: calc 7\n}\n");
    same(plain,
         "num_ranks 2\nrank 1 {\n}\nrank 0 {\na: send 5b to 1\nb requires a\n}\nrank 0 {\nb: "
         "calc 7\n}");
    same(plain, "a: send none,5 to 1; b: calc 7; requ b -> a;");
}

static void check_dialects(void)
{
    static const struct {
        const char *text;
        mlt_goal_dialect dialect;
    } texts[] = {
        {"num_ranks 1", MLT_GOAL_LOGGOPSIM},
        {"rank 0 {\n}", MLT_GOAL_LOGGOPSIM},
        {"# rank 0\nrank #0 { }", MLT_GOAL_PAPER},
        {"// rank #0\nrank 0 { }", MLT_GOAL_LOGGOPSIM},
        {"/* ; */ a requires b", MLT_GOAL_LOGGOPSIM},
        {"a irequires b", MLT_GOAL_LOGGOPSIM},
        {"send 5b to 1", MLT_GOAL_LOGGOPSIM},
        {"send 0x5b,1 to 1", MLT_GOAL_PAPER},
        {"ranks 4;", MLT_GOAL_PAPER},
        {"buffer b 5;", MLT_GOAL_PAPER},
        {"requ a -> b;", MLT_GOAL_PAPER},
        {"a: calc 5;", MLT_GOAL_PAPER},
        {"a: calc 5", MLT_GOAL_PAPER},
        {"rank", MLT_GOAL_PAPER},
        {"5", MLT_GOAL_PAPER},
        {"/*", MLT_GOAL_PAPER},
        {"", MLT_GOAL_PAPER},
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        const char *text = texts[i].text;
        CHECK(mlt_goal_dialect_of(text, text + strlen(text)) == texts[i].dialect);
    }
}

// ---- size: nothing may be quadratic, whatever the order of labels, blocks and buffers

typedef struct builder {
    char *text;
    size_t length, room;
} builder;

static void add(builder *b, const char *format, ...) MLT_PRINTF(2, 3);

static void add(builder *b, const char *format, ...)
{
    if (b->room - b->length < 128) {
        b->room = b->room ? 2 * b->room : 1 << 16;
        b->text = realloc(b->text, b->room);
        CHECK(b->text);
    }
    va_list args;
    va_start(args, format);
    b->length += (size_t)vsnprintf(b->text + b->length, 128, format, args);
    va_end(args);
}

// Quadratic time would be over the test's limit.
static mlt_goal_program *read_built(builder *b)
{
    mlt_goal_program *program;
    CHECK(mlt_goal_read("t", b->text, b->length, &program, NULL, why, sizeof why) == MLT_OK);
    free(b->text);
    return program;
}

enum { MANY = 20000 };

static void check_sizes(void)
{
    builder b = {NULL, 0, 0};
    // Labels used before they are there, and blocks of two ranks that take turns.
    for (int i = 0; i < MANY; i++)
        add(&b, "rank #%d { requ l%d -> a_label_that_is_long_%d; }\n", i % 2, i, i);
    for (int i = 0; i < MANY; i++)
        add(&b, "rank #%d { l%d: nop; buffer b%d 8; }\n", i % 2, i, i);
    for (int i = 0; i < MANY; i++)
        add(&b, "rank #%d { a_label_that_is_long_%d: send b%d,8 to 0; }\n", i % 2, i, i);
    mlt_goal_program *program = read_built(&b);
    CHECK(program->ranks == 2);
    for (int r = 0; r < 2; r++) {
        const mlt_goal_rank *rank = &program->rank[r];
        CHECK(rank->count == MANY && rank->deps_count == MANY / 2);
        for (uint32_t d = 0; d < rank->deps_count; d++)
            CHECK(rank->deps[d].action == d && rank->deps[d].on == MANY / 2 + d);
        for (uint32_t d = 0; d < rank->buffers_count; d++)
            CHECK(rank->actions[MANY / 2 + d].buf[0] == d + 1);
    }
    mlt_goal_program_free(program);

    // Many ranks in a list, and many blocks.
    b = (builder){NULL, 0, 0};
    add(&b, "rank #0");
    for (int i = 1; i < MANY; i++)
        add(&b, ", #%d", 2 * (MANY - i));
    add(&b, " { a: nop; b: nop; requ b -> a; }\n");
    for (int i = 0; i < MANY; i++)
        add(&b, "rank #%d { c: calc %d; requ c -> c; }\n", 2 * i + 1, i);
    program = read_built(&b);
    CHECK(program->ranks == 2 * MANY);
    for (uint32_t r = 0; r < program->ranks; r++)
        CHECK(program->rank[r].count == (r % 2 ? 1 : 2) && program->rank[r].deps_count == 1);
    mlt_goal_program_free(program);
}

int main(void)
{
    size_t count = sizeof wrongs / sizeof *wrongs;
    for (size_t i = 0; i < count; i++)
        check_wrong(&wrongs[i]);
    check_lines();
    check_example();
    check_liberties();
    check_extensions();
    check_loggopsim();
    check_dialects();
    check_sizes();
    printf("%zu wrong texts, each with its message\n", count);
    return 0;
}
