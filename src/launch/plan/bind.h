// SPDX-License-Identifier: BSD-3-Clause
// Pinning: which processors each worker may run on. mpirun pins processes; a process with several
// worker threads gets the union of their places, finds each one's place in the segment, and pins
// its threads itself.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { MLT_CPUS = 8192 }; // that Linux can have

// A set of processors, as sched_setaffinity takes it.
typedef struct mlt_cpus {
    uint64_t words[MLT_CPUS / 64];
} mlt_cpus;

typedef struct mlt_bind {
    mlt_cpus *places; // [count]; worker w has places[w % count]
    size_t count;     // 0: nothing is pinned
    int *claims;      // descriptors that say to other jobs which cores are taken
    size_t claim_count;
    uint32_t lacks; // N of PE=N, if no group has so many cores; else 0
} mlt_bind;

// What may follow a word of --bind-to or --map-by, behind a colon.
typedef struct mlt_bind_modifiers {
    uint32_t each; // PE=N: cores of each worker; 0: not said
    bool no_oversubscribe, no_local;
} mlt_bind_modifiers;

// True if what stands before modifiers is a word of --bind-to or --map-by.
bool mlt_bind_word_known(const char *word);

// Reads a word of --bind-to or --map-by and its modifiers (core, socket:PE=2, :OVERSUBSCRIBE, ...).
// False if one is not known, with a message in why.
bool mlt_bind_word_read(const char *word, mlt_bind_modifiers *out, char *why, size_t why_size);

// Decides. bind_to and map_by may be NULL. Without bind_to workers are pinned to cores, one each,
// within those that mpirun may use, if it is due and no other job of this machine has pinned its
// workers to them. Jobs tell each other by claims, which end with mpirun; one that was told where to
// pin claims what nobody has, and asks nobody. mlt_bind_fini ends it.
void mlt_bind_plan(mlt_bind *bind, const char *bind_to, const char *map_by, uint32_t workers);
void mlt_bind_fini(mlt_bind *bind);

// --cpu-set: lets this process and those that it starts use these processors only. False if the text
// is no list such as 0-3,8, or names one that this process may not use; a message in why.
bool mlt_bind_restrict(const char *list, char *why, size_t why_size);

// The same without restricting anybody: whether it is a list.
bool mlt_bind_list_known(const char *list, char *why, size_t why_size);

// Whether so many workers are to be pinned without being asked for: there are several, each has a
// core, and either they fill more than half of the cores or nothing else runs on the machine. Others
// that run may be pinned to the same cores without a claim (another container's, or another MPI's),
// and then a small job would share them while other cores are idle.
bool mlt_bind_by_default(uint32_t workers, size_t cores, uint32_t running);

// What runs now by the text of /proc/loadavg; UINT32_MAX: it does not say.
uint32_t mlt_bind_parse_loadavg(const char *loadavg);

// The union of the places of `workers` workers. False if nothing is pinned.
bool mlt_bind_workers_cpus(const mlt_bind *bind, uint32_t first_worker, uint32_t workers,
                           mlt_cpus *set);

// The place of one worker as a bitmap of `bits` processors. False if nothing is pinned, or the
// place reaches beyond.
bool mlt_bind_worker_bitmap(const mlt_bind *bind, uint32_t worker, uint64_t *map, size_t bits);

// "0-3,8" for a set; into text.
void mlt_cpus_text(const mlt_cpus *set, char *text, size_t size);
