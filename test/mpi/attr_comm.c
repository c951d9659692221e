// SPDX-License-Identifier: BSD-3-Clause
//
// Attributes of communicators: set, get, replace, delete; which function is called when, with what;
// a key that is freed while it is in use; callbacks that call MPI, the attributes of their own
// object included; a thousand attributes on one object. With the argument `dup`: duplicates and
// their end.

#include "growth.h"

enum { MOST = 64 };

// What the callbacks write down.
typedef struct diary {
    int copies, deletes;
    int keyval[MOST];
    void *value[MOST]; // of deletes, in order
    MPI_Comm comm;
    int fail_copy, fail_delete; // keys whose function fails; MPI_KEYVAL_INVALID: none
    int code;
} diary;

static int copy(MPI_Comm comm, int keyval, void *extra, void *in, void *out, int *flag)
{
    diary *d = extra;
    d->copies++;
    d->comm = comm;
    *(void **)out = (char *)in + 1;
    *flag = in != NULL;
    return keyval == d->fail_copy ? d->code : MPI_SUCCESS;
}

static int delete (MPI_Comm comm, int keyval, void *value, void *extra)
{
    diary *d = extra;
    CHECK(d->deletes < MOST);
    d->keyval[d->deletes] = keyval;
    d->value[d->deletes++] = value;
    d->comm = comm;
    return keyval == d->fail_delete ? d->code : MPI_SUCCESS;
}

static int make_key(diary *d)
{
    int keyval = MPI_KEYVAL_INVALID;
    CHECK_OK(MPI_Comm_create_keyval(copy, delete, &keyval, d));
    CHECK(keyval != MPI_KEYVAL_INVALID);
    return keyval;
}

static void check_value(MPI_Comm comm, int keyval, void *want)
{
    void *value = &value;
    int flag = -1;
    CHECK_OK(MPI_Comm_get_attr(comm, keyval, &value, &flag));
    CHECK_INT(flag, 1);
    CHECK(value == want);
}

static void check_none(MPI_Comm comm, int keyval)
{
    void *value = NULL;
    int flag = -1;
    CHECK_OK(MPI_Comm_get_attr(comm, keyval, &value, &flag));
    CHECK_INT(flag, 0);
}

static void check_values(MPI_Comm comm)
{
    diary d = {0};
    char places[4];
    int a = make_key(&d), b = make_key(&d);
    CHECK(a != b);
    check_none(comm, a);
    CHECK_OK(MPI_Comm_set_attr(comm, a, &places[0]));
    CHECK_OK(MPI_Comm_set_attr(comm, b, NULL));
    check_value(comm, a, &places[0]);
    check_value(comm, b, NULL);
    check_none(comm == MPI_COMM_SELF ? MPI_COMM_WORLD : MPI_COMM_SELF, a);
    CHECK_OK(MPI_Comm_set_attr(comm, a, &places[1])); // deletes the old value
    CHECK_INT(d.deletes, 1);
    CHECK(d.value[0] == &places[0] && d.keyval[0] == a && d.comm == comm);
    check_value(comm, a, &places[1]);
    CHECK_OK(MPI_Comm_delete_attr(comm, a));
    CHECK_INT(d.deletes, 2);
    CHECK(d.value[1] == &places[1]);
    check_none(comm, a);
    // Freed while an attribute has it: the key lives on with it.
    int number = b;
    CHECK_OK(MPI_Comm_free_keyval(&b));
    CHECK_INT(b, MPI_KEYVAL_INVALID);
    check_value(comm, number, NULL);
    CHECK_OK(MPI_Comm_delete_attr(comm, number));
    CHECK_INT(d.deletes, 3);
    CHECK_INT(d.keyval[2], number);
    CHECK_INT(d.copies, 0);
    CHECK_OK(MPI_Comm_free_keyval(&a));
}

// The predefined functions are numbers and are not called.
static void check_sentinels(MPI_Comm comm)
{
    int a = MPI_KEYVAL_INVALID, b = MPI_KEYVAL_INVALID;
    CHECK_OK(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &a, NULL));
    CHECK_OK(MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, &b, NULL));
    CHECK_OK(MPI_Comm_set_attr(comm, a, &a));
    CHECK_OK(MPI_Comm_set_attr(comm, b, &b));
    CHECK_OK(MPI_Comm_set_attr(comm, b, &a));
    check_value(comm, b, &a);
    CHECK_OK(MPI_Comm_delete_attr(comm, b));
    CHECK_OK(MPI_Comm_delete_attr(comm, a));
    CHECK_OK(MPI_Comm_free_keyval(&a));
    CHECK_OK(MPI_Comm_free_keyval(&b));
}

