// SPDX-License-Identifier: BSD-3-Clause
// Conjugate gradients for Poisson's equation on a square of n x n unknowns, in strips of rows. This is the
// pipelined form (Ghysels and Vanroose): the two dot products of a step are summed up while the next
// product with the matrix is computed.
#ifndef CG_H
#define CG_H

typedef struct strip {
    int n, first, rows; // of these rows
    int steps;
    double *x, *r, *p, *s, *z, *w, *q; // rows * n each; w has one more row on either side
    double gamma, alpha, goal;
} strip;

int cg_size(int argc, char **argv); // n of the first argument
void cg_begin(strip *t, int n, int part, int parts);
void cg_end(strip *t);

// One step: sums[2] are those of all strips' dots. False: it has converged, or never will.
void cg_dots(const strip *t, double dots[2]);
void cg_inner(strip *t); // q = A w, but for the outer rows
void cg_outer(strip *t); // those: w[-n..] and w[rows * n..] are the neighbours' by now
int cg_step(strip *t, const double sums[2]);

double cg_error(const strip *t); // the largest, for the solution is known
void cg_print(int n, double error);

#endif
