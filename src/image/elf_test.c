// SPDX-License-Identifier: BSD-3-Clause
// The reader finds this program's own variables, and survives whatever is done to the file.
#include "image/elf.h"

#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/unit_test.h"

// Exported, so that no compiler drops them.
extern int elf_test_shared[10];
extern const int elf_test_constant;
extern _Thread_local int elf_test_own;
int elf_test_shared[10];
const int elf_test_constant = 3;
_Thread_local int elf_test_own = 3;

static bool has(const mlt_elf_globals *globals, const char *name, uint64_t bytes)
{
    for (size_t i = 0; i < globals->kept; i++)
        if (strcmp(globals->first[i].name, name) == 0)
            return globals->first[i].bytes == bytes;
    return false;
}

static bool is_wanted(void *user, const char *name)
{
    (*(int *)user)++;
    return strcmp(name, "memfd_create") == 0;
}

static bool is_nothing(void *user, const char *name)
{
    return strcmp(name, "elf_test_shared") == 0 || !*name; // its own are not wanted of others
}

static void test_own(int fd)
{
    static volatile int
        counter; // a static in a function: "counter.0" in the file, or "test_own.counter"
    counter = fd;
    mlt_elf_globals globals;
    mlt_elf_read(fd, 10000, &globals);
    CHECK(globals.program && !globals.stripped && counter == fd);
    CHECK(has(&globals, "elf_test_shared", sizeof elf_test_shared));
    CHECK(has(&globals, "counter", sizeof counter));
    CHECK(has(&globals, "random_state", sizeof random_state));
    CHECK(!has(&globals, "elf_test_constant", sizeof elf_test_constant));
    CHECK(!has(&globals, "elf_test_own", sizeof elf_test_own));
    CHECK(!has(&globals, "stderr", sizeof stderr) && !has(&globals, "stdout", sizeof stdout));
    CHECK(!has(&globals, "completed", 1) && !has(&globals, "__dso_handle", 8));
    CHECK(globals.count == globals.kept);
    mlt_elf_fini(&globals);
    mlt_elf_links links;
    CHECK(mlt_elf_links_read(fd, &links));
    bool libc = false;
    for (size_t i = 0; i < links.count; i++)
        libc |= strncmp(links.needed[i], "libc.so", 7) == 0;
    CHECK(libc && mlt_elf_names(fd, "memfd_create") && !mlt_elf_names(fd, "no_such_name"));
    mlt_elf_links_fini(&links);
    int seen = 0;
    CHECK(mlt_elf_imports(fd, is_wanted, &seen) && seen > 0);
    CHECK(!mlt_elf_imports(fd, is_nothing, NULL));
    mlt_elf_read(fd, 1, &globals);
    CHECK(globals.kept == 1 && globals.count > 1);
    mlt_elf_fini(&globals);
}

static int file_of(const char *bytes, size_t size)
{
    int fd = memfd_create("elf_test", MFD_CLOEXEC);
    if (fd < 0 || write(fd, bytes, size) != (ssize_t)size) {
        perror("memfd");
        exit(77);
    }
    return fd;
}

static void read_all(const char *bytes, size_t size)
{
    int fd = file_of(bytes, size);
    mlt_elf_globals globals;
    mlt_elf_links links;
    (void)mlt_elf_links_read(fd, &links);
    mlt_elf_links_fini(&links);
    (void)mlt_elf_names(fd, "main");
    mlt_elf_read(fd, 8, &globals);
    CHECK(globals.kept <= 8 && globals.kept <= globals.count);
    for (size_t i = 0; i < globals.kept; i++)
        CHECK(strnlen(globals.first[i].name, MLT_ELF_NAME) < MLT_ELF_NAME);
    mlt_elf_fini(&globals);
    mlt_elf_read_object(fd, &globals);
    for (size_t i = 0; i < globals.kept; i++)
        CHECK(strnlen(globals.first[i].name, MLT_ELF_NAME) < MLT_ELF_NAME);
    mlt_elf_fini(&globals);
    close(fd);
}

