// SPDX-License-Identifier: BSD-3-Clause
//
// What attribute functions say of wrong keys: none, freed, predefined, of another kind of object;
// and codes of callbacks, which come back as they are.

#include "check.h"

static int fail_delete(MPI_Comm comm, int keyval, void *value, void *extra)
{
    (void)comm;
    (void)keyval;
    (void)value;
    return *(int *)extra;
}

static int fail_copy(MPI_Comm comm, int keyval, void *extra, void *in, void *out, int *flag)
{
    (void)comm, (void)keyval, (void)in, (void)out;
    *flag = 0;
    return *(int *)extra;
}

static int fail_delete_type(MPI_Datatype type, int keyval, void *value, void *extra)
{
    (void)type, (void)keyval, (void)value;
    return *(int *)extra;
}

static int fail_copy_type(MPI_Datatype type, int keyval, void *extra, void *in, void *out,
                          int *flag)
{
    (void)type, (void)keyval, (void)in, (void)out;
    *flag = 0;
    return *(int *)extra;
}

static void check_keys(int comm_key, int type_key, int win_key)
{
    MPI_Comm world = MPI_COMM_WORLD;
    void *value = NULL;
    int flag = -1, key;
    CHECK_ERROR(MPI_Comm_get_attr(world, type_key, &value, &flag), MPI_ERR_KEYVAL,
                "MPI_Comm_get_attr", "for datatypes");
    CHECK_ERROR(MPI_Comm_set_attr(world, win_key, &value), MPI_ERR_KEYVAL, "MPI_Comm_set_attr",
                "for windows");
    CHECK_ERROR(MPI_Comm_delete_attr(world, type_key), MPI_ERR_KEYVAL, "MPI_Comm_delete_attr",
                "for datatypes");
    CHECK_ERROR(MPI_Type_get_attr(MPI_INT, comm_key, &value, &flag), MPI_ERR_KEYVAL,
                "MPI_Type_get_attr", "for communicators");
    CHECK_ERROR(MPI_Type_set_attr(MPI_INT, comm_key, &value), MPI_ERR_KEYVAL, "MPI_Type_set_attr",
                "for communicators");
    CHECK_ERROR(MPI_Type_delete_attr(MPI_INT, win_key), MPI_ERR_KEYVAL, "MPI_Type_delete_attr",
                "for windows");
    key = type_key;
    CHECK_ERROR(MPI_Comm_free_keyval(&key), MPI_ERR_KEYVAL, "MPI_Comm_free_keyval", "datatypes");
    CHECK_INT(key, type_key);
    key = comm_key;
    CHECK_ERROR(MPI_Type_free_keyval(&key), MPI_ERR_KEYVAL, "MPI_Type_free_keyval", "comm");
    CHECK_ERROR(MPI_Win_free_keyval(&key), MPI_ERR_KEYVAL, "MPI_Win_free_keyval", "comm");
    int wrong[4] = {-1, 12, 0x7fffffff, 0x01ffffff};
    for (int i = 0; i < 4; i++) {
        CHECK_ERROR(MPI_Comm_get_attr(world, wrong[i], &value, &flag), MPI_ERR_KEYVAL,
                    "MPI_Comm_get_attr", "does not exist");
        CHECK_ERROR(MPI_Comm_set_attr(world, wrong[i], &value), MPI_ERR_KEYVAL, "MPI_Comm_set_attr",
                    "does not exist");
        key = wrong[i];
        CHECK_ERROR(MPI_Type_free_keyval(&key), MPI_ERR_KEYVAL, "MPI_Type_free_keyval", "exist");
    }
    key = MPI_KEYVAL_INVALID;
    CHECK_ERROR(MPI_Comm_free_keyval(&key), MPI_ERR_KEYVAL, "MPI_Comm_free_keyval",
                "MPI_KEYVAL_INVALID");
    CHECK_ERROR(MPI_Comm_get_attr(world, key, &value, &flag), MPI_ERR_KEYVAL, "MPI_Comm_get_attr",
                "MPI_KEYVAL_INVALID");
    CHECK_ERROR(MPI_Keyval_free(&key), MPI_ERR_KEYVAL, "MPI_Keyval_free", "MPI_KEYVAL_INVALID");
    CHECK_ERROR(MPI_Attr_put(world, key, &value), MPI_ERR_KEYVAL, "MPI_Attr_put", "INVALID");
    CHECK_ERROR(MPI_Attr_get(world, key, &value, &flag), MPI_ERR_KEYVAL, "MPI_Attr_get", "INVALID");
    CHECK_ERROR(MPI_Attr_delete(world, key), MPI_ERR_KEYVAL, "MPI_Attr_delete", "INVALID");
}

