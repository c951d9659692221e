// SPDX-License-Identifier: BSD-3-Clause
#include "tools/args.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/help.h"
#include "base/memory.h"
#include "base/word.h"
#include "tools/man.h"

enum { CHOICES_BYTES = 512, ARGS_LONGEST_NAME = 40, HELP_COLUMN = 28, USAGE_BYTES = 256 };

void mlt_arg_texts_add(mlt_arg_texts *texts, const char *text)
{
    const char **items = mlt_xrealloc(texts->items, texts->count + 2, sizeof *items);
    texts->items = items;
    items[texts->count++] = text;
    items[texts->count] = NULL;
}

static const mlt_command *running; // since mlt_args_read
char mlt_args_why[MLT_ARGS_WHY_BYTES];

const char *mlt_args_command(void)
{
    return running ? running->name : "millet";
}

static _Noreturn void args_end(int code, const char *format, va_list args) MLT_PRINTF(2, 0);

static _Noreturn void args_end(int code, const char *format, va_list args)
{
    fflush(stdout); // what was said before stands before
    fprintf(stderr, "%s: ", running->name);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    exit(code);
}

void mlt_args_wrong(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    args_end(MLT_EXIT_WRONG, format, args);
}

void mlt_args_failed(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    args_end(MLT_EXIT_FOUND, format, args);
}

void mlt_args_must(mlt_status status)
{
    if (status != MLT_OK)
        mlt_args_failed("%s", mlt_args_why);
}

// ---- values

// A number with a suffix if sizes are wanted. False: it is none, or none of 64 bits.
static bool whole_number(const char *text, bool suffixes, uint64_t *out)
{
    if (!isdigit((unsigned char)*text))
        return false;
    char *end;
    errno = 0;
    uint64_t n = strtoull(text, &end, 10);
    if (errno)
        return false;
    static const char letters[] = "KMG";
    const char *letter = suffixes && *end ? strchr(letters, toupper((unsigned char)*end)) : NULL;
    if (letter) {
        int shift = 10 * (int)(letter - letters + 1);
        if (n > UINT64_MAX >> shift)
            return false;
        n <<= shift;
        end++;
        if (*end == 'B' || strcmp(end, "iB") == 0)
            end = "";
    }
    *out = n;
    return *end == '\0';
}

static bool parse_number(const mlt_arg *arg, const char *what, const char *text)
{
    bool size = arg->kind == MLT_ARG_SIZE;
    // UINT64_MAX itself is kept free: commands take it for "not given".
    uint64_t n, most = arg->most ? arg->most : UINT64_MAX - 1;
    if (whole_number(text, size, &n) && n >= arg->least && n <= most) {
        *(uint64_t *)arg->value = n;
        return true;
    }
    char range[64] = "";
    if (arg->most)
        snprintf(range, sizeof range, " from %" PRIu64 " to %" PRIu64, arg->least, arg->most);
    else if (arg->least)
        snprintf(range, sizeof range, " of %" PRIu64 " or more", arg->least);
    return mlt_deny(MLT_ARGS_WHY, "%s is '%s', but should be %s%s", what, text,
                    size ? "a number of bytes such as 4096 or 64K" : "a whole number", range);
}

static bool parse_real(const mlt_arg *arg, const char *what, const char *text)
{
    char *end;
    errno = 0;
    double x = strtod(text, &end);
    if (end == text || *end || errno || !isfinite(x) || x < 0)
        return mlt_deny(MLT_ARGS_WHY, "%s is '%s', but should be a number of 0 or more", what,
                        text);
    *(double *)arg->value = x;
    return true;
}

static bool parse_choice(const mlt_arg *arg, const char *what, const char *text)
{
    size_t length = strlen(text);
    int index = 0;
    for (const char *at = arg->choices; *at; index++) {
        size_t n = strcspn(at, "|");
        if (n == length && memcmp(at, text, n) == 0) {
            *(int *)arg->value = index;
            return true;
        }
        at += n + (at[n] == '|');
    }
    char list[CHOICES_BYTES];
    size_t used = 0;
    for (const char *c = arg->choices; *c && used + 5 < sizeof list; c++) {
        const char *next = strchr(c + 1, '|');
        if (*c != '|')
            list[used++] = *c;
        else if (c[1]) // the list may end with a bar
            used += (size_t)sprintf(list + used, "%s", next && next[1] ? ", " : " or ");
    }
    list[used] = '\0';
    return mlt_deny(MLT_ARGS_WHY, "%s is '%s', but should be %s", what, text, list);
}

