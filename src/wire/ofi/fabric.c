// SPDX-License-Identifier: BSD-3-Clause
// The endpoint. One completion queue for everything; a few large buffers that take many packets each
// (FI_MULTI_RECV); packets to be sent in one slab, which is registered if the provider wants that.
#include "wire/ofi/fabric.h"

#include <stdlib.h>
#include <string.h>

#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>

#include "base/log.h"
#include "base/memory.h"
#include "os/fd.h"
#include "wire/ofi/load.h"

// Packets are laid into the buffers in turn: all of them together should stay in a cache.
enum {
    PACKETS = 128,          // on their way at most
    ROOMS = 4,              // buffers that receive
    ROOM_BYTES = 128 << 10, // ... of so many bytes
    READS = 64,             // under way at most
    BATCH = 16,             // completions taken at once
};

typedef enum op_kind { OP_SEND, OP_RECEIVE, OP_READ } op_kind;

// Its first bytes are the provider's while the operation is under way.
typedef struct op {
    struct fi_context2 context;
    op_kind kind;
    uint32_t index;
    void *owner;
    struct fid_mr *mr; // READ: of the memory that is read into; NULL: none
    struct op *next;   // free ones
} op;

typedef struct room {
    op op;
    unsigned char *memory;
    uint32_t packets; // in it, not released
    bool full;        // the provider is done with it
} room;

struct mlt_fabric {
    mlt_fabric_facts facts;
    const mlt_ofi *ofi;
    struct fi_info *info;
    struct fid_fabric *fabric;
    struct fid_domain *domain;
    struct fid_av *av;
    struct fid_cq *cq;
    struct fid_ep *ep;
    struct fid_mr *slab_mr;
    uint64_t inject;
    unsigned char *slab, *rooms_memory;
    struct fid_mr *rooms_mr;
    room rooms[ROOMS];
    op sends[PACKETS], read_ops[READS];
    op *free_reads;
    uint32_t free_packets[PACKETS], free_count;
};

static bool wants(const mlt_fabric *f, int mode)
{
    return (f->info->domain_attr->mr_mode & mode) != 0;
}

// ---- Registering

// Under a key that nobody can guess, if the provider lets others choose it.
static struct fid_mr *registered(mlt_fabric *f, const void *memory, size_t bytes, uint64_t access)
{
    struct fid_mr *mr;
    uint64_t key;
    size_t key_bytes = f->info->domain_attr->mr_key_size;
    if (mlt_os_random(&key, sizeof key) != MLT_OK)
        return NULL;
    if (key_bytes < sizeof key)
        key &= (UINT64_C(1) << 8 * key_bytes) - 1;
    if (fi_mr_reg(f->domain, memory, bytes, access, 0, key, 0, &mr, NULL))
        return NULL;
    if (wants(f, FI_MR_ENDPOINT) && (fi_mr_bind(mr, &f->ep->fid, 0) || fi_mr_enable(mr))) {
        fi_close(&mr->fid);
        return NULL;
    }
    return mr;
}

static void unregister(struct fid_mr *mr)
{
    if (mr)
        (void)fi_close(&mr->fid);
}

// What is the fabric's own. False: the provider wants it registered, and refuses.
static bool register_own(mlt_fabric *f, const void *memory, size_t bytes, uint64_t access,
                         struct fid_mr **mr)
{
    if (!wants(f, FI_MR_LOCAL))
        return true;
    *mr = registered(f, memory, bytes, access);
    return *mr != NULL;
}

// ---- Opening

// False: it has not, and facts.why says so.
static bool done(mlt_fabric *f, int error, const char *what)
{
    if (error)
        snprintf(f->facts.why, sizeof f->facts.why, "%s: %s fails: %s", f->facts.name, what,
                 f->ofi->strerror(-error));
    return error == 0;
}

static mlt_status cannot_register(mlt_fabric *f)
{
    return mlt_fail(MLT_ERR_SYSTEM, f->facts.why, sizeof f->facts.why,
                    "%s: memory cannot be registered; `ulimit -l` may set a limit", f->facts.name);
}

static int open_queue(mlt_fabric *f)
{
    struct fi_cq_attr attr = {
        .size = PACKETS + READS + ROOMS * 256, .format = FI_CQ_FORMAT_DATA, .wait_obj = FI_WAIT_FD};
    const char *name = f->facts.name;
    // By their descriptors nobody sleeps: fi_trywait refuses, though there is nothing to poll for.
    bool restless = strcmp(name, "net") == 0 || strcmp(name, "sockets") == 0;
    f->facts.fd = -1;
    if (!restless && fi_cq_open(f->domain, &attr, &f->cq, NULL) == 0) {
        if (fi_control(&f->cq->fid, FI_GETWAIT, &f->facts.fd) == 0)
            return 0;
        fi_close(&f->cq->fid);
        f->cq = NULL;
        f->facts.fd = -1;
    }
    attr.wait_obj = FI_WAIT_NONE;
    return fi_cq_open(f->domain, &attr, &f->cq, NULL);
}

