// SPDX-License-Identifier: BSD-3-Clause
// Names and whose they are, found at once: files have tens of thousands of them. Names are
// borrowed. A table of zeros is empty.
#ifndef MLT_FLOW_GRAPH_TABLE_H
#define MLT_FLOW_GRAPH_TABLE_H

#include <stddef.h>

typedef struct mlt_flow_table {
    struct mlt_flow_table_row {
        const char *name; // NULL: nothing here
        void *owner;
    } * rows;
    size_t size, count; // size: a power of 2, or 0
} mlt_flow_table;

// Whose name it is; NULL: nobody's.
void *mlt_flow_table_find(const mlt_flow_table *table, const char *name);
// The name is this owner's from now on, and NULL is returned; or it is somebody's already, who is
// returned and keeps it. An owner is not NULL.
void *mlt_flow_table_add(mlt_flow_table *table, const char *name, void *owner);
void mlt_flow_table_free(mlt_flow_table *table); // and it is empty

#endif
