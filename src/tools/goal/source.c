// SPDX-License-Identifier: BSD-3-Clause
#include "tools/goal/source.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
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

enum { SOURCE_WHY_BYTES = 4096, FIRST_ROOM = 1 << 16 };

void mlt_source_args(mlt_source_options *options, mlt_arg out[MLT_SOURCE_ARGS])
{
    *options = (mlt_source_options){.ranks = MLT_NOT_GIVEN,
                                    .hosts = MLT_NOT_GIVEN,
                                    .count = MLT_NOT_GIVEN,
                                    .root = MLT_NOT_GIVEN,
                                    .segment = MLT_NOT_GIVEN,
                                    .radix = MLT_NOT_GIVEN,
                                    .throttle = MLT_NOT_GIVEN,
                                    .steps = MLT_NOT_GIVEN};
    const mlt_arg lines[MLT_SOURCE_ARGS] = {
        {"alg", 'a', MLT_ARG_TEXT, &options->alg, "NAME",
         .help = "take this algorithm instead of a file, such as bcast.binomial; `millet goal gen "
                 "--list` lists all"},
        {"ranks", 'n', MLT_ARG_NUMBER, &options->ranks, "P", .least = 1, .most = MLT_GOAL_MAX_RANKS,
         .help = "number of ranks, for an algorithm or a Lua file"},
        {"hosts", 0, MLT_ARG_NUMBER, &options->hosts, "N", .least = 1, .most = MLT_GOAL_MAX_RANKS,
         .help = "hosts that the ranks of an algorithm are on, as many on each as on any other"},
        {"in-turn", 0, MLT_ARG_FLAG, &options->in_turn, NULL,
         .help = "with --hosts: neighbours are on different hosts, as with mpirun --map-by node"},
        {"count", 0, MLT_ARG_NUMBER, &options->count, "N", .help = "elements of a block (1)"},
        {"type", 0, MLT_ARG_TEXT, &options->type, "TYPE", .help = "type of an element (Int32)"},
        {"op", 0, MLT_ARG_TEXT, &options->op, "OP",
         .help = "operation of a reduction, such as sum or maxFloat64 (sum)"},
        {"root", 0, MLT_ARG_NUMBER, &options->root, "R", .most = MLT_GOAL_MAX_RANKS,
         .help = "root of a bcast, reduce, gather or scatter (0)"},
        {"segment", 0, MLT_ARG_NUMBER, &options->segment, "N",
         .help = "elements of a piece of a pipeline"},
        {"radix", 0, MLT_ARG_NUMBER, &options->radix, "K", .most = UINT32_MAX,
         .help = "radix of trees and disseminations"},
        {"throttle", 0, MLT_ARG_NUMBER, &options->throttle, "N", .least = 1, .most = UINT32_MAX,
         .help = "most messages under way at a time"},
        {"in-place", 0, MLT_ARG_FLAG, &options->in_place, NULL,
         .help = "each rank's input lies where its result goes"},
        {"blocks", 0, MLT_ARG_TEXT, &options->blocks, "N,N,...",
         .help = "sizes of blocks that differ, one for each rank, in elements (for a file in "
                 "bytes; for an alltoall weights)"},
        {"set", 0, MLT_ARG_TEXTS, &options->set, "NAME=VALUE",
         .help = "for a Lua script that returns a function: arg.NAME is \"VALUE\""},
        {"lua-steps", 0, MLT_ARG_NUMBER, &options->steps, "N", .least = 1, .most = INT64_MAX,
         .help = "for such a script: most steps that it may take for a rank (100000000)"},
    };
    memcpy(out, lines, sizeof lines);
}

// ---- bytes

static int source_cannot(const mlt_arg_command *command, const char *file)
{
    return mlt_args_failed(command, "'%s' cannot be read: %s", file, strerror(errno));
}

static int read_stream(const mlt_arg_command *command, const char *file, int fd,
                       mlt_source_file *out)
{
    char *bytes = NULL;
    size_t size = 0, room = 0;
    for (;;) {
        MLT_ARRAY_WANT(bytes, size + FIRST_ROOM, room);
        ssize_t n = read(fd, bytes + size, room - size);
        if (n == 0)
            break;
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0) {
            free(bytes);
            return source_cannot(command, file);
        }
        size += (size_t)n;
    }
    *out = (mlt_source_file){bytes, size, false};
    return MLT_ARGS_GO;
}

