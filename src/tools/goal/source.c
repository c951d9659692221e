// SPDX-License-Identifier: BSD-3-Clause
#include "tools/goal/source.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/memory.h"
#include "base/text.h"
#include "goal/sched.h"
#include "goal/text/loggopsim.h"
#include "lua/generate.h"
#include "lua/rulebook.h"
#include "tools/progress.h"

enum { FIRST_ROOM = 1 << 16 };

mlt_source_options mlt_source_asked = {.count = 1};
mlt_arg mlt_source_args[MLT_SOURCE_ARGS] = {
    {"alg", 'a', MLT_ARG_TEXTS, &mlt_source_asked.algs, "NAME",
     .help = "take this algorithm instead of a file, such as bcast.binomial; `millet goal gen "
             "--list` lists all"},
    {"ranks", 'n', MLT_ARG_NUMBER, &mlt_source_asked.ranks, "P", .least = 1,
     .most = MLT_GOAL_MAX_RANKS, .help = "number of ranks, for an algorithm or a Lua file"},
    {"hosts", 0, MLT_ARG_NUMBER, &mlt_source_asked.hosts, "N", .least = 1,
     .most = MLT_GOAL_MAX_RANKS,
     .help = "hosts that the ranks of an algorithm are on, as many on each as on any other"},
    {"in-turn", 0, MLT_ARG_FLAG, &mlt_source_asked.in_turn, NULL,
     .help = "with --hosts: neighbours are on different hosts, as with mpirun --map-by node"},
    {"count", 0, MLT_ARG_NUMBER, &mlt_source_asked.count, "N", .help = "elements of a block (1)"},
    {"type", 0, MLT_ARG_TEXT, &mlt_source_asked.type, "TYPE", .help = "type of an element (Int32)"},
    {"op", 0, MLT_ARG_TEXT, &mlt_source_asked.op, "OP",
     .help = "operation of a reduction, such as sum or maxFloat64 (sum)"},
    {"root", 0, MLT_ARG_NUMBER, &mlt_source_asked.root, "R", .most = MLT_GOAL_MAX_RANKS,
     .help = "root of a bcast, reduce, gather or scatter (0)"},
    {"segment", 0, MLT_ARG_NUMBER, &mlt_source_asked.segment, "N",
     .help = "elements of a piece of a pipeline"},
    {"radix", 0, MLT_ARG_NUMBER, &mlt_source_asked.radix, "K", .most = UINT32_MAX,
     .help = "radix of trees and disseminations"},
    {"throttle", 0, MLT_ARG_NUMBER, &mlt_source_asked.throttle, "N", .least = 1, .most = UINT32_MAX,
     .help = "most messages under way at a time"},
    {"in-place", 0, MLT_ARG_FLAG, &mlt_source_asked.in_place, NULL,
     .help = "each rank's input lies where its result goes"},
    {"blocks", 0, MLT_ARG_TEXT, &mlt_source_asked.blocks, "N,N,...",
     .help = "sizes of blocks that differ, one for each rank, in elements (for a file in "
             "bytes; for an alltoall weights)"},
    {"contributors", 0, MLT_ARG_TEXT, &mlt_source_asked.contributors, "LIST",
     .help = "of reduce_to: the ranks whose input counts, such as 0-3,7 (all)"},
    {"receivers", 0, MLT_ARG_TEXT, &mlt_source_asked.receivers, "LIST",
     .help = "of reduce_to: the ranks that get the result, in the same way (all)"},
    {"set", 0, MLT_ARG_TEXTS, &mlt_source_asked.set, "NAME=VALUE",
     .help = "for a Lua script that returns a function: arg.NAME is \"VALUE\""},
    {"lua-steps", 0, MLT_ARG_NUMBER, &mlt_source_asked.steps, "N", .least = 1, .most = INT64_MAX,
     .help = "for such a script: most steps that it may take for a rank (100000000)"},
};

void mlt_source_rename(const char *name, const char *other)
{
    for (int i = 0; i < MLT_SOURCE_ARGS; i++)
        if (strcmp(mlt_source_args[i].name, name) == 0)
            mlt_source_args[i].name = other;
}

