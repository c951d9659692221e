// SPDX-License-Identifier: BSD-3-Clause
// Reading a text: which dialect, what both parsers do alike, and what can only be said at the end.
//
// Time is linear in the text (times the ranks that share a block). Labels and buffers are one name
// space a rank each, over all its blocks. One hash table has all words; a word remembers what it
// stands for on the rank that used it last, which is the answer in a rank's first block. For ranks
// with several blocks there is a table of their own besides. A dependency whose labels are not both
// known yet waits for the end of the text.
#include <inttypes.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/memory.h"
#include "base/table.h"
#include "goal/text/read_int.h"

enum { SMALL = 16 }; // actions and buffers of a rank that needs no table

// ---- numbers and ranks

bool mlt_goal_read_number(mlt_goal_reader *reader, const char *what, uint64_t most, uint64_t *value)
{
    const mlt_goal_token *token = &reader->token;
    *value = token->value;
    if (MLT_LIKELY(token->kind == MLT_TOKEN_NUMBER && token->value <= most))
        return mlt_goal_next(reader, false);
    char quote[48];
    mlt_goal_read_quote(token->at, token->end, quote);
    if (token->kind == MLT_TOKEN_BROKEN)
        return mlt_goal_read_fail(reader, token->at, "here should be %s; '%s' is no number", what,
                                  quote);
    if (token->kind == MLT_TOKEN_HUGE || token->kind == MLT_TOKEN_NUMBER)
        return mlt_goal_read_fail(reader, token->at,
                                  "here should be %s of at most %" PRIu64 "; %s is too large", what,
                                  most, quote);
    return mlt_goal_read_expected(reader, what, false);
}

bool mlt_goal_read_rank(mlt_goal_reader *reader, const char *what, uint32_t *rank)
{
    uint64_t value;
    const char *at = reader->token.at;
    if (!mlt_goal_read_number(reader, what, UINT64_MAX, &value))
        return false;
    if (reader->declared && value >= reader->declared)
        return mlt_goal_read_fail(reader, at,
                                  "there is no rank %" PRIu64 ": the program has the ranks 0 to %u",
                                  value, reader->declared - 1);
    uint32_t most =
        reader->most_ranks < MLT_GOAL_IMPLIED_RANKS ? reader->most_ranks : MLT_GOAL_IMPLIED_RANKS;
    if (!reader->declared && value >= most)
        return mlt_goal_read_fail(
            reader, at,
            "rank %" PRIu64 " is beyond the %u ranks that a text may have without saying so; if it "
            "is meant, write '%s' at the beginning",
            value, most, reader->dialect == MLT_GOAL_PAPER ? "ranks N;" : "num_ranks N");
    *rank = (uint32_t)value;
    if (*rank >= reader->ranks)
        reader->ranks = *rank + 1;
    return true;
}

bool mlt_goal_read_ranks(mlt_goal_reader *reader)
{
    uint64_t value;
    const char *at = reader->token.at;
    if (!mlt_goal_read_number(reader, "a number of ranks", reader->most_ranks, &value))
        return false;
    if (!value)
        return mlt_goal_read_fail(reader, at, "a program has at least 1 rank");
    reader->declared = reader->ranks = (uint32_t)value;
    return true;
}

void mlt_goal_read_enter(mlt_goal_reader *reader, uint32_t rank)
{
    mlt_goal_program *program = reader->program;
    if (rank >= program->ranks) {
        // Twice as many, so that a million blocks do not move the ranks a million times.
        uint64_t wanted = reader->declared ? reader->declared : 2ull * rank + 16;
        if (wanted > MLT_GOAL_MAX_RANKS)
            wanted = MLT_GOAL_MAX_RANKS;
        mlt_goal_program_grow(program, (uint32_t)wanted);
    }
    reader->rank = rank;
    reader->first_block = !program->rank[rank].count && !program->rank[rank].buffers_count;
}

// ---- symbols

// Words that differ in the last digit only are neighbours, for labels are mostly numbered and used
// near where they are defined: a cache line holds eight entries. (Those of mlt_table are twice as
// large.)
static uint32_t read_hash_of(const mlt_goal_token *word)
{
    uint32_t length = (uint32_t)(word->end - word->at), near = (uint32_t)word->end[-1] & 7;
    uint64_t hash = length > 8 ? length : word->value ^ (uint64_t)near << 8 * (length - 1);
    hash *= 0x9e3779b97f4a7c15u;
    hash = (hash ^ hash >> 32) * 0x9e3779b97f4a7c15u; // so that the last letters reach all bits
    for (uint32_t i = 0; i + 1 < length && length > 8; i++)
        hash = (hash ^ (unsigned char)word->at[i]) * 0x100000001b3u;
    if (length > 8)
        hash = (hash ^ ((unsigned char)word->at[length - 1] & ~7u)) * 0x9e3779b97f4a7c15u;
    return ((uint32_t)(hash >> 32) & ~7u) | near;
}

