// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// Sums the ranks' numbers along a chain; the last rank prints the sum.
void tell(void);