const char *mlt_source_given(const char *names)
{
    return mlt_args_given(MLT_ARG_LIST(mlt_source_args), names);
}

// ---- bytes

static mlt_source_file read_stream(const char *file, int fd)
{
    char *bytes = NULL;
    size_t size = 0, room = 0;
    for (ssize_t n = 1; n != 0; size += n > 0 ? (size_t)n : 0) {
        MLT_ARRAY_WANT(bytes, size + FIRST_ROOM, room);
        n = read(fd, bytes + size, room - size);
        if (n < 0 && errno != EINTR)
            mlt_args_failed("'%s' cannot be read: %s", file, strerror(errno));
    }
    return (mlt_source_file){bytes, size, false};
}

mlt_source_file mlt_source_file_read(const char *file)
{
    if (strcmp(file, "-") == 0)
        return read_stream("standard input", STDIN_FILENO);
    int fd = open(file, O_RDONLY | O_CLOEXEC);
    struct stat about;
    if (fd < 0 || fstat(fd, &about) != 0)
        mlt_args_failed("'%s' cannot be read: %s", file, strerror(errno));
    if (S_ISDIR(about.st_mode))
        mlt_args_failed("'%s' is a directory, but should be a file", file);
    void *map = S_ISREG(about.st_mode) && about.st_size > 0
                    ? mmap(NULL, (size_t)about.st_size, PROT_READ, MAP_PRIVATE, fd, 0)
                    : MAP_FAILED;
    mlt_source_file out = {map, (size_t)about.st_size, true};
    if (map == MAP_FAILED)
        out = read_stream(file, fd);
    close(fd);
    return out;
}

void mlt_source_file_drop(mlt_source_file *bytes)
{
    if (bytes->mapped)
        munmap((void *)bytes->bytes, bytes->size);
    else
        free((void *)bytes->bytes);
    *bytes = (mlt_source_file){NULL, 0, false};
}

char *mlt_source_text(const char *path)
{
    if (!path)
        return NULL;
    mlt_source_file bytes = mlt_source_file_read(path);
    char *text = mlt_xcalloc(1, bytes.size + 1);
    memcpy(text, bytes.bytes, bytes.size);
    mlt_source_file_drop(&bytes);
    return text;
}

// ---- algorithms

mlt_op_type mlt_source_type(const char *option, const char *text)
{
    mlt_op op = MLT_OPS;
    mlt_op_type type;
    if (!mlt_goal_function(text, &op, &type) || op != MLT_OPS)
        mlt_args_wrong(
            "option %s is '%s', but should be Int8 to Int64, UInt8 to UInt64 or Float16 to "
            "Float64",
            option, text);
    return type;
}

// Where the blocks of --blocks begin, for so many ranks.
static uint64_t *read_blocks(uint32_t ranks)
{
    uint64_t *starts = mlt_xcalloc(ranks + 1ull, sizeof *starts), block;
    const char *text = mlt_source_asked.blocks;
    uint32_t count = 0;
    bool fine = true;
    for (const char *at = text; fine; at++) {
        char *end;
        errno = 0;
        block = strtoull(at, &end, 10);
        fine = *at >= '0' && *at <= '9' && !errno && (*end == ',' || !*end);
        if (fine && count < ranks)
            fine = !__builtin_add_overflow(starts[count], block, &starts[count + 1]);
        count += fine;
        if (!*end)
            break;
        at = end;
    }
    if (!fine)
        mlt_args_wrong("option --blocks is '%s', but should be sizes such as 4,0,7", text);
    if (count != ranks)
        mlt_args_wrong("option --blocks has %" PRIu32 " sizes, but there are %" PRIu32 " ranks",
                       count, ranks);
    return starts;
}

