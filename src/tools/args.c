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

enum { ARGS_WHY_BYTES = 512, ARGS_LONGEST_NAME = 40, HELP_COLUMN = 28 };

void mlt_arg_texts_add(mlt_arg_texts *texts, const char *text)
{
    const char **items = mlt_take_more(texts->items, texts->count + 2, sizeof *items);
    texts->items = items;
    items[texts->count++] = text;
    items[texts->count] = NULL;
}

void mlt_arg_texts_free(mlt_arg_texts *texts)
{
    free(texts->items);
    *texts = (mlt_arg_texts){NULL, 0};
}

static void args_say(const mlt_arg_command *command, const char *format, va_list args)
    MLT_PRINTF(2, 0);

static void args_say(const mlt_arg_command *command, const char *format, va_list args)
{
    fflush(stdout); // what was said before stands before
    fprintf(stderr, "%s: ", command->name);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
}

int mlt_args_wrong(const mlt_arg_command *command, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    args_say(command, format, args);
    va_end(args);
    return MLT_EXIT_WRONG;
}

int mlt_args_failed(const mlt_arg_command *command, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    args_say(command, format, args);
    va_end(args);
    return MLT_EXIT_FOUND;
}

// ---- values

// UINT64_MAX itself is kept free: commands take it for "not given".
static uint64_t most_of(const mlt_arg *arg)
{
    return arg->most ? arg->most : UINT64_MAX - 1;
}

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

static bool parse_number(const mlt_arg *arg, const char *what, const char *text, char *why,
                         size_t why_size)
{
    bool size = arg->kind == MLT_ARG_SIZE;
    uint64_t n;
    if (whole_number(text, size, &n) && n >= arg->least && n <= most_of(arg)) {
        *(uint64_t *)arg->value = n;
        return true;
    }
    char range[64] = "";
    if (arg->most)
        snprintf(range, sizeof range, " from %" PRIu64 " to %" PRIu64, arg->least, arg->most);
    else if (arg->least)
        snprintf(range, sizeof range, " of %" PRIu64 " or more", arg->least);
    snprintf(why, why_size, "%s is '%s', but should be %s%s", what, text,
             size ? "a number of bytes such as 4096 or 64K" : "a whole number", range);
    return false;
}

static bool parse_real(const mlt_arg *arg, const char *what, const char *text, char *why,
                       size_t why_size)
{
    char *end;
    errno = 0;
    double x = strtod(text, &end);
    if (end == text || *end || errno || !isfinite(x) || x < 0) {
        snprintf(why, why_size, "%s is '%s', but should be a number of 0 or more", what, text);
        return false;
    }
    *(double *)arg->value = x;
    return true;
}

static bool parse_choice(const mlt_arg *arg, const char *what, const char *text, char *why,
                         size_t why_size)
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
    char list[ARGS_WHY_BYTES];
    size_t used = 0;
    for (const char *c = arg->choices; *c && used + 5 < sizeof list; c++) {
        const char *next = strchr(c + 1, '|');
        if (*c != '|')
            list[used++] = *c;
        else if (c[1]) // the list may end with a bar
            used += (size_t)sprintf(list + used, "%s", next && next[1] ? ", " : " or ");
    }
    list[used] = '\0';
    snprintf(why, why_size, "%s is '%s', but should be %s", what, text, list);
    return false;
}

