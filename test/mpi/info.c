// SPDX-License-Identifier: BSD-3-Clause
//
// Info objects: keys in order, values, limits, copies, MPI_INFO_ENV, wrong arguments; before
// MPI_Init, between, and after MPI_Finalize. With the argument `many`: ten thousand keys; with
// `fatal`: an error before MPI_Init.

#include "check.h"

static void check_value(MPI_Info info, const char *key, const char *want)
{
    char value[MPI_MAX_INFO_VAL + 1];
    int length = -1, flag = -1, room = (int)sizeof value;
    memset(value, '#', sizeof value);
    CHECK_OK(MPI_Info_get_string(info, key, &room, value, &flag));
    CHECK_INT(flag != 0, want != NULL);
    if (!want) {
        CHECK_INT(room, sizeof value);
        CHECK(value[0] == '#');
        return;
    }
    CHECK_INT(room, strlen(want) + 1);
    CHECK(strcmp(value, want) == 0);
    CHECK_OK(MPI_Info_get_valuelen(info, key, &length, &flag));
    CHECK(flag);
    CHECK_INT(length, strlen(want));
    memset(value, '#', sizeof value);
    CHECK_OK(MPI_Info_get(info, key, length, value, &flag));
    CHECK(flag && strcmp(value, want) == 0);
}

static void check_keys(MPI_Info info, int count, const char *const *keys)
{
    char key[MPI_MAX_INFO_KEY + 1];
    int n = -1;
    CHECK_OK(MPI_Info_get_nkeys(info, &n));
    CHECK_INT(n, count);
    for (int i = 0; i < count; i++) {
        CHECK_OK(MPI_Info_get_nthkey(info, i, key));
        if (strcmp(key, keys[i]) != 0)
            check_fail(__FILE__, __LINE__, "key %d is %s, should be %s", i, key, keys[i]);
    }
}

static void check_short_buffers(MPI_Info info)
{
    char value[8] = "#######";
    int room = 0, flag = -1;
    CHECK_OK(MPI_Info_get_string(info, "b", &room, value, &flag));
    CHECK(flag && value[0] == '#');
    CHECK_INT(room, 7);
    room = 0;
    CHECK_OK(MPI_Info_get_string(info, "b", &room, STRICT ? NULL : value, &flag));
    CHECK_INT(room, 7);
    room = 3;
    CHECK_OK(MPI_Info_get_string(info, "b", &room, value, &flag));
    CHECK_INT(room, 7);
    CHECK(memcmp(value, "se\0####", 7) == 0);
    room = 1;
    CHECK_OK(MPI_Info_get_string(info, "b", &room, value, &flag));
    CHECK(value[0] == '\0' && value[1] == 'e');
    memset(value, '#', 7);
    if (STRICT) { // MPICH calls it an error
        CHECK_OK(MPI_Info_get(info, "b", 3, value, &flag));
        CHECK(flag && memcmp(value, "sec\0###", 7) == 0);
    }
    memset(value, '#', 7);
    CHECK_OK(MPI_Info_get(info, "no such", 3, value, &flag));
    CHECK(!flag && value[0] == '#');
    room = 77;
    CHECK_OK(MPI_Info_get_valuelen(info, "no such", &room, &flag));
    CHECK(!flag);
    CHECK_INT(room, 77);
}

static void check_life(void)
{
    MPI_Info info = MPI_INFO_NULL, copy = MPI_INFO_NULL;
    CHECK_OK(MPI_Info_create(&info));
    CHECK(info != MPI_INFO_NULL);
    check_keys(info, 0, NULL);
    CHECK_OK(MPI_Info_set(info, "a", "first"));
    CHECK_OK(MPI_Info_set(info, "b", "second"));
    CHECK_OK(MPI_Info_set(info, "c", ""));
    CHECK_OK(MPI_Info_set(info, "b", "later"));
    CHECK_OK(MPI_Info_set(info, "spaces in key ", " spaces in value "));
    check_keys(info, 4, (const char *[]){"a", "b", "c", "spaces in key "});
    check_value(info, "a", "first");
    check_value(info, "b", "later");
    check_value(info, "c", "");
    check_value(info, "spaces in key ", " spaces in value ");
    check_value(info, "B", NULL);
    CHECK_OK(MPI_Info_dup(info, &copy));
    CHECK(copy != info);
    CHECK_OK(MPI_Info_delete(info, "a"));
    check_keys(info, 3, (const char *[]){"b", "c", "spaces in key "});
    CHECK_OK(MPI_Info_set(info, "a", "again"));
    check_keys(info, 4, (const char *[]){"b", "c", "spaces in key ", "a"});
    check_keys(copy, 4, (const char *[]){"a", "b", "c", "spaces in key "});
    check_value(copy, "a", "first");
    CHECK_OK(MPI_Info_set(copy, "b", "second"));
    CHECK_OK(MPI_Info_free(&info));
    CHECK(info == MPI_INFO_NULL);
    check_short_buffers(copy);
    CHECK_OK(MPI_Info_free(&copy));
}

