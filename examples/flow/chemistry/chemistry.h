// SPDX-License-Identifier: BSD-3-Clause
// A fit of rate constants to measured curves, by Levenberg and Marquardt. Nothing here
// communicates: whoever has several processes lets each compute the errors of some experiments and
// adds them up.
//
//     A -> B         k1 A        the accelerator reacts by itself,
//     A + Z -> B + Z k3 A Z      or on the catalyst Z, which stays;
//     B + B -> C     k2 B B      two active sites make a crosslink, which is what one measures.
//
// All three go faster when it is warmer (Arrhenius, one activation energy). An experiment has its
// own temperature, A and Z at the start; C is measured at POINTS times. Data is synthetic, made
// from known constants and a fixed pseudo-noise.
//
// Arguments of all three programs: EXPERIMENTS (48), STEPS of the solver between two points (20),
// and the word `time`, with which the program says how long it took and what the solver had of it.
// With 20 steps a call of the solver takes some 50 us, as in the paper; 4800 makes the whole a
// hundred times as long, for measuring how it scales.
#ifndef CHEMISTRY_H
#define CHEMISTRY_H

#include <stdbool.h>
#include <stddef.h>

enum { POINTS = 12, PARAMETERS = 4 };

typedef struct fit {
    int experiments, steps;        // of the solver, between two points
    size_t errors;                 // experiments * POINTS
    double *data;                  // [errors] what was measured
    double *own;                   // [errors] fit_errors has filled it
    double p[PARAMETERS];          // best so far: ln k1, ln k2, ln k3, E/R in 1000 K
    double trial[PARAMETERS];      // to be tried next
    double *error[PARAMETERS + 1]; // at trial; then with one parameter changed, each
    double normal[PARAMETERS][PARAMETERS], gradient[PARAMETERS]; // at p: J'J and J'e
    double cost, damping;                                        // at p: half of e'e
    int accepted, tries;
    bool timed;
    double began, computed, solved; // s: when; in the fit, of that in the solver
    long calls;                     // of the solver
} fit;

// NULL: it begins. Otherwise what is wrong with the arguments. fit_end in any case.
const char *fit_begin(fit *f, int argc, char **argv);
void fit_end(fit *f);
// What process `me` of `of` knows of f->error[i], i <= PARAMETERS, into f->own: the errors of its
// experiments; those of others are 0, so that the sum over all processes is the whole vector,
// exactly.
void fit_errors(fit *f, int i, long me, long of);
void fit_take(fit *f, int i, const double *sum);
// All of f->error was taken. True: there is a new trial.
bool fit_step(fit *f);
void fit_print(const fit *f);

#endif
