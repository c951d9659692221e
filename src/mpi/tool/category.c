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

static int category_count(void)
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

// How many of `all` belong to it; the first `len` of them into indices, which may be NULL.
static int category_collect(int cat, int all, bool (*has)(int cat, const char *name, int i),
                            int len, int *indices)
{
    category c = category_at(cat);
    int n = 0;
    for (int i = 0; i < all; i++)
        if (has(cat, c.name, i)) {
            if (indices && n < len)
                indices[n] = i;
            n++;
        }
    return n;
}

static int list(mlt_rank *me, int cat_index, int all, bool (*has)(int cat, const char *name, int i),
                int len, int *indices)
{
    int code = mlt_tool_check_index(me, cat_index, category_count());
    if (code != MPI_SUCCESS)
        return code;
    if (len < 0 || (len > 0 && !indices))
        return MPI_T_ERR_INVALID;
    (void)category_collect(cat_index, all, has, len, indices);
    return MPI_SUCCESS;
}

int mlt_mpi_T_category_get_num(mlt_rank *me, int *num_cat)
{
    return mlt_tool_give(me, num_cat, category_count());
}

static const char *category_name(int i)
{
    return category_at(i).name;
}

int mlt_mpi_T_category_get_index(mlt_rank *me, const char *name, int *cat_index)
{
    return mlt_tool_find(me, name, cat_index, category_count(), category_name);
}

int mlt_mpi_T_category_get_info(mlt_rank *me, int cat_index, char *name, int *name_len, char *desc,
                                int *desc_len, int *num_cvars, int *num_pvars, int *num_categories)
{
    int code = mlt_tool_check_index(me, cat_index, category_count());
    if (code != MPI_SUCCESS)
        return code;
    category c = category_at(cat_index);
    mlt_tool_text(c.name, name, name_len);
    mlt_tool_text(c.help, desc, desc_len);
    mlt_tool_put(num_cvars, category_collect(cat_index, mlt_tool_cvar_count(), has_cvar, 0, NULL));
    mlt_tool_put(num_pvars, category_collect(cat_index, mlt_tool_pvar_count(), has_pvar, 0, NULL));
    mlt_tool_put(num_categories,
                 category_collect(cat_index, category_count(), has_category, 0, NULL));
    return MPI_SUCCESS;
}

int mlt_mpi_T_category_get_num_events(mlt_rank *me, int cat_index, int *num_events)
{
    int code = mlt_tool_check_index(me, cat_index, category_count());
    if (code != MPI_SUCCESS)
        return code;
    return mlt_tool_give(me, num_events,
                         category_collect(cat_index, mlt_tool_event_count(), has_event, 0, NULL));
}

int mlt_mpi_T_category_get_cvars(mlt_rank *me, int cat_index, int len, int indices[])
{
    return list(me, cat_index, mlt_tool_cvar_count(), has_cvar, len, indices);
}

int mlt_mpi_T_category_get_pvars(mlt_rank *me, int cat_index, int len, int indices[])
{
    return list(me, cat_index, mlt_tool_pvar_count(), has_pvar, len, indices);
}

int mlt_mpi_T_category_get_events(mlt_rank *me, int cat_index, int len, int indices[])
{
    return list(me, cat_index, mlt_tool_event_count(), has_event, len, indices);
}

int mlt_mpi_T_category_get_categories(mlt_rank *me, int cat_index, int len, int indices[])
{
    return list(me, cat_index, category_count(), has_category, len, indices);
}

int mlt_mpi_T_category_changed(mlt_rank *me, int *update_number)
{
    return mlt_tool_give(me, update_number, 0);
}
