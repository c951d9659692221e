// SPDX-License-Identifier: BSD-3-Clause
// Exceptions from the program through a plug-in, and from the plug-in through the program.
#include <dlfcn.h>
#include <mpi.h>

#include <iostream>
#include <stdexcept>
#include <string>

static std::string notes;

extern "C" void note(const char *text)
{
    notes += text;
    notes += ';';
}

static int rank;

static void from_program(int depth)
{
    if (depth == 0)
        throw std::logic_error("from rank " + std::to_string(rank));
    MPI_Barrier(MPI_COMM_WORLD);
    from_program(depth - 1);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    void *handle = dlopen(argv[1], RTLD_LAZY | RTLD_LOCAL);
    if (!handle)
        std::cout << std::string(dlerror()) + "\n";
    auto catch_it = (int (*)(void (*)(int), int))dlsym(handle, "catch_it");
    auto throw_it = (void (*)(int))dlsym(handle, "throw_it");
    auto trace = (int (*)())dlsym(handle, "trace_names_me");
    int caught = catch_it(from_program, 3);
    caught += catch_it(throw_it, 2);
    try {
        throw_it(1);
    } catch (const std::runtime_error &e) {
        MPI_Barrier(MPI_COMM_WORLD);
        note(e.what());
    }
    note(trace() == 1 ? "traced" : "not traced");
    dlclose(handle);
    std::cout << "rank " + std::to_string(rank) + ": " + std::to_string(caught) + " " + notes +
                     "\n";
    MPI_Finalize();
}
