// SPDX-License-Identifier: BSD-3-Clause
// Options: every kind in every spelling, and the message for each way to be wrong.
#include "tools/args.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/unit_test.h"
#include "base/word.h"

typedef struct values {
    bool flag;
    uint64_t number, size;
    double real;
    const char *text;
    mlt_arg_texts texts;
    int choice;
    mlt_arg_texts words;
    char **behind;
    const char *given; // of --flag, --size and --o, the first
} values;

// Reads a command line of words between blanks.
static bool read_line(values *v, const char *line, bool with_behind)
{
    *v = (values){.number = 7, .choice = -1};
    mlt_arg first[] = {
        {"flag", 'f', MLT_ARG_FLAG, &v->flag, NULL, .help = "a flag"},
        {"number", 'n', MLT_ARG_NUMBER, &v->number, "N", .help = "a number", .least = 2,
         .most = 99},
        {"size", 0, MLT_ARG_SIZE, &v->size, "BYTES", .help = "a size", .one_dash = true},
        {"o", 0, MLT_ARG_REAL, &v->real, "NS", .help = "a real number"},
    };
    mlt_arg second[] = {
        {"out", 'o', MLT_ARG_TEXT, &v->text, "FILE", .help = "a text"},
        {"add", 'A', MLT_ARG_TEXTS, &v->texts, "X", .help = "one more", .glued = true},
        {"kind", 0, MLT_ARG_CHOICE, &v->choice, "KIND", .help = "one of them", .choices = "a|bc|d"},
    };
    const mlt_command command = {
        .name = "cmd",
        .words = "FILE...",
        .least = 1,
        .most = 3,
        .purpose = "Does it.",
        .groups = {{NULL, MLT_ARG_LIST(first)}, {"More", MLT_ARG_LIST(second)}},
        .behind = with_behind ? &v->behind : NULL};
    static char copy[1024];
    static char *argv[64];
    int argc = 0;
    snprintf(copy, sizeof copy, "%s", line);
    for (char *word = strtok(copy, " "); word; word = strtok(NULL, " "))
        argv[argc++] = word;
    argv[argc] = NULL;
    bool goes_on = mlt_args_read(&command, argv, &v->words);
    v->given = mlt_args_given(MLT_ARG_LIST(first), "flag size o");
    return goes_on;
}

static void done(values *v)
{
    free(v->words.items);
    free(v->texts.items);
}

static void check_kinds(void)
{
    values v;
    CHECK(read_line(&v, "a --flag --number 12 --size=64K --o 0.5 -o x b --add=1 --add 2 --kind bc",
                    false));
    CHECK(v.flag && v.number == 12 && v.size == 65536 && v.real == 0.5);
    CHECK(strcmp(v.text, "x") == 0 && v.choice == 1 && v.texts.count == 2 && v.words.count == 2);
    CHECK(strcmp(v.texts.items[1], "2") == 0 && strcmp(v.words.items[1], "b") == 0);
    CHECK(!v.texts.items[2]);
    done(&v);
    CHECK(read_line(&v, "- -n=3 -f --size 2MiB", false));
    CHECK(v.number == 3 && v.size == 2 << 20 && v.words.count == 1);
    done(&v);
    CHECK(read_line(&v, "a -Ax=1 -A y -size 3 -size=4", false));
    CHECK(v.texts.count == 2 && strcmp(v.texts.items[0], "x=1") == 0);
    CHECK(strcmp(v.texts.items[1], "y") == 0 && v.size == 4 && strcmp(v.given, "size") == 0);
    done(&v);
    CHECK(read_line(&v, "a", false)); // nothing given: as it was
    CHECK(v.number == 7 && !v.text && v.choice == -1);
    done(&v);
    CHECK(read_line(&v, "-- -x --flag", false));
    CHECK(v.words.count == 2 && !v.flag);
    done(&v);
    CHECK(read_line(&v, "a -- -x --flag", true));
    CHECK(v.words.count == 1 && strcmp(v.behind[1], "--flag") == 0);
    CHECK(!v.behind[2]);
    done(&v);
    CHECK(read_line(&v, "a", true));
    CHECK(!v.behind[0]);
    done(&v);
}

static void wrong(const char *line, const char *sentence)
{
    char said[1024];
    int status;
    FILE *file = tmpfile();
    CHECK(file);
    pid_t child = fork(); // it ends there
    if (child == 0) {
        values v;
        CHECK(dup2(fileno(file), STDERR_FILENO) >= 0);
        (void)read_line(&v, line, false);
        _exit(MLT_EXIT_FINE);
    }
    CHECK(child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status));
    rewind(file);
    said[fread(said, 1, sizeof said - 1, file)] = '\0';
    fclose(file);
    if (WEXITSTATUS(status) != MLT_EXIT_WRONG || strcmp(said, sentence) != 0) {
        printf("%s\n  code %d: %s  wanted: %s", line, WEXITSTATUS(status), said, sentence);
        exit(1);
    }
}

static void check_wrong(void)
{
    wrong("", "cmd: it needs FILE...; cmd --help shows how\n");
    wrong("a b c d", "cmd: 'd' is one word too many; the usage is cmd [options] FILE...\n");
    wrong("a --nmber 3", "cmd: there is no option --nmber; did you mean --number?\n");
    wrong("a --nmber=3", "cmd: there is no option --nmber; did you mean --number?\n");
    wrong("a -x", "cmd: there is no option -x; --help lists them all\n");
    wrong("a -flag", "cmd: there is no option -flag; did you mean --flag?\n");
    wrong("a --completely-else", "cmd: there is no option --completely-else; --help lists them "
                                 "all\n");
    wrong("a --number", "cmd: option --number wants a value after it: N\n");
    wrong("a --flag=1", "cmd: option --flag takes no value, but has '1'\n");
    const char *range = "but should be a whole number from 2 to 99\n";
    const char *const numbers[] = {"1", "100", "x", "3x", "-3", "+3", "4K", "18446744073709551616"};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        char line[64], sentence[128];
        snprintf(line, sizeof line, "a --add x -n %s", numbers[i]);
        snprintf(sentence, sizeof sentence, "cmd: option -n is '%s', %s", numbers[i], range);
        wrong(line, sentence);
    }
    wrong("a --size 17179869184G", "cmd: option --size is '17179869184G', but should be a number "
                                   "of bytes such as 4096 or 64K\n");
    wrong("a --size 4T",
          "cmd: option --size is '4T', but should be a number of bytes such as 4096 or 64K\n");
    wrong("a --o nan", "cmd: option --o is 'nan', but should be a number of 0 or more\n");
    wrong("a --o -1", "cmd: option --o is '-1', but should be a number of 0 or more\n");
    wrong("a --kind b", "cmd: option --kind is 'b', but should be a, bc or d\n");
    wrong("a --kind=", "cmd: option --kind is '', but should be a, bc or d\n");
}

int main(void)
{
    check_kinds();
    check_wrong();
    CHECK(mlt_word_distance("kitten", 6, "Sitting", 7) == 3);
    values v;
    CHECK(!read_line(&v, "--help --nonsense", false));
    return 0;
}
