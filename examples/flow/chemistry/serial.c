// SPDX-License-Identifier: BSD-3-Clause
// The fit on one processor: the reference.
#include "chemistry.h"

int main(void)
{
    fit f;
    double errors[ERRORS];

    fit_begin(&f);
    do {
        for (int i = 0; i < PARAMETERS + 1; i++) {
            fit_errors(&f, i, 0, 1, errors);
            fit_take(&f, i, errors);
        }
    } while (fit_step(&f));
    fit_print(&f);
    return 0;
}
