// SPDX-License-Identifier: BSD-3-Clause
// Some of the planes, one after the other. A piece is the number of its plane and n / Q rows of it.
#include <stdlib.h>
#include <string.h>

#include "Planes.flow.h"

int Planes_run(Planes *my)
{
    int n = fft_size(my->flow.argc, my->flow.argv), pieces = (int)flow_const(my, "Q");
    size_t points = (size_t)n * (size_t)n / (size_t)pieces;
    point *plane = malloc((size_t)n * (size_t)n * sizeof *plane);

    for (int z = (int)my->flow.index; z < n; z += (int)my->flow.count) {
        fft_fill(plane, n, z);
        fft_plane(plane, n);
        for (int i = 0; i < pieces; i++) {
            point *piece = flow_new(my, 1 + points);
            piece[0] = z;
            memcpy(piece + 1, plane + (size_t)i * points, points * sizeof *piece);
            flow_give(my, piece, 1 + points); // it does not wait until the piece has arrived
        }
    }
    free(plane);
    return 0;
}
