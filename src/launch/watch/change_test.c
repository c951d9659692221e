// SPDX-License-Identifier: BSD-3-Clause
// The head's part of the agreement about a rule book: what it sends, and when.
#include "launch/watch/change.h"

#include <string.h>

#include "base/unit_test.h"

enum { HOSTS = 3 };

static struct {
    uint32_t to, count;
    mlt_frame_type type;
    int64_t value;
    mlt_decision decision;
} last;

static void sends(void *user, const mlt_frame *frame, char *body)
{
    last.to = frame->to;
    last.type = frame->type;
    last.value = frame->value;
    last.count++;
    if (frame->length == sizeof last.decision)
        memcpy(&last.decision, body, frame->length);
    mlt_changes **own = user;
    if (frame->type == MLT_FRAME_DECIDED) // this host's agent answers at once
        mlt_changes_kept(*own, 0, frame->value);
}

static void test_known(mlt_changes *c)
{
    CHECK(mlt_changes_begin(c, "a.lua") == 1 && last.type == MLT_FRAME_CHANGE && last.count == 1);
    mlt_changes_knows(c, 0, 1);
    mlt_changes_knows(c, 2, 1);
    mlt_changes_knows(c, 2, 1);
    mlt_changes_knows(c, 1, 0); // nonsense
    mlt_changes_knows(c, 1, 7);
    CHECK(last.count == 1);
    CHECK(mlt_changes_begin(c, "") == 2 && last.count == 2);
    mlt_changes_knows(c, 1, 2); // it has missed the first: all know that
    CHECK(last.type == MLT_FRAME_KNOWN && last.value == 1 && last.to == MLT_FRAME_ALL);
    mlt_changes_knows(c, 0, 2);
    CHECK(last.count == 3);
    mlt_changes_knows(c, 2, 2);
    CHECK(last.count == 4 && last.value == 2);
}

static void test_decisions(mlt_changes *c)
{
    uint32_t before = last.count;
    mlt_changes_decides(c, 2, &(mlt_decision){10, 100});
    int64_t first = last.value;
    CHECK(last.type == MLT_FRAME_DECIDED && last.decision.word == 100);
    mlt_changes_decides(c, 1, &(mlt_decision){11, 101});
    int64_t second = last.value;
    CHECK(second != first && last.count == before + 2);
    mlt_changes_kept(c, 1, first);
    mlt_changes_kept(c, 1, first);
    mlt_changes_kept(c, 2, second);
    mlt_changes_kept(c, 2, 99);
    CHECK(last.count == before + 2);
    mlt_changes_kept(c, 2, first);
    CHECK(last.type == MLT_FRAME_SPREAD && last.to == 2 && last.decision.key == 10);
    mlt_changes_lost(c, 1); // nobody waits for it any more
    CHECK(last.count == before + 4 && last.to == 1 && last.decision.key == 11);
    mlt_changes_decides(c, 0, &(mlt_decision){12, 102});
    mlt_changes_kept(c, 2, last.value);
    CHECK(last.type == MLT_FRAME_SPREAD && last.to == 0);
    CHECK(mlt_changes_begin(c, "b.lua") == 3);
    mlt_changes_knows(c, 0, 3);
    mlt_changes_knows(c, 2, 3);
    CHECK(last.type == MLT_FRAME_KNOWN && last.value == 3);
    mlt_changes_decides(c, 2, &(mlt_decision){13, 103}); // open at the end
}

int main(void)
{
    mlt_changes *c = NULL;
    c = mlt_changes_new(HOSTS, sends, &c);
    test_known(c);
    test_decisions(c);
    mlt_changes_free(c);
    mlt_changes_free(NULL);
    return 0;
}
