// SPDX-License-Identifier: BSD-3-Clause
// Ends as values. A parcel names a channel by its home and its number there; the share of the
// holder who packed it stays counted at home until the parcel is unpacked, wherever that is. The
// home knows the parcel by its ticket, so that share can be taken over once. What is in a parcel
// may come from another program, so nothing in it ends this one.
#include <stdio.h>
#include <string.h>

#include "base/export.h"
#include "csp/net/remote.h"
#include "csp/proc.h"

#define MAGIC UINT32_C(0x6c637270)

typedef struct parcel {
    uint32_t magic;
    uint32_t writer;
    uint32_t number, size;
    uint64_t ticket;
    mlt_endpoint at;
} parcel;
_Static_assert(sizeof(parcel) <= sizeof(csp_parcel), "a parcel has room for what it names");

static csp_status pack(csp_chan *chan, bool writer, csp_parcel *out, const char *call)
{
    mlt_csp *csp = mlt_csp_enter(call);
    mlt_chan_check(csp, chan, call);
    if (chan->holders[writer] == 0)
        mlt_csp_fault(call, "the end has retired, or was packed before");
    (void)mlt_remote_of(csp);
    parcel p = {.magic = MAGIC, .writer = writer, .size = chan->size};
    mlt_route *route;
    csp_status status = mlt_remote_give(chan, writer, &route, &p.number, &p.ticket);
    if (status != CSP_OK)
        return status;
    mlt_proc_lets_go(csp, chan, writer);
    p.at = route->worker == csp->worker->index ? *mlt_route_own(csp, false) : route->to;
    memset(out, 0, sizeof *out);
    memcpy(out->bytes, &p, sizeof p);
    return CSP_OK;
}

static csp_status unpack(const csp_parcel *in, bool writer, csp_chan **chan, const char *call)
{
    mlt_csp *csp = mlt_csp_enter(call);
    parcel p;
    csp_status status;
    memcpy(&p, in->bytes, sizeof p);
    *chan = NULL;
    if (p.magic != MAGIC || p.ticket == 0)
        return mlt_csp_refuse(csp, CSP_NO_NAME, "%s: this is no parcel", call);
    if (p.writer != writer)
        return mlt_csp_refuse(csp, CSP_NO_NAME, "%s: there is an end to %s in the parcel", call,
                              p.writer ? "write" : "read");
    (void)mlt_remote_of(csp);
    p.at.socket[sizeof p.at.socket - 1] = 0;
    if (!mlt_far_good(&p.at.far))
        return mlt_csp_refuse(csp, CSP_NO_NAME, "%s: this is no parcel", call);
    mlt_route *route = mlt_route_to(csp, &p.at, CSP_NEVER, &status);
    if (!route)
        return status;
    return mlt_remote_open(csp, route, p.number, p.size, writer, p.ticket, CSP_NEVER, chan);
}

MLT_EXPORT csp_status csp_pack_in(csp_in *in, csp_parcel *out)
{
    return pack(mlt_chan_of_in(in), false, out, "csp_pack_in");
}

MLT_EXPORT csp_status csp_pack_out(csp_out *out, csp_parcel *into)
{
    return pack(mlt_chan_of_out(out), true, into, "csp_pack_out");
}

MLT_EXPORT csp_status csp_unpack_in(const csp_parcel *from, csp_in **in)
{
    csp_chan *chan;
    csp_status status = unpack(from, false, &chan, "csp_unpack_in");
    *in = mlt_chan_in(chan);
    return status;
}

MLT_EXPORT csp_status csp_unpack_out(const csp_parcel *from, csp_out **out)
{
    csp_chan *chan;
    csp_status status = unpack(from, true, &chan, "csp_unpack_out");
    *out = mlt_chan_out(chan);
    return status;
}
