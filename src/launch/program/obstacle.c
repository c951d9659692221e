// SPDX-License-Identifier: BSD-3-Clause
#include "launch/program/obstacle.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "image/elf.h"

// Names that a program wants of its libraries, with blanks between; a star stands for any end.
static const struct {
    const char *names, *meaning;
} signs[] = {
    {"pthread_create thrd_create GOMP_* omp_* __kmpc_* _ZNSt6thread*", "starts threads of its own"},
    {"fork vfork clone exec* fexecve system popen posix_spawn* daemon", "starts other processes"},
    {"alarm ualarm setitimer timer_create timerfd_create", "has timers, which belong to a process"},
    {"sigwait* sigtimedwait sigsuspend pause signalfd sigaltstack", "waits for signals"},
    {"ptrace setrlimit* prlimit* prctl setpriority nice sched_setscheduler sched_setparam mlockall",
     "changes what its process may do"},
    {"socket socketpair accept accept4 epoll_wait", "uses sockets"},
    {"getpid gettid", "asks for the number of its process"},
    {"dup2 dup3 fcntl* lockf* flock freopen*", "changes or locks what its process has open"},
    {"dlopen dlmopen", "loads code while it runs"},
    {"makecontext swapcontext sbrk brk", "manages stacks or memory of its process"},
    {"__asan_* __hwasan_* __msan_* __tsan_* __lsan_*", "runs with a sanitizer"},
    {"_mcount mcount __monstartup __gcov_*", "is profiled"},
};

// The beginnings of names of libraries of which it is known that they do nothing of that by
// themselves.
static const char *const harmless[] = {
    "libmpi_abi.so", "libc.so",      "libm.so",        "libmvec.so",     "libpthread.so",
    "libdl.so",      "librt.so",     "ld-linux",       "libgcc_s.so",    "libstdc++.so",
    "libc++",        "libatomic.so", "libgfortran.so", "libquadmath.so", "libmpi_fortran.so",
};

typedef struct obstacle_found {
    const char *meaning;
    char name[MLT_ELF_NAME];
} obstacle_found;

static bool is_sign(const char *names, const char *name)
{
    for (const char *at = names; *at; at += strspn(at, " ")) {
        size_t n = strcspn(at, " ");
        if (at[n - 1] == '*' ? strncmp(at, name, n - 1) == 0
                             : strlen(name) == n && strncmp(at, name, n) == 0)
            return true;
        at += n;
    }
    return false;
}

static bool see_name(void *user, const char *name)
{
    obstacle_found *f = user;
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++)
        if (is_sign(signs[i].names, name)) {
            f->meaning = signs[i].meaning;
            size_t n = strnlen(name, sizeof f->name - 1);
            memcpy(f->name, name, n);
            f->name[n] = '\0';
            return true;
        }
    return false;
}

static bool is_known(const char *name, const mlt_libraries *libraries)
{
    for (size_t i = 0; i < sizeof harmless / sizeof *harmless; i++)
        if (strncmp(name, harmless[i], strlen(harmless[i])) == 0)
            return true;
    for (size_t i = 0; i < libraries->count; i++) { // its own, which is looked at
        const char *path = libraries->paths[i], *slash = strrchr(path, '/');
        if (strcmp(path, name) == 0 || strcmp(slash ? slash + 1 : path, name) == 0)
            return true;
    }
    return false;
}

// A library that it needs and that nobody looks at; NULL: none. The caller frees it.
static char *stranger(int fd, const mlt_libraries *libraries)
{
    mlt_elf_links links;
    char *name = NULL;
    if (mlt_elf_links_read(fd, &links))
        for (size_t i = 0; i < links.count && !name; i++)
            if (!is_known(links.needed[i], libraries))
                name = mlt_text_of("needs %s, which may do anything", links.needed[i]);
    mlt_elf_links_fini(&links);
    return name;
}

static char *globals_of(int fd, bool shared)
{
    mlt_elf_globals globals;
    mlt_elf_read(fd, 0, &globals);
    bool has = globals.count > 0 || globals.unnamed > 0, fixed = globals.fixed;
    mlt_elf_fini(&globals);
    if (!globals.program)
        return mlt_text_of("has no sections, which would say what it does");
    if (has && fixed)
        return mlt_text_of("was linked for one address (-no-pie)");
    return has && shared ? mlt_text_of("has globals, which its ranks would share") : NULL;
}

// What one file says; NULL: nothing.
static char *look_at(const char *path, const mlt_libraries *libraries, bool shared)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return mlt_text_of("cannot be read");
    obstacle_found sign = {.meaning = NULL};
    char *text = mlt_elf_imports(fd, see_name, &sign)
                     ? mlt_text_of("%s (%s)", sign.meaning, sign.name)
                     : stranger(fd, libraries);
    if (!text)
        text = globals_of(fd, shared);
    close(fd);
    return text;
}

char *mlt_obstacle_find(const char *path, const char *dir, const mlt_libraries *libraries,
                        bool shared)
{
    if (!libraries->mpi)
        return mlt_text_of("the program was not linked with an MPI library (a script?)");
    char *whole = dir && path[0] != '/' ? mlt_text_of("%s/%s", dir, path) : mlt_text_of("%s", path);
    char *text = look_at(whole, libraries, shared), *sentence = NULL;
    if (text)
        sentence = mlt_text_of("the program %s", text);
    for (size_t i = 0; i < libraries->count && !text; i++) {
        text = look_at(libraries->paths[i], libraries, shared);
        if (text)
            sentence = mlt_text_of("its library %s %s", libraries->paths[i], text);
    }
    free(text);
    free(whole);
    return sentence ? mlt_text_printable(sentence) : NULL;
}
