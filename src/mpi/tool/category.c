// SPDX-License-Identifier: BSD-3-Clause
// Categories: `millet` holds all of them. Below it are two groups of layers, and a category for each
// layer that has settings, with the variables and events that name it. None ever changes.
#include <string.h>

#include "mpi/tool/cvar.h"
#include "mpi/tool/event.h"
#include "mpi/tool/pvar.h"
#include "mpi_bodies.h"

enum { ROOT, MESSAGES, RANKS, GROUPS };

static const struct {
    const char *name, *help;
} groups[GROUPS] = {
    [ROOT] = {"millet", "everything that Millet shows to tools"},
    [MESSAGES] = {"messages", "how messages travel"},
    [RANKS] = {"ranks", "how ranks run, wait and are hosted"},
};

static const struct {
    const char *layer;
    int group;
    const char *help;
} about[] = {
    {"fiber", RANKS, "scheduling, stacks and waiting of ranks"},
    {"wire", MESSAGES, "rings between workers of a host; polling and sleeping"},
    {"tcp", MESSAGES, "connections between hosts"},
    {"p2p", MESSAGES, "sends and receives, matching, protocols"},
    {"coll", ROOT, "collective operations and the choice of their algorithms"},
    {"csp", ROOT, "processes, channels and names"},
    {"flow", ROOT, "flow programs"},
    {"host", RANKS, "processes that host ranks: memory, output, globals"},
    {"win", MESSAGES, "one-sided communication"},
    {"mpi", ROOT, "the MPI layer"},
};

typedef struct category {
    const char *name, *help;
    int parent; // -1: none
} category;

int mlt_tool_category_count(void)
{
    const char *const *names;
    return GROUPS + mlt_tool_layers(&names);
}

static category category_at(int i)
{
    if (i < GROUPS)
        return (category){groups[i].name, groups[i].help, i == ROOT ? -1 : ROOT};
    const char *const *names;
    (void)mlt_tool_layers(&names);
    for (size_t k = 0; k < sizeof about / sizeof *about; k++)
        if (strcmp(about[k].layer, names[i - GROUPS]) == 0)
            return (category){about[k].layer, about[k].help, about[k].group};
    return (category){names[i - GROUPS], "the settings of this layer", ROOT};
}

// The i-th of what categories hold belongs to this one.
static bool has_cvar(int cat, const char *name, int i)
{
    return strcmp(mlt_tool_cvars()[i].layer, name) == 0;
}

static bool has_pvar(int cat, const char *name, int i)
{
    return strcmp(mlt_tool_pvars[i].category, name) == 0;
}

static bool has_event(int cat, const char *name, int i)
{
    return strcmp(mlt_tool_event_types[i].category, name) == 0;
}

static bool has_category(int cat, const char *name, int i)
{
    return category_at(i).parent == cat;
}

const char *mlt_tool_category_name(int i)
{
    return category_at(i).name;
}

int mlt_tool_category_collect(int cat, mlt_tool_kind kind, int len, int *indices)
{
    static const struct {
        int (*count)(void);
        bool (*has)(int cat, const char *name, int i);
    } kinds[] = {
        [MLT_TOOL_CVARS] = {mlt_tool_cvar_count, has_cvar},
        [MLT_TOOL_PVARS] = {mlt_tool_pvar_count, has_pvar},
        [MLT_TOOL_EVENTS] = {mlt_tool_event_count, has_event},
        [MLT_TOOL_CATEGORIES] = {mlt_tool_category_count, has_category},
    };
    category c = category_at(cat);
    int n = 0;
    for (int i = 0; i < kinds[kind].count(); i++)
        if (kinds[kind].has(cat, c.name, i)) {
            if (indices && n < len)
                indices[n] = i;
            n++;
        }
    return n;
}

int mlt_tool_category_list(int cat, mlt_tool_kind kind, int len, int *indices)
{
    if (len < 0 || (len > 0 && !indices))
        return MPI_T_ERR_INVALID;
    (void)mlt_tool_category_collect(cat, kind, len, indices);
    return MPI_SUCCESS;
}

int mlt_mpi_T_category_get_info(mlt_rank *me, mlt_tool *tool, int cat_index, char *name,
                                int *name_len, char *desc, int *desc_len, int *num_cvars,
                                int *num_pvars, int *num_categories)
{
    category c = category_at(cat_index);
    mlt_tool_text(c.name, name, name_len);
    mlt_tool_text(c.help, desc, desc_len);
    mlt_tool_put(num_cvars, mlt_tool_category_collect(cat_index, MLT_TOOL_CVARS, 0, NULL));
    mlt_tool_put(num_pvars, mlt_tool_category_collect(cat_index, MLT_TOOL_PVARS, 0, NULL));
    mlt_tool_put(num_categories,
                 mlt_tool_category_collect(cat_index, MLT_TOOL_CATEGORIES, 0, NULL));
    return MPI_SUCCESS;
}
