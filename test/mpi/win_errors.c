// SPDX-License-Identifier: BSD-3-Clause
//
// What is wrong with calls of one-sided communication: each case has its class and a message that
// names the function and the value; and the window works on as if the call had not been made.

#include "win_check.h"

#define WRONG(call, class, function, value)                                                        \
    CHECK_ERROR(call, class, function, STRICT ? (value) : "")
#define WRONG2(call, class1, class2, function, value)                                              \
    CHECK_ERROR2(call, class1, class2, function, STRICT ? (value) : "")

// The call fails, or its transfer does when it is flushed. Only the target may know how large its
// window is, so that is soon enough.
#define WRONG_BY_FLUSH(call, rank, class, function)                                                \
    do {                                                                                           \
        int code_ = (call);                                                                        \
        if (code_ == MPI_SUCCESS)                                                                  \
            code_ = MPI_Win_flush((rank), b->win);                                                 \
        CHECK_INT(error_class(code_), (class));                                                    \
        CHECK_ERROR(code_, (class), STRICT ? (function) : "", "");                                 \
    } while (0)

// The window still does what it should.
static void works(const box *b)
{
    int right = (b->rank + 1) % b->size, left = (b->rank + b->size - 1) % b->size,
        out = 1234 + b->rank;
    epoch_open(b, FENCE);
    CHECK_OK(MPI_Put(&out, 1, MPI_INT, right, box_disp(b, right, 0), 1, MPI_INT, b->win));
    epoch_close(b, FENCE);
    CHECK_INT(*(int *)(void *)b->base, 1234 + left);
    CHECK_OK(MPI_Barrier(b->comm));
    epoch_open(b, LOCK_ALL);
    CHECK_OK(MPI_Put(&out, 1, MPI_INT, left, box_disp(b, left, 0), 1, MPI_INT, b->win));
    epoch_close(b, LOCK_ALL);
    CHECK_INT(*(int *)(void *)b->base, 1234 + right);
    CHECK_OK(MPI_Barrier(b->comm));
}

static void creating(void)
{
    MPI_Win win = MPI_WIN_NULL;
    char memory[8], *base = NULL;
    MPI_Comm world = MPI_COMM_WORLD;
    WRONG(MPI_Win_create(memory, -8, 1, MPI_INFO_NULL, world, &win), MPI_ERR_SIZE, "MPI_Win_create",
          "-8");
    WRONG2(MPI_Win_create(memory, 8, 0, MPI_INFO_NULL, world, &win), MPI_ERR_DISP, MPI_ERR_ARG,
           "MPI_Win_create", "0");
    WRONG2(MPI_Win_create(memory, 8, -2, MPI_INFO_NULL, world, &win), MPI_ERR_DISP, MPI_ERR_ARG,
           "MPI_Win_create", "-2");
    WRONG(MPI_Win_create(memory, 8, 1, MPI_INFO_NULL, MPI_COMM_NULL, &win), MPI_ERR_COMM,
          "MPI_Win_create", "");
    WRONG(MPI_Win_allocate(-8, 1, MPI_INFO_NULL, world, &base, &win), MPI_ERR_SIZE,
          "MPI_Win_allocate", "-8");
    WRONG2(MPI_Win_allocate(8, -1, MPI_INFO_NULL, world, &base, &win), MPI_ERR_DISP, MPI_ERR_ARG,
           "MPI_Win_allocate", "-1");
    WRONG(MPI_Win_allocate_shared(-8, 1, MPI_INFO_NULL, world, &base, &win), MPI_ERR_SIZE,
          "MPI_Win_allocate_shared", "-8");
    if (STRICT)
        WRONG2(MPI_Win_create(NULL, 8, 1, MPI_INFO_NULL, world, &win), MPI_ERR_BASE, MPI_ERR_BUFFER,
               "MPI_Win_create", "");
    CHECK(win == MPI_WIN_NULL);
    WRONG(MPI_Win_free(&win), MPI_ERR_WIN, "MPI_Win_free", "");
    WRONG(MPI_Win_fence(0, MPI_WIN_NULL), MPI_ERR_WIN, "MPI_Win_fence", "");
    WRONG(MPI_Put(memory, 1, MPI_CHAR, 0, 0, 1, MPI_CHAR, MPI_WIN_NULL), MPI_ERR_WIN, "MPI_Put",
          "");
    WRONG(MPI_Win_lock_all(0, MPI_WIN_NULL), MPI_ERR_WIN, "MPI_Win_lock_all", "");
}

