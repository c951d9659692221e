// SPDX-License-Identifier: BSD-3-Clause
// Reads that are repeated, in epochs of all kinds and in random order, while the memory changes whenever
// MPI allows it: each must bring what it may bring without a cache, too. They are gets, fetches with
// MPI_NO_OP, either with a request where the epoch allows it, of elements with gaps or without. `cached ROUNDS [promised]`:
// with `promised`, nothing changes in epochs of locks that others share. Prints the gets of all ranks.
#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    STILL = 12, // places that their owner changes between epochs
    COUNTER = STILL,
    NEWS, // what the rank before puts
    PLACES,
    GETS = 120,
};

typedef struct job {
    int rank, size;
    unsigned state; // of the random numbers: its own
    long turn;      // of what the owners have written
    long gets, counted;
    long *at;
    MPI_Win win;
    MPI_Group all;
    MPI_Datatype pair, wide; // two numbers, the second of which follows, or is the next but one
} job;

static int below(job *j, int limit)
{
    j->state = j->state * 1664525u + 1013904223u;
    return (int)((j->state >> 8) % (unsigned)limit);
}

static long value(int owner, int place, long turn)
{
    return owner * 1000000L + turn * 100 + place;
}

static void must(const job *j, long is, long wanted, const char *what)
{
    if (is == wanted)
        return;
    printf("rank %d, turn %ld, %s: %ld, but it should be %ld\n", j->rank, j->turn, what, is,
           wanted);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

// Nobody is in an epoch: the owners write anew, each under a lock of its own.
static void change(job *j)
{
    MPI_Barrier(MPI_COMM_WORLD);
    j->turn++;
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, j->rank, 0, j->win);
    for (int i = 0; i < STILL; i++)
        j->at[i] = value(j->rank, i, j->turn);
    MPI_Win_unlock(j->rank, j->win);
    MPI_Barrier(MPI_COMM_WORLD);
}

// A read of one or two still places, the second of which is `step` after the first.
typedef struct asked {
    long got[3];
    int place, who, many, step;
    int apart; // of `got`: where the second one is
} asked;

enum { GET, GET_ACCUMULATE, FETCH, RGET, RGET_ACCUMULATE, CALLS };

static void ask(job *j, asked *a, int call, MPI_Request *request)
{
    MPI_Datatype there = a->step == 2 ? j->wide : a->many == 2 ? j->pair : MPI_LONG;
    MPI_Datatype here = a->apart == 2 ? j->wide : a->many == 2 ? j->pair : MPI_LONG;
    if (call == FETCH && a->many == 2)
        call = GET;
    if (call == GET)
        MPI_Get(a->got, 1, here, a->who, a->place, 1, there, j->win);
    else if (call == RGET)
        MPI_Rget(a->got, 1, here, a->who, a->place, 1, there, j->win, request);
    else if (call == FETCH)
        MPI_Fetch_and_op(NULL, a->got, MPI_LONG, a->who, a->place, MPI_NO_OP, j->win);
    else if (call == GET_ACCUMULATE)
        MPI_Get_accumulate(NULL, 0, MPI_LONG, a->got, 1, here, a->who, a->place, 1, there,
                           MPI_NO_OP, j->win);
    else
        MPI_Rget_accumulate(NULL, 0, MPI_LONG, a->got, 1, here, a->who, a->place, 1, there,
                            MPI_NO_OP, j->win, request);
    j->gets++;
}

static void look(const job *j, const asked *a, const char *what)
{
    must(j, a->got[0], value(a->who, a->place, j->turn), what);
    if (a->many == 2)
        must(j, a->got[a->apart], value(a->who, a->place + a->step, j->turn), what);
    if (a->many == 1 || a->apart == 2)
        must(j, a->got[1], -2, "beside it");
}

