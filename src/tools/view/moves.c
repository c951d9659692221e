// SPDX-License-Identifier: BSD-3-Clause
#include "tools/view/moves.h"

#include <string.h>

#include "base/array.h"
#include "base/memory.h"

// "work[3]" and "work.in" are of module "work".
static uint32_t module_named(mlt_moves *m, const char *name)
{
    size_t length = strcspn(name, ".[");
    for (uint32_t i = 0; i < m->count; i++)
        if (m->modules[i].length == length && memcmp(m->modules[i].name, name, length) == 0)
            return i;
    MLT_ARRAY_WANT(m->modules, m->count + 1, m->room);
    m->modules[m->count] = (mlt_moves_module){.name = name, .length = length};
    return m->count++;
}

void mlt_moves_begin(mlt_moves *m, const mlt_trace *trace)
{
    const mlt_trace_facts_table *facts = &trace->facts;
    char room[32];
    *m = (mlt_moves){.trace = trace};
    if (!facts->process_count)
        return;
    uint64_t length = trace->end_ns - trace->begin_ns;
    m->length_ns = (double)(length ? length : 1);
    m->module_of = mlt_xcalloc(facts->process_count, sizeof *m->module_of);
    for (uint32_t i = 0; i < facts->process_count; i++) {
        m->module_of[i] = module_named(m, facts->processes[i].name);
        m->modules[m->module_of[i]].processes++;
    }
    for (int how = 0; how < MLT_TRACE_HOWS; how++) {
        const char *name = mlt_facts_how(facts, MLT_TRACE_FLOW, (uint8_t)how, room);
        m->is_element[how] = strcmp(name, "an element") == 0;
        m->is_room[how] = strncmp(name, "room", 4) == 0;
        m->is_life[how] = strcmp(name, "its life") == 0;
    }
}

void mlt_moves_see(void *moves, uint32_t worker, const mlt_trace_event *e)
{
    mlt_moves *m = moves;
    const mlt_trace_facts_table *facts = &m->trace->facts;
    if (!m->count || e->kind != MLT_TRACE_FLOW)
        return;
    const mlt_trace_process *found = mlt_facts_process(facts, worker, (uint32_t)e->peer);
    if (!found)
        return;
    mlt_moves_module *module = &m->modules[m->module_of[found - facts->processes]];
    double *slices = m->is_room[e->how]      ? module->room
                     : m->is_element[e->how] ? module->element
                     : m->is_life[e->how]    ? module->life
                                             : NULL;
    if (slices)
        mlt_depths_spread(slices, m->length_ns, e->time, e->time + e->span, 1);
}

static void put_shares(const mlt_moves *m, const mlt_moves_module *module, const double *slices,
                       mlt_text *json)
{
    for (int i = 0; i < MLT_DEPTH_SLICES; i++) {
        double share = 100 * slices[i] * MLT_DEPTH_SLICES / (m->length_ns * module->processes);
        mlt_text_add(json, "%s%d", i ? "," : "[", share < 100 ? (int)(share + 0.5) : 100);
    }
    mlt_text_add(json, "]");
}

void mlt_moves_write(const mlt_moves *m, mlt_text *json)
{
    mlt_text_add(json, ",\n\"moves\":[");
    for (uint32_t i = 0; i < m->count; i++) {
        const mlt_moves_module *module = &m->modules[i];
        char *name = mlt_text_of("%.*s", (int)module->length, module->name);
        mlt_text_add(json, i ? ",[" : "[");
        mlt_text_json(json, name);
        mlt_text_add(json, ",");
        put_shares(m, module, module->room, json);
        mlt_text_add(json, ",");
        put_shares(m, module, module->element, json);
        mlt_text_add(json, ",");
        put_shares(m, module, module->life, json);
        mlt_text_add(json, "]");
    }
    mlt_text_add(json, "]");
}

void mlt_moves_write_depths(const mlt_depths *d, mlt_text *json)
{
    mlt_text_add(json, ",\n\"depths\":[");
    for (uint32_t v = 0; v < d->vector_count; v++) {
        const mlt_depth_vector *vector = &d->vectors[v];
        mlt_text_add(json, v ? ",[" : "[");
        mlt_text_json(json, vector->name);
        mlt_text_add(json, ",%llu,%u,", (unsigned long long)vector->room, vector->queues);
        for (int i = 0; i < MLT_DEPTH_SLICES; i++)
            mlt_text_add(json, "%s%.3g", i ? "," : "[", mlt_depth_slice(d, vector, i));
        mlt_text_add(json, "]]");
    }
    mlt_text_add(json, "]");
}
