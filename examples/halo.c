// SPDX-License-Identifier: BSD-3-Clause
// Heat spreads on a plate that is cut into tiles, one a rank: a Cartesian grid of ranks, and
// datatypes for rows, columns and the inside of a tile.
//
//     mpicc -O2 halo.c -o halo
//     mpirun -n 4 ./halo                four tiles
//     mpirun -n 2 -nfg 5000 ./halo 16   ten thousand tiles of 16 x 16 cells
//
// Arguments: cells along a tile's side (64), steps (100). The plate is periodic, so no heat is
// lost: the total after all steps, which goes round the ranks from one to the next, must be what it
// was.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { SUM = 1 }; // tag

typedef struct tile {
    MPI_Comm grid;
    int up, down, left, right; // ranks of the neighbours
    int side;                  // cells along a side; with the halo there are two more
    double *now, *next;
    MPI_Datatype row, column;
} tile;

static double *cell(const tile *t, double *cells, int y, int x)
{
    return &cells[y * (t->side + 2) + x];
}

// The outermost cells of each tile go into the halos of its neighbours.
static void exchange(tile *t)
{
    int last = t->side, halo = t->side + 1;
    double *c = t->now;
    MPI_Sendrecv(cell(t, c, 1, 1), 1, t->row, t->up, 0, cell(t, c, halo, 1), 1, t->row, t->down, 0,
                 t->grid, MPI_STATUS_IGNORE);
    MPI_Sendrecv(cell(t, c, last, 1), 1, t->row, t->down, 0, cell(t, c, 0, 1), 1, t->row, t->up, 0,
                 t->grid, MPI_STATUS_IGNORE);
    MPI_Sendrecv(cell(t, c, 1, 1), 1, t->column, t->left, 0, cell(t, c, 1, halo), 1, t->column,
                 t->right, 0, t->grid, MPI_STATUS_IGNORE);
    MPI_Sendrecv(cell(t, c, 1, last), 1, t->column, t->right, 0, cell(t, c, 1, 0), 1, t->column,
                 t->left, 0, t->grid, MPI_STATUS_IGNORE);
}

static void spread(tile *t)
{
    for (int y = 1; y <= t->side; y++)
        for (int x = 1; x <= t->side; x++)
            *cell(t, t->next, y, x) = *cell(t, t->now, y, x) / 2 +
                                      (*cell(t, t->now, y - 1, x) + *cell(t, t->now, y + 1, x) +
                                       *cell(t, t->now, y, x - 1) + *cell(t, t->now, y, x + 1)) /
                                          8;
    double *swap = t->now;
    t->now = t->next;
    t->next = swap;
}

// The heat of all tiles, at rank 0: each rank adds its own to what comes from the one before.
static double total(tile *t, int rank, int size)
{
    double sum = 0, own = 0;
    for (int y = 1; y <= t->side; y++)
        for (int x = 1; x <= t->side; x++)
            own += *cell(t, t->now, y, x);
    if (rank > 0)
        MPI_Recv(&sum, 1, MPI_DOUBLE, rank - 1, SUM, t->grid, MPI_STATUS_IGNORE);
    sum += own;
    if (size > 1)
        MPI_Send(&sum, 1, MPI_DOUBLE, (rank + 1) % size, SUM, t->grid);
    if (rank == 0 && size > 1)
        MPI_Recv(&sum, 1, MPI_DOUBLE, size - 1, SUM, t->grid, MPI_STATUS_IGNORE);
    return sum;
}

int main(int argc, char **argv)
{
    tile t = {.side = argc > 1 ? atoi(argv[1]) : 64};
    int steps = argc > 2 ? atoi(argv[2]) : 100;
    int size, rank, dims[2] = {0, 0}, periods[2] = {1, 1};
    MPI_Init(&argc, &argv);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Dims_create(size, 2, dims);
    MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 1, &t.grid); // neighbours come close together
    MPI_Comm_rank(t.grid, &rank);
    MPI_Cart_shift(t.grid, 0, 1, &t.up, &t.down);
    MPI_Cart_shift(t.grid, 1, 1, &t.left, &t.right);

    MPI_Type_contiguous(t.side, MPI_DOUBLE, &t.row);
    MPI_Type_vector(t.side, 1, t.side + 2, MPI_DOUBLE, &t.column);
    MPI_Type_commit(&t.row);
    MPI_Type_commit(&t.column);
    size_t cells = (size_t)(t.side + 2) * (size_t)(t.side + 2);
    t.now = calloc(cells, sizeof(double));
    t.next = calloc(cells, sizeof(double));
    if (t.side < 1 || !t.now || !t.next)
        MPI_Abort(MPI_COMM_WORLD, 2);
    if (rank == 0)
        *cell(&t, t.now, 1, 1) = 1e6; // a hot corner

    double before = total(&t, rank, size), start = MPI_Wtime();
    for (int i = 0; i < steps; i++) {
        exchange(&t);
        spread(&t);
    }
    double after = total(&t, rank, size);
    if (rank == 0)
        printf("%d x %d tiles of %d x %d cells, %d steps: heat %.0f before, %.0f after (%s), %.2f "
               "us a step and tile\n",
               dims[0], dims[1], t.side, t.side, steps, before, after,
               after > 0.999999 * before && after < 1.000001 * before ? "right" : "WRONG",
               (MPI_Wtime() - start) * 1e6 / steps / size);
    free(t.now);
    free(t.next);
    MPI_Type_free(&t.row);
    MPI_Type_free(&t.column);
    MPI_Comm_free(&t.grid);
    MPI_Finalize();
    return 0;
}
