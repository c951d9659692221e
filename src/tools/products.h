// SPDX-License-Identifier: BSD-3-Clause
// What the library was built with (MILLET_WITH), and how much code each product has in it. The table
// is made at build time from the objects (cmake/product_sizes.py).
#pragma once

#include <stdint.h>

typedef struct mlt_product {
    const char *name;
    uint64_t bytes; // 0: not known before the linker has optimised it
} mlt_product;

extern const mlt_product mlt_products[]; // the last one has no name
