// SPDX-License-Identifier: BSD-3-Clause
// What a name of the file stands for.
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "flow/graph/arena.h"
#include "flow/graph/hint.h"
#include "flowc/sema_int.h"

void *mlt_sema_take(const mlt_sema *c, size_t bytes)
{
    return mlt_flow_arena_take(c->file->arena, bytes);
}

const mlt_flow_override *mlt_flow_override_of(const mlt_flow_override *list, size_t count,
                                              const char *name)
{
    while (count-- > 0)
        if (strcmp(list[count].name, name) == 0)
            return &list[count];
    return NULL;
}

void mlt_sema_names_add(mlt_sema_names *names, const char *name)
{
    *MLT_ARRAY_ADD(names->name, names->count, names->room) = name;
}

mlt_sema_hint mlt_sema_hint_of(mlt_sema_names *names, const char *asked)
{
    mlt_sema_hint hint;
    mlt_flow_hint(hint.text, sizeof hint.text, asked, names->name, names->count);
    free(names->name);
    *names = (mlt_sema_names){0};
    return hint;
}

const flow_module *const mlt_sema_built_ins[MLT_SEMA_BUILT_IN] = {
    &flow_Reduce,    &flow_Broadcast, &flow_Deal,      &flow_Collect, &flow_LineServer,
    &flow_TcpSource, &flow_TcpSink,   &flow_UdpSource, &flow_UdpSink};

const flow_module *mlt_flow_built_in(const char *name)
{
    for (size_t i = 0; i < MLT_SEMA_BUILT_IN; i++)
        if (strcmp(mlt_sema_built_ins[i]->name, name) == 0)
            return mlt_sema_built_ins[i];
    return NULL;
}

mlt_sema_module *mlt_sema_module_of(const mlt_sema *c, const char *name)
{
    return mlt_name_table_find(&c->module_names, name);
}

mlt_sema_root *mlt_sema_root_of(const mlt_sema *c, const char *name)
{
    return mlt_name_table_find(&c->root_names, name);
}

mlt_sema_op *mlt_sema_op_of(const mlt_sema *c, const char *name)
{
    for (mlt_sema_op *o = c->ops; o; o = o->next)
        if (strcmp(o->op.name, name) == 0)
            return o;
    return NULL;
}
