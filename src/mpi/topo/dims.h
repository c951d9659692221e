// SPDX-License-Identifier: BSD-3-Clause
// Numbers as products: the divisors of a number, and the sides of a grid that is near a cube.
#pragma once

// All divisors of n >= 1, ascending. The caller frees them; memory exhausted ends the process.
int *mlt_dims_divisors(int n, int *count);

// The k >= 1 factors of n >= 1 that are as close to each other as they can be, in nonincreasing
// order: those with the smallest difference between the first and the last, and of these the first
// in lexicographic order (so the largest factor is small).
void mlt_dims_balance(int n, int k, int *factors);
