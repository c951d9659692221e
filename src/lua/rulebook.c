// SPDX-License-Identifier: BSD-3-Clause
#include "lua/rulebook.h"

#include <errno.h>
#include <inttypes.h>
#include <lauxlib.h>
#include <lua.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "coll/alg/hosts/map.h"
#include "coll/choice.h"
#include "lua/library.h"
#include "lua/limit.h"
#include "lua/rulebook_int.h"

enum { LONGEST_FILE = 16 << 20, RULEBOOK_SENTENCE = 512 };

mlt_lua_rulebook *mlt_lua_rulebook_of(lua_State *L)
{
    lua_getfield(L, LUA_REGISTRYINDEX, "rulebook");
    mlt_lua_rulebook *rulebook = lua_touserdata(L, -1);
    lua_pop(L, 1);
    return rulebook;
}

const char *mlt_lua_keep(mlt_lua_rulebook *rulebook, const char *text)
{
    const char *kept = mlt_name_table_find(&rulebook->texts, text);
    if (kept)
        return kept;
    size_t bytes = strlen(text) + 1;
    char *copy = memcpy(mlt_xcalloc(bytes, 1), text, bytes);
    (void)mlt_name_table_add(&rulebook->texts, copy, copy);
    return copy;
}

const char *mlt_lua_place(mlt_lua_rulebook *rulebook, int line)
{
    char text[300];
    snprintf(text, sizeof text, "%.250s:%d", rulebook->short_file, line);
    return mlt_lua_keep(rulebook, text);
}

// ---- answers

typedef struct running {
    mlt_lua_rulebook *rulebook;
    lua_CFunction run;
    void *arg;
    char *why;
    size_t why_size;
    bool fine;
} running;

static void run_there(void *arg)
{
    running *r = arg;
    r->fine =
        mlt_lua_run(r->rulebook->L, r->run, r->arg, r->rulebook->short_file, r->why, r->why_size);
}

bool mlt_lua_rulebook_run(mlt_lua_rulebook *rulebook, int (*run)(lua_State *L), void *arg,
                          char *why, size_t why_size)
{
    running r = {rulebook, run, arg, why, why_size, false};
    mlt_lua_on_stack(&rulebook->stack, run_there, &r);
    return r.fine;
}

static void push_question(lua_State *L, const mlt_coll_question *q)
{
    static const char *const fields[] = {
        "coll",     "ranks",    "all_ranks", "bytes",        "element", "op",      "type",
        "commutes", "in_place", "uneven",    "reproducible", "crowded", "sharing", "cores",
        "reads",    "reach",    "hosts",     "each",         "comm",    NULL};
    lua_createtable(L, 0, 20);
    mlt_lua_known_fields(L, "what a rule is asked", fields);
    mlt_lua_set_text(L, "coll", mlt_collective_names[q->collective]);
    mlt_lua_set_number(L, "ranks", q->ranks);
    mlt_lua_set_number(L, "all_ranks", q->all_ranks);
    mlt_lua_set_number(L, "bytes", q->bytes);
    mlt_lua_set_number(L, "element", q->element);
    if (mlt_collective_reduces(q->collective))
        mlt_lua_set_text(L, "op", q->op < MLT_OPS ? mlt_op_names[q->op] : "user");
    if (mlt_collective_reduces(q->collective) && q->op < MLT_OPS)
        mlt_lua_set_text(L, "type", mlt_op_type_names[q->type]);
    mlt_lua_set_bool(L, "commutes", q->commutes);
    mlt_lua_set_bool(L, "in_place", q->in_place);
    mlt_lua_set_bool(L, "uneven", q->uneven);
    mlt_lua_set_bool(L, "reproducible", q->reproducible);
    mlt_lua_set_bool(L, "crowded", q->crowded);
    mlt_lua_set_number(L, "sharing", q->sharing ? q->sharing : 1);
    if (q->cores)
        mlt_lua_set_number(L, "cores", q->cores);
    mlt_lua_set_bool(L, "reads", q->reads);
    mlt_lua_set_text(L, "reach", mlt_coll_reach_names[q->reach]);
    mlt_lua_set_number(L, "hosts", mlt_coll_question_hosts(q));
    mlt_lua_set_number(L, "each", mlt_coll_question_each(q));
    mlt_lua_set_text(L, "comm", q->comm);
}

