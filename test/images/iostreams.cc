// SPDX-License-Identifier: BSD-3-Clause
// How a rank formats numbers with iostreams is its own business, and so is the line that it has begun. With "fast" the streams do
// not go through C's.
#include <mpi.h>

#include <cstring>
#include <iomanip>
#include <iostream>
#include <locale>
#include <sstream>
#include <string>

// Marks groups of digits, each rank with a sign of its own.
struct Groups : std::numpunct<char> {
    char sign;
    explicit Groups(int rank) : sign("'_,;"[rank % 4])
    {
    }
    char do_thousands_sep() const override
    {
        return sign;
    }
    std::string do_grouping() const override
    {
        return "\3";
    }
};

int main(int argc, char **argv)
{
    bool fast = argc > 1 && !std::strcmp(argv[1], "fast");
    if (fast)
        std::ios::sync_with_stdio(false);
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    std::cout << std::setprecision(rank % 6 + 2)
              << std::setfill(static_cast<char>('a' + rank % 20));
    if (rank % 2)
        std::cout << std::hex << std::showbase << std::boolalpha;
    std::cout.width(rank % 9 + 12); // for what is written next
    if (rank % 3 == 0)
        std::cerr.setstate(std::ios::failbit);
    MPI_Barrier(MPI_COMM_WORLD);
    std::ostringstream line;
    line << "rank " << rank << " width " << std::cout.width() << " precision "
         << std::cout.precision() << " good " << std::cerr.good() << "\n";
    std::cout.width(0);
    std::cout << line.str() << std::flush;
    std::cout << 3.14159265358979 << ' ' << std::setw(rank % 9 + 12) << 255 << ' ' << true << '\n'
              << std::flush;
    MPI_Barrier(MPI_COMM_WORLD);
    std::locale::global(std::locale(std::locale::classic(), new Groups(rank)));
    std::cout.imbue(std::locale());
    MPI_Barrier(MPI_COMM_WORLD);
    std::ostringstream number; // has the global locale
    number << "groups " << 1234567 + rank << "\n";
    MPI_Barrier(MPI_COMM_WORLD);
    std::cout << number.str() << std::flush;
    for (int i = 0; i < 20; i++)
        std::cout << "rank " << std::dec << rank << " writes line " << i
                  << " of twenty lines that belong to it alone" << std::endl;
    std::cout << "rank " << rank << " ends"; // without a newline, and without a flush
    std::cout << "\n";
    MPI_Finalize();
}
