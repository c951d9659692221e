// SPDX-License-Identifier: BSD-3-Clause
// Wide characters on standard output, by C's functions and by std::wcout.
#include <clocale>
#include <cstdio>
#include <cwchar>
#include <iostream>
#include <mpi.h>

static int rank;

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    setlocale(LC_ALL, "C.UTF-8");
    std::wcout.imbue(std::locale("C.UTF-8"));
    bool fine = fwide(stdout, 1) > 0;
    fine = fine && wprintf(L"rank %d: %ls ", rank, L"\u00e4\u00f6\u00fc") == 12;
    MPI_Barrier(MPI_COMM_WORLD);
    fine = fine && fputws(L"\u20ac and ", stdout) >= 0 && putwchar(L'\u00df') == L'\u00df';
    MPI_Barrier(MPI_COMM_WORLD);
    fine = fine && fwprintf(stdout, L", %400d|", rank) == 403;
    std::wcout << L" in wcout: " << rank << L" \u03c0\n" << std::flush;
    MPI_Finalize();
    return fine ? 0 : 1;
}