typedef struct asking { // of a rule that is a function, for the protected call
    mlt_lua_rulebook *rulebook;
    const mlt_coll_question *question;
    int function;
    mlt_coll_rule rule;
    const mlt_coll_alg *alg;
    bool answered;
} asking;

static int protected_ask(lua_State *L)
{
    asking *a = lua_touserdata(L, 1);
    lua_rawgeti(L, LUA_REGISTRYINDEX, a->function);
    push_question(L, a->question);
    lua_call(L, 1, 1);
    a->answered = mlt_lua_read_answer(L, a->rulebook, a->question->collective, &a->rule, &a->alg);
    return 0;
}

// Asks rule i. False: it does not speak of this, or it has failed (then `why` tells).
static bool ask(mlt_lua_rulebook *rulebook, uint32_t i, const mlt_coll_question *q,
                mlt_coll_rule *out, const mlt_coll_alg **alg, char *why, size_t why_size)
{
    *out = rulebook->rules[i];
    *alg = rulebook->more[i].alg;
    if (rulebook->more[i].function == LUA_NOREF)
        return mlt_coll_rule_fits(out, q);
    asking a = {.rulebook = rulebook, .question = q, .function = rulebook->more[i].function};
    bool fine = mlt_lua_rulebook_run(rulebook, protected_ask, &a, why, why_size);
    *out = a.rule;
    *alg = a.alg;
    out->by = rulebook->rules[i].by;
    return fine && a.answered;
}

static bool choose(mlt_coll_rulebook *base, const mlt_coll_question *q, mlt_coll_choice *out,
                   char *why, size_t why_size)
{
    mlt_lua_rulebook *rulebook = (mlt_lua_rulebook *)base;
    why[0] = out->passed[0] = '\0';
    for (uint32_t i = 0; i < rulebook->base.rules_count && !why[0]; i++) {
        mlt_coll_rule rule;
        const mlt_coll_alg *alg;
        const char *reason;
        if (!ask(rulebook, i, q, &rule, &alg, why, why_size))
            continue;
        if (mlt_coll_rule_suits(&rule, alg, q, &reason)) {
            mlt_coll_take(&rule, alg, out);
            return true;
        }
        mlt_coll_pass_over(&rule, alg, reason, out);
    }
    return false;
}

// ---- opening

static void free_rulebook(mlt_coll_rulebook *base)
{
    mlt_lua_rulebook *rulebook = (mlt_lua_rulebook *)base;
    if (rulebook->L)
        lua_close(rulebook->L);
    mlt_lua_stack_fini(&rulebook->stack);
    for (uint32_t i = 0; i < rulebook->base.algs_count; i++)
        free(rulebook->algs[i]);
    for (uint32_t i = 0; i < rulebook->base.paths_count; i++)
        free((mlt_coll_stage *)rulebook->paths[i].stages);
    for (uint32_t i = 0; i < rulebook->base.interceptors_count; i++)
        free((mlt_intercept_wrapper *)rulebook->interceptors[i].wrappers);
    for (size_t i = 0; i < rulebook->texts.size; i++)
        free(rulebook->texts.rows[i].owner);
    mlt_name_table_free(&rulebook->texts);
    free(rulebook->paths);
    free(rulebook->interceptors);
    free(rulebook->algs);
    free(rulebook->rules);
    free(rulebook->more);
    free(rulebook->file);
    free(rulebook);
}

