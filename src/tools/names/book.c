// SPDX-License-Identifier: BSD-3-Clause
#include "tools/names/book.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

typedef struct wait {
    mlt_list_node link;  // of its owner
    mlt_list_node every; // of the book
    mlt_book_owner *owner;
    uint32_t id;
    char name[];
} wait;

void mlt_book_init(mlt_book *book)
{
    memset(book, 0, sizeof *book);
    mlt_list_init(&book->waits);
}

void mlt_book_fini(mlt_book *book)
{
    free(book->names);
}

void mlt_book_enter(mlt_book_owner *owner, int32_t pid, const char *program)
{
    memset(owner, 0, sizeof *owner);
    mlt_list_init(&owner->waits);
    owner->pid = pid;
    snprintf(owner->program, sizeof owner->program, "%.*s", (int)sizeof owner->program - 1,
             program);
}

// ---- places

// The first place whose name is not before that one.
static size_t place_of(const mlt_book *book, const char *name)
{
    size_t low = 0, high = book->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (strcmp(book->names[middle]->name, name) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

const mlt_book_name *mlt_book_find(const mlt_book *book, const char *name)
{
    size_t at = place_of(book, name);
    return at < book->count && strcmp(book->names[at]->name, name) == 0 ? book->names[at] : NULL;
}

size_t mlt_book_after(const mlt_book *book, const char *name)
{
    size_t at = place_of(book, name);
    return at + (at < book->count && strcmp(book->names[at]->name, name) == 0);
}

static void take_out(mlt_book *book, size_t at)
{
    mlt_book_name *name = book->names[at];
    book->count--;
    memmove(book->names + at, book->names + at + 1, (book->count - at) * sizeof *book->names);
    name->owner->name_count--;
    free(name);
}

// ---- names

void mlt_book_copy(const mlt_book_name *from, mlt_name *to)
{
    memset(to, 0, sizeof *to);
    snprintf(to->name, sizeof to->name, "%s", from->name);
    snprintf(to->text, sizeof to->text, "%s", from->text);
    to->kind = from->kind;
    to->size = from->size;
    to->object = from->object;
    to->node = from->node;
    to->at = from->at;
}

static mlt_book_name *name_new(mlt_book_owner *owner, const mlt_name *from)
{
    size_t name_bytes = strlen(from->name) + 1, text_bytes = strlen(from->text) + 1;
    mlt_book_name *name = mlt_take(1, sizeof *name + name_bytes + text_bytes);
    name->owner = owner;
    name->kind = from->kind;
    name->size = from->size;
    name->object = from->object;
    name->node = from->node;
    name->at = from->at;
    memcpy(name->name, from->name, name_bytes);
    memcpy(name->name + name_bytes, from->text, text_bytes);
    name->text = name->name + name_bytes;
    return name;
}

static void wait_free(mlt_book *book, wait *w)
{
    mlt_list_remove(&w->link);
    mlt_list_remove(&w->every);
    w->owner->wait_count--;
    book->waiting--;
    free(w);
}

static void answer_waits(mlt_book *book, const mlt_book_name *name)
{
    for (mlt_list_node *at = book->waits.next, *next; at != &book->waits; at = next) {
        wait *w = mlt_container_of(at, wait, every);
        next = at->next;
        if (strcmp(w->name, name->name) != 0)
            continue;
        mlt_book_owner *owner = w->owner;
        uint32_t id = w->id;
        wait_free(book, w);
        book->found(owner, id, name);
    }
}

csp_status mlt_book_put(mlt_book *book, mlt_book_owner *owner, const mlt_name *name, char *why,
                        size_t why_size)
{
    size_t at = place_of(book, name->name);
    if (at < book->count && strcmp(book->names[at]->name, name->name) == 0) {
        const mlt_book_owner *other = book->names[at]->owner;
        if (other == owner)
            snprintf(why, why_size, "the name '%s' is taken by this program itself", name->name);
        else
            snprintf(why, why_size, "the name '%s' is taken by %s (process %d)", name->name,
                     other->program, (int)other->pid);
        return CSP_TAKEN;
    }
    if (owner->name_count >= MLT_BOOK_NAMES || book->count >= MLT_BOOK_ALL) {
        snprintf(why, why_size, "the name server takes no more than %d names %s",
                 owner->name_count >= MLT_BOOK_NAMES ? (int)MLT_BOOK_NAMES : (int)MLT_BOOK_ALL,
                 owner->name_count >= MLT_BOOK_NAMES ? "of one program" : "in all");
        return CSP_REFUSED;
    }
    if (book->count == book->room) {
        book->room = book->room ? 2 * book->room : 64;
        book->names = mlt_take_more(book->names, book->room, sizeof *book->names);
    }
    memmove(book->names + at + 1, book->names + at, (book->count - at) * sizeof *book->names);
    book->names[at] = name_new(owner, name);
    book->count++;
    owner->name_count++;
    answer_waits(book, book->names[at]);
    return CSP_OK;
}

csp_status mlt_book_drop(mlt_book *book, mlt_book_owner *owner, const char *name, char *why,
                         size_t why_size)
{
    size_t at = place_of(book, name);
    if (at == book->count || strcmp(book->names[at]->name, name) != 0) {
        snprintf(why, why_size, "nothing has the name '%s'", name);
        return CSP_NO_NAME;
    }
    const mlt_book_owner *other = book->names[at]->owner;
    if (other != owner) {
        snprintf(why, why_size, "the name '%s' belongs to %s (process %d)", name, other->program,
                 (int)other->pid);
        return CSP_NO_NAME;
    }
    take_out(book, at);
    return CSP_OK;
}

// ---- waiting

csp_status mlt_book_wait(mlt_book *book, mlt_book_owner *owner, const char *name, uint32_t id,
                         char *why, size_t why_size)
{
    if (owner->wait_count >= MLT_BOOK_WAITS) {
        snprintf(why, why_size, "the name server lets a program wait for no more than %d names",
                 (int)MLT_BOOK_WAITS);
        return CSP_REFUSED;
    }
    size_t bytes = strlen(name) + 1;
    wait *w = mlt_take(1, sizeof *w + bytes);
    w->owner = owner;
    w->id = id;
    memcpy(w->name, name, bytes);
    mlt_list_push_back(&owner->waits, &w->link);
    mlt_list_push_back(&book->waits, &w->every);
    owner->wait_count++;
    book->waiting++;
    return CSP_OK;
}

void mlt_book_cancel(mlt_book *book, mlt_book_owner *owner, uint32_t id)
{
    for (mlt_list_node *at = owner->waits.next; at != &owner->waits; at = at->next) {
        wait *w = mlt_container_of(at, wait, link);
        if (w->id == id) {
            wait_free(book, w);
            return;
        }
    }
}

void mlt_book_leave(mlt_book *book, mlt_book_owner *owner)
{
    while (!mlt_list_empty(&owner->waits))
        wait_free(book, mlt_container_of(owner->waits.next, wait, link));
    if (owner->name_count == 0)
        return;
    // One pass, however many they are: those of others move together.
    size_t to = 0;
    for (size_t i = 0; i < book->count; i++)
        if (book->names[i]->owner == owner)
            free(book->names[i]);
        else
            book->names[to++] = book->names[i];
    book->count = to;
    owner->name_count = 0;
}