static void check_predefined(void)
{
    static const int keys[] = {MPI_TAG_UB, MPI_IO,           MPI_HOST,         MPI_WTIME_IS_GLOBAL,
                               MPI_APPNUM, MPI_LASTUSEDCODE, MPI_UNIVERSE_SIZE};
    int value = 0, *found = NULL, flag = -1, key = MPI_TAG_UB;
    for (int i = 0; i < COUNT_OF(keys); i++) {
        CHECK_ERROR(MPI_Comm_set_attr(MPI_COMM_WORLD, keys[i], &value), MPI_ERR_KEYVAL,
                    "MPI_Comm_set_attr", "predefined");
        CHECK_ERROR(MPI_Comm_delete_attr(MPI_COMM_SELF, keys[i]), MPI_ERR_KEYVAL,
                    "MPI_Comm_delete_attr", "predefined");
        CHECK_OK(MPI_Comm_get_attr(MPI_COMM_WORLD, keys[i], &found, &flag));
        CHECK(flag == 1 && found != NULL);
    }
    CHECK_ERROR(MPI_Comm_free_keyval(&key), MPI_ERR_KEYVAL, "MPI_Comm_free_keyval", "MPI_TAG_UB");
    CHECK_ERROR(MPI_Type_get_attr(MPI_INT, key, &found, &flag), MPI_ERR_KEYVAL, "MPI_Type_get_attr",
                "MPI_TAG_UB");
    CHECK_ERROR(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_WIN_BASE, &found, &flag), MPI_ERR_KEYVAL,
                "MPI_Comm_get_attr", "MPI_WIN_BASE");
}

static void check_freed(void)
{
    int key = MPI_KEYVAL_INVALID, flag = -1;
    void *value = NULL;
    CHECK_OK(MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, &key, NULL));
    int old = key, again = key;
    CHECK_OK(MPI_Comm_set_attr(MPI_COMM_SELF, key, &key));
    CHECK_OK(MPI_Comm_free_keyval(&key));
    // An attribute keeps it alive, but there will be no further one.
    CHECK_ERROR(MPI_Comm_set_attr(MPI_COMM_SELF, old, &key), MPI_ERR_KEYVAL, "MPI_Comm_set_attr",
                "was freed");
    CHECK_OK(MPI_Comm_free_keyval(&again));
    again = old;
    CHECK_OK(MPI_Comm_delete_attr(MPI_COMM_SELF, old));
    CHECK_ERROR(MPI_Comm_get_attr(MPI_COMM_SELF, old, &value, &flag), MPI_ERR_KEYVAL,
                "MPI_Comm_get_attr", "does not exist");
    CHECK_ERROR(MPI_Comm_free_keyval(&again), MPI_ERR_KEYVAL, "MPI_Comm_free_keyval", "freed");
    // Other keys come and go: the old number stays dead.
    for (int i = 0; i < 100; i++) {
        CHECK_OK(MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, &key, NULL));
        CHECK(key != old);
        CHECK_ERROR(MPI_Comm_get_attr(MPI_COMM_SELF, old, &value, &flag), MPI_ERR_KEYVAL,
                    "MPI_Comm_get_attr", "does not exist");
        CHECK_OK(MPI_Comm_free_keyval(&key));
    }
}

static void check_codes(void)
{
    int code = MPI_SUCCESS, key = MPI_KEYVAL_INVALID, class = -1, user = -1, flag = -1;
    void *value = NULL;
    CHECK_OK(MPI_Add_error_class(&class));
    CHECK_OK(MPI_Add_error_code(class, &user));
    CHECK_OK(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, fail_delete, &key, &code));
    CHECK_OK(MPI_Comm_set_attr(MPI_COMM_WORLD, key, &key));
    int codes[3] = {MPI_ERR_OTHER, user, MPI_ERR_INTERN};
    for (int i = 0; i < 3; i++) {
        code = codes[i];
        CHECK_INT(MPI_Comm_delete_attr(MPI_COMM_WORLD, key), code);
        CHECK_INT(MPI_Comm_set_attr(MPI_COMM_WORLD, key, &code), code);
        CHECK_OK(MPI_Comm_get_attr(MPI_COMM_WORLD, key, &value, &flag));
        CHECK(flag == 1 && value == &key);
    }
    code = MPI_SUCCESS;
    CHECK_OK(MPI_Comm_delete_attr(MPI_COMM_WORLD, key));
    CHECK_OK(MPI_Comm_free_keyval(&key));
}

