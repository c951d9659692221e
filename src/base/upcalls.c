// SPDX-License-Identifier: BSD-3-Clause
// For programs that have nothing above.
#include "base/upcalls.h"

const mlt_upcall_table mlt_upcalls __attribute__((weak)) = {0};
