// SPDX-License-Identifier: BSD-3-Clause
// Policy `plugin`: a shared object of the user's says who runs next (<millet/sched.h>). What it is
// given are records beside the fibers. It is not trusted to return one that can run.
#include <dlfcn.h>
#include <millet/sched.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/memory.h"
#include "fiber/deep.h"
#include "fiber/policy.h"
#include "os/os.h"

typedef struct plugin_record {
    millet_runnable shown; // first: the plug-in's pointers are to this
    mlt_fiber *fiber;      // while it can run and was not taken; NULL otherwise
} plugin_record;

typedef struct policy_plugin {
    const millet_policy *table;
    void *state;
    plugin_record *records; // [limit + 1] by id; the last one is home's
    plugin_record *pool;    // [MLT_FIBER_POOL_MOST] the same of the pool; NULL: none so far
    uint32_t outside;       // fibers without a record, in the scheduler's list
    bool turn;              // the last one that was taken was one of these
} policy_plugin;

static size_t records_bytes(const mlt_sched *sched)
{
    return ((size_t)sched->limit + 1) * sizeof(plugin_record);
}

#define POOL_BYTES (MLT_FIBER_POOL_MOST * sizeof(plugin_record))

static mlt_status check(const char *file, const millet_policy *table, char *why, size_t why_size)
{
    if (!table)
        return mlt_fail(MLT_ERR_INVALID, why, why_size,
                        "'%s' is no scheduling policy: it does not export 'millet_policy_table' "
                        "(<millet/sched.h>)",
                        file);
    if (table->version != MILLET_POLICY_VERSION)
        return mlt_fail(MLT_ERR_INVALID, why, why_size,
                        "the scheduling policy '%s' was built for version %u of <millet/sched.h>, "
                        "but this is version %d: build it again",
                        file, table->version, MILLET_POLICY_VERSION);
    if (!table->put || !table->take)
        return mlt_fail(MLT_ERR_INVALID, why, why_size,
                        "the table of the scheduling policy '%s' has no function '%s'", file,
                        table->put ? "take" : "put");
    return MLT_OK;
}

// The file stays loaded: another worker may come, and its code may be on a stack.
static mlt_status load(const char *file, const millet_policy **table, char *why, size_t why_size)
{
    char beside[4096];
    // Without a slash dlopen would look among the system's libraries.
    int n = snprintf(beside, sizeof beside, "%s%s", strchr(file, '/') ? "" : "./", file);
    void *object =
        n < (int)sizeof beside ? dlopen(beside, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE) : NULL;
    if (!object) {
        const char *error = n < (int)sizeof beside ? dlerror() : "its name is too long";
        return mlt_fail(MLT_ERR_INVALID, why, why_size,
                        "the scheduling policy '%s' cannot be loaded: %s", file, error);
    }
    *table = dlsym(object, "millet_policy_table");
    return check(file, *table, why, why_size);
}

mlt_status mlt_policy_plugin_init(mlt_sched *sched, uint64_t argument, char *why, size_t why_size)
{
    (void)argument;
    const millet_policy *table;
    mlt_status status = load(mlt_policy_file(sched->policy_text), &table, why, why_size);
    if (status != MLT_OK)
        return status;
    policy_plugin *p = mlt_os_map(sizeof *p);
    plugin_record *records = p ? mlt_os_map(records_bytes(sched)) : NULL;
    if (!records) {
        if (p)
            mlt_os_unmap(p, sizeof *p);
        return mlt_fail(MLT_ERR_NO_MEMORY, why, why_size, MLT_NO_ROOM "a scheduling policy");
    }
    p->table = table;
    p->records = records;
    p->state = table->init ? table->init(sched->limit ? sched->limit : 1) : NULL;
    sched->policy_state = p;
    return MLT_OK;
}

void mlt_policy_plugin_fini(mlt_sched *sched)
{
    policy_plugin *p = sched->policy_state;
    if (p->table->fini)
        p->table->fini(p->state);
    if (p->pool)
        mlt_os_unmap(p->pool, POOL_BYTES);
    mlt_os_unmap(p->records, records_bytes(sched));
    mlt_os_unmap(p, sizeof *p);
}

