// SPDX-License-Identifier: BSD-3-Clause
// MPI_Comm_spawn and MPI_Comm_spawn_multiple.
//
// The root opens a port and asks mpirun for a job that connects to it (boot/child.h). Its arguments
// count at the root only, so it is the root that finds what is wrong with them: all ranks hear of it
// before they accept. A job that cannot start, or ends before it is connected, makes the root's
// socket readable, which ends the accept everywhere.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/memory.h"
#include "base/text.h"
#include "boot/child.h"
#include "boot/lists.h"
#include "mpi/coll/coll.h"
#include "mpi/comm/port.h"
#include "mpi/comm/port_line.h"
#include "mpi/error/error.h"
#include "mpi/handle.h"
#include "mpi/info/info.h"
#include "mpi_bodies.h"
#include "os/fd.h"
#include "os/os.h"
#include "p2p/worker.h"
#include "type/type.h"

enum { SPAWN_WHY = 1024 };

#define PATIENCE_NS (INT64_C(30) * 1000000000) // until the mpirun of a job that failed has ended

// What the caller wants: one section of MPI_Comm_spawn, several of the other.
typedef struct wish {
    int count;
    char *const *commands;
    char **const *argvs; // NULL: none of them has arguments
    const int *most;     // maxprocs
    const MPI_Info *infos;
    int *started; // [count] of those that may start, found by the root
} wish;

// What the root tells the others.
typedef struct notice {
    int32_t class;  // MPI_SUCCESS: all is on its way
    int32_t asked;  // ranks, of all sections
    int32_t fewer;  // 1: sections start fewer ranks than asked for, by their key `soft`
    int32_t length; // sections
    char why[SPAWN_WHY];
} notice;

// The root's part.
typedef struct asker {
    int fd; // -1: nobody was asked
    bool opened;
    char port[MPI_MAX_PORT_NAME];
} asker;

// ---- The key `soft`: "2:8:2,16"

// The largest number up to `most` of one triplet first[:last[:step]]; 0: none. *at goes to its end;
// NULL: it is no triplet.
static long best_of_triplet(const char **at, long most)
{
    long part[3] = {0, 0, 1};
    int n = 0;
    char *end;
    for (; n < 3; n++) {
        part[n] = strtol(*at, &end, 10);
        if (end == *at) {
            *at = NULL;
            return 0;
        }
        *at = end;
        if (*end != ':')
            break;
        ++*at;
    }
    if (n == 0)
        part[1] = part[0];
    if (part[2] == 0)
        return 0;
    long low = part[2] > 0 ? part[0] : part[1], step = labs(part[2]);
    long high = part[2] > 0 ? part[1] : part[0];
    if (part[2] < 0) // first + i * step, from above: the least of them
        low = high - (high - low) / step * step;
    high = high < most ? high : most;
    return high < low ? 0 : low + (high - low) / step * step;
}

// -1: the value is no list of triplets.
static long best_of_soft(const char *value, long most)
{
    long best = 0;
    for (const char *at = value; *at;) {
        long n = best_of_triplet(&at, most);
        if (!at || (*at && *at != ','))
            return -1;
        best = n > best ? n : best;
        at += *at == ',';
    }
    return best;
}

// ---- What the root finds wrong

static int wrong(notice *n, int class, const char *format, ...) MLT_PRINTF(3, 4);
static int wrong(notice *n, int class, const char *format, ...)
{
    MLT_TEXT_PRINT(n->why, sizeof n->why, format);
    n->class = class;
    return class;
}

