// SPDX-License-Identifier: BSD-3-Clause
//
// Wrong calls of millet/goal.h: each gets a class and an error message that names function and
// argument, by the handler of the right communicator, and changes nothing. Functions that return an
// id have no code to return: there the handler keeps the error message as the communicator's name.

#include <unistd.h>

#include "goal_check.h"

#define WORLD MPI_COMM_WORLD

static void keep(MPI_Comm *comm, int *code, ...)
{
    char text[MPI_MAX_ERROR_STRING + 1] = "";
    int length;
    MPI_Error_string(*code, text, &length);
    text[MPI_MAX_OBJECT_NAME - 1] = '\0';
    MPI_Comm_set_name(*comm, text);
}

static void set_keeping(MPI_Comm comm)
{
    MPI_Errhandler handler;
    CHECK_OK(MPI_Comm_create_errhandler(keep, &handler));
    CHECK_OK(MPI_Comm_set_errhandler(comm, handler));
    CHECK_OK(MPI_Errhandler_free(&handler));
}

// The last error message of a communicator has both words.
static void check_kept(int line, MPI_Comm comm, const char *function, const char *value)
{
    char text[MPI_MAX_OBJECT_NAME] = "";
    int length;
    CHECK_OK(MPI_Comm_get_name(comm, text, &length));
    if (!strstr(text, function) || !strstr(text, value))
        check_fail(__FILE__, line, "'%s' or '%s' is not in: %s", function, value, text);
    CHECK_OK(MPI_Comm_set_name(comm, "nothing"));
}

#define CHECK_NO_ID(call, comm, function, value)                                                   \
    (CHECK((call) < 0), check_kept(__LINE__, (comm), (function), (value)))
#define CHECK_NULL(call, comm, function, value)                                                    \
    (CHECK((call) == NULL), check_kept(__LINE__, (comm), (function), (value)))

static void function(void *buf1, int size1, void *buf2, int size2)
{
    (void)buf1, (void)size1, (void)buf2, (void)size2;
}

