// SPDX-License-Identifier: BSD-3-Clause
// Calls from lower layers to upper ones: all that there are. The layers include downwards only;
// what a lower one must nevertheless ask or tell is a line here, and src/lib/upcalls.c says for the
// whole library which function answers. A program without those layers (a tool, a unit test) has
// the table of upcalls.c, in which every line is NULL, or defines its own.
//
// The table is constant: whatever is called can be read off it before the program starts.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

struct csp_chan;
struct mlt_boot;
struct mlt_csp;
struct mlt_fiber;
struct mlt_ctl_wait;
struct mlt_packet;
struct mlt_rank;
struct mlt_req;
struct mlt_route;
struct mlt_type;
struct mlt_settings_table;
struct mlt_event;
struct mlt_wait;
struct mlt_worker;
struct mlt_worker_part;

// A process of csp, for messages: "worker[3]", or "process 17".
typedef struct mlt_process_label {
    const char *name; // NULL: it has none
    uint32_t number;  // of all processes of the worker so far, from 1
    int64_t index;    // among processes of that name; -1: it is the only one
} mlt_process_label;

// What came of a question about a published name.
typedef enum mlt_publish_status {
    MLT_PUBLISH_OK,
    MLT_PUBLISH_TAKEN,   // put: another has it; drop: it is another's
    MLT_PUBLISH_NONE,    // find, drop: nobody has published it
    MLT_PUBLISH_REFUSED, // `why` tells
    MLT_PUBLISH_FAILED,  // the same: the service cannot be reached
} mlt_publish_status;

// The longest name, and the bytes of a text and of `why`.
enum { MLT_PUBLISH_NAME = 255, MLT_PUBLISH_TEXT = 1024, MLT_PUBLISH_WHY = 512 };

