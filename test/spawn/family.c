// SPDX-License-Identifier: BSD-3-Clause
// A family of jobs for test/spawn/run: `family WHAT [NUMBER]`. The first job spawns NUMBER (2) ranks
// of the same program and does with them what WHAT says.
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char *what;

static MPI_Comm spawn(char *program, char *word, int ranks)
{
    MPI_Comm kin;
    char *argv[] = {word, NULL};
    MPI_Comm_spawn(program, argv, ranks, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &kin,
                   MPI_ERRCODES_IGNORE);
    return kin;
}

static int rank_of_world(void)
{
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    return rank;
}

static void say(const char *text)
{
    char line[64];
    int n = snprintf(line, sizeof line, "%s %d\n", text, rank_of_world());
    if (write(STDOUT_FILENO, line, (size_t)n) != n)
        exit(1);
}

// Until somebody ends it.
static void talk(MPI_Comm kin)
{
    say("talks");
    for (;;) {
        MPI_Barrier(kin);
        usleep(1000);
    }
}

static void hang(MPI_Comm kin)
{
    int never;
    say("waits");
    MPI_Recv(&never, 1, MPI_INT, 0, 99, kin, MPI_STATUS_IGNORE);
}

static void say_universe(void)
{
    int *size, flag;
    char line[64];
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_UNIVERSE_SIZE, &size, &flag);
    int n = snprintf(line, sizeof line, "universe %d\n", flag ? *size : -1);
    if (write(STDOUT_FILENO, line, (size_t)n) != n)
        exit(1);
}

// Sends to ranks that have left already, and waits for them: a fault of the program's.
static void send_to_nobody(MPI_Comm kin)
{
    int x = 0;
    for (int i = 0; i < 2; i++)
        MPI_Send(&x, 1, MPI_INT, i, 0, kin);
    for (int i = 0; i < 2; i++)
        MPI_Recv(&x, 1, MPI_INT, i, 1, kin, MPI_STATUS_IGNORE);
}

static int child(MPI_Comm parent, char *program)
{
    if (strcmp(what, "leave") == 0) {
        MPI_Finalize();
        return 0;
    }
    if (strcmp(what, "universe") == 0) {
        say_universe();
        MPI_Comm_disconnect(&parent);
        MPI_Finalize();
        return 0;
    }
    if (strcmp(what, "deep") == 0)
        (void)spawn(program, "talk", 1);
    if (strcmp(what, "deep") == 0 || strcmp(what, "talk") == 0)
        talk(parent);
    if (strcmp(what, "hang") == 0)
        hang(parent);
    if (strcmp(what, "abort") == 0)
        MPI_Abort(MPI_COMM_WORLD, 7);
    if (strcmp(what, "crash") == 0)
        raise(SIGSEGV);
    if (strcmp(what, "quiet") == 0)
        MPI_Barrier(parent);
    MPI_Comm_disconnect(&parent);
    if (strcmp(what, "alone") == 0) // after the parent has heard of the end
        raise(SIGKILL);
    if (strcmp(what, "outlive") == 0)
        usleep(300000);
    if (strcmp(what, "quiet") != 0)
        say("child");
    MPI_Finalize();
    return strcmp(what, "code") == 0 ? 3 : 0;
}

// Processes of other jobs that the ranks' processes keep something for, the most of them.
static int count_abroad(void)
{
    int index, provided, count, most;
    unsigned long long abroad;
    MPI_T_pvar_session session;
    MPI_T_pvar_handle handle;
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    MPI_T_pvar_get_index("process_abroad", MPI_T_PVAR_CLASS_LEVEL, &index);
    MPI_T_pvar_session_create(&session);
    MPI_T_pvar_handle_alloc(session, index, NULL, &handle, &count);
    MPI_T_pvar_read(session, handle, &abroad);
    MPI_T_pvar_handle_free(session, &handle);
    MPI_T_pvar_session_free(&session);
    MPI_T_finalize();
    MPI_Allreduce(&(int){(int)abroad}, &most, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    return most;
}

// Ranks that make progress give back what ended jobs have left, within about a second.
static void settle(void)
{
    double end = MPI_Wtime() + 60;
    int most, flag;
    while ((most = count_abroad()) > 0 && MPI_Wtime() < end)
        for (double pause = MPI_Wtime() + 0.1; MPI_Wtime() < pause;)
            MPI_Iprobe(MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    say(most ? "keeps" : "settled");
}

// Spawns so many times, one job after the other. All ranks say a line after each. The runner looks at
// mpirun and the ranks then, and answers.
static void repeat(char *program, int ranks, int times)
{
    char line[16];
    for (int i = 0; i < times; i++) {
        MPI_Comm kin = spawn(program, "quiet", ranks);
        MPI_Barrier(kin);
        MPI_Comm_disconnect(&kin);
        if (i == 1 || i == times - 1)
            settle();
        else
            say("spawned");
        MPI_Barrier(MPI_COMM_WORLD); // a fiber that reads keeps others from saying it
        if (rank_of_world() == 0 && !fgets(line, sizeof line, stdin))
            exit(1);
        MPI_Barrier(MPI_COMM_WORLD);
    }
}

int main(int argc, char **argv)
{
    what = argc > 1 ? argv[1] : "plain";
    MPI_Comm kin;
    MPI_Init(&argc, &argv);
    MPI_Comm_get_parent(&kin);
    if (kin != MPI_COMM_NULL)
        return child(kin, argv[0]);
    if (strcmp(what, "repeat") == 0) {
        repeat(argv[0], atoi(argv[2]), atoi(argv[3]));
        MPI_Finalize();
        return 0;
    }
    kin = spawn(argv[0], what, argc > 2 ? atoi(argv[2]) : 2);
    if (strcmp(what, "deep") == 0 || strcmp(what, "talk") == 0)
        talk(kin);
    if (strcmp(what, "hang") == 0 || strcmp(what, "abort") == 0 || strcmp(what, "crash") == 0)
        hang(kin);
    if (strcmp(what, "leave") == 0)
        send_to_nobody(kin);
    MPI_Comm_disconnect(&kin);
    if (strcmp(what, "alone") == 0)
        sleep(2);
    if (strcmp(what, "universe") == 0)
        say_universe();
    else
        say("parent");
    MPI_Finalize();
    return 0;
}