static int check_soft(wish *w, int i, notice *n)
{
    const char *soft = mlt_info_get(mlt_info_of(w->infos[i]), "soft");
    w->started[i] = w->most[i];
    if (!soft)
        return MPI_SUCCESS;
    long best = best_of_soft(soft, w->most[i]);
    if (best < 0)
        return wrong(n, MPI_ERR_SPAWN,
                     "info key soft is '%.200s', but should be numbers or triplets first:last:step "
                     "with commas between",
                     soft);
    if (best == 0)
        return wrong(n, MPI_ERR_SPAWN,
                     "info key soft is '%.200s', which has no number from 1 to %d", soft,
                     w->most[i]);
    w->started[i] = (int)best;
    n->fewer |= best < w->most[i];
    return MPI_SUCCESS;
}

static int check_wish(wish *w, bool multiple, notice *n)
{
    int64_t asked = 0;
    if (multiple && w->count < 1)
        return wrong(n, MPI_ERR_ARG, "argument count is %d, but should be at least 1", w->count);
    if (!w->commands || !w->most || !w->infos)
        return wrong(n, MPI_ERR_ARG, "argument %s is NULL, but should be an array of %d",
                     !w->commands ? "array_of_commands"
                     : !w->most   ? "array_of_maxprocs"
                                  : "array_of_info",
                     w->count);
    w->started = mlt_xcalloc((size_t)w->count, sizeof *w->started);
    for (int i = 0; i < w->count; i++) {
        char which[32] = "";
        if (multiple)
            snprintf(which, sizeof which, " of section %d", i);
        if (!w->commands[i] || !*w->commands[i])
            return wrong(n, MPI_ERR_ARG, "the command%s is %s, but should name a program", which,
                         w->commands[i] ? "empty" : "NULL");
        if (w->most[i] < 1)
            return wrong(n, MPI_ERR_ARG, "maxprocs%s is %d, but should be at least 1", which,
                         w->most[i]);
        if (w->infos[i] != MPI_INFO_NULL && !mlt_info_of(w->infos[i]))
            return wrong(n, MPI_ERR_INFO,
                         "argument info%s is %p, but should be a valid info object or "
                         "MPI_INFO_NULL (was it freed, or never set?)",
                         which, (void *)w->infos[i]);
        int class = check_soft(w, i, n);
        if (class != MPI_SUCCESS)
            return class;
        asked += w->most[i];
    }
    if (asked > INT32_MAX)
        return wrong(n, MPI_ERR_SPAWN, "a job has at most %d ranks, but %lld are asked for",
                     INT32_MAX, (long long)asked);
    n->asked = (int32_t)asked;
    n->length = w->count;
    return MPI_SUCCESS;
}

// ---- The request

// The strings stay where they are: a list has their addresses, and is freed alone.
static char **list_of_keys(MPI_Info handle)
{
    const mlt_info *info = mlt_info_of(handle);
    int count = info ? mlt_info_count(info) : 0;
    const char **list = mlt_xcalloc(2 * (size_t)count + 1, sizeof *list);
    for (int i = 0, n = 0; i < count; i++) {
        const char *key = mlt_info_key(info, i), *value = key ? mlt_info_get(info, key) : NULL;
        if (!value)
            break;
        list[n++] = key;
        list[n++] = value;
    }
    return (char **)list;
}

static char *spawn_pack(const wish *w, const char *port, size_t *size)
{
    char *none = NULL, *first[] = {(char *)(uintptr_t)port, NULL};
    uint32_t count = 1 + MLT_CHILD_SECTION_LISTS * (uint32_t)w->count;
    char ***lists = mlt_xcalloc(count, sizeof *lists);
    char *(*about)[3] = mlt_xcalloc((size_t)w->count, sizeof *about);
    lists[0] = first;
    for (int i = 0; i < w->count; i++) {
        char ***at = lists + 1 + MLT_CHILD_SECTION_LISTS * i;
        about[i][0] = w->commands[i];
        about[i][1] = mlt_text_of("%d", w->started[i]);
        at[0] = about[i];
        at[1] = w->argvs && w->argvs[i] ? w->argvs[i] : &none;
        at[2] = list_of_keys(w->infos[i]);
    }
    char *packed = mlt_lists_pack(&(mlt_lists){.items = lists, .count = count}, size);
    for (int i = 0; i < w->count; i++) {
        free(about[i][1]);
        free(lists[1 + MLT_CHILD_SECTION_LISTS * i + 2]);
    }
    free(about);
    free(lists);
    return packed;
}

