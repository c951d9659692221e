// SPDX-License-Identifier: BSD-3-Clause
#include "fft.h"

#include <complex.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static const int waves[][3] = {{0, 0, 0}, {1, 2, 3}, {7, 0, 5}, {4, 4, 4}, {2, 6, 1}};
enum { WAVES = sizeof waves / sizeof *waves };

int fft_size(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : 32;

    if (n < 8 || n > 4096 || (n & (n - 1)) != 0) {
        fprintf(stderr, "the size is a power of two from 8 to 4096\n");
        exit(2);
    }
    return n;
}

// Cooley and Tukey's: those with even and odd numbers first, then both together.
static void halves(point *line, point *room, int n, int step)
{
    if (step >= n)
        return;
    halves(room, line, n, 2 * step);
    halves(room + step, line + step, n, 2 * step);
    for (int i = 0; i < n; i += 2 * step) {
        point t = cexp(-I * acos(-1) * i / n) * room[i + step];
        line[i / 2] = room[i] + t;
        line[(i + n) / 2] = room[i] - t;
    }
}

void fft(point *line, int n)
{
    point *room = malloc((size_t)n * sizeof *room);

    for (int i = 0; i < n; i++)
        room[i] = line[i];
    halves(line, room, n, 1);
    free(room);
}

void fft_fill(point *plane, int n, int z)
{
    for (int y = 0; y < n; y++)
        for (int x = 0; x < n; x++) {
            plane[y * n + x] = 0;
            for (int w = 0; w < WAVES; w++) {
                int turns = waves[w][0] * x + waves[w][1] * y + waves[w][2] * z;
                plane[y * n + x] += cexp(2 * I * acos(-1) * (turns % n) / n);
            }
        }
}

void fft_plane(point *plane, int n)
{
    point *column = malloc((size_t)n * sizeof *column);

    for (int y = 0; y < n; y++)
        fft(plane + y * n, n);
    for (int x = 0; x < n; x++) {
        for (int y = 0; y < n; y++)
            column[y] = plane[y * n + x];
        fft(column, n);
        for (int y = 0; y < n; y++)
            plane[y * n + x] = column[y];
    }
    free(column);
}

static int is_wave(int x, int y, int z)
{
    for (int w = 0; w < WAVES; w++)
        if (x == waves[w][0] && y == waves[w][1] && z == waves[w][2])
            return 1;
    return 0;
}

findings fft_lines(point *lines, int n, int y, int rows)
{
    findings f = {0, 0};

    for (int row = 0; row < rows; row++)
        for (int x = 0; x < n; x++) {
            point *line = lines + ((long)row * n + x) * n;
            fft(line, n);
            for (int z = 0; z < n; z++) {
                double part = cabs(line[z] / n / n / n - is_wave(x, y + row, z));
                f.error = fmax(f.error, part);
                f.waves += part < 0.5 && is_wave(x, y + row, z);
            }
        }
    return f;
}

void fft_print(int n, double error, double found)
{
    printf("%d x %d x %d points: %g of %d waves found, errors %s 1e-12: %s\n", n, n, n, found,
           WAVES, error < 1e-12 ? "below" : "above",
           error < 1e-12 && found == WAVES ? "OK" : "WRONG");
}
