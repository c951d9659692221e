// SPDX-License-Identifier: BSD-3-Clause
// Files of schedules: what is written is read again, whatever is corrupt is refused.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/unit_test.h"
#include "goal/graph.h"
#include "goal/image/image_int.h"
#include "goal/pairs.h"
#include "goal/program_test.h"

typedef struct file {
    unsigned char *bytes;
    size_t size;
} file;

static file written(const mlt_goal_program *program, uint32_t window)
{
    file f;
    char why[512] = "";
    mlt_goal_sched_options options = {.window = window};
    if (mlt_goal_image_write(program, &options, &f.bytes, &f.size, why, sizeof why) != MLT_OK) {
        fprintf(stderr, "%s\n", why);
        CHECK(!"written");
    }
    return f;
}

static mlt_goal_image *opened(file f)
{
    mlt_goal_image *image;
    char why[512] = "";
    if (mlt_goal_image_open("f", f.bytes, f.size, &image, why, sizeof why) != MLT_OK) {
        fprintf(stderr, "%s\n", why);
        CHECK(!"opened");
    }
    return image;
}

static void set_checksum(file f)
{
    mlt_goal_image_header header;
    memcpy(&header, f.bytes, sizeof header);
    header.checksum = mlt_goal_image_checksum(f.bytes, f.size);
    memcpy(f.bytes, &header, sizeof header);
}

// ---- programs of all kinds of actions; an action's size tells its number

enum { RANKS = 4, MOST = 20 };

static mlt_goal_action random_action(uint32_t rank, uint32_t number, bool wild)
{
    static const uint8_t kinds[] = {MLT_GOAL_SEND,      MLT_GOAL_RECV,     MLT_GOAL_EXEC,
                                    MLT_GOAL_USER,      MLT_GOAL_CALC,     MLT_GOAL_NOP,
                                    MLT_GOAL_RECV_EXEC, MLT_GOAL_RECV_USER};
    mlt_goal_action action = {.kind = kinds[below(8)], .size = {8 + 8 * number, 8 + 8 * number}};
    uint64_t last = 400 - action.size[0];
    for (int i = 0; i < 2; i++) {
        action.buf[i] = below(3);
        action.at[i] = below(last + 1);
    }
    if (action.kind == MLT_GOAL_CALC) {
        action.buf[0] = action.buf[1] = 0;
        action.at[0] = action.at[1] = action.size[1] = 0;
        action.nic = (uint8_t)below(256);
    }
    if (action.kind == MLT_GOAL_NOP)
        return (mlt_goal_action){.kind = MLT_GOAL_NOP};
    action.cpu = (uint8_t)below(256);
    if (mlt_goal_is_message(&action)) {
        action.peer = (int32_t)((rank + 1 + below(RANKS - 1)) % RANKS);
        action.tag = (int32_t)below(3) * 5000;
        action.nic = (uint8_t)below(256);
        if (wild && action.kind != MLT_GOAL_SEND && below(2))
            *(below(2) ? &action.peer : &action.tag) = MLT_GOAL_ANY;
    }
    if (action.kind == MLT_GOAL_SEND || action.kind == MLT_GOAL_RECV) {
        action.buf[0] = below(5) ? action.buf[0] : MLT_GOAL_NOWHERE;
        action.buf[1] = 0;
        action.at[1] = action.size[1] = 0;
        action.flags = action.kind == MLT_GOAL_SEND && below(2) ? MLT_GOAL_SYNCHRONOUS : 0;
    } else if (action.kind == MLT_GOAL_USER || action.kind == MLT_GOAL_RECV_USER) {
        action.user = (uint16_t)below(UINT16_MAX + 1);
        action.flags = below(2) ? MLT_GOAL_REVERSED : 0;
    } else if (action.kind != MLT_GOAL_CALC) {
        action.op = (uint8_t)below(MLT_OPS);
        action.type = (uint8_t)below(MLT_OP_TYPES);
        action.flags = below(2) ? MLT_GOAL_REVERSED : 0;
    }
    return action;
}

