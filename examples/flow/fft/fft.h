// SPDX-License-Identifier: BSD-3-Clause
#ifndef FFT_H
#define FFT_H

typedef double _Complex point;

int fft_size(int argc, char **argv); // n of the first argument: a power of two, 8 at least
void fft(point *line, int n);        // along a line, in place

// A plane of constant z, by rows of constant y. The function to transform is a sum of five waves,
// so its transform is known: n^3 at five points, and 0 elsewhere.
void fft_fill(point *plane, int n, int z);
void fft_plane(point *plane, int n); // along x, then along y

// Rows y, y + 1, ... of all planes, as lines along z: transforms these, and compares. The largest error
// in parts of n^3; how many waves are there.
typedef struct findings {
    double error, waves;
} findings;
findings fft_lines(point *lines, int n, int y, int rows);
void fft_print(int n, double error, double waves);

#endif
