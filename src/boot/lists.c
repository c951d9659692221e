// SPDX-License-Identifier: BSD-3-Clause
#include "boot/lists.h"

#include <stdlib.h>
#include <string.h>

size_t mlt_lists_length(char *const *list)
{
    size_t n = 0;
    while (list[n])
        n++;
    return n;
}

static char *lists_put_number(char *at, size_t number)
{
    uint32_t n = (uint32_t)number;
    memcpy(at, &n, sizeof n);
    return at + sizeof n;
}

char *mlt_lists_pack(const mlt_lists *lists, size_t *size)
{
    *size = sizeof(uint32_t);
    for (uint32_t i = 0; i < lists->count; i++) {
        *size += sizeof(uint32_t);
        for (char **text = lists->items[i]; *text; text++)
            *size += strlen(*text) + 1;
    }
    char *bytes = malloc(*size), *at = bytes;
    if (!bytes)
        return NULL;
    at = lists_put_number(at, lists->count);
    for (uint32_t i = 0; i < lists->count; i++) {
        at = lists_put_number(at, mlt_lists_length(lists->items[i]));
        for (char **text = lists->items[i]; *text; text++) {
            size_t n = strlen(*text) + 1;
            memcpy(at, *text, n);
            at += n;
        }
    }
    return bytes;
}

typedef struct cursor {
    char *at, *end;
} cursor;

static bool lists_take_number(cursor *c, uint32_t *out)
{
    if ((size_t)(c->end - c->at) < sizeof *out)
        return false;
    memcpy(out, c->at, sizeof *out);
    c->at += sizeof *out;
    return true;
}

// A text has a byte at least, so a count that lies is found before memory is asked for.
static char **take_list(cursor *c)
{
    uint32_t count;
    if (!lists_take_number(c, &count) || count > (size_t)(c->end - c->at))
        return NULL;
    char **list = calloc((size_t)count + 1, sizeof *list);
    for (uint32_t i = 0; list && i < count; i++) {
        char *end = memchr(c->at, '\0', (size_t)(c->end - c->at));
        if (!end) {
            free(list);
            return NULL;
        }
        list[i] = c->at;
        c->at = end + 1;
    }
    return list;
}

bool mlt_lists_unpack(mlt_lists *lists, const void *bytes, size_t size)
{
    *lists = (mlt_lists){.memory = malloc(size + 1)};
    if (!lists->memory)
        return false;
    if (size)
        memcpy(lists->memory, bytes, size);
    cursor c = {lists->memory, lists->memory + size};
    uint32_t count;
    if (!lists_take_number(&c, &count) || count > size / sizeof count ||
        !(lists->items = calloc((size_t)count + 1, sizeof *lists->items))) {
        mlt_lists_free(lists);
        return false;
    }
    for (; lists->count < count; lists->count++)
        if (!(lists->items[lists->count] = take_list(&c)))
            break;
    if (lists->count == count && c.at == c.end)
        return true;
    mlt_lists_free(lists);
    return false;
}

void mlt_lists_free(mlt_lists *lists)
{
    for (uint32_t i = 0; i < lists->count; i++)
        free(lists->items[i]);
    free(lists->items);
    free(lists->memory);
    *lists = (mlt_lists){NULL, 0, NULL};
}
