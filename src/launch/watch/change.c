// SPDX-License-Identifier: BSD-3-Clause
#include "launch/watch/change.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "base/memory.h"

// A decision that not all hosts have yet.
typedef struct open_change {
    mlt_list_node link;
    int64_t number;
    uint32_t host; // whose rank decided
    uint32_t left; // hosts that have not answered
    mlt_decision decision;
    bool kept[]; // [hosts]
} open_change;

struct mlt_changes {
    uint32_t hosts;
    mlt_changes_send *send;
    void *user;
    uint32_t change, known;  // the last one; the last of which all hosts know
    uint32_t *knows;         // [hosts] the last one of which all workers know; UINT32_MAX: lost
    int64_t number;          // of the last decision
    mlt_list_node decisions; // open_change.link
};

mlt_changes *mlt_changes_new(uint32_t hosts, mlt_changes_send *send, void *user)
{
    mlt_changes *c = mlt_xcalloc(1, sizeof *c);
    *c = (mlt_changes){.hosts = hosts, .send = send, .user = user};
    c->knows = mlt_xcalloc(hosts + 1ull, sizeof *c->knows);
    mlt_list_init(&c->decisions);
    return c;
}

void mlt_changes_free(mlt_changes *c)
{
    if (!c)
        return;
    MLT_LIST_DRAIN(open_change, o, &c->decisions, link)
        free(o);
    free(c->knows);
    free(c);
}

static void changes_tell(mlt_changes *c, uint32_t to, mlt_frame_type type, int64_t value,
                         const void *body, size_t length)
{
    mlt_frame frame = mlt_frame_down(type, to, 0, value, length);
    c->send(c->user, &frame, (char *)(uintptr_t)body);
}

uint32_t mlt_changes_begin(mlt_changes *c, const char *file)
{
    uint32_t number = ++c->change;
    changes_tell(c, MLT_FRAME_ALL, MLT_FRAME_CHANGE, number, file, strlen(file) + 1);
    return number;
}

static void tell_known(mlt_changes *c)
{
    uint32_t least = c->change;
    for (uint32_t h = 0; h < c->hosts; h++)
        least = c->knows[h] < least ? c->knows[h] : least;
    if (least <= c->known)
        return;
    c->known = least;
    changes_tell(c, MLT_FRAME_ALL, MLT_FRAME_KNOWN, least, NULL, 0);
}

void mlt_changes_knows(mlt_changes *c, uint32_t host, int64_t change)
{
    if (change <= c->knows[host] || change > c->change)
        return;
    c->knows[host] = (uint32_t)change;
    tell_known(c);
}

// The last one's answer ends it.
static void take_kept(mlt_changes *c, open_change *o, uint32_t host)
{
    if (o->kept[host])
        return;
    o->kept[host] = true;
    if (--o->left > 0)
        return;
    mlt_list_remove(&o->link);
    changes_tell(c, o->host, MLT_FRAME_SPREAD, o->number, &o->decision, sizeof o->decision);
    free(o);
}

void mlt_changes_decides(mlt_changes *c, uint32_t host, const mlt_decision *decision)
{
    open_change *o = mlt_xcalloc(1, sizeof *o + c->hosts * sizeof *o->kept);
    int64_t number = ++c->number;
    o->number = number;
    o->host = host;
    o->decision = *decision;
    o->left = c->hosts;
    mlt_list_push_back(&c->decisions, &o->link);
    changes_tell(c, MLT_FRAME_ALL, MLT_FRAME_DECIDED, number, decision, sizeof *decision);
    for (uint32_t h = 0; h < c->hosts; h++)
        if (c->knows[h] == UINT32_MAX)
            mlt_changes_kept(c, h, number);
}

void mlt_changes_kept(mlt_changes *c, uint32_t host, int64_t number)
{
    MLT_LIST_EACH(open_change, o, &c->decisions, link)
        if (o->number == number) {
            take_kept(c, o, host);
            return;
        }
}

void mlt_changes_lost(mlt_changes *c, uint32_t host)
{
    c->knows[host] = UINT32_MAX;
    MLT_LIST_EACH_SAFE(open_change, o, &c->decisions, link)
        take_kept(c, o, host);
    if (c->change)
        tell_known(c);
}
