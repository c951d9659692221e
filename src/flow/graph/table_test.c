// SPDX-License-Identifier: BSD-3-Clause
#include "flow/graph/table.h"

#include <stdio.h>

#include "base/unit_test.h"

enum { MANY = 5000 };

static char names[MANY][16];

int main(void)
{
    mlt_flow_table table = {0};
    CHECK(!mlt_flow_table_find(&table, "a"));
    for (int i = 0; i < MANY; i++) {
        snprintf(names[i], sizeof names[i], "%d", i * 7);
        CHECK(!mlt_flow_table_add(&table, names[i], names[i]));
    }
    CHECK(table.count == MANY);
    for (int i = 0; i < MANY * 7; i++) {
        char name[16];
        snprintf(name, sizeof name, "%d", i);
        CHECK(mlt_flow_table_find(&table, name) == (i % 7 ? NULL : names[i / 7]));
    }
    // Whoever was there first stays.
    CHECK(mlt_flow_table_add(&table, "14", names[0]) == names[2]);
    CHECK(mlt_flow_table_find(&table, "14") == names[2] && table.count == MANY);
    CHECK(!mlt_flow_table_add(&table, "", names[1]) && mlt_flow_table_find(&table, "") == names[1]);
    mlt_flow_table_free(&table);
    CHECK(!mlt_flow_table_find(&table, "14"));
    mlt_flow_table_free(&table);
    return 0;
}
