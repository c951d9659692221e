// SPDX-License-Identifier: BSD-3-Clause
// Opening files of schedules: the table here, each rank's code in check.c.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/memory.h"
#include "base/text.h"
#include "goal/image/image_int.h"

const char mlt_goal_image_magic[8] = {'\x89', 'G', 'O', 'A', 'L', '\r', '\n', '\x1a'};

bool mlt_is_image(const void *bytes, size_t size)
{
    return size >= sizeof mlt_goal_image_magic &&
           memcmp(bytes, mlt_goal_image_magic, sizeof mlt_goal_image_magic) == 0;
}

typedef struct complaint {
    const char *name;
    char *why;
    size_t why_size;
} complaint;

static MLT_PRINTF(2, 3) mlt_status refuse(const complaint *c, const char *format, ...)
{
    int n = snprintf(c->why, c->why_size, "%s ", c->name);
    if (n >= 0 && (size_t)n < c->why_size)
        MLT_TEXT_PRINT(c->why + n, c->why_size - (size_t)n, format);
    return MLT_ERR_INVALID;
}

static mlt_status check_header(const complaint *c, const void *bytes, size_t size)
{
    mlt_goal_image_header h;
    if (!mlt_is_image(bytes, size))
        return refuse(c, "is no file of GOAL schedules: it begins with other bytes");
    if (size < sizeof h)
        return refuse(c, "is cut short: it has %zu bytes, its header alone has %zu", size,
                      sizeof h);
    memcpy(&h, bytes, sizeof h);
    if (h.order != MLT_GOAL_IMAGE_ORDER)
        return refuse(c, h.order == __builtin_bswap32(MLT_GOAL_IMAGE_ORDER)
                             ? "was written on a machine of the other byte order: assemble it "
                               "here again"
                             : "is corrupt: its mark of the byte order is none");
    if (h.version != MLT_GOAL_IMAGE_VERSION)
        return refuse(
            c, "has version %u of the format, and this Millet reads version %d: assemble it again",
            h.version, MLT_GOAL_IMAGE_VERSION);
    if (size < h.size)
        return refuse(c, "is cut short: it has %zu of its %" PRIu64 " bytes", size, h.size);
    if (size > h.size)
        return refuse(c, "is corrupt: it has %zu bytes and says %" PRIu64, size, h.size);
    if (size % 8)
        return refuse(c, "is corrupt: its size is no multiple of 8");
    uint64_t sum = mlt_goal_image_checksum(bytes, size);
    if (sum != h.checksum)
        return refuse(c, "is corrupt: its checksum is %016" PRIx64 " and should be %016" PRIx64,
                      h.checksum, sum);
    return MLT_OK;
}

// Where the parts of the file are; all of them are in it.
static mlt_status find_parts(const complaint *c, mlt_goal_image *image, uint64_t *code)
{
    const mlt_goal_image_header *h = image->header;
    uint64_t ranks = sizeof *h, buffers = ranks + h->held * (uint64_t)sizeof(mlt_goal_image_rank);
    uint64_t names = buffers + h->buffers * (uint64_t)sizeof(mlt_goal_image_buffer);
    *code = names + ((h->names + 7ull) & ~7ull);
    if (*code > h->size)
        return refuse(c, "is corrupt: its tables are larger than it is");
    if (h->ranks > MLT_GOAL_MAX_RANKS || h->held > h->ranks)
        return refuse(c, "is corrupt: it holds %u of %u ranks", h->held, h->ranks);
    image->rank = (const mlt_goal_image_rank *)(image->bytes + ranks);
    image->buffer = (const mlt_goal_image_buffer *)(image->bytes + buffers);
    image->names = (const char *)image->bytes + names;
    if (!h->names || image->names[0] || image->names[h->names - 1])
        return refuse(c, "is corrupt: its names have no ends");
    for (uint64_t i = names + h->names; i < *code; i++)
        if (image->bytes[i])
            return refuse(c, "is corrupt: something stands after its names");
    return MLT_OK;
}

static bool same_but_for_number(const mlt_goal_image_rank *a, const mlt_goal_image_rank *b)
{
    mlt_goal_image_rank copy = *a;
    copy.rank = b->rank;
    return memcmp(&copy, b, sizeof copy) == 0;
}

static mlt_status check_buffers(const complaint *c, const mlt_goal_image *image,
                                const mlt_goal_image_rank *rank)
{
    for (uint32_t b = 0; b < rank->buffers; b++) {
        const mlt_goal_image_buffer *buffer = &image->buffer[rank->buffer + b];
        const char *fault = NULL;
        if (buffer->name >= image->header->names || buffer->unused)
            fault = "has no name in the file";
        else if (!b)
            fault = buffer->name ? "is the plain memory, which has no name" : NULL;
        else
            fault = mlt_goal_image_name_fault(image->names + buffer->name);
        if (fault)
            return refuse(c, "is corrupt: buffer %u of rank %u %s", b, rank->rank, fault);
    }
    return MLT_OK;
}

