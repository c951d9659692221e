// SPDX-License-Identifier: BSD-3-Clause
// Writing files of schedules.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/table.h"
#include "goal/image/image_int.h"

enum { LONGEST_NAME = 255 };

typedef struct bytes {
    unsigned char *at;
    size_t size, room;
} bytes;

typedef struct image_writer {
    bytes ranks, buffers, names, code;
    mlt_table places; // of ranks whose schedule is no earlier one's
} image_writer;

// ---- bytes

static void bytes_add(bytes *b, const void *from, size_t size)
{
    MLT_ARRAY_WANT(b->at, b->size + size, b->room);
    if (size)
        memcpy(b->at + b->size, from, size);
    b->size += size;
}

// ---- checksum

// Four sums side by side, for speed.
static uint64_t checksum_of(const unsigned char *at, size_t words, uint64_t seed)
{
    uint64_t sum[4] = {seed, 1, 2, 3};
    size_t i = 0;
    for (; i + 4 <= words; i += 4) {
        uint64_t word[4];
        memcpy(word, at + 8 * i, sizeof word);
        for (int k = 0; k < 4; k++)
            sum[k] = mlt_hash_mix(sum[k], word[k]);
    }
    for (; i < words; i++) {
        uint64_t word;
        memcpy(&word, at + 8 * i, sizeof word);
        sum[0] = mlt_hash_mix(sum[0], word);
    }
    return mlt_hash_mix(mlt_hash_mix(mlt_hash_mix(sum[0], sum[1]), sum[2]), sum[3]);
}

uint64_t mlt_goal_image_checksum(const void *file, size_t size)
{
    mlt_goal_image_header header;
    memcpy(&header, file, sizeof header);
    header.checksum = 0;
    uint64_t sum = checksum_of((const unsigned char *)&header, sizeof header / 8, size);
    return checksum_of((const unsigned char *)file + sizeof header, (size - sizeof header) / 8,
                       sum);
}

// ---- one schedule

const char *mlt_goal_image_name_fault(const char *name)
{
    if (!*name)
        return "has no name";
    for (size_t i = 0; name[i]; i++) {
        if (i == LONGEST_NAME)
            return "has a name of more than 255 bytes";
        if (name[i] <= ' ' || name[i] > '~')
            return "has a name with blanks or unprintable bytes";
    }
    return NULL;
}

static mlt_status buffers_named(const mlt_goal_sched *sched, char *why, size_t why_size)
{
    for (uint32_t b = 1; b < sched->buffers; b++) {
        const char *fault = mlt_goal_image_name_fault(sched->buffer[b].name);
        if (!fault)
            continue;
        return mlt_fail(MLT_ERR_INVALID, why, why_size,
                        "buffer %u of rank %u cannot be saved: it %s", b, sched->rank, fault);
    }
    return MLT_OK;
}

// Absolute addresses have no meaning in a file.
static mlt_status no_addresses(const mlt_goal_program *program, uint32_t rank, char *why,
                               size_t why_size)
{
    for (uint32_t a = 0; a < program->rank[rank].count; a++) {
        mlt_goal_access access[2];
        int count = mlt_goal_accesses(&program->rank[rank].actions[a], access);
        for (int i = 0; i < count; i++) {
            if (access[i].span.buf != MLT_GOAL_ADDRESS)
                continue;
            char text[400];
            mlt_goal_describe(program, rank, a, text, sizeof text);
            return mlt_fail(
                MLT_ERR_INVALID, why, why_size,
                "%s works on an address, which cannot be saved; name the memory as a buffer", text);
        }
    }
    return MLT_OK;
}