static void symbol_table_grow(mlt_goal_reader *reader)
{
    uint32_t size = reader->symbol_table_size ? 2 * reader->symbol_table_size : 256;
    if (!size)
        mlt_no_room("the labels of a GOAL program: there are more than 2^31");
    uint64_t *table = mlt_xcalloc(size, sizeof *table);
    for (uint32_t i = 0; i < reader->symbol_table_size; i++) {
        uint64_t entry = reader->symbol_table[i];
        uint32_t at = (uint32_t)(entry >> 32) & (size - 1);
        while (entry && table[at])
            at = (at + 1) & (size - 1);
        if (entry)
            table[at] = entry;
    }
    free(reader->symbol_table);
    reader->symbol_table = table;
    reader->symbol_table_size = size;
}

uint32_t mlt_goal_symbol_of(mlt_goal_reader *reader, const mlt_goal_token *word)
{
    if (MLT_UNLIKELY(2 * reader->symbols_count >= reader->symbol_table_size))
        symbol_table_grow(reader);
    uint32_t hash = read_hash_of(word), length = (uint32_t)(word->end - word->at);
    uint32_t mask = reader->symbol_table_size - 1, at = hash & mask;
    for (uint64_t entry; (entry = reader->symbol_table[at]); at = (at + 1) & mask) {
        const mlt_goal_symbol *symbol = &reader->symbols[(uint32_t)entry - 1];
        if (entry >> 32 == hash && symbol->letters == word->value && symbol->length == length &&
            (length <= 8 || memcmp(symbol->at, word->at, length) == 0))
            return (uint32_t)entry - 1;
    }
    MLT_ARRAY_WANT(reader->symbols, reader->symbols_count + 1, reader->symbols_room);
    reader->symbols[reader->symbols_count] =
        (mlt_goal_symbol){.letters = word->value, .at = word->at, .length = length};
    reader->symbol_table[at] = (uint64_t)hash << 32 | (reader->symbols_count + 1);
    return (uint32_t)reader->symbols_count++;
}

bool mlt_goal_read_symbol(mlt_goal_reader *reader, const char *what, uint32_t *symbol)
{
    if (reader->token.kind != MLT_TOKEN_WORD)
        return mlt_goal_read_expected(reader, what, false);
    *symbol = mlt_goal_symbol_of(reader, &reader->token);
    return mlt_goal_next(reader, false);
}

// ---- what a rank's names stand for

static uint32_t key_of(int kind, uint32_t name)
{
    return name << 1 | (uint32_t)kind; // names take less than 2 GiB
}

static void bind(mlt_goal_bindings *bindings, int kind, uint32_t name, uint32_t index)
{
    uint32_t key = key_of(kind, name);
    mlt_table_add(&bindings->table, mlt_hash_word(key), (uint64_t)key << 32 | index);
}

// The table of the reader's rank, with all that the rank has.
static const mlt_goal_bindings *bindings_of(mlt_goal_reader *reader)
{
    const mlt_goal_rank *rank = &reader->program->rank[reader->rank];
    uint32_t old = reader->bindings_room;
    MLT_ARRAY_WANT(reader->bindings, (size_t)reader->rank + 1, reader->bindings_room);
    if (old < reader->bindings_room)
        memset(reader->bindings + old, 0, (reader->bindings_room - old) * sizeof *reader->bindings);
    mlt_goal_bindings *bindings = &reader->bindings[reader->rank];
    for (; bindings->actions < rank->count; bindings->actions++)
        if (rank->actions[bindings->actions].label)
            bind(bindings, MLT_GOAL_LABEL, rank->actions[bindings->actions].label,
                 bindings->actions);
    for (; bindings->buffers < rank->buffers_count; bindings->buffers++)
        bind(bindings, MLT_GOAL_BUFFER, rank->buffers[bindings->buffers].name, bindings->buffers);
    return bindings;
}

