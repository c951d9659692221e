// SPDX-License-Identifier: BSD-3-Clause
// Lines of source in a crash report: this program's own functions are found, and everything else in
// a text stays as it is.
#include "launch/watch/lines.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/text.h"
#include "base/unit_test.h"

static void stays(const char *text)
{
    char *out = mlt_lines_add(text, NULL);
    check_same_text("a text without frames that are known", out ? out : "", text);
    free(out);
}

static void check_odd(void)
{
    stays("");
    stays("rank 1: segmentation fault at address 0x8");
    stays("\n\n(\n()\n(+\n+)[\na(b)[0x1]\na(b+)\na(b+0x\n");
    stays("rank 0: abort\n/no/such/file(main+0x15)[0x5581]\n/no/such/file(+0x15)[0x5581]\n");
    stays("/lib/x86_64-linux-gnu/libc.so.6(exit+0x1a)[0x7f]");
    stays("-e(main+0x1)[0x1]\n--help(main+0x1)[0x1]");
    for (int i = 0; i < 300; i++) {
        char text[200];
        size_t n = 0;
        while (n < sizeof text - 1 - (size_t)below(150))
            text[n++] = "()+[]0x\nab/ "[below(12)];
        text[n] = '\0';
        stays(text);
    }
}

static __attribute__((noinline)) void check_own(void)
{
    char path[512] = "";
    CHECK(readlink("/proc/self/exe", path, sizeof path - 1) > 0);
    if (system("addr2line --version > /dev/null 2>&1") != 0)
        return; // then nothing is added
    char *text =
        mlt_text_of("rank 3: abort\n%s(check_own+0x4)[0x1]\n%s(main+0x5)[0x2]\nend", path, path);
    char *out = mlt_lines_add(text, NULL);
    CHECK(out && strstr(out, "check_own+0x4)[0x1] at ") && strstr(out, "lines_test.c:"));
    CHECK(strstr(out, "main+0x5)[0x2] at ") && strcmp(out + strlen(out) - 4, "\nend") == 0);
    free(out);
    free(text);
}

int main(void)
{
    check_odd();
    check_own();
    return 0;
}
