// SPDX-License-Identifier: BSD-3-Clause
// `millet top [JOB]`: what a running job does.
#ifndef MLT_TOOLS_LIVE_TOP_H
#define MLT_TOOLS_LIVE_TOP_H

int mlt_top_main(int argc, char **argv);

#endif
