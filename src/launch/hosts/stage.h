// SPDX-License-Identifier: BSD-3-Clause
// --stage: copies programs, their own libraries and files that the user names to hosts that do not
// see mpirun's files, through the agents' channels. Each host keeps them in a private folder, which
// is removed when its agent ends.
//
// For all hosts the same STAGE frames come, whose value says what they are:
//
//     FILE   the next file: mlt_stage_file and its name, without a slash
//     DATA   the next bytes of its data
//     END    there are no more files; body: uint64_t, the hash of all names and data
//
// A host tells how much it has kept (STAGED), and mpirun is never further ahead of the slowest than
// MLT_STAGE_AHEAD: so the memory of all agents between is bounded.
//
// Programs and libraries of one app lie in one folder; the other files in another, where the ranks of
// other hosts start, unless -wdir names one. Programs of the system's folders (/usr/bin) and libraries of
// its own (/usr/lib) stay where they are: a host has its own.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "launch/hosts/agents.h"
#include "launch/plan/options.h"
#include "launch/plan/plan.h"

enum {
    MLT_STAGE_PIECE = 256 << 10,
    MLT_STAGE_AHEAD = 2 << 20,
    MLT_STAGE_FOLDER = 256, // bytes of a folder's name
};
#define MLT_STAGE_ALL UINT32_MAX

enum { MLT_STAGE_FILE, MLT_STAGE_DATA, MLT_STAGE_END }; // value of a STAGE frame

enum { MLT_STAGE_PROGRAM, MLT_STAGE_LIBRARY, MLT_STAGE_OTHER }; // kinds of files

typedef struct mlt_stage_file {
    uint32_t app, kind; // app: or MLT_STAGE_ALL
    uint32_t mode;      // of which the lower nine bits count
    uint32_t unused;
    uint64_t size;
} mlt_stage_file;
_Static_assert(sizeof(mlt_stage_file) == 24, "sent as it is");

// ---- mpirun

typedef struct mlt_stage_out mlt_stage_out;

typedef struct mlt_stage_out_conf {
    const mlt_options *options;
    const mlt_placement *plan;
    const char *const *paths; // [apps]: the programs
    uint32_t head_host;       // which needs nothing; MLT_FRAME_HEAD: there is none
    mlt_agents *agents;       // of all other hosts
} mlt_stage_out_conf;

// Opens the files and sends the first pieces. Ends mpirun if a file cannot be read.
mlt_stage_out *mlt_stage_out_new(const mlt_stage_out_conf *conf);
void mlt_stage_out_free(mlt_stage_out *out); // NULL is fine

// A host has kept so many bytes of all frames. Ends mpirun if a file cannot be read any more.
void mlt_stage_out_kept(mlt_stage_out *out, uint32_t host, int64_t bytes);

// "12.5 of 80 MiB are copied", or "" when all is.
const char *mlt_stage_out_progress(mlt_stage_out *out);

// ---- An agent

typedef struct mlt_stage_in mlt_stage_in;

// A new private folder below TMPDIR or /tmp; folders that killed agents of this user have left
// there are removed. False: a message in why. It stays locked, as a sign that it is used, until
// this process ends.
bool mlt_stage_folder_new(char folder[MLT_STAGE_FOLDER], char *why, size_t why_size) MLT_MUST_CHECK;

// Removes it with all that is in it. Does nothing if the name is "".
void mlt_stage_folder_remove(const char *folder);

// Keeps files in that folder, of a job with so many apps.
mlt_stage_in *mlt_stage_in_new(const char *folder, size_t apps);
void mlt_stage_in_free(mlt_stage_in *in); // the files stay; NULL is fine

// The next frame. MLT_PENDING: more are to come. MLT_OK: all files are there, and right. Others: a
// message in why.
mlt_status mlt_stage_in_take(mlt_stage_in *in, int64_t what, const char *body, size_t length,
                             char *why, size_t why_size) MLT_MUST_CHECK;

// Bytes of all frames so far.
uint64_t mlt_stage_in_bytes(const mlt_stage_in *in);

// The folder with the other files, which may be none.
const char *mlt_stage_in_files(mlt_stage_in *in);

// The folder with an app's libraries; NULL: it has none. The path of its program; NULL: it was not
// copied, and this host has its own.
const char *mlt_stage_in_folder(const mlt_stage_in *in, uint32_t app);
const char *mlt_stage_in_program(const mlt_stage_in *in, uint32_t app);
