// SPDX-License-Identifier: BSD-3-Clause
// Two jobs that connect: `ports accept|connect FILE WHAT [N]`. The name of the port is in FILE. Every
// byte is checked; a job that finds something wrong ends with status 1.
#include <dirent.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

// What a rank knows. Not in globals: where a sanitizer runs, the ranks of a process share these.
typedef struct self {
    int rank, size, far_size; // of the job, and of the other one
    int accepts;
    const char *file;
} self;

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            printf("%s %d: line %d: %s\n", me->accepts ? "accept" : "connect", me->rank, __LINE__, \
                   #condition);                                                                    \
            fflush(stdout);                                                                        \
            MPI_Abort(MPI_COMM_WORLD, 1);                                                          \
        }                                                                                          \
    } while (0)

static void say(self *me, const char *text)
{
    if (me->rank == 0) {
        printf("%s\n", text);
        fflush(stdout);
    }
}

// ---- connecting

static void write_name(self *me, const char *name)
{
    char other[4096];
    snprintf(other, sizeof other, "%s.new", me->file);
    FILE *f = fopen(other, "w");
    CHECK(f && fputs(name, f) >= 0 && fclose(f) == 0 && rename(other, me->file) == 0);
}

static void read_name(self *me, char name[MPI_MAX_PORT_NAME])
{
    FILE *f;
    while (!(f = fopen(me->file, "r")))
        usleep(2000);
    CHECK(fgets(name, MPI_MAX_PORT_NAME, f));
    fclose(f);
}

static MPI_Comm meet(self *me, const char *name, MPI_Comm comm)
{
    MPI_Comm inter;
    MPI_Info wild = (MPI_Info)(uintptr_t)0x1001;
    int rank;
    MPI_Comm_rank(comm, &rank);
    const char *here = rank ? NULL : name; // name and info count at the root only
    MPI_Info info = rank ? wild : MPI_INFO_NULL;
    if (me->accepts)
        MPI_Comm_accept(here, info, 0, comm, &inter);
    else
        MPI_Comm_connect(here, info, 0, comm, &inter);
    MPI_Comm_remote_size(inter, &me->far_size);
    return inter;
}

static void get_name(self *me, char name[MPI_MAX_PORT_NAME])
{
    if (me->rank != 0)
        return;
    if (me->accepts) {
        MPI_Open_port(MPI_INFO_NULL, name);
        write_name(me, name);
    } else {
        read_name(me, name);
    }
}

// ---- messages

static unsigned char byte_of(int from, int to, int number, size_t i)
{
    return (unsigned char)((size_t)from * 31 + (size_t)to * 17 + (size_t)number * 7 + i * 13 +
                           i / 251);
}

static void fill(unsigned char *buf, size_t bytes, int from, int to, int number)
{
    for (size_t i = 0; i < bytes; i++)
        buf[i] = byte_of(from, to, number, i);
}

static void compare(self *me, const unsigned char *buf, size_t bytes, int from, int to, int number)
{
    for (size_t i = 0; i < bytes; i++)
        CHECK(buf[i] == byte_of(from, to, number, i));
}

// Ranks of the two sides have different numbers: those of the accepting one come second.
static int mine(self *me)
{
    return me->rank + 1000 * me->accepts;
}

static int theirs(self *me, int r)
{
    return r + 1000 * !me->accepts;
}

// Both ways at once, every rank with one of the other side.
static void swap_bytes(self *me, MPI_Comm inter, size_t bytes, int number)
{
    int other = me->rank, pairs = me->size < me->far_size ? me->size : me->far_size;
    if (me->rank >= pairs)
        return;
    unsigned char *out = malloc(bytes + 1), *in = malloc(bytes + 1);
    MPI_Status status;
    int count;
    fill(out, bytes, mine(me), theirs(me, other), number);
    memset(in, 0, bytes + 1);
    MPI_Sendrecv(out, (int)bytes, MPI_BYTE, other, number, in, (int)bytes, MPI_BYTE, other, number,
                 inter, &status);
    MPI_Get_count(&status, MPI_BYTE, &count);
    CHECK(count == (int)bytes && status.MPI_SOURCE == other && status.MPI_TAG == number);
    compare(me, in, bytes, theirs(me, other), mine(me), number);
    free(out);
    free(in);
}