bool mlt_arg_parse(const mlt_arg *arg, const char *what, const char *text)
{
    switch (arg->kind) {
    case MLT_ARG_FLAG:
        *(bool *)arg->value = true;
        return true;
    case MLT_ARG_NUMBER:
    case MLT_ARG_SIZE:
        return parse_number(arg, what, text);
    case MLT_ARG_REAL:
        return parse_real(arg, what, text);
    case MLT_ARG_TEXT:
        *(const char **)arg->value = text;
        return true;
    case MLT_ARG_TEXTS:
        mlt_arg_texts_add(arg->value, text);
        return true;
    case MLT_ARG_CHOICE:
        return parse_choice(arg, what, text);
    }
    return false;
}

// ---- help

static const mlt_arg help_arg = {
    .name = "help", .letter = 'h', .kind = MLT_ARG_FLAG, .help = "print this"};

static void help_of(const mlt_arg *arg)
{
    char left[128], letter[8] = "";
    if (arg->letter)
        snprintf(letter, sizeof letter, "-%c ", arg->letter);
    snprintf(left, sizeof left, "  %s--%s%s%s", letter, arg->name, arg->word ? " " : "",
             arg->word ? arg->word : "");
    mlt_help_item(left, arg->help, HELP_COLUMN);
}

static const char *usage_of(const mlt_command *command, char text[USAGE_BYTES])
{
    snprintf(text, USAGE_BYTES, "[options]%s%s", command->words ? " " : "",
             command->words ? command->words : "");
    return text;
}

static void args_help(const mlt_command *command)
{
    char usage[USAGE_BYTES];
    printf("usage: %s %s\n\n", command->name, usage_of(command, usage));
    mlt_help_wrap(stdout, command->purpose, 0, 0);
    for (const mlt_arg_group *group = command->groups; group->args; group++) {
        printf("\n%s%s", group->title ? group->title : "", group->title ? ":\n" : "");
        for (size_t i = 0; i < group->count; i++)
            if (group->args[i].help)
                help_of(&group->args[i]);
    }
    putchar('\n');
    help_of(&help_arg);
}

static void args_man_of(const mlt_arg *arg)
{
    char names[ARGS_LONGEST_NAME + 8], letter[8] = "";
    if (arg->letter)
        snprintf(letter, sizeof letter, "-%c ", arg->letter);
    snprintf(names, sizeof names, "%s--%s", letter, arg->name);
    mlt_man_item(names, arg->word, arg->help);
}

// The page without its beginning and its end, which the family of commands knows (commands.c).
static void args_man(const mlt_command *command)
{
    char usage[USAGE_BYTES];
    mlt_man_section("SYNOPSIS");
    mlt_man_usage(command->name, usage_of(command, usage));
    mlt_man_section("DESCRIPTION");
    mlt_man_text(command->purpose);
    mlt_man_section("OPTIONS");
    args_man_of(&help_arg);
    for (const mlt_arg_group *group = command->groups; group->args; group++) {
        if (group->title)
            mlt_man_group(group->title);
        for (size_t i = 0; i < group->count; i++)
            if (group->args[i].help)
                args_man_of(&group->args[i]);
    }
}

// ---- reading

typedef struct args_reader {
    const mlt_command *command;
    char **argv; // the next one; NULL at the end
    mlt_arg_texts *words;
} args_reader;

// The option that the word is; *name has `length` bytes of it, *value begins its value, if it has one.
static mlt_arg *args_find(const mlt_command *command, const char *word, const char *name,
                          size_t length, const char **value)
{
    bool one_dash = name == word + 1;
    for (const mlt_arg_group *group = command->groups; group->args; group++)
        for (mlt_arg *arg = group->args; arg < group->args + group->count; arg++) {
            bool named = strlen(arg->name) == length && memcmp(arg->name, name, length) == 0;
            if (one_dash ? (length == 1 && *name == arg->letter) || (named && arg->one_dash)
                         : named)
                return arg;
            if (one_dash && arg->glued && *name == arg->letter) {
                *value = name + 1;
                return arg;
            }
        }
    return NULL;
}

