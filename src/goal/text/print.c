// SPDX-License-Identifier: BSD-3-Clause
// Actions and programs as text.
//
// A whole program is printed so that reading gives it back. Names that a text cannot have
// (keywords, two of the same in a rank, any shape that is no identifier's) are replaced by made-up
// ones: the kind's first letter, the action's number, and as many '_' as make it different from
// every name of the program. In the paper's dialect equal ranks, found by a hash of what they hold,
// share a block.
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/memory.h"
#include "base/table.h"
#include "goal/text/loggopsim_int.h"
#include "goal/text/read_int.h"
#include "goal/text/text.h"

// ---- output: into a string of limited size, or through a buffer into a file

typedef struct out {
    char *text;
    size_t size, used;
    FILE *to; // NULL: what goes beyond the size is cut off
    bool failed;
} out;

static void flush(out *o)
{
    if (fwrite(o->text, 1, o->used, o->to) != o->used)
        o->failed = true;
    o->used = 0;
}

static void put_bytes(out *o, const char *bytes, size_t count)
{
    while (o->to && count > o->size - o->used) {
        size_t part = o->size - o->used;
        memcpy(o->text + o->used, bytes, part);
        o->used += part;
        bytes += part;
        count -= part;
        flush(o);
    }
    if (!o->to) {
        size_t room = o->size > o->used ? o->size - o->used - 1 : 0;
        count = count < room ? count : room;
    }
    memcpy(o->text + o->used, bytes, count);
    o->used += count;
    if (!o->to && o->size)
        o->text[o->used] = 0;
}

static void print_put(out *o, const char *text)
{
    put_bytes(o, text, strlen(text));
}

static void put_number(out *o, uint64_t value)
{
    char digits[20], *at = digits + sizeof digits;
    do
        *--at = (char)('0' + value % 10);
    while (value /= 10);
    put_bytes(o, at, (size_t)(digits + sizeof digits - at));
}

// ---- names

typedef struct printer {
    out o;
    const mlt_goal_program *program;
    mlt_goal_dialect dialect;
    int underscores;     // of made-up names
    uint32_t block;      // 1 + the number of blocks begun
    uint32_t *label_in;  // by name: the block in which it is a label already
    uint32_t *buffer_in; // ... a buffer
    uint8_t *identifier; // by name: 0 not looked at yet, 1 it is one, 2 it is none
    uint8_t *state;      // of the current rank's actions: what they are called
    uint8_t *buffer_state;
    size_t state_room, buffer_room;
} printer;

enum { NAMELESS, OWN_NAME, MADE_UP };

static char letter_of(const mlt_goal_action *action)
{
    switch (action->kind) {
    case MLT_GOAL_SEND:
        return 's';
    case MLT_GOAL_RECV:
    case MLT_GOAL_RECV_EXEC:
    case MLT_GOAL_RECV_USER:
        return 'r';
    case MLT_GOAL_EXEC:
    case MLT_GOAL_USER:
        return 'e';
    case MLT_GOAL_CALC:
        return 'c';
    default:
        return 'n';
    }
}

// The number of '_' that keeps made-up names apart from all names that look like one.
static int underscores_for(const mlt_goal_program *program)
{
    int most = -1;
    for (uint32_t at = 1; at < program->names_size;) {
        const char *name = program->names + at, *c = name;
        size_t length = strlen(name);
        at += (uint32_t)length + 1;
        if (!strchr("bcenrs", *c) || c[1] < '0' || c[1] > '9')
            continue;
        for (c++; *c >= '0' && *c <= '9';)
            c++;
        size_t tail = strspn(c, "_");
        if (!c[tail] && (int)tail > most)
            most = (int)tail;
    }
    return most + 1;
}

static void put_made_up(printer *p, char letter, uint32_t number)
{
    put_bytes(&p->o, &letter, 1);
    put_number(&p->o, number);
    for (int i = 0; i < p->underscores; i++)
        put_bytes(&p->o, "_", 1);
}

static size_t made_up_length(const printer *p, uint32_t number)
{
    size_t length = 2 + (size_t)p->underscores;
    while (number /= 10)
        length++;
    return length;
}

static bool is_identifier(printer *p, uint32_t name)
{
    if (!p->identifier[name]) {
        const char *text = mlt_goal_name_text(p->program, name);
        p->identifier[name] = mlt_goal_is_identifier(p->dialect, text, strlen(text)) ? 1 : 2;
    }
    return p->identifier[name] == 1;
}

