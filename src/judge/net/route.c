// SPDX-License-Identifier: BSD-3-Clause
// Numbers of links. All: the ends up (host to switch), the ends down. Then
//
//     fat-tree    for each level l from 1: up, then down. Between the switches of level l and those
//                 of level l + 1: group of level l times wide[l + 1], and which switch of l + 1.
//                 A group of level l is `below[l]` hosts and wide[l] switches that reach them all
//     torus       node times 2 dimensions, dimension, direction
//     dragonfly   inside: group, router from, router to; global: group from, port
//     hosts       at the end, for each host: its nodes' memories; node from, node to; socket from,
//                 socket to
#include "judge/net/route.h"

#include <stdio.h>

#include "base/table.h"
#include "base/text.h"

// ---- how many

// Ports to hosts of the lowest switches.
static uint32_t leaf_ports(const mlt_cluster *c)
{
    if (c->levels == 1)
        return c->radix;
    double down = c->radix * c->oversubscription / (1 + c->oversubscription);
    uint32_t ports = (uint32_t)(down + 0.5);
    return ports < 1 ? 1 : ports >= c->radix ? c->radix - 1 : ports;
}

static uint64_t capped(uint64_t a, uint64_t b)
{
    uint64_t product;
    if (__builtin_mul_overflow(a, b, &product) || product > MLT_CLUSTER_LINKS)
        return (uint64_t)MLT_CLUSTER_LINKS + 1;
    return product;
}

// Hosts below a switch of the level; the highest ones have all their ports down.
static uint64_t hosts_below(const mlt_cluster *c, uint32_t level)
{
    uint64_t hosts = leaf_ports(c);
    for (uint32_t l = 2; l <= level; l++)
        hosts = capped(hosts, l == c->levels ? c->radix : c->radix / 2);
    return hosts;
}

static uint64_t switches_aside(const mlt_cluster *c, uint32_t level)
{
    uint64_t count = 1;
    for (uint32_t l = 1; l < level; l++)
        count = capped(count, l == 1 ? c->radix - leaf_ports(c) : c->radix / 2);
    return count;
}

uint64_t mlt_network_capacity(const mlt_cluster *c)
{
    uint64_t hosts = 1;
    switch (c->shape) {
    case MLT_NETWORK_FAT_TREE:
        return hosts_below(c, c->levels);
    case MLT_NETWORK_TORUS:
        for (uint32_t d = 0; d < c->dimensions; d++)
            hosts = capped(hosts, c->size[d]);
        return hosts;
    case MLT_NETWORK_DRAGONFLY:
        return capped(capped(c->groups, c->routers), c->group_hosts);
    default:
        return MLT_CLUSTER_HOSTS;
    }
}

static uint64_t fat_tree_init(mlt_network *net, uint64_t links)
{
    const mlt_cluster *c = net->cluster;
    for (uint32_t l = 1; l <= c->levels; l++) {
        net->below[l] = (uint32_t)hosts_below(c, l);
        net->wide[l] = (uint32_t)switches_aside(c, l);
    }
    for (uint32_t l = 1; l < c->levels && links <= MLT_CLUSTER_LINKS; l++)
        for (int down = 0; down < 2; down++) {
            net->base[2 * (l - 1) + (uint32_t)down] = (uint32_t)links;
            uint64_t groups = ((uint64_t)c->hosts + net->below[l] - 1) / net->below[l];
            links += capped(groups, net->wide[l + 1]);
        }
    return links;
}

static uint64_t dragonfly_init(mlt_network *net, uint64_t links)
{
    const mlt_cluster *c = net->cluster;
    uint64_t ports = (uint64_t)c->routers * c->global;
    net->parallel = c->groups > 1 ? (uint32_t)(ports / (c->groups - 1)) : 0;
    net->base[0] = (uint32_t)links;
    links += capped(capped(c->groups, c->routers), c->routers);
    net->base[1] = (uint32_t)(links <= MLT_CLUSTER_LINKS ? links : 0);
    return links + capped(capped(c->groups, c->groups - 1), net->parallel);
}

static uint64_t inside_init(mlt_network *net, uint64_t links)
{
    const mlt_cluster *c = net->cluster;
    net->inside = c->numa > 1 || c->cost[MLT_NETWORK_MEMORY].bandwidth > 0 ||
                  c->cost[MLT_NETWORK_MEMORY].latency > 0;
    if (!net->inside || links > MLT_CLUSTER_LINKS)
        return links;
    net->inner = (uint32_t)links;
    net->inner_each = c->numa + c->numa * c->numa + c->sockets * c->sockets;
    return links + capped(c->hosts, net->inner_each);
}

bool mlt_network_init(mlt_network *net, const mlt_cluster *cluster)
{
    *net = (mlt_network){.cluster = cluster};
    uint64_t links = 2 * capped(cluster->hosts, cluster->nics);
    if (links > MLT_CLUSTER_LINKS)
        return false;
    net->ends = (uint32_t)(links / 2);
    if (cluster->shape == MLT_NETWORK_FAT_TREE)
        links = fat_tree_init(net, links);
    if (cluster->shape == MLT_NETWORK_DRAGONFLY)
        links = dragonfly_init(net, links);
    if (cluster->shape == MLT_NETWORK_TORUS) {
        net->base[0] = (uint32_t)links;
        links += capped(mlt_network_capacity(cluster), 2 * cluster->dimensions);
    }
    links = inside_init(net, links);
    net->links = (uint32_t)links;
    return links <= MLT_CLUSTER_LINKS;
}

