// SPDX-License-Identifier: BSD-3-Clause
#include "host/libc/parse.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// One call.
typedef struct parser {
    mlt_parse *p;
    const mlt_parse_call *call;
    char **argv;
    const char *shorts; // without what says how words are treated
    bool loud;          // errors are printed
} parser;

enum { NOT_LONG = -2 };

// ---- words

static bool is_option(const char *word)
{
    return word[0] == '-' && word[1];
}

static void reverse(char **words, int from, int to)
{
    for (to--; from < to; from++, to--) {
        char *word = words[from];
        words[from] = words[to];
        words[to] = word;
    }
}

// Words that were passed stand before options that were read: exchanges the two stretches.
static void move_passed(const parser *x)
{
    mlt_parse *p = x->p;
    int end = *p->optind;
    if (p->first != p->last && p->last != end) {
        reverse(x->argv, p->first, p->last);
        reverse(x->argv, p->last, end);
        reverse(x->argv, p->first, end);
        p->first += end - p->last;
    } else if (p->first == p->last) {
        p->first = end;
    }
    p->last = end;
}

static void parse_begin(parser *x)
{
    mlt_parse *p = x->p;
    char how = *x->shorts;
    if (*p->optind == 0 || !p->begun) {
        *p->optind = *p->optind ? *p->optind : 1;
        p->first = p->last = *p->optind;
        p->next = NULL;
        p->begun = true;
        p->words = how == '-'                                                  ? MLT_PARSE_TELL
                   : how == '+' || x->call->posix || getenv("POSIXLY_CORRECT") ? MLT_PARSE_STOP
                                                                               : MLT_PARSE_PERMUTE;
    }
    x->shorts += how == '-' || how == '+';
    x->loud = *p->opterr && *x->shorts != ':';
}

// ---- long options

static bool is_same(const struct option *a, const struct option *b)
{
    return a->has_arg == b->has_arg && a->flag == b->flag && a->val == b->val;
}

static bool begins(const struct option *o, const char *name, size_t length)
{
    return strncmp(o->name, name, length) == 0;
}

// Two options of that beginning that mean different things: *other. The first one otherwise.
static const struct option *abbreviated(const parser *x, size_t length, const struct option **other)
{
    const struct option *found = NULL;
    for (const struct option *o = x->call->longs; o->name; o++) {
        if (!begins(o, x->p->next, length))
            continue;
        if (!found)
            found = o;
        else if (x->call->long_only || !is_same(found, o))
            *other = o;
    }
    return found;
}

static const struct option *exact(const parser *x, size_t length)
{
    for (const struct option *o = x->call->longs; o->name; o++)
        if (begins(o, x->p->next, length) && strlen(o->name) == length)
            return o;
    return NULL;
}

// The word is done with, and wrong.
static int wrong_word(const parser *x, int option)
{
    x->p->next = NULL;
    ++*x->p->optind;
    *x->p->optopt = option;
    return '?';
}

static int ambiguous(const parser *x, const char *prefix, size_t length, const struct option *first)
{
    if (x->loud) {
        flockfile(stderr);
        fprintf(stderr, "%s: option '%s%s' is ambiguous; possibilities:", x->argv[0], prefix,
                x->p->next);
        for (const struct option *o = first; o->name; o++)
            if (begins(o, x->p->next, length) &&
                (o == first || x->call->long_only || !is_same(first, o)))
                fprintf(stderr, " '%s%s'", prefix, o->name);
        fprintf(stderr, "\n");
        funlockfile(stderr);
    }
    return wrong_word(x, 0);
}

static int unknown(const parser *x, const char *prefix)
{
    const mlt_parse *p = x->p;
    if (x->call->long_only && x->argv[*p->optind][1] != '-' && strchr(x->shorts, *p->next))
        return NOT_LONG; // a short one, then
    if (x->loud)
        fprintf(stderr, "%s: unrecognized option '%s%s'\n", x->argv[0], prefix, p->next);
    return wrong_word(x, 0);
}

// The argument of a long option, which follows its name after '=' or is the next word. False: it
// is wrong, and *result says how.
static bool long_argument(const parser *x, const struct option *o, const char *prefix, char *joined,
                          int *result)
{
    mlt_parse *p = x->p;
    const char *complaint = NULL;
    if (joined && o->has_arg)
        *p->optarg = joined + 1;
    else if (joined)
        complaint = "doesn't allow";
    else if (o->has_arg == required_argument && *p->optind < x->call->argc)
        *p->optarg = x->argv[(*p->optind)++];
    else if (o->has_arg == required_argument)
        complaint = "requires";
    if (!complaint)
        return true;
    if (x->loud)
        fprintf(stderr, "%s: option '%s%s' %s an argument\n", x->argv[0], prefix, o->name,
                complaint);
    *p->optopt = o->val;
    *result = !joined && *x->shorts == ':' ? ':' : '?';
    return false;
}

