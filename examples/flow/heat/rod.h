// SPDX-License-Identifier: BSD-3-Clause
#ifndef ROD_H
#define ROD_H

enum { POINTS = 3 }; // of a piece

#define COLD      0.0
#define HOT       100.0
#define TOLERANCE 1e-3

#endif
