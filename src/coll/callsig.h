// SPDX-License-Identifier: BSD-3-Clause
// Call signatures: what a rank says of a collective call, as far as all ranks must say the same.
//
// Every message of a call carries a code of 16 bits of its sender's call signature, in the field of its
// envelope that holds the datatype of other messages. The receiver compares it with the code of its
// own. Where they differ, the call signatures themselves are compared, and both are told: each worker writes
// a call signature on its host's board (boot/job.h) before it sends the first message with its code. For
// workers of other hosts it notes the call signature to them first, and they write it on theirs.
//
// The code is linear in the call signature's 16-bit words, each with an odd factor: two call signatures that differ
// in one word never have the same code.
//
// Not in a call signature is what each rank may say for itself: the lists of MPI_Gatherv, MPI_Alltoallv and
// neighbourhoods, which function of the user's is the operation (its address means nothing to
// another process), and whether the call blocks.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "p2p/worker.h"

struct mlt_team;
struct mlt_coll_what;

// Which of several calls an exchange is; 0 for all others.
#define MLT_COLL_FORM_LIST(X)                                                                      \
    X(NONE, "")                                                                                    \
    X(OWN, "a call of the library's own")                                                          \
    X(GATHERV, "MPI_Gatherv")                                                                      \
    X(SCATTERV, "MPI_Scatterv")                                                                    \
    X(ALLGATHER, "MPI_Allgather or MPI_Allgatherv")                                                \
    X(ALLTOALL, "MPI_Alltoall")                                                                    \
    X(ALLTOALLV, "MPI_Alltoallv or MPI_Alltoallw")                                                 \
    X(NEIGHBOR_ALLGATHER, "MPI_Neighbor_allgather or MPI_Neighbor_allgatherv")                     \
    X(NEIGHBOR_ALLTOALL, "MPI_Neighbor_alltoall, its v or its w")

#define MLT_COLL_FORM_ENUM(UPPER, name) MLT_FORM_##UPPER,
typedef enum mlt_coll_form { MLT_COLL_FORM_LIST(MLT_COLL_FORM_ENUM) MLT_FORMS } mlt_coll_form;

typedef struct mlt_coll_callsig { // no padding: compared as bytes, and its code is of 16-bit words
    uint64_t count;               // elements of a block
    uint32_t root, element;
    uint32_t blocks;    // a hash of blocks that differ; 0: they are alike
    uint32_t operation; // if op is MLT_OPS: the user's, or which of the library's; else 0
    uint16_t kind;      // ABI code of the basic type of all data; 0: there are several, or none
    uint8_t collective; // mlt_collective
    uint8_t form;       // mlt_coll_form
    uint8_t op, type;   // mlt_op, mlt_op_type of a reduction; else 0
    uint16_t unused;
} mlt_coll_callsig;
_Static_assert(sizeof(mlt_coll_callsig) == 32, "no padding");

typedef enum mlt_coll_callsigs {
    MLT_CLAIMS_AGREE,
    MLT_CLAIMS_KIND, // as many bytes, and the same call; but another basic type
    MLT_CLAIMS_DIFFER,
} mlt_coll_callsigs;

// What a rank of the team says of the call, about what it sends or about what it receives.
mlt_coll_callsig mlt_coll_callsig_of(const struct mlt_team *team, const struct mlt_coll_what *what,
                                     bool sent);

uint16_t mlt_coll_callsig_code(const mlt_coll_callsig *callsig);
mlt_coll_callsigs mlt_coll_callsigs_compare(const mlt_coll_callsig *a, const mlt_coll_callsig *b);

bool mlt_coll_callsig_has_root(const mlt_coll_callsig *callsig);

// Into text: "MPI_Reduce (sum of 4 Float64), root 2". `call` is its name; NULL: MPI's of the
// collective. `than` is what others say, so that nobody reads the same words twice.
void mlt_coll_callsig_words(const mlt_coll_callsig *callsig, const mlt_coll_callsig *than,
                            const char *call, char *text, size_t size);

// "rank 3 says MPI_Bcast (8 bytes), root 0, but rank 0 says MPI_Barrier"
void mlt_coll_callsigs_tell(const struct mlt_team *team, const char *who_a,
                            const mlt_coll_callsig *a, const char *who_b, const mlt_coll_callsig *b,
                            char *text, size_t size);

// The host's board. All write the same for a call signature, and two call signatures with one code overwrite each
// other; so a reader may find none: false.
void mlt_coll_callsig_publish(const mlt_worker *worker, const mlt_coll_callsig *callsig,
                              uint16_t code);
bool mlt_coll_callsig_find(const mlt_worker *worker, uint16_t code, mlt_coll_callsig *out);

// Tells a worker of another host. What came there as a note (mlt_upcalls.note): false if it is none of
// these.
void mlt_coll_callsig_send(mlt_worker *worker, uint32_t to, const mlt_coll_callsig *callsig,
                           uint16_t code);
bool mlt_coll_callsig_noted(const mlt_worker *worker, uint64_t what, uint64_t value);

// A note that two call signatures differ in their kinds; `own` is of a rank of the team, `other` of `who`.
void mlt_coll_callsig_note_kinds(const struct mlt_team *team, const mlt_coll_callsig *own,
                                 const mlt_coll_callsig *other, const char *who);
