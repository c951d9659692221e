// SPDX-License-Identifier: BSD-3-Clause
#include "launch/watch/map.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failures;

static void expect(const char *name, const char *text, const char *wanted, bool there)
{
    if ((strstr(text, wanted) != NULL) == there)
        return;
    failures++;
    fprintf(stderr, "%s: '%s' should %sbe in\n%s\n", name, wanted, there ? "" : "not ", text);
}

static mlt_ctl_choice choice(const char *comm, const char *alg, uint64_t calls, uint64_t bytes)
{
    mlt_ctl_choice c = {.calls = calls, .least = bytes, .most = bytes, .ranks = 8, .workers = 2};
    snprintf(c.comm, sizeof c.comm, "%s", comm);
    snprintf(c.alg, sizeof c.alg, "%s", alg);
    snprintf(c.by, sizeof c.by, "built in");
    snprintf(c.why, sizeof c.why, "so it is");
    snprintf(c.collective, sizeof c.collective, "allreduce");
    return c;
}

static mlt_ctl_path path(const char *stack, uint32_t level)
{
    mlt_ctl_path p = {.calls = 4, .bytes = 32, .ranks = 8, .workers = 2, .level = level};
    snprintf(p.object, sizeof p.object, "MPI_COMM_WORLD");
    snprintf(p.by, sizeof p.by, "my.lua:3");
    snprintf(p.stack, sizeof p.stack, "%s", stack);
    snprintf(p.collective, sizeof p.collective, "allreduce");
    for (int t = 0; t < MLT_TIMES; t++)
        p.time[t] = (mlt_ctl_clock){4, 4000, 500, 2000};
    return p;
}

typedef void printer(mlt_path_map *map, FILE *out);

static void print(mlt_path_map *map, FILE *out)
{
    mlt_path_map_print(map, "./program", out);
}

static void draw(mlt_path_map *map, FILE *out)
{
    mlt_path_map_draw(map, "<./program>", out);
}

static char *text_of(mlt_path_map *map, printer *how)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        exit(1);
    how(map, out);
    fclose(out);
    return text;
}

static void test_choices(void)
{
    mlt_path_map map;
    mlt_path_map_init(&map);
    char *text = text_of(&map, mlt_path_map_report);
    expect("nothing", text, "collectives", false);
    free(text);
    mlt_ctl_choice c[] = {choice("a", "ring", 3, 8), choice("a", "ring", 0, 64),
                          choice("a", "binomial", 9, 8), choice("b", "ring", 1, 0)};
    memset(c[3].comm, '\a', sizeof c[3].comm); // damaged: no end, no letters
    c[2].hosts = 2;
    strcpy(c[2].stages, "bcast.linear on each host");
    mlt_path_map_choices(&map, c, 3);
    mlt_path_map_choices(&map, &c[3], 1);
    text = text_of(&map, mlt_path_map_report);
    expect("those that are alike", text,
           "3 calls, 8 bytes to 64 bytes; 8 ranks in 2 workers: ring ", true);
    expect("the reason", text,
           "9 calls, 8 bytes; 8 ranks in 2 workers, on 2 hosts: binomial (built in: so it is): "
           "bcast.linear on each host\n",
           true);
    expect("damaged", text, "???????", true);
    expect("damaged", text, "\a", false);
    if (strstr(text, "9 calls") > strstr(text, "3 calls"))
        expect("order", text, "more calls first", true);
    free(text);
    mlt_path_map_fini(&map);
}

