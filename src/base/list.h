// SPDX-License-Identifier: BSD-3-Clause
// An intrusive, circular, doubly linked list. A link that is in no list points to itself or is
// zeroed; mlt_list_init makes a list head. No memory is owned.
#pragma once

#include <stdbool.h>
#include <stddef.h>

typedef struct mlt_list_node {
    struct mlt_list_node *next, *prev;
} mlt_list_node;

#define mlt_container_of(pointer, type, member) ((type *)((char *)(pointer)-offsetof(type, member)))

static inline void mlt_list_init(mlt_list_node *list)
{
    list->next = list->prev = list;
}

static inline bool mlt_list_empty(const mlt_list_node *list)
{
    return list->next == list;
}

static inline void mlt_list_push_back(mlt_list_node *list, mlt_list_node *item)
{
    item->next = list;
    item->prev = list->prev;
    list->prev->next = item;
    list->prev = item;
}

// The same for an item on the caller's stack that leaves the list before the caller returns. The
// empty statement hides where the item lies from compilers, which would take it for one that stays.
static inline void mlt_list_push_waiter(mlt_list_node *list, mlt_list_node *item)
{
    __asm__("" : "+r"(item));
    mlt_list_push_back(list, item);
}

static inline void mlt_list_push_front(mlt_list_node *list, mlt_list_node *item)
{
    mlt_list_push_back(list->next, item);
}

static inline void mlt_list_remove(mlt_list_node *item)
{
    item->prev->next = item->next;
    item->next->prev = item->prev;
    item->next = item->prev = item;
}

// The first item, removed; NULL if the list is empty.
static inline mlt_list_node *mlt_list_pop_front(mlt_list_node *list)
{
    mlt_list_node *item = list->next;
    if (item == list)
        return NULL;
    mlt_list_remove(item);
    return item;
}

// The item that a node of the list belongs to; NULL if the node is the head.
#define MLT_LIST_AT(node, list, type, member)                                                      \
    ((node) == (list) ? NULL : mlt_container_of(node, type, member))

#define MLT_LIST_FIRST(list, type, member) MLT_LIST_AT((list)->next, list, type, member)

// For each item of the list, first to last. An item stays in the list during its turn.
#define MLT_LIST_EACH(type, item, list, member)                                                    \
    for (type *item = MLT_LIST_FIRST(list, type, member); item;                                    \
         item = MLT_LIST_AT((item)->member.next, list, type, member))

// The same where an item may leave the list in its turn, and be freed. The one after it stays.
#define MLT_LIST_EACH_SAFE(type, item, list, member)                                               \
    for (type *item = MLT_LIST_FIRST(list, type, member), *item##_next;                            \
         item && (item##_next = MLT_LIST_AT((item)->member.next, list, type, member), true);       \
         item = item##_next)

// Takes the first item out of the list; NULL if it is empty.
#define MLT_LIST_POP(list, type, member)                                                           \
    ({                                                                                             \
        type *mlt_popped = MLT_LIST_FIRST(list, type, member);                                     \
        if (mlt_popped)                                                                            \
            mlt_list_remove(&mlt_popped->member);                                                  \
        mlt_popped;                                                                                \
    })

// For each item of the list, which is taken out of it before.
#define MLT_LIST_DRAIN(type, item, list, member)                                                   \
    for (type * item; (item = MLT_LIST_POP(list, type, member));)
