// SPDX-License-Identifier: BSD-3-Clause
//
// Every rank parses the same options with getopt, and sees what it would see alone, whatever the
// ranks that share its process do: options WHEN -ab 2 ... FILE. before, after: MPI_Init; twice: two
// passes; skip: optind is set before; root: rank 0 alone; long: getopt_long; slow: with pauses, so
// that ranks on several threads would meet in the middle.

#define _GNU_SOURCE // beyond C11: getopt_long, usleep

#include "check.h"

#include <getopt.h>
#include <sched.h>
#include <unistd.h>

static int is(const char *when, const char *name)
{
    return strcmp(when, name) == 0;
}

static void rest(const char *when)
{
    if (is(when, "slow"))
        usleep(2000);
    else
        sched_yield();
}

// -a -b 2 -c 3, in any spelling, and one file.
static void parse(int argc, char **argv, const char *when)
{
    static const struct option longs[] = {
        {"aa", no_argument, NULL, 'a'}, {"cc", required_argument, NULL, 'c'}, {NULL, 0, NULL, 0}};
    int a = 0, b = 0, c = 0, o, at = 0;
    for (;;) {
        o = is(when, "long") ? getopt_long(argc, argv, "ab:c:", longs, &at)
                             : getopt(argc, argv, "ab:c:");
        rest(when);
        if (o == -1)
            break;
        a += o == 'a';
        if (o == 'b')
            b = atoi(optarg);
        if (o == 'c')
            c = atoi(optarg);
        CHECK(o != '?');
    }
    CHECK_INT(a, 1);
    CHECK_INT(b, 2);
    CHECK_INT(c, 3);
}

static void check_rest(int argc, char **argv, const char *when)
{
    CHECK_INT(optind, argc - (is(when, "skip") ? 1 : 2));
    CHECK(strcmp(argv[argc - 1], "file") == 0);
}

static void parse_all(int argc, char **argv, const char *when)
{
    if (is(when, "skip"))
        optind = 2;
    parse(argc, argv, when);
    if (is(when, "twice")) {
        optind = 1;
        parse(argc, argv, when);
    }
    check_rest(argc, argv, when);
}

int main(int argc, char **argv)
{
    CHECK(argc > 2);
    const char *when = argv[1]; // getopt moves it
    int early = !is(when, "after") && !is(when, "root");
    if (early)
        parse_all(argc, argv, when);
    CHECK_OK(MPI_Init(NULL, NULL));
    if (is(when, "after") || (is(when, "root") && world_rank() == 0))
        parse_all(argc, argv, when);
    if (!is(when, "root"))
        check_rest(argc, argv, when);
    for (int i = 0; i < 5; i++) {
        CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
        if (!is(when, "root") || world_rank() == 0)
            check_rest(argc, argv, when);
    }
    CHECK_OK(MPI_Finalize());
    return 0;
}