int mlt_source_file_read(const mlt_arg_command *command, const char *file, mlt_source_file *out)
{
    if (strcmp(file, "-") == 0)
        return read_stream(command, "standard input", STDIN_FILENO, out);
    int fd = open(file, O_RDONLY | O_CLOEXEC), code = MLT_ARGS_GO;
    struct stat about;
    if (fd < 0 || fstat(fd, &about) != 0) {
        code = source_cannot(command, file);
    } else if (S_ISDIR(about.st_mode)) {
        code = mlt_args_failed(command, "'%s' is a directory, but should be a file", file);
    } else {
        void *map = S_ISREG(about.st_mode) && about.st_size > 0
                        ? mmap(NULL, (size_t)about.st_size, PROT_READ, MAP_PRIVATE, fd, 0)
                        : MAP_FAILED;
        if (map != MAP_FAILED)
            *out = (mlt_source_file){map, (size_t)about.st_size, true};
        else
            code = read_stream(command, file, fd, out);
    }
    if (fd >= 0)
        close(fd);
    return code;
}

void mlt_source_file_drop(mlt_source_file *bytes)
{
    if (bytes->mapped)
        munmap((void *)bytes->bytes, bytes->size);
    else
        free((void *)bytes->bytes);
    *bytes = (mlt_source_file){NULL, 0, false};
}

// ---- algorithms

bool mlt_source_function(const char *text, mlt_op *op, mlt_op_type *type)
{
    for (int t = 0; t < MLT_OP_TYPES; t++)
        if (strcmp(text, mlt_op_type_names[t]) == 0) {
            *type = (mlt_op_type)t;
            return true;
        }
    for (int o = 0; o < MLT_OPS; o++) {
        size_t n = strlen(mlt_op_names[o]);
        if (strncmp(text, mlt_op_names[o], n) != 0)
            continue;
        for (int t = 0; t < MLT_OP_TYPES; t++)
            if (strcmp(text + n, mlt_op_type_names[t]) == 0) {
                *op = (mlt_op)o;
                *type = (mlt_op_type)t;
                return true;
            }
        if (!text[n]) {
            *op = (mlt_op)o;
            return true;
        }
    }
    return false;
}

// Where blocks of those sizes begin, for so many ranks.
static int read_blocks(const mlt_arg_command *command, const char *text, uint32_t ranks,
                       uint64_t **out)
{
    uint64_t *starts = mlt_take(ranks + 1ull, sizeof *starts), block;
    *out = starts;
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
        return mlt_args_wrong(command, "option --blocks is '%s', but should be sizes such as 4,0,7",
                              text);
    if (count != ranks)
        return mlt_args_wrong(
            command, "option --blocks has %" PRIu32 " sizes, but there are %" PRIu32 " ranks",
            count, ranks);
    return MLT_ARGS_GO;
}

// The lists of an exchange: from every rank to every one a block.
static void make_parts(mlt_source *source)
{
    mlt_coll_shape *shape = &source->shape;
    uint32_t ranks = shape->ranks;
    uint64_t n = shape->count * mlt_op_type_bytes[shape->type];
    source->parts = mlt_take(ranks, sizeof *source->parts);
    source->part = mlt_take(ranks, sizeof *source->part);
    for (uint32_t r = 0; r < ranks; r++) {
        source->part[r] = (mlt_goal_part){r, 0, r * n, n};
        source->parts[r] =
            (mlt_goal_parts){source->part, source->part, ranks, ranks, ranks * n, ranks * n};
    }
    shape->parts = source->parts;
}