uint8_t *mlt_source_ranks(const char *option, const char *list, uint32_t ranks)
{
    if (!list)
        return NULL;
    uint8_t *set = mlt_xcalloc(ranks, 1);
    for (const char *at = list;; at++) {
        char *end;
        unsigned long first = isdigit((unsigned char)*at) ? strtoul(at, &end, 10) : ULONG_MAX;
        unsigned long last = first;
        if (first != ULONG_MAX && *end == '-' && isdigit((unsigned char)end[1]))
            last = strtoul(end + 1, &end, 10);
        if (first == ULONG_MAX || last < first || (*end && *end != ','))
            mlt_args_wrong("option --%s is '%s', but should be ranks such as 0-3,7", option, list);
        if (last >= ranks)
            mlt_args_wrong("option --%s is '%s', but the ranks are 0 to %" PRIu32, option, list,
                           ranks - 1);
        memset(set + first, 1, last - first + 1);
        at = end;
        if (!*at)
            return set;
    }
}

// The lists of an exchange: from every rank to every one a block.
static void make_parts(mlt_source *source)
{
    mlt_coll_shape *shape = &source->shape;
    uint32_t ranks = shape->ranks;
    uint64_t n = shape->count * mlt_op_type_bytes[shape->type];
    mlt_goal_messages *parts = mlt_xcalloc(ranks, sizeof *parts);
    mlt_goal_message *part = mlt_xcalloc(ranks, sizeof *part);
    for (uint32_t r = 0; r < ranks; r++) {
        part[r] = (mlt_goal_message){r, 0, r * n, n};
        parts[r] = (mlt_goal_messages){part, part, ranks, ranks, ranks * n, ranks * n};
    }
    shape->parts = parts;
}

// `name` is how messages call the algorithm.
static mlt_coll_shape read_shape(const char *name)
{
    const mlt_source_options *o = &mlt_source_asked;
    if (!o->ranks)
        mlt_args_wrong("%s needs --ranks, the number of ranks", name);
    if (o->root >= o->ranks)
        mlt_args_wrong("the root is rank %" PRIu64 ", but there are %" PRIu64
                       " ranks: 0 to %" PRIu64 " are right",
                       o->root, o->ranks, o->ranks - 1);
    mlt_coll_shape shape = {.ranks = (uint32_t)o->ranks,
                            .root = (uint32_t)o->root,
                            .count = o->count,
                            .op = MLT_OP_SUM,
                            .type = MLT_OP_INT32,
                            .segment = o->segment,
                            .radix = (uint32_t)o->radix,
                            .window = (uint32_t)o->throttle,
                            .in_place = o->in_place};
    if (o->op && !mlt_goal_function(o->op, &shape.op, &shape.type))
        mlt_args_wrong("option --op is '%s', but should be an operation such as sum or maxFloat64",
                       o->op);
    if (o->type)
        shape.type = mlt_source_type("--type", o->type);
    shape.contributes = mlt_source_ranks("contributors", o->contributors, shape.ranks);
    shape.receives = mlt_source_ranks("receivers", o->receivers, shape.ranks);
    return shape;
}

// Options that would change what an algorithm does, if it took them, are refused, not ignored.
static void not_for_alg(const char *name, const mlt_source *source)
{
    const mlt_coll_alg *alg = source->alg;
    bool hosts = alg->uses_hosts || source->rulebook; // that of a rule book may look at them
    char names[120];
    snprintf(names, sizeof names, "%s%s%s%s%sset lua-steps", hosts ? "" : "hosts ",
             alg->collective == MLT_COLL_REDUCE_TO ? "" : "contributors receivers ",
             alg->uses_segment ? "" : "segment alg-segment ", alg->uses_radix ? "" : "radix ",
             alg->uses_window ? "" : "throttle ");
    const char *lost = mlt_source_given(names);
    if (lost && !mlt_source_asked.shared)
        mlt_args_wrong(
            "--%s has no meaning for %s; `millet goal gen --list` shows what algorithms take", lost,
            name);
}

