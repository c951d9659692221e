// SPDX-License-Identifier: BSD-3-Clause
// Static and thread-local objects with constructors and destructors, in their order; generators of numbers; types, exceptions and
// shared statics across the program and its own C++ library.
#include <mpi.h>

#include <cstdio>
#include <map>
#include <random>
#include <string>
#include <thread>
#include <typeinfo>
#include <vector>

#include "shapes.h"

static int rank = -1;

struct Named {
    std::string name;
    explicit Named(const char *n) : name(n)
    {
    }
    ~Named()
    {
        static int order;
        std::printf("rank %d destroys %s, number %d\n", rank, name.c_str(), ++order);
    }
};

static Named first("first");
static Named second("second");
static thread_local Named of_thread("of the thread");
static std::mt19937 generator(12345);
static std::string text = "a text that is too long for the string object itself";
static std::map<std::string, std::vector<int>> table = {{"one", {1}}, {"two", {2, 2}}};

static Named &local()
{
    static Named object(("local of " + std::to_string(rank)).c_str());
    return object;
}

struct Triangle : Shape {
    int sides() const override
    {
        return 3;
    }
};

static std::string use_library()
{
    std::unique_ptr<Shape> square;
    std::string said;
    for (int i = 0; i <= rank % 3; i++)
        square = make_shape("square");
    for (int i = 0; i < 3; i++) {
        try {
            make_shape("circle of " + std::to_string(rank));
        } catch (const Wrong &wrong) {
            MPI_Barrier(MPI_COMM_WORLD);
            said = wrong.what() + std::to_string(wrong.code);
        }
    }
    Triangle triangle;
    Shape *one = square.get(), *other = &triangle;
    said += dynamic_cast<Square *>(one) && !dynamic_cast<Square *>(other) ? " square" : " ?";
    said += typeid(*one) == typeid(Square) && typeid(*one) != typeid(*other) ? " " : " ?";
    return said + std::to_string(one->sides() + other->sides()) + " " +
           std::to_string(shapes_made());
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank % 2)
        local();
    of_thread.name += " of " + std::to_string(rank);
    first.name += std::to_string(rank);
    generator.discard(static_cast<unsigned long long>(rank));
    text += std::to_string(rank);
    table["one"].push_back(rank);
    std::random_device device;
    bool random = device() != device() || device() != device();
    for (int i = 0; i <= rank % 5; i++) {
        count_in_library();
        Count<Shape>::of++;
    }
    MPI_Barrier(MPI_COMM_WORLD);
    std::string said = use_library();
    std::thread other([] { of_thread.name = "of another thread of " + std::to_string(rank); });
    other.join();
    std::printf("rank %d: %u %s %d %zu %d %d %s\n", rank, static_cast<unsigned>(generator()),
                text.c_str(), random, table["one"].size(), Count<Shape>::of, inline_counter,
                said.c_str());
    local().name += "!";
    MPI_Finalize();
}