static bool same_schedule(const image_writer *w, uint32_t place, const mlt_goal_image_rank *rank,
                          const mlt_goal_sched *sched)
{
    const mlt_goal_image_rank *other = (const mlt_goal_image_rank *)w->ranks.at + place;
    if (other->bytes != rank->bytes || other->window != rank->window ||
        other->flags != rank->flags || other->buffers != rank->buffers ||
        memcmp(w->code.at + other->code, sched->code, sched->bytes) != 0)
        return false;
    const mlt_goal_image_buffer *buffer =
        (const mlt_goal_image_buffer *)w->buffers.at + other->buffer;
    for (uint32_t b = 0; b < rank->buffers; b++)
        if (buffer[b].size != sched->buffer[b].size ||
            strcmp((const char *)w->names.at + buffer[b].name, sched->buffer[b].name) != 0)
            return false;
    return true;
}

// The place of an entry with the same schedule; if there is none, this one's, which is remembered.
static uint32_t like_of(image_writer *w, uint32_t place, const mlt_goal_image_rank *rank,
                        const mlt_goal_sched *sched)
{
    uint32_t hash = (uint32_t)checksum_of(sched->code, sched->bytes / 8, sched->buffer[0].size);
    mlt_table_look look = mlt_table_look_for(&w->places, hash);
    while (mlt_table_next(&look))
        if (same_schedule(w, (uint32_t)look.word, rank, sched))
            return (uint32_t)look.word;
    mlt_table_add(&w->places, hash, place);
    return place;
}

// Names of neighbouring ranks are mostly the same ones: a look at the buffers of the last schedule
// keeps them from being written again and again.
static uint32_t name_place(image_writer *w, const char *name, uint32_t b, uint32_t before)
{
    const mlt_goal_image_buffer *buffer = (const mlt_goal_image_buffer *)w->buffers.at;
    uint32_t count = (uint32_t)(w->buffers.size / sizeof *buffer);
    if (before + b < count) {
        uint32_t known = buffer[before + b].name;
        if (strcmp((const char *)w->names.at + known, name) == 0)
            return known;
    }
    uint32_t place = (uint32_t)w->names.size;
    bytes_add(&w->names, name, strlen(name) + 1);
    return place;
}

static mlt_status too_much(const char *what, char *why, size_t why_size)
{
    return mlt_fail(MLT_ERR_INVALID, why, why_size, "the file would hold more than 2^32 %s", what);
}

static mlt_status add(image_writer *w, const mlt_goal_sched *sched, char *why, size_t why_size)
{
    mlt_status status = buffers_named(sched, why, why_size);
    if (status != MLT_OK)
        return status;
    uint32_t place = (uint32_t)(w->ranks.size / sizeof(mlt_goal_image_rank));
    mlt_goal_image_rank rank = {.rank = sched->rank,
                                .code =
                                    w->code.size, // from the beginning of the code, until the end
                                .bytes = sched->bytes,
                                .actions = sched->actions,
                                .indices = sched->indices,
                                .requests = sched->requests,
                                .window = sched->window,
                                .flags = sched->flags,
                                .users = sched->users,
                                .buffers = sched->buffers};
    rank.like = like_of(w, place, &rank, sched);
    if (rank.like != place) {
        mlt_goal_image_rank shared = ((const mlt_goal_image_rank *)w->ranks.at)[rank.like];
        shared.rank = rank.rank;
        bytes_add(&w->ranks, &shared, sizeof shared);
        return MLT_OK;
    }
    size_t buffers = w->buffers.size / sizeof(mlt_goal_image_buffer);
    uint32_t before = place ? ((const mlt_goal_image_rank *)w->ranks.at)[place - 1].buffer : 0;
    if (buffers + sched->buffers > UINT32_MAX)
        return too_much("buffers", why, why_size);
    rank.buffer = (uint32_t)buffers;
    for (uint32_t b = 0; b < sched->buffers; b++) {
        const char *name = sched->buffer[b].name;
        if (w->names.size + strlen(name) >= UINT32_MAX)
            return too_much("bytes of names", why, why_size);
        mlt_goal_image_buffer buffer = {sched->buffer[b].size,
                                        b ? name_place(w, name, b, before) : 0, 0};
        bytes_add(&w->buffers, &buffer, sizeof buffer);
    }
    bytes_add(&w->code, sched->code, sched->bytes);
    bytes_add(&w->ranks, &rank, sizeof rank);
    return MLT_OK;
}

