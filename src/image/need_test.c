// SPDX-License-Identifier: BSD-3-Clause
// What certainly fits, what may not, and what cannot; also where numbers are near their ends.
#include "image/need.h"

#include <string.h>
#include <sys/resource.h>

#include "base/unit_test.h"

static const mlt_image_room endless = {UINT64_MAX, UINT64_MAX};

static mlt_image_fit fits(mlt_image_need need, mlt_image_room room, const char *said)
{
    char why[512] = "";
    mlt_image_fit fit = mlt_image_need_fits(&need, &room, why, sizeof why);
    if (said ? !strstr(why, said) : why[0])
        printf("it says: %s\n", why);
    CHECK(said ? strstr(why, said) != NULL : !why[0]);
    return fit;
}

static void test_memory(void)
{
    mlt_image_need need = {.written = 8192, .writable = 1 << 20, .images = 99, .all = 198};
    mlt_image_room room = endless;
    CHECK(fits(need, room, NULL) == MLT_FIT_WELL);
    room.memory = UINT64_C(198) << 20; // all of it, to the byte
    CHECK(fits(need, room, NULL) == MLT_FIT_WELL);
    room.memory--;
    CHECK(fits(need, room, "take up to 198 MiB of memory (1 MiB a rank), but only 198 MiB") ==
          MLT_FIT_TIGHT);
    room.memory = 198 * 8192;
    CHECK(fits(need, room, "fewer ranks need less") == MLT_FIT_TIGHT);
    room.memory--;
    CHECK(fits(need, room, "need 1.5 MiB of memory (8 KiB a rank)") == MLT_FIT_NOT);
    room.memory = 0;
    CHECK(fits(need, room, "but only 0 bytes are left on this host: start fewer ranks") ==
          MLT_FIT_NOT);
    CHECK(fits((mlt_image_need){.images = 5, .all = 5}, room, NULL) == MLT_FIT_WELL);
    need.common = 4096; // of each process
    need.processes = 3;
    room.memory = 198 * 8192 + 3 * 4096;
    CHECK(fits(need, room, "fewer ranks need less") == MLT_FIT_TIGHT);
    room.memory--;
    CHECK(fits(need, room, "start fewer ranks") == MLT_FIT_NOT);
}

static void test_limits(void)
{
    mlt_image_need need = {
        .written = 4096, .writable = 8192, .limited = 8192, .images = 10, .all = 10};
    mlt_image_room room = endless;
    room.data = 81920;
    CHECK(fits(need, room, NULL) == MLT_FIT_WELL);
    room.data--;
    CHECK(fits(need, room,
               "globals of 11 ranks in one process take 80 KiB of memory, but it may have") ==
          MLT_FIT_NOT);
}

static void test_ends(void)
{
    mlt_image_need need = {.written = UINT64_C(1) << 40,
                           .writable = UINT64_C(1) << 40,
                           .images = UINT64_C(1) << 31,
                           .all = UINT64_C(1) << 31};
    mlt_image_room room = endless;
    CHECK(fits(need, room, NULL) == MLT_FIT_WELL); // 2^71 is without end, too
    room.memory--;
    CHECK(fits(need, room, "16 EiB") == MLT_FIT_NOT);
}

static void test_now(void)
{
    mlt_image_room room;
    struct rlimit old, small;
    mlt_image_room_now(0, &room);
    CHECK(room.memory == UINT64_MAX);
    mlt_image_room_now(12345, &room);
    CHECK(room.memory == 12345);
    CHECK(getrlimit(RLIMIT_DATA, &old) == 0);
    small = old;
    small.rlim_cur = 1; // less than there is
    CHECK(setrlimit(RLIMIT_DATA, &small) == 0);
    mlt_image_room_now(0, &room);
    CHECK(setrlimit(RLIMIT_DATA, &old) == 0);
    CHECK(room.data == 0);
    small.rlim_cur = old.rlim_max == RLIM_INFINITY ? UINT64_C(1) << 50 : old.rlim_max;
    CHECK(setrlimit(RLIMIT_DATA, &small) == 0);
    mlt_image_room_now(0, &room);
    CHECK(room.data > 0 && room.data < small.rlim_cur);
    CHECK(setrlimit(RLIMIT_DATA, &old) == 0);
}

int main(void)
{
    test_memory();
    test_limits();
    test_ends();
    test_now();
    puts("all right");
    return 0;
}