static uint32_t find_slowly(mlt_goal_reader *reader, int kind, uint32_t name)
{
    const mlt_goal_rank *rank = &reader->program->rank[reader->rank];
    if (rank->count + rank->buffers_count > SMALL) {
        uint32_t key = key_of(kind, name);
        mlt_table_look look = mlt_table_look_for(&bindings_of(reader)->table, mlt_hash_word(key));
        while (mlt_table_next(&look))
            if (look.word >> 32 == key)
                return (uint32_t)look.word;
        return MLT_GOAL_NONE;
    }
    for (uint32_t a = 0; kind == MLT_GOAL_LABEL && a < rank->count; a++)
        if (rank->actions[a].label == name)
            return a;
    for (uint32_t b = 0; kind == MLT_GOAL_BUFFER && b < rank->buffers_count; b++)
        if (rank->buffers[b].name == name)
            return b;
    return MLT_GOAL_NONE;
}

static void remember(mlt_goal_reader *reader, int kind, uint32_t symbol, uint32_t index)
{
    mlt_goal_symbol *s = &reader->symbols[symbol];
    *(kind == MLT_GOAL_LABEL ? &s->label_rank : &s->buffer_rank) = reader->rank + 1;
    *(kind == MLT_GOAL_LABEL ? &s->label_index : &s->buffer_index) = index;
}

uint32_t mlt_goal_read_find(mlt_goal_reader *reader, int kind, uint32_t symbol)
{
    const mlt_goal_symbol *s = &reader->symbols[symbol];
    bool label = kind == MLT_GOAL_LABEL;
    if (MLT_LIKELY((label ? s->label_rank : s->buffer_rank) == reader->rank + 1))
        return label ? s->label_index : s->buffer_index;
    if (reader->first_block || !s->name)
        return MLT_GOAL_NONE;
    uint32_t index = find_slowly(reader, kind, s->name);
    if (index != MLT_GOAL_NONE)
        remember(reader, kind, symbol, index);
    return index;
}

// Gives a name to what will have that index: it is no keyword, and not taken.
static bool read_give(mlt_goal_reader *reader, int kind, const mlt_goal_token *word, uint32_t index,
                      uint32_t *name)
{
    bool keyword = mlt_goal_is_keyword(reader->dialect, word->at, (size_t)(word->end - word->at));
    uint32_t symbol = mlt_goal_symbol_of(reader, word);
    uint32_t first = mlt_goal_read_find(reader, kind, symbol);
    if (MLT_LIKELY(!keyword && first == MLT_GOAL_NONE)) {
        mlt_goal_symbol *s = &reader->symbols[symbol];
        if (!s->name)
            s->name = mlt_goal_name(reader->program, s->at, s->length);
        *name = s->name;
        remember(reader, kind, symbol, index);
        return true;
    }
    const char *what = kind == MLT_GOAL_LABEL ? "label" : "buffer";
    char quote[48];
    mlt_goal_read_quote(word->at, word->end, quote);
    if (keyword)
        return mlt_goal_read_fail(reader, word->at,
                                  "'%s' is a word of the language and cannot be the name of a %s",
                                  quote, what);
    const mlt_goal_rank *rank = &reader->program->rank[reader->rank];
    uint32_t line = kind == MLT_GOAL_LABEL ? rank->actions[first].line : rank->buffers[first].line;
    return mlt_goal_read_fail(reader, word->at,
                              "rank %u has a %s '%s' already, in line %u; names of a rank differ",
                              reader->rank, what, quote, line);
}

bool mlt_goal_read_label(mlt_goal_reader *reader, const mlt_goal_token *word, uint32_t *name)
{
    return read_give(reader, MLT_GOAL_LABEL, word, reader->program->rank[reader->rank].count, name);
}

bool mlt_goal_read_buffer(mlt_goal_reader *reader, const mlt_goal_token *word, uint64_t size)
{
    mlt_goal_rank *rank = &reader->program->rank[reader->rank];
    uint32_t name = 0;
    if (!read_give(reader, MLT_GOAL_BUFFER, word, rank->buffers_count, &name))
        return false;
    mlt_goal_buffer_add(reader->program, reader->rank, mlt_goal_name_text(reader->program, name),
                        size);
    rank->buffers[rank->buffers_count - 1].line = word->line;
    return true;
}

// ---- dependencies

