// SPDX-License-Identifier: BSD-3-Clause
//
// Error classes, codes and strings that the program adds and removes: before MPI_Init, between, and
// after MPI_Finalize; MPI_LASTUSEDCODE; what depends on what; handlers that get them. With the
// argument `fatal`, rank 1 ends the job by an error of its own.

#include "check.h"

static void check_string(int code, const char *want)
{
    char text[MPI_MAX_ERROR_STRING + 1] = "#";
    int length = -1;
    CHECK_OK(MPI_Error_string(code, text, &length));
    CHECK_INT(length, strlen(want));
    CHECK(strcmp(text, want) == 0);
}

// Ranks of one process share the numbers, so only what holds for each of them is asked.
static void check_life(void)
{
    char longest[MPI_MAX_ERROR_STRING + 1];
    int class = -1, code = -1, more = -1, plain = -1;
    CHECK_OK(MPI_Add_error_class(&class));
    CHECK(class > MPI_ERR_LASTCODE);
    CHECK_INT(error_class(class), class);
    check_string(class, "");
    CHECK_OK(MPI_Add_error_code(class, &code));
    CHECK_OK(MPI_Add_error_code(class, &more));
    CHECK_OK(MPI_Add_error_code(MPI_ERR_TAG, &plain));
    CHECK(code > MPI_ERR_LASTCODE && more > MPI_ERR_LASTCODE && plain > MPI_ERR_LASTCODE);
    CHECK(code != more && code != class && plain != code && plain != more);
    CHECK_INT(error_class(code), class);
    CHECK_INT(error_class(more), class);
    CHECK_INT(error_class(plain), MPI_ERR_TAG);
    check_string(code, "");
    CHECK_OK(MPI_Add_error_string(class, "the class"));
    CHECK_OK(MPI_Add_error_string(code, "the first code"));
    CHECK_OK(MPI_Add_error_string(code, "another"));
    memset(longest, 'x', sizeof longest);
    longest[MPI_MAX_ERROR_STRING - 1] = '\0';
    CHECK_OK(MPI_Add_error_string(more, longest));
    check_string(class, "the class");
    check_string(code, "another");
    check_string(more, longest);
    check_string(plain, "");
    CHECK_OK(MPI_Remove_error_string(code));
    check_string(code, "");
    CHECK_OK(MPI_Remove_error_string(more));
    CHECK_OK(MPI_Remove_error_code(code));
    CHECK_OK(MPI_Remove_error_code(more));
    CHECK_OK(MPI_Remove_error_code(plain));
    CHECK_OK(MPI_Remove_error_string(class));
    CHECK_OK(MPI_Remove_error_class(class));
}

static int last_used(void)
{
    int *value = NULL, flag = 0;
    CHECK_OK(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_LASTUSEDCODE, &value, &flag));
    CHECK(flag);
    return *value;
}

static void check_last_used(void)
{
    int class = -1, code = -1;
    CHECK(last_used() >= MPI_ERR_LASTCODE);
    CHECK_OK(MPI_Add_error_class(&class));
    CHECK(last_used() >= class);
    CHECK_OK(MPI_Add_error_code(class, &code));
    CHECK(last_used() >= code);
    CHECK_OK(MPI_Remove_error_code(code));
    CHECK_OK(MPI_Remove_error_class(class));
    CHECK(last_used() >= MPI_ERR_LASTCODE);
}

static void check_errors(void)
{
    char words[16], code_words[16], longest[MPI_MAX_ERROR_STRING + 1];
    int class = -1, code = -1, other = -1, truncated = 0, value = 0;
    CHECK_OK(MPI_Add_error_class(&class));
    CHECK_OK(MPI_Add_error_code(class, &code));
    snprintf(words, sizeof words, "%d", class);
    snprintf(code_words, sizeof code_words, "%d", code);
    memset(longest, 'x', sizeof longest);
    longest[MPI_MAX_ERROR_STRING] = '\0';
    CHECK_ERROR(MPI_Add_error_string(code, longest), MPI_ERR_ARG, "MPI_Add_error_string", "511");
    CHECK_ERROR(MPI_Add_error_string(MPI_ERR_TAG, "tag"), MPI_ERR_ARG, "MPI_Add_error_string", "4");
    CHECK_ERROR(MPI_Add_error_string(code, NULL), MPI_ERR_ARG, "MPI_Add_error_string", "string");
    CHECK_ERROR(MPI_Add_error_code(code, &other), MPI_ERR_ARG, "MPI_Add_error_code", code_words);
    CHECK_ERROR(MPI_Add_error_code(MPI_SUCCESS, &other), MPI_ERR_ARG, "MPI_Add_error_code", "0");
    CHECK_ERROR(MPI_Add_error_code(-1, &other), MPI_ERR_ARG, "MPI_Add_error_code", "-1");
    CHECK_ERROR(MPI_Add_error_code(class, NULL), MPI_ERR_ARG, "MPI_Add_error_code", "errorcode");
    CHECK_ERROR(MPI_Add_error_class(NULL), MPI_ERR_ARG, "MPI_Add_error_class", "errorclass");
    // A code of the library's is no class.
    truncated = MPI_Send(&value, 1, MPI_INT, 12345, 0, MPI_COMM_WORLD);
    CHECK_INT(error_class(truncated), MPI_ERR_RANK);
    CHECK_ERROR(MPI_Add_error_code(truncated, &other), MPI_ERR_ARG, "MPI_Add_error_code", "");
    // What something depends on stays.
    CHECK_ERROR(MPI_Remove_error_class(class), MPI_ERR_OTHER, "MPI_Remove_error_class", words);
    CHECK_OK(MPI_Add_error_string(code, "text"));
    CHECK_ERROR(MPI_Remove_error_code(code), MPI_ERR_OTHER, "MPI_Remove_error_code", code_words);
    CHECK_OK(MPI_Remove_error_string(code));
    CHECK_ERROR(MPI_Remove_error_string(code), MPI_ERR_ARG, "MPI_Remove_error_string", code_words);
    // Each by its own function.
    CHECK_ERROR(MPI_Remove_error_class(code), MPI_ERR_ARG, "MPI_Remove_error_class", code_words);
    CHECK_ERROR(MPI_Remove_error_code(class), MPI_ERR_ARG, "MPI_Remove_error_code", words);
    CHECK_ERROR(MPI_Remove_error_class(MPI_ERR_TAG), MPI_ERR_ARG, "MPI_Remove_error_class", "4");
    CHECK_ERROR(MPI_Remove_error_code(MPI_ERR_TAG), MPI_ERR_ARG, "MPI_Remove_error_code", "4");
    CHECK_ERROR(MPI_Remove_error_string(MPI_ERR_TAG), MPI_ERR_ARG, "MPI_Remove_error_string", "4");
    CHECK_OK(MPI_Remove_error_code(code));
    CHECK_OK(MPI_Remove_error_class(class));
    // What nobody has added.
    CHECK_ERROR(MPI_Error_class(INT32_MAX, &other), MPI_ERR_ARG, "MPI_Error_class", "2147483647");
    CHECK_ERROR(MPI_Error_class(-7, &other), MPI_ERR_ARG, "MPI_Error_class", "-7");
    CHECK_ERROR(MPI_Error_string(INT32_MAX, longest, &other), MPI_ERR_ARG, "MPI_Error_string",
                "2147483647");
}