static mlt_goal_program *random_program(uint32_t most, bool wild)
{
    mlt_goal_program *program = mlt_goal_program_new(RANKS);
    for (uint32_t r = 0; r < RANKS; r++) {
        uint32_t count = below(most + 1), edges = below(2 * count + 1);
        mlt_goal_buffer_add(program, r, r % 2 ? "in" : "a_long_name_of_a_buffer", 400);
        mlt_goal_buffer_add(program, r, "out", 400 + r);
        for (uint32_t a = 0; a < count; a++) {
            mlt_goal_action action = random_action(r, a, wild);
            mlt_goal_add(program, r, &action);
        }
        for (uint32_t e = 0; count > 1 && e < edges; e++) {
            uint32_t a = 1 + below(count - 1);
            mlt_goal_require(program, r, a, below(a) | (below(4) ? 0 : MLT_GOAL_STARTED));
        }
    }
    return program;
}

// ---- there and back

static bool same_sched(const mlt_goal_sched *a, const mlt_goal_sched *b)
{
    if (a->bytes != b->bytes || a->actions != b->actions || a->indices != b->indices ||
        a->requests != b->requests || a->window != b->window || a->flags != b->flags ||
        a->users != b->users || a->rank != b->rank || a->ranks != b->ranks ||
        a->buffers != b->buffers || memcmp(a->code, b->code, a->bytes) != 0)
        return false;
    for (uint32_t i = 0; i < a->buffers; i++)
        if (a->buffer[i].size != b->buffer[i].size ||
            strcmp(a->buffer[i].name, b->buffer[i].name) != 0)
            return false;
    return true;
}

// Which action of the one rank is which of the other: there is one that looks the same, and sizes
// tell numbers. No-ops have none.
static uint32_t find_same(const mlt_goal_rank *in, const mlt_goal_action *wanted)
{
    for (uint32_t a = 0; a < in->count; a++)
        if (memcmp(&in->actions[a], wanted, sizeof *wanted) == 0)
            return a;
    CHECK(!"the same action");
    return 0;
}

// All actions are there, and everything that came before something does so again; without
// segments, nothing else does. Every message has the partner that it had.
static void check_program(const mlt_goal_program *was, const mlt_goal_program *is, bool segments,
                          bool wild)
{
    mlt_goal_pairs *was_pairs = mlt_goal_pairs_new(was), *is_pairs = mlt_goal_pairs_new(is);
    uint32_t same[RANKS][MOST];
    for (uint32_t r = 0; r < RANKS; r++) {
        const mlt_goal_rank *a = &was->rank[r], *b = &is->rank[r];
        mlt_goal_graph *ga = mlt_goal_graph_new(a), *gb = mlt_goal_graph_new(b);
        CHECK(b->buffers_count == a->buffers_count && gb->order && b->count >= a->count);
        for (uint32_t i = 0; i < a->count; i++)
            if (a->actions[i].kind != MLT_GOAL_NOP)
                same[r][i] = find_same(b, &a->actions[i]);
        for (uint32_t i = 0; i < a->count; i++)
            for (uint32_t j = 0; j < a->count; j++) {
                if (a->actions[i].kind == MLT_GOAL_NOP || a->actions[j].kind == MLT_GOAL_NOP)
                    continue;
                bool before = mlt_goal_before(ga, i, j);
                bool now = mlt_goal_before(gb, same[r][i], same[r][j]);
                CHECK(before ? now : segments || !now);
            }
        mlt_goal_graph_free(ga);
        mlt_goal_graph_free(gb);
    }
    CHECK(was_pairs->unmatched == is_pairs->unmatched);
    for (uint32_t r = 0; r < RANKS && !wild; r++)
        for (uint32_t i = 0; i < was->rank[r].count; i++) {
            if (!mlt_goal_is_message(&was->rank[r].actions[i]))
                continue;
            mlt_goal_place p = mlt_goal_partner(was_pairs, r, i);
            mlt_goal_place q = mlt_goal_partner(is_pairs, r, same[r][i]);
            CHECK(p.action == MLT_GOAL_NONE
                      ? q.action == MLT_GOAL_NONE
                      : q.rank == p.rank && q.action == same[p.rank][p.action]);
        }
    mlt_goal_pairs_free(was_pairs);
    mlt_goal_pairs_free(is_pairs);
}

