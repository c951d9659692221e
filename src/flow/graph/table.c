// SPDX-License-Identifier: BSD-3-Clause
// Open addressing; half of the rows are free.
#include "flow/graph/table.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

static uint32_t hash_of(const char *text)
{
    uint32_t hash = 2166136261u; // FNV-1a
    for (; *text; text++)
        hash = (hash ^ (unsigned char)*text) * 16777619u;
    return hash;
}

// The row of this name, or the free one where it would be. There are rows.
static struct mlt_flow_table_row *row_of(const mlt_flow_table *table, const char *name)
{
    size_t at = hash_of(name) & (table->size - 1);
    while (table->rows[at].name && strcmp(table->rows[at].name, name) != 0)
        at = (at + 1) & (table->size - 1);
    return &table->rows[at];
}

static void grow(mlt_flow_table *table)
{
    mlt_flow_table old = *table;
    table->size = old.size ? 4 * old.size : 16;
    table->rows = mlt_take(table->size, sizeof *table->rows);
    for (size_t i = 0; i < old.size; i++)
        if (old.rows[i].name)
            *row_of(table, old.rows[i].name) = old.rows[i];
    free(old.rows);
}

void *mlt_flow_table_find(const mlt_flow_table *table, const char *name)
{
    return table->size ? row_of(table, name)->owner : NULL;
}

void *mlt_flow_table_add(mlt_flow_table *table, const char *name, void *owner)
{
    if (2 * table->count >= table->size)
        grow(table);
    struct mlt_flow_table_row *row = row_of(table, name);
    if (row->name)
        return row->owner;
    row->name = name;
    row->owner = owner;
    table->count++;
    return NULL;
}

void mlt_flow_table_free(mlt_flow_table *table)
{
    free(table->rows);
    *table = (mlt_flow_table){0};
}
