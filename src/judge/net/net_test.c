// SPDX-License-Identifier: BSD-3-Clause
// Descriptions and their faults, ways by hand and by what must hold for all of them, shared links
// against a plain one that serves its messages picosecond by picosecond.
#include <math.h>

#include "base/unit_test.h"
#include "judge/net/route.h"
#include "judge/net/share.h"

static mlt_cluster *cluster_of(const char *text)
{
    char why[512];
    mlt_cluster *cluster;
    if (mlt_cluster_read("m", text, strlen(text), &cluster, why, sizeof why) != MLT_OK) {
        fprintf(stderr, "%s\n", why);
        CHECK(!"it can be read");
    }
    return cluster;
}

// ---- faults

static void check_wrong(const char *text, const char *wanted)
{
    char why[512];
    mlt_cluster *cluster;
    CHECK(mlt_cluster_read("m", text, strlen(text), &cluster, why, sizeof why) == MLT_ERR_INVALID);
    CHECK(!cluster);
    check_same_text(text, why, wanted);
}

static void check_faults(void)
{
    check_wrong("", "m:1:1: a line 'network' is missing: crossbar, fat-tree, torus or dragonfly");
    check_wrong("hosts 4\n  speed 3",
                "m:2:3: a line begins with hosts, cores, processors, numa, sockets, nics, place, "
                "within-host, large, noise, between-hosts, S, exec, network or link, not with "
                "'speed'");
    check_wrong("sockets 3\nnuma 4\nhosts 1\nnetwork crossbar",
                "m:4:1: the 4 NUMA nodes of a host are no multiple of its 3 sockets");
    check_wrong("numa 257", "m:1:6: numa should be a whole number from 1 to 256, not '257'");
    check_wrong("noise x", "m:1:7: noise should be a number from 0 to 100, not 'x'");
    check_wrong("processors 0",
                "m:1:12: processors should be a whole number from 1 to 4096, not '0'");
    check_wrong("processors 2 slow", "m:1:14: after the number of processors there may be 'switch' "
                                     "and 'wake', each with a number of ns, not 'slow'");
    check_wrong("processors 2 switch 5 wake x",
                "m:1:28: wake should be a number from 0 to 1e+15, not 'x'");
    check_wrong("processors 2 switch", "m:1:20: switch should be a number from 0 to 1e+15, not the "
                                       "end of the line");
    check_wrong("hosts 0", "m:1:7: hosts should be a whole number from 1 to 4194304, not '0'");
    check_wrong("hosts", "m:1:6: hosts should be a whole number from 1 to 4194304, not the end of "
                         "the line");
    check_wrong("hosts 4 5", "m:1:9: here should be the end of the line, not '5'");
    check_wrong("hosts 4\nhosts 4", "m:2:1: there is a second line 'hosts'");
    check_wrong("network crossbar",
                "m:1:1: a line 'hosts' is missing: a crossbar has any number of "
                "them");
    check_wrong("network star", "m:1:9: a network is a 'crossbar', 'fat-tree', 'torus' or "
                                "'dragonfly', not 'star'");
    check_wrong("network fat-tree levels 2", "m:1:9: a fat-tree needs 'levels' and 'radix'");
    check_wrong("network fat-tree levels 2 ports 4",
                "m:1:27: a fat-tree has levels, radix and oversubscription, not 'ports'");
    check_wrong("network torus 4xx", "m:1:15: a torus has up to 6 sizes such as 8x8x4, not '4xx'");
    check_wrong("network dragonfly groups 9 routers 2 hosts 1 links 3",
                "m:1:9: the 2 routers of a group have 3 global links each, too few for 8 other "
                "groups");
    check_wrong("network dragonfly groups 9 routers 2", "m:1:9: a dragonfly needs 'hosts'");
    check_wrong("network dragonfly routing best",
                "m:1:27: routing is 'minimal' or 'valiant', not 'best'");
    check_wrong("hosts 9\nnetwork torus 2x4",
                "m:2:1: there are 9 hosts, but the network has room for 8");
    check_wrong("within-host L fast", "m:1:15: L should be a number from 0 to 1e+15, not 'fast'");
    check_wrong("within-host", "m:1:12: here should be L, o, g, G or O and a number of ns");
    check_wrong("link wire latency 3",
                "m:1:6: links are of 'host', 'switch', 'global', 'memory', 'numa' or 'socket', "
                "not 'wire'");
    check_wrong("link host latency 3\nlink host latency 3",
                "m:2:6: the links of 'host' are there twice");
    check_wrong("link host bandwidth 0",
                "m:1:21: bandwidth should be a number from 1e-06 to 1e+06, not '0'");
    check_wrong("place some", "m:1:7: ranks are placed by 'block', 'round-robin' or 'list' and "
                              "hosts, not by 'some'");
    check_wrong("place list 3-1", "m:1:12: a host of the list should be a number such as 3 or a "
                                  "range such as 0-7, not '3-1'");
    check_wrong("place list", "m:1:11: the list should have a host for each rank");
    check_wrong("hosts 2\nnetwork crossbar\nplace list 0 2",
                "m:3:1: the list places rank 1 on host 2, but the hosts are 0 to 1");
    check_wrong("network fat-tree levels 6 radix 65536",
                "m:1:1: the network has more than 4194304 hosts");
    check_wrong("hosts 4\nnetwork dragonfly groups 1024 routers 1024 hosts 1 links 1",
                "m:2:1: the network has more than 67108864 links");
}

