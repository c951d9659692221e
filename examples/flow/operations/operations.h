// SPDX-License-Identifier: BSD-3-Clause
#ifndef OPERATIONS_H
#define OPERATIONS_H

struct moments {
    double n, mean, squares; // how many, their mean, sum of squared distances from it
};

struct matrix {
    double a, b, c, d; // by rows
};

#endif
