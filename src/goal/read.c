// SPDX-License-Identifier: BSD-3-Clause
// Reading a text: which dialect, what both parsers do alike, and what can only be said at the end.
//
// Time is linear in the text (times the ranks that share a block). Labels and buffers are one name
// space a rank each, over all its blocks: looked for one by one while the rank is small, in a hash
// table of the rank's own afterwards. A dependency whose labels are not both known yet waits for
// the end of the text.
#include <inttypes.h>
#include <stdlib.h>

#include "base/log.h"
#include "goal/read_int.h"

enum { SMALL = 16 }; // actions and buffers of a rank that needs no table

static void *grown(void *array, size_t *room, size_t wanted, size_t element)
{
    size_t more = *room ? 2 * *room : 64;
    if (more < wanted)
        more = wanted;
    array = realloc(array, more * element);
    if (!array)
        mlt_fatal("no memory for reading a GOAL program");
    *room = more;
    return array;
}

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
    return mlt_goal_read_expected(reader, what);
}

bool mlt_goal_read_rank(mlt_goal_reader *reader, const char *what, uint32_t *rank)
{
    uint64_t value;
    const char *at = reader->token.at;
    if (!mlt_goal_read_number(reader, what, UINT64_MAX, &value))
        return false;
    if (reader->declared && value >= reader->declared)
        return mlt_goal_read_fail(
            reader, at, "there is no rank %" PRIu64 ": the program has the ranks 0 to %" PRIu32,
            value, reader->declared - 1);
    uint32_t most =
        reader->most_ranks < MLT_GOAL_IMPLIED_RANKS ? reader->most_ranks : MLT_GOAL_IMPLIED_RANKS;
    if (!reader->declared && value >= most)
        return mlt_goal_read_fail(reader, at,
                                  "rank %" PRIu64 " is beyond the %" PRIu32
                                  " ranks that a text may have without saying so; if it is meant, "
                                  "write '%s' at the beginning",
                                  value, most,
                                  reader->dialect == MLT_GOAL_PAPER ? "ranks N;" : "num_ranks N");
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
}

// ---- names

bool mlt_goal_read_name(mlt_goal_reader *reader, const char *what, uint32_t *name)
{
    const mlt_goal_token *token = &reader->token;
    if (token->kind != MLT_TOKEN_WORD)
        return mlt_goal_read_expected(reader, what);
    size_t length = (size_t)(token->end - token->at);
    *name = mlt_goal_name(reader->program, token->at, length);
    return mlt_goal_next(reader, false);
}

static uint32_t key_of(int kind, uint32_t name)
{
    return name << 1 | (uint32_t)kind; // names take less than 2 GiB
}

static uint32_t place_of(uint32_t key, uint32_t size)
{
    return (key * 2654435769u) >> (32 - (uint32_t)__builtin_ctz(size));
}

static void slot_put(mlt_goal_bindings *bindings, uint32_t key, uint32_t index)
{
    uint32_t at = place_of(key, bindings->size);
    while (bindings->slot[at])
        at = (at + 1) & (bindings->size - 1);
    bindings->slot[at] = (uint64_t)key << 32 | (index + 1);
    bindings->count++;
}

static void bindings_grow(mlt_goal_bindings *bindings, uint32_t size)
{
    mlt_goal_bindings old = *bindings;
    bindings->slot = calloc(size, sizeof *bindings->slot);
    if (!bindings->slot)
        mlt_fatal("no memory for the labels of a GOAL program");
    bindings->size = size;
    bindings->count = 0;
    for (uint32_t i = 0; i < old.size; i++)
        if (old.slot[i])
            slot_put(bindings, (uint32_t)(old.slot[i] >> 32), (uint32_t)old.slot[i] - 1);
    free(old.slot);
}

static void bind(mlt_goal_bindings *bindings, int kind, uint32_t name, uint32_t index)
{
    if (2 * bindings->count >= bindings->size)
        bindings_grow(bindings, bindings->size ? 2 * bindings->size : 4 * SMALL);
    slot_put(bindings, key_of(kind, name), index);
}

// The table of the reader's rank; NULL: it is small.
static mlt_goal_bindings *bindings_of(mlt_goal_reader *reader)
{
    const mlt_goal_rank *rank = &reader->program->rank[reader->rank];
    if (reader->rank < reader->bindings_room && reader->bindings[reader->rank].slot)
        return &reader->bindings[reader->rank];
    if (MLT_LIKELY(rank->count + rank->buffers_count <= SMALL))
        return NULL;
    if (reader->rank >= reader->bindings_room) {
        size_t old = reader->bindings_room, room = old;
        reader->bindings =
            grown(reader->bindings, &room, (size_t)reader->rank + 1, sizeof *reader->bindings);
        memset(reader->bindings + old, 0, (room - old) * sizeof *reader->bindings);
        reader->bindings_room = (uint32_t)room;
    }
    mlt_goal_bindings *bindings = &reader->bindings[reader->rank];
    bindings_grow(bindings, 4 * SMALL);
    for (uint32_t a = 0; a < rank->count; a++)
        if (rank->actions[a].label)
            bind(bindings, MLT_GOAL_LABEL, rank->actions[a].label, a);
    for (uint32_t b = 0; b < rank->buffers_count; b++)
        bind(bindings, MLT_GOAL_BUFFER, rank->buffers[b].name, b);
    return bindings;
}

