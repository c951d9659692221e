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
#ifndef CHEMISTRY_H
#define CHEMISTRY_H

#include <stdbool.h>

enum { EXPERIMENTS = 48, POINTS = 12, ERRORS = EXPERIMENTS * POINTS, PARAMETERS = 4 };

typedef struct fit {
    double p[PARAMETERS];                 // best so far: ln k1, ln k2, ln k3, E/R in 1000 K
    double trial[PARAMETERS];             // to be tried next
    double error[PARAMETERS + 1][ERRORS]; // at trial; then with one parameter changed, each
    double normal[PARAMETERS][PARAMETERS], gradient[PARAMETERS]; // at p: J'J and J'e
    double cost, damping;                                        // at p: half of e'e
    int steps, tries;
} fit;

void fit_begin(fit *f);
// What process `me` of `of` knows of f->error[i], i <= PARAMETERS: the errors of its experiments;
// those of others are 0, so that the sum over all processes is the whole vector, exactly.
void fit_errors(const fit *f, int i, long me, long of, double errors[ERRORS]);
void fit_take(fit *f, int i, const double sum[ERRORS]);
// All of f->error was taken. True: there is a new trial.
bool fit_step(fit *f);
void fit_print(const fit *f);

#endif