static void all_to_all(self *me, MPI_Comm inter, size_t bytes, int sync)
{
    MPI_Request *reqs = malloc(2 * (size_t)me->far_size * sizeof *reqs);
    unsigned char *out = malloc((size_t)me->far_size * bytes + 1),
                  *in = malloc((size_t)me->far_size * bytes + 1);
    for (int r = 0; r < me->far_size; r++) {
        fill(out + (size_t)r * bytes, bytes, mine(me), theirs(me, r), 3);
        MPI_Irecv(in + (size_t)r * bytes, (int)bytes, MPI_BYTE, r, 3, inter, &reqs[r]);
    }
    for (int r = 0; r < me->far_size; r++)
        (sync ? MPI_Issend : MPI_Isend)(out + (size_t)r * bytes, (int)bytes, MPI_BYTE, r, 3, inter,
                                        &reqs[me->far_size + r]);
    MPI_Waitall(2 * me->far_size, reqs, MPI_STATUSES_IGNORE);
    for (int r = 0; r < me->far_size; r++)
        compare(me, in + (size_t)r * bytes, bytes, theirs(me, r), mine(me), 3);
    free(reqs);
    free(out);
    free(in);
}

static void gaps(self *me, MPI_Comm inter)
{
    enum { BLOCKS = 20000 };
    MPI_Datatype every_second;
    int pairs = me->size < me->far_size ? me->size : me->far_size;
    MPI_Type_vector(BLOCKS, 1, 2, MPI_INT, &every_second);
    MPI_Type_commit(&every_second);
    int *out = malloc(2 * BLOCKS * sizeof *out), *in = calloc(2 * BLOCKS, sizeof *in);
    for (int i = 0; i < 2 * BLOCKS; i++)
        out[i] = mine(me) + i;
    if (me->rank < pairs)
        MPI_Sendrecv(out, 1, every_second, me->rank, 9, in, 1, every_second, me->rank, 9, inter,
                     MPI_STATUS_IGNORE);
    for (int i = 0; me->rank < pairs && i < 2 * BLOCKS - 1; i++)
        CHECK(in[i] == (i % 2 ? 0 : theirs(me, me->rank) + i));
    free(out);
    free(in);
    MPI_Type_free(&every_second);
}

static void probes(self *me, MPI_Comm inter)
{
    int x = mine(me), y = -1, flag = 0, count;
    MPI_Status status;
    MPI_Message message;
    MPI_Request req;
    if (me->rank == 0) {
        MPI_Issend(&x, 1, MPI_INT, 0, 77, inter, &req);
        MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, inter, &status);
        MPI_Get_count(&status, MPI_INT, &count);
        CHECK(status.MPI_SOURCE == 0 && status.MPI_TAG == 77 && count == 1);
        MPI_Mprobe(0, 77, inter, &message, &status);
        MPI_Mrecv(&y, 1, MPI_INT, &message, &status);
        CHECK(y == theirs(me, 0));
        MPI_Wait(&req, &status);
        MPI_Iprobe(0, 77, inter, &flag, &status);
        CHECK(!flag);
        // A send that nobody receives can be cancelled.
        MPI_Issend(&x, 1, MPI_INT, 0, 78, inter, &req);
        MPI_Cancel(&req);
        MPI_Wait(&req, &status);
        MPI_Test_cancelled(&status, &flag);
        CHECK(flag);
    }
}

static void persistent(self *me, MPI_Comm inter)
{
    int x = 0, y = -1;
    MPI_Request reqs[2];
    if (me->rank != 0)
        return;
    MPI_Send_init(&x, 1, MPI_INT, 0, 5, inter, &reqs[0]);
    MPI_Recv_init(&y, 1, MPI_INT, 0, 5, inter, &reqs[1]);
    for (int i = 0; i < 10; i++) {
        x = mine(me) + i;
        MPI_Startall(2, reqs);
        MPI_Waitall(2, reqs, MPI_STATUSES_IGNORE);
        CHECK(y == theirs(me, 0) + i);
    }
    MPI_Request_free(&reqs[0]);
    MPI_Request_free(&reqs[1]);
}

