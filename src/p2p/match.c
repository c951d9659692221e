// SPDX-License-Identifier: BSD-3-Clause
#include "p2p/match.h"

#include <stdlib.h>

#include "base/memory.h"

enum { FIRST_BUCKETS = 64 };

static bool fits(int32_t wanted_src, int32_t wanted_tag, int32_t src, int32_t tag)
{
    return (wanted_src == src || wanted_src == MLT_ANY_SOURCE) &&
           (wanted_tag == tag || wanted_tag == MLT_ANY_TAG);
}

static bool exact(int32_t src, int32_t tag)
{
    return src != MLT_ANY_SOURCE && tag != MLT_ANY_TAG;
}

void mlt_match_init(mlt_match_queue *queue)
{
    *queue = (mlt_match_queue){0};
    mlt_list_init(&queue->all);
}

void mlt_match_fini(mlt_match_queue *queue)
{
    free(queue->buckets);
    queue->buckets = NULL;
}

static mlt_list_node *new_buckets(uint32_t count)
{
    mlt_list_node *buckets = malloc(count * sizeof *buckets);
    if (!buckets)
        mlt_no_room("%u queues of messages", count);
    for (uint32_t i = 0; i < count; i++)
        mlt_list_init(&buckets[i]);
    return buckets;
}

static bool wants_growth(const mlt_match_queue *queue)
{
    return queue->buckets ? queue->size > MLT_MATCH_CROWD * (queue->mask + 1)
                          : queue->size > MLT_MATCH_SHORT;
}

static uint32_t next_count(const mlt_match_queue *queue)
{
    return queue->buckets ? MLT_MATCH_CROWD * (queue->mask + 1) : FIRST_BUCKETS;
}

// ---- posted receives: `node` is the place in a bucket or in `all`

static void grow_posted(mlt_match_queue *queue)
{
    uint32_t count = next_count(queue);
    mlt_list_node *old = queue->buckets;
    uint32_t old_count = old ? queue->mask + 1 : 0;
    queue->buckets = new_buckets(count);
    queue->mask = count - 1;
    for (uint32_t i = 0; i < old_count; i++)
        MLT_LIST_DRAIN(mlt_req, req, &old[i], node)
            mlt_list_push_back(mlt_match_bucket(queue, req->context, req->peer, req->tag),
                               &req->node);
    free(old);
    if (old_count)
        return;
    MLT_LIST_EACH_SAFE(mlt_req, req, &queue->all, node)
        if (exact(req->peer, req->tag)) {
            mlt_list_remove(&req->node);
            mlt_list_push_back(mlt_match_bucket(queue, req->context, req->peer, req->tag),
                               &req->node);
        }
}

void mlt_match_post(mlt_rank *rank, mlt_req *req, uint64_t order)
{
    mlt_match_queue *queue = &rank->posted;
    req->order = order;
    if (queue->buckets && exact(req->peer, req->tag))
        mlt_list_push_back(mlt_match_bucket(queue, req->context, req->peer, req->tag), &req->node);
    else
        mlt_list_push_back(&queue->all, &req->node);
    queue->size++;
    if (MLT_UNLIKELY(wants_growth(queue)))
        grow_posted(queue);
}

void mlt_match_unpost(mlt_rank *rank, mlt_req *req)
{
    mlt_list_remove(&req->node);
    rank->posted.size--;
}

static mlt_req *first_fit(mlt_list_node *list, uint32_t context, int32_t src, int32_t tag)
{
    for (mlt_list_node *l = list->next; l != list; l = l->next) {
        mlt_req *req = mlt_container_of(l, mlt_req, node);
        if (req->context == context && fits(req->peer, req->tag, src, tag))
            return req;
    }
    return NULL;
}

mlt_req *mlt_match_take_posted(mlt_rank *rank, uint32_t context, int32_t src, int32_t tag)
{
    mlt_match_queue *queue = &rank->posted;
    if (queue->size == 0)
        return NULL;
    mlt_req *found = first_fit(&queue->all, context, src, tag);
    if (queue->buckets) {
        mlt_req *other = first_fit(mlt_match_bucket(queue, context, src, tag), context, src, tag);
        if (!found || (other && other->order < found->order))
            found = other;
    }
    if (found)
        mlt_match_unpost(rank, found);
    return found;
}

// ---- unexpected messages

static void grow_held(mlt_match_queue *queue)
{
    uint32_t count = next_count(queue);
    free(queue->buckets); // the links in it are all made anew
    queue->buckets = new_buckets(count);
    queue->mask = count - 1;
    MLT_LIST_EACH(mlt_msg, msg, &queue->all, all)
        mlt_list_push_back(mlt_match_bucket(queue, msg->context, msg->src, msg->tag), &msg->bucket);
}

void mlt_match_hold(mlt_rank *rank, mlt_msg *msg)
{
    mlt_match_queue *queue = &rank->unexpected;
    mlt_list_push_back(&queue->all, &msg->all);
    if (queue->buckets)
        mlt_list_push_back(mlt_match_bucket(queue, msg->context, msg->src, msg->tag), &msg->bucket);
    queue->size++;
    if (MLT_UNLIKELY(wants_growth(queue)))
        grow_held(queue);
}

void mlt_match_unhold(mlt_rank *rank, mlt_msg *msg)
{
    mlt_list_remove(&msg->all);
    if (rank->unexpected.buckets)
        mlt_list_remove(&msg->bucket);
    rank->unexpected.size--;
}

mlt_msg *mlt_match_find_held(mlt_rank *rank, uint32_t context, int32_t src, int32_t tag)
{
    mlt_match_queue *queue = &rank->unexpected;
    if (queue->size == 0)
        return NULL;
    if (queue->buckets && exact(src, tag)) {
        mlt_list_node *bucket = mlt_match_bucket(queue, context, src, tag);
        for (mlt_list_node *l = bucket->next; l != bucket; l = l->next) {
            mlt_msg *msg = mlt_container_of(l, mlt_msg, bucket);
            if (msg->context == context && msg->src == src && msg->tag == tag)
                return msg;
        }
        return NULL;
    }
    for (mlt_list_node *l = queue->all.next; l != &queue->all; l = l->next) {
        mlt_msg *msg = mlt_container_of(l, mlt_msg, all);
        if (msg->context == context && fits(src, tag, msg->src, msg->tag))
            return msg;
    }
    return NULL;
}
