// SPDX-License-Identifier: BSD-3-Clause
//
// Rules that change between calls: info keys of a communicator and rule books that are loaded for it. A
// wrong one is told on all ranks, and nothing changes; results are right before and after.

#define _POSIX_C_SOURCE 200809L // mkstemp
#include <millet/coll.h>
#include <unistd.h>

#include "check.h"

enum { COUNT = 40 };

static void check_sums(MPI_Comm comm)
{
    int me, n, in[COUNT], out[COUNT];
    MPI_Request request;
    CHECK_OK(MPI_Comm_rank(comm, &me));
    CHECK_OK(MPI_Comm_size(comm, &n));
    for (int form = 0; form < 2; form++) {
        for (int i = 0; i < COUNT; i++)
            in[i] = me + i;
        if (form == 0) {
            CHECK_OK(MPI_Allreduce(in, out, COUNT, MPI_INT, MPI_SUM, comm));
        } else {
            CHECK_OK(MPI_Iallreduce(in, out, COUNT, MPI_INT, MPI_SUM, comm, &request));
            CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
        }
        for (int i = 0; i < COUNT; i++)
            CHECK_INT(out[i], n * (n - 1) / 2 + n * i);
        out[0] = me == n - 1 ? 77 : 0;
        CHECK_OK(MPI_Bcast(out, 1, MPI_INT, n - 1, comm));
        CHECK_INT(out[0], 77);
    }
}

static int set(MPI_Comm comm, const char *key, const char *value)
{
    MPI_Info info;
    CHECK_OK(MPI_Info_create(&info));
    CHECK_OK(MPI_Info_set(info, key, value));
    int code = MPI_Comm_set_info(comm, info);
    CHECK_OK(MPI_Info_free(&info));
    return code;
}

// What the communicator says of a key; value is "" if it says nothing.
static void get(MPI_Comm comm, const char *key, char *value, int size)
{
    MPI_Info info;
    int flag, length = size;
    CHECK_OK(MPI_Comm_get_info(comm, &info));
    CHECK_OK(MPI_Info_get_string(info, key, &length, value, &flag));
    if (!flag)
        value[0] = '\0';
    CHECK_OK(MPI_Info_free(&info));
}

static void infos(MPI_Comm comm)
{
    char value[64];
    int me, n;
    CHECK_OK(MPI_Comm_rank(comm, &me));
    CHECK_OK(MPI_Comm_size(comm, &n));
    CHECK_OK(set(comm, "millet_coll_allreduce", "ring"));
    get(comm, "millet_coll_allreduce", value, sizeof value);
    CHECK(strcmp(value, "ring") == 0);
    check_sums(comm);
    CHECK_OK(set(comm, "millet_coll_bcast", "chain segment=64"));
    check_sums(comm);
    CHECK_ERROR(set(comm, "millet_coll_bcast", "chian"), MPI_ERR_INFO_VALUE, "MPI_Comm_set_info",
                "no algorithm 'chian' for bcast");
    get(comm, "millet_coll_bcast", value, sizeof value);
    CHECK(strcmp(value, "chain segment=64") == 0);
    if (n > 1) { // one rank's fault is told on all, and so is a difference
        CHECK_ERROR(set(comm, "millet_coll_bcast", me == n - 1 ? "chian" : "linear"),
                    MPI_ERR_INFO_VALUE, "MPI_Comm_set_info", "no algorithm 'chian' for bcast");
        CHECK_ERROR(set(comm, "millet_coll_bcast", me == 0 ? "binomial" : "linear"),
                    MPI_ERR_INFO_VALUE, "MPI_Comm_set_info", "do not say the same");
    }
    check_sums(comm);
    CHECK_OK(set(comm, "millet_coll_allreduce", ""));
    check_sums(comm);
    CHECK_OK(set(comm, "millet_coll_nothing", "ring")); // no key that is known
    get(comm, "millet_coll_nothing", value, sizeof value);
    CHECK(!value[0]);
}

// A persistent call goes by the rules of the moment in which it is started.
static void persistent(MPI_Comm comm)
{
    static const char *const rules[] = {"", "ring", "recursive_doubling flat", "ring flat", ""};
    int me, n, in = 0, out;
    MPI_Request request;
    CHECK_OK(MPI_Comm_rank(comm, &me));
    CHECK_OK(MPI_Comm_size(comm, &n));
    CHECK_OK(MPI_Allreduce_init(&in, &out, 1, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, &request));
    for (int i = 0; i < COUNT_OF(rules); i++) {
        CHECK_OK(set(comm, "millet_coll_allreduce", rules[i]));
        for (int again = 0; again < 2; again++) {
            in = me + i;
            CHECK_OK(MPI_Start(&request));
            CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
            CHECK_INT(out, n * (n - 1) / 2 + n * i);
        }
    }
    CHECK_OK(MPI_Request_free(&request));
}