static void building(MPI_Comm comm, int size)
{
    int a[8] = {0};
    GOAL_Goal g = GOAL_Create(), none = NULL;
    CHECK_OK(GOAL_Set_comm(g, comm));
    GOAL_id id = CHECK_ID(GOAL_Nop(g));
    CHECK_NO_ID(GOAL_Send(none, a, 4, 0), MPI_COMM_SELF, "GOAL_Send: ", "goal");
    CHECK_NO_ID(GOAL_Send((GOAL_Goal)(uintptr_t)17, a, 4, 0), MPI_COMM_SELF, "GOAL_Send: ", "0x11");
    CHECK_NO_ID(GOAL_Send(g, a, 4, size), comm, "GOAL_Send: argument dest", "from 0 to");
    CHECK_NO_ID(GOAL_Send(g, a, 4, -5), comm, "GOAL_Send: argument dest", "-5");
    CHECK_NO_ID(GOAL_Send(g, NULL, 4, 0), comm, "GOAL_Send: argument buf", "NULL");
    CHECK_NO_ID(GOAL_Send(g, a, SIZE_MAX, 0), comm, "GOAL_Send: ", "addresses");
    CHECK_NO_ID(GOAL_Recv(g, a, 4, size + 7), comm, "GOAL_Recv: argument source", "from 0 to");
    CHECK_NO_ID(GOAL_Recv(g, a, 4, MPI_ANY_SOURCE), comm, "GOAL_Recv: ", "MPI_ANY_SOURCE");
    CHECK_NO_ID(GOAL_Send_tag(g, a, 4, 0, -1), comm, "GOAL_Send_tag: ", "tag");
    CHECK_NO_ID(GOAL_Recv_tag(g, a, 4, 0, MPI_ANY_TAG), comm, "GOAL_Recv_tag: ", "MPI_ANY_TAG");
    CHECK_NO_ID(GOAL_Exec(g, 0, a, 4, a + 1, 4), comm, "GOAL_Exec: argument func is 0", "GOAL_Reg");
    CHECK_NO_ID(GOAL_Exec(g, 1 << 16 | 11 << 8, a, 4, a + 1, 4), comm, "GOAL_Exec: ", "func");
    CHECK_NO_ID(GOAL_Exec(g, 1 << 16 | 11, a, 4, a + 1, 4), comm, "GOAL_Exec: ", "func");
    CHECK_NO_ID(GOAL_Exec(g, GOAL_sumInt32, a, 4, a + 1, 8), comm, "GOAL_Exec: ", "4 and 8");
    CHECK_NO_ID(GOAL_Exec(g, GOAL_sumInt32, a, 6, a + 2, 6), comm, "GOAL_Exec: ", "multiple");
    CHECK_NO_ID(GOAL_Exec(g, GOAL_sumInt32, a, 8, a + 1, 8), comm, "GOAL_Exec: ", "overlap");
    CHECK_NO_ID(GOAL_Exec(g, GOAL_sumInt32, NULL, 8, a, 8), comm, "GOAL_Exec: ", "buf1");
    CHECK_NO_ID(GOAL_Exec(g, GOAL_sumInt32, a, 8, NULL, 8), comm, "GOAL_Exec: ", "buf2");
    CHECK_NO_ID(GOAL_Reg_func(g, NULL), comm, "GOAL_Reg_func: ", "func");
    CHECK_NO_ID(GOAL_Reg_func(none, function), MPI_COMM_SELF, "GOAL_Reg_func: ", "goal");
    GOAL_fid f = CHECK_ID(GOAL_Reg_func(g, function));
    CHECK_NO_ID(GOAL_Exec(g, f + 1, a, 4, a, 4), comm, "GOAL_Exec: ", "func");
    for (int i = 1; i < 65536; i++)
        CHECK_ID(GOAL_Reg_func(g, function));
    CHECK_NO_ID(GOAL_Reg_func(g, function), comm, "GOAL_Reg_func: ", "65536 functions");
    CHECK_NO_ID(GOAL_Exec(g, f, a, SIZE_MAX / 4, a, 4), comm, "GOAL_Exec: ", "int");
    CHECK_NO_ID(GOAL_Exec(g, -1, a, 4, a, 4), comm, "GOAL_Exec: ", "func is -1");
    CHECK_NO_ID(GOAL_Exec_reversed(g, f, a, 4, a + 1, 8), comm, "GOAL_Exec_reversed: ", "same");
    CHECK_NO_ID(GOAL_Nop(none), MPI_COMM_SELF, "GOAL_Nop: ", "goal");
    CHECK_ERROR(GOAL_Requ(g, id, 1), MPI_ERR_ARG, "GOAL_Requ", "argument b is 1");
    CHECK_ERROR(GOAL_Requ(g, -1, id), MPI_ERR_ARG, "GOAL_Requ", "argument a is -1");
    CHECK_ERROR(GOAL_Requ_start(g, id, id), MPI_ERR_ARG, "GOAL_Requ_start", "itself");
    CHECK_ERROR(GOAL_Requ(none, 0, 0), MPI_ERR_ARG, "GOAL_Requ", "goal");
    CHECK_ERROR(GOAL_Set(g, 99, 1), MPI_ERR_ARG, "GOAL_Set", "99");
    CHECK_ERROR(GOAL_Set(g, GOAL_OFFLOAD, 1), MPI_ERR_ARG, "GOAL_Set", "what");
    CHECK_ERROR(GOAL_Set(g, GOAL_AUTO, 2), MPI_ERR_ARG, "GOAL_Set", "value is 2");
    CHECK_ERROR(GOAL_Set(g, GOAL_WINDOW, -1), MPI_ERR_ARG, "GOAL_Set", "-1");
    CHECK_OK(GOAL_Set(g, GOAL_PLAIN, 1));
    CHECK_INT(CHECK_ID(GOAL_Recv(g, a, 4, MPI_ANY_SOURCE)), 1);
    CHECK_ERROR(GOAL_Set(g, GOAL_PLAIN, 0), MPI_ERR_ARG, "GOAL_Set", "action 1 receives from");
    CHECK_ERROR(GOAL_Set_comm(g, MPI_COMM_NULL), MPI_ERR_COMM, "GOAL_Set_comm", "comm");
    CHECK_ERROR(GOAL_Free(NULL), MPI_ERR_ARG, "GOAL_Free", "NULL");
    CHECK_ERROR(GOAL_Free(&none), MPI_ERR_ARG, "GOAL_Free", "goal");
    GOAL_Goal stale = g;
    CHECK_OK(GOAL_Free(&g));
    CHECK_NO_ID(GOAL_Nop(stale), MPI_COMM_SELF, "GOAL_Nop: ", "GOAL_Goal");
    CHECK_NULL(GOAL_Compile(stale), MPI_COMM_SELF, "GOAL_Compile: ", "GOAL_Goal");
}