// The file's bytes, and a NUL after them; NULL: `why` tells.
static char *read_file(const char *file, size_t *length, char *why, size_t why_size)
{
    errno = 0;
    FILE *from = fopen(file, "re");
    char *text = NULL;
    bool is_pipe = from && fseek(from, 0, SEEK_SET) != 0;
    size_t room = 0, n = !is_pipe;
    for (*length = 0; from && n && *length < LONGEST_FILE; *length += n) {
        room = *length + 65536;
        text = mlt_xrealloc(text, room, 1);
        n = fread(text + *length, 1, room - *length - 1, from);
    }
    if (from && !is_pipe && !ferror(from) && *length < LONGEST_FILE) {
        text[*length] = '\0';
        fclose(from);
        return text;
    }
    snprintf(why, why_size, "'%s' cannot be read: %s", file,
             is_pipe                   ? "it is a pipe, but a rule book is read more than once"
             : *length >= LONGEST_FILE ? "it has more than 16 MiB"
                                       : strerror(errno));
    if (from)
        fclose(from);
    free(text);
    return NULL;
}

static int protected_read(lua_State *L)
{
    mlt_lua_rulebook *rulebook = lua_touserdata(L, 1);
    mlt_lua_open(L);
    lua_pushlightuserdata(L, rulebook);
    lua_setfield(L, LUA_REGISTRYINDEX, "rulebook");
    lua_newtable(L); // texts that answers point to
    lua_setfield(L, LUA_REGISTRYINDEX, "texts");
    mlt_lua_library_without_chance(L);
    mlt_lua_read_begin(L);
    lua_pushfstring(L, "@%s", rulebook->short_file);
    if (luaL_loadbufferx(L, rulebook->text, rulebook->text_length, lua_tostring(L, -1), "t") !=
        LUA_OK)
        lua_error(L);
    lua_call(L, 0, 1);
    bool empty = !rulebook->base.rules_count && !rulebook->base.algs_count &&
                 !rulebook->base.paths_count && !rulebook->base.interceptors_count;
    if (empty && lua_type(L, -1) == LUA_TFUNCTION)
        luaL_error(L,
                   "%s: it returns a function, which only `millet goal` takes; here it should say "
                   "algorithm { coll = \"bcast\", name = \"mine\", emit = function(g, shape) ... "
                   "end }",
                   rulebook->short_file);
    lua_pop(L, 1);
    mlt_lua_read_end(L);
    return 0;
}

static void show_lists(mlt_lua_rulebook *rulebook)
{
    rulebook->base.file = rulebook->file;
    rulebook->base.rules = rulebook->rules;
    rulebook->base.algs = (const mlt_coll_alg *const *)rulebook->algs; // base is their first member
    rulebook->base.paths = rulebook->paths;
    rulebook->base.interceptors = rulebook->interceptors;
}

mlt_status mlt_lua_rulebook_open(const mlt_coll_alg *const *algs, const char *file,
                                 mlt_coll_rulebook **out, char *why, size_t why_size)
{
    size_t length;
    char *text = read_file(file, &length, why, why_size);
    if (!text)
        return MLT_ERR_INVALID;
    mlt_status status = mlt_lua_rulebook_read(algs, file, text, length, out, why, why_size);
    free(text);
    return status;
}