// `name` is how messages call the algorithm.
static int read_shape(const mlt_arg_command *command, const mlt_source_options *options,
                      const char *name, mlt_coll_shape *out)
{
    uint64_t ranks = options->ranks, root = mlt_given_or(options->root, 0);
    if (ranks == MLT_NOT_GIVEN)
        return mlt_args_wrong(command, "%s needs --ranks, the number of ranks", name);
    if (root >= ranks)
        return mlt_args_wrong(command,
                              "the root is rank %" PRIu64 ", but there are %" PRIu64
                              " ranks: 0 to %" PRIu64 " are right",
                              root, ranks, ranks - 1);
    *out = (mlt_coll_shape){.ranks = (uint32_t)ranks,
                            .root = (uint32_t)root,
                            .count = mlt_given_or(options->count, 1),
                            .op = MLT_OP_SUM,
                            .type = MLT_OP_INT32,
                            .segment = mlt_given_or(options->segment, 0),
                            .radix = (uint32_t)mlt_given_or(options->radix, 0),
                            .window = (uint32_t)mlt_given_or(options->throttle, 0),
                            .in_place = options->in_place};
    mlt_op unused = MLT_OPS;
    if (options->op && !mlt_source_function(options->op, &out->op, &out->type))
        return mlt_args_wrong(command,
                              "option --op is '%s', but should be an operation such as sum or "
                              "maxFloat64",
                              options->op);
    if (options->type &&
        (!mlt_source_function(options->type, &unused, &out->type) || unused != MLT_OPS))
        return mlt_args_wrong(command,
                              "option --type is '%s', but should be Int8 to Int64, UInt8 to UInt64 "
                              "or Float16 to Float64",
                              options->type);
    return MLT_ARGS_GO;
}

// Options that would change what an algorithm does, if it took them, are refused, not ignored.
static int not_for_alg(const mlt_arg_command *command, const mlt_source_options *options,
                       const char *name, const mlt_source *source)
{
    const mlt_coll_alg *alg = source->alg;
    bool hosts = alg->uses_hosts || source->rulebook; // that of a rule book may look at them
    const char *lost = options->shared                                           ? NULL
                       : options->hosts != MLT_NOT_GIVEN && !hosts               ? "hosts"
                       : options->segment != MLT_NOT_GIVEN && !alg->uses_segment ? "segment"
                       : options->radix != MLT_NOT_GIVEN && !alg->uses_radix     ? "radix"
                       : options->throttle != MLT_NOT_GIVEN && !alg->uses_window ? "throttle"
                       : options->set.count                                      ? "set"
                       : options->steps != MLT_NOT_GIVEN                         ? "lua-steps"
                                                                                 : NULL;
    if (!lost)
        return MLT_ARGS_GO;
    return mlt_args_wrong(
        command, "--%s has no meaning for %s; `millet goal gen --list` shows what algorithms take",
        lost, name);
}

static int read_hosts(const mlt_arg_command *command, const mlt_source_options *options,
                      const char *name, mlt_source *out)
{
    uint64_t hosts = options->hosts;
    if (hosts == MLT_NOT_GIVEN && options->in_turn)
        return mlt_args_wrong(command, "--in-turn needs --hosts, the number of hosts");
    if (hosts == MLT_NOT_GIVEN && out->alg->uses_hosts)
        return mlt_args_wrong(command, "--alg %s needs --hosts, the number of hosts", name);
    if (hosts == MLT_NOT_GIVEN || (!out->alg->uses_hosts && !out->rulebook))
        return MLT_ARGS_GO;
    if (hosts > options->ranks)
        return mlt_args_wrong(command,
                              "there are %" PRIu64 " hosts, but only %" PRIu64 " ranks for them",
                              hosts, options->ranks);
    out->hosts = mlt_coll_hosts_deal(out->shape.ranks, (uint32_t)hosts, options->in_turn);
    out->shape.hosts = out->hosts;
    return MLT_ARGS_GO;
}

