// SPDX-License-Identifier: BSD-3-Clause
// Ready-made processes, after plugNplay of JCSP and PyCSP.
#include <stdlib.h>
#include <string.h>

#include "base/export.h"
#include "base/memory.h"
#include "csp/chan.h"
#include "csp/state.h"

enum {
    LARGEST = 4096,
    PLUG_SMALL =
        64,       // values that lie on the stack, so that a million of these processes have a page
    PLUG_FEW = 8, // outs or ins without memory of their own
};

// Memory for a value, aligned for any type.
typedef struct room {
    _Alignas(max_align_t) unsigned char small[PLUG_SMALL];
    void *value;
} room;

// The channel is one of this worker's, and its values have the size that the arguments say.
static void check_chan(const csp_chan *chan, size_t size, const char *call)
{
    mlt_chan_check(mlt_csp_enter(call), chan, call);
    if (size != chan->size)
        mlt_csp_fault(call, "values of the channel have %u bytes, those of the arguments %zu",
                      chan->size, size);
}

static void hold_in(csp_in *in, size_t size, const char *call)
{
    check_chan(mlt_chan_of_in(in), size, call);
    csp_hold_in(in);
}

static void hold_out(csp_out *out, size_t size, const char *call)
{
    check_chan(mlt_chan_of_out(out), size, call);
    csp_hold_out(out);
}

static void *room_begins(room *r, size_t size, const char *call)
{
    if (size > LARGEST)
        mlt_csp_fault(call, "values of %zu bytes are larger than %d", size, LARGEST);
    r->value = size <= PLUG_SMALL ? r->small : mlt_take(1, size);
    return r->value;
}

static void room_ends(room *r)
{
    if (r->value != r->small)
        free(r->value);
}

static csp_status copy_all(csp_in *in, csp_out *out, void *value)
{
    csp_status status;
    do {
        status = csp_read(in, value);
        if (status == CSP_OK)
            status = csp_write(out, value);
    } while (status == CSP_OK);
    return status;
}

MLT_EXPORT int csp_id(void *args)
{
    const csp_pair *my = args;
    room r;
    void *value = room_begins(&r, my->size, "csp_id");
    hold_in(my->in, my->size, "csp_id");
    hold_out(my->out, my->size, "csp_id");
    csp_status status = copy_all(my->in, my->out, value);
    room_ends(&r);
    return (int)status;
}

MLT_EXPORT int csp_successor(void *args)
{
    const csp_pair *my = args;
    int value;
    if (my->size != sizeof value)
        mlt_csp_fault("csp_successor", "values are of type int, which has %zu bytes, not %zu",
                      sizeof value, my->size);
    hold_in(my->in, my->size, "csp_successor");
    hold_out(my->out, my->size, "csp_successor");
    csp_status status;
    do {
        status = csp_read(my->in, &value);
        value = (int)((unsigned)value + 1);
        if (status == CSP_OK)
            status = csp_write(my->out, &value);
    } while (status == CSP_OK);
    return (int)status;
}

MLT_EXPORT int csp_prefix(void *args)
{
    const csp_prefix_args *my = args;
    room r;
    void *value = room_begins(&r, my->size, "csp_prefix");
    hold_in(my->in, my->size, "csp_prefix");
    hold_out(my->out, my->size, "csp_prefix");
    csp_status status = csp_write(my->out, my->value);
    if (status == CSP_OK)
        status = copy_all(my->in, my->out, value);
    room_ends(&r);
    return (int)status;
}

static void hold_outs(const csp_delta_args *my, const char *call)
{
    hold_in(my->in, my->size, call);
    for (size_t i = 0; i < my->count; i++)
        hold_out(my->outs[i], my->size, call);
}

MLT_EXPORT int csp_tee(void *args)
{
    const csp_delta_args *my = args;
    room r;
    void *value = room_begins(&r, my->size, "csp_tee");
    hold_outs(my, "csp_tee");
    csp_status status;
    do {
        status = csp_read(my->in, value);
        for (size_t i = 0; i < my->count && status == CSP_OK; i++)
            status = csp_write(my->outs[i], value);
    } while (status == CSP_OK);
    room_ends(&r);
    return (int)status;
}

// All writes at once, as a PAR of them would do: whoever is ready first is served first.
static csp_status write_all(csp_guard *guards, size_t count)
{
    for (size_t i = 0; i < count; i++)
        guards[i].off = false;
    for (size_t left = count; left > 0; left--) {
        csp_guard *done = &guards[csp_alt(guards, count)];
        if (done->status != CSP_OK)
            return done->status;
        done->off = true;
    }
    return CSP_OK;
}

MLT_EXPORT int csp_delta(void *args)
{
    const csp_delta_args *my = args;
    room r;
    void *value = room_begins(&r, my->size, "csp_delta");
    csp_guard few[PLUG_FEW],
        *guards = my->count <= PLUG_FEW ? few : mlt_take(my->count, sizeof *guards);
    hold_outs(my, "csp_delta");
    for (size_t i = 0; i < my->count; i++)
        guards[i] = csp_on_write(my->outs[i], value);
    csp_status status;
    do {
        status = csp_read(my->in, value);
        if (status == CSP_OK)
            status = write_all(guards, my->count);
    } while (status == CSP_OK);
    if (guards != few)
        free(guards);
    room_ends(&r);
    return (int)status;
}

MLT_EXPORT int csp_merge(void *args)
{
    const csp_merge_args *my = args;
    room r;
    void *value = room_begins(&r, my->size, "csp_merge");
    csp_guard few[PLUG_FEW],
        *guards = my->count <= PLUG_FEW ? few : mlt_take(my->count, sizeof *guards);
    hold_out(my->out, my->size, "csp_merge");
    for (size_t i = 0; i < my->count; i++) {
        hold_in(my->ins[i], my->size, "csp_merge");
        guards[i] = csp_on_read(my->ins[i], value);
    }
    // One in that has retired leaves the others; poison ends it.
    size_t living = my->count;
    csp_status status = living ? CSP_OK : CSP_RETIRED;
    while (status == CSP_OK) {
        csp_guard *from = &guards[csp_alt(guards, my->count)];
        if (from->status == CSP_OK) {
            status = csp_write(my->out, value);
        } else if (from->status == CSP_RETIRED && --living > 0) {
            from->off = true;
        } else {
            status = from->status;
        }
    }
    if (guards != few)
        free(guards);
    room_ends(&r);
    return (int)status;
}
