// SPDX-License-Identifier: BSD-3-Clause
//
// Attributes of datatypes: of predefined ones, which every rank has for itself, and, with the
// argument `dup`, of derived ones and their duplicates.

#include "growth.h"

typedef struct diary {
    int copies, deletes;
    void *value;
    MPI_Datatype type;
    int code;
} diary;

static int copy(MPI_Datatype type, int keyval, void *extra, void *in, void *out, int *flag)
{
    diary *d = extra;
    (void)keyval;
    d->copies++;
    d->type = type;
    *(void **)out = (char *)in + 1;
    *flag = 1;
    return d->code;
}

static int delete (MPI_Datatype type, int keyval, void *value, void *extra)
{
    diary *d = extra;
    (void)keyval;
    d->deletes++;
    d->type = type;
    d->value = value;
    return d->code;
}

static void check_value(MPI_Datatype type, int keyval, void *want)
{
    void *value = NULL;
    int flag = -1;
    CHECK_OK(MPI_Type_get_attr(type, keyval, &value, &flag));
    CHECK_INT(flag, want != NULL);
    CHECK(value == want);
}

static void check_predefined(void)
{
    diary d = {0};
    char place[3];
    int k = MPI_KEYVAL_INVALID;
    MPI_Datatype types[3] = {MPI_INT, MPI_DOUBLE_INT, MPI_BYTE};
    CHECK_OK(MPI_Type_create_keyval(copy, delete, &k, &d));
    for (int i = 0; i < 3; i++) {
        check_value(types[i], k, NULL);
        CHECK_OK(MPI_Type_set_attr(types[i], k, &place[i]));
    }
    for (int i = 0; i < 3; i++) {
        check_value(types[i], k, &place[i]);
        CHECK_OK(MPI_Type_set_attr(types[i], k, &place[i]));
        CHECK_INT(d.deletes, 2 * i + 1);
        CHECK_OK(MPI_Type_delete_attr(types[i], k));
        CHECK_INT(d.deletes, 2 * i + 2);
        CHECK(d.type == types[i] && d.value == &place[i]);
        check_value(types[i], k, NULL);
    }
    // Its delete function fails: the value stays.
    CHECK_OK(MPI_Type_set_attr(MPI_INT, k, &place[0]));
    d.code = MPI_ERR_OTHER;
    CHECK_INT(error_class(MPI_Type_delete_attr(MPI_INT, k)), MPI_ERR_OTHER);
    check_value(MPI_INT, k, &place[0]);
    CHECK_INT(error_class(MPI_Type_set_attr(MPI_INT, k, &place[1])), MPI_ERR_OTHER);
    check_value(MPI_INT, k, &place[0]);
    d.code = MPI_SUCCESS;
    CHECK_OK(MPI_Type_delete_attr(MPI_INT, k));
    CHECK_OK(MPI_Type_free_keyval(&k));
    CHECK_INT(k, MPI_KEYVAL_INVALID);
}

// The same key, the same type, another value in each rank of a process.
static void check_ranks(void)
{
    int k = MPI_KEYVAL_INVALID, own = world_rank();
    CHECK_OK(MPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, MPI_TYPE_NULL_DELETE_FN, &k, NULL));
    CHECK_OK(MPI_Type_set_attr(MPI_INT, k, &own));
    CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
    check_value(MPI_INT, k, &own);
    CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
    CHECK_OK(MPI_Type_delete_attr(MPI_INT, k));
    CHECK_OK(MPI_Type_free_keyval(&k));
}

static void make_and_free(int i, void *state)
{
    int k = MPI_KEYVAL_INVALID;
    (void)i;
    CHECK_OK(MPI_Type_create_keyval(copy, delete, &k, state));
    CHECK_OK(MPI_Type_set_attr(MPI_CHAR, k, &k));
    CHECK_OK(MPI_Type_delete_attr(MPI_CHAR, k));
    CHECK_OK(MPI_Type_free_keyval(&k));
}

static void check_dup(void)
{
    diary d = {0};
    char place[3];
    int k = MPI_KEYVAL_INVALID, dup = MPI_KEYVAL_INVALID;
    MPI_Datatype one = MPI_DATATYPE_NULL, two = MPI_DATATYPE_NULL, of_int = MPI_DATATYPE_NULL;
    CHECK_OK(MPI_Type_create_keyval(copy, delete, &k, &d));
    CHECK_OK(MPI_Type_create_keyval(MPI_TYPE_DUP_FN, MPI_TYPE_NULL_DELETE_FN, &dup, NULL));
    CHECK_OK(MPI_Type_contiguous(3, MPI_INT, &one));
    CHECK_OK(MPI_Type_set_attr(one, k, &place[0]));
    CHECK_OK(MPI_Type_set_attr(one, dup, &place[2]));
    CHECK_OK(MPI_Type_dup(one, &two));
    CHECK(d.copies == 1 && d.type == one);
    check_value(two, k, &place[1]);
    check_value(two, dup, &place[2]);
    MPI_Datatype handle = two;
    CHECK_OK(MPI_Type_free(&two));
    CHECK(d.deletes == 1 && d.type == handle && d.value == &place[1]);
    d.code = MPI_ERR_OTHER;
    CHECK_INT(error_class(MPI_Type_dup(one, &two)), MPI_ERR_OTHER);
    if (STRICT) { // MPICH frees it
        CHECK_INT(error_class(MPI_Type_free(&one)), MPI_ERR_OTHER);
        CHECK(one != MPI_DATATYPE_NULL);
    }
    d = (diary){0};
    CHECK_OK(MPI_Type_free(&one));
    CHECK_INT(d.deletes, 1);
    // Of a predefined type.
    CHECK_OK(MPI_Type_set_attr(MPI_INT, k, &place[0]));
    CHECK_OK(MPI_Type_dup(MPI_INT, &of_int));
    CHECK(d.copies == 1 && d.type == MPI_INT);
    check_value(of_int, k, &place[1]);
    CHECK_OK(MPI_Type_free(&of_int));
    CHECK_OK(MPI_Type_delete_attr(MPI_INT, k));
    CHECK_OK(MPI_Type_free_keyval(&k));
    CHECK_OK(MPI_Type_free_keyval(&dup));
}

int main(int argc, char **argv)
{
    CHECK_OK(MPI_Init(&argc, &argv));
    errors_return();
    if (argc > 1 && strcmp(argv[1], "dup") == 0) {
        check_dup();
    } else {
        diary d = {0};
        check_predefined();
        check_ranks();
        check_growth(make_and_free, &d, rounds_of(500000));
    }
    CHECK_OK(MPI_Finalize());
    return 0;
}