static void buffers(MPI_Comm comm)
{
    char a[64], b[64];
    GOAL_Goal g = GOAL_Create();
    CHECK_OK(GOAL_Set_comm(g, comm));
    CHECK_ID(GOAL_Exec(g, GOAL_copyInt8, b, 16, b + 32, 16));
    CHECK_ERROR(GOAL_Buffer(g, NULL, a, 64), MPI_ERR_ARG, "GOAL_Buffer", "name is NULL");
    CHECK_ERROR(GOAL_Buffer(g, "", a, 64), MPI_ERR_ARG, "GOAL_Buffer", "name is empty");
    CHECK_ERROR(GOAL_Buffer(g, "a", NULL, 64), MPI_ERR_BUFFER, "GOAL_Buffer", "base");
    CHECK_ERROR(GOAL_Buffer(g, "a", a, 0), MPI_ERR_COUNT, "GOAL_Buffer", "size is 0");
    CHECK_ERROR(GOAL_Buffer(g, "a", a, SIZE_MAX), MPI_ERR_COUNT, "GOAL_Buffer", "size");
    CHECK_OK(GOAL_Buffer(g, "a", a, 32));
    CHECK_ERROR(GOAL_Buffer(g, "a", a + 32, 32), MPI_ERR_ARG, "GOAL_Buffer", "'a'");
    CHECK_ERROR(GOAL_Buffer(g, "c", a + 31, 32), MPI_ERR_BUFFER, "GOAL_Buffer", "overlap");
    CHECK_ERROR(GOAL_Buffer(g, "b", b, 40), MPI_ERR_BUFFER, "GOAL_Buffer", "action 0");
    CHECK_NO_ID(GOAL_Send(g, a + 16, 32, 0), comm, "GOAL_Send: ", "partly");
    CHECK_NULL(GOAL_Alloc(g, "m", 0), comm, "GOAL_Alloc: ", "size is 0");
    CHECK_NULL(GOAL_Alloc(g, "m", SIZE_MAX / 2), comm, "GOAL_Alloc: ", "memory");
    CHECK_NULL(GOAL_Alloc(g, "a", 8), comm, "GOAL_Alloc: ", "'a'");
    CHECK_NULL(GOAL_Alloc(NULL, "m", 8), MPI_COMM_SELF, "GOAL_Alloc: ", "goal");
    GOAL_Sched s = compiled(g);
    CHECK_ERROR(GOAL_Sched_bind(s, "z", a), MPI_ERR_ARG, "GOAL_Sched_bind", "'z'");
    CHECK_ERROR(GOAL_Sched_bind(s, NULL, a), MPI_ERR_ARG, "GOAL_Sched_bind", "name");
    CHECK_ERROR(GOAL_Sched_buffer(s, "z", NULL, NULL), MPI_ERR_ARG, "GOAL_Sched_buffer", "'z'");
    CHECK_ERROR(GOAL_Sched_save(s, "never"), MPI_ERR_ARG, "GOAL_Sched_save", "GOAL_Buffer");
    CHECK_OK(GOAL_Sched_free(&s));
}

