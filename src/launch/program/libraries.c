// SPDX-License-Identifier: BSD-3-Clause
#include "launch/program/libraries.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/text.h"
#include "image/elf.h"
#include "image/search.h"
#include "launch/plan/env.h"
#include "os/os.h"

enum { MOST_LIBRARIES = 64, ABI_NAME = sizeof "libmpi_abi.so" - 1 };

static const char abi_name[] = "libmpi_abi.so.1";

typedef struct finder {
    mlt_libraries *out;
    char *library_path; // LD_LIBRARY_PATH of the ranks
    const char *dir;
} finder;

static const struct {
    const char *start, *vendor;
} foreign[] = {
    {"libmpi.so.40", "Open MPI"},
    {"libmpi.so.20", "Open MPI"},
    {"libmpi_cxx.so", "Open MPI"},
    {"libmpi_mpifh.so", "Open MPI"},
    {"libmpi_usempi", "Open MPI"},
    {"libmpich", "MPICH"},
    {"libmpi.so.12", "MPICH, MVAPICH or Intel MPI"},
    {"libmpifort.so", "MPICH, MVAPICH or Intel MPI"},
    {"libmpicxx.so", "MPICH, MVAPICH or Intel MPI"},
    {"libmpi.so", "another MPI"},
};

// NULL: it is nobody else's.
static const char *find_vendor(const char *name)
{
    for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++)
        if (strncmp(name, foreign[i].start, strlen(foreign[i].start)) == 0)
            return foreign[i].vendor;
    return NULL;
}

const char *mlt_libraries_vendor(const char *name)
{
    const char *vendor = find_vendor(name);
    return vendor ? vendor : "another MPI";
}

const char *mlt_libraries_folder(void)
{
    static char folder[PATH_MAX + 64];
    char self[PATH_MAX];
    if (folder[0])
        return folder;
    if (!realpath(mlt_os_program(), self))
        return NULL;
    for (int up = 0; up < 2; up++) { // ".../bin/mpirun"
        char *slash = strrchr(self, '/');
        if (!slash)
            return NULL;
        *slash = '\0';
    }
    char library[sizeof folder + sizeof abi_name + 1];
    snprintf(folder, sizeof folder, "%s/lib/millet/abi", self);
    snprintf(library, sizeof library, "%s/%s", folder, abi_name);
    if (access(library, R_OK) == 0)
        return folder;
    folder[0] = '\0';
    return NULL;
}

// ---- Where a library is

static bool libraries_is_systems(const char *path)
{
    static const char *const folders[] = {"/lib/", "/lib64/", "/usr/lib/", "/usr/lib64/"};
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
        if (strncmp(path, folders[i], strlen(folders[i])) == 0)
            return true;
    return false;
}

// ---- The walk

static void look_at_file(finder *f, const char *path);

static void libraries_add(finder *f, char *path)
{
    mlt_libraries *out = f->out;
    bool known = libraries_is_systems(path) || out->count == MOST_LIBRARIES;
    for (size_t i = 0; i < out->count; i++)
        known |= strcmp(out->paths[i], path) == 0;
    if (known) {
        free(path);
        return;
    }
    out->paths = mlt_xrealloc(out->paths, out->count + 1, sizeof *out->paths);
    out->paths[out->count++] = path;
    look_at_file(f, path);
}

// Another MPI's library of that name, which comes first; Millet's, of whatever tree, is at home
// here.
static void look_at_abi(finder *f, const mlt_elf_links *links, const char *name, const char *origin)
{
    f->out->mpi = true;
    if (links->runpath || f->out->other) // LD_LIBRARY_PATH, and ours in it, comes before a RUNPATH
        return;
    char *path = mlt_search_in(links->rpath, name, origin, f->dir);
    int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (fd >= 0 && !mlt_elf_names(fd, "FGmpiexec_rank")) {
        f->out->other = path;
        path = NULL;
    }
    if (fd >= 0)
        close(fd);
    free(path);
}