// ---- ways, without the first link and the last. `hop` counts from 0; MLT_NETWORK_NO_LINK: there is none

static uint32_t fat_tree_hop(const mlt_network *net, uint32_t from, uint32_t to, uint32_t hop)
{
    uint32_t top = 1;
    while (from / net->below[top] != to / net->below[top])
        top++;
    if (hop >= 2 * (top - 1))
        return MLT_NETWORK_NO_LINK;
    bool down = hop >= top - 1;
    uint32_t level = down ? 2 * (top - 1) - hop : hop + 1;
    uint32_t group = (down ? to : from) / net->below[level];
    return net->base[2 * (level - 1) + down] + group * net->wide[level + 1] +
           to % net->wide[level + 1];
}

static uint32_t torus_hop(const mlt_network *net, uint32_t from, uint32_t to, uint32_t hop)
{
    const mlt_cluster *c = net->cluster;
    uint32_t node = from, step = 1; // step: between neighbours of the dimension
    for (uint32_t d = 0; d < c->dimensions; step *= c->size[d++]) {
        uint32_t size = c->size[d], a = from / step % size, b = to / step % size;
        uint32_t up = (b + size - a) % size, down = size - up;
        uint32_t far = up <= down ? up : down;
        if (hop >= far) {
            hop -= far;
            node = node - a * step + b * step;
            continue;
        }
        uint32_t at = (up <= down ? a + hop : a + size - hop) % size;
        node = node - a * step + at * step;
        return net->base[0] + node * 2 * c->dimensions + 2 * d + (up > down);
    }
    return MLT_NETWORK_NO_LINK;
}

typedef struct path {
    uint32_t link[8], count;
} path;

// Inside a group.
static void go_inside(const mlt_network *net, path *to, uint32_t group, uint32_t a, uint32_t b)
{
    uint32_t routers = net->cluster->routers;
    if (a != b)
        to->link[to->count++] = net->base[0] + (group * routers + a) * routers + b;
}

// From a router of one group to some router of another, which is returned.
static uint32_t go_global(const mlt_network *net, path *to, uint32_t a, uint32_t router, uint32_t b,
                          uint32_t choice)
{
    const mlt_cluster *c = net->cluster;
    uint32_t others = c->groups - 1, first = choice % net->parallel * others;
    uint32_t port = first + (b < a ? b : b - 1), far_port = first + (a < b ? a : a - 1);
    go_inside(net, to, a, router, port / c->global);
    to->link[to->count++] = net->base[1] + a * others * net->parallel + port;
    return far_port / c->global;
}

static uint32_t dragonfly_hop(const mlt_network *net, uint32_t from, uint32_t to, uint32_t salt,
                              uint32_t hop)
{
    const mlt_cluster *c = net->cluster;
    uint32_t a = from / c->group_hosts, b = to / c->group_hosts, choice = a + b;
    uint32_t group = a / c->routers, last = b / c->routers, router = a % c->routers;
    path found = {.count = 0};
    if (group != last && c->valiant && c->groups > 2) {
        uint32_t third = mlt_hash_word((uint64_t)salt << 32 | from) % (c->groups - 2);
        third += third >= (group < last ? group : last);
        third += third >= (group < last ? last : group);
        router = go_global(net, &found, group, router, third, choice);
        group = third;
    }
    if (group != last)
        router = go_global(net, &found, group, router, last, choice);
    go_inside(net, &found, last, router, b % c->routers);
    return hop < found.count ? found.link[hop] : MLT_NETWORK_NO_LINK;
}

// The links between switches alone.
static uint32_t middle(const mlt_network *net, uint32_t from, uint32_t to, uint32_t salt,
                       uint32_t hop)
{
    uint32_t nics = net->cluster->nics, a = from / nics, b = to / nics;
    switch (net->cluster->shape) {
    case MLT_NETWORK_FAT_TREE:
        return fat_tree_hop(net, a, b, hop);
    case MLT_NETWORK_TORUS:
        return torus_hop(net, a, b, hop);
    case MLT_NETWORK_DRAGONFLY:
        return dragonfly_hop(net, a, b, salt, hop);
    default:
        return MLT_NETWORK_NO_LINK;
    }
}

uint32_t mlt_network_hop(const mlt_network *net, uint32_t from, uint32_t to, uint32_t salt,
                         uint32_t hop)
{
    if (hop == 0)
        return from;
    uint32_t link = middle(net, from, to, salt, hop - 1);
    return link == MLT_NETWORK_NO_LINK ? net->ends + to : link;
}

