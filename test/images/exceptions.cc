// SPDX-License-Identifier: BSD-3-Clause
// Exceptions that are in flight or caught while other ranks throw and catch theirs: the run-time's
// lists of them are a rank's own.
#include <mpi.h>

#include <cstdio>
#include <exception>
#include <stdexcept>
#include <string>

static int rank, size;

static void wait_for_all()
{
    MPI_Barrier(MPI_COMM_WORLD);
}

// Waits while the stack is unwound.
struct Leaving {
    int before = -1, after = -1;
    int *sum;
    explicit Leaving(int *s) : sum(s)
    {
    }
    ~Leaving()
    {
        before = std::uncaught_exceptions();
        wait_for_all();
        after = std::uncaught_exceptions();
        *sum += before == after ? before : 1000;
    }
};

// Ranks differ in how many of these are in flight at once: one is thrown and caught in the destructor that another runs.
struct Nested {
    int *sum;
    explicit Nested(int *s) : sum(s)
    {
    }
    ~Nested()
    {
        try {
            Leaving leaving(sum);
            if (rank % 2)
                throw std::logic_error("inner");
        } catch (const std::logic_error &) {
            *sum += 10;
        }
        wait_for_all();
    }
};

static std::string message_of(const std::exception_ptr &kept)
{
    try {
        if (kept)
            std::rethrow_exception(kept);
    } catch (const std::exception &e) {
        return e.what();
    }
    return "none";
}

static std::string again(int depth)
{
    try {
        if (depth % 2)
            throw std::runtime_error("rank " + std::to_string(rank) + " at " +
                                     std::to_string(depth));
        throw rank * 100 + depth;
    } catch (const std::exception &e) {
        wait_for_all();
        std::string inner = depth ? again(depth - 1) : "";
        wait_for_all();
        try {
            throw; // what was caught last, and is not done yet
        } catch (const std::runtime_error &same) {
            return inner + "[" + same.what() + (&same == &e ? "]" : " is not the same]");
        }
    } catch (int n) {
        wait_for_all();
        std::string inner = depth ? again(depth - 1) : "";
        std::exception_ptr kept = std::current_exception();
        wait_for_all();
        try {
            std::rethrow_exception(kept);
        } catch (int same) {
            return inner + "[" + std::to_string(same) + (same == n ? "]" : " is not the same]");
        }
    }
    return "nothing was caught";
}

static void terminates_not() noexcept
{
    wait_for_all();
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int leaving = 0, nested = 0;
    for (int i = 0; i < 5; i++) {
        try {
            Leaving two(&leaving), one(&leaving);
            if ((rank + i) % 2)
                throw rank;
        } catch (int thrown) {
            leaving += thrown == rank ? 0 : 5000;
        }
        try {
            Nested object(&nested);
            if (rank % 3)
                throw std::runtime_error("outer");
        } catch (const std::runtime_error &) {
            nested += 100;
        }
    }
    std::string all = again(4);
    std::exception_ptr kept = std::current_exception();
    terminates_not();
    std::printf("rank %d of %d: %d %d %s %s %d\n", rank, size, leaving, nested, all.c_str(),
                message_of(kept).c_str(), std::uncaught_exceptions());
    MPI_Finalize();
}
