// SPDX-License-Identifier: BSD-3-Clause
//
// Collectives along paths: results are right with every stack of wrappers, in all three forms; with
// `check`, ranks that disagree are told so, all of them, and go on.

#define _POSIX_C_SOURCE 200809L // mkstemp
#include <millet/coll.h>
#include <unistd.h>

#include "check.h"

enum { COUNT = 6, MOST = 64 };

static void load(MPI_Comm comm, const char *text)
{
    int me;
    char name[64];
    CHECK_OK(MPI_Comm_rank(comm, &me));
    if (me == 0) {
        snprintf(name, sizeof name, "/tmp/millet_paths_%ld_XXXXXX", (long)getpid());
        int fd = mkstemp(name);
        CHECK(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
        close(fd);
    }
    CHECK_OK(MPI_Bcast(name, sizeof name, MPI_CHAR, 0, comm));
    CHECK_OK(MPIX_Coll_load(comm, name));
    CHECK_OK(MPI_Barrier(comm));
    if (me == 0)
        unlink(name);
}

// ---- right results

static void check_blocking(MPI_Comm comm, int me, int n)
{
    double x = me, sum;
    int in[MOST], out[MOST];
    CHECK_OK(MPI_Allreduce(&x, &sum, 1, MPI_DOUBLE, MPI_SUM, comm));
    CHECK(sum == n * (n - 1) / 2);
    for (int root = 0; root < n; root++) {
        int value = me == root ? 100 + root : -1;
        CHECK_OK(MPI_Bcast(&value, 1, MPI_INT, root, comm));
        CHECK_INT(value, 100 + root);
        CHECK_OK(MPI_Gather(&me, 1, MPI_INT, out, 1, MPI_INT, root, comm));
        for (int i = 0; me == root && i < n; i++)
            CHECK_INT(out[i], i);
    }
    for (int i = 0; i < n; i++)
        in[i] = 10 * me + i;
    CHECK_OK(MPI_Alltoall(in, 1, MPI_INT, out, 1, MPI_INT, comm));
    for (int i = 0; i < n; i++)
        CHECK_INT(out[i], 10 * i + me);
    CHECK_OK(MPI_Barrier(comm));
    CHECK_OK(MPI_Scan(&me, out, 1, MPI_INT, MPI_SUM, comm));
    CHECK_INT(out[0], me * (me + 1) / 2);
}

static void check_others(MPI_Comm comm, int me, int n)
{
    MPI_Request requests[2 * COUNT];
    int in[2 * COUNT], out[2 * COUNT];
    for (int i = 0; i < COUNT; i++) {
        in[i] = me + i;
        CHECK_OK(MPI_Iallreduce(&in[i], &out[i], 1, MPI_INT, MPI_SUM, comm, &requests[i]));
    }
    CHECK_OK(MPI_Waitall(COUNT, requests, MPI_STATUSES_IGNORE));
    for (int i = 0; i < COUNT; i++)
        CHECK_INT(out[i], n * (n - 1) / 2 + n * i);
    for (int i = 0; i < COUNT; i++)
        CHECK_OK(MPI_Allreduce_init(&in[i], &out[i], 1, MPI_INT, MPI_MAX, comm, MPI_INFO_NULL,
                                    &requests[i]));
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < COUNT; i++)
            in[i] = me * 100 + round + i;
        for (int i = 0; i < COUNT; i++)
            CHECK_OK(MPI_Start(&requests[me % 2 ? i : COUNT - 1 - i])); // in any order
        CHECK_OK(MPI_Waitall(COUNT, requests, MPI_STATUSES_IGNORE));
        for (int i = 0; i < COUNT; i++)
            CHECK_INT(out[i], (n - 1) * 100 + round + i);
    }
    for (int i = 0; i < COUNT; i++)
        CHECK_OK(MPI_Request_free(&requests[i]));
}

// A delay that is under way does not keep the rank's other fibers and messages.
static void check_delay(MPI_Comm comm, int me, int n)
{
    MPI_Request request;
    int value = 0, sum;
    CHECK_OK(MPI_Iallreduce(&me, &sum, 1, MPI_INT, MPI_SUM, comm, &request));
    for (int i = 0; i < 20; i++)
        CHECK_OK(MPI_Sendrecv(&i, 1, MPI_INT, (me + 1) % n, 7, &value, 1, MPI_INT, (me + n - 1) % n,
                              7, comm, MPI_STATUS_IGNORE));
    CHECK_INT(value, 19);
    CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK_INT(sum, n * (n - 1) / 2);
}

// ---- ranks that disagree

enum wrong { WRONG_COLLECTIVE, WRONG_OP, WRONG_COUNT, WRONG_TYPE, WRONG_ROOT, WRONG_BYTES, WRONGS };

