// SPDX-License-Identifier: BSD-3-Clause
// Some rows of all planes. Pieces come in any order; each says which plane it is of.
#include <complex.h>
#include <stdlib.h>

#include "Lines.flow.h"

int Lines_run(Lines *my)
{
    int n = fft_size(my->flow.argc, my->flow.argv), rows = n / (int)my->flow.count;
    long points = (long)rows * n;
    point *lines = malloc((size_t)(points * n) * sizeof *lines);
    const point *piece;
    size_t count;

    if (n % my->flow.count != 0)
        flow_fail(my, "Q = %ld does not divide %d", my->flow.count, n);
    while (flow_dequeue(my, &piece, &count))
        for (long i = 0; i < points; i++)
            lines[i * n + (int)creal(piece[0])] = piece[1 + i];
    findings f = fft_lines(lines, n, rows * (int)my->flow.index, rows);
    flow_send_on(my, error, &f.error, 1);
    flow_send_on(my, waves, &f.waves, 1);
    free(lines);
    return 0;
}
