// SPDX-License-Identifier: BSD-3-Clause
#include "chemistry.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { SPECIES = 3, MOST_TRIES = 60, MOST_EXPERIMENTS = 1000000, MOST_STEPS = 1000000 };

static const double truth[PARAMETERS] = {-2.5, -0.7, -1.2, 9.0};
static const double guess[PARAMETERS] = {-1.5, -1.5, -2.5, 6.0};
static const double change = 1e-5; // of a parameter, for the Jacobian

typedef struct experiment {
    double kelvin, a, z; // temperature; A and the catalyst at the start
    double minutes;      // between two points
} experiment;

static experiment experiment_at(int e)
{
    return (experiment){.kelvin = 410 + 6 * (e % 7),
                        .a = 0.6 + 0.2 * (e % 5),
                        .z = 0.25 * (e % 4),
                        .minutes = 0.4 + 0.1 * (e % 3)};
}

// ---- the system of differential equations

static void rates(const double k[3], double z, const double y[SPECIES], double dy[SPECIES])
{
    double active = (k[0] + k[2] * z) * y[0], crosslink = k[1] * y[1] * y[1];
    dy[0] = -active;
    dy[1] = active - 2 * crosslink;
    dy[2] = crosslink;
}

// One step of length h by Runge and Kutta.
static void runge_kutta(const double k[3], double z, double h, double y[SPECIES])
{
    double d[4][SPECIES], at[SPECIES];
    static const double part[4] = {0, 0.5, 0.5, 1};

    for (int s = 0; s < 4; s++) {
        for (int i = 0; i < SPECIES; i++)
            at[i] = s ? y[i] + part[s] * h * d[s - 1][i] : y[i];
        rates(k, z, at, d[s]);
    }
    for (int i = 0; i < SPECIES; i++)
        y[i] += h / 6 * (d[0][i] + 2 * d[1][i] + 2 * d[2][i] + d[3][i]);
}

// C at the points of an experiment.
static void solve(const double p[PARAMETERS], experiment x, int steps, double c[POINTS])
{
    double warm = exp(-1000 * p[3] * (1 / x.kelvin - 1 / 430.0));
    double k[3] = {exp(p[0]) * warm, exp(p[1]) * warm, exp(p[2]) * warm};
    double y[SPECIES] = {x.a, 0, 0};

    for (int t = 0; t < POINTS; t++) {
        for (int i = 0; i < steps; i++)
            runge_kutta(k, x.z, x.minutes / steps, y);
        c[t] = y[2];
    }
}

// ---- what was measured

static double noise(int e, int t) // about 0.1 per cent of a typical value, the same each time
{
    uint32_t bits = (uint32_t)(e * POINTS + t + 1) * UINT32_C(2654435761);
    bits ^= bits >> 15;
    bits *= UINT32_C(2246822519);
    bits ^= bits >> 13;
    return 4e-4 * (bits / 4294967296.0 - 0.5);
}

static void measured(int e, int steps, double c[POINTS])
{
    solve(truth, experiment_at(e), steps, c);
    for (int t = 0; t < POINTS; t++)
        c[t] += noise(e, t);
}

// ---- time