static void there_and_back(void)
{
    uint32_t segments = 0, slides = 0;
    for (now_seed = 1; now_seed <= 400; now_seed++) {
        random_state = now_seed;
        bool wild = now_seed % 5 == 0, cut = false;
        uint32_t window = below(2) ? 1 + below(8) : 0;
        mlt_goal_program *program = random_program(MOST, wild);
        char why[512];
        CHECK(mlt_goal_program_valid(program, why, sizeof why) == MLT_OK);
        file f = written(program, window);
        CHECK(mlt_is_image(f.bytes, f.size));
        mlt_goal_image *image = opened(f);
        CHECK(mlt_goal_image_ranks(image) == RANKS && !mlt_goal_image_sched(image, RANKS));
        mlt_goal_sched_options options = {.window = window,
                                          .plain = mlt_goal_has_wildcards(program)};
        for (uint32_t r = 0; r < RANKS; r++) {
            mlt_goal_sched *fresh, *read = mlt_goal_image_sched(image, r);
            CHECK(mlt_goal_sched_compile(program, r, &options, &fresh, why, sizeof why) == MLT_OK);
            CHECK(read && same_sched(fresh, read));
            cut |= (read->flags & MLT_GOAL_SCHED_SEGMENTS) != 0;
            slides += read->window && !(read->flags & MLT_GOAL_SCHED_SEGMENTS);
            // Alone in a file.
            file one;
            CHECK(mlt_goal_image_write_one(read, &one.bytes, &one.size, why, sizeof why) == MLT_OK);
            mlt_goal_image *alone = opened(one);
            for (uint32_t other = 0; other < RANKS; other++) {
                mlt_goal_sched *sched = mlt_goal_image_sched(alone, other);
                CHECK(other == r ? sched && same_sched(sched, fresh) : !sched);
                mlt_goal_sched_free(sched);
            }
            mlt_goal_image_free(alone);
            free(one.bytes);
            mlt_goal_sched_free(fresh);
            mlt_goal_sched_free(read);
        }
        segments += cut;
        mlt_goal_program *back = mlt_goal_image_program(image);
        CHECK(mlt_goal_program_valid(back, why, sizeof why) == MLT_OK);
        check_program(program, back, cut, mlt_goal_has_wildcards(program));
        mlt_goal_program_free(back);
        mlt_goal_image_free(image);
        free(f.bytes);
        mlt_goal_program_free(program);
    }
    now_seed = 0;
    CHECK(segments > 20 && slides > 20);
}

// Ranks that do the same share their code, whatever their number.
static void sharing(void)
{
    mlt_goal_program *program = mlt_goal_program_new(1000);
    for (uint32_t r = 1; r < 1000; r++) {
        mlt_goal_buffer_add(program, r, r == 500 ? "other" : "buf", 64);
        for (int i = 0; i < 20; i++)
            mlt_goal_send(program, r, (mlt_goal_span){1, 0, 8}, 0, 0);
    }
    file f = written(program, 0);
    // 20 actions of 56 bytes, three times at most.
    CHECK(f.size < 1000 * sizeof(mlt_goal_image_rank) + 3 * 20 * 56 + 1000);
    mlt_goal_image *image = opened(f);
    for (uint32_t r = 1; r < 1000; r++) {
        mlt_goal_sched *sched = mlt_goal_image_sched(image, r);
        CHECK(sched->rank == r && sched->actions == 20);
        CHECK(strcmp(sched->buffer[1].name, r == 500 ? "other" : "buf") == 0);
        mlt_goal_sched_free(sched);
    }
    mlt_goal_image_free(image);
    free(f.bytes);
    mlt_goal_program_free(program);
}

// ---- corrupt files