// A buffer with less room than a packet takes no more. Most providers want to know before they are
// enabled; shm 1.17 crashes then.
static int set_least(mlt_fabric *f)
{
    size_t least = MLT_FABRIC_PACKET_MOST;
    return fi_setopt(&f->ep->fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV, &least, sizeof least);
}

static bool open_endpoint(mlt_fabric *f)
{
    struct fi_av_attr av = {.type = FI_AV_TABLE};
    size_t bytes = sizeof f->facts.address;
    bool late = strcmp(f->facts.name, "shm") == 0;
    if (!done(f, f->ofi->fabric(f->info->fabric_attr, &f->fabric, NULL), "fi_fabric") ||
        !done(f, fi_domain(f->fabric, f->info, &f->domain, NULL), "fi_domain") ||
        !done(f, fi_av_open(f->domain, &av, &f->av, NULL), "fi_av_open") ||
        !done(f, open_queue(f), "fi_cq_open") ||
        !done(f, fi_endpoint(f->domain, f->info, &f->ep, NULL), "fi_endpoint") ||
        !done(f, fi_ep_bind(f->ep, &f->av->fid, 0), "fi_ep_bind") ||
        !done(f, fi_ep_bind(f->ep, &f->cq->fid, FI_TRANSMIT | FI_RECV), "fi_ep_bind") ||
        !(late || done(f, set_least(f), "fi_setopt")) || !done(f, fi_enable(f->ep), "fi_enable") ||
        !(!late || done(f, set_least(f), "fi_setopt")) ||
        !done(f, fi_getname(&f->ep->fid, f->facts.address, &bytes), "fi_getname"))
        return false;
    f->facts.address_bytes = (uint32_t)bytes;
    return true;
}

static int post_room(mlt_fabric *f, room *r)
{
    struct iovec piece = {.iov_base = r->memory, .iov_len = ROOM_BYTES};
    void *descriptor = f->rooms_mr ? fi_mr_desc(f->rooms_mr) : NULL;
    struct fi_msg msg = {.msg_iov = &piece,
                         .desc = &descriptor,
                         .iov_count = 1,
                         .addr = FI_ADDR_UNSPEC,
                         .context = &r->op};
    r->full = false;
    return (int)fi_recvmsg(f->ep, &msg, FI_MULTI_RECV);
}

static bool open_rooms(mlt_fabric *f)
{
    f->slab = aligned_alloc(4096, (size_t)PACKETS * MLT_FABRIC_PACKET_MOST);
    f->rooms_memory = aligned_alloc(4096, (size_t)ROOMS * ROOM_BYTES);
    if (!f->slab || !f->rooms_memory)
        return mlt_deny(f->facts.why, sizeof f->facts.why, MLT_NO_ROOM "packets");
    if (!register_own(f, f->slab, (size_t)PACKETS * MLT_FABRIC_PACKET_MOST, FI_SEND, &f->slab_mr) ||
        !register_own(f, f->rooms_memory, (size_t)ROOMS * ROOM_BYTES, FI_RECV, &f->rooms_mr))
        return cannot_register(f) == MLT_OK;
    // Now, and not packet by packet: a process that grows for a long time looks as if it leaked.
    memset(f->rooms_memory, 0, (size_t)ROOMS * ROOM_BYTES);
    for (uint32_t i = 0; i < ROOMS; i++) {
        f->rooms[i].op = (op){.kind = OP_RECEIVE, .index = i};
        f->rooms[i].memory = f->rooms_memory + (size_t)i * ROOM_BYTES;
        if (!done(f, post_room(f, &f->rooms[i]), "fi_recvmsg"))
            return false;
    }
    for (uint32_t i = 0; i < PACKETS; i++) {
        f->sends[i] = (op){.kind = OP_SEND, .index = i};
        f->free_packets[f->free_count++] = i;
    }
    for (uint32_t i = 0; i < READS; i++) {
        f->read_ops[i] = (op){.kind = OP_READ, .index = i, .next = f->free_reads};
        f->free_reads = &f->read_ops[i];
    }
    return true;
}