// The program of out->alg for out->shape.
static int make_program(const mlt_arg_command *command, const mlt_source_options *options,
                        const char *name, mlt_source *out)
{
    char why[SOURCE_WHY_BYTES];
    int code = not_for_alg(command, options, name, out);
    out->form = MLT_SOURCE_ALG;
    if (code == MLT_ARGS_GO)
        code = read_hosts(command, options, name, out);
    if (code == MLT_ARGS_GO && options->blocks)
        code = read_blocks(command, options->blocks, out->shape.ranks, &out->starts);
    if (code != MLT_ARGS_GO)
        return code;
    out->shape.starts = out->starts;
    if (out->alg->collective == MLT_COLL_EXCHANGE)
        make_parts(out);
    snprintf(out->name, sizeof out->name, "%s, %" PRIu64 " rank%s", name, options->ranks,
             options->ranks == 1 ? "" : "s");
    mlt_progress progress;
    mlt_progress_begin(&progress, "generating");
    mlt_status status =
        out->rulebook
            ? mlt_lua_rulebook_program(out->rulebook, out->alg, &out->shape, mlt_progress_step,
                                       &progress, &out->program, why, sizeof why)
            : mlt_coll_program(out->alg, &out->shape, mlt_progress_step, &progress, &out->program,
                               why, sizeof why);
    mlt_progress_end(&progress);
    return status == MLT_OK ? MLT_ARGS_GO : mlt_args_failed(command, "%s", why);
}

static int read_alg(const mlt_arg_command *command, const mlt_source_options *options,
                    mlt_source *out)
{
    char why[SOURCE_WHY_BYTES], name[128];
    snprintf(name, sizeof name, "--alg %s", options->alg);
    int code = read_shape(command, options, name, &out->shape);
    if (code != MLT_ARGS_GO)
        return code;
    out->alg = mlt_coll_find(options->alg, why, sizeof why);
    return out->alg ? make_program(command, options, options->alg, out)
                    : mlt_args_wrong(command, "%s", why);
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
static int choose_alg(const mlt_arg_command *command, const char *file, const char *chosen,
                      mlt_source *out)
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
    int code = MLT_ARGS_GO;
    if (!rulebook->algs_count)
        code = mlt_args_failed(command, "%s has no algorithm, only rules or paths", file);
    else if (!out->alg && chosen)
        code = mlt_args_wrong(command, "%s has no algorithm '%s'; it has %s", file, chosen,
                              names.text);
    else if (!out->alg)
        code = mlt_args_wrong(command, "%s has %" PRIu32 " algorithms; %s:NAME chooses one of %s",
                              file, rulebook->algs_count, file, names.text);
    mlt_text_free(&names);
    return code;
}

static int read_rulebook(const mlt_arg_command *command, const mlt_source_options *options,
                         const char *file, const char *chosen, const mlt_source_file *bytes,
                         mlt_source *out)
{
    char why[SOURCE_WHY_BYTES], name[128];
    if (mlt_lua_rulebook_read(mlt_coll_algs, file, bytes->bytes, bytes->size, &out->rulebook, why,
                              sizeof why) != MLT_OK)
        return mlt_args_failed(command, "%s", why);
    int code = choose_alg(command, file, chosen, out);
    if (code != MLT_ARGS_GO)
        return code;
    snprintf(name, sizeof name, "%s.%s", mlt_collective_names[out->alg->collective],
             out->alg->name);
    code = read_shape(command, options, name, &out->shape);
    return code == MLT_ARGS_GO ? make_program(command, options, name, out) : code;
}

// ---- files

static int read_lua(const mlt_arg_command *command, const mlt_source_options *options,
                    const char *file, const mlt_source_file *bytes, mlt_source *out)
{
    char why[SOURCE_WHY_BYTES];
    if (options->ranks == MLT_NOT_GIVEN)
        return mlt_args_wrong(command, "a Lua script needs --ranks, the number of ranks");
    mlt_lua_arg *args = mlt_take(options->set.count + 1, sizeof *args);
    char **names = mlt_take(options->set.count + 1, sizeof *names);
    int code = MLT_ARGS_GO;
    for (size_t i = 0; i < options->set.count && code == MLT_ARGS_GO; i++) {
        const char *text = options->set.items[i], *equals = strchr(text, '=');
        if (!equals || equals == text)
            code = mlt_args_wrong(command, "option --set is '%s', but should be NAME=VALUE", text);
        else {
            names[i] = mlt_text_of("%.*s", (int)(equals - text), text);
            args[i] = (mlt_lua_arg){names[i], equals + 1};
        }
    }
    if (code == MLT_ARGS_GO) {
        mlt_progress progress;
        mlt_progress_begin(&progress, "generating");
        mlt_status status =
            mlt_lua_generate(file, bytes->bytes, bytes->size, (uint32_t)options->ranks, args,
                             options->set.count, mlt_given_or(options->steps, 0), mlt_progress_step,
                             &progress, &out->program, why, sizeof why);
        mlt_progress_end(&progress);
        if (status != MLT_OK)
            code = mlt_args_failed(command, "%s", why);
    }
    for (size_t i = 0; i < options->set.count; i++)
        free(names[i]);
    free(names);
    free(args);
    return code;
}