static void test_paths(void)
{
    mlt_path_map map;
    mlt_path_map_init(&map);
    mlt_ctl_path p[] = {path("count, delay 5 us, check, combine", MLT_LEVEL_COMBINED),
                        path("count, delay 5 us, check, combine", MLT_LEVEL_COMBINED),
                        path("count", MLT_LEVEL_FLAT)};
    p[1].time[MLT_TIME_CHECK] = (mlt_ctl_clock){1, 9000, 9000, 9000};
    p[1].time[MLT_TIME_DELAY] = (mlt_ctl_clock){0};
    mlt_ctl_choice c = choice("MPI_COMM_WORLD", "ring", 3, 8);
    c.segment = 4096;
    mlt_path_map_paths(&map, p, 3);
    mlt_path_map_choices(&map, &c, 1);
    char *text = text_of(&map, print);
    expect("sum", text, "8 calls counted, 64 bytes\n", true);
    expect("flat", text, "8 ranks, each for itself (my.lua:3)\n    4 calls counted", true);
    expect("clock", text,
           "    check                                 5     500 ns    2.60 us    9.00 us\n", true);
    expect("one side", text,
           "    delay 5 us                            4     500 ns    1.00 us    2.00 us\n", true);
    expect("levels", text, "    combine: gather                       8 ", true);
    expect("algorithm", text, "      ring segment=4096, 3 calls, 8 bytes (built in: so it is)\n",
           true);
    free(text);
    text = text_of(&map, draw);
    expect("drawing", text, "paths of &lt;./program&gt;", true);
    expect("drawing", text, ">check</text>", true);
    expect("drawing", text, ">ring: 3 calls</text>", true);
    expect("drawing", text, "</svg>\n", true);
    free(text);
    mlt_path_map_fini(&map);
}

// Four workers on two hosts, two calls, of the second only three workers; one host's clock is apart.
static void test_tree(void)
{
    mlt_placement_host hosts[2] = {{.host.name = "ada"}, {.host.name = "<bob>"}};
    mlt_placement_proc procs[4];
    for (uint32_t i = 0; i < 4; i++)
        procs[i] = (mlt_placement_proc){.host = i / 2, .first_rank = 2 * i, .ranks = 2};
    mlt_placement plan = {
        .procs = procs, .proc_count = 4, .workers = 4, .ranks = 8, .hosts = hosts, .host_count = 2};
    mlt_path_map map;
    mlt_path_map_init(&map);
    mlt_ctl_path p = path("count, combine, remote ada by tcp", MLT_LEVEL_COMBINED);
    p.workers = 4;
    mlt_ctl_choice c = choice("MPI_COMM_WORLD", "hosts", 3, 8);
    c.workers = 4;
    strcpy(c.stages,
           "reduce.linear on each host, allreduce.ring between hosts, bcast.chain on each host");
    mlt_path_map_paths(&map, &p, 1);
    mlt_path_map_choices(&map, &c, 1);
    for (uint32_t i = 0; i < 7; i++) {
        uint64_t at = 1000000 + (i % 4 > 1 ? 5000000000u : 0) + 100 * (i % 4);
        mlt_ctl_step s = {.number = 5 + i / 4,
                          .ranks = 8,
                          .workers = 4,
                          .place = i % 4,
                          .first = 2 * (i % 4),
                          .present = 2,
                          .speaker = 2 * (i % 4),
                          .time = {at, at + 10, at + 20, at + 1000, at + 1010}};
        memcpy(s.object, p.object, sizeof s.object);
        memcpy(s.by, p.by, sizeof s.by);
        memcpy(s.collective, p.collective, sizeof s.collective);
        mlt_path_map_steps(&map, &plan, &s, 1);
    }
    char *text = text_of(&map, draw);
    expect("tree", text, "8 ranks in 4 workers on 2 hosts", true);
    expect("tree", text, ">&lt;bob&gt;</text>", true);
    expect("order", text, ">3, 5  on each host</text>", true);
    expect("order", text, ">2, 6  combine</text>", true);
    expect("remote", text, ">allreduce.ring between hosts, on ada by tcp</text>", true);
    expect("whole calls only", text, "data-calls='[{\"n\":5,\"t\":[[0,10,20,1000,1010],[100,",
           true);
    expect("whole calls only", text, "\"n\":6", false);
    expect("clocks", text, "5000", false);
    expect("script", text, "</script>\n</svg>\n", true);
    free(text);
    mlt_path_tree *t = mlt_path_tree_new(&map, &map.paths[0]);
    FILE *out = open_memstream(&text, &(size_t){0});
    mlt_picture_print(&t->tree, out);
    fclose(out);
    expect("text", text,
           "    all: allreduce.ring between hosts, on ada by tcp (4)\n    ada; share "
           "reduce.linear, bcast.chain (3, 5)\n        worker 0: ranks 0-1; share "
           "combine (2, 6)\n",
           true);
    free(text);
    mlt_path_tree_free(t);
    mlt_path_map_fini(&map);
}

int main(void)
{
    test_tree();
    test_choices();
    test_paths();
    if (!failures)
        puts("all right");
    return failures != 0;
}