// Memory that is not all on one host.
static void not_shared(void)
{
    MPI_Comm host;
    int here, all = world_size();
    char *base;
    MPI_Win win;
    CHECK_OK(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host));
    CHECK_OK(MPI_Comm_size(host, &here));
    if (here < all)
        WRONG(MPI_Win_allocate_shared(8, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win),
              MPI_ERR_RMA_SHARED, "MPI_Win_allocate_shared", "");
    CHECK_OK(MPI_Comm_free(&host));
}

// Arguments of transfers, in an epoch.
static void arguments(const box *b)
{
    int x[4] = {0}, y = 0, z = 0;
    double d = 0;
    MPI_Win win = b->win;
    MPI_Datatype open_type;
    MPI_Request r;
    char beyond[20];
    MPI_Aint at = box_disp(b, 0, 0);
    snprintf(beyond, sizeof beyond, "%d", b->size + 3);
    CHECK_OK(MPI_Type_contiguous(2, MPI_INT, &open_type)); // not committed
    CHECK_OK(MPI_Win_lock_all(0, win));
    WRONG(MPI_Put(x, 1, MPI_INT, b->size + 3, at, 1, MPI_INT, win), MPI_ERR_RANK, "MPI_Put",
          beyond);
    WRONG(MPI_Get(x, 1, MPI_INT, -7, at, 1, MPI_INT, win), MPI_ERR_RANK, "MPI_Get", "-7");
    WRONG(MPI_Put(x, -1, MPI_INT, 0, at, 1, MPI_INT, win), MPI_ERR_COUNT, "MPI_Put", "-1");
    WRONG(MPI_Put(x, 1, MPI_INT, 0, at, -9, MPI_INT, win), MPI_ERR_COUNT, "MPI_Put", "-9");
    WRONG(MPI_Put(x, 1, MPI_DATATYPE_NULL, 0, at, 1, MPI_INT, win), MPI_ERR_TYPE, "MPI_Put", "");
    WRONG(MPI_Get(x, 1, MPI_INT, 0, at, 1, MPI_DATATYPE_NULL, win), MPI_ERR_TYPE, "MPI_Get", "");
    WRONG(MPI_Put(x, 1, open_type, 0, at, 2, MPI_INT, win), MPI_ERR_TYPE, "MPI_Put", "");
    WRONG(MPI_Accumulate(x, 1, MPI_INT, 0, at, 1, MPI_INT, MPI_OP_NULL, win), MPI_ERR_OP,
          "MPI_Accumulate", "");
    WRONG(MPI_Rput(x, 1, MPI_INT, b->size + 3, at, 1, MPI_INT, win, &r), MPI_ERR_RANK, "MPI_Rput",
          beyond);
    WRONG(MPI_Fetch_and_op(x, &y, MPI_INT, b->size + 3, at, MPI_SUM, win), MPI_ERR_RANK,
          "MPI_Fetch_and_op", beyond);
    WRONG(MPI_Compare_and_swap(x, &z, &y, MPI_INT, b->size + 3, at, win), MPI_ERR_RANK,
          "MPI_Compare_and_swap", beyond);
    WRONG(MPI_Compare_and_swap(&d, &d, &d, MPI_DOUBLE, 0, at, win), MPI_ERR_TYPE,
          "MPI_Compare_and_swap", "MPI_DOUBLE");
    WRONG(MPI_Win_flush(b->size + 3, win), MPI_ERR_RANK, "MPI_Win_flush", beyond);
    if (STRICT) {
        WRONG2(MPI_Accumulate(&d, 1, MPI_DOUBLE, 0, at, 1, MPI_DOUBLE, MPI_BXOR, win), MPI_ERR_OP,
               MPI_ERR_TYPE, "MPI_Accumulate", "");
        WRONG2(MPI_Fetch_and_op(x, &y, open_type, 0, at, MPI_SUM, win), MPI_ERR_TYPE, MPI_ERR_OP,
               "MPI_Fetch_and_op", "");
        WRONG2(MPI_Accumulate(x, 1, MPI_INT, 0, at, 1, MPI_INT, MPI_NO_OP, win), MPI_ERR_OP,
               MPI_ERR_OP, "MPI_Accumulate", "MPI_NO_OP");
        CHECK(MPI_Put(x, 3, MPI_INT, 0, at, 1, MPI_INT, win) !=
              MPI_SUCCESS); // more than there is room for
        CHECK(MPI_Accumulate(&d, 1, MPI_DOUBLE, 0, at, 2, MPI_INT, MPI_SUM, win) != MPI_SUCCESS);
    }
    CHECK_OK(MPI_Win_unlock_all(win));
    CHECK_OK(MPI_Type_free(&open_type));
    CHECK_OK(MPI_Barrier(b->comm));
    works(b);
}

