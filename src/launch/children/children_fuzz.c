// SPDX-License-Identifier: BSD-3-Clause
// Any bytes as what a rank asks for (boot/child.h): a request is refused with a sentence, or becomes a
// task that the mpirun below reads as options with as many sections and ranks, or refuses with a
// sentence.
#include <fuzz/fuzz.h>
#include <fuzz/launcher.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "boot/child.h"
#include "launch/children/task.h"

typedef struct input {
    const mlt_lists *request;
    bool made;
} input;

static void read_back(void *argument)
{
    input *in = argument;
    static char program[] = "./parent", hosts[] = "a:4,me@b:2,localhost";
    static char *argv[] = {program, NULL};
    mlt_hosts named = {.count = 0};
    mlt_hosts_add_list(&named, "-host", hosts);
    mlt_app app = {.argv = argv, .grain = MLT_GRAIN_PROCESS};
    mlt_placement plan = {.named = named};
    mlt_options options = {.apps = &app,
                           .app_count = 1,
                           .rsh = program,
                           .silent_ms = MLT_SILENT_MS,
                           .fan_out = MLT_FAN_OUT,
                           .outfile = program,
                           .label = true};
    uint32_t busy[3] = {3, 2, 0};
    mlt_child_parent parent = {.options = &options, .plan = &plan, .busy = busy};
    char why[512] = "";
    size_t size;
    char *task = mlt_child_task(&parent, in->request, "2.1", &size, why, sizeof why);
    if (!task) {
        fuzz_check_sentence(why, sizeof why);
        return;
    }
    mlt_lists lists;
    FUZZ_CHECK(mlt_lists_unpack(&lists, task, size));
    mlt_options below;
    mlt_child_task_read(&lists, &below);
    FUZZ_CHECK(below.app_count == mlt_child_sections(in->request));
    FUZZ_CHECK(strcmp(below.job, "2.1") == 0 && below.label && below.stdin_rank == MLT_STDIN_NONE);
    for (uint32_t s = 0; s < below.app_count; s++) {
        const mlt_app *section = &below.apps[s];
        uint64_t ranks = strtoul(mlt_child_section(in->request, s, 0)[1], NULL, 10);
        FUZZ_CHECK((uint64_t)section->n * section->fine == ranks);
        FUZZ_CHECK(strcmp(section->argv[0], mlt_child_section(in->request, s, 0)[0]) == 0);
        FUZZ_CHECK(section->hosts && section->hosts->count > 0);
    }
    mlt_lists_free(&lists);
    in->made = true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    mlt_lists request;
    char why[256] = "";
    if (!mlt_lists_unpack(&request, data, size))
        return 0;
    if (!mlt_child_check(&request, why, sizeof why)) {
        fuzz_check_sentence(why, sizeof why);
        mlt_lists_free(&request);
        return 0;
    }
    bool wide = false; // it would only cost time
    for (uint32_t s = 0; s < mlt_child_sections(&request); s++)
        for (char **pair = mlt_child_section(&request, s, 2); *pair; pair++)
            wide |= fuzz_wide(*pair);
    input in = {.request = &request};
    static const char file[] = "a slots=2\nb\n";
    if (!wide) {
        fuzz_file((const uint8_t *)file, sizeof file - 1);
        bool back = fuzz_run(read_back, &in);
        FUZZ_CHECK(back || fuzz_code() == 2);
        fuzz_release();
    }
    mlt_lists_free(&request);
    return 0;
}
