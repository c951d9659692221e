// SPDX-License-Identifier: BSD-3-Clause
#include "judge/net/cluster.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/memory.h"
#include "base/text.h"
#include "judge/net/route.h"

// ---- words of a line

enum { LONGEST_WORD = 64 };
static const double MOST_NS = 1e15, MOST_BANDWIDTH = 1e6;

typedef struct cluster_reader {
    const char *name, *at, *end; // what is left
    const char *line_start;
    uint32_t line;
    const char *word_start; // where errors point to
    char word[LONGEST_WORD];
    mlt_cluster *to;
    uint32_t seen; // bits: lines that stand at most once
    uint32_t list_room;
    char *why;
    size_t why_size;
} cluster_reader;

static MLT_PRINTF(2, 3) bool fail(const cluster_reader *r, const char *format, ...)
{
    int length = snprintf(r->why, r->why_size, "%s:%u:%zu: ", r->name, r->line,
                          (size_t)(r->word_start - r->line_start) + 1);
    if (length >= 0 && (size_t)length < r->why_size)
        MLT_TEXT_PRINT(r->why + length, r->why_size - (size_t)length, format);
    return false;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

// The next word of the line; at its end, or before a comment, an empty one. Bytes that nobody can
// see are shown as '?'; what is too long is cut, and then is no word that anything knows.
static void next(cluster_reader *r)
{
    while (r->at < r->end && is_blank(*r->at))
        r->at++;
    r->word_start = r->at;
    size_t length = 0;
    for (; r->at < r->end && !is_blank(*r->at) && *r->at != '\n' && *r->at != '#'; r->at++)
        if (length < LONGEST_WORD - 1)
            r->word[length++] = isprint((unsigned char)*r->at) ? *r->at : '?';
    r->word[length] = '\0';
}

static bool is(const cluster_reader *r, const char *word)
{
    return strcmp(r->word, word) == 0;
}

// The word as an error shows it.
static const char *shown(const cluster_reader *r, char text[LONGEST_WORD + 8])
{
    if (!r->word[0])
        return "the end of the line";
    snprintf(text, LONGEST_WORD + 8, "'%s'", r->word);
    return text;
}

static bool read_real(cluster_reader *r, const char *what, double least, double most, double *out)
{
    char *end, text[LONGEST_WORD + 8];
    next(r);
    double value = strtod(r->word, &end);
    if (!isdigit((unsigned char)r->word[0]) || *end || !(value >= least && value <= most))
        return fail(r, "%s should be a number from %g to %g, not %s", what, least, most,
                    shown(r, text));
    *out = value;
    return true;
}

static bool parse_count(const char *text, uint32_t least, uint32_t most, uint32_t *out)
{
    char *end;
    if (!isdigit((unsigned char)text[0]))
        return false;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    if (*end || errno || value < least || value > most)
        return false;
    *out = (uint32_t)value;
    return true;
}

static bool read_count(cluster_reader *r, const char *what, uint32_t least, uint32_t most,
                       uint32_t *out)
{
    char text[LONGEST_WORD + 8];
    next(r);
    if (!parse_count(r->word, least, most, out))
        return fail(r, "%s should be a whole number from %u to %u, not %s", what, least, most,
                    shown(r, text));
    return true;
}

// ---- lines

// A word and the number behind it: one of these two.
typedef struct setting {
    const char *word;
    double least, most;
    uint32_t *count;
    double *real;
} setting;

static bool read_setting(cluster_reader *r, const setting *s)
{
    return s->count ? read_count(r, s->word, (uint32_t)s->least, (uint32_t)s->most, s->count)
                    : read_real(r, s->word, s->least, s->most, s->real);
}

// The setting of the line's word; NULL: it is none of them.
static const setting *find_setting(const cluster_reader *r, const setting *all, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (is(r, all[i].word))
            return &all[i];
    return NULL;
}

// Settings up to the end of the line. What else stands there is not what `are` says.
static bool read_settings(cluster_reader *r, const setting *all, size_t count, const char *are)
{
    char text[LONGEST_WORD + 8];
    for (next(r); r->word[0]; next(r)) {
        const setting *s = find_setting(r, all, count);
        if (!s)
            return fail(r, "%s, not %s", are, shown(r, text));
        if (!read_setting(r, s))
            return false;
    }
    return true;
}

// The same, at least one of them.
static bool read_some(cluster_reader *r, const setting *all, size_t count, const char *are,
                      const char *wanted)
{
    const char *start = r->at;
    if (!read_settings(r, all, count, are))
        return false;
    while (start < r->word_start && is_blank(*start))
        start++;
    return start < r->word_start ? true : fail(r, "%s", wanted);
}

static bool read_processors(cluster_reader *r)
{
    const setting all[] = {{"switch", 0, MOST_NS, .real = &r->to->change},
                           {"wake", 0, MOST_NS, .real = &r->to->wake}};
    return read_count(r, "processors", 1, MLT_CLUSTER_PROCESSORS, &r->to->processors) &&
           read_settings(r, all, 2,
                         "after the number of processors there may be 'switch' and 'wake', each "
                         "with a number of ns");
}

static bool add_hosts(cluster_reader *r)
{
    char text[LONGEST_WORD + 8], *dash = strchr(r->word, '-');
    uint32_t first, last;
    if (dash)
        *dash = '\0';
    bool good = parse_count(r->word, 0, MLT_CLUSTER_HOSTS - 1, &first);
    last = first;
    if (good && dash)
        good = parse_count(dash + 1, first, MLT_CLUSTER_HOSTS - 1, &last);
    if (dash)
        *dash = '-';
    if (!good)
        return fail(r,
                    "a host of the list should be a number such as 3 or a range such as 0-7, "
                    "not %s",
                    shown(r, text));
    mlt_cluster *c = r->to;
    if ((uint64_t)c->list_count + last - first + 1 > MLT_CLUSTER_HOSTS)
        return fail(r, "the list should have at most %d hosts", MLT_CLUSTER_HOSTS);
    for (uint32_t h = first; h <= last; h++) {
        *MLT_ARRAY_ADD(c->list, c->list_count, r->list_room) = h;
    }
    return true;
}

static bool read_place(cluster_reader *r)
{
    char text[LONGEST_WORD + 8];
    next(r);
    if (is(r, "block")) {
        r->to->place = MLT_PLACE_BLOCK;
        return true;
    }
    if (is(r, "round-robin")) {
        r->to->place = MLT_PLACE_ROUND_ROBIN;
        return true;
    }
    if (!is(r, "list"))
        return fail(r, "ranks are placed by 'block', 'round-robin' or 'list' and hosts, not by %s",
                    shown(r, text));
    r->to->place = MLT_PLACE_LIST;
    for (next(r); r->word[0]; next(r))
        if (!add_hosts(r))
            return false;
    return r->to->list_count ? true : fail(r, "the list should have a host for each rank");
}

// The line's word says of what.
static bool read_costs(cluster_reader *r)
{
    mlt_cluster *c = r->to;
    mlt_loggops *to = is(r, "large") ? &c->large : is(r, "within-host") ? &c->within : &c->between;
    const setting all[] = {{"L", 0, MOST_NS, .real = &to->L},
                           {"o", 0, MOST_NS, .real = &to->o},
                           {"g", 0, MOST_NS, .real = &to->g},
                           {"G", 0, MOST_NS, .real = &to->G},
                           {"O", 0, MOST_NS, .real = &to->O}};
    const char *are = "here should be L, o, g, G or O and a number of ns";
    return read_some(r, all, 5, are, are);
}

static bool read_S(cluster_reader *r)
{
    double value;
    if (!read_real(r, "S", 0, 9e18, &value))
        return false;
    r->to->between.S = (uint64_t)value;
    return true;
}

// Lines of a word and a number.
static bool read_plain(cluster_reader *r)
{
    mlt_cluster *c = r->to;
    const setting all[] = {{"hosts", 1, MLT_CLUSTER_HOSTS, .count = &c->hosts},
                           {"cores", 1, MLT_CLUSTER_CORES, .count = &c->cores},
                           {"nics", 1, MLT_CLUSTER_NICS, .count = &c->nics},
                           {"numa", 1, MLT_CLUSTER_NODES, .count = &c->numa},
                           {"sockets", 1, MLT_CLUSTER_NODES, .count = &c->sockets},
                           {"noise", 0, 100, .real = &c->noise},
                           {"exec", 0, MOST_NS, .real = &c->between.exec}};
    return read_setting(r, find_setting(r, all, sizeof all / sizeof *all));
}

static bool read_fat_tree(cluster_reader *r)
{
    mlt_cluster *c = r->to;
    const setting all[] = {{"levels", 1, MLT_NETWORK_LEVELS, .count = &c->levels},
                           {"radix", 2, 1 << 16, .count = &c->radix},
                           {"oversubscription", 1, 1 << 16, .real = &c->oversubscription}};
    const char *start = r->word_start;
    c->shape = MLT_NETWORK_FAT_TREE;
    c->oversubscription = 1;
    if (!read_settings(r, all, 3, "a fat-tree has levels, radix and oversubscription"))
        return false;
    r->word_start = start;
    return c->levels && c->radix ? true : fail(r, "a fat-tree needs 'levels' and 'radix'");
}

static bool read_torus(cluster_reader *r)
{
    mlt_cluster *c = r->to;
    char text[LONGEST_WORD + 8];
    c->shape = MLT_NETWORK_TORUS;
    next(r);
    char copy[LONGEST_WORD], *rest = copy, *part;
    memcpy(copy, r->word, sizeof copy);
    for (c->dimensions = 0; (part = strsep(&rest, "x")); c->dimensions++)
        if (c->dimensions == MLT_NETWORK_DIMENSIONS ||
            !parse_count(part, 1, MLT_CLUSTER_HOSTS, &c->size[c->dimensions]))
            return fail(r, "a torus has up to %d sizes such as 8x8x4, not %s",
                        MLT_NETWORK_DIMENSIONS, shown(r, text));
    return true;
}

static bool read_dragonfly(cluster_reader *r)
{
    mlt_cluster *c = r->to;
    char text[LONGEST_WORD + 8];
    c->shape = MLT_NETWORK_DRAGONFLY;
    const char *start = r->word_start;
    const setting all[] = {{"groups", 1, 1 << 16, .count = &c->groups},
                           {"routers", 1, 1 << 16, .count = &c->routers},
                           {"hosts", 1, 1 << 16, .count = &c->group_hosts},
                           {"links", 1, 1 << 16, .count = &c->global}};
    for (next(r); r->word[0]; next(r)) {
        if (is(r, "routing")) {
            next(r);
            c->valiant = is(r, "valiant");
            if (!c->valiant && !is(r, "minimal"))
                return fail(r, "routing is 'minimal' or 'valiant', not %s", shown(r, text));
            continue;
        }
        const setting *s = find_setting(r, all, 4);
        if (!s)
            return fail(r, "a dragonfly has groups, routers, hosts, links and routing, not %s",
                        shown(r, text));
        if (!read_setting(r, s))
            return false;
    }
    r->word_start = start;
    for (int i = 0; i < 4; i++)
        if (!*all[i].count && (i < 3 || c->groups > 1))
            return fail(r, "a dragonfly needs '%s'", all[i].word);
    if (c->groups > 1 && (uint64_t)c->routers * c->global < c->groups - 1)
        return fail(
            r, "the %u routers of a group have %u global links each, too few for %u other groups",
            c->routers, c->global, c->groups - 1);
    return true;
}

static bool read_network(cluster_reader *r)
{
    char text[LONGEST_WORD + 8];
    next(r);
    if (is(r, "crossbar"))
        return true;
    if (is(r, "fat-tree"))
        return read_fat_tree(r);
    if (is(r, "torus"))
        return read_torus(r);
    if (is(r, "dragonfly"))
        return read_dragonfly(r);
    return fail(r, "a network is a 'crossbar', 'fat-tree', 'torus' or 'dragonfly', not %s",
                shown(r, text));
}

static bool read_link(cluster_reader *r)
{
    static const char *const kinds[MLT_NETWORK_KINDS] = {"host",   "switch", "global",
                                                         "memory", "numa",   "socket"};
    char text[LONGEST_WORD + 8];
    int kind = 0;
    next(r);
    while (kind < MLT_NETWORK_KINDS && !is(r, kinds[kind]))
        kind++;
    if (kind == MLT_NETWORK_KINDS)
        return fail(r,
                    "links are of 'host', 'switch', 'global', 'memory', 'numa' or 'socket', not %s",
                    shown(r, text));
    if (r->seen & UINT32_C(1) << (24 + kind))
        return fail(r, "the links of '%s' are there twice", r->word);
    r->seen |= UINT32_C(1) << (24 + kind);
    mlt_network_cost *to = &r->to->cost[kind];
    const setting all[] = {{"latency", 0, MOST_NS, .real = &to->latency},
                           {"bandwidth", 1e-6, MOST_BANDWIDTH, .real = &to->bandwidth}};
    return read_some(r, all, 2, "a link has latency and bandwidth",
                     "here should be 'latency' or 'bandwidth' and a number");
}

static const struct line_kind {
    const char *word;
    bool (*read)(cluster_reader *r);
} lines[] = {{"hosts", read_plain},
             {"cores", read_plain},
             {"nics", read_plain},
             {"place", read_place},
             {"within-host", read_costs},
             {"between-hosts", read_costs},
             {"S", read_S},
             {"exec", read_plain},
             {"network", read_network},
             {"link", read_link},
             {"processors", read_processors},
             {"numa", read_plain},
             {"sockets", read_plain},
             {"large", read_costs},
             {"noise", read_plain}};
enum { LINES = sizeof lines / sizeof *lines, WITHIN = 4, NETWORK = 8, LINK = 9, LARGE = 13 };

static bool read_line(cluster_reader *r)
{
    char text[LONGEST_WORD + 8];
    int i = 0;
    next(r);
    if (!r->word[0])
        return true;
    while (i < LINES && !is(r, lines[i].word))
        i++;
    if (i == LINES)
        return fail(
            r,
            "a line begins with hosts, cores, processors, numa, sockets, nics, place, "
            "within-host, large, noise, between-hosts, S, exec, network or link, not with %s",
            shown(r, text));
    if (i != LINK && r->seen & UINT32_C(1) << i)
        return fail(r, "there is a second line '%s'", r->word);
    r->seen |= UINT32_C(1) << i;
    if (!lines[i].read(r))
        return false;
    next(r);
    return r->word[0] ? fail(r, "here should be the end of the line, not %s", shown(r, text))
                      : true;
}

// ---- all of it

// What a line alone cannot tell. Errors point behind the last line.
static bool complete(cluster_reader *r)
{
    mlt_cluster *c = r->to;
    mlt_network net;
    if (!(r->seen & 1 << NETWORK))
        return fail(r, "a line 'network' is missing: crossbar, fat-tree, torus or dragonfly");
    uint64_t room = mlt_network_capacity(c);
    if (c->shape == MLT_NETWORK_CROSSBAR && !c->hosts)
        return fail(r, "a line 'hosts' is missing: a crossbar has any number of them");
    if (!c->hosts && room > MLT_CLUSTER_HOSTS)
        return fail(r, "the network has more than %d hosts", MLT_CLUSTER_HOSTS);
    if (c->hosts > room)
        return fail(r, "there are %u hosts, but the network has room for %" PRIu64, c->hosts, room);
    if (!c->hosts)
        c->hosts = (uint32_t)room;
    for (uint32_t i = 0; i < c->list_count; i++)
        if (c->list[i] >= c->hosts)
            return fail(r, "the list places rank %u on host %u, but the hosts are 0 to %u", i,
                        c->list[i], c->hosts - 1);
    if (!c->sockets)
        c->sockets = 1;
    if (!c->numa)
        c->numa = c->sockets;
    if (c->numa % c->sockets)
        return fail(r, "the %u NUMA nodes of a host are no multiple of its %u sockets", c->numa,
                    c->sockets);
    if (!mlt_network_init(&net, c))
        return fail(r, "the network has more than %u links", MLT_CLUSTER_LINKS);
    if (!(r->seen & 1 << WITHIN))
        c->within = c->between;
    c->within.S = c->between.S;
    c->within.exec = c->between.exec;
    if (!(r->seen & 1 << LARGE))
        c->large = c->within;
    c->large.S = c->between.S;
    c->large.exec = c->between.exec;
    return true;
}

mlt_status mlt_cluster_read(const char *name, const char *text, size_t length, mlt_cluster **out,
                            char *why, size_t why_size)
{
    cluster_reader r = {
        .name = name, .at = text, .end = text + length, .why = why, .why_size = why_size};
    r.to = mlt_xcalloc(1, sizeof *r.to);
    *r.to = (mlt_cluster){.cores = 1,
                          .nics = 1,
                          .within = mlt_loggops_default,
                          .large = mlt_loggops_default,
                          .between = mlt_loggops_default};
    bool good = true;
    *out = NULL;
    do {
        r.line_start = r.word_start = r.at;
        r.line++;
        good = read_line(&r);
        while (r.at < r.end && *r.at != '\n')
            r.at++;
        if (good && r.at == r.end)
            break;
        r.at++;
    } while (good);
    r.word_start = r.line_start;
    if (good && complete(&r)) {
        *out = r.to;
        return MLT_OK;
    }
    mlt_cluster_free(r.to);
    return MLT_ERR_INVALID;
}

void mlt_cluster_free(mlt_cluster *cluster)
{
    if (!cluster)
        return;
    free(cluster->list);
    free(cluster);
}

// ---- where ranks are

mlt_status mlt_cluster_ranks(const mlt_cluster *c, uint32_t ranks, uint32_t *nic, char *why,
                             size_t why_size)
{
    uint64_t room = (uint64_t)c->hosts * c->cores;
    if (c->place == MLT_PLACE_LIST && ranks > c->list_count)
        return mlt_fail(MLT_ERR_INVALID, why, why_size,
                        "the program has %u ranks, but the machine's list places %u", ranks,
                        c->list_count);
    if (ranks > room)
        return mlt_fail(MLT_ERR_INVALID, why, why_size,
                        "the program has %u ranks, but the machine has room for %" PRIu64
                        ": %u host%s with %u core%s",
                        ranks, room, c->hosts, c->hosts == 1 ? "" : "s", c->cores,
                        c->cores == 1 ? "" : "s");
    uint32_t *on = mlt_xcalloc(c->hosts, sizeof *on); // ranks of a host so far
    mlt_status status = MLT_OK;
    for (uint32_t r = 0; r < ranks && status == MLT_OK; r++) {
        uint32_t host = c->place == MLT_PLACE_BLOCK         ? r / c->cores
                        : c->place == MLT_PLACE_ROUND_ROBIN ? r % c->hosts
                                                            : c->list[r];
        if (on[host] == c->cores)
            status = mlt_fail(
                MLT_ERR_INVALID, why, why_size,
                "the machine's list places more than %u ranks on host %u, as many as it has cores",
                c->cores, host);
        nic[r] = host * c->nics + on[host]++ % c->nics;
    }
    free(on);
    return status;
}

void mlt_cluster_nodes(const mlt_cluster *c, uint32_t ranks, const uint32_t *nic, uint32_t *node)
{
    uint32_t *on = mlt_xcalloc(c->hosts, sizeof *on),
             cores = c->processors ? c->processors : c->cores;
    for (uint32_t r = 0; r < ranks; r++) {
        uint32_t host = nic[r] / c->nics, core = on[host]++ % cores;
        node[r] = host * c->numa + (uint32_t)((uint64_t)core * c->numa / cores);
    }
    free(on);
}

const char *mlt_cluster_describe(const mlt_cluster *c, char *text, size_t size)
{
    mlt_text out = mlt_text_on(text, size);
    mlt_text_add(&out, "%u host%s with %u core%s", c->hosts, c->hosts == 1 ? "" : "s", c->cores,
                 c->cores == 1 ? "" : "s");
    if (c->processors)
        mlt_text_add(&out, " on %u processor%s (switch %g, wake %g ns)", c->processors,
                     c->processors == 1 ? "" : "s", c->change, c->wake);
    if (c->numa > 1)
        mlt_text_add(&out, " in %u NUMA nodes of %u socket%s", c->numa, c->sockets,
                     c->sockets == 1 ? "" : "s");
    mlt_text_add(&out, " and %u NIC%s, ", c->nics, c->nics == 1 ? "" : "s");
    if (c->shape == MLT_NETWORK_FAT_TREE)
        mlt_text_add(&out, "fat-tree with %u levels of %u ports, oversubscription %g", c->levels,
                     c->radix, c->oversubscription);
    else if (c->shape == MLT_NETWORK_DRAGONFLY)
        mlt_text_add(&out, "dragonfly with %u groups of %u routers, %s routing", c->groups,
                     c->routers, c->valiant ? "valiant" : "minimal");
    else
        mlt_text_add(&out, c->shape == MLT_NETWORK_TORUS ? "torus " : "crossbar");
    for (uint32_t d = 0; c->shape == MLT_NETWORK_TORUS && d < c->dimensions; d++)
        mlt_text_add(&out, "%s%u", d ? "x" : "", c->size[d]);
    return text;
}