// What is said of corrupt files; at the end of the test, all of it has been.
static const char *const sentences[] = {
    "begins with other bytes",
    "other byte order",
    "mark of the byte order",
    "has version",
    "is cut short: it has",
    "bytes and says",
    "tables are larger",
    "ranks are not in order",
    "is like one that it is not like",
    "code of rank",
    "buffers of rank",
    "its names have no ends",
    "something stands after its names",
    "has no name in the file",
    "which has no name",
    "name with blanks",
    "beyond 2^64",
    "names a buffer that the rank has not",
    "beyond the end of its buffer",
    "no rank of the program",
    "has a negative tag",
    "sends to any rank",
    "has flags that do not exist",
    "has flags that a file cannot have",
    "calls a function that cannot be",
    "operation or a type that does not exist",
    "two buffers that differ in size",
    "no whole number of elements",
    "has no such CPU",
    "receives other bytes than it works on",
    "list of independent actions that does not end",
    "is of a kind that does not exist",
    "more dependents than the code has room for",
    "has something after its dependents",
    "has fewer actions than it says",
    "has a dependent where no action begins",
    "has a dependent that stands before it",
    "has another number of sources",
    "has an independent action that is none",
    "does not name all its independent",
    "has another index than its place",
    "has another request than its number among the messages",
    "indices or requests than it has",
    "has segments that do not fit",
    "has segments of no actions",
    "where the no-op after a segment should",
    "does not wait for the segment before it",
    "is waited for by no one in its segment",
    "beyond its segment",
    "index that another one needs",
    "window that is larger than it",
    "more indices than its window allows",
    "slot that another one has",
    "not in the order of the tags",
    "says that it does not",
    "number of user functions",
    "size of its memory",
    "does not end in the code",
    "is one too many",
    "that are nobody's",
    "the other one by their numbers",
    "is corrupt: it holds",
    "checksum is",
};
enum { SENTENCES = sizeof sentences / sizeof *sentences };
static uint64_t heard[SENTENCES];
static char said[512];

static void listen(void)
{
    for (size_t i = 0; i < SENTENCES; i++)
        heard[i] += strstr(said, sentences[i]) != NULL;
}

// False: refused, with one line in `said`.
static bool accepted(file f)
{
    mlt_goal_image *image;
    memset(said, 'x', sizeof said);
    mlt_status status = mlt_goal_image_open("f", f.bytes, f.size, &image, said, sizeof said);
    if (status != MLT_OK) {
        CHECK(status == MLT_ERR_INVALID && !image && memchr(said, 0, sizeof said));
        CHECK(strncmp(said, "f ", 2) == 0 && strlen(said) > 10 && !strchr(said, '\n'));
        listen();
        return false;
    }
    // Then it is one: each rank runs from end to end, in the code's order, and is a program again.
    for (uint32_t r = 0; r < mlt_goal_image_ranks(image) && r < 16; r++) {
        mlt_goal_sched *sched = mlt_goal_image_sched(image, r);
        if (!sched)
            continue;
        uint32_t *seen = calloc(sched->actions + 1, sizeof *seen), count = 0;
        const mlt_act *act = mlt_goal_sched_first(sched);
        for (; count < sched->actions; count++, act = mlt_act_next(act)) {
            CHECK(act->index < sched->indices);
            if (!sched->window) {
                CHECK(seen[act->index] == act->sources);
                const mlt_act_list *list = mlt_act_dependents(act);
                for (uint32_t i = 0; i < list->count; i++)
                    seen[mlt_goal_sched_act(sched, list->offset[i])->index]++;
                list = act->type & MLT_ACT_STARTERS ? mlt_act_starters(act) : NULL;
                for (uint32_t i = 0; list && i < list->count; i++)
                    seen[mlt_goal_sched_act(sched, list->offset[i])->index]++;
            }
        }
        CHECK((const unsigned char *)act == sched->code + sched->bytes);
        free(seen);
        mlt_goal_sched_free(sched);
    }
    if (mlt_goal_image_ranks(image) <= 16) {
        char why[512];
        mlt_goal_program *program = mlt_goal_image_program(image);
        CHECK(mlt_goal_program_valid(program, why, sizeof why) == MLT_OK);
        mlt_goal_sched *sched;
        for (uint32_t r = 0; r < program->ranks; r++) {
            CHECK(mlt_goal_sched_compile(program, r, NULL, &sched, why, sizeof why) == MLT_OK);
            mlt_goal_sched_free(sched);
        }
        mlt_goal_program_free(program);
    }
    mlt_goal_image_free(image);
    return true;
}

static void refused(file f, const char *sentence)
{
    CHECK(!accepted(f));
    if (!strstr(said, sentence)) {
        fprintf(stderr, "said:     %s\nexpected: %s\n", said, sentence);
        CHECK(!"the sentence");
    }
}