// Decides what actions and buffers of a rank are called.
static void name_rank(printer *p, const mlt_goal_rank *rank)
{
    p->block++;
    MLT_ARRAY_WANT(p->state, rank->count, p->state_room);
    MLT_ARRAY_WANT(p->buffer_state, rank->buffers_count, p->buffer_room);
    for (uint32_t a = 0; a < rank->count; a++) {
        uint32_t name = rank->actions[a].label;
        bool own = name && is_identifier(p, name) && p->label_in[name] != p->block;
        p->state[a] = own ? OWN_NAME : NAMELESS;
        if (own)
            p->label_in[name] = p->block;
    }
    for (uint32_t d = 0; d < rank->deps_count; d++) {
        uint32_t ends[2] = {rank->deps[d].action, mlt_goal_plain(rank->deps[d].on)};
        for (int i = 0; i < 2; i++)
            if (p->state[ends[i]] == NAMELESS)
                p->state[ends[i]] = MADE_UP;
    }
    for (uint32_t b = 0; b < rank->buffers_count; b++) {
        uint32_t name = rank->buffers[b].name;
        bool own = name && is_identifier(p, name) && p->buffer_in[name] != p->block;
        p->buffer_state[b] = own ? OWN_NAME : MADE_UP;
        if (own)
            p->buffer_in[name] = p->block;
    }
}

static void put_label(printer *p, const mlt_goal_rank *rank, uint32_t action)
{
    const mlt_goal_action *a = &rank->actions[action];
    if (p->state[action] == OWN_NAME)
        print_put(&p->o, mlt_goal_name_text(p->program, a->label));
    else
        put_made_up(p, letter_of(a), action);
}

static size_t label_length(const printer *p, const mlt_goal_rank *rank, uint32_t action)
{
    if (p->state[action] == NAMELESS)
        return 0;
    return p->state[action] == OWN_NAME
               ? strlen(mlt_goal_name_text(p->program, rank->actions[action].label))
               : made_up_length(p, action);
}

// ---- one action, as the paper's dialect writes it

// With a printer the buffer's name as the program's text has it.
static void print_put_span(out *o, printer *p, const mlt_goal_program *program,
                           const mlt_goal_rank *rank, const mlt_goal_action *action, int which)
{
    uint32_t buf = action->buf[which];
    if (buf == MLT_GOAL_NOWHERE) {
        print_put(o, "none");
    } else if (buf == MLT_GOAL_MEMORY) {
        put_number(o, action->at[which]);
    } else if (buf == MLT_GOAL_ADDRESS) {
        char address[24];
        snprintf(address, sizeof address, "0x%" PRIx64, action->at[which]);
        print_put(o, address);
    } else {
        if (buf > rank->buffers_count)
            print_put(o, "?");
        else if (p && p->buffer_state[buf - 1] == MADE_UP)
            put_made_up(p, 'b', buf);
        else
            print_put(o, mlt_goal_name_text(program, rank->buffers[buf - 1].name));
        print_put(o, "+");
        put_number(o, action->at[which]);
    }
    print_put(o, ",");
    put_number(o, action->size[which]);
}

static void put_function(out *o, const mlt_goal_action *action)
{
    if (mlt_goal_is_user(action)) {
        print_put(o, "user ");
        put_number(o, action->user);
    } else {
        print_put(o, action->op < MLT_OPS ? mlt_op_names[action->op] : "?");
        print_put(o, action->type < MLT_OP_TYPES ? mlt_op_type_names[action->type] : "?");
    }
}

static void put_option(out *o, const char *word, uint64_t value)
{
    print_put(o, " ");
    print_put(o, word);
    print_put(o, " ");
    put_number(o, value);
}

static void put_peer(out *o, const mlt_goal_action *action)
{
    const char *word = action->kind == MLT_GOAL_SEND ? "to" : "from";
    if (action->peer == MLT_GOAL_ANY) {
        print_put(o, " ");
        print_put(o, word);
        print_put(o, " any");
    } else {
        put_option(o, word, (uint32_t)action->peer);
    }
    if (action->tag == MLT_GOAL_ANY)
        print_put(o, " tag any");
    else if (action->tag)
        put_option(o, "tag", (uint32_t)action->tag);
    if (action->kind == MLT_GOAL_SEND && action->flags & MLT_GOAL_SYNCHRONOUS)
        print_put(o, " sync");
}

