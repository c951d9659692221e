// SPDX-License-Identifier: BSD-3-Clause
#ifndef MILLET_TEST_BUILD_TELL_H
#define MILLET_TEST_BUILD_TELL_H

// Sums the ranks' numbers along a chain; the last rank prints the sum.
void tell(void);

#endif
