// SPDX-License-Identifier: BSD-3-Clause
#include "launch/watch/hang_procs.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/memory.h"
#include "base/numbers.h"
#include "base/table.h"
#include "base/text.h"
#include "boot/ctl.h"

enum {
    MOST_TEXTS = 8, // shown
    MOST_LINES = 100,
    HANG_PROCS_LONGEST_LINE = 1000,
    HANG_PROCS_MOST_BYTES = 64 << 20,
};

// Copies one line, indented, and returns what follows it. A damaged rank cannot send
// escape sequences to the terminal, nor forge a line of mpirun's.
static const char *hang_procs_sanitize_line(const char *from, const char *end, FILE *out)
{
    const char *stop = memchr(from, '\n', (size_t)(end - from));
    stop = stop ? stop : end;
    size_t length = (size_t)(stop - from) < HANG_PROCS_LONGEST_LINE ? (size_t)(stop - from)
                                                                    : HANG_PROCS_LONGEST_LINE;
    if (length > 0 && strncmp(from, "  ", length < 2 ? length : 2) != 0)
        fputs("  ", out);
    for (size_t i = 0; i < length; i++)
        fputc(isprint((unsigned char)from[i]) ? from[i] : '?', out);
    if (length > 0)
        fputc('\n', out);
    return stop < end ? stop + 1 : end;
}

static char *hang_procs_sanitize(const char *text, size_t length)
{
    char *kept = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&kept, &size);
    if (!out)
        return mlt_text_of("%s", "");
    const char *end = text + (length < MLT_CTL_PROCS_TEXT ? length : MLT_CTL_PROCS_TEXT);
    for (int lines = 0; text < end && lines < MOST_LINES; lines++)
        text = hang_procs_sanitize_line(text, end, out);
    fclose(out);
    return kept ? kept : mlt_text_of("%s", "");
}

void mlt_hang_procs_add(mlt_hang_procs *procs, uint32_t first_rank, uint32_t ranks,
                        const char *text, size_t length)
{
    if (length == 0 || ranks == 0)
        return;
    MLT_ARRAY_WANT(procs->items, procs->count + 1, procs->room);
    bool fits = procs->bytes + MLT_CTL_PROCS_TEXT <= HANG_PROCS_MOST_BYTES;
    mlt_hang_worker_text *own = &procs->items[procs->count++];
    *own = (mlt_hang_worker_text){.first_rank = first_rank, .ranks = ranks};
    own->text = fits ? hang_procs_sanitize(text, length) : mlt_text_of("%s", "");
    own->hash = mlt_hash_bytes(own->text, strlen(own->text));
    procs->bytes += strlen(own->text) + sizeof *own;
}

static int hang_procs_by_rank(const void *a, const void *b)
{
    const mlt_hang_worker_text *x = a, *y = b;
    return x->first_rank < y->first_rank ? -1 : x->first_rank > y->first_rank;
}

static void hang_procs_print_worker(const mlt_hang_worker_text *own, size_t others, FILE *out)
{
    char number[MLT_NUMBER_BYTES];
    fprintf(out, "processes of rank%s %u", own->ranks > 1 ? "s" : "", own->first_rank);
    if (own->ranks > 1)
        fprintf(out, "-%u", own->first_rank + own->ranks - 1);
    if (others)
        fprintf(out, ", and the same of %s other worker%s", mlt_number(number, others),
                others > 1 ? "s" : "");
    fprintf(out, ":\n%s", own->text);
}

void mlt_hang_procs_print(mlt_hang_procs *procs, FILE *out)
{
    if (procs->count == 0)
        return;
    qsort(procs->items, procs->count, sizeof *procs->items, hang_procs_by_rank);
    bool *told = mlt_xcalloc(procs->count, sizeof *told);
    size_t shown = 0, left = 0;
    for (size_t i = 0; i < procs->count; i++) {
        const mlt_hang_worker_text *own = &procs->items[i];
        if (told[i])
            continue;
        if (shown == MOST_TEXTS || !*own->text) {
            left++;
            continue;
        }
        size_t others = 0;
        for (size_t j = i + 1; j < procs->count; j++) {
            const mlt_hang_worker_text *other = &procs->items[j];
            if (!told[j] && own->hash == other->hash && strcmp(own->text, other->text) == 0) {
                told[j] = true;
                others++;
            }
        }
        hang_procs_print_worker(own, others, out);
        shown++;
    }
    char number[MLT_NUMBER_BYTES];
    if (left)
        fprintf(out, "and processes of %s more worker%s\n", mlt_number(number, left),
                left > 1 ? "s" : "");
    free(told);
}

void mlt_hang_procs_fini(mlt_hang_procs *procs)
{
    for (size_t i = 0; i < procs->count; i++)
        free(procs->items[i].text);
    free(procs->items);
    *procs = (mlt_hang_procs){0};
}
