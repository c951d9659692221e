// SPDX-License-Identifier: BSD-3-Clause
// Static objects with constructors and destructors, exceptions across calls of MPI, iostream, thread_local.
#include <mpi.h>

#include <iostream>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

struct Counted {
    static int alive;
    int id;
    explicit Counted(int i) : id(i)
    {
        alive++;
    }
    ~Counted()
    {
        std::cout << "destroyed " + std::to_string(id) + "\n";
    }
};

int Counted::alive;
static Counted global(42);
static std::map<std::string, int> table = {{"one", 1}, {"two", 2}};
static thread_local std::vector<int> list;

static int dive(int depth, int rank)
{
    if (depth == 0)
        throw std::runtime_error("from rank " + std::to_string(rank));
    return dive(depth - 1, rank) + 1;
}

int main(int argc, char **argv)
{
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    global.id += rank;
    table["one"] += rank;
    list.push_back(rank);
    static Counted local(1000 + rank);
    std::string caught;
    for (int i = 0; i < 10; i++) {
        try {
            MPI_Barrier(MPI_COMM_WORLD);
            dive(5, rank);
        } catch (const std::exception &e) {
            MPI_Barrier(MPI_COMM_WORLD);
            caught = e.what();
        }
    }
    std::cout << "rank " + std::to_string(rank) + ": " + std::to_string(Counted::alive) + " " +
                     std::to_string(table["one"]) + " " + std::to_string(list.size()) + " " +
                     caught + "\n";
    MPI_Finalize();
}