uint32_t mlt_network_inner_hop(const mlt_network *net, uint32_t from, uint32_t to, uint32_t hop)
{
    const mlt_cluster *c = net->cluster;
    uint32_t first = net->inner + from / c->numa * net->inner_each, each = c->numa / c->sockets;
    uint32_t a = from % c->numa, b = to % c->numa;
    if (hop == 0)
        return first + a;
    if (hop == 1 && a != b)
        return first + c->numa + a * c->numa + b;
    if (hop == 2 && a / each != b / each)
        return first + c->numa + c->numa * c->numa + a / each * c->sockets + b / each;
    return MLT_NETWORK_NO_LINK;
}

// ---- what they are

static mlt_network_kind inner_kind(const mlt_network *net, uint32_t link)
{
    uint32_t at = (link - net->inner) % net->inner_each, numa = net->cluster->numa;
    return at < numa                 ? MLT_NETWORK_MEMORY
           : at < numa + numa * numa ? MLT_NETWORK_NUMA
                                     : MLT_NETWORK_SOCKET;
}

static void inner_name(const mlt_network *net, uint32_t link, char *text, size_t size)
{
    uint32_t host = (link - net->inner) / net->inner_each, numa = net->cluster->numa;
    uint32_t at = (link - net->inner) % net->inner_each, sockets = net->cluster->sockets;
    if (at < numa) {
        snprintf(text, size, "host %u, memory of node %u", host, at);
        return;
    }
    at -= numa;
    bool node = at < numa * numa;
    uint32_t of = node ? numa : sockets, pair = node ? at : at - numa * numa;
    snprintf(text, size, "host %u, %s %u to %s %u", host, node ? "node" : "socket", pair / of,
             node ? "node" : "socket", pair % of);
}

mlt_network_kind mlt_network_kind_of(const mlt_network *net, uint32_t link)
{
    if (link < 2 * net->ends)
        return MLT_NETWORK_HOST;
    if (net->inside && link >= net->inner)
        return inner_kind(net, link);
    bool global = net->cluster->shape == MLT_NETWORK_DRAGONFLY && link >= net->base[1];
    return global ? MLT_NETWORK_GLOBAL : MLT_NETWORK_SWITCH;
}

static void fat_tree_name(const mlt_network *net, uint32_t link, char *text, size_t size)
{
    uint32_t part = 2 * (net->cluster->levels - 1) - 1;
    while (link < net->base[part])
        part--;
    uint32_t level = part / 2 + 1, at = link - net->base[part], above = net->wide[level + 1];
    uint32_t group = at / above, top = at % above;
    uint32_t parent = (uint32_t)((uint64_t)group * net->below[level] / net->below[level + 1]);
    char low[40], high[40];
    snprintf(low, sizeof low, "switch %u.%u.%u", level, group, top % net->wide[level]);
    snprintf(high, sizeof high, "switch %u.%u.%u", level + 1, parent, top);
    snprintf(text, size, "%s to %s", part % 2 ? high : low, part % 2 ? low : high);
}

static void torus_name(const mlt_network *net, uint32_t link, char *text, size_t size)
{
    const mlt_cluster *c = net->cluster;
    uint32_t at = link - net->base[0], node = at / (2 * c->dimensions),
             way = at % (2 * c->dimensions);
    mlt_text out = mlt_text_on(text, size);
    mlt_text_add(&out, "node ");
    for (uint32_t d = 0, rest = node; d < c->dimensions; rest /= c->size[d++])
        mlt_text_add(&out, "%s%u", d ? "," : "", rest % c->size[d]);
    mlt_text_add(&out, " %s in dimension %u", way % 2 ? "down" : "up", way / 2);
}

static void dragonfly_name(const mlt_network *net, uint32_t link, char *text, size_t size)
{
    const mlt_cluster *c = net->cluster;
    if (link < net->base[1]) {
        uint32_t at = link - net->base[0], from = at / c->routers;
        snprintf(text, size, "group %u, router %u to router %u", from / c->routers,
                 from % c->routers, at % c->routers);
        return;
    }
    uint32_t others = c->groups - 1, at = link - net->base[1];
    uint32_t group = at / (others * net->parallel), port = at % (others * net->parallel);
    uint32_t to = port % others + (port % others >= group);
    snprintf(text, size, "group %u, router %u to group %u", group, port / c->global, to);
}

const char *mlt_network_link_name(const mlt_network *net, uint32_t link, char *text, size_t size)
{
    uint32_t nics = net->cluster->nics, end = link % net->ends;
    if (link < 2 * net->ends) {
        const char *way = link < net->ends ? "to its switch" : "from its switch";
        if (nics > 1)
            snprintf(text, size, "host %u, NIC %u %s", end / nics, end % nics, way);
        else
            snprintf(text, size, "host %u %s", end, way);
    } else if (net->inside && link >= net->inner) {
        inner_name(net, link, text, size);
    } else if (net->cluster->shape == MLT_NETWORK_FAT_TREE) {
        fat_tree_name(net, link, text, size);
    } else if (net->cluster->shape == MLT_NETWORK_TORUS) {
        torus_name(net, link, text, size);
    } else {
        dragonfly_name(net, link, text, size);
    }
    return text;
}
