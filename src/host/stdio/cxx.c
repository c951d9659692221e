// SPDX-License-Identifier: BSD-3-Clause
#include "host/stdio/cxx.h"

#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

#include "host/globals.h"

// As libstdc++ lays out (its ABI is fixed): an object of a class with a virtual base has the base's
// offset three words before what its first word points to; __gnu_cxx::stdio_sync_filebuf is a
// basic_streambuf of 64 bytes (a table, six pointers, a locale), and then the FILE.
enum { BASE_OFFSET = -3, FILE_AT = 64, TABLE_HEAD = 2 };

typedef void *rdbuf_function(const void *ios);

typedef struct kind {
    const char *rdbuf, *table;
    const char *objects[5];
} kind;

static const kind kinds[] = {
    {"_ZNKSt9basic_iosIcSt11char_traitsIcEE5rdbufEv",
     "_ZTVN9__gnu_cxx18stdio_sync_filebufIcSt11char_traitsIcEEE",
     {"_ZSt4cout", "_ZSt4cerr", "_ZSt4clog", "_ZSt3cin"}},
    {"_ZNKSt9basic_iosIwSt11char_traitsIwEE5rdbufEv",
     "_ZTVN9__gnu_cxx18stdio_sync_filebufIwSt11char_traitsIwEEE",
     {"_ZSt5wcout", "_ZSt5wcerr", "_ZSt5wclog", "_ZSt4wcin"}},
};

static void *cxx_find(const mlt_rank *me, const char *name)
{
    void *found = dlsym(RTLD_DEFAULT, name);
    return me && found ? mlt_globals_shift(me, found) : found;
}

static void rebind(char *object, rdbuf_function *rdbuf, const void *table, FILE *from, FILE *to)
{
    const ptrdiff_t *own_table;
    const void *const *buffer_table;
    memcpy(&own_table, object, sizeof own_table);
    if (!own_table)
        return; // it was never initialised
    char *buffer = rdbuf(object + own_table[BASE_OFFSET]);
    if (!buffer)
        return;
    memcpy(&buffer_table, buffer, sizeof buffer_table);
    if (buffer_table == (const void *const *)table + TABLE_HEAD &&
        memcmp(buffer + FILE_AT, &from, sizeof from) == 0)
        memcpy(buffer + FILE_AT, &to, sizeof to);
}

void mlt_cxx_rebind(const mlt_rank *me, FILE *from, FILE *to)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        rdbuf_function *rdbuf = (rdbuf_function *)cxx_find(me, kinds[i].rdbuf);
        const void *table = cxx_find(me, kinds[i].table);
        for (const char *const *name = kinds[i].objects; *name && rdbuf && table; name++) {
            char *object = cxx_find(me, *name);
            if (object)
                rebind(object, rdbuf, table, from, to);
        }
    }
}