static void user_sum(void *in, void *inout, int *n, MPI_Datatype *type)
{
    (void)in;
    (void)inout;
    (void)n;
    (void)type;
}

// Operations of the user's are not for windows.
static void user_ops(const box *b)
{
    MPI_Op op;
    int x = 1, y = 0;
    MPI_Aint at = box_disp(b, 0, 0);
    CHECK_OK(MPI_Op_create(user_sum, 1, &op));
    CHECK_OK(MPI_Win_lock_all(0, b->win));
    WRONG(MPI_Accumulate(&x, 1, MPI_INT, 0, at, 1, MPI_INT, op, b->win), MPI_ERR_OP,
          "MPI_Accumulate", "");
    WRONG(MPI_Fetch_and_op(&x, &y, MPI_INT, 0, at, op, b->win), MPI_ERR_OP, "MPI_Fetch_and_op", "");
    WRONG(MPI_Get_accumulate(&x, 1, MPI_INT, &y, 1, MPI_INT, 0, at, 1, MPI_INT, op, b->win),
          MPI_ERR_OP, "MPI_Get_accumulate", "");
    CHECK_OK(MPI_Win_unlock_all(b->win));
    CHECK_OK(MPI_Op_free(&op));
    works(b);
}

// Outside of the target's memory. (Others write there.)
static void ranges(const box *b)
{
    int x[40] = {0}, y = 0;
    for (int target = 0; STRICT && target < b->size; target++) {
        CHECK_OK(MPI_Win_lock(MPI_LOCK_SHARED, target, 0, b->win));
        MPI_Aint last = box_disp(b, target, b->bytes);
        WRONG_BY_FLUSH(MPI_Put(x, 1, MPI_INT, target, last, 1, MPI_INT, b->win), target,
                       MPI_ERR_RMA_RANGE, "MPI_");
        WRONG_BY_FLUSH(MPI_Get(x, 1, MPI_INT, target, last, 1, MPI_INT, b->win), target,
                       MPI_ERR_RMA_RANGE, "MPI_");
        WRONG_BY_FLUSH(MPI_Put(x, 40, MPI_INT, target, box_disp(b, target, 8), 40, MPI_INT, b->win),
                       target, MPI_ERR_RMA_RANGE, "MPI_");
        WRONG_BY_FLUSH(MPI_Accumulate(x, 1, MPI_INT, target, last, 1, MPI_INT, MPI_SUM, b->win),
                       target, MPI_ERR_RMA_RANGE, "MPI_");
        WRONG_BY_FLUSH(MPI_Fetch_and_op(x, &y, MPI_INT, target, last, MPI_SUM, b->win), target,
                       MPI_ERR_RMA_RANGE, "MPI_");
        WRONG_BY_FLUSH(MPI_Compare_and_swap(x, x, &y, MPI_INT, target, last, b->win), target,
                       MPI_ERR_RMA_RANGE, "MPI_");
        if (b->flavor != DYNAMIC)
            WRONG2(MPI_Put(x, 1, MPI_INT, target, -1, 1, MPI_INT, b->win), MPI_ERR_DISP,
                   MPI_ERR_RMA_RANGE, "MPI_Put", "-1");
        CHECK_OK(MPI_Win_unlock(target, b->win));
    }
    works(b);
}

