// SPDX-License-Identifier: BSD-3-Clause
// Any bytes as an agent's task: refused with one line, or a plan whose numbers fit together, with
// programs that can be started. A task that was read is written and read again, and is the same.
//
// The input: a byte, which host this is; then the task.
#include "launch/hosts/task.h"

#include <fuzz/fuzz.h>
#include <fuzz/launcher.h>
#include <stdlib.h>
#include <string.h>

#include "boot/job.h"

static void check_plan(const mlt_placement *plan, size_t apps)
{
    uint32_t workers = 0, ranks = 0;
    for (uint32_t p = 0; p < plan->proc_count; p++) {
        const mlt_placement_proc *proc = &plan->procs[p];
        FUZZ_CHECK(proc->app < apps && proc->host < plan->host_count);
        FUZZ_CHECK(proc->first_worker == workers && proc->first_rank == ranks);
        FUZZ_CHECK(proc->workers > 0 && proc->ranks >= proc->workers);
        workers += proc->workers;
        ranks += proc->ranks;
    }
    FUZZ_CHECK(plan->workers == workers && plan->ranks == ranks && ranks <= INT32_MAX);
    for (uint32_t h = 0; h < plan->host_count; h++)
        FUZZ_CHECK(plan->hosts[h].ranks > 0 && plan->hosts[h].workers <= MLT_JOB_MAX_WORKERS &&
                   plan->hosts[h].host.name);
}

static void check_same(const mlt_placement *one, const mlt_placement *other)
{
    FUZZ_CHECK(one->proc_count == other->proc_count && one->host_count == other->host_count);
    FUZZ_CHECK(memcmp(one->procs, other->procs, one->proc_count * sizeof *one->procs) == 0);
    for (uint32_t h = 0; h < one->host_count; h++)
        FUZZ_CHECK(strcmp(one->hosts[h].host.name, other->hosts[h].host.name) == 0 &&
                   one->hosts[h].ranks == other->hosts[h].ranks);
}

static void check_again(const mlt_task *task, uint32_t host)
{
    char why[256];
    size_t size;
    char *packed = mlt_task_pack(task, &size);
    mlt_task again;
    FUZZ_CHECK(mlt_task_unpack(&again, host, packed, size, why, sizeof why));
    check_same(&task->plan, &again.plan);
    FUZZ_CHECK(again.options.app_count == task->options.app_count);
    FUZZ_CHECK(again.identity == task->identity && strcmp(again.dir, task->dir) == 0);
    mlt_task_free(&again);
    free(packed);
}

typedef struct question {
    const uint8_t *data;
    size_t size;
} question;

static void ask(void *argument)
{
    question *q = argument;
    uint8_t host;
    char why[256];
    mlt_task task;
    fuzz_take(&q->data, &q->size, &host, 1);
    char *bytes = malloc(q->size ? q->size : 1); // of exactly that size
    FUZZ_CHECK(bytes);
    memcpy(bytes, q->data, q->size);
    if (mlt_task_unpack(&task, host, bytes, q->size, why, sizeof why)) {
        for (size_t a = 0; a < task.options.app_count; a++)
            FUZZ_CHECK(task.options.apps[a].argv && task.options.apps[a].argv[0]);
        check_plan(&task.plan, task.options.app_count);
        check_again(&task, host);
        mlt_task_free(&task);
    } else {
        fuzz_check_sentence(why, sizeof why);
    }
    free(bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    question q = {data, size};
    FUZZ_CHECK(fuzz_run(ask, &q));
    fuzz_release();
    return 0;
}