static _Noreturn void args_unknown(const mlt_command *command, const char *option, const char *name)
{
    const char *nearest = NULL;
    size_t best = 1 + strlen(name) / 2;
    if (best > 4)
        best = 4;
    for (const mlt_arg_group *group = command->groups; group->args; group++)
        for (size_t i = 0; i < group->count; i++)
            mlt_word_nearer(name, group->args[i].name, &nearest, &best);
    if (nearest)
        mlt_args_wrong("there is no option %s; did you mean --%s?", option, nearest);
    mlt_args_wrong("there is no option %s; --help lists them all", option);
}

static void read_option(args_reader *r)
{
    char name[ARGS_LONGEST_NAME + 1], option[ARGS_LONGEST_NAME + 3], what[ARGS_LONGEST_NAME + 16];
    const char *word = *r->argv, *bare = word + (word[1] == '-' ? 2 : 1);
    size_t length = strcspn(bare, "="), taken;
    const char *value = bare[length] ? bare + length + 1 : NULL;
    snprintf(name, sizeof name, "%.*s", (int)length, bare);
    snprintf(option, sizeof option, "%.*s%s", (int)(bare - word), word, name);
    mlt_arg *arg = args_find(r->command, word, bare, length, &value);
    if (!arg && r->command->other && (taken = r->command->other(r->argv))) {
        r->argv += taken;
        return;
    }
    r->argv++;
    if (!arg)
        args_unknown(r->command, option, name);
    if (arg->kind == MLT_ARG_FLAG && value && !arg->word)
        mlt_args_wrong("option %s takes no value, but has '%s'", option, value);
    if (arg->kind == MLT_ARG_FLAG && value)
        mlt_arg_texts_add(r->words, value);
    if (arg->kind != MLT_ARG_FLAG && !value) {
        if (!*r->argv)
            mlt_args_wrong("option %s wants a value after it: %s", option, arg->word);
        value = *r->argv++;
    }
    snprintf(what, sizeof what, "option %s", option);
    if (!mlt_arg_parse(arg, what, value))
        mlt_args_wrong("%s", mlt_args_why);
    arg->given = true;
}

static void count_words(const mlt_command *command, const mlt_arg_texts *words)
{
    const char *usual = command->words ? command->words : "";
    if (words->count > command->most)
        mlt_args_wrong("'%s' is one word too many; the usage is %s [options] %s",
                       words->items[command->most], command->name, usual);
    if (words->count < command->least)
        mlt_args_wrong("it needs %s; %s --help shows how", usual, command->name);
}

static bool read_all(args_reader *r)
{
    const mlt_command *command = r->command;
    bool ends = false; // `--` was there
    while (*r->argv) {
        const char *word = *r->argv;
        if (ends || word[0] != '-' || !word[1]) {
            size_t taken = command->other && !ends ? command->other(r->argv) : 0;
            if (!taken)
                mlt_arg_texts_add(r->words, word);
            r->argv += taken ? taken : 1;
        } else if (strcmp(word, "--") == 0) {
            ends = true;
            r->argv++;
            if (command->behind)
                break;
        } else if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0) {
            args_help(command);
            return false;
        } else if (strcmp(word, MLT_MAN_OPTION) == 0) {
            args_man(command);
            return false;
        } else
            read_option(r);
    }
    if (command->behind)
        *command->behind = r->argv;
    count_words(command, r->words);
    return true;
}

bool mlt_args_read(const mlt_command *command, char **argv, mlt_arg_texts *words)
{
    running = command;
    if (command->prepare)
        command->prepare();
    return read_all(&(args_reader){command, argv, words});
}

const char *mlt_args_given(const mlt_arg *args, size_t count, const char *names)
{
    for (size_t n; *names; names += n + (names[n] == ' ')) {
        n = strcspn(names, " ");
        for (const mlt_arg *arg = args; arg < args + count; arg++)
            if (arg->given && strlen(arg->name) == n && memcmp(arg->name, names, n) == 0)
                return arg->name;
    }
    return NULL;
}
