// SPDX-License-Identifier: BSD-3-Clause
// exit, called by a process that is not main: `csp_exit STATUS`. Alone it ends the program as
// anywhere, with the handlers of atexit; `main`: main calls it while processes still wait.
#include <pthread.h>

#include "csp_check.h"

static void last_words(void)
{
    printf("last words\n");
}

static int ends(void *arg)
{
    csp_yield();
    exit(*(int *)arg);
}

static int waits(void *arg)
{
    int value;
    csp_read(arg, &value);
    return 0;
}

int main(int argc, char **argv)
{
    int status = argc > 1 ? atoi(argv[1]) : 0;
    csp_chan *c = csp_chan_new(NULL, sizeof(int));
    csp_in *in = csp_chan_in(c);
    if (argc > 2 && strcmp(argv[2], "main") == 0) {
        csp_fork(waits, in, "waits");
        csp_yield();
        exit(status);
    }
    atexit(last_words);
    CSP_PAR({waits, in, "waits", 0}, {ends, &status, "ends", 0});
    return 99;
}