bool mlt_arg_parse(const mlt_arg *arg, const char *what, const char *text, char *why,
                   size_t why_size)
{
    switch (arg->kind) {
    case MLT_ARG_FLAG:
        *(bool *)arg->value = true;
        return true;
    case MLT_ARG_NUMBER:
    case MLT_ARG_SIZE:
        return parse_number(arg, what, text, why, why_size);
    case MLT_ARG_REAL:
        return parse_real(arg, what, text, why, why_size);
    case MLT_ARG_TEXT:
        *(const char **)arg->value = text;
        return true;
    case MLT_ARG_TEXTS:
        mlt_arg_texts_add(arg->value, text);
        return true;
    case MLT_ARG_CHOICE:
        return parse_choice(arg, what, text, why, why_size);
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

static void args_help(const mlt_arg_command *command)
{
    printf("usage: %s [options]%s%s\n\n", command->name, *command->words ? " " : "",
           command->words);
    mlt_help_wrapped(stdout, command->purpose, 0, 0);
    for (size_t g = 0; g < command->count; g++) {
        const mlt_arg_group *group = &command->groups[g];
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
static void args_man(const mlt_arg_command *command)
{
    char words[256];
    snprintf(words, sizeof words, "[options]%s%s", *command->words ? " " : "", command->words);
    mlt_man_section("SYNOPSIS");
    mlt_man_usage(command->name, words);
    mlt_man_section("DESCRIPTION");
    mlt_man_text(command->purpose);
    mlt_man_section("OPTIONS");
    args_man_of(&help_arg);
    for (size_t g = 0; g < command->count; g++) {
        const mlt_arg_group *group = &command->groups[g];
        if (group->title)
            mlt_man_group(group->title);
        for (size_t i = 0; i < group->count; i++)
            if (group->args[i].help)
                args_man_of(&group->args[i]);
    }
}

// ---- reading

typedef struct args_reader {
    const mlt_arg_command *command;
    char **words; // the next one; NULL at the end
} args_reader;

static const mlt_arg *args_find(const mlt_arg_command *command, const char *name, size_t length,
                                bool is_letter)
{
    for (size_t g = 0; g < command->count; g++)
        for (size_t i = 0; i < command->groups[g].count; i++) {
            const mlt_arg *arg = &command->groups[g].args[i];
            if (is_letter ? arg->letter && length == 1 && *name == arg->letter
                          : strlen(arg->name) == length && memcmp(arg->name, name, length) == 0)
                return arg;
        }
    return NULL;
}

static int args_unknown(const mlt_arg_command *command, const char *option, const char *name)
{
    const char *nearest = NULL;
    size_t best = 1 + strlen(name) / 2;
    if (best > 4)
        best = 4;
    for (size_t g = 0; g < command->count; g++)
        for (size_t i = 0; i < command->groups[g].count; i++) {
            const mlt_arg *arg = &command->groups[g].args[i];
            size_t d = mlt_word_distance(name, strlen(name), arg->name, strlen(arg->name));
            if (d < best) {
                best = d;
                nearest = arg->name;
            }
        }
    if (nearest)
        return mlt_args_wrong(command, "there is no option %s; did you mean --%s?", option,
                              nearest);
    return mlt_args_wrong(command, "there is no option %s; --help lists them all", option);
}

static int read_option(args_reader *r)
{
    char name[ARGS_LONGEST_NAME + 1], option[ARGS_LONGEST_NAME + 3], what[ARGS_LONGEST_NAME + 16],
        why[ARGS_WHY_BYTES];
    const char *word = *r->words++, *bare = word + (word[1] == '-' ? 2 : 1);
    size_t length = strcspn(bare, "=");
    const char *value = bare[length] ? bare + length + 1 : NULL;
    snprintf(name, sizeof name, "%.*s", (int)length, bare);
    snprintf(option, sizeof option, "%.*s%s", (int)(bare - word), word, name);
    const mlt_arg *arg = args_find(r->command, bare, length, word[1] != '-');
    if (!arg)
        return args_unknown(r->command, option, name);
    if (arg->kind == MLT_ARG_FLAG && value)
        return mlt_args_wrong(r->command, "option %s takes no value, but has '%s'", option, value);
    if (arg->kind != MLT_ARG_FLAG && !value) {
        if (!*r->words)
            return mlt_args_wrong(r->command, "option %s wants a value after it: %s", option,
                                  arg->word);
        value = *r->words++;
    }
    snprintf(what, sizeof what, "option %s", option);
    if (!mlt_arg_parse(arg, what, value, why, sizeof why))
        return mlt_args_wrong(r->command, "%s", why);
    return MLT_ARGS_GO;
}

static int count_words(const mlt_arg_command *command, const mlt_arg_texts *words)
{
    if (words->count > command->most)
        return mlt_args_wrong(command, "'%s' is one word too many; the usage is %s [options] %s",
                              words->items[command->most], command->name, command->words);
    if (words->count < command->least)
        return mlt_args_wrong(command, "it needs %s; %s --help shows how", command->words,
                              command->name);
    return MLT_ARGS_GO;
}

static int read_all(const mlt_arg_command *command, int argc, char **argv, mlt_arg_texts *words,
                    char ***behind)
{
    args_reader r = {command, argv + (argc > 0)};
    if (behind)
        *behind = argv + argc;
    while (*r.words) {
        const char *word = *r.words;
        if (strcmp(word, "--") == 0) {
            r.words++;
            if (behind)
                *behind = r.words;
            while (!behind && *r.words)
                mlt_arg_texts_add(words, *r.words++);
            break;
        }
        if (word[0] != '-' || !word[1]) {
            mlt_arg_texts_add(words, *r.words++);
            continue;
        }
        int code = MLT_EXIT_FINE;
        if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0)
            args_help(command);
        else if (strcmp(word, MLT_MAN_OPTION) == 0)
            args_man(command);
        else
            code = read_option(&r);
        if (code != MLT_ARGS_GO)
            return code;
    }
    return count_words(command, words);
}

int mlt_args_read(const mlt_arg_command *command, int argc, char **argv, mlt_arg_texts *words,
                  char ***behind)
{
    int code = read_all(command, argc, argv, words, behind);
    if (code == MLT_ARGS_GO)
        return code;
    mlt_arg_texts_free(words);
    for (size_t g = 0; g < command->count; g++)
        for (size_t i = 0; i < command->groups[g].count; i++)
            if (command->groups[g].args[i].kind == MLT_ARG_TEXTS)
                mlt_arg_texts_free(command->groups[g].args[i].value);
    return code;
}
