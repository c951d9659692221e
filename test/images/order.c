// SPDX-License-Identifier: BSD-3-Clause
// Built several times: as a library NAME that tells the log when it is constructed and destructed, as
// the log (LOG), which prints what it was told at its own end, and as the program.
#include <stdio.h>
#include <string.h>

void tell(const char *what);

#if defined(NAME)

static int uses;

__attribute__((constructor)) static void construct(void)
{
    tell(uses++ ? "again " : "+" NAME " ");
}

__attribute__((destructor)) static void destruct(void)
{
    tell("-" NAME " ");
}

#elif defined(LOG)

static char told[100];

void tell(const char *what)
{
    strcat(told, what);
}

__attribute__((destructor)) static void destruct(void)
{
    puts(told);
}

#else

#include <mpi.h>

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    tell("main ");
    MPI_Finalize();
    return 0;
}

#endif
