// SPDX-License-Identifier: BSD-3-Clause
#include "tools/names/directory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

typedef struct waiter {
    mlt_list_node link;  // of its owner
    mlt_list_node every; // of the directory
    mlt_directory_owner *owner;
    uint32_t id;
    char name[];
} waiter;

void mlt_directory_init(mlt_directory *directory)
{
    memset(directory, 0, sizeof *directory);
    mlt_list_init(&directory->waits);
}

void mlt_directory_enter(mlt_directory_owner *owner, int32_t pid, const char *program)
{
    memset(owner, 0, sizeof *owner);
    mlt_list_init(&owner->waits);
    owner->pid = pid;
    snprintf(owner->program, sizeof owner->program, "%.*s", (int)sizeof owner->program - 1,
             program);
}

// ---- places

// The first place whose name is not before that one.
static size_t directory_place_of(const mlt_directory *directory, const char *name)
{
    return MLT_ARRAY_SEARCH(i, directory->count, strcmp(directory->names[i]->name, name) < 0);
}

const mlt_directory_name *mlt_directory_find(const mlt_directory *directory, const char *name)
{
    size_t at = directory_place_of(directory, name);
    return at < directory->count && strcmp(directory->names[at]->name, name) == 0
               ? directory->names[at]
               : NULL;
}

size_t mlt_directory_after(const mlt_directory *directory, const char *name)
{
    size_t at = directory_place_of(directory, name);
    return at + (at < directory->count && strcmp(directory->names[at]->name, name) == 0);
}

static void take_out(mlt_directory *directory, size_t at)
{
    mlt_directory_name *name = directory->names[at];
    directory->count--;
    memmove(directory->names + at, directory->names + at + 1,
            (directory->count - at) * sizeof *directory->names);
    name->owner->name_count--;
    free(name);
}

// ---- names

void mlt_directory_copy(const mlt_directory_name *from, mlt_name *to)
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

static mlt_directory_name *name_new(mlt_directory_owner *owner, const mlt_name *from)
{
    size_t name_bytes = strlen(from->name) + 1, text_bytes = strlen(from->text) + 1;
    mlt_directory_name *name = mlt_xcalloc(1, sizeof *name + name_bytes + text_bytes);
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

static void wait_free(mlt_directory *directory, waiter *w)
{
    mlt_list_remove(&w->link);
    mlt_list_remove(&w->every);
    w->owner->wait_count--;
    directory->waiting--;
    free(w);
}

static void directory_answer_waits(mlt_directory *directory, const mlt_directory_name *name)
{
    MLT_LIST_EACH_SAFE(waiter, w, &directory->waits, every) {
        if (strcmp(w->name, name->name) != 0)
            continue;
        mlt_directory_owner *owner = w->owner;
        uint32_t id = w->id;
        wait_free(directory, w);
        directory->found(owner, id, name);
    }
}

csp_status mlt_directory_put(mlt_directory *directory, mlt_directory_owner *owner,
                             const mlt_name *name, char *why, size_t why_size)
{
    size_t at = directory_place_of(directory, name->name);
    if (at < directory->count && strcmp(directory->names[at]->name, name->name) == 0) {
        const mlt_directory_owner *other = directory->names[at]->owner;
        if (other == owner)
            snprintf(why, why_size, "the name '%s' is taken by this program itself", name->name);
        else
            snprintf(why, why_size, "the name '%s' is taken by %s (process %d)", name->name,
                     other->program, (int)other->pid);
        return CSP_TAKEN;
    }
    if (owner->name_count >= MLT_DIRECTORY_NAMES || directory->count >= MLT_DIRECTORY_ALL) {
        snprintf(why, why_size, "the name server takes no more than %d names %s",
                 owner->name_count >= MLT_DIRECTORY_NAMES ? (int)MLT_DIRECTORY_NAMES
                                                          : (int)MLT_DIRECTORY_ALL,
                 owner->name_count >= MLT_DIRECTORY_NAMES ? "of one program" : "in all");
        return CSP_REFUSED;
    }
    *MLT_ARRAY_INSERT(directory->names, directory->count, directory->room, at) =
        name_new(owner, name);
    owner->name_count++;
    directory_answer_waits(directory, directory->names[at]);
    return CSP_OK;
}

csp_status mlt_directory_drop(mlt_directory *directory, mlt_directory_owner *owner,
                              const char *name, char *why, size_t why_size)
{
    size_t at = directory_place_of(directory, name);
    if (at == directory->count || strcmp(directory->names[at]->name, name) != 0) {
        snprintf(why, why_size, "nothing has the name '%s'", name);
        return CSP_NO_NAME;
    }
    const mlt_directory_owner *other = directory->names[at]->owner;
    if (other != owner) {
        snprintf(why, why_size, "the name '%s' belongs to %s (process %d)", name, other->program,
                 (int)other->pid);
        return CSP_NO_NAME;
    }
    take_out(directory, at);
    return CSP_OK;
}

// ---- waiting

csp_status mlt_directory_wait(mlt_directory *directory, mlt_directory_owner *owner,
                              const char *name, uint32_t id, char *why, size_t why_size)
{
    if (owner->wait_count >= MLT_DIRECTORY_WAITS) {
        snprintf(why, why_size, "the name server lets a program wait for no more than %d names",
                 (int)MLT_DIRECTORY_WAITS);
        return CSP_REFUSED;
    }
    size_t bytes = strlen(name) + 1;
    waiter *w = mlt_xcalloc(1, sizeof *w + bytes);
    w->owner = owner;
    w->id = id;
    memcpy(w->name, name, bytes);
    mlt_list_push_back(&owner->waits, &w->link);
    mlt_list_push_back(&directory->waits, &w->every);
    owner->wait_count++;
    directory->waiting++;
    return CSP_OK;
}

void mlt_directory_cancel(mlt_directory *directory, mlt_directory_owner *owner, uint32_t id)
{
    MLT_LIST_EACH(waiter, w, &owner->waits, link) {
        if (w->id == id) {
            wait_free(directory, w);
            return;
        }
    }
}

void mlt_directory_leave(mlt_directory *directory, mlt_directory_owner *owner)
{
    while (!mlt_list_empty(&owner->waits))
        wait_free(directory, mlt_container_of(owner->waits.next, waiter, link));
    if (owner->name_count == 0)
        return;
    // One pass, however many they are: those of others move together.
    size_t to = 0;
    for (size_t i = 0; i < directory->count; i++)
        if (directory->names[i]->owner == owner)
            free(directory->names[i]);
        else
            directory->names[to++] = directory->names[i];
    directory->count = to;
    owner->name_count = 0;
}
