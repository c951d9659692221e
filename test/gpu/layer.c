// SPDX-License-Identifier: BSD-3-Clause
// A layer between programs and MPI under which their buffers are device memory: a shared library that is
// put before MPI's (LD_PRELOAD) and defines each function that has a buffer. It copies the program's
// buffer to a device, calls PMPI_X with that address, and copies back what has changed when the buffer is
// the program's again. gen_layer.py writes most functions; layer_calls.c has those that complete
// something. It comes before the library as any tool does, so calls of PMPI_X pass it by.
//
// Copied is all that lies between the first and the last byte of a buffer, gaps included, and a byte that
// is as it was is not copied back: another thread may have changed it in the program's memory. So a gap that
// the library writes to is seen by the program.
//
// LAYER_MEMORY   what buffers become: device (as it is), managed, pinned, host (other memory of the
//                host, for which the library needs nothing: this proves the layer), mixed (each of
//                them by chance, and some stay)
// LAYER_SEED     of that chance (1)
// LAYER_COUNT    a file that gets a line at the end of each process: how many buffers were of a
//                device, and how many were copied elsewhere or stayed
//
// What it does not change:
//   - buffers of no bytes, NULL (MPI_BOTTOM), MPI_IN_PLACE, memory that cannot be read, spans above 64 MiB
//     (the most part of which are gaps), handles of types and communicators that the layer has not seen
//     made: with a wrong handle the call is an error anyhow;
//   - memory of windows (MPI_Win_create, MPI_Win_attach): the program reads and writes it between calls, and
//     nothing says when;
//   - memory for buffered sends (MPI_Buffer_attach and the like): it is the library's, not a message's;
//   - what a user's reduction function gets: the library calls it, with host memory;
//   - GOAL_X, MPIX_X, csp_X, flow_X: not MPI's.
//
// Ranks may be threads or fibers, and their threads call at the same time: tables have locks, which nobody
// holds while MPI runs. The layer is meant to be one for all ranks of a process
// (MILLET_SHARED_LIBRARIES), and works if each has its own.
#define _GNU_SOURCE
#include "layer.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "layer_memory.h"

enum { BUFFERS = 3, ROW_BITS = 12, ROWS = 1 << ROW_BITS, FIRST_ADDRESS = 4096, PAGE = 4096 };

typedef struct buffer { // as the program gave it
    const char *at;
    char *from; // its first byte; NULL: it is left alone
    size_t bytes;
    bool writes;
    int piece;
} buffer;

// Buffers of a call that overlap become one piece, so that the library can notice.
typedef struct piece {
    char *host;
    size_t bytes;
    block *block;
    char *given; // the bytes that the device had when the program's and its were last the same
    bool writes;
} piece;

struct call {
    call *next; // of its table's row, or of the orphans
    const char *function;
    uintptr_t handle; // of the request, window or file that it belongs to
    int buffers, pieces;
    buffer buffer[BUFFERS];
    piece piece[BUFFERS];
    bool kept, active; // persistent; between its start and its end
    bool has_twin;     // another request has its handle
    int target;        // of a window's operation
    uint64_t turn;     // of it: when it began
    int partitions;    // 0: it is not partitioned
    MPI_Count count;
    MPI_Datatype type;
};

typedef struct table {
    pthread_mutex_t lock;
    call *row[ROWS];
    _Atomic long count;
} table;

static table requests = {.lock = PTHREAD_MUTEX_INITIALIZER};
static table windows = {.lock = PTHREAD_MUTEX_INITIALIZER};
static table files = {.lock = PTHREAD_MUTEX_INITIALIZER};
static _Atomic uint64_t turns; // of operations of windows

// ---- copies

// False: not all of it can be read.
static bool copy_from_program(void *to, const void *from, size_t bytes)
{
    struct iovec mine = {to, bytes}, its = {(void *)(uintptr_t)from, bytes};
    ssize_t got = process_vm_readv(getpid(), &mine, 1, &its, 1, 0);
    if (got < 0 && (errno == ENOSYS || errno == EPERM)) {
        memcpy(to, from, bytes);
        return true;
    }
    return got == (ssize_t)bytes;
}

// Bytes that changed since they were given, from `now` to the program.
static void give_changed(const piece *p, size_t at, const char *now, size_t bytes)
{
    char *given = p->given + at, *host = p->host + at;
    for (size_t i = 0; i < bytes;) {
        size_t end = i;
        while (end < bytes && now[end] != given[end])
            end++;
        memcpy(host + i, now + i, end - i);
        memcpy(given + i, now + i, end - i);
        for (i = end; i < bytes && now[i] == given[i];)
            i++;
    }
}