static void check_deprecated(MPI_Comm comm)
{
    diary d = {0};
    int keyval = MPI_KEYVAL_INVALID, flag = -1;
    void *value = NULL;
    CHECK_OK(MPI_Keyval_create(copy, delete, &keyval, &d));
    CHECK_OK(MPI_Attr_put(comm, keyval, &d));
    CHECK_OK(MPI_Attr_get(comm, keyval, &value, &flag));
    CHECK(flag && value == &d);
    check_value(comm, keyval, &d);
    CHECK_OK(MPI_Attr_delete(comm, keyval));
    CHECK_INT(d.deletes, 1);
    CHECK_OK(MPI_Attr_get(comm, keyval, &value, &flag));
    CHECK_INT(flag, 0);
    CHECK_OK(MPI_Keyval_free(&keyval));
    CHECK_INT(keyval, MPI_KEYVAL_INVALID);
}

// ---- callbacks that change what they are called for

typedef struct meddler {
    int depth, other;
    int sets_again, deletes_other, frees_key;
} meddler;

static int meddle(MPI_Comm comm, int keyval, void *value, void *extra)
{
    meddler *m = extra;
    int rank = -1, size = -1, number = keyval;
    (void)value;
    CHECK_OK(MPI_Comm_rank(comm, &rank));
    CHECK_OK(MPI_Comm_size(comm, &size));
    CHECK_OK(MPI_Sendrecv(&rank, 1, MPI_INT, rank, 5, &size, 1, MPI_INT, rank, 5, comm,
                          MPI_STATUS_IGNORE));
    CHECK(m->depth++ < 10);
    if (m->frees_key)
        CHECK_OK(MPI_Comm_free_keyval(&number));
    if (m->deletes_other)
        CHECK_OK(MPI_Comm_delete_attr(comm, m->other));
    if (m->sets_again-- > 0)
        CHECK_OK(MPI_Comm_set_attr(comm, m->other, &m->other));
    return MPI_SUCCESS;
}

static void check_meddling(MPI_Comm comm)
{
    meddler m = {0};
    int a = MPI_KEYVAL_INVALID, b = MPI_KEYVAL_INVALID;
    CHECK_OK(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, meddle, &a, &m));
    CHECK_OK(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &b, NULL));
    // It deletes its neighbour, before and after it in the list, and sets it anew.
    for (int first = 0; first < 2; first++) {
        m = (meddler){.other = b, .deletes_other = 1};
        CHECK_OK(MPI_Comm_set_attr(comm, first ? a : b, &a));
        CHECK_OK(MPI_Comm_set_attr(comm, first ? b : a, &a));
        CHECK_OK(MPI_Comm_delete_attr(comm, a));
        check_none(comm, a);
        check_none(comm, b);
        m = (meddler){.other = b, .sets_again = 1};
        CHECK_OK(MPI_Comm_set_attr(comm, a, &a));
        CHECK_OK(MPI_Comm_set_attr(comm, a, &b));
        check_value(comm, a, &b);
        check_value(comm, b, &m.other);
        m = (meddler){.other = b};
        CHECK_OK(MPI_Comm_delete_attr(comm, a));
        CHECK_OK(MPI_Comm_delete_attr(comm, b));
    }
    // It deletes and sets itself.
    m = (meddler){.other = a, .deletes_other = 1};
    CHECK_OK(MPI_Comm_set_attr(comm, a, &a));
    CHECK_OK(MPI_Comm_delete_attr(comm, a));
    CHECK_INT(m.depth, 1);
    check_none(comm, a);
    m = (meddler){.other = a, .sets_again = 1};
    CHECK_OK(MPI_Comm_set_attr(comm, a, &a));
    CHECK_OK(MPI_Comm_delete_attr(comm, a));
    check_value(comm, a, &m.other); // what it set is there
    m = (meddler){.other = a};
    CHECK_OK(MPI_Comm_delete_attr(comm, a));
    check_none(comm, a);
    m = (meddler){.other = a, .frees_key = 1};
    CHECK_OK(MPI_Comm_set_attr(comm, a, &a));
    CHECK_OK(MPI_Comm_delete_attr(comm, a));
    CHECK_OK(MPI_Comm_free_keyval(&b));
}

static void check_thousand(MPI_Comm comm)
{
    enum { N = 1000 };
    diary d = {0};
    int keyval[N];
    for (int i = 0; i < N; i++) {
        CHECK_OK(
            MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &keyval[i], &d));
        CHECK_OK(MPI_Comm_set_attr(comm, keyval[i], &keyval[i]));
    }
    for (int i = 0; i < N; i++)
        check_value(comm, keyval[i], &keyval[i]);
    for (int i = 0; i < N; i += 2)
        CHECK_OK(MPI_Comm_delete_attr(comm, keyval[i]));
    for (int i = 0; i < N; i++)
        if (i % 2)
            check_value(comm, keyval[i], &keyval[i]);
        else
            check_none(comm, keyval[i]);
    for (int i = 0; i < N; i++) {
        CHECK_OK(MPI_Comm_delete_attr(comm, keyval[i])); // half of them have none: nothing happens
        CHECK_OK(MPI_Comm_free_keyval(&keyval[i]));
    }
}

