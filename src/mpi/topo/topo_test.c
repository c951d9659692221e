// SPDX-License-Identifier: BSD-3-Clause
// Topologies as objects: copies, equality, references.
#include "mpi/topo/topo.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/unit_test.h"

enum { KINDS = 13 };

// All different; i twice gives equal ones that share nothing.
static mlt_topo *make(int i)
{
    int dims[] = {2, 3, 5}, other[] = {2, 3, 7}, open[] = {0, 0, 0}, wrap[] = {0, 4, 0};
    int index[] = {1, 2, 2}, edges[] = {2, 0}, edges2[] = {2, 1}, index2[] = {0, 1, 2};
    int list[] = {1, 2, 3}, weights[] = {7, 8, 9}, weights2[] = {7, 8, 10};
    switch (i) {
    case 0:
        return mlt_topo_new_cart(3, dims, open);
    case 1:
        return mlt_topo_new_cart(3, other, open);
    case 2:
        return mlt_topo_new_cart(3, dims, wrap);
    case 3:
        return mlt_topo_new_cart(2, dims, open);
    case 4:
        return mlt_topo_new_cart(0, NULL, NULL);
    case 5:
        return mlt_topo_new_graph(3, index, edges);
    case 6:
        return mlt_topo_new_graph(3, index, edges2);
    case 7:
        return mlt_topo_new_graph(3, index2, edges);
    case 8:
        return mlt_topo_new_dist(0, NULL, NULL, 0, NULL, NULL, false);
    case 9:
        return mlt_topo_new_dist(3, list, MPI_UNWEIGHTED, 1, list, MPI_UNWEIGHTED, false);
    case 10:
        return mlt_topo_new_dist(3, list, weights, 1, list, weights, true);
    case 11:
        return mlt_topo_new_dist(3, list, weights2, 1, list, weights, true);
    default:
        return mlt_topo_new_dist(1, list, weights, 3, list, weights, true);
    }
}

int main(void)
{
    mlt_topo *topo[KINDS];
    for (int i = 0; i < KINDS; i++)
        topo[i] = make(i);
    for (int i = 0; i < KINDS; i++) {
        mlt_topo *again = make(i);
        CHECK(again != topo[i] && again->refs == 1);
        for (int k = 0; k < KINDS; k++)
            CHECK(mlt_topo_equal(again, topo[k]) == (i == k));
        CHECK(mlt_topo_equal(again, again));
        CHECK(mlt_topo_hold(again) == again && again->refs == 2);
        mlt_topo_drop(again);
        CHECK(again->refs == 1);
        mlt_topo_drop(again);
    }
    CHECK(topo[2]->cart.periods[1] == 1); // a boolean
    CHECK(topo[10]->dist.source_weights[2] == 9 && topo[10]->dist.destination_weights[0] == 7);
    CHECK(!topo[9]->dist.source_weights && topo[9]->dist.destinations[0] == 1);
    CHECK(mlt_topo_hold(NULL) == NULL);
    mlt_topo_drop(NULL);
    for (int i = 0; i < KINDS; i++)
        mlt_topo_drop(topo[i]);
    return 0;
}
