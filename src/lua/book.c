// SPDX-License-Identifier: BSD-3-Clause
#include "lua/book.h"

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
#include "lua/book_int.h"
#include "lua/library.h"
#include "lua/limit.h"

enum { LONGEST_FILE = 16 << 20, SENTENCE = 512 };

mlt_lua_book *mlt_lua_book_of(lua_State *L)
{
    lua_getfield(L, LUA_REGISTRYINDEX, "book");
    mlt_lua_book *book = lua_touserdata(L, -1);
    lua_pop(L, 1);
    return book;
}

const char *mlt_lua_keep(mlt_lua_book *book, const char *text)
{
    const char *kept = mlt_name_table_find(&book->texts, text);
    if (kept)
        return kept;
    size_t bytes = strlen(text) + 1;
    char *copy = memcpy(mlt_take(bytes, 1), text, bytes);
    (void)mlt_name_table_add(&book->texts, copy, copy);
    return copy;
}

const char *mlt_lua_place(mlt_lua_book *book, int line)
{
    char text[300];
    snprintf(text, sizeof text, "%.250s:%d", book->short_file, line);
    return mlt_lua_keep(book, text);
}

// ---- answers

static void set_text(lua_State *L, const char *name, const char *value)
{
    lua_pushstring(L, value);
    lua_setfield(L, -2, name);
}

static void set_number(lua_State *L, const char *name, uint64_t value)
{
    lua_pushinteger(L, (lua_Integer)value);
    lua_setfield(L, -2, name);
}

static void set_bool(lua_State *L, const char *name, bool value)
{
    lua_pushboolean(L, value);
    lua_setfield(L, -2, name);
}

static void push_question(lua_State *L, const mlt_coll_question *q)
{
    static const char *const fields[] = {
        "coll",     "ranks",    "all_ranks", "bytes",        "element", "op",      "type",
        "commutes", "in_place", "uneven",    "reproducible", "crowded", "sharing", "cores",
        "reads",    "reach",    "hosts",     "each",         "comm",    NULL};
    lua_createtable(L, 0, 20);
    mlt_lua_known_fields(L, "what a rule is asked", fields);
    set_text(L, "coll", mlt_collective_names[q->collective]);
    set_number(L, "ranks", q->ranks);
    set_number(L, "all_ranks", q->all_ranks);
    set_number(L, "bytes", q->bytes);
    set_number(L, "element", q->element);
    if (mlt_collective_reduces(q->collective))
        set_text(L, "op", q->op < MLT_OPS ? mlt_op_names[q->op] : "user");
    if (mlt_collective_reduces(q->collective) && q->op < MLT_OPS)
        set_text(L, "type", mlt_op_type_names[q->type]);
    set_bool(L, "commutes", q->commutes);
    set_bool(L, "in_place", q->in_place);
    set_bool(L, "uneven", q->uneven);
    set_bool(L, "reproducible", q->reproducible);
    set_bool(L, "crowded", q->crowded);
    set_number(L, "sharing", q->sharing ? q->sharing : 1);
    if (q->cores)
        set_number(L, "cores", q->cores);
    set_bool(L, "reads", q->reads);
    set_text(L, "reach", mlt_coll_reach_names[q->reach]);
    set_number(L, "hosts", mlt_coll_question_hosts(q));
    set_number(L, "each", mlt_coll_question_each(q));
    set_text(L, "comm", q->comm);
}

typedef struct asking { // of a rule that is a function, for the protected call
    mlt_lua_book *book;
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
    a->answered = mlt_lua_read_answer(L, a->book, a->question->collective, &a->rule, &a->alg);
    return 0;
}

// Asks rule i. False: it does not speak of this, or it has failed (then `why` tells).
static bool ask(mlt_lua_book *book, uint32_t i, const mlt_coll_question *q, mlt_coll_rule *out,
                const mlt_coll_alg **alg, char *why, size_t why_size)
{
    *out = book->rules[i];
    *alg = book->more[i].alg;
    if (book->more[i].function == LUA_NOREF)
        return mlt_coll_rule_fits(out, q);
    asking a = {.book = book, .question = q, .function = book->more[i].function};
    lua_pushcfunction(book->L, protected_ask);
    lua_pushlightuserdata(book->L, &a);
    int status = mlt_lua_call(book->L, 1, 0);
    if (status != LUA_OK)
        mlt_lua_explain(book->L, status, book->file, why, why_size);
    lua_settop(book->L, 0);
    *out = a.rule;
    *alg = a.alg;
    out->by = book->rules[i].by;
    return status == LUA_OK && a.answered;
}

typedef struct choosing {
    mlt_lua_book *book;
    const mlt_coll_question *question;
    mlt_coll_choice *out;
    char *why;
    size_t why_size;
    bool answered;
} choosing;

static void run_choose(void *arg)
{
    choosing *c = arg;
    mlt_lua_book *book = c->book;
    for (uint32_t i = 0; i < book->rules_count && !c->why[0] && !c->answered; i++) {
        mlt_coll_rule rule;
        const mlt_coll_alg *alg;
        const char *reason;
        if (!ask(book, i, c->question, &rule, &alg, c->why, c->why_size))
            continue;
        c->answered = mlt_coll_suits(alg, c->question, &reason);
        if (c->answered)
            mlt_coll_take(&rule, alg, c->out);
        else
            mlt_coll_pass_over(&rule, alg, reason, c->out);
    }
}

