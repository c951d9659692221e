// SPDX-License-Identifier: BSD-3-Clause
//
// MPI_Publish_name, MPI_Lookup_name, MPI_Unpublish_name: every rank publishes a name and finds
// those of the others; what is wrong gets its class.
//
// With arguments, for test/names/run: `publish NAME TEXT` publishes, says so, and unpublishes when
// a line comes; `lookup NAME` prints what it finds; `wait NAME` looks until there is one. A fourth
// argument: with MPI_THREAD_MULTIPLE.

#include "check.h"

static void publish_all(int rank, int size)
{
    char service[64], port[64], found[MPI_MAX_PORT_NAME];
    MPI_Info info;
    CHECK_OK(MPI_Info_create(&info));
    snprintf(service, sizeof service, "service %d", rank);
    snprintf(port, sizeof port, "port of rank %d", rank);
    CHECK_OK(MPI_Publish_name(service, info, port));
    CHECK_OK(MPI_Info_free(&info));
    CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
    for (int r = 0; r < size; r++) {
        snprintf(service, sizeof service, "service %d", r);
        snprintf(port, sizeof port, "port of rank %d", r);
        memset(found, 'x', sizeof found);
        CHECK_OK(MPI_Lookup_name(service, MPI_INFO_NULL, found));
        CHECK(strcmp(found, port) == 0);
    }
    CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
    snprintf(service, sizeof service, "service %d", rank);
    CHECK_OK(MPI_Unpublish_name(service, MPI_INFO_NULL, port));
    CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
    CHECK_INT(error_class(MPI_Lookup_name("service 0", MPI_INFO_NULL, found)), MPI_ERR_NAME);
}

static void check_errors(int rank)
{
    char service[64], text[MPI_MAX_PORT_NAME], found[MPI_MAX_PORT_NAME], long_text[2000];
    snprintf(service, sizeof service, "own %d", rank);
    memset(long_text, 'l', sizeof long_text);
    long_text[sizeof long_text - 1] = '\0';
    CHECK_OK(MPI_Publish_name(service, MPI_INFO_NULL, "here"));
    CHECK_INT(error_class(MPI_Publish_name(service, MPI_INFO_NULL, "there")), MPI_ERR_SERVICE);
    CHECK_OK(MPI_Lookup_name(service, MPI_INFO_NULL, found));
    CHECK(strcmp(found, "here") == 0);
    CHECK_INT(error_class(MPI_Lookup_name("nothing", MPI_INFO_NULL, found)), MPI_ERR_NAME);
    CHECK_INT(error_class(MPI_Unpublish_name("nothing", MPI_INFO_NULL, "x")), MPI_ERR_SERVICE);
    CHECK_OK(MPI_Unpublish_name(service, MPI_INFO_NULL, "here"));
    CHECK_INT(error_class(MPI_Unpublish_name(service, MPI_INFO_NULL, "here")), MPI_ERR_SERVICE);
    CHECK_INT(error_class(MPI_Publish_name("", MPI_INFO_NULL, "x")), MPI_ERR_SERVICE);
    CHECK_INT(error_class(MPI_Publish_name(long_text, MPI_INFO_NULL, "x")), MPI_ERR_SERVICE);
    CHECK_INT(error_class(MPI_Publish_name(service, MPI_INFO_NULL, long_text)), MPI_ERR_PORT);
    memset(text, 't', sizeof text);
    text[sizeof text - 1] = '\0';
    CHECK_OK(MPI_Publish_name(service, MPI_INFO_NULL, text)); // the longest
    CHECK_OK(MPI_Lookup_name(service, MPI_INFO_NULL, found));
    CHECK(strcmp(found, text) == 0);
    CHECK_OK(MPI_Unpublish_name(service, MPI_INFO_NULL, text));
}

static void obey(int rank, char **argv)
{
    char found[MPI_MAX_PORT_NAME], line[64];
    if (rank > 0)
        return;
    if (strcmp(argv[1], "publish") == 0) {
        CHECK_OK(MPI_Publish_name(argv[2], MPI_INFO_NULL, argv[3]));
        printf("published\n");
        fflush(stdout);
        if (fgets(line, sizeof line, stdin))
            CHECK_OK(MPI_Unpublish_name(argv[2], MPI_INFO_NULL, argv[3]));
        return;
    }
    int code;
    do
        code = MPI_Lookup_name(argv[2], MPI_INFO_NULL, found);
    while (code != MPI_SUCCESS && strcmp(argv[1], "wait") == 0);
    if (code != MPI_SUCCESS) {
        int length;
        MPI_Error_string(code, found, &length);
    }
    printf("%s\n", found);
}

int main(int argc, char **argv)
{
    int rank, size, level;
    MPI_Init_thread(&argc, &argv, argc > 4 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &level);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (argc > 2)
        obey(rank, argv);
    else {
        publish_all(rank, size);
        check_errors(rank);
    }
    MPI_Finalize();
    return 0;
}