// NULL: a thread that lent the worker its stack, of which the plug-in is told nothing.
static plugin_record *plugin_record_of(const mlt_sched *sched, const mlt_fiber *fiber)
{
    policy_plugin *p = sched->policy_state;
    plugin_record *record = NULL;
    if (fiber->pool) {
        if (!p->pool && !(p->pool = mlt_os_map(POOL_BYTES)))
            mlt_fatal(MLT_NO_ROOM "the processes of a scheduling policy");
        record = &p->pool[fiber->id];
        record->shown.rank = -1;
    } else if (fiber->id < sched->limit) {
        record = &p->records[fiber->id];
        record->shown.rank = (int)(sched->first + fiber->id);
    } else if (fiber == &sched->home) {
        record = &p->records[sched->limit];
        record->shown.rank = (int)sched->first;
    } else {
        return NULL;
    }
    record->shown.priority = fiber->priority;
    return record;
}

void mlt_policy_plugin_put(mlt_sched *sched, mlt_fiber *fiber, mlt_put how)
{
    static const int told[] = {[MLT_PUT_SPAWN] = MILLET_PUT_NEW,
                               [MLT_PUT_WAKE] = MILLET_PUT_WOKEN,
                               [MLT_PUT_YIELD] = MILLET_PUT_YIELDED};
    policy_plugin *p = sched->policy_state;
    plugin_record *record = plugin_record_of(sched, fiber);
    if (!record) {
        p->outside++;
        mlt_policy_list_push(sched, fiber);
        return;
    }
    if (how == MLT_PUT_SPAWN) { // not what a process that has ended had
        record->shown.next = NULL;
        record->shown.number = 0;
    }
    record->fiber = fiber;
    p->table->put(p->state, &record->shown, told[how]);
}

static bool is_one_of(const plugin_record *it, const plugin_record *records, size_t count)
{
    uintptr_t at = (uintptr_t)it - (uintptr_t)records;
    return records && at < count * sizeof *records && at % sizeof *records == 0;
}

typedef struct plugin_fault {
    const mlt_sched *sched;
    const plugin_record *it; // what was taken
} plugin_fault;

static bool is_record(const mlt_sched *sched, const plugin_record *it)
{
    const policy_plugin *p = sched->policy_state;
    return is_one_of(it, p->records, (size_t)sched->limit + 1) ||
           is_one_of(it, p->pool, MLT_FIBER_POOL_MOST);
}

static void plugin_blame(void *arg)
{
    const mlt_sched *sched = ((plugin_fault *)arg)->sched;
    const plugin_record *it = ((plugin_fault *)arg)->it;
    const policy_plugin *p = sched->policy_state;
    const char *file = mlt_policy_file(sched->policy_text);
    if (!it)
        mlt_fatal("the scheduling policy '%s' took nobody, but %u can run", file,
                  sched->runnable - p->outside);
    if (!is_record(sched, it))
        mlt_fatal("the scheduling policy '%s' took something that was never put", file);
    if (it->shown.rank >= 0)
        mlt_fatal("the scheduling policy '%s' took rank %d, which cannot run now", file,
                  it->shown.rank);
    mlt_fatal("the scheduling policy '%s' took a process that cannot run now", file);
}

mlt_fiber *mlt_policy_plugin_take(mlt_sched *sched)
{
    policy_plugin *p = sched->policy_state;
    p->turn = p->outside && (!p->turn || p->outside == sched->runnable); // every other one at most
    if (p->turn) {
        p->outside--;
        return mlt_policy_list_take(sched, true);
    }
    plugin_record *it = (plugin_record *)p->table->take(p->state);
    mlt_fiber *fiber = it && is_record(sched, it) ? it->fiber : NULL;
    if (MLT_UNLIKELY(!fiber)) // a message takes more of a stack than the smallest one has
        mlt_deep_call(sched, plugin_blame, &(plugin_fault){sched, it});
    it->fiber = NULL;
    return fiber;
}

void mlt_policy_plugin_park(mlt_sched *sched, mlt_fiber *fiber)
{
    const policy_plugin *p = sched->policy_state;
    plugin_record *record = p->table->park ? plugin_record_of(sched, fiber) : NULL;
    if (!record)
        return;
    mlt_fiber *to = sched->awaits && !fiber->pool && fiber->id < sched->limit
                        ? sched->awaits(sched->idle_arg, fiber, fiber->wait)
                        : NULL;
    plugin_record *its = to ? plugin_record_of(sched, to) : NULL;
    p->table->park(p->state, &record->shown, its ? &its->shown : NULL);
}
