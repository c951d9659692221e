// SPDX-License-Identifier: BSD-3-Clause
#include "base/table.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

enum { FIRST = 16 };

uint32_t mlt_hash_word(uint64_t word)
{
    word *= 0x9e3779b97f4a7c15u; // 2^64 over the golden ratio: neighbours go far apart
    return (uint32_t)(word >> 32);
}

uint32_t mlt_hash_bytes(const void *bytes, size_t count)
{
    const unsigned char *at = bytes;
    uint32_t hash = 2166136261u; // FNV-1a
    for (size_t i = 0; i < count; i++)
        hash = (hash ^ at[i]) * 16777619u;
    return hash;
}

uint64_t mlt_hash_on(uint64_t hash, const void *bytes, size_t count)
{
    const unsigned char *at = bytes;
    for (size_t i = 0; i < count; i++)
        hash = (hash ^ at[i]) * UINT64_C(0x100000001b3);
    return hash;
}

// ---- words

static void put(mlt_table *table, uint32_t hash, uintptr_t word)
{
    size_t at = hash & (table->size - 1);
    while (table->slots[at].used)
        at = (at + 1) & (table->size - 1);
    table->slots[at] = (mlt_table_slot){word, hash, 1};
}

static void grow(mlt_table *table)
{
    mlt_table old = *table;
    table->size = old.size ? 2 * old.size : FIRST;
    table->slots = mlt_xcalloc(table->size, sizeof *table->slots);
    for (size_t i = 0; i < old.size; i++)
        if (old.slots[i].used)
            put(table, old.slots[i].hash, old.slots[i].word);
    free(old.slots);
}

void mlt_table_add(mlt_table *table, uint32_t hash, uintptr_t word)
{
    if (2 * table->count >= table->size)
        grow(table);
    put(table, hash, word);
    table->count++;
}

// Those that follow without a gap move up, unless they would come before their own place.
static void close_gap(mlt_table *table, size_t gap)
{
    size_t mask = table->size - 1;
    for (size_t at = (gap + 1) & mask; table->slots[at].used; at = (at + 1) & mask) {
        size_t own = table->slots[at].hash & mask;
        if (((at - own) & mask) < ((at - gap) & mask))
            continue;
        table->slots[gap] = table->slots[at];
        gap = at;
    }
    table->slots[gap] = (mlt_table_slot){0};
}

bool mlt_table_remove(mlt_table *table, uint32_t hash, uintptr_t word)
{
    for (mlt_table_look look = mlt_table_look_for(table, hash); mlt_table_next(&look);)
        if (look.word == word) {
            close_gap(table, (look.at - 1) & (table->size - 1));
            table->count--;
            return true;
        }
    return false;
}

void mlt_table_free(mlt_table *table)
{
    free(table->slots);
    *table = (mlt_table){0};
}

// ---- names

// The row of this name, or the free one where it would be. There are rows.
static struct mlt_name_table_row *row_of(const mlt_name_table *names, const char *name)
{
    size_t at = mlt_hash_bytes(name, strlen(name)) & (names->size - 1);
    while (names->rows[at].name && strcmp(names->rows[at].name, name) != 0)
        at = (at + 1) & (names->size - 1);
    return &names->rows[at];
}

static void grow_names(mlt_name_table *names)
{
    mlt_name_table old = *names;
    names->size = old.size ? 4 * old.size : FIRST;
    names->rows = mlt_xcalloc(names->size, sizeof *names->rows);
    for (size_t i = 0; i < old.size; i++)
        if (old.rows[i].name)
            *row_of(names, old.rows[i].name) = old.rows[i];
    free(old.rows);
}

void *mlt_name_table_find(const mlt_name_table *names, const char *name)
{
    return names->size ? row_of(names, name)->owner : NULL;
}

void *mlt_name_table_add(mlt_name_table *names, const char *name, void *owner)
{
    if (2 * names->count >= names->size)
        grow_names(names);
    struct mlt_name_table_row *row = row_of(names, name);
    if (row->name)
        return row->owner;
    *row = (struct mlt_name_table_row){name, owner};
    names->count++;
    return NULL;
}

void mlt_name_table_free(mlt_name_table *names)
{
    free(names->rows);
    *names = (mlt_name_table){0};
}