// Random reads of still places, which are looked at when `done` has waited for them; those with a
// request when that is complete, and then the buffer is used for something else.
static void get_some(job *j, int target, void (*done)(job *j, int target), const char *what,
                     int calls)
{
    asked a[GETS];
    MPI_Request request;
    bool own[GETS];
    for (int i = 0; i < GETS; i++) {
        request = MPI_REQUEST_NULL;
        a[i] = (asked){.got = {-2, -2, -2},
                       .place = below(j, STILL - 2),
                       .who = target < 0 ? below(j, j->size) : target,
                       .many = 1 + below(j, 2),
                       .step = 1,
                       .apart = 1};
        if (a[i].many == 2) {
            a[i].step += below(j, 2);
            a[i].apart += below(j, 2);
        }
        int call = below(j, calls);
        ask(j, &a[i], call, &request);
        own[i] = call >= RGET;
        if (own[i]) {
            MPI_Wait(&request, MPI_STATUS_IGNORE);
            look(j, &a[i], what);
            memset(a[i].got, 1, sizeof a[i].got);
        }
    }
    done(j, target);
    for (int i = 0; i < GETS; i++)
        if (!own[i])
            look(j, &a[i], what);
}

static void fence(job *j, int target)
{
    (void)target;
    MPI_Win_fence(0, j->win);
}

static void complete(job *j, int target)
{
    (void)target;
    MPI_Win_complete(j->win);
}

static void flush(job *j, int target)
{
    if (target < 0)
        MPI_Win_flush_all(j->win);
    else
        MPI_Win_flush(target, j->win);
}

static void flush_local(job *j, int target)
{
    if (target < 0)
        MPI_Win_flush_local_all(j->win);
    else
        MPI_Win_flush_local(target, j->win);
}

static void in_fences(job *j)
{
    MPI_Win_fence(0, j->win);
    get_some(j, -1, fence, "fence", RGET);
    MPI_Win_fence(MPI_MODE_NOSUCCEED, j->win);
}

static void started(job *j)
{
    MPI_Win_post(j->all, 0, j->win);
    MPI_Win_start(j->all, 0, j->win);
    get_some(j, -1, complete, "start", RGET);
    MPI_Win_wait(j->win);
}

static long get_one(job *j, int target, int place)
{
    long got = -1;
    MPI_Get(&got, 1, MPI_LONG, target, place, 1, MPI_LONG, j->win);
    MPI_Win_flush(target, j->win);
    j->gets++;
    return got;
}

// A counter of the target's that all ranks raise: what the rank has changed itself it sees, and what
// others have changed since its last lock.
static void locked(job *j)
{
    int target = below(j, j->size);
    long one = 1;
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, j->win);
    long was = get_one(j, target, COUNTER), next = was + 1;
    must(j, get_one(j, target, COUNTER), was, "the counter again");
    MPI_Put(&next, 1, MPI_LONG, target, COUNTER, 1, MPI_LONG, j->win);
    MPI_Win_flush(target, j->win);
    must(j, get_one(j, target, COUNTER), next, "the counter after a put");
    MPI_Accumulate(&one, 1, MPI_LONG, target, COUNTER, 1, MPI_LONG, MPI_SUM, j->win);
    MPI_Win_flush(target, j->win);
    must(j, get_one(j, target, COUNTER), next + 1, "the counter after an accumulate");
    get_some(j, target, flush, "exclusive lock", CALLS);
    get_some(j, target, flush_local, "exclusive lock, again", CALLS);
    long asked = -1;
    MPI_Request request;
    MPI_Rget(&asked, 1, MPI_LONG, target, COUNTER, 1, MPI_LONG, j->win, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    must(j, asked, next + 1, "the counter by MPI_Rget");
    MPI_Fetch_and_op(&one, &asked, MPI_LONG, target, COUNTER, MPI_SUM, j->win);
    MPI_Win_flush(target, j->win);
    must(j, asked, next + 1, "the counter before a fetch");
    MPI_Fetch_and_op(NULL, &asked, MPI_LONG, target, COUNTER, MPI_NO_OP, j->win);
    MPI_Win_flush(target, j->win);
    must(j, asked, next + 2, "the counter after it");
    j->gets += 3;
    MPI_Win_unlock(target, j->win);
    j->counted += 3;
}

// A get of what is not there fails, at once or when it is waited for, and spoils nothing.
static void beyond(job *j)
{
    int target = (j->rank + 1) % j->size;
    long got = -1;
    MPI_Win_set_errhandler(j->win, MPI_ERRORS_RETURN);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, j->win);
    must(j, get_one(j, target, 0), value(target, 0, j->turn), "before an error");
    int code = MPI_Get(&got, 1, MPI_LONG, target, PLACES, 1, MPI_LONG, j->win);
    int later = MPI_Win_flush(target, j->win);
    must(j, code != MPI_SUCCESS || later != MPI_SUCCESS, 1, "an error");
    must(j, get_one(j, target, 0), value(target, 0, j->turn), "after an error");
    j->gets++;
    MPI_Win_unlock(target, j->win);
    MPI_Win_set_errhandler(j->win, MPI_ERRORS_ARE_FATAL);
}

