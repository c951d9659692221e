// SPDX-License-Identifier: BSD-3-Clause
#include "chemistry.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { SPECIES = 3, STEPS_A_POINT = 20, MOST_TRIES = 60 };

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
static void solve(const double p[PARAMETERS], experiment x, double c[POINTS])
{
    double warm = exp(-1000 * p[3] * (1 / x.kelvin - 1 / 430.0));
    double k[3] = {exp(p[0]) * warm, exp(p[1]) * warm, exp(p[2]) * warm};
    double y[SPECIES] = {x.a, 0, 0};

    for (int t = 0; t < POINTS; t++) {
        for (int i = 0; i < STEPS_A_POINT; i++)
            runge_kutta(k, x.z, x.minutes / STEPS_A_POINT, y);
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

static void measured(int e, double c[POINTS])
{
    solve(truth, experiment_at(e), c);
    for (int t = 0; t < POINTS; t++)
        c[t] += noise(e, t);
}

// ---- the fit

void fit_begin(fit *f)
{
    memset(f, 0, sizeof *f);
    memcpy(f->trial, guess, sizeof guess);
    f->cost = 1e300; // anything is better
    f->damping = 1e-2;
}

void fit_errors(const fit *f, int i, long me, long of, double errors[ERRORS])
{
    double p[PARAMETERS], model[POINTS], data[POINTS];

    memcpy(p, f->trial, sizeof p);
    if (i > 0)
        p[i - 1] += change;
    memset(errors, 0, sizeof(double[ERRORS]));
    for (int e = (int)me; e < EXPERIMENTS; e += (int)of) {
        solve(p, experiment_at(e), model);
        measured(e, data);
        for (int t = 0; t < POINTS; t++)
            errors[e * POINTS + t] = model[t] - data[t];
    }
}

void fit_take(fit *f, int i, const double sum[ERRORS])
{
    memcpy(f->error[i], sum, sizeof f->error[i]);
}

static double dot(const double a[ERRORS], const double b[ERRORS])
{
    double sum = 0;
    for (int i = 0; i < ERRORS; i++)
        sum += a[i] * b[i];
    return sum;
}

// The trial was better: its equations are those of the next steps.
static void accept(fit *f, double cost)
{
    for (int i = 0; i < PARAMETERS; i++)
        for (int m = 0; m < ERRORS; m++)
            f->error[i + 1][m] = (f->error[i + 1][m] - f->error[0][m]) / change;
    for (int i = 0; i < PARAMETERS; i++) {
        for (int j = 0; j < PARAMETERS; j++)
            f->normal[i][j] = dot(f->error[i + 1], f->error[j + 1]);
        f->gradient[i] = dot(f->error[i + 1], f->error[0]);
    }
    memcpy(f->p, f->trial, sizeof f->p);
    f->cost = cost;
    f->steps++;
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

bool fit_step(fit *f)
{
    double cost = dot(f->error[0], f->error[0]) / 2, s[PARAMETERS];
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

void fit_print(const fit *f)
{
    static const char *const name[PARAMETERS] = {"k1", "k2", "k3", "E/R"};

    for (int i = 0; i < PARAMETERS; i++)
        printf("%-3s = %.15g (made with %.15g)\n", name[i], i < 3 ? exp(f->p[i]) : 1000 * f->p[i],
               i < 3 ? exp(truth[i]) : 1000 * truth[i]);
    printf("error %.15g after %d steps, %d tries\n", f->cost, f->steps, f->tries);
}
