// SPDX-License-Identifier: BSD-3-Clause
// A hash table of the caller's things: it keeps a word for each, a pointer or an index, and knows
// nothing of keys. The caller computes hashes and compares. All zero is an empty table.
//
//     for (mlt_table_look look = mlt_table_look_for(&table, hash); mlt_table_next(&look);)
//         if (strcmp(((thing *)look.word)->name, name) == 0)
//             return (thing *)look.word;
//     mlt_table_add(&table, hash, (uintptr_t)thing);
//
// Open addressing; half of the slots are free, so a look ends soon. Constant time each.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct mlt_table_slot {
    uintptr_t word;
    uint32_t hash;
    uint32_t used; // 0: free
} mlt_table_slot;

typedef struct mlt_table {
    mlt_table_slot *slots;
    size_t size, count; // size: a power of 2, or 0
} mlt_table;

// Equal things may be added several times; each is found.
void mlt_table_add(mlt_table *table, uint32_t hash, uintptr_t word);
// Takes out one thing that was added with this hash and word. False: there is none.
bool mlt_table_remove(mlt_table *table, uint32_t hash, uintptr_t word);
void mlt_table_free(mlt_table *table); // and it is empty

typedef struct mlt_table_look {
    const mlt_table *table;
    size_t at;
    uint32_t hash;
    uintptr_t word; // what was found
} mlt_table_look;

static inline mlt_table_look mlt_table_look_for(const mlt_table *table, uint32_t hash)
{
    return (mlt_table_look){table, hash, hash, 0};
}

// The next thing with this hash; false: there are no more. The table must not change meanwhile.
static inline bool mlt_table_next(mlt_table_look *look)
{
    const mlt_table *table = look->table;
    while (table->size) {
        const mlt_table_slot *slot = &table->slots[look->at++ & (table->size - 1)];
        if (!slot->used)
            return false;
        if (slot->hash == look->hash) {
            look->word = slot->word;
            return true;
        }
    }
    return false;
}

// Hashes of words and bytes.
uint32_t mlt_hash_word(uint64_t word);
uint32_t mlt_hash_bytes(const void *bytes, size_t count);

// A hash of 64 bits (FNV-1a) of bytes that come in parts: against mistakes and damage, not against malice.
#define MLT_HASH_FIRST UINT64_C(0xcbf29ce484222325)
uint64_t mlt_hash_on(uint64_t hash, const void *bytes, size_t count);

// A hash of many words, one after the other, of which any half serves. One to one in each: no
// change of a single word is lost.
static inline uint64_t mlt_hash_mix(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
    return hash ^ hash >> 29;
}

// ---- by name

// Tables of things by their names, which are borrowed.
typedef struct mlt_name_table {
    struct mlt_name_table_row {
        const char *name; // NULL: nothing here
        void *owner;
    } * rows;
    size_t size, count; // size: a power of 2, or 0
} mlt_name_table;

// The owner of the name; NULL: it has none.
void *mlt_name_table_find(const mlt_name_table *names, const char *name);
// Gives the name to this owner, which is not NULL, and returns NULL. If the name has an owner
// already, that one keeps it and is returned.
void *mlt_name_table_add(mlt_name_table *names, const char *name, void *owner);
void mlt_name_table_free(mlt_name_table *names); // and it is empty
