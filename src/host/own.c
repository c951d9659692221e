// SPDX-License-Identifier: BSD-3-Clause
#include "host/own.h"

#include <stdlib.h>

#include "base/memory.h"
#include "base/upcalls.h"
#include "host/libc/environ.h"
#include "host/libc/folder.h"
#include "host/libc/getopt.h"
#include "host/libc/keys.h"
#include "host/libc/signals.h"
#include "host/stdio/input.h"
#include "host/stdio/output.h"

mlt_rank_own *mlt_own_of(mlt_rank *me)
{
    if (me->own)
        return me->own;
    mlt_rank_own *own = mlt_xcalloc(1, sizeof *own);
    own->line[0] = (mlt_line){.fd = -1, .buffered = true};
    own->line[1] = (mlt_line){.fd = -1};
    void *others = NULL; // a thread of the rank may need it, too, for the first time
    if (__atomic_compare_exchange_n(&me->own, &others, own, false, __ATOMIC_ACQ_REL,
                                    __ATOMIC_ACQUIRE))
        return own;
    free(own);
    return others;
}

bool mlt_own_end(mlt_rank *me)
{
    mlt_rank_own *own = me->own;
    if (!own)
        return true;
    if (mlt_upcalls.rank_ends)
        mlt_upcalls.rank_ends(me);
    bool whole = mlt_output_end(me);
    mlt_folder_free(own->folder);
    own->folder = NULL;
    mlt_signals_free(me);
    if (own->threads)
        return whole;
    mlt_libc_state_free(own->libc);
    mlt_getopt_free(own->options);
    mlt_environ_free(own->environ);
    mlt_input_free(own->input);
    mlt_keys_free(own->keys);
    free(own->tls);
    free(own->affinity);
    me->own = NULL;
    free(own);
    return whole;
}