// An entry of the table, and all that it stands for. *code and *buffer: what others have had so
// far.
static mlt_status check_rank(const complaint *c, const mlt_goal_image *image, uint32_t place,
                             uint64_t *code, uint64_t *buffer)
{
    const mlt_goal_image_header *h = image->header;
    const mlt_goal_image_rank *rank = &image->rank[place];
    if (rank->rank >= h->ranks || (place && rank->rank <= rank[-1].rank))
        return refuse(c, "is corrupt: its ranks are not in order");
    if (rank->like < place) {
        const mlt_goal_image_rank *like = &image->rank[rank->like];
        if (like->like == rank->like && same_but_for_number(like, rank))
            return MLT_OK;
    }
    if (rank->like != place)
        return refuse(c, "is corrupt: rank %u is like one that it is not like", rank->rank);
    if (rank->code != *code || rank->bytes % 8 || rank->bytes < 8 || rank->bytes > UINT32_MAX ||
        rank->bytes > h->size - *code)
        return refuse(c, "is corrupt: the code of rank %u is not where it should be", rank->rank);
    if (!rank->buffers || rank->buffer != *buffer || rank->buffers > h->buffers - *buffer)
        return refuse(c, "is corrupt: the buffers of rank %u are not where they should be",
                      rank->rank);
    *code += rank->bytes;
    *buffer += rank->buffers;
    mlt_status status = check_buffers(c, image, rank);
    if (status != MLT_OK)
        return status;
    uint32_t action = MLT_GOAL_NONE;
    const char *fault = mlt_goal_image_code_fault(image, rank, &action);
    if (fault && action != MLT_GOAL_NONE)
        return refuse(c, "is corrupt: action %u of rank %u %s", action, rank->rank, fault);
    return fault ? refuse(c, "is corrupt: rank %u %s", rank->rank, fault) : MLT_OK;
}

// Both ends of a message must know how it is matched.
static mlt_status check_matching(const complaint *c, const mlt_goal_image *image)
{
    for (uint32_t i = 1; i < image->header->held; i++)
        if ((image->rank[i].flags ^ image->rank[0].flags) & MLT_GOAL_SCHED_PLAIN)
            return refuse(c,
                          "is corrupt: of ranks %u and %u one matches messages by tag, the other "
                          "one by their numbers",
                          image->rank[0].rank, image->rank[i].rank);
    return MLT_OK;
}

static mlt_status check_all(const complaint *c, mlt_goal_image *image)
{
    uint64_t code, buffer = 0;
    mlt_status status = find_parts(c, image, &code);
    for (uint32_t i = 0; status == MLT_OK && i < image->header->held; i++)
        status = check_rank(c, image, i, &code, &buffer);
    if (status != MLT_OK)
        return status;
    if (code != image->header->size || buffer != image->header->buffers)
        return refuse(c, "is corrupt: it has code or buffers that are nobody's");
    return check_matching(c, image);
}

mlt_status mlt_goal_image_open(const char *name, const void *bytes, size_t size,
                               mlt_goal_image **out, char *why, size_t why_size)
{
    complaint c = {name, why, why_size};
    *out = NULL;
    mlt_status status = check_header(&c, bytes, size);
    if (status != MLT_OK)
        return status;
    mlt_goal_image *image = mlt_xcalloc(1, sizeof *image);
    image->bytes = bytes;
    if ((uintptr_t)bytes % 8) {
        image->copy = mlt_xcalloc(1, size);
        memcpy(image->copy, bytes, size);
        image->bytes = image->copy;
    }
    image->header = (const mlt_goal_image_header *)image->bytes;
    status = check_all(&c, image);
    if (status == MLT_OK)
        *out = image;
    else
        mlt_goal_image_free(image);
    return status;
}

uint32_t mlt_goal_image_ranks(const mlt_goal_image *image)
{
    return image->header->ranks;
}

// Buffers stand after the schedule.
mlt_goal_sched *mlt_goal_image_entry(const mlt_goal_image *image, const mlt_goal_image_rank *entry)
{
    mlt_goal_sched *sched = mlt_xcalloc(1, sizeof *sched + entry->buffers * sizeof *sched->buffer);
    *sched = (mlt_goal_sched){.code = image->bytes + entry->code,
                              .bytes = entry->bytes,
                              .actions = entry->actions,
                              .indices = entry->indices,
                              .requests = entry->requests,
                              .window = entry->window,
                              .flags = entry->flags,
                              .users = entry->users,
                              .rank = entry->rank,
                              .ranks = image->header->ranks,
                              .buffers = entry->buffers,
                              .buffer = (mlt_goal_sched_buffer *)(sched + 1)};
    for (uint32_t b = 0; b < entry->buffers; b++) {
        const mlt_goal_image_buffer *buffer = &image->buffer[entry->buffer + b];
        sched->buffer[b] = (mlt_goal_sched_buffer){buffer->size, image->names + buffer->name};
    }
    return sched;
}

mlt_goal_sched *mlt_goal_image_sched(const mlt_goal_image *image, uint32_t rank)
{
    uint32_t at = MLT_ARRAY_SEARCH(i, image->header->held, image->rank[i].rank < rank);
    if (at == image->header->held || image->rank[at].rank != rank)
        return NULL;
    return mlt_goal_image_entry(image, &image->rank[at]);
}

void mlt_goal_image_free(mlt_goal_image *image)
{
    if (!image)
        return;
    free(image->copy);
    free(image);
}
