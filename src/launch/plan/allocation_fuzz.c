// SPDX-License-Identifier: BSD-3-Clause
// Any texts of a batch system: its hosts have slots within bounds, or mpirun ends with a sentence.
#include "launch/plan/allocation.h"

#include <fuzz/fuzz.h>
#include <fuzz/launcher.h>
#include <stdlib.h>
#include <string.h>

typedef struct question {
    uint8_t kind;
    char *text, *more;
    mlt_hosts hosts;
} question;

static void ask(void *user)
{
    question *q = user;
    if (q->kind % 3 == 0)
        mlt_allocation_read_slurm(&q->hosts, q->text, q->more);
    else if (q->kind % 3 == 1)
        mlt_allocation_read_pairs(&q->hosts, "LSB_MCPU_HOSTS", q->text);
    else
        mlt_hosts_add_columns(&q->hosts, "file");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    question q = {.kind = 0};
    size_t said;
    fuzz_take(&data, &size, &q.kind, 1);
    fuzz_file(data, size);
    q.text = fuzz_text(data, size);
    q.more = strchr(q.text, ' ');
    if (q.kind % 3 == 0 && q.more)
        *q.more++ = '\0';
    if (!fuzz_wide(q.text)) {
        if (!fuzz_run(ask, &q)) {
            FUZZ_CHECK(*fuzz_said(&said) && fuzz_code() == 2);
        } else {
            for (uint32_t i = 0; i < q.hosts.count; i++)
                FUZZ_CHECK(q.hosts.hosts[i].slots <= MLT_HOSTS_MOST_SLOTS);
        }
        fuzz_release();
    }
    free(q.text);
    return 0;
}