static int long_option(const parser *x, const char *prefix)
{
    mlt_parse *p = x->p;
    char *joined = strchr(p->next, '=');
    size_t length = joined ? (size_t)(joined - p->next) : strlen(p->next);
    const struct option *other = NULL, *o = exact(x, length);
    if (!o)
        o = abbreviated(x, length, &other);
    if (other)
        return ambiguous(x, prefix, length, o);
    if (!o)
        return unknown(x, prefix);
    ++*p->optind;
    p->next = NULL;
    int result;
    if (!long_argument(x, o, prefix, joined, &result))
        return result;
    if (x->call->index)
        *x->call->index = (int)(o - x->call->longs);
    if (!o->flag)
        return o->val;
    *o->flag = o->val;
    return 0;
}

// ---- short options

static int lacks_argument(const parser *x, char c)
{
    if (x->loud)
        fprintf(stderr, "%s: option requires an argument -- '%c'\n", x->argv[0], c);
    *x->p->optopt = c;
    return *x->shorts == ':' ? ':' : '?';
}

// -W name is --name.
static int long_by_w(const parser *x)
{
    mlt_parse *p = x->p;
    if (!*p->next && *p->optind == x->call->argc)
        return lacks_argument(x, 'W');
    if (!*p->next)
        p->next = x->argv[*p->optind];
    return long_option(x, "-W ");
}

static int with_argument(const parser *x, char c, bool optional)
{
    mlt_parse *p = x->p;
    int result = c;
    if (*p->next) {
        *p->optarg = p->next;
        ++*p->optind;
    } else if (!optional && *p->optind == x->call->argc) {
        result = lacks_argument(x, c);
    } else if (!optional) {
        *p->optarg = x->argv[(*p->optind)++];
    }
    p->next = NULL;
    return result;
}

static int short_option(const parser *x)
{
    mlt_parse *p = x->p;
    char c = *p->next++;
    const char *known = strchr(x->shorts, c);
    if (!*p->next)
        ++*p->optind;
    if (!known || c == ':' || c == ';') {
        if (x->loud)
            fprintf(stderr, "%s: invalid option -- '%c'\n", x->argv[0], c);
        *p->optopt = c;
        return '?';
    }
    if (c == 'W' && known[1] == ';' && x->call->longs)
        return long_by_w(x);
    return known[1] == ':' ? with_argument(x, c, known[2] == ':') : c;
}

// ---- the next word

// Passes words that are no options, and the end of options. False: nothing is left.
static bool find_word(const parser *x)
{
    mlt_parse *p = x->p;
    int argc = x->call->argc;
    p->last = p->last > *p->optind ? *p->optind : p->last;
    p->first = p->first > *p->optind ? *p->optind : p->first;
    if (p->words == MLT_PARSE_PERMUTE) {
        move_passed(x);
        while (*p->optind < argc && !is_option(x->argv[*p->optind]))
            ++*p->optind;
        p->last = *p->optind;
    }
    if (*p->optind != argc && strcmp(x->argv[*p->optind], "--") == 0) {
        ++*p->optind;
        move_passed(x);
        p->last = *p->optind = argc;
    }
    if (*p->optind != argc)
        return true;
    if (p->first != p->last)
        *p->optind = p->first;
    return false;
}

int mlt_parse_next(mlt_parse *p, const mlt_parse_call *call)
{
    parser x = {.p = p, .call = call, .argv = call->argv, .shorts = call->shorts};
    if (call->argc < 1)
        return -1;
    *p->optarg = NULL;
    parse_begin(&x);
    if (p->next && *p->next)
        return short_option(&x);
    if (!find_word(&x))
        return -1;
    char *word = x.argv[*p->optind];
    if (!is_option(word)) {
        if (p->words == MLT_PARSE_STOP)
            return -1;
        *p->optarg = x.argv[(*p->optind)++];
        return 1;
    }
    if (call->longs && word[1] == '-') {
        p->next = word + 2;
        return long_option(&x, "--");
    }
    p->next = word + 1;
    int result = NOT_LONG;
    if (call->longs && call->long_only && (word[2] || !strchr(x.shorts, word[1])))
        result = long_option(&x, "-");
    return result == NOT_LONG ? short_option(&x) : result;
}
