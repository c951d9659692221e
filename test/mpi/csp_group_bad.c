// SPDX-License-Identifier: BSD-3-Clause
// Groups of processes that are used wrongly: each way ends the program with an error message, which
// list.tsv knows.
#include <millet/csp.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct member {
    csp_group *group;
    int me;
    const char *how;
} member;

static const csp_op empty = {.combine = NULL, .size = 4, .commutes = true};

static void flip(void *into, const void *with, size_t count)
{
    (void)into, (void)with, (void)count;
}

static const csp_op nothing = {flip, 0, false}, other = {flip, sizeof(long), true};

// The first two members do not say the same.
static int differ(void *arg)
{
    const member *m = arg;
    bool odd = m->me % 2;
    long data[4] = {0}, out[4];
    if (strcmp(m->how, "roots") == 0)
        csp_group_bcast(m->group, m->me, data, sizeof data, odd);
    else if (strcmp(m->how, "bytes") == 0)
        csp_group_bcast(m->group, m->me, data, odd ? 8 : 16, 0);
    else if (strcmp(m->how, "ops") == 0)
        csp_group_allreduce(m->group, m->me, data, out, 4, odd ? &other : &csp_sum_long);
    else if (odd)
        csp_group_barrier(m->group, m->me);
    else
        csp_group_bcast(m->group, m->me, data, sizeof data, 0);
    return 0;
}

static int wait_for_ever(void *arg)
{
    const member *m = arg;
    csp_group_barrier(m->group, m->me);
    return 0;
}

// Ranks of one process, each on a worker of its own: the second uses the first one's group.
static _Atomic(csp_group *) first_group;

static void use_others(const char *how, bool first)
{
    if (first)
        atomic_store(&first_group, csp_group_here("mine", 1));
    csp_group *all = csp_group_of_nodes("all", 1);
    csp_group_barrier(all, csp_node());
    csp_group *group = atomic_load(&first_group);
    if (!first && strcmp(how, "others") == 0)
        csp_group_barrier(group, 0);
    else if (!first && strcmp(how, "others_force") == 0)
        csp_group_force(group, "");
    else if (!first)
        csp_group_free(group);
    csp_group_barrier(all, csp_node());
}

// One process, one call.
static void call(const char *how, csp_group *group)
{
    long data[4] = {0}, out[4];
    int me = csp_group_first(group);
    if (strcmp(how, "member") == 0)
        csp_group_barrier(group, me + 2);
    else if (strcmp(how, "below") == 0)
        csp_group_barrier(group, -1);
    else if (strcmp(how, "root") == 0)
        csp_group_bcast(group, me, data, sizeof data, csp_group_size(group));
    else if (strcmp(how, "data") == 0)
        csp_group_bcast(group, me, NULL, 1, 0);
    else if (strcmp(how, "in") == 0)
        csp_group_allgather(group, me, NULL, out, 8);
    else if (strcmp(how, "out") == 0)
        csp_group_scatter(group, me, data, NULL, 8, 1);
    else if (strcmp(how, "op") == 0)
        csp_group_reduce(group, me, data, out, 1, NULL, 0);
    else if (strcmp(how, "combine") == 0)
        csp_group_reduce(group, me, data, out, 1, &empty, 0);
    else if (strcmp(how, "size") == 0)
        csp_group_reduce(group, me, data, out, 1, &nothing, 0);
    else if (strcmp(how, "count") == 0)
        csp_group_allreduce(group, me, data, out, (size_t)-1 / 4, &csp_sum_long);
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "";
    bool first = csp_node() == 0;
    if (strcmp(how, "negative") == 0)
        csp_group_here("g", -1);
    if (strcmp(how, "null") == 0)
        csp_group_barrier(NULL, 0);
    if (strcmp(how, "null_size") == 0)
        csp_group_size(NULL);
    if (strcmp(how, "null_force") == 0)
        csp_group_force(NULL, "reduce=linear");
    if (strcmp(how, "names") == 0)
        csp_group_of_nodes(first ? "red" : "blue", 1);
    if (strcmp(how, "huge") == 0)
        csp_group_of_nodes("huge", 1 << 30);
    if (strcmp(how, "none") == 0) {
        csp_group_barrier(csp_group_of_nodes("some", first ? 0 : 1), 0);
        return 0; // the other node's is right
    }
    if (strncmp(how, "others", 6) == 0)
        use_others(how, first);
    if (strcmp(how, "nodes") == 0) {
        long data[4] = {0};
        csp_group *all = csp_group_of_nodes("all", 1);
        csp_group_bcast(all, csp_node(), data, first ? 8 : 16, 0);
        csp_group_barrier(all, csp_node());
    }
    csp_group *group = csp_group_here("g", 2);
    if (strcmp(how, "inside") == 0) {
        csp_fork(wait_for_ever, &(member){group, 0, how}, NULL);
        csp_yield();
        csp_group_free(group);
    }
    if (strncmp(how, "freed", 5) == 0) {
        csp_group_free(group);
        for (int i = 0; i < 40; i++) // others come and go
            csp_group_free(csp_group_here("other", 1));
        if (strcmp(how, "freed") == 0)
            csp_group_barrier(group, 0);
        else if (strcmp(how, "freed_size") == 0)
            csp_group_size(group);
        else if (strcmp(how, "freed_force") == 0)
            csp_group_force(group, "");
        else
            csp_group_free(group);
    }
    call(how, group);
    member members[] = {{group, 0, how}, {group, 1, how}};
    return csp_par_each(differ, members, 2, sizeof *members, NULL, NULL);
}