static void read_hosts(const char *name, mlt_source *out)
{
    const mlt_source_options *o = &mlt_source_asked;
    if (!o->hosts && o->in_turn)
        mlt_args_wrong("--in-turn needs --hosts, the number of hosts");
    if (!o->hosts && out->alg->uses_hosts)
        mlt_args_wrong("--alg %s needs --hosts, the number of hosts", name);
    if (!o->hosts || (!out->alg->uses_hosts && !out->rulebook))
        return;
    if (o->hosts > o->ranks)
        mlt_args_wrong("there are %" PRIu64 " hosts, but only %" PRIu64 " ranks for them", o->hosts,
                       o->ranks);
    out->shape.hosts = mlt_coll_hosts_deal(out->shape.ranks, (uint32_t)o->hosts, o->in_turn);
}

// The program of out->alg for out->shape.
static void make_program(const char *name, mlt_source *out)
{
    out->form = MLT_SOURCE_ALG;
    not_for_alg(name, out);
    read_hosts(name, out);
    if (mlt_source_asked.blocks)
        out->shape.starts = out->starts = read_blocks(out->shape.ranks);
    if (out->alg->collective == MLT_COLL_EXCHANGE)
        make_parts(out);
    snprintf(out->name, sizeof out->name, "%s, %" PRIu32 " rank%s", name, out->shape.ranks,
             out->shape.ranks == 1 ? "" : "s");
    mlt_progress progress;
    mlt_progress_begin(&progress, "generating");
    mlt_status status =
        out->rulebook
            ? mlt_lua_rulebook_program(out->rulebook, out->alg, &out->shape, mlt_progress_step,
                                       &progress, &out->program, MLT_ARGS_WHY)
            : mlt_coll_program(out->alg, &out->shape, mlt_progress_step, &progress, &out->program,
                               MLT_ARGS_WHY);
    mlt_progress_end(&progress);
    mlt_args_must(status);
}

static void read_alg(const char *alg, mlt_source *out)
{
    char name[128];
    snprintf(name, sizeof name, "--alg %s", alg);
    out->shape = read_shape(name);
    out->alg = mlt_coll_find(alg, MLT_ARGS_WHY);
    if (!out->alg)
        mlt_args_wrong("%s", mlt_args_why);
    make_program(alg, out);
}

// ---- algorithms of rule books

// "mine" or "bcast.mine".
static bool has_name(const mlt_coll_alg *alg, const char *name)
{
    const char *collective = mlt_collective_names[alg->collective];
    size_t n = strlen(collective);
    return strcmp(name, alg->name) == 0 || (strncmp(name, collective, n) == 0 && name[n] == '.' &&
                                            strcmp(name + n + 1, alg->name) == 0);
}

// The algorithm of the rule book that `chosen` names (NULL: the only one).
static void choose_alg(const char *file, const char *chosen, mlt_source *out)
{
    const mlt_coll_rulebook *rulebook = out->rulebook;
    mlt_text names = {0};
    for (uint32_t i = 0; i < rulebook->algs_count; i++) {
        const mlt_coll_alg *alg = rulebook->algs[i];
        mlt_text_add(&names, "%s%s.%s", i ? ", " : "", mlt_collective_names[alg->collective],
                     alg->name);
        if (chosen ? has_name(alg, chosen) : rulebook->algs_count == 1)
            out->alg = alg;
    }
    if (!rulebook->algs_count)
        mlt_args_failed("%s has no algorithm, only rules or paths", file);
    if (!out->alg && chosen)
        mlt_args_wrong("%s has no algorithm '%s'; it has %s", file, chosen, names.text);
    if (!out->alg)
        mlt_args_wrong("%s has %" PRIu32 " algorithms; %s:NAME chooses one of %s", file,
                       rulebook->algs_count, file, names.text);
}

static void read_rulebook(const char *file, const char *chosen, const mlt_source_file *bytes,
                          mlt_source *out)
{
    char name[128];
    mlt_args_must(mlt_lua_rulebook_read(mlt_coll_algs, file, bytes->bytes, bytes->size,
                                        &out->rulebook, MLT_ARGS_WHY));
    choose_alg(file, chosen, out);
    snprintf(name, sizeof name, "%s.%s", mlt_collective_names[out->alg->collective],
             out->alg->name);
    out->shape = read_shape(name);
    make_program(name, out);
}

// ---- files

