// SPDX-License-Identifier: BSD-3-Clause
// `millet goal gen`: what it writes can be read and is the operation; every way to be wrong has its
// sentence and exit code.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/unit_test.h"
#include "coll/alg/alg.h"
#include "goal/text/text.h"
#include "judge/check/check.h"
#include "tools/commands.h"

static char *out, *err; // what the last command wrote

static void tell_err(void)
{
    fputs(err ? err : "", stderr);
}

static char *contents(FILE *file)
{
    long length = ftell(file);
    char *text = calloc(1, (size_t)length + 1);
    CHECK(text);
    rewind(file);
    CHECK(fread(text, 1, (size_t)length, file) == (size_t)length);
    fclose(file);
    return text;
}

// Runs `gen` with the words of a line, in a process of its own, and keeps what it wrote.
static int gen(const char *line)
{
    char words[500], *argv[32] = {"gen"};
    int argc = 1, status;
    snprintf(words, sizeof words, "%s", line);
    for (char *word = strtok(words, " "); word; word = strtok(NULL, " "))
        argv[argc++] = word;
    FILE *files[2] = {tmpfile(), tmpfile()};
    CHECK(files[0] && files[1]);
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        dup2(fileno(files[0]), 1);
        dup2(fileno(files[1]), 2);
        exit(mlt_command_run(&mlt_goal_gen_command, argv));
    }
    CHECK(child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status));
    fseek(files[0], 0, SEEK_END);
    fseek(files[1], 0, SEEK_END);
    free(out);
    free(err);
    out = contents(files[0]);
    err = contents(files[1]);
    return WEXITSTATUS(status);
}

static void wrong(int code, const char *sentence, const char *line)
{
    CHECK(gen(line) == code);
    if (!strstr(err, sentence))
        fprintf(stderr, "wanted: %s\n", sentence);
    CHECK(strstr(err, sentence) && !*out);
    CHECK(strncmp(err, "millet goal gen: ", 17) == 0);
}

// Every algorithm's text, read again, is its operation.
static void test_algorithms(void)
{
    for (int i = 0; mlt_coll_algs[i]; i++) {
        const mlt_coll_alg *alg = mlt_coll_algs[i];
        char line[200], why[1000];
        bool blocks = alg->collective == MLT_COLL_SCAN || alg->collective == MLT_COLL_EXSCAN;
        const char *where = !alg->uses_hosts ? "" : blocks ? " --hosts 3" : " --hosts 2 --in-turn";
        snprintf(line, sizeof line, "--alg %s.%s --ranks 8 --count 11 --type Int16 --op max%s",
                 mlt_collective_names[alg->collective], alg->name, where);
        CHECK(gen(line) == MLT_EXIT_FINE && !*err);
        mlt_goal_program *program;
        mlt_goal_dialect dialect;
        CHECK(mlt_goal_read("text", out, strlen(out), &program, &dialect, why, sizeof why) ==
              MLT_OK);
        mlt_coll_shape shape = {.ranks = 8, .count = 11, .type = MLT_OP_INT16, .op = MLT_OP_MAX};
        mlt_goal_message part[8]; // from every rank to every one a block
        mlt_goal_messages parts[8];
        for (uint32_t r = 0; r < 8 && alg->collective == MLT_COLL_EXCHANGE; r++) {
            part[r] = (mlt_goal_message){r, 0, 22ull * r, 22};
            parts[r] = (mlt_goal_messages){part, part, 8, 8, 8 * 22, 8 * 22};
            shape.parts = parts;
        }
        mlt_goal_spec is = mlt_coll_spec(alg, &shape);
        mlt_goal_check_options options = {.is = &is, .limit = 3};
        mlt_goal_verdict *verdict = mlt_goal_check(program, &options);
        if (!mlt_goal_verdict_ok(verdict))
            mlt_goal_verdict_print(verdict, stderr);
        CHECK(mlt_goal_verdict_ok(verdict));
        mlt_goal_verdict_free(verdict);
        mlt_goal_program_free(program);
    }
}

