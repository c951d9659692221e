// SPDX-License-Identifier: BSD-3-Clause
// Cards are written and read again, and wrong ones are refused; lines of PMI are sets of keys.
#include "boot/foreign/kvs.h"

#include "base/unit_test.h"
#include "boot/foreign/pmi.h"

static void test_again(void)
{
    char text[MLT_LAUNCHER_VALUE], again[MLT_LAUNCHER_VALUE];
    mlt_kvs note = {.leader = 4096, .workers = 2, .ranks = 1000, .app = 1, .host = "node-01.site"},
            read;
    mlt_kvs_write(text, &note);
    check_same_text("a card", text, "M1:4096:2:1000:1:node-01.site");
    CHECK(mlt_kvs_read(&read, text) && memcmp(&read, &note, sizeof note) == 0);
    note.first = true;
    note.identity = UINT64_C(0x0123456789abcdef);
    note.where_size = MLT_KVS_WHERE;
    memset(note.host, 'h', sizeof note.host - 1);
    memset(note.key, 0xa5, sizeof note.key);
    memset(note.where, 0xff, sizeof note.where);
    note.leader = note.app = INT32_MAX;
    note.workers = 4096;
    note.ranks = MLT_KVS_MOST_RANKS;
    mlt_kvs_write(text, &note);
    CHECK(strlen(text) < MLT_LAUNCHER_VALUE - 1); // the longest fits
    CHECK(mlt_kvs_read(&read, text));
    mlt_kvs_write(again, &read);
    check_same_text("the longest card", again, text);
}

static void test_refused(void)
{
    static const char *const wrong[] = {
        "",
        "M1",
        "M2:0:1:1:0:h",
        "M1:0:1:1:0:",
        "M1:0:0:1:0:h",
        "M1:0:1:0:0:h",
        "M1:-1:1:1:0:h",
        "M1:0:4097:1:0:h",
        "M1:0:1:1:0:h h",
        "M1:0:1:1:0:h:",
        "M1:0:1:1:0:h:0123",
        "M1: 0:1:1:0:h",
        "M1:99999999999:1:1:0:h",
        "M1:0:1:1:0:h:0123456789abcdef:zz:",
    };
    mlt_kvs note;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        CHECK(!mlt_kvs_read(&note, wrong[i]));
}

static void test_lines(void)
{
    char value[8];
    static const char line[] = "rc=0 cmd=maxes  vallen_max=1024\tx=";
    CHECK(mlt_pmi_find(line, "cmd", value, sizeof value) && strcmp(value, "maxes") == 0);
    CHECK(mlt_pmi_find(line, "vallen_max", value, sizeof value) && strcmp(value, "1024") == 0);
    CHECK(mlt_pmi_find(line, "x", value, sizeof value) && !*value);
    CHECK(!mlt_pmi_find(line, "max", value, sizeof value));       // a part of a key is none
    CHECK(!mlt_pmi_find("a=12345678", "a", value, sizeof value)); // too long
    CHECK(!mlt_pmi_find("", "a", value, sizeof value));
}

int main(void)
{
    test_again();
    test_refused();
    test_lines();
    return 0;
}