static void schedules(MPI_Comm comm, int rank, int size)
{
    int a[4], n;
    GOAL_id ids[4];
    MPI_Request request;
    GOAL_Goal g = GOAL_Create();
    CHECK_OK(GOAL_Set_comm(g, comm));
    GOAL_id x = CHECK_ID(GOAL_Nop(g)), y = CHECK_ID(GOAL_Nop(g));
    CHECK_OK(GOAL_Requ(g, x, y));
    CHECK_OK(GOAL_Requ(g, y, x));
    char cycle[64];
    snprintf(cycle, sizeof cycle, "rank %d", rank);
    CHECK_NULL(GOAL_Compile(g), comm, "GOAL_Compile: ", cycle);
    CHECK_OK(GOAL_Free(&g));
    g = GOAL_Create();
    CHECK_OK(GOAL_Set_comm(g, comm));
    CHECK_ID(GOAL_Send(g, a, sizeof a, size - 1));
    if (size > 1) {
        MPI_Comm small;
        CHECK_OK(MPI_Comm_split(comm, rank == 0 ? 0 : 1, 0, &small));
        if (rank == 0)
            CHECK_ERROR(GOAL_Set_comm(g, small), MPI_ERR_RANK, "GOAL_Set_comm", "action 0");
        MPI_Comm inter;
        CHECK_OK(MPI_Intercomm_create(small, 0, comm, rank == 0 ? 1 : 0, 5, &inter));
        CHECK_OK(MPI_Comm_set_errhandler(inter, MPI_ERRORS_RETURN));
        CHECK_ERROR(GOAL_Set_comm(g, inter), MPI_ERR_COMM, "GOAL_Set_comm", "intercommunicator");
        CHECK_OK(MPI_Comm_free(&inter));
        CHECK_OK(MPI_Comm_free(&small));
    }
    CHECK_OK(GOAL_Free(&g));
    g = GOAL_Create();
    CHECK_OK(GOAL_Set_comm(g, comm));
    CHECK_OK(GOAL_Set(g, GOAL_PLAIN, 1));
    CHECK_ID(GOAL_Send_tag(g, a, sizeof a, 0, 1 << 20));
    CHECK_NULL(GOAL_Compile(g), comm, "GOAL_Compile: ", "tag 1048576");
    CHECK_OK(GOAL_Free(&g));
    if (rank == 0) { // slots have 19 bits
        g = GOAL_Create();
        CHECK_OK(GOAL_Set_comm(g, comm));
        for (int i = 0; i < (1 << 19) - 1; i++)
            CHECK_ID(GOAL_Send(g, a, sizeof a, 0));
        CHECK_NULL(GOAL_Compile(g), comm, "GOAL_Compile: ", "524286 messages to rank 0");
        CHECK_OK(GOAL_Free(&g));
    }

    GOAL_Sched none = NULL, s = compiled(GOAL_Create());
    CHECK_ERROR(GOAL_Sched_run(none), MPI_ERR_ARG, "GOAL_Sched_run", "sched");
    CHECK_ERROR(GOAL_Sched_run((GOAL_Sched)(uintptr_t)24), MPI_ERR_ARG, "GOAL_Sched_run", "0x18");
    CHECK_ERROR(GOAL_Sched_start(none, &request), MPI_ERR_ARG, "GOAL_Sched_start", "sched");
    CHECK_ERROR(GOAL_Sched_start(s, NULL), MPI_ERR_ARG, "GOAL_Sched_start", "request");
    CHECK_ERROR(GOAL_Sched_init(s, NULL), MPI_ERR_ARG, "GOAL_Sched_init", "request");
    CHECK_ERROR(GOAL_Sched_set(s, GOAL_AUTO, 1), MPI_ERR_ARG, "GOAL_Sched_set", "what is 1");
    CHECK_ERROR(GOAL_Sched_set(s, GOAL_ORDER, 3), MPI_ERR_ARG, "GOAL_Sched_set", "value is 3");
    CHECK_ERROR(GOAL_Sched_order(s, ids, 4, &n), MPI_ERR_ARG, "GOAL_Sched_order", "GOAL_ORDER");
    CHECK_OK(GOAL_Sched_set(s, GOAL_ORDER, 1));
    CHECK_ERROR(GOAL_Sched_order(s, ids, 4, NULL), MPI_ERR_ARG, "GOAL_Sched_order", "count");
    CHECK_ERROR(GOAL_Sched_order(s, NULL, 4, &n), MPI_ERR_ARG, "GOAL_Sched_order", "ids");
    CHECK_OK(GOAL_Sched_order(s, NULL, 0, &n));
    CHECK_INT(n, 0);
    CHECK_ERROR(GOAL_Sched_func(s, -1, function), MPI_ERR_ARG, "GOAL_Sched_func", "-1");
    CHECK_ERROR(GOAL_Sched_func(s, 0, NULL), MPI_ERR_ARG, "GOAL_Sched_func", "func");
    CHECK_ERROR(GOAL_Sched_save(s, NULL), MPI_ERR_ARG, "GOAL_Sched_save", "path");
    CHECK_ERROR(GOAL_Sched_save(s, "/nowhere/at/all"), MPI_ERR_NO_SUCH_FILE, "GOAL_Sched_save",
                "/nowhere/at/all");
    CHECK_ERROR(GOAL_Sched_free(NULL), MPI_ERR_ARG, "GOAL_Sched_free", "NULL");
    GOAL_Sched stale = s;
    CHECK_OK(GOAL_Sched_free(&s));
    CHECK_ERROR(GOAL_Sched_run(stale), MPI_ERR_ARG, "GOAL_Sched_run", "GOAL_Sched");
    CHECK_ERROR(GOAL_Sched_free(&stale), MPI_ERR_ARG, "GOAL_Sched_free", "GOAL_Sched");
    CHECK_ERROR(GOAL_Sched_free(&none), MPI_ERR_ARG, "GOAL_Sched_free", "sched");
}

