// SPDX-License-Identifier: BSD-3-Clause
// Arrays, tables and texts, against what they must hold by definition.
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/table.h"
#include "base/text.h"
#include "base/unit_test.h"

static int descending(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x < y) - (x > y);
}

static void arrays(void)
{
    uint32_t *items = NULL, count = 0, room = 0;
    MLT_ARRAY_SORT(items, count, descending); // UBSan looks
    for (uint32_t i = 0; i < 1000; i++) {
        MLT_ARRAY_WANT(items, count + 1, room);
        items[count++] = i;
    }
    CHECK(room >= 1000 && room <= 2048);
    for (uint32_t i = 0; i < count; i++)
        CHECK(items[i] == i);
    CHECK(MLT_ARRAY_TRY(items, 5000, room) && room == 5000 && items[999] == 999);
#ifndef __SANITIZE_ADDRESS__ // which ends a program that asks for so much
    uint32_t *before = items;
    volatile size_t too_many = SIZE_MAX / sizeof *items; // or the compiler sees it
    CHECK(!MLT_ARRAY_TRY(items, too_many, room));
    CHECK(items == before && room == 5000);
#endif
    uint8_t narrow = 200; // as if there were so much room
    CHECK(!MLT_ARRAY_TRY(items, 300, narrow) && narrow == 200);
    MLT_ARRAY_SORT(items, count, descending);
    CHECK(items[0] == 999 && items[999] == 0);
    free(items);
}

// How often a word is in the table.
static uint32_t times(const mlt_table *table, uint32_t hash, uintptr_t word)
{
    uint32_t n = 0;
    for (mlt_table_look look = mlt_table_look_for(table, hash); mlt_table_next(&look);)
        n += look.word == word;
    return n;
}

// Few hashes, so that runs of neighbours overlap, and words 0..49 with known counts.
static void tables(void)
{
    mlt_table table = {0};
    uint32_t has[50] = {0}, all = 0;
    CHECK(!times(&table, 1, 1) && !mlt_table_remove(&table, 1, 1));
    for (uint32_t i = 0; i < 20000; i++) {
        uint32_t word = below(50), hash = word * 7 % 23;
        if (below(2) || all > 200) {
            CHECK(mlt_table_remove(&table, hash, word) == (has[word] > 0));
            all -= has[word] > 0;
            has[word] -= has[word] > 0;
        } else {
            mlt_table_add(&table, hash, word);
            has[word]++;
            all++;
        }
        CHECK(table.count == all && times(&table, hash, word) == has[word]);
    }
    for (uint32_t word = 0; word < 50; word++)
        CHECK(times(&table, word * 7 % 23, word) == has[word]);
    mlt_table_free(&table);
    CHECK(!table.slots && !times(&table, 0, 0));
}

static void names(void)
{
    enum { COUNT = 5000 };
    static char text[COUNT][16];
    mlt_name_table table = {0};
    CHECK(!mlt_name_table_find(&table, "0"));
    for (int i = 0; i < COUNT; i++) {
        snprintf(text[i], sizeof text[i], "n%d", i);
        CHECK(!mlt_name_table_add(&table, text[i], text[i]));
    }
    for (int i = 0; i < COUNT; i++) {
        char same[8];
        strcpy(same, text[i]);
        CHECK(mlt_name_table_find(&table, same) == text[i]);
        CHECK(mlt_name_table_add(&table, same, same) == text[i]);
    }
    CHECK(!mlt_name_table_find(&table, "n5000") && table.count == COUNT);
    mlt_name_table_free(&table);
    CHECK(!mlt_name_table_find(&table, "n0"));
}

static void texts(void)
{
    mlt_text text = {0};
    CHECK(strcmp(mlt_text_so_far(&text), "") == 0);
    for (int i = 0; i < 3; i++)
        mlt_text_add(&text, "%s%d", mlt_text_between((size_t)i, 3, " and "), i);
    CHECK(strcmp(text.text, "0, 1 and 2") == 0 && text.length == 10);
    mlt_text_put(&text, "\0x", 2);
    CHECK(text.length == 12 && text.text[11] == 'x' && !text.text[12]);
    mlt_text_free(&text);
    char small[8];
    text = mlt_text_on(small, sizeof small);
    mlt_text_add(&text, "%s", "12345");
    CHECK(!text.cut);
    mlt_text_put(&text, "67", 2);
    CHECK(!text.cut && strcmp(small, "1234567") == 0);
    mlt_text_add(&text, "%d", 89);
    CHECK(text.cut && strcmp(small, "1234567") == 0 && text.length == 7);
    mlt_text_free(&text);
    char *made = mlt_text_of("%s%d", "rank ", 3), *empty = mlt_text_of("%s", "");
    CHECK(strcmp(made, "rank 3") == 0 && !*empty);
    free(made);
    free(empty);
    mlt_text_json(&text, "a\"\\</b>\n\x7f\xc3\xa9\xff\xc3");
    CHECK(strcmp(text.text, "\"a\\u0022\\u005c\\u003c/b\\u003e\\u000a\\u007f\xc3\xa9??\"") == 0);
    mlt_text_free(&text);
}

int main(void)
{
    arrays();
    tables();
    names();
    texts();
    return 0;
}