static void piece_back(const call *c, const piece *p)
{
    char page[PAGE];
    const char *seen = memory_seen(p->block);
    if (!seen && !p->writes)
        return;
    for (size_t at = 0; at < p->bytes; at += PAGE) {
        size_t bytes = p->bytes - at < PAGE ? p->bytes - at : PAGE;
        const char *now = seen ? seen + at : page;
        if (!seen)
            memory_read(p->block, at, page, bytes);
        if (memcmp(now, p->given + at, bytes) == 0)
            continue;
        if (!p->writes)
            layer_fault(c->function, "the library wrote to a buffer that it may only read");
        give_changed(p, at, now, bytes);
    }
}

static void copy_back(const call *c)
{
    for (int i = 0; i < c->pieces; i++)
        piece_back(c, &c->piece[i]);
}

static void dispose(call *c)
{
    for (int i = 0; i < c->pieces; i++) {
        memory_free(c->piece[i].block);
        free(c->piece[i].given);
    }
    free(c);
}

// ---- receives that the program has freed: only their buffers say that something has come

static struct {
    pthread_mutex_t lock;
    call *first;
    _Atomic long count;
} orphans = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void orphans_back(void)
{
    if (!atomic_load(&orphans.count))
        return;
    pthread_mutex_lock(&orphans.lock);
    for (const call *c = orphans.first; c; c = c->next)
        copy_back(c);
    pthread_mutex_unlock(&orphans.lock);
}

static bool writes(const call *c)
{
    bool any = false;
    for (int i = 0; i < c->pieces; i++)
        any |= c->piece[i].writes;
    return any;
}

// Nobody says when a send is complete, so its memory stays taken.
static void orphan(call *c)
{
    if (!writes(c))
        return;
    pthread_mutex_lock(&orphans.lock);
    c->next = orphans.first;
    orphans.first = c;
    atomic_fetch_add(&orphans.count, 1);
    pthread_mutex_unlock(&orphans.lock);
}

void layer_look_around(void)
{
    orphans_back();
}

static void finish(call *c)
{
    copy_back(c);
    orphans_back();
    dispose(c);
}

// ---- the beginning of a call

call *layer_begin(const char *function)
{
    call *c = calloc(1, sizeof *c);
    c->function = function;
    return c;
}

void layer_add(call *c, const void *buf, span s, use use)
{
    bool some = s.bytes && (uintptr_t)buf >= FIRST_ADDRESS;
    buffer *b = &c->buffer[c->buffers++];
    *b = (buffer){.at = buf, .bytes = s.bytes, .writes = use == WRITES, .piece = -1};
    if (some)
        b->from = (char *)((uintptr_t)buf + (uintptr_t)s.from);
}

void layer_parts(call *c, int partitions, MPI_Count count, MPI_Datatype type)
{
    c->partitions = partitions;
    c->count = count;
    c->type = type;
}

static bool overlap(const piece *p, const char *from, size_t bytes)
{
    return from < p->host + p->bytes && p->host < from + bytes;
}

static void take_in(piece *p, char *from, size_t bytes)
{
    char *end = from + bytes > p->host + p->bytes ? from + bytes : p->host + p->bytes;
    p->host = from < p->host ? from : p->host;
    p->bytes = (size_t)(end - p->host);
}

// A piece for the buffer; all that overlaps it becomes that piece.
static void gather(call *c, buffer *b)
{
    piece mine = {.host = b->from, .bytes = b->bytes, .writes = b->writes};
    for (int i = 0; i < c->pieces;) {
        if (!overlap(&c->piece[i], mine.host, mine.bytes)) {
            i++;
            continue;
        }
        take_in(&mine, c->piece[i].host, c->piece[i].bytes);
        mine.writes |= c->piece[i].writes;
        c->piece[i] = c->piece[--c->pieces];
        i = 0; // it has become larger
    }
    c->piece[c->pieces++] = mine;
}

static bool fill(const piece *p)
{
    if (!copy_from_program(p->given, p->host, p->bytes))
        return false;
    memory_write(p->block, 0, p->given, p->bytes);
    return true;
}

// False: the program's memory stays.
static bool piece_new(const call *c, piece *p)
{
    p->given = malloc(p->bytes);
    p->block = NULL;
    if (p->given && copy_from_program(p->given, p->host, p->bytes))
        p->block = memory_new(p->host, p->bytes, c->function);
    if (p->block)
        memory_write(p->block, 0, p->given, p->bytes);
    else
        free(p->given);
    return p->block != NULL;
}