typedef struct mlt_upcall_table {
    // ---- type: packing, unpacking and moving (type.h) of types for memory of a device.
    void (*device_pack)(const struct mlt_type *type, const void *buf, uint64_t from, void *to,
                        uint64_t bytes);
    void (*device_unpack)(const struct mlt_type *type, void *buf, uint64_t from, const void *packed,
                          uint64_t bytes);
    void (*device_move)(const struct mlt_type *to_type, void *to, const struct mlt_type *from_type,
                        const void *from, uint64_t at, uint64_t bytes);

    // ---- gpu: buffers may be memory of a device from now on.
    void (*gpu_begins)(void);
    // ---- gpu: the calling thread has had a device copy so many bytes, and waited for the end. since:
    // mlt_arch_cycles() when it began.
    void (*device_copied)(bool to_device, bool from_device, uint64_t bytes, uint64_t since);

    // ---- fiber: a function of the user's that must not suspend did. `call`: what it called, NULL
    // if unknown; `what`: the function. Says so and ends the job. NULL: the caller does.
    void (*refused)(const char *call, const char *what);

    // ---- fiber, p2p, coll: a worker that is watched (mlt_worker_watch) tells what it does. rank:
    // whose it is; NULL: the worker's. On the worker's thread, in the middle of a step: may note it,
    // nothing else.
    void (*event)(struct mlt_worker *worker, struct mlt_rank *rank, const struct mlt_event *event);

    // ---- fiber: the calling fiber of a watched worker is about to wait for something of csp, or
    // for a window. Fills in what an event has for these.
    void (*describe)(const struct mlt_wait *wait, struct mlt_event *event);

    // ---- p2p
    // mpirun has asked the worker to look at the segment: a change from outside may be there.
    void (*asked)(struct mlt_worker *worker);
    // The only worker of a job without launcher finds, once, that no rank can ever go on.
    void (*deadlock)(struct mlt_worker *worker);
    // A note or a packet came (p2p.h), on the worker's thread, inside a progress step or the
    // sender's own call. May send packets and wake fibers, must not suspend. `data` is gone
    // afterwards.
    void (*note)(struct mlt_worker *worker, uint32_t from, uint64_t what, uint64_t value);
    void (*packet)(struct mlt_worker *worker, uint32_t from, const struct mlt_packet *packet,
                   const void *data, uint64_t bytes);
    // Packets of that kind may come from other jobs (wire/world.h). NULL: none.
    bool (*packet_crosses)(uint16_t kind);
    // Processes of other hosts have ended, in order: whatever is sent to their workers from now on
    // is lost, and nothing more comes from them (mlt_p2p_has_ended). On the worker's thread, as
    // packet.
    void (*processes_ended)(struct mlt_worker *worker);
    // A message has another code (`sent_type`) than the receive's type; its data are not moved yet.
    // May set the status.
    void (*kind_differs)(struct mlt_req *recv);
    // For hang reports. The world rank of `peer`, a rank in the communicator of that context as
    // `rank` knows it. NULL: the same.
    int32_t (*world_rank)(const struct mlt_rank *rank, uint32_t context, int32_t peer);
    // The open operations that a MLT_REQ_OTHER request stands for: at most `most` of them in `out`.
    // Returns how many there are, 0 for other requests.
    uint32_t (*parts)(const struct mlt_req *req, struct mlt_worker_part *out, uint32_t most);
    // Fills in what a collective call waits for: that of a rank that is parked in one (req NULL),
    // or of a MLT_REQ_OTHER request, which may also be a partitioned message. Leaves others as they
    // are.
    void (*collective)(const struct mlt_wait *wait, const struct mlt_req *req,
                       struct mlt_ctl_wait *out);
    // Fills in what a rank waits for that is parked for a window.
    void (*window)(const struct mlt_wait *wait, struct mlt_ctl_wait *out);
    // What the processes (millet/csp.h) of the calling worker wait for: whole lines that begin with
    // two spaces, at most `size` bytes. Returns how many bytes; 0: there are no processes but the
    // ranks, and nothing to say that a wait record does not.
    size_t (*procs)(const struct mlt_worker *worker, char *text, size_t size);

    // ---- coll: the address in the program as it was loaded, of an address in a rank's own copy of
    // it; others stay as they are.
    uintptr_t (*original)(uintptr_t address);

    // ---- csp
    // The calling thread's rank, which joins the job if the process has not yet. NULL:
    // mlt_rank_self.
    struct mlt_rank *(*join)(void);
    // The state of a thread that lent its worker to another: takes it back. NULL: it did not. Asked
    // by mpi, too, where a rank that is not ready may call.
    struct mlt_csp *(*come_back)(void);
    // Ends the job with a message: "rank 3: csp_read: ...". NULL: the caller does.
    void (*end_job)(int32_t rank, const char *message);
    // Those that read or write a queue of flow from other workers, by name, in text; how many.
    uint32_t (*remote_users)(const struct csp_chan *chan, bool writers, char *text, size_t size);
    // For hang reports: what contributors of flow's reductions on the calling worker have sent, where that
    // differs or may. Whole lines that begin with two spaces, at most `size` bytes; how many bytes.
    size_t (*sent)(char *text, size_t size);
    // The rank reads the standard input of its process from now on, whichever rank there has it.
    void (*own_input)(struct mlt_rank *rank);
    // A packet of flow came (MLT_PACKET_UPPER).
    void (*flow_packet)(struct mlt_route *route, const struct mlt_packet *packet, const void *data,
                        uint64_t bytes);

    // ---- host, mpi
    // Which process of csp the fiber of the calling worker is; false: a rank itself. May run in a
    // signal's handler.
    bool (*process)(const struct mlt_fiber *fiber, mlt_process_label *out);

    // ---- mpi: texts with a name, for MPI_Publish_name and the like, from the calling rank. They
    // wait. `call` is the function, for messages. put: what it published goes when its worker ends.
    // NULL: this library has no name service.
    mlt_publish_status (*publish)(struct mlt_rank *rank, const char *call, const char *name,
                                  const char *text, char why[MLT_PUBLISH_WHY]);
    mlt_publish_status (*look_up)(struct mlt_rank *rank, const char *call, const char *name,
                                  char text[MLT_PUBLISH_TEXT], char why[MLT_PUBLISH_WHY]);
    mlt_publish_status (*unpublish)(struct mlt_rank *rank, const char *call, const char *name,
                                    char why[MLT_PUBLISH_WHY]);

    // ---- host
    // The settings of all layers; returns how many tables. And what a table cannot say of values
    // that were read: a message if one is wrong.
    size_t (*settings)(struct mlt_settings_table *tables, size_t most);
    mlt_status (*settings_check)(char *why, size_t why_size);
    // The process has joined its job; no worker is there yet.
    void (*joined)(const struct mlt_boot *boot);
    // A worker begins, on its thread, and ends.
    void (*worker_begins)(struct mlt_worker *worker);
    void (*worker_ends)(struct mlt_worker *worker);
    // Instead of that: the program ends on a stack of the worker's, so nothing may be given back.
    void (*worker_leaves)(struct mlt_worker *worker);
    // Or: its ranks have ended, but threads that they (or a driver) have started live and may look at them, so
    // nothing is given back. What it has to tell, it tells now. On its thread.
    void (*worker_stays)(struct mlt_worker *worker);
    // A rank ends that has something of its own (host/own.h).
    void (*rank_ends)(struct mlt_rank *rank);
    // In a child that has just been forked.
    void (*forked)(void);
} mlt_upcall_table;

extern const mlt_upcall_table mlt_upcalls __attribute__((visibility("hidden")));