// This program under the header of an object file, whose sections and symbols are alike.
static void test_object(char *bytes, size_t size)
{
    Elf64_Ehdr *head = (Elf64_Ehdr *)(void *)bytes;
    mlt_elf_globals globals;
    int fd = file_of(bytes, size);
    mlt_elf_read_object(fd, &globals);
    CHECK(!globals.program && globals.count == 0);
    close(fd);
    uint16_t type = head->e_type;
    head->e_type = ET_REL;
    fd = file_of(bytes, size);
    mlt_elf_read_object(fd, &globals);
    CHECK(globals.program && globals.count == globals.kept);
    CHECK(has(&globals, "elf_test_shared", sizeof elf_test_shared));
    CHECK(has(&globals, "elf_test_own", sizeof elf_test_own) && has(&globals, "counter", 4));
    CHECK(!has(&globals, "elf_test_constant", sizeof elf_test_constant));
    CHECK(!has(&globals, "__dso_handle", 8));
    for (size_t i = 0; i < globals.kept; i++)
        CHECK(globals.first[i].thread == (strcmp(globals.first[i].name, "elf_test_own") == 0));
    mlt_elf_fini(&globals);
    mlt_elf_read(fd, 8, &globals);
    CHECK(!globals.program);
    close(fd);
    head->e_type = type;
}

static void test_damage(const char *good, size_t size)
{
    char *bytes = malloc(size);
    if (!bytes)
        exit(77);
    memcpy(bytes, good, size);
    for (size_t length = 0; length < 200 && length < size; length++)
        read_all(good, length);
    for (int i = 0; i < 100; i++)
        read_all(good, below(size));
    // The header, the program headers and the section headers are where damage hurts.
    const Elf64_Ehdr *head = (const Elf64_Ehdr *)(const void *)good;
    uint64_t places[][2] = {{0, sizeof *head},
                            {head->e_phoff, (uint64_t)head->e_phnum * sizeof(Elf64_Phdr)},
                            {head->e_shoff, (uint64_t)head->e_shnum * sizeof(Elf64_Shdr)},
                            {0, size}};
    static const unsigned char values[] = {0, 1, 0x7f, 0x80, 0xff};
    for (int i = 0; i < 1500; i++) {
        uint64_t *place = places[below(4)];
        for (uint64_t n = 1 + below(8); n > 0; n--) {
            uint64_t at = place[0] + below(place[1]);
            bytes[at] = (char)(below(2) ? values[below(sizeof values)] : (unsigned char)below(256));
        }
        read_all(bytes, size);
        if (i % 16 == 0)
            memcpy(bytes, good, size);
    }
    // Every section header in turn: each field as large as can be.
    for (uint64_t s = 0; s < head->e_shnum; s++)
        for (size_t field = 0; field < sizeof(Elf64_Shdr); field += 8) {
            memcpy(bytes, good, size);
            memset(bytes + head->e_shoff + s * sizeof(Elf64_Shdr) + field, 0xff, 8);
            read_all(bytes, size);
        }
    free(bytes);
}

static void test_others(void)
{
    static const char *const texts[] = {"", "#!/bin/sh\n", "\177ELF", "\177ELF\002\001\001"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        read_all(texts[i], strlen(texts[i]));
    int fd = open("/", O_RDONLY);
    mlt_elf_globals globals;
    mlt_elf_read(fd, 8, &globals);
    CHECK(!globals.program && globals.count == 0);
    close(fd);
    mlt_elf_read(-1, 8, &globals);
    CHECK(!globals.program && globals.count == 0);
}

int main(void)
{
    int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    struct stat about;
    if (fd < 0 || fstat(fd, &about) != 0)
        return 77;
    char *good = mmap(NULL, (size_t)about.st_size, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
    if (good == MAP_FAILED)
        return 77;
    test_own(fd);
    test_object(good, (size_t)about.st_size);
    test_damage(good, (size_t)about.st_size);
    ((Elf64_Ehdr *)(void *)good)->e_type = ET_REL;
    test_damage(good, (size_t)about.st_size);
    test_others();
    puts("all right");
    return 0;
}
