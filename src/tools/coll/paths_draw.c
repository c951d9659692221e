// SPDX-License-Identifier: BSD-3-Clause
// `millet paths draw BOOK`: the trees of a rule book's paths, before anything runs.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "coll/alg/hosts/map.h"
#include "coll/alg/hosts/stage.h"
#include "launch/watch/map.h"
#include "launch/watch/paint.h"
#include "lua/rulebook.h"
#include "tools/coll/info.h"
#include "tools/commands.h"

enum { MOST_DRAWN = 65536, MOST_HOSTS = 4096, DRAW_MARGIN = 20 };

static struct {
    uint64_t ranks, each, bytes;
    const char *hosts, *coll, *comm, *out;
} draw = {.ranks = 8, .each = 1, .bytes = 8};

// ---- where ranks are

typedef struct drawn_layout {
    const char **names; // of hosts
    uint32_t *slots;
    uint32_t named, hosts, workers; // named: with those that have no worker
    mlt_picture_worker *worker;
    uint32_t *host_of_rank, *host_of_worker;
} drawn_layout;

static void add_host(drawn_layout *l, const char *text, size_t length)
{
    size_t name = length;
    uint64_t slots = 1;
    const char *colon = memchr(text, ':', length);
    if (colon) {
        char *end;
        name = (size_t)(colon - text);
        slots = strtoull(colon + 1, &end, 10);
        if (end != text + length || end == colon + 1 || slots < 1 || slots > MOST_DRAWN)
            mlt_args_wrong("option --hosts: '%.*s' should be a name and how many workers it takes, "
                           "such as a:2",
                           (int)length, text);
    }
    if (!name)
        mlt_args_wrong("option --hosts: a host has no name");
    if (l->hosts == MOST_HOSTS)
        mlt_args_wrong("option --hosts: more than %d hosts", MOST_HOSTS);
    l->names = mlt_xrealloc(l->names, l->hosts + 1ull, sizeof *l->names);
    l->slots = mlt_xrealloc(l->slots, l->hosts + 1ull, sizeof *l->slots);
    char *copy = mlt_xcalloc(name + 1, 1);
    memcpy(copy, text, name);
    for (uint32_t h = 0; h < l->hosts; h++)
        if (strcmp(l->names[h], copy) == 0)
            mlt_args_wrong("option --hosts: host '%s' comes twice", copy);
    l->names[l->hosts] = copy;
    l->slots[l->hosts++] = (uint32_t)slots;
}

// Workers fill the hosts in their order, and all of them again if there are too few slots.
static drawn_layout lay_out(void)
{
    drawn_layout l = {.hosts = 0};
    const char *at = draw.hosts ? draw.hosts : "here";
    for (size_t n; n = strcspn(at, ","), true; at += n + 1) {
        add_host(&l, at, n);
        if (!at[n])
            break;
    }
    uint32_t ranks = (uint32_t)draw.ranks, each = (uint32_t)draw.each;
    l.workers = (ranks + each - 1) / each;
    l.worker = mlt_xcalloc(l.workers, sizeof *l.worker);
    l.host_of_worker = mlt_xcalloc(l.workers, sizeof *l.host_of_worker);
    l.host_of_rank = mlt_xcalloc(ranks, sizeof *l.host_of_rank);
    uint64_t slots = 0;
    for (uint32_t h = 0; h < l.hosts; h++)
        slots += l.slots[h];
    uint64_t rounds = draw.hosts ? (l.workers + slots - 1) / slots : l.workers;
    uint32_t host = 0;
    uint64_t taken = 0;
    for (uint32_t w = 0; w < l.workers; w++, taken++) {
        while (host + 1 < l.hosts && taken >= l.slots[host] * rounds) {
            host++;
            taken = 0;
        }
        uint32_t own = ranks - w * each < each ? ranks - w * each : each;
        l.worker[w] = (mlt_picture_worker){.first = w * each, .ranks = own, .host = host};
        l.host_of_worker[w] = host;
        for (uint32_t r = 0; r < own; r++)
            l.host_of_rank[w * each + r] = host;
    }
    l.named = l.hosts;
    l.hosts = host + 1;
    return l;
}

// ---- a path

static bool combines(const mlt_coll_path *path)
{
    for (uint32_t i = 0; i < path->count; i++)
        if (path->stages[i].wrapper == MLT_WRAP_COMBINE)
            return true;
    return false;
}