static void make_and_free(int i, void *state)
{
    int keyval = MPI_KEYVAL_INVALID;
    (void)i;
    CHECK_OK(MPI_Comm_create_keyval(copy, delete, &keyval, state));
    CHECK_OK(MPI_Comm_set_attr(MPI_COMM_SELF, keyval, &keyval));
    if (i % 2)
        CHECK_OK(MPI_Comm_delete_attr(MPI_COMM_SELF, keyval));
    int number = keyval;
    CHECK_OK(MPI_Comm_free_keyval(&keyval));
    if (i % 2 == 0)
        CHECK_OK(MPI_Comm_delete_attr(MPI_COMM_SELF, number));
    ((diary *)state)->deletes = 0;
}

// ---- duplicates

static void check_dup(MPI_Comm comm)
{
    diary d = {0};
    char place[4];
    MPI_Comm twin = MPI_COMM_NULL;
    int k[4] = {make_key(&d), make_key(&d), MPI_KEYVAL_INVALID, MPI_KEYVAL_INVALID};
    CHECK_OK(MPI_Comm_create_keyval(MPI_COMM_DUP_FN, delete, &k[2], &d));
    CHECK_OK(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, delete, &k[3], &d));
    for (int i = 0; i < 4; i++)
        CHECK_OK(MPI_Comm_set_attr(comm, k[i], i == 1 ? NULL : &place[i]));
    CHECK_OK(MPI_Comm_dup(comm, &twin));
    CHECK_INT(d.copies, 2);
    CHECK(d.comm == comm);
    check_value(twin, k[0], &place[1]); // by the copy function
    check_none(twin, k[1]);             // it set flag to 0
    check_value(twin, k[2], &place[2]);
    check_none(twin, k[3]);
    CHECK_OK(MPI_Comm_set_attr(twin, k[3], &place[3]));
    MPI_Comm handle = twin;
    CHECK_OK(MPI_Comm_free(&twin));
    CHECK_INT(d.deletes, 3);
    CHECK(d.comm == handle);
    if (STRICT) // the last set first
        CHECK(d.keyval[0] == k[3] && d.keyval[1] == k[2] && d.keyval[2] == k[0]);

    // A copy function that fails: no duplicate, and what was copied is deleted again.
    d = (diary){.fail_copy = k[1], .code = MPI_ERR_OTHER};
    CHECK_INT(error_class(MPI_Comm_dup(comm, &twin)), MPI_ERR_OTHER);
    if (STRICT) { // the first set first
        CHECK_INT(d.copies, 2);
        CHECK_INT(d.deletes, 1);
        CHECK(d.value[0] == &place[1] && d.keyval[0] == k[0]);
    }
    d = (diary){0};
    // A delete function that fails: the communicator stays, until it agrees.
    CHECK_OK(MPI_Comm_dup(comm, &twin));
    d = (diary){.fail_delete = k[2], .code = MPI_ERR_OTHER};
    if (STRICT) { // MPICH frees it
        CHECK_INT(error_class(MPI_Comm_free(&twin)), MPI_ERR_OTHER);
        CHECK(twin != MPI_COMM_NULL);
    }
    d = (diary){0};
    CHECK_OK(MPI_Comm_free(&twin));
    CHECK(twin == MPI_COMM_NULL);
    for (int i = 0; i < 4; i++) {
        CHECK_OK(MPI_Comm_delete_attr(comm, k[i]));
        CHECK_OK(MPI_Comm_free_keyval(&k[i]));
    }
}

int main(int argc, char **argv)
{
    CHECK_OK(MPI_Init(&argc, &argv));
    errors_return();
    if (argc > 1 && strcmp(argv[1], "dup") == 0) {
        check_dup(MPI_COMM_WORLD);
        check_dup(MPI_COMM_SELF);
    } else {
        diary d = {0};
        MPI_Comm comms[2] = {MPI_COMM_WORLD, MPI_COMM_SELF};
        for (int i = 0; i < 2; i++) {
            check_values(comms[i]);
            check_sentinels(comms[i]);
            check_deprecated(comms[i]);
            if (STRICT) // MPICH loops over a list that changes
                check_meddling(comms[i]);
            check_thousand(comms[i]);
        }
        check_growth(make_and_free, &d, rounds_of(1000000));
    }
    CHECK_OK(MPI_Finalize());
    return 0;
}