static void read_lua(const char *file, const mlt_source_file *bytes, mlt_source *out)
{
    const mlt_source_options *o = &mlt_source_asked;
    if (!o->ranks)
        mlt_args_wrong("a Lua script needs --ranks, the number of ranks");
    mlt_lua_arg *args = mlt_xcalloc(o->set.count + 1, sizeof *args);
    for (size_t i = 0; i < o->set.count; i++) {
        const char *text = o->set.items[i], *equals = strchr(text, '=');
        if (!equals || equals == text)
            mlt_args_wrong("option --set is '%s', but should be NAME=VALUE", text);
        args[i] = (mlt_lua_arg){mlt_text_of("%.*s", (int)(equals - text), text), equals + 1};
    }
    mlt_progress progress;
    mlt_progress_begin(&progress, "generating");
    mlt_status status =
        mlt_lua_generate(file, bytes->bytes, bytes->size, (uint32_t)o->ranks, args, o->set.count,
                         o->steps, mlt_progress_step, &progress, &out->program, MLT_ARGS_WHY);
    mlt_progress_end(&progress);
    mlt_args_must(status);
}

static mlt_status read_image(const char *name, const mlt_source_file *bytes, mlt_source *out)
{
    mlt_goal_image *image;
    mlt_status status = mlt_goal_image_open(name, bytes->bytes, bytes->size, &image, MLT_ARGS_WHY);
    if (status != MLT_OK)
        return status;
    out->program = mlt_goal_image_program(image);
    mlt_goal_image_free(image);
    return MLT_OK;
}

// Keeps the bytes if the command takes the program as it is.
static mlt_status read_regular(const char *name, mlt_source_file *bytes, mlt_source *out)
{
    mlt_goal_regular *regular;
    mlt_status status =
        mlt_goal_regular_open(name, bytes->bytes, bytes->size, &regular, MLT_ARGS_WHY);
    if (status != MLT_OK)
        return status;
    mlt_goal_regular_index(regular);
    if (mlt_source_asked.regular) {
        *bytes = (mlt_source_file){NULL, 0, false};
        out->regular = regular;
        out->program = mlt_goal_program_new(1);
        return MLT_OK;
    }
    status = mlt_goal_regular_program(regular, &out->program, MLT_ARGS_WHY);
    mlt_goal_regular_free(regular);
    return status;
}

const mlt_goal_program *mlt_source_part(void *source, uint32_t rank)
{
    mlt_source *from = source;
    mlt_args_must(mlt_goal_regular_rank(from->regular, rank, from->program, MLT_ARGS_WHY));
    return from->program;
}

// Where the name of a script ends, before ":NAME"; NULL: it is none.
static const char *script_end(const char *file)
{
    size_t n = strlen(file);
    const char *colon = strstr(file, ".lua:");
    return n >= 4 && strcmp(file + n - 4, ".lua") == 0 ? file + n : colon ? colon + 4 : NULL;
}

bool mlt_source_is_script(const char *file)
{
    return script_end(file) || (mlt_source_asked.scripts && strcmp(file, "-") == 0);
}

// Options that say nothing about a file are refused, not ignored.
static void not_for_files(const char *name, bool lua)
{
    const mlt_source_options *o = &mlt_source_asked;
    if (o->shared)
        return;
    if (!lua && o->ranks)
        mlt_args_wrong(
            "--ranks is for --alg and Lua scripts, whose names end with .lua; the file '%s' "
            "has its own number of ranks",
            name);
    const char *lost = mlt_source_given("set lua-steps");
    if (!lua && lost)
        mlt_args_wrong("--%s is for Lua scripts, but '%s' is none (its name would end with .lua)",
                       lost, name);
    lost = mlt_source_given("count hosts in-turn type segment alg-segment radix throttle");
    if (!lost && !o->files_have_op)
        lost = mlt_source_given("in-place alg-in-place blocks root op contributors receivers");
    if (lost)
        mlt_args_wrong("--%s is for --alg; it has no meaning for '%s'", lost, name);
}