typedef struct drawn {
    mlt_picture tree;
    char stack[256], alg[64], stages[512];
} drawn;

static void choose(drawn *d, mlt_coll_rulebook *rulebook, const drawn_layout *l,
                   mlt_collective collective, const mlt_coll_path *path, bool flat)
{
    uint32_t ranks = flat ? (uint32_t)draw.ranks : l->workers;
    mlt_coll_hosts *map =
        l->hosts > 1
            ? mlt_coll_hosts_new(ranks, flat ? l->host_of_rank : l->host_of_worker, l->hosts)
            : NULL;
    bool reduces = mlt_collective_reduces(collective);
    mlt_coll_question q = {.collective = collective,
                           .ranks = ranks,
                           .all_ranks = (uint32_t)draw.ranks,
                           .bytes = collective == MLT_COLL_BARRIER ? 0 : draw.bytes,
                           .op = reduces ? MLT_OP_SUM : MLT_OP_COPY,
                           .type = reduces ? MLT_OP_FLOAT64 : MLT_OP_UINT8,
                           .element = reduces ? 8 : 1,
                           .commutes = true,
                           .sharing = 1,
                           .cores = map ? 0 : ranks,
                           .reach = map ? MLT_REACH_NETWORK : MLT_REACH_HOST,
                           .hosts = map,
                           .comm = path->comm ? path->comm : "MPI_COMM_WORLD"};
    mlt_coll_choice choice;
    if (ranks < 2)
        return;
    if (map) {
        map->sharing = 1;
        map->cores = map->most;
    }
    mlt_coll_choose(rulebook, &q, &choice, MLT_ARGS_WHY);
    if (*mlt_args_why)
        mlt_args_failed("%s", mlt_args_why);
    uint32_t center = mlt_coll_remote_host(path, l->names, l->hosts);
    if (center)
        mlt_coll_remote(path, &q, &choice);
    mlt_coll_shape shape = mlt_coll_choice_shape(&q, &choice);
    shape.center = center;
    snprintf(d->alg, sizeof d->alg, "%s.%s", mlt_collective_names[collective], choice.alg->name);
    if (!mlt_hierarchy_tell(choice.alg, &shape, d->stages, sizeof d->stages))
        d->stages[0] = '\0';
    mlt_coll_hosts_free(map);
}

// A job without the host of a `remote` would not start.
static void must_name(const drawn_layout *l, const mlt_coll_path *path)
{
    const mlt_coll_stage *remote = mlt_coll_remote_stage(path->stages, path->count);
    if (draw.hosts && remote && !mlt_coll_remote_host(path, l->names, l->named))
        mlt_args_failed("%s: remote: option --hosts names no host '%s'", path->by, remote->host);
}

static drawn *draw_path(mlt_coll_rulebook *rulebook, const drawn_layout *l,
                        const mlt_coll_path *path)
{
    drawn *d = mlt_xcalloc(1, sizeof *d);
    mlt_collective collective = path->collective;
    if (collective == MLT_COLLECTIVES)
        collective = draw.coll ? mlt_info_collective(draw.coll) : MLT_COLL_ALLREDUCE;
    bool flat = !combines(path) || draw.each == 1;
    must_name(l, path);
    mlt_text stack = mlt_text_on(d->stack, sizeof d->stack);
    for (uint32_t i = 0; i < path->count; i++)
        mlt_coll_tell_stage(&stack, i, &path->stages[i]);
    choose(d, rulebook, l, collective, path, flat);
    d->tree = (mlt_picture){.collective = mlt_collective_names[collective],
                            .object = path->comm ? path->comm : "any communicator",
                            .by = path->by,
                            .stack = d->stack,
                            .alg = d->alg,
                            .stages = d->stages,
                            .level = !combines(path)  ? MLT_LEVEL_FLAT
                                     : draw.each == 1 ? MLT_LEVEL_ALONE
                                                      : MLT_LEVEL_COMBINED,
                            .ranks = (uint32_t)draw.ranks,
                            .workers = l->worker,
                            .count = l->workers,
                            .hosts = l->names,
                            .host_count = l->hosts};
    return d;
}

// ---- the command

static bool is_asked(const mlt_coll_path *path, mlt_collective only)
{
    return (only == MLT_COLLECTIVES || path->collective == only ||
            path->collective == MLT_COLLECTIVES) &&
           (!draw.comm || !path->comm || strcmp(draw.comm, path->comm) == 0);
}

