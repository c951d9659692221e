// SPDX-License-Identifier: BSD-3-Clause
// Each rank has its own standard streams: pieces of lines wait for their ends, freopen and fclose
// are for the rank that calls them, and so is what it reads. The first argument is a folder.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int rank, bad;

static void check(int fine, const char *what)
{
    if (!fine)
        fprintf(stderr, "rank %d: %s\n", rank, what);
    bad += !fine;
}

static void pieces(void)
{
    printf("rank %d", rank);
    MPI_Barrier(MPI_COMM_WORLD);
    fputs(" speaks", stdout);
    MPI_Barrier(MPI_COMM_WORLD);
    putchar(' ');
    fprintf(stdout, "in %s", "pieces");
    MPI_Barrier(MPI_COMM_WORLD);
    puts("");
}

static void read_all(const char *path, char *out, size_t size)
{
    FILE *f = fopen(path, "r");
    size_t n = f ? fread(out, 1, size - 1, f) : 0;
    out[n] = '\0';
    if (f)
        fclose(f);
}

static void elsewhere(const char *folder)
{
    char path[512], text[256], wanted[256];
    snprintf(path, sizeof path, "%s/out.%d.%d", folder, getppid(), rank);
    check(freopen(path, "w", stdout) == stdout, "freopen returns its stream");
    printf("first ");
    fprintf(stdout, "of %d\n", rank);
    check(fileno(stdout) >= 0, "the file's descriptor");
    check(fflush(stdout) == 0 && !ferror(stdout), "fflush");
    read_all(path, text, sizeof text);
    snprintf(wanted, sizeof wanted, "first of %d\n", rank);
    check(strcmp(text, wanted) == 0, "the file has the rank's lines");
    unlink(path);
}

static void input(int reader)
{
    char line[64] = "nothing";
    int first = getchar(), n = -1;
    if (first != EOF) {
        ungetc(first, stdin);
        check(scanf("%d", &n) == 1, "a number");
        check(fgets(line, sizeof line, stdin) != NULL, "the rest of the line");
        check(fgets(line, sizeof line, stdin) != NULL, "a line");
        line[strcspn(line, "\n")] = '\0';
    }
    char byte;
    check((first != EOF) == reader, "only its reader has input");
    if (first == EOF)
        check(read(0, &byte, 1) == 0 && feof(stdin), "the end of the input");
    fprintf(stderr, "rank %d read %d and %s\n", rank, n, line);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    check(fileno(stdout) == 1 && fileno(stderr) == 2, "descriptors");
    if (argc > 2)
        input(strcmp(argv[2], "all") == 0 || atoi(argv[2]) == rank);
    check(setvbuf(stdout, NULL, _IOFBF, BUFSIZ) == 0, "setvbuf");
    pieces();
    if (rank % 2)
        elsewhere(argv[1]);
    else
        printf("rank %d stays\n", rank);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank % 3 == 2) {
        check(fclose(stdout) == 0, "fclose");
        check(rank < 0 || fileno(stdout) == -1, "a closed stream has no descriptor");
    } else if (rank % 2 == 0) {
        MPI_Barrier(MPI_COMM_SELF);
        printf("rank %d still writes, ", rank);
        puts("and ends");
    }
    fprintf(stderr, "rank %d: %d bad\n", rank, bad);
    MPI_Finalize();
    return bad != 0;
}
