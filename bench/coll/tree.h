// SPDX-License-Identifier: BSD-3-Clause
//
// What ranks of a benchmark agree on between measurements, over point-to-point messages along a
// binomial tree with rank 0 at its top: right even if the collective that is measured is not.
#pragma once

// Rank 0's value, at every rank. Called by all.
double tree_from_0(int rank, int ranks, double value);

// Of each of the values the largest of all ranks, at rank 0; elsewhere they are used up. Called by
// all with the same count.
void tree_max_at_0(int rank, int ranks, double *values, int count);
