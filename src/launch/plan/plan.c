// SPDX-License-Identifier: BSD-3-Clause
#include "launch/plan/plan.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/memory.h"
#include "boot/job.h"
#include "launch/plan/place.h"
#include "launch/say.h"
#include "os/os.h"

static uint32_t plan_hosts_of(const mlt_app *app)
{
    return app->hosts ? app->hosts->count : 1;
}

// Workers, or ranks that share workers.
static uint64_t asked_of(const mlt_app *app)
{
    uint64_t slots = 0;
    for (uint32_t h = 0; app->own_hosts && h < app->hosts->count; h++)
        slots += app->hosts->hosts[h].slots;
    if (app->n || app->per_host)
        return app->n ? app->n : (uint64_t)app->per_host * plan_hosts_of(app);
    return slots ? slots : 1;
}

// No more than a number that is refused: sums do not come round to small ones.
uint64_t mlt_placement_ranks_asked(const mlt_app *app)
{
    static const uint64_t most = UINT64_C(1) << 52;
    uint64_t asked = asked_of(app);
    return asked < most / app->fine ? asked * app->fine : most;
}

uint32_t mlt_placement_hosts_asked(const mlt_options *options)
{
    uint32_t most = 1;
    for (size_t a = 0; a < options->app_count; a++) {
        uint64_t asked = asked_of(&options->apps[a]), hosts = plan_hosts_of(&options->apps[a]);
        uint32_t used = (uint32_t)(asked < hosts ? asked : hosts);
        most = used > most ? used : most;
    }
    return most;
}

static _Noreturn void refuse_workers(uint64_t workers, int most, const char *where)
{
    mlt_quit(MLT_EXIT_USAGE,
             "-n asks for %llu workers%s, but a %s has at most %d; -nfg K puts K ranks into each "
             "(mpirun -n 2 -nfg 500000 ./program starts a million)",
             (unsigned long long)workers, where, *where ? "host" : "job", most);
}

// Before memory is taken for them.
static uint64_t count_up(const mlt_options *options, const mlt_hosts *hosts)
{
    uint64_t workers = 0, ranks = 0, most = (uint64_t)hosts->count * MLT_JOB_MAX_WORKERS;
    for (size_t a = 0; a < options->app_count; a++) {
        const mlt_app *app = &options->apps[a];
        uint64_t packed = (uint64_t)app->packed * plan_hosts_of(app), asked = asked_of(app);
        workers += packed && packed < asked ? packed : asked;
        ranks += mlt_placement_ranks_asked(app);
    }
    most = most < MLT_PLACEMENT_MAX_WORKERS ? most : MLT_PLACEMENT_MAX_WORKERS;
    if (workers > most)
        refuse_workers(workers, (int)most, "");
    if (ranks > INT32_MAX)
        mlt_quit(MLT_EXIT_USAGE, "-n times -nfg is %llu, but a job has at most %d ranks",
                 (unsigned long long)ranks, INT32_MAX);
    return workers;
}

// The first ones have one more where it does not come out even.
static uint32_t plan_part(uint32_t all, uint32_t parts, uint32_t i)
{
    return all / parts + (i < all % parts);
}

// ---- Making a plan: hosts of all sections first, with indices into one list

typedef struct maker {
    const mlt_options *options;
    mlt_placement *plan;
    mlt_hosts *all;            // the plan's
    mlt_placement_host *hosts; // [all->count], also those that get nothing
    uint32_t **index;          // [apps][hosts of the app]: into `all`; sections may share one
} maker;

// For sections that name no host.
static const mlt_hosts_entry *this_host(void)
{
    static mlt_hosts_entry host;
    host = (mlt_hosts_entry){.name = mlt_hosts_own(), .source = "localhost", .here = true};
    return &host;
}

// The indices of a section's hosts in the list of all.
static uint32_t *join_hosts_of(maker *m, const mlt_app *app)
{
    uint32_t *index = mlt_xcalloc(plan_hosts_of(app), sizeof *index);
    for (uint32_t h = 0; h < plan_hosts_of(app); h++) {
        const mlt_hosts_entry *host = app->hosts ? &app->hosts->hosts[h] : this_host();
        mlt_hosts_entry one = *host;
        uint32_t before = m->all->count;
        one.slots = 0; // sections do not add up
        index[h] = mlt_hosts_add(m->all, &one);
        if (m->all->count > before)
            m->all->hosts[index[h]].slots = host->slots;
    }
    return index;
}

