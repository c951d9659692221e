// SPDX-License-Identifier: BSD-3-Clause
// Any bytes as a file of schedules. The first byte is even: the header and the checksum are put
// right first, so that the checks after them are reached; odd: the rest is taken as it is.
//
// Refused with a message; or a file: then every rank's code runs to its end, whatever is chosen
// to go on, within the counters and requests that it says; and it is a program again that can be
// written and opened.
#include <fuzz/fuzz.h>
#include <stdlib.h>
#include <string.h>

#include "goal/image/image_int.h"

enum { MOST_RANKS = 64, MOST_ACTIONS = 200 };

typedef struct run {
    const mlt_goal_sched *sched;
    const mlt_act *act[MOST_ACTIONS];
    uint8_t state[MOST_ACTIONS]; // 0: waits, 1: runs, 2: is over
    uint32_t *seen, *held;       // by index; by request
    uint64_t random;
} run;

static void count_up(run *r, const mlt_act_list *list)
{
    for (uint32_t i = 0; i < list->count; i++) {
        const mlt_act *act = mlt_goal_sched_act(r->sched, list->offset[i]);
        FUZZ_CHECK(act->index < r->sched->indices && r->seen[act->index] < act->sources);
        r->seen[act->index]++;
    }
}

static void go_on(run *r, uint32_t i)
{
    const mlt_act *act = r->act[i];
    bool message = mlt_goal_is_message(&(mlt_goal_action){.kind = act->type & MLT_ACT_KIND});
    uint32_t request = message ? ((const mlt_act_message *)(act + 1))->request : 0;
    r->state[i]++;
    if (r->state[i] == 1) {
        FUZZ_CHECK(!message || (request < r->sched->requests && !r->held[request]++));
        if (act->type & MLT_ACT_STARTERS)
            count_up(r, mlt_act_starters(act));
    } else {
        if (message)
            r->held[request] = 0;
        r->seen[act->index] = 0;
        count_up(r, mlt_act_dependents(act));
    }
}

static void execute(const mlt_goal_sched *sched)
{
    run r = {.sched = sched, .random = sched->bytes | 1};
    const mlt_act *act = mlt_goal_sched_first(sched);
    for (uint32_t i = 0; i < sched->actions; i++, act = mlt_act_next(act))
        r.act[i] = act;
    r.seen = calloc((size_t)sched->indices + 1, sizeof *r.seen);
    r.held = calloc((size_t)sched->requests + 1, sizeof *r.held);
    FUZZ_CHECK(r.seen && r.held);
    bool slides = sched->window && !(sched->flags & MLT_GOAL_SCHED_SEGMENTS);
    uint32_t first = 0, n = sched->actions;
    for (;;) {
        while (first < n && r.state[first] == 2)
            first++;
        if (first == n)
            break;
        uint32_t end = slides && sched->window < n - first ? first + sched->window : n;
        uint32_t choices = 0, pick = 0;
        for (uint32_t i = first; i < end; i++) {
            // An index belongs to another action until the segment begins.
            if (sched->flags & MLT_GOAL_SCHED_SEGMENTS &&
                i / sched->indices != first / sched->indices)
                break;
            if (r.state[i] == 2 || (!r.state[i] && r.seen[r.act[i]->index] != r.act[i]->sources))
                continue;
            r.random = r.random * 6364136223846793005u + 1442695040888963407u;
            if ((r.random >> 33) % ++choices == 0)
                pick = i;
        }
        FUZZ_CHECK(choices);
        go_on(&r, pick);
    }
    free(r.seen);
    free(r.held);
}

static void back_and_forth(const mlt_goal_image *image)
{
    char why[1024];
    mlt_goal_program *program = mlt_goal_image_program(image);
    FUZZ_CHECK(mlt_goal_program_valid(program, why, sizeof why) == MLT_OK);
    for (uint32_t window = 0; window < 6; window += 2) {
        mlt_goal_sched_options options = {.window = window};
        unsigned char *bytes;
        size_t size;
        mlt_goal_image *again;
        FUZZ_CHECK(mlt_goal_image_write(program, &options, &bytes, &size, why, sizeof why) ==
                   MLT_OK);
        FUZZ_CHECK(mlt_goal_image_open("again", bytes, size, &again, why, sizeof why) == MLT_OK);
        mlt_goal_image_free(again);
        free(bytes);
    }
    mlt_goal_program_free(program);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t kind;
    fuzz_take(&data, &size, &kind, 1);
    uint8_t *bytes = malloc(size ? size : 1);
    FUZZ_CHECK(bytes);
    if (size)
        memcpy(bytes, data, size);
    if (kind % 2 == 0 && size >= sizeof(mlt_goal_image_header)) {
        mlt_goal_image_header header, right = {.version = MLT_GOAL_IMAGE_VERSION,
                                               .order = MLT_GOAL_IMAGE_ORDER,
                                               .size = size & ~(size_t)7};
        memcpy(right.magic, mlt_goal_image_magic, sizeof right.magic);
        size = right.size;
        memcpy(&header, bytes, sizeof header);
        memcpy(&header, &right, offsetof(mlt_goal_image_header, checksum));
        memcpy(bytes, &header, sizeof header);
        header.checksum = mlt_goal_image_checksum(bytes, size);
        memcpy(bytes, &header, sizeof header);
    }
    mlt_goal_image *image;
    char why[512];
    memset(why, 'x', sizeof why);
    if (mlt_goal_image_open("file", bytes, size, &image, why, sizeof why) != MLT_OK) {
        FUZZ_CHECK(!image);
        fuzz_check_sentence(why, sizeof why);
        free(bytes);
        return 0;
    }
    FUZZ_CHECK(mlt_is_image(bytes, size));
    for (uint32_t i = 0; i < image->header->held && i < MOST_RANKS; i++) {
        mlt_goal_sched *sched = mlt_goal_image_sched(image, image->rank[i].rank);
        if (sched->actions <= MOST_ACTIONS)
            execute(sched);
        mlt_goal_sched_free(sched);
    }
    if (mlt_goal_image_ranks(image) <= MOST_RANKS)
        back_and_forth(image);
    mlt_goal_image_free(image);
    free(bytes);
    return 0;
}