int main(int argc, char **argv)
{
    int comm_key = MPI_KEYVAL_INVALID, type_key = MPI_KEYVAL_INVALID, win_key = MPI_KEYVAL_INVALID;
    int flag = -1;
    void *value = NULL;
    CHECK_OK(MPI_Init(&argc, &argv));
    if (argc > 1 && strcmp(argv[1], "fatal") == 0) { // told with the callback's code
        int code = MPI_ERR_OTHER;
        CHECK_OK(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, fail_delete, &comm_key, &code));
        CHECK_OK(MPI_Comm_set_attr(MPI_COMM_WORLD, comm_key, NULL));
        MPI_Comm_delete_attr(MPI_COMM_WORLD, comm_key);
        return 0;
    }
    if (argc > 1 && strstr(argv[1], "type")) { // or when a datatype with attributes is
        int code = MPI_ERR_OTHER;
        MPI_Datatype type, copy;
        CHECK_OK(MPI_Type_contiguous(2, MPI_INT, &type));
        CHECK_OK(MPI_Type_create_keyval(fail_copy_type, fail_delete_type, &type_key, &code));
        CHECK_OK(MPI_Type_set_attr(type, type_key, NULL));
        if (strcmp(argv[1], "fatal-type-dup") == 0)
            MPI_Type_dup(type, &copy);
        MPI_Type_free(&type);
        return 0;
    }
    if (argc > 1) { // the same when a communicator with attributes is freed or duplicated
        int code = MPI_ERR_OTHER;
        MPI_Comm comm, copy;
        CHECK_OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
        CHECK_OK(MPI_Comm_create_keyval(fail_copy, fail_delete, &comm_key, &code));
        CHECK_OK(MPI_Comm_set_attr(comm, comm_key, NULL));
        if (strcmp(argv[1], "fatal-dup") == 0)
            MPI_Comm_dup(comm, &copy);
        MPI_Comm_free(&comm);
        return 0;
    }
    errors_return();
    CHECK_OK(MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, &comm_key, NULL));
    CHECK_OK(MPI_Type_create_keyval(MPI_TYPE_DUP_FN, MPI_TYPE_NULL_DELETE_FN, &type_key, NULL));
    CHECK_OK(MPI_Win_create_keyval(MPI_WIN_DUP_FN, MPI_WIN_NULL_DELETE_FN, &win_key, NULL));
    check_keys(comm_key, type_key, win_key);
    check_predefined();
    check_freed();
    check_codes();
    CHECK_ERROR(MPI_Comm_set_attr(MPI_COMM_NULL, comm_key, &value), MPI_ERR_COMM,
                "MPI_Comm_set_attr", "MPI_COMM_NULL");
    CHECK_ERROR(MPI_Type_set_attr(MPI_DATATYPE_NULL, type_key, &value), MPI_ERR_TYPE,
                "MPI_Type_set_attr", "MPI_DATATYPE_NULL");
    CHECK_ERROR(MPI_Win_set_attr(MPI_WIN_NULL, win_key, &value), MPI_ERR_WIN, "MPI_Win_set_attr",
                "MPI_WIN_NULL");
    CHECK_ERROR(MPI_Win_get_attr(MPI_WIN_NULL, win_key, &value, &flag), MPI_ERR_WIN,
                "MPI_Win_get_attr", "MPI_WIN_NULL");
    CHECK_ERROR(MPI_Win_delete_attr(MPI_WIN_NULL, win_key), MPI_ERR_WIN, "MPI_Win_delete_attr",
                "MPI_WIN_NULL");
    CHECK_ERROR(MPI_Comm_get_attr(MPI_COMM_WORLD, comm_key, NULL, &flag), MPI_ERR_ARG,
                "MPI_Comm_get_attr", "NULL");
    CHECK_OK(MPI_Comm_free_keyval(&comm_key));
    CHECK_OK(MPI_Type_free_keyval(&type_key));
    CHECK_OK(MPI_Win_free_keyval(&win_key));
    CHECK_OK(MPI_Finalize());
    return 0;
}