// Every bit of small files of each shape. Without the right checksum all are refused; with it, they
// are refused or are files still.
static void flip(file f, uint64_t *fine, uint64_t *all)
{
    mlt_goal_image_header header;
    memcpy(&header, f.bytes, sizeof header);
    for (size_t bit = 0; bit < 8 * f.size; bit++) {
        f.bytes[bit / 8] ^= (unsigned char)(1 << bit % 8);
        CHECK(!accepted(f));
        set_checksum(f);
        *fine += accepted(f);
        ++*all;
        f.bytes[bit / 8] ^= (unsigned char)(1 << bit % 8);
        memcpy(f.bytes, &header, sizeof header);
    }
    CHECK(accepted(f));
}

// Some words of it are changed at once, to what a word may well be.
static void scramble(file f, uint64_t *fine, uint64_t *all)
{
    file copy = {malloc(f.size), f.size};
    for (int round = 0; round < 600; round++) {
        memcpy(copy.bytes, f.bytes, f.size);
        uint32_t changes = 1 + below(3);
        for (uint32_t i = 0; i < changes; i++) {
            uint32_t at = 4 * (4 + below(f.size / 4 - 4)), value, other = 4 * below(f.size / 4);
            memcpy(&value, copy.bytes + at, 4);
            switch (below(5)) {
            case 0:
                value += (uint32_t)1 << below(9);
                break;
            case 1:
                value -= (uint32_t)1 << below(9);
                break;
            case 2:
                memcpy(&value, copy.bytes + other, 4);
                break;
            case 3:
                value = below(2) ? 0 : UINT32_MAX;
                break;
            default:
                value = below(20);
            }
            memcpy(copy.bytes + at, &value, 4);
        }
        set_checksum(copy);
        *fine += accepted(copy);
        ++*all;
    }
    free(copy.bytes);
}

static void corrupt(void)
{
    uint64_t fine = 0, all = 0;
    static const uint32_t windows[] = {0, 0, 2, 3, 5};
    for (now_seed = 1; now_seed <= 30; now_seed++) {
        random_state = now_seed;
        mlt_goal_program *program = random_program(now_seed <= 3 ? 4 : 11, now_seed % 4 == 0);
        file f = written(program, windows[now_seed % 5]);
        if (now_seed <= 4)
            flip(f, &fine, &all);
        scramble(f, &fine, &all);
        free(f.bytes);
        mlt_goal_program_free(program);
    }
    now_seed = 0;
    printf("%" PRIu64 " corrupt files with a right checksum: %" PRIu64 " are files still\n", all,
           fine);
}

// Sentences that have their own reason to be, and those that random changes hardly meet.
static void by_hand(void)
{
    mlt_goal_program *program = mlt_goal_program_new(2);
    mlt_goal_buffer_add(program, 0, "abcdefgh", 64);
    mlt_goal_send(program, 0, (mlt_goal_span){1, 0, 8}, 1, 0);
    file f = written(program, 0), copy = {malloc(f.size + 8), f.size};
    memcpy(copy.bytes, f.bytes, f.size);
    memset(copy.bytes + f.size, 0, 8);
    mlt_goal_image_header *header = (mlt_goal_image_header *)copy.bytes;
    CHECK(accepted(copy));
    refused((file){copy.bytes, 0}, "f is no file of GOAL schedules: it begins with other bytes");
    refused((file){copy.bytes, 7}, "f is no file of GOAL schedules");
    refused((file){copy.bytes, 8}, "f is cut short: it has 8 bytes, its header alone has 48");
    for (size_t size = sizeof *header; size < f.size; size++)
        refused((file){copy.bytes, size}, "f is cut short: it has ");
    refused((file){copy.bytes, f.size + 8}, "f is corrupt: it has ");
    header->version = 2;
    refused(copy, "f has version 2 of the format, and this Millet reads version 1: assemble it");
    header->version = 1;
    header->order = 0x04030201;
    refused(copy, "f was written on a machine of the other byte order");
    header->order = 1;
    refused(copy, "f is corrupt: its mark of the byte order is none");
    header->order = MLT_GOAL_IMAGE_ORDER;
    header->checksum ^= 1;
    refused(copy, "f is corrupt: its checksum is ");
    header->checksum ^= 1;
    mlt_goal_image_rank *ranks = (mlt_goal_image_rank *)(copy.bytes + sizeof *header);
    ranks[1].flags ^= MLT_GOAL_SCHED_PLAIN;
    set_checksum(copy);
    refused(copy, "f is corrupt: of ranks 0 and 1 one matches messages by tag, the other one by");
    ranks[1].flags ^= MLT_GOAL_SCHED_PLAIN;
    set_checksum(copy);
    CHECK(accepted(copy));
    CHECK(!mlt_is_image("goal", 4) && !mlt_is_image("num_ranks 2\n", 12));
    // Bytes at any address.
    memmove(copy.bytes + 1, copy.bytes, f.size);
    CHECK(accepted((file){copy.bytes + 1, f.size}));
    free(copy.bytes);
    free(f.bytes);
    mlt_goal_program_free(program);
}