static void look_at_need(finder *f, const mlt_elf_links *links, const char *name,
                         const char *origin)
{
    if (strncmp(name, abi_name, ABI_NAME) == 0) {
        look_at_abi(f, links, name, origin);
        return;
    }
    if (find_vendor(name)) {
        if (!f->out->foreign)
            f->out->foreign = mlt_text_of("%s", name);
        return;
    }
    char *path = strchr(name, '/') ? mlt_text_of("%s", name) // a library without a name of its own
                 : links->runpath  ? NULL
                                   : mlt_search_in(links->rpath, name, origin, f->dir);
    if (!path)
        path = mlt_search_in(f->library_path, name, origin, f->dir);
    if (!path)
        path = mlt_search_in(links->runpath, name, origin, f->dir);
    if (path)
        libraries_add(f, path);
}

static void look_at_file(finder *f, const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    mlt_elf_links links;
    if (fd < 0)
        return;
    char *origin = mlt_search_origin(path);
    if (mlt_elf_links_read(fd, &links))
        for (size_t i = 0; i < links.count; i++)
            look_at_need(f, &links, links.needed[i], origin);
    mlt_elf_links_fini(&links);
    free(origin);
    close(fd);
}

static void look_at_preloads(finder *f, const char *list)
{
    while (list && *list) {
        size_t n = strcspn(list, ": ");
        char *name = mlt_text_of("%.*s", (int)n, list);
        const char *last = strrchr(name, '/');
        bool own = n > 0 && strncmp(last ? last + 1 : name, abi_name, ABI_NAME) != 0;
        char *path = !own   ? NULL
                     : last ? mlt_text_of("%s", name)
                            : mlt_search_in(f->library_path, name, "", f->dir);
        if (path)
            libraries_add(f, path);
        free(name);
        list += n + (list[n] != '\0');
    }
}

void mlt_libraries_find(mlt_libraries *out, const char *path, const char *dir,
                        const mlt_options *options, const mlt_app *app)
{
    *out = (mlt_libraries){.mpi = false};
    finder f = {.out = out, .dir = dir};
    mlt_env env;
    mlt_env_init(&env, options, app);
    const char *library_path = mlt_env_value(&env, "LD_LIBRARY_PATH");
    f.library_path = mlt_text_of("%s", library_path ? library_path : "");
    char *whole = dir && path[0] != '/' ? mlt_text_of("%s/%s", dir, path) : mlt_text_of("%s", path);
    look_at_file(&f, whole);
    look_at_preloads(&f, mlt_env_value(&env, "LD_PRELOAD"));
    free(whole);
    free(f.library_path);
    mlt_env_fini(&env);
}

void mlt_libraries_fini(mlt_libraries *l)
{
    for (size_t i = 0; i < l->count; i++)
        free(l->paths[i]);
    free(l->paths);
    free(l->foreign);
    free(l->other);
}

// ---- What runs already

static char *loaded_by(pid_t pid)
{
    char name[64], *line = NULL, *found = NULL;
    size_t room = 0;
    snprintf(name, sizeof name, "/proc/%d/maps", (int)pid);
    FILE *maps = fopen(name, "re");
    while (maps && !found && getline(&line, &room, maps) > 0) {
        line[strcspn(line, "\n")] = '\0';
        const char *path = strchr(line, '/'), *file = path ? strrchr(path, '/') + 1 : NULL;
        if (file && find_vendor(file))
            found = mlt_text_of("%s", path);
    }
    if (maps)
        fclose(maps);
    free(line);
    return found;
}

// As loaded_by, for the process and for `depth` generations of what it started.
static char *loaded_below(pid_t pid, int depth)
{
    char *found = loaded_by(pid), name[96];
    if (found || depth == 0)
        return found;
    snprintf(name, sizeof name, "/proc/%d/task/%d/children", (int)pid, (int)pid);
    FILE *children = fopen(name, "re");
    for (int child; children && !found && fscanf(children, "%d", &child) == 1;)
        found = loaded_below((pid_t)child, depth - 1);
    if (children)
        fclose(children);
    return found;
}

char *mlt_libraries_loaded(pid_t pid)
{
    enum { GENERATIONS = 3 };
    return loaded_below(pid, GENERATIONS);
}
