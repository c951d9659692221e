// SPDX-License-Identifier: BSD-3-Clause
// Names of what is waited for, of the modules that have it.
#include "csp/hang_int.h"

void mlt_words_of_barrier(mlt_words *w, const csp_barrier *barrier)
{
    mlt_words_add(w, "a barrier");
}

void mlt_words_of_port(mlt_words *w, const csp_port *port)
{
    mlt_words_add(w, "a port");
}

void mlt_words_of_target(mlt_words *w, const csp_target *target)
{
    mlt_words_add(w, "a port");
}

void mlt_words_of_group(mlt_words *w, const csp_group *group)
{
}

void mlt_words_of_far(mlt_words *w, const csp_chan *chan)
{
    if (chan->remote)
        mlt_words_add(w, " (of another program)");
}
