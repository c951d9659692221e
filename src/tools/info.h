// SPDX-License-Identifier: BSD-3-Clause
#ifndef MLT_TOOLS_INFO_H
#define MLT_TOOLS_INFO_H

// `millet info`: what this Millet is, how it is set, what it would choose here, and which MPI
// functions it has.
int mlt_info_main(int argc, char **argv);

#endif
