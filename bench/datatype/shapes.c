// SPDX-License-Identifier: BSD-3-Clause
#include "shapes.h"

#include <stdlib.h>
#include <string.h>

#include "../p2p/bench.h"

const char *const shape_names[] = {"vector", "face", "struct", "indexed", NULL};

enum { REAL = sizeof(double) };

static void *memory_new(size_t bytes)
{
    void *memory = malloc(bytes);
    bench_require(memory != NULL, "out of memory for a list of blocks");
    return memory;
}

static void add(struct shape *shape, size_t at, size_t length)
{
    shape->blocks[shape->n++] = (struct block){at, length};
    if (at + length > shape->span)
        shape->span = at + length;
}

// Every other double.
static void make_vector(struct shape *shape, size_t bytes)
{
    size_t n = bytes / REAL;
    MPI_Type_vector((int)n, 1, 2, MPI_DOUBLE, &shape->type);
    for (size_t i = 0; i < n; i++)
        add(shape, i * 2 * REAL, REAL);
}

// One layer of cells, across the direction in which memory runs, of a box of doubles that has one
// more layer of cells around it.
static void make_face(struct shape *shape, size_t bytes)
{
    enum { INNER = 16, LAYER = 14 };
    size_t rows = 1, columns;
    while (rows * rows * 4 * REAL <= bytes)
        rows *= 2;
    columns = bytes / REAL / rows;
    int sizes[] = {(int)rows + 2, (int)columns + 2, INNER};
    int part[] = {(int)rows, (int)columns, 1};
    int start[] = {1, 1, LAYER};
    MPI_Type_create_subarray(3, sizes, part, start, MPI_ORDER_C, MPI_DOUBLE, &shape->type);
    for (size_t row = 1; row <= rows; row++)
        for (size_t column = 1; column <= columns; column++)
            add(shape, ((row * (columns + 2) + column) * INNER + LAYER) * REAL, REAL);
}

// An array of structs, some members of each.
static void make_struct(struct shape *shape, size_t bytes)
{
    struct particle {
        int id;
        int cell; // not sent
        double position[3];
        double force[3]; // not sent
        float mass;
        float scratch; // not sent
    };
    int lengths[] = {1, 3, 1};
    MPI_Aint at[] = {offsetof(struct particle, id), offsetof(struct particle, position),
                     offsetof(struct particle, mass)};
    MPI_Datatype types[] = {MPI_INT, MPI_DOUBLE, MPI_FLOAT}, members;
    size_t sent = sizeof(int) + 3 * sizeof(double) + sizeof(float);
    MPI_Type_create_struct(3, lengths, at, types, &members);
    MPI_Type_create_resized(members, 0, sizeof(struct particle), &shape->type);
    MPI_Type_free(&members);
    shape->count = (int)(bytes / sent);
    for (size_t i = 0; i < bytes / sent; i++) {
        size_t start = i * sizeof(struct particle);
        add(shape, start + (size_t)at[0], sizeof(int));
        add(shape, start + (size_t)at[1], 3 * sizeof(double));
        add(shape, start + (size_t)at[2], sizeof(float));
    }
}

// Blocks of 1 to 8 doubles with gaps of 1 to 8 doubles.
static void make_indexed(struct shape *shape, size_t bytes)
{
    size_t left = bytes / REAL, at = 0;
    int *lengths = memory_new(left * sizeof *lengths), *places = memory_new(left * sizeof *places);
    unsigned random = 12345;
    while (left > 0) {
        random = random * 1103515245 + 12345;
        size_t length = 1 + (random >> 16) % 8, gap = 1 + (random >> 20) % 8;
        if (length > left)
            length = left;
        lengths[shape->n] = (int)length;
        places[shape->n] = (int)at;
        add(shape, at * REAL, length * REAL);
        at += length + gap;
        left -= length;
    }
    MPI_Type_indexed((int)shape->n, lengths, places, MPI_DOUBLE, &shape->type);
    free(lengths);
    free(places);
}

struct shape shape_new(int which, size_t bytes)
{
    static void (*const makers[])(struct shape *, size_t) = {make_vector, make_face, make_struct,
                                                             make_indexed};
    struct shape shape = {.count = 1};
    shape.blocks = memory_new(bytes / 4 * sizeof *shape.blocks);
    makers[which](&shape, bytes);
    MPI_Type_commit(&shape.type);
    return shape;
}

void shape_free(struct shape *shape)
{
    MPI_Type_free(&shape->type);
    free(shape->blocks);
}

void shape_fill(const struct shape *shape, unsigned char *memory, unsigned seed)
{
    memset(memory, 0xA5, shape->span);
    for (size_t i = 0; i < shape->n; i++)
        bench_pattern_fill(memory + shape->blocks[i].at, shape->blocks[i].length,
                           seed + (unsigned)i);
}

bool shape_holds(const struct shape *shape, const unsigned char *memory, unsigned seed)
{
    size_t end = 0;
    for (size_t i = 0; i < shape->n; i++) {
        const struct block *block = &shape->blocks[i];
        for (; end < block->at; end++)
            if (memory[end] != 0xA5)
                return false;
        if (!bench_pattern_holds(memory + end, block->length, seed + (unsigned)i))
            return false;
        end += block->length;
    }
    return true;
}
