// SPDX-License-Identifier: BSD-3-Clause
#include "net/key.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "os/fd.h"

mlt_status mlt_key_new(mlt_key *key, char *why, size_t why_size)
{
    if (mlt_os_random(key->bytes, sizeof key->bytes) == MLT_OK)
        return MLT_OK;
    snprintf(why, why_size, "the system has no random bytes for the job's key (%s)",
             strerror(errno));
    mlt_key_wipe(key);
    return MLT_ERR_SYSTEM;
}

void mlt_key_wipe(mlt_key *key)
{
    explicit_bzero(key, sizeof *key);
}

static mlt_key_pass pass_of(mlt_key *key, int fd, short events, uint64_t deadline_ns)
{
    return (mlt_key_pass){.key = key,
                          .poll = {.fd = fd, .events = events, .deadline_ns = deadline_ns}};
}

mlt_key_pass mlt_key_reading(mlt_key *key, int fd, uint64_t deadline_ns)
{
    return pass_of(key, fd, POLLIN, deadline_ns);
}

mlt_key_pass mlt_key_writing(mlt_key *key, int fd, uint64_t deadline_ns)
{
    return pass_of(key, fd, POLLOUT, deadline_ns);
}

static mlt_status key_fail(mlt_key_pass *pass, mlt_status status, const char *cause, char *why,
                           size_t why_size)
{
    bool reads = pass->poll.events == POLLIN;
    snprintf(why, why_size, "the job's key could not be %s: %s after %u of %d bytes",
             reads ? "read" : "written", cause, pass->done, MLT_KEY_BYTES);
    if (reads)
        mlt_key_wipe(pass->key);
    return status;
}

static ssize_t key_move(mlt_key_pass *pass)
{
    uint8_t *at = pass->key->bytes + pass->done;
    size_t left = MLT_KEY_BYTES - pass->done;
    return pass->poll.events == POLLIN ? mlt_os_try_read(pass->poll.fd, at, left)
                                       : mlt_os_try_write(pass->poll.fd, at, left);
}

mlt_status mlt_key_step(mlt_key_pass *pass, uint64_t now_ns, char *why, size_t why_size)
{
    while (pass->done < MLT_KEY_BYTES) {
        ssize_t n = key_move(pass);
        if (n > 0)
            pass->done += (uint32_t)n;
        else if (n == 0)
            return key_fail(pass, MLT_ERR_CLOSED, "the other side closed it", why, why_size);
        else if (errno == EAGAIN && now_ns < pass->poll.deadline_ns)
            return MLT_PENDING;
        else if (errno == EAGAIN)
            return key_fail(pass, MLT_ERR_CLOSED, "the time was up", why, why_size);
        else if (errno != EINTR)
            return key_fail(pass, MLT_ERR_SYSTEM, strerror(errno), why, why_size);
    }
    return MLT_OK;
}