void layer_place(call *c)
{
    int kept = 0;
    for (int i = 0; i < c->buffers; i++)
        if (c->buffer[i].from)
            gather(c, &c->buffer[i]);
    for (int i = 0; i < c->pieces; i++)
        if (piece_new(c, &c->piece[i]))
            c->piece[kept++] = c->piece[i];
    c->pieces = kept;
    for (int i = 0; i < c->buffers; i++)
        for (int p = 0; p < kept; p++)
            if (c->buffer[i].from && overlap(&c->piece[p], c->buffer[i].from, c->buffer[i].bytes))
                c->buffer[i].piece = p;
}

void *layer_at(const call *c, int i)
{
    const buffer *b = &c->buffer[i];
    uintptr_t at = (uintptr_t)b->at;
    if (b->piece >= 0) {
        const piece *p = &c->piece[b->piece];
        at += (uintptr_t)memory_at(p->block) - (uintptr_t)p->host;
    }
    return (void *)at;
}

// ---- tables

static call **row_of(table *t, uintptr_t handle)
{
    return &t->row[layer_row(handle, ROW_BITS)];
}

// With the lock.
static void table_insert(table *t, call *c)
{
    call **at = row_of(t, c->handle);
    c->next = *at;
    *at = c;
    atomic_fetch_add(&t->count, 1);
}

static void table_remove(table *t, call *c)
{
    call **at = row_of(t, c->handle);
    while (*at != c)
        at = &(*at)->next;
    *at = c->next;
    c->next = NULL;
    atomic_fetch_sub(&t->count, 1);
}

static call *table_find(table *t, uintptr_t handle)
{
    call *c = *row_of(t, handle);
    while (c && c->handle != handle)
        c = c->next;
    return c;
}

static call *table_take(table *t, uintptr_t handle)
{
    if (!atomic_load(&t->count))
        return NULL;
    pthread_mutex_lock(&t->lock);
    call *c = table_find(t, handle);
    if (c && !c->kept)
        table_remove(t, c);
    pthread_mutex_unlock(&t->lock);
    return c;
}

// ---- the end of a call

int layer_end(call *c, int code)
{
    finish(c);
    return code;
}

static void layer_put(table *t, call *c)
{
    pthread_mutex_lock(&t->lock);
    table_insert(t, c);
    pthread_mutex_unlock(&t->lock);
}

// The library has handles that are of several requests at a time: of those that were complete at once.
// Which of them a later call means, nobody can know, so all are copied back now.
static void put_request(call *c)
{
    pthread_mutex_lock(&requests.lock);
    call *twin = table_find(&requests, c->handle);
    if (twin && !twin->has_twin)
        copy_back(twin);
    if (twin) {
        copy_back(c);
        c->has_twin = twin->has_twin = true;
    }
    table_insert(&requests, c);
    pthread_mutex_unlock(&requests.lock);
}

static bool has_request(const call *c, int code, const MPI_Request *request)
{
    return code == MPI_SUCCESS && c->pieces && request && *request != MPI_REQUEST_NULL;
}

int layer_started(call *c, int code, const MPI_Request *request)
{
    if (!has_request(c, code, request))
        return layer_end(c, code);
    c->handle = (uintptr_t)*request;
    put_request(c);
    orphans_back();
    return code;
}

int layer_kept(call *c, int code, const MPI_Request *request)
{
    if (!has_request(c, code, request))
        return layer_end(c, code);
    c->kept = true;
    c->handle = (uintptr_t)*request;
    layer_put(&requests, c);
    return code;
}

int layer_on_window(call *c, int code, int target, MPI_Win win)
{
    if (code != MPI_SUCCESS || !c->pieces)
        return layer_end(c, code);
    c->target = target;
    c->turn = atomic_fetch_add(&turns, 1) + 1;
    c->handle = (uintptr_t)win;
    layer_put(&windows, c);
    return code;
}

int layer_split(call *c, int code, MPI_File fh)
{
    if (code != MPI_SUCCESS || !c->pieces)
        return layer_end(c, code);
    c->handle = (uintptr_t)fh;
    layer_put(&files, c);
    return code;
}

// ---- requests

call *layer_take(MPI_Request request)
{
    return request == MPI_REQUEST_NULL ? NULL : table_take(&requests, (uintptr_t)request);
}

void layer_put_back(call *c)
{
    if (c && !c->kept)
        put_request(c);
}

void layer_completed(call *c)
{
    if (c && !c->kept)
        finish(c);
    else if (c && c->active) {
        c->active = false;
        copy_back(c);
        orphans_back();
    }
}

static call *request_find(MPI_Request request)
{
    if (request == MPI_REQUEST_NULL || !atomic_load(&requests.count))
        return NULL;
    pthread_mutex_lock(&requests.lock);
    call *c = table_find(&requests, (uintptr_t)request);
    pthread_mutex_unlock(&requests.lock);
    return c;
}

