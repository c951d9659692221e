// SPDX-License-Identifier: BSD-3-Clause
// Any bytes as a described machine: refused with a sentence that has a place, or a machine on which
// ranks have NICs and ways between them end.
#include <fuzz/fuzz.h>

#include <string.h>

#include "judge/net/route.h"

enum { RANKS = 16, LONGEST_WAY = 100000, SMALL = 4096 };

static void walk(const mlt_network *net, uint32_t from, uint32_t to)
{
    char name[96];
    uint32_t link = 0;
    for (uint32_t hop = 0; hop == 0 || !mlt_network_is_last(net, link); hop++) {
        FUZZ_CHECK(hop < LONGEST_WAY);
        link = mlt_network_hop(net, from, to, 7 * from + to, hop);
        FUZZ_CHECK(link < net->links && (hop > 0) == (link != from));
        FUZZ_CHECK(mlt_network_kind_of(net, link) < MLT_NETWORK_KINDS);
        fuzz_check_sentence(mlt_network_link_name(net, link, name, sizeof name), sizeof name);
    }
    FUZZ_CHECK(link == net->ends + to);
}

static void walk_inside(const mlt_network *net, uint32_t from, uint32_t to)
{
    char name[96];
    uint32_t hop = 0;
    for (uint32_t link; (link = mlt_network_inner_hop(net, from, to, hop)) != MLT_NETWORK_NO_LINK;
         hop++) {
        FUZZ_CHECK(link >= net->inner && link < net->links);
        FUZZ_CHECK(mlt_network_kind_of(net, link) == MLT_NETWORK_MEMORY + hop);
        fuzz_check_sentence(mlt_network_link_name(net, link, name, sizeof name), sizeof name);
    }
    FUZZ_CHECK(hop > 0 && hop <= 3);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char why[512];
    mlt_cluster *cluster;
    mlt_status status = mlt_cluster_read("m", (const char *)data, size, &cluster, why, sizeof why);
    FUZZ_CHECK((status == MLT_OK) == (cluster != NULL));
    if (!cluster) {
        fuzz_check_sentence(why, sizeof why);
        FUZZ_CHECK(strncmp(why, "m:", 2) == 0);
        return 0;
    }
    mlt_network net;
    uint32_t nic[RANKS];
    FUZZ_CHECK(mlt_network_init(&net, cluster));
    FUZZ_CHECK(cluster->hosts && cluster->hosts <= mlt_network_capacity(cluster));
    fuzz_check_sentence(mlt_cluster_describe(cluster, why, sizeof why), sizeof why);
    if (cluster->hosts <= SMALL) {
        if (mlt_cluster_ranks(cluster, RANKS, nic, why, sizeof why) == MLT_OK)
            for (int r = 1; r < RANKS; r++)
                if (nic[r] / cluster->nics != nic[0] / cluster->nics)
                    walk(&net, nic[0], nic[r]);
        if (net.inside)
            walk_inside(&net, 0, cluster->numa - 1);
        if (cluster->hosts > 1)
            walk(&net, net.ends - 1, 0);
    }
    mlt_cluster_free(cluster);
    return 0;
}