static bool shares_hosts(const maker *m, size_t a)
{
    return a > 0 && m->options->apps[a].hosts == m->options->apps[a - 1].hosts;
}

static void join_hosts(maker *m)
{
    m->index = mlt_xcalloc(m->options->app_count, sizeof *m->index);
    for (size_t a = 0; a < m->options->app_count; a++)
        m->index[a] = shares_hosts(m, a) ? m->index[a - 1] : join_hosts_of(m, &m->options->apps[a]);
    m->hosts = mlt_xcalloc(m->all->count, sizeof *m->hosts);
}

void mlt_placement_add(mlt_placement *plan, mlt_placement_host *on, mlt_placement_proc proc)
{
    proc.first_worker = plan->workers;
    proc.first_rank = plan->ranks;
    proc.first_local = on->ranks;
    plan->procs[plan->proc_count++] = proc;
    plan->workers += proc.workers;
    plan->ranks += proc.ranks;
    on->procs++;
    on->workers += proc.workers;
    on->ranks += proc.ranks;
}

static bool has_threads(const mlt_app *app)
{
    return app->workers == MLT_WORKERS_THREAD ||
           (app->workers == MLT_WORKERS_AUTO && (app->fine > 1 || app->packed));
}

// What a section has on one host: `count` workers, or ranks if they are packed.
static void add_block(maker *m, uint32_t a, uint32_t host, uint32_t count)
{
    const mlt_app *app = &m->options->apps[a];
    uint32_t workers = app->packed && app->packed < count ? app->packed : count;
    uint32_t procs = has_threads(app) ? 1 : workers, ranks = count * app->fine;
    for (uint32_t p = 0; p < procs; p++)
        mlt_placement_add(m->plan, &m->hosts[host],
                          (mlt_placement_proc){.app = a,
                                               .host = host,
                                               .workers = workers / procs,
                                               .ranks = plan_part(ranks, procs, p)});
}

// Lays out a section whose hosts get these numbers.
static void lay_out(maker *m, uint32_t a, const mlt_place *place, uint32_t n)
{
    const mlt_app *app = &m->options->apps[a];
    if (!m->options->mapping.rank_by_node || app->packed || has_threads(app)) {
        for (uint32_t h = 0; h < place->hosts; h++)
            if (place->counts[h])
                add_block(m, a, m->index[a][h], place->counts[h]);
        return;
    }
    uint32_t *host_of = mlt_xcalloc(n, sizeof *host_of);
    mlt_place_deal(place, host_of);
    for (uint32_t i = 0; i < n; i++)
        add_block(m, a, m->index[a][host_of[i]], 1);
    free(host_of);
}

static void place_app(maker *m, uint32_t a, uint32_t *taken)
{
    const mlt_app *app = &m->options->apps[a];
    uint32_t count = plan_hosts_of(app), n = (uint32_t)asked_of(app);
    uint32_t *slots = mlt_xcalloc(count, sizeof *slots), *used = mlt_xcalloc(count, sizeof *used);
    mlt_place place = {.hosts = count, .slots = slots, .used = used};
    place.counts = mlt_xcalloc(count, sizeof *place.counts);
    for (uint32_t h = 0; h < count; h++) {
        slots[h] = app->per_host ? app->per_host : app->hosts ? app->hosts->hosts[h].slots : 1;
        used[h] = taken[m->index[a][h]];
    }
    mlt_place_count(&place, m->options->mapping.by_node, n);
    lay_out(m, a, &place, n);
    for (uint32_t h = 0; app->hosts && h < count; h++) // without hosts there are no slots either
        taken[m->index[a][h]] += place.counts[h];
    free(slots);
    free(used);
    free(place.counts);
}