mlt_fabric *mlt_fabric_open(const mlt_fabric_choice *choice, char *why, size_t why_size)
{
    if (!choice->demanded && !mlt_ofi_has_devices()) {
        *why = '\0';
        return NULL;
    }
    const mlt_ofi *ofi = mlt_ofi_load(why, why_size);
    uint32_t packet_bytes = 0;
    struct fi_info *list = ofi ? mlt_ofi_offers(ofi, choice, &packet_bytes, why, why_size) : NULL;
    if (!list)
        return NULL;
    const struct fi_info *best = mlt_ofi_best(list, choice, why, why_size);
    mlt_fabric *f = best ? mlt_xcalloc(1, sizeof *f) : NULL;
    if (f) {
        f->ofi = ofi;
        f->info = ofi->dupinfo(best);
        f->facts = (mlt_fabric_facts){.name = f->info->fabric_attr->prov_name,
                                      .reads = (f->info->caps & FI_RMA) != 0,
                                      .fd = -1,
                                      .packet_bytes = packet_bytes};
    }
    ofi->freeinfo(list);
    if (!f)
        return NULL;
    f->inject = f->info->tx_attr->inject_size;
    if (!open_endpoint(f) || !open_rooms(f)) {
        snprintf(why, why_size, "%s", f->facts.why);
        mlt_fabric_close(f);
        return NULL;
    }
    return f;
}

void mlt_fabric_close(mlt_fabric *f)
{
    if (!f)
        return;
    // The endpoint first: what is under way ends with it.
    if (f->ep)
        (void)fi_close(&f->ep->fid);
    for (uint32_t i = 0; i < READS; i++)
        unregister(f->read_ops[i].mr);
    unregister(f->slab_mr);
    unregister(f->rooms_mr);
    if (f->cq)
        (void)fi_close(&f->cq->fid);
    if (f->av)
        (void)fi_close(&f->av->fid);
    if (f->domain)
        (void)fi_close(&f->domain->fid);
    if (f->fabric)
        (void)fi_close(&f->fabric->fid);
    f->ofi->freeinfo(f->info);
    free(f->slab);
    free(f->rooms_memory);
    free(f);
}

const mlt_fabric_facts *mlt_fabric_about(const mlt_fabric *f)
{
    return &f->facts;
}

mlt_status mlt_fabric_meet(mlt_fabric *f, const unsigned char *address, uint64_t *number)
{
    fi_addr_t to = 0;
    int n = fi_av_insert(f->av, address, 1, &to, 0, NULL);
    *number = to;
    return n == 1 || done(f, n < 0 ? n : -FI_EINVAL, "fi_av_insert") ? MLT_OK : MLT_ERR_SYSTEM;
}

// ---- Sending

unsigned char *mlt_fabric_packet(mlt_fabric *f)
{
    return f->free_count
               ? f->slab + (size_t)f->free_packets[--f->free_count] * MLT_FABRIC_PACKET_MOST
               : NULL;
}

void mlt_fabric_give_back(mlt_fabric *f, unsigned char *packet)
{
    f->free_packets[f->free_count++] =
        (uint32_t)((size_t)(packet - f->slab) / MLT_FABRIC_PACKET_MOST);
}

static mlt_status verdict(mlt_fabric *f, ssize_t result, const char *what)
{
    if (result == -FI_EAGAIN)
        return MLT_PENDING;
    return MLT_LIKELY(result == 0) || done(f, (int)result, what) ? MLT_OK : MLT_ERR_SYSTEM;
}

mlt_status mlt_fabric_send(mlt_fabric *f, uint64_t to, unsigned char *packet, uint32_t bytes,
                           void *owner)
{
    mlt_assert(bytes <= f->facts.packet_bytes);
    if (bytes <= f->inject) {
        mlt_status status = verdict(f, fi_inject(f->ep, packet, bytes, to), "fi_inject");
        if (status == MLT_OK)
            mlt_fabric_give_back(f, packet);
        return status;
    }
    op *o = &f->sends[(size_t)(packet - f->slab) / MLT_FABRIC_PACKET_MOST];
    o->owner = owner;
    return verdict(f,
                   fi_send(f->ep, packet, bytes, f->slab_mr ? fi_mr_desc(f->slab_mr) : NULL, to, o),
                   "fi_send");
}

// ---- Reading memory