static void put_action(out *o, printer *p, const mlt_goal_program *program,
                       const mlt_goal_rank *rank, const mlt_goal_action *action)
{
    bool operation = false;
    switch (action->kind) {
    case MLT_GOAL_SEND:
    case MLT_GOAL_RECV:
        print_put(o, action->kind == MLT_GOAL_SEND ? "send " : "recv ");
        print_put_span(o, p, program, rank, action, 0);
        put_peer(o, action);
        break;
    case MLT_GOAL_EXEC:
    case MLT_GOAL_USER:
        print_put(o, "exec ");
        put_function(o, action);
        print_put(o, " with ");
        print_put_span(o, p, program, rank, action, 0);
        print_put(o, " ");
        print_put_span(o, p, program, rank, action, 1);
        operation = true;
        break;
    case MLT_GOAL_RECV_EXEC:
    case MLT_GOAL_RECV_USER:
        print_put(o, "recv ");
        print_put_span(o, p, program, rank, action, 1);
        put_peer(o, action);
        print_put(o, " then ");
        put_function(o, action);
        print_put(o, " with ");
        print_put_span(o, p, program, rank, action, 0);
        operation = true;
        break;
    case MLT_GOAL_CALC:
        print_put(o, "calc ");
        put_number(o, action->size[0]);
        break;
    case MLT_GOAL_NOP:
        print_put(o, "nop");
        break;
    default:
        print_put(o, "?");
    }
    if (operation && action->flags & MLT_GOAL_REVERSED)
        print_put(o, " reversed");
    if (action->cpu)
        put_option(o, "cpu", action->cpu);
    if (action->nic)
        put_option(o, "nic", action->nic);
}

char *mlt_goal_print_action(const mlt_goal_program *program, uint32_t rank,
                            const mlt_goal_action *action, char *text, size_t size)
{
    out o = {text, size, 0, NULL, false};
    if (size)
        text[0] = 0;
    put_action(&o, NULL, program, &program->rank[rank], action);
    return text;
}

// ---- equal ranks

typedef struct groups {
    uint32_t *heads, count; // the first rank of each group, ascending
    uint32_t *next;         // by rank: 1 + the next one of its group; 0: none
} groups;

static uint64_t hash_rank(const mlt_goal_rank *rank)
{
    uint64_t hash = mlt_hash_mix(rank->count, rank->deps_count);
    for (uint32_t a = 0; a < rank->count; a++) {
        mlt_goal_action action = rank->actions[a];
        uint64_t words[sizeof action / 8];
        action.line = 0;
        memcpy(words, &action, sizeof words);
        for (size_t i = 0; i < sizeof action / 8; i++)
            hash = mlt_hash_mix(hash, words[i]);
    }
    for (uint32_t d = 0; d < rank->deps_count; d++)
        hash = mlt_hash_mix(hash, (uint64_t)rank->deps[d].action << 32 | rank->deps[d].on);
    for (uint32_t b = 0; b < rank->buffers_count; b++)
        hash = mlt_hash_mix(mlt_hash_mix(hash, rank->buffers[b].name), rank->buffers[b].size);
    return hash;
}

static bool same_rank(const mlt_goal_rank *x, const mlt_goal_rank *y)
{
    if (x->count != y->count || x->deps_count != y->deps_count ||
        x->buffers_count != y->buffers_count)
        return false;
    for (uint32_t a = 0; a < x->count; a++) {
        mlt_goal_action one = x->actions[a];
        one.line = y->actions[a].line;
        if (memcmp(&one, &y->actions[a], sizeof one) != 0)
            return false;
    }
    for (uint32_t b = 0; b < x->buffers_count; b++)
        if (x->buffers[b].name != y->buffers[b].name || x->buffers[b].size != y->buffers[b].size)
            return false;
    return !x->deps_count || memcmp(x->deps, y->deps, x->deps_count * sizeof *x->deps) == 0;
}

static bool is_empty(const mlt_goal_rank *rank)
{
    return !rank->count && !rank->buffers_count;
}