static void check_limits(void)
{
    char key[MPI_MAX_INFO_KEY + 1], value[MPI_MAX_INFO_VAL + 1];
    MPI_Info info;
    CHECK_OK(MPI_Info_create(&info));
    memset(key, 'k', sizeof key);
    memset(value, 'v', sizeof value);
    key[MPI_MAX_INFO_KEY - 1] = value[MPI_MAX_INFO_VAL - 1] = '\0';
    CHECK_OK(MPI_Info_set(info, key, value));
    check_value(info, key, value);
    check_keys(info, 1, (const char *[]){key});
    CHECK_OK(MPI_Info_free(&info));
}

// ---- wrong arguments; errors return

static void check_bad_handles(void)
{
    int n = -1, flag = -1, room = 4;
    char text[MPI_MAX_INFO_KEY + 1];
    MPI_Info info = MPI_INFO_NULL, other = MPI_INFO_NULL, freed;
    CHECK_OK(MPI_Info_create(&freed));
    MPI_Info stale[] = {freed, MPI_INFO_NULL};
    CHECK_OK(MPI_Info_free(&freed));
    for (int i = 0; i < COUNT_OF(stale); i++) {
        const char *word = i == 0 ? "freed" : "MPI_INFO_NULL";
        info = stale[i];
        CHECK_ERROR(MPI_Info_set(info, "a", "b"), MPI_ERR_INFO, "MPI_Info_set", word);
        CHECK_ERROR(MPI_Info_delete(info, "a"), MPI_ERR_INFO, "MPI_Info_delete", word);
        CHECK_ERROR(MPI_Info_get_nkeys(info, &n), MPI_ERR_INFO, "MPI_Info_get_nkeys", word);
        CHECK_ERROR(MPI_Info_get_nthkey(info, 0, text), MPI_ERR_INFO, "MPI_Info_get_nthkey", word);
        CHECK_ERROR(MPI_Info_get_string(info, "a", &room, text, &flag), MPI_ERR_INFO,
                    "MPI_Info_get_string", word);
        CHECK_ERROR(MPI_Info_get(info, "a", 4, text, &flag), MPI_ERR_INFO, "MPI_Info_get", word);
        CHECK_ERROR(MPI_Info_get_valuelen(info, "a", &n, &flag), MPI_ERR_INFO,
                    "MPI_Info_get_valuelen", word);
        CHECK_ERROR(MPI_Info_dup(info, &other), MPI_ERR_INFO, "MPI_Info_dup", word);
        CHECK_ERROR(MPI_Info_free(&info), MPI_ERR_INFO, "MPI_Info_free", word);
    }
}

