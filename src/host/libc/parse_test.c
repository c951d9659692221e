// SPDX-License-Identifier: BSD-3-Clause
// The parser returns, leaves in its variables, moves in argv and prints what libc's getopt does, on
// random command lines and random options.
#include "host/libc/parse.h"

#include <dlfcn.h>
#include <string.h>

#include "base/unit_test.h"

enum { WORDS = 8, CALLS = 40, TEXT = 4096 };

typedef int libc_parser(int argc, char *const argv[], const char *shorts,
                        const struct option *longs, int *index);
typedef int libc_short_parser(int argc, char *const argv[], const char *shorts);

static int flag_of_libc, flag_of_ours;
static char printed[2][TEXT];

static const char *const words[] = {
    "-a",    "-b",       "-bvalue", "-c",      "-cvalue", "-ab",    "-acb",     "-x",    "--",
    "-",     "word",     "other",   "--long",  "--lo",    "--l",    "--long=v", "--log", "--log=",
    "--opt", "--opt=1",  "--opti",  "--level", "--lev=3", "--none", "-long",    "-lo=2", "-opt",
    "-W",    "-Wlong=3", "level",   "-:",      "--flag",  "--fl=1", "-flag",    "-;",    "--=",
};
static const char *const shorts[] = {"ab:c::", "+ab:c::", "-ab:c::", ":ab:c::",  "ab:c::W;",
                                     "",       "l",       "+:b:",    "-:ab:W;c", "o:l::f"};

typedef struct outcome {
    int result[CALLS], optind[CALLS], optopt[CALLS], index[CALLS];
    const char *optarg[CALLS];
    int calls, flag;
    char *argv[WORDS + 2];
} outcome;

typedef struct line {
    int argc;
    char *argv[WORDS + 2];
    const char *shorts;
    const struct option *longs;
    bool long_only, posix, errors;
} line;

static const struct option *longs_of(int *flag)
{
    static struct option all[2][8];
    struct option *o = all[flag == &flag_of_ours];
    o[0] = (struct option){"long", required_argument, NULL, 'L'};
    o[1] = (struct option){"log", optional_argument, NULL, 'l'};
    o[2] = (struct option){"option", no_argument, NULL, 'o'};
    o[3] = (struct option){"optional", no_argument, NULL, 'o'};
    o[4] = (struct option){"level", required_argument, NULL, 1000};
    o[5] = (struct option){"flag", no_argument, flag, 7};
    o[6] = (struct option){"level2", required_argument, NULL, 1000};
    o[7] = (struct option){0};
    return o;
}

static line random_line(void)
{
    line l = {.argc = 1 + (int)below(WORDS), .argv = {(char *)(uintptr_t) "program"}};
    for (int i = 1; i < l.argc; i++)
        l.argv[i] = (char *)(uintptr_t)words[below(sizeof words / sizeof *words)];
    l.shorts = shorts[below(sizeof shorts / sizeof *shorts)];
    l.posix = below(8) == 0;
    l.errors = below(2);
    l.long_only = below(3) == 0;
    l.longs = !l.posix && below(4) ? longs_of(&flag_of_libc) : NULL;
    return l;
}

static void note(outcome *out, int result, int index)
{
    int n = out->calls++;
    out->result[n] = result;
    out->optind[n] = optind;
    out->optopt[n] = optopt;
    out->optarg[n] = optarg;
    out->index[n] = index;
}

static int call_libc(const line *l, char **argv, int *index)
{
    static libc_parser *with_longs, *long_only;
    static libc_short_parser *plain, *posix;
    if (!plain) {
        with_longs = (libc_parser *)dlsym(RTLD_NEXT, "getopt_long");
        long_only = (libc_parser *)dlsym(RTLD_NEXT, "getopt_long_only");
        plain = (libc_short_parser *)dlsym(RTLD_NEXT, "getopt");
        posix = (libc_short_parser *)dlsym(RTLD_NEXT, "__posix_getopt");
        CHECK(with_longs && long_only && plain && posix);
    }
    if (l->posix)
        return posix(l->argc, argv, l->shorts);
    if (!l->longs)
        return plain(l->argc, argv, l->shorts);
    return (l->long_only ? long_only : with_longs)(l->argc, argv, l->shorts, l->longs, index);
}

static void run(const line *l, outcome *out, bool ours)
{
    FILE *real = stderr;
    memset(printed[ours], 0, TEXT);
    stderr = fmemopen(printed[ours], TEXT, "w");
    memcpy(out->argv, l->argv, sizeof out->argv);
    mlt_parse p = {.optind = &optind, .opterr = &opterr, .optopt = &optopt, .optarg = &optarg};
    mlt_parse_call call = {.argc = l->argc,
                           .argv = out->argv,
                           .shorts = l->shorts,
                           .longs = l->longs ? longs_of(&flag_of_ours) : NULL,
                           .long_only = l->longs && l->long_only,
                           .posix = l->posix};
    optind = 0; // libc begins anew
    opterr = l->errors;
    optopt = 0;
    flag_of_ours = flag_of_libc = 0;
    int result;
    do {
        int index = -1;
        call.index = &index;
        result = ours ? mlt_parse_next(&p, &call) : call_libc(l, out->argv, &index);
        note(out, result, index);
    } while (result != -1 && out->calls < CALLS);
    out->flag = ours ? flag_of_ours : flag_of_libc;
    fclose(stderr);
    stderr = real;
}

static void compare(const line *l)
{
    outcome libc = {.calls = 0}, ours = {.calls = 0};
    run(l, &libc, false);
    run(l, &ours, true);
    snprintf(now_testing, sizeof now_testing, "%s%s '%s'", l->posix ? "posix " : "",
             l->long_only ? "long_only" : "", l->shorts);
    for (int i = 1; i < l->argc; i++)
        snprintf(now_testing + strlen(now_testing), sizeof now_testing - strlen(now_testing), " %s",
                 l->argv[i]);
    check_same_text("what is printed", printed[1], printed[0]);
    CHECK(ours.calls == libc.calls && ours.flag == libc.flag);
    for (int i = 0; i < libc.calls; i++) {
        CHECK(ours.result[i] == libc.result[i] && ours.optind[i] == libc.optind[i]);
        bool wrong = libc.result[i] == '?' || libc.result[i] == ':';
        CHECK(!wrong || ours.optopt[i] == libc.optopt[i]); // libc forgets what others write there
        CHECK(ours.index[i] == libc.index[i]);
        CHECK(ours.optarg[i] == libc.optarg[i]);
    }
    for (int i = 0; i < l->argc; i++)
        CHECK(ours.argv[i] == libc.argv[i]);
}

int main(void)
{
    for (uint64_t seed = 1; seed <= 60000; seed++) {
        now_seed = random_state = seed;
        line l = random_line();
        compare(&l);
    }
    mlt_parse p = {0};
    CHECK(mlt_parse_next(&p, &(mlt_parse_call){.argc = 0}) == -1);
    return 0;
}
