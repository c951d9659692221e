// SPDX-License-Identifier: BSD-3-Clause
#include "launch/watch/leaks.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/numbers.h"
#include "base/text.h"
#include "launch/say.h"
#include "launch/watch/lines.h"

enum { MOST_SHOWN = 20, MOST_KEPT = 4096 };

// A damaged process shall not talk to the terminal.
static void make_fit(char *text, size_t size)
{
    text[size - 1] = '\0';
    for (char *c = text; *c; c++)
        if (iscntrl((unsigned char)*c))
            *c = '?';
}

// Of messages, what comes after the last comma is an example.
static size_t key_length(const mlt_ctl_leak *leak)
{
    const char *comma = leak->call[0] ? NULL : strrchr(leak->place, ',');
    return comma ? (size_t)(comma - leak->place) : sizeof leak->place;
}

static bool is_same(const mlt_ctl_leak *a, const mlt_ctl_leak *b)
{
    return strcmp(a->what, b->what) == 0 && strcmp(a->call, b->call) == 0 &&
           key_length(a) == key_length(b) && strncmp(a->place, b->place, key_length(a)) == 0;
}

static void leaks_add(mlt_leaks *leaks, const mlt_ctl_leak *record)
{
    mlt_ctl_leak own = *record;
    make_fit(own.what, sizeof own.what);
    make_fit(own.call, sizeof own.call);
    make_fit(own.place, sizeof own.place);
    make_fit(own.sender, sizeof own.sender);
    make_fit(own.sent, sizeof own.sent);
    for (size_t i = 0; i < leaks->count; i++) {
        mlt_ctl_leak *known = &leaks->all[i];
        if (!is_same(known, &own))
            continue;
        if (own.rank < known->rank) {
            known->rank = own.rank;
            memcpy(known->place, own.place, sizeof known->place);
            memcpy(known->sender, own.sender, sizeof known->sender);
            memcpy(known->sent, own.sent, sizeof known->sent);
        }
        known->most = own.most > known->most ? own.most : known->most;
        known->ranks += own.ranks;
        known->count += own.count;
        return;
    }
    if (leaks->count == MOST_KEPT)
        return; // more than anybody reads
    *MLT_ARRAY_ADD(leaks->all, leaks->count, leaks->room) = own;
}

void mlt_leaks_add(mlt_leaks *leaks, const mlt_ctl_leak *records, size_t count)
{
    for (size_t i = 0; i < count; i++)
        leaks_add(leaks, &records[i]);
}

static int by_ranks(const void *a, const void *b)
{
    const mlt_ctl_leak *x = a, *y = b;
    if (x->ranks != y->ranks)
        return x->ranks < y->ranks ? 1 : -1;
    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    int what = strcmp(x->what, y->what);
    return what ? what : strcmp(x->place, y->place);
}

static bool is_message(const mlt_ctl_leak *leak)
{
    return strcmp(leak->what, MLT_CTL_LEAK_MESSAGE) == 0;
}

// The places of those that are shown, of messages those of their senders, with the lines of source that are known: a line each.
static char *places(const mlt_leaks *leaks, size_t shown)
{
    mlt_text text = {0};
    for (size_t i = 0; i < shown; i++)
        mlt_text_add(&text, "%s\n",
                     is_message(&leaks->all[i]) ? leaks->all[i].sent : leaks->all[i].place);
    char *lines = mlt_lines_add(text.text ? text.text : "", NULL);
    if (!lines)
        return text.text;
    free(text.text);
    return lines;
}

// "solver.c:41" of "./solver(solve+0x41)[0x0] at /home/me/solver.c:41"; without the source's line
// "./solver(solve+0x41)".
static void print_place(const char *line, size_t length, FILE *out)
{
    const char *at = memmem(line, length, ")[0x0] at ", 10), *end = line + length;
    const char *bracket = memmem(line, length, ")[0x0]", 6);
    if (at) {
        const char *file = at + 10, *slash = memrchr(file, '/', (size_t)(end - file));
        file = slash ? slash + 1 : file;
        fprintf(out, " at %.*s", (int)(end - file), file);
    } else {
        fprintf(out, " in %.*s", (int)(bracket ? bracket + 1 - line : end - line), line);
    }
}

static void print_leak(const mlt_ctl_leak *leak, const char *place, size_t length, FILE *out)
{
    char ranks[MLT_NUMBER_BYTES], count[MLT_NUMBER_BYTES];
    bool each = leak->ranks > 1 && leak->count == (uint64_t)leak->ranks * leak->most;
    uint64_t n = each ? leak->most : leak->count;
    if (leak->ranks == 1)
        fprintf(out, "%s: note: rank %d: ", mlt_say_name(), (int)leak->rank);
    else
        fprintf(out, "%s: note: %s ranks, such as rank %d: ", mlt_say_name(),
                mlt_number(ranks, leak->ranks), (int)leak->rank);
    fprintf(out, "%s %s%s%s not %s: %s", mlt_number(count, n), leak->what, n == 1 ? "" : "s",
            leak->ranks == 1 ? ""
            : each           ? " each"
                             : " in all",
            is_message(leak) ? "received" : "freed", leak->call);
    if (!leak->call[0])
        fputs(leak->place, out);
    if (leak->sender[0])
        fprintf(out, ", sent by %s", leak->sender);
    if (leak->call[0] || leak->sender[0])
        print_place(place, length, out);
    fputc('\n', out);
}

// A compiler makes several calls of one line: the same ranks have left their things together.
static bool merge(mlt_ctl_leak *to, const mlt_ctl_leak *from, const char *a, const char *b)
{
    const char *at = strstr(a, ")[0x0] at "), *other = strstr(b, ")[0x0] at ");
    size_t length = at ? strcspn(at, "\n") : 0;
    if (!at || !other || strcspn(other, "\n") != length || strncmp(at, other, length) != 0 ||
        is_message(to) || at > a + strcspn(a, "\n") || other > b + strcspn(b, "\n") ||
        to->ranks != from->ranks || to->rank != from->rank || strcmp(to->what, from->what) != 0 ||
        strcmp(to->call, from->call) != 0)
        return false;
    to->count += from->count;
    to->most += from->most;
    return true;
}

static void merge_all(mlt_ctl_leak *leaks, const char *const *lines, size_t count)
{
    for (size_t i = 1; i < count; i++)
        for (size_t k = 0; k < i && leaks[i].count; k++)
            if (leaks[k].count && merge(&leaks[k], &leaks[i], lines[k], lines[i]))
                leaks[i].count = 0;
}

void mlt_leaks_print(mlt_leaks *leaks, FILE *out)
{
    const char *lines[MOST_SHOWN];
    size_t shown = leaks->count < MOST_SHOWN ? leaks->count : MOST_SHOWN;
    if (!shown)
        return;
    qsort(leaks->all, leaks->count, sizeof *leaks->all, by_ranks);
    char *text = places(leaks, shown), *at = text;
    for (size_t i = 0; i < shown; i++) {
        lines[i] = at;
        at += strcspn(at, "\n");
        at += *at == '\n';
    }
    merge_all(leaks->all, lines, shown);
    for (size_t i = 0; i < shown; i++)
        if (leaks->all[i].count)
            print_leak(&leaks->all[i], lines[i], strcspn(lines[i], "\n"), out);
    free(text);
    if (leaks->count > shown)
        fprintf(out, "%s: note: %zu more such notes are not shown\n", mlt_say_name(),
                leaks->count - shown);
}

void mlt_leaks_free(mlt_leaks *leaks)
{
    free(leaks->all);
    *leaks = (mlt_leaks){NULL, 0, 0};
}