static void check_bad_values(void)
{
    char key[MPI_MAX_INFO_KEY + 2], value[MPI_MAX_INFO_VAL + 2], text[MPI_MAX_INFO_KEY + 1];
    int n = -1, flag = -1;
    MPI_Info info;
    CHECK_OK(MPI_Info_create(&info));
    memset(key, 'k', sizeof key);
    memset(value, 'v', sizeof value);
    key[MPI_MAX_INFO_KEY] = value[MPI_MAX_INFO_VAL] = '\0';
    key[sizeof key - 1] = value[sizeof value - 1] = '\0';
    CHECK_ERROR(MPI_Info_set(info, key, "v"), MPI_ERR_INFO_KEY, "MPI_Info_set", "");
    CHECK_ERROR(MPI_Info_set(info, "", "v"), MPI_ERR_INFO_KEY, "MPI_Info_set", "empty");
    CHECK_ERROR(MPI_Info_set(info, "k", value), MPI_ERR_INFO_VALUE, "MPI_Info_set", "");
    CHECK_ERROR(MPI_Info_delete(info, key), MPI_ERR_INFO_KEY, "MPI_Info_delete", "");
    CHECK_ERROR(MPI_Info_delete(info, "missing"), MPI_ERR_INFO_NOKEY, "MPI_Info_delete", "missing");
    CHECK_ERROR(MPI_Info_get_valuelen(info, key, &n, &flag), MPI_ERR_INFO_KEY,
                "MPI_Info_get_valuelen", "");
    CHECK_ERROR(MPI_Info_get(info, key, 4, text, &flag), MPI_ERR_INFO_KEY, "MPI_Info_get", "");
    CHECK_ERROR(MPI_Info_get(info, "k", -1, text, &flag), MPI_ERR_ARG, "MPI_Info_get", "-1");
    n = -5;
    CHECK_ERROR(MPI_Info_get_string(info, "k", &n, text, &flag), MPI_ERR_ARG, "MPI_Info_get_string",
                "-5");
    n = 5;
    CHECK_ERROR(MPI_Info_get_string(info, "k", &n, NULL, &flag), MPI_ERR_ARG, "MPI_Info_get_string",
                "value");
    CHECK_ERROR(MPI_Info_get_nthkey(info, 0, text), MPI_ERR_ARG, "MPI_Info_get_nthkey", "0");
    CHECK_OK(MPI_Info_set(info, "one", "1"));
    CHECK_ERROR(MPI_Info_get_nthkey(info, 1, text), MPI_ERR_ARG, "MPI_Info_get_nthkey", "1");
    CHECK_ERROR(MPI_Info_get_nthkey(info, -1, text), MPI_ERR_ARG, "MPI_Info_get_nthkey", "-1");
    CHECK_ERROR(MPI_Info_set(info, NULL, "v"), MPI_ERR_ARG, "MPI_Info_set", "key");
    CHECK_ERROR(MPI_Info_set(info, "k", NULL), MPI_ERR_ARG, "MPI_Info_set", "value");
    CHECK_ERROR(MPI_Info_create(NULL), MPI_ERR_ARG, "MPI_Info_create", "info");
    CHECK_ERROR(MPI_Info_get_nkeys(info, NULL), MPI_ERR_ARG, "MPI_Info_get_nkeys", "nkeys");
    CHECK_ERROR(MPI_Info_free(NULL), MPI_ERR_ARG, "MPI_Info_free", "info");
    CHECK_OK(MPI_Info_free(&info));
}

// ---- how the program was started

static void check_text(MPI_Info info, const char *key, char *value)
{
    int room = MPI_MAX_INFO_VAL, flag = 0;
    CHECK_OK(MPI_Info_get_string(info, key, &room, value, &flag));
    if (!flag)
        check_fail(__FILE__, __LINE__, "key %s is not set", key);
}

static void check_env_object(MPI_Info info, int argc, char **argv)
{
    char value[MPI_MAX_INFO_VAL + 1];
    check_text(info, "command", value);
    CHECK(strcmp(value, argv[0]) == 0);
    check_text(info, "argv", value);
    CHECK(argc != 2 || strcmp(value, argv[1]) == 0);
    check_text(info, "maxprocs", value);
    CHECK(atoi(value) >= 1);
    check_text(info, "host", value);
    check_text(info, "arch", value);
    check_text(info, "wdir", value);
    CHECK(value[0] == '/');
    check_text(info, "mpi_memory_alloc_kinds", value);
    CHECK(strcmp(value, "mpi,system") == 0);
}

static void check_env(int argc, char **argv)
{
    MPI_Info info, env = MPI_INFO_ENV;
    check_env_object(MPI_INFO_ENV, argc, argv);
    CHECK_OK(MPI_Info_create_env(argc, argv, &info));
    check_env_object(info, argc, argv);
    CHECK_OK(MPI_Info_set(info, "command", "mine"));
    check_value(info, "command", "mine");
    CHECK_OK(MPI_Info_free(&info));
    CHECK_OK(MPI_Info_create_env(0, NULL, &info));
    check_env_object(info, argc, argv);
    CHECK_OK(MPI_Info_free(&info));
    CHECK_OK(MPI_Info_dup(env, &info));
    check_env_object(info, argc, argv);
    CHECK_OK(MPI_Info_delete(info, "arch"));
    CHECK_OK(MPI_Info_free(&info));
    check_env_object(MPI_INFO_ENV, argc, argv);
}

