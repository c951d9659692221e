// SPDX-License-Identifier: BSD-3-Clause
// Barriers: phases, enrolling and resigning in every state, deadlines.
#include "csp_check.h"

typedef struct member {
    csp_barrier *barrier;
    int number, phases, *phase, *done;
    csp_status status;
    csp_time by;
} member;

static int walks(void *arg)
{
    member *my = arg;
    for (int i = 0; i < my->phases; i++) {
        my->phase[my->number] = i;
        for (int k = 0; k < my->number % 4; k++)
            csp_yield();
        CHECK_INT(csp_sync(my->barrier), CSP_OK);
        CHECK(my->phase[0] == i || my->phase[0] == i + 1 || my->phase[0] == -1);
    }
    my->phase[my->number] = -1;
    csp_barrier_resign(my->barrier);
    return 0;
}

static int waits(void *arg)
{
    member *my = arg;
    my->status = my->by ? csp_sync_by(my->barrier, my->by) : csp_sync(my->barrier);
    ++*my->done;
    return (int)my->status;
}

// Members leave after different numbers of phases.
static void phases(void)
{
    enum { N = 30 };
    int phase[N] = {0};
    member m[N];
    csp_barrier *b = csp_barrier_new("phases", N);
    for (int i = 0; i < N; i++)
        m[i] = (member){.barrier = b, .number = i, .phases = 5 + i % 10, .phase = phase};
    CHECK_INT(csp_par_each(walks, m, N, sizeof *m, "member", NULL), 0);
    csp_barrier_free(b);
}

static void enroll_and_resign(void)
{
    int done = 0;
    csp_barrier *b = csp_barrier_new(NULL, 1);
    member m[3];
    csp_child *child[3];
    for (int i = 0; i < 3; i++)
        m[i] = (member){.barrier = b, .done = &done};
    CHECK_INT(csp_sync(b), CSP_OK); // alone
    csp_barrier_enroll(b, 3);       // nobody waits
    for (int i = 0; i < 3; i++)
        child[i] = csp_fork(waits, &m[i], NULL);
    settle();
    CHECK_INT(done, 0);
    csp_barrier_enroll(b, 1); // while they wait
    csp_barrier_resign(b);
    settle();
    CHECK_INT(done, 0);
    csp_barrier_resign(b); // completes it for those who wait
    for (int i = 0; i < 3; i++)
        CHECK_INT(csp_join(child[i]), 0);
    csp_barrier_resign(b); // nobody waits
    csp_barrier_resign(b);
    CHECK_INT(csp_sync(b), CSP_OK);
    csp_barrier_resign(b); // the last: it is empty
    csp_barrier_enroll(b, 2);
    CHECK_INT(csp_sync_by(b, CSP_AT_ONCE), CSP_LATE);
    child[0] = csp_fork(waits, &m[0], NULL);
    settle();
    CHECK_INT(csp_sync_by(b, CSP_AT_ONCE), CSP_OK);
    CHECK_INT(csp_join(child[0]), 0);
    csp_barrier_free(b);
    csp_barrier_free(NULL);
}

// Who was late is still enrolled, but waits no more.
static void deadlines(void)
{
    int done = 0;
    csp_barrier *b = csp_barrier_new("late", 2);
    csp_time before = csp_now();
    CHECK_INT(csp_sync_by(b, csp_after(0.005)), CSP_LATE);
    CHECK(csp_now() - before >= 5000000);
    member m = {.barrier = b, .done = &done, .by = csp_after(1000)};
    csp_child *child = csp_fork(waits, &m, NULL);
    settle();
    CHECK_INT(done, 0);
    CHECK_INT(csp_sync_by(b, CSP_NEVER), CSP_OK);
    CHECK_INT(csp_join(child), CSP_OK);
    m.by = csp_after(0.002);
    child = csp_fork(waits, &m, NULL);
    CHECK_INT(csp_join(child), CSP_LATE);
    CHECK_INT(csp_sync_by(b, CSP_AT_ONCE), CSP_LATE);
    csp_barrier_free(b);
}

// Resigning completes it for an alternation too.
static int alternates(void *arg)
{
    member *my = arg;
    csp_guard guards[] = {csp_on_time(CSP_NEVER), csp_on_sync(my->barrier)};
    CHECK_INT(csp_alt(guards, 2), 1);
    ++*my->done;
    return 0;
}

static void alternations(void)
{
    int done = 0;
    csp_barrier *b = csp_barrier_new("alt", 3), *other = csp_barrier_new("other", 2);
    member m[2] = {{.barrier = b, .done = &done}, {.barrier = b, .done = &done}};
    csp_child *child[2];
    for (int i = 0; i < 2; i++)
        child[i] = csp_fork(alternates, &m[i], NULL);
    settle();
    CHECK_INT(done, 0);
    csp_barrier_resign(b);
    for (int i = 0; i < 2; i++)
        CHECK_INT(csp_join(child[i]), 0);
    // Two barriers in one alternation: only one of them is taken.
    csp_guard guards[] = {csp_on_sync(b), csp_on_sync(other)};
    for (int i = 0; i < 6; i++) {
        member partner = {.barrier = i % 2 ? b : other, .done = &done};
        child[0] = csp_fork(waits, &partner, NULL);
        if (i < 3)
            settle();
        CHECK_INT(csp_alt(guards, 2), 1 - i % 2);
        CHECK_INT(csp_join(child[0]), 0);
        CHECK_INT(csp_sync_by(b, CSP_AT_ONCE), CSP_LATE);
        CHECK_INT(csp_sync_by(other, CSP_AT_ONCE), CSP_LATE);
    }
    csp_barrier_free(b);
    csp_barrier_free(other);
}

int main(void)
{
    phases();
    enroll_and_resign();
    deadlines();
    alternations();
    return 0;
}