// ---- the file

static void writer_begin(image_writer *w)
{
    *w = (image_writer){0};
    bytes_add(&w->names, "", 1);
}

static void writer_end(image_writer *w)
{
    free(w->ranks.at);
    free(w->buffers.at);
    free(w->names.at);
    free(w->code.at);
    mlt_table_free(&w->places);
}

static void assemble(image_writer *w, uint32_t ranks, unsigned char **out, size_t *size)
{
    mlt_goal_image_header header = {.version = MLT_GOAL_IMAGE_VERSION,
                                    .order = MLT_GOAL_IMAGE_ORDER,
                                    .ranks = ranks,
                                    .held = (uint32_t)(w->ranks.size / sizeof(mlt_goal_image_rank)),
                                    .buffers =
                                        (uint32_t)(w->buffers.size / sizeof(mlt_goal_image_buffer)),
                                    .names = (uint32_t)w->names.size};
    memcpy(header.magic, mlt_goal_image_magic, sizeof header.magic);
    bytes_add(&w->names, "\0\0\0\0\0\0\0", -w->names.size & 7);
    size_t code = sizeof header + w->ranks.size + w->buffers.size + w->names.size;
    for (uint32_t i = 0; i < header.held; i++)
        ((mlt_goal_image_rank *)w->ranks.at)[i].code += code;
    header.size = code + w->code.size;
    bytes file = {mlt_xcalloc(header.size, 1), 0, header.size};
    bytes_add(&file, &header, sizeof header);
    bytes_add(&file, w->ranks.at, w->ranks.size);
    bytes_add(&file, w->buffers.at, w->buffers.size);
    bytes_add(&file, w->names.at, w->names.size);
    bytes_add(&file, w->code.at, w->code.size);
    header.checksum = mlt_goal_image_checksum(file.at, file.size);
    memcpy(file.at, &header, sizeof header);
    *out = file.at;
    *size = file.size;
}

mlt_status mlt_goal_image_write(const mlt_goal_program *program,
                                const mlt_goal_sched_options *options, unsigned char **out,
                                size_t *size, char *why, size_t why_size)
{
    mlt_goal_sched_options all = options ? *options : (mlt_goal_sched_options){0};
    all.plain = all.plain || mlt_goal_has_wildcards(program);
    *out = NULL;
    image_writer w;
    writer_begin(&w);
    mlt_status status = MLT_OK;
    for (uint32_t r = 0; r < program->ranks && status == MLT_OK; r++) {
        mlt_goal_sched *sched;
        status = mlt_goal_rank_in_bounds(program, r, why, why_size);
        if (status == MLT_OK)
            status = mlt_goal_sched_compile(program, r, &all, &sched, why, why_size);
        if (status != MLT_OK)
            break;
        status = sched->flags & MLT_GOAL_SCHED_ADDRESSES ? no_addresses(program, r, why, why_size)
                                                         : add(&w, sched, why, why_size);
        mlt_goal_sched_free(sched);
    }
    if (status == MLT_OK)
        assemble(&w, program->ranks, out, size);
    writer_end(&w);
    return status;
}

mlt_status mlt_goal_image_write_one(const mlt_goal_sched *sched, unsigned char **out, size_t *size,
                                    char *why, size_t why_size)
{
    *out = NULL;
    if (sched->flags & MLT_GOAL_SCHED_ADDRESSES) {
        mlt_goal_program *program = mlt_goal_program_new(sched->ranks);
        mlt_goal_image_to_program(sched, program);
        mlt_status status = no_addresses(program, sched->rank, why, why_size);
        mlt_goal_program_free(program);
        mlt_assert(status != MLT_OK);
        return status;
    }
    image_writer w;
    writer_begin(&w);
    mlt_status status = add(&w, sched, why, why_size);
    if (status == MLT_OK)
        assemble(&w, sched->ranks, out, size);
    writer_end(&w);
    return status;
}
