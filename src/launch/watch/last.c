// SPDX-License-Identifier: BSD-3-Clause
#include "launch/watch/last.h"

#include <stdio.h>
#include <stdlib.h>

#include "launch/say.h"

bool mlt_last_report(const mlt_options *options, mlt_report *report, mlt_path_map *map,
                     uint64_t wall_ns)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return false;
    mlt_texts grains = {NULL, 0};
    for (size_t a = 0; a < options->app_count; a++)
        if (options->apps[a].told)
            mlt_texts_add(&grains, options->apps[a].told);
    mlt_report_print(report, options->apps[0].argv[0], &grains, wall_ns, out);
    free(grains.items);
    mlt_path_map_report(map, out);
    mlt_report_advise(report, out);
    bool whole = fclose(out) == 0;
    mlt_say_raw(text, size);
    free(text);
    return whole;
}

void mlt_last_leaks(const mlt_options *options, mlt_leaks *leaks)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = leaks->count && !options->quiet ? open_memstream(&text, &size) : NULL;
    if (!out)
        return;
    mlt_leaks_print(leaks, out);
    if (fclose(out) == 0)
        mlt_say_raw(text, size);
    free(text);
}