static void check_env_errors(void)
{
    char value[MPI_MAX_INFO_VAL + 1];
    MPI_Info env = MPI_INFO_ENV;
    check_text(env, "maxprocs", value);
    CHECK_INT(atoi(value), world_size());
    CHECK_ERROR(MPI_Info_set(env, "a", "b"), MPI_ERR_INFO, "MPI_Info_set", "read only");
    CHECK_ERROR(MPI_Info_delete(env, "arch"), MPI_ERR_INFO, "MPI_Info_delete", "read only");
    CHECK_ERROR(MPI_Info_free(&env), MPI_ERR_INFO, "MPI_Info_free", "read only");
    CHECK(env == MPI_INFO_ENV);
}

// ---- many keys

enum { MANY = 10000 };

static void name(char *text, int i)
{
    snprintf(text, 32, "key %d", i * 7919 % MANY);
}

// Those whose number is odd, by going through all of them as programs do.
static void delete_odd(MPI_Info info)
{
    char key[MPI_MAX_INFO_KEY + 1];
    int n = -1;
    CHECK_OK(MPI_Info_get_nkeys(info, &n));
    for (int i = 0; i < n; i++) {
        CHECK_OK(MPI_Info_get_nthkey(info, i, key));
        if (atoi(key + 4) % 2 == 0)
            continue;
        CHECK_OK(MPI_Info_delete(info, key));
        i--;
        n--;
    }
}

static void check_many(void)
{
    char key[MPI_MAX_INFO_KEY + 1], want[32], value[32];
    MPI_Info info, copy;
    CHECK_OK(MPI_Info_create(&info));
    for (int i = 0; i < MANY; i++) {
        name(key, i);
        snprintf(value, sizeof value, "%d", i);
        CHECK_OK(MPI_Info_set(info, key, value));
    }
    CHECK_OK(MPI_Info_dup(info, &copy));
    for (int i = MANY; i-- > 0;) {
        name(want, i);
        CHECK_OK(MPI_Info_get_nthkey(info, i, key));
        CHECK(strcmp(key, want) == 0);
        snprintf(value, sizeof value, "%d", i);
        if (i % 10 == 0)
            check_value(info, key, value);
    }
    delete_odd(info);
    int n = -1;
    CHECK_OK(MPI_Info_get_nkeys(info, &n));
    CHECK_INT(n, MANY / 2);
    for (int i = 0, at = 0; i < MANY; i++) {
        name(want, i);
        if (atoi(want + 4) % 2 == 1) {
            CHECK_OK(MPI_Info_set(info, want, "odd"));
            continue;
        }
        CHECK_OK(MPI_Info_get_nthkey(info, at++, key));
        CHECK(strcmp(key, want) == 0);
    }
    while (CHECK_OK(MPI_Info_get_nkeys(info, &n)), n > 0) {
        CHECK_OK(MPI_Info_get_nthkey(info, n % 2 ? n - 1 : 0, key));
        CHECK_OK(MPI_Info_delete(info, key));
    }
    CHECK_OK(MPI_Info_get_nkeys(copy, &n));
    CHECK_INT(n, MANY);
    CHECK_OK(MPI_Info_free(&info));
    CHECK_OK(MPI_Info_free(&copy));
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "fatal") == 0)
        return MPI_Info_set(MPI_INFO_NULL, "a", "b"); // nobody could have set a handler
    check_life();
    check_limits();
    if (STRICT)
        check_env(argc, argv);
    CHECK_OK(MPI_Init(&argc, &argv));
    errors_return();
    check_life();
    check_limits();
    if (STRICT) { // MPICH has other classes
        check_bad_handles();
        check_bad_values();
        check_env(argc, argv);
        check_env_errors();
    }
    if (argc > 1)
        check_many();
    CHECK_OK(MPI_Finalize());
    check_life();
    check_limits();
    if (STRICT)
        check_env(argc, argv);
    return 0;
}