static void duplicates(MPI_Comm comm)
{
    MPI_Comm copy;
    MPI_Info info;
    MPI_Request request;
    char value[64];
    CHECK_OK(MPI_Info_create(&info));
    CHECK_OK(MPI_Info_set(info, "millet_coll_allreduce", "ring"));
    CHECK_OK(MPI_Comm_dup_with_info(comm, info, &copy));
    get(copy, "millet_coll_allreduce", value, sizeof value);
    CHECK(strcmp(value, "ring") == 0);
    check_sums(copy);
    CHECK_OK(MPI_Comm_free(&copy));
    CHECK_OK(MPI_Comm_idup_with_info(comm, info, &copy, &request));
    CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    check_sums(copy);
    CHECK_OK(MPI_Comm_free(&copy));
    CHECK_OK(MPI_Info_set(info, "millet_coll_allreduce", "rang"));
    CHECK_ERROR(MPI_Comm_dup_with_info(comm, info, &copy), MPI_ERR_INFO_VALUE,
                "MPI_Comm_dup_with_info", "no algorithm 'rang'");
    CHECK_OK(MPI_Info_free(&info));
}

// All ranks get the name of a file with that text.
static void make_file(MPI_Comm comm, const char *text, char name[64])
{
    int me;
    CHECK_OK(MPI_Comm_rank(comm, &me));
    if (me == 0) {
        snprintf(name, 64, "/tmp/millet_change_%ld_XXXXXX", (long)getpid());
        int fd = mkstemp(name);
        CHECK(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
        close(fd);
    }
    CHECK_OK(MPI_Bcast(name, 64, MPI_CHAR, 0, comm));
}

static void remove_file(MPI_Comm comm, const char *name)
{
    int me;
    CHECK_OK(MPI_Comm_rank(comm, &me));
    CHECK_OK(MPI_Barrier(comm));
    if (me == 0)
        unlink(name);
}

static void books(MPI_Comm comm, const char *good, const char *wrong)
{
    char name[64];
    make_file(comm, "rule { coll = \"allreduce\", alg = \"ring\" }\n", name);
    CHECK_OK(MPIX_Coll_load(comm, name));
    check_sums(comm);
    CHECK_OK(MPIX_Coll_load(comm, name)); // the same again
    check_sums(comm);
    CHECK_OK(MPIX_Coll_load(comm, NULL));
    check_sums(comm);
    remove_file(comm, name);
    CHECK_ERROR(MPIX_Coll_load(comm, name), MPI_ERR_ARG, "MPIX_Coll_load", "cannot be read");
    make_file(comm, "rule { coll = \"allreduce\", alg = \"rang\" }\n", name);
    CHECK_ERROR(MPIX_Coll_load(comm, name), MPI_ERR_ARG, "MPIX_Coll_load", "no algorithm 'rang'");
    remove_file(comm, name);
    check_sums(comm);
    CHECK_OK(MPIX_Coll_load(comm, good));
    check_sums(comm);
    CHECK_ERROR(MPIX_Coll_load(comm, wrong), MPI_ERR_ARG, "MPIX_Coll_load", "is wrong for");
    check_sums(comm);
    CHECK_ERROR(MPIX_Coll_load(MPI_COMM_NULL, good), MPI_ERR_COMM, "MPIX_Coll_load", "comm");
}

int main(int argc, char **argv)
{
    MPI_Comm copy;
    char good[512], wrong[512];
    CHECK_OK(MPI_Init(&argc, &argv));
    int folder = (int)(strrchr(__FILE__, '/') - __FILE__);
    snprintf(good, sizeof good, "%.*s/../../examples/coll/binomial.lua", folder, __FILE__);
    snprintf(wrong, sizeof wrong, "%.*s/../../examples/coll/wrong.lua", folder, __FILE__);
    CHECK_OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    CHECK_OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
    CHECK_OK(MPI_Comm_dup(MPI_COMM_WORLD, &copy));
    infos(MPI_COMM_WORLD);
    infos(copy);
    duplicates(copy);
    persistent(copy);
    books(copy, good, wrong);
    books(MPI_COMM_WORLD, good, wrong);
    CHECK_OK(MPI_Comm_free(&copy));
    CHECK_OK(MPI_Finalize());
    return 0;
}
