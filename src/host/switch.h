// SPDX-License-Identifier: BSD-3-Clause
// Work at a switch between two ranks of a worker: what is kept for the thread, but belongs to the
// rank. Each part is done only in workers where some rank needs it; where none is needed, a switch
// does not even look.
//
// (errno is not among them: the scheduler keeps it for every fiber.)
#pragma once

#include "fiber/fiber.h"
#include "p2p/p2p.h"

typedef enum mlt_switch_part {
    MLT_SWITCH_TLS,     // thread-local variables (globals.c)
    MLT_SWITCH_FOLDER,  // the current directory and the umask (folder.c)
    MLT_SWITCH_LOCALE,  // locale.c
    MLT_SWITCH_OPTIONS, // getopt's variables, where ranks share them (getopt.c)
    MLT_SWITCH_SIGNALS, // signals.c; the last, and also when a rank goes on without a switch
    MLT_SWITCH_PARTS,
} mlt_switch_part;

// From now on the calling worker does this part at each switch between ranks; again: nothing
// happens. NULL ranks: the worker's own stack. `swap` runs on the stack of the rank that stops.
void mlt_switch_want(mlt_sched *sched, mlt_switch_part part,
                     void (*swap)(const mlt_rank *from, const mlt_rank *to));