// A call of which the last rank's part differs; odd: it is the others' part.
static int call_wrong(MPI_Comm comm, enum wrong wrong, int odd, int form)
{
    int in[4] = {1, 2, 3, 4}, out[4];
    float real[4] = {1, 2, 3, 4}, real_out[4];
    MPI_Request request = MPI_REQUEST_NULL;
    int code;
    if (form == 0) {
        switch (wrong) {
        case WRONG_COLLECTIVE:
            return odd ? MPI_Bcast(in, 4, MPI_INT, 0, comm)
                       : MPI_Allreduce(in, out, 4, MPI_INT, MPI_SUM, comm);
        case WRONG_OP:
            return MPI_Allreduce(in, out, 4, MPI_INT, odd ? MPI_MAX : MPI_SUM, comm);
        case WRONG_COUNT:
            return MPI_Allreduce(in, out, odd ? 3 : 4, MPI_INT, MPI_SUM, comm);
        case WRONG_TYPE:
            return odd ? MPI_Allreduce(real, real_out, 4, MPI_FLOAT, MPI_SUM, comm)
                       : MPI_Allreduce(in, out, 4, MPI_INT, MPI_SUM, comm);
        case WRONG_ROOT:
            return MPI_Bcast(in, 4, MPI_INT, odd ? 1 : 0, comm);
        default:
            return odd ? MPI_Bcast(real, 4, MPI_FLOAT, 0, comm)
                       : MPI_Bcast(in, 4, MPI_INT, 0, comm);
        }
    }
    if (form == 1)
        code = odd ? MPI_Ibcast(in, 4, MPI_INT, 0, comm, &request)
                   : MPI_Iallreduce(in, out, 4, MPI_INT, MPI_SUM, comm, &request);
    else
        code =
            odd ? MPI_Bcast_init(in, 4, MPI_INT, 0, comm, MPI_INFO_NULL, &request)
                : MPI_Allreduce_init(in, out, 4, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, &request);
    CHECK_OK(code);
    if (form == 2)
        CHECK_OK(MPI_Start(&request));
    code = MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (form == 2)
        CHECK_OK(MPI_Request_free(&request));
    return code;
}

static void check_wrong(MPI_Comm comm, int me, int n)
{
    static const char *const odd_words[WRONGS] = {"says MPI_Bcast (16 bytes), root 0",
                                                  "(max of 4 Int32)",
                                                  "(sum of 3 Int32)",
                                                  "(sum of 4 Float32)",
                                                  "root 1",
                                                  "of another type"};
    char one[32], other[32], text[MPI_MAX_ERROR_STRING];
    int length;
    snprintf(one, sizeof one, "rank 0 says MPI_");
    snprintf(other, sizeof other, "rank %d says MPI_", n - 1);
    for (int wrong = 0; wrong < WRONGS; wrong++) {
        int code = call_wrong(comm, (enum wrong)wrong, me == n - 1, 0);
        CHECK_INT(error_class(code), MPI_ERR_ARG);
        CHECK_OK(MPI_Error_string(code, text, &length));
        if (!strstr(text, one) || !strstr(text, other) || !strstr(text, odd_words[wrong]))
            check_fail(__FILE__, __LINE__, "case %d is told so: %s", wrong, text);
        check_blocking(comm, me, n);
    }
    for (int form = 1; form < 3; form++)
        CHECK_ERROR(call_wrong(comm, WRONG_COLLECTIVE, me == n - 1, form), MPI_ERR_ARG, one, other);
    check_others(comm, me, n);
}

int main(int argc, char **argv)
{
    static const char *const paths[] = {
        "path { \"count\", \"combine\" }",
        "path { \"count\" }", // flat
        "path { \"check\", \"combine\" }",
        "path { \"combine\", \"check\", \"count\" }",
        "path { { \"delay\", us = 50 }, \"count\", \"combine\" }",
        "path { \"count\", \"combine\", { \"delay\", us = 50 } }",
        "path { coll = \"bcast\", \"count\", \"check\", { \"delay\", us = 20 } }",
        "path { coll = \"allreduce\", { \"delay\", us = 20 }, \"check\", \"combine\" }",
    };
    static const char checks[] = "path { coll = \"allreduce\", \"count\", \"check\", \"combine\" }";
    MPI_Comm comm;
    int me, n;
    CHECK_OK(MPI_Init(&argc, &argv));
    CHECK_OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    CHECK_OK(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
    CHECK_OK(MPI_Comm_rank(comm, &me));
    CHECK_OK(MPI_Comm_size(comm, &n));
    CHECK(n <= MOST);
    for (int i = 0; i < COUNT_OF(paths); i++) {
        load(comm, paths[i]);
        check_blocking(comm, me, n);
        check_others(comm, me, n);
        check_delay(comm, me, n);
    }
    load(comm, checks);
    if (n > 1)
        check_wrong(comm, me, n);
    CHECK_OK(MPIX_Coll_load(comm, NULL));
    check_blocking(comm, me, n);
    CHECK_OK(MPI_Comm_free(&comm));
    CHECK_OK(MPI_Finalize());
    return 0;
}
