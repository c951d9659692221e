// SPDX-License-Identifier: BSD-3-Clause
// The library's own collective operations of processes: those of the folder collectives, with
// Millet's schedules. On every node four processes take part.
//
//     mpicc group.c -o group
//     ./group                    four processes
//     mpirun -n 3 ./group        twelve, on three nodes
#include <millet/csp.h>
#include <stdbool.h>
#include <stdio.h>

enum { HERE = 4, MOST = 64 };

typedef struct member {
    csp_group *group;
    int me;
} member;

static bool told(int me, const char *what, bool right)
{
    if (me == 0 || !right)
        printf("member %d: %-10s %s\n", me, what, right ? "right" : "WRONG");
    return right;
}

static int run(void *arg)
{
    member *my = arg;
    csp_group *group = my->group;
    int me = my->me, size = csp_group_size(group);
    long total = (long)size * (size + 1) / 2, mine = me + 1, sum = 0, all[MOST], mixed[MOST];
    bool right = true;

    long data = me == 0 ? 42 : 0;
    csp_group_bcast(group, me, &data, sizeof(data), 0);
    right &= told(me, "bcast", data == 42);

    csp_group_reduce(group, me, &mine, &sum, 1, &csp_sum_long, 0);
    right &= told(me, "reduce", me != 0 || sum == total);

    csp_group_allreduce(group, me, &mine, &sum, 1, &csp_sum_long);
    right &= told(me, "allreduce", sum == total);

    right &= told(me, "barrier", csp_group_barrier(group, me) == CSP_OK);

    csp_group_gather(group, me, &mine, all, sizeof(mine), 0);
    bool good = true;
    for (int i = 0; i < size && me == 0; i++)
        good &= all[i] == i + 1;
    right &= told(me, "gather", good);

    csp_group_allgather(group, me, &mine, all, sizeof(mine));
    good = true;
    for (int i = 0; i < size; i++)
        good &= all[i] == i + 1;
    right &= told(me, "allgather", good);

    csp_group_scatter(group, me, all, &data, sizeof(data), 0);
    right &= told(me, "scatter", data == me + 1);

    for (int i = 0; i < size; i++)
        all[i] = 100L * me + i;
    csp_group_alltoall(group, me, all, mixed, sizeof(all[0]));
    good = true;
    for (int i = 0; i < size; i++)
        good &= mixed[i] == 100L * i + me;
    right &= told(me, "alltoall", good);
    return right ? 0 : 1;
}

int main(void)
{
    csp_group *group = csp_group_of_nodes("all", HERE);
    if (csp_group_size(group) > MOST) {
        fprintf(stderr, "this is for %d members at most\n", MOST);
        return 2;
    }
    member members[HERE];
    for (int i = 0; i < HERE; i++)
        members[i] = (member){group, csp_group_first(group) + i};
    int result = csp_par_each(run, members, HERE, sizeof(members[0]), "member", NULL);
    csp_group_free(group);
    return result;
}