// No epoch, or the wrong one.
static void epochs(box *b)
{
    int x = 1, flag = 0, other = (b->rank + 1) % b->size;
    MPI_Win win = b->win;
    MPI_Aint at = box_disp(b, other, 0);
    MPI_Request r;
    CHECK_OK(MPI_Barrier(b->comm));
    WRONG(MPI_Put(&x, 1, MPI_INT, other, at, 1, MPI_INT, win), MPI_ERR_RMA_SYNC, "MPI_Put", "");
    WRONG(MPI_Get(&x, 1, MPI_INT, other, at, 1, MPI_INT, win), MPI_ERR_RMA_SYNC, "MPI_Get", "");
    WRONG(MPI_Accumulate(&x, 1, MPI_INT, other, at, 1, MPI_INT, MPI_SUM, win), MPI_ERR_RMA_SYNC,
          "MPI_Accumulate", "");
    WRONG(MPI_Fetch_and_op(&x, &x, MPI_INT, other, at, MPI_NO_OP, win), MPI_ERR_RMA_SYNC,
          "MPI_Fetch_and_op", "");
    WRONG(MPI_Rput(&x, 1, MPI_INT, other, at, 1, MPI_INT, win, &r), MPI_ERR_RMA_SYNC, "MPI_Rput",
          "");
    WRONG(MPI_Win_unlock(other, win), MPI_ERR_RMA_SYNC, "MPI_Win_unlock", "");
    WRONG(MPI_Win_unlock_all(win), MPI_ERR_RMA_SYNC, "MPI_Win_unlock_all", "");
    WRONG(MPI_Win_flush(other, win), MPI_ERR_RMA_SYNC, "MPI_Win_flush", "");
    WRONG(MPI_Win_flush_all(win), MPI_ERR_RMA_SYNC, "MPI_Win_flush_all", "");
    WRONG(MPI_Win_flush_local(other, win), MPI_ERR_RMA_SYNC, "MPI_Win_flush_local", "");
    WRONG(MPI_Win_flush_local_all(win), MPI_ERR_RMA_SYNC, "MPI_Win_flush_local_all", "");
    WRONG(MPI_Win_complete(win), MPI_ERR_RMA_SYNC, "MPI_Win_complete", "");
    WRONG(MPI_Win_wait(win), MPI_ERR_RMA_SYNC, "MPI_Win_wait", "");
    WRONG(MPI_Win_test(win, &flag), MPI_ERR_RMA_SYNC, "MPI_Win_test", "");
    // A lock twice, or of one kind in the other.
    CHECK_OK(MPI_Win_lock(MPI_LOCK_SHARED, other, 0, win));
    WRONG(MPI_Win_lock(MPI_LOCK_SHARED, other, 0, win), MPI_ERR_RMA_SYNC, "MPI_Win_lock", "");
    WRONG(MPI_Win_lock_all(0, win), MPI_ERR_RMA_SYNC, "MPI_Win_lock_all", "");
    WRONG(MPI_Win_unlock_all(win), MPI_ERR_RMA_SYNC, "MPI_Win_unlock_all", "");
    WRONG(MPI_Win_fence(0, win), MPI_ERR_RMA_SYNC, "MPI_Win_fence", "");
    WRONG(MPI_Win_start(b->group, 0, win), MPI_ERR_RMA_SYNC, "MPI_Win_start", "");
    WRONG(MPI_Win_free(&b->win), MPI_ERR_RMA_SYNC, "MPI_Win_free", "");
    if (b->size > 1) {
        WRONG(MPI_Put(&x, 1, MPI_INT, b->rank, box_disp(b, b->rank, 0), 1, MPI_INT, win),
              MPI_ERR_RMA_SYNC, "MPI_Put", ""); // another target
        WRONG(MPI_Win_unlock(b->rank, win), MPI_ERR_RMA_SYNC, "MPI_Win_unlock", "");
    }
    CHECK_OK(MPI_Win_unlock(other, win));
    CHECK_OK(MPI_Win_lock_all(0, win));
    WRONG(MPI_Win_lock(MPI_LOCK_SHARED, other, 0, win), MPI_ERR_RMA_SYNC, "MPI_Win_lock", "");
    WRONG(MPI_Win_lock_all(0, win), MPI_ERR_RMA_SYNC, "MPI_Win_lock_all", "");
    WRONG(MPI_Win_unlock(other, win), MPI_ERR_RMA_SYNC, "MPI_Win_unlock", "");
    WRONG(MPI_Win_free(&b->win), MPI_ERR_RMA_SYNC, "MPI_Win_free", "");
    CHECK_OK(MPI_Win_unlock_all(win));
    CHECK_OK(MPI_Barrier(b->comm));
    works(b);
}

