// SPDX-License-Identifier: BSD-3-Clause
// Names of what is waited for, of the modules that have it.
#include <ctype.h>
#include <string.h>

#include "base/text.h"
#include "base/upcalls.h"
#include "csp/barrier.h"
#include "csp/group.h"
#include "csp/hang/hang_int.h"
#include "csp/net/chan.h"
#include "csp/net/port.h"

enum { THINGS_NAME_BYTES = 64, SENDERS_SHOWN = 3 };

// Names are the program's, and reports go to terminals.
static void keep_printable(mlt_text *w, size_t from)
{
    for (char *c = w->text + from; *c; c++)
        if (!isprint((unsigned char)*c) && *c != '\n')
            *c = '?';
}

void mlt_waitfor_add(mlt_text *w, const char *format, ...)
{
    size_t from = w->length;
    MLT_TEXT_ADD(w, format);
    keep_printable(w, from);
}

void mlt_waitfor_add_barrier(mlt_text *w, const csp_barrier *barrier)
{
    char name[THINGS_NAME_BYTES];
    mlt_barrier_name(barrier, name, sizeof name);
    mlt_waitfor_add(w, barrier->name[0] ? "'%s'" : "%s", name);
    mlt_waitfor_add(w, ", where %zu of %zu have come", barrier->present, barrier->enrolled);
}

bool mlt_waitfor_group_is_wide(const csp_group *group)
{
    return !group->body || group->members != group->size;
}

void mlt_waitfor_add_group(mlt_text *w, const csp_group *group, uint64_t call)
{
    uint32_t there = 0;
    mlt_waitfor_add(w, "group '%.40s'", group->name ? group->name : "?");
    if (!group->body) // it is being made
        return;
    for (uint32_t i = 0; i < group->members; i++)
        there += group->calls[i] > call;
    mlt_waitfor_add(w, " (call %llu), where %u of %u%s have come", (unsigned long long)call + 1,
                    there, group->members, group->members < group->size ? " here" : "");
}

void mlt_waitfor_add_port(mlt_text *w, const csp_port *port)
{
    char name[THINGS_NAME_BYTES];
    mlt_csp_port_name(port, name, sizeof name);
    mlt_waitfor_add(w, port->name[0] ? "port '%s'" : "%s", name);
    uint32_t count = 0;
    MLT_LIST_EACH(const mlt_csp_port_sender, sender, &port->senders, node) {
        if (!sender->route || ++count > SENDERS_SHOWN)
            continue;
        mlt_waitfor_add(w, count == 1 ? ", to which " : ", ");
        if (sender->rank >= 0)
            mlt_waitfor_add(w, "rank %d", sender->rank);
        else
            mlt_waitfor_add(w, "%s", sender->route->who);
    }
    if (count == 0)
        mlt_waitfor_add(w, ", to which nobody has sent so far");
    else if (count > SENDERS_SHOWN)
        mlt_waitfor_add(w, " and %u others have sent", count - SENDERS_SHOWN);
    else
        mlt_waitfor_add(w, count == 1 ? " has sent" : " have sent");
}

void mlt_waitfor_add_target(mlt_text *w, const csp_target *target)
{
    const mlt_csp_stream *stream = target->stream;
    mlt_waitfor_add(w, "port '%.60s'", target->name);
    if (stream && stream->route)
        mlt_waitfor_add(w, " of %s", stream->route->who);
}

bool mlt_chan_is_stand_in(const csp_chan *chan)
{
    return chan->remote && chan->net && !mlt_remote_chan_of(chan)->home;
}

bool mlt_waitfor_add_far_ends(mlt_text *w, const csp_chan *chan, bool writers, bool others)
{
    char who[MLT_ENDS_TEXT];
    uint32_t count = chan->net ? mlt_remote_chan_ends(chan, writers, who, sizeof who) : UINT32_MAX;
    const char *end = writers ? "writing" : "reading";
    if (count == UINT32_MAX || (count == 0 && !mlt_chan_is_stand_in(chan)))
        return false;
    const char *verb = count > 1 ? "have" : "has";
    if (others)
        mlt_waitfor_add(w, "; %s %s its %s end, too", who, verb, end);
    else
        mlt_waitfor_add(w, ", whose %s end %s %s", end, count ? who : "nobody", verb);
    return true;
}

void mlt_waitfor_add_far(mlt_text *w, const csp_chan *chan)
{
    if (!mlt_chan_is_stand_in(chan))
        return;
    const char *who = mlt_remote_chan_route(chan)->who;
    if (!strstr(chan->name, who)) // as in "channel 3 of rank 1", which was found without a name
        mlt_waitfor_add(w, " of %s", who);
}

uint32_t mlt_waitfor_elsewhere(const csp_chan *chan, bool writers, char *text, size_t size)
{
    text[0] = 0;
    return mlt_upcalls.remote_users ? mlt_upcalls.remote_users(chan, writers, text, size) : 0;
}
