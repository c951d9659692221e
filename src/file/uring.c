// SPDX-License-Identifier: BSD-3-Clause
#include "file/uring.h"

#include <errno.h>
#include <stdlib.h>

#include "base/log.h"
#include "os/uring.h"

enum { MOST = 256 }; // reads under way: disks take no more at a time

struct mlt_file_uring {
    mlt_os_uring *kernel;
    uint32_t open;         // under way
    mlt_list_node waiting; // of mlt_file_read.node
    mlt_list_node back;    // undone before the kernel had them
};

mlt_file_uring *mlt_file_uring_new(int doorbell)
{
    mlt_file_uring *u = malloc(sizeof *u);
    if (!u)
        return NULL;
    *u = (mlt_file_uring){.kernel = mlt_os_uring_new(MOST, doorbell)};
    mlt_list_init(&u->waiting);
    mlt_list_init(&u->back);
    if (u->kernel)
        return u;
    int error = errno;
    free(u);
    errno = error;
    return NULL;
}

void mlt_file_uring_free(mlt_file_uring *u)
{
    mlt_assert(u->open == 0 && mlt_list_empty(&u->waiting) && mlt_list_empty(&u->back));
    mlt_os_uring_free(u->kernel);
    free(u);
}

// The rest of a read.
static bool begin(mlt_file_uring *u, mlt_file_read *read)
{
    const mlt_file_access *a = read->access;
    bool begun = mlt_os_uring_read(u->kernel, a->fd, (char *)a->buf + a->moved,
                                   (uint32_t)(a->bytes - a->moved),
                                   a->begin + (int64_t)(a->from + a->moved), read);
    u->open += begun;
    return begun;
}

bool mlt_file_uring_give(mlt_file_uring *u, mlt_file_read *read)
{
    read->access->moved = 0;
    read->access->error = 0;
    read->undone = false;
    if (u->open < MOST)
        return begin(u, read);
    mlt_list_push_back(&u->waiting, &read->node);
    return true;
}

// There is room for one: whoever waits longest is next. If the kernel takes none, nobody who waits would
// be told of a result, so all of them come back.
static void begin_waiting(mlt_file_uring *u)
{
    mlt_file_read *read;
    while (u->open < MOST && (read = MLT_LIST_POP(&u->waiting, mlt_file_read, node)))
        if (!begin(u, read))
            mlt_list_push_back(&u->back, &read->node);
}

// Reasons that lie with this way to read, not with the file. EINVAL: the kernel does not know it.
static bool is_unwanted(int error)
{
    return error == EAGAIN || error == EINTR || error == ECANCELED || error == EINVAL ||
           error == EOPNOTSUPP || error == ENOMEM;
}

// False: the rest of it has begun.
static bool is_over(mlt_file_uring *u, mlt_file_read *read, const mlt_os_uring_result *result)
{
    mlt_file_access *a = read->access;
    a->moved += (uint64_t)result->moved;
    read->undone = is_unwanted(result->error);
    a->error = read->undone ? 0 : result->error;
    if (result->error || result->moved == 0 || a->moved == a->bytes)
        return true;
    read->undone = !begin(u, read);
    return read->undone;
}

mlt_file_read *mlt_file_uring_take(mlt_file_uring *u)
{
    mlt_os_uring_result result;
    while (u->open > 0 && mlt_os_uring_take(u->kernel, &result)) {
        mlt_file_read *read = result.user;
        u->open--;
        bool over = is_over(u, read, &result);
        begin_waiting(u);
        if (over)
            return read;
    }
    mlt_file_read *read = MLT_LIST_POP(&u->back, mlt_file_read, node);
    if (read)
        read->undone = true;
    return read;
}
