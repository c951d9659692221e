// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// `millet info`: what this Millet is, how it is set, what it would choose here, and which MPI
// functions it has.
int mlt_info_main(int argc, char **argv);