static mlt_status read_image(const char *name, const mlt_source_file *bytes, mlt_source *out,
                             char *why, size_t why_size)
{
    mlt_goal_image *image;
    mlt_status status = mlt_goal_image_open(name, bytes->bytes, bytes->size, &image, why, why_size);
    if (status != MLT_OK)
        return status;
    out->program = mlt_goal_image_program(image);
    mlt_goal_image_free(image);
    return MLT_OK;
}

// Where the name of a script ends, before ":NAME"; NULL: it is none.
static const char *script_end(const char *file)
{
    size_t n = strlen(file);
    const char *colon = strstr(file, ".lua:");
    return n >= 4 && strcmp(file + n - 4, ".lua") == 0 ? file + n : colon ? colon + 4 : NULL;
}

bool mlt_source_is_script(const mlt_source_options *options, const char *file)
{
    return script_end(file) || (options->scripts && strcmp(file, "-") == 0);
}

// Options that say nothing about a file are refused, not ignored.
static int not_for_files(const mlt_arg_command *command, const mlt_source_options *options,
                         const char *name, bool lua)
{
    if (options->shared)
        return MLT_ARGS_GO;
    if (!lua && options->ranks != MLT_NOT_GIVEN)
        return mlt_args_wrong(command,
                              "--ranks is for --alg and Lua scripts, whose names end with .lua; "
                              "the file '%s' has its own number of ranks",
                              name);
    if (!lua && (options->set.count || options->steps != MLT_NOT_GIVEN))
        return mlt_args_wrong(
            command, "--%s is for Lua scripts, but '%s' is none (its name would end with .lua)",
            options->set.count ? "set" : "lua-steps", name);
    const char *lost = options->count != MLT_NOT_GIVEN      ? "--count"
                       : options->hosts != MLT_NOT_GIVEN    ? "--hosts"
                       : options->in_turn                   ? "--in-turn"
                       : options->type                      ? "--type"
                       : options->segment != MLT_NOT_GIVEN  ? "--segment"
                       : options->radix != MLT_NOT_GIVEN    ? "--radix"
                       : options->throttle != MLT_NOT_GIVEN ? "--throttle"
                       : options->files_have_op             ? NULL
                       : options->in_place                  ? "--in-place"
                       : options->blocks                    ? "--blocks"
                       : options->root != MLT_NOT_GIVEN     ? "--root"
                       : options->op                        ? "--op"
                                                            : NULL;
    if (lost)
        return mlt_args_wrong(command, "%s is for --alg; it has no meaning for '%s'", lost, name);
    return MLT_ARGS_GO;
}

// A script, or a rule book, of which `chosen` names an algorithm.
static int read_script(const mlt_arg_command *command, const mlt_source_options *options,
                       const char *name, const char *chosen, const mlt_source_file *bytes,
                       mlt_source *out)
{
    if (mlt_lua_is_rulebook(name, bytes->bytes, bytes->size))
        return read_rulebook(command, options, name, chosen, bytes, out);
    if (chosen)
        return mlt_args_wrong(command,
                              "'%s' has no algorithms, so ':%s' chooses none: it is a script that "
                              "returns a function",
                              name, chosen);
    out->form = MLT_SOURCE_LUA;
    int code = not_for_files(command, options, name, true);
    return code == MLT_ARGS_GO ? read_lua(command, options, name, bytes, out) : code;
}