// ---- places

static void check_places(void)
{
    uint32_t nic[6];
    char why[256];
    mlt_cluster *c = cluster_of("hosts 3\ncores 2\nnics 2\nnetwork crossbar");
    CHECK(mlt_cluster_ranks(c, 6, nic, why, sizeof why) == MLT_OK);
    CHECK(memcmp(nic, (uint32_t[]){0, 1, 2, 3, 4, 5}, sizeof nic) == 0);
    CHECK(mlt_cluster_ranks(c, 7, nic, why, sizeof why) == MLT_ERR_INVALID);
    check_same_text(
        "too many", why,
        "the program has 7 ranks, but the machine has room for 6: 3 hosts with 2 cores");
    c->place = MLT_PLACE_ROUND_ROBIN;
    CHECK(mlt_cluster_ranks(c, 6, nic, why, sizeof why) == MLT_OK);
    CHECK(memcmp(nic, (uint32_t[]){0, 2, 4, 1, 3, 5}, sizeof nic) == 0);
    mlt_cluster_free(c);
    c = cluster_of("hosts 3\ncores 2\nplace list 2 0-1 0 0\nnetwork crossbar");
    CHECK(mlt_cluster_ranks(c, 4, nic, why, sizeof why) == MLT_OK);
    CHECK(memcmp(nic, (uint32_t[]){2, 0, 1, 0}, 4 * sizeof *nic) == 0);
    CHECK(mlt_cluster_ranks(c, 5, nic, why, sizeof why) == MLT_ERR_INVALID);
    check_same_text(
        "too many on a host", why,
        "the machine's list places more than 2 ranks on host 0, as many as it has cores");
    CHECK(mlt_cluster_ranks(c, 6, nic, why, sizeof why) == MLT_ERR_INVALID);
    check_same_text("too short", why, "the program has 6 ranks, but the machine's list places 5");
    mlt_cluster_free(c);
}

// ---- ways

static void check_way(const char *machine, uint32_t from, uint32_t to, const char *wanted)
{
    char text[1000] = "", name[96];
    mlt_cluster *c = cluster_of(machine);
    mlt_network net;
    CHECK(mlt_network_init(&net, c));
    uint32_t link = 0;
    for (uint32_t hop = 0; hop == 0 || !mlt_network_is_last(&net, link); hop++) {
        link = mlt_network_hop(&net, from, to, 0, hop);
        mlt_network_link_name(&net, link, name, sizeof name);
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s%s", hop ? "; " : "", name);
    }
    check_same_text(machine, text, wanted);
    mlt_cluster_free(c);
}

static void check_ways(void)
{
    check_way("hosts 4\nnics 2\nnetwork crossbar", 2, 7,
              "host 1, NIC 0 to its switch; host 3, NIC 1 from its switch");
    // Radix 4: leaves of two hosts, two switches above a pair of leaves, four at the top.
    const char *tree = "network fat-tree levels 3 radix 4";
    check_way(tree, 0, 1, "host 0 to its switch; host 1 from its switch");
    check_way(tree, 0, 3,
              "host 0 to its switch; switch 1.0.0 to switch 2.0.1; switch 2.0.1 to switch 1.1.0; "
              "host 3 from its switch");
    check_way(
        tree, 1, 14,
        "host 1 to its switch; switch 1.0.0 to switch 2.0.0; switch 2.0.0 to switch 3.0.2; "
        "switch 3.0.2 to switch 2.3.0; switch 2.3.0 to switch 1.7.0; host 14 from its switch");
    // 0,0 to 3,2 in 5x4: down by two, then up by two (both ways are equal).
    check_way("network torus 5x4", 0, 13,
              "host 0 to its switch; node 0,0 down in dimension 0; node 4,0 down in dimension 0; "
              "node 3,0 up in dimension 1; node 3,1 up in dimension 1; host 13 from its switch");
    // Three groups of two routers with one host and one global link each: router 0 of a group leads
    // to the lower of the other two.
    const char *fly = "network dragonfly groups 3 routers 2 hosts 1 links 1";
    check_way(fly, 0, 5,
              "host 0 to its switch; group 0, router 0 to router 1; group 0, router 1 to group 2; "
              "group 2, router 0 to router 1; host 5 from its switch");
    check_way(fly, 2, 3,
              "host 2 to its switch; group 1, router 0 to router 1; host 3 from its switch");
    check_way(
        "network dragonfly groups 3 routers 2 hosts 1 links 1 routing valiant", 0, 4,
        "host 0 to its switch; group 0, router 0 to group 1; group 1, router 0 to router 1; "
        "group 1, router 1 to group 2; group 2, router 1 to router 0; host 4 from its switch");
}

