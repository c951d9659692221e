// SPDX-License-Identifier: BSD-3-Clause
// mpirun and mpiexec.
#include "launch/launch.h"
#include "launch/options.h"

int main(int argc, char **argv)
{
    mlt_options options;
    mlt_options_read(argc, argv, &options);
    return mlt_launch(&options);
}