uint32_t mlt_goal_read_find(mlt_goal_reader *reader, int kind, uint32_t name)
{
    const mlt_goal_rank *rank = &reader->program->rank[reader->rank];
    const mlt_goal_bindings *bindings = bindings_of(reader);
    if (bindings) {
        uint32_t key = key_of(kind, name), at = place_of(key, bindings->size);
        for (; bindings->slot[at]; at = (at + 1) & (bindings->size - 1))
            if (bindings->slot[at] >> 32 == key)
                return (uint32_t)bindings->slot[at] - 1;
        return MLT_GOAL_NONE;
    }
    if (kind == MLT_GOAL_LABEL) {
        for (uint32_t a = 0; a < rank->count; a++)
            if (rank->actions[a].label == name)
                return a;
    } else {
        for (uint32_t b = 0; b < rank->buffers_count; b++)
            if (rank->buffers[b].name == name)
                return b;
    }
    return MLT_GOAL_NONE;
}

// A name that may be given: no keyword, not taken.
static bool fresh(mlt_goal_reader *reader, int kind, const mlt_goal_token *word, uint32_t name)
{
    bool word_is_free =
        mlt_goal_is_identifier(reader->dialect, word->at, (size_t)(word->end - word->at));
    uint32_t first = mlt_goal_read_find(reader, kind, name);
    if (MLT_LIKELY(word_is_free && first == MLT_GOAL_NONE))
        return true;
    const char *what = kind == MLT_GOAL_LABEL ? "label" : "buffer";
    char quote[48];
    mlt_goal_read_quote(word->at, word->end, quote);
    if (!word_is_free)
        return mlt_goal_read_fail(reader, word->at,
                                  "'%s' is a word of the language and cannot be the name of a %s",
                                  quote, what);
    const mlt_goal_rank *rank = &reader->program->rank[reader->rank];
    uint32_t line = kind == MLT_GOAL_LABEL ? rank->actions[first].line : rank->buffers[first].line;
    return mlt_goal_read_fail(reader, word->at,
                              "rank %" PRIu32 " has a %s '%s' already, in line %" PRIu32
                              "; names of a rank differ",
                              reader->rank, what, quote, line);
}

bool mlt_goal_read_label(mlt_goal_reader *reader, const mlt_goal_token *label, uint32_t *name)
{
    *name = mlt_goal_name(reader->program, label->at, (size_t)(label->end - label->at));
    return fresh(reader, MLT_GOAL_LABEL, label, *name);
}

void mlt_goal_read_add(mlt_goal_reader *reader, const mlt_goal_action *action)
{
    uint32_t index = mlt_goal_add(reader->program, reader->rank, action);
    if (action->label && reader->rank < reader->bindings_room &&
        reader->bindings[reader->rank].slot)
        bind(&reader->bindings[reader->rank], MLT_GOAL_LABEL, action->label, index);
}

bool mlt_goal_read_buffer(mlt_goal_reader *reader, const mlt_goal_token *word, uint32_t name,
                          uint64_t size)
{
    if (!fresh(reader, MLT_GOAL_BUFFER, word, name))
        return false;
    mlt_goal_rank *rank = &reader->program->rank[reader->rank];
    uint32_t id = mlt_goal_buffer_add(reader->program, reader->rank,
                                      mlt_goal_name_text(reader->program, name), size);
    rank->buffers[id - 1].line = word->line;
    if (reader->rank < reader->bindings_room && reader->bindings[reader->rank].slot)
        bind(&reader->bindings[reader->rank], MLT_GOAL_BUFFER, name, id - 1);
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
    if (reader->pending_count == reader->pending_room)
        reader->pending = grown(reader->pending, &reader->pending_room, 0, sizeof *dependency);
    reader->pending[reader->pending_count++] = *dependency;
}

static bool resolve_pending(mlt_goal_reader *reader)
{
    for (size_t i = 0; i < reader->pending_count; i++) {
        const mlt_goal_pending *d = &reader->pending[i];
        reader->rank = d->rank;
        if (resolve(reader, d))
            continue;
        bool first = mlt_goal_read_find(reader, MLT_GOAL_LABEL, d->action) == MLT_GOAL_NONE;
        const char *name = mlt_goal_name_text(reader->program, first ? d->action : d->on);
        char quote[48];
        mlt_goal_read_quote(name, name + strlen(name), quote);
        return mlt_goal_read_fail(reader, first ? d->action_at : d->on_at,
                                  "rank %" PRIu32 " has no action with the label '%s'", d->rank,
                                  quote);
    }
    return true;
}

// ---- a whole text

mlt_status mlt_goal_read_limited(const char *name, const char *text, size_t length,
                                 uint32_t most_ranks, mlt_goal_program **out,
                                 mlt_goal_dialect *dialect, char *why, size_t why_size)
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
    mlt_goal_program_grow(reader.program, reader.ranks ? reader.ranks : 1);
    for (uint32_t r = 0; r < reader.bindings_room; r++)
        free(reader.bindings[r].slot);
    free(reader.bindings);
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

mlt_status mlt_goal_read(const char *name, const char *text, size_t length, mlt_goal_program **out,
                         mlt_goal_dialect *dialect, char *why, size_t why_size)
{
    return mlt_goal_read_limited(name, text, length, MLT_GOAL_MAX_RANKS, out, dialect, why,
                                 why_size);
}