// The first list of a rank's code, and the n-th action of it.
static uint32_t *independent(file f, uint32_t place)
{
    const mlt_goal_image_rank *rank =
        (const mlt_goal_image_rank *)(f.bytes + sizeof(mlt_goal_image_header));
    return (uint32_t *)(f.bytes + rank[place].code);
}

static mlt_act *nth(file f, uint32_t place, uint32_t n)
{
    mlt_goal_sched sched = {.code = (const unsigned char *)independent(f, place)};
    const mlt_act *act = mlt_goal_sched_first(&sched);
    while (n--)
        act = mlt_act_next(act);
    return (mlt_act *)(f.bytes + ((const unsigned char *)act - f.bytes));
}

static void code_by_hand(void)
{
    mlt_goal_program *program = mlt_goal_program_new(2);
    mlt_goal_exec(program, 0, MLT_OP_SUM, MLT_OP_INT8, (mlt_goal_span){0, 0, 7},
                  (mlt_goal_span){0, 7, 7});
    file f = written(program, 0);
    mlt_act_exec *exec = (mlt_act_exec *)(nth(f, 0, 0) + 1);
    exec->type = MLT_OP_INT16;
    set_checksum(f);
    refused(f, "f is corrupt: action 0 of rank 0 has a size that is no whole number of elements");
    exec->type = MLT_OP_INT8;
    independent(f, 0)[0] = independent(f, 0)[1] = 0;
    set_checksum(f);
    refused(f, "f is corrupt: rank 0 does not name all its independent actions");
    free(f.bytes);
    mlt_goal_program_free(program);

    // Segments of three; the first has two roots, the second three.
    program = mlt_goal_program_new(2);
    for (uint64_t i = 0; i < 20; i++)
        mlt_goal_add(program, 0, &(mlt_goal_action){.kind = MLT_GOAL_CALC, .size = {i}});
    mlt_goal_require(program, 0, 2, 1);
    for (uint32_t i = 10; i < 20; i++)
        mlt_goal_require(program, 0, i, 0);
    f = written(program, 3);
    CHECK(accepted(f));
    uint32_t *list = independent(f, 0), *joint = (uint32_t *)(nth(f, 0, 3) + 1);
    CHECK(list[0] == 2 && joint[0] == 3 && nth(f, 0, 6)->sources == 1);
    // Action 2 ties the next segment's no-op instead of its own.
    uint32_t *dependent = (uint32_t *)(nth(f, 0, 2) + 1) + sizeof(mlt_act_calc) / 4 + 1;
    uint32_t own = *dependent;
    *dependent += (uint32_t)((unsigned char *)nth(f, 0, 7) - (unsigned char *)nth(f, 0, 3));
    nth(f, 0, 3)->sources--;
    nth(f, 0, 7)->sources++;
    set_checksum(f);
    refused(f, "f is corrupt: action 2 of rank 0 has a dependent beyond its segment");
    *dependent = own;
    nth(f, 0, 3)->sources++;
    nth(f, 0, 7)->sources--;
    list[0] = 3; // the last of the three is independent now
    list[3] = joint[3];
    nth(f, 0, 6)->sources = 0;
    joint[0] = 2;
    joint[3] = 0;
    set_checksum(f);
    refused(f, "f is corrupt: action 6 of rank 0 does not wait for the segment before it");
    nth(f, 0, 3)->type |= MLT_ACT_STARTERS;
    joint[0] = 1;
    joint[3] = joint[2];
    joint[2] = 1;
    set_checksum(f);
    refused(f, "f is corrupt: action 3 of rank 0 stands where the no-op after a segment should");
    free(f.bytes);
    mlt_goal_program_free(program);
}

