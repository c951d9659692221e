// SPDX-License-Identifier: BSD-3-Clause
// Random posts, arrivals, cancels and probes against a naive model that keeps two plain arrays in
// order.
#include "p2p/match.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/unit_test.h"

enum { MOST = 4096 };

typedef struct model {
    mlt_req *posted[MOST];
    mlt_msg *held[MOST];
    int n_posted, n_held;
} model;

static bool fits(const mlt_req *req, uint32_t context, int32_t src, int32_t tag)
{
    return req->context == context && (req->peer == src || req->peer == MLT_ANY_SOURCE) &&
           (req->tag == tag || req->tag == MLT_ANY_TAG);
}

static void cut(void **list, int *n, int at)
{
    memmove(list + at, list + at + 1, (size_t)(*n - at - 1) * sizeof *list);
    (*n)--;
}

static void run(uint32_t sources, uint32_t tags, uint32_t wild, int steps)
{
    random_state = now_seed;
    static model m;
    m.n_posted = m.n_held = 0;
    mlt_rank rank = {0};
    mlt_match_init(&rank.posted);
    mlt_match_init(&rank.unexpected);
    uint64_t order = 0;
    for (int step = 0; step < steps; step++) {
        uint32_t context = below(2);
        int32_t src = (int32_t)below(sources), tag = (int32_t)below(tags);
        uint32_t what = below(100);
        if (what < 48 && m.n_posted < MOST) { // a receive
            mlt_req want = {.context = context, .peer = src, .tag = tag};
            if (below(100) < wild)
                want.peer = MLT_ANY_SOURCE;
            if (below(100) < wild)
                want.tag = MLT_ANY_TAG;
            int at = 0;
            while (at < m.n_held &&
                   !fits(&want, m.held[at]->context, m.held[at]->src, m.held[at]->tag))
                at++;
            mlt_msg *found = mlt_match_find_held(&rank, context, want.peer, want.tag);
            CHECK(found == (at < m.n_held ? m.held[at] : NULL));
            if (found) {
                mlt_match_unhold(&rank, found);
                cut((void **)m.held, &m.n_held, at);
                free(found);
            } else {
                mlt_req *req = malloc(sizeof *req);
                *req = want;
                mlt_match_post(&rank, req, ++order);
                m.posted[m.n_posted++] = req;
            }
        } else if (what < 96 && m.n_held < MOST) { // a message
            int at = 0;
            while (at < m.n_posted && !fits(m.posted[at], context, src, tag))
                at++;
            mlt_req *found = mlt_match_take_posted(&rank, context, src, tag);
            CHECK(found == (at < m.n_posted ? m.posted[at] : NULL));
            if (found) {
                cut((void **)m.posted, &m.n_posted, at);
                free(found);
            } else {
                mlt_msg *msg = calloc(1, sizeof *msg);
                msg->context = context;
                msg->src = src;
                msg->tag = tag;
                mlt_match_hold(&rank, msg);
                m.held[m.n_held++] = msg;
            }
        } else if (what < 98 && m.n_posted) { // a cancel
            int at = (int)below((uint32_t)m.n_posted);
            mlt_match_unpost(&rank, m.posted[at]);
            free(m.posted[at]);
            cut((void **)m.posted, &m.n_posted, at);
        } else if (m.n_held) { // a matched probe out of the middle
            int at = (int)below((uint32_t)m.n_held);
            mlt_match_unhold(&rank, m.held[at]);
            free(m.held[at]);
            cut((void **)m.held, &m.n_held, at);
        }
        CHECK(rank.posted.size == (uint32_t)m.n_posted &&
              rank.unexpected.size == (uint32_t)m.n_held);
    }
    for (int i = 0; i < m.n_posted; i++)
        free(m.posted[i]);
    for (int i = 0; i < m.n_held; i++)
        free(m.held[i]);
    mlt_match_fini(&rank.posted);
    mlt_match_fini(&rank.unexpected);
}

int main(void)
{
    for (now_seed = 1; now_seed <= 20; now_seed++) {
        run(4, 4, 20, 4000);
        run(200, 50, 0, 8000);
        run(200, 50, 5, 8000);
        run(1, 1, 50, 4000);
    }
    return 0;
}
