// SPDX-License-Identifier: BSD-3-Clause
// Any bytes as a .flow file, read and checked: it is refused with sentences, or it is a graph that
// can be placed on three workers of two hosts, lowered, and written as C.
#include <fuzz/fuzz.h>
#include <stdlib.h>
#include <string.h>

#include "flow/lower/lower.h"
#include "flow/place/place.h"
#include "flowc/ast.h"
#include "flowc/gen.h"
#include "flowc/sema.h"

// A few bytes can ask for a billion instances, which take a while; that is no finding.
static bool is_modest(const uint8_t *data, size_t size)
{
    size_t digits = 0, products = 0;
    for (size_t i = 0; i < size; i++) {
        digits = data[i] >= '0' && data[i] <= '9' ? digits + 1 : 0;
        products += data[i] == '*';
        if (digits > 3 || products > 1 || data[i] == 'x' || data[i] == 'X')
            return false;
    }
    return true;
}

static void place_and_lower(const mlt_flow_graph *graph)
{
    char why[400];
    mlt_flow_sites *sites = mlt_flow_sites_new(3, 2, "host1 slots=1\nhost2", why, sizeof why);
    FUZZ_CHECK(sites != NULL);
    mlt_flow_placing *placing = mlt_flow_place(graph, sites, why, sizeof why);
    if (placing) {
        mlt_flow_lowered *lowered =
            mlt_flow_lower(graph, placing, &(mlt_flow_lowering){.balance = true});
        for (uint32_t i = 0; i < lowered->line_count; i++)
            FUZZ_CHECK(lowered->lines[i].from < lowered->task_count &&
                       lowered->lines[i].to < lowered->task_count);
        mlt_flow_lowered_free(lowered);
        mlt_flow_placing_free(placing);
    } else {
        FUZZ_CHECK(strlen(why) > 10);
    }
    mlt_flow_sites_free(sites);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!is_modest(data, size))
        return 0;
    mlt_flow_messages messages = {0};
    mlt_flow_file *file = mlt_flow_read("t", (const char *)data, size, &messages);
    mlt_flow_graph *graph = messages.errors ? NULL : mlt_flow_check(file, NULL, 0, &messages);
    FUZZ_CHECK((graph != NULL) == (messages.errors == 0));
    if (graph) {
        FUZZ_CHECK(graph->errors == 0);
        place_and_lower(graph);
        char *text = NULL;
        size_t length = 0;
        FILE *to = open_memstream(&text, &length);
        mlt_flow_gen_program(file, NULL, 0, NULL, to);
        size_t count;
        mlt_flow_declaration *modules = mlt_flow_gen_modules(file, &count);
        for (size_t i = 0; i < count; i++)
            mlt_flow_gen_header(file, &modules[i], "t.flow.h", to);
        mlt_flow_gen_operations(file, to);
        free(modules);
        fclose(to);
        free(text);
    }
    mlt_flow_graph_free(graph);
    mlt_flow_messages_free(&messages);
    mlt_flow_file_free(file);
    return 0;
}
