// SPDX-License-Identifier: BSD-3-Clause
// Where nodes run. A place is a rank of the job; places belong to workers, workers to hosts.
//
// What `@` says is done; in a job of one place, where there is nothing to choose, it is ignored.
// The rest is placed so that workers have about the same weight (an instance has its module's,
// collectives have none) and as few edges as possible lead from one worker to another:
//
//     1. instances are laid in a row in which neighbours in the graph are neighbours
//     2. the row is cut into pieces of equal weight (or, if that is better, into halves, and these
//        again)
//     3. single instances move to where they have more neighbours, as far as the weights allow it
//
// Edges through a Reduce or Broadcast count little, for these send one element to each worker,
// however many instances it has. Whatever leads to another host counts eight times as much. All
// ranks compute the same.
//
// A vector alone, such as the paper's c[16] on 8 nodes, is cut into blocks in order.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "flow/graph/graph.h"

typedef struct mlt_flow_host {
    char name[64];
    uint32_t slots; // workers
} mlt_flow_host;

// The machine. flow_main sets the places to the ranks that each worker really has.
typedef struct mlt_flow_sites {
    uint32_t places, workers;
    uint32_t *worker_of; // [places], ascending
    uint32_t *host_of;   // [workers]: number of its host, ascending
    mlt_flow_host *hosts;
    uint32_t host_count; // 1 at least
    bool mixed;          // the job's hosts take turns
} mlt_flow_sites;

// A job of `workers` workers with `a_worker` places each, on the hosts of a hostfile (lines "name",
// "name slots=2", "name:2", # comments; NULL: one host called "localhost"), which are filled in
// their order. If there are more workers than slots, hosts are filled again; the workers of a host
// still have numbers that follow each other. NULL: `why` says what is wrong.
mlt_flow_sites *mlt_flow_sites_new(uint32_t workers, uint32_t a_worker, const char *hosts,
                                   char *why, size_t why_size);

// The hosts that a job really has: of each worker, and their names. If they take turns (mpirun
// --map-by node), they are taken for one host, `mixed`.
void mlt_flow_sites_set(mlt_flow_sites *sites, const uint32_t *host_of, const mlt_flow_host *hosts,
                        uint32_t count);
void mlt_flow_sites_free(mlt_flow_sites *sites);

typedef struct mlt_flow_placing {
    const mlt_flow_sites *sites; // borrowed
    uint32_t *place_of;          // [node_count]; of a collective: where it runs if it is not spread
    uint64_t *weight;            // [workers]
    uint64_t cut, edges;         // edges between modules: to another worker; all
} mlt_flow_placing;

// NULL: a pin cannot be kept (its host is not there, ...), and `why` is "LINE: what is wrong".
mlt_flow_placing *mlt_flow_place(const mlt_flow_graph *graph, const mlt_flow_sites *sites,
                                 char *why, size_t why_size);
void mlt_flow_placing_free(mlt_flow_placing *placing);

static inline uint32_t mlt_flow_worker_of(const mlt_flow_placing *p, uint32_t node)
{
    return p->sites->worker_of[p->place_of[node]];
}
