// SPDX-License-Identifier: BSD-3-Clause
#include "launch/watch/hang_records.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/memory.h"

enum { MOST_MISMATCHES = 4 };

typedef struct meeting {
    uint32_t comm, rank;
    uint64_t number;
    const char *call; // without "MPI_"
    uint32_t root;    // 1 and it; 0: none, or not known
} meeting;

// Blocking, nonblocking and persistent calls of one collective meet: "Ibcast" and "Bcast_init" are
// "bcast".
static size_t stem_of(const char **call)
{
    *call += (*call)[0] == 'I' && islower((unsigned char)(*call)[1]);
    const char *end = strstr(*call, "_init");
    return end ? (size_t)(end - *call) : strlen(*call);
}

static int compare_calls(const char *a, const char *b)
{
    size_t n = stem_of(&a), m = stem_of(&b);
    int order = strncasecmp(a, b, n < m ? n : m);
    return order ? order : n < m ? -1 : n > m;
}

static int compare_sides(const meeting *x, const meeting *y)
{
    int order = compare_calls(x->call, y->call);
    return order ? order : x->root < y->root ? -1 : x->root > y->root;
}

static int by_meeting(const void *a, const void *b)
{
    const meeting *x = a, *y = b;
    if (x->comm != y->comm)
        return x->comm < y->comm ? -1 : 1;
    if (x->number != y->number)
        return x->number < y->number ? -1 : 1;
    int order = compare_sides(x, y);
    return order ? order : x->rank < y->rank ? -1 : x->rank > y->rank;
}

static bool same_meeting(const meeting *a, const meeting *b)
{
    return a->comm == b->comm && a->number == b->number;
}

// "ranks 0-2,5 are in MPI_Allreduce": those from *i on that are in the same call; *i goes behind.
static void print_side(const meeting *m, size_t count, size_t *i, FILE *out)
{
    size_t from = *i, shown = 0;
    while (*i < count && same_meeting(&m[*i], &m[from]) && compare_sides(&m[*i], &m[from]) == 0)
        ++*i;
    fputs(*i - from == 1 ? "rank " : "ranks ", out);
    for (size_t at = from; at < *i; shown++) {
        size_t last = at;
        while (last + 1 < *i && m[last + 1].rank == m[last].rank + 1)
            last++;
        if (shown == MLT_HANG_MOST_RANGES) {
            fputs(",...", out);
            break;
        }
        fprintf(out, shown ? ",%u" : "%u", m[at].rank);
        if (last > at)
            fprintf(out, "-%u", m[last].rank);
        at = last + 1;
    }
    fprintf(out, " %s in MPI_%s", *i - from == 1 ? "is" : "are", m[from].call);
    if (m[from].root)
        fprintf(out, " with root %u", m[from].root - 1);
}

// Of some that meet, sorted. A root that is not known, before all ranks of a worker have come, is
// as all others.
static bool differ(const meeting *m, size_t count)
{
    const meeting *last = &m[count - 1];
    size_t known = 0;
    while (known < count - 1 && !m[known].root)
        known++;
    return compare_calls(m->call, last->call) != 0 || m[known].root != last->root;
}

void mlt_hang_print_mismatches(const mlt_hang *hang, FILE *out)
{
    meeting *m = mlt_xcalloc(hang->count, sizeof *m);
    size_t count = 0, told = 0;
    for (size_t i = 0; i < hang->count; i++) {
        const mlt_ctl_wait *w = &hang->records[i];
        if (!w->ended && mlt_hang_in_collective(w))
            m[count++] = (meeting){w->context / MLT_CONTEXTS, (uint32_t)w->rank, w->number,
                                   w->label, w->root};
    }
    if (count)
        qsort(m, count, sizeof *m, by_meeting);
    for (size_t i = 0, end; i < count && told < MOST_MISMATCHES; i = end) {
        for (end = i + 1; end < count && same_meeting(&m[end], &m[i]);)
            end++;
        if (!differ(m + i, end - i))
            continue;
        fprintf(out, "call %llu on ", (unsigned long long)m[i].number + 1);
        mlt_hang_say_communicator(&(mlt_ctl_wait){.context = m[i].comm * MLT_CONTEXTS}, out);
        fputs(" is not the same everywhere: ", out);
        for (size_t at = i; at < end;) {
            print_side(m, end, &at, out);
            fputs(at < end ? ", " : "\n", out);
        }
        told++;
    }
    free(m);
}
