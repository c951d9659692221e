// SPDX-License-Identifier: BSD-3-Clause
// --show-plan.
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/numbers.h"
#include "base/text.h"
#include "launch/plan/deal.h"
#include "launch/plan/plan.h"
#include "launch/say.h"

enum { MOST_RANGES = 6, COLUMNS = 7, MOST_LINES = 64 };

// What a section has on a host.
typedef struct show_row {
    uint32_t app, host;
    uint32_t procs, workers, ranks;
    uint32_t first, last; // the range of ranks that is not in the text yet
    uint32_t ranges;
    mlt_text which;
} show_row;

static void end_range(show_row *r)
{
    const char *comma = r->which.length ? "," : "";
    if (r->first == r->last)
        mlt_text_add(&r->which, "%s%u", comma, r->first);
    else
        mlt_text_add(&r->which, "%s%u-%u", comma, r->first, r->last);
}

// Processes come in the order of ranks. A long list is cut before its last range.
static void show_add_proc(show_row *r, const mlt_placement_proc *proc)
{
    uint32_t last = proc->first_rank + proc->ranks - 1;
    if (r->procs && proc->first_rank == r->last + 1)
        r->last = last;
    else {
        if (r->procs && r->ranges < MOST_RANGES)
            end_range(r);
        else if (r->ranges == MOST_RANGES)
            mlt_text_add(&r->which, ",...");
        r->ranges++;
        r->first = proc->first_rank;
        r->last = last;
    }
    r->procs++;
    r->workers += proc->workers;
    r->ranks += proc->ranks;
}

// The rows of one section, which begins at process p, in the order of hosts; returns where the next
// section begins. row_of has a place for each host, and *count rows are there.
static uint32_t show_add_section(const mlt_placement *plan, uint32_t p, show_row *rows,
                                 uint32_t *count, uint32_t *row_of)
{
    uint32_t app = plan->procs[p].app, end = p;
    memset(row_of, 0, plan->host_count * sizeof *row_of);
    for (; end < plan->proc_count && plan->procs[end].app == app; end++)
        row_of[plan->procs[end].host] = 1;
    for (uint32_t h = 0; h < plan->host_count; h++)
        if (row_of[h]) {
            row_of[h] = *count;
            rows[(*count)++] = (show_row){.app = app, .host = h};
        }
    for (; p < end; p++)
        show_add_proc(&rows[row_of[plan->procs[p].host]], &plan->procs[p]);
    return end;
}

// ---- The table: texts first, so that columns are as wide as they must be

static void show_fill(char *cells[COLUMNS], const show_row *r, const mlt_placement *plan,
                      const mlt_options *options)
{
    const mlt_hosts_entry *host = &plan->hosts[r->host].host;
    cells[0] = mlt_text_of("%s%s%s%s", host->user ? host->user : "", host->user ? "@" : "",
                           host->name, host->here ? " (this host)" : "");
    cells[1] = host->slots ? mlt_text_of("%u", host->slots) : mlt_text_of("-");
    cells[2] = mlt_text_of("%u", r->procs);
    cells[3] = mlt_text_of("%u", r->workers);
    cells[4] = mlt_text_of("%u", r->ranks);
    cells[5] = mlt_text_of("%s", r->which.text);
    cells[6] = mlt_text_of("%s", options->apps[r->app].argv[0]);
}

static void print_line(FILE *out, char *const cells[COLUMNS], const size_t width[COLUMNS])
{
    for (size_t c = 0; c < COLUMNS - 1; c++) {
        bool number = c >= 1 && c <= 4;
        fprintf(out, number ? "%*s  " : "%-*s  ", (int)width[c], cells[c]);
    }
    fprintf(out, "%s\n", cells[COLUMNS - 1]);
}

static void print_table(FILE *out, char *(*lines)[COLUMNS], size_t count)
{
    size_t width[COLUMNS] = {0};
    for (size_t i = 0; i < count; i++)
        for (size_t c = 0; c < COLUMNS; c++)
            if (strlen(lines[i][c]) > width[c])
                width[c] = strlen(lines[i][c]);
    for (size_t i = 0; i < count; i++)
        print_line(out, lines[i], width);
}