// ---- collectives

static void between(self *me, MPI_Comm inter)
{
    int x = mine(me), sum = 0, expected = 0;
    for (int r = 0; r < me->far_size; r++)
        expected += theirs(me, r);
    MPI_Barrier(inter);
    MPI_Allreduce(&x, &sum, 1, MPI_INT, MPI_SUM, inter);
    CHECK(sum == expected);
    int *all = malloc((size_t)me->far_size * sizeof *all);
    MPI_Allgather(&x, 1, MPI_INT, all, 1, MPI_INT, inter);
    for (int r = 0; r < me->far_size; r++)
        CHECK(all[r] == theirs(me, r));
    free(all);
    int y = me->accepts ? 4711 : 0;
    MPI_Bcast(&y, 1, MPI_INT, me->accepts ? (me->rank == 0 ? MPI_ROOT : MPI_PROC_NULL) : 0, inter);
    CHECK(y == (me->accepts ? 4711 : 4711));
    int total = 0;
    MPI_Reduce(&x, &total, 1, MPI_INT, MPI_SUM,
               me->accepts     ? 0
               : me->rank == 0 ? MPI_ROOT
                               : MPI_PROC_NULL,
               inter);
    CHECK(me->accepts || me->rank != 0 || total == expected);
}

static void within(self *me, MPI_Comm all)
{
    int r, n, sum = 0, x, y;
    MPI_Comm_rank(all, &r);
    MPI_Comm_size(all, &n);
    int *block = malloc((size_t)n * sizeof *block), *got = malloc((size_t)n * sizeof *got);
    for (int root = 0; root<n; root += n> 4 ? n / 3 : 1) {
        x = r == root ? root + 17 : 0;
        MPI_Bcast(&x, 1, MPI_INT, root, all);
        CHECK(x == root + 17);
        sum = 0;
        MPI_Reduce(&r, &sum, 1, MPI_INT, MPI_SUM, root, all);
        CHECK(r != root || sum == n * (n - 1) / 2);
        MPI_Gather(&r, 1, MPI_INT, block, 1, MPI_INT, root, all);
        for (int i = 0; r == root && i < n; i++)
            CHECK(block[i] == i);
        for (int i = 0; i < n; i++)
            block[i] = 3 * i;
        MPI_Scatter(block, 1, MPI_INT, &y, 1, MPI_INT, root, all);
        CHECK(y == 3 * r);
    }
    MPI_Allreduce(&r, &sum, 1, MPI_INT, MPI_SUM, all);
    CHECK(sum == n * (n - 1) / 2);
    MPI_Scan(&r, &sum, 1, MPI_INT, MPI_SUM, all);
    CHECK(sum == r * (r + 1) / 2);
    for (int i = 0; i < n; i++)
        block[i] = r * 1000 + i;
    MPI_Alltoall(block, 1, MPI_INT, got, 1, MPI_INT, all);
    for (int i = 0; i < n; i++)
        CHECK(got[i] == i * 1000 + r);
    MPI_Reduce_scatter_block(got, &sum, 1, MPI_INT, MPI_SUM, all);
    CHECK(sum == n * (n - 1) / 2 + n * r * 1000);
    enum { MUCH = 40000 };
    double *in = malloc(MUCH * sizeof *in), *out = malloc(MUCH * sizeof *out);
    for (int i = 0; i < MUCH; i++)
        in[i] = r + i;
    MPI_Allreduce(in, out, MUCH, MPI_DOUBLE, MPI_SUM, all);
    for (int i = 0; i < MUCH; i++)
        CHECK(out[i] == (double)n * (n - 1) / 2 + (double)n * i);
    MPI_Request req;
    MPI_Iallgather(&r, 1, MPI_INT, got, 1, MPI_INT, all, &req);
    MPI_Wait(&req, MPI_STATUS_IGNORE);
    for (int i = 0; i < n; i++)
        CHECK(got[i] == i);
    MPI_Barrier(all);
    free(in);
    free(out);
    free(block);
    free(got);
}