static bool write_request(mlt_rank *me, int fd, const char *bytes, size_t size)
{
    return mlt_port_line_write(me, fd, bytes, size) == MLT_OK && shutdown(fd, SHUT_WR) == 0;
}

static int ask(mlt_rank *me, const wish *w, asker *a, notice *n)
{
    char why[MLT_PORT_WHY];
    if (me->worker->boot->ctl < 0) {
        mlt_port_why_alone(me, why);
        return wrong(n, MPI_ERR_SPAWN, "%s", why);
    }
    int class = mlt_port_open(me, a->port, why);
    if (class != MPI_SUCCESS)
        return wrong(n, MPI_ERR_SPAWN, "%s", why);
    a->opened = true;
    size_t size;
    char *request = spawn_pack(w, a->port, &size);
    mlt_status status = request ? mlt_child_ask(me->worker->boot->ctl, &a->fd) : MLT_ERR_NO_MEMORY;
    if (status == MLT_OK && !write_request(me, a->fd, request, size))
        status = MLT_ERR_CLOSED;
    free(request);
    if (status == MLT_OK)
        return MPI_SUCCESS;
    return wrong(n, MPI_ERR_SPAWN, "mpirun cannot be asked for another job: %s",
                 status == MLT_ERR_CLOSED      ? "it is ending this one"
                 : status == MLT_ERR_NO_MEMORY ? "memory is exhausted"
                                               : strerror(errno));
}

// ---- The answer

// What mpirun says of a job that did not come: it is there, or comes when the job has ended. (A job
// whose side of the accept failed ends.) Without it n stays.
static void read_answer(mlt_rank *me, int fd, notice *n)
{
    char text[SPAWN_WHY];
    mlt_port_line_wait wait = {.deadline = (int64_t)mlt_os_now_ns() + PATIENCE_NS, .stop = -1};
    mlt_status status = mlt_port_line_read_text(me, fd, text, sizeof text, &wait);
    if (text[0] == MLT_CHILD_FELL && text[1])
        wrong(n, MPI_ERR_SPAWN, "%s", text + 1);
    else if (status == MLT_OK)
        wrong(n, MPI_ERR_SPAWN, "mpirun is ending this job");
}

static int spawn_tell(mlt_rank *me, mlt_comm *comm, int root, void *data, size_t bytes)
{
    uint16_t fn = me->fn;
    int code = comm->size == 1
                   ? MPI_SUCCESS
                   : mlt_blocking_Bcast(me, data, (MPI_Count)bytes, MLT_TYPE_BYTE, root, comm);
    me->fn = fn; // what ran meanwhile may have called, too
    return code;
}

// Each started rank has MPI_SUCCESS, those that `soft` left out and all of a failed job the code.
static int fill_codes(mlt_rank *me, mlt_comm *comm, int root, const wish *w, const notice *n,
                      int failed, int *codes)
{
    int32_t(*sections)[2] = NULL;
    if (n->fewer && n->length > 0) {
        sections = mlt_xcalloc((size_t)n->length, sizeof *sections);
        for (int i = 0; comm->rank == root && i < w->count; i++) {
            sections[i][0] = w->most[i];
            sections[i][1] = w->started[i];
        }
        int code = spawn_tell(me, comm, root, sections, (size_t)n->length * sizeof *sections);
        if (code != MPI_SUCCESS) {
            free(sections);
            return code;
        }
    }
    for (int i = 0; codes != MPI_ERRCODES_IGNORE && i < n->asked; i++)
        codes[i] = failed;
    for (int i = 0, at = 0; codes != MPI_ERRCODES_IGNORE && sections && i < n->length; i++) {
        for (int k = sections[i][1]; k < sections[i][0]; k++)
            codes[at + k] = MPI_ERR_SPAWN;
        at += sections[i][0];
    }
    free(sections);
    return MPI_SUCCESS;
}