// --nooversubscribe. A host that nobody has named has as many slots as cores.
static void refuse_oversubscribed(const maker *m, uint32_t h)
{
    const mlt_hosts_entry *host = &m->all->hosts[h];
    uint32_t slots = host->slots ? host->slots : (uint32_t)mlt_os_cores();
    if (m->hosts[h].workers > slots)
        mlt_quit(MLT_EXIT_USAGE,
                 "--nooversubscribe: host '%s' would have %u workers, but has %u slot%s; -nfg K "
                 "puts K ranks into each worker",
                 host->name, m->hosts[h].workers, slots, slots == 1 ? "" : "s");
}

// Only hosts that have ranks stay in the plan.
static void keep_used(maker *m)
{
    mlt_placement *plan = m->plan;
    uint32_t *new_index = mlt_xcalloc(m->all->count, sizeof *new_index);
    char where[64];
    for (uint32_t h = 0; h < m->all->count; h++) {
        snprintf(where, sizeof where, " on host '%.32s'", m->all->hosts[h].name);
        if (m->options->no_oversubscribe)
            refuse_oversubscribed(m, h);
        if (m->hosts[h].workers > MLT_JOB_MAX_WORKERS)
            refuse_workers(m->hosts[h].workers, MLT_JOB_MAX_WORKERS, where);
        m->hosts[h].host = m->all->hosts[h];
        new_index[h] = plan->host_count;
        if (m->hosts[h].ranks)
            m->hosts[plan->host_count++] = m->hosts[h];
    }
    for (uint32_t p = 0; p < plan->proc_count; p++)
        plan->procs[p].host = new_index[plan->procs[p].host];
    plan->hosts = m->hosts;
    free(new_index);
}

static void refuse_local_words(const maker *m)
{
    const char *word = m->options->mapping.local;
    if (word && m->all->count > 1)
        mlt_quit(MLT_EXIT_USAGE,
                 "--map-by %s has a meaning on one host only; on several, use slot, node or "
                 "ppr:N:node",
                 word);
}

void mlt_placement_make(const mlt_options *options, mlt_placement *plan)
{
    *plan = (mlt_placement){.proc_count = 0};
    maker m = {.options = options, .plan = plan, .all = &plan->named};
    join_hosts(&m);
    refuse_local_words(&m);
    plan->procs = mlt_xcalloc(count_up(options, m.all), sizeof *plan->procs);
    uint32_t *taken = mlt_xcalloc(m.all->count, sizeof *taken);
    for (size_t a = 0; a < options->app_count; a++)
        place_app(&m, (uint32_t)a, taken);
    keep_used(&m);
    for (size_t a = 0; a < options->app_count; a++)
        if (!shares_hosts(&m, a))
            free(m.index[a]);
    free(m.index);
    free(taken);
}

const mlt_placement_host *mlt_placement_other(const mlt_placement *plan)
{
    for (uint32_t h = 0; h < plan->host_count; h++)
        if (!plan->hosts[h].host.here)
            return &plan->hosts[h];
    return NULL;
}

uint32_t mlt_placement_proc_of(const mlt_placement *plan, uint32_t rank)
{
    return MLT_ARRAY_SEARCH(i, plan->proc_count, plan->procs[i].first_rank <= rank) - 1;
}

uint32_t mlt_placement_ranks_of(const mlt_placement *plan, uint32_t worker, uint32_t *first_rank)
{
    uint32_t above = MLT_ARRAY_SEARCH(i, plan->proc_count, plan->procs[i].first_worker <= worker);
    const mlt_placement_proc *proc = &plan->procs[above - 1];
    uint32_t i = worker - proc->first_worker, more = proc->ranks % proc->workers;
    *first_rank = proc->first_rank + i * (proc->ranks / proc->workers) + (i < more ? i : more);
    return plan_part(proc->ranks, proc->workers, i);
}

void mlt_placement_name(const mlt_placement *plan, uint32_t proc, char *text, size_t size)
{
    const mlt_placement_proc *p = &plan->procs[proc];
    if (p->ranks == 1)
        snprintf(text, size, "rank %u", p->first_rank);
    else
        snprintf(text, size, "the process of ranks %u-%u", p->first_rank,
                 p->first_rank + p->ranks - 1);
}
