// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// `millet info --net`: which addresses this host would publish in a job over several hosts, and why
// not the others. `iface` and `ports` are what mpirun's options of that name would be; NULL: its
// variables, or all.
void mlt_info_net(const char *iface, const char *ports);

// `millet info --fabrics`: which providers of libfabric there are, and which one MILLET_FABRIC takes.
void mlt_info_fabrics(void);