static void group_epochs(box *b)
{
    int x = 1, right = (b->rank + 1) % b->size, left = (b->rank + b->size - 1) % b->size;
    MPI_Group to, from;
    MPI_Win win = b->win;
    CHECK_OK(MPI_Group_incl(b->group, 1, &right, &to));
    CHECK_OK(MPI_Group_incl(b->group, 1, &left, &from));
    CHECK_OK(MPI_Win_post(from, 0, win));
    WRONG(MPI_Win_post(from, 0, win), MPI_ERR_RMA_SYNC, "MPI_Win_post", "");
    CHECK_OK(MPI_Win_start(to, 0, win));
    WRONG(MPI_Win_start(to, 0, win), MPI_ERR_RMA_SYNC, "MPI_Win_start", "");
    WRONG(MPI_Win_lock(MPI_LOCK_SHARED, right, 0, win), MPI_ERR_RMA_SYNC, "MPI_Win_lock", "");
    WRONG(MPI_Win_fence(0, win), MPI_ERR_RMA_SYNC, "MPI_Win_fence", "");
    if (b->size > 1)
        WRONG(MPI_Put(&x, 1, MPI_INT, b->rank, box_disp(b, b->rank, 0), 1, MPI_INT, win),
              MPI_ERR_RMA_SYNC, "MPI_Put", "");
    CHECK_OK(MPI_Win_complete(win));
    CHECK_OK(MPI_Win_wait(win));
    WRONG(MPI_Win_post(MPI_GROUP_NULL, 0, win), MPI_ERR_GROUP, "MPI_Win_post", "");
    WRONG(MPI_Win_start(MPI_GROUP_NULL, 0, win), MPI_ERR_GROUP, "MPI_Win_start", "");
    CHECK_OK(MPI_Group_free(&to));
    CHECK_OK(MPI_Group_free(&from));
    CHECK_OK(MPI_Barrier(b->comm));
    works(b);
}

// Values that no call takes.
static void values(const box *b)
{
    MPI_Win win = b->win;
    char beyond[20];
    snprintf(beyond, sizeof beyond, "%d", b->size);
    WRONG(MPI_Win_lock(MPI_LOCK_SHARED, b->size, 0, win), MPI_ERR_RANK, "MPI_Win_lock", beyond);
    if (STRICT) {
        WRONG(MPI_Win_lock(12345, 0, 0, win), MPI_ERR_LOCKTYPE, "MPI_Win_lock", "12345");
        WRONG(MPI_Win_lock(MPI_LOCK_SHARED, 0, MPI_MODE_NOPUT, win), MPI_ERR_ASSERT, "MPI_Win_lock",
              "");
        WRONG(MPI_Win_fence(1 << 20, win), MPI_ERR_ASSERT, "MPI_Win_fence", "");
        WRONG(MPI_Win_lock_all(1 << 20, win), MPI_ERR_ASSERT, "MPI_Win_lock_all", "");
        WRONG(MPI_Win_post(b->group, MPI_MODE_NOSUCCEED, win), MPI_ERR_ASSERT, "MPI_Win_post", "");
        WRONG(MPI_Win_start(b->group, MPI_MODE_NOPRECEDE, win), MPI_ERR_ASSERT, "MPI_Win_start",
              "");
    }
    works(b);
}