// Without ":NAME", which goes to *chosen; the caller frees the result.
static char *path_of(const char *file, const char **chosen)
{
    const char *end = script_end(file);
    *chosen = end && *end ? end + 1 : NULL;
    return mlt_text_of("%.*s", (int)(end ? end - file : (ptrdiff_t)strlen(file)), file);
}

static int read_bytes(const mlt_arg_command *command, const mlt_source_options *options,
                      const char *file, const char *name, mlt_source *out)
{
    bool lua = mlt_source_is_script(options, file);
    int code = lua ? MLT_ARGS_GO : not_for_files(command, options, name, false);
    if (code != MLT_ARGS_GO)
        return code;
    mlt_source_file bytes;
    const char *chosen;
    char *path = path_of(file, &chosen);
    code = mlt_source_file_read(command, path, &bytes);
    if (code != MLT_ARGS_GO) {
        free(path);
        return code;
    }
    char why[SOURCE_WHY_BYTES] = "";
    mlt_status status = MLT_OK;
    if (lua) {
        code = read_script(command, options, strcmp(path, "-") == 0 ? name : path, chosen, &bytes,
                           out);
    } else if (mlt_is_image(bytes.bytes, bytes.size)) {
        out->form = MLT_SOURCE_IMAGE;
        status = read_image(name, &bytes, out, why, sizeof why);
    } else if (mlt_goal_is_loggopsim(bytes.bytes, bytes.size)) {
        out->form = MLT_SOURCE_LOGGOPSIM;
        status =
            mlt_goal_loggopsim_read(name, bytes.bytes, bytes.size, &out->program, why, sizeof why);
    } else {
        out->form = MLT_SOURCE_TEXT;
        status = mlt_goal_read(name, bytes.bytes, bytes.size, &out->program, &out->dialect, why,
                               sizeof why);
    }
    mlt_source_file_drop(&bytes);
    free(path);
    if (status != MLT_OK) { // place and caret of the readers speak for themselves
        fflush(stdout);
        fprintf(stderr, "%s\n", why);
        return MLT_EXIT_FOUND;
    }
    return code;
}

static int source_read_file(const mlt_arg_command *command, const mlt_source_options *options,
                            const char *file, mlt_source *out)
{
    const char *name = strcmp(file, "-") == 0 ? "standard input" : file;
    const char *slash = strrchr(name, '/');
    snprintf(out->name, sizeof out->name, "%s", slash && slash[1] ? slash + 1 : name);
    int code = read_bytes(command, options, file, name, out);
    if (code == MLT_ARGS_GO && options->blocks && options->files_have_op && !out->alg)
        code = read_blocks(command, options->blocks, out->program->ranks, &out->starts);
    return code;
}

int mlt_source_read(const mlt_arg_command *command, const mlt_source_options *options,
                    const char *file, mlt_source *out)
{
    *out = (mlt_source){.program = NULL};
    return file ? source_read_file(command, options, file, out) : read_alg(command, options, out);
}

int mlt_source_read_one(const mlt_arg_command *command, const mlt_source_options *options,
                        const mlt_arg_texts *words, mlt_source *out)
{
    *out = (mlt_source){.program = NULL};
    if (words->count && options->alg)
        return mlt_args_wrong(command, "'%s' and --alg %s are two programs; give one",
                              words->items[0], options->alg);
    if (!words->count && !options->alg)
        return mlt_args_wrong(command, "it needs a file, or --alg and --ranks; %s --help shows how",
                              command->name);
    return mlt_source_read(command, options, words->count ? words->items[0] : NULL, out);
}

bool mlt_source_is_loggopsim(const mlt_source *source)
{
    return source->form == MLT_SOURCE_LOGGOPSIM ||
           (source->form == MLT_SOURCE_TEXT && source->dialect == MLT_GOAL_LOGGOPSIM);
}

void mlt_source_free(mlt_source *source)
{
    mlt_goal_program_free(source->program);
    free(source->starts);
    free(source->parts);
    free(source->part);
    mlt_coll_hosts_free(source->hosts);
    if (source->rulebook)
        source->rulebook->free(source->rulebook);
    *source = (mlt_source){.program = NULL};
}
