// SPDX-License-Identifier: BSD-3-Clause
#include "flow/graph/number.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

static void expect(const char *text, bool good, long wanted)
{
    long value = 77;
    if (mlt_flow_number_parse(text, &value) != good || (good && value != wanted)) {
        fprintf(stderr, "'%s' gives %ld\n", text, value);
        exit(1);
    }
}

int main(void)
{
    expect("0", true, 0);
    expect("32", true, 32);
    expect("-1", true, -1);
    expect("+7", true, 7);
    expect("0x20", true, 32);
    expect("-0X1f", true, -31);
    expect("9223372036854775807", true, LONG_MAX);
    expect("-9223372036854775808", true, LONG_MIN);
    static const char *const wrong[] = {"",
                                        "-",
                                        "+",
                                        " 3",
                                        "3 ",
                                        "- 3",
                                        "--3",
                                        "3x",
                                        "x",
                                        "010",
                                        "-01",
                                        "0x",
                                        "0xg",
                                        "1.",
                                        "1e3",
                                        "00",
                                        "0b1",
                                        "9223372036854775808",
                                        "-9223372036854775809",
                                        "0xffffffffffffffff"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        expect(wrong[i], false, 0);
    printf("fine\n");
    return 0;
}
