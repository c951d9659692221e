// SPDX-License-Identifier: BSD-3-Clause
#include "image/need.h"

#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/numbers.h"
#include "os/os.h"

static uint64_t times(uint64_t a, uint64_t b)
{
    uint64_t product;
    return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}

static uint64_t plus(uint64_t a, uint64_t b)
{
    return a < UINT64_MAX - b ? a + b : UINT64_MAX;
}

static mlt_image_fit refuse_limit(const mlt_image_need *need, uint64_t bytes, uint64_t room,
                                  char *why, size_t why_size)
{
    char whole[MLT_NUMBER_BYTES], left[MLT_NUMBER_BYTES];
    snprintf(
        why, why_size,
        "globals of %llu ranks in one process take %s of memory, but it may have only %s more: "
        "raise the limit (ulimit -d), or start more processes (-n) of fewer ranks",
        (unsigned long long)need->images + 1, mlt_bytes(whole, bytes), mlt_bytes(left, room));
    return MLT_FIT_NOT;
}

mlt_image_fit mlt_image_need_fits(const mlt_image_need *need, const mlt_image_room *room, char *why,
                                  size_t why_size)
{
    uint64_t data = times(need->limited, need->images);
    if (data > room->data)
        return refuse_limit(need, data, room->data, why, why_size);
    uint64_t common = times(need->common, need->processes);
    uint64_t least = plus(times(need->written, need->all), common);
    uint64_t most = plus(times(need->writable, need->all), common);
    char whole[MLT_NUMBER_BYTES], one[MLT_NUMBER_BYTES], left[MLT_NUMBER_BYTES];
    if (least > room->memory) {
        snprintf(
            why, why_size,
            "globals of the job's ranks need %s of memory (%s a rank), but only %s are left on "
            "this host: start fewer ranks",
            mlt_bytes(whole, least), mlt_bytes(one, need->written), mlt_bytes(left, room->memory));
        return MLT_FIT_NOT;
    }
    if (most <= room->memory)
        return MLT_FIT_WELL;
    snprintf(
        why, why_size,
        "globals of the job's ranks take up to %s of memory (%s a rank), but only %s are left on "
        "this host: if ranks write all of them, memory runs out; fewer ranks need less",
        mlt_bytes(whole, most), mlt_bytes(one, need->writable), mlt_bytes(left, room->memory));
    return MLT_FIT_TIGHT;
}

// What the limit leaves to a process that has so many pages.
static uint64_t data_left(uint64_t pages)
{
    struct rlimit limit;
    uint64_t bytes = times(pages, (uint64_t)sysconf(_SC_PAGESIZE));
    if (getrlimit(RLIMIT_DATA, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
        return UINT64_MAX;
    return limit.rlim_cur > bytes ? limit.rlim_cur - bytes : 0;
}

void mlt_image_room_now(uint64_t memory, mlt_image_room *out)
{
    char text[256]; // size, resident, shared, text, library, data
    unsigned long long data = 0;
    if (mlt_os_read_text("/proc/self/statm", text, sizeof text))
        (void)sscanf(text, "%*u %*u %*u %*u %*u %llu", &data);
    *out = (mlt_image_room){.memory = memory ? memory : UINT64_MAX, .data = data_left(data)};
}