// Communicators and groups that are made of it.
static void descend(self *me, MPI_Comm inter, MPI_Comm all)
{
    int r, n, result, flag, m;
    MPI_Comm_rank(all, &r);
    MPI_Comm_size(all, &n);
    MPI_Comm half, copy, some, inner, again, shared;
    MPI_Group whole, far, near, odd;
    MPI_Comm_split(all, r % 2, -r, &half);
    within(me, half);
    MPI_Comm_dup(all, &copy);
    within(me, copy);
    MPI_Comm_compare(all, copy, &result);
    CHECK(result == MPI_CONGRUENT);
    MPI_Comm_group(all, &whole);
    MPI_Comm_group(inter, &near);
    MPI_Comm_remote_group(inter, &far);
    int zero = 0, at;
    MPI_Group_translate_ranks(far, 1, &zero, whole, &at);
    CHECK(at == (me->accepts ? 0 : me->far_size >= 0 ? me->size : 0));
    MPI_Group_intersection(near, far, &odd);
    MPI_Group_size(odd, &m);
    CHECK(m == 0);
    MPI_Group_free(&odd);
    MPI_Group_union(near, far, &odd);
    MPI_Group_compare(odd, whole, &result);
    CHECK(result == (me->accepts ? MPI_SIMILAR : MPI_IDENT));
    MPI_Group_free(&odd);
    int range[1][3] = {{n > 1, n - 1, 2}};
    MPI_Group_range_incl(whole, 1, range, &odd);
    MPI_Comm_create(all, odd, &some);
    if (some != MPI_COMM_NULL) {
        within(me, some);
        MPI_Comm_free(&some);
        MPI_Comm_create_group(all, odd, 6, &some);
        within(me, some);
        MPI_Comm_free(&some);
    }
    MPI_Group_free(&odd);
    MPI_Comm_split(inter, 0, me->rank, &inner); // an intercommunicator again
    MPI_Comm_test_inter(inner, &flag);
    CHECK(flag);
    between(me, inner);
    MPI_Comm_free(&inner);
    // Leaders are in the merged communicator: of the side that comes first rank 0 is.
    MPI_Intercomm_create(MPI_COMM_WORLD, 0, all, me->accepts ? 0 : me->size, 12, &again);
    between(me, again);
    MPI_Comm_disconnect(&again);
    MPI_Comm_split_type(all, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &shared);
    MPI_Comm_size(shared, &m);
    CHECK(m >= 1 && m <= me->size);
    MPI_Comm_free(&shared);
    MPI_Group_free(&whole);
    MPI_Group_free(&near);
    MPI_Group_free(&far);
    MPI_Comm_free(&half);
    MPI_Comm_disconnect(&copy);
}

enum { CELLS = 5000 }; // more than a packet takes

// Every rank puts a row into the next rank's memory, which may be of the other job, and reads it back.
static void put_and_get(self *me, MPI_Win win, int rank, int n)
{
    int to = (rank + 1) % n, *row = malloc(2 * CELLS * sizeof *row), *back = row + CELLS;
    CHECK(row != NULL);
    for (int i = 0; i < CELLS; i++)
        row[i] = rank * 7 + i;
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, to, 0, win);
    MPI_Put(row, CELLS, MPI_INT, to, 1, CELLS, MPI_INT, win);
    MPI_Win_flush(to, win);
    MPI_Get(back, CELLS, MPI_INT, to, 1, CELLS, MPI_INT, win);
    MPI_Win_unlock(to, win);
    for (int i = 0; i < CELLS; i++)
        CHECK(back[i] == row[i]);
    free(row);
}

