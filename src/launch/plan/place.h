// SPDX-License-Identifier: BSD-3-Clause
// How many workers each host gets, and in which order they are numbered.
//
//     --map-by slot    hosts are filled in their order, each up to its slots (the default)
//     --map-by node    hosts get one worker after the other, in turn, until their slots are full
//
// If there are more workers than slots, all hosts are filled again, as often as it takes. Slots
// that earlier sections have used are used: a section goes on where the one before has stopped.
//
//     --rank-by slot   the workers of a host have numbers that follow each other (with map-by slot)
//     --rank-by node   hosts take turns (with map-by node)
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// What --map-by and --rank-by say about hosts.
typedef struct mlt_mapping {
    bool by_node;      // of --map-by
    bool rank_by_node; // of --rank-by, or else as --map-by
    uint32_t per_host; // of ppr:N:node; 0: not said
    const char *local; // the word, if it has a meaning on one host only; NULL: it has not
    uint32_t each;     // of PE=N: slots that a worker takes; 0: not said
    bool no_oversubscribe, no_local; // of modifiers
} mlt_mapping;

// Reads the words; each may be NULL. False, with a message in why, if one is not understood.
bool mlt_mapping_read(const char *map_by, const char *rank_by, mlt_mapping *out, char *why,
                      size_t why_size);

// Hosts that a section may use, and how many workers they get.
typedef struct mlt_place {
    uint32_t hosts;
    const uint32_t *slots; // [hosts], at least 1 each
    const uint32_t *used;  // [hosts], by earlier sections
    uint32_t *counts;      // [hosts], the result
} mlt_place;

// Fills in the counts, whose sum is n.
void mlt_place_count(const mlt_place *place, bool by_node, uint32_t n);

// Hosts take turns until each has had its count: the host of each of the n workers.
void mlt_place_deal(const mlt_place *place, uint32_t *host_of);