// The first rank that equals rank r: r itself if there is none before.
static uint32_t head_of(const mlt_goal_program *program, mlt_table *heads, uint32_t r)
{
    uint32_t hash = (uint32_t)hash_rank(&program->rank[r]);
    mlt_table_look look = mlt_table_look_for(heads, hash);
    while (mlt_table_next(&look))
        if (same_rank(&program->rank[look.word], &program->rank[r]))
            return (uint32_t)look.word;
    mlt_table_add(heads, hash, r);
    return r;
}

static groups group_ranks(const mlt_goal_program *program)
{
    mlt_table heads = {0};
    uint32_t *last = mlt_xcalloc(program->ranks, sizeof *last); // of a group so far, by its head
    groups g = {mlt_xcalloc(program->ranks, sizeof *g.heads), 0,
                mlt_xcalloc(program->ranks, sizeof *g.next)};
    for (uint32_t r = 0; r < program->ranks; r++) {
        if (is_empty(&program->rank[r]))
            continue;
        uint32_t head = head_of(program, &heads, r);
        if (head == r)
            g.heads[g.count++] = r;
        else
            g.next[last[head]] = r + 1;
        last[head] = r;
    }
    mlt_table_free(&heads);
    free(last);
    return g;
}

// ---- whole programs

enum { WIDTH = 96, LABEL_WIDTH = 14 };

// "rank #0..7, #9 {", in lines of a bearable length.
static void put_ranks(out *o, const groups *g, uint32_t head)
{
    size_t column = 5;
    print_put(o, "rank ");
    for (uint32_t first = head + 1; first;) {
        uint32_t last = first, after = g->next[first - 1];
        while (after == last + 1) {
            last = after;
            after = g->next[last - 1];
        }
        if (last == first + 1) { // two are a list, three a range
            last = first;
            after = first + 1;
        }
        size_t before = o->used;
        print_put(o, "#");
        put_number(o, first - 1);
        if (last > first) {
            print_put(o, "..");
            put_number(o, last - 1);
        }
        column += o->used > before ? o->used - before : 8;
        if (after) {
            bool full = column > WIDTH;
            print_put(o, full ? ",\n     " : ", ");
            column = full ? 5 : column + 2;
        }
        first = after;
    }
    print_put(o, " {\n");
}

static void put_block(printer *p, const mlt_goal_rank *rank)
{
    out *o = &p->o;
    size_t width = 0;
    for (uint32_t b = 0; b < rank->buffers_count; b++) {
        print_put(o, "  buffer ");
        if (p->buffer_state[b] == MADE_UP)
            put_made_up(p, 'b', b + 1);
        else
            print_put(o, mlt_goal_name_text(p->program, rank->buffers[b].name));
        print_put(o, " ");
        put_number(o, rank->buffers[b].size);
        print_put(o, ";\n");
    }
    for (uint32_t a = 0; a < rank->count; a++) {
        size_t length = label_length(p, rank, a);
        if (length > width)
            width = length;
    }
    if (width)
        width = (width < LABEL_WIDTH ? width : LABEL_WIDTH) + 2;
    if (rank->buffers_count && rank->count)
        print_put(o, "\n");
    for (uint32_t a = 0; a < rank->count; a++) {
        size_t length = label_length(p, rank, a);
        print_put(o, "  ");
        if (length) {
            put_label(p, rank, a);
            print_put(o, ":");
            length++;
        }
        for (size_t n = length < width ? width - length : length != 0; n; n--)
            put_bytes(o, " ", 1);
        put_action(o, p, p->program, rank, &rank->actions[a]);
        print_put(o, ";\n");
    }
    if (rank->deps_count)
        print_put(o, "\n");
    for (uint32_t d = 0; d < rank->deps_count; d++) {
        uint32_t on = rank->deps[d].on;
        print_put(o, on & MLT_GOAL_STARTED ? "  irequ " : "  requ ");
        put_label(p, rank, rank->deps[d].action);
        print_put(o, " -> ");
        put_label(p, rank, mlt_goal_plain(on));
        print_put(o, ";\n");
    }
    print_put(o, "}\n");
}

// How many ranks a text without `ranks N;` would have.
static uint32_t implied_ranks(const mlt_goal_program *program)
{
    uint32_t ranks = 0;
    for (uint32_t r = 0; r < program->ranks; r++) {
        const mlt_goal_rank *rank = &program->rank[r];
        if (!is_empty(rank))
            ranks = r + 1 > ranks ? r + 1 : ranks;
        for (uint32_t a = 0; a < rank->count; a++) {
            const mlt_goal_action *action = &rank->actions[a];
            if (mlt_goal_is_message(action) && action->peer >= 0 && (uint32_t)action->peer >= ranks)
                ranks = (uint32_t)action->peer + 1;
        }
    }
    return ranks;
}

