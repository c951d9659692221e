// SPDX-License-Identifier: BSD-3-Clause
// Each rank has its own current directory, umask and locale. argv[1]: a folder for what it makes.
#include "expect.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <langinfo.h>
#include <limits.h>
#include <locale.h>
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void everybody(void)
{
    MPI_Barrier(MPI_COMM_WORLD);
}

static int number_in(const char *file)
{
    int n = -1;
    FILE *f = fopen(file, "r");
    expect(f && fscanf(f, "%d", &n) == 1, file);
    fclose(f);
    return n;
}

static void write_number(const char *file)
{
    FILE *f = fopen(file, "w");
    expect(f != NULL && fprintf(f, "%d\n", rank) > 0 && fclose(f) == 0, file);
}

// Ranks with the same number modulo 3 share a folder.
static void try_folders(const char *folder)
{
    char start[PATH_MAX], name[64], here[PATH_MAX], wanted[PATH_MAX + 64];
    expect(getcwd(start, sizeof start) != NULL, "getcwd");
    everybody();
    if (rank == 0)
        for (int i = 0; i < 3; i++) {
            snprintf(wanted, sizeof wanted, "%s/f%d", folder, i);
            expect(mkdir(wanted, 0700) == 0, "mkdir");
        }
    everybody();
    expect(chdir(folder) == 0, "chdir");
    everybody();
    if (rank % 3 == 1) {
        int fd = open("f1", O_RDONLY | O_DIRECTORY);
        expect(fd >= 0 && fchdir(fd) == 0 && close(fd) == 0, "fchdir");
    } else {
        snprintf(name, sizeof name, "f%d", rank % 3);
        expect(chdir(name) == 0, "chdir to a relative name");
    }
    expect(chdir("missing") == -1 && errno == ENOENT, "what does not exist");
    everybody();
    snprintf(name, sizeof name, "rank%d", rank);
    write_number(name);
    snprintf(wanted, sizeof wanted, "%s/f%d", folder, rank % 3);
    everybody();
    expect(getcwd(here, sizeof here) && strcmp(here, wanted) == 0, here);
    everybody();
    expect(number_in(name) == rank, "the rank's own file");
    if (rank + 3 < size) {
        snprintf(name, sizeof name, "rank%d", rank + 3);
        expect(number_in(name) == rank + 3, "of another in the same folder");
    }
    everybody();
    if (rank % 2)
        expect(chdir(start) == 0 && getcwd(here, sizeof here) && strcmp(here, start) == 0, "back");
    everybody();
}

static mode_t mode_of_new(const char *file)
{
    struct stat about;
    int fd = open(file, O_CREAT | O_WRONLY | O_EXCL, 0777);
    expect(fd >= 0 && fstat(fd, &about) == 0 && close(fd) == 0, "a new file");
    return about.st_mode & 0777;
}

static void try_masks(const char *folder)
{
    char name[PATH_MAX];
    mode_t mask = rank % 2 ? 077 : 02;
    mode_t start = umask(mask);
    everybody();
    snprintf(name, sizeof name, "%s/mode%d", folder, rank);
    expect(mode_of_new(name) == (0777 & ~mask), "the rank's own umask");
    everybody();
    expect(umask(start) == mask, "umask tells the rank's own");
    everybody();
}

static void *in_thread(void *wanted)
{
    return strcmp(nl_langinfo(CODESET), wanted) == 0 ? wanted : NULL;
}

static void try_locales(void)
{
    expect(strcmp(setlocale(LC_ALL, NULL), "C") == 0, "it begins in C");
    everybody();
    if (!newlocale(LC_ALL_MASK, "C.UTF-8", NULL))
        return; // not on this machine
    int utf8 = rank % 2;
    char *codeset = utf8 ? "UTF-8" : "ANSI_X3.4-1968";
    if (utf8)
        expect(setlocale(LC_CTYPE, "C.UTF-8") != NULL, "setlocale");
    expect(setlocale(LC_CTYPE, "no_such_LOCALE") == NULL, "no such locale");
    everybody();
    expect(strcmp(setlocale(LC_CTYPE, NULL), utf8 ? "C.UTF-8" : "C") == 0, "its name");
    expect(strcmp(setlocale(LC_TIME, NULL), "C") == 0, "of another category");
    const char *whole = setlocale(LC_ALL, NULL);
    expect(utf8 ? strncmp(whole, "LC_CTYPE=C.UTF-8;LC_NUMERIC=C;", 30) == 0
                : strcmp(whole, "C") == 0,
           whole);
    expect(strcmp(nl_langinfo(CODESET), codeset) == 0, "nl_langinfo");
    expect(MB_CUR_MAX == (utf8 ? 6 : 1), "MB_CUR_MAX");
    expect(strcmp(localeconv()->decimal_point, ".") == 0, "localeconv");
    everybody();
    pthread_t thread;
    void *found;
    expect(pthread_create(&thread, NULL, in_thread, codeset) == 0, "pthread_create");
    expect(pthread_join(thread, &found) == 0 && found, "a thread has its rank's");
    locale_t c = newlocale(LC_ALL_MASK, "C", NULL);
    expect(uselocale(c) == LC_GLOBAL_LOCALE, "uselocale");
    everybody();
    expect(MB_CUR_MAX == 1 && uselocale(NULL) == c, "the thread's own, for each rank");
    expect(uselocale(LC_GLOBAL_LOCALE) == c, "and back");
    everybody();
    expect(strcmp(nl_langinfo(CODESET), codeset) == 0, "nl_langinfo");
    if (utf8)
        expect(strcmp(setlocale(LC_ALL, "C"), "C") == 0 && MB_CUR_MAX == 1, "C again");
    everybody();
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    try_folders(argv[1]);
    try_masks(argv[1]);
    try_locales();
    printf("rank %d is done\n", rank);
    MPI_Finalize();
    return 0;
}