static void cannot_be_written(const mlt_goal_program *program, const char *sentence)
{
    file f;
    char why[512];
    CHECK(mlt_goal_image_write(program, NULL, &f.bytes, &f.size, why, sizeof why) ==
          MLT_ERR_INVALID);
    CHECK(!f.bytes);
    CHECK(strcmp(why, sentence) == 0);
    mlt_goal_sched *sched;
    if (mlt_goal_sched_compile(program, 1, NULL, &sched, why, sizeof why) != MLT_OK)
        return;
    CHECK(mlt_goal_image_write_one(sched, &f.bytes, &f.size, why, sizeof why) == MLT_ERR_INVALID);
    CHECK(!f.bytes && strcmp(why, sentence) == 0);
    mlt_goal_sched_free(sched);
}

static void not_for_files(void)
{
    mlt_goal_program *program = mlt_goal_program_new(2);
    mlt_goal_buffer_add(program, 1, "b", 8);
    mlt_goal_send(program, 1, (mlt_goal_span){MLT_GOAL_ADDRESS, 0x1000, 0}, 0, 0); // no bytes
    mlt_goal_exec(program, 1, MLT_OP_SUM, MLT_OP_INT8, (mlt_goal_span){1, 0, 0},
                  (mlt_goal_span){MLT_GOAL_ADDRESS, 0x1000, 0});
    mlt_goal_send(program, 1, (mlt_goal_span){1, 100, 0}, 0, 0); // nor any of b
    file f = written(program, 0);
    CHECK(accepted(f));
    free(f.bytes);
    mlt_goal_exec(program, 1, MLT_OP_SUM, MLT_OP_INT8, (mlt_goal_span){1, 0, 8},
                  (mlt_goal_span){MLT_GOAL_ADDRESS, 0x1000, 8});
    cannot_be_written(program, "rank 1, action 3 (exec sumInt8 with b+0,8 0x1000,8) works on an "
                               "address, which cannot be saved; name the memory as a buffer");
    mlt_goal_program_free(program);

    program = mlt_goal_program_new(2);
    mlt_goal_buffer_add(program, 1, "a b", 8);
    cannot_be_written(program, "buffer 1 of rank 1 cannot be saved: it has a name with blanks or "
                               "unprintable bytes");
    mlt_goal_program_free(program);
    program = mlt_goal_program_new(2);
    mlt_goal_buffer_add(program, 1, "", 8);
    cannot_be_written(program, "buffer 1 of rank 1 cannot be saved: it has no name");
    mlt_goal_program_free(program);
    char name[300];
    for (size_t length = 255; length <= 256; length++) {
        memset(name, 'n', length);
        name[length] = 0;
        program = mlt_goal_program_new(2);
        mlt_goal_buffer_add(program, 1, name, 8);
        if (length == 256) {
            cannot_be_written(program, "buffer 1 of rank 1 cannot be saved: it has a name of more "
                                       "than 255 bytes");
        } else {
            f = written(program, 0);
            CHECK(accepted(f));
            free(f.bytes);
        }
        mlt_goal_program_free(program);
    }

    program = mlt_goal_program_new(2);
    mlt_goal_send(program, 1, (mlt_goal_span){0, 0, 8}, 0, 0);
    mlt_goal_require(program, 1, 0, 0);
    cannot_be_written(program, "the dependencies of rank 1 go round: action 0 (send 0,8 to 0) "
                               "requires action 0");
    mlt_goal_program_free(program);
}

int main(void)
{
    there_and_back();
    sharing();
    by_hand();
    code_by_hand();
    not_for_files();
    corrupt();
    for (size_t i = 0; i < SENTENCES; i++)
        if (!heard[i]) {
            fprintf(stderr, "never heard: %s\n", sentences[i]);
            CHECK(!"all sentences");
        }
    return 0;
}