static bool resolve(mlt_goal_reader *reader, const mlt_goal_pending *d)
{
    uint32_t action = mlt_goal_read_find(reader, MLT_GOAL_LABEL, d->action);
    uint32_t on = mlt_goal_read_find(reader, MLT_GOAL_LABEL, d->on);
    if (action == MLT_GOAL_NONE || on == MLT_GOAL_NONE)
        return false;
    if (d->started)
        on |= MLT_GOAL_STARTED;
    mlt_goal_require(reader->program, reader->rank, action, on);
    return true;
}

void mlt_goal_read_require(mlt_goal_reader *reader, const mlt_goal_pending *dependency)
{
    if (resolve(reader, dependency))
        return;
    *MLT_ARRAY_ADD(reader->pending, reader->pending_count, reader->pending_room) = *dependency;
}

static bool resolve_pending(mlt_goal_reader *reader)
{
    for (size_t i = 0; i < reader->pending_count; i++) {
        const mlt_goal_pending *d = &reader->pending[i];
        reader->rank = d->rank;
        reader->first_block = false;
        if (resolve(reader, d))
            continue;
        bool first = mlt_goal_read_find(reader, MLT_GOAL_LABEL, d->action) == MLT_GOAL_NONE;
        const mlt_goal_symbol *s = &reader->symbols[first ? d->action : d->on];
        char quote[48];
        mlt_goal_read_quote(s->at, s->at + s->length, quote);
        return mlt_goal_read_fail(reader, first ? d->action_at : d->on_at,
                                  "rank %u has no action with the label '%s'", d->rank, quote);
    }
    return true;
}

// ---- a whole text

static mlt_status read_text(const char *name, const char *text, size_t length, uint32_t most_ranks,
                            mlt_goal_program **out, mlt_goal_dialect *dialect, bool *comments,
                            char *why, size_t why_size)
{
    *out = NULL;
    if (length >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) { // the mark that some editors write
        text += 3;
        length -= 3;
    }
    mlt_goal_reader reader = {.name = name,
                              .text = text,
                              .end = text + length,
                              .at = text,
                              .before = text,
                              .line = 1,
                              .most_ranks = most_ranks,
                              .why = why,
                              .why_size = why_size};
    if (why_size)
        why[0] = 0;
    reader.dialect = mlt_goal_dialect_of(text, reader.end);
    if (dialect)
        *dialect = reader.dialect;
    reader.program = mlt_goal_program_new(0);
    bool good = mlt_goal_next(&reader, false);
    if (good && reader.token.kind == MLT_TOKEN_END)
        good = mlt_goal_read_fail(&reader, reader.end,
                                  "there is nothing to read: a program has at least one action, "
                                  "rank block or 'ranks N;'");
    if (good)
        good = reader.dialect == MLT_GOAL_PAPER ? mlt_goal_read_paper(&reader)
                                                : mlt_goal_read_loggopsim(&reader);
    good = good && resolve_pending(&reader);
    if (comments)
        *comments = reader.comments;
    mlt_goal_program_grow(reader.program, reader.ranks ? reader.ranks : 1);
    for (uint32_t r = 0; r < reader.bindings_room; r++)
        mlt_table_free(&reader.bindings[r].table);
    free(reader.bindings);
    free(reader.symbols);
    free(reader.symbol_table);
    free(reader.pending);
    if (!good) {
        mlt_goal_program_free(reader.program);
        return MLT_ERR_INVALID;
    }
    // Ranks beyond the last one that the text speaks of hold nothing.
    reader.program->ranks = reader.ranks ? reader.ranks : 1;
    *out = reader.program;
    return MLT_OK;
}

mlt_status mlt_goal_read_limited(const char *name, const char *text, size_t length,
                                 uint32_t most_ranks, mlt_goal_program **out,
                                 mlt_goal_dialect *dialect, char *why, size_t why_size)
{
    return read_text(name, text, length, most_ranks, out, dialect, NULL, why, why_size);
}

bool mlt_goal_has_comments(const char *text, size_t length)
{
    mlt_goal_program *program;
    bool comments = false;
    if (read_text("", text, length, MLT_GOAL_MAX_RANKS, &program, NULL, &comments, NULL, 0) ==
        MLT_OK)
        mlt_goal_program_free(program);
    return comments;
}

mlt_status mlt_goal_read(const char *name, const char *text, size_t length, mlt_goal_program **out,
                         mlt_goal_dialect *dialect, char *why, size_t why_size)
{
    return mlt_goal_read_limited(name, text, length, MLT_GOAL_MAX_RANKS, out, dialect, why,
                                 why_size);
}