static void texts(int rank)
{
    GOAL_Sched s = NULL;
    char name[64];
    CHECK_ERROR(GOAL_Sched_text("rank #0 { send 0,1 to }", WORLD, &s), MPI_ERR_ARG,
                "GOAL_Sched_text", "1:23");
    CHECK(s == NULL);
    CHECK_ERROR(GOAL_Sched_text(NULL, WORLD, &s), MPI_ERR_ARG, "GOAL_Sched_text", "text");
    CHECK_ERROR(GOAL_Sched_text("", WORLD, NULL), MPI_ERR_ARG, "GOAL_Sched_text", "sched");
    CHECK_ERROR(GOAL_Sched_text("", MPI_COMM_NULL, &s), MPI_ERR_COMM, "GOAL_Sched_text", "comm");
    CHECK_ERROR(GOAL_Sched_text("rank #0 { } rank #4000 { send 0,1 to 0; }", WORLD, &s),
                MPI_ERR_ARG, "GOAL_Sched_text", "4001 ranks");
    CHECK_ERROR(
        GOAL_Sched_text("num_ranks 1\nrank 0 {\nl1: recv 8b from 0 tag -1\n}\n", MPI_COMM_SELF, &s),
        MPI_ERR_ARG, "GOAL_Sched_text", "any tag");
    CHECK_ERROR(GOAL_Sched_text("rank #0 { a: exec sumInt8 with 0,1 1,1; b: exec sumInt8 with 0,1 "
                                "1,1; requ a -> b; requ b -> a; }",
                                MPI_COMM_SELF, &s),
                MPI_ERR_ARG, "GOAL_Sched_text", "rank 0");
    CHECK_ERROR(GOAL_Sched_text("rank #0 { send 0,1 to 5; }", MPI_COMM_SELF, &s), MPI_ERR_ARG,
                "GOAL_Sched_text", "6 ranks");
    CHECK_ERROR(
        GOAL_Sched_text("num_ranks 1\nrank 0 {\nl1: send 8b to 5 tag 1\n}\n", MPI_COMM_SELF, &s),
        MPI_ERR_ARG, "GOAL_Sched_text", "rank 5");
    CHECK_ERROR(
        GOAL_Sched_text("rank #0 { exec user 0 with 0,3000000000 , 0,4; }", MPI_COMM_SELF, &s),
        MPI_ERR_ARG, "GOAL_Sched_text", "3000000000 bytes");
    CHECK_ERROR(
        GOAL_Sched_text("rank #0 { exec user 0 with 0,4 , 4,8 reversed; }", MPI_COMM_SELF, &s),
        MPI_ERR_ARG, "GOAL_Sched_text", "same size");
    CHECK_ERROR(GOAL_Sched_load(NULL, WORLD, &s), MPI_ERR_ARG, "GOAL_Sched_load", "path");
    CHECK_ERROR(GOAL_Sched_load("no-such-file", WORLD, &s), MPI_ERR_NO_SUCH_FILE, "GOAL_Sched_load",
                "no-such-file");
    CHECK_ERROR(GOAL_Sched_load("/", WORLD, &s), MPI_ERR_IO, "GOAL_Sched_load", "'/'");
    snprintf(name, sizeof name, "goal_errors.%d.%d", (int)getpid(), rank);
    FILE *file = fopen(name, "w");
    CHECK(file != NULL);
    fputs("rank #0 {\n  oops 1,2;\n}\n", file);
    CHECK(fclose(file) == 0);
    CHECK_ERROR(GOAL_Sched_load(name, WORLD, &s), MPI_ERR_ARG, "GOAL_Sched_load", "2:3");
    CHECK(remove(name) == 0);
}

