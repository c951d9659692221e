// SPDX-License-Identifier: BSD-3-Clause
#define _POSIX_C_SOURCE 200809L // clock_gettime
#include "bench.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static void sizes_read(const char *text, struct bench_sizes *sizes)
{
    sizes->count = 0;
    while (*text != '\0') {
        char *end;
        unsigned long long bytes = strtoull(text, &end, 10);
        bool separated = *end == ',' || *end == '\0';
        if (end == text || !separated || bytes == 0 || sizes->count == BENCH_MAX_SIZES) {
            fprintf(stderr, "--sizes: expected up to %d sizes as in 8,1024, got '%s'\n",
                    BENCH_MAX_SIZES, text);
            exit(2);
        }
        sizes->bytes[sizes->count++] = (size_t)bytes;
        text = *end == ',' ? end + 1 : end;
    }
}

static void options_help(const struct bench_option *options, const struct bench_sizes *sizes)
{
    for (const struct bench_option *option = options; option->name; option++)
        printf("  %-12s %s (%g)\n", option->name, option->help, *option->value);
    if (sizes)
        printf("  %-12s message sizes in bytes, separated by commas\n", "--sizes");
}

void bench_options_read(int argc, char **argv, const struct bench_option *options,
                        struct bench_sizes *sizes)
{
    for (int i = 1; i < argc; i += 2) {
        const struct bench_option *option = options;
        while (option->name && strcmp(option->name, argv[i]) != 0)
            option++;
        if (strcmp(argv[i], "--help") == 0) {
            options_help(options, sizes);
            exit(0);
        }
        bool is_sizes = sizes && strcmp(argv[i], "--sizes") == 0;
        if (!option->name && !is_sizes) {
            fprintf(stderr, "unknown option '%s'; --help lists them\n", argv[i]);
            exit(2);
        }
        if (i + 1 == argc) {
            fprintf(stderr, "option %s needs a value\n", argv[i]);
            exit(2);
        }
        if (is_sizes) {
            sizes_read(argv[i + 1], sizes);
            continue;
        }
        char *end;
        *option->value = strtod(argv[i + 1], &end);
        if (end == argv[i + 1] || *end != '\0' || *option->value < 0) {
            fprintf(stderr, "option %s: '%s' is not a number of 0 or more\n", argv[i], argv[i + 1]);
            exit(2);
        }
    }
}

void bench_require(bool condition, const char *sentence)
{
    if (condition)
        return;
    fprintf(stderr, "%s\n", sentence);
    MPI_Abort(MPI_COMM_WORLD, 1);
    abort();
}

double bench_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

unsigned char *bench_buffer_new(size_t bytes)
{
    const size_t page = 4096;
    size_t whole_pages = (bytes + page - 1) / page * page;
    unsigned char *buffer = aligned_alloc(page, whole_pages);
    bench_require(buffer != NULL, "out of memory for a message buffer");
    memset(buffer, 0xA5, whole_pages);
    return buffer;
}

static unsigned char pattern_at(size_t position, unsigned seed)
{
    return (unsigned char)((position * 131 + position / 251 + seed * 29 + 1) & 0xFF);
}

void bench_pattern_fill(unsigned char *buffer, size_t bytes, unsigned seed)
{
    for (size_t i = 0; i < bytes; i++)
        buffer[i] = pattern_at(i, seed);
}

bool bench_pattern_holds(const unsigned char *buffer, size_t bytes, unsigned seed)
{
    for (size_t i = 0; i < bytes; i++) {
        if (buffer[i] != pattern_at(i, seed))
            return false;
    }
    return true;
}

static int compare_doubles(const void *left, const void *right)
{
    double a = *(const double *)left;
    double b = *(const double *)right;
    return (a > b) - (a < b);
}

double bench_median(double *values, int count)
{
    qsort(values, (size_t)count, sizeof *values, compare_doubles);
    if (count % 2 == 1)
        return values[count / 2];
    return (values[count / 2 - 1] + values[count / 2]) / 2;
}

long bench_repeats(double once_s, double for_s)
{
    const double most = 1e7;
    double repeats = once_s > 0 ? for_s / once_s : most;
    if (repeats > most)
        repeats = most;
    return repeats < 1 ? 1 : (long)repeats;
}

void bench_print_size(const char *what, size_t bytes, double value, const char *unit)
{
    const size_t kib = 1024;
    const size_t mib = kib * kib;
    if (bytes >= mib && bytes % mib == 0)
        printf("%s_%zuMiB %.6g %s\n", what, bytes / mib, value, unit);
    else if (bytes >= kib && bytes % kib == 0)
        printf("%s_%zuKiB %.6g %s\n", what, bytes / kib, value, unit);
    else
        printf("%s_%zuB %.6g %s\n", what, bytes, value, unit);
    fflush(stdout);
}
