// SPDX-License-Identifier: BSD-3-Clause
// A rank's own current directory and umask, where a process holds several.
//
// Linux keeps both for a thread, if it is asked to (unshare), otherwise for the process. So ranks of
// different workers are kept apart by the system, and those of one worker at the switch. Where the
// system refuses that (seccomp), all ranks of the process have one of each, and a note says so.
//
// Nothing happens in workers whose ranks change neither.
#pragma once

struct mlt_folder; // mlt_rank_own.folder

// The rank has ended, on its worker's thread.
void mlt_folder_free(struct mlt_folder *folder);
