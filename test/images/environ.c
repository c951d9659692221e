// SPDX-License-Identifier: BSD-3-Clause
// Each rank changes its environment in its own way, by the functions and by `environ` itself, and
// finds what it has set, alone and in programs that it starts.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static char put[32];

static const char *entry(const char *name)
{
    for (char **e = environ; e && *e; e++)
        if (strncmp(*e, name, strlen(name)) == 0 && (*e)[strlen(name)] == '=')
            return *e + strlen(name) + 1;
    return "none";
}

static const char *value(const char *name)
{
    const char *found = getenv(name);
    return found ? found : "none";
}

// What a child sees.
static void ask(char *out, size_t size, int rank)
{
    out[0] = '\0';
    if (rank % 2) {
        FILE *f = popen("echo $GRAIN $PUT", "r");
        if (!f || !fgets(out, (int)size, f))
            snprintf(out, size, "nothing");
        if (f)
            pclose(f);
    } else {
        int pipes[2];
        pid_t pid;
        if (pipe(pipes) != 0)
            return;
        if ((pid = fork()) == 0) {
            dup2(pipes[1], 1);
            execlp("sh", "sh", "-c", "echo $GRAIN $PUT", (char *)NULL);
            _exit(9);
        }
        ssize_t n = read(pipes[0], out, size - 1);
        out[n > 0 ? n : 0] = '\0';
        close(pipes[0]);
        close(pipes[1]);
        waitpid(pid, NULL, 0);
    }
    out[strcspn(out, "\n")] = '\0';
}

int main(int argc, char **argv)
{
    int rank, bad = 0;
    char text[32], child[64], command[64];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    bad += strcmp(value("GRAIN"), "millet") != 0 || strcmp(entry("GRAIN"), "millet") != 0;
    MPI_Barrier(MPI_COMM_WORLD);
    snprintf(text, sizeof text, "grain %d", rank);
    setenv("GRAIN", text, 0); // it is there
    bad += strcmp(value("GRAIN"), "millet") != 0;
    setenv("GRAIN", text, 1);
    snprintf(put, sizeof put, "PUT=%d", rank);
    putenv(put);
    if (rank % 3 == 0)
        unsetenv("HOME");
    MPI_Barrier(MPI_COMM_WORLD);
    bad += strcmp(entry("GRAIN"), text) != 0 || strcmp(value("PUT"), put + 4) != 0;
    bad += (getenv("HOME") != NULL) != (rank % 3 != 0);
    bad += setenv("A=B", "x", 1) == 0 || setenv("", "x", 1) == 0 || getenv("") != NULL;
    ask(child, sizeof child, rank);
    snprintf(command, sizeof command, "test \"$GRAIN\" = \"grain %d\"", rank);
    int status = system(command);
    printf("rank %d: %s, %s, %s, a child has %s, system %d, %d bad\n", rank, value("GRAIN"),
           entry("GRAIN"), value("PUT"), child, status, bad);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank % 2) {
        clearenv();
        bad += getenv("PATH") != NULL;
        setenv("ONLY", text, 1);
        printf("rank %d: %s %s\n", rank, entry("ONLY"), value("PUT"));
    }
    MPI_Finalize();
    return bad != 0;
}