static void write_svg(drawn *const *all, size_t count, const char *book)
{
    double height = 2 * DRAW_MARGIN;
    for (size_t i = 0; i < count; i++)
        height += mlt_picture_height(&all[i]->tree);
    FILE *out = strcmp(draw.out, "-") == 0 ? stdout : fopen(draw.out, "w");
    if (!out)
        mlt_args_failed("%s: %s", draw.out, strerror(errno));
    mlt_paint_begin(out, MLT_PICTURE_WIDTH + 2 * DRAW_MARGIN, height, book, mlt_picture_style);
    double y = DRAW_MARGIN;
    for (size_t i = 0; i < count; i++) {
        mlt_picture_draw(&all[i]->tree, (uint32_t)i, DRAW_MARGIN, y, out);
        y += mlt_picture_height(&all[i]->tree);
    }
    fputs("</svg>\n", out);
    if (ferror(out) || (out != stdout && fclose(out) != 0))
        mlt_args_failed("%s: %s", draw.out, strerror(errno));
}

static int paths_draw(const mlt_arg_texts *words)
{
    const char *book = words->items[0];
    mlt_coll_rulebook *rulebook;
    mlt_collective only = draw.coll ? mlt_info_collective(draw.coll) : MLT_COLLECTIVES;
    mlt_args_must(mlt_lua_rulebook_open(mlt_coll_algs, book, &rulebook, MLT_ARGS_WHY));
    mlt_args_must(mlt_lua_rulebook_prove(rulebook, MLT_ARGS_WHY));
    if (draw.each > draw.ranks)
        mlt_args_wrong("option --each: a worker of %llu ranks needs as many --ranks",
                       (unsigned long long)draw.each);
    drawn_layout l = lay_out();
    drawn **all = mlt_xcalloc(rulebook->paths_count + 1ull, sizeof *all);
    size_t count = 0;
    for (uint32_t i = 0; i < rulebook->paths_count; i++)
        if (is_asked(&rulebook->paths[i], only))
            all[count++] = draw_path(rulebook, &l, &rulebook->paths[i]);
    if (!count)
        mlt_args_failed("%s has no path of such calls", book);
    if (draw.out)
        write_svg(all, count, book);
    else
        for (size_t i = 0; i < count; i++)
            mlt_picture_print(&all[i]->tree, stdout);
    return MLT_EXIT_FINE; // the process ends, and all of it goes
}

static mlt_arg draw_args[] = {
    {"ranks", 'n', MLT_ARG_NUMBER, &draw.ranks, "N", .least = 1, .most = MOST_DRAWN,
     .help = "ranks of the communicator (8)"},
    {"each", 0, MLT_ARG_NUMBER, &draw.each, "N", .least = 1, .most = MOST_DRAWN,
     .help = "ranks of a worker, as mpirun -nfg (1)"},
    {"hosts", 0, MLT_ARG_TEXT, &draw.hosts, "LIST",
     .help = "hosts, and how many workers each takes: a:2,b:2 (one host)"},
    {"coll", 0, MLT_ARG_TEXT, &draw.coll, "NAME",
     .help = "only paths of this collective; what a path of any stands around (allreduce)"},
    {"comm", 0, MLT_ARG_TEXT, &draw.comm, "NAME", .help = "only paths of this communicator"},
    {"bytes", 0, MLT_ARG_SIZE, &draw.bytes, "N", .help = "bytes of a block (8)"},
    {"output", 'o', MLT_ARG_TEXT, &draw.out, "FILE",
     .help = "write a drawing (SVG) there; - is standard output (a text)"},
};

const mlt_command mlt_paths_draw_command = {
    .name = "millet paths draw",
    .help = "draw the trees of a rule book's paths",
    .words = "BOOK",
    .least = 1,
    .most = 1,
    .purpose =
        "Draws each path of a rule book as a tree: which ranks share which wrappers, on which "
        "hosts, which algorithm the rules choose between workers, and the order in which all "
        "of it happens. Nothing runs; the rule book is proven first, as mpirun does. `mpirun "
        "--paths FILE.svg` draws the same trees with the times of a run.",
    .groups = {{NULL, MLT_ARG_LIST(draw_args)}},
    .run = paths_draw};