void layer_peek(MPI_Request request)
{
    const call *c = request_find(request);
    if (c && (c->active || !c->kept))
        copy_back(c);
    orphans_back();
}

void layer_freed(MPI_Request request)
{
    if (request == MPI_REQUEST_NULL || !atomic_load(&requests.count))
        return;
    pthread_mutex_lock(&requests.lock);
    call *c = table_find(&requests, (uintptr_t)request);
    if (c)
        table_remove(&requests, c);
    pthread_mutex_unlock(&requests.lock);
    if (!c)
        return;
    if (c->has_twin || (c->kept && !c->active))
        dispose(c);
    else
        orphan(c);
}

// A send has nothing yet of partitions that are not ready.
void layer_start(MPI_Request request)
{
    call *c = request_find(request);
    if (!c || !c->kept || c->active)
        return;
    c->active = true;
    for (int i = 0; i < c->pieces; i++)
        if (!fill(&c->piece[i]))
            layer_fault(c->function, "its buffer cannot be read any more");
}

// ---- partitions: threads have them ready at the same time, and they may lie between each other

static pthread_mutex_t parts = PTHREAD_MUTEX_INITIALIZER;

// Of the only piece; false: there is none.
static bool part_of(const call *c, int partition, size_t *at, size_t *bytes)
{
    if (!c || !c->partitions || !c->pieces || partition < 0 || partition >= c->partitions)
        return false;
    span one = layer_elements(c->count, c->type);
    span all = layer_elements(c->count * c->partitions, c->type);
    span before = layer_elements(c->count * partition + 1, c->type);
    span first = layer_elements(1, c->type);
    // How far the partition's first element is from the buffer's.
    intptr_t moved = before.from < first.from ? before.from - first.from
                                              : (intptr_t)(before.bytes - first.bytes);
    *at = (size_t)(one.from + moved - all.from);
    *bytes = one.bytes;
    return one.bytes > 0;
}

void layer_part_ready(MPI_Request request, int partition)
{
    size_t at, bytes;
    const call *c = request_find(request);
    if (!part_of(c, partition, &at, &bytes))
        return;
    const piece *p = &c->piece[0];
    pthread_mutex_lock(&parts);
    if (copy_from_program(p->given + at, p->host + at, bytes))
        memory_write(p->block, at, p->given + at, bytes);
    pthread_mutex_unlock(&parts);
}

void layer_part_arrived(MPI_Request request, int partition)
{
    size_t at, bytes;
    const call *c = request_find(request);
    if (!part_of(c, partition, &at, &bytes) || !c->active)
        return;
    const piece *p = &c->piece[0];
    char *now = malloc(bytes);
    pthread_mutex_lock(&parts);
    memory_read(p->block, at, now, bytes);
    give_changed(p, at, now, bytes);
    pthread_mutex_unlock(&parts);
    free(now);
}

// ---- windows: threads of a rank synchronise them at the same time, each for the operations of all

uint64_t layer_turn(void)
{
    return atomic_load(&turns);
}

void layer_window_synchronised(int code, uint64_t turn, int target, MPI_Win win)
{
    call *over = NULL;
    orphans_back();
    if (code != MPI_SUCCESS || !atomic_load(&windows.count))
        return;
    pthread_mutex_lock(&windows.lock);
    for (call *c = *row_of(&windows, (uintptr_t)win), *next; c; c = next) {
        next = c->next;
        if (c->handle != (uintptr_t)win || c->turn > turn ||
            (target != ALL_TARGETS && target != c->target))
            continue;
        copy_back(c); // with the lock, so that whoever finds nothing any more has its data
        table_remove(&windows, c);
        c->next = over;
        over = c;
    }
    pthread_mutex_unlock(&windows.lock);
    for (call *c = over, *next; c; c = next) {
        next = c->next;
        dispose(c);
    }
}

// ---- split accesses to files

call *layer_take_split(MPI_File fh)
{
    return table_take(&files, (uintptr_t)fh);
}

void layer_split_over(call *c, int code)
{
    if (c && code == MPI_SUCCESS)
        finish(c);
    else if (c)
        layer_put(&files, c);
}

// The second half must name the buffer of the first one.
void *layer_split_buffer(const call *c, const void *buf)
{
    return c && buf == (const void *)c->buffer[0].at ? layer_at(c, 0) : (void *)(uintptr_t)buf;
}

// ---- the end

static __attribute__((destructor)) void tell(void)
{
    const char *path = getenv("LAYER_COUNT");
    FILE *file = path ? fopen(path, "a") : NULL;
    size_t device, others;
    memory_count(&device, &others);
    if (!file)
        return;
    fprintf(file, "%s %zu %zu\n", program_invocation_short_name, device, others);
    fclose(file);
}