// How often the links are used if each host sends to the one `shift` above it.
static uint32_t most_used(const mlt_network *net, uint32_t shift)
{
    uint32_t hosts = net->cluster->hosts, most = 0;
    uint32_t *used = calloc(net->links, sizeof *used);
    for (uint32_t h = 0; h < hosts; h++)
        for (uint32_t hop = 0, link = 0; hop == 0 || !mlt_network_is_last(net, link); hop++) {
            link = mlt_network_hop(net, h, (h + shift) % hosts, h, hop);
            CHECK(link < net->links);
            most = ++used[link] > most ? used[link] : most;
        }
    free(used);
    return most;
}

// A whole fat-tree carries every shift without two messages on one link; with an oversubscription
// of 3, three hosts share a link upwards.
static void check_shifts(void)
{
    static const struct {
        const char *text;
        uint32_t most;
    } trees[] = {{"network fat-tree levels 3 radix 6", 1},
                 {"network fat-tree levels 2 radix 8", 1},
                 {"network fat-tree levels 1 radix 9", 1},
                 {"network fat-tree levels 2 radix 8 oversubscription 3", 3}};
    for (size_t i = 0; i < sizeof trees / sizeof *trees; i++) {
        mlt_cluster *c = cluster_of(trees[i].text);
        mlt_network net;
        CHECK(mlt_network_init(&net, c));
        uint32_t most = 0;
        for (uint32_t shift = 1; shift < c->hosts; shift++) {
            uint32_t used = most_used(&net, shift);
            most = used > most ? used : most;
        }
        CHECK(most == trees[i].most);
        mlt_cluster_free(c);
    }
    mlt_cluster *c = cluster_of("network torus 5x4x3");
    mlt_network net;
    CHECK(mlt_network_init(&net, c) && most_used(&net, 20) == 1);
    mlt_cluster_free(c);
}

// ---- shared links

enum { MESSAGES = 60 };

// What is left of each message under way, shared equally, until `time`.
static void serve(double *left, int count, double time)
{
    for (;;) {
        double least = INFINITY;
        int active = 0;
        for (int i = 0; i < count; i++)
            if (left[i] > 1e-9) {
                active++;
                least = fmin(least, left[i]);
            }
        if (!active || time < 1e-9)
            return;
        double each = fmin(least, time / active);
        for (int i = 0; i < count; i++)
            left[i] = left[i] > 1e-9 ? left[i] - each : 0;
        time -= each * active;
    }
}

static double plain_delay(const double *left, int count, double work)
{
    double delay = 0;
    for (int i = 0; i < count; i++)
        delay += fmin(left[i], work);
    return delay;
}

static void check_shares(void)
{
    for (now_seed = 1; now_seed <= 300; now_seed++) {
        mlt_share link = {0};
        double left[MESSAGES];
        uint64_t now = 0;
        uint32_t spread = 1 + below(3000);
        for (int i = 0; i < MESSAGES; i++) {
            uint64_t wait = below(3) ? below(spread) : 0;
            double work = now_seed % 3 ? 1 + below(below(4) ? 1000 : 30) : 500;
            serve(left, i, (double)wait);
            now += wait;
            double delay = mlt_share_add(&link, now, work, 1);
            CHECK(fabs(delay - plain_delay(left, i, work)) < 1e-3);
            left[i] = work;
        }
        CHECK(link.messages == MESSAGES && link.bytes == MESSAGES);
        mlt_share_fini(&link);
    }
    now_seed = 0;
    mlt_share link = {0}; // by hand: 100 alone; 40 beside it; 100 after 80, when 40 has ended
    CHECK(mlt_share_add(&link, 0, 100, 1) == 0);
    CHECK(mlt_share_add(&link, 0, 40, 1) == 40);
    CHECK(mlt_share_add(&link, 80, 100, 1) == 60);
    mlt_share_fini(&link);
}

int main(void)
{
    check_faults();
    check_places();
    check_ways();
    check_shifts();
    check_shares();
    return 0;
}