// Files of schedules: somebody else's part, a smaller communicator, a damaged byte.
static void files(int rank, int size)
{
    char name[64], theirs[64];
    int right = (rank + 1) % size, left = (rank + size - 1) % size;
    GOAL_Sched s = NULL;
    snprintf(name, sizeof name, "goal_errors.%d.%d.part", (int)getpid(), rank);
    GOAL_Goal g = GOAL_Create();
    void *buf = GOAL_Alloc(g, "buf", 8);
    CHECK_ID(GOAL_Send(g, buf, 8, right));
    s = compiled(g);
    CHECK_OK(GOAL_Sched_save(s, name));
    CHECK_OK(GOAL_Sched_free(&s));
    CHECK_OK(MPI_Sendrecv(name, sizeof name, MPI_BYTE, right, 0, theirs, sizeof theirs, MPI_BYTE,
                          left, 0, WORLD, MPI_STATUS_IGNORE));
    if (size > 1) {
        CHECK_ERROR(GOAL_Sched_load(theirs, WORLD, &s), MPI_ERR_ARG, "GOAL_Sched_load",
                    "does not hold");
        CHECK_ERROR(GOAL_Sched_load(name, MPI_COMM_SELF, &s), MPI_ERR_ARG, "GOAL_Sched_load",
                    "ranks");
    }
    CHECK_OK(MPI_Barrier(WORLD));
    FILE *file = fopen(name, "r+b");
    CHECK(file != NULL && fseek(file, -1, SEEK_END) == 0);
    int last = fgetc(file);
    CHECK(fseek(file, -1, SEEK_END) == 0 && fputc(last ^ 1, file) != EOF && fclose(file) == 0);
    CHECK_ERROR(GOAL_Sched_load(name, WORLD, &s), MPI_ERR_ARG, "GOAL_Sched_load", name);
    CHECK(s == NULL);
    CHECK(remove(name) == 0);
}