static void shared(job *j, int rounds)
{
    MPI_Win_lock_all(0, j->win);
    for (int i = 0; i < rounds; i++) {
        get_some(j, -1, flush, "lock_all", CALLS);
        get_some(j, below(j, j->size), flush_local, "lock_all, one target", CALLS);
    }
    MPI_Win_unlock_all(j->win);
}

// A get that was not waited for does not answer one after a message that tells of a change: rank r
// reads from rank r + 1, into which rank r + 2 puts.
static void told(job *j)
{
    int next = (j->rank + 1) % j->size, before = (j->rank + j->size - 1) % j->size, none = 0;
    long news = j->turn, old = -1, got = -1, fetched = -1;
    MPI_Win_lock_all(0, j->win);
    MPI_Get(&old, 1, MPI_LONG, next, NEWS, 1, MPI_LONG, j->win);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Put(&news, 1, MPI_LONG, before, NEWS, 1, MPI_LONG, j->win);
    MPI_Win_flush(before, j->win);
    int reader = (before + j->size - 1) % j->size;
    MPI_Sendrecv(&none, 1, MPI_INT, reader, 0, &none, 1, MPI_INT, (j->rank + 2) % j->size, 0,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Get(&got, 1, MPI_LONG, next, NEWS, 1, MPI_LONG, j->win);
    MPI_Fetch_and_op(NULL, &fetched, MPI_LONG, next, NEWS, MPI_NO_OP, j->win);
    MPI_Win_flush(next, j->win);
    must(j, got, news, "what a message told of");
    must(j, fetched, news, "what a message told of, fetched");
    j->gets += 3;
    MPI_Win_unlock_all(j->win);
}

int main(int argc, char **argv)
{
    job j = {.rank = 0};
    MPI_Init(&argc, &argv);
    int rounds = atoi(argv[1]), promised = argc > 2;
    MPI_Comm_rank(MPI_COMM_WORLD, &j.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &j.size);
    MPI_Comm_group(MPI_COMM_WORLD, &j.all);
    j.at = calloc(PLACES, sizeof *j.at);
    MPI_Win_create(j.at, PLACES * sizeof *j.at, sizeof *j.at, MPI_INFO_NULL, MPI_COMM_WORLD,
                   &j.win);
    MPI_Win_set_name(j.win, "grid");
    MPI_Type_contiguous(2, MPI_LONG, &j.pair);
    MPI_Type_vector(2, 1, 2, MPI_LONG, &j.wide);
    MPI_Type_commit(&j.pair);
    MPI_Type_commit(&j.wide);
    unsigned kinds = 7; // the same on all ranks
    j.state = (unsigned)j.rank;
    for (int i = 0; i < rounds; i++) {
        change(&j);
        kinds = kinds * 1664525u + 1013904223u;
        switch (kinds >> 16 & 3) {
        case 0:
            in_fences(&j);
            break;
        case 1:
            started(&j);
            break;
        case 2:
            for (int k = below(&j, 3); k >= 0; k--)
                locked(&j);
            break;
        default:
            shared(&j, 2);
            if (!promised)
                told(&j);
        }
    }
    beyond(&j);
    long mine = 0, sums[2] = {j.gets, j.counted};
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, j.rank, 0, j.win);
    mine = j.at[COUNTER];
    MPI_Win_unlock(j.rank, j.win);
    MPI_Allreduce(MPI_IN_PLACE, sums, 2, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    MPI_Allreduce(MPI_IN_PLACE, &mine, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    must(&j, mine, sums[1], "all counters");
    if (j.rank == 0)
        printf("%ld gets\n", sums[0]);
    MPI_Type_free(&j.pair);
    MPI_Type_free(&j.wide);
    MPI_Group_free(&j.all);
    MPI_Win_free(&j.win);
    free(j.at);
    MPI_Finalize();
    return 0;
}
