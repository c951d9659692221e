// SPDX-License-Identifier: BSD-3-Clause
// What MPI_Comm_spawn refuses, and jobs that do not come: an error on every rank with a sentence that
// says why, MPI_COMM_NULL, and a world that works on. `spawn_errors early|crash|...` is such a job.
#include "comm_check.h"

typedef struct failure {
    const char *command; // NULL: this program
    const char *word;    // its argument
    const char *key, *value;
    int most, class;
    const char *says;
} failure;

static const failure failures[] = {
    {"./no_such_program", "", NULL, NULL, 2, MPI_ERR_SPAWN, "there is no program"},
    {"/etc/passwd", "", NULL, NULL, 2, MPI_ERR_SPAWN, "cannot be executed"},
    {"/bin/true", "", NULL, NULL, 2, MPI_ERR_SPAWN, "without calling MPI_Init"},
    {"/bin/false", "", NULL, NULL, 1, MPI_ERR_SPAWN, "exit status 1"},
    {"", "", NULL, NULL, 1, MPI_ERR_ARG, "command"},
    {NULL, "early", NULL, NULL, 3, MPI_ERR_SPAWN, "exit status 9"},
    {NULL, "crash", NULL, NULL, 3, MPI_ERR_SPAWN, "signal 6"},
    {NULL, "some", NULL, NULL, 3, MPI_ERR_SPAWN, "without calling MPI_Init"},
    {NULL, "x", NULL, NULL, 0, MPI_ERR_ARG, "maxprocs is 0"},
    {NULL, "x", NULL, NULL, -3, MPI_ERR_ARG, "maxprocs is -3"},
    {NULL, "x", NULL, NULL, 2000000, MPI_ERR_SPAWN, "2000000"},
    {NULL, "x", "soft", "5:9", 4, MPI_ERR_SPAWN, "soft"},
    {NULL, "x", "soft", "some", 4, MPI_ERR_SPAWN, "soft"},
    {NULL, "x", "nfg", "3", 4, MPI_ERR_SPAWN, "nfg"},
    {NULL, "x", "grain", "dust", 4, MPI_ERR_SPAWN, "dust"},
    {NULL, "x", "wdir", "/no/such/folder", 1, MPI_ERR_SPAWN, "/no/such/folder"},
    {NULL, "x", "hostfile", "/no/such/file", 1, MPI_ERR_SPAWN, "/no/such/file"},
};

static void check_failure(const failure *f, char *self)
{
    char word[64], command[4096];
    char *arguments[] = {word, NULL};
    snprintf(word, sizeof word, "%s", f->word);
    snprintf(command, sizeof command, "%s", f->command ? f->command : self);
    MPI_Info info = MPI_INFO_NULL;
    MPI_Comm kin = MPI_COMM_WORLD;
    if (f->key) {
        CHECK_OK(MPI_Info_create(&info));
        CHECK_OK(MPI_Info_set(info, f->key, f->value));
    }
    CHECK_ERROR(MPI_Comm_spawn(command, arguments, f->most, info, 0, MPI_COMM_WORLD, &kin,
                               MPI_ERRCODES_IGNORE),
                f->class, "MPI_Comm_spawn", f->says);
    CHECK(kin == MPI_COMM_NULL);
    if (info != MPI_INFO_NULL)
        CHECK_OK(MPI_Info_free(&info));
    CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
}

// Wrong on every rank, so nobody waits for another.
static void check_arguments(char *self)
{
    MPI_Comm kin = MPI_COMM_WORLD;
    int size = size_of(MPI_COMM_WORLD), one = 1;
    MPI_Info none = MPI_INFO_NULL;
    CHECK_ERROR(MPI_Comm_spawn(self, NULL, 1, none, size, MPI_COMM_WORLD, &kin, NULL), MPI_ERR_ROOT,
                "MPI_Comm_spawn", "root");
    CHECK_ERROR(MPI_Comm_spawn(self, NULL, 1, none, -1, MPI_COMM_WORLD, &kin, NULL), MPI_ERR_ROOT,
                "MPI_Comm_spawn", "root");
    CHECK_ERROR(MPI_Comm_spawn_multiple(0, &self, NULL, &one, &none, 0, MPI_COMM_WORLD, &kin, NULL),
                MPI_ERR_ARG, "MPI_Comm_spawn_multiple", "count is 0");
    CHECK_ERROR(MPI_Comm_spawn_multiple(1, NULL, NULL, &one, &none, 0, MPI_COMM_WORLD, &kin, NULL),
                MPI_ERR_ARG, "MPI_Comm_spawn_multiple", "array_of_commands");
    CHECK(kin == MPI_COMM_NULL);
}

int main(int argc, char **argv)
{
    const char *word = argc > 1 ? argv[1] : "";
    const char *rank = getenv("PMI_RANK");
    if (strcmp(word, "early") == 0)
        exit(9);
    if (strcmp(word, "crash") == 0)
        abort();
    if (strcmp(word, "some") == 0 && rank && atoi(rank) == 1)
        exit(0);
    CHECK_OK(MPI_Init(&argc, &argv));
    errors_return();
    check_arguments(argv[0]);
    for (int i = 0; i < COUNT_OF(failures); i++)
        check_failure(&failures[i], argv[0]);
    CHECK_OK(MPI_Finalize());
    return 0;
}
