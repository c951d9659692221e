// SPDX-License-Identifier: BSD-3-Clause
// `millet top [JOB]`: what a running job does.
#pragma once

int mlt_top_main(int argc, char **argv);