static void flavors(const box *b)
{
    char memory[8], *base;
    MPI_Aint bytes;
    int unit;
    if (b->flavor != DYNAMIC && STRICT) {
        WRONG(MPI_Win_attach(b->win, memory, 8), MPI_ERR_RMA_FLAVOR, "MPI_Win_attach", "");
        WRONG(MPI_Win_detach(b->win, memory), MPI_ERR_RMA_FLAVOR, "MPI_Win_detach", "");
    }
    if (b->flavor == DYNAMIC) {
        WRONG(MPI_Win_shared_query(b->win, 0, &bytes, &unit, &base), MPI_ERR_RMA_FLAVOR,
              "MPI_Win_shared_query", "");
        if (STRICT) {
            WRONG(MPI_Win_attach(b->win, b->base + 8, 8), MPI_ERR_RMA_ATTACH, "MPI_Win_attach", "");
            WRONG2(MPI_Win_detach(b->win, memory), MPI_ERR_RMA_ATTACH, MPI_ERR_BASE,
                   "MPI_Win_detach", "");
            WRONG(MPI_Win_attach(b->win, memory, -8), MPI_ERR_SIZE, "MPI_Win_attach", "-8");
        }
    }
    works(b);
}

// What was promised not to happen.
static void promised(void)
{
    MPI_Info info;
    CHECK_OK(MPI_Info_create(&info));
    CHECK_OK(MPI_Info_set(info, "no_locks", "true"));
    box b = box_new_with(ALLOCATE, 16, 1, info);
    CHECK_OK(MPI_Info_free(&info));
    if (STRICT) {
        WRONG2(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, b.win), MPI_ERR_RMA_SYNC, MPI_ERR_RMA_CONFLICT,
               "MPI_Win_lock", "no_locks");
        WRONG2(MPI_Win_lock_all(0, b.win), MPI_ERR_RMA_SYNC, MPI_ERR_RMA_CONFLICT,
               "MPI_Win_lock_all", "no_locks");
    }
    box_free(&b);
}

static void keys(const box *b)
{
    int key = MPI_KEYVAL_INVALID, found = 0, *value;
    WRONG(MPI_Win_set_attr(b->win, MPI_KEYVAL_INVALID, &key), MPI_ERR_KEYVAL, "MPI_Win_set_attr",
          "");
    WRONG(MPI_Win_get_attr(b->win, MPI_KEYVAL_INVALID, &value, &found), MPI_ERR_KEYVAL,
          "MPI_Win_get_attr", "");
    WRONG(MPI_Win_delete_attr(b->win, MPI_KEYVAL_INVALID), MPI_ERR_KEYVAL, "MPI_Win_delete_attr",
          "");
    WRONG(MPI_Win_free_keyval(&key), MPI_ERR_KEYVAL, "MPI_Win_free_keyval", "");
    CHECK_OK(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &key, NULL));
    WRONG(MPI_Win_set_attr(b->win, key, &key), MPI_ERR_KEYVAL, "MPI_Win_set_attr",
          ""); // of communicators
    CHECK_OK(MPI_Comm_free_keyval(&key));
#ifndef PEER
    WRONG(MPI_Win_set_errhandler(b->win, MPI_ERRHANDLER_NULL), MPI_ERR_ERRHANDLER,
          "MPI_Win_set_errhandler", "MPI_ERRHANDLER_NULL");
#endif
}

int main(int argc, char **argv)
{
    CHECK_OK(MPI_Init(&argc, &argv));
    errors_return();
    creating();
    not_shared();
    promised();
    for (int flavor = 0; flavor < FLAVORS; flavor++) {
        box b = box_new((enum flavor)flavor, 64, 4);
        arguments(&b);
        user_ops(&b);
        ranges(&b);
        values(&b);
        flavors(&b);
        keys(&b);
        epochs(&b);
        group_epochs(&b);
        box_free(&b);
    }
    CHECK_OK(MPI_Finalize());
    return 0;
}