// Locks and accumulates at rank 0, a fence, and a displacement that is too large, over both jobs.
static void windows(self *me, MPI_Comm all)
{
    MPI_Win win;
    int *base, rank, n, one = 1, before = -1, code, class;
    MPI_Comm_rank(all, &rank);
    MPI_Comm_size(all, &n);
    MPI_Win_allocate((MPI_Aint)((CELLS + 1) * sizeof(int)), sizeof(int), MPI_INFO_NULL, all, &base,
                     &win);
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    base[0] = 0;
    MPI_Win_fence(MPI_MODE_NOPRECEDE, win);
    MPI_Accumulate(&one, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_SUM, win);
    MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
    MPI_Win_lock_all(0, win);
    MPI_Fetch_and_op(&one, &before, MPI_INT, 0, 0, MPI_SUM, win);
    MPI_Win_flush(0, win);
    CHECK(before >= n && before < 2 * n);
    MPI_Win_unlock_all(win);
    put_and_get(me, win, rank, n);
    MPI_Win_lock(MPI_LOCK_SHARED, (rank + n / 2) % n, 0, win);
    code = MPI_Put(&one, 1, MPI_INT, (rank + n / 2) % n, CELLS + 1, 1, MPI_INT, win);
    if (code == MPI_SUCCESS) // the other job's worker tells it
        code = MPI_Win_flush((rank + n / 2) % n, win);
    MPI_Error_class(code, &class);
    CHECK(class == MPI_ERR_RMA_RANGE);
    MPI_Win_unlock((rank + n / 2) % n, win);
    MPI_Barrier(all);
    MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win);
    CHECK(base[0] == (rank == 0 ? 2 * n : 0));
    for (int i = 0; i < CELLS; i++)
        CHECK(base[i + 1] == (rank + n - 1) % n * 7 + i);
    MPI_Win_unlock(rank, win);
    MPI_Win_free(&win);
}

// A ring of partitioned messages over both jobs, of short partitions and of long ones.
static void partitions(self *me, MPI_Comm all, int cells)
{
    enum { PARTS = 6 };
    int rank, n, *out = malloc(2 * PARTS * (size_t)cells * sizeof *out), *in = out + PARTS * cells;
    MPI_Request req[2];
    CHECK(out != NULL);
    MPI_Comm_rank(all, &rank);
    MPI_Comm_size(all, &n);
    int left = (rank + n - 1) % n;
    MPI_Psend_init(out, PARTS, cells, MPI_INT, (rank + 1) % n, 3, all, MPI_INFO_NULL, &req[0]);
    MPI_Precv_init(in, PARTS / 2, 2 * cells, MPI_INT, left, 3, all, MPI_INFO_NULL, &req[1]);
    for (int round = 0; round < 3; round++) {
        MPI_Startall(2, req);
        for (int part = PARTS - 1; part >= 0; part--) {
            for (int i = part * cells; i < (part + 1) * cells; i++)
                out[i] = rank * 11 + round + i;
            MPI_Pready(part, req[0]);
        }
        MPI_Waitall(2, req, MPI_STATUSES_IGNORE);
        for (int i = 0; i < PARTS * cells; i++)
            CHECK(in[i] == left * 11 + round + i);
    }
    MPI_Request_free(&req[0]);
    MPI_Request_free(&req[1]);
    free(out);
}

