// SPDX-License-Identifier: BSD-3-Clause
// mpirun and mpiexec.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "launch/children/parent.h"
#include "launch/hosts/adopt.h"
#include "launch/hosts/serve.h"
#include "launch/launch.h"
#include "launch/plan/options.h"
#include "launch/say.h"

// --help and its like end by exit.
static void see_output_off(void)
{
    if (fflush(stdout) == 0 && !ferror(stdout))
        return;
    mlt_say("standard output cannot be written: %s", strerror(errno));
    mlt_say_finish(-1);
    _exit(MLT_EXIT_FAILED);
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "--agent") == 0)
        return mlt_agent_serve();
    if (argc == 4 && strcmp(argv[1], "--adopt") == 0)
        return mlt_adopt(argv[2], argv[3]);
    mlt_options options;
    mlt_parent *parent = NULL;
    if (argc == 3 && strcmp(argv[1], "--spawned") == 0) {
        parent = mlt_parent_join(atoi(argv[2]), &options);
    } else {
        atexit(see_output_off);
        mlt_options_read(argc, argv, &options);
    }
    return mlt_launch(&options, parent);
}
