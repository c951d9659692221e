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

// What a process of these has while it runs: memory for a value, aligned for any type, and guards, if
// it alternates.
typedef struct plug {
    _Alignas(max_align_t) unsigned char small[PLUG_SMALL];
    void *value;
    csp_guard few[PLUG_FEW], *guards;
} plug;

// The channel is one of this worker's, and its values have the size that the arguments say.
static void check_chan(const csp_chan *chan, size_t size, const char *call)
{
    mlt_chan_check(mlt_csp_enter(call), chan, call);
    if (size != chan->size)
        mlt_csp_fault(call, "values of the channel have %u bytes, those of the arguments %zu",
                      chan->size, size);
}

// Holds all ends.
static void *plug_begin(plug *p, const char *call, size_t size, csp_in *const *ins, size_t in_count,
                        csp_out *const *outs, size_t out_count)
{
    if (size > LARGEST)
        mlt_csp_fault(call, "values of %zu bytes are larger than %d", size, LARGEST);
    p->value = size <= PLUG_SMALL ? p->small : mlt_xcalloc(1, size);
    size_t most = in_count > out_count ? in_count : out_count;
    p->guards = most <= PLUG_FEW ? p->few : mlt_xcalloc(most, sizeof *p->guards);
    for (size_t i = 0; i < in_count; i++) {
        check_chan(mlt_chan_of_in(ins[i]), size, call);
        csp_hold_in(ins[i]);
    }
    for (size_t i = 0; i < out_count; i++) {
        check_chan(mlt_chan_of_out(outs[i]), size, call);
        csp_hold_out(outs[i]);
    }
    return p->value;
}

static int plug_end(plug *p, csp_status status)
{
    if (p->value != p->small)
        free(p->value);
    if (p->guards != p->few)
        free(p->guards);
    return (int)status;
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
    plug p;
    void *value = plug_begin(&p, "csp_id", my->size, &my->in, 1, &my->out, 1);
    return plug_end(&p, copy_all(my->in, my->out, value));
}

MLT_EXPORT int csp_successor(void *args)
{
    const csp_pair *my = args;
    plug p;
    if (my->size != sizeof(int))
        mlt_csp_fault("csp_successor", "values are of type int, which has %zu bytes, not %zu",
                      sizeof(int), my->size);
    int *value = plug_begin(&p, "csp_successor", my->size, &my->in, 1, &my->out, 1);
    csp_status status;
    do {
        status = csp_read(my->in, value);
        *value = (int)((unsigned)*value + 1);
        if (status == CSP_OK)
            status = csp_write(my->out, value);
    } while (status == CSP_OK);
    return plug_end(&p, status);
}

MLT_EXPORT int csp_prefix(void *args)
{
    const csp_prefix_args *my = args;
    plug p;
    void *value = plug_begin(&p, "csp_prefix", my->size, &my->in, 1, &my->out, 1);
    csp_status status = csp_write(my->out, my->value);
    if (status == CSP_OK)
        status = copy_all(my->in, my->out, value);
    return plug_end(&p, status);
}

MLT_EXPORT int csp_tee(void *args)
{
    const csp_delta_args *my = args;
    plug p;
    void *value = plug_begin(&p, "csp_tee", my->size, &my->in, 1, my->outs, my->count);
    csp_status status;
    do {
        status = csp_read(my->in, value);
        for (size_t i = 0; i < my->count && status == CSP_OK; i++)
            status = csp_write(my->outs[i], value);
    } while (status == CSP_OK);
    return plug_end(&p, status);
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
    plug p;
    void *value = plug_begin(&p, "csp_delta", my->size, &my->in, 1, my->outs, my->count);
    for (size_t i = 0; i < my->count; i++)
        p.guards[i] = csp_on_write(my->outs[i], value);
    csp_status status;
    do {
        status = csp_read(my->in, value);
        if (status == CSP_OK)
            status = write_all(p.guards, my->count);
    } while (status == CSP_OK);
    return plug_end(&p, status);
}

MLT_EXPORT int csp_merge(void *args)
{
    const csp_merge_args *my = args;
    plug p;
    void *value = plug_begin(&p, "csp_merge", my->size, my->ins, my->count, &my->out, 1);
    for (size_t i = 0; i < my->count; i++)
        p.guards[i] = csp_on_read(my->ins[i], value);
    // One in that has retired leaves the others; poison ends it.
    size_t living = my->count;
    csp_status status = living ? CSP_OK : CSP_RETIRED;
    while (status == CSP_OK) {
        csp_guard *from = &p.guards[csp_alt(p.guards, my->count)];
        if (from->status == CSP_OK) {
            status = csp_write(my->out, value);
        } else if (from->status == CSP_RETIRED && --living > 0) {
            from->off = true;
        } else {
            status = from->status;
        }
    }
    return plug_end(&p, status);
}