// A message of another size than its receive, either way; the peers are not harmed, and the next
// run is right, once the sizes are.
static void wrong_sizes(int rank, int size, int longer)
{
    char out[64], in[64];
    int right = (rank + 1) % size, left = (rank + size - 1) % size;
    MPI_Request request;
    char words[64];
    GOAL_Goal g = GOAL_Create();
    CHECK_ID(GOAL_Send(g, out, longer ? 48 : 16, right));
    CHECK_ID(GOAL_Nop(g));
    CHECK_ID(GOAL_Recv(g, in, 32, left));
    GOAL_Sched s = compiled(g);
    int class = longer ? MPI_ERR_TRUNCATE : MPI_ERR_OTHER;
    snprintf(words, sizeof words, "32 bytes from rank %d", left);
    CHECK_ERROR(GOAL_Sched_run(s), class, "GOAL_Sched_run: action 2", words);
    CHECK_OK(GOAL_Sched_start(s, &request));
    CHECK_ERROR(MPI_Wait(&request, MPI_STATUS_IGNORE), class, "GOAL_Sched_start", words);
    CHECK(request == MPI_REQUEST_NULL);
    CHECK_OK(GOAL_Sched_start(s, &request));
    MPI_Status status;
    status.MPI_ERROR = -1;
    CHECK_ERROR(MPI_Waitall(1, &request, &status), MPI_ERR_IN_STATUS, "MPI_Waitall",
                longer ? "48" : "16");
    CHECK_INT(error_class(status.MPI_ERROR), class);
    CHECK_OK(GOAL_Sched_free(&s));
    s = ring_of(WORLD, out, in, 32);
    CHECK_OK(GOAL_Sched_run(s));
    CHECK_OK(GOAL_Sched_free(&s));
}

// A handle of a rank that shares the process.
static void foreign(int rank, int size)
{
    GOAL_Goal goal = GOAL_Create(), other = NULL;
    GOAL_Sched sched = compiled(GOAL_Create()), theirs = NULL;
    int right = (rank + 1) % size, left = (rank + size - 1) % size;
    CHECK_OK(MPI_Sendrecv(&goal, sizeof goal, MPI_BYTE, right, 0, &other, sizeof other, MPI_BYTE,
                          left, 0, WORLD, MPI_STATUS_IGNORE));
    CHECK_OK(MPI_Sendrecv(&sched, sizeof sched, MPI_BYTE, right, 0, &theirs, sizeof theirs,
                          MPI_BYTE, left, 0, WORLD, MPI_STATUS_IGNORE));
    CHECK_NO_ID(GOAL_Nop(other), MPI_COMM_SELF, "GOAL_Nop: ", "one of rank");
    CHECK_ERROR(GOAL_Sched_run(theirs), MPI_ERR_ARG, "GOAL_Sched_run", "one of rank");
    CHECK_OK(MPI_Barrier(WORLD));
    CHECK_OK(GOAL_Free(&goal));
    CHECK_OK(GOAL_Sched_free(&sched));
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "early") == 0) {
        GOAL_Create();
        return 0;
    }
    CHECK_OK(MPI_Init(&argc, &argv));
    int rank = world_rank(), size = world_size();
    if (argc > 1 && strcmp(argv[1], "fatal") == 0) {
        GOAL_Send(GOAL_Create(), &rank, sizeof rank, size);
        return 0;
    }
    MPI_Comm comm;
    errors_return();
    CHECK_OK(MPI_Comm_dup(WORLD, &comm));
    set_keeping(comm);
    set_keeping(MPI_COMM_SELF);
    if (argc > 1) {
        foreign(rank, size);
    } else {
        building(comm, size);
        buffers(comm);
        schedules(comm, rank, size);
        texts(rank);
        files(rank, size);
        wrong_sizes(rank, size, 0);
        wrong_sizes(rank, size, 1);
    }
    CHECK_OK(MPI_Comm_free(&comm));
    CHECK_OK(MPI_Finalize());
    return 0;
}
