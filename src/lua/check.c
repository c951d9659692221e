// SPDX-License-Identifier: BSD-3-Clause
// What mpirun asks before it starts anything, with Lua or without.
#include <stdio.h>
#include <stdlib.h>

#include "coll/choice.h"
#include "lua/book.h"

mlt_status mlt_lua_book_check(const char *file, const char *force, int *force_is_wrong, char *why,
                              size_t why_size)
{
    mlt_coll_book *book = NULL;
    mlt_status status = MLT_OK;
    *force_is_wrong = 0;
    if (file && *file)
        status = mlt_lua_book_open(mlt_coll_algs, file, &book, why, why_size);
    if (status == MLT_OK && book)
        status = mlt_lua_book_prove(book, why, why_size);
    if (status == MLT_OK && force && *force) {
        mlt_coll_rule *rules;
        status = mlt_coll_force_parse(force, book, &rules, why, why_size);
        *force_is_wrong = status != MLT_OK;
        if (status == MLT_OK)
            free(rules);
    }
    if (book)
        book->free(book);
    return status;
}