// What it writes is right in place and with other blocks, and is not right otherwise.
static void test_shapes(void)
{
    static const uint64_t starts[] = {0, 3, 3, 7};
    const mlt_goal_spec is = {
        .collective = MLT_COLL_ALLGATHER, .in_place = true, .starts = starts, .element = 4};
    mlt_goal_program *program;
    mlt_goal_dialect dialect;
    char why[1000];
    CHECK(gen("--alg allgather.sparbit --ranks 3 --in-place --blocks 3,0,4") == MLT_EXIT_FINE);
    CHECK(mlt_goal_read("text", out, strlen(out), &program, &dialect, why, sizeof why) == MLT_OK);
    mlt_goal_verdict *verdict = mlt_goal_check(program, &(mlt_goal_check_options){.is = &is});
    CHECK(mlt_goal_verdict_ok(verdict));
    mlt_goal_verdict_free(verdict);
    mlt_goal_program_free(program);
    CHECK(gen("--alg alltoall.scattered --ranks 5 --throttle 1") == MLT_EXIT_FINE);
    CHECK(strstr(out, "requ "));
    CHECK(gen("--alg alltoall.scattered --ranks 5") == MLT_EXIT_FINE);
    CHECK(!strstr(out, "requ "));
}

static void test_list(void)
{
    CHECK(gen("--list") == MLT_EXIT_FINE);
    for (int i = 0; mlt_coll_algs[i]; i++) {
        const mlt_coll_alg *alg = mlt_coll_algs[i];
        char name[100];
        snprintf(name, sizeof name, "%s.%s ", mlt_collective_names[alg->collective], alg->name);
        CHECK(strstr(out, name) && strstr(out, alg->help));
    }
    CHECK(gen("--help") == MLT_EXIT_FINE && strstr(out, "usage: millet goal gen"));
}

static void test_wrong(void)
{
    wrong(2, "--list takes no program", "--list --alg bcast.binomial");
    wrong(2, "--list takes no program", "--list x.lua");
    wrong(2, "it needs a file, or --alg and --ranks", "");
    wrong(2, "there is no algorithm 'bcast.binomail'; the nearest are bcast.binomial,",
          "--alg bcast.binomail --ranks 4");
    wrong(2, "--alg bcast.binomial needs --ranks", "--alg bcast.binomial");
    wrong(1, "allgather.recursive_doubling: the number of ranks must be a power of two",
          "--alg allgather.recursive_doubling --ranks 5");
    wrong(1, "alltoall.linear: it cannot be done in place",
          "--alg alltoall.linear --ranks 5 --in-place");
    wrong(1, "bcast.linear: all its blocks must have the same size",
          "--alg bcast.linear --ranks 2 --blocks 1,2");
    wrong(2, "option --blocks has 3 sizes, but there are 2 ranks",
          "--alg gather.linear --ranks 2 --blocks 1,2,3");
    wrong(2, "option --blocks has 1 sizes, but there are 2 ranks",
          "--alg gather.linear --ranks 2 --blocks 1");
    static const char *const bad[] = {"1,",
                                      ",1",
                                      "1,x",
                                      "1;2",
                                      "-1,2",
                                      "99999999999999999999,1",
                                      "18446744073709551615,18446744073709551615"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char text[200];
        snprintf(text, sizeof text, "--alg gather.linear --ranks 2 --blocks %s", bad[i]);
        wrong(2, "but should be sizes such as 4,0,7", text);
    }
    wrong(2, "--alg barrier.hosts needs --hosts", "--alg barrier.hosts --ranks 2");
    wrong(2, "--in-turn needs --hosts", "--alg bcast.linear --ranks 2 --in-turn");
    wrong(2, "there are 3 hosts, but only 2 ranks for them",
          "--alg barrier.hosts --ranks 2 --hosts 3");
    wrong(2, "--hosts has no meaning for gather.linear", "--alg gather.linear --ranks 2 --hosts 2");
    wrong(2, "--throttle has no meaning for gather.linear",
          "--alg gather.linear --ranks 2 --throttle 2");
    wrong(1, "'/no/such.lua' cannot be read", "/no/such.lua --ranks 4");

    char path[] = "/tmp/goal_gen_testXXXXXX", line[200];
    int fd = mkstemp(path);
    CHECK(fd >= 0 && write(fd, "rank #0 {\n  nop;\n}\n", 19) == 19);
    close(fd);
    wrong(2, "is no script, whose name would end with .lua", path);
    snprintf(line, sizeof line, "--alg bcast.linear --ranks 2 -o %s", path);
    CHECK(gen(line) == MLT_EXIT_FINE && !*out && !*err);
    FILE *written = fopen(path, "r");
    CHECK(written);
    fseek(written, 0, SEEK_END);
    char *text = contents(written);
    CHECK(strstr(text, "send buf+0,4 to 1"));
    free(text);
    unlink(path);
}

int main(void)
{
    tell_more = tell_err;
    test_algorithms();
    test_shapes();
    test_list();
    test_wrong();
    free(out);
    free(err);
    return 0;
}