static double now(const fit *f)
{
    struct timespec t;

    if (!f->timed)
        return 0;
    timespec_get(&t, TIME_UTC);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

// ---- the fit

static bool read_number(const char *text, int most, int *number)
{
    char *end;
    long value = strtol(text, &end, 10);

    *number = (int)value;
    return end != text && !*end && value >= 1 && value <= most;
}

const char *fit_begin(fit *f, int argc, char **argv)
{
    memset(f, 0, sizeof *f);
    f->experiments = 48;
    f->steps = 20;
    f->timed = argc > 1 && strcmp(argv[argc - 1], "time") == 0;
    argc -= f->timed;
    if (argc > 3 || (argc > 1 && !read_number(argv[1], MOST_EXPERIMENTS, &f->experiments)) ||
        (argc > 2 && !read_number(argv[2], MOST_STEPS, &f->steps)))
        return "the arguments are [EXPERIMENTS [STEPS]] [time]: numbers from 1 to 1000000";
    f->errors = (size_t)f->experiments * POINTS;
    f->data = malloc(f->errors * sizeof(double));
    f->own = malloc(f->errors * sizeof(double));
    for (int i = 0; i < PARAMETERS + 1; i++)
        f->error[i] = malloc(f->errors * sizeof(double));
    for (int i = 0; i < PARAMETERS + 1; i++)
        if (!f->error[i] || !f->data || !f->own)
            return "there is no memory for so many experiments";
    memcpy(f->trial, guess, sizeof guess);
    f->cost = 1e300; // anything is better
    f->damping = 1e-2;
    f->began = now(f);
    return NULL;
}

void fit_end(fit *f)
{
    free(f->data);
    free(f->own);
    for (int i = 0; i < PARAMETERS + 1; i++)
        free(f->error[i]);
}

void fit_errors(fit *f, int i, long me, long of)
{
    double p[PARAMETERS], begin = now(f);

    memcpy(p, f->trial, sizeof p);
    if (i > 0)
        p[i - 1] += change;
    memset(f->own, 0, f->errors * sizeof(double));
    for (long e = me; e < f->experiments; e += of) {
        double model[POINTS], *data = f->data + e * POINTS, start;
        if (f->tries == 0 && i == 0) // once
            measured((int)e, f->steps, data);
        start = now(f);
        solve(p, experiment_at((int)e), f->steps, model);
        f->solved += now(f) - start;
        f->calls++;
        for (int t = 0; t < POINTS; t++)
            f->own[e * POINTS + t] = model[t] - data[t];
    }
    f->computed += now(f) - begin;
}

void fit_take(fit *f, int i, const double *sum)
{
    double begin = now(f);

    memcpy(f->error[i], sum, f->errors * sizeof(double));
    f->computed += now(f) - begin;
}

static double dot(const fit *f, const double *a, const double *b)
{
    double sum = 0;
    for (size_t i = 0; i < f->errors; i++)
        sum += a[i] * b[i];
    return sum;
}

// The trial was better: its equations are those of the next steps.
static void accept(fit *f, double cost)
{
    for (int i = 0; i < PARAMETERS; i++)
        for (size_t m = 0; m < f->errors; m++)
            f->error[i + 1][m] = (f->error[i + 1][m] - f->error[0][m]) / change;
    for (int i = 0; i < PARAMETERS; i++) {
        for (int j = 0; j < PARAMETERS; j++)
            f->normal[i][j] = dot(f, f->error[i + 1], f->error[j + 1]);
        f->gradient[i] = dot(f, f->error[i + 1], f->error[0]);
    }
    memcpy(f->p, f->trial, sizeof f->p);
    f->cost = cost;
    f->accepted++;
}

// The step s with (J'J + damping diag(J'J)) s = -J'e, by Cholesky.
static void damped_step(const fit *f, double s[PARAMETERS])
{
    double l[PARAMETERS][PARAMETERS] = {{0}};

    for (int i = 0; i < PARAMETERS; i++) {
        for (int j = 0; j <= i; j++) {
            double sum = f->normal[i][j] * (i == j ? 1 + f->damping : 1);
            for (int k = 0; k < j; k++)
                sum -= l[i][k] * l[j][k];
            l[i][j] = i == j ? sqrt(sum) : sum / l[j][j];
        }
    }
    for (int i = 0; i < PARAMETERS; i++) {
        s[i] = -f->gradient[i];
        for (int k = 0; k < i; k++)
            s[i] -= l[i][k] * s[k];
        s[i] /= l[i][i];
    }
    for (int i = PARAMETERS - 1; i >= 0; i--) {
        for (int k = i + 1; k < PARAMETERS; k++)
            s[i] -= l[k][i] * s[k];
        s[i] /= l[i][i];
    }
}

static bool next_trial(fit *f)
{
    double cost = dot(f, f->error[0], f->error[0]) / 2, s[PARAMETERS];
    bool better = cost < f->cost, close = f->cost - cost <= 1e-12 * f->cost;

    if (better)
        accept(f, cost);
    f->damping *= better ? 0.2 : 8;
    if (++f->tries >= MOST_TRIES || (better && close) || f->damping > 1e6)
        return false;
    damped_step(f, s);
    for (int i = 0; i < PARAMETERS; i++)
        f->trial[i] = f->p[i] + s[i];
    return true;
}

bool fit_step(fit *f)
{
    double begin = now(f);
    bool more = next_trial(f);

    f->computed += now(f) - begin;
    return more;
}

void fit_print(const fit *f)
{
    static const char *const name[PARAMETERS] = {"k1", "k2", "k3", "E/R"};

    for (int i = 0; i < PARAMETERS; i++)
        printf("%-3s = %.15g (made with %.15g)\n", name[i], i < 3 ? exp(f->p[i]) : 1000 * f->p[i],
               i < 3 ? exp(truth[i]) : 1000 * truth[i]);
    printf("error %.15g after %d steps, %d tries\n", f->cost, f->accepted, f->tries);
    if (f->timed)
        printf("took %.6f s; the solver had %.1f %% of the computing: %ld calls of %.2f us\n",
               now(f) - f->began, 100 * f->solved / f->computed, f->calls,
               1e6 * f->solved / (double)f->calls);
}
