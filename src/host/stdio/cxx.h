// SPDX-License-Identifier: BSD-3-Clause
// C++'s std::cout and the like.
#pragma once

#include <stdio.h>

#include "p2p/p2p.h"

// libstdc++ binds std::cout, std::cin and the like to C's streams before any code of this library
// runs: those that are bound to `from` go to `to` from now on. Nothing happens if the program has
// no libstdc++, or has bound them to something else. Those of the rank; NULL: the original ones.
void mlt_cxx_rebind(const mlt_rank *me, FILE *from, FILE *to);