mlt_status mlt_lua_rulebook_read(const mlt_coll_alg *const *algs, const char *file,
                                 const char *text, size_t length, mlt_coll_rulebook **out,
                                 char *why, size_t why_size)
{
    mlt_lua_rulebook *rulebook = mlt_xcalloc(1, sizeof *rulebook);
    rulebook->base = (mlt_coll_rulebook){.choose = choose,
                                         .prove = mlt_lua_alg_prove,
                                         .saw = mlt_lua_saw,
                                         .map = mlt_lua_map,
                                         .drops = mlt_lua_drops,
                                         .fold = mlt_lua_fold,
                                         .free = free_rulebook};
    rulebook->goal =
        (mlt_lua_goal){.rank = MLT_LUA_CLOSED, .reverses = true, .limit = MLT_LUA_BOOK_STEPS};
    rulebook->last_step = UINT64_MAX;
    rulebook->built_in = algs;
    rulebook->file = mlt_xcalloc(strlen(file) + 1, 1);
    strcpy(rulebook->file, file);
    const char *slash = strrchr(rulebook->file, '/');
    rulebook->short_file = slash ? slash + 1 : rulebook->file;
    rulebook->L = mlt_lua_new(&rulebook->goal);
    rulebook->text = text;
    rulebook->text_length = length;
    if (!rulebook->L)
        snprintf(why, why_size, "%s: " MLT_NO_ROOM "Lua", file);
    if (!rulebook->L || !mlt_lua_run(rulebook->L, protected_read, rulebook, file, why, why_size)) {
        free_rulebook(&rulebook->base);
        return MLT_ERR_INVALID;
    }
    show_lists(rulebook);
    *out = &rulebook->base;
    return MLT_OK;
}

// ---- proving all of it

bool mlt_lua_in_time(const mlt_lua_rulebook *rulebook, const char *what, char *why, size_t why_size)
{
    if (rulebook->goal.total <= rulebook->last_step)
        return true;
    return mlt_deny(why, why_size, "%s: %s takes too long: trying it took more than %d steps",
                    rulebook->short_file, what, MLT_LUA_PROOF_STEPS);
}

// Rules that are functions may be wrong where they do not always go; these questions find most.
static mlt_status try_rules(mlt_lua_rulebook *rulebook, char *why, size_t why_size)
{
    static const uint32_t ranks[] = {1, 2, 3, 8, 64, 1000};
    static const uint64_t bytes[] = {0, 8, 4096, 65536, 1 << 20, 64 << 20};
    rulebook->last_step = rulebook->goal.total + MLT_LUA_PROOF_STEPS;
    for (uint32_t i = 0; i < rulebook->base.rules_count; i++)
        for (int n = 0; rulebook->more[i].function != LUA_NOREF && n < MLT_COLLECTIVES * 36; n++) {
            mlt_coll_question q = {.collective = (mlt_collective)(n / 36),
                                   .ranks = ranks[n % 6],
                                   .all_ranks = ranks[n % 6],
                                   .bytes = bytes[n / 6 % 6],
                                   .op = MLT_OP_SUM,
                                   .type = MLT_OP_FLOAT64,
                                   .element = 8,
                                   .commutes = true,
                                   .reach = MLT_REACH_HOST,
                                   .comm = "MPI_COMM_WORLD"};
            mlt_coll_rule rule;
            const mlt_coll_alg *alg;
            char own[RULEBOOK_SENTENCE] = "";
            if (!mlt_lua_in_time(rulebook, "what its rules' functions do", why, why_size))
                return MLT_ERR_INVALID;
            if (ask(rulebook, i, &q, &rule, &alg, own, sizeof own) || !*own)
                continue;
            return mlt_fail(MLT_ERR_INVALID, why, why_size,
                            "%s (asked for %s, %" PRIu32 " ranks, %" PRIu64 " bytes)", own,
                            mlt_collective_names[q.collective], q.ranks, q.bytes);
        }
    return MLT_OK;
}

