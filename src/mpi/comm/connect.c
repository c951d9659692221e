// SPDX-License-Identifier: BSD-3-Clause
// MPI_Open_port, MPI_Close_port, MPI_Comm_accept, MPI_Comm_connect, MPI_Comm_join.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "mpi/comm/port.h"
#include "mpi/comm/port_line.h"
#include "mpi/error/error.h"
#include "mpi/handle.h"
#include "mpi/info/info.h"
#include "mpi/self.h"
#include "mpi_bodies.h"
#include "os/fd.h"

int mlt_mpi_Open_port(mlt_rank *me, MPI_Info info, char *port_name)
{
    char why[MLT_PORT_WHY], name[MPI_MAX_PORT_NAME];
    if (info != MPI_INFO_NULL && !mlt_info_of(info))
        return mlt_bad_info(me, NULL, me->fn, info);
    int code = mlt_port_open(me, name, why);
    if (code != MPI_SUCCESS)
        return mlt_mpi_raise(me, NULL, me->fn, code, "%s", why);
    memcpy(port_name, name, strlen(name) + 1);
    return MPI_SUCCESS;
}

int mlt_mpi_Close_port(mlt_rank *me, const char *port_name)
{
    char why[MLT_PORT_WHY];
    int code = mlt_port_close(me, port_name, why);
    return code == MPI_SUCCESS ? code : mlt_mpi_raise(me, NULL, me->fn, code, "%s", why);
}

// The info key `timeout`, in seconds.
static bool read_timeout(const mlt_info *info, mlt_port_wait *wait)
{
    const char *text = mlt_info_get(info, "timeout");
    *wait = (mlt_port_wait){.timeout_ns = -1, .stop = -1};
    if (!text)
        return true;
    char *end;
    double seconds = strtod(text, &end);
    if (end == text || *end || !(seconds >= 0) || seconds > 1e9)
        return false;
    wait->timeout_ns = (int64_t)(seconds * 1e9);
    return true;
}

// The arguments that count at the root only.
static void connect_check_root(const char *port_name, MPI_Info handle, char why[MLT_PORT_WHY],
                               mlt_port_wait *wait)
{
    const mlt_info *info = mlt_info_of(handle);
    bool timed = read_timeout(info, wait);
    wait->why = why;
    if (!port_name) {
        wait->refused = MPI_ERR_ARG;
        snprintf(why, MLT_PORT_WHY,
                 "argument port_name of the root is NULL, but should be the name of a port");
    } else if (handle != MPI_INFO_NULL && !info) {
        wait->refused = MPI_ERR_INFO;
        snprintf(why, MLT_PORT_WHY,
                 "argument info of the root is %p, but should be a valid info object or "
                 "MPI_INFO_NULL",
                 (void *)handle);
    } else if (!timed) {
        wait->refused = MPI_ERR_INFO_VALUE;
        snprintf(why, MLT_PORT_WHY,
                 "info key 'timeout' is '%.64s', but should be a number of seconds",
                 mlt_info_get(info, "timeout"));
    }
}

int mlt_port_meet_at(mlt_rank *me, const char *port_name, MPI_Info handle, int root, mlt_comm *comm,
                     MPI_Comm *newcomm, bool accepts)
{
    mlt_port_wait wait;
    mlt_port_result result;
    char why[MLT_PORT_WHY];
    if (comm->inter)
        return mlt_comm_bad_inter(me, comm, "comm");
    if (root < 0 || root >= comm->size)
        return mlt_bad_rank(me, comm, me->fn, MPI_ERR_ROOT, "root", root, "");
    // The others wait for the root: what is wrong with its arguments all ranks hear from it.
    connect_check_root(port_name, handle, why, &wait);
    mlt_port_meet(me, comm, root, accepts, port_name, &wait, &result);
    if (result.error != MPI_SUCCESS)
        return mlt_mpi_raise(me, comm, me->fn, result.error, "%s", result.why);
    *newcomm = (MPI_Comm)result.comm;
    return MPI_SUCCESS;
}

// ---- MPI_Comm_join

// Both sides draw a number; the one with the larger opens a port and tells its name.
typedef struct hello {
    char magic[8];
    uint64_t number;
} hello;

static const char magic[8] = {'M', 'l', 't', 'J', 'o', 'i', 'n', '1'};

static const char *greet(mlt_rank *me, int fd, bool *opens)
{
    hello mine, theirs;
    memcpy(mine.magic, magic, sizeof magic);
    if (!mlt_os_is_stream(fd)) // nothing is written to what may be a file or a terminal
        return "the descriptor is no connected stream socket";
    do {
        if (mlt_os_random(&mine.number, sizeof mine.number) != MLT_OK)
            return "the system has no random bytes";
        if (mlt_port_line_write(me, fd, &mine, sizeof mine) != MLT_OK ||
            mlt_port_line_read(me, fd, &theirs, sizeof theirs, NULL) != MLT_OK)
            return "the other side has closed the socket, or it is no connected stream socket";
        if (memcmp(theirs.magic, magic, sizeof magic) != 0)
            return "what came through the socket is not from MPI_Comm_join: data were pending, or "
                   "the other side does not call it";
    } while (theirs.number == mine.number);
    *opens = mine.number > theirs.number;
    return NULL;
}

static void connect_join(mlt_rank *me, mlt_comm *self, int fd, mlt_port_result *result)
{
    char name[MPI_MAX_PORT_NAME] = "";
    bool opens;
    *result = (mlt_port_result){.error = MPI_ERR_OTHER};
    const char *fault = greet(me, fd, &opens);
    if (fault) {
        strncpy(result->why, fault, sizeof result->why - 1);
        return;
    }
    int code = opens ? mlt_port_open(me, name, result->why) : MPI_SUCCESS;
    if (opens ? mlt_port_line_write(me, fd, name, sizeof name) != MLT_OK
              : mlt_port_line_read(me, fd, name, sizeof name, NULL) != MLT_OK) {
        strncpy(result->why, "the other side has closed the socket", sizeof result->why - 1);
        code = MPI_ERR_OTHER;
    }
    name[sizeof name - 1] = '\0';
    if (code == MPI_SUCCESS && !name[0]) {
        strncpy(result->why, "the other side could not open a port", sizeof result->why - 1);
        code = MPI_ERR_OTHER;
    }
    if (code == MPI_SUCCESS)
        mlt_port_meet(me, self, 0, opens, name, NULL, result);
    else
        result->error = code;
    char ignored[MLT_PORT_WHY];
    if (opens && name[0])
        (void)mlt_port_close(me, name, ignored);
}

int mlt_mpi_Comm_join(mlt_rank *me, int fd, MPI_Comm *intercomm)
{
    mlt_port_result result;
    mlt_comm *self = mlt_comm_self(me);
    connect_join(me, self, fd, &result);
    if (result.error != MPI_SUCCESS)
        return mlt_mpi_raise(me, self, me->fn, result.error, "%s", result.why);
    *intercomm = (MPI_Comm)result.comm;
    return MPI_SUCCESS;
}