static void end_asking(mlt_rank *me, asker *a)
{
    char why[MLT_PORT_WHY];
    if (a->opened)
        (void)mlt_port_close(me, a->port, why);
    mlt_os_close(a->fd);
}

// All ranks, after the root has asked: n says whether that went well.
static int await_job(mlt_rank *me, mlt_comm *comm, int root, const asker *a, notice *n,
                     mlt_comm **made)
{
    uint16_t fn = me->fn;
    mlt_port_wait wait = {.timeout_ns = -1, .stop = a->fd};
    mlt_port_result result = {.comm = NULL};
    mlt_port_meet(me, comm, root, true, a->port, &wait, &result);
    me->fn = fn;
    // Some of its ranks may have come, and the accept may have seen their end before mpirun has told
    // why: that is the better explanation.
    if (result.error != MPI_SUCCESS) {
        wrong(n, MPI_ERR_SPAWN, "%s", result.why);
        if (comm->rank == root)
            read_answer(me, a->fd, n);
        int code = spawn_tell(me, comm, root, n, sizeof *n);
        if (code != MPI_SUCCESS)
            return code;
    }
    *made = result.comm;
    return MPI_SUCCESS;
}

static int spawn(mlt_rank *me, wish *w, bool multiple, int root, mlt_comm *comm,
                 MPI_Comm *intercomm, int *codes)
{
    if (comm->inter)
        return mlt_comm_bad_inter(me, comm, "comm");
    int code = mlt_coll_check_root(me, comm, root);
    if (code != MPI_SUCCESS)
        return code;
    notice n = {.class = MPI_SUCCESS};
    asker a = {.fd = -1};
    mlt_comm *made = NULL;
    uint16_t fn = me->fn;
    if (comm->rank == root && check_wish(w, multiple, &n) == MPI_SUCCESS)
        (void)ask(me, w, &a, &n);
    me->fn = fn;
    code = spawn_tell(me, comm, root, &n, sizeof n);
    if (code == MPI_SUCCESS && n.class == MPI_SUCCESS)
        code = await_job(me, comm, root, &a, &n, &made);
    end_asking(me, &a);
    me->fn = fn;
    if (code == MPI_SUCCESS)
        code = fill_codes(me, comm, root, w, &n, n.class, codes);
    free(w->started);
    if (code != MPI_SUCCESS)
        return code;
    if (n.class != MPI_SUCCESS)
        return mlt_mpi_raise(me, comm, fn, n.class, "%s", n.why);
    *intercomm = mlt_comm_handle(me, made);
    return MPI_SUCCESS;
}

int mlt_mpi_Comm_spawn(mlt_rank *me, const char *command, char *argv[], int maxprocs, MPI_Info info,
                       int root, mlt_comm *comm, MPI_Comm *intercomm, int array_of_errcodes[])
{
    char *const commands[] = {(char *)(uintptr_t)command};
    wish w = {.count = 1, .commands = commands, .argvs = &argv, .most = &maxprocs, .infos = &info};
    return spawn(me, &w, false, root, comm, intercomm, array_of_errcodes);
}

int mlt_mpi_Comm_spawn_multiple(mlt_rank *me, int count, char *array_of_commands[],
                                char **array_of_argv[], const int array_of_maxprocs[],
                                const MPI_Info array_of_info[], int root, mlt_comm *comm,
                                MPI_Comm *intercomm, int array_of_errcodes[])
{
    wish w = {.count = count,
              .commands = array_of_commands,
              .argvs = array_of_argv,
              .most = array_of_maxprocs,
              .infos = array_of_info};
    return spawn(me, &w, true, root, comm, intercomm, array_of_errcodes);
}