// All that differs between shapes of that many ranks on those hosts (NULL: on one). *tried: how many
// were not refused.
static mlt_status prove_ranks(mlt_lua_rulebook *rulebook, const mlt_lua_alg *alg, uint32_t ranks,
                              const mlt_coll_hosts *hosts, uint32_t *tried, char *why,
                              size_t why_size)
{
    // Operations differ, which finds algorithms that say sumInt32 instead of the shape's own.
    static const struct {
        uint64_t count;
        mlt_op op;
        mlt_op_type type;
        uint32_t element;
    } kinds[] = {{0, MLT_OP_SUM, MLT_OP_INT32, 4},
                 {1, MLT_OP_MAX, MLT_OP_FLOAT64, 8},
                 {7, MLT_OPS, MLT_OP_UINT8, 12},
                 {1000, MLT_OP_PROD, MLT_OP_INT16, 2}};
    uint32_t roots = mlt_collective_has_root(alg->base.collective) && ranks > 1 ? 2 : 1;
    for (uint32_t n = 0; n < 4 * roots * (1 + alg->base.in_place); n++) {
        mlt_coll_shape shape = {.ranks = ranks,
                                .root = n / 4 % roots ? ranks - 1 : 0,
                                .count = kinds[n % 4].count,
                                .op = kinds[n % 4].op,
                                .type = kinds[n % 4].type,
                                .element = kinds[n % 4].element,
                                .in_place = n >= 4 * roots,
                                .hosts = hosts,
                                .user = alg};
        if (alg->refuses != LUA_NOREF && mlt_lua_alg_refuses(&shape))
            continue;
        ++*tried;
        mlt_status status = mlt_lua_alg_prove(&rulebook->base, &alg->base, &shape, why, why_size);
        if (status != MLT_OK)
            return status;
    }
    return MLT_OK;
}

// Few ranks on up to three hosts, in blocks and in turn: algorithms may look at where ranks are.
static mlt_status prove_hosts(mlt_lua_rulebook *rulebook, const mlt_lua_alg *alg, uint32_t *tried,
                              char *why, size_t why_size)
{
    enum { MOST = 7, HOSTS = 3 };
    uint32_t name[MOST];
    mlt_status status = MLT_OK;
    for (uint32_t n = 0; n < 2 * (MOST - 1) && status == MLT_OK; n++) {
        uint32_t ranks = 2 + n / 2, hosts = ranks < HOSTS ? ranks : HOSTS;
        for (uint32_t r = 0; r < ranks; r++)
            name[r] = n % 2 ? r % hosts : r * hosts / ranks;
        mlt_coll_hosts *map = mlt_coll_hosts_new(ranks, name, hosts);
        status = prove_ranks(rulebook, alg, ranks, map, tried, why, why_size);
        mlt_coll_hosts_free(map);
    }
    return status;
}

mlt_status mlt_lua_rulebook_prove(mlt_coll_rulebook *base, char *why, size_t why_size)
{
    mlt_lua_rulebook *rulebook = (mlt_lua_rulebook *)base;
    mlt_status status = MLT_OK;
    for (uint32_t i = 0; i < rulebook->base.algs_count && status == MLT_OK; i++) {
        const mlt_lua_alg *alg = rulebook->algs[i];
        uint32_t tried = 0;
        rulebook->last_step = rulebook->goal.total + MLT_LUA_PROOF_STEPS;
        for (uint32_t p = 1; p <= 33 && status == MLT_OK; p = p == 17 ? 32 : p + 1)
            status = prove_ranks(rulebook, alg, p, NULL, &tried, why, why_size);
        if (status == MLT_OK)
            status = prove_hosts(rulebook, alg, &tried, why, why_size);
        if (status == MLT_OK && !tried)
            status = mlt_fail(MLT_ERR_INVALID, why, why_size,
                              "%s:%d: %s.%s refuses every shape that it was tried with",
                              rulebook->short_file, alg->line,
                              mlt_collective_names[alg->base.collective], alg->base.name);
    }
    rulebook->last_step = rulebook->goal.total + MLT_LUA_PROOF_STEPS;
    for (uint32_t i = 0; i < rulebook->base.paths_count && status == MLT_OK; i++)
        status = mlt_lua_prove_neutral(rulebook, &rulebook->paths[i], why, why_size);
    if (status == MLT_OK)
        status = try_rules(rulebook, why, why_size);
    rulebook->last_step = UINT64_MAX;
    return status;
}