static bool choose(mlt_coll_book *base, const mlt_coll_question *q, mlt_coll_choice *out, char *why,
                   size_t why_size)
{
    mlt_lua_book *book = (mlt_lua_book *)base;
    choosing c = {book, q, out, why, why_size, false};
    why[0] = out->passed[0] = '\0';
    mlt_lua_on_stack(&book->stack, run_choose, &c);
    return c.answered;
}

// ---- opening

static void free_book(mlt_coll_book *base)
{
    mlt_lua_book *book = (mlt_lua_book *)base;
    if (book->L)
        lua_close(book->L);
    mlt_lua_stack_fini(&book->stack);
    for (uint32_t i = 0; i < book->algs_count; i++)
        free(book->algs[i]);
    for (uint32_t i = 0; i < book->paths_count; i++)
        free((mlt_coll_stage *)book->paths[i].stages);
    for (uint32_t i = 0; i < book->ways_count; i++)
        free((mlt_way_stage *)book->ways[i].stages);
    for (size_t i = 0; i < book->texts.size; i++)
        free(book->texts.rows[i].owner);
    mlt_name_table_free(&book->texts);
    free(book->paths);
    free(book->ways);
    free(book->algs);
    free(book->rules);
    free(book->more);
    free(book->file);
    free(book);
}

// The file's bytes, and a NUL after them; NULL: `why` tells.
static char *read_file(const char *file, size_t *length, char *why, size_t why_size)
{
    errno = 0;
    FILE *from = fopen(file, "re");
    char *text = NULL;
    size_t room = 0, n = 1;
    for (*length = 0; from && n && *length < LONGEST_FILE; *length += n) {
        room = *length + 65536;
        text = mlt_take_more(text, room, 1);
        n = fread(text + *length, 1, room - *length - 1, from);
    }
    if (from && !ferror(from) && *length < LONGEST_FILE) {
        text[*length] = '\0';
        fclose(from);
        return text;
    }
    snprintf(why, why_size, "'%s' cannot be read: %s", file,
             *length >= LONGEST_FILE ? "it has more than 16 MiB" : strerror(errno));
    if (from)
        fclose(from);
    free(text);
    return NULL;
}

typedef struct source {
    const char *text;
    size_t length;
} source;

static int protected_read(lua_State *L)
{
    mlt_lua_book *book = lua_touserdata(L, 1);
    const source *from = lua_touserdata(L, 2);
    mlt_lua_open(L);
    lua_pushlightuserdata(L, book);
    lua_setfield(L, LUA_REGISTRYINDEX, "book");
    lua_newtable(L); // texts that answers point to
    lua_setfield(L, LUA_REGISTRYINDEX, "texts");
    mlt_lua_library_without_chance(L);
    mlt_lua_read_begin(L);
    lua_pushfstring(L, "@%s", book->short_file);
    if (luaL_loadbufferx(L, from->text, from->length, lua_tostring(L, -1), "t") != LUA_OK)
        lua_error(L);
    lua_call(L, 0, 1);
    bool empty = !book->rules_count && !book->algs_count && !book->paths_count && !book->ways_count;
    if (empty && lua_type(L, -1) == LUA_TFUNCTION)
        luaL_error(L,
                   "%s: it returns a function, which only `millet goal` takes; here it should say "
                   "algorithm { coll = \"bcast\", name = \"mine\", emit = function(g, shape) ... "
                   "end }",
                   book->short_file);
    lua_pop(L, 1);
    mlt_lua_read_end(L);
    return 0;
}

static void show_lists(mlt_lua_book *book)
{
    book->base.file = book->file;
    book->base.rules = book->rules;
    book->base.rules_count = book->rules_count;
    book->base.algs = (const mlt_coll_alg *const *)book->algs; // base is their first member
    book->base.algs_count = book->algs_count;
    book->base.paths = book->paths;
    book->base.paths_count = book->paths_count;
    book->base.ways = book->ways;
    book->base.ways_count = book->ways_count;
}

mlt_status mlt_lua_book_open(const mlt_coll_alg *const *algs, const char *file, mlt_coll_book **out,
                             char *why, size_t why_size)
{
    size_t length;
    char *text = read_file(file, &length, why, why_size);
    if (!text)
        return MLT_ERR_INVALID;
    mlt_status status = mlt_lua_book_read(algs, file, text, length, out, why, why_size);
    free(text);
    return status;
}

