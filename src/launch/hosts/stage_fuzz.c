// SPDX-License-Identifier: BSD-3-Clause
// Any frames as the files of --stage: refused with one line, or files that lie where they should.
// Nothing is ever made outside of the folder.
//
// The input: frames, each of a byte that says what it is, a byte of length, and that many bytes.
#include "launch/hosts/stage.h"

#include <dirent.h>
#include <fuzz/fuzz.h>
#include <fuzz/launcher.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { APPS = 2 };

static char base[64], folder[80];

static void remove_base(void)
{
    mlt_stage_folder_remove(base);
}

// In memory, if it can be: on a disk a thousand folders take long.
static void make_folder(void)
{
    if (!base[0]) {
        snprintf(base, sizeof base, "%s/millet-fuzz-XXXXXX",
                 access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
        FUZZ_CHECK(mkdtemp(base) && atexit(remove_base) == 0);
        snprintf(folder, sizeof folder, "%s/in", base);
    }
    FUZZ_CHECK(mkdir(folder, 0700) == 0);
}

// Beside the folder there is nothing.
static void check_place(void)
{
    DIR *all = opendir(base);
    FUZZ_CHECK(all);
    for (struct dirent *one; (one = readdir(all));)
        FUZZ_CHECK(strcmp(one->d_name, "in") == 0 || one->d_name[0] == '.');
    closedir(all);
}

static void check_files(const mlt_stage_in *in)
{
    for (uint32_t a = 0; a < APPS; a++) {
        const char *program = mlt_stage_in_program(in, a), *of = mlt_stage_in_folder(in, a);
        FUZZ_CHECK(!program || (of && strncmp(program, of, strlen(of)) == 0));
        FUZZ_CHECK(!of || strncmp(of, folder, strlen(folder)) == 0);
        FUZZ_CHECK(!program || access(program, R_OK | W_OK) == 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char why[512] = "";
    make_folder();
    mlt_stage_in *in = mlt_stage_in_new(folder, APPS);
    mlt_status status = MLT_PENDING;
    while (size > 0 && status >= 0) {
        uint8_t what = 0, length = 0;
        char body[UINT8_MAX];
        fuzz_take(&data, &size, &what, 1);
        fuzz_take(&data, &size, &length, 1);
        fuzz_take(&data, &size, body, length); // what the input does not have is 0
        status = mlt_stage_in_take(in, what, body, length, why, sizeof why);
    }
    if (status < 0)
        fuzz_check_sentence(why, sizeof why);
    else
        check_files(in);
    check_place();
    mlt_stage_in_free(in);
    mlt_stage_folder_remove(folder);
    FUZZ_CHECK(access(folder, F_OK) != 0);
    return 0;
}
