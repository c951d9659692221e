// SPDX-License-Identifier: BSD-3-Clause
//
// MPI_Finalize deletes the attributes of MPI_COMM_SELF first, the last set first, while MPI still
// works: that is how libraries clean up. Arguments: `fail`: a delete function fails, the others are
// called all the same; `fatal`: the same with the default handler, which ends the job.

#include "check.h"

enum { N = 5 };

typedef struct diary {
    int next;
    int keyval[N];
    int fails;
} diary;

static int at_end(MPI_Comm comm, int keyval, void *value, void *extra)
{
    diary *d = extra;
    int inited = 0, finalized = 1, rank = -1, number = keyval, size = world_size(), peer = -1;
    CHECK(comm == MPI_COMM_SELF);
    CHECK_OK(MPI_Initialized(&inited));
    CHECK_OK(MPI_Finalized(&finalized));
    CHECK(inited && !finalized);
    CHECK(d->next > 0 && d->keyval[--d->next] == keyval && value == &d->keyval[d->next]);
    rank = world_rank();
    // Messages still go.
    CHECK_OK(MPI_Sendrecv(&rank, 1, MPI_INT, (rank + 1) % size, 9, &peer, 1, MPI_INT,
                          (rank + size - 1) % size, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    CHECK_INT(peer, (rank + size - 1) % size);
    if (d->next % 2)
        CHECK_OK(MPI_Comm_free_keyval(&number));
    return d->fails == d->next ? MPI_ERR_OTHER : MPI_SUCCESS;
}

int main(int argc, char **argv)
{
    diary d = {.fails = argc > 1 ? 2 : -1};
    MPI_Comm left = MPI_COMM_NULL;
    int on_world = MPI_KEYVAL_INVALID, on_type = MPI_KEYVAL_INVALID;
    int fail = argc > 1 && strcmp(argv[1], "fail") == 0;
    CHECK_OK(MPI_Init(&argc, &argv));
    if (fail)
        errors_return();
    CHECK_OK(MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, &on_world, NULL));
    CHECK_OK(MPI_Comm_set_attr(MPI_COMM_WORLD, on_world, &d));
    // What nobody deletes goes along, without a call.
    CHECK_OK(MPI_Comm_dup(MPI_COMM_SELF, &left));
    CHECK_OK(MPI_Comm_set_attr(left, on_world, &d));
    CHECK_OK(MPI_Type_create_keyval(MPI_TYPE_DUP_FN, MPI_TYPE_NULL_DELETE_FN, &on_type, NULL));
    CHECK_OK(MPI_Type_set_attr(MPI_INT, on_type, &d));
    for (d.next = 0; d.next < N; d.next++) {
        CHECK_OK(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, at_end, &d.keyval[d.next], &d));
        CHECK_OK(MPI_Comm_set_attr(MPI_COMM_SELF, d.keyval[d.next], &d.keyval[d.next]));
    }
    int code = MPI_Finalize();
    if (code != (fail ? MPI_ERR_OTHER : MPI_SUCCESS) || d.next != 0) {
        fprintf(stderr, "MPI_Finalize returned %d, %d attributes were not deleted\n", code, d.next);
        return 1;
    }
    return 0;
}
