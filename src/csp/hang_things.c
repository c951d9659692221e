// SPDX-License-Identifier: BSD-3-Clause
// Names of what is waited for, of the modules that have it.
#include "csp/barrier.h"
#include "csp/group.h"
#include "csp/hang_int.h"

enum { NAME_BYTES = 64 };

void mlt_words_of_barrier(mlt_words *w, const csp_barrier *barrier)
{
    char name[NAME_BYTES];
    mlt_barrier_name(barrier, name, sizeof name);
    mlt_words_add(w, barrier->name[0] ? "'%s'" : "%s", name);
    mlt_words_add(w, ", where %zu of %zu have come", barrier->present, barrier->enrolled);
}

bool mlt_group_is_wide(const csp_group *group)
{
    return !group->body || group->members != group->size;
}

void mlt_words_of_group(mlt_words *w, const csp_group *group, uint64_t call)
{
    uint32_t there = 0;
    mlt_words_add(w, "group '%.40s'", group->name ? group->name : "?");
    if (!group->body) // it is being made
        return;
    for (uint32_t i = 0; i < group->members; i++)
        there += group->calls[i] > call;
    mlt_words_add(w, " (call %llu), where %u of %u%s have come", (unsigned long long)call + 1,
                  there, group->members, group->members < group->size ? " here" : "");
}

void mlt_words_of_port(mlt_words *w, const csp_port *port)
{
    mlt_words_add(w, "a port");
}

void mlt_words_of_target(mlt_words *w, const csp_target *target)
{
    mlt_words_add(w, "a port");
}

void mlt_words_of_far(mlt_words *w, const csp_chan *chan)
{
    if (chan->remote)
        mlt_words_add(w, " (of another program)");
}