// A script, or a rule book, of which `chosen` names an algorithm.
static void read_script(const char *name, const char *chosen, const mlt_source_file *bytes,
                        mlt_source *out)
{
    if (mlt_lua_is_rulebook(name, bytes->bytes, bytes->size)) {
        read_rulebook(name, chosen, bytes, out);
        return;
    }
    if (chosen)
        mlt_args_wrong(
            "'%s' has no algorithms, so ':%s' chooses none: it is a script that returns a "
            "function",
            name, chosen);
    out->form = MLT_SOURCE_LUA;
    not_for_files(name, true);
    read_lua(name, bytes, out);
}

// Without ":NAME", which goes to *chosen; the caller frees the result.
static char *path_of(const char *file, const char **chosen)
{
    const char *end = script_end(file);
    *chosen = end && *end ? end + 1 : NULL;
    return mlt_text_of("%.*s", (int)(end ? end - file : (ptrdiff_t)strlen(file)), file);
}

static void read_bytes(const char *file, const char *name, mlt_source *out)
{
    bool lua = mlt_source_is_script(file);
    if (!lua)
        not_for_files(name, false);
    const char *chosen;
    char *path = path_of(file, &chosen);
    mlt_source_file bytes = mlt_source_file_read(path);
    mlt_status status = MLT_OK;
    if (lua) {
        read_script(strcmp(path, "-") == 0 ? name : path, chosen, &bytes, out);
    } else if (mlt_is_image(bytes.bytes, bytes.size)) {
        out->form = MLT_SOURCE_IMAGE;
        status = read_image(name, &bytes, out);
    } else if (mlt_is_regular(bytes.bytes, bytes.size)) {
        out->form = MLT_SOURCE_REGULAR;
        status = read_regular(name, &bytes, out);
    } else if (mlt_goal_is_loggopsim(bytes.bytes, bytes.size)) {
        out->form = MLT_SOURCE_LOGGOPSIM;
        status =
            mlt_goal_loggopsim_read(name, bytes.bytes, bytes.size, &out->program, MLT_ARGS_WHY);
    } else {
        out->form = MLT_SOURCE_TEXT;
        status = mlt_goal_read(name, bytes.bytes, bytes.size, &out->program, &out->dialect,
                               MLT_ARGS_WHY);
    }
    mlt_source_file_drop(&bytes);
    if (status == MLT_OK)
        return;
    fflush(stdout); // place and caret of the readers speak for themselves
    fprintf(stderr, "%s\n", mlt_args_why);
    exit(MLT_EXIT_FOUND);
}

static void source_read_file(const char *file, mlt_source *out)
{
    const char *name = strcmp(file, "-") == 0 ? "standard input" : file;
    const char *slash = strrchr(name, '/');
    snprintf(out->name, sizeof out->name, "%s", slash && slash[1] ? slash + 1 : name);
    read_bytes(file, name, out);
    if (mlt_source_asked.blocks && mlt_source_asked.files_have_op && !out->alg)
        out->starts = read_blocks(out->program->ranks);
}

void mlt_source_read(const char *file, const char *alg, mlt_source *out)
{
    *out = (mlt_source){.program = NULL};
    if (file)
        source_read_file(file, out);
    else
        read_alg(alg, out);
}

const mlt_source *mlt_source_read_one(const mlt_arg_texts *words)
{
    static mlt_source source;
    const mlt_arg_texts *algs = &mlt_source_asked.algs;
    const char *alg = algs->count ? algs->items[algs->count - 1] : NULL;
    if (words->count && alg)
        mlt_args_wrong("'%s' and --alg %s are two programs; give one", words->items[0], alg);
    if (!words->count && !alg)
        mlt_args_wrong("it needs a file, or --alg and --ranks; %s --help shows how",
                       mlt_args_command());
    mlt_source_read(words->count ? words->items[0] : NULL, alg, &source);
    return &source;
}

bool mlt_source_is_loggopsim(const mlt_source *source)
{
    return source->form == MLT_SOURCE_LOGGOPSIM ||
           (source->form == MLT_SOURCE_TEXT && source->dialect == MLT_GOAL_LOGGOPSIM);
}