static void print_paper(printer *p)
{
    const mlt_goal_program *program = p->program;
    bool first = true;
    if (implied_ranks(program) != program->ranks || program->ranks > MLT_GOAL_IMPLIED_RANKS) {
        print_put(&p->o, "ranks ");
        put_number(&p->o, program->ranks);
        print_put(&p->o, ";\n");
        first = false;
    }
    groups g = group_ranks(program);
    for (uint32_t i = 0; i < g.count && !p->o.failed; i++) {
        if (!first)
            print_put(&p->o, "\n");
        first = false;
        put_ranks(&p->o, &g, g.heads[i]);
        name_rank(p, &program->rank[g.heads[i]]);
        put_block(p, &program->rank[g.heads[i]]);
    }
    free(g.heads);
    free(g.next);
}

// Without indentation and in this order of the options, for LogGOPSim takes nothing else.
static void put_simulated(out *o, const mlt_goal_action *action)
{
    if (action->kind == MLT_GOAL_CALC) {
        print_put(o, "calc ");
        put_number(o, action->size[0]);
    } else {
        bool send = action->kind == MLT_GOAL_SEND;
        print_put(o, send ? "send " : "recv ");
        put_number(o, action->size[0]);
        print_put(o, "b");
        if (action->peer == MLT_GOAL_ANY)
            print_put(o, " from -1");
        else
            put_option(o, send ? "to" : "from", (uint32_t)action->peer);
        if (action->tag == MLT_GOAL_ANY)
            print_put(o, " tag -1");
        else if (action->tag)
            put_option(o, "tag", (uint32_t)action->tag);
    }
    if (action->cpu)
        put_option(o, "cpu", action->cpu);
    if (action->nic)
        put_option(o, "nic", action->nic);
    print_put(o, "\n");
}

static void print_loggopsim(printer *p, double exec_ns_per_byte)
{
    out *o = &p->o;
    mlt_goal_rank rank = {.count = 0};
    print_put(o, "num_ranks ");
    put_number(o, p->program->ranks);
    print_put(o, "\n");
    for (uint32_t r = 0; r < p->program->ranks && !o->failed; r++) {
        mlt_goal_lower(&p->program->rank[r], exec_ns_per_byte, &rank);
        name_rank(p, &rank);
        print_put(o, "\nrank ");
        put_number(o, r);
        print_put(o, " {\n");
        for (uint32_t a = 0; a < rank.count; a++) {
            if (p->state[a] != NAMELESS) {
                put_label(p, &rank, a);
                print_put(o, ": ");
            }
            put_simulated(o, &rank.actions[a]);
        }
        for (uint32_t d = 0; d < rank.deps_count; d++) {
            uint32_t on = rank.deps[d].on;
            put_label(p, &rank, rank.deps[d].action);
            print_put(o, on & MLT_GOAL_STARTED ? " irequires " : " requires ");
            put_label(p, &rank, mlt_goal_plain(on));
            print_put(o, "\n");
        }
        print_put(o, "}\n");
    }
    mlt_goal_lowered_free(&rank);
}

bool mlt_goal_print(const mlt_goal_program *program, mlt_goal_dialect dialect,
                    double exec_ns_per_byte, FILE *to)
{
    enum { ROOM = 1 << 16 };
    printer p = {
        .o = {mlt_xcalloc(ROOM, 1), ROOM, 0, to, false}, .program = program, .dialect = dialect};
    p.underscores = underscores_for(program);
    p.label_in = mlt_xcalloc(program->names_size, sizeof *p.label_in);
    p.buffer_in = mlt_xcalloc(program->names_size, sizeof *p.buffer_in);
    p.identifier = mlt_xcalloc(program->names_size, 1);
    if (dialect == MLT_GOAL_PAPER)
        print_paper(&p);
    else
        print_loggopsim(&p, exec_ns_per_byte);
    flush(&p.o);
    bool good = !p.o.failed && fflush(to) == 0;
    free(p.o.text);
    free(p.label_in);
    free(p.buffer_in);
    free(p.identifier);
    free(p.state);
    free(p.buffer_state);
    return good;
}