static void print_sum(const mlt_placement *plan, FILE *out)
{
    char a[MLT_NUMBER_BYTES], b[MLT_NUMBER_BYTES], c[MLT_NUMBER_BYTES], d[MLT_NUMBER_BYTES];
    fprintf(out, "%s rank%s in %s worker%s, %s process%s, on %s host%s\n\n",
            mlt_number(a, plan->ranks), plan->ranks == 1 ? "" : "s", mlt_number(b, plan->workers),
            plan->workers == 1 ? "" : "s", mlt_number(c, plan->proc_count),
            plan->proc_count == 1 ? "" : "es", mlt_number(d, plan->host_count),
            plan->host_count == 1 ? "" : "s");
}

// There are at most as many rows as processes.
static show_row *show_rows_of(const mlt_placement *plan, uint32_t *count)
{
    show_row *rows = mlt_xcalloc(plan->proc_count, sizeof *rows);
    uint32_t *row_of = mlt_xcalloc(plan->host_count, sizeof *row_of);
    for (uint32_t p = 0; p < plan->proc_count;)
        p = show_add_section(plan, p, rows, count, row_of);
    free(row_of);
    return rows;
}

// ---- GPUs, if --gpus says something

static bool says_gpus(const mlt_options *options)
{
    for (size_t a = 0; a < options->app_count; a++)
        if (options->apps[a].gpus)
            return true;
    return false;
}

// This host's, none if it has no rank. Ends mpirun if there are not enough.
static void deal_own(mlt_deal *deal, const mlt_placement *plan, const mlt_options *options)
{
    char why[512];
    uint32_t h = 0;
    while (h < plan->host_count && !plan->hosts[h].host.here)
        h++;
    *deal = (mlt_deal){.count = 0};
    if (h < plan->host_count && !mlt_deal_make(deal, options, plan, h, why, sizeof why))
        mlt_quit(MLT_EXIT_USAGE, "%s", why);
}

// A line for each rank of this host, as long as there are not too many.
static void print_own_gpus(const mlt_deal *deal, const mlt_placement *plan, FILE *out)
{
    const mlt_deal_part *part = deal->parts;
    uint32_t lines = 0;
    for (uint32_t p = 0; p < plan->proc_count; p++) {
        const mlt_placement_proc *proc = &plan->procs[p];
        const mlt_hosts_entry *host = &plan->hosts[proc->host].host;
        for (uint32_t i = 0; host->here && part->said && i < proc->ranks && lines <= MOST_LINES;
             i++) {
            mlt_text text = {0};
            if (lines++ == MOST_LINES) {
                fprintf(out, "...\n");
                continue;
            }
            mlt_deal_rank_text(part, i, &text);
            fprintf(out, "rank %u: host %s, %s\n", proc->first_rank + i, host->name, text.text);
            mlt_text_free(&text);
        }
        part += host->here;
    }
}

static void print_gpus(const mlt_deal *deal, const mlt_placement *plan, FILE *out)
{
    fprintf(out, "\n");
    print_own_gpus(deal, plan, out);
    for (uint32_t h = 0; h < plan->host_count; h++)
        if (!plan->hosts[h].host.here)
            fprintf(out, "host %s deals its own GPUs when the job starts\n",
                    plan->hosts[h].host.name);
}

void mlt_placement_show(const mlt_placement *plan, const mlt_options *options, FILE *out)
{
    static const char *const titles[COLUMNS] = {"host",  "slots",       "processes", "workers",
                                                "ranks", "which ranks", "program"};
    uint32_t count = 0;
    mlt_deal deal;
    deal_own(&deal, plan, options);
    show_row *rows = show_rows_of(plan, &count);
    char *(*lines)[COLUMNS] = mlt_xcalloc(count + 1, sizeof *lines);
    for (size_t c = 0; c < COLUMNS; c++)
        lines[0][c] = mlt_text_of("%s", titles[c]);
    for (uint32_t i = 0; i < count; i++) {
        end_range(&rows[i]);
        show_fill(lines[i + 1], &rows[i], plan, options);
        mlt_text_free(&rows[i].which);
    }
    print_sum(plan, out);
    if (options->allocation)
        fprintf(out, "hosts: %s\n\n", options->allocation);
    print_table(out, lines, count + 1);
    if (says_gpus(options))
        print_gpus(&deal, plan, out);
    mlt_deal_free(&deal);
    for (size_t i = 0; i <= count; i++)
        for (size_t c = 0; c < COLUMNS; c++)
            free(lines[i][c]);
    free(lines);
    free(rows);
}