// What does not work between jobs is an error.
static void refused(self *me, MPI_Comm all)
{
    MPI_Win win;
    void *base;
    MPI_Group group;
    MPI_Comm comm;
    int code, class;
    MPI_Comm_set_errhandler(all, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    code = MPI_Win_allocate_shared(8, 1, MPI_INFO_NULL, all, &base, &win);
    MPI_Error_class(code, &class);
    CHECK(class == MPI_ERR_RMA_SHARED);
    MPI_Comm_group(all, &group);
    code = MPI_Comm_create_from_group(group, "x", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm);
    MPI_Error_class(code, &class);
    CHECK(class == MPI_ERR_GROUP);
    MPI_Group_free(&group);
    MPI_Comm_set_errhandler(all, MPI_ERRORS_ARE_FATAL);
}

// ---- what is asked for

static void everything(self *me, int times)
{
    char name[MPI_MAX_PORT_NAME] = "";
    get_name(me, name);
    MPI_Comm inter = meet(me, name, MPI_COMM_WORLD), all;
    for (int i = 0; i < times; i++) {
        swap_bytes(me, inter, 0, 10 + i);
        swap_bytes(me, inter, 8, 20 + i);
        swap_bytes(me, inter, 5000, 30 + i);
        swap_bytes(me, inter, 40000, 40 + i);
        swap_bytes(me, inter, 1000000, 50 + i);
        all_to_all(me, inter, 100, 0);
        all_to_all(me, inter, 30000, 1);
        all_to_all(me, inter, 200000, 0);
    }
    gaps(me, inter);
    probes(me, inter);
    persistent(me, inter);
    between(me, inter);
    MPI_Intercomm_merge(inter, me->accepts, &all);
    within(me, all);
    descend(me, inter, all);
    windows(me, all);
    partitions(me, all, 10);
    partitions(me, all, 100000);
    refused(me, all);
    MPI_Comm_disconnect(&all);
    MPI_Comm_disconnect(&inter);
    if (me->accepts && me->rank == 0)
        MPI_Close_port(name);
    say(me, "everything is right");
}

static int descriptors(void)
{
    int n = 0;
    DIR *d = opendir("/proc/self/fd");
    while (d && readdir(d))
        n++;
    if (d)
        closedir(d);
    return n;
}

// A sanitizer's own memory grows with time, so there it is not looked at.
static long pages(self *me)
{
#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
    return 0;
#endif
    long all, resident = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    CHECK(f && fscanf(f, "%ld %ld", &all, &resident) == 2);
    fclose(f);
    return resident;
}

static void again(self *me, int times)
{
    char name[MPI_MAX_PORT_NAME] = "";
    int before = 0;
    long memory = 0;
    get_name(me, name);
    for (int i = 0; i < times; i++) {
        MPI_Comm inter = meet(me, name, MPI_COMM_WORLD);
        swap_bytes(me, inter, 1000, i);
        between(me, inter);
        MPI_Comm_disconnect(&inter);
        if (i == times / 10) {
            before = descriptors();
            memory = pages(me);
        }
    }
    CHECK(descriptors() <= before + 2 && pages(me) <= memory + 64);
    say(me, "as before");
}

// Connected, and waits for what never comes.
static void sit(self *me)
{
    char name[MPI_MAX_PORT_NAME] = "";
    int x;
    get_name(me, name);
    MPI_Comm inter = meet(me, name, MPI_COMM_WORLD);
    swap_bytes(me, inter, 8, 1);
    MPI_Barrier(MPI_COMM_WORLD);
    say(me, "sits");
    MPI_Recv(&x, 1, MPI_INT, 0, 99, inter, MPI_STATUS_IGNORE);
}

// One ends, connected, and the other one waits for it.
static void leave(self *me)
{
    char name[MPI_MAX_PORT_NAME] = "";
    int x;
    get_name(me, name);
    MPI_Comm inter = meet(me, name, MPI_COMM_WORLD);
    swap_bytes(me, inter, 8, 1);
    if (me->accepts)
        MPI_Recv(&x, 1, MPI_INT, 0, 99, inter, MPI_STATUS_IGNORE);
}

// The last thing before the end is a message to a process without a connection until then.
static void last(self *me)
{
    char name[MPI_MAX_PORT_NAME] = "";
    int x = me->rank;
    get_name(me, name);
    MPI_Comm inter = meet(me, name, MPI_COMM_WORLD);
    if (!me->accepts)
        MPI_Send(&x, 1, MPI_INT, 0, 5, inter);
    for (int i = 0; me->accepts && i < me->far_size; i++) {
        MPI_Recv(&x, 1, MPI_INT, i, 5, inter, MPI_STATUS_IGNORE);
        CHECK(x == i);
    }
    usleep(100000); // the connection comes meanwhile
    say(me, "all came");
}

// Connected and disconnected: what happens to the other job does not matter.
static void apart(self *me)
{
    char name[MPI_MAX_PORT_NAME] = "", c;
    get_name(me, name);
    MPI_Comm inter = meet(me, name, MPI_COMM_WORLD);
    swap_bytes(me, inter, 100000, 1);
    MPI_Comm_disconnect(&inter);
    MPI_Barrier(MPI_COMM_WORLD);
    say(me, "apart");
    if (me->rank == 0)
        CHECK(read(0, &c, 1) >= 0); // until the runner has done something
    within(me, MPI_COMM_WORLD);
    say(me, "well");
}

static int class_of(int code)
{
    int class;
    MPI_Error_class(code, &class);
    return class;
}

static void told(self *me, int code, const char *word)
{
    char text[MPI_MAX_ERROR_STRING];
    int length;
    MPI_Error_string(code, text, &length);
    if (!strstr(text, word))
        printf("'%s' is not in: %s\n", word, text);
    CHECK(strstr(text, word));
}

static void errors(self *me)
{
    char name[MPI_MAX_PORT_NAME] = "", bad[MPI_MAX_PORT_NAME];
    MPI_Comm inter;
    MPI_Info info;
    int code;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    code = MPI_Comm_connect("no port", MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter);
    CHECK(class_of(code) == MPI_ERR_PORT && inter == MPI_COMM_NULL);
    told(me, code, "no name of a port");
    code = MPI_Comm_connect(name, MPI_INFO_NULL, me->size, MPI_COMM_WORLD, &inter);
    CHECK(class_of(code) == MPI_ERR_ROOT);
    if (me->rank == 0) {
        MPI_Open_port(MPI_INFO_NULL, name);
        memcpy(bad, name, sizeof bad);
        char *key = strchr(strchr(bad, ';') + 1, ';') + 1;
        *key = *key == '0' ? '1' : '0'; // another secret
    }
    code = MPI_Comm_connect(bad, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter);
    CHECK(class_of(code) == MPI_ERR_PORT);
    told(me, code, "nobody answers as the port should");
    code = MPI_Comm_accept(bad, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter);
    CHECK(class_of(code) == MPI_ERR_PORT);
    told(me, code, "no such port");
    MPI_Info_create(&info);
    MPI_Info_set(info, "timeout", "0.3");
    double start = MPI_Wtime();
    code = MPI_Comm_connect(name, info, 0, MPI_COMM_WORLD, &inter);
    CHECK(class_of(code) == MPI_ERR_PORT && MPI_Wtime() - start >= 0.25);
    told(me, code, "in time");
    code = MPI_Comm_accept(name, info, 0, MPI_COMM_WORLD, &inter);
    CHECK(class_of(code) == MPI_ERR_PORT);
    MPI_Info_set(info, "timeout", "soon");
    // What is wrong at the root alone, all ranks hear of.
    code = MPI_Comm_accept(name, me->rank ? MPI_INFO_NULL : info, 0, MPI_COMM_WORLD, &inter);
    CHECK(class_of(code) == MPI_ERR_INFO_VALUE);
    told(me, code, "soon");
    MPI_Info_free(&info);
    code = MPI_Comm_connect(me->rank ? name : NULL, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter);
    CHECK(class_of(code) == MPI_ERR_ARG && inter == MPI_COMM_NULL);
    told(me, code, "port_name of the root is NULL");
    info = (MPI_Info)(uintptr_t)0x1001;
    code = MPI_Comm_connect(name, me->rank ? MPI_INFO_NULL : info, 0, MPI_COMM_WORLD, &inter);
    CHECK(class_of(code) == MPI_ERR_INFO && inter == MPI_COMM_NULL);
    told(me, code, "info of the root");
    if (me->rank == 0)
        MPI_Close_port(name);
    code = MPI_Comm_connect(name, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter);
    CHECK(class_of(code) == MPI_ERR_PORT);
    code = MPI_Comm_accept(name, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter);
    CHECK(class_of(code) == MPI_ERR_PORT);
    if (me->rank == 0) {
        code = MPI_Close_port(name);
        CHECK(class_of(code) == MPI_ERR_PORT);
        if (me->accepts)
            write_name(me, name); // of a job that is gone when it is used
    }
    say(me, "errors are right");
}

static void stale(self *me)
{
    char name[MPI_MAX_PORT_NAME] = "";
    MPI_Comm inter;
    if (me->rank == 0)
        read_name(me, name);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    int code = MPI_Comm_connect(name, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter);
    CHECK(class_of(code) == MPI_ERR_PORT);
    told(me, code, "its job has ended");
    say(me, "stale");
}

// One accepts from several jobs, which may connect at the same time.
static void queue(self *me, int times)
{
    char name[MPI_MAX_PORT_NAME] = "";
    get_name(me, name);
    for (int i = 0; i < (me->accepts ? times : 1); i++) {
        MPI_Comm inter = meet(me, name, MPI_COMM_WORLD);
        swap_bytes(me, inter, 1000, 1);
        between(me, inter);
        MPI_Comm_disconnect(&inter);
    }
    say(me, "all came");
}

// Both sides are of one job.
static void within_job(self *me)
{
    char name[MPI_MAX_PORT_NAME] = "";
    MPI_Comm half;
    CHECK(me->size % 2 == 0);
    me->accepts = me->rank % 2;
    if (me->rank == 1)
        MPI_Open_port(MPI_INFO_NULL, name);
    MPI_Bcast(name, sizeof name, MPI_CHAR, 1, MPI_COMM_WORLD);
    MPI_Comm_split(MPI_COMM_WORLD, me->accepts, me->rank, &half);
    MPI_Comm inter = meet(me, name, half), all;
    me->rank /= 2;
    me->size /= 2;
    between(me, inter);
    MPI_Intercomm_merge(inter, me->accepts, &all);
    within(me, all);
    MPI_Comm_disconnect(&all);
    MPI_Comm_disconnect(&inter);
    MPI_Comm_free(&half);
    if (me->accepts)
        me->rank++;
    say(me, "one job");
}

static void join(self *me)
{
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    snprintf(to.sun_path, sizeof to.sun_path, "%s", me->file);
    int fd = socket(AF_UNIX, SOCK_STREAM, 0), peer = fd;
    if (me->rank == 0) {
        if (me->accepts) {
            CHECK(bind(fd, (struct sockaddr *)&to, sizeof to) == 0 && listen(fd, 1) == 0);
            peer = accept(fd, NULL, NULL);
        } else {
            while (connect(fd, (struct sockaddr *)&to, sizeof to) != 0)
                usleep(2000);
        }
        MPI_Comm inter;
        MPI_Comm_join(peer, &inter);
        int x = mine(me), y = -1;
        char c = 'x', d = 0;
        MPI_Sendrecv(&x, 1, MPI_INT, 0, 1, &y, 1, MPI_INT, 0, 1, inter, MPI_STATUS_IGNORE);
        CHECK(y == theirs(me, 0));
        CHECK(write(peer, &c, 1) == 1 && read(peer, &d, 1) == 1 &&
              d == c); // the socket is as it was
        MPI_Comm_disconnect(&inter);
    }
    close(fd);
    say(me, "joined");
}

// By a name that others can look up.
static void service(self *me)
{
    char name[MPI_MAX_PORT_NAME] = "";
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    if (me->rank == 0 && me->accepts) {
        MPI_Open_port(MPI_INFO_NULL, name);
        MPI_Publish_name("ports", MPI_INFO_NULL, name);
    } else if (me->rank == 0) {
        while (MPI_Lookup_name("ports", MPI_INFO_NULL, name) != MPI_SUCCESS)
            usleep(10000);
    }
    MPI_Comm inter = meet(me, name, MPI_COMM_WORLD);
    between(me, inter);
    MPI_Comm_disconnect(&inter);
    if (me->rank == 0 && me->accepts)
        MPI_Unpublish_name("ports", MPI_INFO_NULL, name);
    say(me, "served");
}

int main(int argc, char **argv)
{
    self *me = &(self){0};
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me->rank);
    MPI_Comm_size(MPI_COMM_WORLD, &me->size);
    if (argc < 4)
        return 2;
    me->accepts = strcmp(argv[1], "accept") == 0;
    me->file = argv[2];
    const char *what = argv[3];
    int n = argc > 4 ? atoi(argv[4]) : 1;
    if (strcmp(what, "everything") == 0)
        everything(me, n);
    else if (strcmp(what, "again") == 0)
        again(me, n);
    else if (strcmp(what, "sit") == 0)
        sit(me);
    else if (strcmp(what, "leave") == 0)
        leave(me);
    else if (strcmp(what, "last") == 0)
        last(me);
    else if (strcmp(what, "apart") == 0)
        apart(me);
    else if (strcmp(what, "errors") == 0)
        errors(me);
    else if (strcmp(what, "stale") == 0)
        stale(me);
    else if (strcmp(what, "queue") == 0)
        queue(me, n);
    else if (strcmp(what, "within") == 0)
        within_job(me);
    else if (strcmp(what, "join") == 0)
        join(me);
    else if (strcmp(what, "service") == 0)
        service(me);
    else
        return 2;
    MPI_Finalize();
    return 0;
}
