// SPDX-License-Identifier: BSD-3-Clause
// Any bytes as a program's file (the seeds are real ones): the reader says something that holds
// together, says the same twice, and its names can be printed.
#include "image/elf.h"

#include <fuzz/fuzz.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "launch/program/frames.h"

enum { KEEP = 8 };

static void check(const mlt_elf_globals *globals, size_t most)
{
    FUZZ_CHECK(globals->kept <= most && globals->kept <= globals->count);
    FUZZ_CHECK(globals->kept == globals->count || globals->kept == most);
    FUZZ_CHECK(globals->program ||
               (!globals->stripped && !globals->first && !globals->bytes && !globals->count));
    FUZZ_CHECK(!globals->stripped || globals->count == 0);
    for (size_t i = 0; i < globals->kept; i++) {
        fuzz_check_sentence(globals->first[i].name, MLT_ELF_NAME);
        FUZZ_CHECK(globals->first[i].bytes > 0);
    }
}

static bool see_name(void *user, const char *name)
{
    FUZZ_CHECK(*name && strlen(name) < *(const size_t *)user);
    return false;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static int fd = -1;
    if (fd < 0)
        fd = memfd_create("elf_fuzz", MFD_CLOEXEC);
    FUZZ_CHECK(fd >= 0 && ftruncate(fd, 0) == 0 && pwrite(fd, data, size, 0) == (ssize_t)size);
    FUZZ_CHECK(mlt_frames_read(fd).largest < UINT32_MAX);
    mlt_elf_globals few, all;
    mlt_elf_read(fd, KEEP, &few);
    check(&few, KEEP);
    mlt_elf_read(fd, few.count, &all);
    check(&all, few.count);
    FUZZ_CHECK(all.program == few.program && all.count == few.count && all.bytes == few.bytes);
    for (size_t i = 0; i < few.kept; i++)
        FUZZ_CHECK(strcmp(few.first[i].name, all.first[i].name) == 0);
    mlt_elf_links links;
    FUZZ_CHECK(mlt_elf_links_read(fd, &links) || links.count == 0);
    for (size_t i = 0; i < links.count; i++)
        FUZZ_CHECK(strlen(links.needed[i]) < size);
    mlt_elf_links_fini(&links);
    (void)mlt_elf_names(fd, "main");
    FUZZ_CHECK(!mlt_elf_imports(fd, see_name, &size));
    mlt_elf_fini(&all);
    mlt_elf_read_object(fd, &all);
    for (size_t i = 0; i < all.kept; i++)
        fuzz_check_sentence(all.first[i].name, MLT_ELF_NAME);
    mlt_elf_fini(&all);
    mlt_elf_fini(&few);
    return 0;
}
