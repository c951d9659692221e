// SPDX-License-Identifier: BSD-3-Clause
#include "cg.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static const double RESIDUAL = 1e-11, LARGEST = 1e-8;

int cg_size(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : 48;

    if (n < 1 || n > 10000) {
        fprintf(stderr, "the size is from 1 to 10000\n");
        exit(2);
    }
    return n;
}

// The solution; what A makes of it; what A makes of that. All are 0 outside of the square.
static double solution(int n, int i, int j)
{
    return i < 0 || j < 0 || i >= n || j >= n ? 0 : (double)((i * 37 + j * 17) % 11) / 11;
}

static double apply(double of(int n, int i, int j), int n, int i, int j)
{
    if (i < 0 || j < 0 || i >= n || j >= n)
        return 0;
    return 4 * of(n, i, j) - of(n, i - 1, j) - of(n, i + 1, j) - of(n, i, j - 1) - of(n, i, j + 1);
}

static double right_side(int n, int i, int j)
{
    return apply(solution, n, i, j);
}

void cg_begin(strip *t, int n, int part, int parts)
{
    int first = (int)((long)n * part / parts), end = (int)((long)n * (part + 1) / parts);
    size_t all = (size_t)(end - first) * (size_t)n;
    double *memory = calloc(7 * all + 2 * (size_t)n, sizeof *memory);

    *t = (strip){.n = n, .first = first, .rows = end - first};
    double **arrays[] = {&t->x, &t->r, &t->p, &t->s, &t->z, &t->q, &t->w};
    for (int i = 0; i < 7; i++)
        *arrays[i] = memory + (size_t)i * all;
    t->w += n;
    for (int i = 0; i < t->rows; i++)
        for (int j = 0; j < n; j++) {
            t->r[i * n + j] = right_side(n, first + i, j); // x begins as 0
            t->w[i * n + j] = apply(right_side, n, first + i, j);
        }
}

void cg_end(strip *t)
{
    free(t->x);
}

void cg_dots(const strip *t, double dots[2])
{
    dots[0] = dots[1] = 0;
    for (int k = 0; k < t->rows * t->n; k++) {
        dots[0] += t->r[k] * t->r[k];
        dots[1] += t->w[k] * t->r[k];
    }
}

static void apply_row(strip *t, int i)
{
    int n = t->n;
    const double *w = t->w + i * n;

    for (int j = 0; j < n; j++)
        t->q[i * n + j] =
            4 * w[j] - w[j - n] - w[j + n] - (j > 0 ? w[j - 1] : 0) - (j < n - 1 ? w[j + 1] : 0);
}

void cg_inner(strip *t)
{
    for (int i = 1; i < t->rows - 1; i++)
        apply_row(t, i);
}

void cg_outer(strip *t)
{
    apply_row(t, 0);
    apply_row(t, t->rows - 1);
}

int cg_step(strip *t, const double sums[2])
{
    double gamma = sums[0], delta = sums[1];
    double beta = t->steps ? gamma / t->gamma : 0;
    double alpha = t->steps ? gamma / (delta - beta * gamma / t->alpha) : gamma / delta;

    if (t->steps == 0)
        t->goal = RESIDUAL * RESIDUAL * gamma;
    if (gamma <= t->goal || t->steps == 20 * t->n)
        return 0;
    for (int k = 0; k < t->rows * t->n; k++) {
        t->z[k] = t->q[k] + beta * t->z[k];
        t->s[k] = t->w[k] + beta * t->s[k];
        t->p[k] = t->r[k] + beta * t->p[k];
        t->x[k] += alpha * t->p[k];
        t->r[k] -= alpha * t->s[k];
        t->w[k] -= alpha * t->z[k];
    }
    t->gamma = gamma;
    t->alpha = alpha;
    t->steps++;
    return 1;
}

double cg_error(const strip *t)
{
    double most = 0;

    for (int i = 0; i < t->rows; i++)
        for (int j = 0; j < t->n; j++)
            most = fmax(most, fabs(t->x[i * t->n + j] - solution(t->n, t->first + i, j)));
    return most;
}

void cg_print(int n, double error)
{
    printf("%d x %d unknowns: errors %s %g: %s\n", n, n, error < LARGEST ? "below" : "above",
           LARGEST, error < LARGEST ? "OK" : "WRONG");
}
