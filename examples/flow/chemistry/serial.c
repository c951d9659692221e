// SPDX-License-Identifier: BSD-3-Clause
// The fit on one processor: the reference.
#include <stdio.h>

#include "chemistry.h"

int main(int argc, char **argv)
{
    fit f;
    const char *wrong = fit_begin(&f, argc, argv);

    if (wrong) {
        fprintf(stderr, "%s\n", wrong);
        return 1;
    }
    do {
        for (int i = 0; i < PARAMETERS + 1; i++) {
            fit_errors(&f, i, 0, 1);
            fit_take(&f, i, f.own);
        }
    } while (fit_step(&f));
    fit_print(&f);
    fit_end(&f);
    return 0;
}