// The number of what was removed serves again, the lowest first: with one rank a process nobody
// else takes it in between.
static void check_alone(void)
{
    int class[3], again = -1;
    for (int i = 0; i < 3; i++)
        CHECK_OK(MPI_Add_error_class(&class[i]));
    CHECK_INT(last_used(), class[2]);
    CHECK_OK(MPI_Add_error_string(class[1], "in the way of its class"));
    CHECK_ERROR(MPI_Remove_error_class(class[1]), MPI_ERR_OTHER, "MPI_Remove_error_class",
                "MPI_Remove_error_string");
    CHECK_OK(MPI_Remove_error_string(class[1]));
    CHECK_OK(MPI_Remove_error_class(class[1]));
    CHECK_INT(last_used(), class[2]);
    CHECK_ERROR(MPI_Error_class(class[1], &again), MPI_ERR_ARG, "MPI_Error_class", "");
    CHECK_ERROR(MPI_Remove_error_class(class[1]), MPI_ERR_ARG, "MPI_Remove_error_class", "");
    CHECK_OK(MPI_Remove_error_class(class[2]));
    CHECK_INT(last_used(), class[0]);
    CHECK_OK(MPI_Add_error_class(&again));
    CHECK_INT(again, class[1]);
    check_string(again, "");
    CHECK_OK(MPI_Remove_error_class(again));
    CHECK_OK(MPI_Remove_error_class(class[0]));
    CHECK_INT(last_used(), MPI_ERR_LASTCODE);
}

static void note(MPI_Comm *comm, int *code, ...)
{
    int flag = 0, *seen = NULL;
    (void)comm;
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &seen, &flag); // handlers may call MPI
    CHECK_INT(error_class(*code), *code - 1);
}

// The handler hears of the code; numbers that follow each other need a rank alone.
static void check_handler(void)
{
    int class = -1, code = -1;
    MPI_Errhandler handler;
    CHECK_OK(MPI_Add_error_class(&class));
    CHECK_OK(MPI_Add_error_code(class, &code));
    CHECK_OK(MPI_Comm_call_errhandler(MPI_COMM_WORLD, code)); // MPI_ERRORS_RETURN
    if (code == class + 1) {
        CHECK_OK(MPI_Comm_create_errhandler(note, &handler));
        CHECK_OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler));
        CHECK_OK(MPI_Errhandler_free(&handler));
        CHECK_OK(MPI_Comm_call_errhandler(MPI_COMM_WORLD, code));
        errors_return();
    }
}

int main(int argc, char **argv)
{
    check_life();
    CHECK_OK(MPI_Init(&argc, &argv));
    errors_return();
    if (argc > 1 && strcmp(argv[1], "fatal") == 0) {
        int class = -1, code = -1;
        CHECK_OK(MPI_Add_error_class(&class));
        CHECK_OK(MPI_Add_error_code(class, &code));
        CHECK_OK(MPI_Add_error_string(code, "the reactor is too hot"));
        CHECK_OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));
        if (world_rank() == 1)
            MPI_Comm_call_errhandler(MPI_COMM_WORLD, code);
        MPI_Barrier(MPI_COMM_WORLD);
        return 0;
    }
    for (int i = 0; i < 10; i++)
        check_life();
    check_last_used();
    check_errors();
    if (argc > 1 && strcmp(argv[1], "alone") == 0)
        check_alone();
    check_handler();
    CHECK_OK(MPI_Finalize());
    check_life();
    return 0;
}