mlt_status mlt_lua_book_read(const mlt_coll_alg *const *algs, const char *file, const char *text,
                             size_t length, mlt_coll_book **out, char *why, size_t why_size)
{
    source from = {text, length};
    mlt_lua_book *book = mlt_take(1, sizeof *book);
    book->base = (mlt_coll_book){
        .choose = choose, .prove = mlt_lua_alg_prove, .saw = mlt_lua_saw, .free = free_book};
    book->goal =
        (mlt_lua_goal){.rank = MLT_LUA_CLOSED, .reverses = true, .limit = MLT_LUA_BOOK_STEPS};
    book->last_step = UINT64_MAX;
    book->built_in = algs;
    book->file = mlt_take(strlen(file) + 1, 1);
    strcpy(book->file, file);
    const char *slash = strrchr(book->file, '/');
    book->short_file = slash ? slash + 1 : book->file;
    book->L = mlt_lua_new(&book->goal);
    int status = LUA_ERRMEM;
    if (book->L) {
        lua_pushcfunction(book->L, protected_read);
        lua_pushlightuserdata(book->L, book);
        lua_pushlightuserdata(book->L, &from);
        status = mlt_lua_call(book->L, 2, 0);
        if (status != LUA_OK)
            mlt_lua_explain(book->L, status, file, why, why_size);
        lua_settop(book->L, 0);
    } else
        snprintf(why, why_size, "%s: " MLT_NO_ROOM "Lua", file);
    if (status != LUA_OK) {
        free_book(&book->base);
        return MLT_ERR_INVALID;
    }
    show_lists(book);
    *out = &book->base;
    return MLT_OK;
}

// ---- proving all of it

bool mlt_lua_in_time(const mlt_lua_book *book, const char *what, char *why, size_t why_size)
{
    if (book->goal.total <= book->last_step)
        return true;
    snprintf(why, why_size, "%s: %s takes too long: trying it took more than %d steps",
             book->short_file, what, MLT_LUA_PROOF_STEPS);
    return false;
}

// Rules that are functions may be wrong where they do not always go; these questions find most.
static mlt_status try_rules(mlt_lua_book *book, char *why, size_t why_size)
{
    static const uint32_t ranks[] = {1, 2, 3, 8, 64, 1000};
    static const uint64_t bytes[] = {0, 8, 4096, 65536, 1 << 20, 64 << 20};
    book->last_step = book->goal.total + MLT_LUA_PROOF_STEPS;
    for (uint32_t i = 0; i < book->rules_count; i++)
        for (int n = 0; book->more[i].function != LUA_NOREF && n < MLT_COLLECTIVES * 36; n++) {
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
            char own[SENTENCE] = "";
            if (!mlt_lua_in_time(book, "what its rules' functions do", why, why_size))
                return MLT_ERR_INVALID;
            if (ask(book, i, &q, &rule, &alg, own, sizeof own) || !*own)
                continue;
            snprintf(why, why_size, "%s (asked for %s, %" PRIu32 " ranks, %" PRIu64 " bytes)", own,
                     mlt_collective_names[q.collective], q.ranks, q.bytes);
            return MLT_ERR_INVALID;
        }
    return MLT_OK;
}

static bool has_root(mlt_collective c)
{
    return c == MLT_COLL_BCAST || c == MLT_COLL_REDUCE || c == MLT_COLL_GATHER ||
           c == MLT_COLL_SCATTER;
}

// All that differs between shapes of that many ranks on those hosts (NULL: on one). *tried: how many
// were not refused.
static mlt_status prove_ranks(mlt_lua_book *book, const mlt_lua_alg *alg, uint32_t ranks,
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
    uint32_t roots = has_root(alg->base.collective) && ranks > 1 ? 2 : 1;
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
        mlt_status status = mlt_lua_alg_prove(&book->base, &alg->base, &shape, why, why_size);
        if (status != MLT_OK)
            return status;
    }
    return MLT_OK;
}

// Few ranks on up to three hosts, in blocks and in turn: algorithms may look at where ranks are.
static mlt_status prove_hosts(mlt_lua_book *book, const mlt_lua_alg *alg, uint32_t *tried,
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
        status = prove_ranks(book, alg, ranks, map, tried, why, why_size);
        mlt_coll_hosts_free(map);
    }
    return status;
}

mlt_status mlt_lua_book_prove(mlt_coll_book *base, char *why, size_t why_size)
{
    mlt_lua_book *book = (mlt_lua_book *)base;
    mlt_status status = MLT_OK;
    for (uint32_t i = 0; i < book->algs_count && status == MLT_OK; i++) {
        const mlt_lua_alg *alg = book->algs[i];
        uint32_t tried = 0;
        book->last_step = book->goal.total + MLT_LUA_PROOF_STEPS;
        for (uint32_t p = 1; p <= 33 && status == MLT_OK; p = p == 17 ? 32 : p + 1)
            status = prove_ranks(book, alg, p, NULL, &tried, why, why_size);
        if (status == MLT_OK)
            status = prove_hosts(book, alg, &tried, why, why_size);
        if (status == MLT_OK && !tried) {
            snprintf(why, why_size, "%s:%d: %s.%s refuses every shape that it was tried with",
                     book->short_file, alg->line, mlt_collective_names[alg->base.collective],
                     alg->base.name);
            status = MLT_ERR_INVALID;
        }
    }
    if (status == MLT_OK)
        status = try_rules(book, why, why_size);
    book->last_step = UINT64_MAX;
    return status;
}
