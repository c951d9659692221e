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

// Goes through the items of a list, whose nodes are that member. `safe`: the body may remove the item.
#define MLT_LIST_EACH(type, item, list, member)                                                    \
    for (type *item = mlt_container_of((list)->next, type, member); &item->member != (list);       \
         item = mlt_container_of(item->member.next, type, member))
#define MLT_LIST_EACH_SAFE(type, item, list, member)                                               \
    for (type *item = mlt_container_of((list)->next, type, member),                                \
              *mlt_after = mlt_container_of(item->member.next, type, member);                      \
         &item->member != (list);                                                                  \
         item = mlt_after, mlt_after = mlt_container_of(item->member.next, type, member))

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
