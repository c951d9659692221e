// SPDX-License-Identifier: BSD-3-Clause
//
// What the benchmark programs share: command line, clock, buffers, medians, printing.
//
// Every program runs unchanged under any MPI, with its ranks as processes, threads or fibers. So
// no program here has a writable global variable, a large local one, or needs more of MPI than
// point-to-point calls. Results are lines of `key value unit` on rank 0's standard output;
// whatever goes wrong is a sentence on standard error and a non-zero exit code.
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum {
    BENCH_MAX_SIZES = 16,
    BENCH_MAX_REPS = 101,
};

// One option of a program: `--name value`. A program ends its table with a NULL name.
struct bench_option {
    const char *name;
    double *value;
    const char *help;
};

// A list of message sizes in bytes, given as `--sizes 8,1024`.
struct bench_sizes {
    int count;
    size_t bytes[BENCH_MAX_SIZES];
};

// Reads the command line into the options and, unless it is NULL, the sizes. An unknown option or
// a bad value ends the rank with exit code 2 before MPI is started; only call it before MPI_Init.
void bench_options_read(int argc, char **argv, const struct bench_option *options,
                        struct bench_sizes *sizes);

// Ends the job with the sentence unless the condition holds.
void bench_require(bool condition, const char *sentence);

// Monotonic seconds; the same clock whatever the MPI.
double bench_now(void);

// A page-aligned buffer whose pages have all been written. Never NULL; freed with free().
unsigned char *bench_buffer_new(size_t bytes);

// A pattern that depends on the position and on the seed, and the check for it.
void bench_pattern_fill(unsigned char *buffer, size_t bytes, unsigned seed);
bool bench_pattern_holds(const unsigned char *buffer, size_t bytes, unsigned seed);

// Sorts the values and returns the middle one.
double bench_median(double *values, int count);

// The number of times to repeat something that was seen to take once_s, to fill for_s seconds.
long bench_repeats(double once_s, double for_s);

// Prints `what_size value unit`, for example `latency_8KiB 2.71 us`.
void bench_print_size(const char *what, size_t bytes, double value, const char *unit);