mlt_status mlt_fabric_expose(mlt_fabric *f, const void *memory, uint64_t bytes,
                             mlt_fabric_window *window)
{
    struct fid_mr *mr = registered(f, memory, bytes, FI_REMOTE_READ);
    if (!mr)
        return MLT_ERR_SYSTEM;
    *window = (mlt_fabric_window){.address = wants(f, FI_MR_VIRT_ADDR) ? (uintptr_t)memory : 0,
                                  .key = fi_mr_key(mr),
                                  .handle = mr};
    return MLT_OK;
}

void mlt_fabric_conceal(mlt_fabric *f, mlt_fabric_window *window)
{
    (void)f;
    unregister(window->handle);
    window->handle = NULL;
}

mlt_status mlt_fabric_read(mlt_fabric *f, uint64_t from, uint64_t address, uint64_t key,
                           void *memory, uint64_t bytes, void *owner)
{
    op *o = f->free_reads;
    if (!o)
        return MLT_PENDING;
    if (!register_own(f, memory, bytes, FI_READ, &o->mr))
        return cannot_register(f);
    o->owner = owner;
    mlt_status status = verdict(
        f, fi_read(f->ep, memory, bytes, o->mr ? fi_mr_desc(o->mr) : NULL, from, address, key, o),
        "fi_read");
    if (status == MLT_OK) {
        f->free_reads = o->next;
    } else {
        unregister(o->mr);
        o->mr = NULL;
    }
    return status;
}

static void end_read(mlt_fabric *f, op *o)
{
    unregister(o->mr);
    o->mr = NULL;
    o->next = f->free_reads;
    f->free_reads = o;
}

// ---- What happened

static void refill(mlt_fabric *f, room *r)
{
    if (!r->full || r->packets)
        return;
    int error = post_room(f, r);
    if (error)
        mlt_fatal("%s: fi_recvmsg fails: %s", f->facts.name, f->ofi->strerror(-error));
}

// False: there is nothing to tell.
static bool tell(mlt_fabric *f, const struct fi_cq_data_entry *entry, mlt_fabric_event *event)
{
    op *o = entry->op_context;
    if (!o)
        return false;
    if (o->kind == OP_SEND) {
        f->free_packets[f->free_count++] = o->index;
        return false;
    }
    if (o->kind == OP_READ) {
        *event = (mlt_fabric_event){.kind = MLT_FABRIC_READ, .owner = o->owner};
        end_read(f, o);
        return true;
    }
    room *r = &f->rooms[o->index];
    r->full |= (entry->flags & FI_MULTI_RECV) != 0;
    if (!(entry->flags & FI_RECV)) {
        refill(f, r);
        return false;
    }
    r->packets++;
    *event = (mlt_fabric_event){.kind = MLT_FABRIC_CAME,
                                .packet = entry->buf,
                                .bytes = (uint32_t)entry->len,
                                .room = o->index};
    return true;
}

static MLT_COLD bool tell_error(mlt_fabric *f, mlt_fabric_event *event)
{
    struct fi_cq_err_entry entry = {0};
    if (fi_cq_readerr(f->cq, &entry, 0) != 1 || !entry.op_context)
        return false;
    op *o = entry.op_context;
    *event = (mlt_fabric_event){.kind = MLT_FABRIC_FAILED, .owner = o->owner, .error = entry.err};
    if (o->kind == OP_SEND) {
        f->free_packets[f->free_count++] = o->index;
    } else if (o->kind == OP_READ) {
        event->kind = MLT_FABRIC_READ_FAILED;
        end_read(f, o);
    } else {
        f->rooms[o->index].full = true;
        if (entry.err != FI_ECANCELED)
            refill(f, &f->rooms[o->index]);
        return false;
    }
    return true;
}

uint32_t mlt_fabric_poll(mlt_fabric *f, mlt_fabric_event *events, uint32_t most)
{
    struct fi_cq_data_entry entries[BATCH];
    ssize_t n = fi_cq_read(f->cq, entries, most < BATCH ? most : BATCH);
    uint32_t count = 0;
    for (ssize_t i = 0; i < n; i++)
        count += tell(f, &entries[i], &events[count]);
    if (MLT_UNLIKELY(n == -FI_EAVAIL) && most)
        count += tell_error(f, &events[0]);
    return count;
}

void mlt_fabric_release(mlt_fabric *f, const mlt_fabric_event *event)
{
    room *r = &f->rooms[event->room];
    r->packets--;
    refill(f, r);
}

const char *mlt_fabric_error(const mlt_fabric *f, int error)
{
    return f->ofi->strerror(error);
}

bool mlt_fabric_may_sleep(mlt_fabric *f)
{
    struct fid *fids[] = {&f->cq->fid};
    return f->facts.fd < 0 || fi_trywait(f->fabric, fids, 1) == 0;
}
