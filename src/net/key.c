// SPDX-License-Identifier: BSD-3-Clause
#include "net/key.h"

#include <errno.h>
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
